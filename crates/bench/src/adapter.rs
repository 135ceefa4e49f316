//! Adapters: how a suite of a harness is built and listed, how one of its benchmarks runs once, and where its results are.
//!
//! An adapter is data. Those of well-known harnesses are files in the directory `adapters`, and `--adapter FILE` reads one
//! of the same form.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use steady_model::{CUSTOM_METRICS_MAX, MetricSource, Nanos};
use steady_process::Extractor;

/// The adapters of well-known harnesses. If a directory has suites of several, the first one counts.
const KNOWN: &[&str] = &[
    include_str!("adapters/criterion.toml"),
    include_str!("adapters/divan.toml"),
    include_str!("adapters/libtest.toml"),
    include_str!("adapters/go.toml"),
    include_str!("adapters/google-benchmark.toml"),
    include_str!("adapters/pytest-benchmark.toml"),
    include_str!("adapters/jmh.toml"),
    include_str!("adapters/vitest.toml"),
];

/// How the benchmarks of one harness are found and run. Commands are split into words as by a shell, and run without a
/// shell. A placeholder is replaced within its word.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Adapter {
    /// The name of the harness.
    pub name: String,
    /// How a directory with such a suite is recognised. Without it, the adapter must be requested.
    #[serde(default)]
    detect: Option<Detect>,
    /// A text that every program of such a suite contains.
    #[serde(default)]
    marker: Option<String>,
    /// A shell command that builds the suite in the current directory. It appends a line to the file `$STEADY_PROGRAMS`
    /// for each program: a label, the directory in which it runs and the program, separated by tabs. `{args}` stands for
    /// the value of `--build-args`, and `{cargo}` for commands that build Rust benchmarks: `adapters/cargo.sh`.
    #[serde(default)]
    build: Option<String>,
    /// Programs that need no build, or are where `--build` puts them. They run in the directory of the suite.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    /// A command that prints the names of the benchmarks of `{program}`.
    list: String,
    /// An expression whose group is a name in that output. The default takes every line as a name.
    #[serde(default)]
    list_regex: Option<String>,
    /// What to try if a suite has no benchmarks, as a clause.
    #[serde(default)]
    pub(crate) if_none: Option<String>,
    /// How a name is written in `run`.
    #[serde(default)]
    name_form: NameForm,
    /// A command that runs the benchmark `{name}` of `{program}` once: `{samples}` samples of `{iterations}` iterations
    /// each, or samples that take about `{seconds}` together, or `{sample-seconds}` each, after `{warmup}` seconds. A
    /// harness without such an option decides itself. `{file}` is a file for its result.
    ///
    /// With `{names}` in place of `{name}`, it can run several benchmarks, one after the other: see [`Adapter::parts`].
    run: String,
    /// Where the results are: `stdout`, `stderr`, or `file`.
    #[serde(default)]
    pub(crate) input: Input,
    /// How the results are found, as in `--metric-from` of `steady compare`. The first metric decides.
    #[serde(with = "sources")]
    pub metrics: Vec<MetricSource>,
    /// How long a process measures.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// Variables of the environment. `{directory}` is the directory of the suite. With revisions, `{origin}` is the working
    /// tree of the repository, whose files do not belong to any of them; otherwise it is empty.
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

/// How long a process measures. Its result is the median or the least of many short samples. If other processes run on the
/// same CPU, the scheduler interrupts a process every few milliseconds, and so many of its short samples are not
/// interrupted. A mean would contain all interruptions.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sampling {
    /// The least time for which a process measures.
    #[serde(rename = "seconds")]
    pub time: Nanos,
    /// The time of a sample, unless an iteration takes longer.
    #[serde(rename = "sample-seconds", default = "Sampling::shortest")]
    pub sample: Nanos,
    /// The least number of samples.
    #[serde(rename = "samples-min", default = "Sampling::least")]
    pub least: u64,
}

impl Sampling {
    /// The largest number of samples.
    pub(crate) const MOST: u64 = 300;

    fn shortest() -> Nanos {
        Nanos(500_000)
    }

    fn least() -> u64 {
        3
    }

    /// The amount of work of the first run.
    pub(crate) fn first(&self) -> Amount {
        Amount { samples: self.least, iterations: 1, time: self.time }
    }

