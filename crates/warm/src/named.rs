//! The programs that a command's words, and the script that it runs, name.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::own::absolute;

/// Of longer scripts the beginning is read.
const LONGEST: u64 = 1 << 20;

/// Shells, whose words may be scripts.
const SHELLS: [&str; 6] = ["sh", "dash", "bash", "ksh", "zsh", "mksh"];

/// What shells do themselves, though there are programs of that name; and their own words.
const BUILT_IN: [&str; 40] = [
    "[", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done", "echo", "elif", "else", "esac",
    "eval", "exec", "exit", "export", "false", "fg", "fi", "for", "getopts", "hash", "if", "in", "kill", "printf",
    "pwd", "read", "return", "set", "shift", "test", "then", "time", "true", "ulimit", "umask", "while",
];

/// The programs, by absolute paths: the command's own first, each once. `find` finds the program that a word names.
pub(crate) fn programs(program: &Path, words: &[OsString], find: impl Fn(&OsStr) -> Option<PathBuf>) -> Vec<PathBuf> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut named: Vec<String> = words.iter().skip(1).map(text).collect();
    let shell = program.file_name().and_then(OsStr::to_str).is_some_and(|name| SHELLS.contains(&name));
    let script = words.iter().skip(1).filter(|_| shell).map(PathBuf::from).find(|word| word.is_file());
    named.extend(script.as_deref().or((!shell).then_some(program)).and_then(script_text));
    let mut found = vec![absolute(program)];
    let tokens: BTreeSet<&str> = named.iter().flat_map(|text| text.split(|letter| !of_a_name(letter))).collect();
    let tokens = tokens.into_iter().filter(|token| token.len() > 1 && !BUILT_IN.contains(token));
    let files = tokens.filter_map(|token| find(OsStr::new(token))).filter(|file| may_be_executed(file));
    for file in files.map(|file| absolute(&file)) {
        if !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

fn of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_-+./[".contains(letter)
}

/// The text of a script; nothing where the file is none.
fn script_text(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    (!text.contains('\0')).then_some(text)
}

fn may_be_executed(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vec<String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let find = |word: &OsStr| Some(Path::new("/usr/bin").join(word)).filter(|file| file.is_file());
        let found = programs(&find(&words[0]).unwrap(), &words, find);
        found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn programs_are_found_in_words_and_scripts() {
        let found = of(&["sh", "-c", "for i in 1 2; do cat x | sed s/a/b/; echo $(basename $i); done"]);
        assert_eq!(found, ["sh", "basename", "cat", "sed"]);
        let script = std::env::temp_dir().join(format!("steady-named-{}", std::process::id()));
        std::fs::write(&script, "#!/bin/sh\nif grep -q x y; then head -1 z; fi\n").unwrap();
        let found = of(&["sh", script.to_str().unwrap()]);
        std::fs::remove_file(script).unwrap();
        assert!(["sh", "grep", "head"].iter().all(|name| found.contains(&(*name).to_owned())), "{found:?}");
        assert!(!found.contains(&"if".to_owned()));
    }
}
