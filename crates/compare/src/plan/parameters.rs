//! Parameters: their names, their values, and all combinations of values.

mod scan;
mod template;

use std::str::FromStr;

use steady_feature::Failure;

use super::plural;
use crate::flags::{CompareFlags, VariantFlags};

pub(crate) use template::Template;

/// The maximum number of commands. More would take hours, and make a report that is too long to read.
pub(crate) const COMMANDS_MAX: usize = 1000;

/// A parameter with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParameterList {
    /// The name, without braces.
    pub(crate) name: String,
    /// The values, one per command.
    pub(crate) values: Vec<String>,
}

/// The value of `--parameter-list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// `NAME=A,B,...`
    Whole(ParameterList),
    /// `NAME`, as hyperfine has it. The next word has the values, which clap takes for a command.
    Name(String),
}

/// One value for each of several parameters, in the order of the options.
pub(crate) type Values = Vec<(String, String)>;

impl FromStr for ParameterList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, list) = text.split_once('=').ok_or("write NAME=A,B,...")?;
        ParameterList::new(name, list)
    }
}

impl ParameterList {
    fn new(name: &str, list: &str) -> Result<Self, String> {
        let values = split_list(list);
        let twice = values.iter().enumerate().find(|(index, value)| values[..*index].contains(value));
        match twice {
            Some((_, value)) => Err(format!("it contains the value '{value}' twice")),
            None => Ok(ParameterList { name: named(name)?, values }),
        }
    }
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('=') { text.parse().map(Given::Whole) } else { named(text).map(Given::Name) }
    }
}

/// Completes the lists that have only a name, with the words after them. `lists` and `commands` are the positions of
/// the lists and of the commands on the command line.
pub(crate) fn complete(flags: &mut CompareFlags, lists: &[usize], commands: &[usize]) -> Result<(), Failure> {
    let mut taken = Vec::new();
    for (given, at) in flags.variants.parameter_list.iter_mut().zip(lists) {
        let Given::Name(name) = given else { continue };
        let usage = |why: &str| Failure::Usage(format!("--parameter-list {name}: {why}"));
        let next = commands.iter().position(|command| *command == at + 1).ok_or_else(|| usage("write NAME=A,B,..."))?;
        let list = ParameterList::new(name, &flags.commands[next]).map_err(|why| usage(&why))?;
        *given = Given::Whole(list);
        taken.push(next);
    }
    let mut index = 0..;
    flags.commands.retain(|_| index.next().is_none_or(|index| !taken.contains(&index)));
    match flags.commands.is_empty() {
        true => Err(Failure::Usage("--parameter-list: write NAME=A,B,..., and then a command".to_owned())),
        false => Ok(()),
    }
}

/// All parameters of the options.
pub(crate) fn given(flags: &VariantFlags) -> Result<Vec<ParameterList>, Failure> {
    let whole = |given: &Given| match given {
        Given::Whole(list) => Some(list.clone()),
        Given::Name(_) => None,
    };
    let mut all: Vec<ParameterList> = flags.parameter_list.iter().filter_map(whole).collect();
    let (scans, steps) = (flags.parameter_scan.chunks(3), &flags.parameter_step_size);
    if steps.len() > 1 && steps.len() != scans.len() {
        return Err(Failure::Usage(format!(
            "--parameter-step-size is given {} times for {}: give it once for all, or once per scan",
            steps.len(),
            plural(scans.len(), "scan")
        )));
    }
    for (index, scan) in scans.enumerate() {
        let [name, low, high] = scan else { continue };
        let step = if steps.len() > 1 { steps.get(index) } else { steps.first() };
        let values = named(name).and_then(|name| {
            let values = scan::values(low, high, step.map_or("1", String::as_str), COMMANDS_MAX)?;
            Ok(ParameterList { name, values })
        });
        all.push(values.map_err(|why| Failure::Usage(format!("--parameter-scan {name} {low} {high}: {why}")))?);
    }
    match all.iter().enumerate().find(|(index, list)| all[..*index].iter().any(|other| other.name == list.name)) {
        Some((_, list)) => Err(Failure::Usage(format!("the parameter '{}' is given twice", list.name))),
        None => Ok(all),
    }
}

/// All combinations of the parameters' values. The last parameter changes fastest.
pub(crate) fn combinations(lists: &[&ParameterList]) -> Result<Vec<Values>, Failure> {
    let count = lists.iter().try_fold(1usize, |count, list| count.checked_mul(list.values.len()));
    if count.is_none_or(|count| count > COMMANDS_MAX) {
        return Err(too_many());
    }
    let mut all = vec![Values::new()];
    for list in lists {
        let longer = |shorter: &Values| {
            let more = |value: &String| [shorter.clone(), vec![(list.name.clone(), value.clone())]].concat();
            list.values.iter().map(more).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    Ok(all)
}

/// The error for more than [`COMMANDS_MAX`] commands.
pub(crate) fn too_many() -> Failure {
    Failure::Usage(format!(
        "the parameters make more than {COMMANDS_MAX} commands: give fewer values, or a larger step"
    ))
}

fn named(name: &str) -> Result<String, String> {
    match template::is_name(name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "'{name}' is not a valid name: use letters, digits, '_' and '-', and begin with a letter or '_'"
        )),
    }
}

/// Splits a list at its commas. A comma after a backslash belongs to the value.
fn split_list(list: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&',') => value.extend(letters.next()),
            ',' => values.push(std::mem::take(&mut value)),
            letter => value.push(letter),
        }
    }
    values.push(value);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<ParameterList, String> {
        text.parse()
    }

    #[test]
    fn lists_are_split_at_commas() {
        assert_eq!(list("n=1,2").unwrap().values, ["1", "2"]);
        assert_eq!(list("n=-a -b,,x=y").unwrap().values, ["-a -b", "", "x=y"]);
        assert_eq!(list(r"n=a\,b,c\d").unwrap().values, ["a,b", r"c\d"]);
        for wrong in ["n", "=1", "1n=1", "n n=1", "n=1,1", "{n}=1"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_parameter_changes_fastest() {
        let lists = [list("a=1,2").unwrap(), list("b=x,y").unwrap()];
        let all = combinations(&lists.iter().collect::<Vec<_>>()).unwrap();
        let words: Vec<String> = all.iter().map(|values| format!("{}{}", values[0].1, values[1].1)).collect();
        assert_eq!(words, ["1x", "1y", "2x", "2y"]);
        assert_eq!(combinations(&[]).unwrap(), [Values::new()]);
    }

    #[test]
    fn too_many_combinations_are_refused_before_they_are_built() {
        let values: Vec<String> = (0..1000).map(|value| value.to_string()).collect();
        let lists: Vec<ParameterList> =
            (0..40).map(|index| ParameterList { name: format!("p{index}"), values: values.clone() }).collect();
        let error = combinations(&lists.iter().collect::<Vec<_>>()).unwrap_err();
        assert!(error.to_string().contains("more than 1000 commands"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn escaped_values_are_split_again(values in proptest::collection::hash_set(r"[^\\]*", 1..6)) {
            let values: Vec<String> = values.into_iter().collect();
            let written: Vec<String> = values.iter().map(|value| value.replace(',', r"\,")).collect();
            proptest::prop_assert_eq!(split_list(&written.join(",")), values);
        }

        #[test]
        fn any_text_is_read_as_a_list_or_refused(text in ".*") {
            if let Ok(list) = list(&text) {
                proptest::prop_assert!(!list.values.is_empty() && !list.name.is_empty());
            }
        }
    }
}
