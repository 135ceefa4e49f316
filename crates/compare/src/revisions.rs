//! `--rev`: checks out and builds revisions of a git repository, and lets the commands run in them.

mod opens;
mod overlay;
mod paths;
mod repository;
mod spec;
mod submodules;
mod trees;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use steady_feature::{Failure, Interrupt, Session, typed};
use steady_model::{Command, Plan, Seed};
use steady_process::Scripts;

use crate::again::{FULL, is_full};
use crate::flags::CompareFlags;
use crate::workspace::Workspace;
use trees::Builder;

pub use opens::Opens;
pub use paths::quoted;
pub use repository::{LineCommit, Repository, Revision};
pub use spec::WORK;
pub(crate) use spec::specs;
pub use trees::NotBuilt;

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
    let (repository, revisions) = resolved(&flags.variants.rev, session)?;
    let mut trees = Trees::open(repository, flags.variants.build.clone(), flags.run.shows_output(), readable, session)?;
    match build_all(flags, plan, &revisions, &mut trees, session) {
        Ok(()) => Ok(Some(trees)),
        Err(failure) => {
            trees.remove(session);
            Err(match failure {
                Failure::Interrupted(_) => Failure::Interrupted(interrupt.signal()),
                failure => failure,
            })
        }
    }
}

/// Resolves the values of `--rev`, with notices about revisions that the user may not have meant. Returns the repository
/// and two or more revisions, the base first.
///
/// # Errors
/// There is no repository or no such revision, or there are fewer than two.
pub fn resolved(given: &[String], session: &dyn Session) -> Result<(Repository, Vec<Revision>), Failure> {
    let repository = Repository::discover("--rev")?;
    let specs = specs(given)?;
    let revisions = specs.iter().map(|spec| repository.resolve(spec)).collect::<Result<Vec<_>, _>>()?;
    if revisions.iter().all(|revision| !revision.work) && repository.is_dirty(session) {
        session.notice("uncommitted changes are in none of these revisions; --rev HEAD..WORK compares them");
    }
    if let [first, .., last] = revisions.as_slice()
        && revisions.iter().all(|one| !one.changes && one.commit == first.commit)
    {
        let first_commit = revisions.iter().find(|one| !one.work).unwrap_or(first);
        session.notice(&match revisions.iter().any(|one| one.work) {
            true => format!("the working tree has no changes relative to {}", first_commit.label),
            false => format!("{} and {} are the same commit", first.label, last.label),
        });
    }
    Ok((repository, revisions))
}

/// Builds all revisions.
fn build_all(
    flags: &CompareFlags,
    plan: &mut Plan,
    revisions: &[Revision],
    trees: &mut Trees,
    session: &mut dyn Session,
) -> Result<(), Failure> {
    let named = flags.variants.command_name.len() == revisions.len();
    let text = flags.commands.first().map_or("", String::as_str);
    for (done, index) in order(revisions.len(), plan.seed).into_iter().enumerate() {
        let (command, revision) = (&mut plan.commands[index], &revisions[index]);
        let step = format!("{} ({} of {})", trees.step(&revision.label), done + 1, revisions.len());
        session.log_progress(&step);
        trees.show(&step, session);
        trees.add(text, flags.run.shell(), command, revision, session)?;
        if !named {
            command.name = format!("{} ({})", command.name, revision.label);
        }
    }
    Ok(())
}

