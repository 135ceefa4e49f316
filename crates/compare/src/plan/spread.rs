//! From the commands as typed to those that run, and what was given for all or for each shared out over them.

use steady_feature::Failure;
use steady_model::{Output, PerCommand};

use super::parameters::{COMMANDS_MAX, Template, Values, too_many};

/// The commands to run, each by the text that it is made from.
pub(super) struct Spread<'a> {
    texts: &'a [String],
    copies: Vec<Copy>,
    /// Whether there are parameters: without any, braces are text.
    filled: bool,
}

/// One command to run.
struct Copy {
    text: usize,
    values: Values,
}

impl<'a> Spread<'a> {
    /// None yet of these texts.
    pub(super) fn new(texts: &'a [String], filled: bool) -> Self {
        Spread { texts, copies: Vec::new(), filled }
    }

    /// One text, as it is, so many times.
    pub(super) fn of_one(text: &'a String, count: usize) -> Self {
        let copies = (0..count).map(|_| Copy { text: 0, values: Values::new() }).collect();
        Spread { texts: std::slice::from_ref(text), copies, filled: false }
    }

    /// One command more for each of these values.
    pub(super) fn repeat(&mut self, text: usize, each: Vec<Values>) -> Result<(), Failure> {
        self.copies.extend(each.into_iter().map(|values| Copy { text, values }));
        if self.filled && self.copies.len() > COMMANDS_MAX { Err(too_many()) } else { Ok(()) }
    }

    /// The commands' texts with their values.
    pub(super) fn commands(&self) -> Result<Vec<(String, &Values)>, Failure> {
        let mut all = Vec::new();
        for copy in &self.copies {
            all.push((self.fill("a command", &self.texts[copy.text], copy)?, &copy.values));
        }
        Ok(all)
    }

    /// What `option` gives once for all, or once per command as typed or as run.
    pub(super) fn texts(&self, option: &str, given: &[String]) -> Result<PerCommand<String>, Failure> {
        let shared = self.share(option, given)?;
        let filled = self.copies.iter().zip(shared).map(|(copy, text)| self.fill(option, text, copy));
        self.fold(given.len(), filled.collect::<Result<_, _>>()?)
    }

    /// The same for outputs; files are named by parameters too.
    pub(super) fn outputs(&self, given: &[Output]) -> Result<PerCommand<Output>, Failure> {
        let filled = self.copies.iter().zip(self.share("--output", given)?).map(|(copy, output)| {
            let Output::File(path) = output else { return Ok(output.clone()) };
            let Some(text) = path.to_str() else { return Ok(output.clone()) };
            Ok(Output::File(self.fill("--output", text, copy)?.into()))
        });
        self.fold(given.len(), filled.collect::<Result<_, _>>()?)
    }

    /// The names that were given, and those that must tell parameters which the command's text does not show.
    pub(super) fn names(&self, given: &[String]) -> Result<Vec<Option<String>>, Failure> {
        let each = given.len() == self.copies.len();
        if !given.is_empty() && !each && given.len() != self.texts.len() {
            return Err(Failure::Usage(format!(
                "--command-name is given {} times for {} commands: give it once per command",
                given.len(),
                self.copies.len()
            )));
        }
        let name = |(index, copy): (usize, &Copy)| {
            let named = given.get(if each { index } else { copy.text });
            let text = named.unwrap_or(&self.texts[copy.text]);
            let filled = self.fill("--command-name", text, copy)?;
            let filled = filled.trim();
            let shown = Template::new(text);
            let hidden = copy.values.iter().filter(|(name, _)| !shown.names().any(|shown| shown == name));
            let hidden: Vec<String> = hidden.map(|(name, value)| format!("{name}={value}")).collect();
            Ok(match (named, hidden.is_empty()) {
                (None, true) => None,
                (Some(_), _) if each => Some(filled.to_owned()),
                (_, true) => Some(filled.to_owned()),
                (_, false) => Some(format!("{filled} ({})", hidden.join(", "))),
            })
        };
        self.copies.iter().enumerate().map(name).collect()
    }

    /// Which of the given belongs to each command; nothing where none is given.
    fn share<'b, T>(&self, option: &str, given: &'b [T]) -> Result<Vec<&'b T>, Failure> {
        let place = |(index, copy): (usize, &Copy)| match given.len() {
            0 => None,
            1 => given.first(),
            count if count == self.copies.len() => given.get(index),
            _ => given.get(copy.text),
        };
        if given.len() > 1 && given.len() != self.copies.len() && given.len() != self.texts.len() {
            return Err(Failure::Usage(format!(
                "{option} is given {} times for {} commands: give it once for all, or once per command",
                given.len(),
                self.copies.len()
            )));
        }
        Ok(self.copies.iter().enumerate().filter_map(place).collect())
    }

    /// One for all stays one where it is the same for all.
    fn fold<T: PartialEq>(&self, given: usize, mut all: Vec<T>) -> Result<PerCommand<T>, Failure> {
        if given == 1 && all.iter().all(|one| *one == all[0]) {
            all.truncate(1);
        }
        Ok(PerCommand(all))
    }

    fn fill(&self, place: &str, text: &str, copy: &Copy) -> Result<String, Failure> {
        if !self.filled {
            return Ok(text.to_owned());
        }
        Template::new(text).fill(&copy.values).map_err(|name| {
            let anywhere = self.copies.iter().any(|copy| copy.values.iter().any(|(known, _)| *known == name));
            Failure::Usage(match anywhere {
                true => format!(
                    "{place} has a place for {{{name}}}, and the command '{}' has none",
                    self.texts[copy.text]
                ),
                false => format!(
                    "{place} has a place for {{{name}}}, and no parameter is called so; write {{{{{name}}}}} for the text itself"
                ),
            })
        })
    }
}
