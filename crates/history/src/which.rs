//! Selections of runs on the command line.

use std::str::FromStr;

use steady_model::Timestamp;

/// One run of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The run with the highest number.
    Last,
    /// The run with this number.
    Id(i64),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "last" => Ok(Which::Last),
            Ok(id) if id > 0 => Ok(Which::Id(id)),
            _ => Err("write the number of a run, or last".to_owned()),
        }
    }
}

/// Several runs of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The runs in this list.
    These(Vec<Which>),
    /// All runs of the history.
    All,
    /// The runs that started before this time.
    Before(Timestamp),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_number_or_last() {
        assert_eq!("17".parse(), Ok(Which::Id(17)));
        assert_eq!("last".parse(), Ok(Which::Last));
        for wrong in ["", "0", "-1", "1.5", "x", "9223372036854775808"] {
            assert!(wrong.parse::<Which>().is_err(), "{wrong}");
        }
    }
}
