//! Repeated looks at a growing window, with one error rate for all of them together.
//!
//! Each look that is due spends a part of the error rate. The parts add up however the looks depend on each other
//! (Bonferroni). So all intervals hold together with the confidence of the question, and so does their intersection.

use crate::record::{ReleaseChange, ReleaseQuestion, ReleaseReport, ReleaseRoute, ReleaseSight};
use steady_model::{Absent, Interval, Reading, ReleaseRows, Verdict};

use super::effect::{Criteria, release_change};
use crate::JudgeError;
use crate::judge::{Judged, judge_at, narrows_with_traffic, without_contradiction, without_load};

/// A look is due when the elapsed share of the window has grown by this factor since the last one.
const GROWTH: f64 = std::f64::consts::SQRT_2;
/// Largest share of the error rate that may be spent because of precision. The rest is for the end of the window.
const MOST_BY_PRECISION: f64 = 0.7;

/// A comparison that is repeated while its window fills.
#[derive(Clone, Debug)]
pub struct RepeatedComparison {
    question: ReleaseQuestion,
    /// Part of the error rate that is spent.
    spent: f64,
    /// Elapsed share of the window at the last look that was due.
    looked: Option<f64>,
    /// Intersection of the intervals of all looks, as relative changes.
    known: Interval,
    looks: Vec<ReleaseSight>,
    routes: Vec<ReleaseRoute>,
}

impl RepeatedComparison {
    /// Creates a watch without looks.
    pub fn new(question: ReleaseQuestion) -> RepeatedComparison {
        RepeatedComparison {
            question,
            spent: 0.0,
            looked: None,
            known: Interval::EVERYTHING,
            looks: Vec::new(),
            routes: Vec::new(),
        }
    }

    /// Evaluates all rows so far, which are known up to the second `until` (excluded). `over` is the elapsed share of
    /// the window, from 0 to 1. At 1, the look spends all of the remaining error rate.
    ///
    /// A look that comes too soon after the last one spends nothing: it reports a new estimate with the last interval.
    pub fn look(&mut self, rows: &ReleaseRows, until: u64, over: f64) -> Result<ReleaseReport, JudgeError> {
        let over = over.clamp(0.0, 1.0);
        let question = self.question_until(rows, until);
        /// What rounding may leave of the error rate.
        const ROUNDED: f64 = 1e-9;
        let all = 1.0 - self.question.confidence;
        let left = Some(all - self.spent).filter(|left| *left > ROUNDED * all).unwrap_or(0.0);
        // Once all is spent, the total keeps its interval. The other parts of the report are those of one look.
        let at_end = judge_at(&question, rows, if left > 0.0 { left } else { all })?;
        let due = over >= 1.0 || self.looked.is_none_or(|looked| over >= GROWTH * looked);
        let (judged, spend) = match at_end.report.total.interval() {
            Ok(interval) if due && left > 0.0 => {
                let spend = self.spend(over, &interval, left);
                let judged = if spend < left { judge_at(&question, rows, spend)? } else { at_end.clone() };
                (judged, spend)
            }
            _ => (at_end, 0.0),
        };
        if spend > 0.0 {
            self.looked = Some(over);
            self.spent += spend;
            self.routes.clone_from(&judged.report.routes);
            if let Ok(interval) = judged.report.total.interval() {
                self.known = self.known.intersection(&interval).unwrap_or(interval);
            }
        }
        Ok(self.report(judged))
    }

    /// Returns the part of the error rate that the looks so far have spent.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Returns the question with the window up to the second `until`, or up to the last row if that is later.
    fn question_until(&self, rows: &ReleaseRows, until: u64) -> ReleaseQuestion {
        let to = last_end(rows).unwrap_or(0).max(until).clamp(self.question.from, self.question.to);
        ReleaseQuestion { to, ..self.question.clone() }
    }

    /// Returns the part of the error rate that this look may spend, by elapsed time or by precision, whichever is more.
    ///
    /// `interval` is the interval at the remaining error rate. Only its width counts, so the choice does not depend on
    /// the effect.
    fn spend(&self, over: f64, interval: &Interval, left: f64) -> f64 {
        let precision = (self.question.resolution / 2.0 / interval.half_width()).powi(2);
        if over >= 1.0 || precision >= 1.0 {
            return left;
        }
        let share = over.max(precision.min(MOST_BY_PRECISION));
        ((1.0 - self.question.confidence) * share - self.spent).clamp(0.0, left)
    }

    /// Replaces the total of a report by the one with the intersection of all intervals, and records the look.
    fn report(&mut self, judged: Judged) -> ReleaseReport {
        let report = &judged.report;
        let is_known = self.known != Interval::EVERYTHING;
        let estimate: Reading<(f64, Interval)> = match (&report.total.change, is_known) {
            (Ok(change), true) => Ok((change.clamp(self.known.low, self.known.high), self.known)),
            (Ok(_), false) => Err(Absent::because("there are too few data for an interval")),
            (Err(why), _) => Err(why.clone()),
        };
        let resolution = self.question.resolution;
        let minutes = report.traffic_seconds.as_ref().map_or(0.0, |seconds| seconds / 60.0);
        let is_refused = !report.refused.is_empty();
        let narrows_with_traffic = narrows_with_traffic(report.design, &report.warnings);
        let criteria = Criteria { alpha: 0.0, resolution, minutes, is_refused, narrows_with_traffic };
        let mut total = release_change(estimate, report.total.raw_change.clone(), report.total.requests, &criteria);
        without_load(&mut total, &report.warnings);
        without_contradiction(&mut total, &report.warnings);
        // The forecast is that of this look: the intersection of all intervals is narrower than the traffic explains.
        if total.verdict == Verdict::Undecided {
            let forecast = report.total.settle_seconds.clone();
            total.settle_seconds = forecast.map_err(|_| ReleaseChange::not_settled(total.verdict, is_refused));
        }
        let (change, interval) = (total.change.clone().ok(), total.interval().ok());
        let sight = ReleaseSight::new(report.question.to, total.requests, change, interval);
        // Without new rows, a look is the same as the one before.
        if self.looks.last() != Some(&sight) {
            self.looks.push(sight);
        }
        let routes = if self.question.by_route { self.routes.clone() } else { Vec::new() };
        let saving = judged.saving(&total);
        let (question, looks) = (self.question.clone(), self.looks.clone());
        let is_open = total.verdict == Verdict::Undecided;
        let settle = judged.report.settle.clone().ok().filter(|_| is_open).ok_or_else(|| total.no_advice());
        ReleaseReport { question, total, routes, saving, looks, settle, ..judged.report }
    }
}

/// Returns the end of the last row of requests (excluded), in seconds since 1970.
pub(crate) fn last_end(rows: &ReleaseRows) -> Option<u64> {
    rows.requests.iter().map(|row| row.second + u64::from(row.span_seconds.max(1))).max()
}
