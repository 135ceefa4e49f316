//! Conditions under which a program is started normally. The reason is counted. If a new snapshot can help, one is
//! requested from the keeper.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use steady_preload::card::{Card, FIRST_PROGRAM, Outcome, demand};
use steady_preload::identity::Identity;
use steady_preload::{CardDraft, WarmDraft};

use crate::calls::CALLS;
use crate::fake::{Fake, copy_program, identity, is_installed, output_text, text};

/// Checks that the program is started normally, with this outcome.
fn starts_cold(fake: &Fake, outcome: Outcome) {
    starts_cold_by(fake, "tool a b", outcome);
}

fn starts_cold_by(fake: &Fake, script: &str, outcome: Outcome) {
    let before = fake.count(outcome);
    assert_eq!(fake.sh(script), "cold a b\n", "{outcome:?}");
    assert_eq!(fake.count(outcome), before + 1, "{outcome:?}");
    assert_eq!(fake.count(Outcome::Warm), 0, "{outcome:?}");
}

fn with(change: impl FnOnce(&mut WarmDraft)) -> Fake {
    let fake = Fake::empty();
    fake.keep_warm(&fake.tool, change);
    fake
}

#[test]
fn no_card() {
    let fake = Fake::empty();
    starts_cold(&fake, Outcome::NoCard);
    assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool));
    // A second request has no effect.
    starts_cold(&fake, Outcome::NoCard);
    assert_eq!(fake.requests().len(), 1);
}

#[test]
fn requests_contain_absolute_paths() {
    let fake = Fake::empty();
    starts_cold_by(&fake, "cd bin; ./tool a b", Outcome::NoCard);
    let [request] = &fake.requests()[..] else { panic!("not exactly one request") };
    assert_eq!(request.canonicalize().unwrap(), fake.tool);
    assert!(request.is_absolute());
}

#[test]
fn refused() {
    let fake = Fake::empty();
    let (identity, program) = (identity(&fake.tool), text(&fake.tool));
    let reason = c"setuid".into();
    fake.write_card(&fake.tool, &CardDraft::Refused { identity, program, reason, dependencies: vec![] });
    starts_cold(&fake, Outcome::Refused);
    assert_eq!(fake.requests().len(), 0);
}

/// A refusal is valid while all files that it is based on are unchanged.
#[test]
fn refused_because_of_a_library() {
    for change in ["touch library", "rm library", "touch absent"] {
        let fake = Fake::empty();
        let library = fake.folder.join("library");
        fs::write(&library, "").unwrap();
        let (identity, program) = (identity(&fake.tool), text(&fake.tool));
        let dependencies =
            vec![(text(&library), Some(crate::fake::identity(&library))), (text(&fake.folder.join("absent")), None)];
        let card = CardDraft::Refused { identity, program, reason: c"it starts a thread".into(), dependencies };
        fake.write_card(&fake.tool, &card);
        starts_cold(&fake, Outcome::Refused);
        assert_eq!(fake.requests().len(), 0);
        fake.sh(change);
        starts_cold(&fake, Outcome::Changed);
        assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool), "{change}");
    }
}

/// A snapshot with another identity than in the card is not executed.
#[test]
fn modified_snapshots() {
    for change in [
        "truncate -s 100 $f",
        "printf x | dd of=$f bs=1 seek=5000 conv=notrunc status=none",
        "touch -r $f /tmp/$$; printf x | dd of=$f bs=1 seek=5000 conv=notrunc status=none; touch -r /tmp/$$ $f; rm /tmp/$$",
        "printf '#!/bin/sh\\necho replaced\\n' >$f",
        "printf '#!/bin/sh\\necho replaced\\n' >$f.new; chmod 700 $f.new; mv $f.new $f",
        "cp -p $f $f.new; mv $f.new $f",
        "ln -sf /bin/echo $f",
    ] {
        let fake = Fake::new();
        assert_eq!(fake.sh("tool a b"), "warm a b\n");
        fake.sh(&format!("for f in store/snapshots/*/*/tool; do {change}; done"));
        let before = fake.count(Outcome::Warm);
        assert_eq!(fake.sh("tool a b"), "cold a b\n", "{change}");
        assert_eq!((fake.count(Outcome::Broken), fake.count(Outcome::Warm)), (1, before), "{change}");
        assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool), "{change}");
    }
}

