//! Sentences for warnings, and for the reasons of a refusal.

use steady_model::{Interval, Nanos, Timestamp};
use steady_render::effect::signed;
use steady_render::letters::{capital, count, listed_with_more, numbered};
use steady_render::timestamp;
use steady_render::units::{TIE, duration, percent, short};

use super::hosts::one_version_each;
use super::{allowed, moved, named, versions};
use crate::judge::ENOUGH_UNITS;
use crate::record::{Refusal, ReleaseDesign, ReleaseReport, ReleaseWarning};

/// Returns a text of a few sentences for each warning.
pub(crate) fn warnings(report: &ReleaseReport) -> Vec<String> {
    report.warnings.iter().map(|warning| message(report, warning)).collect()
}

fn message(report: &ReleaseReport, warning: &ReleaseWarning) -> String {
    let [old, new] = versions(report);
    match warning {
        ReleaseWarning::RulersDisagree(alarm) => format!(
            "The two kinds of rulers disagree: by rulers in the workers the change is {}, by the agent's rulers {}. \
             {new} may be changing the speed of the rulers in its own workers.",
            moved(alarm.by_worker_rulers),
            moved(alarm.by_agent_rulers)
        ),
        ReleaseWarning::OneProcessASide { allowance } => {
            let of_hosts = one_version_each(report);
            let included = match allowance {
                Some(allowance) => format!("so the interval is extended by {} on both sides", allowed(*allowance)),
                None if of_hosts => {
                    "and one host of each does not show by how much, so they are not compared".to_owned()
                }
                None => "which the interval does not include".to_owned(),
            };
            let (place, units, differ, instead) = match of_hosts {
                true => ("on one host only", "hosts", "a few per cent".to_owned(), "several hosts per version"),
                // Several processes of one host may have the difference in common.
                false => ("in one process at a time", "processes", format!("2 to 3{TIE}%"), "several hosts"),
            };
            format!(
                "Each version ran {place}: {units} that run the same code differ by {differ}, {included}. Use {instead}, \
                 or a coin for each request."
            )
        }
        ReleaseWarning::ForkedProcesses { allowance } => format!(
            "Processes that run the same code differ by 2 to 3{TIE}%, and workers that one process forked may have this \
             difference in common, so the interval is extended by {} on both sides. Use a coin for each request, or a \
             switchback, to exclude it.",
            allowed(*allowance)
        ),
        ReleaseWarning::FewProcesses { processes: [one, other] } => {
            let (unit, units) = if one_version_each(report) { ("host", "hosts") } else { ("process", "processes") };
            format!(
                "There are few {units} per version ({one} of {old}, {other} of {new}): the {unit} is the unit of the \
                 comparison, so the interval is wide, and a single unusual {unit} has a large effect. Use at least \
                 {ENOUGH_UNITS} {units} per version."
            )
        }
        ReleaseWarning::UnequalFailures { shares: [one, other] } => format!(
            "The shares of failed requests differ: {} of the requests of {old}, {} of {new}. A failed request may cost \
             less, which is not a saving.",
            percent(*one),
            percent(*other)
        ),
        ReleaseWarning::NotAdjusted { requests } => format!(
            "{} in rows of an earlier version of the agent, which lack the sums for a precise total. The change is the \
             ratio of means within seconds and routes. With rows of this version the interval will be narrower.",
            numbered(*requests, "request is", "requests are")
        ),
        ReleaseWarning::ProcessCpuCounted { ratio } => {
            let total = match has_change(report) {
                true => "The change above therefore compares",
                false => "A change of the total would therefore compare",
            };
            format!(
                "Requests explain only {} of the CPU time of their processes. {total} the CPU time of the processes \
                 per request, which includes other threads and the time between requests. The changes of routes \
                 compare requests alone.",
                percent(1.0 - ratio)
            )
        }
        ReleaseWarning::UnexplainedCpu { ratio, interval } => {
            let (_, range) = signed((interval.low + interval.high) / 2.0, *interval);
            let included = match has_change(report) {
                true => ", so the interval above includes both extremes",
                false => "",
            };
            let advice = match report.design {
                ReleaseDesign::Switchback => {
                    "That of whole processes is known for both versions in too few pairs of slots or time blocks; with \
                     --prometheus, use a --block that is longer than a pair of slots."
                }
                _ => "To count the CPU time of whole processes, use steadyhand.switchback.",
            };
            format!(
                "Requests do not explain {} of the CPU time of the processes; a thread pool or the server's own \
                 threads may have used it. It may belong to either version{included}; the interval for requests alone \
                 is {range}. {advice}",
                percent(*ratio)
            )
        }
        ReleaseWarning::RoutesOfOneVersion { routes, cpu_ratio } => format!(
            "Left out: {}{} with {} of the CPU time, served by one version only.{}",
            numbered(*routes as u64, "route", "routes"),
            match (report.has_classes, routes) {
                (false, _) => "",
                (true, 1) => " or some of its classes",
                (true, _) => " or some of their classes",
            },
            percent(*cpu_ratio),
            match *cpu_ratio > report.question.resolution {
                true => " The total would miss their change, so there is no total. Use a coin for each request.",
                false => "",
            }
        ),
        ReleaseWarning::UnequalRoutes { routes, named: names, cpu_ratio } => {
            let more = routes.saturating_sub(names.len());
            format!(
                "The versions served these routes in shares that contradict the coin: {} ({} of the CPU time). \
                 Which of these routes a request is on depends on its version, so their requests are compared \
                 together.",
                listed_with_more(&names.iter().map(|name| named(name)).collect::<Vec<_>>(), more),
                percent(*cpu_ratio)
            )
        }
        ReleaseWarning::Lost { lost, folded } => lost_words(*lost, *folded),
        ReleaseWarning::OtherAssignments { requests } => format!(
            "Left out: {} whose version was not chosen like the rest, or at times when the coin chose only one \
             version.",
            numbered(*requests, "request", "requests")
        ),
        ReleaseWarning::HostsOfOneVersion { hosts, requests } => format!(
            "Left out: {} of {} that served only one version. Hosts differ, so versions are compared on hosts that \
             served both.",
            numbered(*requests, "request", "requests"),
            count(*hosts, "host", "hosts")
        ),
        ReleaseWarning::Gaps { seconds } => format!(
            "There are no data for {} of the window: the agent did not run, it could \
             not count the requests (see 'steady agent status'), or the service had none then.",
            duration(Nanos::from_seconds(*seconds as f64))
        ),
        ReleaseWarning::RowsRemoved { before } => format!(
            "Rows before {} were removed because the agent's store reached its --store-limit, and the window asked for \
             begins earlier. Start the agent with a larger --store-limit to keep more.",
            timestamp::text(Timestamp(*before))
        ),
        ReleaseWarning::HostsDiffer { deviation, covered } => {
            let holds = match covered {
                true => "The interval also holds for other hosts like these.",
                false => "There are too few hosts for an interval that holds for others; it holds for these alone.",
            };
            let deviation = percent(*deviation);
            format!(
                "The change differs between hosts by more than chance explains (standard deviation {deviation}). \
                 {holds}"
            )
        }
        ReleaseWarning::MissingScrapes { intervals, of, hosts } => format!(
            "Left out: {} of {of}, on {}, because scrapes are missing or the agent restarted.",
            numbered(*intervals, "interval", "intervals"),
            numbered(*hosts as u64, "host", "hosts")
        ),
        ReleaseWarning::ShortVersions { seconds: [one, other] } => format!(
            "{old} served for {} and {new} for {}: errors in the adjustment for load last for minutes, so each version \
             needs at least 150{TIE}s: use a longer --window if they ran that long; else let them run longer and \
             compare again.",
            duration(Nanos::from_seconds(*one as f64)),
            duration(Nanos::from_seconds(*other as f64))
        ),
        ReleaseWarning::Interrupted => {
            "The watch was interrupted before the answer was known and before the window was over.".to_owned()
        }
        ReleaseWarning::ShortWindow { requested_seconds, seconds, block_seconds, before_seconds } => {
            let time = |seconds: u64| duration(Nanos::from_seconds(seconds as f64));
            let why = match before_seconds {
                // Then at most three blocks and a few seconds are lost without another reason.
                None if requested_seconds.saturating_sub(*seconds) > 3 * block_seconds + 3 => {
                    "the store has no data of agents for the rest, because it or they started later".to_owned()
                }
                None => {
                    format!("the blocks of {} that lie in it as a whole. Use a longer window", time(*block_seconds))
                }
                // The comparison begins with the first block after the first scrape, which is at most two blocks later.
                Some(before) if *before > 2 * block_seconds => format!(
                    "the store has no data of agents for the first {} of it, because it or they started later",
                    time(*before)
                ),
                Some(_) => format!(
                    "it begins with the first block of {} after the first scrape, and ends with the last whole block \
                     before the newest seconds, which may be incomplete. Use a longer window",
                    time(*block_seconds)
                ),
            };
            format!(
                "The window is {}, but only {} of it are compared: {why}.",
                time(*requested_seconds),
                time(*seconds)
            )
        }
        ReleaseWarning::LongBlocks { seconds, scrape_seconds } => format!(
            "The fleet is large, so blocks are {seconds}{TIE}s long although scrapes are {scrape_seconds}{TIE}s apart. \
             The estimate is adjusted less for load that changes within a block. For shorter blocks, use a shorter window."
        ),
    }
}

