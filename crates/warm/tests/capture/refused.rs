//! Constructors whose programs are refused.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use steady_linux::debuggee::{Beginning, Debuggee, Limits, Watched};
use steady_warm::capture::capture;
use steady_warm::captured::NotCaptured;

use super::made::Made;
use super::{refusal, request, tell};

/// Constructors that only debug registers detect: name, body, and a part of the refusal.
const WATCHED: [(&str, &str, &str); 3] = [
    ("variables", "for (; *variables; variables++) kept[0] += **variables;", "reads its environment directly"),
    ("environ", "for (char **all = environ; *all; all++) kept[0] += **all == 'X';", "reads its environment directly"),
    ("words", "for (; *words; words++) kept[0] += **words;", "reads its arguments directly"),
];

/// Constructors: name, body, and a part of the refusal, with alternatives separated by `|`.
const CONSTRUCTORS: [(&str, &str, &str); 51] = [
    ("thread", "pthread_t other; pthread_create(&other, 0, thread, 0);", "before its entry"),
    ("fork", "if (fork() == 0) for (;;) pause();", "it calls clone(2)|blocks signals"),
    ("exec", "execl(\"/bin/true\", \"true\", (char *)0);", "it calls execve(2)"),
    ("handler", "signal(SIGUSR1, handler);", "it sets the disposition of signal 10"),
    ("ignored", "signal(SIGPIPE, SIG_IGN);", "it sets the disposition of signal 13"),
    ("held", "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0);", "blocks signals"),
    ("stack", "stack_t other = {malloc(65536), 0, 65536}; sigaltstack(&other, 0);", "it calls sigaltstack(2)"),
    ("timer", "alarm(100);", "it calls alarm(2)"),
    ("socket", "socket(AF_UNIX, SOCK_STREAM, 0);", "it calls socket(2)"),
    ("kill", "kill(getpid(), SIGCONT);", "it calls kill(2)"),
    ("open", "open(HERE \"/made.c\", O_RDONLY);", "/made.c open at its entry"),
    ("write", "open(HERE \"/made-by-it\", O_WRONLY | O_CREAT, 0600);", "for writing"),
    ("output", "write(1, \"x\", 1);", "it calls write(2)"),
    ("complaint", "fputs(\"this and that\", stderr);", "it writes before its entry point: this and that"),
    ("shared", "mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);", "it shares memory"),
    ("forks-clean", "madvise(mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 18);", "it calls madvise(2)"),
    ("ends", "_exit(3);", "it ends with status 3"),
    ("crash", "*(volatile int *)8 = 1;", "signal 11"),
    ("aborts", "abort();", "before its entry"),
    ("trap", "__asm__ volatile(\"int3\");", "signal 5"),
    (
        "clock",
        "kept[0] = time(0);",
        "it calls time(2)|a constructor calls time(2)|a constructor calls clock_gettime(2)",
    ),
    ("random", "getrandom(kept, 16, 0);", "draws a random number|calls getrandom(2)|blocks signals"),
    ("own-eight", "getrandom(kept, 8, GRND_NONBLOCK);", "draws a random number|calls getrandom(2)|blocks signals"),
    ("device", "close(open(\"/dev/urandom\", O_RDONLY));", "it uses /dev/urandom"),
    ("itself", "close(open(\"/proc/self/maps\", O_RDONLY));", "it uses /proc/self/maps"),
    ("relative", "close(open(\"here\", O_RDONLY));", "it uses the relative path here"),
    ("streams", "kept[0] = isatty(1);", "it calls ioctl(2)"),
    ("handled", "struct sigaction old; sigaction(SIGHUP, 0, &old);", "it reads the disposition of signal 1 "),
    ("masked", "sigset_t old; sigprocmask(SIG_BLOCK, 0, &old);", "it reads the signal mask"),
    ("seek", "kept[0] = lseek(0, 0, SEEK_CUR);", "it uses its standard streams"),
    ("stream-map", "mmap(0, 4096, PROT_READ, MAP_PRIVATE, 0, 0);", "it calls mmap(2)"),
    ("inherited", "kept[0] = fcntl(7, F_GETFD);", "it uses descriptor 7, which it has not opened"),
    ("closes", "close(9);", "it uses descriptor 9"),
    ("own-descriptors", "kept[0] = access(\"/proc/self/fd/7\", F_OK);", "it uses /proc/self/fd/7"),
    ("terminals", "close(open(\"/proc/sys/kernel/pty/nr\", O_RDONLY));", "it uses /proc/sys/kernel/pty/nr"),
    ("uuid", "close(open(\"/proc/sys/kernel/random/uuid\", O_RDONLY));", "it uses /proc/sys/kernel/random/uuid"),
    ("folder", "struct stat here; fstatat(AT_FDCWD, \"\", &here, 0x1000);", "it uses its working directory"),
    ("processor", "kept[0] = sched_getcpu();", "it calls getcpu(2)|a constructor calls getcpu(2)"),
    ("advice", "madvise(mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 16);", "it calls madvise(2)"),
    (
        "alignment",
        "__asm__ volatile(\"pushfq; orl $0x40000, (%%rsp); popfq\" ::: \"cc\", \"memory\");",
        "sets flags of the CPU",
    ),
    ("segment", "__asm__ volatile(\"mov %0, %%gs\" :: \"r\"(0x2b));", "sets a segment register or the GS base"),
    ("base", "__asm__ volatile(\"wrgsbase %0\" :: \"r\"(kept));", "sets a segment register or the GS base"),
    ("x87", "__asm__ volatile(\"fld1\");", "in the x87 registers"),
    ("unregister", "syscall(SYS_rseq, kept, 32, 1, 0x53053053);", "it calls rseq(2)"),
    (
        "shared-file",
        "mmap(0, 4096, PROT_READ, MAP_SHARED, open(HERE \"/made.c\", O_RDONLY), 0); close(3);",
        "it shares memory",
    ),
    (
        "guard",
        "mprotect((void *)((long)&words & ~0xfff) - 16384, 4096, PROT_READ);",
        "protection of a part of its stack|memory lies",
    ),
    ("keepcaps", "prctl(8, 1);", "it calls prctl(2) with 8"),
    ("umask", "umask(077);", "it calls umask(2)"),
    ("priority", "nice(1);", "it calls setpriority(2)|it calls getpriority(2)"),
    ("all-locked", "mlockall(MCL_FUTURE);", "it calls mlockall(2)"),
    ("old-calls", "__asm__ volatile(\"int $0x80\" :: \"a\"(20) : \"memory\");", "32-bit"),
];

