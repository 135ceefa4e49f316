//! Reads the state of a store: its programs, and how launches went.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use steady_linux::clock;
use steady_model::{Absent, Bytes, Nanos, Reading};
use steady_preload::card::{Card, Outcome, Warm};

use crate::identity;
use crate::inspect::{Inspected, Script, inspect};
use crate::launch::{DAMAGED_CARD, Launch, NESTED, StartingProcess, changed, damaged, launch, os, replaced, stored};
use crate::record::{Answer, KeptProgram, Launches, ProgramState, Question, StatusRecord, StoreFacts};
use crate::store::{Counts, LIMIT, Store, StoredCard, Work};

/// Returns the state of these programs, or of all if `programs` is empty. `here` is the process that would start them,
/// for [`Question::Why`].
#[must_use]
pub fn status(
    question: Question,
    store: &Reading<Store>,
    programs: &[PathBuf],
    here: Option<StartingProcess<'_>>,
) -> StatusRecord {
    let programs = match store {
        Err(_) => programs.iter().map(|program| unknown(program)).collect(),
        Ok(store) => {
            let counts = absent_if_broken(store.counts());
            match programs.is_empty() {
                true => all(store, &counts),
                false => named(question, programs).map(|program| one(store, &counts, program, here)).collect(),
            }
        }
    };
    StatusRecord {
        question,
        now: clock::time_of_day(),
        store: store.as_ref().map(of_store).map_err(Clone::clone),
        programs,
    }
}

/// Returns the programs that the user named. [`Question::Status`] counts programs, so it has several names of a file
/// once.
fn named(question: Question, programs: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut keys = HashSet::new();
    programs.iter().filter(move |program| {
        question != Question::Status || identity::key(program).map_or(true, |key| keys.insert(key))
    })
}

/// Returns the card that names this path as its program, for a file that was removed since the capture.
pub(crate) fn stored_by_path(store: &Store, path: &Path) -> Option<StoredCard> {
    let is_named = |card: &StoredCard| Card::parse(&card.bytes).is_some_and(|card| path_of(&card) == path);
    store.cards().unwrap_or_default().into_iter().find(is_named)
}

fn path_of<'a>(card: &Card<'a>) -> &'a Path {
    match card {
        Card::Warm(Warm { program, .. }) | Card::Refused { program, .. } | Card::Script { program, .. } => {
            Path::new(os(program))
        }
    }
}

fn of_store(store: &Store) -> StoreFacts {
    let counts = absent_if_broken(store.counts());
    let launches = counts.as_ref().map_err(Clone::clone).and_then(|counts| absent_if_broken(launches(counts)));
    let cpu = counts.and_then(|counts| absent_if_broken(counts.work(Work::CpuNanos)));
    let requests = store.requests().unwrap_or_default();
    let requested: Vec<String> = requests.iter().map(|request| request.program.display().to_string()).collect();
    StoreFacts {
        directory: store.folder().display().to_string(),
        size_bytes: Bytes(store.used().unwrap_or(0)),
        limit_bytes: Bytes(LIMIT),
        keeper: store.has_keeper(),
        requested: requested.len(),
        requested_programs: requested,
        launches,
        capture_cpu_seconds: cpu.map(Nanos),
        trouble: store.trouble(),
    }
}

/// All programs: warm ones first, and among these the most often launched first.
fn all(store: &Store, counts: &Reading<Counts>) -> Vec<KeptProgram> {
    let cards = store.cards().unwrap_or_default();
    let mut programs: Vec<KeptProgram> = cards.iter().filter_map(|card| known(store, counts, card, None)).collect();
    let launches = |program: &KeptProgram| program.warm_launches.clone().unwrap_or(0);
    programs
        .sort_by_key(|program| (rank(&program.state), std::cmp::Reverse(launches(program)), program.program.clone()));
    programs
}

fn rank(state: &ProgramState) -> u8 {
    match state {
        ProgramState::Warm => 0,
        ProgramState::Stale { .. } => 1,
        ProgramState::Refused { .. } => 2,
        ProgramState::Script { .. } | ProgramState::Unknown => 3,
    }
}

fn one(store: &Store, counts: &Reading<Counts>, program: &Path, here: Option<StartingProcess<'_>>) -> KeptProgram {
    let card = stored(store, program);
    let is_new = matches!(card, Ok(None));
    let card = if program.exists() { card.ok().flatten() } else { stored_by_path(store, program) };
    let found = card.and_then(|card| known(store, counts, &card, Some(program)));
    // For a program that was never started, report at once whether it is a script or would be refused.
    let inspected = if found.is_none() { Some(inspect(program)) } else { None };
    let against = here.map(|here| match (launch(store, program, here), &inspected) {
        (Launch::Warm(_), _) => vec![],
        (Launch::AsUsual(_), Some(Err(why))) if is_new => vec![why.0.clone()],
        (Launch::AsUsual(_), Some(Ok(Inspected::Script(_)))) if is_new => {
            vec!["it is not in the store yet".to_owned()]
        }
        (Launch::AsUsual(reasons), _) => reasons,
    });
    let state = match inspected {
        Some(Ok(Inspected::Script(Script { interpreter, argument }))) => {
            script(store, &interpreter, argument.as_deref())
        }
        _ => ProgramState::Unknown,
    };
    let found = found.unwrap_or_else(|| KeptProgram { state, ..unknown(program) });
    KeptProgram { answer: against.map(Answer::new), ..found }
}

