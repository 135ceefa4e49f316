//! Parses the revisions of `--rev`.

use steady_feature::Failure;

/// The maximum number of revisions, so that their trees do not fill the disk.
const REVISIONS_MAX: usize = 20;

/// A revision as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spec {
    /// A revision in the notation of git (gitrevisions(7)).
    Commit(String),
    /// The last commit that two revisions have in common.
    MergeBase(String, String),
    /// The working tree as it is.
    Work,
}

impl Spec {
    /// The commit in the notation of git: that of the working tree is HEAD.
    fn commit(&self) -> &str {
        match self {
            Spec::Commit(text) => text,
            Spec::MergeBase(..) | Spec::Work => "HEAD",
        }
    }
}

/// The name of the working tree in `--rev`.
pub const WORK: &str = "WORK";

/// All revisions of `--rev`, the base first. Each option is `A..B`, `A...B` or a single revision. As in git, `A...B` is
/// the difference of B from the merge base of both.
pub(crate) fn specs(given: &[String]) -> Result<Vec<Spec>, Failure> {
    let mut all = Vec::new();
    for text in given {
        let usage = |why: &str| Failure::Usage(format!("--rev {text}: {why}"));
        let is_from_merge_base = text.contains("...");
        let sides: Vec<&str> = text.split(if is_from_merge_base { "..." } else { ".." }).collect();
        match sides.as_slice() {
            [one] => all.push(spec(one).map_err(usage)?),
            ["", new] if is_one(new) && !new.is_empty() => {
                return Err(usage(&format!(
                    "the revision before the dots is empty, as with a variable that is not set; write HEAD{text} if it is HEAD"
                )));
            }
            ["HEAD", ""] => {
                return Err(usage(&format!(
                    "the revision after the dots is empty, as with a variable that is not set; write {text}HEAD to compare HEAD \
                     with itself"
                )));
            }
            // As in git, a missing side is HEAD. A missing base would be compared with itself, and pass every gate.
            [base, new] if !base.is_empty() && is_one(base) && is_one(new) => {
                let base = spec(base).map_err(usage)?;
                let new = spec(if new.is_empty() { "HEAD" } else { new }).map_err(usage)?;
                all.push(match is_from_merge_base {
                    true => Spec::MergeBase(base.commit().to_owned(), new.commit().to_owned()),
                    false => base,
                });
                all.push(new);
            }
            _ => return Err(usage("write A..B, A...B from the merge base, or --rev once per revision")),
        }
    }
    match all.len() {
        1 => Err(Failure::Usage(format!(
            "--rev {0}: a comparison needs two revisions, as in --rev {1}..{WORK}",
            given[0],
            if given[0] == WORK { "HEAD" } else { &given[0] }
        ))),
        2..=REVISIONS_MAX => Ok(all),
        count => Err(Failure::Usage(format!("--rev gives {count} revisions; the maximum is {REVISIONS_MAX}"))),
    }
}

/// Returns whether a side of a range is not a range itself.
fn is_one(side: &str) -> bool {
    !side.starts_with('.') && !side.contains("..")
}

fn spec(text: &str) -> Result<Spec, &'static str> {
    match text {
        WORK => Ok(Spec::Work),
        "" => Err("it is empty"),
        text if text.starts_with('-') => Err("a revision cannot begin with a dash"),
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
        assert_eq!(read(&["a", "b..c", "WORK"]).unwrap(), [commit("a"), commit("b"), commit("c"), Spec::Work]);
    }

    #[test]
    fn three_dots_are_the_merge_base() {
        let base = |one: &str, other: &str| Spec::MergeBase(one.to_owned(), other.to_owned());
        assert_eq!(read(&["main...HEAD"]).unwrap(), [base("main", "HEAD"), commit("HEAD")]);
        assert_eq!(read(&["main..."]).unwrap(), [base("main", "HEAD"), commit("HEAD")]);
        assert_eq!(read(&["main...WORK"]).unwrap(), [base("main", "HEAD"), Spec::Work]);
    }

    #[test]
    fn invalid_revisions_are_refused_with_the_reason() {
        for (given, why) in [
            (&["main"][..], "needs two"),
            (&["a....b"], "write A..B"),
            (&["a...b..c"], "write A..B"),
            (&["..."], "write A..B"),
            (&["..HEAD"], "before the dots is empty"),
            (&["HEAD.."], "after the dots is empty"),
            (&["HEAD..."], "after the dots is empty"),
            (&["...HEAD"], "write HEAD...HEAD"),
            (&["..b"], "write HEAD..b if"),
            (&["-1..HEAD"], "dash"),
            (&[".."], "write A..B"),
            (&["a..b..c"], "write A..B"),
            (&[""], "empty"),
            (&["--x", "b"], "dash"),
        ] {
            let error = read(given).unwrap_err().to_string();
            assert!(error.contains(why), "{given:?}: {error}");
        }
        assert!(read(&["a"; 21]).unwrap_err().to_string().contains("the maximum is 20"));
    }

    proptest::proptest! {
        #[test]
        fn a_range_equals_its_two_sides(base in "[a-zA-Z0-9/~^@_][a-zA-Z0-9/~^@_-]*", new in "[a-zA-Z0-9/~^@_][a-zA-Z0-9/~^@_-]*") {
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
