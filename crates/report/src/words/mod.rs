//! What metrics, commands and options are called in sentences.

pub(crate) mod agent;
pub(crate) mod clocks;
pub(crate) mod costs;
mod effect;
pub(crate) mod explain;
pub(crate) mod host;
mod limit;
pub(crate) mod load;
pub(crate) mod locks;
pub(crate) mod release;
mod remedy;
mod repeat;
mod repeat_costs;
mod repeat_load;
pub(crate) mod rulers;
pub(crate) mod signature;
mod startups;
pub(crate) mod warm;
mod warning;

pub(crate) use effect::{Effect, between, signed, signed_beside};
pub use limit::limit_summary;
pub(crate) use limit::{limit_lines, limit_sentence, wall_limit};
pub(crate) use remedy::{more_effort, more_work, settling, wanted};
pub(crate) use repeat::{as_typed, repeat};
pub(crate) use repeat_costs::repeat_costs;
pub(crate) use repeat_load::repeat_load;
pub(crate) use startups::startups;
pub use warning::warning_message;
pub(crate) use warning::{few, message};

use steady_model::{CounterScope, Metric, Plan, Record};

/// What a metric measures: `CPU time`.
pub(crate) fn noun(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu => "CPU time",
        Metric::Elapsed => "time without queueing",
        Metric::Wall => "wall time",
        Metric::Memory => "peak memory",
        Metric::Instructions => "instructions",
    }
}

/// What a command does with it: it *needs* CPU time, but *takes* wall time.
pub(crate) fn verb(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu | Metric::Memory | Metric::Instructions => "needs",
        Metric::Elapsed | Metric::Wall => "takes",
    }
}

/// The same at the start of a line.
pub(crate) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Whose events the CPU's counters count: `count ...`, with what widens it.
pub(crate) fn counted(scope: CounterScope) -> &'static str {
    match scope {
        CounterScope::User => {
            "count user mode only: the kernel's part may be counted where perf_event_paranoid is 1 or less"
        }
        CounterScope::UserAndKernel => "count the program and the kernel on its behalf",
    }
}

/// A command inside a sentence: by its place where there are two, else by number and name.
pub(crate) fn subject(plan: &Plan, command: usize) -> String {
    match (plan.commands.len(), command) {
        (1, _) => "the command".to_owned(),
        (_, 0) => "the first".to_owned(),
        (2, _) => "the second".to_owned(),
        _ => format!("command\u{a0}{} ({})", command + 1, cut(&name(plan, command), SUBJECT)),
    }
}

/// How much of a name fits into a sentence.
const SUBJECT: usize = 32;

/// A command's name on one line.
pub(crate) fn name(plan: &Plan, command: usize) -> String {
    one_line(plan.commands.get(command).map_or("?", |command| command.name.as_str()))
}

/// `name` on one line: what would move the cursor is spelled out.
pub fn one_line(name: &str) -> String {
    let mut line = String::with_capacity(name.len());
    for letter in name.chars() {
        if misleads(letter) {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

/// Whether a letter would end the line, move the cursor, change the terminal or turn the direction of what follows.
pub(crate) fn misleads(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with its lines and tabs, and what else would move the cursor spelled out: the last step of outputs that are not
/// made of lines that are already harmless.
pub(crate) fn harmless(text: String) -> String {
    let kept = |letter: char| matches!(letter, '\n' | '\t') || !misleads(letter);
    if text.chars().all(kept) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if kept(letter) { out.push(letter) } else { out.extend(letter.escape_default()) }
    }
    out
}

/// How many columns `text` takes.
pub(crate) fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// `text` in at most `columns`, cut in the middle: names differ at their ends.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let keep = columns.saturating_sub(1);
    let take = |letters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let fits = letters.take_while(|letter| {
            used += unicode_width::UnicodeWidthChar::width(*letter).unwrap_or(0);
            used <= room
        });
        fits.collect::<Vec<char>>()
    };
    let head = take(&mut text.chars(), keep.div_ceil(2));
    let tail = take(&mut text.chars().rev(), keep / 2);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// `one` thing or `many`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number}\u{a0}{}", if number == 1 { one } else { many })
}

/// What a block is called: with two commands it is a pair.
pub(crate) fn blocks(plan: &Plan, number: usize) -> String {
    match plan.commands.len() {
        1 => count(number, "run", "runs"),
        2 => count(number, "pair", "pairs"),
        _ => count(number, "block", "blocks"),
    }
}

/// So many of what a verdict rests on: draws where runs were started from snapshots, else blocks.
pub(crate) fn units(record: &Record, number: usize) -> String {
    if record.is_warm() { count(number, "draw", "draws") } else { blocks(&record.plan, number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(cut("sha256sum a.bin", 20), "sha256sum a.bin");
        assert_eq!(cut("sha256sum --binary first.bin", 15), "sha256s…rst.bin");
        assert_eq!(width(&cut("日本語日本語日本語", 10)), 9);
        assert_eq!(cut("abc", 0), "…");
    }
}
