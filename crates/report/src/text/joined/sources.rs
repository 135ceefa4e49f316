//! The sources one by one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use steady_model::{Joined, Judgement, Source, Timestamp, Undecided, Verdict};

use super::super::{Page, Paint};
use crate::units::TIE;
use crate::words::{cut, message, one_line, signed, subject, width};

/// Names of files and hosts are worth a column where they have so much room together.
const LEAST_ROOM: usize = 20;
/// Between two columns.
const GAP: usize = 2;

/// What one source says of one command.
struct Row {
    number: Cow<'static, str>,
    file: Cow<'static, str>,
    host: Cow<'static, str>,
    begun: Cow<'static, str>,
    pairs: Cow<'static, str>,
    change: Cow<'static, str>,
    /// The verdict; the head of the table has none.
    told: Option<Verdict>,
}

impl Row {
    fn verdict(&self) -> &str {
        self.told.map_or("verdict", Verdict::name)
    }
}

/// The head of the table.
const HEAD: Row = Row {
    number: Cow::Borrowed(""),
    file: Cow::Borrowed("file"),
    host: Cow::Borrowed("host"),
    begun: Cow::Borrowed("begun, UTC"),
    pairs: Cow::Borrowed("pairs"),
    change: Cow::Borrowed("change"),
    told: None,
};

/// A line per source, or a paragraph where lines are too short.
pub(super) fn write(joined: &Joined, command: usize, page: &mut Page) {
    let Some(plan) = joined.plan() else { return };
    let of = if plan.commands.len() > 2 { format!(" of {}", subject(plan, command)) } else { String::new() };
    page.heading(&format!("What each source says by itself{of}, with the interval of its verdict"));
    let folder = common_folder(joined);
    let row = |(source, number)| row(source, number, command, folder);
    let rows: Vec<Row> = joined.sources.iter().zip(1..).map(row).collect();
    let wide = |pick: fn(&Row) -> &str| rows.iter().chain([&HEAD]).map(|row| width(pick(row))).max().unwrap_or(0);
    let (numbers, begun) = (wide(|row| &row.number), wide(|row| &row.begun));
    let (pairs, change) = (wide(|row| &row.pairs), wide(|row| &row.change));
    let (file, host) = (wide(|row| &row.file), wide(|row| &row.host));
    let fixed = 2 + numbers + 1 + begun + pairs + change + wide(|row| row.verdict()) + 5 * GAP;
    let room = page.width().saturating_sub(fixed);
    if room < LEAST_ROOM.min(file + host) {
        return rows
            .iter()
            .for_each(|row| paragraph(row, numbers, if plan.commands.len() > 2 { "blocks" } else { "pairs" }, page));
    }
    let host = host.min((room / 2).max(room.saturating_sub(file)));
    let file = file.min(room - host);
    let padded =
        |text: &str, columns: usize| format!("{text}{}", " ".repeat((columns + GAP).saturating_sub(width(text))));
    for row in [&HEAD].into_iter().chain(&rows) {
        let mut line = format!("  {:>numbers$} ", row.number);
        line.push_str(&padded(&cut(&row.file, file), file));
        line.push_str(&padded(&cut(&row.host, host), host));
        line.push_str(&padded(&row.begun, begun));
        line.push_str(&padded(&format!("{:>pairs$}", row.pairs), pairs));
        line.push_str(&padded(&row.change, change));
        let bulk = if row.told.is_some() { Paint::Plain } else { Paint::Heading };
        page.line(&[(bulk, line), (paint(row.told), row.verdict().to_owned())]);
    }
}

fn paragraph(row: &Row, numbers: usize, what: &str, page: &mut Page) {
    let number = format!("{:>numbers$}", row.number).replace(' ', TIE);
    let rest = format!(": {}; {}{TIE}{what}, {}, {}, {}", row.change, row.pairs, row.begun, row.host, row.file);
    page.item(&number, numbers, &[(paint(row.told), row.verdict().to_owned()), (Paint::Plain, rest)]);
}

/// How many letters of the files' names are the folder that all have in common.
fn common_folder(joined: &Joined) -> usize {
    let mut names = joined.sources.iter().map(|source| source.name.as_str());
    let first = names.next().unwrap_or_default();
    let common = names.fold(first.len(), |common, name| {
        first.bytes().zip(name.bytes()).take(common).take_while(|(one, other)| one == other).count()
    });
    first.as_bytes()[..common].iter().rposition(|letter| *letter == b'/').map_or(0, |slash| slash + 1)
}

fn row(source: &Source, number: usize, command: usize, folder: usize) -> Row {
    let record = &source.report.record;
    let judgement = source.report.primary().find(|judgement| judgement.command == command);
    let pairs = judgement.map_or(record.blocks.len(), |judgement| judgement.pairs);
    let host = record.host.hostname.as_ref();
    Row {
        number: number.to_string().into(),
        file: one_line(source.name.get(folder..).unwrap_or(&source.name)).into(),
        host: host.map_or(Cow::Borrowed("unknown"), |name| one_line(name).into()),
        begun: begun(record.started).into(),
        pairs: pairs.to_string().into(),
        change: judgement.map_or("not judged".to_owned(), change).into(),
        told: Some(judgement.map_or(Verdict::Undecided, |judgement| judgement.verdict)),
    }
}

/// What a source says: the change, and the interval that its verdict stands on. The change comes from the turns and may
/// lie outside of what all pairs say: then the interval stands alone.
fn change(judgement: &Judgement) -> String {
    match (&judgement.change, &judgement.verdict_interval) {
        _ if judgement.undecided == Some(Undecided::UnequalFailures) => "unequal failures".to_owned(),
        (Ok(change), Ok(interval)) => {
            let (size, range) = signed(*change, *interval);
            if interval.holds(*change) { format!("{size} ({range})") } else { range }
        }
        _ => "too few pairs".to_owned(),
    }
}

/// The minute in which it was begun, in UTC, less the year: `11-20 14:02`.
fn begun(at: Timestamp) -> String {
    /// The end of the year 9999, behind which the format has no room.
    const LAST: u64 = 253_402_300_799;
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at.0.min(LAST))).to_string();
    text.chars().skip(5).take(11).collect::<String>().replace('T', TIE)
}

fn paint(told: Option<Verdict>) -> Paint {
    match told {
        None => Paint::Heading,
        Some(Verdict::Faster) => Paint::Less,
        Some(Verdict::Slower) => Paint::More,
        Some(Verdict::Same) => Paint::Same,
        Some(Verdict::Undecided) => Paint::Open,
    }
}

/// What the reader should know of each source, and of all together.
pub(super) fn warnings(joined: &Joined, page: &mut Page) {
    let mut texts = Vec::new();
    for (source, number) in joined.sources.iter().zip(1..) {
        let told = source.report.warnings.iter().map(|warning| message(&source.report, warning));
        texts.extend(told.map(|text| format!("source{TIE}{number}: {text}")));
    }
    let revisions: BTreeSet<&str> =
        joined.sources.iter().filter_map(|source| source.report.record.revision.as_deref().ok()).collect();
    if revisions.len() > 1 {
        let all = revisions.iter().map(|revision| one_line(&cut(revision, 20))).collect::<Vec<String>>().join(", ");
        texts.push(format!("the sources were measured at different revisions of a repository: {all}."));
    }
    for (index, text) in texts.into_iter().enumerate() {
        if index == 0 {
            page.blank();
        }
        page.paragraph(0, 2, &[(Paint::Open, "Warning:".to_owned()), (Paint::Plain, format!(" {text}"))]);
    }
}
