//! Options of the precision of a verdict, and of its effect on the exit status.

use clap::Args;
use steady_model::FailIf;

use super::values::{confidence, resolution};

/// The requested precision of a verdict.
#[derive(Clone, Debug, Args)]
pub struct PrecisionFlags {
    /// Changes smaller than this are negligible
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = resolution)]
    pub resolution: f64,

    /// The confidence of verdicts and intervals
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    pub confidence: f64,
}

/// The options that make the exit status depend on the verdict.
#[derive(Clone, Debug, Args)]
pub struct GateFlags {
    /// Exit with 1 if this certainly holds, that is, for the whole interval: 'slower>1%', 'faster>2%'
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Option<FailIf>,

    /// Exit with 4 if there is no verdict; with --fail-if, if it is not known whether the condition holds
    #[arg(long)]
    pub require_verdict: bool,
}
