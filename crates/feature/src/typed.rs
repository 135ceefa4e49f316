//! Splits commands that are typed as one string into words, as a shell does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{Failure, Session};
use steady_linux::script::{self, Script};
use steady_render::letters::{listed, quoted};

/// Words that have a meaning in a shell. A program that is started without a shell gets them as arguments.
const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", ">", ">>", "<"];

/// Commands of a shell that are no programs, and the words that begin its compound commands.
pub const SHELL_COMMANDS: [&str; 21] = [
    ".", "alias", "cd", "eval", "exec", "exit", "export", "for", "if", "popd", "pushd", "set", "shopt", "source",
    "trap", "ulimit", "umask", "unset", "until", "wait", "while",
];

/// Returns the words to start a command with, at least one: the words of `text`, or those of `shell` with `-c` and the
/// whole text.
///
/// # Errors
/// There are no words, a quote is not closed, or the text has an operator of a shell and there is no shell. The program
/// would get the operator as an argument, which is never what a user means, and would be measured without an error.
pub fn words(text: &str, shell: Option<&str>) -> Result<Vec<String>, Failure> {
    let argv = match shell {
        Some(_) if text.trim().is_empty() => vec![],
        Some(shell) => [split(shell)?, vec!["-c".to_owned(), text.to_owned()]].concat(),
        None => split(text)?,
    };
    if let (None, Some(operator)) = (shell, operator(text)) {
        return Err(Failure::Usage(format!(
            "'{text}' has the shell operator '{operator}', and a command runs without a shell: add --shell to run it in \
             a shell, or quote '{operator}' if the program should get it"
        )));
    }
    match argv.is_empty() {
        true => {
            Err(Failure::Usage("a command is empty: give each command as one string, as in 'sort -u file'".to_owned()))
        }
        false => Ok(argv),
    }
}

/// Adds what to `write` to a failure to find the program `word`, if the words of one command seem to be given as
/// several commands: the first one is a program in PATH, and this one is not. A path of a missing file was probably
/// meant as a program.
pub fn with_one_command(
    failure: Failure,
    word: &str,
    commands: &[String],
    write: &str,
    session: &dyn Session,
) -> Failure {
    let are_words = commands.iter().all(|command| !command.contains(char::is_whitespace));
    let is_argument = || !word.contains('/') || Path::new(word).exists();
    let is_program = |first: &String| !first.contains('/') && session.typed_command(first, None, Path::new("")).is_ok();
    match (failure, commands) {
        (Failure::Usage(why), [first, _, ..]) if are_words && is_argument() && first != word && is_program(first) => {
            Failure::Usage(format!("{why}; if these are the words of one command, write {write}"))
        }
        (other, _) => other,
    }
}

/// Returns whether a command was probably meant for a shell: by its text, or by its words if it has another name.
pub fn is_for_a_shell(name: &str, argv: &[String]) -> bool {
    match shell_words::split(name) {
        Ok(words) if words == argv => for_a_shell(name).next().is_some(),
        _ => argv.iter().any(|word| SHELL_WORDS.contains(&word.as_str())),
    }
}

/// Returns the parts of a command that a shell would have expanded, if the command was typed as `name` and run as its
/// words. Each part is returned once.
pub fn unexpanded<'a>(name: &'a str, argv: &[String]) -> Vec<&'a str> {
    let mut parts: Vec<&str> = Vec::new();
    if shell_words::split(name).is_ok_and(|words| words == argv) {
        for part in for_a_shell(name) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts
}

/// Returns words in quotes as a series: `'*', '?' and '~'`.
pub fn series(words: &[&str]) -> String {
    listed(&words.iter().map(|word| quoted(word)).collect::<Vec<_>>())
}

/// Returns the first operator of a shell in a command: a pipe, a redirection, or a separator of commands.
fn operator(text: &str) -> Option<&str> {
    for_a_shell(text).find(|part| part.contains(is_of_operator))
}

fn is_of_operator(letter: char) -> bool {
    "|&;<>".contains(letter)
}

