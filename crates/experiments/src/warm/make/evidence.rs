//! What a program was taken with: the files and variables that must be the same wherever its snapshots are used.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use steady_model::Nanos;
use steady_preload::identity::{Identity, Time};

use super::{Refusal, Stop, Subject, text};
use crate::warm::identity;
use crate::warm::inspect::{Needs, imports};
use crate::warm::taken::{AskedFile, Taken};

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
        if let Some(found) = found {
            settled(&asked.path, &found, started)?;
        }
        files.insert(text(asked.path.as_os_str())?, found);
    }
    settled(&subject.path, &subject.identity, started)?;
    Ok(files.into_iter().collect())
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