    /// The amount of work of a process that measures for `time` and whose iterations take `each` second.
    pub(crate) fn amount(&self, time: f64, each: f64) -> Amount {
        let samples = (time / each.max(self.sample.seconds())).clamp(self.least as f64, Sampling::MOST as f64).floor();
        let iterations = (time / (samples * each)).clamp(1.0, 1e15).round();
        Amount { samples: samples as u64, iterations: iterations as u64, time: Nanos::from_seconds(time) }
    }
}

/// What a directory with a suite contains.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Detect {
    /// The name of a file in the directory.
    #[serde(default)]
    file: Option<String>,
    /// The end of the names of sources, in the directory and below.
    #[serde(default)]
    source: Option<String>,
    /// An expression that one of the sources contains, or the file if no sources are given.
    #[serde(default)]
    contains: Option<String>,
}

/// How the name of a benchmark is written in a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NameForm {
    /// As it is.
    #[default]
    Plain,
    /// As a regular expression that matches the name.
    Regex,
    /// As one anchored regular expression for each part between slashes.
    Go,
}

/// Where a run writes its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Input {
    /// To standard output.
    #[default]
    Stdout,
    /// To standard error.
    Stderr,
    /// To the file `{file}`.
    File,
}

mod sources {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};
    use steady_model::MetricSource;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MetricSource>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

/// The amount of work of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// The number of samples.
    pub samples: u64,
    /// The number of iterations of a sample, if the harness takes it.
    pub iterations: u64,
    /// The time of all samples together.
    pub time: Nanos,
}

/// The parts of the command of a run that differ between runs.
pub(crate) struct Values<'a> {
    /// The program, as a path.
    pub(crate) program: &'a str,
    /// The names of the benchmarks: one, unless the adapter takes several.
    pub(crate) names: &'a [&'a str],
    /// The amount of work.
    pub(crate) amount: Amount,
    /// The file for the result.
    pub(crate) file: &'a str,
    /// The value of `--build-args`.
    pub(crate) args: &'a str,
}

