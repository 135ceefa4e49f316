//! Runs a command that failed once more, to show what it printed. Measured runs write to `/dev/null`, because the cost
//! of writing elsewhere would be part of the result.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::statvfs;
use steady_feature::Session;
use steady_model::{Hook, Nanos, Outcome, Output, Plan};
use steady_process::Scripts;
use steady_process::runner::{RunError, how};

use crate::workspace::Workspace;

/// The part of an output that is shown.
const LAST_LINES: usize = 20;
const LAST_BYTES: u64 = 64 * 1024;
/// The time limit of the additional run.
const LIMIT: Nanos = Nanos(10_000_000_000);

/// Runs a command that failed once more, and returns the result as clauses for the end of an error; empty if the output
/// was shown already, or if the command cannot be run alone.
pub(crate) fn explain(
    plan: &Plan,
    command: usize,
    outcome: &Outcome,
    interrupt: OwnedFd,
    session: &mut dyn Session,
) -> String {
    let is_hidden = plan.output.of(command).is_none_or(|output| *output == Output::Null);
    // The cleanup script has already run. What it removed would fail the command in another way.
    let around = [Hook::Prepare, Hook::Conclude, Hook::Cleanup];
    let stands_alone = around.iter().all(|hook| plan.script(*hook, command).is_none());
    if !is_hidden || !stands_alone || *outcome == Outcome::TimedOut {
        return String::new();
    }
    // The failure itself is reported in any case.
    let Ok(workspace) = Workspace::open(None, session) else { return String::new() };
    let text = printed(plan, command, outcome, workspace.path(), interrupt);
    workspace.remove(session);
    text
}

/// Runs a command that failed once more, with its output in a file in the directory `place`. Returns the result as
/// clauses for the end of an error.
pub fn printed(plan: &Plan, command: usize, outcome: &Outcome, place: &Path, interrupt: OwnedFd) -> String {
    let log = place.join("log");
    // Before a signal, the message is on standard error. The end of standard output is that of a buffer.
    let (streams, nothing) = match outcome {
        Outcome::Signalled(_) => ("2>&1 >/dev/null", "; it printed nothing on standard error"),
        Outcome::Exited(_) | Outcome::TimedOut => ("2>&1", "; it printed nothing"),
    };
    match run(plan, command, &log, streams, interrupt) {
        Some(again) if again == *outcome => match last_lines(&log) {
            none if none.is_empty() => nothing.to_owned(),
            lines => lines,
        },
        Some(Outcome::Exited(0)) => "; run once more, it succeeded".to_owned(),
        Some(Outcome::TimedOut) => {
            format!("; run once more, it did not end within {} s{}", LIMIT.seconds(), last_lines(&log))
        }
        Some(again) => format!("; run once more, it {}{}", how(&again), last_lines(&log)),
        None => String::new(),
    }
}

/// Runs the command with its output to `log`, and then with the redirections `streams`. Returns `None` if that is not
/// possible.
fn run(plan: &Plan, command: usize, log: &Path, streams: &str, interrupt: OwnedFd) -> Option<Outcome> {
    let quoted = |path: &Path| Some(shell_words::quote(path.to_str()?).into_owned());
    let input = match &plan.input {
        Some(path) => format!(" <{}", quoted(path)?),
        None => String::new(),
    };
    let command_line = shell_words::join(&plan.commands.get(command)?.argv);
    let script = format!("exec >{} {streams}{input}\nexec {command_line}", quoted(log)?);
    let mut scripts = Scripts::start(plan.commands.clone(), false, interrupt).ok()?;
    match scripts.run_within(LIMIT, command, script) {
        Ok(()) => Some(Outcome::Exited(0)),
        Err(RunError::ScriptFailed { outcome, .. }) => Some(outcome),
        Err(_) => None,
    }
}

/// Returns whether a line of output names an error or a panic, as those of compilers, Go, Rust, pytest and Google
/// Benchmark do.
pub fn is_error(line: &str) -> bool {
    let line = line.trim_start();
    let begins = |word: &str| line.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    ["error", "panic:", "fatal error:", "E   ", "\"error_message\""].into_iter().any(begins)
        || line.contains(" panicked at ")
}

/// How the clause of [`last_lines`] about a full disk begins.
pub(crate) const FULL: &str = "; the disk of ";

/// The last lines of a log as a clause of an error, or an empty text. The first line with an error comes before them,
/// if it is not one of them: the stack of a panic may have many lines.
pub fn last_lines(log: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // Without a log, nothing is known about the output.
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.trim_start_matches('\n').lines().collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let error = before.iter().find(|line| is_error(line)).map(|line| format!("{line}\n  ...\n  ")).unwrap_or_default();
    let folder = log.parent().unwrap_or(log);
    let full = if is_full(folder) { format!("{FULL}'{}' is full", folder.display()) } else { String::new() };
    format!("{full}{}", listed(&format!("{error}{}", last.join("\n  "))))
}

/// Returns whether the disk of a directory is full. The program that failed may have removed some of its files since.
pub(crate) fn is_full(folder: &Path) -> bool {
    const LEAST_BYTES: u64 = 1 << 20;
    statvfs(folder).is_ok_and(|facts| facts.f_bavail.saturating_mul(facts.f_frsize) < LEAST_BYTES)
}

/// These lines of an output as a clause of an error, or an empty text.
pub(crate) fn listed(lines: &str) -> String {
    if lines.is_empty() { String::new() } else { format!("; the last lines of its output:\n  {lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_panic_comes_before_the_last_lines() {
        let log = std::env::temp_dir().join(format!("steady-again-{}", std::process::id()));
        let shown = |first: &str, number: usize| {
            let trace: String = (0..number).map(|line| format!("\nframe {line}")).collect();
            std::fs::write(&log, format!("begin\n{first}{trace}")).unwrap();
            last_lines(&log)
        };
        let long = shown("panic: index out of range", 100);
        assert!(long.contains(":\n  panic: index out of range\n  ...\n  frame 80\n"), "{long}");
        let short = shown("thread 'main' (1) panicked at src/main.rs:1:1:", 3);
        assert!(
            short.ends_with(
                ":\n  begin\n  thread 'main' (1) panicked at src/main.rs:1:1:\n  frame 0\n  frame 1\n  frame 2"
            ),
            "{short}"
        );
        assert!(!shown("a warning", 100).contains("..."));
        std::fs::remove_file(&log).unwrap();
    }
}