/// Programs survive if the file of counters is truncated while they have it mapped.
#[test]
fn truncated_counters() {
    let fake = Fake::new();
    let starter = "import os
for length in [None, 65536, 100, 0]:
    if length is not None: os.truncate('store/counts', length)
    for _ in range(3): os.waitpid(os.posix_spawn('bin/tool', ['tool', str(length)], os.environ), 0)";
    if !is_installed("truncated_counters", "python3") {
        return;
    }
    let lines = |length: &str| format!("warm {length}\n").repeat(3);
    let expected = ["None", "65536", "100", "0"].map(lines).concat();
    assert_eq!(fake.run(&["python3", "-c", starter]), expected);
}

/// As without the hook, a file that is open for writing is not executed.
#[test]
fn programs_open_for_writing() {
    let script = "exec 3>>bin/tool; bin/tool a b; exec 3>&-; bin/tool a b";
    let fake = Fake::new();
    let usual = output_text(Command::new("/bin/bash").args(["-c", script]).current_dir(&fake.folder).output().unwrap());
    if !usual.contains("Text file busy") || !opens_first() {
        eprintln!("skipped: programs_open_for_writing: this kernel does not report it");
        return;
    }
    assert_eq!(fake.sh(script), usual.replace("cold", "warm"));
    let fake = Fake::new();
    let by_descriptor = "import os
file = os.open('bin/tool', os.O_RDONLY)
writer = os.open('bin/tool', os.O_WRONLY)
try: os.execve(file, ['tool'], os.environ)
except OSError as error: print(error.strerror)";
    if is_installed("programs_open_for_writing", "python3") {
        assert_eq!(fake.run(&["python3", "-c", by_descriptor]), "Text file busy\n");
        let by_spawn = by_descriptor.replace("os.execve(file,", "os.posix_spawn('bin/tool',");
        assert_eq!(fake.run(&["python3", "-c", &by_spawn]), "Text file busy\n");
    }
}

/// Returns whether the kernel opens a program before it reads the arguments (Linux 6.8).
pub(crate) fn opens_first() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers =
        release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(8))
}

#[test]
fn replaced_and_touched_programs() {
    let fake = Fake::new();
    assert_eq!(fake.sh("tool"), "warm\n");
    assert_eq!(fake.sh("touch bin/tool; tool"), "cold\n");
    assert_eq!((fake.count(Outcome::Changed), fake.requests()), (1, vec![fake.tool.clone()]));

    let fake = Fake::new();
    fake.sh("cp bin/tool bin/new; mv bin/new bin/tool");
    starts_cold(&fake, Outcome::NoCard);

    let fake = Fake::new();
    fake.sh("chmod 711 bin/tool");
    starts_cold(&fake, Outcome::Changed);
    assert_eq!(fake.counter(FIRST_PROGRAM + 1), 1, "it counts for the program too");
}

#[test]
fn modified_dependencies() {
    let library = |fake: &Fake| fake.folder.join("library");
    let warm = || {
        let fake = Fake::empty();
        fs::write(library(&fake), "one").unwrap();
        let file = (text(&library(&fake)), Some(identity(&library(&fake))));
        let absent = (text(&fake.folder.join("absent")), None);
        fake.keep_warm(&fake.tool, |warm| warm.dependencies = vec![file, absent]);
        assert_eq!(fake.sh("tool a b"), "warm a b\n");
        fs::write(fake.store().join("counts"), [0; steady_preload::card::COUNTERS * 8]).unwrap();
        fake
    };
    for change in [
        "echo two >library",
        "touch library",
        "rm library",
        "cp library new; mv new library",
        "ln library other",
        "chmod +x library",
        "touch absent",
        "ln -s library absent",
        "mkdir absent",
    ] {
        let fake = warm();
        fake.sh(change);
        starts_cold(&fake, Outcome::Changed);
        assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool), "{change}");
        assert_eq!(fake.counter(FIRST_PROGRAM + 1), 1, "{change}");
    }
}

