//! Measures the cost of the log: appends 100,000 pairs to a file, as a launcher does, and prints the time per pair.
//!
//!     append FILE
#![allow(clippy::print_stdout, reason = "this program prints its result")]

use std::path::Path;
use std::process::ExitCode;

use steady_linux::clock;
use steady_model::{Bytes, Layout, Nanos, Outcome, Run};
use steady_process::log::{Appender, Part};
use steady_process::runner::Start;

const PAIRS: u64 = 100_000;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        println!("usage: append FILE");
        return ExitCode::from(2);
    };
    match append(Path::new(&file)) {
        Ok(time) => {
            println!("{:.3} microseconds per pair", time.seconds() * 1e6 / PAIRS as f64);
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}

fn append(file: &Path) -> std::io::Result<Nanos> {
    let mut log = Appender::create(file)?;
    let began = clock::monotonic();
    for pair in 0..PAIRS {
        let runs = [run(0, pair), run(1, pair)];
        let part = Part { block: pair, layout: Layout::Turns, place: 0, draw: None, start: Start::Usual };
        log.runs(part, runs.iter())?;
    }
    Ok(clock::monotonic() - began)
}

/// A run whose numbers have as many digits as those of real runs.
fn run(command: usize, pair: u64) -> Run {
    Run {
        command,
        cpu: None,
        padding: 2345,
        started: Nanos(1_234_567_891 + 987_654 * pair),
        wall: Nanos(654_321 + pair),
        user: Nanos(456_000),
        system: Nanos(123_000),
        run_delay: Ok(Nanos(12_345)),
        peak_memory: Ok(Bytes(2_457_600)),
        minor_faults: 98,
        major_faults: 0,
        voluntary_switches: 1,
        involuntary_switches: 0,
        tasks_started: None,
        left_behind: 0,
        outcome: Outcome::Exited(0),
        counters: None,
        energy_joules: None,
        values: vec![],
    }
}
