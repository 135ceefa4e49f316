//! Starts a program under ptrace(2), and captures the state of its loader before that loads libraries.

use std::ffi::OsStr;

use steady_linux::debuggee::{Beginning, Debuggee, Stop};
use steady_linux::process::NotStarted;

use super::super::captured::{Captured, NotCaptured, Region, Request};
use super::super::compose::constants_of_loader;
use super::modules::Module;
use super::stack::{self, InitialStack};
use super::{LIMITS, LOADED, equalize, failed, refused};

/// The stack limit during exec, in bytes. The kernel places libraries this far below the end of the address space, away
/// from any stack and vDSO of a later launch.
const STACK_LIMIT: u64 = 8 << 40;
/// Functions of the vDSO whose results differ from launch to launch.
const VARYING: [&str; 5] = ["clock_gettime", "gettimeofday", "time", "getcpu", "getrandom"];

/// Starts the program, stopped at its first instruction.
pub(super) fn start_traced(request: &Request) -> Result<Debuggee, NotCaptured> {
    let beginning = Beginning { program: &request.program, stack_limit: STACK_LIMIT, limits: LIMITS };
    let filler = OsStr::new("x");
    let more = std::iter::repeat_n(filler, (request.arguments as usize).saturating_sub(1));
    let arguments = std::iter::once(request.name.as_os_str()).chain(more);
    let now = request.bind_now.then_some((OsStr::new("LD_BIND_NOW"), OsStr::new("1")));
    let preload = request.preloaded.as_ref().map(|library| (OsStr::new("LD_PRELOAD"), library.as_os_str()));
    let own = request.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    Debuggee::start(&beginning, arguments, own.chain(preload).chain(now)).map_err(|why| match why {
        NotStarted::NoProgram(error) => refused(format!("it cannot be executed: {error}")),
        NotStarted::NoChild(error) => NotCaptured::Failed(format!("no process could be started and traced: {error}")),
    })
}

/// Prepares the alternative capture: changes the groups in its auxiliary vector, and gives it one more descriptor, so
/// that files it opens have other numbers. Returns that descriptor.
pub(super) fn give_alternatives(debuggee: &mut Debuggee, initial: &InitialStack) -> Result<Option<i64>, NotCaptured> {
    const DUP: u64 = 32;
    for (place, group) in stack::GROUPS.into_iter().filter_map(|kind| initial.place(kind)) {
        debuggee.write_word(place, group ^ 1).map_err(failed)?;
    }
    let descriptor = debuggee.make_call(DUP, [0; 6]).map_err(failed)?;
    Ok((descriptor >= 0).then_some(descriptor))
}

/// Finds the functions of the vDSO whose results differ from launch to launch: their addresses and names.
pub(super) fn varying_functions(
    debuggee: &Debuggee,
    initial: &InitialStack,
) -> Result<Vec<(u64, &'static str)>, NotCaptured> {
    let Some(vdso) = initial.value(stack::VDSO) else { return Ok(vec![]) };
    let module = Module::at(debuggee, vdso)?;
    let mut found = vec![];
    for name in VARYING {
        let address = module.function(debuggee, &format!("__vdso_{name}"))?;
        found.extend(address.map(|address| (address, name)));
    }
    Ok(found)
}

/// Captures only the constants of the program's loader, when it is about to load libraries. By then the loader has read
/// its environment variables, and no other code has run.
///
/// # Errors
/// The program could not be traced here and now, or does not reach that state.
pub fn unbound(request: &Request, like: &Captured) -> Result<Captured, NotCaptured> {
    let _one_cpu = equalize::keep_to_one_cpu(&request.program);
    let mut debuggee = start_traced(request)?;
    let base = InitialStack::of(&debuggee)?.value(stack::BASE).unwrap_or(0);
    let loaded = Module::at(&debuggee, base)?.function(&debuggee, LOADED)?;
    let loaded = loaded.ok_or_else(|| refused("its loader does not belong to the GNU C library"))?;
    debuggee.set_breakpoint(loaded).map_err(failed)?;
    match debuggee.go_on_past_calls().map_err(failed)? {
        Stop::Breakpoint(_) => {}
        other => return Err(NotCaptured::Failed(format!("its loader did not begin to load libraries: {other:?}"))),
    }
    let auxiliary = &like.stack.auxiliary.1;
    let likes = auxiliary.iter().find(|pair| pair.0 == stack::BASE).map_or(0, |pair| pair.1);
    let moved = |region: &Region| {
        let address = region.address.wrapping_sub(likes).wrapping_add(base);
        let bytes = debuggee.bytes(address, region.bytes.len()).map_err(failed)?.into();
        Ok(Region { address, bytes, ..region.clone() })
    };
    let regions = constants_of_loader(like).map(moved).collect::<Result<_, NotCaptured>>()?;
    let files = vec![];
    let (drawn, variables) = (vec![], vec![]);
    Ok(Captured { regions, files, drawn, variables, stack: like.stack.clone(), ..*like })
}
