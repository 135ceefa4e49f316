//! The reports of the status of an agent, in all formats.

use steady_agent::{
    AgentClock, AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStatus, AgentStore, AgentWriting, Arrived,
    RunningAgent, SCHEMA, StoredService,
};
use steady_feature::Report;
use steady_feature::flags::Form;
use steady_model::{Absent, Bytes, RequestRuler, Timestamp};
use steady_render::Style;
use steady_render::json::description;
use steady_testing::goldens;

fn text(status: &AgentStatus, width: usize) -> String {
    status.text(Style { width, color: false })
}

fn running() -> RunningAgent {
    RunningAgent {
        pid: 77,
        since: Timestamp(1_700_000_000),
        seconds: 754,
        store: "/var/lib/steady/agent.db".to_owned(),
        arrived: Arrived {
            requests: 12_400,
            faults: [0, 1, 0, 2, 0, 0, 0, 0, 0, 0],
            lost: 5,
            folded: 37,
            left_out: 20,
            ..Arrived::default()
        },
        services: vec![AgentService {
            name: "shop\u{1b}[31m".to_owned() + &"x".repeat(90),
            versions: vec!["v1".to_owned(), "v\n2".to_owned()],
            routes: 1,
            processes: 8,
            per_second: 151.3,
            requests: 12_400,
            silent_seconds: 0,
        }],
        rulers: Ok(AgentRulers {
            per_second: RequestRuler::ALL.map(|ruler| (ruler, 4.0)).to_vec(),
            cpu_ratio: 0.0046,
            cpu_limit_ratio: 0.005,
        }),
        clock: AgentClock { steps: 1, last_step_seconds: Ok(-3_600.0), ahead_seconds: 3_600.0 },
        writing: AgentWriting {
            trouble: Some("disk full".to_owned()),
            waiting: 3,
            given_up: 9,
            ..AgentWriting::default()
        },
        outside: Ok(AgentOutside {
            service: "old".to_owned(),
            version: None,
            readings: 700,
            failures: 2,
            trouble: Some("no server listens there".to_owned()),
            requests: 81,
        }),
        metrics: Ok(AgentMetrics { url: "https://[::]:9464/metrics".to_owned(), scrapes: 1_204, refused: 1 }),
        peak_memory: Ok(Bytes(17 << 20)),
    }
}

fn status() -> AgentStatus {
    let stored = StoredService {
        name: "shop".to_owned(),
        versions: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
        first: Timestamp(1_700_000_000),
        last: Timestamp(1_700_000_753),
        requests: 12_400,
    };
    let store = AgentStore {
        bytes: Bytes(1 << 20),
        first: Ok(Timestamp(1_700_000_000)),
        last: Ok(Timestamp(1_700_000_753)),
        services: vec![stored],
    };
    AgentStatus {
        running: true,
        running_known: true,
        socket: "/run/steady/agent.sock".to_owned(),
        agent: Ok(running()),
        store_path: Ok("/var/lib/steady/agent.db".to_owned()),
        store: Ok(store),
    }
}

#[test]
fn the_schema_is_as_recorded() {
    goldens::check_schema(&SCHEMA, description::<AgentStatus>(&SCHEMA));
}

#[test]
fn a_service_is_silent_only_if_it_sends_nothing() {
    let text = |silent_seconds| {
        let mut agent = running();
        agent.services[0] =
            AgentService { name: "shop".to_owned(), versions: vec![], silent_seconds, ..agent.services[0].clone() };
        self::text(&AgentStatus { agent: Ok(agent), ..status() }, 80)
    };
    assert!(text(44).contains("no requests in the last minute, 8 processes"), "{}", text(44));
    assert!(text(150).replace('\u{a0}', " ").contains("silent for 2.5 min, 12,400 in total"), "{}", text(150));
    assert!(text(44).contains("Services in the last minute") && !text(44).contains("Silent services"), "{}", text(44));
    assert!(text(150).contains("Silent services") && !text(150).contains("in the last minute"), "{}", text(150));
}

#[test]
fn all_problems_are_reported_within_the_width() {
    for width in [60, 80] {
        let text = text(&status(), width);
        assert!(text.lines().all(|line| line.chars().count() <= width && !line.contains('\u{1b}')), "{text}");
        let flat = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "running for 13 min: process 77",
            "12,400 in 0 datagrams",
            "37 of these requests: 20 of further services or versions (left out), 17 of further routes or classes",
            "1 datagram with an invalid first line, 2 lines with an unknown first letter",
            "v1 and v\\n2, 8 processes, 1 route, 151 requests per second, 12,400 in total",
            "one version after the other need 20 of all rulers together, from the agent or from the workers",
            "set 1 time, last by -3600 s",
            "rows cannot be written: disk full; 3 seconds wait",
            "given up 9 requests",
            "no server listens there",
            "https://[::]:9464/metrics, 1,204 scrapes answered, 1 request without the token",
            "until 2023-11-14T22:25:53Z",
            "5 versions, 12,400 requests",
        ] {
            assert!(flat.contains(part), "{part}: {text}");
        }
    }
}

