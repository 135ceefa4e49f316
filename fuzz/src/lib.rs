//! Properties that must hold for any input from outside, one function for each kind of input. They panic if a property
//! fails.
//!
//! `cargo +nightly fuzz run --features fuzzer NAME` searches for input that breaks one. Found inputs are stored in
//! `corpus/NAME`. The tests of this crate give them, and files of testdata, to the same functions.
#![forbid(unsafe_code)]

mod answers;
mod areas;
mod datagrams;
mod reports;

use std::str;

use steady_compare::{Compared, judge};
use steady_linux::{cgroup, exits, procfs, topology};
use steady_model::Nanos;
use steady_preload::card::{Card, HEADER_BYTES, checksum};
use steady_process::log;

pub use answers::answers;
pub use areas::areas;
pub use datagrams::datagrams;
pub use reports::reports;

/// Reads a log of a comparison, a load experiment or a suite, which a kill or a full disk may have cut off. Judges and renders
/// it.
pub fn log(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Some(record) = log::read(text) {
        reports::compared(&Compared(judge(record)));
    }
    if let Some(record) = steady_load::log::read(text) {
        reports::loaded(&steady_load::judged(record));
    }
    if let Some(record) = steady_bench::logged(text) {
        reports::suite(&record);
    }
}

/// Parses files of `/proc`, files of control groups, and the kernel's records of ended processes.
pub fn kernel(bytes: &[u8]) {
    let _ = exits::parse_task(bytes);
    let _ = procfs::parse_maps(bytes);
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = procfs::parse_process_stat(text);
    let _ = procfs::parse_storage_io(text);
    let _ = procfs::parse_schedstat(text);
    let _ = procfs::parse_cpu_times(text);
    let _ = procfs::parse_pressure_total(text);
    let _ = procfs::parse_memory_total(text);
    let _ = procfs::parse_load_average(text);
    let _ = procfs::parse_cpu_model(text);
    let _ = procfs::parse_process_usage(text, Nanos(10_000_000));
    let _ = procfs::parse_switches(text);
    let _ = cgroup::parse_memberships(text);
    let _ = cgroup::parse_mounts(text);
    let _ = cgroup::parse_cpu_max(text);
    let _ = cgroup::parse_throttling(text, Nanos(100_000_000));
    if let Ok(cpus) = topology::parse_cpu_list(text) {
        assert!(cpus.is_sorted_by(|a, b| a < b), "CPUs out of order, or twice: {cpus:?}");
    }
}

/// Parses the card of a snapshot, which the hook reads inside other programs.
pub fn cards(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    // The fuzzer would not find a valid checksum by mutation.
    let sum = checksum(&bytes).to_ne_bytes();
    if let Some(place) = bytes.get_mut(HEADER_BYTES - sum.len()..HEADER_BYTES) {
        place.copy_from_slice(&sum);
    }
    let Some(card) = Card::parse(&bytes) else { return };
    // Formatting reads every field.
    let _ = format!("{card:?}");
}
