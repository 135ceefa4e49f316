//! Runs `steady judge`: computes the verdicts of saved samples again, and joins the samples of several runs.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, FromArgMatches};
use serde::Deserialize;
use serde::de::IgnoredAny;
use steady_feature::{Failure, Session, Status, input};
use steady_model::Record;
use steady_render::json::{self, ReadError};

use super::{join, judge, status, untested};
use crate::flags::JudgeFlags;
use crate::report::{Compared, JoinedReport, KIND};

/// Why `--export-svg` is refused.
const NO_DRAWING: &str = "--export-svg is for load experiments and `steady signature bench`; --export-html writes a page \
                          with the charts of any report";

/// Why `--fail-if` and `--require-verdict` are refused. Records of other features have the conditions of their run.
const NO_CONDITION: &str = "--fail-if and --require-verdict are for comparisons; those of a suite are given to \
                            `steady bench`, and its record keeps them";

/// Evaluates one file or joins several, and reports the result. Returns the exit status.
pub(crate) fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = JudgeFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    if let [file] = &flags.files[..] {
        return one(&flags, file, session);
    }
    named_once(&flags)?;
    let texts = flags.files.iter().map(|file| Ok(text(file)?.1)).collect::<Result<Vec<_>, Failure>>()?;
    if let Some(joined) = session.joined(&texts) {
        if flags.fail_if.is_some() || flags.require_verdict {
            return Err(Failure::Usage(NO_CONDITION.to_owned()));
        }
        let record = joined.map_err(Failure::Usage)?;
        return written(&flags, &*record, session);
    }
    of_one_kind(&flags.files, &texts)?;
    can_be_joined(&flags)?;
    let names = flags.files.iter().map(|file| file.display().to_string());
    let read = names.zip(&texts).map(|(name, text)| comparison(&flags, name, text));
    let records = read.collect::<Result<Vec<_>, _>>()?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    let joined = join(records).map_err(|error| Failure::Usage(error.to_string()))?;
    session.write(&JoinedReport(&joined))?;
    let is_tested = joined.sources.iter().all(|source| untested(&source.report.record).is_none());
    Ok(joined.plan().map_or(0, |plan| status(plan, &joined.judgements, is_tested)))
}

/// Evaluates one file: a comparison, or a record of another kind. Returns the exit status.
fn one(flags: &JudgeFlags, file: &Path, session: &mut dyn Session) -> Result<u8, Failure> {
    let (name, text) = text(file)?;
    let is_other = json::kind(&text).is_some_and(|kind| kind != KIND.name());
    let other = if is_other { session.record(&text) } else { None };
    let record: Box<dyn steady_feature::Record> = match other {
        Some(_) if flags.fail_if.is_some() || flags.require_verdict => return Err(usage(&name, NO_CONDITION)),
        Some(read) => {
            let record = read.map_err(|error| unreadable(&name, &text, &error))?;
            // A part of a suite is not a result of its own.
            match session.joined(std::slice::from_ref(&text)) {
                Some(joined) => joined.map_err(|why| usage(&name, why))?,
                None => record,
            }
        }
        None => {
            let (_, record) = comparison(flags, name, &text)?;
            Box::new(Compared(judge(record)))
        }
    };
    written(flags, &*record, session)
}

/// Reports a record. Returns its exit status.
fn written(flags: &JudgeFlags, record: &dyn steady_feature::Record, session: &mut dyn Session) -> Result<u8, Failure> {
    if flags.export_svg.is_some() && record.drawing().is_none() {
        return Err(Failure::Usage(NO_DRAWING.to_owned()));
    }
    session.open(&flags.output, flags.samples, Status::Own)?;
    session.open_drawing(flags.export_svg.as_deref())?;
    session.write(record)?;
    Ok(record.status())
}

/// Refuses options that joined comparisons do not have: they have no runs of their own, and no drawing.
fn can_be_joined(flags: &JudgeFlags) -> Result<(), Failure> {
    if flags.export_svg.is_some() {
        return Err(Failure::Usage(NO_DRAWING.to_owned()));
    }
    match flags.samples {
        true => Err(Failure::Usage("--samples is for one comparison; those of a join are in its files".to_owned())),
        false => Ok(()),
    }
}

