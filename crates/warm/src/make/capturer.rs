//! The trait for capturing programs, its implementation by ptrace(2), and stack limits of captures. Tests have a fake.

use rustix::process::{Resource, getrlimit};
use steady_linux::procfs::parse_schedstat;
use steady_linux::{Root, clock, process};
use steady_model::{Nanos, Reading};

use crate::captured::{Captured, NotCaptured, Refusal, Request};
use crate::compose::compose;
use crate::image::{Image, image};

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
use crate::compose::shows_binding;

/// The time that capturing programs has used so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// CPU time of this process and of the programs that were captured.
    pub cpu: Nanos,
    /// How long this thread and the captured programs were runnable and waited for a CPU.
    pub waited: Reading<Nanos>,
}

/// Captures programs, and creates images from the captures.
pub trait Capturer {
    /// Returns the time used so far.
    fn used(&self) -> Used;

    /// Captures a program at its entry point.
    ///
    /// # Errors
    /// Why there is no capture.
    fn capture(&mut self, request: &Request) -> Result<Captured, NotCaptured>;

    /// Captures a program without immediate binding of functions. `like` is a capture of the same program with
    /// immediate binding. Only the loader's constants are needed.
    ///
    /// # Errors
    /// Why there is no capture.
    fn unbound(&mut self, request: &Request, _like: &Captured) -> Result<Captured, NotCaptured> {
        self.capture(request)
    }

    /// Creates two executables from two captures, and from a third one with late binding.
    ///
    /// # Errors
    /// A difference between the captures that has no known reason.
    fn images(&mut self, captures: [&Captured; 2], unbound: &Captured) -> Result<[Image; 2], Refusal>;
}

/// Captures real programs by ptrace(2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced;

impl Capturer for Traced {
    fn used(&self) -> Used {
        let of_programs = process::children_usage().map_or(Nanos::ZERO, |usage| usage.user + usage.system);
        let text = Root::default().read("/proc/thread-self/schedstat");
        let cpu = clock::process_cpu() + of_programs;
        // This thread and the captured program run alternately on one CPU, so they wait the same share of their CPU
        // time.
        let waited = text.and_then(|text| parse_schedstat(&text)).map(|own| {
            let share = own.run_delay.0 as f64 / own.cpu.0.max(1) as f64;
            Nanos((share * cpu.0 as f64) as u64)
        });
        Used { cpu, waited }
    }

    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn capture(&mut self, request: &Request) -> Result<Captured, NotCaptured> {
        crate::capture::capture(request)
    }

    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn unbound(&mut self, request: &Request, like: &Captured) -> Result<Captured, NotCaptured> {
        match crate::capture::unbound(request, like)? {
            early if shows_binding(like, &early) => Ok(early),
            // The early state does not show the word, so make a whole capture.
            _ => self.capture(request),
        }
    }

    #[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
    fn capture(&mut self, _: &Request) -> Result<Captured, NotCaptured> {
        Err(NotCaptured::Failed("programs can be captured on x86-64 with the GNU C library only".to_owned()))
    }

    fn images(&mut self, [first, second]: [&Captured; 2], unbound: &Captured) -> Result<[Image; 2], Refusal> {
        let (first, second) = compose(first, second, Some(unbound))?;
        Ok([image(&first)?, image(&second)?])
    }
}

const MIB: u64 = 1 << 20;
/// The largest stack limit for snapshots, in bytes. A stack of this size does not reach the libraries.
const HIGHEST: u64 = 1 << 40;
const PAGE: u64 = 4096;

/// Returns a stack limit other than this process's own, for one of the captures. The comparison then finds where the C
/// library stores the limit. Returns `None` unless this process's limit is a whole number of pages from 2 MiB to 1 TiB,
/// because the C library replaces small limits.
pub(super) fn other_stack_limit() -> Option<u64> {
    let own = getrlimit(Resource::Stack).current?;
    ((2 * MIB..=HIGHEST).contains(&own) && own.is_multiple_of(PAGE)).then(|| own - MIB)
}

/// Returns the range of stack limits with which the snapshots can be started.
pub(super) fn stack_limits() -> [u64; 2] {
    match other_stack_limit() {
        Some(_) => [MIB, HIGHEST],
        None => [getrlimit(Resource::Stack).current.unwrap_or(u64::MAX); 2],
    }
}
