//! Knobs of memory: huge pages, swap, and what is kept of files.

use steady_model::{Absent, Knob, Reading};

use super::kernel::sysctl;
use super::{Found, Setting, entries, file, fitting};
use crate::Root;

/// Huge pages of the usual size: `Documentation/admin-guide/mm/transhuge.rst`.
pub(super) const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const HUGE_PAGES_FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";
pub(super) const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const SWAPS: &str = "/proc/swaps";
pub(super) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The sizes of their own that newer kernels have follow the one for all where they say so, and are files of the knob
/// where they do not.
pub(super) fn huge_pages(root: &Root) -> Found {
    const QUIET: &str = "never";
    if !root.has(HUGE_PAGES) {
        return Found::none(Knob::Thp, "this kernel makes no huge pages by itself");
    }
    let sizes = entries(root, HUGE_PAGES_FOLDER, "hugepages-").into_iter();
    let sizes = sizes.map(|size| format!("{HUGE_PAGES_FOLDER}/{size}/enabled")).filter(|file| {
        let text = super::read(root, file).unwrap_or_default();
        text.contains("[always]") || text.contains("[madvise]")
    });
    let quiet = |_: &str, value: &str| -> Reading<String> {
        // What says one word alone says nothing of others.
        match fitting(value.contains('[').then_some(value), QUIET) {
            Some(false) => Err(Absent::because(format!("{QUIET} is not among its values ({})", value.trim()))),
            Some(true) | None => Ok(QUIET.to_owned()),
        }
    };
    Found::of(root, Knob::Thp, [HUGE_PAGES.to_owned()].into_iter().chain(sizes), quiet, "")
}

/// How readily memory is put on disk: `Documentation/admin-guide/sysctl/vm.rst`. Not 0, with which the kernel may end
/// processes while there is room on disk; and no swapoff(2), which may do so at once and cannot be put back exactly.
pub(super) fn swap(root: &Root) -> Found {
    let swaps = root.read(SWAPS).unwrap_or_default();
    if swaps.lines().skip(1).all(|line| line.trim().is_empty()) {
        return Found::none(Knob::Swap, "no swap is in use");
    }
    sysctl(root, Knob::Swap, SWAPPINESS, "1")
}

/// Files, names and inodes that can be read again: same place. It holds no value to put back.
pub(super) fn caches(root: &Root) -> Found {
    if !root.has(DROP_CACHES) {
        return Found::none(Knob::Caches, format!("{DROP_CACHES} does not exist in this kernel"));
    }
    let setting = Setting {
        knob: Knob::Caches,
        file: DROP_CACHES.to_owned(),
        value: "kept".to_owned(),
        quiet: Ok("3".to_owned()),
        may_become: Vec::new(),
        may_write: file::may_write(root, DROP_CACHES),
    };
    Found { knob: Knob::Caches, settings: vec![setting], absent: None }
}
