//! Real programs, taken at their entry.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

use std::path::Path;

use steady_experiments::warm::take::take;
use steady_experiments::warm::taken::{NotTaken, Request, Taken};

fn request(program: &Path) -> Request {
    Request {
        program: program.to_owned(),
        name: program.file_name().unwrap().to_owned(),
        arguments: 7,
        environment: [("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("HOME", "/")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
        preloaded: None,
        bind_now: true,
        locale: true,
    }
}

fn taken(program: &str) -> Result<Taken, NotTaken> {
    take(&request(Path::new(program)))
}

#[test]
#[ignore = "tells how long it takes to take each program of PROGRAMS"]
fn how_long_a_take_is() {
    let named = std::env::var("PROGRAMS").unwrap_or_else(|_| "true cat perl git bash python3 openssl".to_owned());
    for name in named.split_whitespace() {
        let begun = (steady_linux::clock::monotonic(), steady_linux::clock::process_cpu());
        let taken = take(&request(&Path::new("/usr/bin").join(name)));
        let wall = steady_linux::clock::monotonic() - begun.0;
        let cpu = steady_linux::clock::process_cpu() - begun.1;
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

#[allow(clippy::print_stderr)]
fn tell(line: &str) {
    eprintln!("{line}");
}

#[test]
fn ordinary_programs_are_taken() {
    for program in ["/bin/true", "/bin/cat"] {
        let taken = taken(program).unwrap();
        assert!(taken.regions.iter().any(|region| {
            let end = region.address + region.bytes.len() as u64;
            (region.address..end).contains(&taken.entry) && region.protection.execute
        }));
        assert_eq!(taken.stack.arguments, 7);
    }
}
