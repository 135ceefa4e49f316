//! The libraries and the code that are loaded into other programs. They are built separately by the build script,
//! without the standard library, and embedded as bytes, so that `steady` is one file.
//!
//! - `warm/hook`: a library that starts programs from their snapshots;
//! - `warm/stub`: the first code of a snapshot. Both share `warm/shared` with the code that writes snapshots;
//! - `locks/watch`: a library that counts lock operations. It shares `locks/shared` with the code that reads the
//!   counts;
//! - `rulers/library`: a library that services load to run a ruler before a request. The same rulers are compiled in
//!   here for the agent.
//!
//! The bytes of a part that is not available for this target are empty.
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

/// The hook: a shared object for LD_PRELOAD. Empty if not [`AVAILABLE`].
pub static HOOK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hook.so"));

/// The watcher: a shared object for LD_PRELOAD that counts lock operations in the area that [`area::VARIABLE`] names.
/// Empty if not [`AVAILABLE`].
pub static WATCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watcher.so"));

/// The first code of a snapshot: position-independent, without relocations, entered at [`STUB_ENTRY`]. The
/// [`table::Table`] at the next multiple of [`table::ALIGNMENT`] controls it. Empty if not [`AVAILABLE`].
pub static STUB: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stub.bin"));

/// The entry point of the [`STUB`], in bytes from its start.
pub const STUB_ENTRY: u64 = include!(concat!(env!("OUT_DIR"), "/stub_entry.rs"));

/// The library of [`rulers`] with a C interface: a shared object, to be written as [`RULERS_NAME`]. Empty if it could
/// not be linked when this crate was built.
pub static RULERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rulers.so"));

/// The file name of the library.
pub const RULERS_NAME: &str = "libsteady_rulers.so";

/// The files that belong in the library's directory, by name: the C header, and the file for pkg-config, which refers
/// to its own directory.
pub const RULERS_BESIDE: [(&str, &str); 2] = [
    ("steady_rulers.h", include_str!("../rulers/steady_rulers.h")),
    ("steady_rulers.pc", include_str!("../rulers/steady_rulers.pc")),
];

/// Whether the hook, the stub and the watcher are available for this target: x86-64 with the GNU C library.
pub const AVAILABLE: bool = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_built_exactly_if_available() {
        assert_eq!(AVAILABLE, !HOOK.is_empty());
        assert_eq!(AVAILABLE, !WATCHER.is_empty());
        assert_eq!(AVAILABLE, !STUB.is_empty());
        assert!(!AVAILABLE || HOOK.starts_with(b"\x7fELF"));
        assert!(!AVAILABLE || STUB_ENTRY < STUB.len() as u64);
    }
}
