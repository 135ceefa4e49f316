//! The report on the locks of a command: the answer, then tables of locks, call sites, threads and processes.

mod charts;
mod facts;
mod places;
mod sentences;
mod tables;

use steady_feature::{Record, Report};
use steady_model::{Facts, Nanos};
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

    /// Ignores `_samples`: a record of locks has no samples.
    fn json(&self, _samples: bool) -> String {
        json::text(&SCHEMA, self)
    }
}

impl Record for LocksRecord {
    /// The record is complete, even if the command failed or was killed.
    fn facts(&self) -> Facts {
        let facts = Facts::new(crate::record::KIND, self.started, &self.host, &self.revision, summary(self));
        Facts { commands: vec![self.command.name.clone()], ..facts }
    }
}

fn document(record: &LocksRecord) -> Document {
    let mut sections = Vec::new();
    if !record.locks.is_empty() {
        sections.push(Section::new(heading(record), vec![Block::Table(tables::locks(record))]));
        sections.extend(
            charts::waits(record).map(|chart| {
                Section::new("Total waiting time by lock", vec![Block::Chart(chart)]).shown(Shown::OnPages)
            }),
        );
    }
    let tables = [
        ("Threads that still waited when their process ended", tables::ends(record)),
        ("Call sites that requested each lock, longest wait first", tables::sites(record)),
    ];
    sections.extend(tables.into_iter().filter_map(|(heading, table)| titled(heading, table)));
    if let Some(threads) = titled("Threads", tables::threads(record)) {
        sections.push(threads.as_detail());
        sections.extend(charts::lives(record).map(|chart| {
            Section::new("How the threads spent their lifetimes", vec![Block::Chart(chart)]).shown(Shown::OnPages)
        }));
    }
    sections.extend(titled("Processes", tables::processes(record)).map(Section::as_detail));
    let command = vec![Block::Command(one_line(&record.command.name)), Block::Facts(facts::facts(record))];
    sections.push(Section::new("The command", command));
    sections.extend(origin(record.started, &record.host, &record.revision));
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

/// Heading of the table of locks; it names the order of the locks.
fn heading(record: &LocksRecord) -> &'static str {
    let is_sorted = record.locks.is_sorted_by(|one, next| one.waited() >= next.waited());
    let has_python = record.locks.iter().any(LockUse::is_of_python);
    match record.order {
        LockOrder::Wait if !is_sorted && has_python => {
            "Locks, also those of Python, longest total wait first; then other conditions and semaphores"
        }
        LockOrder::Wait if !is_sorted => "Locks, longest total wait first; then conditions and semaphores",
        LockOrder::Wait => "Locks, longest total wait first",
        LockOrder::Contended => "Locks, most contended acquisitions first",
        LockOrder::Acquisitions => "Locks, most acquisitions first",
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

/// The noun for a kind of lock in a sentence.
fn noun(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Rwlock => "read-write lock",
        _ => kind.name(),
    }
}

/// Formats a part of a whole in per cent; a dash if the whole is zero.
fn share(part: f64, whole: f64) -> String {
    match part / whole {
        ratio if whole <= 0.0 || !ratio.is_finite() => "–".to_owned(),
        ratio if ratio > 0.0 && ratio < 0.001 => format!("<0.1{TIE}%"),
        ratio => percent(ratio),
    }
}

/// Formats a time with an error of up to 10 %, rounded to two digits.
fn about(time: Nanos) -> String {
    let seconds = time.seconds();
    let (unit, scale) = time_unit(seconds);
    format!("{}{TIE}{unit}", fixed(seconds * scale, decimals_of(seconds * scale, 2)))
}

/// Formats a count with thousands separators.
fn number(count: u64) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_known_within_ten_per_cent_have_two_digits() {
        let shown = |nanos| about(Nanos(nanos)).replace(TIE, " ");
        assert_eq!([shown(0), shown(64), shown(1_234), shown(12_340_000)], ["0 ms", "64 ns", "1.2 µs", "12 ms"]);
        assert_eq!([shown(9_960), shown(999_600), shown(61_200_000_000)], ["10 µs", "1.0 ms", "61 s"]);
    }

    #[test]
    fn a_share_of_zero_is_a_dash() {
        let shown = |part, whole| share(part, whole).replace(TIE, " ");
        assert_eq!(
            [shown(1.0, 0.0), shown(0.0, 2.0), shown(1e-5, 1.0), shown(0.61, 1.0)],
            ["–", "0 %", "<0.1 %", "61 %"]
        );
    }
}
