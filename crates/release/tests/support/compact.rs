//! Reads recordings in the compact form that `bench/run release compact` writes. testdata/releases/README.md describes
//! it.

use std::path::Path;

use steady_model::{RequestRuler, RulerSums};

use super::recording::{AgentReading, Recorded, Recording, unpacked};

/// State of a process while the requests are read.
struct Process {
    /// Number of restarts of the server before the process.
    restarts: u32,
    /// Number of the next request of the process.
    number: u64,
}

/// Reads the recording in a directory.
pub(crate) fn read(folder: &Path) -> Recording {
    let text = |name: &str| unpacked(&folder.join(name));
    let mut processes: Vec<Process> = text("processes.tsv.gz").lines().map(process).collect();
    let (mut at, mut agent) = (0, Vec::new());
    let requests = text("requests.tsv.gz").lines().map(|line| request(line, &mut at, &mut processes)).collect();
    let hosts = text("hosts.tsv.gz");
    let busy = hosts.lines().zip(0..).map(|(line, second)| host(line, second, &mut agent)).collect();
    let restarts = processes.iter().map(|process| process.restarts).collect();
    Recording { requests, agent, busy, restarts, changes: changes(&text("phases.tsv.gz")) }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a number")
}

fn process(line: &str) -> Process {
    let (restarts, first) = line.split_once(' ').expect("two numbers");
    Process { restarts: number(restarts), number: number(first) }
}

fn request(line: &str, at: &mut u64, processes: &mut [Process]) -> Recorded {
    let route_at = line.find(|c: char| c.is_ascii_uppercase()).expect("a route");
    let (process, rest) = (number::<usize>(&line[..route_at]), &line[route_at + 1..]);
    let (plain, ruler) = rest.split_at(rest.find(|c: char| c.is_ascii_lowercase()).unwrap_or(rest.len()));
    let numbers: Vec<u64> = plain.split(' ').map(number).collect();
    *at += numbers[0];
    let own = &mut processes[process];
    own.number += 1;
    let cpu = numbers[1] * 1_000;
    Recorded {
        end: *at * 100_000,
        host: 0,
        process: process as u64,
        number: own.number - 1,
        version: 0,
        route: u32::from(line.as_bytes()[route_at] - b'A'),
        cpu,
        wall: cpu + numbers.get(2).map_or(0, |tens| tens * 10_000),
        ruler: (!ruler.is_empty()).then(|| (kind(&ruler[..1]), number::<f64>(&ruler[1..]) * 10.0)),
    }
}

fn kind(letter: &str) -> RequestRuler {
    RequestRuler::ALL.into_iter().find(|ruler| ruler.name().starts_with(letter)).expect("a ruler")
}

/// Parses a second of the host. Returns the CPU utilisation and adds the readings of the agent's rulers to `agent`.
fn host(line: &str, second: u64, agent: &mut Vec<AgentReading>) -> Option<f64> {
    let words: Vec<&str> = line.split(' ').collect();
    for ruler in words[1..].chunks(4) {
        let (readings, mean, spread) = (number(ruler[1]), number::<f64>(ruler[2]) / 1e4, number::<f64>(ruler[3]) / 1e4);
        let n = readings as f64;
        let sums = RulerSums { readings, log: n * mean, log_squared: n * (mean * mean + spread * spread) };
        agent.push(AgentReading { at: second * 1_000_000_000, host: 0, ruler: kind(ruler[0]), sums });
    }
    (words[0] != "-").then(|| number::<f64>(words[0]) / 1e3)
}

/// Returns the seconds in which the set of neighbours changed.
fn changes(text: &str) -> Vec<u64> {
    let phases: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let other = phases.windows(2).filter(|two| two[0].1 != two[1].1);
    other.map(|two| number::<u64>(two[1].0) / 1_000).collect()
}
