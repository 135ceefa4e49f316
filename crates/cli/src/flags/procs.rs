//! Numbers of processes as people write them: `1..32`, `1,2,4`, `1..4,8,16`.

use std::collections::BTreeSet;
use std::str::FromStr;

/// More rows than this are a slip of the keyboard.
const MOST_ROWS: usize = 1_000;
/// More processes than this the kernel never has (`PID_MAX_LIMIT`).
const MOST_PROCS: u32 = 4_194_304;

/// Numbers of processes, ascending and without doubles, none of them 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Procs(pub(crate) Vec<u32>);

impl FromStr for Procs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = BTreeSet::new();
        for item in text.split(',') {
            let (first, last) = item.split_once("..").unwrap_or((item, item));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("'{}' goes backwards: write {last}..{first}", item.trim()));
            }
            if (last - first) as usize >= MOST_ROWS {
                return Err(too_many());
            }
            all.extend(first..=last);
        }
        if all.len() > MOST_ROWS { Err(too_many()) } else { Ok(Procs(all.into_iter().collect())) }
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    match text.parse() {
        Ok(0) => Err("there are no rows of 0 processes: begin at 1".to_owned()),
        Ok(number) if number <= MOST_PROCS => Ok(number),
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("'{text}' are more processes than Linux has"))
        }
        _ => Err(format!("'{text}' is no number of processes; write 1..32, 1,2,4 or 1..4,8")),
    }
}

fn too_many() -> String {
    format!("these are more than {MOST_ROWS} rows; write fewer, such as 1..32,64,128")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn procs(text: &str) -> Vec<u32> {
        text.parse::<Procs>().unwrap().0
    }

    #[test]
    fn ranges_and_numbers_are_expanded() {
        assert_eq!(procs("1..5"), [1, 2, 3, 4, 5]);
        assert_eq!(procs("8,1,2,2"), [1, 2, 8]);
        assert_eq!(procs("1..4, 8 ,16..17"), [1, 2, 3, 4, 8, 16, 17]);
        assert_eq!(procs("10000"), [10_000]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_remedy() {
        let why = |text: &str| text.parse::<Procs>().unwrap_err();
        assert!(why("0").contains("begin at 1") && why("0..4").contains("begin at 1"));
        assert!(why("8..1").contains("1..8"));
        assert!(why("1..100000").contains("rows"));
        assert!(why("1..600,1000..1600").contains("rows"));
        assert!(why("99999999").contains("more processes"));
        assert!(why("99999999999999999999999").contains("more processes"));
        for wrong in ["", ",", "1,,2", "x", "-1", "1..", "..4", "1-4", "1...4", "1.5"] {
            assert!(why(wrong).contains("1..32"), "{wrong}: {}", why(wrong));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_becomes_rows_or_a_refusal(text in ".*|[0-9.,]{0,16}") {
            if let Ok(Procs(procs)) = text.parse() {
                proptest::prop_assert!(!procs.is_empty() && procs[0] > 0 && procs.is_sorted());
            }
        }
    }
}