#[test]
fn the_environment() {
    for variable in
        ["LD_BIND_NOW=", "LD_LIBRARY_PATH=/", "LD_PRELOAD=x", "GLIBC_TUNABLES=", "MALLOC_CHECK_=3", "LOCPATH=/"]
    {
        let fake = Fake::new();
        let printed = fake.sh(&format!("{variable} tool a b 2>/dev/null"));
        assert_eq!((printed.as_str(), fake.count(Outcome::Environment)), ("cold a b\n", 1), "{variable}");
        assert_eq!(fake.requests().len(), 0);
    }
    for variable in ["LDFLAGS=x", "L=x", "MALLOC=", "GCONV=", "LOCPATHS=x"] {
        assert_eq!(Fake::new().sh(&format!("{variable} tool")), "warm\n", "{variable}");
    }
    // Libraries that are preloaded in addition to the hook are kept.
    let fake = Fake::new();
    let both = format!("{} /lib/x86_64-linux-gnu/libm.so.6", fake.hook().display());
    let command = fake.command("/bin/bash").args(["-c", "tool"]).env("LD_PRELOAD", both).output();
    assert_eq!((output_text(command.unwrap()).as_str(), fake.count(Outcome::Environment)), ("cold\n", 1));
}

/// Programs excepted by the user are started normally, not requested and not counted.
#[test]
fn excepted_programs() {
    let fake = Fake::new();
    let tool = fake.tool.display().to_string();
    for (list, expected) in [
        ("", "warm"),
        ("too:tools:bin", "warm"),
        ("tool", "cold"),
        ("a:tool:b", "cold"),
        (tool.as_str(), "cold"),
        ("/other/tool", "warm"),
    ] {
        let before = fake.count(Outcome::Warm);
        let script = format!("export STEADY_WARM_EXCEPT={list}; tool; bin/tool; {tool}");
        assert_eq!(fake.sh(&script), format!("{expected}\n").repeat(3), "{list}");
        assert_eq!(fake.count(Outcome::Warm) - before, if expected == "warm" { 3 } else { 0 });
    }
    // The list also applies to a program that is started with another environment.
    let without_list = |list: &str| {
        let run = |command: &mut Command| output_text(command.env("STEADY_WARM_EXCEPT", list).output().unwrap());
        let cleared = run(fake.command("env").args(["-i", "./bin/tool", "a", "b"]));
        [cleared, run(fake.command(&*CALLS).args(["execve-no-environment", "bin/tool"]))]
    };
    assert_eq!(without_list("tool"), ["cold a b\n"; 2]);
    assert_eq!(without_list("other"), ["warm a b\n"; 2]);
    let fake = Fake::empty();
    assert_eq!(fake.sh("STEADY_WARM_EXCEPT=tool tool"), "cold\n");
    assert_eq!((fake.count(Outcome::NoCard), fake.requests().len()), (0, 0));
}

#[test]
fn launches_without_snapshots_are_counted() {
    let fake = Fake::empty();
    let place = demand(&identity(&fake.tool)) as usize;
    assert!(place < FIRST_PROGRAM);
    fake.sh("tool; tool; tool");
    assert_eq!(fake.counter(place), 3);
    let script = fake.script("script", &format!("#!{}\n", fake.tool.display()));
    let (identity, program) = (identity(&script), text(&script));
    let interpreter = text(&fake.tool);
    fake.write_card(&script, &CardDraft::Script { identity, program, interpreter, argument: None });
    fake.sh("script");
    assert_eq!(fake.counter(place), 4);
}

#[test]
fn variables_that_the_program_read() {
    let fake = with(|warm| {
        let set = |name: &str, value: Option<&str>| {
            (CString::new(name).unwrap(), value.map(|value| CString::new(value).unwrap()))
        };
        warm.conditions = vec![set("SET", Some("yes")), set("UNSET", None), set("EMPTY", Some(""))];
    });
    let run = |variables: &str| fake.sh(&format!("env {variables} tool"));
    assert_eq!(run("SET=yes EMPTY="), "warm\n");
    for variables in
        ["EMPTY=", "SET=no EMPTY=", "SET=yes EMPTY= UNSET=", "SET=yes", "SET=yes1 EMPTY=", "SETT=yes EMPTY="]
    {
        assert_eq!(run(variables), "cold\n", "{variables}");
    }
    assert_eq!(fake.count(Outcome::Environment), 6);
}

