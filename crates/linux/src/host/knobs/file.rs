//! Reads and writes the files of knobs, and compares their values. Two texts with one meaning are the same value.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{Access, StatVfsMountFlags};
use rustix::io::Errno;
use steady_model::{Absent, Knob, Reading};

use crate::Root;
use crate::root::unreadable;
use crate::topology::parse_cpu_list;

/// Returns whether two texts are the same value of a knob.
pub fn same(knob: Knob, one: &str, other: &str) -> bool {
    one == other || shown(knob, one) == shown(knob, other)
}

/// Returns the normal form of a value: the selected word of a choice, and numbers and CPU lists without optional parts.
pub(super) fn shown(knob: Knob, text: &str) -> String {
    let words = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    match knob {
        Knob::Thp => chosen(text).unwrap_or(&words).to_owned(),
        Knob::IrqAffinity => parse_cpu_list(text).map_or(words, |cpus| as_list(&cpus)),
        Knob::Caches if words == "3" => "dropped".to_owned(),
        Knob::Governor | Knob::Epp | Knob::Smt | Knob::Caches => words,
        _ => words.parse::<i64>().map_or(words, |number| number.to_string()),
    }
}

/// Returns the word in brackets, as in `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.trim())
}

/// Returns what to write to a file so that it has the value `text` again. The running kernel accepts only the word that
/// it shows in brackets. A recorded tree of files gets the exact bytes.
pub fn to_write<'a>(root: &Root, knob: Knob, text: &'a str) -> &'a str {
    match knob {
        Knob::Thp if root.is_live() => chosen(text).unwrap_or(text),
        _ => text,
    }
}

/// Returns whether a list contains `word`; `None` without a list.
pub fn fitting(list: Option<&str>, word: &str) -> Option<bool> {
    list.map(|list| list.split_ascii_whitespace().any(|one| one.trim_matches(['[', ']']) == word))
}

/// Returns a list of CPUs, ascending, in the kernel's format.
pub(super) fn as_list(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// Reads the exact content of a file.
///
/// # Errors
/// The file cannot be read or is not text.
pub fn read(root: &Root, file: &str) -> Reading<String> {
    let bytes =
        fs::read(root.path(file)).map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            // cpufreq returns this for a policy whose CPUs are all offline, and intel_pstate while it is switched off.
            Some(Errno::BUSY | Errno::AGAIN | Errno::IO) => {
                Absent::because(format!("{file} has no value now ({error})"))
            }
            _ => unreadable(file, &error),
        })?;
    String::from_utf8(bytes).map_err(|_| Absent::because(format!("{file} is not text")))
}

/// Returns the reason for a file that this process may not write, but root may.
pub(super) fn only_root() -> Absent {
    Absent::because("only root may set it")
}

/// Returns whether this process may write a file. Whether the kernel accepts a value is known only after the write.
pub(super) fn may_write(root: &Root, file: &str) -> Reading<()> {
    let path = root.path(file);
    let mode = fs::metadata(&path).map_err(|error| unreadable(file, &error))?.permissions().mode();
    // For root, access(2) succeeds even on a file of /sys without any write permission, and the driver then refuses the
    // write.
    if mode & 0o222 == 0 {
        return Err(Absent::because("the kernel's file is read-only"));
    }
    // For other users than root, access(2) reports missing rights even if the file system is read-only for all.
    if rustix::fs::statvfs(&path).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        let top = file.split('/').nth(1).unwrap_or_default();
        return Err(Absent::because(format!("/{top} is mounted read-only, as in containers")));
    }
    match rustix::fs::access(&path, Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) if !rustix::process::geteuid().is_root() => Err(only_root()),
        Err(Errno::ACCESS | Errno::PERM) => Err(Absent::because("even root may not set it on this system")),
        Err(error) => Err(Absent::because(format!("the file is not writable ({error})"))),
    }
}

/// Writes a file in one call, as kernel files require.
///
/// # Errors
/// The error of open(2) or write(2).
pub fn write(root: &Root, file: &str, text: &str) -> io::Result<()> {
    // Do not create a missing file.
    let mut opened = File::options().write(true).truncate(true).open(root.path(file))?;
    let written = opened.write(text.as_bytes())?;
    if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_compared_by_meaning() {
        assert!(same(Knob::Thp, "always [madvise] never\n", "madvise"));
        assert!(!same(Knob::Thp, "always [madvise] never\n", "never"));
        assert!(same(Knob::PerfSampleRate, "  100000\n", "100000"));
        assert!(same(Knob::IrqAffinity, "0-3\n", "0,1,2,3"));
        assert!(same(Knob::Governor, "performance \n", "performance"));
        assert!(!same(Knob::Swap, "60\n", "6"));
        assert_eq!(shown(Knob::Smt, " on \n"), "on");
    }

    #[test]
    fn the_kernel_gets_the_word_and_a_tree_the_bytes() {
        let text = "always [madvise] never\n";
        assert_eq!(to_write(&Root::default(), Knob::Thp, text), "madvise");
        assert_eq!(to_write(&Root::at("/tree"), Knob::Thp, text), text);
        assert_eq!(to_write(&Root::default(), Knob::Swap, " 60\n"), " 60\n");
    }

    #[test]
    fn words_are_found_in_lists() {
        assert_eq!(fitting(Some("performance powersave\n"), "performance"), Some(true));
        assert_eq!(fitting(Some("powersave"), "performance"), Some(false));
        assert_eq!(fitting(None, "performance"), None);
    }

    proptest! {
        #[test]
        fn cpu_lists_round_trip(set in proptest::collection::btree_set(0_usize..300, 0..40)) {
            let cpus: Vec<usize> = set.into_iter().collect();
            prop_assert_eq!(parse_cpu_list(&as_list(&cpus)).unwrap(), cpus);
        }

        #[test]
        fn any_text_equals_itself_without_panic(text in "(\\PC|[\\[\\] ,0-9-]|always|\n)*") {
            for knob in Knob::ALL {
                prop_assert!(same(knob, &text, &text));
                prop_assert!(same(knob, &shown(knob, &text), &format!(" {}\n", shown(knob, &text))), "{knob:?}");
            }
        }
    }
}
