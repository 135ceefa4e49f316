//! `steady warm` as a command: modes, exit statuses, the environment of the command, `why`, `snapshot`, `clear` and
//! `--except`.

mod steady;
#[path = "warm/mod.rs"]
mod test_env;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use steady::output_of;
use test_env::{TestEnv, available, within};

/// A service that is started from a snapshot is not found by its file, and may be started a second time.
#[test]
fn the_first_screen_of_the_help_warns_about_services() {
    for option in ["-h", "--help"] {
        let (status, help, _) = steady::run(&["warm", option]);
        let first_screen: String = help.lines().take(20).collect::<Vec<_>>().join(" ");
        let all = ["services", "/proc/PID/exe", "--except"].iter().all(|word| first_screen.contains(word));
        assert!(status == 0 && all, "{option}: {help}");
        assert!(help.starts_with("Speed up a script"), "the purpose comes first: {help}");
    }
}

#[test]
fn the_first_launch_is_normal_and_later_ones_use_snapshots() {
    let Some(env) = available("the_first_launch_is_normal_and_later_ones_use_snapshots") else { return };
    let script = "for i in 1 2 3; do /bin/cat /etc/hostname; done; /bin/true && echo well";
    let usual = output_of(Command::new("sh").args(["-c", script]).output().unwrap());
    assert_eq!(env.run(&["sh", "-c", script]), usual);
    assert!(env.launches("no_card") > 0, "{}", env.status());
    // A keeper may only spend CPU time that snapshots have saved. On a busy machine the next keeper continues its work.
    let is_warm = || {
        env.run(&["sh", "-c", script]);
        env.state("/bin/cat") == "warm" && env.state("/bin/true") == "warm"
    };
    assert!(within(20.0, is_warm), "{}", env.status());
    let before = env.launches("warm");
    assert_eq!(env.run(&["sh", "-c", script]), usual);
    assert!(env.launches("warm") >= before + 4, "{}", env.status());
}

