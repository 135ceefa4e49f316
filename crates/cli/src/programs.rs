//! Resolves typed commands: splits them into words as a shell does, and finds their programs as execvp(3) does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use steady_feature::attended::quoted;
use steady_feature::{Failure, typed};
use steady_model::Command;

/// The command in `text`, started in `directory`. With `shell`, the shell gets the whole text.
pub(crate) fn command(text: &str, shell: Option<&str>, directory: &Path) -> Result<Command, Failure> {
    let argv = typed::words(text, shell)?;
    let program = find(argv.first().map_or("", String::as_str), directory);
    let program = program.map_err(|why| match shell {
        Some(_) => Failure::Usage(format!("--shell: {why}")),
        None if argv.len() == 1 => Failure::Usage(format!("{why}{}", hint(text, &argv))),
        None => Failure::Usage(format!("'{text}': {why}{}", hint(text, &argv))),
    })?;
    let interpreter = typed::interpreter(&program, |name| find(name.to_str()?, Path::new("")).ok());
    Ok(Command { name: text.trim().to_owned(), argv, program, interpreter, ..Command::default() })
}

/// The file that execvp(3) would execute for the first word of a command.
pub(crate) fn executed(word: &OsStr) -> Result<PathBuf, Failure> {
    let name = word.to_string_lossy();
    if name.is_empty() {
        return Err(Failure::NotFound("the name of the command is empty".to_owned()));
    }
    // A path is not checked here, because executing it gives the exact error.
    if name.contains('/') {
        return Ok(PathBuf::from(word));
    }
    let files: Vec<PathBuf> = in_path().map(|folder| folder.join(word)).filter(|file| file.is_file()).collect();
    match files.iter().find(|file| executable(file).is_ok()) {
        Some(file) => Ok(file.clone()),
        None if files.is_empty() => Err(Failure::NotFound(format!("no program '{name}' in PATH{}", quoted(&name)))),
        None => Err(Failure::NotExecutable(format!("'{}' is not executable (chmod +x)", files[0].display()))),
    }
}

/// The command of a command line that runs in place of `steady`.
pub(crate) fn attended(words: &[OsString]) -> Result<Command, Failure> {
    let argv: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = executed(words.first().map_or("".as_ref(), |word| word.as_os_str()))?;
    Ok(Command { name: joined(&argv), argv, program, ..Command::default() })
}

/// The words of a command as one line, quoted so that a shell splits it into the same words.
pub(crate) fn joined(argv: &[String]) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-+=:,./%".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => shell_words::quote(word).into_owned(),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The folders of PATH.
fn in_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

fn hint(text: &str, argv: &[String]) -> String {
    let first = argv.first().map_or("", String::as_str);
    if typed::SHELL_COMMANDS.contains(&first) {
        format!("; '{first}' is a command of the shell: add --shell")
    } else if first.contains('=') || typed::for_a_shell(text).next().is_some() {
        "; the command runs without a shell, add --shell for pipes, redirections and variables".to_owned()
    } else {
        String::new()
    }
}

/// The file to execute: the word itself if it contains a slash, otherwise the first executable in PATH.
fn find(word: &str, directory: &Path) -> Result<PathBuf, String> {
    if word.contains('/') {
        let path = directory.join(word);
        return executable(&path).map(|()| path);
    }
    let mut found = in_path().map(|folder| folder.join(word));
    let file = found.find(|file| executable(file).is_ok());
    file.ok_or_else(|| {
        // A shell does not look in the current directory either.
        let is_here = !word.is_empty() && executable(&directory.join(word)).is_ok();
        let here = if is_here { format!("; for the file in this directory, write ./{word}") } else { String::new() };
        format!("no program '{word}' in PATH{here}")
    })
}

fn executable(path: &Path) -> Result<(), String> {
    let name = path.display();
    let metadata = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("no file '{name}'"),
        _ => format!("'{name}': {error}"),
    })?;
    if metadata.is_dir() {
        return Err(format!("'{name}' is a directory"));
    }
    access(path, Access::EXEC_OK).map_err(|_| format!("'{name}' is not executable (chmod +x)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, shell: Option<&str>) -> String {
        command(text, shell, Path::new("")).unwrap_err().to_string()
    }

    #[test]
    fn words_are_split_as_in_a_shell() {
        let found = command("sh -c 'echo \"a b\"' c\\ d", None, Path::new("")).unwrap();
        assert_eq!(found.argv, ["sh", "-c", "echo \"a b\"", "c d"]);
        assert!(found.program.is_absolute());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in ".*|[a-z /'\"\\\\|;=$]*") {
            if let Ok(found) = command(&text, None, Path::new("")) {
                proptest::prop_assert!(!found.argv.is_empty() && found.program.metadata().is_ok());
            }
            let whole = command(&text, Some("sh"), Path::new(""));
            proptest::prop_assert_eq!(whole.is_ok(), !text.trim().is_empty());
        }
    }

    #[test]
    fn a_shell_gets_the_whole_command() {
        let found = command("a | b", Some("sh -e"), Path::new("")).unwrap();
        assert_eq!(found.argv, ["sh", "-e", "-c", "a | b"]);
    }

    #[test]
    fn errors_name_the_remedy() {
        assert!(message("", None).contains("empty"));
        assert!(message("  ", Some("sh")).contains("empty"));
        assert!(message("sh 'x", None).contains("quote"), "{}", message("sh 'x", None));
        assert!(message("no-such-program x", None).contains("in PATH"));
        assert_eq!(message("./old", Some("no-such-shell")), "--shell: no program 'no-such-shell' in PATH");
        assert!(message("A=1 sort", None).contains("--shell"));
        let builtin = "'cd x': no program 'cd' in PATH; 'cd' is a command of the shell: add --shell";
        assert_eq!(message("cd x", None), builtin);
        assert!(message("./nothing", None).contains("no file"));
        assert!(message("/etc/passwd", None).contains("chmod"));
        assert!(message("/etc", None).contains("directory"));
        let here = command("passwd-x y", None, Path::new("/etc")).unwrap_err().to_string();
        assert!(!here.contains("./passwd-x"), "{here}");
        let folder = std::env::temp_dir().join(format!("steady-programs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy("/bin/true", folder.join("steady-v1")).unwrap();
        let here = command("steady-v1 y", None, &folder).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(here.contains("write ./steady-v1"), "{here}");
    }
}