#[test]
fn a_constructor_whose_effect_cannot_be_restored_is_refused() {
    let mut others = vec![];
    let watched = if words_are_watched() { &WATCHED[..] } else { &[] };
    for &(name, body, expected) in CONSTRUCTORS.iter().chain(watched) {
        let Some(made) = Made::new(name, body) else { return };
        let why = refusal(&made.program());
        if !expected.split('|').any(|expected| why.contains(expected)) {
            others.push(format!("{name}: {why}"));
        }
        assert!(!made.0.join("made-by-it").exists(), "{name}: the file was created before the refusal");
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// Returns whether the CPU has debug registers here; prints a line if not.
fn words_are_watched() -> bool {
    let limits = Limits { cpu_seconds: 5, wall_seconds: 60 };
    let beginning = Beginning { program: Path::new("/bin/true"), stack_limit: 8 << 20, limits };
    let mut held = Debuggee::start(&beginning, [OsStr::new("true")], []).unwrap();
    let stack = held.registers().unwrap().stack();
    let watched = held.watch([Some(Watched::Word(stack & !7)), None, None, None]);
    if let Err(why) = &watched {
        tell(&format!("skipped: a_constructor_whose_effect_cannot_be_restored_is_refused: no debug registers: {why}"));
    }
    watched.is_ok()
}

#[test]
fn a_program_that_loops_is_stopped_by_its_cpu_time() {
    let Some(made) = Made::new("loops", "for (volatile int turns = 0;; turns++) { }") else { return };
    let given_up = capture(&request(&made.program()));
    // With less than a sixth of a CPU, it reaches the other limit first.
    let is_limit = |why: &str| why.contains("5 s of CPU time") || why.contains("30 s of wall time");
    assert!(matches!(&given_up, Err(NotCaptured::Failed(why)) if is_limit(why)), "{given_up:?}");
    let limits = Limits { cpu_seconds: 1, wall_seconds: 600 };
    let beginning = Beginning { program: &made.program(), stack_limit: 8 << 20, limits };
    let mut held = Debuggee::start(&beginning, [OsStr::new("program")], []).unwrap();
    let why = held.go_on_past_calls().unwrap_err().to_string();
    assert!(why.contains("1 s of CPU time"), "{why}");
}

#[test]
fn a_program_that_waits_is_stopped_by_wall_time() {
    let Some(made) = Made::new("waits", "open(HERE \"/pipe\", O_RDONLY);") else { return };
    rustix::fs::mknodat(rustix::fs::CWD, made.0.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let given_up = capture(&request(&made.program()));
    assert!(matches!(&given_up, Err(NotCaptured::Failed(why)) if why.contains("30 s of wall time")), "{given_up:?}");
}

#[test]
fn a_refusal_quotes_the_error_message_of_ld_so() {
    let Some(made) = Made::new("lost", "") else { return };
    fs::remove_file(made.0.join("libmade.so")).unwrap();
    let why = refusal(&made.program());
    assert!(why.contains("libmade.so") && why.contains("it writes before its entry"), "{why}");
}

#[test]
fn a_static_program_is_refused() {
    let Some(made) = Made::new("static", "") else { return };
    fs::write(made.0.join("alone.c"), "int main(void) { return 0; }\n").unwrap();
    made.compile(&["-static", "alone.c", "-o", "alone"]);
    assert!(refusal(&made.0.join("alone")).contains("statically"));
}

#[test]
fn a_program_with_two_hard_links_that_reads_its_path_is_refused() {
    let Some(made) = Made::new("names", "") else { return };
    fs::hard_link(made.program(), made.0.join("other")).unwrap();
    assert!(refusal(&made.program()).contains("has 2 hard links"));
}

#[test]
fn programs_are_captured_with_other_stack_limits() {
    for limit in ["8192", "65536"] {
        let output = Command::new("/bin/sh")
            .args(["-c", "ulimit -s \"$1\" && exec \"$2\" real:: made::", "sh", limit])
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("13 passed"), "{limit}: {text}");
    }
}
