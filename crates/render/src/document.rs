//! A report as data: its content without its appearance. A feature builds one [`Document`] for each of its records.
//! [`terminal`](crate::terminal), [`markdown`](crate::markdown) and [`html`](crate::html) render it.

use steady_model::{Activity, Host, Quota, Reading, Timestamp};

use crate::chart::Chart;
use crate::letters::one_line;
use crate::table::Table;
use crate::timestamp;
use crate::units::{memory, percent};

pub use crate::sentence::{Emphasis, Sentence, Span};

/// A report: an answer, and sections with the details.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The kind of report, shown above the answer: `Steadyhand: a command with limits`.
    pub subject: String,
    /// The answer to the user's question and its qualifications, one paragraph each.
    pub answer: Vec<Sentence>,
    /// The facts, tables and charts that the answer is based on.
    pub sections: Vec<Section>,
    /// Whether the text appears among the output of a command. Then `steady: ` precedes the answer, and only tables and
    /// charts have headings in text and Markdown.
    pub is_brief: bool,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading, or none for sentences about the whole document.
    pub heading: Option<String>,
    /// The formats that show the section.
    pub shown: Shown,
    /// Whether only few readers need the section: Markdown collapses it.
    pub is_detail: bool,
    /// Whether every format shows all rows of its tables. Without it, long tables are cut, because their first rows
    /// matter most.
    pub is_whole: bool,
    /// The content, from top to bottom.
    pub blocks: Vec<Block>,
}

impl Section {
    /// Returns a section that all formats show.
    pub fn new(heading: &str, blocks: Vec<Block>) -> Self {
        Section {
            heading: Some(heading.to_owned()),
            shown: Shown::Everywhere,
            is_detail: false,
            is_whole: false,
            blocks,
        }
    }

    /// Returns a section without a heading, for sentences about the whole document.
    pub fn paragraphs(sentences: impl IntoIterator<Item = Sentence>) -> Self {
        Section { heading: None, ..Section::new("", sentences.into_iter().map(Block::Paragraph).collect()) }
    }

    /// Restricts the section to some formats.
    #[must_use]
    pub fn shown(self, shown: Shown) -> Self {
        Section { shown, ..self }
    }

    /// Marks the section as a detail, which Markdown collapses.
    #[must_use]
    pub fn as_detail(self) -> Self {
        Section { is_detail: true, ..self }
    }

    /// Makes all formats show every row of the section's tables.
    #[must_use]
    pub fn whole(self) -> Self {
        Section { is_whole: true, ..self }
    }

    /// Returns how many rows of a table to show, in a format that shows `most` of a usual table.
    pub(crate) fn rows(&self, most: usize) -> usize {
        if self.is_whole { usize::MAX } else { most }
    }

    /// Returns whether the section has blocks, and all are of one kind.
    pub(crate) fn is_all(&self, kind: impl Fn(&Block) -> bool) -> bool {
        !self.blocks.is_empty() && self.blocks.iter().all(kind)
    }

    /// Returns the heading in text and Markdown. In a brief document, only sections with tables or charts have one.
    pub(crate) fn heading_in_text(&self, document: &Document) -> Option<&String> {
        let stands_out = |block: &Block| matches!(block, Block::Table(_) | Block::Chart(_));
        self.heading.as_ref().filter(|_| !document.is_brief || self.blocks.iter().any(stands_out))
    }
}

/// The formats that show a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Text, Markdown and HTML.
    Everywhere,
    /// Text only: the other formats show the same in more detail elsewhere.
    OnTerminal,
    /// Markdown and HTML: text shows the same in another section.
    OffTerminal,
    /// HTML only, which has room for the circumstances.
    OnPages,
}

/// One element of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A command line. Text leaves it out, because the terminal already shows the command above the report.
    Command(String),
    /// A list of labels with their texts.
    Facts(Vec<Fact>),
    /// Sentences that wrap as one paragraph.
    Paragraph(Sentence),
    /// A table with typed cells.
    Table(Table),
    /// A chart. Text shows charts of bars, columns and dots; Markdown shows none.
    Chart(Chart),
}

/// A label with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// One or two nouns: `CPU time`.
    pub label: String,
    /// The value, or the reason why it is not available.
    pub text: Sentence,
    /// An explanation for readers who do not know the label.
    pub note: Option<String>,
}

impl Fact {
    /// Returns a fact with a plain text.
    pub fn new(label: &str, text: impl Into<String>) -> Self {
        Fact::emphasized(label, Emphasis::Plain, text)
    }

    /// Returns a fact whose text has an emphasis.
    pub fn emphasized(label: &str, emphasis: Emphasis, text: impl Into<String>) -> Self {
        Fact { label: label.to_owned(), text: vec![(emphasis, text.into())], note: None }
    }

    /// Adds an explanation below the text.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Fact { note: Some(note.into()), ..self }
    }

    /// Returns a fact about a reading: its value as text, or the reason why it is not available.
    pub fn reading<T>(label: &str, reading: &Reading<T>, words: impl Fn(&T) -> String) -> Self {
        Fact::new(label, reading.as_ref().map_or_else(|absent| format!("not available: {absent}"), words))
    }
}

