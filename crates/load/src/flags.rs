//! The options of `steady load`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use steady_feature::flags::{OutputFlags, span, whole_number};
use steady_host::QuietHostFlags;
use steady_model::Nanos;
use steady_rulers::Neighbour;

use crate::table::Published;

const EXAMPLES: &str = "\
Examples:
  A quick test
      steady load --cpu-time 200ms
  How far can CPU time and wall time be trusted on this machine? Run 1 to 32
  concurrent processes; each hashes for 5 s of its own CPU time
      steady load --workload hash --cpu-time 5s --procs 1..32
  The user time of fixed work: each process adds 100,000,001 random numbers
      steady load --workload sum --work 100000001 --procs 1,2,4,8,16
  The same for your own program: concurrent copies, for 2 s in each row
      steady load -- gzip -9 -kc file
      steady load --window 10s --procs 1..8 -- ./prog input
  A CPU limit that a thread checks once a second, as scripts do
      steady load --poll 1s --procs 1..4
  How much slower is each resource of this machine right now?
      steady load --rulers
      steady load --rulers --neighbour stream --procs 1..4
  What a table says that was measured elsewhere
      steady load --table measured.csv
      steady load --published hash8
  A page of HTML with charts
      steady load --export-html load.html

A row is a number of concurrent processes. They get ready, start together, and
are timed from then on. The seed determines a random order of the rows, because
a drift of the machine must not look like an effect of the number of processes.
Ctrl-C ends the experiment and keeps the complete rows.

A row of N processes takes at least --cpu-time, and N / CPUs times as long if
there are fewer CPUs than processes: --cpu-time 5s --procs 1..32 takes at least
22 minutes on 2 CPUs.

Exit status:
  0    success
  2    wrong usage, no such program, or more processes than the limit allows
  3    the command failed, a process was killed, or the system could not start
       enough processes
  125  steady itself failed
  130  interrupted";

/// The options of the built-in work, which exclude a command and rulers. An option that is only for one of those must
/// exclude them too, because a required option is not asked for where it is excluded.
const BUILT_IN: [&str; 4] = ["workload", "cpu_time", "work", "poll"];

/// The options that measure, which have no meaning for a table.
const MEASURING: [&str; 13] = [
    "workload",
    "cpu_time",
    "work",
    "procs",
    "poll",
    "window",
    "cpus",
    "seed",
    "rulers",
    "neighbour",
    "samples",
    "no_history",
    "command",
];

/// The values of `--workload`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadFlag {
    /// Hash random input until the CPU time of --cpu-time is used
    Hash,
    /// Add as many random numbers as --work says
    Sum,
}

/// The values of `--neighbour`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NeighbourFlag {
    /// Keep a CPU busy without using memory
    Spin,
    /// Stream through more memory than the caches hold
    Stream,
    /// Hash data in the first level of cache
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

/// The parsed options of `steady load`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadFlags {
    /// What each process does [default: hash]
    #[arg(short, long, value_enum, value_name = "WORK", conflicts_with_all = ["command", "rulers"])]
    pub(crate) workload: Option<WorkloadFlag>,

    /// hash: the CPU time of each process [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["command", "rulers", "work"])]
    pub(crate) cpu_time: Option<Nanos>,

    /// sum: how many numbers each process adds [default: 100000001]
    #[arg(
        long,
        value_name = "NUMBERS",
        value_parser = whole_number::<u64>(1..),
        conflicts_with_all = ["command", "rulers"]
    )]
    pub(crate) work: Option<u64>,

    /// The numbers of processes, one row each: 1..32, 1,2,4 or 1..4,8 [default: 1 to twice the number of usable CPUs,
    /// with gaps beyond 16]
    #[arg(short, long, value_name = "NUMBERS")]
    pub(crate) procs: Option<Procs>,

    /// hash: enforce the CPU time by a thread in each process that sleeps for this interval between checks [default:
    /// exact]
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["command", "rulers", "work"])]
    pub(crate) poll: Option<Nanos>,

    /// COMMAND: each copy starts no run after this time. Runs that end after it ran next to fewer others; they count
    /// only for a copy with no earlier run [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "command", conflicts_with_all = BUILT_IN, conflicts_with = "rulers")]
    pub(crate) window: Option<Nanos>,

    /// The CPUs to use, for example 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// Seed of the order of the rows and of the random numbers of the work [default: from the system; the report shows
    /// it]
    #[arg(long, value_parser = whole_number::<u64>(..))]
    pub(crate) seed: Option<u64>,

    /// Read rulers instead: how much slower each resource of this machine is right now
    #[arg(long, conflicts_with = "command")]
    pub(crate) rulers: bool,

    /// --rulers: read them next to neighbours of this kind, one row for each number of --procs
    #[arg(long, value_enum, value_name = "KIND", requires = "rulers", conflicts_with_all = BUILT_IN, conflicts_with = "command")]
    pub(crate) neighbour: Option<NeighbourFlag>,

    /// Evaluate a table that was measured elsewhere instead, from CSV, TSV or JSON with the columns procs, cpu_seconds
    /// (cpu_ms, user_seconds, ...), wall_seconds (wall_ms, ...) and work; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = MEASURING)]
    pub(crate) table: Option<PathBuf>,

    /// Evaluate a published table instead
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = MEASURING, conflicts_with = "table")]
    pub(crate) published: Option<Published>,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the chart of work by number of processes to this file, as SVG
    #[arg(long, value_name = "FILE", conflicts_with = "rulers")]
    pub(crate) export_svg: Option<PathBuf>,

    /// Include the measurements of each process in the JSON
    #[arg(long)]
    pub(crate) samples: bool,

    /// Do not store the result in the history
    #[arg(long)]
    pub(crate) no_history: bool,

    /// Your own program and its arguments, after --: steady runs copies of it instead of its own work
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Maximum number of rows; more are probably a typing error.
const MAX_ROWS: usize = 1_000;
/// Maximum number of processes in the kernel (`PID_MAX_LIMIT`).
const MAX_PROCS: u32 = 4_194_304;

/// Numbers of processes, ascending and without duplicates, each at least 1.
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
            if (last - first) as usize >= MAX_ROWS {
                return Err(too_many());
            }
            all.extend(first..=last);
        }
        if all.len() > MAX_ROWS { Err(too_many()) } else { Ok(Procs(all.into_iter().collect())) }
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    match text.parse() {
        Ok(0) => Err("a row needs at least 1 process: begin at 1".to_owned()),
        Ok(number) if number <= MAX_PROCS => Ok(number),
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("'{text}' is more processes than Linux supports"))
        }
        _ => Err(format!("'{text}' is not a number of processes; write 1..32, 1,2,4 or 1..4,8")),
    }
}

fn too_many() -> String {
    format!("more than {MAX_ROWS} rows are not possible; write fewer, for example 1..32,64,128")
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
    fn invalid_numbers_are_rejected_with_advice() {
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
        fn any_text_gives_rows_or_an_error(text in ".*|[0-9.,]{0,16}") {
            if let Ok(Procs(procs)) = text.parse() {
                proptest::prop_assert!(!procs.is_empty() && procs[0] > 0 && procs.is_sorted());
            }
        }
    }
}
