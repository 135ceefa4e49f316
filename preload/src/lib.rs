//! What is loaded into other programs: built here by itself, without the standard library, and embedded as bytes, so that
//! the binary is one file.
//!
//! `warm/hook` is a library that starts programs from their snapshots, `warm/stub` the first code of such a snapshot.
//! Both and the side that writes for them share `warm/shared`. `locks/watch` is a library that counts what is done with locks;
//! it shares `locks/shared` with who reads that. `rulers/library` is what services load to run a ruler before a request; the same
//! rulers are compiled in here too, for the agent. Where there is none for this machine, the bytes are empty.
#![allow(unsafe_code)]

#[path = "../locks/shared/area.rs"]
pub mod area;
#[path = "../warm/shared/card.rs"]
pub mod card;
#[path = "../warm/shared/counts.rs"]
mod counts;
mod draft;
#[path = "../warm/shared/identity.rs"]
pub mod identity;
#[path = "../warm/shared/reader.rs"]
mod reader;
#[path = "../rulers/shared/mod.rs"]
pub mod rulers;
#[path = "../warm/shared/table.rs"]
pub mod table;

pub use draft::{CardDraft, WarmDraft};

/// The library that is preloaded into shells and the like: a shared object; empty where there is none for this machine.
pub static HOOK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hook.so"));

/// The library that counts what a program does with its locks, where [`area::VARIABLE`] tells it where: a shared object to be
/// preloaded; empty likewise.
pub static WATCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watcher.so"));

/// The first code of a snapshot: position-independent, without relocations, entered at [`STUB_ENTRY`]; empty likewise.
/// What it does is said by the [`table::Table`] that follows it at the next multiple of [`table::ALIGNMENT`].
pub static STUB: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stub.bin"));

/// Where in the [`STUB`] it is entered, in bytes from its start.
pub const STUB_ENTRY: u64 = include!(concat!(env!("OUT_DIR"), "/stub_entry.rs"));

/// The library of [`rulers`] behind a C interface: a shared object, to be written as [`RULERS_NAME`]; empty where it could not be
/// linked when this was built.
pub static RULERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rulers.so"));

/// The name of the library's file.
pub const RULERS_NAME: &str = "libsteady_rulers.so";

/// What goes beside it, by names: the header for C, and what pkg-config reads, which finds the others in its own folder.
pub const RULERS_BESIDE: [(&str, &str); 2] = [
    ("steady_rulers.h", include_str!("../rulers/steady_rulers.h")),
    ("steady_rulers.pc", include_str!("../rulers/steady_rulers.pc")),
];

/// Whether programs can be kept warm, and their locks watched, on this kind of machine: x86-64 with the GNU C library.
pub const AVAILABLE: bool = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_was_built_where_it_can_be_used() {
        assert_eq!(AVAILABLE, !HOOK.is_empty());
        assert_eq!(AVAILABLE, !WATCHER.is_empty());
        assert_eq!(AVAILABLE, !STUB.is_empty());
        assert!(!AVAILABLE || HOOK.starts_with(b"\x7fELF"));
        assert!(!AVAILABLE || STUB_ENTRY < STUB.len() as u64);
    }
}
