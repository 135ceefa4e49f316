//! The cost of start-up in words.

use steady_model::{Interval, Plan, Report, StartUp};

use super::{noun, subject};
use crate::units::{TIE, TimeAndRange, time_and_range};

/// The rest of a sentence that begins with "Start-up". `None` if runs were started as usual.
pub(crate) fn startups(report: &Report) -> Option<String> {
    let first = report.startups.first()?;
    if let (true, Err(absent)) = (report.startups.iter().all(|one| one.mean.is_err()), &first.mean) {
        return Some(format!(" is not part of this. Its cost was not measured: {absent}."));
    }
    let what = noun(first.metric);
    let each: Vec<String> = report.startups.iter().map(|one| size(&report.record.plan, one)).collect();
    Some(format!(" is not part of this. Its {what}, 95{TIE}%: {}.", each.join(", ")))
}

/// The cost for one command, as in `0.41 ms (0.40 to 0.43) for 'old'`.
fn size(plan: &Plan, startup: &StartUp) -> String {
    let who = subject(plan, startup.command);
    let mean = match &startup.mean {
        Ok(mean) => *mean,
        Err(absent) => return format!("not measured for {who} ({absent})"),
    };
    let interval = startup.interval.clone().unwrap_or(Interval::EVERYTHING);
    let TimeAndRange { time, range, unit } = time_and_range(mean, interval);
    match interval.holds(0.0) && interval.half_width().is_finite() {
        true => format!("not distinguishable from 0 ({range}{TIE}{unit}) for {who}"),
        false => format!("{time} ({range}) for {who}"),
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Command, Effort, Metric, Seed};

    use super::*;

    #[test]
    fn a_cost_and_its_interval_have_one_unit() {
        let command = |name: &str| Command { name: name.to_owned(), argv: vec![], ..Command::default() };
        let plan = Plan::new(vec![command("old"), command("new")], Effort::Pairs(1), Seed(1));
        let shown = |mean: f64, low: f64, high: f64| {
            let interval = Ok(Interval { low, high });
            let startup = StartUp { command: 0, metric: Metric::Cpu, mean: Ok(mean), interval, draws: 8 };
            size(&plan, &startup).replace(TIE, " ")
        };
        assert_eq!(shown(332e-6, 222e-6, 442e-6), "0.33 ms (0.22 to 0.44) for 'old'");
        assert_eq!(shown(-1e-3, -9e-3, 13e-3), "not distinguishable from 0 (-9 to 13 ms) for 'old'");
    }
}
