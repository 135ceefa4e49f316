//! Call sites in their shortest distinguishable form.

use steady_render::letters::{cut, one_line};

use crate::record::{CodePlace, LockUse};

/// Maximum width of each part of a call site, in columns; longer names are cut.
const LONGEST: usize = 64;

/// Formats a call site: `push() in src/queue.c:88`, `push() in libq.so+0x1a2b`, `libq.so+0x1a2b`. Without lines, only the
/// offset distinguishes the call sites of a function.
pub(super) fn place(place: &CodePlace) -> String {
    let at = match (&place.line, &place.module) {
        (Ok(line), _) => end(line, 2),
        (Err(_), Ok(module)) => format!("{}+{:#x}", end(module, 1), place.offset),
        (Err(_), Err(_)) => format!("{:#x}", place.offset),
    };
    place.function.as_ref().map_or(at.clone(), |function| format!("{} in {at}", called(function)))
}

/// Formats the name of a function. Names without parentheses (of C functions) get them.
pub(super) fn called(function: &str) -> String {
    let name = cut(&one_line(function), LONGEST);
    if name.contains(['(', '…']) { name } else { format!("{name}()") }
}

/// Returns the last `parts` components of a path.
fn end(path: &str, parts: usize) -> String {
    let path = one_line(path);
    let all: Vec<&str> = path.split('/').collect();
    cut(&all[all.len().saturating_sub(parts)..].join("/"), LONGEST)
}

/// A share from here on is "nearly all".
pub(super) const NEARLY_ALL: f64 = 0.9;

/// Returns the call site where threads waited longest for a lock, and whether that was nearly all of the waiting.
/// Returns `None` if no call site has half of it.
pub(super) fn most_at(lock: &LockUse) -> Option<(CodePlace, bool)> {
    let most = lock.sites.iter().max_by_key(|site| site.wait_seconds)?;
    let share = most.wait_seconds.seconds() / lock.waited();
    (share >= 0.5).then(|| (most.place(), share >= NEARLY_ALL))
}

#[cfg(test)]
mod tests {
    use steady_model::Absent;
    use steady_render::letters::width;

    use super::*;

    #[test]
    fn call_sites_are_short() {
        let none = || Err(Absent::because("no symbols"));
        let all = CodePlace {
            module: Ok("/usr/lib/libq.so.1".into()),
            offset: 0x1a2b,
            function: Ok("push".into()),
            line: Ok("/home/me/q/src/queue.c:88".into()),
        };
        assert_eq!(place(&all), "push() in src/queue.c:88");
        assert_eq!(place(&CodePlace { function: none(), ..all.clone() }), "src/queue.c:88");
        let plain = CodePlace { line: none(), ..all.clone() };
        assert_eq!(place(&plain), "push() in libq.so.1+0x1a2b");
        let mangled = CodePlace { function: Ok("Q::push(int, T&)".into()), ..all };
        assert_eq!(place(&mangled), "Q::push(int, T&) in src/queue.c:88");
        let bare = CodePlace { function: none(), ..plain };
        assert_eq!(place(&bare), "libq.so.1+0x1a2b");
        assert_eq!(place(&CodePlace { module: none(), ..bare }), "0x1a2b");
    }

    #[test]
    fn long_names_are_cut() {
        let long = CodePlace {
            module: Ok("/x".into()),
            offset: 1,
            function: Ok("a".repeat(300)),
            line: Ok(format!("/{}/{}.c:1", "b".repeat(80), "c".repeat(80))),
        };
        assert!(place(&long).split(' ').all(|word| width(word) <= LONGEST), "{}", place(&long));
    }
}
