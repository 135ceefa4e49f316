//! The options of `steady judge`.

use std::path::PathBuf;

use clap::Args;
use steady_feature::flags::OutputFlags;
use steady_model::FailIf;

const JUDGE_EXAMPLES: &str = "\
Examples:
  Evaluate the samples of one comparison again
      steady judge r.json
  One verdict from the same comparison on several machines; do they agree?
      steady judge part-*.json
  In CI: fail only if all jobs together are certainly more than 2 % slower
      steady judge --fail-if 'slower>2%' part-*.json

Join all runs that were planned for one verdict. Do not choose runs by their
results, and do not add runs because the others were undecided. Then the error
rate holds however each of them ended.

The condition of a suite is that of `steady bench`, which measures until it is
known, so --fail-if is for comparisons only.

Exit status:
  0    done
  1    the --fail-if condition certainly holds
  2    wrong usage, or files that are no reports with samples, or that cannot
       be joined
  3    one command failed clearly more often than the other; others as the
       command that measured
  4    with --require-verdict: undecided; with --fail-if: not known whether the
       condition holds
  125  steady itself failed";

/// The options of `steady judge`.
#[derive(Debug, Args)]
#[command(after_help = JUDGE_EXAMPLES)]
pub(crate) struct JudgeFlags {
    /// JSON reports that were written with --samples, of any command that measures; - for standard input. Several are
    /// joined into one verdict: they must be different runs of the same comparison, at other times or on other machines
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Exit with 1 if this certainly holds, that is, for the whole interval: 'slower>1%', 'faster>2%' [default: as in
    /// the comparisons]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Option<FailIf>,

    /// Exit with 4 if the verdict is undecided [default: as in the comparisons]
    #[arg(long)]
    pub(crate) require_verdict: bool,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Write the chart of a load experiment or of `steady signature bench` to this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) export_svg: Option<PathBuf>,

    /// Add the raw samples to the JSON again
    #[arg(long)]
    pub(crate) samples: bool,
}