/// Refuses files of different kinds. Files of an unknown kind have an error of their own.
fn of_one_kind(files: &[PathBuf], texts: &[String]) -> Result<(), Failure> {
    let mut kinds = files.iter().zip(texts).filter_map(|(file, text)| Some((file.display(), json::kind(text)?)));
    let Some((first, kind)) = kinds.next() else { return Ok(()) };
    match kinds.find(|other| other.1 != kind) {
        Some((other, other_kind)) => Err(Failure::Usage(format!(
            "'{first}' is an export of steady {kind} and '{other}' one of steady {other_kind}: only exports of one \
             kind can be joined"
        ))),
        None => Ok(()),
    }
}

/// Refuses a file that is given twice, because its pairs would count twice.
fn named_once(flags: &JudgeFlags) -> Result<(), Failure> {
    let place = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
    for (index, file) in flags.files.iter().enumerate() {
        if let Some(other) = flags.files[..index].iter().find(|other| place(other) == place(file)) {
            let (one, two) = (other.display(), file.display());
            return Err(Failure::Usage(format!(
                "'{one}' and '{two}' are one file, whose pairs must not count twice: give it once"
            )));
        }
    }
    Ok(())
}

/// Reads a file. Returns its name and its text.
fn text(file: &Path) -> Result<(String, String), Failure> {
    let name = file.display().to_string();
    let text = input::text(file).map_err(|error| usage(&name, error))?;
    Ok((name, text))
}

fn usage(name: &str, why: impl Display) -> Failure {
    Failure::Usage(format!("'{name}': {why}"))
}

/// Returns the failure for a file that cannot be evaluated. If `steady load` can report on it as a table, the failure
/// says how.
fn unreadable(name: &str, text: &str, error: &ReadError) -> Failure {
    let command = || format!("`steady load --table {}`", shell_words::quote(name));
    match (json::kind(text).as_deref(), error) {
        (Some("load-table"), _) => usage(name, format!("a table has no samples; report on it with {}", command())),
        (Some("load"), ReadError::WithoutSamples) => {
            usage(name, format!("{error}; or report on its rows with {}", command()))
        }
        (None, _) if is_of_hyperfine(text) => usage(
            name,
            "it looks like an export of hyperfine, whose runs are not in pairs: measure the commands again with \
             `steady compare --samples --export-json FILE`",
        ),
        _ => usage(name, error),
    }
}

/// The part of an export of hyperfine that tells it from other JSON. Other fields are skipped without memory for them,
/// because the text may be large.
#[derive(Deserialize)]
struct HyperfineExport {
    results: Vec<HyperfineResult>,
}

#[derive(Deserialize)]
struct HyperfineResult {
    #[serde(rename = "command")]
    _command: IgnoredAny,
    #[serde(rename = "mean")]
    _mean: f64,
}

fn is_of_hyperfine(text: &str) -> bool {
    serde_json::from_str::<HyperfineExport>(text).is_ok_and(|export| !export.results.is_empty())
}

/// Reads a comparison. The options `--fail-if` and `--require-verdict` replace those in the file.
fn comparison(flags: &JudgeFlags, name: String, text: &str) -> Result<(String, Record), Failure> {
    let mut record = crate::json::read_record(text).map_err(|error| unreadable(&name, text, &error))?;
    if record.plan.commands.len() < 2 && (flags.fail_if.is_some() || flags.require_verdict) {
        return Err(usage(&name, "--fail-if and --require-verdict need two commands"));
    }
    record.plan.fail_if = flags.fail_if.or(record.plan.fail_if);
    record.plan.require_verdict |= flags.require_verdict;
    Ok((name, record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_of_hyperfine_is_named() {
        let text = r#"{"results": [{"command": "sleep 0.1", "mean": 0.1, "stddev": 0.001, "times": [0.1, 0.1]}]}"#;
        let error = crate::json::read_record(text).unwrap_err();
        let message = unreadable("h.json", text, &error).to_string();
        assert!(message.contains("export of hyperfine"), "{message}");
        let other = unreadable("h.json", r#"{"results": []}"#, &error).to_string();
        assert!(!other.contains("hyperfine"), "{other}");
    }
}
