//! The options of `steady compare` and `steady judge` as typed. [`crate::plan`] resolves and checks them.

mod around;
mod foreign;
mod judge;
mod runs;
mod values;
mod variants;

use std::path::PathBuf;

use clap::Args;
use steady_feature::flags::{GateFlags, OutputFlags, PrecisionFlags, duration, whole_number};
use steady_host::QuietHostFlags;
use steady_model::Nanos;

pub(crate) use around::AroundFlags;
pub(crate) use judge::JudgeFlags;
pub use runs::RunFlags;
pub(crate) use values::{ChosenMetric, LayoutFlag, MetricFlag};
pub(crate) use variants::VariantFlags;
pub use variants::variable;

const EXAMPLES: &str = "\
Examples:
  Does the new build need less CPU time?
      steady compare './old input.txt' './new input.txt'
  Detect changes of half a percent, in at most a minute
      steady compare --resolution 0.5% --budget 1m './old' './new'
  Three candidates against the first; pipes need a shell
      steady compare --shell 'sort f | uniq' 'sort -u f' 'awk \"!s[\\$0]++\" f'
  In CI: fail only if the branch is certainly more than 2 % slower
      steady compare --fail-if 'slower>2%' './main' './branch'
  A client mostly waits for its server: compare wall time
      steady compare --metric wall 'curl -s http://a/' 'curl -s http://b/'
  Is the branch slower than main? Both are checked out, built and run
      steady compare --rev main..HEAD --build 'make -j2' './prog input'
  In CI: is it slower than the commit of main where its branch began?
      steady compare --rev origin/main...HEAD --build make './prog input'
  Short commands, without the cost of loading them
      steady compare --warm 'sort -n list' 'sort -g list'
  The program measures itself: compare what it prints, such as 'p99: 12 ms'
      steady compare --metric-from 'p99[ms]=regex:p99: (.*) ms' ./old ./new
  A loop over many changes: exit with 0 only if new is certainly better
      steady compare --ratchet loop.json ./best ./new && cp new best
  Every value against the first; one variable or one library changed
      steady compare -L level=1,6,9 'gzip -{level} -c file'
      steady compare --env-new MALLOC_ARENA_MAX=1 './server --bench'
      steady compare --preload-new ./libjemalloc.so './prog input'
  Save the samples, and evaluate them again
      steady compare --samples --export-json r.json ./old ./new
      steady judge r.json
  Show an earlier comparison; all are stored in the history
      steady history list; steady history report last

A verdict is 'faster', 'slower', 'same' (no difference beyond the resolution)
or 'undecided' (the budget was too small for this load; the report says which
budget would probably decide). The error rate of 5 % holds under any load,
because the order of the runs of every pair is random.

Exit status:
  0    done
  1    the --fail-if condition certainly holds; with --ratchet: not accepted
  2    wrong usage, no such program, a revision that cannot be built, or a
       budget that is too small even on an idle machine
  3    a measured command or a script around it failed, or a run took too long
  4    with --require-verdict: undecided; with --fail-if: not known whether the
       condition holds
  125  steady itself failed
  130  interrupted";

/// The options of `steady compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareFlags {
    /// The commands. Each is one string, which is split into words as by a shell and run without a shell. All others
    /// are compared with the first. A single command is measured without a comparison
    #[arg(required = true, value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,

    /// The time to measure: 10s, 1m30s, 500ms. The comparison stops early once the verdict and the size are known. If
    /// the load leaves time for fewer pairs than a verdict needs (6 with two commands), it takes up to twice this time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) budget: Nanos,

    /// Measure this number of pairs instead, and evaluate them once, at the end
    #[arg(short, long, value_name = "PAIRS", conflicts_with = "budget", value_parser = whole_number::<u64>(1..))]
    pub(crate) runs: Option<u64>,

    /// Measure at least this number of pairs, even if there is a verdict or the budget is spent
    #[arg(long, value_name = "PAIRS", conflicts_with = "runs", value_parser = whole_number::<u64>(1..))]
    pub(crate) min_runs: Option<u64>,

    /// Measure at most this number of pairs, even if the budget is not spent
    #[arg(short = 'M', long, value_name = "PAIRS", conflicts_with = "runs", value_parser = whole_number::<u64>(1..))]
    pub(crate) max_runs: Option<u64>,

    #[command(flatten)]
    pub(crate) precision: PrecisionFlags,

    #[command(flatten)]
    pub(crate) run: RunFlags,

    /// Start each run from a snapshot of its program, which excludes the cost of loading it. The report has the cost of
    /// start-up separately. If a program cannot have a snapshot, all runs start as usual, and the report says why
    #[arg(long)]
    pub(crate) warm: bool,

    #[command(flatten)]
    pub(crate) variants: VariantFlags,

    #[command(flatten)]
    pub(crate) gate: GateFlags,

    /// For loops over many candidate changes: accept the second command only if it is certainly better than the first,
    /// on fresh pairs. FILE holds the error that the loop has spent, so that all its candidates together are wrongly
    /// accepted with the probability of one comparison. Exit with 0 if it is accepted, and with 1 if not
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "fail_if", "require_verdict"])]
    pub(crate) ratchet: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    #[command(flatten)]
    foreign: foreign::ForeignFlags,

    /// Add the raw samples to the JSON, so that `steady judge` can evaluate them again
    #[arg(long)]
    pub(crate) samples: bool,

    /// Do not store this comparison in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}
