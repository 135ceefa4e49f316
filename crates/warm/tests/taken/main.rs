//! Programs taken at their entry: those of this machine, and some made to be difficult.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod killed;
mod made;
mod real;
mod refused;

use std::path::Path;

use steady_warm::take::take;
use steady_warm::taken::{NotTaken, Refusal, Region, Request, Taken};

/// How `program` is taken in these tests.
fn request(program: &Path) -> Request {
    let environment = [("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("HOME", "/")];
    Request {
        program: program.to_owned(),
        name: program.file_name().unwrap_or_default().to_owned(),
        arguments: 7,
        environment: environment.map(|(name, value)| (name.into(), value.into())).to_vec(),
        preloaded: None,
        stack_limit: None,
        bind_now: true,
        locale: true,
        alternative: false,
    }
}

/// Why `program` is not taken.
fn refusal(program: &Path) -> String {
    match take(&request(program)) {
        Err(NotTaken::Refused(Refusal(why), _)) => why,
        Err(why) => panic!("{} is not refused: {why}", program.display()),
        Ok(_) => panic!("{} is taken", program.display()),
    }
}

/// The region that holds an address.
fn region(taken: &Taken, address: u64) -> Option<&Region> {
    taken.regions.iter().find(|region| {
        let place = address.checked_sub(region.address);
        place.is_some_and(|place| place < region.bytes.len() as u64)
    })
}

/// Whether a file was asked for: found or absent.
fn asked(taken: &Taken, path: &Path) -> Option<bool> {
    taken.files.iter().find(|file| file.path == path).map(|file| file.found)
}

#[allow(clippy::print_stderr)]
fn tell(line: &str) {
    eprintln!("{line}");
}
