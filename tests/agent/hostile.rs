//! Invalid and excessive datagrams.

use serde_json::Value;

use crate::metrics::{ANYWHERE, try_ask};
use crate::running::{Agent, request, requests};

/// The limit on the memory of the agent, in bytes.
const MOST_MEMORY: u64 = 100_000_000;

#[test]
fn invalid_datagrams_are_counted_and_valid_ones_are_stored() {
    let agent = Agent::start("garbage", &["--no-rulers"]);
    let sender = agent.sender();
    let long = vec![b'x'; 65_001];
    let good = request(1, "v1", "/", "none");
    let datagrams: [(&[u8], &str); 8] = [
        (b"", "head"),
        (b"\xff\xfe\x00", "head"),
        (b"steady/2\tshop\t1\t1\n", "protocol"),
        (&long, "too-long"),
        (b"steady/1\tshop\t1\t1\nz\t1\n", "letter"),
        (b"steady/1\tshop\t1\t1\nr\t1\n", "fields"),
        (b"steady/1\tshop\t1\t1\nr\t1\t1\t\xff\t/\t200\t1\t1\tnone\n", "text"),
        (b"steady/1\tshop\t1\t1\nr\t1\t1\tv\t/\t200\t1\t1\tslot\tslot=0:0\n", "slot"),
    ];
    for (datagram, _) in datagrams {
        sender.send(datagram).unwrap();
        sender.send(format!("steady/1\tshop\t7\t1\n{good}").as_bytes()).unwrap();
    }
    let status = agent.status_after_requests(8);
    let faults = &status["agent"]["arrived"]["faults"];
    for (_, kind) in datagrams {
        assert!(faults[kind].as_u64() >= Some(1), "{kind}: {faults}");
    }
    assert_eq!(faults["head"], Value::from(2));
    let (_, text, _) = agent.steady(&["agent", "status"]);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for fault in ["1 line with an unknown first letter", "2 datagrams with an invalid first line"] {
        assert!(flat.contains(fault), "{text}");
    }
}

#[test]
fn names_with_any_characters_are_stored_and_shown_on_one_line() {
    let agent = Agent::start("texts", &["--no-rulers"]);
    let (version, route) = ("v\"2'\n\u{1f40c}\u{202e}\u{1b}[31m", "/'; DROP TABLE blocks; --\t\\\r\u{0}");
    let written =
        |text: &str| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
    requests(&agent.sender(), 3, |number| request(number, &written(version), &written(route), "none"));
    let status = agent.status_after_requests(3);
    assert_eq!(status["agent"]["services"][0]["versions"][0], version);
    assert_eq!(status["store"]["services"][0]["versions"][0], version);
    let (_, text, _) = agent.steady(&["agent", "status"]);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && text.contains("v\"2'\\n"), "{text}");
    let rows = agent.end();
    assert_eq!((rows.versions, rows.routes), (vec![version.to_owned()], vec![route.to_owned()]));
}

#[test]
fn memory_is_bounded_under_a_flood_of_distinct_names() {
    let agent = Agent::start("cardinality", &["--no-rulers", "--store-limit", "8MB", "--listen", ANYWHERE]);
    let sender = agent.sender();
    let now = steady_linux::clock::monotonic().0;
    let mut number = 0_u64;
    for flood in 0..1_500_u64 {
        // Names of services, processes, versions and routes differ, and have the maximum length.
        let service = format!("{:0>480}", flood % 60);
        let mut datagram = format!("steady/1\t{service}\t{flood}\t{flood}\n");
        while datagram.len() < 63_000 {
            number += 1;
            let (version, route) = (format!("{:0>450}", number % 40), format!("{:0>490}", number));
            let end = now - number % 40_000 * 1_000_000_000 % now;
            datagram += &format!(
                "r\t{end}\t{}\t{version}\t{route}\t200\t{number}\t{number}\tnone\truler=alu:{number}\n",
                151 + flood
            );
        }
        sender.send(datagram.as_bytes()).unwrap();
    }
    // Short lines give the largest number of rows.
    for flood in 0..1_500_u64 {
        let mut datagram = format!("steady/1\tshop\t{flood}\t1\n");
        for line in 0..700 {
            let end = now - (flood * 700 + line) % 86_000 * 1_000_000 % now;
            datagram +=
                &format!("r\t{end}\t{}\tv{}\t/{}\t200\t{}\t9\tnone\n", 151 + line, line % 20, line % 190, 1_000 + line);
        }
        sender.send(datagram.as_bytes()).unwrap();
    }
    agent.await_status(|status| {
        let requests = status["agent"]["arrived"]["datagrams"].as_u64()?;
        (requests >= 3_000 && status["agent"]["writing"]["waiting"].as_u64()? <= 1).then_some(())
    });
    // Half the limit is less than the length of the metrics page.
    let all = || try_ask(&agent, "GET /metrics", "");
    let (_, page) =
        (0..10).find_map(|_| all()).expect("one of ten attempts gets the whole page within its ten seconds");
    assert!(page.len() as u64 > MOST_MEMORY / 2, "{} bytes", page.len());
    let status =
        agent.await_status(|status| (status["agent"]["metrics"]["scrapes"].as_u64()? >= 1).then(|| status.clone()));
    let memory = status["agent"]["peak_memory_bytes"].as_f64().unwrap() as u64;
    assert!(memory < MOST_MEMORY, "{memory} bytes");
    assert!(status["agent"]["arrived"]["folded"].as_u64() > Some(1_000), "{status}");
    // The size contains the journal, which has about 1,000 pages before it is written back (sqlite.org/wal.html).
    assert!(status["store"]["size_bytes"].as_u64() < Some(12_000_000 + 1_000 * 4_096), "{status}");
}
