//! The conditions of a snapshot: files and variables that must be as they were during the capture.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use steady_model::Nanos;
use steady_preload::identity::{Identity, Time};

use super::{Refusal, Stop, Subject, text};
use crate::captured::{Captured, UsedFile};
use crate::identity;
use crate::inspect::{Needs, imports};

/// The variable that makes the environment of the second capture larger.
pub(super) const PADDING: &str = "STEADY_PADDING";

/// Directories of the kernel. Files in them that depend on the process are refused by the capture, and the others do
/// not change until the next boot. A missing file is still a condition, because modules are loaded and file systems
/// mounted.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// How long before the first capture a file must have changed last. File systems take timestamps from a coarse clock,
/// so two changes within one tick have the same timestamp.
const SETTLED: Nanos = Nanos(50_000_000);
/// How much longer ago that must be if the timestamp may have no fractions: some file systems round down to a second,
/// others to two seconds.
const WHOLE_SECONDS: Nanos = Nanos(2_000_000_000);

/// Files with their identities; `None` for files that do not exist.
pub(super) type Files = Vec<(CString, Option<Identity>)>;

/// The conditions of a capture, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditions {
    pub(super) files: Files,
    pub(super) variables: Vec<(CString, Option<CString>)>,
}

impl Conditions {
    /// Returns the conditions: identities of the files that a capture used, and values of the variables that it read.
    pub(super) fn of(
        captured: &Captured,
        subject: &Subject,
        environment: &[(OsString, OsString)],
        started: Nanos,
    ) -> Result<Self, Stop> {
        let files = files(&captured.files, subject, started)?;
        let mut variables = BTreeMap::new();
        let own = [PADDING, steady_preload::card::TAKE_VARIABLE];
        for name in captured.variables.iter().filter(|name| own.iter().all(|own| name != own)) {
            let value = environment.iter().find(|(given, _)| given == name);
            variables.insert(text(name)?, value.map(|(_, value)| text(value)).transpose()?);
        }
        Ok(Conditions { files, variables: variables.into_iter().collect() })
    }
}

/// Returns the identities of the files that a program used, as they are now, sorted by name.
pub(super) fn files(used: &[UsedFile], subject: &Subject, started: Nanos) -> Result<Files, Stop> {
    let mut files = BTreeMap::new();
    for used in used.iter().filter(|used| !(used.found && of_the_kernel(&used.path))) {
        let found = identity::at(&used.path).map_err(Stop::failed)?;
        if found.is_some() != used.found {
            let what = format!("'{}' was created or removed during the capture", used.path.display());
            return Err(Stop::unsettled(&what));
        }
        if found == Some(subject.identity) {
            continue;
        }
        let path = match found {
            Some(found) => settled(&used.path, &found, started).map(|()| used.path.as_path())?,
            None => absent_part(&used.path).map_err(Stop::failed)?,
        };
        files.insert(text(path.as_os_str())?, found);
    }
    settled(&subject.path, &subject.identity, started)?;
    Ok(files.into_iter().collect())
}

/// Returns the shortest prefix of a path that does not exist. As long as it does not exist, no file below it exists. A
/// launch then checks one missing directory, such as that of a locale, and not each of its files.
fn absent_part(path: &Path) -> io::Result<&Path> {
    let mut absent = path;
    while let Some(folder) = absent.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        if identity::at(folder)?.is_some() {
            break;
        }
        absent = folder;
    }
    Ok(absent)
}

/// Checks that a file changed last well before a moment, so that any change since then shows in its timestamps.
fn settled(path: &Path, file: &Identity, moment: Nanos) -> Result<(), Stop> {
    let nanos = |time: Time| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    let whole_seconds = if file.changed.nanoseconds == 0 { WHOLE_SECONDS } else { Nanos::ZERO };
    if nanos(file.changed) + i128::from((SETTLED + whole_seconds).0) > i128::from(moment.0) {
        return Err(Stop::unsettled(&format!("'{}' was changed a moment ago", path.display())));
    }
    match identity::is_ambiguous(path) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Stop::failed(io::Error::other(format!(
            "'{}' is in a file system image; before Linux 6.8, another image mounted in its place is not detected",
            path.display()
        )))),
        Err(error) => Err(Stop::failed(error)),
    }
}

fn of_the_kernel(path: &Path) -> bool {
    OF_THE_KERNEL.iter().any(|folder| path.starts_with(folder))
}

/// Returns what the loaded libraries need. The C library is included, but it defines these functions itself.
pub(super) fn needs(captured: &Captured, subject: &Subject) -> Needs {
    let mut files: Vec<&Path> =
        captured.regions.iter().filter_map(|region| Some(region.file.as_ref()?.0.as_path())).collect();
    files.sort();
    files.dedup();
    let of_file = |path: &Path| File::open(path).map(|file| imports(&file)).unwrap_or_default();
    let all = files.into_iter().filter(|path| *path != subject.path).map(of_file);
    all.fold(Needs::default(), |needs, found| Needs {
        hook: needs.hook || found.starts_programs,
        locale: needs.locale || found.sets_locale,
        ..needs
    })
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_without_fractions_must_be_older() {
        let settles_after = |nanoseconds: i64| {
            let file = Identity { changed: Time { seconds: 1_000, nanoseconds }, ..Identity::default() };
            let millis = (0..3_000)
                .find(|millis| settled(&std::env::temp_dir(), &file, Nanos((1_000_000 + millis) * 1_000_000)).is_ok());
            millis.unwrap()
        };
        assert_eq!((settles_after(1_000_000), settles_after(0)), (51, 2_050));
    }

    #[test]
    fn a_missing_path_is_reduced_to_its_first_missing_directory() {
        let folder = std::env::temp_dir().join(format!("steady-absent-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let part = |name: &str| {
            let path = folder.join(name);
            absent_part(&path).map(|part| part.strip_prefix(&folder).unwrap().to_owned()).unwrap()
        };
        assert_eq!(part("locale"), Path::new("locale"));
        assert_eq!(part("locale/C.UTF-8/LC_TIME"), Path::new("locale"));
        std::fs::create_dir(folder.join("locale")).unwrap();
        assert_eq!(part("locale/C.UTF-8/LC_TIME"), Path::new("locale/C.UTF-8"));
        assert_eq!(part("locale/../other/x"), Path::new("locale/../other"));
        std::os::unix::fs::symlink("nowhere", folder.join("dangling")).unwrap();
        assert_eq!(part("dangling/x"), Path::new("dangling"));
        assert_eq!(absent_part(Path::new("relative")).unwrap(), Path::new("relative"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
