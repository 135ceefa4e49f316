//! Finds the control groups of this process and their mounts.

use steady_model::{Absent, Reading};

use crate::Root;

/// A version of the control group interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 1: one hierarchy per controller.
    V1,
    /// Version 2: one hierarchy for all controllers.
    V2,
}

/// A line of `/proc/self/cgroup`: the group of this process in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The controllers of the hierarchy; none for version 2.
    pub controllers: Vec<String>,
    /// Path of the group within the hierarchy, as seen in this process's namespace.
    pub path: String,
}

/// Parses the text of `/proc/self/cgroup`. Skips malformed lines.
pub fn parse_memberships(text: &str) -> Vec<Membership> {
    let membership = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        path.starts_with('/').then(|| Membership { controllers, path: path.to_owned() })
    };
    text.lines().filter_map(membership).collect()
}

/// A mounted hierarchy, or part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Version of its interface.
    pub version: Version,
    /// The group of the hierarchy that is mounted.
    pub root: String,
    /// Directory of the mount point.
    pub point: String,
    /// Mount options; in version 1 they include the controllers.
    pub options: Vec<String>,
}

/// Parses the control group mounts in the text of `/proc/self/mountinfo`. Skips malformed lines.
pub fn parse_mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let options = kind.nth(1)?.split(',').map(str::to_owned).collect();
    let mut place = place.split(' ').skip(3);
    Some(Mount { version, root: unescape(place.next()?), point: unescape(place.next()?), options })
}

/// Replaces the escapes of mountinfo: it writes blanks, tabs, newlines and backslashes as `\` and three octal digits.
fn unescape(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut plain = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        let code = piece.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&piece[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(piece);
            }
        }
    }
    plain
}

/// The control group that controls this process's CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuGroup {
    /// Version of its interface.
    pub version: Version,
    /// Directory of the group and the directories above it up to the mount point, its own first.
    pub directories: Vec<String>,
}

/// Finds the group that controls this process's CPU time. This is the group of the version 1 controller `cpu` if that
/// is in use, else the group of version 2.
///
/// In a container, only the mounted part of the hierarchy is visible. Limits set above that part apply but are not
/// found. Returns the reason if no hierarchy is mounted or this process's group is outside of the mounted part.
pub fn cpu_group(root: &Root) -> Reading<CpuGroup> {
    let memberships = parse_memberships(&root.read("/proc/self/cgroup")?);
    let (version, path) = membership_for_cpu(&memberships)?;
    let directories = directories_of(root, path, |mount| mount.serves(version, "cpu"))?;
    Ok(CpuGroup { version, directories })
}

/// Returns the directory of this process's group in the hierarchy of version 2, or in the version 1 hierarchy with
/// `controller`. Also returns the version 1 controllers that share this hierarchy.
pub(super) fn own_directory(root: &Root, version: Version, controller: &str) -> Reading<(String, Vec<String>)> {
    let memberships = parse_memberships(&root.read("/proc/self/cgroup")?);
    let ours = |group: &&Membership| match version {
        Version::V1 => group.controllers.iter().any(|name| name == controller),
        Version::V2 => group.controllers.is_empty(),
    };
    let none = || match version {
        Version::V1 => {
            Absent::because(format!("this machine has no control group of version 1 with the controller {controller}"))
        }
        Version::V2 => Absent::because("this machine has no control groups of version 2"),
    };
    let group = memberships.iter().find(ours).ok_or_else(none)?;
    let mut directories = directories_of(root, &group.path, |mount| mount.serves(version, controller))?;
    Ok((directories.swap_remove(0), group.controllers.clone()))
}

/// Returns the directories of the group `path` in the first mount that matches `serves` and shows the group: its own,
/// then those above.
fn directories_of(root: &Root, path: &str, serves: impl Fn(&Mount) -> bool) -> Reading<Vec<String>> {
    let mounts = parse_mounts(&root.read("/proc/self/mountinfo")?);
    let mut serving: Vec<&Mount> = mounts.iter().filter(|mount| serves(mount)).collect();
    if serving.is_empty() {
        return Err(Absent::because("the control groups that control CPU time are not mounted"));
    }
    // If several parts of the hierarchy are mounted, prefer the mount that shows most of it.
    serving.sort_by_key(|mount| mount.root.len());
    let places: Vec<Vec<String>> = serving.iter().filter_map(|mount| mount.directories(path)).collect();
    if places.is_empty() {
        return Err(Absent::because("this process's control group is outside of the mounted hierarchy"));
    }
    let found = places.into_iter().find(|directories| directories.first().is_some_and(|own| root.has(own)));
    found.ok_or_else(|| Absent::because(format!("this process's control group {path} has no directory")))
}

