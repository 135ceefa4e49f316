//! The journal: the original values of a host that was made quiet, and who needs the host to be quiet.

use std::collections::BTreeSet;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use steady_linux::host::knobs;
use steady_linux::{Root, procfs};
use steady_model::{Knob, Nanos, Timestamp};

use crate::record::JournalFacts;

/// Version of the format of the journal.
pub(super) const VERSION: u32 = 1;

/// A user of a quiet host; the host stays quiet as long as there is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Holder {
    /// `steady host quiet`: until `steady host restore`.
    Stays,
    /// A process, until it ends. The kernel reuses process IDs, so its start time identifies it.
    Process {
        pid: i32,
        /// Its start time, by the clock of `/proc/PID/stat`.
        began: Nanos,
    },
}

impl Holder {
    /// Returns this process as a holder. If its start time cannot be read, it is 0.
    pub(crate) fn this_process() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Holder::Process { pid, began: began(pid).unwrap_or_default() }
    }

    /// Returns whether the holder still needs the quiet host.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Holder::Stays => true,
            Holder::Process { pid, began: then } => match began(*pid) {
                Some(began) => began == *then,
                None => is_hidden(*pid),
            },
        }
    }
}

/// Returns whether a process exists that this user may not see: /proc may be mounted with `hidepid` (proc(5)).
fn is_hidden(pid: i32) -> bool {
    let exists = Pid::from_raw(pid).map(test_kill_process);
    exists == Some(Err(Errno::PERM)) && Root::default().read(&format!("/proc/{pid}/stat")).is_err()
}

/// Returns the start time of a process, or `None` if it has ended. A zombie has ended.
fn began(pid: i32) -> Option<Nanos> {
    let root = Root::default();
    let lives = procfs::process_stat(&root, pid).is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'));
    procfs::process_usage(&root, pid).ok().filter(|_| lives).map(|usage| usage.began)
}

/// A file with its original value, and the values that `steady` may have given it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) knob: Knob,
    /// Path of the file, from the root directory.
    pub(crate) file: String,
    /// Original content, byte for byte.
    pub(crate) original: String,
    /// Values that the file may have because of `steady`.
    pub(crate) ours: Vec<String>,
    /// Whether the file may have been written and not read since. The kernel may have changed the value that was
    /// written.
    pub(crate) open: bool,
    /// Who needs the quiet value.
    pub(crate) holders: BTreeSet<Holder>,
}

impl Entry {
    /// Returns whether `steady` may have set the value `now`.
    pub(crate) fn is_ours(&self, now: &str) -> bool {
        let made = self.ours.iter().any(|ours| knobs::same(self.knob, ours, now));
        made || self.open && knobs::is_adjusted(self.knob, &self.file)
    }

    /// Records that `steady` may have set this value.
    pub(super) fn may_be(&mut self, value: &str) {
        if !self.ours.iter().any(|ours| knobs::same(self.knob, ours, value)) {
            self.ours.push(value.to_owned());
        }
    }

    /// Returns whether a value is the original one.
    pub(crate) fn is_original(&self, now: &str) -> bool {
        knobs::same(self.knob, &self.original, now)
    }

    /// Returns whether a holder still needs the quiet value.
    pub(crate) fn is_held(&self) -> bool {
        self.holders.iter().any(Holder::is_there)
    }
}

/// The journal: all files that were changed, in the order of the changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// Version of the format.
    pub(crate) version: u32,
    /// ID of the boot that the values belong to. After a reboot, the kernel starts with its own values.
    pub(crate) boot_id: String,
    /// Time of day at which it was created.
    pub(crate) since: Timestamp,
    pub(crate) entries: Vec<Entry>,
}

impl Journal {
    /// Returns the entry of a file.
    pub(super) fn of(&mut self, file: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.file == file)
    }

    /// Parses a journal. Rejects one that names a file that does not belong to its knob.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let journal: Journal = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if journal.version != VERSION {
            return Err(format!("it has version {}, but this steady can read only version {VERSION}", journal.version));
        }
        match journal.entries.iter().find(|entry| !knobs::is_of(entry.knob, &entry.file)) {
            Some(entry) => Err(format!("'{}' is not a file of the knob {}", entry.file, entry.knob.name())),
            None => Ok(journal),
        }
    }

    /// Returns the journal as JSON text.
    pub(super) fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns a summary of the journal.
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
    fn a_journal_is_read_back_unchanged() {
        let whole = journal(vec![entry("/proc/sys/vm/swappiness")]);
        assert_eq!(Journal::parse(&whole.text()), Ok(whole));
    }

    #[test]
    fn a_journal_with_other_files_is_rejected() {
        for file in
            ["/etc/passwd", "/proc/sys/../../etc/swappiness", "/proc/sys/vm/../swappiness", "/proc/sys//swappiness"]
        {
            assert!(Journal::parse(&journal(vec![entry(file)]).text()).is_err(), "{file}");
        }
        let other = Journal { version: 2, ..journal(vec![]) };
        assert!(Journal::parse(&other.text()).unwrap_err().contains("version 2"));
    }

    #[test]
    fn only_a_live_process_holds() {
        assert!(Holder::this_process().is_there() && Holder::Stays.is_there());
        let Holder::Process { pid, .. } = Holder::this_process() else { panic!() };
        assert!(!Holder::Process { pid, began: Nanos(1) }.is_there(), "the process ID belongs to another process");
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "\\PC*") {
            let _ = Journal::parse(&text);
        }

        #[test]
        fn truncated_journals_are_rejected(cut in 0_usize..200) {
            let text = journal(vec![entry("/proc/sys/vm/swappiness")]).text();
            let cut = cut.min(text.trim_end().len() - 1);
            prop_assert!(Journal::parse(&text[..cut]).is_err());
        }
    }
}
