//! `steady signature`: file after file, each told when it is done.

mod bar;
#[path = "../../../signature/src/lib.rs"]
mod bench;

use std::path::Path;
use std::thread;

use steady_experiments::signature::{Asked, FileError, sign};
use steady_model::{Absent, Bytes, SignatureAllocator, SignatureCrew, SignatureFile, SignatureReport};

use crate::failure::{Failure, notice};
use crate::flags::{FormatFlag, SignatureCommands, SignatureFlags};
use crate::letters::readable;
use crate::output::{Destinations, print};

use bar::FileBar;

/// The signatures of files; the exit status.
pub(crate) fn run(flags: &SignatureFlags) -> Result<u8, Failure> {
    if let Some(SignatureCommands::Bench(flags)) = &flags.question {
        return bench::run(flags);
    }
    let destinations = Destinations::open(&flags.output, false)?;
    let asked = asked(flags);
    let pool = (asked.allocator == SignatureAllocator::Pool).then_some(Bytes(asked.pool as u64));
    let mut report = SignatureReport { allocator: asked.allocator, pool, stats: flags.stats, files: vec![] };
    let as_text = flags.output.format == FormatFlag::Text;
    let mut status = 0;
    for path in &flags.files {
        let name = path.to_string_lossy().into_owned();
        let signed = one(path, &name, asked, flags.output.quiet);
        if let Err(error) = &signed {
            notice(&format!("'{}': {error}", readable(steady_report::signature_name(&name))));
            status = status.max(if error.is_of_the_file() { 2 } else { 125 });
        }
        let signed = signed.map_err(|error| Absent::because(error.to_string()));
        let file = SignatureFile { name, signed };
        if as_text && !flags.output.quiet {
            let text = steady_report::signature_line(&file, flags.files.len() > 1, flags.stats);
            printed(&readable(text))?;
        }
        report.files.push(file);
    }
    if as_text { destinations.write_files(&report) } else { destinations.write(&report) }?;
    Ok(status)
}

fn one(path: &Path, name: &str, asked: Asked, quiet: bool) -> Result<steady_model::Signed, FileError> {
    let mut bar = FileBar::new(name, quiet);
    let path = (path != Path::new("-")).then_some(path);
    sign(path, asked, &mut |bytes, of| bar.show(bytes, of))
}

fn asked(flags: &SignatureFlags) -> Asked {
    let threads = flags.threads.map(SignatureCrew::Threads);
    let processes = flags.processes.map(SignatureCrew::Processes);
    let single = flags.single.then_some(SignatureCrew::Single);
    Asked {
        allocator: flags.allocator.into(),
        crew: threads.or(processes).or(single),
        pool: flags.pool_bytes,
        cpus: cpus(),
    }
}

/// How many CPUs' worth of time can be had at once: what control groups allow is in it.
fn cpus() -> u32 {
    thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

fn printed(text: &str) -> Result<(), Failure> {
    print(text.as_bytes()).map_err(|error| Failure::Own(format!("standard output: {error}")))
}
