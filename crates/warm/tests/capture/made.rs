//! Programs compiled for a test: a main function that does nothing, and a library with a constructor.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use steady_warm::capture::capture;
use steady_warm::captured::Request;

use super::{existed, request, tell};

/// A directory of a test, removed at its end.
pub(crate) struct Made(pub(crate) PathBuf);

impl Made {
    /// Compiles `program` and `libmade.so`, whose constructor has this body. Returns `None` and prints a line if there
    /// is no compiler.
    pub(crate) fn new(test: &str, body: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("steady-captured-{}-{test}", std::process::id()));
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

    /// Runs the compiler, which must succeed. Returns `false` if there is none.
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
fn variables_that_constructors_read_are_recorded() {
    let body = "kept[0] = (long)getenv(\"FIRST\"); kept[1] = (long)secure_getenv(\"SECOND\"); getenv(\"FIRST\");";
    let Some(made) = Made::new("variables", body) else { return };
    assert_eq!(capture(&request(&made.program())).unwrap().variables, ["FIRST", "SECOND"]);
    // A program may define getenv itself, as bash does.
    fs::write(
        made.0.join("own.c"),
        "int anchor(void); char *getenv(const char *name) { return name[0] == 'F' ? \"own\" : 0; }\n\
         int main(void) { return anchor(); }\n",
    )
    .unwrap();
    made.compile(&["own.c", "-o", "own", "-rdynamic", "-L.", "-lmade", "-Wl,-rpath,$ORIGIN"]);
    assert_eq!(capture(&request(&made.0.join("own"))).unwrap().variables, ["FIRST", "SECOND"]);
}

#[test]
fn files_that_constructors_use_are_recorded() {
    let body = "char text[8]; int file = open(HERE \"/there\", O_RDONLY); read(file, text, 8); close(file); \
                access(HERE \"/absent\", R_OK); struct stat found; stat(HERE \"/there/below\", &found); \
                int folder = open(HERE, O_RDONLY); openat(folder, \"none\", O_RDONLY); close(folder);";
    let Some(made) = Made::new("files", body) else { return };
    fs::write(made.0.join("there"), "text").unwrap();
    let captured = capture(&request(&made.program())).unwrap();
    for (name, found) in
        [("there", true), ("absent", false), ("there/below", false), ("none", false), ("libmade.so", true)]
    {
        assert_eq!(existed(&captured, &made.0.join(name)), Some(found), "{name}");
    }
}

#[test]
fn the_program_sees_the_limits_of_the_capturing_process() {
    let body = "kept[0] = 0x5354454144594c4d; getrlimit(RLIMIT_STACK, (struct rlimit *)(kept + 1));";
    let Some(made) = Made::new("limits", body) else { return };
    let captured = capture(&request(&made.program())).unwrap();
    let marker = 0x5354_4541_4459_4c4d_u64.to_ne_bytes();
    let words =
        captured.regions.iter().filter(|region| region.protection.write).flat_map(|region| region.bytes.chunks(8));
    let soft = words.skip_while(|word| **word != marker).nth(1).expect("the constructor has run");
    let own = rustix::process::getrlimit(rustix::process::Resource::Stack).current.unwrap_or(u64::MAX);
    assert_eq!(soft, own.to_ne_bytes());
}

#[test]
fn a_preloaded_library_is_mapped_and_not_recorded() {
    // The preloaded library is the hook, which may read the environment directly.
    let body = "getenv(\"PRELOADED\"); for (; *variables; variables++) kept[0] += **variables;";
    let Some(made) = Made::new("preloaded", body) else { return };
    std::os::unix::fs::symlink(&made.0, made.0.join("way")).unwrap();
    let (file, library) = (made.0.join("libmade.so"), made.0.join("way/libmade.so"));
    let captured = capture(&Request { preloaded: Some(library.clone()), ..request(Path::new("/bin/true")) }).unwrap();
    assert!(captured.regions.iter().any(|region| region.file.as_ref().is_some_and(|(mapped, _)| *mapped == file)));
    assert_eq!((existed(&captured, &library), captured.variables), (None, vec!["PRELOADED".into()]));
}

#[test]
fn effects_that_a_constructor_undoes_are_allowed() {
    let body = "int file = open(HERE \"/made.c\", O_RDONLY); \
                close(file); free(malloc(1 << 20)); kept[0] = getpid();";
    let Some(made) = Made::new("undone", body) else { return };
    let captured = capture(&request(&made.program())).unwrap();
    assert_eq!(existed(&captured, &made.0.join("made.c")), Some(true));
    assert!(captured.heap_end != 0);
}