/// Returns the parts of a command that a shell would expand or act on, such as `*`, `$HOME` or `2>`. Without a shell,
/// the program gets them as they are written. Quoted parts are not meant for a shell, except `$` and backquotes between
/// double quotes.
pub fn for_a_shell(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = Vec::new();
    let (mut quote, mut begin, mut skip_to) = (None, 0, 0);
    for (at, letter) in text.char_indices() {
        if at < skip_to {
            continue;
        }
        let after = at + letter.len_utf8();
        let expansion = match letter {
            '`' => after,
            '$' => at + expansion(&text[at..]),
            _ => at,
        };
        match quote {
            Some('\'') => quote = if letter == '\'' { None } else { quote },
            Some(_) if letter == '"' => quote = None,
            _ if letter == '\\' => skip_to = after + text[after..].chars().next().map_or(0, char::len_utf8),
            _ if expansion > at => {
                parts.push(&text[at..expansion]);
                skip_to = expansion;
            }
            Some(_) => {}
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if is_of_operator(letter) => {
                skip_to = text[at..].find(|letter| !is_of_operator(letter)).map_or(text.len(), |length| at + length);
                // The number of a file descriptor belongs to a redirection.
                let has_number = "<>".contains(letter) && text[begin..at].bytes().all(|byte| byte.is_ascii_digit());
                parts.push(&text[if has_number { begin } else { at }..skip_to]);
            }
            None if "()*?".contains(letter) || letter == '~' && begin == at => parts.push(&text[at..after]),
            None => {}
        }
        if letter.is_whitespace() {
            begin = after;
        }
    }
    parts.into_iter()
}

/// Returns the length of an expansion at the start of `text`, which is a dollar sign: `$NAME`, `${NAME}`, `$(`. 0 if it
/// is none.
fn expansion(text: &str) -> usize {
    let rest = &text[1..];
    let of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match rest.chars().next() {
        Some('(') => 2,
        Some('{') => rest.find('}').map_or(2, |end| end + 2),
        Some(first) if of_name(first) && !first.is_ascii_digit() => {
            1 + rest.find(|letter| !of_name(letter)).unwrap_or(rest.len())
        }
        _ => 0,
    }
}

fn split(text: &str) -> Result<Vec<String>, Failure> {
    shell_words::split(text).map_err(|error| Failure::Usage(format!("'{text}': {error}")))
}

/// Returns whether a program is a shim of a version manager: a script that starts the real program. pyenv, rbenv,
/// nodenv, asdf and mise give the directory of theirs this name.
pub fn is_shim(program: &Path) -> bool {
    program.parent().and_then(Path::file_name).is_some_and(|name| name == "shims")
}

/// Returns the program that runs a script, by its first line: `#!PATH`, or `#!/usr/bin/env NAME`. `find` returns the path
/// of the program with a given name. `None` if the file is no script, or if there is no such program.
pub fn interpreter(script: &Path, find: impl Fn(&OsStr) -> Option<PathBuf>) -> Option<PathBuf> {
    let Script { interpreter, argument } = script::parse(&script::start(script).ok()?).ok()?;
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Some(interpreter);
    }
    find(OsStr::new(&of_env(&argument?.to_string_lossy())?))
}

