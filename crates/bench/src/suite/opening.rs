//! Builds a suite, or both of its builds, and lists the benchmarks.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use steady_compare::Workspace;
use steady_compare::again::last_lines;
use steady_compare::revisions::{self, LAYOUT, Repository, Revision, Trees, quoted};
use steady_feature::{Failure, Session};
use steady_model::{Command, Nanos, Seed};
use steady_process::Scripts;
use steady_process::runner::{RunError, how};
use steady_render::letters::{count, listed};

use super::programs::{Program, execute_copies, found_programs, no_programs, not_shared};
use super::{BuiltSuite, Entry, Layouts, Place, Suite};
use crate::adapter::Adapter;
use crate::flags::{BenchFlags, matches, selects};
use crate::machine::ended;
use crate::record::{Build, Unmeasured};

/// The name of the file in which a build lists its programs.
const PROGRAMS: &str = ".steady-programs";
/// The least time limit of the command that lists the benchmarks, whose time is no part of the budget.
const LISTING_LIMIT_MIN: Nanos = Nanos(60_000_000_000);

/// Builds a suite and lists its benchmarks. `readable` becomes readable at a signal.
///
/// # Errors
/// There is no suite, it cannot be built or listed, or both builds have no benchmark in common.
pub(crate) fn open(
    flags: &BenchFlags,
    seed: Seed,
    readable: &OwnedFd,
    session: &mut dyn Session,
) -> Result<Suite, Failure> {
    if let ([one], true) = (&flags.programs[..], flags.env_new.is_empty()) {
        return Err(Failure::Usage(format!("'{}': give two programs, the old one first", one.display())));
    }
    let resolved = if flags.rev.is_empty() { None } else { Some(revisions::resolved(&flags.rev, session)?) };
    let mut opened = Opening { flags, readable, session, layouts: Layouts { seed, drawn: 0 } };
    let adapter = opened.adapter()?;
    crate::metrics(flags, &adapter)?;
    let (place, builds) = match (&flags.programs[..], resolved) {
        (_, Some((repository, revisions))) => opened.revisions(&adapter, repository, revisions)?,
        ([], None) if flags.env_new.is_empty() && !flags.list => {
            return Err(Failure::Usage(
                "nothing to compare: give --rev A..B, two programs, or --env-new NAME=VALUE".to_owned(),
            ));
        }
        ([], None) => opened.environments(&adapter, None)?,
        ([one], None) => opened.environments(&adapter, Some(one))?,
        ([old, new, ..], None) => opened.programs(old, new)?,
    };
    match opened.listed(adapter, builds, place.path()) {
        Ok((adapter, builds, listed)) => {
            let args = opened.args();
            let Listed { entries, unmeasured, size } = listed;
            Ok(Suite { adapter, builds, entries, unmeasured, size, args, place, layouts: opened.layouts })
        }
        Err(failure) => {
            place.remove(session);
            Err(failure)
        }
    }
}

/// The benchmarks of both builds.
struct Listed {
    entries: Vec<Entry>,
    unmeasured: Vec<Unmeasured>,
    size: usize,
}

struct Opening<'a> {
    flags: &'a BenchFlags,
    readable: &'a OwnedFd,
    session: &'a mut dyn Session,
    layouts: Layouts,
}