/// The order of the builds. It depends on the seed, because files written first may be read at another speed than files
/// written last.
fn order(revisions: usize, seed: Seed) -> Vec<usize> {
    let forward = 0..revisions;
    if seed.0.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

/// The environment variable in which a build finds the number of a random memory layout.
pub const LAYOUT: &str = "STEADY_LAYOUT";

/// Source trees of revisions, in a private directory that is removed at the end.
pub struct Trees {
    repository: Repository,
    workspace: Workspace,
    build: Option<String>,
    shown: bool,
    interrupt: OwnedFd,
    /// The number of trees so far.
    added: usize,
    /// The number of the memory layout for the next build.
    layout: Option<u64>,
}

impl Trees {
    /// Creates the directory. `build` is a shell command that builds a tree, whose output is shown if `shown`; `interrupt`
    /// becomes readable to end it.
    ///
    /// # Errors
    /// The directory cannot be created, or programs cannot be run in it.
    pub fn open(
        repository: Repository,
        build: Option<String>,
        shown: bool,
        interrupt: &OwnedFd,
        session: &dyn Session,
    ) -> Result<Self, Failure> {
        let interrupt = interrupt.try_clone().map_err(|error| Failure::Own(error.to_string()))?;
        let workspace = Workspace::open(Some(&repository.common), session)?;
        Ok(Trees { repository, workspace, build, shown, interrupt, added: 0, layout: None })
    }

    /// What is done with the revision `label`: `building v1`, or `checking out v1` if there is nothing to build.
    pub fn step(&self, label: &str) -> String {
        let what = if self.build.is_some() { "building" } else { "checking out" };
        format!("{what} {label}")
    }

    /// Shows a step of building as progress, unless the output of the builds is shown.
    pub fn show(&self, step: &str, session: &mut dyn Session) {
        if !self.shown {
            session.progress(None, step);
            session.lasting_step("build", None);
        }
    }

    /// Checks out and builds a revision, and sets the program, the directory and the revision of `command`, which is
    /// typed as `text`, to those in its tree.
    ///
    /// # Errors
    /// See [`NotBuilt`]. The tree is removed then.
    pub fn add(
        &mut self,
        text: &str,
        shell: Option<&str>,
        command: &mut Command,
        revision: &Revision,
        session: &dyn Session,
    ) -> Result<(), NotBuilt> {
        let environment = command.clone();
        self.place(&environment, revision, session, |trees, directory| {
            let found = session.typed_command(text, shell, &directory).map_err(|failure| {
                let words = typed::words(text, shell).unwrap_or_default();
                let is_there = words.first().is_some_and(|program| directory.join(program).exists());
                let remedy = match trees.build.is_none() && !is_there {
                    true => "; --build COMMAND builds a revision",
                    false => "",
                };
                NotBuilt::Revision(format!("in {}: {failure}{remedy}", revision.label))
            })?;
            trees.check_program(&found.program)?;
            (command.program, command.interpreter) = (found.program, found.interpreter);
            command.directory = Some(directory);
            command.revision = Some(revision.recorded());
            Ok(())
        })
    }

    /// Checks out and builds a revision. Returns its directory that is the current one here.
    ///
    /// # Errors
    /// See [`NotBuilt`]. The tree is removed then.
    pub fn tree(&mut self, revision: &Revision, session: &dyn Session) -> Result<PathBuf, NotBuilt> {
        let mut placed = PathBuf::new();
        self.place(&Command::default(), revision, session, |_, directory| {
            placed = directory;
            Ok(())
        })?;
        Ok(placed)
    }

    /// Where a file of the last tree is that its build named `path`: trees are moved after the build. A relative path is
    /// one in the directory that is the current one here.
    pub fn moved(&self, path: &Path) -> PathBuf {
        let tree = self.workspace.path().join(name_of(self.added.saturating_sub(1)));
        match path.strip_prefix(self.workspace.path().join(trees::BUILD)) {
            Ok(rest) => tree.join(rest),
            Err(_) => tree.join(&self.repository.prefix).join(path),
        }
    }

    /// The working tree of the repository, or the repository itself if it is bare.
    pub fn origin(&self) -> &Path {
        &self.repository.root
    }

    /// The private directory of the trees, for other files of the experiment.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Checks out and builds a revision with the environment of `command`, and calls `finish` with its directory. If
    /// that fails, the tree is removed.
    fn place(
        &mut self,
        command: &Command,
        revision: &Revision,
        session: &dyn Session,
        finish: impl FnOnce(&Self, PathBuf) -> Result<(), NotBuilt>,
    ) -> Result<(), NotBuilt> {
        /// The names of trees have two digits, so that all are equally long.
        const TREES_MAX: usize = 100;
        if self.added == TREES_MAX {
            return Err(NotBuilt::Other(Failure::Own("there are already 100 trees".to_owned())));
        }
        let name = name_of(self.added);
        let placed = self.directory(&name, command, revision, session).and_then(|directory| finish(self, directory));
        match placed {
            Ok(()) => self.added += 1,
            Err(_) => [name.as_str(), trees::BUILD].iter().for_each(|tree| {
                // What remains is removed with the workspace.
                let _ = self.workspace.discard(tree.as_ref());
            }),
        }
        placed
    }

    /// Builds a revision. Returns the directory in which its command runs.
    fn directory(
        &self,
        name: &str,
        command: &Command,
        revision: &Revision,
        session: &dyn Session,
    ) -> Result<PathBuf, NotBuilt> {
        self.builder(command, revision)?.tree(name, revision, session)
    }

    /// Sets the number of a memory layout, which later builds find in the variable [`LAYOUT`].
    pub fn set_layout(&mut self, number: u64) {
        self.layout = Some(number);
    }

    /// Builds the tree of a revision again, where it was built. It is the `index`-th tree, from 0.
    ///
    /// # Errors
    /// See [`NotBuilt`].
    pub fn rebuild(&self, index: usize, revision: &Revision) -> Result<(), NotBuilt> {
        self.builder(&Command::default(), revision)?.rebuild(&name_of(index), revision)
    }

    fn builder(&self, command: &Command, revision: &Revision) -> Result<Builder<'_>, Failure> {
        let own = |error: io::Error| Failure::Own(error.to_string());
        let commands = vec![self.with_environment(command, revision)];
        let interrupt = self.interrupt.try_clone().map_err(own)?;
        Ok(Builder {
            repository: &self.repository,
            workspace: &self.workspace,
            scripts: Scripts::start(commands, self.shown, interrupt)?,
            build: self.build.as_deref(),
            shown: self.shown,
        })
    }

    /// The command with the environment of its build: `STEADY_REVISION` and [`LAYOUT`].
    fn with_environment(&self, command: &Command, revision: &Revision) -> Command {
        let commit = format!("{}{}", revision.commit, if revision.changes { "+changes" } else { "" });
        let layout = self.layout.map(|number| (LAYOUT.to_owned(), number.to_string()));
        let environment = std::iter::once(("STEADY_REVISION".to_owned(), commit)).chain(layout);
        Command { environment: environment.collect(), ..command.clone() }
    }

    /// Refuses a program of the working tree, which is the same file for all revisions.
    ///
    /// # Errors
    /// It is such a program.
    pub fn check_program(&self, program: &Path) -> Result<(), NotBuilt> {
        if program.starts_with(&self.repository.root) && !program.starts_with(self.workspace.path()) {
            return Err(NotBuilt::Other(Failure::Usage(format!(
                "'{}' is the same file for all revisions: use a path relative to the current directory, as in './{}'",
                program.display(),
                program.file_name().unwrap_or_default().display()
            ))));
        }
        Ok(())
    }

    /// Begins to watch whether files of the trees are opened. Returns `None` if that is not possible.
    pub fn watch(&self) -> Option<Opens> {
        let trees = (0..self.added).map(|index| self.workspace.path().join(name_of(index)));
        Opens::watch(&trees.collect::<Vec<_>>())
    }

    /// Removes the trees. If that fails, a notice says why.
    pub fn remove(self, session: &dyn Session) {
        self.workspace.remove(session);
    }

    /// Whether a failure may be due to the full disk of the trees, and not to a revision.
    pub fn disk_is_full(&self, failure: &Failure) -> bool {
        // A tree that could not be built has been removed since; the failure says how it was before.
        let text = failure.to_string();
        is_full(self.workspace.path()) || text.contains(FULL) || text.contains("No space left on device")
    }

    /// Adds an explanation to the failure of a run, if a file of its tree contains the path where it was built.
    pub fn explain(&self, plan: &Plan, failure: Failure) -> Failure {
        let Failure::Measured(text) = failure else { return failure };
        let trees = plan.commands.iter().filter_map(|command| command.directory.as_deref());
        let roots =
            trees.filter_map(|tree| tree.ancestors().find(|above| above.parent() == Some(self.workspace.path())));
        let found =
            roots.filter_map(|root| paths::file_that_names(&self.workspace.path().join(trees::BUILD), root)).next();
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

/// The name of the directory of the `index`-th tree.
fn name_of(index: usize) -> String {
    format!("rev{index:02}")
}
