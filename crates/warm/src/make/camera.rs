//! Who takes programs: the one effect that making them warm has besides files, and so the one that tests put another for.

use rustix::process::{Resource, getrlimit};
use steady_linux::procfs::parse_schedstat;
use steady_linux::{Root, clock, process};
use steady_model::{Nanos, Reading};

use crate::compose::compose;
use crate::image::{Image, image};
use crate::taken::{NotTaken, Refusal, Request, Taken};

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
use crate::compose::shows_binding;

/// What capturing programs has used so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// CPU time of this process and of the programs that were captured.
    pub cpu: Nanos,
    /// How long this thread, or what it captured, was ready to run and had no CPU.
    pub waited: Reading<Nanos>,
}

/// Takes programs, and makes images of what was taken.
pub trait Camera {
    /// What all that was done so far has used.
    fn used(&self) -> Used;

    /// Takes a program at its entry.
    ///
    /// # Errors
    /// Why there is no take.
    fn take(&mut self, request: &Request) -> Result<Taken, NotTaken>;

    /// A take in which functions were not bound at once. What it shows of the loader's constants is enough, in a program that was
    /// taken before with functions bound.
    ///
    /// # Errors
    /// Why there is no take.
    fn unbound(&mut self, request: &Request, _like: &Taken) -> Result<Taken, NotTaken> {
        self.take(request)
    }

    /// Two files that can be executed: of two takes, and of a third in which functions were not bound at once.
    ///
    /// # Errors
    /// What cannot be explained in them.
    fn images(&mut self, takes: [&Taken; 2], unbound: &Taken) -> Result<[Image; 2], Refusal>;
}

/// Takes real programs under ptrace(2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced;

impl Camera for Traced {
    fn used(&self) -> Used {
        let captured = process::children_usage().map_or(Nanos::ZERO, |usage| usage.user + usage.system);
        let text = Root::default().read("/proc/thread-self/schedstat");
        let cpu = clock::process_cpu() + captured;
        // The two run in turns on one CPU, so that the programs wait as long for each of their CPU time.
        let waited = text.and_then(|text| parse_schedstat(&text)).map(|own| {
            let share = own.run_delay.0 as f64 / own.cpu.0.max(1) as f64;
            Nanos((share * cpu.0 as f64) as u64)
        });
        Used { cpu, waited }
    }

    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn take(&mut self, request: &Request) -> Result<Taken, NotTaken> {
        crate::take::take(request)
    }

    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn unbound(&mut self, request: &Request, like: &Taken) -> Result<Taken, NotTaken> {
        match crate::take::unbound(request, like)? {
            early if shows_binding(like, &early) => Ok(early),
            // What that loader does later tells it from other words.
            _ => self.take(request),
        }
    }

    #[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
    fn take(&mut self, _: &Request) -> Result<Taken, NotTaken> {
        Err(NotTaken::Failed("programs are taken on x86-64 with the GNU C library only".to_owned()))
    }

    fn images(&mut self, [first, second]: [&Taken; 2], unbound: &Taken) -> Result<[Image; 2], Refusal> {
        let (first, second) = compose(first, second, Some(unbound))?;
        Ok([image(&first)?, image(&second)?])
    }
}

const MIB: u64 = 1 << 20;
/// Libraries lie so far below the stack that one of this limit does not reach them.
const HIGHEST: u64 = 1 << 40;
const PAGE: u64 = 4096;

/// Another limit on the stack than this process's own, for one of the takes, so that it is found where the C library keeps the
/// limit; none where its own is none, or too small to be told from
/// what the C library makes of small ones.
pub(super) fn other_stack_limit() -> Option<u64> {
    let own = getrlimit(Resource::Stack).current?;
    ((2 * MIB..=HIGHEST).contains(&own) && own.is_multiple_of(PAGE)).then(|| own - MIB)
}

/// With which limits what was taken so may be started.
pub(super) fn stack_limits() -> [u64; 2] {
    match other_stack_limit() {
        Some(_) => [MIB, HIGHEST],
        None => [getrlimit(Resource::Stack).current.unwrap_or(u64::MAX); 2],
    }
}
