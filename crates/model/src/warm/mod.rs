//! Programs kept warm: started from snapshots of themselves.

mod status;

pub use status::{KeptProgram, LaunchOutcome, WarmQuestion, WarmReport, WarmState, WarmStore};
