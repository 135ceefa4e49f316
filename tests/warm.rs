//! `steady warm` as its user meets it: the command, the store and who may be trusted with it, the keeper, and what is told.

#[path = "warm/mod.rs"]
mod kept;
mod steady;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use kept::{Kept, available, within};
use steady::told;

#[test]
fn the_first_launch_is_as_usual_and_later_ones_are_from_snapshots() {
    let Some(kept) = available("the_first_launch_is_as_usual_and_later_ones_are_from_snapshots") else { return };
    let script = "for i in 1 2 3; do /bin/cat /etc/hostname; done; /bin/true && echo well";
    let usual = told(Command::new("sh").args(["-c", script]).output().unwrap());
    assert_eq!(kept.run(&["sh", "-c", script]), usual);
    assert!(kept.launches("no_card") > 0, "{}", kept.status());
    // On a busy machine a keeper may spend no more before something is saved: the next one goes on.
    let is_warm = || {
        kept.run(&["sh", "-c", script]);
        kept.state("/bin/cat") == "warm" && kept.state("/bin/true") == "warm"
    };
    assert!(within(20.0, is_warm), "{}", kept.status());
    let before = kept.launches("warm");
    assert_eq!(kept.run(&["sh", "-c", script]), usual);
    assert!(kept.launches("warm") >= before + 4, "{}", kept.status());
}

