//! Messages of `steady` on standard error.

use std::io::{self, Write};

pub(crate) use steady_feature::Failure;

/// Prints a message on standard error, after `steady: `. Control characters are escaped, because names and reasons come
/// from outside.
pub(crate) fn notice(text: &str) {
    let lines: Vec<String> = text.split('\n').map(steady_render::letters::one_line).collect();
    // If the message cannot be printed, the exit status still reports an error.
    let _ = writeln!(io::stderr(), "steady: {}", lines.join("\n"));
}

/// Prints all failures but the last one, which is returned.
pub(crate) fn last(mut failures: Vec<Failure>) -> Result<(), Failure> {
    let last = failures.pop();
    failures.iter().for_each(|failure| notice(&failure.to_string()));
    last.map_or(Ok(()), Err)
}
