//! How precise a verdict is to be, and what follows from it.

use clap::Args;
use steady_model::FailIf;

use super::values::{confidence, resolution};

/// How precise a verdict is to be.
#[derive(Clone, Debug, Args)]
pub struct PrecisionFlags {
    /// A change smaller than this is as good as none
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = resolution)]
    pub resolution: f64,

    /// The confidence of verdicts and intervals
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    pub confidence: f64,
}

/// The exit status that follows from a verdict.
#[derive(Clone, Debug, Args)]
pub struct GateFlags {
    /// Exit with 1 if this surely holds, by the whole interval: 'slower>1%', 'faster>2%'
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Option<FailIf>,

    /// Exit with 4 if there is no verdict
    #[arg(long)]
    pub require_verdict: bool,
}
