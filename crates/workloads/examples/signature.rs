//! Sums the blocks of a file on one thread without reading a clock, so that a CPU simulator can count the instructions:
//! `signature FILE none|pool`.
#![allow(clippy::print_stdout, reason = "the sum is the program's output")]

use std::process::ExitCode;

use steady_workloads::signature::fast::Blocks;
use steady_workloads::signature::{BLOCK_BYTES, Builder, Pool};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, allocator] = words.as_slice() else { return ExitCode::from(2) };
    let Ok(bytes) = std::fs::read(path) else { return ExitCode::from(2) };
    let sum = match allocator.as_str() {
        "none" => Some(Blocks::new(BLOCK_BYTES).sum(&bytes)),
        "pool" => Builder::new(Pool::new(128 * 1024), BLOCK_BYTES).sum(&bytes).ok(),
        _ => None,
    };
    let Some(sum) = sum else { return ExitCode::from(2) };
    println!("{sum}");
    ExitCode::SUCCESS
}
