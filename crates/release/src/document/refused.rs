//! Why there is no answer.

use steady_render::letters::capital;
use steady_render::units::{TIE, short};

use super::{numbered, versions};
use crate::record::{Refusal, ReleaseReport};

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