impl Adapter {
    /// Reads an adapter.
    ///
    /// # Errors
    /// The text is not an adapter. The error says why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let adapter: Adapter = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        adapter.check()?;
        Ok(adapter)
    }

    fn check(&self) -> Result<(), String> {
        let words = |what: &str, text: &str| match shell_words::split(text) {
            Ok(words) if words.is_empty() => Err(format!("{what}: it is empty")),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{what}: {error}")),
        };
        words("list", &self.list)?;
        words("run", &self.run)?;
        self.names("")?;
        if self.run.contains("{name}") == self.takes_names() {
            return Err("run: it must contain {name}, or the word {names}".to_owned());
        }
        let takes_time = self.run.contains("{seconds}") || self.run.contains("{sample-seconds}");
        if self.counts_iterations() && takes_time {
            return Err("run: it must contain {iterations} or {seconds}, not both".to_owned());
        }
        if (self.input == Input::File) != self.run.contains("{file}") {
            return Err("run: {file} belongs to input = \"file\"".to_owned());
        }
        let takes_seconds = self.run.contains("{seconds}");
        if self.takes_names() && (self.input != Input::File || !takes_seconds || self.counts_iterations()) {
            return Err("run: {names} needs {file}, and {seconds} in place of {iterations}".to_owned());
        }
        if self.metrics.is_empty() || self.metrics.len() > CUSTOM_METRICS_MAX {
            return Err(format!("metrics: there must be 1 to {CUSTOM_METRICS_MAX}"));
        }
        for source in &self.metrics {
            Extractor::new(source).map_err(|error| format!("metrics: '{source}': {error}"))?;
        }
        let Sampling { time, sample, least } = self.sampling;
        if time == Nanos::ZERO || sample == Nanos::ZERO || time.seconds() > 3600.0 || sample > time {
            return Err("seconds and sample-seconds: they must be above 0, and at most an hour".to_owned());
        }
        if !(1..=Sampling::MOST).contains(&least) {
            return Err(format!("samples-min: it must be 1 to {}", Sampling::MOST));
        }
        if let Some(detect) = &self.detect {
            detect.expression()?;
        }
        Ok(())
    }

    /// The adapters of well-known harnesses.
    pub fn known() -> Vec<Adapter> {
        // A test reads all of them.
        KNOWN.iter().filter_map(|text| Adapter::parse(text).ok()).collect()
    }

    /// Whether a directory has a suite of this harness.
    pub(crate) fn is_in(&self, directory: &Path) -> bool {
        self.detect.as_ref().is_some_and(|detect| detect.holds(directory))
    }

    /// Whether a program, whose content is given, belongs to a suite of this harness.
    pub(crate) fn has_built(&self, content: &[u8]) -> bool {
        let Some(marker) = &self.marker else { return false };
        memchr::memmem::find(content, marker.as_bytes()).is_some()
    }

    /// The shell command that builds the suite, with these words for `--build-args`.
    pub(crate) fn building(&self, args: &str) -> Option<String> {
        let build = self.build.as_ref()?.replace("{cargo}", include_str!("adapters/cargo.sh"));
        Some(build.replace("{args}", args))
    }

    /// The words of the command that lists the benchmarks of a program.
    pub(crate) fn listing(&self, program: &str, args: &str) -> Vec<String> {
        let split = shell_words::split(&self.list).unwrap_or_default();
        split.iter().map(|word| word.replace("{program}", program)).flat_map(|word| with_args(word, args)).collect()
    }

    /// The names of benchmarks in the output of that command, in its order, each once.
    ///
    /// # Errors
    /// The expression is not valid. The error says why.
    pub(crate) fn names(&self, printed: &str) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = match &self.list_regex {
            None => printed.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
            Some(text) => {
                let expression = Regex::new(text).map_err(|error| format!("list-regex: {error}"))?;
                if expression.captures_len() != 2 {
                    return Err("list-regex: it must have one group".to_owned());
                }
                let group = expression.captures_iter(printed).filter_map(|found| found.get(1));
                group.map(|name| name.as_str().to_owned()).collect()
            }
        };
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        Ok(names)
    }

    /// The first word of the command that runs a benchmark of a program.
    pub(crate) fn first_word(&self, program: &str) -> String {
        let words = shell_words::split(&self.run).unwrap_or_default();
        words.first().map_or_else(String::new, |word| word.replace("{program}", program))
    }

    /// Whether a run is given a number of iterations, not a time.
    pub(crate) fn counts_iterations(&self) -> bool {
        self.run.contains("{iterations}")
    }

    /// Whether a process can run several benchmarks.
    pub(crate) fn takes_names(&self) -> bool {
        shell_words::split(&self.run).unwrap_or_default().iter().any(|word| word == "{names}")
    }

    /// The parts of the file that a process with several benchmarks writes, by the names of the benchmarks. Each part
    /// begins with a line `steady: benchmark NAME`, and has lines `steady: wall-time SECONDS s` and `steady: cpu-time SECONDS s`
    /// with the times that the benchmark took, besides its metrics.
    pub(crate) fn parts(written: &str) -> BTreeMap<&str, &str> {
        /// The beginning of a part.
        const HEAD: &str = "steady: benchmark ";
        let heads: Vec<usize> = written
            .match_indices(HEAD)
            .map(|(at, _)| at)
            .filter(|&at| at == 0 || written.as_bytes().get(at - 1) == Some(&b'\n'))
            .collect();
        let ends = heads.iter().skip(1).copied().chain([written.len()]);
        let part = |(&from, to): (&usize, usize)| written.get(from + HEAD.len()..to)?.split_once('\n');
        heads.iter().zip(ends).filter_map(part).collect()
    }

    /// How a name is written in the command.
    fn written(&self, name: &str) -> String {
        match self.name_form {
            NameForm::Plain => name.to_owned(),
            NameForm::Regex => escaped(name),
            NameForm::Go => {
                let part = |part: &str| format!("^{}$", escaped(part));
                name.split('/').map(part).collect::<Vec<_>>().join("/")
            }
        }
    }

    /// The words of the command that runs benchmarks once.
    pub(crate) fn running(&self, values: &Values) -> Vec<String> {
        /// The share of the time before the measured one in which a harness warms up.
        const WARM_UP: f64 = 0.3;
        let names: Vec<String> = values.names.iter().map(|name| self.written(name)).collect();
        let Amount { samples, iterations, time } = values.amount;
        let seconds = time.seconds();
        let (samples, sample) = match self.takes_names() {
            false => (samples, seconds / samples as f64),
            // The benchmarks of a process need different numbers of samples, which the harness chooses.
            true => (self.sampling.least, self.sampling.sample.seconds()),
        };
        let values_of = [
            ("{program}", values.program.to_owned()),
            ("{name}", names.first().cloned().unwrap_or_default()),
            ("{iterations}", iterations.to_string()),
            ("{samples}", samples.to_string()),
            ("{sample-seconds}", format!("{sample:.6}")),
            ("{seconds}", format!("{seconds:.3}")),
            ("{warmup}", format!("{:.3}", WARM_UP * seconds)),
            ("{file}", values.file.to_owned()),
        ];
        let replaced = |word: String| match word.as_str() {
            "{names}" => names.clone(),
            "{args}" => with_args(word, values.args),
            _ => vec![substituted(&word, &values_of)],
        };
        shell_words::split(&self.run).unwrap_or_default().into_iter().flat_map(replaced).collect()
    }

    /// The variables of the environment of the suite's programs.
    pub(crate) fn variables(&self, directory: &Path, origin: Option<&Path>) -> Vec<(String, String)> {
        let text = |path: Option<&Path>| path.map_or_else(String::new, |path| path.display().to_string());
        let values = [("{directory}", text(Some(directory))), ("{origin}", text(origin))];
        let value = |value: &String| substituted(value, &values);
        self.environment.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }
}