/// Returns the sections on where and when something was measured: one line on terminals, all facts on pages.
pub fn origin(started: Timestamp, host: &Host, revision: &Reading<String>) -> [Section; 2] {
    let mut facts = vec![Fact::new("started", timestamp::text(started))];
    facts.extend(host_facts(host));
    facts.push(Fact::reading("git revision", revision, |revision| one_line(revision)));
    let on = [&host.hostname, &host.cpu_model, &host.kernel].into_iter().flatten().map(|name| one_line(name));
    let on = on.collect::<Vec<_>>().join(", ");
    let line = format!("Started {}{}{on}.", timestamp::text(started), if on.is_empty() { "" } else { " on " });
    [
        Section::paragraphs([vec![(Emphasis::Plain, line)]]).shown(Shown::OnTerminal),
        Section::new("Where and when", vec![Block::Facts(facts)]).shown(Shown::OnPages),
    ]
}

/// Returns the facts about the machine: host name, kernel, CPUs, quota, memory and hypervisor.
pub fn host_facts(host: &Host) -> Vec<Fact> {
    let quota =
        |quota: &Option<Quota>| quota.map_or_else(|| "none".to_owned(), |one| format!("{:.2} CPUs", one.cpus()));
    let hypervisor = |name: &Option<String>| name.as_deref().map_or_else(|| "no hypervisor".to_owned(), one_line);
    vec![
        Fact::reading("host", &host.hostname, |name| one_line(name)),
        Fact::reading("kernel", &host.kernel, |name| one_line(name)),
        Fact::reading("CPU", &host.cpu_model, |name| one_line(name)),
        Fact::new("CPUs", format!("{} of {} online may be used", host.cpus_allowed, host.cpus_online)),
        Fact::reading("quota", &host.cpu_quota, quota),
        Fact::reading("memory", &host.memory, |bytes| memory(bytes.0 as f64)),
        Fact::reading("runs under", &host.hypervisor, hypervisor),
    ]
}

/// A share of the machine's time.
#[derive(Clone, Copy)]
pub struct ActivityShare {
    /// The label of facts, and the head of columns.
    pub label: &'static str,
    /// Returns the share.
    pub pick: fn(&Activity) -> &Reading<f64>,
    /// What the share is of: words that follow the number.
    of: &'static str,
}

/// The share of the CPU time in use, by any process.
pub const CPUS_BUSY: ActivityShare =
    ActivityShare { label: "CPUs busy", pick: |activity| &activity.busy_ratio, of: "of their time" };
/// The share of the CPU time that the hypervisor gave to other guests.
pub const STEAL: ActivityShare = ActivityShare {
    label: "steal",
    pick: |activity| &activity.steal_ratio,
    of: "of their time went to other guests of the host",
};
const CPU_PRESSURE: ActivityShare = ActivityShare {
    label: "CPU pressure",
    pick: |activity| &activity.pressure,
    of: "of the time some process waited for a CPU",
};

/// Collects facts about readings. Readings that are not available share one fact per reason.
#[derive(Default)]
pub struct ReadingFacts {
    facts: Vec<Fact>,
    /// Reasons, each with the labels of its readings.
    reasons: Vec<(String, Vec<String>)>,
}

impl ReadingFacts {
    /// Adds a reading.
    pub fn add<T>(&mut self, label: &str, reading: &Reading<T>, words: impl Fn(&T) -> String) {
        match reading {
            Ok(value) => self.facts.push(Fact::new(label, words(value))),
            Err(absent) => match self.reasons.iter_mut().find(|(reason, _)| *reason == absent.0) {
                Some((_, labels)) => labels.push(label.to_owned()),
                None => self.reasons.push((absent.0.clone(), vec![label.to_owned()])),
            },
        }
    }

    /// Adds the activity of the machine: its busy CPUs, steal and pressure.
    pub fn add_activity(&mut self, activity: &Activity) {
        for share in [CPUS_BUSY, STEAL, CPU_PRESSURE] {
            self.add(share.label, (share.pick)(activity), |ratio| format!("{} {}", percent(*ratio), share.of));
        }
    }

    /// Adds the share of the time in which the quota throttled the commands, if it did.
    pub fn add_throttling(&mut self, activity: &Activity) {
        if activity.throttled_ratio.as_ref().is_ok_and(|ratio| *ratio > 0.0) {
            let words = |ratio: &f64| format!("{} of the time the quota throttled the commands", percent(*ratio));
            self.add("throttling", &activity.throttled_ratio, words);
        }
    }

    /// Returns the facts, followed by the readings that are not available.
    pub fn finish(self) -> Vec<Fact> {
        let missing = |(reason, labels): (String, Vec<String>)| {
            Fact::new("not measured", format!("{}: {}", labels.join(", "), one_line(&reason)))
        };
        self.facts.into_iter().chain(self.reasons.into_iter().map(missing)).collect()
    }
}

/// Returns facts about the activity of the machine during the runs, with the reasons for what was not measured.
pub fn activity_facts(activity: &Activity) -> Vec<Fact> {
    let mut facts = ReadingFacts::default();
    facts.add_activity(activity);
    facts.add_throttling(activity);
    facts.finish()
}

/// A document for the tests of the renderers.
#[cfg(test)]
pub(crate) fn sample() -> Document {
    let facts = vec![
        Fact::new("one", "1 s"),
        Fact::emphasized("two_2", Emphasis::Open, "noisy").with_note("because of\u{1b} others"),
    ];
    let line = |text: &str| vec![(Emphasis::Plain, text.to_owned())];
    Document {
        subject: "Steadyhand: a sample".to_owned(),
        answer: vec![vec![(Emphasis::Heading, "It is so.".to_owned())]],
        sections: vec![
            Section::new("Facts", vec![Block::Facts(facts)]),
            Section::new("Locks", vec![Block::Table(crate::table::sample())]).as_detail(),
            Section::paragraphs([line("First."), line("Last.")]),
        ],
        is_brief: false,
    }
}