/// The state of a script, with that of its interpreter.
fn script(store: &Store, interpreter: &Path, argument: Option<&OsStr>) -> ProgramState {
    let real = interpreter.canonicalize().unwrap_or_else(|_| interpreter.to_owned());
    ProgramState::Script {
        interpreter: interpreter.display().to_string(),
        argument: argument.map(|argument| argument.to_string_lossy().into_owned()),
        interpreter_state: Box::new(state_of_interpreter(store, &real)),
        interpreter_program: real.display().to_string(),
    }
}

/// The state of an interpreter. One that is a script itself always starts as usual.
fn state_of_interpreter(store: &Store, interpreter: &Path) -> ProgramState {
    let refused = |reason: &str| ProgramState::Refused { reason: reason.to_owned() };
    match stored(store, interpreter) {
        Err(why) => refused(&why),
        Ok(None) => match inspect(interpreter) {
            Err(why) => refused(&why.0),
            Ok(Inspected::Script(_)) => refused(NESTED),
            Ok(Inspected::Program(_)) => ProgramState::Unknown,
        },
        Ok(Some(card)) => match Card::parse(&card.bytes) {
            Some(Card::Script { .. }) => refused(NESTED),
            Some(card) => state_of(store, &card, interpreter),
            None => ProgramState::Stale { reason: DAMAGED_CARD.to_owned() },
        },
    }
}

/// The state of the program at `path`, which has this card.
fn state_of(store: &Store, card: &Card<'_>, path: &Path) -> ProgramState {
    if let Some(reason) = replaced(card, path) {
        return ProgramState::Stale { reason };
    }
    let unless_stale = |stale: Option<String>, state| stale.map_or(state, |reason| ProgramState::Stale { reason });
    match card {
        Card::Refused { reason, dependencies, .. } => {
            let reason = reason.to_string_lossy().into_owned();
            unless_stale(changed(dependencies.iter()), ProgramState::Refused { reason })
        }
        Card::Script { interpreter, argument, .. } => script(store, Path::new(os(interpreter)), argument.map(os)),
        Card::Warm(warm) => {
            unless_stale(changed(warm.dependencies()).or_else(|| damaged(store, warm)), ProgramState::Warm)
        }
    }
}

fn unknown(program: &Path) -> KeptProgram {
    let nothing = || Err(Absent::because("it has no snapshots"));
    KeptProgram {
        program: program.display().to_string(),
        state: ProgramState::Unknown,
        snapshots: 0,
        size_bytes: Bytes(0),
        warm_launches: nothing(),
        missed_launches: nothing(),
        created: Err(Absent::because("it has not been captured")),
        hook_inside: false,
        answer: None,
    }
}

/// Reads the state of a program from its card; `None` if the card is damaged. `path` is the path that the user gave, if
/// any; otherwise the card's own path is used.
fn known(store: &Store, counts: &Reading<Counts>, stored: &StoredCard, path: Option<&Path>) -> Option<KeptProgram> {
    let card = Card::parse(&stored.bytes)?;
    let path = path.unwrap_or(path_of(&card));
    let program = KeptProgram { state: state_of(store, &card, path), created: Ok(stored.written), ..unknown(path) };
    Some(match card {
        Card::Warm(warm) => of_warm(store, counts, &stored.key, &warm, program),
        _ => program,
    })
}

fn of_warm(store: &Store, counts: &Reading<Counts>, key: &str, warm: &Warm<'_>, program: KeptProgram) -> KeptProgram {
    let launches = counts.as_ref().map_err(Clone::clone).and_then(|counts| match warm.slot {
        0 => Err(Absent::because("there is no counter left for it")),
        slot => absent_if_broken(counts.launches(slot)),
    });
    KeptProgram {
        snapshots: warm.copies,
        size_bytes: Bytes(store.size(key)),
        warm_launches: launches.clone().map(|[warm, _]| warm),
        missed_launches: launches.map(|[_, usual]| usual),
        hook_inside: warm.hook_inside,
        ..program
    }
}

fn absent_if_broken<T>(found: io::Result<T>) -> Reading<T> {
    found.map_err(|error| Absent::because(format!("the counts cannot be read: {error}")))
}

/// Reads the number of launches by outcome.
fn launches(counts: &Counts) -> io::Result<Launches> {
    Ok(Launches {
        warm: counts.outcome(Outcome::Warm)?,
        no_card: counts.outcome(Outcome::NoCard)?,
        refused: counts.outcome(Outcome::Refused)?,
        changed: counts.outcome(Outcome::Changed)?,
        environment: counts.outcome(Outcome::Environment)?,
        limits: counts.outcome(Outcome::Limits)?,
        not_executed: counts.outcome(Outcome::NotExecuted)?,
        broken: counts.outcome(Outcome::Broken)?,
        other_way: counts.outcome(Outcome::OtherWay)?,
        other_name: counts.outcome(Outcome::OtherName)?,
    })
}
