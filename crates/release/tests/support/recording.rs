//! Reads the recorded requests in testdata/releases.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use steady_model::{RequestRuler, RulerSums};

/// A recorded or simulated request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    /// End of the request, in nanoseconds since the start of the clock.
    pub(crate) end: u64,
    /// Index of the host; 0 in the recording.
    pub(crate) host: u32,
    /// Index of the process; 0 or 1 in the recording.
    pub(crate) process: u64,
    /// Number of the request within its process, from 1 on.
    pub(crate) number: u64,
    /// Version that was recorded: 0 for old, 1 for the same code, 2 for slower code.
    pub(crate) version: u32,
    /// Route: 0 for page, 1 for cache, 2 for mixed.
    pub(crate) route: u32,
    /// CPU time in nanoseconds.
    pub(crate) cpu: u64,
    /// Wall time in nanoseconds.
    pub(crate) wall: u64,
    /// Ruler that ran before the request, and its reading in nanoseconds.
    pub(crate) ruler: Option<(RequestRuler, f64)>,
}

/// Readings of one of the agent's rulers: a single one, or all within a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentReading {
    /// Time in nanoseconds since the start of the clock.
    pub(crate) at: u64,
    /// Index of the host; 0 in the recording.
    pub(crate) host: u32,
    /// Kind of the ruler that was read.
    pub(crate) ruler: RequestRuler,
    /// Sums of the readings.
    pub(crate) sums: RulerSums,
}

impl AgentReading {
    /// Creates a single reading.
    pub(crate) fn once(at: u64, host: u32, ruler: RequestRuler, nanoseconds: f64) -> AgentReading {
        let log = nanoseconds.ln();
        AgentReading { at, host, ruler, sums: RulerSums { readings: 1, log, log_squared: log * log } }
    }
}

/// All data of a recording.
pub(crate) struct Recording {
    /// Requests in the order of their ends.
    pub(crate) requests: Vec<Recorded>,
    /// Readings of the agent's rulers that were not pinned to a CPU, in the order of time.
    pub(crate) agent: Vec<AgentReading>,
    /// CPU utilisation in each second from second 0 on.
    pub(crate) busy: Vec<Option<f64>>,
    /// Number of restarts of the server before each process.
    pub(crate) restarts: Vec<u32>,
    /// Seconds in which the set of neighbours changed.
    pub(crate) changes: Vec<u64>,
}

impl Recording {
    /// Reads the first recording.
    pub(crate) fn read() -> Recording {
        let (requests, agent) = (requests(), agent());
        let busy = busy(&requests);
        Recording { requests, agent, busy, restarts: vec![0, 0], changes: Vec::new() }
    }
}

fn text(name: &str) -> String {
    unpacked(&releases().join(name))
}

/// Returns the directory of the recordings.
pub(crate) fn releases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/releases")
}

/// Reads the text of a gzip file.
pub(crate) fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).expect("the recording")).read_to_string(&mut text).expect("text");
    text
}

/// Reads all requests, in the order of their ends.
fn requests() -> Vec<Recorded> {
    let (mut at, mut numbers) = (0, [0, 0]);
    text("requests.tsv.gz").lines().map(|line| request(line, &mut at, &mut numbers)).collect()
}

fn request(line: &str, at: &mut u64, numbers: &mut [u64; 2]) -> Recorded {
    let code = u32::from(line.as_bytes()[0] - b'A');
    let rest = &line[1..];
    let ruler_at = rest.find(|c: char| c.is_ascii_lowercase());
    let (plain, ruler) = rest.split_at(ruler_at.unwrap_or(rest.len()));
    let numbers_of: Vec<u64> = plain.split(' ').map(|field| field.parse().expect("a number")).collect();
    *at += numbers_of[0];
    let process = u64::from(code / 9);
    numbers[process as usize] += 1;
    let cpu = numbers_of[1] * 1_000;
    Recorded {
        end: *at * 100_000,
        host: 0,
        process,
        number: numbers[process as usize],
        version: code % 9 / 3,
        route: code % 3,
        cpu,
        wall: cpu + numbers_of.get(2).map_or(0, |tens| tens * 10_000),
        ruler: ruler
            .chars()
            .next()
            .and_then(kind)
            .map(|kind| (kind, ruler[1..].parse::<f64>().expect("a number") * 100.0)),
    }
}

/// Returns the ruler that a letter stands for. The first recording had other rulers: its Python code stands for the
/// ruler of code in permuted order, and dependent loads from 2 MiB for the ruler of memory.
fn kind(letter: char) -> Option<RequestRuler> {
    match letter {
        's' => Some(RequestRuler::Syscall),
        'a' => Some(RequestRuler::Alu),
        'y' => Some(RequestRuler::Icode),
        'l' => Some(RequestRuler::Memory),
        _ => None,
    }
}

/// Reads the readings of the agent's rulers that were not pinned to a CPU.
fn agent() -> Vec<AgentReading> {
    let mut at = 0_i64;
    let reading = |line: &str| {
        let fields: Vec<i64> = line.split(' ').map(|field| field.parse().expect("a number")).collect();
        at += fields[0];
        let nanos = |tenths: i64| tenths as f64 * 100.0;
        let when = at.max(0) as u64 * 1_000_000;
        let rulers = [(RequestRuler::Syscall, fields[2]), (RequestRuler::Alu, fields[3])];
        let read = rulers.map(|(ruler, tenths)| AgentReading::once(when, 0, ruler, nanos(tenths)));
        (fields[1] == 0).then_some(read)
    };
    text("agent-rulers.tsv.gz").lines().filter_map(reading).flatten().collect()
}

/// Returns the utilisation of the two CPUs in each second, from the times of the neighbours and the CPU time of
/// requests.
fn busy(requests: &[Recorded]) -> Vec<Option<f64>> {
    let last = requests.last().map_or(0, |request| request.end / 1_000_000_000) as usize;
    let mut busy = vec![0.0; last + 1];
    requests.iter().for_each(|request| busy[(request.end / 1_000_000_000) as usize] += request.cpu as f64 / 1e9);
    let mut on: BTreeMap<String, usize> = BTreeMap::new();
    for line in text("neighbours.tsv.gz").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let at: usize = fields[0].parse().expect("milliseconds");
        match fields[2] {
            "1" => {
                on.insert(fields[1].into(), at);
            }
            "0" => {
                let from = on.remove(fields[1]).unwrap_or(at);
                (from..at.min(1_000 * last)).for_each(|ms| busy[ms / 1_000] += 1e-3);
            }
            _ => {}
        }
    }
    busy.into_iter().map(|seconds| Some((seconds / 2.0).min(1.0))).collect()
}
