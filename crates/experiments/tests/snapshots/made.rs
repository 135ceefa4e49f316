//! A program made to show what it finds.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Snapshots, skip, text};

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static __thread int own = 5;
static void bye(void) { puts("bye"); }
static void *count(void *bytes) { own += *(int *)bytes; return (void *)(long)own; }
static int module(struct dl_phdr_info *info, size_t size, void *count) { ++*(int *)count; return 0; }

static int secrets(void) {
    unsigned long canary, guard;
    __asm__("mov %%fs:0x28, %0" : "=r"(canary));
    __asm__("mov %%fs:0x30, %0" : "=r"(guard));
    printf("%lx %lx %p %lx %p\n", canary, guard, &canary, getauxval(AT_SYSINFO_EHDR), sbrk(0));
    return 0;
}

static int memory(void) {
    static char *kept[1000];
    unsigned random = 1;
    for (int turn = 0; turn < 100000; turn++) {
        random = random * 1103515245 + 12345;
        int which = random >> 8 & 511;
        size_t bytes = (random >> 16) % (turn % 100 ? 2000 : 300000);
        free(kept[which]);
        kept[which] = malloc(bytes + 1);
        memset(kept[which], turn, bytes);
    }
    for (int which = 0; which < 512; which++) free(kept[which]);
    malloc_trim(0);
    for (int which = 0; which < 1000; which++) kept[which] = calloc(1, 100000);
    void *before = sbrk(0);
    printf("%d %d\n", sbrk(4096) == before, brk(before));
    return 0;
}

static int threads(void) {
    pthread_t all[8];
    pthread_attr_t attributes;
    int added = 3;
    size_t bytes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    for (int which = 0; which < 8; which++) pthread_create(&all[which], 0, count, &added);
    for (int which = 0; which < 8; which++) {
        void *result;
        pthread_join(all[which], &result);
        printf("%ld ", (long)result);
    }
    printf("%d %zu\n", own, bytes);
    return 0;
}

static int late(const char *library) {
    void *handle = dlopen(library, RTLD_LAZY);
    if (!handle) return puts(dlerror()), 1;
    int (*answer)(void) = (int (*)(void))dlsym(handle, "answer");
    printf("%d\n", answer());
    return dlclose(handle);
}

static int told(int count, char **words) {
    int modules = 0;
    dl_iterate_phdr(module, &modules);
    extern void _start(void);
    printf("%d %s %s %s %d\n", count, words[0], program_invocation_name, program_invocation_short_name, modules);
    printf("%s %d\n", getenv("A") ? getenv("A") : "none", getauxval(AT_ENTRY) == (unsigned long)_start);
    printf("%lu %d\n", getauxval(AT_PHNUM), *(int *)getauxval(AT_BASE) == 0x464c457f);
    return getpid() == gettid() ? 0 : 1;
}

int main(int count, char **words) {
    jmp_buf back;
    atexit(bye);
    if (!setjmp(back)) longjmp(back, 1);
    switch (count < 2 ? 0 : words[1][0]) {
    case 's': return secrets();
    case 'm': return memory();
    case 't': return threads();
    case 'l': return late(words[2]);
    default: return told(count, words);
    }
}
"#;

/// A library that lacks a function which is never called.
const LIBRARY: &str = "int lacking(void); int answer(void) { return 42; } int other(void) { return lacking(); }\n";

/// The program's folder, removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program, compiled so, and its snapshots; none where there is no compiler, aloud.
fn made(test: &str, how: &[&str]) -> Option<(Folder, Snapshots)> {
    let folder = Folder(std::env::temp_dir().join(format!("steady-made-{}-{test}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a folder can be made");
    fs::write(folder.0.join("made.c"), SOURCE).expect("there is room");
    fs::write(folder.0.join("library.c"), LIBRARY).expect("there is room");
    let compile = |words: &[&str]| {
        let output = Command::new("cc").args(words).arg("-w").current_dir(&folder.0).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let words = [how, &["-O1", "-fstack-protector-all", "-pthread", "made.c", "-o", "made"]].concat();
    let compiled = compile(&words).and_then(|()| compile(&["-shared", "-fPIC", "library.c", "-o", "library.so"]));
    if compiled.is_none() {
        skip(test, "there is no C compiler");
    }
    compiled.map(|()| Snapshots::of(&folder.0.join("made"))).map(|snapshots| (folder, snapshots))
}

/// What the program finds is what it finds as usual, compiled so.
fn finds_the_same(test: &str, how: &[&str]) {
    let Some((folder, snapshots)) = made(test, how) else { return };
    let told = snapshots.same(&[("A", "value")], &["words", "of", "any", "number"], "");
    assert!(text(&told.stdout).starts_with("5 ") && text(&told.stdout).contains("\nvalue 1\n"), "{told:?}");
    snapshots.same(&[], &[], "");
    assert_eq!(snapshots.same(&[], &["memory"], "").stdout, b"1 0\nbye\n");
    assert!(text(&snapshots.same(&[], &["threads"], "").stdout).starts_with("8 8 8 8 8 8 8 8 5 "));
    let library = folder.0.join("library.so").display().to_string();
    assert_eq!(snapshots.same(&[], &["late", &library], "").stdout, b"42\nbye\n");
    assert_eq!(snapshots.same(&[("LD_BIND_NOW", "1")], &["late", "/nonexistent"], "").status.code(), Some(1));
}

#[test]
fn a_program_finds_what_it_finds_as_usual() {
    finds_the_same("a_program_finds_what_it_finds_as_usual", &[]);
}

#[test]
fn a_program_at_a_fixed_address_does_too() {
    finds_the_same("a_program_at_a_fixed_address_does_too", &["-no-pie", "-fno-pie"]);
}

#[test]
fn what_guards_a_process_is_another_at_each_launch() {
    let Some((_folder, snapshots)) = made("what_guards_a_process_is_another_at_each_launch", &[]) else { return };
    let mut seen = vec![BTreeSet::new(); 5];
    for _ in 0..8 {
        for output in &snapshots.outputs(&[], &["secrets"], "")[1..] {
            let line = text(&output.stdout).lines().next().expect("it says what it finds");
            let canary = line.split(' ').next().expect("the canary comes first");
            assert!(canary.ends_with("00"), "{canary}: the lowest byte of a canary ends a string");
            for (seen, word) in seen.iter_mut().zip(line.split(' ')) {
                seen.insert(word.to_owned());
            }
        }
    }
    for (seen, what) in seen.iter().zip(["canary", "pointer guard", "stack", "vdso", "heap"]) {
        assert!(seen.len() >= 15, "{what}: {seen:?}");
    }
}
