//! Which exit statuses of measured commands count as successes.

use steady_model::FailureRule;

/// `--ignore-failure`: exit statuses that count as successes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredFailures {
    /// Every status.
    All,
    /// These.
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

/// What the option says of runs that fail.
pub fn failures(flag: Option<&IgnoredFailures>) -> FailureRule {
    match flag {
        None => FailureRule::Abort,
        Some(IgnoredFailures::All) => FailureRule::IgnoreAll,
        Some(IgnoredFailures::Codes(codes)) => FailureRule::IgnoreCodes(codes.clone()),
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
