//! The recorded requests in testdata/releases, and windows of them under other labels.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use steady_model::{RequestRuler, RulerSums};

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    /// Nanoseconds since the clock began.
    pub(crate) end: u64,
    /// The host; 0 in the recording.
    pub(crate) host: u32,
    /// 0 or 1 in the recording.
    pub(crate) process: u64,
    /// Which request of the process, from 1 on.
    pub(crate) number: u64,
    /// 0 old, 1 the same, 2 slower.
    pub(crate) version: u32,
    /// 0 page, 1 cache, 2 mixed.
    pub(crate) route: u32,
    /// CPU time in nanoseconds.
    pub(crate) cpu: u64,
    /// Wall time in nanoseconds.
    pub(crate) wall: u64,
    /// The ruler before it, and its nanoseconds.
    pub(crate) ruler: Option<(RequestRuler, f64)>,
}

/// What one of the agent's rulers read, once or within a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentReading {
    /// Nanoseconds since the clock began.
    pub(crate) at: u64,
    /// The host; 0 in the recording.
    pub(crate) host: u32,
    /// Which ruler.
    pub(crate) ruler: RequestRuler,
    /// What it read.
    pub(crate) sums: RulerSums,
}

impl AgentReading {
    /// A single reading.
    pub(crate) fn once(at: u64, host: u32, ruler: RequestRuler, nanoseconds: f64) -> AgentReading {
        let log = nanoseconds.ln();
        AgentReading { at, host, ruler, sums: RulerSums { readings: 1, log, log_squared: log * log } }
    }
}

/// Everything that was recorded.
pub(crate) struct Recording {
    /// In the order of their ends.
    pub(crate) requests: Vec<Recorded>,
    /// In order of time; those that were not pinned to a CPU.
    pub(crate) agent: Vec<AgentReading>,
    /// Of each second from the first on, the share of CPUs that were busy.
    pub(crate) busy: Vec<Option<f64>>,
    /// Of each process, how often the server had been started anew before.
    pub(crate) restarts: Vec<u32>,
    /// The seconds in which other neighbours came than were there.
    pub(crate) changes: Vec<u64>,
}

impl Recording {
    /// Reads it.
    pub(crate) fn read() -> Recording {
        let (requests, agent) = (requests(), agent());
        let busy = busy(&requests);
        Recording { requests, agent, busy, restarts: vec![0, 0], changes: Vec::new() }
    }
}

fn text(name: &str) -> String {
    unpacked(&releases().join(name))
}

/// Where recordings are.
pub(crate) fn releases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/releases")
}

/// The text in a packed file.
pub(crate) fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).expect("the recording")).read_to_string(&mut text).expect("text");
    text
}

/// All requests, in the order of their ends.
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

/// This recording had no piece of code in permuted order yet: of its rulers, the piece of Python stands for it, and dependent
/// loads from 2 MiB for the one that reads memory.
fn kind(letter: char) -> Option<RequestRuler> {
    match letter {
        's' => Some(RequestRuler::Syscall),
        'a' => Some(RequestRuler::Alu),
        'y' => Some(RequestRuler::Icode),
        'l' => Some(RequestRuler::Memory),
        _ => None,
    }
}

/// All readings of the agent that were not pinned.
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

/// How busy the two CPUs were: by the neighbours, as they were switched, and by the workers.
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
