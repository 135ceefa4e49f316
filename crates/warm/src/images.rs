//! Snapshots for measured runs. In every draw each command gets a new snapshot, in a directory of its own.
//!
//! Commands that execute the same program share one snapshot in each draw, so its addresses affect all of them alike.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use steady_linux::private::remove_own_tree;
use steady_linux::{Root, clock};
use steady_model::{Cold, Command, Nanos};
use steady_preload::card::{Card, separator};

use super::identity;
use super::launch::{Launch, StartingProcess, is_current, launch};
use super::make::{COPIES, Made, Maker, Traced};
use super::store::Store;
use steady_process::launcher::Snapshot;
use steady_process::runner::RunError;

/// Creates snapshots of the programs of some commands.
pub struct Images<'a> {
    folder: PathBuf,
    store: &'a Store,
    maker: Maker<'a, Traced>,
    programs: Vec<Program>,
    commands: Vec<Started>,
    draws: u64,
}

/// A program with its snapshots.
struct Program {
    path: PathBuf,
    /// Images that no draw has used yet.
    left: Vec<PathBuf>,
    /// Duration of the last capture.
    took: Nanos,
    images: u64,
}

/// How to start a command from a snapshot.
struct Started {
    program: usize,
    /// The name that the kernel gives the process.
    name: OsString,
    is_script: bool,
    words: Vec<OsString>,
}

impl<'a> Images<'a> {
    /// Captures the programs of `commands` into a private store below `folder`. Checks that each command can be started
    /// from a snapshot with the environment of its runs.
    ///
    /// # Errors
    /// The command that cannot be started from a snapshot, and why.
    pub fn prepare(
        commands: &[Command],
        environment: Vec<(OsString, OsString)>,
        store: &'a Store,
        folder: &Path,
    ) -> Result<Self, Cold> {
        let (programs, started, folder) = (Vec::new(), Vec::new(), folder.to_owned());
        let maker = Maker::new(store, Traced, environment.clone()).without_hook();
        let mut images = Images { folder, store, maker, programs, commands: started, draws: 0 };
        for (index, command) in commands.iter().enumerate() {
            let started = images.start(command, &environment_of(command, &environment));
            let cold = |reason| Cold { command: Some(index), reason };
            images.commands.push(started.map_err(cold)?);
        }
        // The very first capture starts with cold caches, so its duration says little about later ones.
        for number in 0..images.programs.len() {
            images.capture(number).map_err(|reason| Cold { command: images.command_of(number), reason })?;
        }
        Ok(images)
    }

    /// Returns a command that executes this program.
    fn command_of(&self, program: usize) -> Option<usize> {
        self.commands.iter().position(|started| started.program == program)
    }

    /// Returns how to start a command, and captures its program.
    fn start(&mut self, command: &Command, environment: &[(OsString, OsString)]) -> Result<Started, String> {
        let path = match &command.directory {
            Some(directory) => directory.join(&command.program),
            None => command.program.clone(),
        };
        let path = std::path::absolute(&path).map_err(|error| error.to_string())?;
        let made = self.maker.make_patiently(&path).map_err(|why| why.to_string())?;
        let mut words: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
        let program = match &made {
            Made::Script(script) => {
                self.maker.make_for(script, &path).map_err(|why| why.to_string())?;
                // The kernel drops argument 0 of a script.
                let first = [
                    Some(script.interpreter.as_os_str()),
                    script.argument.as_deref(),
                    Some(command.program.as_os_str()),
                ];
                words.splice(..1, first.into_iter().flatten().map(OsStr::to_owned));
                script.interpreter.clone()
            }
            Made::Warm | Made::Refused(_) => path.clone(),
        };
        if let Launch::AsUsual(reasons) =
            launch(self.store, &path, StartingProcess { environment, root: &Root::default() })
        {
            return Err(reasons.join("; "));
        }
        let name = path.file_name().unwrap_or_default().to_owned();
        let program = self.known(&program).map_err(|error| error.to_string())?;
        Ok(Started { program, name, is_script: matches!(made, Made::Script(_)), words })
    }

    /// Returns the index of the program that was just captured, and adds it if it is new.
    fn known(&mut self, path: &Path) -> io::Result<usize> {
        let path = path.canonicalize()?;
        if let Some(known) = self.programs.iter().position(|program| program.path == path) {
            return Ok(known);
        }
        let number = self.programs.len();
        let mut program = Program { path, left: Vec::new(), took: Nanos::ZERO, images: 0 };
        program.keep(number, self.store, &self.folder)?;
        self.programs.push(program);
        Ok(number)
    }

