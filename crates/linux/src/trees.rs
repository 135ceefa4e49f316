//! Recorded trees of `/proc` and `/sys`, for tests.

use crate::Root;

/// Returns the tree `testdata/trees/NAME`.
pub(crate) fn tree(name: &str) -> Root {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/trees");
    let root = std::path::Path::new(path).join(name);
    assert!(root.is_dir(), "no tree '{name}'");
    Root::at(root)
}

/// Returns the recorded message `testdata/netlink/NAME.bin`.
pub(crate) fn netlink(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/netlink");
    std::fs::read(std::path::Path::new(path).join(format!("{name}.bin"))).unwrap()
}

/// Trees of whole machines, in which every file has valid content.
pub(crate) const SOUND: [&str; 11] = [
    "vm",
    "laptop-smt",
    "hybrid-intel",
    "container-v2",
    "cgroup-v1",
    "cgroup-hybrid",
    "no-psi",
    "container-64",
    "offline",
    "affinity",
    "hybrid-unified",
];

/// Trees with broken, missing or truncated files.
pub(crate) const UNSOUND: [&str; 3] = ["broken", "missing", "truncated"];
