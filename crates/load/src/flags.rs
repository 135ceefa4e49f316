//! The options of `steady load`, as typed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use steady_feature::flags::{OutputFlags, span};
use steady_host::QuietHostFlags;
use steady_model::Nanos;
use steady_rulers::Neighbour;

const EXAMPLES: &str = "\
Examples:
  How far can CPU time be trusted here, and how far wall time? 1 to 32 at once,
  each hashing for 5 s of its own CPU time
      steady load --workload hash --cpu-time 5s --procs 1..32
  The user time of fixed work: each process sums 100,000,001 random numbers
      steady load --workload sum --work 100000001 --procs 1,2,4,8,16
  The same about a program of your own: copies at once, for 2 s a row
      steady load -- gzip -9 -kc file
      steady load --window 10s --procs 1..8 -- ./prog input
  The CPU budget enforced by a thread that wakes every second, as scripts do
      steady load --poll 1s --procs 1..32
  How much slower is this machine right now, by what is used of it?
      steady load --rulers
      steady load --rulers --neighbour stream --procs 1..4
  A quick look; a page with charts
      steady load --cpu-time 200ms
      steady load --export-html load.html

Each row is so many processes at once. They get ready, set off together, and
are timed from then on. The rows' order is drawn from the seed, so that a load
that drifts is not taken for one that grows with the number of processes.
Ctrl-C ends it and keeps the rows that are whole.

Exit status:
  0    done
  2    wrong usage, no such program, more processes than there may be
  3    the command failed, a process was killed, or no more could be started
  125  steady itself failed
  130  interrupted";

/// `--workload`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadFlag {
    /// Hashes of random input until so much CPU time is used
    Hash,
    /// The sum of so many random numbers
    Sum,
}

/// `--neighbour`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NeighbourFlag {
    /// Keeps a CPU busy, and no memory
    Spin,
    /// Streams through more memory than the caches hold
    Stream,
    /// Hashes, out of the first level of cache
    Hash,
}

impl From<NeighbourFlag> for Neighbour {
    fn from(flag: NeighbourFlag) -> Neighbour {
        match flag {
            NeighbourFlag::Spin => Neighbour::Spin,
            NeighbourFlag::Stream => Neighbour::Stream,
            NeighbourFlag::Hash => Neighbour::Hash,
        }
    }
}

/// The options of `steady load`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadFlags {
    /// What each process does [default: hash]
    #[arg(short, long, value_enum, value_name = "WORK", conflicts_with_all = ["command", "rulers"])]
    pub(crate) workload: Option<WorkloadFlag>,

    /// hash: the CPU time of each process [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["command", "rulers", "work"])]
    pub(crate) cpu_time: Option<Nanos>,

    /// sum: how many numbers each process sums [default: 100000001]
    #[arg(long, value_name = "NUMBERS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["command", "rulers"])]
    pub(crate) work: Option<u64>,

    /// The numbers of processes, a row for each: 1..32, 1,2,4 or 1..4,8 [default: 1 to twice the CPUs that may be used,
    /// thinned out beyond 16]
    #[arg(short, long, value_name = "NUMBERS")]
    pub(crate) procs: Option<Procs>,

    /// hash: let a thread asleep in each process look so often whether its CPU time is used [default: exact]
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["command", "rulers", "work"])]
    pub(crate) poll: Option<Nanos>,

    /// COMMAND: begin no run later than this in a row. Runs that end later ran beside fewer others; they count only in
    /// a place where none ended in time [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "command")]
    pub(crate) window: Option<Nanos>,

    /// The CPUs to use: 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// The seed of the rows' order and of the work's random numbers [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// Read the rulers instead: how much slower each resource of this machine is right now
    #[arg(long, conflicts_with = "command")]
    pub(crate) rulers: bool,

    /// --rulers: read them beside so many of these at once, a row for each number of --procs
    #[arg(long, value_enum, value_name = "KIND", requires = "rulers")]
    pub(crate) neighbour: Option<NeighbourFlag>,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the chart of work by number of processes to this file, as a drawing (SVG)
    #[arg(long, value_name = "FILE", conflicts_with = "rulers")]
    pub(crate) export_svg: Option<PathBuf>,

    /// Put each process's own figures into the JSON
    #[arg(long)]
    pub(crate) samples: bool,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// A program of your own and its words, after --: copies of it are run instead of steady's own work
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// More rows than this are a slip of the keyboard.
const MOST_ROWS: usize = 1_000;
/// More processes than this the kernel never has (`PID_MAX_LIMIT`).
const MOST_PROCS: u32 = 4_194_304;

/// Numbers of processes, ascending and without doubles, none of them 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Procs(pub(crate) Vec<u32>);

impl FromStr for Procs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = BTreeSet::new();
        for item in text.split(',') {
            let (first, last) = item.split_once("..").unwrap_or((item, item));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("'{}' goes backwards: write {last}..{first}", item.trim()));
            }
            if (last - first) as usize >= MOST_ROWS {
                return Err(too_many());
            }
            all.extend(first..=last);
        }
        if all.len() > MOST_ROWS { Err(too_many()) } else { Ok(Procs(all.into_iter().collect())) }
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    match text.parse() {
        Ok(0) => Err("there are no rows of 0 processes: begin at 1".to_owned()),
        Ok(number) if number <= MOST_PROCS => Ok(number),
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("'{text}' are more processes than Linux has"))
        }
        _ => Err(format!("'{text}' is no number of processes; write 1..32, 1,2,4 or 1..4,8")),
    }
}

fn too_many() -> String {
    format!("these are more than {MOST_ROWS} rows; write fewer, such as 1..32,64,128")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn procs(text: &str) -> Vec<u32> {
        text.parse::<Procs>().unwrap().0
    }

    #[test]
    fn ranges_and_numbers_are_expanded() {
        assert_eq!(procs("1..5"), [1, 2, 3, 4, 5]);
        assert_eq!(procs("8,1,2,2"), [1, 2, 8]);
        assert_eq!(procs("1..4, 8 ,16..17"), [1, 2, 3, 4, 8, 16, 17]);
        assert_eq!(procs("10000"), [10_000]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_remedy() {
        let why = |text: &str| text.parse::<Procs>().unwrap_err();
        assert!(why("0").contains("begin at 1") && why("0..4").contains("begin at 1"));
        assert!(why("8..1").contains("1..8"));
        assert!(why("1..100000").contains("rows"));
        assert!(why("1..600,1000..1600").contains("rows"));
        assert!(why("99999999").contains("more processes"));
        assert!(why("99999999999999999999999").contains("more processes"));
        for wrong in ["", ",", "1,,2", "x", "-1", "1..", "..4", "1-4", "1...4", "1.5"] {
            assert!(why(wrong).contains("1..32"), "{wrong}: {}", why(wrong));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_becomes_rows_or_a_refusal(text in ".*|[0-9.,]{0,16}") {
            if let Ok(Procs(procs)) = text.parse() {
                proptest::prop_assert!(!procs.is_empty() && procs[0] > 0 && procs.is_sorted());
            }
        }
    }
}
