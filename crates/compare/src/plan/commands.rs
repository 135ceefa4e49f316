//! The commands to compare, made of the typed ones, and the scripts and outputs of each.

use std::path::Path;

use steady_feature::{Failure, Session, typed};
use steady_model::{Command, Output, PerCommand};

use super::additions;
use super::expansion::Expansion;
use super::parameters::{self, ParameterList, Template, Values};
use crate::flags::{CompareFlags, VariantFlags};
use crate::revisions;

/// The commands, and their scripts and outputs: one for all commands or one per command.
pub(super) struct Compared {
    pub(super) commands: Vec<Command>,
    pub(super) setup: PerCommand<String>,
    pub(super) prepare: PerCommand<String>,
    pub(super) conclude: PerCommand<String>,
    pub(super) cleanup: PerCommand<String>,
    pub(super) relink: PerCommand<String>,
    pub(super) output: PerCommand<Output>,
}

/// The commands that the flags describe. With `--rev`, the programs are not built yet.
pub(super) fn compared(flags: &CompareFlags, session: &dyn Session) -> Result<Compared, Failure> {
    let variants = &flags.variants;
    let lists = parameters::given(variants)?;
    let expansion = if !variants.rev.is_empty() {
        let count = revisions::specs(&variants.rev)?.len();
        Expansion::of_one(one_command(flags, "--rev")?, count)
    } else if !variants.env_new.is_empty() || !variants.preload_new.is_empty() {
        Expansion::of_one(one_command(flags, "--env-new or --preload-new")?, 2)
    } else {
        over_parameters(flags, &lists)?
    };
    let around = &flags.run.around;
    let compared = Compared {
        commands: commands(flags, &expansion, session)?,
        setup: expansion.texts("--setup", &around.setup)?,
        prepare: expansion.texts("--prepare", &around.prepare)?,
        conclude: expansion.texts("--conclude", &around.conclude)?,
        cleanup: expansion.texts("--cleanup", &around.cleanup)?,
        relink: expansion.texts("--relink", &variants.relink)?,
        output: expansion.outputs(&around.child_output)?,
    };
    match &variants.reference {
        Some(reference) => compared.with_first(reference),
        None => Ok(compared),
    }
}

impl Compared {
    /// Moves the command with this name or number to the first place, with all that belongs to it.
    fn with_first(mut self, reference: &str) -> Result<Self, Failure> {
        let named = self.commands.iter().position(|command| command.name == reference);
        let numbered = || reference.parse::<usize>().ok()?.checked_sub(1).filter(|index| *index < self.commands.len());
        let Some(index) = named.or_else(numbered) else {
            return Err(Failure::Usage(format!(
                "--reference '{reference}' is none of the commands: write the name or the number of one"
            )));
        };
        self.commands[..=index].rotate_right(1);
        let scripts = [&mut self.setup, &mut self.prepare, &mut self.conclude, &mut self.cleanup, &mut self.relink];
        for scripts in scripts {
            to_front(scripts, index);
        }
        to_front(&mut self.output, index);
        Ok(self)
    }
}

/// Moves the value of a command to the first place, unless there is one value for all.
fn to_front<T>(values: &mut PerCommand<T>, index: usize) {
    if values.0.len() > 1 {
        values.0[..=index].rotate_right(1);
    }
}

fn one_command<'a>(flags: &'a CompareFlags, options: &str) -> Result<&'a String, Failure> {
    match flags.commands.as_slice() {
        [one] => Ok(one),
        several => Err(Failure::Usage(format!(
            "{options} compares one command with itself, but {} were given: give one, as one string",
            several.len()
        ))),
    }
}

/// Repeats each command for all values of the parameters in it or in its own scripts.
fn over_parameters<'a>(flags: &'a CompareFlags, lists: &[ParameterList]) -> Result<Expansion<'a>, Failure> {
    let around = &flags.run.around;
    let scripts = [&around.setup, &around.prepare, &around.conclude, &around.cleanup, &flags.variants.relink];
    let texts_of = |index: usize| {
        let own = scripts.into_iter().filter_map(move |given| match given.as_slice() {
            [one] => Some(one),
            each if each.len() == flags.commands.len() => each.get(index),
            _ => None,
        });
        own.chain(&flags.commands[index..=index]).map(|text| Template::new(text)).collect::<Vec<_>>()
    };
    let mut expansion = Expansion::new(&flags.commands, !lists.is_empty());
    let mut used: Vec<&str> = Vec::new();
    for index in 0..flags.commands.len() {
        let texts = texts_of(index);
        let stands = |list: &&ParameterList| texts.iter().any(|text| text.names().any(|name| name == list.name));
        let own: Vec<&ParameterList> = lists.iter().filter(stands).collect();
        used.extend(own.iter().map(|list| list.name.as_str()));
        expansion.repeat(index, parameters::combinations(&own)?)?;
    }
    match lists.iter().find(|list| !used.contains(&list.name.as_str())) {
        Some(list) => Err(Failure::Usage(format!(
            "no command contains the parameter '{0}': write {{{0}}} where its values go",
            list.name
        ))),
        None => Ok(expansion),
    }
}

/// Returns the shell for the commands. `--shell bash A B` would measure `bash` itself, which nobody means.
fn shell(flags: &CompareFlags) -> Result<Option<&str>, Failure> {
    const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "none"];
    let first = flags.commands.first().map_or("", |first| first.trim());
    let name = first.rsplit('/').next().unwrap_or_default();
    if flags.run.shell.is_some() && flags.commands.len() > 1 && SHELLS.contains(&name) {
        let why = format!("'{first}' would be measured as a command: write --shell={first}");
        return Err(Failure::Usage(format!("{why} to run the other commands in it")));
    }
    Ok(flags.run.shell())
}

/// Refuses `-i 7 A B`, which would measure `7` as a command.
fn check_statuses(flags: &CompareFlags) -> Result<(), Failure> {
    let is_status = |text: &String| text.split(',').all(|part| part.trim().parse::<u8>().is_ok());
    match flags.commands.first().filter(|first| flags.run.ignore_failure.is_some() && is_status(first)) {
        Some(first) => Err(Failure::Usage(format!(
            "'{first}' would be measured as a command: write --ignore-failure={first} to ignore this status"
        ))),
        None => Ok(()),
    }
}

fn commands(flags: &CompareFlags, expansion: &Expansion<'_>, session: &dyn Session) -> Result<Vec<Command>, Failure> {
    let VariantFlags { rev, env_new, preload_new, command_name, .. } = &flags.variants;
    let names = expansion.names(command_name)?;
    let shell = shell(flags)?;
    check_statuses(flags)?;
    let mut commands = Vec::new();
    for ((text, values), name) in expansion.commands()?.into_iter().zip(names) {
        let mut command = match rev.is_empty() {
            true => session.typed_command(&text, shell, Path::new("")).map_err(|failure| {
                let one_string = format!("'{}'", flags.commands.join(" "));
                typed::with_one_command(failure, &text, &flags.commands, &one_string, session)
            })?,
            false => Command { name: text.trim().to_owned(), argv: typed::words(&text, shell)?, ..Command::default() },
        };
        command.name = name.unwrap_or(command.name);
        command.parameters = Values::clone(values);
        commands.push(command);
    }
    if let [_, new] = commands.as_mut_slice()
        && !(env_new.is_empty() && preload_new.is_empty())
    {
        let named = (command_name.len() == 2).then(|| new.name.clone());
        additions::add(new, env_new, preload_new, session)?;
        new.name = named.unwrap_or_else(|| std::mem::take(&mut new.name));
    }
    Ok(commands)
}
