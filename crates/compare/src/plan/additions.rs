//! `--env-new` and `--preload-new`: adds variables and preloaded libraries to the second command.

use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_model::Command;

use super::elf::Elf;

/// The variable with the libraries that the dynamic linker preloads (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";

/// Adds variables and preloaded libraries to `command`, and appends them to its name.
pub(super) fn add(
    command: &mut Command,
    variables: &[(String, String)],
    libraries: &[PathBuf],
    session: &dyn Session,
) -> Result<(), Failure> {
    let mut changes: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    for (index, (name, _)) in variables.iter().enumerate() {
        if variables[..index].iter().any(|(other, _)| other == name) {
            return Err(Failure::Usage(format!("--env-new sets {name} twice")));
        }
    }
    command.environment = variables.to_vec();
    if !libraries.is_empty() {
        if variables.iter().any(|(name, _)| name == PRELOAD) {
            return Err(Failure::Usage(format!("--env-new {PRELOAD}=... and --preload-new cannot be used together")));
        }
        let program = Elf::read(&command.program).ok();
        let mut paths = Vec::new();
        for library in libraries {
            paths.push(checked(library, program.as_ref())?);
            changes.push(format!("preload {}", file_name(library)));
        }
        if program.is_some_and(|program| !program.has_interpreter) {
            session.notice(&format!(
                "--preload-new has no effect on '{}', which is linked statically",
                command.program.display()
            ));
        }
        let inherited = session.variable(PRELOAD).and_then(|value| value.into_string().ok());
        paths.extend(inherited.filter(|already| !already.is_empty()));
        command.environment.push((PRELOAD.to_owned(), paths.join(":")));
    }
    command.name = format!("{} ({})", command.name, changes.join(", "));
    Ok(())
}

fn file_name(library: &Path) -> String {
    library.file_name().unwrap_or(library.as_os_str()).to_string_lossy().into_owned()
}

/// The full path of a library. Refuses libraries for which the dynamic linker would only print a warning and start the
/// command without them.
fn checked(library: &Path, program: Option<&Elf>) -> Result<String, Failure> {
    let usage = |why: String| Failure::Usage(format!("--preload-new '{}': {why}", library.display()));
    let path = library.canonicalize().map_err(|error| usage(error.to_string()))?;
    let elf = Elf::read(&path).map_err(usage)?;
    if !elf.shared {
        return Err(usage("it is not a shared library".to_owned()));
    }
    if program.is_some_and(|program| program.machine != elf.machine) {
        return Err(usage("it is built for another architecture than the command's program".to_owned()));
    }
    match path.to_str() {
        Some(text) if !text.contains([':', ' ', '\t']) => Ok(text.to_owned()),
        _ => Err(usage(format!("{PRELOAD} cannot contain this path: it has a space or a colon, or is not UTF-8"))),
    }
}
