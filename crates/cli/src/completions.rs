//! `steady completions`: what a shell needs in order to complete the words of `steady`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::flags::Flags;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  bash, for you alone
      mkdir -p ~/.local/share/bash-completion/completions
      cd ~/.local/share/bash-completion/completions
      steady completions bash >steady
  zsh, in a folder that $fpath names
      steady completions zsh >~/.zfunc/_steady
  fish
      steady completions fish >~/.config/fish/completions/steady.fish";

/// The options of `steady completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsFlags {
    /// The shell to complete in
    pub(crate) shell: Shell,
}

/// Prints the script; the exit status.
pub(crate) fn run(flags: &CompletionsFlags) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Flags::with_features(), "steady", &mut script);
    output::print(&script).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}
