//! How runs are named.

use std::str::FromStr;

use steady_model::Timestamp;

/// A run by its number, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one with the highest number.
    Last,
    /// The one with this number.
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

/// Several runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// These.
    These(Vec<Which>),
    /// All that there are.
    All,
    /// Those begun before then.
    Before(Timestamp),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_number_or_as_the_last() {
        assert_eq!("17".parse(), Ok(Which::Id(17)));
        assert_eq!("last".parse(), Ok(Which::Last));
        for wrong in ["", "0", "-1", "1.5", "x", "9223372036854775808"] {
            assert!(wrong.parse::<Which>().is_err(), "{wrong}");
        }
    }
}
