//! The options of `steady signature`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use steady_feature::flags::{OutputFlags, size, span};
use steady_model::Nanos;
use steady_workloads::signature::{Allocator, Crew, MOST_NODES, MOST_WORKERS, POOL_NODE_BYTES};

const EXAMPLES: &str = "\
Examples:
  The signature of a file, as fast as this machine makes it
      steady signature disk.img
  Of several, and of what comes down a pipe
      steady signature *.tar; zcat old.gz | steady signature -
  What one lock around an allocator costs eight threads, and a pool each
      steady signature --allocator global --threads 8 --stats data
      steady signature --allocator pool --threads 8 --stats data
  What is that made of? Measured in turns, with intervals
      steady signature bench
  The same among processes that share the allocator's memory
      steady signature --allocator global --processes 8 --stats data

The file is cut into blocks of 1,024 bytes; each has a Huffman tree, whose
hash in pre-order is its own, and the signature is their sum modulo
2,147,483,647. All allocators and crews come to the same number. A file that
changes while it is read has none: that is an error.

Exit status:
  0    done
  2    wrong usage; a file could not be read, or changed while it was read
       (the others are told)
  125  steady itself failed";

const BENCH_EXAMPLES: &str = "\
Examples:
  What does an allocator's lock cost eight threads here, and why?
      steady signature bench
  The same on a file's bytes, surer, as a page with charts
      steady signature bench --budget 2m --export-html bench.html data.tar

Each round makes a signature in every way, in an order drawn by coin: by every
allocator, with 1 to 16 threads, of 5 KiB to 4 MiB. Ways are compared by pairs
out of one round. What takes long is in fewer rounds; where there are fewer
than 6 there is no interval.

Exit status:
  0    done
  2    wrong usage; the file cannot be read
  125  steady itself failed
  130  interrupted";

/// The options of `steady signature`.
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

    /// The files; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// So many threads work on each file [default: as many as it is worth, up to the number of CPUs]
    #[arg(short, long, value_name = "N", group = "crew", value_parser = workers())]
    pub(crate) threads: Option<u32>,

    /// So many processes work on each file
    #[arg(short, long, value_name = "N", group = "crew", value_parser = workers())]
    pub(crate) processes: Option<u32>,

    /// No thread and no process more than there is
    #[arg(long, group = "crew")]
    pub(crate) single: bool,

    /// Where the nodes of the trees come from
    #[arg(short, long, value_enum, default_value_t = AllocatorFlag::None)]
    pub(crate) allocator: AllocatorFlag,

    /// The size of each worker's pool, with --allocator pool
    #[arg(long, value_name = "SIZE", default_value = "128K", value_parser = pool)]
    pub(crate) pool_bytes: usize,

    /// Say what it took: the lock, allocations, time, memory
    #[arg(long)]
    pub(crate) stats: bool,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// What else there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum SignatureCommands {
    /// What an allocator's lock costs on this machine: allocators, workers and sizes beside one another
    Bench(Box<BenchFlags>),
}

/// The options of `steady signature bench`.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchFlags {
    /// The file whose first 4 MiB are signed [default: bytes of a generator]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Measure for about so long
    #[arg(short, long, value_name = "TIME", default_value = "20s", value_parser = span)]
    pub(crate) budget: Nanos,

    /// The size of each worker's pool
    #[arg(long, value_name = "SIZE", default_value = "128K", value_parser = pool)]
    pub(crate) pool_bytes: usize,

    /// The seed of the order [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the chart of throughput by workers as an SVG to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) export_svg: Option<PathBuf>,

    /// Put the runs into the JSON
    #[arg(long)]
    pub(crate) samples: bool,
}

impl SignatureFlags {
    /// Who works, if that was said.
    pub(crate) fn crew(&self) -> Option<Crew> {
        let threads = self.threads.map(Crew::Threads);
        threads.or(self.processes.map(Crew::Processes)).or(self.single.then_some(Crew::Single))
    }
}

/// `--allocator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllocatorFlag {
    /// No nodes: the same number without building the trees
    None,
    /// A bump arena for each worker, which starts over with each block
    Pool,
    /// One free list for all: first fit, in the order of addresses, joined when given back, behind one lock
    Global,
    /// The C library's malloc
    System,
}

impl From<AllocatorFlag> for Allocator {
    fn from(flag: AllocatorFlag) -> Allocator {
        match flag {
            AllocatorFlag::None => Allocator::None,
            AllocatorFlag::Pool => Allocator::Pool,
            AllocatorFlag::Global => Allocator::Global,
            AllocatorFlag::System => Allocator::System,
        }
    }
}

fn workers() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MOST_WORKERS))
}

/// The size of a pool that has room for a tree.
fn pool(text: &str) -> Result<usize, String> {
    /// More is a slip of the keyboard.
    const MOST: u64 = 1 << 30;
    let least = MOST_NODES * POOL_NODE_BYTES;
    match size(text)? {
        bytes if bytes < least as u64 => Err(format!(
            "a block's tree has up to {MOST_NODES} nodes of {POOL_NODE_BYTES} bytes: at least {least} bytes"
        )),
        bytes if bytes > MOST => Err("at most 1 GiB".to_owned()),
        bytes => Ok(bytes as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_room_for_a_tree() {
        assert_eq!(pool("8176"), Ok(8_176));
        assert_eq!(pool("128K"), Ok(131_072));
        for wrong in ["8175", "0", "2G", "x", ""] {
            assert!(pool(wrong).is_err(), "{wrong}");
        }
    }
}
