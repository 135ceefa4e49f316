//! How long it takes to take a program.

use std::path::Path;

use steady_linux::clock::{monotonic, process_cpu};
use steady_warm::take::take;

use super::{request, tell};

#[test]
#[ignore = "tells how long it takes to take each program of PROGRAMS"]
fn how_long_a_take_is() {
    let named = std::env::var("PROGRAMS").unwrap_or_else(|_| "true cat perl git bash python3 openssl".to_owned());
    for name in named.split_whitespace() {
        let begun = (monotonic(), process_cpu());
        let taken = take(&request(&Path::new("/usr/bin").join(name)));
        let (wall, cpu) = (monotonic() - begun.0, process_cpu() - begun.1);
        let what = match taken {
            Ok(taken) => {
                let bytes: usize = taken.regions.iter().map(|region| region.bytes.len()).sum();
                format!("{} KiB, {} files, variables {:?}", bytes >> 10, taken.files.len(), taken.variables)
            }
            Err(why) => format!("{why:?}"),
        };
        tell(&format!("{name}: {} us, {} us of CPU time in the taker: {what}", wall.0 / 1000, cpu.0 / 1000));
    }
}
