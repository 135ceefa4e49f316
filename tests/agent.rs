//! `steady agent` as a process: it stores what services send, also through kills, full disks and changes of the clock.

#[path = "steady/mod.rs"]
mod steady;

#[path = "agent/faults.rs"]
mod faults;
#[path = "agent/hostile.rs"]
mod hostile;
#[path = "agent/metrics.rs"]
mod metrics;
#[path = "agent/outside.rs"]
mod outside;
#[path = "agent/running.rs"]
mod running;

use std::fs;

use running::{Agent, request, requests};
use serde_json::Value;

#[test]
fn requests_are_stored_and_appear_in_the_status() {
    let mut agent = Agent::start("kept", &[]);
    let sender = agent.sender();
    requests(&sender, 500, |number| request(number, "v1", "/item/<id>", "random\truler=syscall:31000"));
    let status = agent.status_after_requests(500);
    let service = &status["agent"]["services"][0];
    assert_eq!(
        (service["name"].as_str(), service["routes"].as_u64(), service["processes"].as_u64()),
        (Some("shop"), Some(1), Some(1))
    );
    assert_eq!(service["versions"], Value::from(vec!["v1"]));
    assert_eq!(
        status["agent"]["arrived"]["faults"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(),
        0
    );
    let (_, text, _) = agent.steady(&["agent", "status"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("shop") && text.contains("500 in total"), "{text}");
    agent.stop();
    assert_eq!(fs::read_dir(agent.folder.join("s")).unwrap().count(), 0, "files are left next to the agent's socket");
    let rows = running::rows(&agent.store());
    let sum = |of: fn(&steady_model::RequestSums) -> u64| rows.requests.iter().map(|row| of(&row.sums)).sum::<u64>();
    assert_eq!((sum(|sums| sums.requests), sum(|sums| sums.first_requests)), (350, 150));
    assert_eq!(rows.rulers.iter().filter(|row| row.process != 0).map(|row| row.sums.readings).sum::<u64>(), 350);
}

/// The datagram of docs/protocol.md, and its command that sends one.
#[test]
fn the_examples_of_the_protocol_are_accepted() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md")).unwrap();
    let block = |first: &str| {
        let lines = page.lines().skip_while(|line| !line.starts_with(first));
        lines.map_while(|line| line.strip_prefix("    ")).fold(String::new(), |text, line| text + line + "\n")
    };
    let agent = Agent::start("protocol", &["--no-rulers"]);
    agent.sender().send(block("    steady/1\tshop").as_bytes()).unwrap();
    let command = block("    python3 -c");
    let sent = std::process::Command::new("sh")
        .args(["-c", &command])
        .env("STEADY_SOCKET", agent.folder.join("s/agent.sock"))
        .status();
    assert!(sent.unwrap().success(), "{command}");
    let status = agent.status_after_requests(2);
    let services = status["agent"]["services"].as_array().unwrap();
    let names: Vec<_> = services.iter().map(|service| (&service["name"], &service["versions"])).collect();
    let [v1, v2] = ["v1", "v2"].map(|version| Value::from(vec![version]));
    assert_eq!(names, [(&Value::from("hello"), &v1), (&Value::from("shop"), &v2)]);
}

#[test]
fn only_the_user_and_the_group_can_use_the_socket() {
    use std::os::unix::fs::MetadataExt;
    let agent = Agent::start("private", &[]);
    let facts = |name: &str| fs::metadata(agent.folder.join(name)).unwrap();
    assert_eq!((facts("s").mode() & 0o777, facts("s/agent.sock").mode() & 0o777), (0o700, 0o660));
    drop(agent);
    let (status, _, error) = steady::run(&["agent", "--group", "nobody-has-this-group"]);
    assert!(status == 2 && error.contains("nobody-has-this-group"), "{error}");
    if !is_root() {
        return steady::skip(
            "only_the_user_and_the_group_can_use_the_socket",
            "only root may give a socket to any group",
        );
    }
    let agent = Agent::start("group", &["--group", "65534"]);
    let facts = |name: &str| fs::metadata(agent.folder.join(name)).unwrap();
    assert_eq!((facts("s").gid(), facts("s/agent.sock").gid()), (65_534, 65_534));
    assert_eq!((facts("s").mode() & 0o777, facts("s/agent.sock").mode() & 0o777), (0o710, 0o660));
}

#[test]
fn an_agent_without_requests_reads_its_rulers() {
    let mut agent = Agent::start("nothing", &[]);
    // A service that connects and never sends.
    let _silent = agent.sender();
    agent.await_status(|status| {
        let rulers = &status["agent"]["rulers"];
        let all_have_read = rulers["readings_per_second"].as_object().is_some_and(|rates| rates.len() == 4);
        let (cpu, limit) = (rulers["cpu_ratio"].as_f64()?, rulers["cpu_limit_ratio"].as_f64()?);
        // A reading that a busy machine makes expensive exceeds the limit until the agent has slowed down.
        let keeps_limit = cpu > 0.0 && cpu <= limit;
        let is_settled = status["agent"]["running_seconds"].as_u64() >= Some(6);
        (all_have_read && keeps_limit && is_settled).then_some(())
    });
    let (status, text, _) = agent.steady(&["agent", "status"]);
    assert!(status == 0 && !text.contains("Services"), "{text}");
    agent.stop();
    let reader = steady_agent::store::Reader::open(&agent.store()).unwrap();
    assert_eq!(reader.services().unwrap(), []);
    let facts = reader.facts().unwrap();
    assert!(facts.last.unwrap() - facts.first.unwrap() >= 4, "{facts:?}");
}

#[test]
fn two_agents_do_not_share_a_socket() {
    let agent = Agent::start("two", &[]);
    let (status, _, error) = agent.steady(&["agent", "--store", agent.folder.join("b.db").to_str().unwrap()]);
    let hint = format!("steady agent status --socket {}", agent.folder.join("s/agent.sock").display());
    assert!(
        status == 2 && error.contains("an agent already listens there") && error.contains(&hint),
        "{status} {error}"
    );
    requests(&agent.sender(), 10, |number| request(number, "v1", "/", "none"));
    agent.await_requests(10);
}

/// Another agent cannot start there, because the first one holds its lock. The status says why.
#[test]
fn the_status_names_an_agent_whose_socket_was_removed() {
    let mut agent = Agent::start("removed", &["--no-rulers"]);
    agent.await_status(|status| status["agent"].is_object().then_some(()));
    fs::remove_file(agent.folder.join("s/agent.sock")).unwrap();
    let (status, text, _) = agent.steady(&["agent", "status"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pid = agent.child.id();
    assert!(
        status == 1 && text.starts_with(&format!("The agent still runs (process {pid}), but its socket")),
        "{text}"
    );
    assert!(text.contains(&format!("Stop it with 'kill {pid}', and start it again.")), "{text}");
    let (status, json, _) = agent.steady(&["agent", "status", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &json["running"], json["agent"]["pid"].as_u64()), (1, &Value::Bool(false), Some(pid.into())));
    let data = agent.folder.join("data");
    fs::create_dir_all(data.join("steady")).unwrap();
    std::os::unix::fs::symlink(agent.store(), data.join("steady/agent.db")).unwrap();
    let watch = ["release", "compare", "v1", "v2", "--service", "shop", "--no-history", "--watch", "--window", "1s"];
    let mut command = steady::steady();
    command.args(watch).env("XDG_DATA_HOME", &data).env("STEADY_SOCKET", agent.folder.join("s/agent.sock"));
    let (status, _, error) = steady::output_of(command.output().unwrap());
    let advice = format!("the agent's socket was removed: stop the agent with 'kill {pid}', and start it again");
    assert!(status == 2 && error.contains(&advice), "{status} {error}");
    // The status that a killed agent leaves is not that of a running one.
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    let (status, text, _) = agent.steady(&["agent", "status"]);
    assert!(status == 1 && text.starts_with("No agent runs"), "{text}");
}

#[test]
fn the_status_has_the_absolute_path_of_the_store() {
    let folder = running::folder("relative");
    let child = steady::steady()
        .args(["agent", "--no-rulers", "--socket", "agent.sock", "--store", "agent.db"])
        .current_dir(&folder)
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut child = child.unwrap();
    let socket = folder.join("agent.sock");
    let status = || steady::run(&["agent", "status", "--socket", socket.to_str().unwrap()]);
    let text = (0..600).map(|_| std::thread::sleep(std::time::Duration::from_millis(50))).map(|()| status().1);
    let text = text.into_iter().find(|text| text.contains("no rows yet"));
    let _ = child.kill();
    let _ = child.wait();
    assert!(text.is_some(), "{:?}", status());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_comparison_finds_the_store_of_the_running_agent() {
    use std::os::unix::fs::PermissionsExt;
    let agent = Agent::start("found", &["--no-rulers"]);
    agent.await_status(|status| status["agent"].is_object().then_some(()));
    let (own, data) = (agent.folder.join("s"), agent.folder.join("data"));
    let compare = |socket: &str| {
        let mut command = steady::steady();
        command.args(["release", "compare", "v1", "v2"]).env("XDG_DATA_HOME", &data);
        let (status, _, error) =
            steady::output_of(command.env("STEADY_SOCKET", agent.folder.join(socket)).output().unwrap());
        assert_eq!(status, 2, "{error}");
        error
    };
    let store = agent.store().display().to_string();
    let error = compare("s/agent.sock");
    assert!(error.contains(&format!("'{store}' has no service")), "{error}");
    let error = compare("no.sock");
    assert!(error.contains("there is no store") && error.contains("no agent is found at"), "{error}");
    // Another user could replace the status of the agent.
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
    let error = compare("s/agent.sock");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(error.contains(&format!("stores in '{store}', but other users could change")), "{error}");
}

#[test]
fn two_agents_cannot_share_a_store_by_different_names() {
    let agent = Agent::start("names", &["--no-rulers"]);
    let path = |name: &str| agent.folder.join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(agent.store(), path("link.db")).unwrap();
    let start =
        |store: &str| steady::run(&["agent", "--no-rulers", "--socket", &path("t/agent.sock"), "--store", store]);
    let holder = format!("(process {}) writes to this store", agent.child.id());
    for store in [&path("agent.db"), &path("link.db"), &path("./s/../link.db")] {
        let (status, _, error) = start(store);
        assert!(status == 2 && error.contains(&holder), "{store}: {status} {error}");
    }
    fs::hard_link(agent.store(), path("hard.db")).unwrap();
    let (status, _, error) = start(&path("hard.db"));
    assert!(status == 2 && error.contains("several names"), "{status} {error}");
}

#[test]
fn directories_that_others_can_write_to_are_rejected_and_missing_ones_created() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = running::folder("places");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("open")).unwrap();
    fs::set_permissions(path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let start = |socket: &str, store: &str| {
        steady::run(&["agent", "--no-rulers", "--socket", &path(socket), "--store", &path(store)])
    };
    for (socket, store) in [("open/agent.sock", "agent.db"), ("agent.sock", "open/agent.db")] {
        let (status, _, error) = start(socket, store);
        assert!(status == 2 && error.contains("can be written by everybody (mode 0777)"), "{status} {error}");
    }
    let (status, _, error) = start(&"long/".repeat(30), "agent.db");
    assert!(status == 2 && error.contains("the path of a socket has at most 106"), "{status} {error}");
    let (status, _, error) = steady::run(&["agent", "status", "--socket", &path(&"long/".repeat(30))]);
    assert!(status == 2 && error.contains("the path of a socket has at most 106"), "{status} {error}");
    let mut agent = Agent::start_with(folder.join("new/deep/agent.db"), folder.clone(), &["--no-rulers"]);
    agent.await_status(|status| status["agent"].is_object().then_some(()));
    let mode = |name: &str| fs::metadata(path(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("new"), mode("new/deep"), mode("new/deep/agent.db.lock")), (0o700, 0o700, 0o600));
    assert_eq!((mode("s/agent.sock.lock"), mode("s/agent.sock.status")), (0o600, 0o644));
    agent.stop();
}

#[test]
fn the_status_says_that_no_agent_is_running() {
    let folder = running::folder("none");
    let socket = folder.join("agent.sock");
    let args = ["agent", "status", "--socket", socket.to_str().unwrap(), "--format", "json"];
    let (status, text, _) = steady::run(&args);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &json["running"], &json["schema"]), (1, &Value::Bool(false), &Value::from("steady.agent/1")));
    assert!(json["agent_absent"].is_string() && json["store_absent"].is_string(), "{text}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_agent_runs_as_an_unprivileged_user() {
    if !is_root() {
        return steady::skip("an_agent_runs_as_an_unprivileged_user", "all tests run as an unprivileged user");
    }
    let folder = running::folder("nobody");
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).unwrap();
    let Some(agent) = Agent::start_as(65_534, &folder, &[]) else {
        return steady::skip("an_agent_runs_as_an_unprivileged_user", "the user nobody has no access to the binary");
    };
    requests(&agent.sender(), 200, |number| request(number, "v1", "/", "none"));
    let status = agent.status_after_requests(200);
    assert!(status["agent"]["rulers"].is_object() || status["agent"]["rulers_absent"].is_string(), "{status}");
    assert_eq!(agent.end().requests.iter().map(|row| row.sums.requests + row.sums.first_requests).sum::<u64>(), 200);
}

/// SQLite would open the file for reading, and leave an index of its journal behind.
#[test]
fn a_store_that_may_not_be_written_is_refused_without_traces() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let test = "a_store_that_may_not_be_written_is_refused_without_traces";
    if !is_root() {
        return steady::skip(test, "all tests run as an unprivileged user");
    }
    let (user, folder) = (65_534, running::folder("read-only"));
    chown(&folder, Some(user), Some(user)).unwrap();
    let Some(mut agent) = Agent::start_as(user, &folder, &["--no-rulers"]) else {
        return steady::skip(test, "the user nobody has no access to the binary");
    };
    agent.await_status(|status| status["store"].is_object().then_some(()));
    agent.stop();
    fs::set_permissions(agent.store(), fs::Permissions::from_mode(0o400)).unwrap();
    let error = agent.fail_to_start();
    assert!(error.contains("the store cannot be written: its permissions are read-only"), "{error}");
    // A reader leaves none, either.
    let reader = steady_agent::store::Reader::open(&agent.store()).unwrap();
    assert!(reader.services().is_ok());
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let journals: Vec<String> = files.filter(|name| name.ends_with("-shm") || name.ends_with("-wal")).collect();
    assert!(journals.is_empty(), "{journals:?}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
