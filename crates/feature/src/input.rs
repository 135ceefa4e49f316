//! Files that users give to `steady`: exports and tables.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use rustix::fs::{FileType, fstat};

/// The file name for standard input.
const STANDARD_INPUT: &str = "-";
/// The size limit in bytes: an export with some 500,000 runs. Reading an export needs several times its size in memory.
const LARGEST: u64 = 256 << 20;

/// Reads a regular file, a pipe or a terminal, up to 256 MiB. `-` is standard input.
///
/// # Errors
/// The file cannot be read, is larger, or is a directory or another device. It is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    if path == Path::new(STANDARD_INPUT) {
        let stdin = io::stdin();
        return bounded(stdin.lock(), fstat(&stdin)?.st_mode, stdin.is_terminal());
    }
    let file = File::open(path)?;
    let mode = fstat(&file)?.st_mode;
    let terminal = file.is_terminal();
    bounded(file, mode, terminal)
}

fn bounded(input: impl Read, mode: u32, terminal: bool) -> io::Result<String> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile | FileType::Fifo | FileType::Socket => {}
        FileType::CharacterDevice if terminal => {}
        FileType::Directory => return Err(io::Error::other("it is a directory")),
        _ => return Err(io::Error::other("it is a device; only files and pipes are read")),
    }
    let mut text = String::new();
    input.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(text)
}
