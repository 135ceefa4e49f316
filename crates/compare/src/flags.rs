//! The options of `steady compare` and `steady judge`, as typed. Nothing is looked up or decided here.

mod around;
mod judge;
mod values;
mod variants;

use clap::Args;
use steady_feature::flags::{GateFlags, IgnoredFailures, OutputFlags, PrecisionFlags, duration};
use steady_host::QuietHostFlags;
use steady_model::Nanos;

pub(crate) use around::AroundFlags;
pub(crate) use judge::JudgeFlags;
pub(crate) use values::{LayoutFlag, MetricFlag};
pub(crate) use variants::VariantFlags;

const EXAMPLES: &str = "\
Examples:
  Does the new build need less CPU time?
      steady compare './old input.txt' './new input.txt'
  Be sure to half a percent, and take up to a minute for it
      steady compare --resolution 0.5% --budget 1m './old' './new'
  Three candidates against the first; pipes need a shell
      steady compare --shell 'sort f | uniq' 'sort -u f' 'awk \"!s[\\$0]++\" f'
  In CI: fail only if it is surely more than 2 % slower
      steady compare --fail-if 'slower>2%' './main' './branch'
  A server's client waits rather than works: judge the time on the wall
      steady compare --metric wall 'curl -s http://a/' 'curl -s http://b/'
  Is the branch slower than main? Both are checked out, built and run
      steady compare --rev main..HEAD --build 'make -j2' './prog input'
  Short commands, without what loading them takes
      steady compare --warm 'sort -n list' 'sort -g list'
  Every value against the first; one variable or one library changed
      steady compare -L level=1,6,9 'gzip -{level} -c file'
      steady compare --env-new MALLOC_ARENA_MAX=1 './server --bench'
      steady compare --preload-new ./libjemalloc.so './prog input'
  Keep the samples, and judge them again
      steady compare --samples --export-json r.json ./old ./new
      steady judge r.json
  See an earlier comparison again, for all are kept
      steady history list; steady history report last

A verdict is 'faster', 'slower', 'same' (no difference beyond the resolution)
or 'undecided' (the budget was too small for this load; the report says which
would do). The error rate of 5 % holds under any load, because the order and
the CPU of every pair are drawn by coin.

Exit status:
  0    done
  1    the --fail-if condition is met
  2    wrong usage, no such program
  3    a measured command failed or ran too long
  4    undecided, with --require-verdict
  125  steady itself failed
  130  interrupted";

/// The options of `steady compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareFlags {
    /// The commands, each one string, split into words as a shell does and run without one. All are judged against
    /// the first; one alone is measured.
    #[arg(required = true, value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,

    /// Run without a shell: the default, accepted for hyperfine's sake
    #[arg(short = 'N', long, conflicts_with = "shell")]
    pub(crate) no_shell: bool,

    /// Run the commands in a shell; its start-up is part of the cost
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh")]
    pub(crate) shell: Option<String>,

    /// Measure at most this long in all: 10s, 1m30s, 500ms. It stops early once the verdict is in
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) budget: Nanos,

    /// Measure this many pairs instead, and judge them once
    #[arg(short, long, value_name = "PAIRS", conflicts_with = "budget", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,

    #[command(flatten)]
    pub(crate) precision: PrecisionFlags,

    /// What the verdict is about. auto: CPU time, unless the commands mostly wait
    #[arg(short, long, value_enum, default_value_t = MetricFlag::Auto)]
    pub(crate) metric: MetricFlag,

    /// How pairs are run: in turns, both at once on two CPUs, or both ways by what resolves more
    #[arg(long, value_enum, default_value_t = LayoutFlag::Auto)]
    pub(crate) layout: LayoutFlag,

    /// Pairs of each layout to run and throw away first [default: as many as the commands need]
    #[arg(short, long, value_name = "PAIRS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) warmup: Option<u32>,

    /// Start each run from a snapshot of its program, so that start-up does not drown what it does; start-up is told
    /// apart. Where a program has none, all runs start as usual, and the report says why
    #[arg(long)]
    pub(crate) warm: bool,

    #[command(flatten)]
    pub(crate) variants: VariantFlags,

    #[command(flatten)]
    pub(crate) around: AroundFlags,

    /// Count runs that exit with another status than 0 as successes: all of them, or those with these statuses
    #[arg(short, long, value_name = "STATUS,...", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) ignore_failure: Option<IgnoredFailures>,

    /// The longest that one run may last
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Nanos>,

    /// The seed of all coins [default: from the system; the report names it]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// The CPUs to use: 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    #[command(flatten)]
    pub(crate) gate: GateFlags,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Put the raw samples into the JSON, so that `steady judge` can judge them again
    #[arg(long)]
    pub(crate) samples: bool,

    /// Keep nothing of this comparison in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}
