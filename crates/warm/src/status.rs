//! Reads the state of a store: its programs, and how launches went.

use std::io;
use std::path::{Path, PathBuf};

use steady_linux::clock;
use steady_model::{Absent, Bytes, Nanos, Reading};
use steady_preload::card::{Card, Outcome, Warm};

use crate::identity;
use crate::inspect::inspect;
use crate::launch::{Launch, StartingProcess, changed, damaged, launch, os};
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
                false => programs.iter().map(|program| one(store, &counts, program, here)).collect(),
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

fn of_store(store: &Store) -> StoreFacts {
    let counts = absent_if_broken(store.counts());
    let launches = counts.as_ref().map_err(Clone::clone).and_then(|counts| absent_if_broken(launches(counts)));
    let cpu = counts.and_then(|counts| absent_if_broken(counts.work(Work::CpuNanos)));
    StoreFacts {
        directory: store.folder().display().to_string(),
        size_bytes: Bytes(store.used().unwrap_or(0)),
        limit_bytes: Bytes(LIMIT),
        keeper: store.has_keeper(),
        requested: store.requests().map_or(0, |requests| requests.len()),
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
    let card = identity::key(program).ok().and_then(|key| store.card(&key).ok().flatten());
    let found = card.and_then(|card| known(store, counts, &card, Some(program)));
    let against = here.map(|here| match launch(store, program, here) {
        Launch::Warm(_) => vec![],
        // For a program that was never started, report at once whether it would be refused.
        Launch::AsUsual(reasons) if found.is_none() => inspect(program).map_or_else(|why| vec![why.0], |_| reasons),
        Launch::AsUsual(reasons) => reasons,
    });
    KeptProgram { answer: against.map(Answer::new), ..found.unwrap_or_else(|| unknown(program)) }
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
    let named = match &card {
        Card::Warm(warm) => Some(PathBuf::from(os(warm.program))),
        Card::Refused { program, .. } | Card::Script { program, .. } => Some(PathBuf::from(os(program))),
    };
    let path = path.map(Path::to_owned).or(named)?;
    let program = unknown(&path);
    let created = Ok(stored.written);
    let same = identity::at(&path).is_ok_and(|now| now == Some(*card.identity()));
    Some(match card {
        _ if !same => {
            let reason = "its file has changed since the capture".to_owned();
            KeptProgram { state: ProgramState::Stale { reason }, created, ..program }
        }
        Card::Refused { reason, dependencies, .. } => {
            let refused = || ProgramState::Refused { reason: reason.to_string_lossy().into_owned() };
            let state = changed(dependencies.iter()).map_or_else(refused, |reason| ProgramState::Stale { reason });
            KeptProgram { state, created, ..program }
        }
        Card::Script { interpreter, argument, .. } => {
            let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
            let state = ProgramState::Script { interpreter: text(interpreter), argument: argument.map(text) };
            KeptProgram { state, created, ..program }
        }
        Card::Warm(warm) => KeptProgram { created, ..of_warm(store, counts, &stored.key, &warm, program) },
    })
}

fn of_warm(store: &Store, counts: &Reading<Counts>, key: &str, warm: &Warm<'_>, program: KeptProgram) -> KeptProgram {
    let launches = counts.as_ref().map_err(Clone::clone).and_then(|counts| match warm.slot {
        0 => Err(Absent::because("there is no counter left for it")),
        slot => absent_if_broken(counts.launches(slot)),
    });
    KeptProgram {
        state: changed(warm.dependencies())
            .or_else(|| damaged(store, warm))
            .map_or(ProgramState::Warm, |reason| ProgramState::Stale { reason }),
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
