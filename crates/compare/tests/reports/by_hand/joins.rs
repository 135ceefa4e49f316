//! Joined comparisons built by hand.

use steady_model::*;

use crate::by_hand::comparisons::{slower, three, too_few, undecided};

/// A join of these reports, each from another host, with these joint verdicts.
fn join(reports: Vec<Report>, judgements: Vec<Judgement>, homogeneity: Vec<Reading<Homogeneity>>) -> Joined {
    let source = |(mut report, number): (Report, u64)| {
        report.record.host.hostname = Ok(format!("runner-{number}"));
        report.record.started = Timestamp(report.record.started.0 + 61 * number);
        report.record.plan.seed = Seed(number);
        Source { name: format!("results/part-{number}.json"), report }
    };
    let agreement = |(homogeneity, command)| Agreement { command, homogeneity };
    let own = || Err(Absent::because("each source has its own"));
    let judgements = judgements.into_iter().map(|judgement| Judgement { widening: own(), ..judgement }).collect();
    Joined {
        sources: reports.into_iter().zip(1..).map(source).collect(),
        judgements,
        agreements: homogeneity.into_iter().zip(1..).map(agreement).collect(),
    }
}

fn found(agrees: bool, q: f64, p_value: f64, outlying: Vec<usize>) -> Reading<Homogeneity> {
    let i_squared = (1.0 - 2.0 / q).max(0.0);
    Ok(Homogeneity { agrees, q, degrees_of_freedom: 2, p_value, i_squared, outlying })
}

/// An undecided report with this change, and an interval of this half-width.
fn sized(change: f64, off: f64) -> Report {
    let mut report = undecided();
    let interval = Interval { low: change - off, high: change + off };
    let judgement = &mut report.judgements[0];
    judgement.change = Ok(change);
    judgement.interval = Ok(interval);
    judgement.verdict_interval = Ok(interval);
    report
}

fn agreeing() -> Joined {
    let mut judgements = slower().judgements;
    judgements[0].pairs = 192;
    let mut interrupted = slower();
    interrupted.warnings.push(Warning::Interrupted);
    interrupted.record.revision = Ok("fedcba987654".into());
    join(vec![slower(), interrupted, slower()], judgements, vec![found(true, 1.4, 0.497, vec![])])
}

fn differing() -> Joined {
    let reports = vec![sized(0.004, 0.02), sized(0.007, 0.018), sized(0.052, 0.019)];
    let mut judgements = sized(0.016, 0.019).judgements;
    judgements[0].effort_to_settle = Ok(2.3);
    join(reports, judgements, vec![found(false, 19.6, 5.5e-5, vec![2])])
}

fn several() -> Joined {
    let absent = || Err(Absent::because("fewer than two sources have enough pairs for the test"));
    join(vec![three(), three()], three().judgements, vec![found(false, 11.2, 0.0037, vec![0, 1]), absent()])
}

fn nothing() -> Joined {
    let absent = || Err(Absent::because("fewer than two sources have enough pairs for the test"));
    join(vec![too_few(), too_few()], too_few().judgements, vec![absent()])
}

/// Every join and the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, Joined)> {
    vec![
        ("joined-agree", agreeing()),
        ("joined-differ", differing()),
        ("joined-three", several()),
        ("joined-too-few", nothing()),
    ]
}
