//! Programs kept warm: started from snapshots of themselves.

mod bench;
mod status;

pub use bench::{
    BreakEven, PaidBack, WarmBenchPlan, WarmBenchRecord, WarmBenchReport, WarmCounts, WarmEffect, WarmFigures,
    WarmMean, WarmMeasure, WarmMode, WarmProgram, WarmRun, WarmSession, WarmSpent, WarmTrial,
};
pub use status::{KeptProgram, LaunchOutcome, WarmQuestion, WarmReport, WarmState, WarmStore};
