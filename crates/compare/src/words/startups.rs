//! The cost of start-up in words.

use steady_model::{Interval, Report, StartUp};

use super::{between, noun, subject};
use crate::units::{TIE, time_unit, time_with};

/// The rest of a sentence that begins with "Start-up". `None` if runs were started as usual.
pub(crate) fn startups(report: &Report) -> Option<String> {
    let first = report.startups.first()?;
    if let (true, Err(absent)) = (report.startups.iter().all(|one| one.mean.is_err()), &first.mean) {
        return Some(format!(" is not part of this. Its cost was not measured: {absent}."));
    }
    let what = noun(first.metric);
    let each: Vec<String> = report.startups.iter().map(|one| size(report, one)).collect();
    Some(format!(" is not part of this. Its {what}, 95{TIE}%: {}.", each.join(", ")))
}

/// The cost for one command, as in `0.41 ms (0.40 to 0.43) for 'old'`.
fn size(report: &Report, startup: &StartUp) -> String {
    let who = subject(&report.record.plan, startup.command);
    let mean = match &startup.mean {
        Ok(mean) => *mean,
        Err(absent) => return format!("not measured for {who} ({absent})"),
    };
    let interval = startup.interval.clone().unwrap_or(Interval::EVERYTHING);
    let (unit, scale) = time_unit(mean);
    let shown = time_with(mean, interval);
    let (shown, range) = match shown.split_once(TIE) {
        Some((mean, _)) => (mean.to_owned(), Interval { low: interval.low * scale, high: interval.high * scale }),
        None => (shown, interval),
    };
    format!("{shown}{TIE}{unit} ({}) for {who}", between(range, ""))
}
