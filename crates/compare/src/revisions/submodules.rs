//! Submodules, which are checked out from the local repository, never from the network.

use std::path::{Path, PathBuf};

use steady_feature::Failure;
use steady_process::git;

use super::paths::quoted;

/// A submodule of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Submodule {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// The submodules of a tree: those that are both in its `.gitmodules` and in its index.
pub(super) fn all(tree: &Path) -> Result<Vec<Submodule>, Failure> {
    if !tree.join(".gitmodules").exists() {
        return Ok(vec![]);
    }
    let failed = |why: git::NoAnswer| Failure::Usage(format!("--rev: .gitmodules: {why}"));
    let index = git::ask(tree, ["ls-files", "-z", "--stage"]).map_err(failed)?;
    let index = index.to_string_lossy().into_owned();
    let links: Vec<&str> = index.split('\0').filter(|entry| entry.starts_with("160000 ")).collect();
    let is_linked = |path: &str| links.iter().any(|entry| entry.split_once('\t').is_some_and(|(_, at)| at == path));
    let words = ["config", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    // git config fails if nothing matches; there are no submodules then.
    let named = git::ask(tree, words).unwrap_or_default();
    Ok(read(&named.to_string_lossy()).into_iter().filter(|found| is_linked(&found.path.to_string_lossy())).collect())
}

fn read(config: &str) -> Vec<Submodule> {
    let one = |entry: &str| {
        let (key, path) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some(Submodule { name: name.to_owned(), path: path.into() })
    };
    config.split('\0').filter_map(one).collect()
}

/// The local repository with a submodule's commits: its checkout below `from`, or its directory below `modules` in the
/// repository. `None` if there is neither.
pub(super) fn source(common: &Path, from: &Path, name: &str, path: &Path) -> Option<PathBuf> {
    let checked_out = from.join(path);
    let stored = common.join("modules").join(name);
    if checked_out.join(".git").exists() { Some(checked_out) } else { stored.is_dir().then_some(stored) }
}

/// The arguments for git that check a submodule out from `source`. Settings are passed as options, so that git does not
/// write them to the configuration of the repository.
pub(super) fn update(name: &str, path: &Path, source: &Path) -> Result<String, Failure> {
    let url = quoted(source)?;
    let name = shell_words::quote(name);
    Ok(format!(
        "-c protocol.file.allow=always -c submodule.{name}.active=true -c submodule.{name}.update=checkout \
         -c submodule.{name}.url={url} submodule --quiet update --init -- {}",
        quoted(path)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_read() {
        let read = read("submodule.a.b.path\nlib/a b\0submodule.c.path\nc\0");
        assert_eq!(read[0], Submodule { name: "a.b".into(), path: "lib/a b".into() });
        assert_eq!(read[1], Submodule { name: "c".into(), path: "c".into() });
    }
}
