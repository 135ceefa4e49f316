//! Options of hyperfine that do not exist here. Each is refused with what to use instead.

use std::convert::Infallible;

use clap::Args;

/// The options. They have no value, because every value is refused.
#[derive(Debug, Args)]
pub(crate) struct ForeignFlags {
    #[arg(long, hide = true, value_parser = refused("NO_COLOR=1 turns colours off, and --quiet the text"))]
    style: Option<Infallible>,

    #[arg(long, hide = true, value_parser = refused("reports rank three or more commands, and list them in their order elsewhere"))]
    sort: Option<Infallible>,

    #[arg(short = 'u', long, hide = true, value_parser = time_unit)]
    time_unit: Option<Infallible>,

    #[arg(long, hide = true, value_parser = refused("name each command with -n"))]
    reference_name: Option<Infallible>,

    #[arg(long, hide = true, value_parser = refused("use --budget, which is the largest time to measure"))]
    min_benchmarking_time: Option<Infallible>,
}

/// Returns a parser that refuses every value with this advice.
fn refused(advice: &'static str) -> impl Fn(&str) -> Result<Infallible, String> + Clone + Send + Sync + 'static {
    move |_| Err(format!("steady has no such option: {advice}"))
}

/// Refuses every value. One that is no unit follows a word of an unquoted command, such as `sort -u file`.
fn time_unit(text: &str) -> Result<Infallible, String> {
    const UNITS: [&str; 6] = ["microsecond", "millisecond", "second", "us", "ms", "s"];
    match UNITS.contains(&text) {
        true => refused("each time has a unit that suits it; JSON and CSV have seconds")(text),
        false => Err("give each command as one string, as in 'sort -u file'".to_owned()),
    }
}