#[test]
fn prewarmed_programs_are_warm_from_the_first_launch_on() {
    let Some(kept) = available("prewarmed_programs_are_warm_from_the_first_launch_on") else { return };
    let words = [
        "warm",
        "--mode",
        "prewarm",
        "--programs",
        "cat,/bin/true",
        "--",
        "sh",
        "-c",
        "/bin/cat /dev/null; true; /bin/true",
    ];
    let (status, _, stderr) = told(kept.steady().args(words).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert_eq!((kept.launches("warm"), kept.launches("no_card")), (2, 0), "{}", kept.status());
    // Those that the command names itself; env(1) and its kind have the hook in them.
    let words = ["warm", "--mode", "prewarm", "--", "sh", "-c", "/usr/bin/env head -c1 /dev/zero >/dev/null"];
    assert_eq!(told(kept.steady().args(words).output().unwrap()), (0, String::new(), String::new()));
    assert_eq!((kept.launches("warm"), kept.launches("no_card")), (4, 0), "{}", kept.status());
    let (status, _, stderr) = told(kept.steady().args(["warm", "--programs", "cat", "--", "true"]).output().unwrap());
    assert!(status == 125 && stderr.contains("--mode prewarm"), "{stderr}");
}

#[test]
fn a_command_that_is_not_kept_warm_runs_as_it_is() {
    let kept = Kept::new("off");
    let words = ["warm", "--mode", "off", "--", "sh", "-c", "echo [$LD_PRELOAD]; exit 7"];
    assert_eq!(told(kept.steady().args(words).output().unwrap()), (7, "[]\n".to_owned(), String::new()));
    assert!(!kept.cache.exists());
}

#[test]
fn statuses_are_those_of_the_command_or_tell_why_there_is_none() {
    let kept = Kept::new("statuses");
    assert_eq!(kept.run(&["sh", "-c", "exit 3"]).0, 3);
    let killed = kept.command(&["sh", "-c", "kill -TERM $$"]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(15));
    for (words, status, text) in [
        (&["/no-such-folder/x"][..], 127, "/no-such-folder/x"),
        (&["no-such-program"], 127, "in PATH"),
        (&["/etc/passwd"], 126, "/etc/passwd"),
        (&["/tmp"], 126, "/tmp"),
    ] {
        let (found, _, stderr) = kept.run(words);
        assert!(found == status && stderr.contains(text), "{words:?}: {found} {stderr}");
    }
    for (words, status) in
        [(&["warm"][..], 125), (&["warm", "--mode", "x", "--", "true"], 125), (&["warm", "why", "no-such-program"], 2)]
    {
        let (found, _, stderr) = told(kept.steady().args(words).output().unwrap());
        assert!(found == status && !stderr.is_empty(), "{words:?}: {found} {stderr}");
    }
}

#[test]
fn a_command_that_is_steady_itself_is_not_taken() {
    let Some(kept) = available("a_command_that_is_steady_itself_is_not_taken") else { return };
    let (own, script) = (env!("CARGO_BIN_EXE_steady"), "/bin/true; /bin/true; sleep 0.2");
    assert_eq!(kept.run(&[own, "warm", "--", "sh", "-c", script]).0, 0);
    assert!(within(10.0, || kept.state("/bin/true") == "warm"), "{}", kept.status());
    assert_ne!(kept.state(own), "warm", "{}", kept.status());
    let is_warm = || {
        kept.run(&[own, "warm", "--", "sh", "-c", script]);
        kept.state("/bin/sh") == "warm"
    };
    assert!(within(20.0, is_warm), "the command of that is: {}", kept.status());
}

#[test]
fn the_command_takes_the_place_of_steady() {
    let kept = Kept::new("place");
    let mut child = kept.command(&["sh", "-c", "echo $$ $PPID"]).stdout(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output_of();
    assert_eq!(output.trim(), format!("{} {}", child.id(), std::process::id()));
}

#[test]
fn the_command_gets_all_as_it_was() {
    let Some(kept) = available("the_command_gets_all_as_it_was") else { return };
    let steady = env!("CARGO_BIN_EXE_steady");
    // Signals that are ignored, streams that are closed, descriptors, limits, the mask: as the shell left them.
    let look = "sed -n '/^Sig[BCI]/p' /proc/self/status; ls /proc/self/fd; ulimit -a; umask; env | grep -v -e ^LD_PRELOAD -e ^_=";
    for setting in
        ["trap '' PIPE HUP;", "trap '' USR1; umask 027;", "ulimit -n 100; ulimit -s 4096;", "exec 7>/dev/null;"]
    {
        let shell = |before: &str| {
            let text = format!("{setting} exec {before} sh -c \"$LOOK\" <&-");
            told(kept.shell(&text).env("LOOK", look).output().unwrap())
        };
        assert_eq!(shell(&format!("{steady} warm --")), shell(""), "{setting}");
    }
}

#[test]
fn what_the_user_preloads_stays() {
    let Some(kept) = available("what_the_user_preloads_stays") else { return };
    let own = "libm.so.6";
    let print = ["sh", "-c", "echo $LD_PRELOAD; grep -c libm.so /proc/self/maps"];
    let (status, stdout, _) = told(kept.command(&print).env("LD_PRELOAD", own).output().unwrap());
    assert!(status == 0 && stdout.lines().next().unwrap().ends_with(&format!("/hook.so:{own}")), "{stdout}");
    assert_ne!(stdout.lines().nth(1), Some("0"));
    assert_eq!(kept.launches("warm"), 0);
    kept.snapshot("/bin/true");
    let why = told(kept.steady().args(["warm", "why", "/bin/true"]).env("LD_PRELOAD", own).output().unwrap());
    assert!(why.1.contains("LD_PRELOAD"), "{why:?}");
    // A command within a command has the hook once.
    let nested = format!("{} warm -- sh -c 'echo $LD_PRELOAD'", env!("CARGO_BIN_EXE_steady"));
    let (_, stdout, _) = kept.run(&["sh", "-c", &nested]);
    assert_eq!(stdout.matches("hook.so").count(), 1, "{stdout}");
}

#[test]
fn programs_are_told_apart_by_why() {
    let Some(kept) = available("programs_are_told_apart_by_why") else { return };
    let why = |program: &str| {
        told(kept.steady().args(["warm", "why", program]).env("COLUMNS", "1000").output().unwrap())
            .1
            .replace("\n  ", " ")
    };
    assert!(why("/bin/true").contains("there is no store"), "{}", why("/bin/true"));
    kept.snapshot("/bin/true");
    assert!(why("/bin/true").contains("started from a snapshot"), "{}", why("/bin/true"));
    assert!(why("/bin/cat").contains("not been taken yet"), "{}", why("/bin/cat"));
    assert!(why("/etc/passwd").contains("may not be executed"), "{}", why("/etc/passwd"));
    // Another program of the same name is not that program.
    let copy = kept.folder().join("true");
    fs::copy("/bin/true", &copy).unwrap();
    assert!(why(copy.to_str().unwrap()).contains("not been taken yet"));
    let mut limited =
        kept.shell(&format!("ulimit -s unlimited; exec {} warm why /bin/true", env!("CARGO_BIN_EXE_steady")));
    assert!(told(limited.output().unwrap()).1.contains("ulimit -s"));
    let told_by_name = kept.steady().args(["warm", "why", "/bin/true"]).env("MALLOC_ARENA_MAX", "1").output().unwrap();
    assert!(told(told_by_name).1.contains("MALLOC_ARENA_MAX"));
    let script = kept.script("hello", "#!/bin/sh -e\necho hello\n");
    let (status, stdout, _) = told(kept.steady().args(["warm", "snapshot", &script]).output().unwrap());
    assert!(status == 0 && stdout.replace("\n  ", " ").contains("is a script of /bin/sh -e"), "{stdout}");
}

#[test]
fn what_is_refused_says_why_and_runs_as_usual() {
    let Some(kept) = available("what_is_refused_says_why_and_runs_as_usual") else { return };
    use std::os::unix::fs::PermissionsExt;
    let copy = kept.folder().join("true");
    fs::copy("/bin/true", &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    let path = copy.to_str().unwrap();
    let (status, stdout, stderr) = told(kept.steady().args(["warm", "snapshot", path, "/bin/true"]).output().unwrap());
    assert!(status == 1 && stdout.contains("setuid") && stdout.contains("is warm"), "{stdout}{stderr}");
    assert_eq!(kept.state(path), "refused");
    assert_eq!(kept.run(&["sh", "-c", &format!("{path} && {path}; echo $?")]), (0, "0\n".to_owned(), String::new()));
    assert_eq!(kept.launches("refused"), 2, "{}", kept.status());
    // Its file has changed since: it is looked at anew.
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(
        within(15.0, || {
            kept.run(&["sh", "-c", &format!("{path}; sleep 0.3")]);
            kept.state(path) == "warm"
        }),
        "{}",
        kept.status()
    );
}

#[test]
fn what_is_kept_can_be_forgotten_while_it_runs() {
    let Some(kept) = available("what_is_kept_can_be_forgotten_while_it_runs") else { return };
    kept.snapshot("/bin/cat");
    let mut shell = kept.command(&["sh", "-c", "/bin/cat; echo $?; /bin/cat /dev/null; echo $?"]);
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert!(within(5.0, || kept.launches("warm") > 0), "{}", kept.status());
    assert_eq!(told(kept.steady().args(["warm", "clear"]).output().unwrap()), (0, String::new(), String::new()));
    assert_eq!(kept.state("/bin/cat"), "unknown");
    drop(child.stdin.take());
    assert_eq!(child.wait_with_output_of(), "0\n0\n");
}

/// What a child printed, to its end.
trait Printed {
    fn wait_with_output_of(&mut self) -> String;
}

impl Printed for std::process::Child {
    fn wait_with_output_of(&mut self) -> String {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.stdout.take().expect("it is piped"), &mut text)
            .expect("it prints text");
        self.wait().expect("it ends");
        text
    }
}

/// Excepted programs start as usual, however they are named, and are not captured; all others are.
#[test]
fn excepted_programs_start_as_usual() {
    let Some(kept) = available("excepted_programs_start_as_usual") else { return };
    for program in ["/bin/cat", "/bin/sed", "/bin/sh"] {
        kept.snapshot(program);
    }
    // What runs from a snapshot has another file as its own.
    let own = |except: &str, words: &[&str]| {
        let mut command = kept.steady();
        command.args(["warm", "--except", except, "--"]).args(words);
        let (status, stdout, stderr) = told(command.output().unwrap());
        assert_eq!((status, stderr.as_str()), (0, ""), "{except}");
        stdout.lines().map(|line| line.contains("/snapshots/")).collect::<Vec<_>>()
    };
    let maps = "head -1 /proc/self/maps >/dev/null; /bin/cat /proc/self/maps | grep -m1 -o '/.*'; \
                cat /proc/self/maps | grep -m1 -o '/.*'; sed -n '/\\//{p;q}' /proc/self/maps";
    let words = ["sh", "-c", maps];
    assert_eq!(own("nothing", &words), [true, true, true]);
    let real = fs::canonicalize("/bin/cat").unwrap().display().to_string();
    for except in ["cat", "/bin/cat", real.as_str(), "other,cat"] {
        assert_eq!(own(except, &words), [false, false, true], "{except}");
    }
    assert!(!own("cat", &["/bin/cat", "/proc/self/maps"])[0]);
    assert!(own("sed", &["/bin/cat", "/proc/self/maps"])[0]);
    // An inner call keeps what the outer one excepts.
    let inner = format!("{} warm --except sed -- sh -c \"$0\"", env!("CARGO_BIN_EXE_steady"));
    assert_eq!(own("cat", &["sh", "-c", &inner, maps]), [false, false, false]);
    assert!(own("expr", &["sh", "-c", "expr 1 + 1; expr 1 + 1"]).iter().all(|warm| !warm));
    assert!(within(10.0, || kept.keepers() == 0));
    assert_eq!(kept.state(&fs::canonicalize("/usr/bin/expr").unwrap().display().to_string()), "unknown");
    let (status, _, stderr) = told(kept.steady().args(["warm", "--except", "a:b", "--", "true"]).output().unwrap());
    assert!(status == 125 && stderr.contains("without a colon"), "{stderr}");
}
