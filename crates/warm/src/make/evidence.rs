//! What a program was taken with: the files and variables that must be the same wherever its snapshots are used.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use steady_model::Nanos;
use steady_preload::identity::{Identity, Time};

use super::{Refusal, Stop, Subject, text};
use crate::identity;
use crate::inspect::{Needs, imports};
use crate::taken::{AskedFile, Taken};

/// The variable that makes the environment of the second take larger.
pub(super) const PADDING: &str = "STEADY_PADDING";

/// Folders whose files are the kernel's: what of them says something of one process is refused when it is taken; the rest
/// stays what it is until the next boot. What was absent must still be absent, for modules are loaded and file systems mounted.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// How long before the first take a file must have been changed last. File systems stamp changes by the tick of a clock, so that
/// two within one tick are told by one time.
const SETTLED: Nanos = Nanos(50_000_000);

/// Files, and what each is; nothing where there is none.
pub(super) type Files = Vec<(CString, Option<Identity>)>;

/// What it was taken with, in the order of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) files: Files,
    pub(super) variables: Vec<(CString, Option<CString>)>,
}

impl Evidence {
    /// The files that a take asked for, as they are now, and the variables, as they were given to it.
    pub(super) fn of(
        taken: &Taken,
        subject: &Subject,
        environment: &[(OsString, OsString)],
        started: Nanos,
    ) -> Result<Self, Stop> {
        let files = files(&taken.files, subject, started)?;
        let mut variables = BTreeMap::new();
        let own = [PADDING, steady_preload::card::TAKE_VARIABLE];
        for name in taken.variables.iter().filter(|name| own.iter().all(|own| name != own)) {
            let value = environment.iter().find(|(given, _)| given == name);
            variables.insert(text(name)?, value.map(|(_, value)| text(value)).transpose()?);
        }
        Ok(Evidence { files, variables: variables.into_iter().collect() })
    }
}

/// The identities of files that a program asked for, as they are now, in the order of names.
pub(super) fn files(asked: &[AskedFile], subject: &Subject, started: Nanos) -> Result<Files, Stop> {
    let mut files = BTreeMap::new();
    for asked in asked.iter().filter(|asked| !(asked.found && of_the_kernel(&asked.path))) {
        let found = identity::at(&asked.path).map_err(Stop::failed)?;
        if found.is_some() != asked.found {
            return Err(Stop::unsettled(&format!("'{}' came or went meanwhile", asked.path.display())));
        }
        if found == Some(subject.identity) {
            continue;
        }
        let path = match found {
            Some(found) => settled(&asked.path, &found, started).map(|()| asked.path.as_path())?,
            None => absent_part(&asked.path).map_err(Stop::failed)?,
        };
        files.insert(text(path.as_os_str())?, found);
    }
    settled(&subject.path, &subject.identity, started)?;
    Ok(files.into_iter().collect())
}

/// The shortest beginning of an absent path that is absent itself: as long as it is, nothing below it is there. Each launch then
/// looks once for a folder that does not exist, such as that of a locale, and not for each of its files.
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

/// Whether a file was last changed well before a moment, so that it cannot have been changed since without another time.
fn settled(path: &Path, file: &Identity, moment: Nanos) -> Result<(), Stop> {
    let nanos = |time: Time| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    if nanos(file.changed) + i128::from(SETTLED.0) > i128::from(moment.0) {
        return Err(Stop::unsettled(&format!("'{}' was changed a moment ago", path.display())));
    }
    match identity::is_ambiguous(path) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Stop::failed(io::Error::other(format!(
            "'{}' lies in an image, and before Linux 6.8 another image that is mounted in its place is not noticed",
            path.display()
        )))),
        Err(error) => Err(Stop::failed(error)),
    }
}

fn of_the_kernel(path: &Path) -> bool {
    OF_THE_KERNEL.iter().any(|folder| path.starts_with(folder))
}

/// What the libraries that were loaded need, the C library itself aside, which has what others import.
pub(super) fn needs(taken: &Taken, subject: &Subject) -> Needs {
    let mut files: Vec<&Path> =
        taken.regions.iter().filter_map(|region| Some(region.file.as_ref()?.0.as_path())).collect();
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
    fn of_what_is_absent_the_first_folder_that_is_missing_is_looked_for() {
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