/// The program that env(1) starts if `argument` is its only argument: a name, or the command after `-S`. `None` for other
/// options.
fn of_env(argument: &str) -> Option<String> {
    let words = match ["--split-string=", "-S"].iter().find_map(|option| argument.strip_prefix(option)) {
        Some(command) => shell_words::split(command).ok()?,
        None => vec![argument.to_owned()],
    };
    words.into_iter().find(|word| !word.contains('=')).filter(|word| !word.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unquoted_parts_are_for_a_shell() {
        for (text, found) in [
            ("sort f | uniq", "|"),
            ("sort f |uniq && a || b; c &", "| && || ; &"),
            ("echo \"$HOME\"", "$HOME"),
            ("echo ${HOME}/x $(( 1 )) $9", "${HOME} $( ( ) )"),
            ("echo `date`", "` `"),
            ("ls *.c ?", "* ?"),
            ("cat ~/f", "~"),
            ("make 2>&1 >>f <g", "2>& >> <"),
            ("awk '{ print $1 }' f", ""),
            ("awk '{print $1 > \"x\"}'", ""),
            ("awk \"!s[\\$0]++\" f", ""),
            ("grep -E '(a|b)*' f", ""),
            ("find . -name \\*.c", ""),
            ("cut -d~ -f1 100%", ""),
            ("grep a$ f", ""),
            ("git show HEAD~1", ""),
        ] {
            assert_eq!(for_a_shell(text).collect::<Vec<_>>().join(" "), found, "{text}");
        }
    }

    #[test]
    fn parts_that_were_not_expanded_are_known_from_the_words() {
        let words = |text| shell_words::split(text).unwrap();
        let text = "ls *.c *.h $HOME ~";
        assert_eq!(unexpanded(text, &words(text)), ["*", "$HOME", "~"]);
        assert_eq!(series(&unexpanded(text, &words(text))), "'*', '$HOME' and '~'");
        assert!(unexpanded(text, &["sh".to_owned(), "-c".to_owned(), text.to_owned()]).is_empty());
    }

    #[test]
    fn operators_need_a_shell() {
        for text in ["./v1 | wc -l", "./v1|wc", "a >f", "a 2>f", "a <f", "a >> f", "a && b", "a || b", "a; b", "a &"] {
            let error = words(text, None).unwrap_err().to_string();
            assert!(error.contains("add --shell"), "{text}: {error}");
            assert_eq!(words(text, Some("sh")).unwrap(), ["sh", "-c", text]);
        }
        for text in ["awk '{print $1 > \"x\"}'", "grep 'a|b' f", "find . -exec ls {} \\;", "ls *.c $HOME ~ `x` a?"] {
            assert!(words(text, None).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_first_line_of_a_script_names_its_interpreter() {
        let script = std::env::temp_dir().join(format!("steady-interpreter-{}", std::process::id()));
        let of = |text: &str| {
            std::fs::write(&script, text).unwrap();
            let found = interpreter(&script, |name| (name == "python3").then(|| "/shims/python3".into()));
            found.map(|path| path.display().to_string()).unwrap_or_default()
        };
        for (text, found) in [
            ("#!/usr/bin/env python3\nimport os\n", "/shims/python3"),
            ("#! /usr/bin/env -S A=1 python3 -u\n", "/shims/python3"),
            ("#!/usr/bin/env -Spython3 -u\n", "/shims/python3"),
            ("#!/usr/bin/env -S \"python3\" -u\n", "/shims/python3"),
            ("#!/usr/bin/env --split-string=python3 -u\n", "/shims/python3"),
            ("#!/usr/bin/env -S -u python3 other\n", ""),
            ("#!/usr/bin/env -i python3\n", ""),
            ("#!/usr/bin/env python3 -u\n", ""),
            ("#!/usr/bin/env python2\n", ""),
            ("#!/usr/bin/env\n", ""),
            ("#!/bin/sh -e\n", "/bin/sh"),
            ("#!/bin/sh", "/bin/sh"),
            ("#!\n/bin/sh", ""),
            ("# /bin/sh\n", ""),
        ] {
            assert_eq!(of(text), found, "{text}");
        }
        std::fs::remove_file(&script).unwrap();
        assert_eq!(interpreter(Path::new("/bin/sh"), |_| None), None);
        assert_eq!(interpreter(&script, |_| None), None);
    }

    proptest::proptest! {
        #[test]
        fn quoted_words_are_for_no_shell(words in proptest::collection::vec(".*", 0..4)) {
            let text = shell_words::join(&words);
            proptest::prop_assert_eq!(for_a_shell(&text).next(), None);
        }

        #[test]
        fn parts_of_any_text_are_found(text in ".*|[a1$({}) '\"\\\\|;=<&>`é]*") {
            proptest::prop_assert!(for_a_shell(&text).all(|part| !part.is_empty()));
        }
    }
}