#[test]
fn prewarmed_programs_use_snapshots_from_the_first_launch() {
    let Some(env) = available("prewarmed_programs_use_snapshots_from_the_first_launch") else { return };
    let args = [
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
    let (status, _, stderr) = output_of(env.steady().args(args).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert_eq!((env.launches("warm"), env.launches("no_card")), (2, 0), "{}", env.status());
    // Without --programs, the programs named on the command line are prewarmed. Those that env(1) and similar programs
    // start use snapshots too, because they inherit the hook.
    let args = ["warm", "--mode", "prewarm", "--", "sh", "-c", "/usr/bin/env head -c1 /dev/zero >/dev/null"];
    assert_eq!(output_of(env.steady().args(args).output().unwrap()), (0, String::new(), String::new()));
    assert_eq!((env.launches("warm"), env.launches("no_card")), (4, 0), "{}", env.status());
    let (status, _, stderr) =
        output_of(env.steady().args(["warm", "--programs", "cat", "--", "true"]).output().unwrap());
    assert!(status == 125 && stderr.contains("--mode prewarm"), "{stderr}");
}

#[test]
fn mode_off_runs_the_command_unchanged() {
    let env = TestEnv::new("off");
    let args = ["warm", "--mode", "off", "--", "sh", "-c", "echo [$LD_PRELOAD]; exit 7"];
    assert_eq!(output_of(env.steady().args(args).output().unwrap()), (7, "[]\n".to_owned(), String::new()));
    assert!(!env.cache.exists());
    // It also removes the hook of an outer `steady warm`, and no other library.
    let inner = format!("'{}' warm --mode off -- sh -c 'echo [$LD_PRELOAD]'", env!("CARGO_BIN_EXE_steady"));
    let outer = |script: &str| output_of(env.steady().args(["warm", "--", "sh", "-c", script]).output().unwrap());
    assert_eq!(outer(&inner), (0, "[]\n".to_owned(), String::new()));
    let (status, stdout, _) = outer(&format!("LD_PRELOAD=$LD_PRELOAD:/none.so {inner}"));
    assert_eq!((status, stdout.as_str()), (0, "[/none.so]\n"));
}

#[test]
fn the_exit_status_is_that_of_the_command_or_of_the_error() {
    let env = TestEnv::new("statuses");
    assert_eq!(env.run(&["sh", "-c", "exit 3"]).0, 3);
    let killed = env.command(&["sh", "-c", "kill -TERM $$"]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(15));
    for (args, status, text) in [
        (&["/no-such-folder/x"][..], 127, "/no-such-folder/x"),
        (&["no-such-program"], 127, "in PATH"),
        (&["/etc/passwd"], 126, "/etc/passwd"),
        (&["/tmp"], 126, "/tmp"),
    ] {
        let (found, _, stderr) = env.run(args);
        assert!(found == status && stderr.contains(text), "{args:?}: {found} {stderr}");
    }
    for (args, status) in [
        (&["warm"][..], 2),
        (&["warm", "--mode", "x", "--", "true"], 125),
        (&["warm", "--"], 125),
        (&["warm", "./without-the-two-dashes"], 125),
        (&["warm", "why", "no-such-program"], 2),
        (&["warm", "why", "--", "no-such-program"], 2),
    ] {
        let (found, _, stderr) = output_of(env.steady().args(args).output().unwrap());
        assert!(found == status && !stderr.is_empty(), "{args:?}: {found} {stderr}");
    }
}

#[test]
fn steady_itself_gets_no_snapshot() {
    let Some(env) = available("steady_itself_gets_no_snapshot") else { return };
    let (own, script) = (env!("CARGO_BIN_EXE_steady"), "/bin/true; /bin/true; sleep 0.2");
    assert_eq!(env.run(&[own, "warm", "--", "sh", "-c", script]).0, 0);
    assert!(within(10.0, || env.state("/bin/true") == "warm"), "{}", env.status());
    assert_ne!(env.state(own), "warm", "{}", env.status());
    let is_warm = || {
        env.run(&[own, "warm", "--", "sh", "-c", script]);
        env.state("/bin/sh") == "warm"
    };
    assert!(within(20.0, is_warm), "/bin/sh has no snapshot: {}", env.status());
}

#[test]
fn the_command_replaces_the_process_of_steady() {
    let env = TestEnv::new("replace");
    let mut child = env.command(&["sh", "-c", "echo $$ $PPID"]).stdout(Stdio::piped()).spawn().unwrap();
    let output = child.read_to_end();
    assert_eq!(output.trim(), format!("{} {}", child.id(), std::process::id()));
}

#[test]
fn signals_streams_and_limits_are_inherited_unchanged() {
    let Some(env) = available("signals_streams_and_limits_are_inherited_unchanged") else { return };
    let steady = env!("CARGO_BIN_EXE_steady");
    // Ignored signals, closed streams, open descriptors, limits and the umask must be those that the shell has set.
    let print_state = "sed -n '/^Sig[BCI]/p' /proc/self/status; ls /proc/self/fd; ulimit -a; umask; env | grep -v -e ^LD_PRELOAD -e ^_=";
    for setting in
        ["trap '' PIPE HUP;", "trap '' USR1; umask 027;", "ulimit -n 100; ulimit -s 4096;", "exec 7>/dev/null;"]
    {
        let shell = |before: &str| {
            let text = format!("{setting} exec {before} sh -c \"$LOOK\" <&-");
            output_of(env.shell(&text).env("LOOK", print_state).output().unwrap())
        };
        assert_eq!(shell(&format!("{steady} warm --")), shell(""), "{setting}");
    }
    // Shells do not pass on that SIGCHLD is ignored, so the command itself prints its signals.
    let child = |before: &str| {
        let text = format!("exec env --ignore-signal=CHLD {before} sed -n '/^SigIgn/p' /proc/self/status");
        output_of(env.shell(&text).output().unwrap())
    };
    let usual = child("");
    if usual.0 != 0 {
        return steady::skip("an ignored SIGCHLD", "this env(1) cannot ignore signals");
    }
    assert_eq!(child(&format!("{steady} warm --")), usual);
    let ignored = u64::from_str_radix(usual.1.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    assert_eq!(ignored >> 16 & 1, 1, "SIGCHLD, the 17th signal, is not ignored: {}", usual.1);
}

#[test]
fn libraries_that_the_user_preloads_are_loaded() {
    let Some(env) = available("libraries_that_the_user_preloads_are_loaded") else { return };
    let library = "libm.so.6";
    let print = ["sh", "-c", "echo $LD_PRELOAD; grep -c libm.so /proc/self/maps"];
    let (status, stdout, _) = output_of(env.command(&print).env("LD_PRELOAD", library).output().unwrap());
    assert!(status == 0 && stdout.lines().next().unwrap().ends_with(&format!("/hook.so:{library}")), "{stdout}");
    assert_ne!(stdout.lines().nth(1), Some("0"));
    assert_eq!(env.launches("warm"), 0);
    env.snapshot("/bin/true");
    let why = output_of(env.steady().args(["warm", "why", "/bin/true"]).env("LD_PRELOAD", library).output().unwrap());
    assert!(why.1.contains("LD_PRELOAD"), "{why:?}");
    // A nested `steady warm` does not preload the hook twice.
    let nested = format!("{} warm -- sh -c 'echo $LD_PRELOAD'", env!("CARGO_BIN_EXE_steady"));
    let (_, stdout, _) = env.run(&["sh", "-c", &nested]);
    assert_eq!(stdout.matches("hook.so").count(), 1, "{stdout}");
}

#[test]
fn why_gives_the_state_of_a_program() {
    let Some(env) = available("why_gives_the_state_of_a_program") else { return };
    let why = |program: &str| {
        output_of(env.steady().args(["warm", "why", program]).env("COLUMNS", "1000").output().unwrap())
            .1
            .replace("\n  ", " ")
    };
    assert!(why("/bin/true").contains("there is no store"), "{}", why("/bin/true"));
    env.snapshot("/bin/true");
    assert!(why("/bin/true").contains("started from a snapshot"), "{}", why("/bin/true"));
    assert!(why("/bin/cat").contains("not been captured yet"), "{}", why("/bin/cat"));
    assert!(why("/etc/passwd").contains("may not be executed"), "{}", why("/etc/passwd"));
    // A copy elsewhere is another program.
    let copy = env.folder().join("true");
    fs::copy("/bin/true", &copy).unwrap();
    assert!(why(copy.to_str().unwrap()).contains("not been captured yet"));
    let mut limited =
        env.shell(&format!("ulimit -s unlimited; exec {} warm why /bin/true", env!("CARGO_BIN_EXE_steady")));
    assert!(output_of(limited.output().unwrap()).1.contains("ulimit -s"));
    let with_variable = env.steady().args(["warm", "why", "/bin/true"]).env("MALLOC_ARENA_MAX", "1").output().unwrap();
    assert!(output_of(with_variable).1.contains("MALLOC_ARENA_MAX"));
    // A program that does not exist hides no answer.
    let several = env.steady().args(["warm", "why", "no-such-program", "/bin/true", "/bin/cat"]).output().unwrap();
    let (status, stdout, stderr) = output_of(several);
    assert!(status == 2 && stderr.contains("no-such-program"), "{stderr}");
    assert!(stdout.contains("/bin/true would be") && stdout.contains("/bin/cat would be"), "{stdout}");
    let script = env.script("hello", "#!/bin/sh -e\necho hello\n");
    let interpreter = fs::canonicalize("/bin/sh").unwrap().display().to_string();
    let new = why(&script);
    assert!(
        new.contains("a script for /bin/sh -e") && new.contains(&format!("{interpreter}, has no snapshot")),
        "{new}"
    );
    let (status, stdout, _) = output_of(env.steady().args(["warm", "snapshot", &script]).output().unwrap());
    let stdout = stdout.replace("\n  ", " ");
    assert!(status == 0 && stdout.contains("is a script for /bin/sh -e"), "{stdout}");
    assert!(stdout.contains(&format!("Its interpreter, {interpreter}, is warm.")), "{stdout}");
    let known = why(&script);
    assert!(known.contains(&format!("from a snapshot of its interpreter, {interpreter}.")), "{known}");
}

#[test]
fn refused_programs_have_a_reason_and_run_normally() {
    let Some(env) = available("refused_programs_have_a_reason_and_run_normally") else { return };
    use std::os::unix::fs::PermissionsExt;
    let copy = env.folder().join("true");
    fs::copy("/bin/true", &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    let path = copy.to_str().unwrap();
    let (status, stdout, stderr) =
        output_of(env.steady().args(["warm", "snapshot", path, "/bin/true"]).output().unwrap());
    assert!(status == 1 && stdout.contains("setuid") && stdout.contains("is warm"), "{stdout}{stderr}");
    assert_eq!(env.state(path), "refused");
    assert_eq!(env.run(&["sh", "-c", &format!("{path} && {path}; echo $?")]), (0, "0\n".to_owned(), String::new()));
    assert_eq!(env.launches("refused"), 2, "{}", env.status());
    // A change of the file causes a new attempt.
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(
        within(15.0, || {
            env.run(&["sh", "-c", &format!("{path}; sleep 0.3")]);
            env.state(path) == "warm"
        }),
        "{}",
        env.status()
    );
}

#[test]
fn tools_from_snapshots_show_the_program_of_a_process_from_a_snapshot() {
    let test = "tools_from_snapshots_show_the_program_of_a_process_from_a_snapshot";
    let Some(env) = available(test) else { return };
    ["/bin/bash", "/usr/bin/readlink", "/bin/ls"].iter().for_each(|program| env.snapshot(program));
    let script = "/usr/bin/readlink /proc/$$/exe; /bin/ls -l /proc/$$/exe | cut -c 1; true";
    let (status, stdout, stderr) =
        output_of(env.command(&["sh", "-c", "/bin/bash -c \"$1\"; :", "sh", script]).output().unwrap());
    let bash = fs::canonicalize("/bin/bash").unwrap();
    assert_eq!((status, stdout, stderr.as_str()), (0, format!("{}\nl\n", bash.display()), ""));
    assert!(env.launches("warm") >= 3, "{}", env.status());
}

/// A program may do what its name says. The name of a symbolic link counts, also for nohup(1) and similar programs,
/// which start services.
#[test]
fn a_program_that_is_started_by_a_link_has_the_name_of_the_link() {
    let Some(env) = available("a_program_that_is_started_by_a_link_has_the_name_of_the_link") else { return };
    let path = |name: &str| env.folder().join(name).display().to_string();
    for (program, copy, link) in [("/usr/bin/env", "multi", "nohup"), ("/usr/bin/readlink", "reads", "linked")] {
        fs::copy(program, path(copy)).unwrap();
        std::os::unix::fs::symlink(copy, path(link)).unwrap();
        env.snapshot(&path(link));
    }
    env.snapshot("/bin/cat");
    let run = |command: String| {
        let before = env.launches("warm");
        let (status, stdout, stderr) = env.run(&["sh", "-c", &format!("{command}; :")]);
        assert_eq!((status, stderr.as_str()), (0, ""), "{command}");
        (env.launches("warm") - before, stdout)
    };
    let (launches, maps) = run(format!("{} /bin/cat /proc/self/maps", path("multi")));
    assert!(launches == 2 && maps.contains("/snapshots/"), "{maps}");
    let (launches, maps) = run(format!("{} /bin/cat /proc/self/maps", path("nohup")));
    assert!(launches == 1 && !maps.contains("/snapshots/"), "{maps}");
    for name in ["reads", "linked"] {
        assert_eq!(run(format!("{} /proc/self/exe", path(name))), (1, format!("{}\n", path("reads"))), "{name}");
    }
}

#[test]
fn clear_removes_snapshots_of_running_programs() {
    let Some(env) = available("clear_removes_snapshots_of_running_programs") else { return };
    env.snapshot("/bin/cat");
    let mut shell = env.command(&["sh", "-c", "/bin/cat; echo $?; /bin/cat /dev/null; echo $?"]);
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert!(within(5.0, || env.launches("warm") > 0), "{}", env.status());
    let (status, stdout, stderr) = output_of(env.steady().args(["warm", "clear"]).output().unwrap());
    assert!(status == 0 && stdout.is_empty() && stderr.contains("removed what was stored on "), "{stderr}");
    assert_eq!(env.state("/bin/cat"), "unknown");
    drop(child.stdin.take());
    assert_eq!(child.read_to_end(), "0\n0\n");
}

trait ReadToEnd {
    /// Waits for a process and returns its standard output.
    fn read_to_end(&mut self) -> String;
}

impl ReadToEnd for std::process::Child {
    fn read_to_end(&mut self) -> String {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.stdout.take().expect("standard output is a pipe"), &mut text)
            .expect("the output is UTF-8");
        self.wait().expect("the process can be waited for");
        text
    }
}

/// Excepted programs start normally, by whatever name they are called, and get no snapshots. All others do.
#[test]
fn excepted_programs_start_without_snapshots() {
    let Some(env) = available("excepted_programs_start_without_snapshots") else { return };
    for program in ["/bin/cat", "/bin/sed", "/bin/sh"] {
        env.snapshot(program);
    }
    // A program that runs from a snapshot has the file of the snapshot in its memory map.
    let from_snapshots = |except: &str, args: &[&str]| {
        let mut command = env.steady();
        command.args(["warm", "--except", except, "--"]).args(args);
        let (status, stdout, stderr) = output_of(command.output().unwrap());
        assert_eq!((status, stderr.as_str()), (0, ""), "{except}");
        stdout.lines().map(|line| line.contains("/snapshots/")).collect::<Vec<_>>()
    };
    let maps = "head -1 /proc/self/maps >/dev/null; /bin/cat /proc/self/maps | grep -m1 -o '/.*'; \
                cat /proc/self/maps | grep -m1 -o '/.*'; sed -n '/\\//{p;q}' /proc/self/maps";
    let args = ["sh", "-c", maps];
    assert_eq!(from_snapshots("nothing", &args), [true, true, true]);
    let real = fs::canonicalize("/bin/cat").unwrap().display().to_string();
    for except in ["cat", "/bin/cat", real.as_str(), "other,cat"] {
        assert_eq!(from_snapshots(except, &args), [false, false, true], "{except}");
    }
    assert!(!from_snapshots("cat", &["/bin/cat", "/proc/self/maps"])[0]);
    assert!(from_snapshots("sed", &["/bin/cat", "/proc/self/maps"])[0]);
    // A nested `steady warm` also excepts the programs of the outer one.
    let inner = format!("{} warm --except sed -- sh -c \"$0\"", env!("CARGO_BIN_EXE_steady"));
    assert_eq!(from_snapshots("cat", &["sh", "-c", &inner, maps]), [false, false, false]);
    assert!(from_snapshots("expr", &["sh", "-c", "expr 1 + 1; expr 1 + 1"]).iter().all(|warm| !warm));
    let trees =
        || output_of(Command::new("ps").args(["-eo", "pid,ppid,stat,ni,time,wchan:20,args"]).output().unwrap()).1;
    assert!(within(10.0, || env.keepers() == 0), "{}\n{}", env.status(), trees());
    assert_eq!(env.state(&fs::canonicalize("/usr/bin/expr").unwrap().display().to_string()), "unknown");
    let (status, _, stderr) = output_of(env.steady().args(["warm", "--except", "a:b", "--", "true"]).output().unwrap());
    assert!(status == 125 && stderr.contains("without a colon"), "{stderr}");
}
