//! `--rev`: revisions of a git repository, built now, on this machine, and compared with each other.

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

/// The trees of the revisions that are compared.
pub(crate) struct Trees {
    workspace: Workspace,
    built_at: PathBuf,
}

/// Builds the revisions that the flags name, and lets the commands of the plan run in them. Nothing where they name
/// none.
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
        session.notice(
            "uncommitted changes are in none of these revisions; --rev WORK stands for the working tree as it is",
        );
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

/// Builds all of them in a workspace; the place where each of them was built.
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
        settle(command, revision, &directory, flags, session)?;
        if command.program.starts_with(&repository.root) && !command.program.starts_with(workspace.path()) {
            return Err(Failure::Usage(format!(
                "'{}' is the same file for all revisions: name it from where you are, as in './{}'",
                command.program.display(),
                command.program.file_name().unwrap_or_default().display()
            )));
        }
    }
    Ok(builder.path())
}

/// The order in which they are built: a coin decides, for what was written first may be read otherwise than what was
/// written last.
fn order(revisions: usize, seed: Seed) -> Vec<usize> {
    let forward = 0..revisions;
    if seed.0.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

/// What the builds are told: which revision it is.
fn builders(commands: &[Command], revisions: &[Revision]) -> Vec<Command> {
    let told = |(command, revision): (&Command, &Revision)| {
        let value = format!("{}{}", revision.commit, if revision.changes { "+changes" } else { "" });
        Command { environment: vec![("STEADY_REVISION".to_owned(), value)], ..command.clone() }
    };
    commands.iter().zip(revisions).map(told).collect()
}

/// Lets a command run in its tree.
fn settle(
    command: &mut Command,
    revision: &Revision,
    directory: &Path,
    flags: &CompareFlags,
    session: &dyn Session,
) -> Result<(), Failure> {
    let text = flags.commands.first().map_or("", String::as_str);
    let found = session.typed_command(text, flags.shell.as_deref(), directory).map_err(|failure| {
        let remedy = if flags.variants.build.is_none() { "; --build says how to build it" } else { "" };
        Failure::Usage(format!("in {}: {failure}{remedy}", revision.label))
    })?;
    command.program = found.program;
    command.directory = Some(directory.to_owned());
    Ok(())
}

impl Trees {
    /// Removes them; a line says why if that fails.
    pub(crate) fn remove(self, session: &dyn Session) {
        self.workspace.remove(session);
    }

    /// What to say of a failed run, if its tree refers to the place where it was built.
    pub(crate) fn explain(&self, plan: &Plan, failure: Failure) -> Failure {
        let Failure::Measured(text) = failure else { return failure };
        let trees = plan.commands.iter().filter_map(|command| command.directory.as_deref());
        let roots =
            trees.filter_map(|tree| tree.ancestors().find(|above| above.parent() == Some(self.workspace.path())));
        let found = roots.filter_map(|root| paths::file_that_names(&self.built_at, root)).next();
        Failure::Measured(match found {
            None => text,
            Some(file) => format!(
                "{text}\n'{}' names the directory that it was built in, which is gone when the command runs: let the \
                 program find it from where it is itself",
                file.display()
            ),
        })
    }
}