#[test]
fn limits_and_personality() {
    for change in ["ulimit -Ss 4096;", "ulimit -Sv 4000000;", "ulimit -Sd 4000000;", "exec setarch -R"] {
        let fake = with(|warm| warm.slot = 0);
        starts_cold_by(&fake, &format!("{change} tool a b"), Outcome::Limits);
        assert_eq!(fake.requests().len(), 0, "{change}");
    }
    let fake = with(|warm| warm.stack_limits = [4 << 20; 2]);
    starts_cold(&fake, Outcome::Limits);
    assert_eq!(fake.sh("ulimit -Ss 4096; tool"), "warm\n");
    // A range of limits, of which only whole pages are allowed.
    let fake = with(|warm| warm.stack_limits = [1 << 20, 16 << 20]);
    assert_eq!(fake.sh("ulimit -Ss 4096; tool; ulimit -Ss 1024; tool; ulimit -Ss 1025; tool"), "warm\nwarm\ncold\n");
    assert_eq!(fake.sh("ulimit -Ss 1020; tool; ulimit -Ss unlimited; tool"), "cold\ncold\n");
    let fake = with(|warm| warm.uid += 1);
    starts_cold(&fake, Outcome::Limits);
}

#[test]
fn other_names_of_a_program() {
    // A program may find its libraries relative to the path of a hard link.
    let fake = Fake::new();
    fs::hard_link(&fake.tool, fake.folder.join("tool")).unwrap();
    fake.keep_warm(&fake.tool, |_| ());
    starts_cold_by(&fake, "./tool a b", Outcome::OtherName);
    assert_eq!(fake.sh("tool"), "warm\n");
    // A symbolic link is the same program, but its process gets another name. If the snapshots do not have that name,
    // it is requested.
    let fake = Fake::new();
    std::os::unix::fs::symlink(&fake.tool, fake.folder.join("bin/other")).unwrap();
    starts_cold_by(&fake, "SAY_NAME= other a b | sed 's/^other //'", Outcome::OtherName);
    assert_eq!(fake.requests(), [fake.folder.join("bin/other")]);
    fake.add_name(&fake.tool, "other");
    assert_eq!(fake.sh("SAY_NAME=1 other a b; SAY_NAME=1 tool a b"), "other warm a b\ntool warm a b\n");
    assert_eq!(fake.count(Outcome::Warm), 2);
    // A symbolic link to the directory makes no difference.
    std::os::unix::fs::symlink("bin", fake.folder.join("links")).unwrap();
    assert_eq!(fake.sh("links/tool; bin/../bin/tool"), "warm\nwarm\n");
}

#[test]
fn snapshots_that_cannot_be_executed() {
    let fake = Fake::new();
    for copy in ["0/tool", "1/tool"] {
        let file = fake.copies(&fake.tool).join(copy);
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fake.accept_images(&fake.tool);
    starts_cold(&fake, Outcome::NotExecuted);
    assert_eq!((fake.counter(FIRST_PROGRAM), fake.counter(FIRST_PROGRAM + 1)), (0, 1));

    let fake = Fake::new();
    fs::remove_dir_all(fake.copies(&fake.tool)).unwrap();
    starts_cold(&fake, Outcome::OtherName);
    assert_eq!(fake.requests(), std::slice::from_ref(&fake.tool));
}

#[test]
fn truncated_cards() {
    let fake = Fake::new();
    let whole = fs::read(fake.card(&fake.tool)).unwrap();
    assert!(Card::parse(&whole).is_some());
    for end in 0..whole.len() {
        fake.write_card_bytes(&fake.tool, &whole[..end]);
        fake.clear_requests();
        // A new process for each card.
        let mut command = fake.command("env");
        assert_eq!(output_text(command.args(["tool", "a"]).output().unwrap()), "cold a\n", "{end} bytes");
        assert_eq!((fake.count(Outcome::Broken), fake.requests().len()), (end as u64 + 1, 1));
    }
}

#[test]
fn a_fifo_in_place_of_a_card() {
    let fake = Fake::new();
    let card = fake.card(&fake.tool);
    fs::remove_file(&card).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&card).status().unwrap().success());
    // Nothing ever writes to the FIFO.
    let mut command = fake.command("timeout");
    assert_eq!(output_text(command.args(["60", "env", "tool", "a"]).output().unwrap()), "cold a\n");
    assert_eq!(fake.count(Outcome::Broken), 1);
}

