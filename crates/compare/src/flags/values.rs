//! What the values of some options mean.

use clap::ValueEnum;
use steady_model::Output;

/// `--metric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricFlag {
    /// CPU time, or elapsed time or time on the wall where the commands mostly wait
    Auto,
    /// User and system time of the whole process tree
    Cpu,
    /// Time on the wall less waiting for a CPU (single-threaded commands)
    Elapsed,
    /// Time on the wall
    Wall,
    /// Peak resident memory
    Memory,
    /// Instructions retired, where the CPU's counters can be read
    Instructions,
}

/// `--layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFlag {
    /// Both where both serve, shared out by what they resolve
    Auto,
    /// One after the other
    Turns,
    /// At the same time, each on a CPU of its own
    Duet,
}

pub(super) fn child_output(text: &str) -> Result<Output, String> {
    match text {
        "null" => Ok(Output::Null),
        "pipe" => Ok(Output::Pipe),
        "inherit" => Ok(Output::Inherit),
        "" => Err("write null, pipe, inherit or the name of a file".to_owned()),
        file => Ok(Output::File(file.into())),
    }
}
