//! The command line that repeats a comparison.

use steady_model::{
    Candidate, Command, Effort, FailIf, FailureRule, Hook, Layout, MetricInput, Output, PerCommand, Plan,
};
use steady_render::document::{Block, Section, Shown};
use steady_render::shell::{line, printable, seconds};
use steady_render::units::setting;

/// The command line that repeats the comparison, or why there is none.
pub(super) fn section(plan: &Plan) -> Section {
    let section = match repeat(plan) {
        Ok(line) => Section::new("To repeat it with the same random choices", vec![Block::Command(line)]),
        Err(why) => Section::paragraphs([super::plain(why)]),
    };
    section.shown(Shown::OffTerminal)
}

/// The command line, quoted for a shell, or why no command line has the same effect. The seed repeats the random
/// choices, but not the load of the machine.
fn repeat(plan: &Plan) -> Result<String, String> {
    let no_line = |why: &str| format!("No command line can repeat this comparison: {why}.");
    if let Some(Candidate { number, comparison }) = plan.candidate {
        return Err(format!(
            "No command line repeats this comparison alone: --ratchet gave the {} comparison of candidate {number} its \
             budget, confidence and seed.",
            comparison.name()
        ));
    }
    if plan.commands.iter().any(|command| command.revision.is_some()) {
        return Err(format!(
            "To repeat it with the same random choices, add --seed {} to the options --rev and --build of this comparison.",
            plan.seed
        ));
    }
    if plan.commands.iter().any(|command| command.directory.is_some()) {
        return Err(no_line("a command started in its own directory"));
    }
    if plan.commands.iter().any(|command| !command.environment.is_empty()) {
        return Err(no_line("a command had its own environment variables"));
    }
    let mut words = vec!["steady".to_owned(), "compare".to_owned(), "--seed".to_owned(), plan.seed.to_string()];
    words.extend(effort(plan));
    words.extend(choices(plan));
    words.extend(metrics(plan).map_err(no_line)?);
    words.extend(around(plan).map_err(no_line)?);
    if plan.commands.iter().any(|command| command.name != as_typed(command)) {
        words.extend(plan.commands.iter().flat_map(|command| ["--command-name".to_owned(), command.name.clone()]));
    }
    words.extend(plan.commands.iter().map(as_typed));
    Ok(line(&words))
}

/// A command as one string for a shell: its name if that has the same words, otherwise its quoted words.
pub(super) fn as_typed(command: &Command) -> String {
    match shell_words::split(&command.name) {
        Ok(words) if words == command.argv && command.name.chars().all(printable) => command.name.clone(),
        _ => line(&command.argv),
    }
}

/// Options of the effort and the precision.
fn effort(plan: &Plan) -> Vec<String> {
    let mut words = match plan.effort {
        Effort::Budget(budget) => vec!["--budget".to_owned(), seconds(budget)],
        Effort::Pairs(pairs) => vec!["--runs".to_owned(), pairs.to_string()],
    };
    for (option, pairs) in [("--min-runs", plan.pairs_min), ("--max-runs", plan.pairs_max)] {
        words.extend(pairs.into_iter().flat_map(|pairs| [option.to_owned(), pairs.to_string()]));
    }
    let percent = |share: f64| setting(share).replace('\u{a0}', "");
    words.extend(["--resolution".to_owned(), percent(plan.resolution)]);
    if plan.confidence != 0.95 {
        words.extend(["--confidence".to_owned(), percent(plan.confidence)]);
    }
    words
}

/// Options whose values differ from the defaults.
fn choices(plan: &Plan) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([format!("--{name}"), value]);
        }
    };
    option("layout", plan.layout.map(Layout::name).map(str::to_owned));
    option("warmup", plan.warmup.map(|pairs| pairs.to_string()));
    option("timeout", plan.timeout.map(seconds));
    let cpus = |cpus: &Vec<usize>| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    option("cpus", plan.cpus.as_ref().map(cpus));
    option("fail-if", plan.fail_if.as_ref().map(FailIf::to_string));
    match &plan.failures {
        FailureRule::Abort => {}
        FailureRule::IgnoreAll => words.push("--ignore-failure".to_owned()),
        FailureRule::IgnoreCodes(codes) => {
            let codes: Vec<String> = codes.iter().map(i32::to_string).collect();
            words.push(format!("--ignore-failure={}", codes.join(",")));
        }
    }
    if plan.require_verdict {
        words.push("--require-verdict".to_owned());
    }
    if plan.warm {
        words.push("--warm".to_owned());
    }
    words
}

/// Options of the metrics.
fn metrics(plan: &Plan) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let primary = plan.metric.as_ref().map_or("auto", |metric| metric.name());
    let named: Vec<&str> = std::iter::once(primary).chain(plan.further_metrics.iter().map(|one| one.name())).collect();
    if named != ["auto"] {
        words.extend(["--metric".to_owned(), named.join(",")]);
    }
    words.extend(plan.metrics.iter().flat_map(|source| ["--metric-from".to_owned(), source.to_string()]));
    let input = match &plan.metric_input {
        MetricInput::Stdout => None,
        MetricInput::Stderr => Some("stderr"),
        MetricInput::File(path) => Some(path.to_str().ok_or("the name of a file is not UTF-8")?),
    };
    words.extend(input.into_iter().flat_map(|input| ["--metric-input".to_owned(), input.to_owned()]));
    Ok(words)
}

/// Options of the scripts around the runs, and of their input and output.
fn around(plan: &Plan) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    for hook in [Hook::Setup, Hook::Prepare, Hook::Conclude, Hook::Cleanup, Hook::Relink] {
        let scripts: &PerCommand<String> = match hook {
            Hook::Setup => &plan.setup,
            Hook::Prepare => &plan.prepare,
            Hook::Conclude => &plan.conclude,
            Hook::Cleanup => &plan.cleanup,
            Hook::Relink => &plan.relink,
        };
        scripts.0.iter().for_each(|script| words.extend([format!("--{}", hook.name()), script.clone()]));
    }
    let readable = "the name of a file is not UTF-8";
    if let Some(input) = &plan.input {
        words.extend(["--input".to_owned(), input.to_str().ok_or(readable)?.to_owned()]);
    }
    for output in &plan.output.0 {
        match output {
            Output::Stderr => words.push("--show-output".to_owned()),
            Output::Null => words.extend(["--output".to_owned(), "null".to_owned()]),
            Output::Pipe => words.extend(["--output".to_owned(), "pipe".to_owned()]),
            Output::Inherit => words.extend(["--output".to_owned(), "inherit".to_owned()]),
            Output::File(path) => words.extend(["--output".to_owned(), path.to_str().ok_or(readable)?.to_owned()]),
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_splits_the_line_into_the_same_words() {
        for words in [&["sh", "-c", "echo \"$HOME\" | tr a b"][..], &["a b", "", "it's", "--x=1%"], &["~", "*", "#"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(shell_words::split(&line(&words)).unwrap(), words);
        }
        let typed =
            Command { name: "sort  'a b'".into(), argv: vec!["sort".into(), "a b".into()], ..Command::default() };
        assert_eq!(as_typed(&typed), "sort  'a b'");
        assert_eq!(as_typed(&Command { name: "mine".into(), ..typed }), "sort 'a b'");
        let hostile = "a'\u{1b}[31m\u{202e}\\\u{9b}1\nb";
        let typed =
            Command { name: shell_words::quote(hostile).into(), argv: vec![hostile.into()], ..Command::default() };
        assert_eq!(as_typed(&typed), "$'a\\'\\033[31m\\u202e\\\\\\u009b1\nb'");
    }
}