#[test]
fn a_long_card() {
    let fake = with(|warm| {
        let path = |number: usize| CString::new(format!("/no/such/folder/{number}/{}", "x".repeat(60))).unwrap();
        warm.dependencies = (0..150).map(|number| (path(number), None)).collect();
    });
    assert!(fs::metadata(fake.card(&fake.tool)).unwrap().len() > 10_000);
    assert_eq!(fake.sh("tool; tool | cat"), "warm\nwarm\n");
    let mut bytes = fs::read(fake.card(&fake.tool)).unwrap();
    bytes.resize(20_000, 0);
    fake.write_card_bytes(&fake.tool, &bytes);
    starts_cold_by(&Fake::empty(), "tool a b", Outcome::NoCard);
    assert_eq!((fake.sh("tool"), fake.count(Outcome::Broken)), ("cold\n".into(), 1));
}

#[test]
fn stores_accessible_to_other_users() {
    for mode in [0o750, 0o701, 0o722, 0o777] {
        let fake = Fake::new();
        fs::set_permissions(fake.store(), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!((fake.sh("tool"), fake.count(Outcome::Warm)), ("cold\n".into(), 0), "{mode:o}");
        assert_eq!(fake.requests().len(), 0);
    }
    let fake = Fake::new();
    fs::set_permissions(fake.card(&fake.tool), fs::Permissions::from_mode(0o666)).unwrap();
    starts_cold(&fake, Outcome::Broken);
}

#[test]
fn stores_of_another_user() {
    let fake = Fake::new();
    if identity(&fake.store()) == Identity::default() || fs::metadata("/root").is_err() || !is_root() {
        eprintln!("skipped: stores_of_another_user: only root can change the owner");
        return;
    }
    // The directory above is accessible, so that the check of the hook itself is tested.
    for folder in [&fake.folder, &fake.store()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let chown = Command::new("chown").args(["-R", "12345"]).arg(fake.store()).status();
    assert!(chown.unwrap().success());
    assert_eq!((fake.sh("tool"), fake.count(Outcome::Warm)), ("cold\n".into(), 0));
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[test]
fn stores_that_disappear() {
    // ld.so prints an error if a preloaded library is missing.
    let fake = Fake::new();
    assert_eq!(fake.sh("exec 2>/dev/null; tool; rm -r store/cards; tool; rm -r store; tool"), "warm\ncold\ncold\n");
    let fake = Fake::new();
    let script = "exec 2>/dev/null; tool; mv store old; tool; mkdir -m 700 store; tool; mv old/* store; tool";
    assert_eq!(fake.sh(script), "warm\ncold\ncold\nwarm\n");
    // Without a file of counters nothing is counted.
    let fake = Fake::new();
    let script = "rm store/counts; tool; : >store/counts; tool; truncate -s 65536 store/counts; tool";
    assert_eq!(fake.sh(script), "warm\nwarm\nwarm\n");
    assert_eq!(fake.count(Outcome::Warm), 0);
}

#[test]
fn errors_of_execve_are_the_usual_ones() {
    let fake = Fake::new();
    fake.sh("chmod 600 bin/tool");
    fake.keep_warm(&fake.tool, |_| ());
    assert!(fake.sh("./bin/tool").contains("Permission denied"));
    assert!(fake.sh("./bin").contains("Is a directory"));
    assert!(fake.sh("./nothing").contains("No such file or directory"));
    assert!(fake.run(&["env", "nothing"]).contains("No such file or directory"));
    assert_eq!((fake.count(Outcome::Warm), fake.requests().len()), (0, 0));
}

/// Programs that start services start others normally, because a service is found by the file of its process.
#[test]
fn programs_that_start_services() {
    let fake = Fake::new();
    let sh = |script: &str| fake.sh(script);
    assert_eq!(sh("bin/tool a"), "warm a\n");
    assert_eq!(sh("setsid -w bin/tool a"), "cold a\n");
    assert_eq!(sh("nohup bin/tool a 2>/dev/null"), "cold a\n");
    assert_eq!(sh("trap '' HUP; bin/tool a"), "warm a\n");
    copy_program(Path::new("/usr/bin/env"), &fake.folder.join("bin/start-stop-daemon"));
    assert_eq!(sh("bin/start-stop-daemon bin/tool a"), "cold a\n");
    assert_eq!((fake.count(Outcome::OtherWay), fake.count(Outcome::Warm)), (3, 2));
}