/// Replaces the placeholders in a word. A value may contain the text of a placeholder, which stays as it is.
fn substituted(word: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        out += &rest[..at];
        rest = &rest[at..];
        match values.iter().find(|(placeholder, _)| rest.starts_with(placeholder)) {
            Some((placeholder, value)) => {
                out += value;
                rest = &rest[placeholder.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// Writes a text as a regular expression that matches it, with only the escapes that all dialects have.
fn escaped(text: &str) -> String {
    let escape = |letter: char| {
        let is_special = r"\.+*?()|[]{}^$".contains(letter);
        is_special.then_some('\\').into_iter().chain([letter])
    };
    text.chars().flat_map(escape).collect()
}

/// Replaces a word that is `{args}` by the words of `--build-args`.
fn with_args(word: String, args: &str) -> Vec<String> {
    if word == "{args}" { shell_words::split(args).unwrap_or_default() } else { vec![word] }
}

impl Detect {
    fn expression(&self) -> Result<Option<Regex>, String> {
        let multi_line = |text: &String| Regex::new(&format!("(?m){text}")).map_err(|error| format!("detect: {error}"));
        self.contains.as_ref().map(multi_line).transpose()
    }

    fn holds(&self, directory: &Path) -> bool {
        let Ok(expression) = self.expression() else { return false };
        let is_match = |path: &Path| {
            expression.as_ref().is_none_or(|one| one.is_match(&fs::read_to_string(path).unwrap_or_default()))
        };
        let file = self.file.as_ref().map(|name| directory.join(name));
        match &self.source {
            None => file.is_some_and(|file| file.is_file() && is_match(&file)),
            Some(end) => file.is_none_or(|file| file.is_file()) && any_below(directory, end, &is_match, DEPTH),
        }
    }
}

/// The depth of directories in which sources are searched.
const DEPTH: usize = 4;

/// Whether a file below a directory has a name with this end and satisfies `is_match`. Hidden directories, and those in
/// which build systems put files, are not searched.
fn any_below(directory: &Path, end: &str, is_match: &dyn Fn(&Path) -> bool, depth: usize) -> bool {
    const LEFT_OUT: [&str; 4] = ["target", "node_modules", "build", "venv"];
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                depth > 0
                    && !name.starts_with('.')
                    && !LEFT_OUT.contains(&name.as_str())
                    && any_below(&entry.path(), end, is_match, depth - 1)
            }
            Ok(kind) if kind.is_file() => name.ends_with(end) && is_match(&entry.path()),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Adapter {
        Adapter::known().into_iter().find(|adapter| adapter.name == name).unwrap()
    }

    const COUNT: Amount = Amount { samples: 20, iterations: 70, time: Nanos(50_000_000) };
    const TIME: Amount = Amount { samples: 20, iterations: 1, time: Nanos(100_000_000) };

    #[test]
    fn samples_are_short_unless_an_iteration_is_long() {
        let sampling = Sampling { time: Nanos(30_000_000), sample: Nanos(500_000), least: 3 };
        let amount = |each: f64| {
            let Amount { samples, iterations, .. } = sampling.amount(0.03, each);
            (samples, iterations)
        };
        assert_eq!(amount(1e-7), (60, 5000));
        assert_eq!(amount(1e-3), (30, 1));
        assert_eq!(amount(0.02), (3, 1));
        assert_eq!(sampling.amount(10.0, 1e-7).samples, Sampling::MOST);
    }

    fn running(name: &str, benchmark: &str, amount: Amount) -> String {
        let values = Values { program: "./p", names: &[benchmark], amount, file: "/f", args: "-q" };
        known(name).running(&values).join("|")
    }

    #[test]
    fn all_known_adapters_are_valid() {
        for text in KNOWN {
            Adapter::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }

    #[test]
    fn names_are_written_as_the_harness_needs_them() {
        let go = running("go", "BenchmarkA/size=1.5/b", COUNT);
        assert!(go.contains("|-test.bench=^BenchmarkA$/^size=1\\.5$/^b$|-test.benchtime=70x|"), "{go}");
        let google = running("google-benchmark", "BM_x<int>/#8", TIME);
        assert!(google.contains("|--benchmark_filter=^BM_x<int>/#8$|--benchmark_min_time=0.005000|"), "{google}");
        let criterion = running("criterion", "a b/{name}", TIME);
        assert!(criterion.contains("|^a b/\\{name\\}$|"), "{criterion}");
        assert!(criterion.contains("|--warm-up-time|0.030|--measurement-time|0.100"), "{criterion}");
        let divan = running("divan", "a::b", COUNT);
        assert!(divan.ends_with("|sh|./p|a::b|70|20"), "{divan}");
        // With a limit that a run can reach, the iterations of two runs would differ.
        assert!(divan.contains(" --min-time 0 --max-time 1000000 "), "{divan}");
        let pytest = running("pytest-benchmark", "tests/a.py::b[c d]", TIME);
        assert!(pytest.ends_with("|--benchmark-max-time=0.100|-q|tests/a.py::b[c d]"), "{pytest}");
    }

    #[test]
    fn a_process_can_run_several_benchmarks() {
        let adapter = known("pytest-benchmark");
        let names = ["a.py::x[{args}]", "a.py::y"];
        let values = Values { program: "./p", names: &names, amount: TIME, file: "/f", args: "" };
        let words = adapter.running(&values);
        assert_eq!(words[words.len() - 2..], names);
        assert!(words.iter().any(|word| word == "--benchmark-min-rounds=3"), "{words:?}");
        let written = "x\nsteady: benchmark a b\nsteady: time 1 s\nsteady: benchmark c\nsteady: benchmark";
        let parts = Adapter::parts(written);
        assert_eq!(parts.into_iter().collect::<Vec<_>>(), [("a b", "steady: time 1 s\n"), ("c", "steady: benchmark")]);
        assert!(Adapter::parts("").is_empty() && Adapter::parts("a steady: benchmark b\n").is_empty());
    }

    #[test]
    fn values_may_look_like_placeholders() {
        let values = [("{a}", "{b}".to_owned()), ("{b}", "1".to_owned())];
        assert_eq!(substituted("x{a}{b}{c}{", &values), "x{b}1{c}{");
    }

    #[test]
    fn names_are_found_in_lists() {
        let names = |name: &str, text: &str| known(name).names(text).unwrap();
        assert_eq!(names("criterion", "a b: benchmark\nc: test\nd/1: benchmark\n"), ["a b", "d/1"]);
        let go = "noise\nsteady: BenchmarkA\nsteady: BenchmarkB/x-2\n";
        assert_eq!(names("go", go), ["BenchmarkA", "BenchmarkB/x-2"]);
        assert_eq!(names("google-benchmark", "BM_a\nBM_b/8\nBM_a\n"), ["BM_a", "BM_b/8"]);
        let vitest = "connected\nsteady: a.bench.ts > sort > native\nsteady: a.bench.ts > x\nclosed\n";
        assert_eq!(names("vitest", vitest), ["a.bench.ts > sort > native", "a.bench.ts > x"]);
    }

    /// A program of Google Benchmark that also prints lines of its own.
    const GOOGLE: &str = r#"#!/bin/sh
echo "8 threads"
case "$*" in
*fail*) exit 3 ;;
"--benchmark_list_tests=true") printf '%s\n' BM_a 'BM_b<unsigned long>/8' ;;
"--benchmark_list_tests=true --benchmark_filter=^$") echo "Failed to match any benchmarks against regex: ^$" >&2 ;;
*) exit 4 ;;
esac
echo "done (100 %)"
"#;

    #[test]
    fn lines_that_a_program_of_google_benchmark_always_prints_are_no_names() {
        let folder = std::env::temp_dir().join(format!("steady-google-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let adapter = known("google-benchmark");
        let listed = |script: &str| {
            let program = folder.join("program");
            fs::write(&program, script).unwrap();
            // A file that is still open for writing in a process that another test has started cannot be executed.
            let words = adapter.listing("PROGRAM", "");
            let words: Vec<String> = words.iter().map(|word| word.replace("\"$0\"", "sh \"$0\"")).collect();
            let mut command = std::process::Command::new(&words[0]);
            let words = words[1..].iter().map(|word| word.replace("PROGRAM", &program.display().to_string()));
            let output = command.args(words).output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            (output.status.code(), adapter.names(&printed).unwrap())
        };
        let names = ["BM_a", "BM_b<unsigned long>/8"].map(str::to_owned).to_vec();
        assert_eq!(listed(GOOGLE), (Some(0), names.clone()));
        let silent: String =
            GOOGLE.lines().filter(|line| !line.starts_with("echo")).map(|line| format!("{line}\n")).collect();
        assert_eq!(listed(&silent), (Some(0), names));
        let without = silent.replace("printf '%s\\n' BM_a 'BM_b<unsigned long>/8'", ":");
        assert_eq!(listed(&without), (Some(0), vec![]));
        let (status, printed) = listed(&GOOGLE.replace("*fail*", "*list*"));
        assert_eq!((status, &printed[..]), (Some(3), &["8 threads".to_owned()][..]));
        fs::remove_dir_all(folder).unwrap();
    }

    /// What a benchmark with the name `median` prints, without the lines about the machine.
    const MEDIAN: &str = r#"{
  "benchmarks": [
    {
      "name": "median_mean",
      "run_name": "median",
      "run_type": "aggregate",
      "aggregate_name": "mean",
      "aggregate_unit": "time",
      "iterations": 3,
      "real_time": 9.1e+00,
      "cpu_time": 9.0e+00,
      "time_unit": "ns"
    },
    {
      "name": "median_median",
      "run_name": "median",
      "run_type": "aggregate",
      "aggregate_name": "median",
      "aggregate_unit": "time",
      "iterations": 3,
      "real_time": 8.5e+00,
      "cpu_time": 8.4e+00,
      "time_unit": "ns"
    },
    {
      "name": "median_cv",
      "run_name": "median",
      "run_type": "aggregate",
      "aggregate_name": "cv",
      "aggregate_unit": "percentage",
      "iterations": 3,
      "real_time": 2.5e-02,
      "cpu_time": 2.4e-02,
      "time_unit": "ns"
    }
  ]
}
"#;

    #[test]
    fn a_benchmark_of_google_benchmark_may_be_called_median() {
        let adapter = known("google-benchmark");
        let values = adapter.metrics.iter().map(|source| Extractor::new(source).unwrap().value(MEDIAN.as_bytes()));
        let nanoseconds: Vec<f64> = values.map(|value| (value.unwrap() * 1e10).round() / 10.0).collect();
        assert_eq!(nanoseconds, [8.5, 8.4]);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let text = "name = 'x'\nlist = 'l'\nrun = 'r {name} {seconds}'\nmetrics = ['t[s]']\nseconds = 1\n";
        assert!(Adapter::parse(text).is_ok());
        for (from, to, why) in [
            ("{name}", "", "{name}"),
            ("{seconds}", "{seconds} {iterations}", "not both"),
            ("{seconds}", "{seconds} {file}", "input"),
            ("{name}", "{names}", "needs {file}"),
            ("{name}", "{name} {names}", "{name}"),
            ("t[s]", "t[s]=regex:(", "metrics"),
            ("['t[s]']", "[]", "metrics"),
            ("seconds = 1", "seconds = 0", "seconds"),
            ("seconds = 1", "seconds = 1\nsamples-min = 0", "samples-min"),
            ("seconds = 1", "seconds = 1\ncolour = 1", "colour"),
            ("'l'", "''", "list"),
            ("'l'", "'l'\nlist-regex = 'x'", "one group"),
        ] {
            let error = Adapter::parse(&text.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(why), "{from} -> {to}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_adapter_or_refused(text in "(name|list|run|metrics|seconds|detect)? ?=? ?.{0,40}\n?.*") {
            let _ = Adapter::parse(&text);
            let _ = Adapter::parts(&text.replace("name", "steady: benchmark "));
        }
    }
}
