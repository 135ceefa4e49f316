//! Services that are measured from outside: CPU time per request from their metrics page and the kernel.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::running::Agent;
use crate::{metrics, steady};

/// Serves a page of metrics. `hundreds` is the counter at a scrape, in hundreds. Returns the port, and the number of
/// scrapes so far.
fn serve_counter(hundreds: fn(u64) -> u64) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let readings = Arc::new(AtomicU64::new(0));
    let scrapes = Arc::clone(&readings);
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let reading = scrapes.fetch_add(1, Ordering::SeqCst);
            answer(stream, hundreds(reading));
        }
    });
    (port, readings)
}

fn answer(mut stream: TcpStream, hundreds: u64) {
    let _ = stream.read(&mut [0; 1_000]);
    let requests = 1_000 + 100 * hundreds;
    let body = format!("# TYPE requests_total counter\nrequests_total{{code=\"200\",version=\"v2\"}} {requests}\n");
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
}

/// A process that keeps a CPU busy, killed on drop.
struct Busy(Child);

impl Busy {
    fn start() -> Busy {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn options(port: u16, pid: u32, more: &[&str]) -> Vec<String> {
    let url = format!("http://127.0.0.1:{port}/metrics#requests_total{{code=\"200\"}}");
    let pid = pid.to_string();
    let args = ["--no-rulers", "--service", "shop", "--requests", &url, "--pid", &pid];
    args.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

#[test]
fn cpu_time_is_divided_by_a_counter_of_requests() {
    let (busy, (port, _)) = (Busy::start(), serve_counter(|reading| reading));
    let options = options(port, busy.0.id(), &["--version-label", "version"]);
    let agent = Agent::start("outside", &options.iter().map(String::as_str).collect::<Vec<_>>());
    agent.await_requests(300);
    let (_, text, _) = agent.steady(&["agent", "status"]);
    assert!(text.contains("Counted from outside") && text.contains("requests of shop"), "{text}");
    let rows = agent.end();
    assert_eq!((rows.versions, rows.routes), (vec!["v2".to_owned()], vec!["(all)".to_owned()]));
    for row in &rows.requests {
        assert_eq!((row.process, row.sums.requests), (0, 100), "{row:?}");
        assert!(row.sums.cpu > 1e7 && row.sums.cpu < 5e9, "{row:?}");
    }
}

#[test]
fn cpu_time_of_requests_that_take_several_seconds_counts() {
    let (busy, (port, _)) = (Busy::start(), serve_counter(|reading| reading / 4));
    let args = options(port, busy.0.id(), &["--version", "v1"]);
    let agent = Agent::start("long", &args.iter().map(String::as_str).collect::<Vec<_>>());
    let used = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap();
        stat.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let before = used(busy.0.id());
    agent.await_requests(400);
    let all = used(busy.0.id()) - before;
    let rows = agent.end();
    // Without the seconds in which no request ended, it would be a quarter.
    let cpu: f64 = rows.requests.iter().map(|row| row.sums.cpu).sum();
    assert!(cpu > 0.4 * all && cpu < 1.1 * all, "{cpu} of {all}");
}

/// A control group for one test, removed on drop once no process is in it.
struct Group(PathBuf);

impl Group {
    /// Creates a group in each hierarchy, of cgroup v1 and v2, that counts CPU time and where this user may create one.
    fn all() -> Vec<Group> {
        let parents = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let make = |parent: &str| {
            let folder = Path::new(parent).join(format!("steady-outside-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Group(folder);
            let counts = ["cpuacct.usage", "cpu.stat"].iter().any(|name| group.0.join(name).exists());
            counts.then_some(group)
        };
        parents.into_iter().filter_map(make).collect()
    }

    fn add_process(&self, process: u32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn cpu_time_of_a_control_group_is_divided_by_a_counter_of_requests() {
    let groups = Group::all();
    if groups.is_empty() {
        steady::skip(
            "cpu_time_of_a_control_group_is_divided_by_a_counter_of_requests",
            "no control group can be created here",
        );
    }
    for group in groups {
        let (inside, outside, (port, _)) = (Busy::start(), Busy::start(), serve_counter(|reading| reading));
        group.add_process(inside.0.id());
        let url = format!("http://127.0.0.1:{port}/metrics#requests_total");
        let folder = group.0.to_str().unwrap();
        let args = ["--no-rulers", "--service", "shop", "--version", "v2", "--requests", &url, "--cgroup", folder];
        let agent = Agent::start("group", &args);
        agent.await_requests(300);
        let rows = agent.end();
        assert!(rows.requests.iter().all(|row| (row.process, row.sums.requests) == (0, 100)), "{rows:?}");
        // The process outside the group is not counted: one process uses at most one CPU, two may use two.
        let cpu: f64 = rows.requests.iter().map(|row| row.sums.cpu).sum();
        let seconds = rows.requests.len() as f64;
        assert!(cpu > 1e7 * seconds && cpu < 1.3e9 * seconds, "{folder}: {cpu} ns in {seconds} s");
        drop((inside, outside));
    }
}

#[test]
fn restarted_counters_and_failed_scrapes_are_reported_and_add_no_rows() {
    let (busy, (port, _)) = (Busy::start(), serve_counter(|reading| reading % 3));
    let args = options(port, busy.0.id(), &["--version", "v1"]);
    let agent = Agent::start("restarts", &args.iter().map(String::as_str).collect::<Vec<_>>());
    agent.await_status(|status| (status["agent"]["outside"]["failures"].as_u64()? >= 2).then_some(()));
    assert!(agent.log().contains("was restarted"), "{}", agent.log());
    let rows = agent.end();
    assert!(rows.requests.iter().all(|row| row.sums.requests == 100), "{rows:?}");
    // No process listens on this port.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let args = options(closed, busy.0.id(), &["--version", "v1"]);
    let agent = Agent::start("closed", &args.iter().map(String::as_str).collect::<Vec<_>>());
    let why = agent.await_status(|status| status["agent"]["outside"]["trouble"].as_str().map(str::to_owned));
    assert!(why.contains("no server listens there"), "{why}");
    assert!(agent.end().requests.is_empty());
}

#[test]
fn pages_are_read_over_tls_with_a_trusted_certificate_only() {
    let folder = crate::running::folder("trust");
    let Some((certificate, key)) = metrics::certificate(&folder, "shop") else {
        return steady::skip(
            "pages_are_read_over_tls_with_a_trusted_certificate_only",
            "there is no openssl to create a certificate",
        );
    };
    // The application is another agent, which serves its metrics over TLS.
    let listen = ["--no-rulers", "--listen", metrics::ANYWHERE, "--listen-cert", &certificate, "--listen-key", &key];
    let application = Agent::start("application", &listen);
    let counter = format!("{}#steady_agent_start_time_seconds", metrics::url(&application));
    assert!(counter.starts_with("https://"), "{counter}");
    let pid = application.child.id().to_string();
    let args = ["--no-rulers", "--service", "shop", "--version", "v1", "--requests", &counter, "--pid", &pid];
    let distrusting = Agent::start("distrusting", &args);
    // On a busy machine the first scrapes may fail with a timeout instead.
    distrusting.await_status(|status| {
        status["agent"]["outside"]["trouble"].as_str().filter(|why| why.contains("certificate")).map(|_| ())
    });
    let outside = distrusting.status()["agent"]["outside"].clone();
    assert_eq!(outside["readings"], outside["failures"], "{outside}");
    let trusting = Agent::start_with_variable("trusting", &args, "SSL_CERT_FILE", &certificate);
    trusting.await_status(|status| {
        let outside = &status["agent"]["outside"];
        (outside["readings"].as_u64()? >= outside["failures"].as_u64()? + 2).then_some(())
    });
    assert!(!trusting.log().contains("certificate"), "{}", trusting.log());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn incomplete_options_and_unknown_processes_are_usage_errors() {
    let counter = "http://127.0.0.1:9/m#requests_total";
    let cases: [(&[&str], &str); 5] = [
        (&["--requests", counter, "--service", "shop", "--version", "v1"], "--cgroup"),
        (&["--requests", counter, "--service", "shop", "--pid", "1"], "--version"),
        (&["--requests", counter, "--service", "shop", "--version", "v1", "--pid", "536870911"], "does not exist"),
        (&["--requests", counter, "--service", "shop", "--version", "v1", "--cgroup", "/nowhere"], "/nowhere"),
        (&["--requests", "ftp://x#y", "--service", "shop"], "http://"),
    ];
    let folder = crate::running::folder("refused");
    let (socket, store) = (folder.join("agent.sock"), folder.join("agent.db"));
    for (args, expected) in cases {
        let own = ["agent", "--socket", socket.to_str().unwrap(), "--store", store.to_str().unwrap()];
        let (status, _, error) = steady::run(&[&own, args].concat());
        assert!(status == 2 && error.contains(expected), "{args:?}: {status} {error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
