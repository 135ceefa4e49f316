//! `rows N [REQUESTS]`: writes N rows of REQUESTS requests each (by default 3) to a new store, reads them back, and
//! prints the size and the CPU time as JSON.
#![allow(clippy::print_stdout, reason = "a bench reads it")]

use steady_agent::store::{Batch, Keep, Reader, Writer};
use steady_linux::clock;
use steady_model::{Assignment, LevelSums, ReleaseRow, ReleaseRows, RequestSums};

/// A second has a row for each combination of process, version and route.
const PROCESSES: u64 = 8;
const VERSIONS: u32 = 2;
const ROUTES: u32 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let requests: u64 = std::env::args().nth(2).map_or(Ok(3), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("steady-rows-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let measured = measure(&folder.join("agent.db"), wanted, requests);
    std::fs::remove_dir_all(&folder)?;
    let (rows, bytes, written, read) = measured?;
    println!("{{\"rows\": {rows}, \"bytes\": {bytes}, \"write_seconds\": {written:.3}, \"read_seconds\": {read:.3}}}");
    Ok(())
}

/// Returns the number of rows read, the size of the store in bytes, and the CPU time of writing and of reading in
/// seconds.
fn measure(
    path: &std::path::Path,
    wanted: usize,
    requests: u64,
) -> Result<(usize, u64, f64, f64), Box<dyn std::error::Error>> {
    let mut writer = Writer::open(path, Keep { seconds: 1 << 40, bytes: 1 << 40 })?;
    let begun = clock::thread_cpu();
    let mut written = 0;
    for second in 1_000_000.. {
        let rows = rows(second, wanted - written, requests);
        written += rows.len();
        writer.write(&batch(second, rows))?;
        if written == wanted {
            break;
        }
    }
    let writing = clock::thread_cpu() - begun;
    drop(writer);
    let begun = clock::thread_cpu();
    let reader = Reader::open(path)?;
    let rows = reader.rows("shop", 0, u64::MAX)?;
    let reading = clock::thread_cpu() - begun;
    Ok((rows.requests.len(), reader.facts()?.bytes, writing.seconds(), reading.seconds()))
}

fn rows(second: u64, most: usize, requests: u64) -> Vec<ReleaseRow> {
    let all = (0..PROCESSES).flat_map(|process| (0..VERSIONS).map(move |version| (process, version)));
    let all = all.flat_map(|(process, version)| (0..ROUTES).map(move |route| (process, version, route)));
    let row = |(process, version, route): (u64, u32, u32)| ReleaseRow {
        second,
        host: 0,
        process: (process + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        version,
        route,
        class: 0,
        assignment: Assignment::Random,
        span_seconds: 1,
        slot_seconds: 0,
        second_of_pair: false,
        sums: sums(second * 31 + process * 7 + u64::from(route), requests),
    };
    all.take(most).map(row).collect()
}

/// The sums of requests with different CPU times.
fn sums(seed: u64, requests: u64) -> RequestSums {
    let mut sums = RequestSums { requests, with_before: requests, watched: requests, ..RequestSums::default() };
    for request in 0..requests {
        let cpu = 1_000_000.0 + (seed * 7_919 + request * 104_729) as f64 % 400_000.0;
        let (log, before) = (cpu.ln(), (cpu / 1_200_000.0).ln());
        sums.cpu += cpu;
        sums.cpu_squared += cpu * cpu;
        sums.log += log;
        sums.log_squared += log * log;
        sums.before += before;
        sums.before_squared += before * before;
        sums.before_log += before * log;
        sums.log_with_before += log;
        sums.wall += 2.0 * cpu;
        sums.wall_log += (2.0 * cpu).ln();
        sums.wall_log_squared += (2.0 * cpu).ln() * (2.0 * cpu).ln();
        sums.watched_cpu += cpu;
        sums.watched_wall += 2.0 * cpu;
        sums.watched_delay += 1_000.0 * request as f64;
        sums.levels += levels(cpu, (before * 500_000.0).round(), (before * -200_000.0).round());
    }
    sums
}

/// The sums in levels of one request whose CPU time is below the bound.
fn levels(base: f64, recent: f64, ruler: f64) -> LevelSums {
    let recents = [recent, recent * recent, recent * base, 0.0];
    let rulers = [ruler, ruler * ruler, ruler * base, 0.0, recent * ruler];
    let mut values = [0.0; 14];
    (values[0], values[1]) = (base, base * base);
    values[5..9].copy_from_slice(&recents);
    values[9..].copy_from_slice(&rulers);
    LevelSums::from_values(1, 0, values)
}

fn batch(second: u64, requests: Vec<ReleaseRow>) -> Batch {
    let rows = ReleaseRows {
        service: "shop".to_owned(),
        hosts: vec!["here".to_owned()],
        versions: (0..VERSIONS).map(|version| format!("v{version}")).collect(),
        routes: (0..ROUTES).map(|route| format!("/route/{route}")).collect(),
        requests,
        ..ReleaseRows::default()
    };
    Batch { second, host: "here".to_owned(), services: vec![rows], ..Batch::default() }
}
