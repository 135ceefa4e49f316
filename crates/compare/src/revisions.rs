//! `--rev`: checks out and builds revisions of a git repository, and lets the commands run in them.

mod overlay;
mod paths;
mod repository;
mod spec;
mod submodules;
mod trees;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Interrupt, Session};
use steady_model::{Command, Plan, Seed};
use steady_process::Scripts;

use crate::flags::CompareFlags;
use crate::workspace::Workspace;
use repository::{Repository, Revision};
use trees::Builder;

pub(crate) use spec::specs;

/// The source trees of the revisions that are compared.
pub(crate) struct Trees {
    workspace: Workspace,
    built_at: PathBuf,
}

/// Builds the revisions of the flags, and lets the commands of the plan run in them. Returns `None` if there are none.
pub(crate) fn build(
    flags: &CompareFlags,
    plan: &mut Plan,
    interrupt: &Interrupt,
    readable: &OwnedFd,
    session: &mut dyn Session,
) -> Result<Option<Trees>, Failure> {
    if flags.variants.rev.is_empty() {
        return Ok(None);
    }
    let repository = Repository::discover()?;
    let specs = specs(&flags.variants.rev)?;
    let revisions = specs.iter().map(|spec| repository.resolve(spec)).collect::<Result<Vec<_>, _>>()?;
    if revisions.iter().all(|revision| !revision.work) && repository.is_dirty(session) {
        session
            .notice("uncommitted changes are in none of these revisions; use --rev WORK for the working tree as it is");
    }
    if let [first, .., last] = revisions.as_slice()
        && revisions.iter().all(|one| !one.work && one.commit == first.commit)
    {
        session.notice(&format!("{} and {} are the same commit", first.label, last.label));
    }
    let interrupted = |failure| match failure {
        Failure::Interrupted(_) => Failure::Interrupted(interrupt.signal()),
        failure => failure,
    };
    let workspace = Workspace::open(Some(&repository.common), session)?;
    match build_all(flags, plan, &repository, &revisions, &workspace, readable, session) {
        Ok(built_at) => Ok(Some(Trees { workspace, built_at })),
        Err(failure) => {
            workspace.remove(session);
            Err(interrupted(failure))
        }
    }
}

/// Builds all revisions in a workspace. Returns the path where each of them was built.
fn build_all(
    flags: &CompareFlags,
    plan: &mut Plan,
    repository: &Repository,
    revisions: &[Revision],
    workspace: &Workspace,
    readable: &OwnedFd,
    session: &mut dyn Session,
) -> Result<PathBuf, Failure> {
    let shown = flags.around.show_output;
    let interrupt = readable.try_clone().map_err(|error| Failure::Own(error.to_string()))?;
    let scripts = Scripts::start(builders(&plan.commands, revisions), shown, interrupt)
        .map_err(|error| Failure::Own(error.to_string()))?;
    let build = flags.variants.build.as_deref();
    let mut builder = Builder { repository, workspace, scripts, build, shown };
    let named = flags.variants.command_name.len() == revisions.len();
    for (done, index) in order(revisions.len(), plan.seed).into_iter().enumerate() {
        let (command, revision) = (&mut plan.commands[index], &revisions[index]);
        if !shown {
            session.progress(None, &format!("building {} ({} of {})", revision.label, done + 1, revisions.len()));
            session.lasting_step("build", None);
        }
        let directory = builder.tree(index, revision, session)?;
        command.revision = Some(revision.recorded());
        if !named {
            command.name = format!("{} ({})", command.name, revision.label);
        }
        place_in_tree(command, revision, &directory, flags, session)?;
        if command.program.starts_with(&repository.root) && !command.program.starts_with(workspace.path()) {
            return Err(Failure::Usage(format!(
                "'{}' is the same file for all revisions: use a path relative to the current directory, as in './{}'",
                command.program.display(),
                command.program.file_name().unwrap_or_default().display()
            )));
        }
    }
    Ok(builder.path())
}

/// The order of the builds. It depends on the seed, because files written first may be read at another speed than files
/// written last.
fn order(revisions: usize, seed: Seed) -> Vec<usize> {
    let forward = 0..revisions;
    if seed.0.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

/// The commands with the environment of their builds: `STEADY_REVISION`.
fn builders(commands: &[Command], revisions: &[Revision]) -> Vec<Command> {
    let with_revision = |(command, revision): (&Command, &Revision)| {
        let value = format!("{}{}", revision.commit, if revision.changes { "+changes" } else { "" });
        Command { environment: vec![("STEADY_REVISION".to_owned(), value)], ..command.clone() }
    };
    commands.iter().zip(revisions).map(with_revision).collect()
}

/// Sets the program and the directory of a command to those in its tree.
fn place_in_tree(
    command: &mut Command,
    revision: &Revision,
    directory: &Path,
    flags: &CompareFlags,
    session: &dyn Session,
) -> Result<(), Failure> {
    let text = flags.commands.first().map_or("", String::as_str);
    let found = session
        .typed_command(text, flags.shell.as_deref().filter(|shell| *shell != "none"), directory)
        .map_err(|failure| {
            let remedy = if flags.variants.build.is_none() { "; --build COMMAND builds a revision" } else { "" };
            Failure::Usage(format!("in {}: {failure}{remedy}", revision.label))
        })?;
    command.program = found.program;
    command.directory = Some(directory.to_owned());
    Ok(())
}

impl Trees {
    /// Removes the trees. If that fails, a notice says why.
    pub(crate) fn remove(self, session: &dyn Session) {
        self.workspace.remove(session);
    }

    /// Adds an explanation to the failure of a run, if a file of its tree contains the path where it was built.
    pub(crate) fn explain(&self, plan: &Plan, failure: Failure) -> Failure {
        let Failure::Measured(text) = failure else { return failure };
        let trees = plan.commands.iter().filter_map(|command| command.directory.as_deref());
        let roots =
            trees.filter_map(|tree| tree.ancestors().find(|above| above.parent() == Some(self.workspace.path())));
        let found = roots.filter_map(|root| paths::file_that_names(&self.built_at, root)).next();
        Failure::Measured(match found {
            None => text,
            Some(file) => format!(
                "{text}\n'{}' names the directory that it was built in, which no longer exists when the command runs: \
                 use a path relative to the program",
                file.display()
            ),
        })
    }
}