/// The rule of `release compare` is about the readings of all rulers together.
#[test]
fn fewer_than_twenty_readings_of_each_ruler_are_enough_if_all_have_twenty() {
    let mut agent = running();
    agent.rulers.as_mut().unwrap().per_second = RequestRuler::ALL.map(|ruler| (ruler, 13.0)).to_vec();
    let text =
        |agent: &RunningAgent| text(&AgentStatus { agent: Ok(agent.clone()), ..status() }, 80).replace('\u{a0}', " ");
    let shown = text(&agent);
    assert!(shown.contains("13 readings") && !shown.contains("one version after"), "{shown}");
    agent.rulers.as_mut().unwrap().per_second = RequestRuler::ALL.map(|ruler| (ruler, 1.0)).to_vec();
    assert!(text(&agent).contains("1 reading of each per second"), "{}", text(&agent));
}

#[test]
fn a_status_without_an_agent_says_how_to_start_one() {
    let none = AgentStatus { running: false, agent: Err(Absent::because("there is no socket")), ..status() };
    assert!(text(&none, 1000).contains("Start one with 'steady agent'"), "{}", text(&none, 1000));
}

#[test]
fn unavailable_values_have_a_reason() {
    let none = || Absent::because("no agent runs");
    let status =
        AgentStatus { running: false, agent: Err(none()), store_path: Err(none()), store: Err(none()), ..status() };
    let text = text(&status, 80);
    assert_eq!(text.matches("no agent runs").count(), 3, "{text}");
    let json: serde_json::Value = serde_json::from_str(&status.json(false)).unwrap();
    assert_eq!((&json["running"], &json["agent"]), (&false.into(), &serde_json::Value::Null));
    for name in ["agent_absent", "store_absent", "store_path_absent"] {
        assert_eq!(json[name], "no agent runs", "{json}");
    }
}

#[test]
fn an_agent_whose_status_is_not_known_is_not_reported_as_missing() {
    let why = || Absent::because("permission denied (owner: user 1000)");
    let first = |running, running_known| {
        let status = AgentStatus { running, running_known, agent: Err(why()), ..status() };
        text(&status, 200).lines().next().unwrap_or_default().to_owned()
    };
    let reason = "at '/run/steady/agent.sock': permission denied (owner: user 1000).";
    assert!(first(false, false).ends_with(&format!("It is not known whether an agent runs {reason}")));
    assert!(first(false, true).contains(&format!("No agent runs {reason} Start one")));
    let removed = AgentStatus { running: false, ..status() };
    let text = removed.text(Style { width: 1_000, color: false });
    assert!(text.starts_with("The agent still runs (process") && text.contains("Stop it with 'kill "), "{text}");
    assert!(first(true, true).contains("An agent listens at"), "{}", first(true, true));
}

/// The agent writes this JSON to its status file, and `steady agent status` reads it.
#[test]
fn the_status_file_is_read_back() {
    let absent = || Absent::because("not measured");
    let less = RunningAgent {
        outside: Err(absent()),
        metrics: Err(absent()),
        rulers: Err(absent()),
        peak_memory: Err(absent()),
        ..running()
    };
    for agent in [running(), less] {
        let text = serde_json::to_string(&agent).unwrap();
        assert_eq!(serde_json::from_str::<RunningAgent>(&text).unwrap(), agent, "{text}");
    }
}

#[test]
fn the_json_has_units_in_names_and_reasons_for_unavailable_values() {
    let running = RunningAgent { metrics: Err(Absent::because("--listen was not given")), ..running() };
    let status = AgentStatus { agent: Ok(running), ..status() };
    let json: serde_json::Value = serde_json::from_str(&status.json(false)).unwrap();
    let agent = &json["agent"];
    assert_eq!((&json["schema"], &json["running"]), (&"steady.agent/1".into(), &true.into()));
    assert_eq!((&agent["since"], &agent["running_seconds"]), (&"2023-11-14T22:13:20Z".into(), &754.into()));
    assert_eq!((&agent["arrived"]["faults"]["head"], &agent["arrived"]["faults"]["name"]), (&1.into(), &0.into()));
    assert_eq!(
        (&agent["rulers"]["readings_per_second"]["alu"], &agent["peak_memory_bytes"]),
        (&4.0.into(), &(17 << 20).into())
    );
    assert_eq!(
        (&agent["metrics"], &agent["metrics_absent"]),
        (&serde_json::Value::Null, &"--listen was not given".into())
    );
    assert_eq!(
        (&json["store"]["size_bytes"], &json["store"]["last"]),
        (&(1 << 20).into(), &"2023-11-14T22:25:53Z".into())
    );
}

#[test]
fn every_format_has_the_report() {
    let status = status();
    assert!(
        status.csv().starts_with("service,versions,routes,processes,requests_per_second,requests,silent_seconds\n")
    );
    let style = Style { width: 80, color: false };
    for form in [Form::Markdown, Form::Html] {
        assert!(status.rendered(form, style, false).contains("12,400 in 0 datagrams"));
    }
}