/// Returns what the interval includes for the difference between processes or hosts, as a logarithm.
pub(super) fn allowance(report: &ReleaseReport) -> Option<f64> {
    report.warnings.iter().find_map(|warning| match warning {
        ReleaseWarning::OneProcessASide { allowance } => *allowance,
        ReleaseWarning::ForkedProcesses { allowance } => Some(*allowance),
        _ => None,
    })
}

/// Returns whether much of the interval's width comes from the allowance for processes or hosts.
pub(super) fn is_limited_by_allowance(report: &ReleaseReport) -> bool {
    let (Some(allowance), Ok(Interval { low, high })) = (allowance(report), report.total.interval()) else {
        return false;
    };
    (high.ln_1p() - low.ln_1p()) / 2.0 <= 2.0 * allowance
}

/// Returns whether the answer has a change of the total with an interval.
fn has_change(report: &ReleaseReport) -> bool {
    report.refused.is_empty() && report.total.change.is_ok() && report.total.interval().is_ok()
}

fn lost_words(lost: u64, folded: u64) -> String {
    // A process that ends does not report the lines that it dropped last.
    let lines = (lost > 0)
        .then(|| format!("at least {} lost on the way to the agent", numbered(lost, "line was", "lines were")));
    let requests = (folded > 0).then(|| {
        format!(
            "{} counted together with others, because there were more routes, classes, versions or processes than the \
             agent can distinguish",
            numbered(folded, "request was", "requests were")
        )
    });
    let all: Vec<String> = lines.into_iter().chain(requests).collect();
    capital(&format!("{}.", if all.is_empty() { "nothing was lost".to_owned() } else { all.join("; ") }))
}

