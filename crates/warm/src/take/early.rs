//! What the loader has noted before it loads anything: much sooner to be had than a whole take.

use steady_linux::debuggee::Stop;

use super::super::compose::constants_of_loader;
use super::super::taken::{NotTaken, Region, Request, Taken};
use super::modules::Module;
use super::stack::{self, Initial};
use super::start::hold;
use super::{LOADED, failed, refused, settle};

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