fn membership_for_cpu(memberships: &[Membership]) -> Reading<(Version, &str)> {
    let legacy = memberships.iter().find(|group| group.controllers.iter().any(|name| name == "cpu"));
    let unified = || memberships.iter().find(|group| group.controllers.is_empty());
    match (legacy, unified()) {
        (Some(group), _) => Ok((Version::V1, &group.path)),
        (None, Some(group)) => Ok((Version::V2, &group.path)),
        (None, None) => Err(Absent::because("/proc/self/cgroup has no control group that controls CPU time")),
    }
}

impl Mount {
    /// Returns whether it shows the hierarchy of version 2, or the version 1 hierarchy with `controller`.
    fn serves(&self, version: Version, controller: &str) -> bool {
        self.version == version && (version == Version::V2 || self.options.iter().any(|option| option == controller))
    }

    /// Returns the directory of group `path` and those above it, the group's own first; `None` if the group is outside
    /// of the mount.
    pub(crate) fn directories(&self, path: &str) -> Option<Vec<String>> {
        let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let (top, group) = (names(&self.root), names(path));
        let below = group.strip_prefix(top.as_slice())?;
        if below.iter().any(|name| name == "..") {
            return None;
        }
        let point = self.point.trim_end_matches('/');
        let directory = |depth: usize| below[..depth].iter().fold(point.to_owned(), |path, name| path + "/" + name);
        Some((0..=below.len()).rev().map(directory).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn groups_are_found_in_every_kind_of_hierarchy() {
        let own = |name| {
            let group = cpu_group(&tree(name)).unwrap();
            (group.version, group.directories[0].clone(), group.directories.len())
        };
        assert_eq!(own("vm"), (Version::V1, "/sys/fs/cgroup/cpu".into(), 1));
        let session = "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope";
        assert_eq!(own("laptop-smt"), (Version::V2, session.into(), 4));
        assert_eq!(own("container-v2"), (Version::V2, "/sys/fs/cgroup".into(), 1));
        assert_eq!(own("cgroup-v1"), (Version::V1, "/sys/fs/cgroup/cpu,cpuacct/job".into(), 2));
        assert_eq!(own("cgroup-hybrid"), (Version::V1, "/sys/fs/cgroup/cpu,cpuacct/system.slice/ci.service".into(), 3));
    }

    #[test]
    fn groups_outside_of_the_mount_are_not_found() {
        for unsound in UNSOUND {
            assert!(cpu_group(&tree(unsound)).is_err(), "{unsound}");
        }
        let mount = Mount { version: Version::V2, root: "/docker/a".into(), point: "/cg".into(), options: vec![] };
        assert_eq!(mount.directories("/docker/a/b/c").unwrap(), ["/cg/b/c", "/cg/b", "/cg"]);
        assert_eq!(mount.directories("/docker/ab"), None, "whole names are compared");
        assert_eq!(mount.directories("/"), None);
        assert_eq!(mount.directories("/docker/a/../b"), None);
    }

    #[test]
    fn octal_escapes_are_resolved() {
        assert_eq!(unescape(r"/a\040b\134c"), r"/a b\c");
        assert_eq!(unescape(r"/a\0\9é\777"), r"/a\0\9é\777");
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|[0-9:,/\\\\.]| - cgroup2? | - |\n)*") {
            let groups = parse_memberships(&text);
            for mount in parse_mounts(&text) {
                for group in &groups {
                    let _ = mount.directories(&group.path);
                }
            }
        }

        #[test]
        fn no_mount_makes_it_panic(root in "(/|\\PC|\\.\\.)*", path in "(/|\\PC|\\.\\.|[0-7\\\\])*") {
            let line = format!("32 31 0:29 {root} {path} rw - cgroup2 cgroup2 rw");
            let _ = parse_mount(&line).map(|mount| mount.directories(&path));
        }
    }
}
