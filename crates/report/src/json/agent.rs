//! The JSON of what the agent tells of itself.

use serde_json::Value;
use steady_model::{
    AgentClock, AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStatus, AgentStore, AgentWriting, Arrived,
    LineFault, RunningAgent, StoredService, Timestamp,
};

use super::object::Object;
use super::{pretty, started};

/// The name and version of this form.
pub const AGENT_SCHEMA: &str = "steady.agent/1";

/// The status as JSON. A reading that is absent is null, with the reason in `<name>_absent` beside it.
pub fn agent_json(status: &AgentStatus) -> Value {
    let mut top = Object::new();
    top.put("schema", AGENT_SCHEMA);
    top.put("running", status.agent.is_ok());
    top.put("socket", status.socket.as_str());
    match &status.agent {
        Ok(agent) => top.put("agent", running(agent)),
        Err(absent) => top.absent("agent", &absent.0),
    }
    top.text("store_path", &status.store_path);
    match &status.store {
        Ok(found) => top.put("store", store(found)),
        Err(absent) => top.absent("store", &absent.0),
    }
    top.into()
}

/// [`agent_json`] as indented text that ends with a newline.
pub fn agent_json_text(status: &AgentStatus) -> String {
    pretty::indented_but(&agent_json(status), "services")
}

fn running(agent: &RunningAgent) -> Value {
    let mut object = Object::new();
    object.put("pid", agent.pid);
    object.put("since", started(agent.since));
    object.put("running_seconds", agent.seconds);
    object.put("arrived", arrived(&agent.arrived));
    object.put("services", agent.services.iter().map(service).collect::<Value>());
    match &agent.rulers {
        Ok(found) => object.put("rulers", rulers(found)),
        Err(absent) => object.absent("rulers", &absent.0),
    }
    object.put("clock", clock(&agent.clock));
    object.put("writing", writing(&agent.writing));
    match &agent.outside {
        Some(found) => object.put("outside", outside(found)),
        None => object.absent("outside", "nothing is counted from outside"),
    }
    match &agent.metrics {
        Some(found) => object.put("metrics", metrics(found)),
        None => object.absent("metrics", "--listen was not given"),
    }
    object.reading("peak_memory_bytes", &agent.peak_memory.as_ref().map(|bytes| bytes.0 as f64).map_err(Clone::clone));
    object.into()
}

fn arrived(arrived: &Arrived) -> Value {
    let mut object = Object::new();
    object.put("datagrams", arrived.datagrams);
    object.put("requests", arrived.requests);
    let mut faults = Object::new();
    LineFault::ALL.into_iter().for_each(|fault| faults.put(fault.name(), arrived.faults[fault.index()]));
    object.put("faults", Value::from(faults));
    object.put("lost", arrived.lost);
    object.put("folded", arrived.folded);
    object.put("ends_replaced", arrived.ends_replaced);
    object.into()
}

fn service(service: &AgentService) -> Value {
    let mut object = Object::new();
    object.put("name", service.name.as_str());
    object.put("versions", service.versions.clone());
    object.put("routes", service.routes);
    object.put("processes", service.processes);
    object.put("requests_per_second", service.per_second);
    object.put("requests", service.requests);
    object.put("silent_seconds", service.silent_seconds);
    object.into()
}

fn rulers(rulers: &AgentRulers) -> Value {
    let mut object = Object::new();
    let mut rates = Object::new();
    rulers.per_second.iter().for_each(|(ruler, rate)| rates.put(ruler.name(), *rate));
    object.put("readings_per_second", Value::from(rates));
    object.put("cpu_ratio", rulers.cpu_ratio);
    object.put("cpu_limit_ratio", rulers.cpu_limit_ratio);
    object.into()
}

fn clock(clock: &AgentClock) -> Value {
    let mut object = Object::new();
    object.put("steps", clock.steps);
    match clock.last_step_seconds {
        Some(step) => object.put("last_step_seconds", step),
        None => object.absent("last_step_seconds", "it was not set"),
    }
    object.put("ahead_seconds", clock.ahead_seconds);
    object.into()
}

fn writing(writing: &AgentWriting) -> Value {
    let mut object = Object::new();
    object.put("rows", writing.rows);
    object.put("failures", writing.failures);
    object.put("trouble", writing.trouble.clone());
    object.put("waiting", writing.waiting);
    object.put("given_up", writing.given_up);
    object.into()
}

fn outside(outside: &AgentOutside) -> Value {
    let mut object = Object::new();
    object.put("service", outside.service.as_str());
    object.put("version", outside.version.clone());
    object.put("readings", outside.readings);
    object.put("failures", outside.failures);
    object.put("trouble", outside.trouble.clone());
    object.put("requests", outside.requests);
    object.into()
}

fn metrics(metrics: &AgentMetrics) -> Value {
    let mut object = Object::new();
    object.put("url", metrics.url.as_str());
    object.put("scrapes", metrics.scrapes);
    object.put("refused", metrics.refused);
    object.into()
}

fn store(store: &AgentStore) -> Value {
    let mut object = Object::new();
    object.put("size_bytes", store.bytes.0);
    let moment = |object: &mut Object, name: &str, second: Option<u64>| match second {
        Some(second) => object.put(name, started(Timestamp(second))),
        None => object.absent(name, "nothing is kept yet"),
    };
    moment(&mut object, "first", store.first);
    moment(&mut object, "last", store.last);
    object.put("services", store.services.iter().map(stored).collect::<Value>());
    object.into()
}

fn stored(service: &StoredService) -> Value {
    let mut object = Object::new();
    object.put("name", service.name.as_str());
    object.put("versions", service.versions.clone());
    object.put("first", started(Timestamp(service.first)));
    object.put("last", started(Timestamp(service.last)));
    object.put("requests", service.requests);
    object.into()
}
