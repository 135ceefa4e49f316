//! The JSON of what keeping programs warm gains.

use serde_json::{Value, json as literal};
use steady_model::{
    BreakEven, Command, PaidBack, Reading, WarmBenchPlan, WarmBenchReport, WarmEffect, WarmFigures, WarmMeasure,
    WarmProgram, WarmTrial,
};

use super::wire::TrialWire;
use super::{BENCH, WARM_SCHEMA};
use crate::json::object::Object;
use crate::json::wire::{HostWire, Seconds, started, to_value};
use crate::json::{commands, pretty};

/// The report as JSON, with every session where `samples` says so: only then can it be read back.
pub fn warm_bench_json(report: &WarmBenchReport, samples: bool) -> Value {
    let record = &report.record;
    let mut top = Object::new();
    top.put("schema", WARM_SCHEMA);
    top.put("kind", BENCH);
    top.put("seed", record.plan.seed.to_string());
    top.put("started", started(record.started));
    top.put("elapsed_seconds", Seconds(record.elapsed).as_f64());
    top.put("host", to_value(&HostWire::from(&record.host)));
    top.text("revision", &record.revision);
    match &record.counters {
        Ok(scope) => top.put("counters", to_value(scope)),
        Err(absent) => top.absent("counters", &absent.0),
    }
    let all = record.plan.programs.iter().zip(&report.programs).zip(&record.trials);
    let programs = all.map(|((command, program), trial)| one(command, program, samples.then_some(trial)));
    top.put("programs", programs.collect::<Value>());
    top.put("confidence", 0.95);
    top.put("ending", to_value(&record.ending));
    top.put("plan", plan(&record.plan));
    top.into()
}

/// [`warm_bench_json`] as indented text that ends with a newline; every session stays on one line.
pub fn warm_bench_json_text(report: &WarmBenchReport, samples: bool) -> String {
    pretty::indented_but(&warm_bench_json(report, samples), "sessions")
}

/// The plan, less the programs and the seed: those stand at the top.
fn plan(plan: &WarmBenchPlan) -> Value {
    literal!({
        "count": plan.count,
        "runs": plan.runs,
        "pause_seconds": Seconds(plan.pause).as_f64(),
        "cold": plan.cold,
        "timeout_seconds": Seconds(plan.timeout).as_f64(),
    })
}

fn one(command: &Command, program: &Reading<WarmProgram>, trial: Option<&Reading<WarmTrial>>) -> Value {
    let mut object = commands::described(command);
    match program {
        Ok(program) => {
            object.put("modes", program.modes.iter().map(mode).collect::<Value>());
            object.put("notes", program.notes.clone());
        }
        Err(absent) => object.absent("modes", &absent.0),
    }
    match trial {
        Some(Ok(trial)) => object.put("samples", to_value(&TrialWire::from(trial))),
        Some(Err(absent)) => object.absent("samples", &absent.0),
        None => {}
    }
    object.into()
}

fn mode(figures: &WarmFigures) -> Value {
    let mut object = Object::new();
    object.put("mode", figures.mode.name());
    object.reading("warm_ratio", &figures.warm_ratio);
    for (measure, mean) in &figures.means {
        let name = measure.name();
        object.reading(name, &mean.as_ref().map(|mean| mean.mean).map_err(Clone::clone));
        let deviation = mean.as_ref().ok().and_then(|mean| mean.deviation);
        object.put(&format!("{}_deviation{}", base(*measure), unit(*measure)), deviation);
        object.put(&format!("{}_sessions", base(*measure)), mean.as_ref().map_or(0, |mean| mean.sessions));
    }
    object.put("verdicts", figures.effects.iter().map(effect).collect::<Value>());
    match &figures.break_even {
        Ok([wall, cpu]) => object.put("break_even", literal!({ "wall": even(wall), "cpu": even(cpu) })),
        Err(absent) => object.absent("break_even", &absent.0),
    }
    let course = |at: usize| figures.course.iter().map(|launch| launch[at]).collect::<Vec<f64>>();
    object.put("launch_wall_seconds", course(0));
    object.put("launch_cpu_seconds", course(1));
    object.into()
}

fn base(measure: WarmMeasure) -> &'static str {
    measure.name().trim_end_matches("_seconds")
}

fn unit(measure: WarmMeasure) -> &'static str {
    if measure.is_time() { "_seconds" } else { "" }
}

fn effect(effect: &WarmEffect) -> Value {
    let mut object = Object::new();
    object.put("metric", base(effect.measure));
    object.put("verdict", effect.verdict.name());
    object.reading("change", &effect.change);
    object.interval("low", "high", &effect.interval);
    object.into()
}

fn even(one: &BreakEven) -> Value {
    let mut object = Object::new();
    object.number("taking_seconds", one.taking, "not a number");
    let (launches, extrapolated) = match one.paid_back {
        PaidBack::After(launches) => (Some(launches), false),
        PaidBack::Probably(launches) => (Some(launches), true),
        PaidBack::Never => (None, false),
    };
    match launches {
        Some(launches) => object.put("launches", launches),
        None => object.absent("launches", "later launches are no cheaper"),
    }
    object.put("extrapolated", extrapolated);
    match one.certain {
        Some(launches) => object.put("certain_launches", launches),
        None => object.absent("certain_launches", "not within the launches that were measured"),
    }
    object.into()
}
