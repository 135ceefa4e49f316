//! The options about a fleet's store.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use steady_feature::flags::{duration, span};
use steady_fleet::{Address, Matchers, header, label};
use steady_model::Nanos;

const HEADING: &str = "A fleet's store";

/// Where a fleet's store is, and what is asked of it.
#[derive(Debug, Args)]
pub(crate) struct FleetFlags {
    /// Ask the store that scrapes the agents: Prometheus, Mimir, Thanos, VictoriaMetrics. /api/v1/query follows the
    /// address
    #[arg(help_heading = HEADING, long, value_name = "URL")]
    pub(crate) prometheus: Option<Address>,

    /// Only agents whose labels are so, as PromQL has it: 'job="steady",dc=~"eu-.*"'
    #[arg(help_heading = HEADING, long, value_name = "MATCHERS", default_value = "", requires = "prometheus")]
    #[arg(hide_default_value = true)]
    pub(crate) select: Matchers,

    /// The label that tells hosts
    #[arg(help_heading = HEADING, long, value_name = "NAME", default_value = "instance", requires = "prometheus")]
    #[arg(value_parser = host_label)]
    pub(crate) host_label: String,

    /// How long the blocks of time are that are compared [default: as long as from scrape to scrape]
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = duration, requires = "prometheus")]
    pub(crate) block: Option<Nanos>,

    /// Send this header: 'Authorization: Bearer ...', 'X-Scope-OrgID: shop'; @FILE has one a line, which others cannot
    /// see in the list of processes
    #[arg(help_heading = HEADING, long, value_name = "HEADER", requires = "prometheus")]
    pub(crate) header: Vec<HeaderFlag>,

    /// How long an answer may take
    #[arg(help_heading = HEADING, long, value_name = "TIME", default_value = "30s", requires = "prometheus")]
    #[arg(value_parser = span)]
    pub(crate) timeout: Nanos,
}

/// `--header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFlag {
    One(String, String),
    File(PathBuf),
}

impl FromStr for HeaderFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<HeaderFlag, String> {
        match text.strip_prefix('@') {
            Some(file) => Ok(HeaderFlag::File(file.into())),
            None => header(text).map(|(name, value)| HeaderFlag::One(name, value)),
        }
    }
}

/// A label that is none of the agents' own.
fn host_label(text: &str) -> Result<String, String> {
    const OWN: [&str; 6] = ["service", "version", "route", "assigned", "ruler", "__name__"];
    label(text).and_then(|name| match OWN.contains(&name.as_str()) {
        true => Err("hosts are told by a label of the targets, such as instance".to_owned()),
        false => Ok(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_stand_there_or_in_a_file() {
        assert_eq!("@/run/token".parse(), Ok(HeaderFlag::File("/run/token".into())));
        assert_eq!("a: b".parse(), Ok(HeaderFlag::One("a".to_owned(), "b".to_owned())));
        assert!("token".parse::<HeaderFlag>().is_err());
    }

    #[test]
    fn hosts_have_a_label_of_the_targets() {
        assert_eq!(host_label("node"), Ok("node".to_owned()));
        assert!(host_label("version").is_err() && host_label("no de").is_err());
    }
}
