//! What a constructor may not do before the entry, if its program is to be kept warm.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use steady_linux::debuggee::{Beginning, Debuggee, Limits, Watched};
use steady_warm::take::take;
use steady_warm::taken::NotTaken;

use super::made::Made;
use super::{refusal, request, tell};

/// Only where the CPU's debug registers can be had.
const WATCHED: [(&str, &str, &str); 3] = [
    ("variables", "for (; *variables; variables++) kept[0] += **variables;", "goes through its environment"),
    ("environ", "for (char **all = environ; *all; all++) kept[0] += **all == 'X';", "goes through its environment"),
    ("words", "for (; *words; words++) kept[0] += **words;", "goes through its arguments"),
];

/// A constructor's body, and what the refusal then says.
const CONSTRUCTORS: [(&str, &str, &str); 51] = [
    ("thread", "pthread_t other; pthread_create(&other, 0, thread, 0);", "before its entry"),
    ("fork", "if (fork() == 0) for (;;) pause();", "it calls clone(2)|holds signals back"),
    ("exec", "execl(\"/bin/true\", \"true\", (char *)0);", "it calls execve(2)"),
    ("handler", "signal(SIGUSR1, handler);", "it sets how signal 10 is handled"),
    ("ignored", "signal(SIGPIPE, SIG_IGN);", "it sets how signal 13 is handled"),
    ("held", "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0);", "holds signals back"),
    ("stack", "stack_t other = {malloc(65536), 0, 65536}; sigaltstack(&other, 0);", "it calls sigaltstack(2)"),
    ("timer", "alarm(100);", "it calls alarm(2)"),
    ("socket", "socket(AF_UNIX, SOCK_STREAM, 0);", "it calls socket(2)"),
    ("kill", "kill(getpid(), SIGCONT);", "it calls kill(2)"),
    ("open", "open(HERE \"/made.c\", O_RDONLY);", "/made.c open at its entry"),
    ("write", "open(HERE \"/made-by-it\", O_WRONLY | O_CREAT, 0600);", "to write"),
    ("output", "write(1, \"x\", 1);", "it calls write(2)"),
    ("complaint", "fputs(\"this and that\", stderr);", "it writes before its entry: this and that"),
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
    ("random", "getrandom(kept, 16, 0);", "draws a random number|calls getrandom(2)|holds signals back"),
    ("own-eight", "getrandom(kept, 8, GRND_NONBLOCK);", "draws a random number|calls getrandom(2)|holds signals back"),
    ("device", "close(open(\"/dev/urandom\", O_RDONLY));", "it asks for /dev/urandom"),
    ("itself", "close(open(\"/proc/self/maps\", O_RDONLY));", "it asks for /proc/self/maps"),
    ("relative", "close(open(\"here\", O_RDONLY));", "it asks for here, wherever it is started"),
    ("streams", "kept[0] = isatty(1);", "it calls ioctl(2)"),
    ("handled", "struct sigaction old; sigaction(SIGHUP, 0, &old);", "it asks how signal 1 is handled"),
    ("masked", "sigset_t old; sigprocmask(SIG_BLOCK, 0, &old);", "it asks which signals are held back"),
    ("seek", "kept[0] = lseek(0, 0, SEEK_CUR);", "it looks at its standard streams"),
    ("stream-map", "mmap(0, 4096, PROT_READ, MAP_PRIVATE, 0, 0);", "it calls mmap(2)"),
    ("inherited", "kept[0] = fcntl(7, F_GETFD);", "it asks for descriptor 7, which it has not opened"),
    ("closes", "close(9);", "it asks for descriptor 9"),
    ("own-descriptors", "kept[0] = access(\"/proc/self/fd/7\", F_OK);", "it asks for /proc/self/fd/7"),
    ("terminals", "close(open(\"/proc/sys/kernel/pty/nr\", O_RDONLY));", "it asks for /proc/sys/kernel/pty/nr"),
    ("uuid", "close(open(\"/proc/sys/kernel/random/uuid\", O_RDONLY));", "it asks for /proc/sys/kernel/random/uuid"),
    ("folder", "struct stat here; fstatat(AT_FDCWD, \"\", &here, 0x1000);", "it looks at its working directory"),
    ("processor", "kept[0] = sched_getcpu();", "it calls getcpu(2)|a constructor calls getcpu(2)"),
    ("advice", "madvise(mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 16);", "it calls madvise(2)"),
    (
        "alignment",
        "__asm__ volatile(\"pushfq; orl $0x40000, (%%rsp); popfq\" ::: \"cc\", \"memory\");",
        "sets flags of the CPU",
    ),
    ("segment", "__asm__ volatile(\"mov %0, %%gs\" :: \"r\"(0x2b));", "sets a segment of its own"),
    ("base", "__asm__ volatile(\"wrgsbase %0\" :: \"r\"(kept));", "sets a segment of its own"),
    ("x87", "__asm__ volatile(\"fld1\");", "in the registers of the x87"),
    ("unregister", "syscall(SYS_rseq, kept, 32, 1, 0x53053053);", "it calls rseq(2)"),
    (
        "shared-file",
        "mmap(0, 4096, PROT_READ, MAP_SHARED, open(HERE \"/made.c\", O_RDONLY), 0); close(3);",
        "it shares memory",
    ),
    (
        "guard",
        "mprotect((void *)((long)&words & ~0xfff) - 16384, 4096, PROT_READ);",
        "protects a part of its stack|memory lies",
    ),
    ("keepcaps", "prctl(8, 1);", "it calls prctl(2) with 8"),
    ("umask", "umask(077);", "it calls umask(2)"),
    ("priority", "nice(1);", "it calls setpriority(2)|it calls getpriority(2)"),
    ("all-locked", "mlockall(MCL_FUTURE);", "it calls mlockall(2)"),
    ("old-calls", "__asm__ volatile(\"int $0x80\" :: \"a\"(20) : \"memory\");", "32-bit"),
];