impl Opening<'_> {
    /// The variables of `--env-new`.
    fn variables(&self) -> Vec<String> {
        self.flags.env_new.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    fn args(&self) -> String {
        self.flags.build_args.clone().unwrap_or_default()
    }

    /// The adapter that the user chose, or that of the suite that is found.
    fn adapter(&mut self) -> Result<Adapter, Failure> {
        let known = Adapter::known();
        let names = || known.iter().map(|adapter| adapter.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(chosen) = &self.flags.adapter {
            if let Some(adapter) = known.iter().find(|adapter| adapter.name == *chosen) {
                return Ok(adapter.clone());
            }
            let text = fs::read_to_string(chosen).map_err(|error| {
                let problem = if error.kind() == ErrorKind::NotFound { String::new() } else { format!(": {error}") };
                Failure::Usage(format!("--adapter {chosen}: it is neither one of {} nor a file{problem}", names()))
            })?;
            return Adapter::parse(&text).map_err(|why| Failure::Usage(format!("--adapter '{chosen}': {why}")));
        }
        if let Some(program) = self.flags.programs.first() {
            let content =
                fs::read(program).map_err(|error| Failure::Usage(format!("'{}': {error}", program.display())))?;
            return known.into_iter().find(|adapter| adapter.has_built(&content)).ok_or_else(|| {
                Failure::Usage(format!(
                    "'{}' is not a program of a known harness: choose one with --adapter",
                    program.display()
                ))
            });
        }
        let mut found = known.iter().filter(|adapter| adapter.is_in(Path::new(".")));
        let first = found.next().cloned();
        let others: Vec<&str> = found.map(|adapter| adapter.name.as_str()).collect();
        if let (Some(first), false) = (&first, others.is_empty()) {
            let others = listed(&others);
            let name = &first.name;
            self.session.notice(&format!("this is the suite of {name}; --adapter chooses that of {others}"));
        }
        first.ok_or_else(|| {
            Failure::Usage(format!(
                "no suite of benchmarks is found here: choose its harness with --adapter ({}, or a file)",
                names()
            ))
        })
    }

    /// The shell command that builds the suite in the current directory and lists its programs in the file `list`, a
    /// word of the shell.
    fn build_command(&self, adapter: &Adapter, list: &str) -> Option<String> {
        let build = match &self.flags.build {
            Some(build) => build.clone(),
            None => adapter.building(&self.args())?,
        };
        Some(format!("STEADY_PROGRAMS={list}\nexport STEADY_PROGRAMS\nrm -f \"$STEADY_PROGRAMS\"\n{build}"))
    }

    /// Two revisions. One of them may have no suite yet.
    fn revisions(
        &mut self,
        adapter: &Adapter,
        repository: Repository,
        revisions: Vec<Revision>,
    ) -> Result<(Place, [BuiltSuite; 2]), Failure> {
        let Ok([old, new]) = <[Revision; 2]>::try_from(revisions) else {
            return Err(Failure::Usage("--rev: give two revisions, as in main..HEAD".to_owned()));
        };
        // Trees are in a private directory.
        let build = self.build_command(adapter, &format!("\"$PWD\"/{PROGRAMS}"));
        if self.flags.draws && !build.as_ref().is_some_and(|build| build.contains(LAYOUT)) {
            return Err(Failure::Usage(format!(
                "--draws: the build of {} has no random order of functions; give a --build that uses ${LAYOUT}",
                adapter.name
            )));
        }
        let mut trees = Trees::open(repository, build, self.flags.show_output, self.readable, self.session)?;
        let mut built = |revision: &Revision| {
            let step = trees.step(&revision.label);
            trees.show(&step, self.session);
            self.session.log_progress(&step);
            if self.flags.draws {
                trees.set_layout(self.layouts.next());
            }
            let directory = trees.tree(revision, self.session)?;
            let list = directory.join(PROGRAMS);
            let programs = found_programs(self.flags, adapter, &list, &directory, |path| trees.moved(path))?;
            programs.iter().try_for_each(|program| trees.check_program(&program.path))?;
            Ok(BuiltSuite {
                build: Build { name: revision.label.clone(), commit: Some(revision.recorded()), environment: vec![] },
                directory,
                origin: Some(trees.origin().to_owned()),
                programs,
                environment: vec![],
            })
        };
        let both = built(&old).and_then(|old| {
            let new = built(&new)?;
            not_shared(&old.programs, &new.programs)?;
            match old.programs.is_empty() && new.programs.is_empty() {
                true => Err(no_programs(adapter)),
                false => Ok([old, new]),
            }
        });
        match both {
            Ok(builds) => Ok((Place::Trees(trees, vec![old, new]), builds)),
            Err(failure) => {
                trees.remove(self.session);
                Err(failure)
            }
        }
    }

    /// One build in two environments. It is built here, or is a given program.
    fn environments(&mut self, adapter: &Adapter, program: Option<&Path>) -> Result<(Place, [BuiltSuite; 2]), Failure> {
        let directory = here()?;
        let place = Place::Workspace(Workspace::open(None, self.session)?);
        let programs = match program {
            Some(program) => self.given(program).map(|program| vec![program]),
            None => self.build_here(adapter, &directory, place.path()),
        };
        let programs = match programs {
            Ok(programs) => programs,
            Err(failure) => {
                place.remove(self.session);
                return Err(failure);
            }
        };
        let variables = self.variables();
        let old = BuiltSuite {
            build: Build { name: "the default".to_owned(), ..Build::default() },
            directory,
            origin: None,
            programs,
            environment: vec![],
        };
        let new = BuiltSuite {
            build: Build { name: variables.join(" "), environment: variables, commit: None },
            environment: self.flags.env_new.clone(),
            ..old.clone()
        };
        Ok((place, [old, new]))
    }

    /// Builds the suite in the current directory.
    fn build_here(&mut self, adapter: &Adapter, directory: &Path, place: &Path) -> Result<Vec<Program>, Failure> {
        // The current directory may be one in which others can write.
        let list = place.join(PROGRAMS);
        if let Some(build) = self.build_command(adapter, &quoted(&list)?) {
            self.session.progress(None, "building");
            self.session.lasting_step("build", None);
            let log = place.join("log");
            let redirection =
                if self.flags.show_output { String::new() } else { format!("exec >{} 2>&1\n", quoted(&log)?) };
            let mut scripts = self.scripts(Command::default(), self.flags.show_output)?;
            scripts.run(0, format!("{redirection}{build}")).map_err(|error| match error {
                RunError::ScriptFailed { outcome, .. } => {
                    Failure::Usage(format!("the build {}{}", how(&outcome), last_lines(&log)))
                }
                other => other.into(),
            })?;
        }
        let programs = found_programs(self.flags, adapter, &list, directory, |path| directory.join(path))?;
        if programs.is_empty() { Err(no_programs(adapter)) } else { Ok(programs) }
    }

    /// Two programs.
    fn programs(&mut self, old: &Path, new: &Path) -> Result<(Place, [BuiltSuite; 2]), Failure> {
        let directory = here()?;
        let [old_program, new_program] = [self.given(old)?, self.given(new)?];
        let side = |path: &Path, program: Program| BuiltSuite {
            build: Build { name: path.display().to_string(), ..Build::default() },
            directory: directory.clone(),
            origin: None,
            // Both have the same label, because their names differ.
            programs: vec![Program { label: String::new(), ..program }],
            environment: vec![],
        };
        let old = side(old, old_program);
        let new = side(new, new_program);
        let build = Build { environment: self.variables(), ..new.build };
        let new = BuiltSuite { build, environment: self.flags.env_new.clone(), ..new };
        Ok((Place::Workspace(Workspace::open(None, self.session)?), [old, new]))
    }

    fn given(&self, path: &Path) -> Result<Program, Failure> {
        let full = path.canonicalize().map_err(|error| Failure::Usage(format!("'{}': {error}", path.display())))?;
        if !full.is_file() {
            return Err(Failure::Usage(format!("'{}' is not a file", path.display())));
        }
        Ok(Program::new("", here()?, full))
    }

    fn scripts(&self, command: Command, shown: bool) -> Result<Scripts, Failure> {
        let interrupt = self.readable.try_clone().map_err(|error| Failure::Own(error.to_string()))?;
        Ok(Scripts::start(vec![command], shown, interrupt)?)
    }

    /// Lists the benchmarks of both builds.
    fn listed(
        &mut self,
        adapter: Adapter,
        mut builds: [BuiltSuite; 2],
        place: &Path,
    ) -> Result<(Adapter, [BuiltSuite; 2], Listed), Failure> {
        for program in builds.iter_mut().flat_map(|build| &mut build.programs) {
            let words = adapter.first_word(&program.path.display().to_string());
            let command = self.session.command(&[words.into()]);
            program.executable = command.map_err(|failure| Failure::Usage(failure.to_string()))?.program;
        }
        // Programs of revisions are in the private directory already, and one program is the same file for both builds.
        if let [_, _] = &self.flags.programs[..] {
            let mut programs: Vec<&mut Program> = builds.iter_mut().flat_map(|build| &mut build.programs).collect();
            execute_copies(&mut programs, place)?;
        }
        let [old, new] = &builds;
        let several = old.programs.len() > 1 || new.programs.len() > 1;
        let lists = [self.names(&adapter, old, place)?, self.names(&adapter, new, place)?];
        let name = |label: &str, own: &str| {
            if several && !label.is_empty() { format!("{label}/{own}") } else { own.to_owned() }
        };
        let [old_names, new_names] = &lists;
        let (in_old, in_new) = (places(old_names, old)?, places(new_names, new)?);
        let mut entries = vec![];
        let mut unmeasured = vec![];
        for (program, own) in old_names {
            let label = &old.programs[*program].label;
            match in_new.get(&(label.clone(), own.clone())) {
                Some(other) => {
                    entries.push(Entry { name: name(label, own), own_name: own.clone(), programs: [*program, *other] })
                }
                None => unmeasured.push(Unmeasured::of_one_build(name(label, own), &old.build)),
            }
        }
        for (program, own) in new_names {
            let label = &new.programs[*program].label;
            if !in_old.contains_key(&(label.clone(), own.clone())) {
                unmeasured.push(Unmeasured::of_one_build(name(label, own), &new.build));
            }
        }
        let names: Vec<String> = entries
            .iter()
            .map(|entry| entry.name.clone())
            .chain(unmeasured.iter().map(|one| one.name.clone()))
            .collect();
        let matches_none = |filter: &&String| {
            let pattern = filter.strip_prefix('!').unwrap_or(filter);
            !names.iter().any(|name| matches(pattern, name))
        };
        for filter in self.flags.filter.iter().filter(matches_none) {
            self.session.notice(&format!("--filter '{filter}': no benchmark has such a name"));
        }
        entries.retain(|entry| selects(&self.flags.filter, &entry.name));
        unmeasured.retain(|one| selects(&self.flags.filter, &one.name));
        if entries.is_empty() && unmeasured.is_empty() {
            return Err(Failure::Usage(match names.first() {
                None => {
                    let hint = adapter.if_none.map_or_else(String::new, |hint| format!(": {hint}"));
                    format!("the suite of {} has no benchmarks{hint}", adapter.name)
                }
                Some(first) => format!(
                    "--filter selects none of the {}: '{first}' is one; a pattern with '*' must match the whole name",
                    count(names.len(), "benchmark", "benchmarks")
                ),
            }));
        }
        let size = entries.len();
        if let Some((part, parts)) = self.flags.shard {
            entries = entries.into_iter().skip(part - 1).step_by(parts).collect();
            if part > 1 {
                unmeasured.clear();
            }
        }
        Ok((adapter, builds, Listed { entries, unmeasured, size }))
    }

    /// The names of a build's benchmarks, each with the index of its program.
    fn names(&mut self, adapter: &Adapter, build: &BuiltSuite, place: &Path) -> Result<Names, Failure> {
        let mut all = vec![];
        // One build in two environments has no name.
        let of_build = match self.flags.rev.is_empty() && self.flags.programs.len() < 2 {
            true => String::new(),
            false => format!(" of {}", build.build.name),
        };
        for (index, program) in build.programs.iter().enumerate() {
            self.session.progress(None, &format!("listing the benchmarks{of_build}"));
            self.session.lasting_step("list", None);
            // A suite of one program needs no name.
            let of_program = match build.programs.len() {
                1 => String::new(),
                _ => format!(" in its program '{}'", program.label),
            };
            let words = adapter.listing(&program.path.display().to_string(), &self.args());
            let (out, errors) = (place.join("list"), place.join("log"));
            let command = build.command(adapter, program, vec![]);
            let script = format!("exec >{} 2>{}\nexec {}", quoted(&out)?, quoted(&errors)?, shell_words::join(&words));
            let mut scripts = self.scripts(command, false)?;
            let limit = LISTING_LIMIT_MIN.max(self.flags.budget).max(self.flags.timeout());
            scripts.run_within(limit, 0, script).map_err(|error| match error {
                RunError::ScriptFailed { outcome, .. } => Failure::Usage(format!(
                    "the command that lists the benchmarks{of_build}{of_program} {}{}",
                    ended(&outcome, limit),
                    last_lines(if fs::metadata(&errors).is_ok_and(|file| file.len() > 0) { &errors } else { &out })
                )),
                other => other.into(),
            })?;
            let printed = fs::read(&out).map_err(|error| Failure::Own(format!("'{}': {error}", out.display())))?;
            let names = adapter.names(&String::from_utf8_lossy(&printed)).map_err(Failure::Usage)?;
            all.extend(names.into_iter().map(|name| (index, name)));
        }
        Ok(all)
    }
}

/// Names of benchmarks, each with the index of its program.
type Names = Vec<(usize, String)>;

fn here() -> Result<PathBuf, Failure> {
    Path::new(".").canonicalize().map_err(|error| Failure::Usage(format!("the current directory: {error}")))
}

/// The programs of a build's benchmarks, by the label of the program and the name.
///
/// # Errors
/// Two programs have the same label and a benchmark of the same name, so it is not known which belong together.
fn places(names: &Names, build: &BuiltSuite) -> Result<BTreeMap<(String, String), usize>, Failure> {
    let mut found = BTreeMap::new();
    for (program, own) in names {
        let [one, label] = [&build.programs[*program].path.display().to_string(), &build.programs[*program].label];
        match found.insert((label.clone(), own.clone()), *program) {
            Some(other) if other != *program => {
                let other = build.programs[other].path.display();
                return Err(Failure::Usage(format!(
                    "'{other}' and '{one}' have the same file name and both have a benchmark '{own}': measure one of \
                     them (--program)"
                )));
            }
            _ => {}
        }
    }
    Ok(found)
}
