//! The command line of `steady signature bench`.

use std::path::PathBuf;

use clap::Args;
use steady_feature::flags::{OutputFlags, span};
use steady_model::Nanos;

use super::signature::pool;

const EXAMPLES: &str = "\
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

/// The options of `steady signature bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SignatureBenchFlags {
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
