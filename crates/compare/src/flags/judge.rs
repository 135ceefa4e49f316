//! The options of `steady judge`.

use std::path::PathBuf;

use clap::Args;
use steady_feature::flags::OutputFlags;
use steady_model::FailIf;

const JUDGE_EXAMPLES: &str = "\
Examples:
  Judge the samples of one comparison again
      steady judge r.json
  One verdict from the same comparison on several machines; do they agree?
      steady judge part-*.json
  In CI: fail only if all jobs together say: surely more than 2 % slower
      steady judge --fail-if 'slower>2%' part-*.json

Joined are runs that were planned as such: not chosen by what they showed, and
none added because the others did not suffice. Then the error rate holds
however each of them ended.";

/// The options of `steady judge`.
#[derive(Debug, Args)]
#[command(after_help = JUDGE_EXAMPLES)]
pub(crate) struct JudgeFlags {
    /// JSON reports that were made with --samples; - for standard input. Several are joined: runs of the same comparison
    /// at other times or on other machines, each counted once
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Exit with 1 if this surely holds, whatever the comparisons were told: 'slower>1%', 'faster>2%'
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Option<FailIf>,

    /// Exit with 4 if the verdict is undecided, whatever the comparisons were told
    #[arg(long)]
    pub(crate) require_verdict: bool,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Put the raw samples into the JSON again
    #[arg(long)]
    pub(crate) samples: bool,
}