/// Returns a sentence for each reason of the refusal, or `None` if the comparison is not refused.
pub(super) fn reasons(report: &ReleaseReport) -> Option<String> {
    let [old, new] = versions(report);
    let each = report.refused.iter().map(|refusal| format!("{}.", capital(&reason(refusal, &old, &new))));
    let all = each.collect::<Vec<_>>().join(" ");
    (!all.is_empty()).then_some(all)
}

fn reason(refusal: &Refusal, old: &str, new: &str) -> String {
    let one = |version: &Option<String>| version.as_deref().map_or_else(|| "one version".to_owned(), named);
    match refusal {
        Refusal::LoadsDoNotOverlap { variance_inflation } => {
            let by = if variance_inflation.is_finite() {
                format!(" (adjusting for load multiplies the variance by {})", short(*variance_inflation))
            } else {
                String::new()
            };
            format!(
                "the loads during {old} and {new} hardly overlap{by}, so the effects of load and of the version cannot \
                 be separated"
            )
        }
        Refusal::UtilisationDiffers { deviations } => format!(
            "the CPU utilisation during {old} and during {new} differs by {} standard deviations",
            short(*deviations)
        ),
        Refusal::TooFewRows { version, rows, needed } => format!(
            "there are only {} of {} (a second of a process each); {needed} are needed",
            numbered(*rows, "row", "rows"),
            one(version)
        ),
        Refusal::TooFewClusters { version, clusters, needed } => format!(
            "there are only {} of 10{TIE}s with requests of {}; {needed} are needed",
            numbered(*clusters, "stretch", "stretches"),
            one(version)
        ),
        Refusal::TooFewReadings { per_second, needed } => format!(
            "while one version ran, the rate of readings of rulers was {} per second; {} per second are needed to \
             measure the load",
            short(*per_second),
            short(*needed)
        ),
    }
}
