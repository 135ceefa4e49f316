//! The two builds of a suite, with the benchmarks that both have.

mod opening;
mod programs;

use std::path::{Path, PathBuf};

use steady_compare::Workspace;
use steady_compare::revisions::{LAYOUT, Revision, Trees};
use steady_feature::{Failure, Session};
use steady_model::{Command, Seed};

use crate::adapter::{Adapter, Amount, Values};
use crate::record::{Build, Side, Unmeasured};
use programs::{Program, contents, not_copied};

pub(crate) use opening::open;

/// One of the two builds of a suite.
#[derive(Clone, Debug)]
pub(crate) struct BuiltSuite {
    pub(crate) build: Build,
    /// The directory of the suite, in which it was found and built.
    directory: PathBuf,
    /// The working tree of the repository, if the build is one of its revisions.
    origin: Option<PathBuf>,
    programs: Vec<Program>,
    environment: Vec<(String, String)>,
}

/// A benchmark that both builds have.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The name in reports.
    pub(crate) name: String,
    /// The name in the harness.
    pub(crate) own_name: String,
    /// The index of its program in each build.
    pub(crate) programs: [usize; 2],
}

/// A suite that can be measured.
pub(crate) struct Suite {
    pub(crate) adapter: Adapter,
    pub(crate) builds: [BuiltSuite; 2],
    pub(crate) entries: Vec<Entry>,
    pub(crate) unmeasured: Vec<Unmeasured>,
    /// The number of benchmarks that both builds have, before a shard is chosen.
    pub(crate) size: usize,
    args: String,
    place: Place,
    layouts: Layouts,
}

/// The numbers in STEADY_LAYOUT.
struct Layouts {
    seed: Seed,
    /// The number of layouts so far.
    drawn: u64,
}

impl Layouts {
    /// The number of the next layout of a build.
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        steady_compare::layout_number(self.seed, self.drawn)
    }
}

/// The private directory of the experiment, with the trees of revisions if there are any.
enum Place {
    Trees(Trees, Vec<Revision>),
    Workspace(Workspace),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Place::Trees(trees, _) => trees.workspace().path(),
            Place::Workspace(workspace) => workspace.path(),
        }
    }

    fn remove(self, session: &dyn Session) {
        match self {
            Place::Trees(trees, _) => trees.remove(session),
            Place::Workspace(workspace) => workspace.remove(session),
        }
    }
}

impl BuiltSuite {
    /// A command in the directory and the environment of a program.
    fn command(&self, adapter: &Adapter, program: &Program, argv: Vec<String>) -> Command {
        Command {
            name: shell_words::join(&argv),
            argv,
            directory: Some(program.directory.clone()),
            environment: adapter
                .variables(&self.directory, self.origin.as_deref())
                .into_iter()
                .chain(self.environment.clone())
                .collect(),
            revision: self.build.commit.clone(),
            ..Command::default()
        }
    }
}

impl Suite {
    /// The command that runs benchmarks of one program once in a build: 0 is the old one. `file` is for their results, if
    /// the adapter needs one.
    pub(crate) fn command(&self, entries: &[usize], build: usize, amount: Amount, file: &Path) -> Command {
        let built = &self.builds[build];
        let entries: Vec<&Entry> = entries.iter().map(|&at| &self.entries[at]).collect();
        let program = &built.programs[entries.first().map_or(0, |first| first.programs[build])];
        let values = Values {
            program: &program.path.display().to_string(),
            names: &entries.iter().map(|entry| entry.own_name.as_str()).collect::<Vec<_>>(),
            amount,
            file: &file.display().to_string(),
            args: &self.args,
        };
        let argv = self.adapter.running(&values);
        Command { program: program.executable.clone(), ..built.command(&self.adapter, program, argv) }
    }

    /// Links both builds again, each in a random order of its functions.
    ///
    /// # Errors
    /// They cannot be built, or the first such build leaves the programs as they were.
    pub(crate) fn draw(&mut self) -> Result<(), Failure> {
        let Place::Trees(trees, revisions) = &mut self.place else { return Ok(()) };
        let is_first = self.layouts.drawn == revisions.len() as u64;
        for (at, revision) in revisions.iter().enumerate() {
            let programs = &self.builds[at].programs;
            let before = if is_first { contents(programs) } else { vec![] };
            trees.set_layout(self.layouts.next());
            trees.rebuild(at, revision)?;
            if let Some(missing) = programs.iter().find(|program| program.is_file() && !program.path.exists()) {
                let path = missing.path.display();
                return Err(Failure::Usage(format!("--draws: the build did not make '{path}' again")));
            }
            if is_first && before == contents(programs) {
                return Err(Failure::Usage(format!(
                    "--draws: the programs of {} are the same with two values of ${LAYOUT}: its build must link them in \
                     the order that follows from it",
                    revision.label
                )));
            }
        }
        Ok(())
    }

    /// Replaces the files of a benchmark's programs in these builds by copies, in this order.
    ///
    /// The pages of memory that hold a file change how fast its code runs, for as long as they hold it.
    /// With other pages for each pair, that is a random error.
    ///
    /// # Errors
    /// A program cannot be copied.
    pub(crate) fn renew(&self, entry: usize, sides: impl IntoIterator<Item = Side>) -> Result<(), Failure> {
        let workspace = self.workspace();
        for side in sides {
            let build = side as usize;
            let program = &self.builds[build].programs[self.entries[entry].programs[build]];
            program.renew(workspace).map_err(|error| not_copied(program, workspace, &error))?;
        }
        Ok(())
    }

    /// The private directory of the experiment.
    pub(crate) fn workspace(&self) -> &Path {
        self.place.path()
    }

    /// Removes the trees and all other files of the experiment.
    pub(crate) fn remove(self, session: &dyn Session) {
        self.place.remove(session);
    }
}
