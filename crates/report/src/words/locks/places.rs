//! Places in the code, and the call sites of locks.

use steady_model::{CodePlace, LockOrder, LockUse, LocksReport};

use super::{named, number, waited};
use crate::units::time;
use crate::words::{count, cut, one_line};

/// A place as short as it can be told from others: `push() in src/queue.c:88`, `push() in libq.so`, `libq.so+0x1a2b`. No word of it
/// takes more than `room` columns.
pub(crate) fn place(place: &CodePlace, room: usize) -> String {
    let file = place.module.as_ref().map(|module| end(&one_line(module), 1));
    match (&place.function, &place.line) {
        (Ok(function), Ok(line)) => format!("{} in {}", called(function, room), cut(&end(&one_line(line), 2), room)),
        (Err(_), Ok(line)) => cut(&end(&one_line(line), 2), room),
        (Ok(function), Err(_)) => match file {
            Ok(file) => format!("{} in {}", called(function, room), cut(&file, room)),
            Err(_) => called(function, room),
        },
        (Err(_), Err(_)) => match file {
            Ok(file) => cut(&format!("{file}+{:#x}", place.offset), room),
            Err(_) => cut(&format!("{:#x}", place.offset), room),
        },
    }
}

/// Names of functions longer than this say no more.
const FUNCTION: usize = 64;

/// A function by its name.
pub(super) fn called(function: &str, room: usize) -> String {
    let name = cut(&one_line(function), room.saturating_sub(2).min(FUNCTION));
    if name.contains(['(', '…']) { name } else { format!("{name}()") }
}

/// The last parts of a path.
fn end(path: &str, parts: usize) -> String {
    let all: Vec<&str> = path.split('/').collect();
    all[all.len().saturating_sub(parts)..].join("/")
}

/// The call sites of one lock.
pub(crate) struct Sites {
    /// The lock, and where it was made.
    pub(crate) lock: String,
    /// How long was waited, and where.
    pub(crate) sites: Vec<(String, String)>,
    /// What is to be said of others.
    pub(crate) more: String,
}

/// Call sites of the first locks that were taken somewhere, at most so many of so many locks.
pub(crate) fn sites(report: &LocksReport, (locks, each): (usize, usize), room: usize) -> Vec<Sites> {
    // Where waiting counts, places at which nobody waited say nothing.
    let counts = |lock: &&LockUse| report.order != LockOrder::Wait || waited(lock) > 0.0;
    let known = report.locks.iter().filter(|lock| !lock.sites.is_empty()).filter(counts);
    known.take(locks).map(|lock| of_lock(report, lock, each, room)).collect()
}

fn of_lock(report: &LocksReport, lock: &LockUse, most: usize, room: usize) -> Sites {
    let made = lock.made_at.as_ref().map_or_else(|_| String::new(), |made| format!(", made by {}", place(made, room)));
    let of = match (report.processes.len(), report.processes.get(lock.process)) {
        (2.., Some(process)) => format!(" of process {}", process.pid),
        _ => String::new(),
    };
    let line = |site: &steady_model::LockSite| {
        let free = site.acquisitions.saturating_sub(site.contended);
        let taken = match (site.contended, free) {
            (contended, 0) => format!("{} contended", number(contended)),
            (0, free) => format!("about {}, none contended", number(free)),
            (contended, free) => format!("{} contended of about {}", number(contended), number(contended + free)),
        };
        (time(site.wait.seconds()), format!("{}: {taken}", place(&site.place, room)))
    };
    let (shown, rest) = lock.sites.split_at(most.min(lock.sites.len()));
    let unknown = waited(lock) - lock.sites.iter().map(|site| site.wait.seconds()).sum::<f64>();
    let mut more = Vec::new();
    if !rest.is_empty() {
        let seconds = rest.iter().map(|site| site.wait.seconds()).sum::<f64>();
        more.push(format!("{} at {}", time(seconds), count(rest.len(), "other place", "other places")));
    }
    if unknown > 0.01 * waited(lock) {
        more.push(format!("{} at places that are not known", time(unknown)));
    }
    let more = if more.is_empty() { String::new() } else { format!("Besides, waited {}.", more.join(", ")) };
    Sites { lock: format!("{}{of}{made}", named(lock)), sites: shown.iter().map(line).collect(), more }
}

/// The site of a lock that most of its waiting was at, and whether that was nearly all.
pub(super) fn most_at(lock: &LockUse) -> Option<(&CodePlace, bool)> {
    let most = lock.sites.iter().max_by_key(|site| site.wait)?;
    let share = most.wait.seconds() / waited(lock);
    (share >= 0.5).then_some((&most.place, share >= super::sentences::NEARLY))
}

#[cfg(test)]
mod tests {
    use steady_model::Absent;

    use super::*;

    #[test]
    fn places_are_as_short_as_can_be() {
        let none = || Err(Absent::because("no symbols"));
        let all = CodePlace {
            module: Ok("/usr/lib/libq.so.1".into()),
            offset: 0x1a2b,
            function: Ok("push".into()),
            line: Ok("/home/me/q/src/queue.c:88".into()),
        };
        let told = |at: &CodePlace| place(at, usize::MAX);
        assert_eq!(told(&all), "push() in src/queue.c:88");
        assert_eq!(told(&CodePlace { function: none(), ..all.clone() }), "src/queue.c:88");
        let plain = CodePlace { line: none(), ..all.clone() };
        assert_eq!(told(&plain), "push() in libq.so.1");
        assert_eq!(
            told(&CodePlace { function: Ok("Q::push(int, T&)".into()), ..all }),
            "Q::push(int, T&) in src/queue.c:88"
        );
        let bare = CodePlace { function: none(), ..plain };
        assert_eq!(told(&bare), "libq.so.1+0x1a2b");
        assert_eq!(told(&CodePlace { module: none(), ..bare }), "0x1a2b");
    }

    #[test]
    fn no_word_is_longer_than_its_room() {
        let long = CodePlace {
            module: Ok("/x".into()),
            offset: 1,
            function: Ok("a".repeat(300)),
            line: Ok(format!("/{}/{}.c:1", "b".repeat(80), "c".repeat(80))),
        };
        assert!(place(&long, 26).split(' ').all(|word| crate::words::width(word) <= 26), "{}", place(&long, 26));
        assert!(crate::words::width(&place(&long, usize::MAX)) < 300);
    }
}
