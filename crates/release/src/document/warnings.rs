//! What the reader should know, in plain words: warnings, and why there is no answer.

use steady_model::Nanos;
use steady_render::letters::capital;
use steady_render::units::{TIE, duration, percent, short};

use super::hosts::one_version_each;
use super::{moved, named, numbered, sized, versions};
use crate::record::{Refusal, ReleaseReport, ReleaseWarning};

/// The warnings, a sentence or two each.
pub(crate) fn warnings(report: &ReleaseReport) -> Vec<String> {
    report.warnings.iter().map(|warning| message(report, warning)).collect()
}

fn message(report: &ReleaseReport, warning: &ReleaseWarning) -> String {
    let [old, new] = versions(report);
    match warning {
        ReleaseWarning::RulersDisagree(alarm) => format!(
            "The two kinds of rulers disagree: by those in the workers the change is {}, by the agent's own {}. {new} \
             may be moving the rulers in its own workers.",
            moved(alarm.by_worker_rulers),
            moved(alarm.by_agent_rulers)
        ),
        ReleaseWarning::OneProcessASide if one_version_each(report) => {
            "One host a side: hosts that run the same code differ by some per cent, and the interval does not hold \
             that. Several hosts a side, or a coin for each request, would."
                .to_owned()
        }
        ReleaseWarning::OneProcessASide => format!(
            "One process a side: processes that run the same code differ by 2 to 3{TIE}%, and the interval does not \
             hold that. Several processes a side, or a coin for each request, would."
        ),
        ReleaseWarning::FewProcesses { processes: [one, other] } => {
            let (unit, units) = if one_version_each(report) { ("host", "hosts") } else { ("process", "processes") };
            format!(
                "Few {units} a side ({one} of {old}, {other} of {new}): they are what is compared, so the interval is \
                 wide, and a {unit} that happens to differ weighs much."
            )
        }
        ReleaseWarning::UnequalFailures { shares: [one, other] } => format!(
            "The versions failed unequally often: {} of the requests of {old}, {} of {new}. A request that fails may \
             cost less, which is no saving.",
            percent(*one),
            percent(*other)
        ),
        ReleaseWarning::NotAdjusted { requests } => format!(
            "{} in rows of an earlier version of the agent, which has no sums for a precise total. The change is the plain \
             ratio of means within seconds and routes; its interval is wider than it will be.",
            numbered(*requests, "request is", "requests are")
        ),
        ReleaseWarning::ProcessCpuCounted { ratio } => format!(
            "Requests explain only {} of the CPU time of their processes. The change above is that of the CPU time of the \
             processes per request, which has other threads and the time between requests in it; those of routes are of \
             requests alone.",
            percent(1.0 - ratio)
        ),
        ReleaseWarning::UnexplainedCpu { ratio, interval } => {
            let (_, range) = sized((interval.low + interval.high) / 2.0, *interval);
            format!(
                "{} of the CPU time of the processes is not that of requests, such as of endpoints that run in a thread \
                 pool. It may belong to either version, and the interval above holds both extremes; that of requests alone is \
                 {range}. steadyhand.switchback counts the CPU time of whole processes.",
                percent(*ratio)
            )
        }
        ReleaseWarning::RoutesOfOneVersion { routes, cpu_ratio } => format!(
            "Left out: {} with {} of the CPU time, of one version only.{}",
            numbered(*routes as u64, "route", "routes"),
            percent(*cpu_ratio),
            match *cpu_ratio > report.question.resolution {
                true => " What that changes is in no figure, so there is no total. A coin for each request would tell.",
                false => "",
            }
        ),
        ReleaseWarning::UnequalRoutes { routes, named: names, cpu_ratio } => {
            let more = routes.saturating_sub(names.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "Served unequally by the versions, so compared together: {}{more} ({} of the CPU time). Which of these routes a \
                 request is on depends on its version.",
                names.iter().map(|name| named(name)).collect::<Vec<_>>().join(", "),
                percent(*cpu_ratio)
            )
        }
        ReleaseWarning::Lost { lost, folded } => lost_words(*lost, *folded),
        ReleaseWarning::OtherAssignments { requests } => format!(
            "Left out: {} whose version was chosen in another way than that of the rest, or while a coin gave one version nothing.",
            numbered(*requests, "request", "requests")
        ),
        ReleaseWarning::Gaps { seconds } => format!(
            "For {} of the window nothing is known: the agent did not run, or nobody asked anything of the service.",
            duration(Nanos::from_seconds(*seconds as f64))
        ),
        ReleaseWarning::HostsDiffer { deviation, covered } => {
            let holds = match covered {
                true => "The interval holds for hosts like these.",
                false => "They are too few to say more: the interval is that of these hosts alone.",
            };
            let deviation = percent(*deviation);
            format!(
                "The change differs from host to host by more than chance (standard deviation {deviation}). {holds}"
            )
        }
        ReleaseWarning::MissingScrapes { intervals, of, hosts } => format!(
            "Left out: {} of {of}, on {}, for scrapes are missing or the agent began anew.",
            numbered(*intervals, "interval", "intervals"),
            numbered(*hosts as u64, "host", "hosts")
        ),
        ReleaseWarning::LongBlocks { seconds, scrape_seconds } => format!(
            "Blocks are {seconds}{TIE}s long, where scrapes are {scrape_seconds}{TIE}s apart, for the fleet is large: load \
             that moved within a block is taken off by less. A shorter window has shorter blocks."
        ),
    }
}

fn lost_words(lost: u64, folded: u64) -> String {
    let way = (lost > 0).then(|| format!("{} lost on the way to the agent", numbered(lost, "line was", "lines were")));
    let room = (folded > 0).then(|| {
        format!(
            "{} folded into others, for there were more routes, classes, versions or processes than the agent keeps apart",
            numbered(folded, "request was", "requests were")
        )
    });
    let all: Vec<String> = way.into_iter().chain(room).collect();
    format!("{}.", if all.is_empty() { "Nothing was lost".to_owned() } else { all.join("; ") })
}

/// The reasons in one sentence, or several where there are several; nothing where it was answered.
pub(super) fn reasons(report: &ReleaseReport) -> Option<String> {
    let [old, new] = versions(report);
    let each = report.refused.iter().map(|refusal| format!("{}.", capital(&reason(refusal, &old, &new))));
    let all = each.collect::<Vec<_>>().join(" ");
    (!all.is_empty()).then_some(all)
}

fn reason(refusal: &Refusal, old: &str, new: &str) -> String {
    match refusal {
        Refusal::LoadsDoNotOverlap { variance_inflation } => {
            let by = if variance_inflation.is_finite() {
                format!(" (knowing the load inflates the variance {}{TIE}times)", short(*variance_inflation))
            } else {
                String::new()
            };
            format!(
                "the loads under {old} and {new} hardly overlap{by}, so that what the load did and what the version \
                 did cannot be told apart"
            )
        }
        Refusal::UtilisationDiffers { deviations } => format!(
            "the CPUs were not as busy under {old} as under {new}: they differ by {} standard deviations",
            short(*deviations)
        ),
        Refusal::TooFewRows { rows, needed } => format!(
            "one side has {} (a second of a process each), and {needed} are needed",
            numbered(*rows, "row", "rows")
        ),
        Refusal::TooFewClusters { clusters, needed } => {
            format!("one side has {} of time, and {needed} are needed", numbered(*clusters, "stretch", "stretches"))
        }
        Refusal::TooFewReadings { per_second, needed } => format!(
            "on one side rulers were read {} times a second, and {} are needed to know the load",
            short(*per_second),
            short(*needed)
        ),
    }
}
