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

/// `--ignore-failure`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IgnoredFailures {
    All,
    Codes(Vec<i32>),
}

impl std::str::FromStr for IgnoredFailures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(IgnoredFailures::All);
        }
        let code = |word: &str| match word.trim().parse() {
            Ok(code) if (0..=255).contains(&code) => Ok(code),
            _ => Err(format!("'{word}' is no exit status; write 1 or 1,3")),
        };
        text.split(',').map(code).collect::<Result<_, _>>().map(IgnoredFailures::Codes)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_list_of_statuses_makes_it_panic(text in ".*") {
            let _ = text.parse::<IgnoredFailures>();
        }
    }

    #[test]
    fn ignored_statuses_are_read() {
        assert_eq!("all".parse(), Ok(IgnoredFailures::All));
        assert_eq!("1,3".parse(), Ok(IgnoredFailures::Codes(vec![1, 3])));
        for wrong in ["", "x", "256", "-1", "1,"] {
            assert!(wrong.parse::<IgnoredFailures>().is_err(), "{wrong}");
        }
    }
}
