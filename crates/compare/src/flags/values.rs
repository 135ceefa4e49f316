//! Parsers and types of option values.

use std::ffi::OsStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error, ValueEnum};
use steady_model::{Metric, MetricInput, MetricSource, Output};
use steady_process::Extractor;

/// The value of `--metric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricFlag {
    /// CPU time, but elapsed or wall time if the commands mostly wait
    Auto,
    /// User and system time of the command and all children that were waited for
    Cpu,
    /// Wall time minus the time spent waiting for a CPU (only for single-threaded commands)
    Elapsed,
    /// Wall time from start to exit
    Wall,
    /// Peak resident memory of the largest process
    Memory,
    /// Retired instructions, if the CPU's counters can be read
    Instructions,
    /// Page faults
    Faults,
    /// Voluntary context switches: how often the program waited
    Switches,
    /// Energy of the CPUs of the whole machine, if its counters can be read
    Energy,
}

/// The value of `--metric`: one of [`MetricFlag`], or the name of a metric of `--metric-from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChosenMetric {
    /// A metric that `steady` measures.
    BuiltIn(MetricFlag),
    /// The name of a custom metric.
    Custom(String),
}

/// Parses the value of `--metric`. A number was meant for another option: hyperfine's `-m` is `--min-runs`.
#[derive(Clone)]
pub(super) struct MetricParser;

impl TypedValueParser for MetricParser {
    type Value = ChosenMetric;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<ChosenMetric, Error> {
        match value.to_str().and_then(|text| text.parse::<u64>().ok()) {
            Some(pairs) => {
                let why = format!("-m is --metric; for the smallest number of pairs, write --min-runs {pairs}\n");
                Err(Error::raw(ErrorKind::InvalidValue, why).with_cmd(command))
            }
            None => {
                let built_in = EnumValueParser::<MetricFlag>::new().parse_ref(command, argument, value);
                match value.to_str().and_then(Metric::named) {
                    Some(Metric::Custom(custom)) => Ok(ChosenMetric::Custom(custom.name().to_owned())),
                    _ => built_in.map(ChosenMetric::BuiltIn),
                }
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(MetricFlag::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// The value of `--layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFlag {
    /// Both if both are possible, in shares that give the narrowest interval of the verdict
    Auto,
    /// The runs of a pair follow each other, on any CPU
    Turns,
    /// The runs of a pair are concurrent, each on its own CPU
    Duet,
}

/// Parses a value of `--metric-from`, and checks its pattern.
pub(super) fn metric_source(text: &str) -> Result<MetricSource, String> {
    let source: MetricSource = text.parse()?;
    Extractor::new(&source)?;
    Ok(source)
}

pub(super) fn metric_input(text: &str) -> Result<MetricInput, String> {
    match text {
        "stdout" => Ok(MetricInput::Stdout),
        "stderr" => Ok(MetricInput::Stderr),
        "" => Err("write stdout, stderr or the name of a file".to_owned()),
        file => Ok(MetricInput::File(file.into())),
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
