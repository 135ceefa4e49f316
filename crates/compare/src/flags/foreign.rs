//! Options of hyperfine that do not exist here. Each is refused with what to use instead.

use std::convert::Infallible;
use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, Error};

/// The options. They have no value, because every value is refused.
#[derive(Debug, Args)]
pub(crate) struct ForeignFlags {
    #[arg(long, hide = true, value_parser = Refused("NO_COLOR=1 turns colours off, and --quiet the text"))]
    style: Option<Infallible>,

    #[arg(long, hide = true, value_parser = Refused("reports rank three or more commands, and list them in their order elsewhere"))]
    sort: Option<Infallible>,

    #[arg(short = 'u', long, hide = true, value_parser = Refused(NO_UNIT))]
    time_unit: Option<Infallible>,

    #[arg(long, hide = true, value_parser = Refused("name each command with -n"))]
    reference_name: Option<Infallible>,

    #[arg(long, hide = true, value_parser = Refused("use --budget, which is the largest time to measure"))]
    min_benchmarking_time: Option<Infallible>,
}

const NO_UNIT: &str = "each time has a unit that suits it; JSON and CSV have seconds";

/// The parser of an option that does not exist. It refuses every value with this advice.
#[derive(Clone)]
struct Refused(&'static str);

impl TypedValueParser for Refused {
    type Value = Infallible;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<Infallible, Error> {
        const UNITS: [&str; 6] = ["microsecond", "millisecond", "second", "us", "ms", "s"];
        // A value of -u that is no unit is a word of an unquoted command.
        let why = if self.0 == NO_UNIT && !UNITS.iter().any(|unit| value == *unit) {
            "give each command as one string, as in 'sort -u file'\n".to_owned()
        } else {
            let name = argument.and_then(Arg::get_long).unwrap_or_default();
            format!("steady has no option --{name}: {}\n", self.0)
        };
        Err(Error::raw(ErrorKind::InvalidValue, why).with_cmd(command))
    }
}
