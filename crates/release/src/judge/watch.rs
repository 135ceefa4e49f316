//! Several looks at a window that grows, with one error for all of them together.
//!
//! Each look that is due gets its own part of the error. Whatever the dependence between looks, the parts add up, so the
//! intervals of all looks hold together, and so does what they have in common.

use crate::record::{ReleaseChange, ReleaseQuestion, ReleaseReport, ReleaseRoute, ReleaseSight};
use steady_model::{Absent, Interval, Reading, ReleaseRows, Verdict};

use super::effect::{Asked, told_change};
use crate::JudgeError;
use crate::judge::{Judged, contradicted, judge_at, narrows_with_traffic, without_load};

/// A look is due whenever the share of the window that is over has grown by this factor.
const GROWTH: f64 = std::f64::consts::SQRT_2;
/// What precision alone may spend: the rest is left for the end.
const MOST_BY_PRECISION: f64 = 0.7;

/// A question that is looked at again and again while its window fills.
#[derive(Clone, Debug)]
pub struct Watch {
    question: ReleaseQuestion,
    /// How much of the error is spent.
    spent: f64,
    /// The share of the window that was over at the last look that was due.
    looked: Option<f64>,
    /// What all looks have in common, as relative changes.
    known: Interval,
    looks: Vec<ReleaseSight>,
    routes: Vec<ReleaseRoute>,
}

impl Watch {
    /// Before the first look.
    pub fn new(question: ReleaseQuestion) -> Watch {
        Watch { question, spent: 0.0, looked: None, known: Interval::EVERYTHING, looks: Vec::new(), routes: Vec::new() }
    }

    /// Looks at all rows so far. `over` is the share of the window that is over, from 0 to 1; at 1 all the error that is left is
    /// spent. A look that comes too soon after the last one spends nothing: its interval is the one that was known, around an
    /// estimate that moves on.
    pub fn look(&mut self, rows: &ReleaseRows, over: f64) -> Result<ReleaseReport, JudgeError> {
        let over = over.clamp(0.0, 1.0);
        let question = self.question_until(rows);
        let left = (1.0 - self.question.confidence - self.spent).max(0.0);
        let at_end = judge_at(&question, rows, left)?;
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
        Ok(self.told(judged))
    }

    /// How much of the error the looks so far have spent.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// The question of the window as far as it has filled.
    fn question_until(&self, rows: &ReleaseRows) -> ReleaseQuestion {
        let last = rows.requests.iter().map(|row| row.second + u64::from(row.span_seconds.max(1))).max();
        let to = last.map_or(self.question.to, |last| last.clamp(self.question.from, self.question.to));
        ReleaseQuestion { to, ..self.question.clone() }
    }

    /// What this look may spend: by time, or by how precise the answer is if that is more. `interval` is the one with all that is
    /// left; only its width counts, so that it is blind to where the effect lies.
    fn spend(&self, over: f64, interval: &Interval, left: f64) -> f64 {
        let precision = (self.question.resolution / 2.0 / interval.half_width()).powi(2);
        if over >= 1.0 || precision >= 1.0 {
            return left;
        }
        let share = over.max(precision.min(MOST_BY_PRECISION));
        ((1.0 - self.question.confidence) * share - self.spent).clamp(0.0, left)
    }

    /// The report with what all looks leave.
    fn told(&mut self, judged: Judged) -> ReleaseReport {
        let report = &judged.report;
        let seen = self.known != Interval::EVERYTHING;
        let told: Reading<(f64, Interval)> = match (&report.total.change, seen) {
            (Ok(change), true) => Ok((change.clamp(self.known.low, self.known.high), self.known)),
            (Ok(_), false) => Err(Absent::because("too little was seen to bound it")),
            (Err(why), _) => Err(why.clone()),
        };
        let asked = Asked { alpha: 0.0, resolution: self.question.resolution, minutes: judged.minutes() };
        let mut total = told_change(told, report.total.raw_change.clone(), report.total.requests, &asked);
        without_load(&mut total, &report.warnings);
        if !narrows_with_traffic(report.design, &report.warnings) {
            total.settle_seconds = Err(ReleaseChange::not_settled());
        }
        if contradicted(&report.warnings, total.verdict) {
            total = ReleaseChange { verdict: Verdict::Undecided, within_resolution: false, ..total };
        }
        let (change, interval) = (total.change.clone().ok(), total.interval().ok());
        self.looks.push(ReleaseSight::new(report.question.to, total.requests, change, interval));
        let routes = if self.question.by_route { self.routes.clone() } else { Vec::new() };
        let saving = judged.saving(&total);
        let (question, looks) = (self.question.clone(), self.looks.clone());
        let settle = judged.report.settle.clone().map_err(|_| total.no_advice());
        ReleaseReport { question, total, routes, saving, looks, settle, ..judged.report }
    }
}
