//! Which revisions are asked for.

use steady_feature::Failure;

/// More trees than this fill a disk before anybody reads the report.
const REVISIONS_MAX: usize = 20;

/// A revision as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spec {
    /// What git calls so.
    Commit(String),
    /// The working tree as it is.
    Work,
}

/// The word for the working tree.
pub(super) const WORK: &str = "WORK";

/// All revisions that `--rev` gives, the base first: `A..B`, or one at a time.
pub(crate) fn specs(given: &[String]) -> Result<Vec<Spec>, Failure> {
    let mut all = Vec::new();
    for text in given {
        let usage = |why: &str| Failure::Usage(format!("--rev {text}: {why}"));
        let sides: Vec<&str> = text.split("..").collect();
        match sides.as_slice() {
            [one] => all.push(spec(one).map_err(usage)?),
            // As in git, a side left out is HEAD.
            [base, new] if !new.starts_with('.') && *text != ".." => {
                for side in [base, new] {
                    all.push(spec(if side.is_empty() { "HEAD" } else { side }).map_err(usage)?);
                }
            }
            _ => return Err(usage("write A..B, or --rev once per revision")),
        }
    }
    match all.len() {
        1 => Err(Failure::Usage(format!(
            "--rev {0}: that is one revision, and a comparison needs two: --rev {0}..{WORK}, for example",
            given[0]
        ))),
        2..=REVISIONS_MAX => Ok(all),
        count => Err(Failure::Usage(format!("--rev gives {count} revisions, and {REVISIONS_MAX} is the most"))),
    }
}

fn spec(text: &str) -> Result<Spec, &'static str> {
    match text {
        WORK => Ok(Spec::Work),
        "" => Err("it is empty"),
        text if text.starts_with('-') => Err("no revision begins with a dash"),
        text => Ok(Spec::Commit(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[&str]) -> Result<Vec<Spec>, Failure> {
        specs(&given.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    fn commit(text: &str) -> Spec {
        Spec::Commit(text.to_owned())
    }

    #[test]
    fn ranges_and_single_revisions_are_read() {
        assert_eq!(read(&["main..HEAD"]).unwrap(), [commit("main"), commit("HEAD")]);
        assert_eq!(read(&["v1.0..WORK"]).unwrap(), [commit("v1.0"), Spec::Work]);
        assert_eq!(read(&["main.."]).unwrap(), [commit("main"), commit("HEAD")]);
        assert_eq!(read(&["..b"]).unwrap(), [commit("HEAD"), commit("b")]);
        assert_eq!(read(&["a", "b..c", "WORK"]).unwrap(), [commit("a"), commit("b"), commit("c"), Spec::Work]);
    }

    #[test]
    fn what_is_no_comparison_is_told() {
        for (given, why) in [
            (&["main"][..], "needs two"),
            (&["a...b"], "write A..B"),
            (&[".."], "write A..B"),
            (&["a..b..c"], "write A..B"),
            (&[""], "empty"),
            (&["--x", "b"], "dash"),
        ] {
            let error = read(given).unwrap_err().to_string();
            assert!(error.contains(why), "{given:?}: {error}");
        }
        assert!(read(&["a"; 21]).unwrap_err().to_string().contains("20 is the most"));
    }

    proptest::proptest! {
        #[test]
        fn any_two_names_make_a_range(base in "[a-zA-Z0-9/~^@_][a-zA-Z0-9/~^@_-]*", new in "[a-zA-Z0-9/~^@_][a-zA-Z0-9/~^@_-]*") {
            proptest::prop_assert_eq!(read(&[&format!("{base}..{new}")]), read(&[&base, &new]));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*|[a.-]{0,8}") {
            if let Ok(all) = read(&[&text, "HEAD"]) {
                proptest::prop_assert!(all.len() >= 2);
            }
        }
    }
}
