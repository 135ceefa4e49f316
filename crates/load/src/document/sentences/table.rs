//! The results of a table that was measured elsewhere, in sentences.

use steady_render::letters::{capital, one_line};
use steady_render::units::{TIE, fixed};
use steady_stats::Scaling;

use super::{Scope, at, inflation, metric, scaling};
use crate::LoadTable;

/// Returns the answer as paragraphs of sentences, the most important first.
pub(in crate::document) fn paragraphs(table: &LoadTable) -> Vec<Vec<String>> {
    let (Ok(found), Some(scope)) = (&table.scaling, Scope::of_table(table)) else {
        let reason = table.scaling.as_ref().err().map_or_else(String::new, ToString::to_string);
        return vec![vec![format!("Scaling was not estimated: {reason}.")]];
    };
    let mut paragraphs = vec![
        vec![metric(&scope, found)],
        scaling::limits(&scope, found),
        std::iter::once(inflation(&scope, found)).chain(in_turns(table, found)).collect(),
        attribution(table, found).into_iter().collect(),
        scaling::law(&scope, found),
        found.caveats.iter().map(|caveat| format!("{}.", capital(caveat))).collect(),
    ];
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Reports how work per CPU second changes from the number of processes on from which they take turns. This is the cost
/// of switching, because nothing else changes there.
fn in_turns(table: &LoadTable, found: &Scaling) -> Option<String> {
    let from = found.logical_cpus.as_ref().ok()?.high;
    let mut rows = table.rows.iter().filter(|row| row.procs >= from);
    let (first, last) = (rows.next()?, rows.next_back()?);
    let change = 100.0 * (last.work_per_cpu_second / first.work_per_cpu_second - 1.0);
    Some(format!(
        "From {} to {}, the processes take turns on the CPUs, and work per CPU second changes by {}{TIE}%.",
        at(first.procs),
        at(last.procs),
        fixed(change, 1)
    ))
}

/// Compares what the author of a published table attributed the loss of work per CPU second to with where the loss is.
fn attribution(table: &LoadTable, found: &Scaling) -> Option<String> {
    let claimed = one_line(table.attributed_to.as_ref().ok()?);
    let claim = format!("The author attributed the loss of work per CPU second to {claimed}.");
    let from = found.logical_cpus.as_ref().ok()?.low;
    let rate = |procs: u32| {
        let before = table.rows.iter().take_while(|row| row.procs <= procs);
        before.last().map(|row| row.work_per_cpu_second)
    };
    let (best, last) = (table.rows.iter().map(|row| row.work_per_cpu_second).fold(0.0, f64::max), table.rows.last()?);
    let (all, before) = ((best / last.work_per_cpu_second).ln(), (best / rate(from)?).ln());
    let whole = |share: f64| format!("{}{TIE}%", fixed(100.0 * share, 0));
    let share = (all > 0.0).then(|| (before / all).clamp(0.0, 1.0))?;
    Some(format!(
        "{claim} By the measurements, {} of the loss is at {} and below, where no process waits for a CPU, and {} \
         above, where they take turns.",
        whole(share),
        at(from),
        whole(1.0 - share)
    ))
}
