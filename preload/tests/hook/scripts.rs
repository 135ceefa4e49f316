//! Scripts: the interpreter's snapshot, with the arguments that the kernel would have given it.

use std::fs;
use std::path::Path;

use steady_preload::CardDraft;
use steady_preload::card::Outcome;

use crate::fake::{Fake, identity, text};

/// A script with a card, and what its interpreter is called by so.
pub(crate) fn script(fake: &Fake, name: &str, argument: Option<&str>) -> std::path::PathBuf {
    let interpreter = fake.tool.to_str().unwrap();
    let line = argument.map_or(format!("#!{interpreter}\n"), |argument| format!("#!{interpreter} {argument}\n"));
    let path = fake.script(name, &line);
    write_card(fake, &path, &fake.tool, argument);
    fake.call(&fake.tool, name);
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
fn the_interpreter_gets_what_the_kernel_gives_it() {
    let fake = Fake::new();
    fake.sh("ln bin/tool bin/keep");
    fake.keep_warm(&fake.tool, |_| ());
    let plain = script(&fake, "plain", None);
    script(&fake, "told", Some("-x y z"));
    for (how, shown) in
        [("plain a b", plain.to_str().unwrap()), ("bin/plain a b", "bin/plain"), ("./bin/plain a b", "./bin/plain")]
    {
        let cold = fake.sh(&format!("LD_BIND_NOW=1 {how}"));
        assert_eq!(cold, format!("cold {shown} a b\n"));
        assert_eq!(fake.sh(how), cold.replace("cold", "warm"));
        assert_eq!(fake.run(&["env", how.split(' ').next().unwrap(), "a", "b"]), cold.replace("cold", "warm"));
    }
    let cold = fake.sh("LD_BIND_NOW=1 told a b");
    assert_eq!(cold, format!("cold -x y z {} a b\n", fake.folder.join("bin/told").display()));
    assert_eq!(fake.sh("told a b"), cold.replace("cold", "warm"));
    // And its process is called by the script's name.
    let cold = fake.sh("LD_BIND_NOW=1 SAY_NAME=1 plain");
    assert_eq!(cold, format!("plain cold {}\n", plain.display()));
    assert_eq!(fake.sh("SAY_NAME=1 plain"), cold.replace("cold", "warm"));
}

#[test]
fn as_many_arguments_as_there_is_room_for() {
    let fake = Fake::new();
    script(&fake, "plain", None);
    for (number, word) in [(254, "warm"), (255, "warm"), (256, "cold"), (3000, "cold")] {
        let said = fake.sh(&format!("plain $(seq {number})"));
        assert!(said.starts_with(word) && said.ends_with(&format!(" {number}\n")), "{number}: {said}");
    }
    assert_eq!(fake.count(Outcome::OtherWay), 2);
}

#[test]
fn a_script_that_was_changed() {
    let fake = Fake::new();
    let path = script(&fake, "plain", None);
    fs::write(&path, "#!/bin/echo\n").unwrap();
    assert_eq!(fake.sh("plain a"), format!("{} a\n", path.display()));
    assert_eq!((fake.count(Outcome::Changed), fake.wishes()), (1, vec![path]));
}

#[test]
fn an_interpreter_without_a_card() {
    let fake = Fake::empty();
    let path = fake.script("plain", &format!("#!{}\n", fake.tool.display()));
    write_card(&fake, &path, &fake.tool, None);
    assert_eq!(fake.sh("plain"), format!("cold {}\n", path.display()));
    assert_eq!((fake.count(Outcome::NoCard), fake.wishes()), (1, vec![fake.tool.clone()]));
}

#[test]
fn a_script_of_a_script_or_of_nothing() {
    let fake = Fake::new();
    let inner = script(&fake, "inner", None);
    let outer = fake.script("outer", &format!("#!{}\n", inner.display()));
    write_card(&fake, &outer, &inner, None);
    assert_eq!(fake.sh("outer a"), format!("cold {} {} a\n", inner.display(), outer.display()));
    assert_eq!(fake.count(Outcome::OtherWay), 1);
    // What the kernel takes for the interpreter's name ends with the line: with the carriage return in it.
    let lines = fake.script("lines", &format!("#!{}\r\n", fake.tool.display()));
    write_card(&fake, &lines, Path::new(&format!("{}\r", fake.tool.display())), None);
    assert!(fake.run(&["env", "lines"]).contains("No such file or directory"));
    // One without any is nothing that the kernel executes; the shell reads it, or execvp(3) has it read.
    fake.script("none", "echo it is read: $1\n");
    assert_eq!(fake.sh("none a"), "it is read: a\n");
    assert_eq!(fake.run(&["env", "none", "a"]), "it is read: a\n");
}

#[test]
fn a_script_that_may_not_be_executed() {
    let fake = Fake::new();
    let path = script(&fake, "plain", None);
    fake.sh("chmod 644 bin/plain");
    write_card(&fake, &path, &fake.tool, None);
    assert!(fake.sh("./bin/plain").contains("Permission denied"));
    assert_eq!(fake.count(Outcome::Warm), 0);
}
