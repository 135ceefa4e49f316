//! One thing changed: a variable set, or a library preloaded.

use std::path::{Path, PathBuf};

use steady_feature::{Failure, Session};
use steady_model::Command;

use super::elf::Elf;

/// The variable by which the dynamic linker is told (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";

/// Lets `command` differ from its twin by these variables and these preloaded libraries, in its name as well.
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
            return Err(Failure::Usage(format!("--env-new {PRELOAD}=... and --preload-new exclude each other")));
        }
        let program = Elf::read(&command.program).ok();
        let mut paths = Vec::new();
        for library in libraries {
            paths.push(checked(library, program.as_ref())?);
            changes.push(format!("preload {}", file_name(library)));
        }
        if program.is_some_and(|program| !program.asks_for_linker) {
            session.notice(&format!(
                "'{}' is linked statically and takes no notice of --preload-new",
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

/// The library's full path; an error where the linker would only warn, and run the command as it was.
fn checked(library: &Path, program: Option<&Elf>) -> Result<String, Failure> {
    let usage = |why: String| Failure::Usage(format!("--preload-new '{}': {why}", library.display()));
    let path = library.canonicalize().map_err(|error| usage(error.to_string()))?;
    let elf = Elf::read(&path).map_err(usage)?;
    if !elf.shared {
        return Err(usage("it is no shared library".to_owned()));
    }
    if program.is_some_and(|program| program.machine != elf.machine) {
        return Err(usage("it is built for another kind of machine than the command's program".to_owned()));
    }
    match path.to_str() {
        Some(text) if !text.contains([':', ' ', '\t']) => Ok(text.to_owned()),
        _ => Err(usage(format!("{PRELOAD} cannot hold this path: it has a space, a colon or no UTF-8"))),
    }
}
