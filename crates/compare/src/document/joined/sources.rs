//! The verdicts of the single sources.

use std::collections::BTreeSet;

use steady_model::{Joined, Judgement, Source, Timestamp, Undecided};
use steady_render::document::{Block, Section, Sentence};
use steady_render::table::{Cell, Column, Table};
use steady_render::timestamp;
use steady_render::units::TIE;

use crate::document::secondary::{emphasis, word};
use crate::document::warning;
use crate::words::{cut, message, one_line, sized, subject};

/// The verdict of each source on one command, as a table.
pub(super) fn section(joined: &Joined, command: usize) -> Section {
    let plan = joined.plan();
    let of = plan.filter(|plan| plan.commands.len() > 2).map(|plan| format!(" on {}", subject(plan, command)));
    let of = of.unwrap_or_default();
    let folder = common_folder(joined);
    let sources: Vec<(&Source, Option<&Judgement>)> = joined
        .sources
        .iter()
        .map(|source| (source, source.report.primary().find(|judgement| judgement.command == command)))
        .collect();
    let numbers: Vec<usize> = (1..=sources.len()).collect();
    let host = |source: &Source| Cell::reading(&source.report.record.host.hostname, |name| one_line(name));
    let pairs = |source: &Source, judgement: Option<&Judgement>| {
        judgement.map_or(source.report.record.blocks.len(), |judgement| judgement.pairs).to_string()
    };
    let verdict = |judgement: Option<&Judgement>| match judgement {
        Some(judgement) => Cell::Text(emphasis(judgement.verdict), word(judgement).to_owned()),
        None => Cell::Nothing,
    };
    let columns = vec![
        Column::numbers("", &numbers, usize::to_string),
        Column::words("file", &sources, |one| one_line(one.0.name.get(folder..).unwrap_or(&one.0.name))),
        Column::words("verdict", &sources, |one| verdict(one.1)),
        Column::numbers("change", &sources, |one| one.1.map_or("no verdict".to_owned(), change)),
        Column::numbers("pairs", &sources, |one| pairs(one.0, one.1)),
        Column::words("host", &sources, |one| host(one.0)),
        Column::words("started, UTC", &sources, |one| started(one.0.report.record.started)),
    ];
    let heading = format!("Verdict of each source by itself{of}, with its interval");
    let table = Table { label: "Sources".to_owned(), rows: ("source", "sources"), columns };
    Section::new(&heading, vec![Block::Table(table)]).whole()
}

/// The length, in bytes, of the folder that all file names have in common.
fn common_folder(joined: &Joined) -> usize {
    let mut names = joined.sources.iter().map(|source| source.name.as_str());
    let first = names.next().unwrap_or_default();
    let common = names.fold(first.len(), |common, name| {
        first.bytes().zip(name.bytes()).take(common).take_while(|(one, other)| one == other).count()
    });
    first.as_bytes()[..common].iter().rposition(|letter| *letter == b'/').map_or(0, |slash| slash + 1)
}

/// The change that a source measured, with its interval.
fn change(judgement: &Judgement) -> String {
    match (&judgement.change, &judgement.interval) {
        _ if judgement.undecided == Ok(Undecided::UnequalFailures) => "unequal failures".to_owned(),
        (Ok(change), Ok(interval)) => {
            let (size, range) = sized(*change, *interval);
            format!("{size} ({range})")
        }
        _ => "too few pairs".to_owned(),
    }
}

/// A time in UTC to the minute, without the year: `11-20 14:02`.
fn started(at: Timestamp) -> String {
    timestamp::text(at).chars().skip(5).take(11).collect::<String>().replace('T', TIE)
}

/// The warnings of each source, and those on all sources together.
pub(super) fn warnings(joined: &Joined) -> Vec<Sentence> {
    let mut texts = Vec::new();
    for (source, number) in joined.sources.iter().zip(1..) {
        let all = source.report.warnings.iter().map(|warning| message(&source.report, warning));
        texts.extend(all.map(|text| format!("source{TIE}{number}: {text}")));
    }
    let revisions: BTreeSet<&str> =
        joined.sources.iter().filter_map(|source| source.report.record.revision.as_deref().ok()).collect();
    if revisions.len() > 1 {
        let all = revisions.iter().map(|revision| one_line(&cut(revision, 20))).collect::<Vec<String>>().join(", ");
        texts.push(format!("the sources were measured in different revisions of a repository: {all}."));
    }
    texts.iter().map(|text| warning(text)).collect()
}