    /// Gives every command a new snapshot and removes those of the previous draw. Also returns the cost of a draw: the
    /// duration of the captures, divided by the number of draws that a capture serves.
    ///
    /// # Errors
    /// [`RunError::NotDrawn`].
    pub fn draw(&mut self) -> Result<(Vec<Snapshot>, Nanos), RunError> {
        let mut drawn = Vec::new();
        for number in 0..self.programs.len() {
            let image = self.image(number).map_err(|reason| RunError::NotDrawn {
                command: self.command_of(number).unwrap_or_default(),
                reason,
            })?;
            drawn.push(image);
        }
        let placed = self.place(&drawn);
        let placed = placed.map_err(|error| RunError::NotDrawn { command: 0, reason: error.to_string() })?;
        let captures: Nanos = self.programs.iter().map(|program| Nanos(program.took.0 / u64::from(COPIES))).sum();
        Ok((placed, captures))
    }

    /// Returns an unused image of a program. If the program has changed, for instance by `--setup`, captures it again.
    fn image(&mut self, number: usize) -> Result<PathBuf, String> {
        if !self.programs[number].is_current(self.store) {
            self.programs[number].forget().map_err(|error| error.to_string())?;
        }
        if let Some(image) = self.programs[number].left.pop() {
            return Ok(image);
        }
        self.capture(number)?;
        self.programs[number].left.pop().ok_or_else(|| "the capture has created no snapshot".to_owned())
    }

    /// Captures a program again. A capture has succeeded before, so a failure may be due to chance, and is retried.
    fn capture(&mut self, number: usize) -> Result<(), String> {
        const TIMES: u32 = 3;
        let program = &mut self.programs[number];
        let before = clock::monotonic();
        let mut why = String::new();
        for _ in 0..TIMES {
            match self.maker.make_patiently(&program.path) {
                Ok(Made::Warm) => {
                    let kept = program.keep(number, self.store, &self.folder);
                    program.took = clock::monotonic() - before;
                    return kept.map_err(|error| error.to_string());
                }
                Ok(Made::Refused(refusal)) => why = refusal.0,
                Ok(Made::Script(_)) => return Err("it has become a script".to_owned()),
                Err(not_made) => why = not_made.to_string(),
            }
        }
        Err(why)
    }

    /// Links the images of a draw into its directory, under the names of the commands.
    fn place(&mut self, drawn: &[PathBuf]) -> io::Result<Vec<Snapshot>> {
        let folder = |draw: u64| self.folder.join(format!("draw-{draw}"));
        let (before, now) = (folder(self.draws), folder(self.draws + 1));
        let mut snapshots = Vec::new();
        create_private(&now)?;
        for (command, started) in self.commands.iter().enumerate() {
            let own = now.join(command.to_string());
            create_private(&own)?;
            let separator = OsStr::new(separator(started.is_script));
            let file = PathBuf::from([own.as_os_str(), &started.name].join(separator));
            fs::hard_link(&drawn[started.program], &file)?;
            snapshots.push(Snapshot { command, file, words: started.words.clone() });
        }
        drawn.iter().try_for_each(fs::remove_file)?;
        if self.draws > 0 {
            remove_own_tree(&before)?;
        }
        self.draws += 1;
        Ok(snapshots)
    }
}

impl Program {
    /// Returns whether the program, and all files that it loads, are unchanged since the capture.
    fn is_current(&self, store: &Store) -> bool {
        let card = identity::key(&self.path).and_then(|key| store.card(&key));
        let current = |bytes: &[u8]| Card::parse(bytes).is_some_and(|card| is_current(&card, &self.path));
        card.is_ok_and(|card| card.is_some_and(|card| current(&card.bytes)))
    }

    /// Removes the unused images.
    fn forget(&mut self) -> io::Result<()> {
        self.left.drain(..).try_for_each(fs::remove_file)
    }

    /// Links the snapshots that the store has now, so they stay when the store replaces them.
    fn keep(&mut self, number: usize, store: &Store, folder: &Path) -> io::Result<()> {
        let key = identity::key(&self.path)?;
        let name = self.path.file_name().unwrap_or_default();
        for copy in 0..COPIES {
            let image = folder.join(format!("image-{number}-{}", self.images));
            fs::hard_link(store.snapshot(&key, copy, name), &image)?;
            self.images += 1;
            self.left.push(image);
        }
        Ok(())
    }
}

fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Returns the environment of a command's runs, without variables that differ between runs.
fn environment_of(command: &Command, inherited: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let own = || command.environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let kept = inherited.iter().filter(|(name, _)| own().all(|(other, _)| other != *name)).cloned();
    kept.chain(own()).collect()
}
