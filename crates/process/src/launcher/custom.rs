//! Reads the custom metrics of a run.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use steady_model::{Command, MetricInput};

use super::protocol::{NoValue, Setup};
use super::streams::Sink;
use crate::values::{Extractor, OUTPUT_MAX, excerpt};

/// The custom metrics of an experiment.
pub(super) struct CustomMetrics {
    extractors: Vec<(String, Extractor)>,
    input: MetricInput,
}

impl CustomMetrics {
    pub(super) fn new(setup: &Setup) -> io::Result<Self> {
        let extractor = |source| Extractor::new(source).map_err(io::Error::other);
        let each = setup.metrics.iter().map(|source| Ok((source.name.clone(), extractor(source)?)));
        Ok(CustomMetrics { extractors: each.collect::<io::Result<_>>()?, input: setup.metric_input.clone() })
    }

    /// What the values are found in, if there are metrics.
    pub(super) fn input(&self) -> Option<&MetricInput> {
        Some(&self.input).filter(|_| !self.extractors.is_empty())
    }

    /// The file that runs of `command` write, if the values are found in a file.
    fn file(&self, command: &Command) -> Option<PathBuf> {
        match self.input()? {
            MetricInput::File(path) => Some(command.directory.as_ref().map_or(path.clone(), |place| place.join(path))),
            MetricInput::Stdout | MetricInput::Stderr => None,
        }
    }

    /// Prepares for a run of `command`: discards what was printed before, and marks an existing file as old. Returns the
    /// time of change of such a file, in seconds, for [`CustomMetrics::end`].
    pub(super) fn begin(&self, command: &Command, sink: &Sink) -> io::Result<Option<i64>> {
        if self.extractors.is_empty() {
            return Ok(None);
        }
        sink.take_printed();
        let Some(path) = self.file(command) else { return Ok(None) };
        let old = Timestamps { last_access: UNCHANGED, last_modification: OLD };
        match rustix::fs::utimensat(rustix::fs::CWD, &path, &old, AtFlags::empty()) {
            // A file system may have another earliest time: that of FAT is in 1980.
            Ok(()) => Ok(Some(fs::metadata(&path)?.mtime())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => {
                let why = "its time of change cannot be set, so a value of an earlier run could not be distinguished";
                Err(io::Error::other(format!("'{}': {why}: {error}", path.display())))
            }
        }
    }

    /// Returns the values after a run of `command`. `old` is the time that [`CustomMetrics::begin`] returned.
    pub(super) fn end(&self, command: &Command, sink: &Sink, old: Option<i64>) -> Result<Vec<f64>, NoValue> {
        let Some((first, _)) = self.extractors.first() else { return Ok(vec![]) };
        let printed = match self.file(command) {
            None => Ok(sink.take_printed().unwrap_or_default()),
            Some(path) => written(&path, old).map_err(|error| format!("'{}': {error}", path.display())),
        };
        let printed = printed.map_err(|reason| NoValue { metric: first.clone(), reason, printed: String::new() })?;
        let value = |(metric, extractor): &(String, Extractor)| {
            let found = extractor.value(&printed);
            found.map_err(|reason| NoValue { metric: metric.clone(), reason, printed: excerpt(&printed) })
        };
        self.extractors.iter().map(value).collect()
    }
}

/// The time of change of a file that was written before the run. The resolution of these times may be as coarse as a
/// tick of 10 ms, so the time of the run itself does not tell.
const OLD: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
const UNCHANGED: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };

/// Returns the last [`OUTPUT_MAX`] bytes of a file that the run wrote. A file from before the run had the time of change
/// `old`.
fn written(path: &Path, old: Option<i64>) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if Some(metadata.mtime()) == old {
        return Err(io::Error::other("the run did not write it"));
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(OUTPUT_MAX as u64)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
