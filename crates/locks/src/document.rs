//! The locks of a command as a document: the answer, then the locks, the places where they were taken, threads and processes.

mod charts;
mod facts;
mod places;
mod sentences;
mod tables;

use steady_feature::{Record, Report};
use steady_model::{Facts, Nanos, RunKind};
use steady_render::document::{Block, Document, Section, Shown, origin};
use steady_render::json;
use steady_render::letters::one_line;
use steady_render::units::{TIE, decimals_of, fixed, percent, thousands, time_unit};

use crate::csv::csv;
use crate::record::{LockKind, LockOrder, LockUse, LocksRecord, SCHEMA};

use sentences::summary;

impl Report for LocksRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// It has no samples.
    fn json(&self, _samples: bool) -> String {
        json::text(&SCHEMA, self)
    }
}

impl Record for LocksRecord {
    /// It is complete however the command ended.
    fn facts(&self) -> Facts {
        let facts = Facts::without_pairs(RunKind::Locks, (self.started, &self.host, &self.revision), summary(self));
        Facts { commands: vec![self.command.name.clone()], ..facts }
    }
}

/// The report.
fn document(record: &LocksRecord) -> Document {
    let mut sections = Vec::new();
    if !record.locks.is_empty() {
        sections.push(Section::new(heading(record.order), vec![Block::Table(tables::locks(record))]));
        sections.extend(charts::waits(record).map(|chart| {
            Section::new("How long all threads together waited for each", vec![Block::Chart(chart)])
                .shown(Shown::OnPages)
        }));
    }
    let tables = [
        ("Still waiting when their process ended", tables::ends(record)),
        ("Where they were taken, and how long was waited there", tables::sites(record)),
    ];
    sections.extend(tables.into_iter().filter_map(|(heading, table)| titled(heading, table)));
    if let Some(threads) = titled("Threads", tables::threads(record)) {
        sections.push(threads.folded());
        sections.extend(charts::lives(record).map(|chart| {
            Section::new("What the threads did with their lives", vec![Block::Chart(chart)]).shown(Shown::OnPages)
        }));
    }
    sections.extend(titled("Processes", tables::processes(record)).map(Section::folded));
    let command = vec![Block::Command(one_line(&record.command.name)), Block::Facts(facts::facts(record))];
    sections.push(Section::new("The command", command));
    sections.push(origin(record.started, &record.host, &record.revision));
    Document {
        subject: "Steadyhand: which locks the threads of a command waited for".to_owned(),
        answer: sentences::answer(record),
        sections,
        is_brief: true,
    }
}

fn titled(heading: &str, table: steady_render::Table) -> Option<Section> {
    (!table.is_empty()).then(|| Section::new(heading, vec![Block::Table(table)]))
}

/// By what the locks are sorted.
fn heading(order: LockOrder) -> &'static str {
    match order {
        LockOrder::Wait => "Locks by how long threads waited for them",
        LockOrder::Contended => "Locks by contended acquisitions",
        LockOrder::Acquisitions => "Locks by acquisitions",
    }
}

/// A lock in a sentence: `L1`.
fn label(lock: &LockUse) -> String {
    format!("L{}", lock.id)
}

/// A lock at the head of a row: `L1 mutex`.
fn named(lock: &LockUse) -> String {
    format!("{}{TIE}{}", label(lock), lock.kind.name())
}

/// What a lock of a kind is called in a sentence.
fn noun(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Rwlock => "read-write lock",
        _ => kind.name(),
    }
}

/// A part of a whole in per cent; a dash if there is no whole.
fn share(part: f64, whole: f64) -> String {
    match part / whole {
        ratio if whole <= 0.0 || !ratio.is_finite() => "–".to_owned(),
        ratio if ratio > 0.0 && ratio < 0.001 => format!("<0.1{TIE}%"),
        ratio => percent(ratio),
    }
}

/// A time that is known within a tenth: two digits of it.
fn about(time: Nanos) -> String {
    let seconds = time.seconds();
    let (unit, scale) = time_unit(seconds);
    format!("{}{TIE}{unit}", fixed(seconds * scale, decimals_of(seconds * scale, 2)))
}

/// A count, thousands apart.
fn number(count: u64) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

/// A count and what is counted, in the singular or the plural.
fn numbered(count: u64, one: &str, many: &str) -> String {
    format!("{}{TIE}{}", number(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_within_a_tenth_has_two_digits() {
        let told = |nanos| about(Nanos(nanos)).replace(TIE, " ");
        assert_eq!([told(0), told(64), told(1_234), told(12_340_000)], ["0 ms", "64 ns", "1.2 µs", "12 ms"]);
        assert_eq!([told(9_960), told(999_600), told(61_200_000_000)], ["10 µs", "1.0 ms", "61 s"]);
    }

    #[test]
    fn shares_of_nothing_are_none() {
        let told = |part, whole| share(part, whole).replace(TIE, " ");
        assert_eq!([told(1.0, 0.0), told(0.0, 2.0), told(1e-5, 1.0), told(0.61, 1.0)], ["–", "0 %", "<0.1 %", "61 %"]);
    }
}
