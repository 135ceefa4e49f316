//! Builds what is loaded into other programs, with the compiler that builds this.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use object::{Object, ObjectSegment};

/// The stub must be in one piece that runs wherever it is put. That it is linked as if it were to be relocated shows
/// whether it would have to be.
const STUB_LINK: &str = "-nostartfiles -nostdlib -static-pie -Wl,--build-id=none,-z,norelro,--no-eh-frame-hdr";

/// The hook costs each program that it is loaded into what it takes to load: two pieces of memory, no function looked up before
/// it is called, and nothing undefined, which would be the end of the program where it is called.
const HOOK_LINK: &str = "-nostartfiles -Wl,-z,defs,-z,lazy,-z,norelro,-z,noseparate-code,--hash-style=gnu,--build-id=none,\
--no-eh-frame-hdr";
/// What makes it two pieces with a linker that would otherwise make three; others do not know the word.
const HOOK_LINK_LLD: &str = ",--no-rosegment";

/// The watcher is called all the time: its functions are found at once. Threads are cancelled through it.
const WATCHER_LINK: &str = "-nostartfiles -Wl,-z,defs,-z,now,--hash-style=gnu,--build-id=none,--eh-frame-hdr";

/// The rulers are looked up before they are timed: nothing is left to be found at the first call.
const RULERS_LINK: &str =
    "-nostartfiles -Wl,-z,defs,-z,now,--hash-style=gnu,--build-id=none,-soname,libsteady_rulers.so -lc";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=warm");
    println!("cargo:rerun-if-changed=locks");
    println!("cargo:rerun-if-changed=rulers");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target = env::var("TARGET")?;
    rulers(&out.join("rulers.so"), &target)?;
    if !(target.starts_with("x86_64-") && target.ends_with("-linux-gnu")) {
        fs::write(out.join("hook.so"), [])?;
        fs::write(out.join("watcher.so"), [])?;
        fs::write(out.join("stub.bin"), [])?;
        fs::write(out.join("stub_entry.rs"), "0")?;
        return Ok(());
    }
    let hook = |more: &str| {
        let link = format!("-Clink-args={HOOK_LINK}{more}");
        let how = ["--crate-type=cdylib", "-Copt-level=s", "-Crelro-level=off", "-Cforce-unwind-tables=no", &link];
        compile(Path::new("warm/hook/main.rs"), &out.join("hook.so"), &target, &how)
    };
    hook(HOOK_LINK_LLD).or_else(|_| hook(""))?;
    let link = format!("-Clink-args={WATCHER_LINK}");
    let how = ["--crate-type=cdylib", "-Cforce-unwind-tables=yes", &link];
    compile(Path::new("locks/watch/main.rs"), &out.join("watcher.so"), &target, &how)?;
    let stub = out.join("stub.elf");
    let script = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("warm/stub/link.ld");
    let (link, script) = (format!("-Clink-args={STUB_LINK}"), format!("-Clink-arg=-Wl,-T,{}", script.display()));
    let how = ["--crate-type=bin", "-Crelocation-model=pie", &link, &script];
    compile(Path::new("warm/stub/main.rs"), &stub, &target, &how)?;
    let (bytes, entry) = flat(&fs::read(&stub)?)?;
    fs::write(out.join("stub.bin"), bytes)?;
    fs::write(out.join("stub_entry.rs"), entry.to_string())?;
    Ok(())
}

/// The library of rulers is for any machine whose programs load libraries; where it cannot be linked, services do without.
fn rulers(library: &Path, target: &str) -> Result<(), Box<dyn Error>> {
    let link = format!("-Clink-args={RULERS_LINK}");
    let how = ["--crate-type=cdylib", "-Cforce-unwind-tables=no", &link];
    if let Err(error) = compile(Path::new("rulers/library/main.rs"), library, target, &how) {
        println!("cargo:warning={error}; services will have no rulers");
        fs::write(library, [])?;
    }
    Ok(())
}

fn compile(source: &Path, output: &Path, target: &str, more: &[&str]) -> Result<(), Box<dyn Error>> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let linker = env::var("RUSTC_LINKER").ok().map(|linker| format!("-Clinker={linker}"));
    let status = Command::new(compiler)
        .args([
            "--edition=2024",
            "--target",
            target,
            "-Cpanic=abort",
            "-Copt-level=3",
            "-Cstrip=symbols",
            "-Ccodegen-units=1",
        ])
        .args(["-Clto=fat", "-Cembed-bitcode=yes", "-Dwarnings"])
        .args(more)
        .args(linker)
        .arg("-o")
        .arg(output)
        .arg(source)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("{} cannot be built: {status}", source.display()).into()) }
}

/// The memory of a program as it is once loaded, from its first address on, and its entry.
fn flat(program: &[u8]) -> Result<(Vec<u8>, u64), Box<dyn Error>> {
    let file = object::File::parse(program)?;
    if file.dynamic_relocations().is_some_and(|mut all| all.next().is_some()) {
        return Err("the stub would have to be relocated".into());
    }
    let mut bytes = vec![];
    for segment in file.segments() {
        let start = usize::try_from(segment.address())?;
        let data = segment.data()?;
        if segment.size() != data.len() as u64 {
            return Err("the stub has data of its own".into());
        }
        bytes.resize(bytes.len().max(start + data.len()), 0);
        bytes[start..start + data.len()].copy_from_slice(data);
    }
    Ok((bytes, file.entry()))
}
