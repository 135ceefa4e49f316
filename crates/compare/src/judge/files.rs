//! `steady judge`: the verdicts of saved samples, again; those of several runs as one.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use clap::{ArgMatches, FromArgMatches};
use rustix::fs::FileType;
use steady_feature::flags::FormatFlag;
use steady_feature::{Failure, Record as _, Session, Status};
use steady_model::Record;

use super::{join, judge, status};
use crate::flags::JudgeFlags;
use crate::report::{Compared, Together};

/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";
/// The largest export that is read, in bytes: some 500,000 runs. Reading one takes several times its size in memory.
const LARGEST: u64 = 256 << 20;

/// Judges one file or joins several, and reports it; the exit status.
pub(crate) fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = JudgeFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    let has_several = flags.files.len() > 1;
    if has_several {
        named_once(&flags)?;
        can_be_joined(&flags)?;
    }
    let mut records = flags.files.iter().map(|file| record(&flags, file)).collect::<Result<Vec<_>, _>>()?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    if !has_several && let Some((_, record)) = records.pop() {
        let compared = Compared(judge(record));
        session.write(&compared)?;
        return Ok(compared.status());
    }
    let joined = join(records).map_err(|error| Failure::Usage(error.to_string()))?;
    session.write(&Together(&joined))?;
    Ok(joined.plan().map_or(0, |plan| status(plan, &joined.judgements)))
}

/// Refuses forms that hold runs: comparisons that are joined have none of their own, and their samples stay in the files that
/// they came from.
fn can_be_joined(flags: &JudgeFlags) -> Result<(), Failure> {
    let options = [
        ("--samples", flags.samples),
        ("--export-csv", flags.output.files.export_csv.is_some()),
        ("--format csv", flags.output.format == FormatFlag::Csv),
    ];
    match options.iter().find(|option| option.1) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} is for one comparison; several that are joined have no runs and no samples of their own"
        ))),
        None => Ok(()),
    }
}

/// Refuses a file that is named twice: evidence must not be counted twice.
fn named_once(flags: &JudgeFlags) -> Result<(), Failure> {
    let place = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
    for (index, file) in flags.files.iter().enumerate() {
        if let Some(other) = flags.files[..index].iter().find(|other| place(other) == place(file)) {
            let (one, two) = (other.display(), file.display());
            return Err(Failure::Usage(format!(
                "'{one}' and '{two}' are one file; evidence must not be counted twice"
            )));
        }
    }
    Ok(())
}

/// What one file holds, judged under the conditions that were given here, if any were.
fn record(flags: &JudgeFlags, file: &Path) -> Result<(String, Record), Failure> {
    let name = file.display().to_string();
    let usage = |why: String| Failure::Usage(format!("'{name}': {why}"));
    let text = read(file).map_err(|error| usage(error.to_string()))?;
    let mut record = crate::json::read_record(&text).map_err(|error| usage(error.to_string()))?;
    if record.plan.commands.len() < 2 && (flags.fail_if.is_some() || flags.require_verdict) {
        return Err(usage("--fail-if and --require-verdict need two commands to judge".to_owned()));
    }
    record.plan.fail_if = flags.fail_if.or(record.plan.fail_if);
    record.plan.require_verdict |= flags.require_verdict;
    Ok((name, record))
}

/// The text of an ordinary file, a pipe or a terminal, up to [`LARGEST`] bytes.
fn read(path: &Path) -> io::Result<String> {
    if path == Path::new(STANDARD_INPUT) {
        let stdin = io::stdin();
        return bounded(stdin.lock(), rustix::fs::fstat(&stdin)?.st_mode, stdin.is_terminal());
    }
    let file = File::open(path)?;
    let mode = rustix::fs::fstat(&file)?.st_mode;
    let terminal = file.is_terminal();
    bounded(file, mode, terminal)
}

fn bounded(input: impl Read, mode: u32, terminal: bool) -> io::Result<String> {
    let kind = FileType::from_raw_mode(mode);
    match kind {
        FileType::RegularFile | FileType::Fifo | FileType::Socket => {}
        FileType::CharacterDevice if terminal => {}
        FileType::Directory => return Err(io::Error::other("it is a directory")),
        _ => return Err(io::Error::other("it is a device; exports are read from files and pipes")),
    }
    let mut text = String::new();
    input.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        let most = LARGEST >> 20;
        return Err(io::Error::other(format!("larger than {most} MiB, the largest export that is read")));
    }
    Ok(text)
}
