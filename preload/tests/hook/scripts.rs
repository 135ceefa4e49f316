//! Scripts: the interpreter's snapshot is started, with the arguments that the kernel would pass.

use std::fs;
use std::path::Path;

use steady_preload::CardDraft;
use steady_preload::card::Outcome;

use crate::fake::{Fake, identity, text};

/// Makes a script with a card, and gives the interpreter's snapshots its name.
pub(crate) fn script(fake: &Fake, name: &str, argument: Option<&str>) -> std::path::PathBuf {
    let interpreter = fake.tool.to_str().unwrap();
    let line = argument.map_or(format!("#!{interpreter}\n"), |argument| format!("#!{interpreter} {argument}\n"));
    let path = fake.script(name, &line);
    write_card(fake, &path, &fake.tool, argument);
    fake.add_name(&fake.tool, name);
    path
}

fn write_card(fake: &Fake, path: &Path, interpreter: &Path, argument: Option<&str>) {
    let card = CardDraft::Script {
        identity: identity(path),
        program: text(path),
        interpreter: text(interpreter),
        argument: argument.map(|argument| std::ffi::CString::new(argument).unwrap()),
    };
    fake.write_card(path, &card);
}

#[test]
fn the_interpreter_gets_the_kernels_arguments() {
    let fake = Fake::new();
    fake.sh("ln bin/tool bin/keep");
    fake.keep_warm(&fake.tool, |_| ());
    let plain = script(&fake, "plain", None);
    script(&fake, "with_argument", Some("-x y z"));
    for (how, shown) in
        [("plain a b", plain.to_str().unwrap()), ("bin/plain a b", "bin/plain"), ("./bin/plain a b", "./bin/plain")]
    {
        let cold = fake.sh(&format!("LD_BIND_NOW=1 {how}"));
        assert_eq!(cold, format!("cold {shown} a b\n"));
        assert_eq!(fake.sh(how), cold.replace("cold", "warm"));
        assert_eq!(fake.run(&["env", how.split(' ').next().unwrap(), "a", "b"]), cold.replace("cold", "warm"));
    }
    let cold = fake.sh("LD_BIND_NOW=1 with_argument a b");
    assert_eq!(cold, format!("cold -x y z {} a b\n", fake.folder.join("bin/with_argument").display()));
    assert_eq!(fake.sh("with_argument a b"), cold.replace("cold", "warm"));
    // The process gets the name of the script.
    let cold = fake.sh("LD_BIND_NOW=1 SAY_NAME=1 plain");
    assert_eq!(cold, format!("plain cold {}\n", plain.display()));
    assert_eq!(fake.sh("SAY_NAME=1 plain"), cold.replace("cold", "warm"));
}

#[test]
fn the_number_of_arguments_is_limited() {
    let fake = Fake::new();
    script(&fake, "plain", None);
    for (number, word) in [(254, "warm"), (255, "warm"), (256, "cold"), (3000, "cold")] {
        let printed = fake.sh(&format!("plain $(seq {number})"));
        assert!(printed.starts_with(word) && printed.ends_with(&format!(" {number}\n")), "{number}: {printed}");
    }
    assert_eq!(fake.count(Outcome::OtherWay), 2);
}

#[test]
fn modified_scripts() {
    let fake = Fake::new();
    let path = script(&fake, "plain", None);
    fs::write(&path, "#!/bin/echo\n").unwrap();
    assert_eq!(fake.sh("plain a"), format!("{} a\n", path.display()));
    assert_eq!((fake.count(Outcome::Changed), fake.requests()), (1, vec![path]));
}

#[test]
fn interpreters_without_a_card() {
    let fake = Fake::empty();
    let path = fake.script("plain", &format!("#!{}\n", fake.tool.display()));
    write_card(&fake, &path, &fake.tool, None);
    assert_eq!(fake.sh("plain"), format!("cold {}\n", path.display()));
    assert_eq!((fake.count(Outcome::NoCard), fake.requests()), (1, vec![fake.tool.clone()]));
}

#[test]
fn nested_and_invalid_scripts() {
    let fake = Fake::new();
    let inner = script(&fake, "inner", None);
    let outer = fake.script("outer", &format!("#!{}\n", inner.display()));
    write_card(&fake, &outer, &inner, None);
    assert_eq!(fake.sh("outer a"), format!("cold {} {} a\n", inner.display(), outer.display()));
    assert_eq!(fake.count(Outcome::OtherWay), 1);
    // The kernel's interpreter path includes the carriage return.
    let lines = fake.script("lines", &format!("#!{}\r\n", fake.tool.display()));
    write_card(&fake, &lines, Path::new(&format!("{}\r", fake.tool.display())), None);
    assert!(fake.run(&["env", "lines"]).contains("No such file or directory"));
    // The kernel rejects files without `#!`; the shell and execvp(3) run them with sh.
    fake.script("none", "echo run by sh: $1\n");
    assert_eq!(fake.sh("none a"), "run by sh: a\n");
    assert_eq!(fake.run(&["env", "none", "a"]), "run by sh: a\n");
}

#[test]
fn scripts_without_execute_permission() {
    let fake = Fake::new();
    let path = script(&fake, "plain", None);
    fake.sh("chmod 644 bin/plain");
    write_card(&fake, &path, &fake.tool, None);
    assert!(fake.sh("./bin/plain").contains("Permission denied"));
    assert_eq!(fake.count(Outcome::Warm), 0);
}
