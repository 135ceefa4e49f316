//! Command-line options of `steady bench`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};
use steady_compare::variable;
use steady_feature::flags::{GateFlags, OutputFlags, PrecisionFlags, duration, whole_number};
use steady_host::QuietHostFlags;
use steady_model::Nanos;

use crate::record::ErrorRate;

const EXAMPLES: &str = "\
Examples:
  Which benchmarks of this repository did the branch change?
      steady bench --rev main..HEAD
  The uncommitted changes; only the benchmarks of the parser
      steady bench --rev HEAD..WORK --filter 'parse/*'
  In CI: fail only if a benchmark is certainly more than 3 % slower
      steady bench --rev origin/main...HEAD --fail-if 'slower>3%'
  Two programs that are already built
      steady bench old.test new.test
  One build, in two environments
      steady bench --env-new PYTHONOPTIMIZE=1
  A Rust workspace with features
      steady bench --rev main..HEAD --build-args '-p core --features simd'
  A harness without an adapter of its own
      steady bench --adapter mine.toml --rev main..HEAD
  A suite in four parts, on four machines of CI
      steady bench --rev main..HEAD --shard 1/4 --samples --export-json 1.json
      steady judge 1.json 2.json 3.json 4.json

Harnesses: criterion, divan and libtest (Rust), go, google-benchmark,
pytest-benchmark, jmh, vitest. Each benchmark runs in a new process of either
build (with pytest-benchmark, in a child of a process that several share), in
random pairs. Benchmarks that are decided stop, and the others share the rest
of the time. The probability that any verdict of the suite is wrong
is 5 %, whatever the load and the number of benchmarks.

Exit status:
  0    done
  1    the --fail-if condition certainly holds for a benchmark
  2    wrong usage, no suite, or a build that fails
  3    no benchmark could be measured, or one failed in the new build only
  4    with --require-verdict: a benchmark is undecided; with --fail-if: not
       known whether the condition holds
  125  steady itself failed
  130  interrupted";

/// The options about the report, which a list of names does not have.
const REPORT: [&str; 9] = [
    "format",
    "export_json",
    "export_csv",
    "export_markdown",
    "export_asciidoc",
    "export_orgmode",
    "export_html",
    "quiet",
    "samples",
];

/// The options of `steady bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchFlags {
    /// Two programs of a suite, the old one first: Go test binaries, executables of criterion, divan or Google
    /// Benchmark, or jar files of JMH
    #[arg(value_name = "PROGRAM", num_args = 0..=2, conflicts_with_all = ["rev", "build", "build_args"])]
    pub(crate) programs: Vec<PathBuf>,

    /// Build the suite in these revisions of the current git repository, and compare them: A..B, or A...B from their
    /// merge base, which leaves out later changes of A. WORK is the working tree as it is
    #[arg(long, value_name = "REVISION", action = ArgAction::Append, allow_hyphen_values = true, conflicts_with = "env_new")]
    pub(crate) rev: Vec<String>,

    /// Compare the suite without and with this environment variable. Several variables are set together
    #[arg(long, value_name = "NAME=VALUE", action = ArgAction::Append, value_parser = variable)]
    pub(crate) env_new: Vec<(String, String)>,

    /// The harness, or a file that describes one [default: the one whose suite is found]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) adapter: Option<String>,

    /// The shell command that builds the suite, in place of the adapter's. STEADY_PROGRAMS is the file to which it
    /// appends a line for each program: a label, the directory in which it runs, and its path, separated by tabs
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) build: Option<String>,

    /// Words that are added to the adapter's build command, such as features and packages
    #[arg(long, value_name = "WORDS", conflicts_with = "build", allow_hyphen_values = true)]
    pub(crate) build_args: Option<String>,

    /// Link both builds again before each pair of a benchmark, with their functions in a random order. A difference
    /// that only the positions of functions cause is not reported then. A build of your own finds the order's number in
    /// STEADY_LAYOUT
    #[arg(long, requires = "rev", conflicts_with_all = ["env_new", "programs"])]
    pub(crate) draws: bool,

    /// The programs of the suite, relative to the current directory, if they are not those that the build names. '*'
    /// stands for any part of a file name
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) program: Vec<String>,

    /// Measure only benchmarks with this text in their name, or with a name that matches this pattern with '*'. With
    /// '!' in front, leave them out. Can be given several times
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, allow_hyphen_values = true)]
    pub(crate) filter: Vec<String>,

    /// Measure only one part of the suite: 2/5 is the second of five. `steady judge` joins the parts
    #[arg(long, value_name = "PART/PARTS", value_parser = shard)]
    pub(crate) shard: Option<(usize, usize)>,

    /// Print the names of the benchmarks, and do not measure
    #[arg(long, conflicts_with_all = REPORT)]
    pub(crate) list: bool,

    /// The maximum time to measure, for the whole suite. Builds, and listing the benchmarks, do not count
    #[arg(short, long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) budget: Nanos,

    /// What is compared: one of the numbers that the harness reports, such as bytes or allocations, or cpu, the CPU
    /// time of the process for equal iterations [default: the time that the harness reports]
    #[arg(short, long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,

    /// What the error rate is about: any wrong verdict of the suite, or the share of wrong ones among the differences
    #[arg(long, value_enum, default_value_t = ErrorRate::Family)]
    pub(crate) error: ErrorRate,

    #[command(flatten)]
    pub(crate) precision: PrecisionFlags,

    #[command(flatten)]
    pub(crate) gate: GateFlags,

    /// The time for which a run of a benchmark measures [default: 20 to 50 ms; libtest 0.3 s, vitest 0.8 s, JMH 1 s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Nanos>,

    /// The maximum duration of one process. A process that takes longer is killed, and a benchmark that was alone in it
    /// is not measured [default: a quarter of the budget, and at most 1m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Nanos>,

    /// The seed of all random choices [default: from the system; the report contains it]
    #[arg(long, value_parser = whole_number::<u64>(..))]
    pub(crate) seed: Option<u64>,

    /// The CPUs to use: 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// Show the output of the builds, on standard error
    #[arg(long)]
    pub(crate) show_output: bool,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Add the raw samples to the JSON, so that `steady judge` can evaluate them again
    #[arg(long)]
    pub(crate) samples: bool,

    /// Do not store this comparison in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}

