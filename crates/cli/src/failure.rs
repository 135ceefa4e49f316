//! What `steady` itself has to say when it cannot go on.

use std::io::{self, Write};

pub(crate) use steady_feature::Failure;

/// Says something on standard error, in the name of this program. Names and reasons in it come from outside, so that control
/// characters are spelled out.
pub(crate) fn notice(text: &str) {
    let lines: Vec<String> = text.split('\n').map(steady_render::letters::one_line).collect();
    // Where nobody listens, the exit status speaks.
    let _ = writeln!(io::stderr(), "steady: {}", lines.join("\n"));
}