#[test]
fn what_cannot_be_made_again_is_refused() {
    let mut others = vec![];
    let watched = if words_are_watched() { &WATCHED[..] } else { &[] };
    for &(name, body, expected) in CONSTRUCTORS.iter().chain(watched) {
        let Some(made) = Made::new(name, body) else { return };
        let why = refusal(&made.program());
        if !expected.split('|').any(|expected| why.contains(expected)) {
            others.push(format!("{name}: {why}"));
        }
        assert!(!made.0.join("made-by-it").exists(), "{name} was not stopped before that");
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// Whether the CPU has debug registers here, aloud where it has not.
fn words_are_watched() -> bool {
    let limits = Limits { cpu_seconds: 5, wall_seconds: 60 };
    let beginning = Beginning { program: Path::new("/bin/true"), stack_limit: 8 << 20, limits };
    let mut held = Debuggee::start(&beginning, [OsStr::new("true")], []).unwrap();
    let stack = held.registers().unwrap().stack();
    let watched = held.watch([Some(Watched::Word(stack & !7)), None, None, None]);
    if let Err(why) = &watched {
        tell(&format!("skipped: what_cannot_be_made_again_is_refused: words cannot be watched: {why}"));
    }
    watched.is_ok()
}

#[test]
fn a_program_that_loops_is_given_up_by_its_cpu_time() {
    let Some(made) = Made::new("loops", "for (volatile int turns = 0;; turns++) { }") else { return };
    let given_up = take(&request(&made.program()));
    assert!(matches!(&given_up, Err(NotTaken::Failed(why)) if why.contains("5 seconds of CPU time")), "{given_up:?}");
}

#[test]
fn a_program_that_waits_is_given_up() {
    let Some(made) = Made::new("waits", "open(HERE \"/pipe\", O_RDONLY);") else { return };
    rustix::fs::mknodat(rustix::fs::CWD, made.0.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let given_up = take(&request(&made.program()));
    assert!(matches!(&given_up, Err(NotTaken::Failed(why)) if why.contains("30 seconds of wall time")), "{given_up:?}");
}

#[test]
fn what_ld_so_cannot_load_is_told_in_its_words() {
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
fn a_program_with_two_names_that_asks_for_its_own_is_refused() {
    let Some(made) = Made::new("names", "") else { return };
    fs::hard_link(made.program(), made.0.join("other")).unwrap();
    assert!(refusal(&made.program()).contains("has 2 of them"));
}

#[test]
fn programs_are_taken_where_the_stack_is_limited() {
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
