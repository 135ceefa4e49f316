//! What is compared: the commands that the ones typed stand for, and what goes with each of them.

use std::path::Path;

use steady_feature::{Failure, Session, typed};
use steady_model::{Command, Output, PerCommand};

use super::novelty;
use super::parameters::{self, ParameterList, Template, Values};
use super::spread::Spread;
use crate::flags::{CompareFlags, VariantFlags};
use crate::revisions;

/// The commands, and what is given for all of them or for each.
pub(super) struct Compared {
    pub(super) commands: Vec<Command>,
    pub(super) setup: PerCommand<String>,
    pub(super) prepare: PerCommand<String>,
    pub(super) conclude: PerCommand<String>,
    pub(super) cleanup: PerCommand<String>,
    pub(super) output: PerCommand<Output>,
}

/// The commands that the flags stand for. Where they are revisions, their programs are yet to be built.
pub(super) fn compared(flags: &CompareFlags, session: &dyn Session) -> Result<Compared, Failure> {
    let variants = &flags.variants;
    let lists = parameters::given(variants)?;
    let spread = if !variants.rev.is_empty() {
        let count = revisions::specs(&variants.rev)?.len();
        Spread::of_one(one_command(flags, "--rev")?, count)
    } else if !variants.env_new.is_empty() || !variants.preload_new.is_empty() {
        Spread::of_one(one_command(flags, "--env-new or --preload-new")?, 2)
    } else {
        over_parameters(flags, &lists)?
    };
    let around = &flags.around;
    Ok(Compared {
        commands: commands(flags, &spread, session)?,
        setup: spread.texts("--setup", &around.setup)?,
        prepare: spread.texts("--prepare", &around.prepare)?,
        conclude: spread.texts("--conclude", &around.conclude)?,
        cleanup: spread.texts("--cleanup", &around.cleanup)?,
        output: spread.outputs(&around.child_output)?,
    })
}

fn one_command<'a>(flags: &'a CompareFlags, options: &str) -> Result<&'a String, Failure> {
    match flags.commands.as_slice() {
        [one] => Ok(one),
        several => Err(Failure::Usage(format!(
            "with {options}, one command is compared with itself, and there are {}: give one, as one string",
            several.len()
        ))),
    }
}

/// Each command for all values of the parameters that stand in it, or in a script of its own.
fn over_parameters<'a>(flags: &'a CompareFlags, lists: &[ParameterList]) -> Result<Spread<'a>, Failure> {
    let around = &flags.around;
    let scripts = [&around.setup, &around.prepare, &around.conclude, &around.cleanup];
    let texts_of = |index: usize| {
        let own = scripts.into_iter().filter_map(move |given| match given.as_slice() {
            [one] => Some(one),
            each if each.len() == flags.commands.len() => each.get(index),
            _ => None,
        });
        own.chain(&flags.commands[index..=index]).map(|text| Template::new(text)).collect::<Vec<_>>()
    };
    let mut spread = Spread::new(&flags.commands, !lists.is_empty());
    let mut used: Vec<&str> = Vec::new();
    for index in 0..flags.commands.len() {
        let texts = texts_of(index);
        let stands = |list: &&ParameterList| texts.iter().any(|text| text.names().any(|name| name == list.name));
        let own: Vec<&ParameterList> = lists.iter().filter(stands).collect();
        used.extend(own.iter().map(|list| list.name.as_str()));
        spread.repeat(index, parameters::combinations(&own)?)?;
    }
    match lists.iter().find(|list| !used.contains(&list.name.as_str())) {
        Some(list) => Err(Failure::Usage(format!(
            "the parameter '{0}' stands in no command: write {{{0}}} where its values go",
            list.name
        ))),
        None => Ok(spread),
    }
}

fn commands(flags: &CompareFlags, spread: &Spread<'_>, session: &dyn Session) -> Result<Vec<Command>, Failure> {
    let VariantFlags { rev, env_new, preload_new, command_name, .. } = &flags.variants;
    let names = spread.names(command_name)?;
    let shell = flags.shell.as_deref();
    let mut commands = Vec::new();
    for ((text, values), name) in spread.commands()?.into_iter().zip(names) {
        let mut command = match rev.is_empty() {
            true => session.typed_command(&text, shell, Path::new(""))?,
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
        novelty::add(new, env_new, preload_new, session)?;
        new.name = named.unwrap_or_else(|| std::mem::take(&mut new.name));
    }
    Ok(commands)
}
