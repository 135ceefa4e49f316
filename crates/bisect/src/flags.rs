//! Command-line options of `steady bisect`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use steady_compare::RunFlags;
use steady_compare::revisions::WORK;
use steady_feature::Failure;
use steady_feature::flags::{OutputFlags, PrecisionFlags, duration};
use steady_host::QuietHostFlags;
use steady_model::Nanos;

const EXAMPLES: &str = "\
Examples:
  Which commit since v1.2 made the program slower?
      steady bisect v1.2..HEAD --build 'make -j2' './prog input'
  A script needs no build; changes of 3 % or more matter
      steady bisect --resolution 3% main~200..main 'python3 tool.py data'
  The result as a page
      steady bisect --export-html bisect.html v1..v2 --build make ./prog

Both ends are built and compared first. If they differ, further commits are
built and compared with the first one until one commit is probable enough. It
is reported only if a comparison with its parent confirms the change, on fresh
pairs. A search that names a commit without a change has the probability of
one wrong verdict (5 %), whatever the load.

Commits on merged branches are not visited: a merge counts as one commit. A
commit that cannot be built, or in which the command or a script around it
fails, is skipped. A search that was interrupted, or that found no commit,
continues if the same command is given again.

Exit status:
  0    the commit was found
  2    wrong usage, a budget that is too small for one verdict, or one of the
       ends cannot be built
  3    the command or a script around it failed in one of the ends
  4    the commit was not found
  125  steady itself failed
  130  interrupted";

/// The options of `steady bisect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BisectFlags {
    /// The commits to search: after GOOD, up to and including BAD. Either end may be any revision of the current git
    /// repository; an empty end is HEAD. GOOD...BAD, with three dots, begins after the merge base of both
    #[arg(value_name = "GOOD..BAD")]
    pub(crate) range: String,

    /// The command, as one string. It runs in a checkout of each commit, in the same subdirectory as here
    #[arg(value_name = "COMMAND")]
    pub(crate) command: String,

    /// The shell command that builds a commit. The variable STEADY_REVISION contains the commit
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) build: Option<String>,

    /// The maximum time to measure, for all comparisons together. Builds do not count
    #[arg(short, long, value_name = "TIME", default_value = "3m", value_parser = duration)]
    pub(crate) budget: Nanos,

    /// Begin again instead of continuing an earlier search in the same commits
    #[arg(long)]
    pub(crate) restart: bool,

    #[command(flatten)]
    pub(crate) precision: PrecisionFlags,

    #[command(flatten)]
    pub(crate) run: RunFlags,

    #[command(flatten)]
    pub(crate) host: QuietHostFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Do not store this search in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}

impl BisectFlags {
    /// The two ends of the range.
    pub(crate) fn ends(&self) -> Result<Ends<'_>, Failure> {
        let usage = |why: &str| Failure::Usage(format!("'{}': {why}", self.range));
        let form = || usage("write GOOD..BAD, as in v1.2..HEAD");
        let (good, bad) = self.range.split_once("..").ok_or_else(form)?;
        let (bad, from_merge_base) = bad.strip_prefix('.').map_or((bad, false), |bad| (bad, true));
        let [good, bad] = [good, bad].map(|end| if end.is_empty() { "HEAD" } else { end });
        if bad.starts_with('.') || bad.contains("..") {
            return Err(form());
        }
        if good == bad {
            return Err(usage("both ends are the same commit"));
        }
        if [good, bad].contains(&WORK) {
            return Err(usage("only commits can be searched, so commit the changes of the working tree first"));
        }
        if good.starts_with('-') || bad.starts_with('-') {
            return Err(usage("a revision cannot begin with a dash"));
        }
        Ok(Ends { good, bad, from_merge_base })
    }
}

/// The ends of a range as typed.
pub(crate) struct Ends<'a> {
    pub(crate) good: &'a str,
    pub(crate) bad: &'a str,
    /// Whether the search begins after the merge base of both, as in `main...HEAD`.
    pub(crate) from_merge_base: bool,
}
