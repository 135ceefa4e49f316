//! Starting a program so that it is held; what the loader has noted before it loads anything.

use std::ffi::OsStr;

use steady_linux::debuggee::{Beginning, Debuggee, Stop};
use steady_linux::process::NotStarted;

use super::super::compose::constants_of_loader;
use super::super::taken::{NotTaken, Region, Request, Taken};
use super::modules::Module;
use super::stack::{self, Initial};
use super::{LIMITS, LOADED, failed, refused, settle};

/// How high the limit on the stack is while the kernel lays out memory. That of libraries then begins so much below the end
/// of addresses, far from wherever the stack and the kernel's object of a later launch may be.
const STACK_LIMIT: u64 = 8 << 40;
/// The kernel's functions that tell what is another at each moment.
const MOMENT: [&str; 5] = ["clock_gettime", "gettimeofday", "time", "getcpu", "getrandom"];

/// Starts the program, held at its first instruction.
pub(super) fn hold(request: &Request) -> Result<Debuggee, NotTaken> {
    let beginning = Beginning { program: &request.program, stack_limit: STACK_LIMIT, limits: LIMITS };
    let filler = OsStr::new("x");
    let more = std::iter::repeat_n(filler, (request.arguments as usize).saturating_sub(1));
    let arguments = std::iter::once(request.name.as_os_str()).chain(more);
    let now = request.bind_now.then_some((OsStr::new("LD_BIND_NOW"), OsStr::new("1")));
    let preload = request.preloaded.as_ref().map(|library| (OsStr::new("LD_PRELOAD"), library.as_os_str()));
    let own = request.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    Debuggee::start(&beginning, arguments, own.chain(preload).chain(now)).map_err(|why| match why {
        NotStarted::NoProgram(error) => refused(format!("it cannot be executed: {error}")),
        NotStarted::NoChild(error) => NotTaken::Failed(format!("no process could be started and held: {error}")),
    })
}

/// Gives the alternative take another group in its auxiliary vector than it has, and one descriptor besides its streams, so that
/// the files that it opens have other numbers. Returns that descriptor.
pub(super) fn give_alternatives(debuggee: &mut Debuggee, initial: &Initial) -> Result<Option<i64>, NotTaken> {
    const DUP: u64 = 32;
    for (place, group) in stack::GROUPS.into_iter().filter_map(|kind| initial.place(kind)) {
        debuggee.write_word(place, group ^ 1).map_err(failed)?;
    }
    let descriptor = debuggee.make_call(DUP, [0; 6]).map_err(failed)?;
    Ok((descriptor >= 0).then_some(descriptor))
}

/// The functions of the kernel's object that tell what is another at each moment.
pub(super) fn moment(debuggee: &Debuggee, initial: &Initial) -> Result<Vec<(u64, &'static str)>, NotTaken> {
    let Some(vdso) = initial.value(stack::VDSO) else { return Ok(vec![]) };
    let module = Module::at(debuggee, vdso)?;
    let mut found = vec![];
    for name in MOMENT {
        let address = module.function(debuggee, &format!("__vdso_{name}"))?;
        found.extend(address.map(|address| (address, name)));
    }
    Ok(found)
}

/// A take of the same program of which there are only the constants of its loader, as they are when it is about to load
/// libraries. It has read by then what it is told by the environment, and has run no code but its own.
///
/// # Errors
/// It could not be held here and now, or does not come so far.
pub fn unbound(request: &Request, like: &Taken) -> Result<Taken, NotTaken> {
    let _one_cpu = settle::keep_to_one_cpu(&request.program);
    let mut debuggee = hold(request)?;
    let base = Initial::of(&debuggee)?.value(stack::BASE).unwrap_or(0);
    let loaded = Module::at(&debuggee, base)?.function(&debuggee, LOADED)?;
    let loaded = loaded.ok_or_else(|| refused("its interpreter is not that of the GNU C library"))?;
    debuggee.set_breakpoint(loaded).map_err(failed)?;
    match debuggee.go_on_past_calls().map_err(failed)? {
        Stop::Breakpoint(_) => {}
        other => return Err(NotTaken::Failed(format!("its loader does not begin to load: {other:?}"))),
    }
    let auxiliary = &like.stack.auxiliary.1;
    let likes = auxiliary.iter().find(|pair| pair.0 == stack::BASE).map_or(0, |pair| pair.1);
    let moved = |region: &Region| {
        let address = region.address.wrapping_sub(likes).wrapping_add(base);
        let bytes = debuggee.bytes(address, region.bytes.len()).map_err(failed)?.into();
        Ok(Region { address, bytes, ..region.clone() })
    };
    let regions = constants_of_loader(like).map(moved).collect::<Result<_, NotTaken>>()?;
    let files = vec![];
    let (drawn, variables) = (vec![], vec![]);
    Ok(Taken { regions, files, drawn, variables, stack: like.stack.clone(), ..*like })
}
