//! Programs made for a test: one that does nothing, with a library whose constructor does something.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use steady_warm::take::take;
use steady_warm::taken::Request;

use super::{asked, request, tell};

/// A folder of a test's own, removed at its end.
pub(crate) struct Made(pub(crate) PathBuf);

impl Made {
    /// `program` in a folder of its own, with `libmade.so` beside it, whose constructor has this body; `None` where there is
    /// no compiler, aloud.
    pub(crate) fn new(test: &str, body: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("steady-taken-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let made = Made(folder);
        let source = format!(
            "#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <pthread.h>\n#include <sched.h>\n#include <signal.h>\n\
             #include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <sys/prctl.h>\n#include <sys/random.h>\n\
             #include <sys/resource.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n\
             #include <time.h>\n#include <unistd.h>\n\
             #define HERE \"{}\"\nlong kept[64];\n\
             static void *thread(void *x) {{ for (;;) pause(); return x; }}\nstatic void handler(int x) {{ (void)x; }}\n\
             int anchor(void) {{ return thread == 0 || handler == 0; }}\n\
             __attribute__((constructor)) static void construct(int count, char **words, char **variables) {{ {body} }}\n",
            made.0.display()
        );
        fs::write(made.0.join("made.c"), source).unwrap();
        fs::write(made.0.join("program.c"), "int anchor(void); int main(void) { return anchor(); }\n").unwrap();
        let library = made.compile(&["-shared", "-fPIC", "-pthread", "made.c", "-o", "libmade.so"]);
        let program = library && made.compile(&["program.c", "-o", "program", "-L.", "-lmade", "-Wl,-rpath,$ORIGIN"]);
        if !program {
            tell(&format!("skipped: {test}: no C compiler"));
        }
        program.then_some(made)
    }

    /// Whether there is a compiler; it must not fail then.
    pub(crate) fn compile(&self, words: &[&str]) -> bool {
        let Ok(output) = Command::new("cc").args(words).arg("-w").current_dir(&self.0).output() else { return false };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        true
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.0.join("program")
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn variables_that_constructors_ask_for_are_told() {
    let body = "kept[0] = (long)getenv(\"FIRST\"); kept[1] = (long)secure_getenv(\"SECOND\"); getenv(\"FIRST\");";
    let Some(made) = Made::new("variables", body) else { return };
    assert_eq!(take(&request(&made.program())).unwrap().variables, ["FIRST", "SECOND"]);
    // A program may answer for the environment itself, as bash does.
    fs::write(
        made.0.join("own.c"),
        "int anchor(void); char *getenv(const char *name) { return name[0] == 'F' ? \"own\" : 0; }\n\
         int main(void) { return anchor(); }\n",
    )
    .unwrap();
    made.compile(&["own.c", "-o", "own", "-rdynamic", "-L.", "-lmade", "-Wl,-rpath,$ORIGIN"]);
    assert_eq!(take(&request(&made.0.join("own"))).unwrap().variables, ["FIRST", "SECOND"]);
}

#[test]
fn files_that_constructors_ask_for_are_told() {
    let body = "char text[8]; int file = open(HERE \"/there\", O_RDONLY); read(file, text, 8); close(file); \
                access(HERE \"/absent\", R_OK); struct stat found; stat(HERE \"/there/below\", &found); \
                int folder = open(HERE, O_RDONLY); openat(folder, \"none\", O_RDONLY); close(folder);";
    let Some(made) = Made::new("files", body) else { return };
    fs::write(made.0.join("there"), "text").unwrap();
    let taken = take(&request(&made.program())).unwrap();
    for (name, found) in
        [("there", true), ("absent", false), ("there/below", false), ("none", false), ("libmade.so", true)]
    {
        assert_eq!(asked(&taken, &made.0.join(name)), Some(found), "{name}");
    }
}

#[test]
fn limits_are_those_of_the_taker() {
    let body = "kept[0] = 0x5354454144594c4d; getrlimit(RLIMIT_STACK, (struct rlimit *)(kept + 1));";
    let Some(made) = Made::new("limits", body) else { return };
    let taken = take(&request(&made.program())).unwrap();
    let marker = 0x5354_4541_4459_4c4d_u64.to_ne_bytes();
    let words = taken.regions.iter().filter(|region| region.protection.write).flat_map(|region| region.bytes.chunks(8));
    let soft = words.skip_while(|word| **word != marker).nth(1).expect("the constructor has run");
    let own = rustix::process::getrlimit(rustix::process::Resource::Stack).current.unwrap_or(u64::MAX);
    assert_eq!(soft, own.to_ne_bytes());
}

#[test]
fn a_preloaded_library_is_in_it_and_not_among_its_files() {
    // It is ours, and may go through the environment.
    let body = "getenv(\"PRELOADED\"); for (; *variables; variables++) kept[0] += **variables;";
    let Some(made) = Made::new("preloaded", body) else { return };
    std::os::unix::fs::symlink(&made.0, made.0.join("way")).unwrap();
    let (file, library) = (made.0.join("libmade.so"), made.0.join("way/libmade.so"));
    let taken = take(&Request { preloaded: Some(library.clone()), ..request(Path::new("/bin/true")) }).unwrap();
    assert!(taken.regions.iter().any(|region| region.file.as_ref().is_some_and(|(mapped, _)| *mapped == file)));
    assert_eq!((asked(&taken, &library), taken.variables), (None, vec!["PRELOADED".into()]));
}

#[test]
fn what_was_done_and_undone_is_no_matter() {
    let body = "int file = open(HERE \"/made.c\", O_RDONLY); \
                close(file); free(malloc(1 << 20)); kept[0] = getpid();";
    let Some(made) = Made::new("undone", body) else { return };
    let taken = take(&request(&made.program())).unwrap();
    assert_eq!(asked(&taken, &made.0.join("made.c")), Some(true));
    assert!(taken.heap_end != 0);
}
