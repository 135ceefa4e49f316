//! Report of a limited command as a document, and as a line of CSV.

use steady_feature::{Record, Report};
use steady_model::{Facts, Nanos, Outcome};
use steady_render::csv::{self, Row, outcome, seconds};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, origin};
use steady_render::json;
use steady_render::letters::{count, one_line};
use steady_render::units::{TIE, percent, time, time_setting};

use crate::record::{LimitOutcome, LimitRecord, SCHEMA};

impl Report for LimitRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// A limited command has no samples, so the JSON is the same with and without them.
    fn json(&self, _samples: bool) -> String {
        json::text(&SCHEMA, self)
    }
}

impl Record for LimitRecord {
    /// The record is always complete: how the command ended is its result, not an error.
    fn facts(&self) -> Facts {
        let facts = Facts::new(crate::record::KIND, self.started, &self.host, &self.revision, summary(self));
        Facts { commands: vec![self.command.name.clone()], ..facts }
    }
}

/// The report: how the command ended, what it used, and on which host.
fn document(record: &LimitRecord) -> Document {
    let command = vec![Block::Command(one_line(&record.command.name)), Block::Facts(facts(record))];
    // The text comes after the output of the command, so it is short.
    let [_, origin] = origin(record.started, &record.host, &record.revision);
    Document {
        subject: "Steadyhand: a command with limits".to_owned(),
        answer: vec![answer(record)],
        is_brief: true,
        sections: vec![Section::new("The command", command), origin],
    }
}

/// How the command ended. The claim comes first, then what explains it.
fn answer(record: &LimitRecord) -> Sentence {
    let cpu_limit = time_setting(record.cpu_limit_seconds);
    let used = format!("{} of {cpu_limit} of CPU time", amount(record.cpu_seconds));
    let (claim, rest) = match record.outcome {
        LimitOutcome::Ok => {
            let how = match record.ended {
                Outcome::Exited(0) => "The command ended by itself".to_owned(),
                Outcome::Exited(status) => format!("The command ended by itself with status{TIE}{status}"),
                Outcome::Signalled(signal) => format!("Signal{TIE}{signal} ended the command"),
                Outcome::TimedOut => "The command was ended by a timeout".to_owned(),
            };
            (how, format!(" within its limits: {used}."))
        }
        LimitOutcome::CpuLimit => {
            let beyond = match &record.overshoot_seconds {
                Ok(overshoot) => format!(", {} more than the limit of {cpu_limit}", amount(*overshoot)),
                Err(_) => String::new(),
            };
            let used = amount(record.cpu_seconds);
            ("CPU limit reached".to_owned(), format!(": the command used {used} of CPU time{beyond}."))
        }
        LimitOutcome::WallLimit => {
            let limit = time_setting(record.wall_limit_seconds);
            let excluded = match &record.waiting_seconds {
                Ok(_) => "not counting stops and waiting for a CPU",
                Err(_) => "not counting stops",
            };
            let text = format!(
                ": the command ran for {limit}, {excluded}; it used {used}. --wall-factor (here {}) changes this \
                 limit.",
                record.wall_factor
            );
            ("Wall limit reached".to_owned(), text)
        }
    };
    let emphasis = if record.outcome == LimitOutcome::Ok { Emphasis::Same } else { Emphasis::Open };
    let killed = match record.killed {
        true => {
            format!(" It did not end at SIGTERM, and was killed {} later.", time_setting(record.kill_after_seconds))
        }
        false => String::new(),
    };
    vec![(emphasis, claim), (Emphasis::Plain, rest + &killed)]
}

/// Times that the command used, and where they were read.
fn facts(record: &LimitRecord) -> Vec<Fact> {
    let waited = record.waiting_seconds.as_ref().copied().unwrap_or_default();
    let counted = amount(record.wall_seconds - record.stopped_seconds - waited);
    let limit = time_setting(record.wall_limit_seconds);
    let wall = format!("{}, of which {counted} counts towards the limit of {limit}", amount(record.wall_seconds));
    let waiting = match &record.waiting_seconds {
        Ok(waiting) => format!("{} for a CPU; does not count towards the wall limit", amount(*waiting)),
        Err(absent) => format!("not measured: {absent}; the wall limit includes it"),
    };
    let mut facts = vec![
        Fact::new(
            "CPU time",
            format!("{}, read from {} while the command ran", amount(record.cpu_seconds), record.source.name()),
        ),
        Fact::new("wall time", wall),
        Fact::new("waiting", waiting),
    ];
    if record.stopped_seconds > Nanos::ZERO {
        facts.push(Fact::new(
            "stopped",
            format!("{} by job control; does not count towards the wall limit", amount(record.stopped_seconds)),
        ));
    }
    facts.push(Fact::reading("steal", &record.steal_ratio, |ratio| {
        format!("the hypervisor gave {} of the CPUs' time to other guests", percent(*ratio))
    }));
    if record.left_behind > 0 {
        let left = count(record.left_behind as usize, "process", "processes");
        facts.push(Fact::new("left behind", format!("{left}, killed when the command ended")));
    }
    facts.extend(record.passed_over.iter().map(|why| Fact::new("not used", why.as_str())));
    facts
}

/// How the command ended and its CPU time in a few words, for a list: `cpu-limit, 5.01 s` or `exit 7, 4.07 ms`.
pub(crate) fn summary(record: &LimitRecord) -> String {
    let how = match (record.outcome, record.ended) {
        (LimitOutcome::Ok, Outcome::Exited(status)) if status != 0 => format!("exit {status}"),
        (LimitOutcome::Ok, Outcome::Signalled(signal)) => format!("signal {signal}"),
        (outcome, _) => outcome.name().to_owned(),
    };
    format!("{how}, {}", amount(record.cpu_seconds)).replace(TIE, " ")
}

/// The record as a line of names and a line of values, so that the lines of many records can be concatenated.
fn csv(record: &LimitRecord) -> String {
    let row = Row::new()
        .with("name", &record.command.name)
        .with("outcome", record.outcome.name())
        .with("ended", outcome(record.ended))
        .with("cpu_limit_seconds", seconds(record.cpu_limit_seconds))
        .with("wall_factor", record.wall_factor)
        .with("cpu_seconds", seconds(record.cpu_seconds))
        .with("wall_seconds", seconds(record.wall_seconds))
        .with_reading("waiting_seconds", &record.waiting_seconds, |time| seconds(*time))
        .with("stopped_seconds", seconds(record.stopped_seconds))
        .with_reading("overshoot_seconds", &record.overshoot_seconds, |time| seconds(*time))
        .with_reading("steal_ratio", &record.steal_ratio, f64::to_string)
        .with("source", record.source.name())
        .with("left_behind", record.left_behind);
    csv::text(&[row])
}

fn amount(span: Nanos) -> String {
    time(span.seconds())
}
