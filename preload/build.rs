//! Builds the parts that are loaded into other programs, with the compiler that builds this crate.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use object::{Object, ObjectSegment};

/// The stub is one segment of position-independent code. It is linked as a static PIE, so that a relocation, which must
/// not be needed, would be visible in the result.
const STUB_LINK: &str = "-nostartfiles -nostdlib -static-pie -Wl,--build-id=none,-z,norelro,--no-eh-frame-hdr";

/// The hook is loaded into every program, so loading it must be cheap: two segments, and functions that are looked up
/// when they are first called. No symbol may be undefined, because the program would be terminated when it is called.
/// Threads are cancelled in open(2) and fopen(3), so it has unwind tables.
const HOOK_LINK: &str = "-nostartfiles -Wl,-z,defs,-z,lazy,-z,norelro,-z,noseparate-code,--hash-style=gnu,--build-id=none,\
--eh-frame-hdr";
/// Reduces three segments to two with lld. Other linkers do not know the option.
const HOOK_LINK_LLD: &str = ",--no-rosegment";

/// The watcher's functions are called often, so they are looked up when it is loaded. Threads are cancelled in them, so
/// it has unwind tables.
const WATCHER_LINK: &str = "-nostartfiles -Wl,-z,defs,-z,now,--hash-style=gnu,--build-id=none,--eh-frame-hdr";

/// The rulers' functions are looked up when the library is loaded, so that the first call takes no longer than others.
const RULERS_LINK: &str =
    "-nostartfiles -Wl,-z,defs,-z,now,--hash-style=gnu,--build-id=none,-soname,libsteady_rulers.so -lc";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=warm");
    println!("cargo:rerun-if-changed=locks");
    println!("cargo:rerun-if-changed=rulers");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
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
        let options = ["--crate-type=cdylib", "-Copt-level=s", "-Crelro-level=off", "-Cforce-unwind-tables=yes", &link];
        compile(Path::new("warm/hook/main.rs"), &out.join("hook.so"), &target, &options)
    };
    hook(HOOK_LINK_LLD).or_else(|_| hook(""))?;
    let link = format!("-Clink-args={WATCHER_LINK}");
    let options = ["--crate-type=cdylib", "-Cforce-unwind-tables=yes", &link];
    compile(Path::new("locks/watch/main.rs"), &out.join("watcher.so"), &target, &options)?;
    let stub = out.join("stub.elf");
    let script = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("warm/stub/link.ld");
    let (link, script) = (format!("-Clink-args={STUB_LINK}"), format!("-Clink-arg=-Wl,-T,{}", script.display()));
    let options = ["--crate-type=bin", "-Crelocation-model=pie", &link, &script];
    compile(Path::new("warm/stub/main.rs"), &stub, &target, &options)?;
    let (bytes, entry) = memory_image(&fs::read(&stub)?)?;
    fs::write(out.join("stub.bin"), bytes)?;
    fs::write(out.join("stub_entry.rs"), entry.to_string())?;
    Ok(())
}

/// Builds the library of rulers, for any target. If it cannot be linked, services have no rulers.
fn rulers(library: &Path, target: &str) -> Result<(), Box<dyn Error>> {
    let link = format!("-Clink-args={RULERS_LINK}");
    let options = ["--crate-type=cdylib", "-Cforce-unwind-tables=no", &link];
    if let Err(error) = compile(Path::new("rulers/library/main.rs"), library, target, &options) {
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

/// Returns the memory image of a program from address 0 on, and its entry point.
fn memory_image(program: &[u8]) -> Result<(Vec<u8>, u64), Box<dyn Error>> {
    let file = object::File::parse(program)?;
    if file.dynamic_relocations().is_some_and(|mut all| all.next().is_some()) {
        return Err("the stub must not contain relocations".into());
    }
    let mut bytes = vec![];
    for segment in file.segments() {
        let start = usize::try_from(segment.address())?;
        let data = segment.data()?;
        if segment.size() != data.len() as u64 {
            return Err("the stub must not contain uninitialised data".into());
        }
        bytes.resize(bytes.len().max(start + data.len()), 0);
        bytes[start..start + data.len()].copy_from_slice(data);
    }
    Ok((bytes, file.entry()))
}
