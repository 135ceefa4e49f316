//! Expands the typed commands into the commands to run, and assigns to each its scripts, outputs and name.

use steady_feature::Failure;
use steady_model::{Output, PerCommand};

use super::parameters::{COMMANDS_MAX, Template, Values, too_many};
use super::plural;

/// The commands to run, each with the index of the typed text that it comes from.
pub(super) struct Expansion<'a> {
    texts: &'a [String],
    variants: Vec<Variant>,
    /// Whether there are parameters. Without parameters, braces are text.
    filled: bool,
}

/// One command to run.
struct Variant {
    text: usize,
    values: Values,
}

impl<'a> Expansion<'a> {
    /// An expansion of these texts without commands to run yet.
    pub(super) fn new(texts: &'a [String], filled: bool) -> Self {
        Expansion { texts, variants: Vec::new(), filled }
    }

    /// One text, repeated `count` times.
    pub(super) fn of_one(text: &'a String, count: usize) -> Self {
        let variants = (0..count).map(|_| Variant { text: 0, values: Values::new() }).collect();
        Expansion { texts: std::slice::from_ref(text), variants, filled: false }
    }

    /// Adds one command to run for each of these values.
    pub(super) fn repeat(&mut self, text: usize, each: Vec<Values>) -> Result<(), Failure> {
        self.variants.extend(each.into_iter().map(|values| Variant { text, values }));
        if self.filled && self.variants.len() > COMMANDS_MAX { Err(too_many()) } else { Ok(()) }
    }

    /// The texts of the commands to run, each with its values.
    pub(super) fn commands(&self) -> Result<Vec<(String, &Values)>, Failure> {
        let mut all = Vec::new();
        for variant in &self.variants {
            all.push((self.fill("a command", &self.texts[variant.text], variant)?, &variant.values));
        }
        Ok(all)
    }

    /// The texts of an option that is given once for all commands, or once per typed command or command to run.
    pub(super) fn texts(&self, option: &str, given: &[String]) -> Result<PerCommand<String>, Failure> {
        let shared = self.share(option, given)?;
        let filled = self.variants.iter().zip(shared).map(|(variant, text)| self.fill(option, text, variant));
        self.shared(given.len(), filled.collect::<Result<_, _>>()?)
    }

    /// The outputs, as [`Expansion::texts`]. Parameters are replaced in the names of files.
    pub(super) fn outputs(&self, given: &[Output]) -> Result<PerCommand<Output>, Failure> {
        let filled = self.variants.iter().zip(self.share("--output", given)?).map(|(variant, output)| {
            let Output::File(path) = output else { return Ok(output.clone()) };
            let Some(text) = path.to_str() else { return Ok(output.clone()) };
            Ok(Output::File(self.fill("--output", text, variant)?.into()))
        });
        self.shared(given.len(), filled.collect::<Result<_, Failure>>()?)
    }

    /// The names of the commands. `None` if the text of a command is its name. Parameters that the text does not show
    /// are appended.
    pub(super) fn names(&self, given: &[String]) -> Result<Vec<Option<String>>, Failure> {
        let each = given.len() == self.variants.len();
        if !given.is_empty() && !each && given.len() != self.texts.len() {
            return Err(Failure::Usage(format!(
                "--command-name is given {} for {}: give it once per command",
                plural(given.len(), "time"),
                plural(self.variants.len(), "command")
            )));
        }
        let name = |(index, variant): (usize, &Variant)| {
            let named = given.get(if each { index } else { variant.text });
            let text = named.unwrap_or(&self.texts[variant.text]);
            let filled = self.fill("--command-name", text, variant)?;
            let filled = filled.trim();
            let shown = Template::new(text);
            let hidden = variant.values.iter().filter(|(name, _)| !shown.names().any(|shown| shown == name));
            let hidden: Vec<String> = hidden.map(|(name, value)| format!("{name}={value}")).collect();
            Ok(match (named, hidden.is_empty()) {
                (None, true) => None,
                (Some(_), _) if each => Some(filled.to_owned()),
                (_, true) => Some(filled.to_owned()),
                (_, false) => Some(format!("{filled} ({})", hidden.join(", "))),
            })
        };
        self.variants.iter().enumerate().map(name).collect()
    }

    /// The value of an option for each command to run. Empty if the option is not given.
    fn share<'b, T>(&self, option: &str, given: &'b [T]) -> Result<Vec<&'b T>, Failure> {
        let place = |(index, variant): (usize, &Variant)| match given.len() {
            0 => None,
            1 => given.first(),
            count if count == self.variants.len() => given.get(index),
            _ => given.get(variant.text),
        };
        if given.len() > 1 && given.len() != self.variants.len() && given.len() != self.texts.len() {
            return Err(Failure::Usage(format!(
                "{option} is given {} times for {}: give it once for all, or once per command",
                given.len(),
                plural(self.variants.len(), "command")
            )));
        }
        Ok(self.variants.iter().enumerate().filter_map(place).collect())
    }

    /// Keeps a single value for an option that was given once, if it is the same for all commands.
    fn shared<T: PartialEq>(&self, given: usize, mut all: Vec<T>) -> Result<PerCommand<T>, Failure> {
        if given == 1 && all.iter().all(|one| *one == all[0]) {
            all.truncate(1);
        }
        Ok(PerCommand(all))
    }

    fn fill(&self, place: &str, text: &str, variant: &Variant) -> Result<String, Failure> {
        if !self.filled {
            return Ok(text.to_owned());
        }
        Template::new(text).fill(&variant.values).map_err(|name| {
            let anywhere = self.variants.iter().any(|variant| variant.values.iter().any(|(known, _)| *known == name));
            Failure::Usage(match anywhere {
                true => format!("{place} contains {{{name}}}, but the command '{}' does not", self.texts[variant.text]),
                false => format!(
                    "{place} contains {{{name}}}, but there is no parameter of this name; write {{{{{name}}}}} for the \
                     text itself"
                ),
            })
        })
    }
}
