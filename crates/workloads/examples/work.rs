//! One kernel as a command: the work that benchmarks measure, and the neighbours that run next to it.
//!
//! ```text
//! work alu STEPS
//! work cache BYTES LOADS
//! work syscalls CALLS
//! work spin SECONDS
//! work hash SECONDS
//! work stream SECONDS
//! work burst spin|hash|stream SEED ON_MIN_MS ON_MAX_MS OFF_MIN_MS OFF_MAX_MS SECONDS
//! ```
#![expect(clippy::disallowed_methods, reason = "a neighbour ends by time, and nothing is measured here")]

use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use steady_workloads::{Random, alu, cache, hash, spin, stream, syscalls};

/// The memory of a streaming neighbour, in words: more than its share of any last-level cache.
const STREAMED_WORDS: usize = (256 << 20) / size_of::<u64>();

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["alu", steps] => drop(alu(number(steps)?)),
        ["cache", bytes, loads] => drop(cache(number(bytes)?, number(loads)?)),
        ["syscalls", calls] => drop(syscalls(number(calls)?)),
        ["burst", kind, ref timing @ ..] => burst(&mut neighbour(kind)?, timing)?,
        [kind, seconds] => neighbour(kind)?(Instant::now() + duration(seconds)?),
        _ => return Err("usage: see the top of crates/workloads/examples/work.rs".into()),
    }
    Ok(())
}

/// A workload that keeps a resource busy until a point in time.
type Neighbour = Box<dyn FnMut(Instant)>;

fn neighbour(kind: &str) -> Result<Neighbour, String> {
    match kind {
        "spin" => Ok(Box::new(|end| spin(|| Instant::now() >= end))),
        "hash" => Ok(Box::new(|end| hash(|| Instant::now() >= end))),
        "stream" => {
            let mut memory = vec![1; STREAMED_WORDS];
            Ok(Box::new(move |end| stream(&mut memory, || Instant::now() >= end)))
        }
        _ => Err(format!("unknown work '{kind}'; use spin, hash or stream")),
    }
}

/// Switches `neighbour` on and off, each for a randomly drawn time. It starts on or off at random.
fn burst(neighbour: &mut Neighbour, timing: &[&str]) -> Result<(), String> {
    let &[seed, on_min, on_max, off_min, off_max, seconds] = timing else {
        return Err("burst: SEED ON_MIN_MS ON_MAX_MS OFF_MIN_MS OFF_MAX_MS SECONDS".into());
    };
    let end = Instant::now() + duration(seconds)?;
    let mut random = Random::new(number(seed)?);
    let on: [u64; 2] = [number(on_min)?, number(on_max)?];
    let off: [u64; 2] = [number(off_min)?, number(off_max)?];
    let mut busy = random.between(0, 1) == 1;
    while Instant::now() < end {
        let [min, max] = if busy { on } else { off };
        let phase = Duration::from_millis(random.between(min, max));
        let phase_end = end.min(Instant::now() + phase);
        if busy {
            neighbour(phase_end)
        } else {
            sleep(phase_end - Instant::now())
        }
        busy = !busy;
    }
    Ok(())
}

fn duration(text: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(number(text)?).map_err(|error| format!("'{text}': {error}"))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a valid number"))
}
