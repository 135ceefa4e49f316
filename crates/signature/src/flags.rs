//! Command-line options of `steady signature` and their parsers.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use steady_feature::flags::{FormatFlag, OutputFlags, size, span, whole_number};
use steady_model::Nanos;
use steady_workloads::signature::{Allocator, Crew, MOST_BLOCK_BYTES, MOST_NODES, MOST_WORKERS, POOL_NODE_BYTES};

use crate::plan::Workers;

const EXAMPLES: &str = "\
Examples:
  Signature of a file, in the fastest way
      steady signature disk.img
  Signatures of several files, and of data from a pipe
      steady signature *.tar; zcat old.gz | steady signature -
  Cost of a locked allocator with eight threads, and of a pool per thread
      steady signature --allocator global --threads 8 --stats disk.img
      steady signature --allocator pool --threads 8 --stats disk.img
  Measure the parts of that cost in random order, with intervals
      steady signature bench
  As published: a thread for each block, and one locked list
      steady signature --allocator global --threads per-block --stats disk.img
  The same allocator with processes that share its memory
      steady signature --allocator global --processes 8 --stats disk.img

A file is divided into blocks of 1,024 bytes. Each block has a Huffman tree,
whose hash in pre-order is the hash of the block. The signature is the sum of
these hashes modulo 2,147,483,647. It does not depend on the allocator or on
the number of workers. A file that changes while it is read has no signature,
which is an error. Character devices are refused, because they have no end.

Exit status:
  0    success
  2    wrong usage, or a file could not be read or changed while it was read
       (the signatures of other files are printed)
  125  steady itself failed";

const BENCH_EXAMPLES: &str = "\
Examples:
  Measure what an allocator's lock costs with eight threads on this machine
      steady signature bench
  Use the bytes of a file, measure longer, and write a page with charts
      steady signature bench --budget 2m --export-html bench.html data.tar

Each round computes signatures with every allocator, with 1 to 16 threads and
on 5 KiB to 4 MiB, in random order. Conditions are compared by pairs from the
same round. Slow conditions run in fewer rounds. With fewer than 6 pairs there
is no interval.

Exit status:
  0    success
  2    wrong usage, or the file cannot be read
  125  steady itself failed
  130  interrupted";

/// Options of `steady signature`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "steady signature [OPTIONS] FILE...\n       steady signature bench [OPTIONS] [FILE]"
)]
pub(crate) struct SignatureFlags {
    #[command(subcommand)]
    pub(crate) question: Option<SignatureCommands>,

    /// Files to read; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Number of threads that work on each file, or per-block for a thread for each block [default: one per 256 KiB, up
    /// to the number of CPUs]
    #[arg(short, long, value_name = "N", group = "crew", value_parser = threads)]
    pub(crate) threads: Option<Workers>,

    /// Number of processes that work on each file, instead of threads
    #[arg(short, long, value_name = "N", group = "crew", value_parser = whole_number::<u32>(1..=u64::from(MOST_WORKERS)))]
    pub(crate) processes: Option<u32>,

    /// Work in the main thread, without further threads or processes
    #[arg(long, group = "crew")]
    pub(crate) single: bool,

    /// Allocator for the nodes of the trees
    #[arg(short, long, value_enum, default_value_t = AllocatorFlag::None)]
    pub(crate) allocator: AllocatorFlag,

    /// Size of each pool, with --allocator pool or pool-per-block
    #[arg(long, value_name = "SIZE", default_value = "128K", value_parser = pool)]
    pub(crate) pool_bytes: usize,

    /// Size of a block, up to 16 KiB; another size than 1 KiB gives another signature
    #[arg(long, value_name = "SIZE", default_value = "1K", value_parser = block)]
    pub(crate) block_size: usize,

    /// Print the cost: lock acquisitions, allocations, time, memory
    #[arg(long)]
    pub(crate) stats: bool,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// Subcommands of `steady signature`.
#[derive(Debug, Subcommand)]
pub(crate) enum SignatureCommands {
    /// Measure what an allocator's lock costs on this machine: compare allocators, numbers of workers and sizes
    Bench(Box<BenchFlags>),
}

/// Options of `steady signature bench`.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchFlags {
    /// File whose first 4 MiB are used; of a shorter one, 1 MiB, 64 KiB or 5 KiB [default: pseudo-random bytes]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Approximate duration of the measurement
    #[arg(short, long, value_name = "TIME", default_value = "20s", value_parser = span)]
    pub(crate) budget: Nanos,

