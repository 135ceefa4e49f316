//! What was there before a host was made quiet, and who wants it quiet.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use steady_linux::host::knobs;
use steady_linux::{Root, procfs};
use steady_model::{Knob, Nanos, Timestamp};

use crate::record::JournalFacts;

/// The version of the file.
pub(super) const VERSION: u32 = 1;

/// Who wants a host to be quiet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Holder {
    /// Whoever said so, until somebody restores it.
    Stays,
    /// A process, as long as it lives: its number, and when it began, since numbers are used anew.
    Process {
        /// Its number.
        pid: i32,
        /// When it began, on the clock of `/proc/PID/stat`.
        began: Nanos,
    },
}

impl Holder {
    /// This process; where the kernel does not tell when it began, its number has to do.
    pub(crate) fn this_process() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Holder::Process { pid, began: began(pid).unwrap_or_default() }
    }

    /// Whether it still wants that.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Holder::Stays => true,
            Holder::Process { pid, began: then } => began(*pid).is_some_and(|began| began == *then),
        }
    }
}

/// When a process began; nothing where it has ended, though nobody has reaped it yet.
fn began(pid: i32) -> Option<Nanos> {
    let root = Root::default();
    let lives = procfs::process_stat(&root, pid).is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'));
    procfs::process_usage(&root, pid).ok().filter(|_| lives).map(|usage| usage.began)
}

/// One file, as it was and as it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The knob.
    pub(crate) knob: Knob,
    /// The file, from the root on.
    pub(crate) file: String,
    /// What was in it, to the byte.
    pub(crate) original: String,
    /// What it may be by our doing.
    pub(crate) ours: Vec<String>,
    /// Whether it may have been written and not looked at since: the kernel may have made another value of ours.
    pub(crate) open: bool,
    /// Who wants it as it is.
    pub(crate) holders: BTreeSet<Holder>,
}

impl Entry {
    /// Whether a value is there by our doing.
    pub(crate) fn is_ours(&self, now: &str) -> bool {
        let made = self.ours.iter().any(|ours| knobs::same(self.knob, ours, now));
        // Drivers round rates to those that they have.
        made || self.open && self.knob == Knob::MinFrequency
    }

    /// Notes that it may be this by our doing.
    pub(super) fn may_be(&mut self, value: &str) {
        if !self.ours.iter().any(|ours| knobs::same(self.knob, ours, value)) {
            self.ours.push(value.to_owned());
        }
    }

    /// Whether a value is the one that was there.
    pub(crate) fn is_original(&self, now: &str) -> bool {
        knobs::same(self.knob, &self.original, now)
    }

    /// Whether anybody wants it quiet who is still there.
    pub(crate) fn is_held(&self) -> bool {
        self.holders.iter().any(Holder::is_there)
    }
}

/// All files that were touched, in the order in which they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The version of this file.
    pub(crate) version: u32,
    /// The boot that it is of: the next one begins with values of its own.
    pub(crate) boot_id: String,
    /// When it was begun.
    pub(crate) since: Timestamp,
    /// The files.
    pub(crate) entries: Vec<Entry>,
}

impl Journal {
    /// The entry of a file.
    pub(super) fn of(&mut self, file: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.file == file)
    }

    /// Reads the text of a journal. One that names other files than those of its knobs is not believed.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let journal: Journal = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if journal.version != VERSION {
            return Err(format!("it is of version {}, and this steady knows version {VERSION}", journal.version));
        }
        match journal.entries.iter().find(|entry| !knobs::is_of(entry.knob, &entry.file)) {
            Some(entry) => Err(format!("'{}' is no file of {}", entry.file, entry.knob.name())),
            None => Ok(journal),
        }
    }

    /// The journal as text.
    pub(super) fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// It in short.
    pub(super) fn facts(&self, file: String) -> JournalFacts {
        let holders: BTreeSet<&Holder> = self.entries.iter().flat_map(|entry| &entry.holders).collect();
        let mut knobs: Vec<Knob> = self.entries.iter().map(|entry| entry.knob).collect();
        knobs.sort_unstable();
        knobs.dedup();
        let runs = |holder: &&&Holder| matches!(holder, Holder::Process { .. }) && holder.is_there();
        JournalFacts {
            file,
            since: self.since,
            knobs,
            running: holders.iter().filter(runs).count(),
            stays: holders.contains(&Holder::Stays),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(file: &str) -> Entry {
        let holders = BTreeSet::from([Holder::Stays]);
        let (original, ours) = ("60\n".to_owned(), vec!["1".to_owned()]);
        Entry { knob: Knob::Swap, file: file.to_owned(), original, ours, open: false, holders }
    }

    fn journal(entries: Vec<Entry>) -> Journal {
        Journal { version: VERSION, boot_id: "x".to_owned(), since: Timestamp(1), entries }
    }

    #[test]
    fn a_journal_reads_back() {
        let whole = journal(vec![entry("/proc/sys/vm/swappiness")]);
        assert_eq!(Journal::parse(&whole.text()), Ok(whole));
    }

    #[test]
    fn no_journal_has_other_files_written() {
        for file in
            ["/etc/passwd", "/proc/sys/../../etc/swappiness", "/proc/sys/vm/../swappiness", "/proc/sys//swappiness"]
        {
            assert!(Journal::parse(&journal(vec![entry(file)]).text()).is_err(), "{file}");
        }
        let other = Journal { version: 2, ..journal(vec![]) };
        assert!(Journal::parse(&other.text()).unwrap_err().contains("version 2"));
    }

    #[test]
    fn a_process_is_there_until_it_is_not() {
        assert!(Holder::this_process().is_there() && Holder::Stays.is_there());
        let Holder::Process { pid, .. } = Holder::this_process() else { panic!() };
        assert!(!Holder::Process { pid, began: Nanos(1) }.is_there(), "another process of that number");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = Journal::parse(&text);
        }

        #[test]
        fn texts_cut_short_are_no_journals(cut in 0_usize..200) {
            let text = journal(vec![entry("/proc/sys/vm/swappiness")]).text();
            let cut = cut.min(text.trim_end().len() - 1);
            prop_assert!(Journal::parse(&text[..cut]).is_err());
        }
    }
}
