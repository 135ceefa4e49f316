//! An application that cannot be touched.

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

/// A page of metrics whose counter grows by a hundred with each reading; begins anew from time to time, if it is told to.
fn page(restarts: bool) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let readings = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&readings);
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let reading = theirs.fetch_add(1, Ordering::SeqCst);
            answer(stream, if restarts { reading % 3 } else { reading });
        }
    });
    (port, readings)
}

fn answer(mut stream: TcpStream, reading: u64) {
    let _ = stream.read(&mut [0; 1_000]);
    let requests = 1_000 + 100 * reading;
    let body = format!("# TYPE requests_total counter\nrequests_total{{code=\"200\",version=\"v2\"}} {requests}\n");
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
}

/// A process that keeps a CPU busy; ended with the test.
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
    let words = ["--no-rulers", "--service", "shop", "--requests", &url, "--pid", &pid];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

#[test]
fn cpu_time_is_divided_by_a_counter_of_requests() {
    let (busy, (port, _)) = (Busy::start(), page(false));
    let options = options(port, busy.0.id(), &["--version-label", "version"]);
    let agent = Agent::start("outside", &options.iter().map(String::as_str).collect::<Vec<_>>());
    agent.await_requests(300);
    let (_, text, _) = agent.steady(&["agent", "status"]);
    assert!(text.contains("From outside") && text.contains("requests of shop"), "{text}");
    let rows = agent.end();
    assert_eq!((rows.versions, rows.routes), (vec!["v2".to_owned()], vec!["(all)".to_owned()]));
    for row in &rows.requests {
        assert_eq!((row.process, row.sums.requests), (0, 100), "{row:?}");
        assert!(row.sums.cpu > 1e7 && row.sums.cpu < 5e9, "{row:?}");
    }
}

/// A control group of this test's own; removed with it, once nothing runs in it.
struct Group(PathBuf);

impl Group {
    /// In each hierarchy that CPU time is counted in here and where this user may make one: of version 1, of version 2.
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

    fn take_in(&self, process: u32) {
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
            "no control group can be made here",
        );
    }
    for group in groups {
        let (inside, outside, (port, _)) = (Busy::start(), Busy::start(), page(false));
        group.take_in(inside.0.id());
        let url = format!("http://127.0.0.1:{port}/metrics#requests_total");
        let folder = group.0.to_str().unwrap();
        let words = ["--no-rulers", "--service", "shop", "--version", "v2", "--requests", &url, "--cgroup", folder];
        let agent = Agent::start("group", &words);
        agent.await_requests(300);
        let rows = agent.end();
        assert!(rows.requests.iter().all(|row| (row.process, row.sums.requests) == (0, 100)), "{rows:?}");
        // What runs beside the group is not counted: one process takes no more than one CPU, two do where there are two.
        let cpu: f64 = rows.requests.iter().map(|row| row.sums.cpu).sum();
        let seconds = rows.requests.len() as f64;
        assert!(cpu > 1e7 * seconds && cpu < 1.3e9 * seconds, "{folder}: {cpu} ns in {seconds} s");
        drop((inside, outside));
    }
}

#[test]
fn restarts_and_broken_pages_are_told_and_make_no_rows() {
    let (busy, (port, _)) = (Busy::start(), page(true));
    let words = options(port, busy.0.id(), &["--version", "v1"]);
    let agent = Agent::start("restarts", &words.iter().map(String::as_str).collect::<Vec<_>>());
    agent.await_status(|status| (status["agent"]["outside"]["failures"].as_u64()? >= 2).then_some(()));
    assert!(agent.log().contains("started anew"), "{}", agent.log());
    let rows = agent.end();
    assert!(rows.requests.iter().all(|row| row.sums.requests == 100), "{rows:?}");
    // Nobody listens there.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let words = options(closed, busy.0.id(), &["--version", "v1"]);
    let agent = Agent::start("closed", &words.iter().map(String::as_str).collect::<Vec<_>>());
    let why = agent.await_status(|status| status["agent"]["outside"]["trouble"].as_str().map(str::to_owned));
    assert!(why.contains("nobody listens there"), "{why}");
    assert!(agent.end().requests.is_empty());
}

#[test]
fn pages_are_read_over_tls_from_whom_the_system_trusts() {
    let folder = crate::running::folder("trust");
    let Some((certificate, key)) = metrics::certificate(&folder, "shop") else {
        return steady::skip(
            "pages_are_read_over_tls_from_whom_the_system_trusts",
            "no openssl to make a certificate with",
        );
    };
    // The application is an agent: it shows its metrics over TLS.
    let listen = ["--no-rulers", "--listen", metrics::ANYWHERE, "--listen-cert", &certificate, "--listen-key", &key];
    let application = Agent::start("application", &listen);
    let counter = format!("{}#steady_agent_start_time_seconds", metrics::url(&application));
    assert!(counter.starts_with("https://"), "{counter}");
    let pid = application.child.id().to_string();
    let words = ["--no-rulers", "--service", "shop", "--version", "v1", "--requests", &counter, "--pid", &pid];
    let stranger = Agent::start("stranger", &words);
    // On a busy machine a page may take too long first.
    stranger.await_status(|status| {
        status["agent"]["outside"]["trouble"].as_str().filter(|why| why.contains("certificate")).map(|_| ())
    });
    let told = stranger.status()["agent"]["outside"].clone();
    assert_eq!(told["readings"], told["failures"], "{told}");
    let friend = Agent::start_where("friend", &words, "SSL_CERT_FILE", &certificate);
    friend.await_status(|status| {
        let told = &status["agent"]["outside"];
        (told["readings"].as_u64()? >= told["failures"].as_u64()? + 2).then_some(())
    });
    assert!(!friend.log().contains("certificate"), "{}", friend.log());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_counted_is_refused_at_once() {
    let counter = "http://127.0.0.1:9/m#requests_total";
    let cases: [(&[&str], &str); 5] = [
        (&["--requests", counter, "--service", "shop", "--version", "v1"], "--cgroup"),
        (&["--requests", counter, "--service", "shop", "--pid", "1"], "--version"),
        (&["--requests", counter, "--service", "shop", "--version", "v1", "--pid", "536870911"], "no process"),
        (&["--requests", counter, "--service", "shop", "--version", "v1", "--cgroup", "/nowhere"], "/nowhere"),
        (&["--requests", "ftp://x#y", "--service", "shop"], "http://"),
    ];
    let folder = crate::running::folder("refused");
    let (socket, store) = (folder.join("agent.sock"), folder.join("agent.db"));
    for (words, expected) in cases {
        let own = ["agent", "--socket", socket.to_str().unwrap(), "--store", store.to_str().unwrap()];
        let (status, _, error) = steady::run(&[&own, words].concat());
        assert!(status == 2 && error.contains(expected), "{words:?}: {status} {error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