    /// Size of each worker's pool
    #[arg(long, value_name = "SIZE", default_value = "128K", value_parser = pool)]
    pub(crate) pool_bytes: usize,

    /// Seed of the random order [default: from the system; the report contains it]
    #[arg(long, value_parser = whole_number::<u64>(..))]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the chart of throughput by number of workers to this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) export_svg: Option<PathBuf>,

    /// Include each run in the JSON export
    #[arg(long)]
    pub(crate) samples: bool,

    /// Do not store this run in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}

impl SignatureFlags {
    /// Whether the output has user and system times: all but the lines of the signatures alone.
    pub(crate) fn has_times(&self) -> bool {
        self.stats || self.output.format != FormatFlag::Text || self.output.files.wanted().next().is_some()
    }

    /// Returns the workers that were requested, if any.
    pub(crate) fn workers(&self) -> Option<Workers> {
        let processes = self.processes.map(Crew::Processes);
        self.threads.or(processes.or(self.single.then_some(Crew::Single)).map(Workers::Crew))
    }
}

/// Values of `--allocator`, the source of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllocatorFlag {
    /// No nodes: computes the signature without building the trees
    None,
    /// A bump arena per worker, which starts over with each block
    Pool,
    /// One free list for all workers behind one lock: first fit, in address order, adjacent free pieces are joined
    Global,
    /// A pool for each block, taken from the free list of global and returned to it
    PoolPerBlock,
    /// malloc(3) of the C library
    System,
}

impl From<AllocatorFlag> for Allocator {
    fn from(flag: AllocatorFlag) -> Allocator {
        match flag {
            AllocatorFlag::None => Allocator::None,
            AllocatorFlag::Pool => Allocator::Pool,
            AllocatorFlag::Global => Allocator::Global,
            AllocatorFlag::PoolPerBlock => Allocator::PoolPerBlock,
            AllocatorFlag::System => Allocator::System,
        }
    }
}

/// Parses a number of threads, or `per-block`.
fn threads(text: &str) -> Result<Workers, String> {
    if text == "per-block" {
        return Ok(Workers::ThreadPerBlock);
    }
    let in_range = text.parse().ok().filter(|count| (1..=MOST_WORKERS).contains(count));
    let count = in_range.ok_or_else(|| format!("it must be per-block or a number from 1 to {MOST_WORKERS}"))?;
    Ok(Workers::Crew(Crew::Threads(count)))
}

/// Parses the size of a pool, which must have room for a tree.
fn pool(text: &str) -> Result<usize, String> {
    /// Larger sizes are probably typing errors.
    const MOST: u64 = 1 << 30;
    let least = MOST_NODES * POOL_NODE_BYTES;
    match size(text)? {
        bytes if bytes < least as u64 => Err(format!(
            "a pool needs at least {least} bytes: a block's tree has up to {MOST_NODES} nodes of {POOL_NODE_BYTES} \
             bytes"
        )),
        bytes if bytes > MOST => Err("a pool has at most 1 GiB".to_owned()),
        bytes => Ok(bytes as usize),
    }
}

/// Parses the size of a block.
fn block(text: &str) -> Result<usize, String> {
    let bytes = usize::try_from(size(text)?).unwrap_or(usize::MAX);
    let in_range = (1..=MOST_BLOCK_BYTES).contains(&bytes);
    in_range.then_some(bytes).ok_or_else(|| "a block has from 1 byte to 16 KiB".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    #[test]
    fn only_lines_of_signatures_alone_have_no_times() {
        let has_times = |words: &[&str]| {
            let command = SignatureFlags::augment_args(Command::new("signature"));
            let matches = command.get_matches_from([&["signature", "file"], words].concat());
            SignatureFlags::from_arg_matches(&matches).unwrap().has_times()
        };
        assert!(!has_times(&[]) && !has_times(&["--quiet"]));
        assert!(has_times(&["--stats"]) && has_times(&["--format", "csv"]) && has_times(&["--export-html", "x"]));
    }

    #[test]
    fn a_block_has_at_least_one_byte() {
        assert_eq!((block("1"), block("1000"), block("16K")), (Ok(1), Ok(1_000), Ok(16_384)));
        for wrong in ["0", "16385", "17K", "-1", "x", ""] {
            assert!(block(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pool_has_room_for_a_tree() {
        assert_eq!(pool("8176"), Ok(8_176));
        assert_eq!(pool("128K"), Ok(131_072));
        for wrong in ["8175", "0", "2G", "x", ""] {
            assert!(pool(wrong).is_err(), "{wrong}");
        }
    }
}
