//! Captures programs at their entry points: installed ones, and made-up ones with difficult constructors.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod killed;
mod made;
mod real;
mod refused;

use std::path::Path;

use steady_warm::capture::capture;
use steady_warm::captured::{Captured, NotCaptured, Refusal, Region, Request};

/// The request for a capture in these tests.
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

/// Captures `program`, which must be refused, and returns the reason.
fn refusal(program: &Path) -> String {
    match capture(&request(program)) {
        Err(NotCaptured::Refused(Refusal(why), _)) => why,
        Err(why) => panic!("{} is not refused: {why}", program.display()),
        Ok(_) => panic!("{} is captured", program.display()),
    }
}

/// The region that contains an address.
fn region(captured: &Captured, address: u64) -> Option<&Region> {
    captured.regions.iter().find(|region| {
        let place = address.checked_sub(region.address);
        place.is_some_and(|place| place < region.bytes.len() as u64)
    })
}

/// Returns whether a file existed when the program used it; `None` if the program did not use it.
fn existed(captured: &Captured, path: &Path) -> Option<bool> {
    captured.files.iter().find(|file| file.path == path).map(|file| file.found)
}

#[allow(clippy::print_stderr)]
fn tell(line: &str) {
    eprintln!("{line}");
}
