//! What the agent tells of itself, as text.

use steady_model::AgentStatus;

use crate::text::Page;
use crate::text::Style;
use crate::words::agent::{sections, sentence};
use crate::words::{cut, width};

/// Longer labels, which services choose, are cut.
const LABEL: usize = 24;

/// The status as text.
pub fn agent_text(status: &AgentStatus, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, 2, &[sentence(status)]);
    for section in sections(status) {
        page.heading(section.heading);
        let labels: Vec<String> = section.items.iter().map(|(label, ..)| cut(label, LABEL)).collect();
        let widest = labels.iter().map(|label| width(label)).max().unwrap_or(0);
        for ((_, paint, text), label) in section.items.iter().zip(labels) {
            page.item(&label, widest, &[(*paint, text.clone())]);
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use steady_model::{
        Absent, AgentClock, AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStore, AgentWriting, Arrived,
        Bytes, RequestRuler, RunningAgent, StoredService, Timestamp,
    };

    use super::*;
    use crate::agent_json;

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
                per_second: RequestRuler::ALL.map(|ruler| (ruler, 12.0)).to_vec(),
                cpu_ratio: 0.0046,
                cpu_limit_ratio: 0.005,
            }),
            clock: AgentClock { steps: 1, last_step_seconds: Some(-3_600.0), ahead_seconds: 3_600.0 },
            writing: AgentWriting {
                trouble: Some("disk full".to_owned()),
                waiting: 3,
                given_up: 9,
                ..AgentWriting::default()
            },
            outside: Some(AgentOutside {
                service: "old".to_owned(),
                version: None,
                readings: 700,
                failures: 2,
                trouble: Some("nobody listens there".to_owned()),
                requests: 81,
            }),
            metrics: Some(AgentMetrics { url: "https://[::]:9464/metrics".to_owned(), scrapes: 1_204, refused: 1 }),
            peak_memory: Ok(Bytes(17 << 20)),
        }
    }

    fn status() -> AgentStatus {
        let stored = StoredService {
            name: "shop".to_owned(),
            versions: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
            first: 1_700_000_000,
            last: 1_700_000_753,
            requests: 12_400,
        };
        let store = AgentStore {
            bytes: Bytes(1 << 20),
            first: Some(1_700_000_000),
            last: Some(1_700_000_753),
            services: vec![stored],
        };
        AgentStatus {
            socket: "/run/steady/agent.sock".to_owned(),
            agent: Ok(running()),
            store_path: Ok("/var/lib/steady/agent.db".to_owned()),
            store: Ok(store),
        }
    }

    #[test]
    fn a_service_is_silent_only_if_it_sends_nothing() {
        let text = |silent_seconds| {
            let mut agent = running();
            agent.services[0] =
                AgentService { name: "shop".to_owned(), versions: vec![], silent_seconds, ..agent.services[0].clone() };
            agent_text(&AgentStatus { agent: Ok(agent), ..status() }, Style { width: 80, color: false })
        };
        assert!(text(44).contains("no requests in the last minute, 8 processes"), "{}", text(44));
        assert!(
            text(150).contains("silent for 2 min 30 s") || text(150).contains("silent for 2.5 min"),
            "{}",
            text(150)
        );
    }

    #[test]
    fn all_that_is_amiss_is_told_and_fits() {
        for width in [60, 80] {
            let text = agent_text(&status(), Style { width, color: false });
            assert!(text.lines().all(|line| line.chars().count() <= width && !line.contains('\u{1b}')), "{text}");
            let flat = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            for part in [
                "running for 13 min: process 77",
                "12,400 in 0 datagrams",
                "1 datagram that does not say who speaks, 2 lines with an unknown letter",
                "v1 and v\\n2, 8 processes, 1 route, 151 requests a second",
                "fewer than the 20",
                "set 1 time, last by -3600 s",
                "nothing can be written: disk full; 3 seconds wait",
                "given up 9 requests",
                "nobody listens there",
                "https://[::]:9464/metrics, 1,204 scrapes answered, 1 request without the token",
                "up to 2023-11-14T22:25:53Z",
                "5 versions, 12,400 requests",
            ] {
                assert!(flat.contains(part), "{part}: {text}");
            }
        }
    }

    #[test]
    fn what_is_absent_has_its_reason() {
        let none = || Absent::because("nobody was asked");
        let status = AgentStatus { agent: Err(none()), store_path: Err(none()), store: Err(none()), ..status() };
        let text = agent_text(&status, Style { width: 80, color: false });
        assert_eq!(text.matches("nobody was asked").count(), 3, "{text}");
        let json = agent_json(&status);
        assert_eq!((&json["running"], &json["agent"]), (&false.into(), &serde_json::Value::Null));
        for name in ["agent_absent", "store_absent", "store_path_absent"] {
            assert_eq!(json[name], "nobody was asked", "{json}");
        }
    }
}
