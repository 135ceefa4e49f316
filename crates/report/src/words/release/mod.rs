//! What a release changed, in words and rows.

mod design;
mod facts;
mod hosts;
mod refused;
mod sentences;
mod table;
mod usual;
mod wall;
mod warnings;

pub(crate) use facts::facts;
pub(crate) use hosts::{hosts, left_out as hosts_left_out};
pub use sentences::{release_sight, release_summary};
pub(crate) use sentences::{sentences, short_answer};
pub(crate) use table::{HEADS as CHANGE_HEADS, changes, left_out, notes};
pub(crate) use wall::{heading as wall_heading, heads as wall_heads, wall};
pub(crate) use warnings::warnings;

use steady_model::{Interval, ReleaseReport};

use crate::units::{TIE, decimals_of, fixed};
use crate::words::{cut, one_line, signed};

/// How much of a version's name fits into a sentence.
const VERSION: usize = 32;

/// A text of others on one line that is no longer than a sentence can bear.
pub(crate) fn named(text: &str) -> String {
    cut(&one_line(text), VERSION)
}

/// Why something is absent, on one line.
pub(crate) fn named_reason(reason: &str) -> String {
    one_line(reason)
}

/// Both versions.
pub(crate) fn versions(report: &ReleaseReport) -> [String; 2] {
    [named(&report.question.old), named(&report.question.new)]
}

/// A change without an interval, with its sign: `+18 %`, `-0.4 %`.
pub(crate) fn moved(change: f64) -> String {
    let percent = change * 100.0;
    let text = fixed(percent, decimals_of(percent, 2).min(2));
    plus(change, format!("{text}{TIE}%"))
}

/// A change with its sign, and its interval: (`+5.1 %`, `3.3 to 7.0 %`).
pub(crate) fn sized(change: f64, interval: Interval) -> (String, String) {
    let (size, range) = signed(change, interval);
    (plus(change, size), range)
}

/// What is above nothing says so.
fn plus(change: f64, text: String) -> String {
    if change > 0.0 && text.bytes().any(|byte| matches!(byte, b'1'..=b'9')) { format!("+{text}") } else { text }
}

/// So many, thousands apart.
pub(crate) fn number(count: u64) -> String {
    crate::units::thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

/// So many of what there is one or more of.
pub(crate) fn numbered(count: u64, one: &str, many: &str) -> String {
    format!("{}{TIE}{}", number(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_carry_their_sign() {
        let told = |change: f64| moved(change).replace(TIE, " ");
        assert_eq!([told(0.1823), told(-0.004), told(0.0), told(1.5)], ["+18 %", "-0.40 %", "0 %", "+150 %"]);
        assert_eq!([told(1e-9), told(f64::NAN)], ["0.00 %", "? %"]);
    }
}
