//! Runs rulers or work, for the bench of the rulers. Each line begins with the time of the monotonic clock.
//!
//! ```text
//! watch rulers SECONDS EVERY_MS CPU|-   prints TIME RESOURCE SECONDS_PER_UNIT COST_SECONDS for every ruler
//! watch loads BYTES SECONDS CPU|-       prints TIME LOADS CPU_SECONDS of random loads from BYTES of memory
//! watch size RESOURCE                   prints the size of a ruler's working set in bytes
//! ```
#![allow(clippy::print_stdout, reason = "this program prints its results")]

use std::path::Path;
use std::str::FromStr;
use std::thread::sleep;

use steady_linux::{Root, clock, process};
use steady_model::{Nanos, Resource};
use steady_rulers::{Best, Rulers};
use steady_workloads::Loads;

/// The number of loads per line: some milliseconds if they hit a cache.
const LOADS: u64 = 200_000;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["rulers", seconds, every, cpu] => rulers(number(seconds)?, number(every)?, cpu),
        ["loads", bytes, seconds, cpu] => loads(number(bytes)?, number(seconds)?, cpu),
        ["size", resource] => size(resource),
        _ => Err("usage: see the top of crates/compare/examples/watch.rs".into()),
    }
}

fn rulers(seconds: f64, every_ms: u64, cpu: &str) -> Result<(), String> {
    keep_to(cpu)?;
    let mut rulers = fresh();
    let end = clock::monotonic() + Nanos::from_seconds(seconds);
    while clock::monotonic() < end {
        for resource in Resource::ALL {
            let at = clock::monotonic().seconds();
            if let Ok(read) = rulers.read(resource) {
                println!("{at:.6} {} {:e} {:e}", resource.name(), read.seconds_per_unit, read.cost.seconds());
            }
        }
        sleep(Nanos(every_ms * 1_000_000).into());
    }
    Ok(())
}

fn loads(bytes: usize, seconds: f64, cpu: &str) -> Result<(), String> {
    keep_to(cpu)?;
    let mut loads = Loads::new(bytes);
    let end = clock::monotonic() + Nanos::from_seconds(seconds);
    while clock::monotonic() < end {
        let (at, cpu) = (clock::monotonic().seconds(), clock::thread_cpu());
        loads.next(LOADS);
        println!("{at:.6} {LOADS} {:e}", (clock::thread_cpu() - cpu).seconds());
    }
    Ok(())
}

fn size(resource: &str) -> Result<(), String> {
    let found = Resource::ALL.into_iter().find(|one| one.name() == resource);
    let resource = found.ok_or_else(|| format!("no such ruler: '{resource}'"))?;
    let reading = fresh().read(resource).map_err(|absent| absent.to_string())?;
    println!("{}", reading.working_set.ok_or("this ruler has no working set")?.0);
    Ok(())
}

/// Rulers without a stored best speed.
fn fresh() -> Rulers {
    Rulers::new(&Root::default(), Best::load(Path::new("/nonexistent")))
}

fn keep_to(cpu: &str) -> Result<(), String> {
    if cpu == "-" {
        return Ok(());
    }
    process::keep_to(&[number(cpu)?]).map_err(|error| format!("CPU {cpu}: {error}"))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a valid number"))
}
