//! What the rulers read, in words.

use steady_model::{Ending, Neighbour, Resource, RulerReading, RulerRecord, RulerRow};

use crate::units::{TIE, setting};
use crate::words::{count, one_line};

/// What is told apart from the best: readings of an undisturbed machine lie apart by a few percent.
const NOTICEABLE: f64 = 1.05;

/// What a ruler measures, in a few words.
pub(crate) fn label(resource: Resource) -> &'static str {
    match resource {
        Resource::Alu => "ALU",
        Resource::L1 => "L1 cache",
        Resource::L2 => "L2 cache",
        Resource::Shared => "shared cache",
        Resource::Memory => "memory",
        Resource::Fetch => "fetch",
        Resource::SystemCall => "system call",
    }
}

/// How many neighbours, and what they do: `2 neighbours that stream through memory`.
pub(crate) fn neighbours(kind: Option<Neighbour>, number: u32) -> String {
    let one = number == 1;
    let doing = match kind {
        None => "",
        Some(Neighbour::Spin) if one => " that spins",
        Some(Neighbour::Spin) => " that spin",
        Some(Neighbour::Stream) if one => " that streams through memory",
        Some(Neighbour::Stream) => " that stream through memory",
        Some(Neighbour::Hash) if one => " that hashes",
        Some(Neighbour::Hash) => " that hash",
    };
    format!("{}{doing}", count(number as usize, "neighbour", "neighbours"))
}

/// What was read, a sentence each: right now, and beside the most neighbours.
pub(crate) fn sentences(record: &RulerRecord) -> Vec<String> {
    let alone = record.rows.iter().find(|row| row.neighbours == 0).map(|row| said("Right now", row));
    let most = record.rows.iter().max_by_key(|row| row.neighbours).filter(|row| row.neighbours > 0);
    let beside = most.map(|row| said(&format!("Beside {}", neighbours(record.neighbour, row.neighbours)), row));
    alone.into_iter().chain(beside).collect()
}

/// What a row says: what is slower than at its best, the slowest first.
fn said(when: &str, row: &RulerRow) -> String {
    let mut slower: Vec<&RulerReading> = read(row).filter(|reading| reading.slowdown_ratio >= NOTICEABLE).collect();
    slower.sort_by(|one, two| two.slowdown_ratio.total_cmp(&one.slowdown_ratio));
    let (readings, within) = (read(row).count(), setting(NOTICEABLE - 1.0));
    if readings == 0 {
        return format!("{when} no ruler could be read.");
    }
    if slower.is_empty() {
        return format!("{when} every resource is within {within} of the best that this host has shown.");
    }
    let one = |reading: &&RulerReading| format!("{}{TIE}{}", label(reading.resource), factor(reading));
    let each: Vec<String> = slower.iter().map(one).collect();
    let rest = if slower.len() < readings { format!("; the rest is within {within}") } else { String::new() };
    format!("{when} a unit takes so many times what it took at this host's best: {}{rest}.", each.join(", "))
}

/// A slowdown in two decimals; `?` where it is none.
pub(crate) fn factor(reading: &RulerReading) -> String {
    if reading.slowdown_ratio.is_finite() { format!("{:.2}", reading.slowdown_ratio) } else { "?".to_owned() }
}

fn read(row: &RulerRow) -> impl Iterator<Item = &RulerReading> {
    row.readings.iter().filter_map(|(_, reading)| reading.as_ref().ok()).filter(|one| one.slowdown_ratio.is_finite())
}

/// Why it ended before its time.
pub(crate) fn early(record: &RulerRecord) -> Option<String> {
    match &record.failure {
        Some(failure) => Some(format!("It ended early: {}.", one_line(failure))),
        None => (record.ending == Ending::Interrupted).then(|| "It was interrupted.".to_owned()),
    }
}

/// The worst slowdown in a few words, for a list: `memory 2.31x beside 4`.
pub fn rulers_summary(record: &RulerRecord) -> String {
    let worst =
        |row: &RulerRow| read(row).max_by(|one, two| one.slowdown_ratio.total_cmp(&two.slowdown_ratio)).cloned();
    let Some(row) = record.rows.iter().max_by_key(|row| row.neighbours) else { return "nothing measured".to_owned() };
    let Some(reading) = worst(row) else { return "no ruler could be read".to_owned() };
    let beside = if row.neighbours > 0 { format!(" beside {}", row.neighbours) } else { String::new() };
    format!("{} {}x{beside}", label(reading.resource), factor(&reading))
}
