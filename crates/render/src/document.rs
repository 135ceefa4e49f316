//! A report as data: what it says, without how it looks. A feature builds one [`Document`] for each of its records, and
//! [`terminal`](crate::terminal), [`markdown`](crate::markdown) and [`html`](crate::html) turn it into text.

use steady_model::{Host, Quota, Reading, Timestamp};

use crate::chart::Chart;
use crate::letters::one_line;
use crate::table::Table;
use crate::timestamp;
use crate::units::memory;

pub use crate::sentence::{Emphasis, Sentence, Span};

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What kind of report it is, above its answer: `Steadyhand: a command with limits`.
    pub subject: String,
    /// The answer to the question that was asked, and what qualifies it, a paragraph each.
    pub answer: Vec<Sentence>,
    /// What the answer rests on.
    pub sections: Vec<Section>,
    /// Whether its text stands between the output of a command: then the answer follows the name of the program, and text and
    /// Markdown have headings above tables and charts alone.
    pub is_brief: bool,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its heading; none for sentences that belong to the whole document.
    pub heading: Option<String>,
    /// Which formats have it.
    pub shown: Shown,
    /// Whether it is for few readers: Markdown folds it away.
    pub is_detail: bool,
    /// Whether its tables have all of their rows, in every format: they are no list of which the top says most.
    pub is_whole: bool,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section that all formats have.
    pub fn new(heading: &str, blocks: Vec<Block>) -> Self {
        Section {
            heading: Some(heading.to_owned()),
            shown: Shown::Everywhere,
            is_detail: false,
            is_whole: false,
            blocks,
        }
    }

    /// Sentences that belong to the whole document, without a heading.
    pub fn paragraphs(sentences: impl IntoIterator<Item = Sentence>) -> Self {
        Section { heading: None, ..Section::new("", sentences.into_iter().map(Block::Paragraph).collect()) }
    }

    /// The section, in these formats alone.
    #[must_use]
    pub fn shown(self, shown: Shown) -> Self {
        Section { shown, ..self }
    }

    /// The section, folded away where that can be.
    #[must_use]
    pub fn folded(self) -> Self {
        Section { is_detail: true, ..self }
    }

    /// The section, its tables with all of their rows.
    #[must_use]
    pub fn whole(self) -> Self {
        Section { is_whole: true, ..self }
    }

    /// How many rows its tables have, in a format that has room for `most`.
    pub(crate) fn rows(&self, most: usize) -> usize {
        if self.is_whole { usize::MAX } else { most }
    }

    /// Whether all that stands in it is of one kind, and something is.
    pub(crate) fn is_all(&self, kind: impl Fn(&Block) -> bool) -> bool {
        !self.blocks.is_empty() && self.blocks.iter().all(kind)
    }

    /// Its heading as text and Markdown have it.
    pub(crate) fn heading_in_text(&self, document: &Document) -> Option<&String> {
        let stands_out = |block: &Block| matches!(block, Block::Table(_) | Block::Chart(_));
        self.heading.as_ref().filter(|_| !document.is_brief || self.blocks.iter().any(stands_out))
    }
}

/// Which formats have a part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All.
    Everywhere,
    /// Text for a terminal alone. The other formats have more room for the same thing.
    OnTerminal,
    /// Markdown and pages. On a terminal it would stand next to the same thing.
    OffTerminal,
    /// Pages alone, which have room for the circumstances.
    OnPages,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The words of a command, on one line. On a terminal they stand above the report already.
    Command(String),
    /// Labels and what belongs to them.
    Facts(Vec<Fact>),
    /// A paragraph.
    Paragraph(Sentence),
    /// A table.
    Table(Table),
    /// A chart. Text has those of bars and columns, Markdown none.
    Chart(Chart),
}

/// A label and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// A noun or two: `CPU time`.
    pub label: String,
    /// What there is to say of it. A value that is absent is given with its reason.
    pub text: Sentence,
    /// What explains it, for readers who do not know the label.
    pub note: Option<String>,
}

impl Fact {
    /// A label and its text.
    pub fn new(label: &str, text: impl Into<String>) -> Self {
        Fact::emphasized(label, Emphasis::Plain, text)
    }

    /// A label and a text that stands out.
    pub fn emphasized(label: &str, emphasis: Emphasis, text: impl Into<String>) -> Self {
        Fact { label: label.to_owned(), text: vec![(emphasis, text.into())], note: None }
    }

    /// The fact with an explanation below it.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Fact { note: Some(note.into()), ..self }
    }

    /// A reading: its value in words, or why it is absent.
    pub fn reading<T>(label: &str, reading: &Reading<T>, words: impl Fn(&T) -> String) -> Self {
        Fact::new(label, reading.as_ref().map_or_else(|absent| format!("absent: {absent}"), words))
    }
}

/// Where and when something was measured.
pub fn origin(started: Timestamp, host: &Host, revision: &Reading<String>) -> Section {
    let mut facts = vec![Fact::new("begun", timestamp::text(started))];
    facts.extend(host_facts(host));
    facts.push(Fact::reading("git revision", revision, |revision| one_line(revision)));
    Section::new("Where and when", vec![Block::Facts(facts)]).shown(Shown::OnPages)
}

/// The machine, its CPUs and the quota.
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
            Section::new("Locks", vec![Block::Table(crate::table::sample())]).folded(),
            Section::paragraphs([line("First."), line("Last.")]),
        ],
        is_brief: false,
    }
}
