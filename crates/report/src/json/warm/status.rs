//! The JSON of what is kept of programs.

use serde_json::Value;
use steady_model::{KeptProgram, LaunchOutcome, Reading, Timestamp, WarmReport, WarmState, WarmStore};

use super::WARM_SCHEMA;
use crate::json::object::Object;
use crate::json::{pretty, started};

/// What is kept of programs as JSON. A reading that is absent is null, with the reason in `<name>_absent` beside it.
pub fn warm_status_json(report: &WarmReport) -> Value {
    let mut top = Object::new();
    top.put("schema", WARM_SCHEMA);
    top.put("kind", report.question.name());
    top.put("now", started(report.now));
    match &report.store {
        Ok(found) => top.put("store", store(found)),
        Err(absent) => top.absent("store", &absent.0),
    }
    top.put("programs", report.programs.iter().map(program).collect::<Value>());
    top.into()
}

/// [`warm_status_json`] as indented text that ends with a newline.
pub fn warm_status_json_text(report: &WarmReport) -> String {
    pretty::indented_but(&warm_status_json(report), "programs")
}

fn store(store: &WarmStore) -> Value {
    let mut object = Object::new();
    object.put("folder", store.folder.display().to_string());
    object.put("size_bytes", store.size.0);
    object.put("limit_bytes", store.limit.0);
    object.put("keeper", store.keeper);
    object.put("wanted", store.wanted);
    match &store.launches {
        Ok(launches) => object.put("launches", numbers(launches)),
        Err(absent) => object.absent("launches", &absent.0),
    }
    object.time("taking_cpu_seconds", &store.cpu);
    object.put("trouble", store.trouble.clone());
    object.into()
}

fn numbers(launches: &[(LaunchOutcome, u64)]) -> Value {
    let mut object = Object::new();
    launches.iter().for_each(|(outcome, number)| object.put(outcome.name(), *number));
    object.into()
}

fn program(program: &KeptProgram) -> Value {
    let mut object = Object::new();
    object.put("program", program.program.as_str());
    object.put("state", program.state.name());
    match &program.state {
        WarmState::Stale(why) | WarmState::Refused(why) => object.put("reason", why.as_str()),
        WarmState::Script { interpreter, argument } => {
            object.put("interpreter", interpreter.as_str());
            object.put("argument", argument.clone());
        }
        WarmState::Warm | WarmState::Unknown => {}
    }
    object.put("copies", program.copies);
    object.put("size_bytes", program.size.0);
    count(&mut object, "warm_launches", &program.warm_launches);
    count(&mut object, "usual_launches", &program.usual_launches);
    moment(&mut object, "taken", &program.taken);
    object.put("hook_inside", program.hook_inside);
    if let Some(against) = &program.against {
        object.put("would_be_warm", against.is_empty());
        object.put("against", against.iter().map(|why| Value::from(why.as_str())).collect::<Value>());
    }
    object.into()
}

fn count(object: &mut Object, name: &str, reading: &Reading<u64>) {
    match reading {
        Ok(number) => object.put(name, *number),
        Err(absent) => object.absent(name, &absent.0),
    }
}

fn moment(object: &mut Object, name: &str, reading: &Reading<Timestamp>) {
    object.text(name, &reading.clone().map(started));
}