/// The maximum duration of one process without `--timeout`.
const LONGEST: Nanos = Nanos(60_000_000_000);

impl BenchFlags {
    /// The maximum duration of one process. A benchmark that hangs must leave the others most of the budget.
    pub(crate) fn timeout(&self) -> Nanos {
        self.timeout.unwrap_or(self.budget_share().min(LONGEST))
    }

    /// Whether [`BenchFlags::timeout`] is short only because the budget is. A run that takes longer shows that the budget
    /// is too small, and not that its build hangs.
    pub(crate) fn is_timeout_of_budget(&self) -> bool {
        self.timeout.is_none() && self.budget_share() < LONGEST
    }

    /// The longest part of the budget for one process.
    fn budget_share(&self) -> Nanos {
        Nanos(self.budget.0 / 4)
    }
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match parts {
        Some((part, parts)) if 1 <= part && part <= parts => Ok((part, parts)),
        _ => Err("write the part and the number of parts, as in 2/5".to_owned()),
    }
}

/// Whether the filters select a benchmark: one of those without '!' does, or there are none, and none of those with
/// '!'.
pub(crate) fn selects(filters: &[String], name: &str) -> bool {
    let (without, with): (Vec<&String>, Vec<&String>) = filters.iter().partition(|one| one.starts_with('!'));
    let is_selected = with.is_empty() || with.iter().any(|pattern| matches(pattern, name));
    is_selected && !without.iter().any(|pattern| matches(&pattern[1..], name))
}

/// Whether a name contains a text, or matches a pattern with '*'.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else { return name.contains(pattern) };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    for part in middle {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_has_no_options_of_reports() {
        let parse = |words: &[&str]| {
            let command = BenchFlags::augment_args(clap::Command::new("bench"));
            command.try_get_matches_from([&["bench", "--list"], words].concat()).map_err(|error| error.kind())
        };
        assert!(parse(&["--filter", "a"]).is_ok());
        for words in [&["--format", "json"][..], &["--export-html", "x"], &["--quiet"], &["--samples"]] {
            assert_eq!(parse(words).unwrap_err(), clap::error::ErrorKind::ArgumentConflict, "{words:?}");
        }
    }

    #[test]
    fn filters_select_names() {
        let selects = |filters: &[&str], name| {
            super::selects(&filters.iter().map(|filter| (*filter).to_owned()).collect::<Vec<_>>(), name)
        };
        assert!(selects(&[], "a"));
        assert!(selects(&["parse"], "x/parse/y") && !selects(&["parse"], "x"));
        assert!(selects(&["parse/*"], "parse/y") && !selects(&["parse/*"], "x/parse/y"));
        assert!(selects(&["*/y"], "parse/y") && selects(&["p*e*y"], "parse/y") && !selects(&["p*z*y"], "parse/y"));
        assert!(selects(&["a", "b"], "b") && !selects(&["a", "!b"], "ab") && selects(&["!b"], "a"));
        assert!(!selects(&["ab*b"], "ab"), "parts do not overlap");
    }

    #[test]
    fn shards_are_parts() {
        assert_eq!(shard("2/5"), Ok((2, 5)));
        for wrong in ["", "0/5", "6/5", "a/b", "2", "2/5/1"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_pattern_made_of_a_name_matches_it(name in "\\PC{0,12}", from in 0..12usize, to in 0..12usize) {
            let letters: Vec<char> = name.chars().filter(|letter| *letter != '*').collect();
            let (from, to) = (from.min(letters.len()), to.min(letters.len()));
            let name: String = letters.iter().collect();
            let (start, end) = (&letters[..from.min(to)], &letters[from.max(to)..]);
            let pattern: String = start.iter().chain(&['*']).chain(end).collect();
            proptest::prop_assert!(matches(&pattern, &name));
            let _ = shard(&name);
        }
    }
}
