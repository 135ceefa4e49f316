//! `steady agent --listen`: the metrics that the agent serves over HTTP and TLS.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flate2::read::GzDecoder;
use steady_model::{LevelSums, ProcessRow, ReleaseRows, RequestSums};

use crate::running::{self, Agent, request, requests};
use crate::steady::{self, output_of, skip};

/// An address with a free port.
pub(crate) const ANYWHERE: &str = "127.0.0.1:0";
const OPEN_METRICS: &str = "Accept: application/openmetrics-text; version=1.0.0, text/plain;q=0.5\r\n";

/// Returns the URL of the metrics page from the log of the agent. The log of an agent that was started again also has
/// the URL of the killed one, where no process listens.
pub(crate) fn url(agent: &Agent) -> String {
    let served = |_| {
        std::thread::sleep(Duration::from_millis(20));
        let log = agent.log();
        let url = log.lines().rev().find_map(|line| line.split_once("publishes metrics at "))?.1.trim().to_owned();
        TcpStream::connect(address(&url)).ok().map(|_| url)
    };
    (0..500).find_map(served).unwrap_or_else(|| panic!("no metrics page: {}", agent.log()))
}

fn address(url: &str) -> &str {
    url.split('/').nth(2).expect("a URL has an address")
}

/// Sends one request over plain HTTP, with additional header lines. Returns the head and the body of the response.
pub(crate) fn ask(agent: &Agent, request: &str, lines: &str) -> (String, Vec<u8>) {
    try_ask(agent, request, lines).expect("the response is complete")
}

/// Like [`ask`], but returns `None` if the response ended before its last chunk. The agent closes a connection after
/// ten seconds.
pub(crate) fn try_ask(agent: &Agent, request: &str, lines: &str) -> Option<(String, Vec<u8>)> {
    let mut stream = TcpStream::connect(address(&url(agent))).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: here\r\n{lines}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_ascii_lowercase();
    let body = &answer[end + 4..];
    let body = if head.contains("transfer-encoding: chunked") { joined(body)? } else { body.to_vec() };
    Some((head, body))
}

/// Joins the chunks of a body. Returns `None` if the last, empty chunk is missing.
fn joined(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut page = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return Some(page);
        }
        page.extend_from_slice(body.get(end + 2..end + 2 + size)?);
        body = body.get(end + 4 + size..)?;
    }
}

/// Polls the metrics until they count this many requests, and returns the page. Labels must not contain braces or
/// spaces.
fn page_of(agent: &Agent, requests: f64, lines: &str) -> String {
    for _ in 0..200 {
        let page = String::from_utf8(ask(agent, "GET /metrics", lines).1).unwrap();
        let sum = |name: &str| values(&page, name).values().sum::<f64>();
        if sum("steady_requests_total") + sum("steady_requests_warming_total") >= requests {
            return page;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{}", agent.log());
}

/// Returns the values of a metric by their labels, the text between braces.
fn values(page: &str, name: &str) -> BTreeMap<String, f64> {
    let samples = page.lines().filter_map(|line| line.strip_prefix(name));
    let sample = |rest: &str| {
        let (labels, value) = rest.rsplit_once(' ')?;
        let labels = labels.strip_prefix('{').map_or(labels, |labels| labels.trim_end_matches('}'));
        (labels.is_empty() || rest.starts_with('{')).then(|| (labels.to_owned(), value.parse().unwrap()))
    };
    samples.filter_map(sample).collect()
}

/// Sends requests of two versions and two routes, with all optional fields.
fn send(agent: &Agent, number: u64) {
    requests(&agent.sender(), number, |number| {
        let (version, route) = (["v1", "v2"][number as usize % 2], ["/a", "/b"][number as usize / 2 % 2]);
        let assignment = if number % 5 == 0 { "none" } else { "random\tdelay=77\truler=syscall:31000" };
        let cpu = 1_000_000 + number * 1_717 + if number % 29 == 0 { 9_000_000 } else { 0 };
        let class = if number % 7 < 3 { "\tclass=hit" } else { "" };
        let line = request(number, version, route, &format!("{assignment}{class}"));
        // One process serves both versions; in its last hundred readings, v2 alone.
        let served = if number > 300 { "\tversion=v2" } else { "" };
        let (now, process, own) = (steady_linux::clock::monotonic().0, number * 3_000_000, number * 2_000_000);
        line.replace("\t1500000\t", &format!("\t{cpu}\t")) + &format!("c\t{now}\t{process}\t{own}{served}\n")
    });
}

#[test]
fn a_comparison_recognises_an_agent_at_the_address_of_a_metrics_store() {
    let agent = Agent::start("no-metrics-store", &["--no-rulers", "--listen", ANYWHERE]);
    let page = url(&agent);
    for address in [&page, page.trim_end_matches("/metrics")] {
        let (status, _, error) = steady::run(&["release", "compare", "v1", "v2", "--prometheus", address]);
        assert!(status == 2 && error.contains("is the address at which a steady agent publishes"), "{status} {error}");
    }
}

#[test]
fn metrics_equal_the_stored_sums_and_restart_with_the_agent() {
    let mut agent = Agent::start("shown", &["--listen", ANYWHERE]);
    send(&agent, 400);
    let page = page_of(&agent, 400.0, "");
    let (head, packed) = ask(&agent, "GET /metrics", &format!("{OPEN_METRICS}Accept-Encoding: gzip\r\n"));
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"), "{head}");
    assert!(head.contains("content-encoding: gzip"), "{head}");
    let mut open = String::new();
    GzDecoder::new(&*packed).read_to_string(&mut open).unwrap();
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE steady_requests counter\n"), "{open}");
    assert_eq!(values(&open, "steady_requests_total"), values(&page, "steady_requests_total"));
    let status =
        agent.await_status(|status| (status["agent"]["metrics"]["scrapes"].as_u64()? >= 2).then(|| status.clone()));
    assert_eq!(status["agent"]["metrics"]["url"], url(&agent));
    let (_, text, _) = agent.steady(&["agent", "status"]);
    assert!(text.contains("/metrics, ") && text.contains("scrapes answered"), "{text}");
    let began = values(&page, "steady_agent_start_time_seconds")[""];
    agent.status_after_requests(400);
    agent.kill_and_start_again();
    assert_equal_to_stored(&page, &running::rows(&agent.store()));
    let new_page = String::from_utf8(ask(&agent, "GET /metrics", "").1).unwrap();
    assert!(values(&new_page, "steady_requests_total").is_empty(), "{new_page}");
    let again = values(&new_page, "steady_agent_start_time_seconds")[""];
    assert!(again > began, "{again} after {began}");
    agent.stop();
}

/// Panics unless the metrics equal the sums over the stored rows.
fn assert_equal_to_stored(page: &str, rows: &ReleaseRows) {
    let mut stored: BTreeMap<String, RequestSums> = BTreeMap::new();
    for row in &rows.requests {
        let (version, route) = (&rows.versions[row.version as usize], &rows.routes[row.route as usize]);
        let assigned = row.assignment.name();
        let class = match rows.classes[row.class as usize].as_str() {
            "" => String::new(),
            class => format!(",class=\"{class}\""),
        };
        let labels = format!("service=\"shop\",version=\"{version}\",route=\"{route}\",assigned=\"{assigned}\"{class}");
        *stored.entry(labels).or_default() += row.sums;
    }
    type Of = fn(&RequestSums) -> f64;
    let metrics: [(&str, Of); 15] = [
        ("requests_total", |sums| sums.requests as f64),
        ("requests_warming_total", |sums| sums.first_requests as f64),
        ("requests_failed_total", |sums| sums.failed as f64),
        ("requests_cpu_seconds_total", |sums| sums.cpu / 1e9),
        ("requests_cpu_seconds_squared_total", |sums| sums.cpu_squared / 1e18),
        ("requests_cpu_log_total", |sums| sums.log),
        ("requests_cpu_log_squared_total", |sums| sums.log_squared),
        ("requests_before_log_total", |sums| sums.before + 16.0 * sums.requests as f64),
        ("requests_before_log_squared_total", |sums| {
            sums.before_squared + 32.0 * sums.before + 256.0 * sums.requests as f64
        }),
        ("requests_before_product_total", |sums| sums.before_log + 16.0 * sums.log),
        ("requests_wall_seconds_total", |sums| sums.wall / 1e9),
        ("requests_watched_total", |sums| sums.watched as f64),
        ("requests_watched_cpu_seconds_total", |sums| sums.watched_cpu / 1e9),
        ("requests_watched_wall_seconds_total", |sums| sums.watched_wall / 1e9),
        ("requests_watched_waiting_seconds_total", |sums| sums.watched_delay / 1e9),
    ];
    assert_eq!(stored.len(), 16, "{stored:?}");
    for (name, of) in metrics {
        let shown = values(page, &format!("steady_{name}"));
        assert!(shown.keys().eq(stored.keys()), "{name}: {shown:?}");
        for (labels, sums) in &stored {
            let (shown, stored) = (shown[labels], of(sums));
            assert!((shown - stored).abs() <= 1e-9 * stored.abs(), "{name}{{{labels}}}: {shown}, stored {stored}");
        }
    }
    assert_levels_equal_to_stored(page, &stored);
    let assert_process_cpu = |name: &str, of: fn(&ProcessRow) -> f64| {
        for (labels, version, readings) in [("", None, 299.0), (",version=\"v2\"", Some("v2"), 100.0)] {
            let shown = values(page, name)[&format!("service=\"shop\"{labels}")];
            let of_version =
                |row: &&ProcessRow| row.version.map(|version| rows.versions[version as usize].as_str()) == version;
            let stored: f64 = rows.processes.iter().filter(of_version).map(of).sum();
            assert!(
                (shown - stored / 1e9).abs() < 1e-9 && shown / readings > 0.0019,
                "{name}: {shown}, stored {stored}"
            );
        }
    };
    assert_process_cpu("steady_process_cpu_seconds_total", |row| row.cpu);
    assert_process_cpu("steady_process_requests_cpu_seconds_total", |row| row.requests_cpu);
    let readings: f64 = values(page, "steady_ruler_readings_total").values().sum();
    let of_workers = rows.rulers.iter().filter(|row| row.process != 0);
    assert_eq!(readings, of_workers.map(|row| row.sums.readings).sum::<u64>() as f64);
    let walls: u32 = rows.walls.iter().flat_map(|row| &row.counts).map(|(_, requests)| requests).sum();
    assert_eq!(values(page, "steady_request_wall_seconds_count").values().sum::<f64>(), f64::from(walls));
}

/// Panics unless the metrics of level sums equal the stored ones. They are shown if all requests have them.
fn assert_levels_equal_to_stored(page: &str, stored: &BTreeMap<String, RequestSums>) {
    type Of = fn(&LevelSums) -> f64;
    let metrics: [(&str, Of); 13] = [
        ("exceeding_total", |levels| levels.exceeding as f64),
        ("excess_cpu_seconds_total", |levels| levels.excess / 1e9),
        ("excess_cpu_seconds_squared_total", |levels| levels.excess_squared / 1e18),
        ("excess_product_total", |levels| levels.base_excess / 1e18),
        ("recent_seconds", |levels| levels.recent / 1e9),
        ("recent_seconds_squared_total", |levels| levels.recent_squared / 1e18),
        ("recent_product", |levels| levels.recent_base / 1e18),
        ("recent_excess_product", |levels| levels.recent_excess / 1e18),
        ("ruler_seconds", |levels| levels.ruler / 1e9),
        ("ruler_seconds_squared_total", |levels| levels.ruler_squared / 1e18),
        ("ruler_product", |levels| levels.ruler_base / 1e18),
        ("ruler_excess_product", |levels| levels.ruler_excess / 1e18),
        ("recent_ruler_product", |levels| levels.recent_ruler / 1e18),
    ];
    let known: Vec<&String> =
        stored.iter().filter(|(_, sums)| sums.levels.requests == sums.requests).map(|(labels, _)| labels).collect();
    for (name, of) in metrics {
        let shown = values(page, &format!("steady_requests_{name}"));
        assert!(shown.keys().eq(known.iter().copied()), "{name}: {shown:?}");
        for (labels, shown) in &shown {
            let levels = &stored[labels].levels;
            let (stored, scale) = (of(levels), of(levels).abs().max(1e-9));
            assert!((shown - stored).abs() <= 1e-9 * scale, "{name}{{{labels}}}: {shown}, stored {stored}");
        }
    }
}

#[test]
fn prometheus_parsers_read_metrics_with_unusual_names() {
    let agent = Agent::start("hostile-names", &["--listen", ANYWHERE]);
    let (version, route) = ("v\"2'\\\\{}\\n\u{1f40c}\u{202e},=", "/a b\\t# HELP x\\n\\\\n\"} 1");
    let shown = ("v\"2'\\{}\n\u{1f40c}\u{202e},=", "/a b\t# HELP x\n\\n\"} 1");
    requests(&agent.sender(), 160, |number| {
        request(number, version, route, "slot\truler=alu:900").replace("slot", "none")
    });
    agent.await_requests(160);
    // The metrics of the host appear after a second.
    agent.await_status(|status| status["agent"]["rulers"].is_object().then_some(()));
    let pages = ["", OPEN_METRICS].map(|lines| {
        let found = (0..100).map(|_| ask(&agent, "GET /metrics", lines).1).find(|page| {
            std::thread::sleep(Duration::from_millis(50));
            String::from_utf8_lossy(page).contains("steady_host_busy_seconds_total")
        });
        found.expect("the page has metrics of the host")
    });
    for (name, page) in ["classic", "open"].iter().zip(&pages) {
        fs::write(agent.folder.join(name), page).unwrap();
    }
    let is_there = |word: &str| Command::new(word).arg("--version").output().is_ok();
    if is_there("promtool") {
        let file = fs::File::open(agent.folder.join("classic")).unwrap();
        let (status, text, error) =
            output_of(Command::new("promtool").args(["check", "metrics"]).stdin(file).output().unwrap());
        assert!(status == 0 && text.is_empty() && error.is_empty(), "{status}: {text}{error}");
    } else {
        skip("prometheus_parsers_read_metrics_with_unusual_names", "no promtool (Debian: prometheus)");
    }
    let has_client = |word: &&str| {
        Command::new(word).args(["-c", "import prometheus_client"]).output().is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_client) else {
        return skip("prometheus_parsers_read_metrics_with_unusual_names", "no Python package prometheus_client");
    };
    let script = "import sys, json
from prometheus_client.parser import text_string_to_metric_families as classic
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
seen = []
for name, read in (('classic', classic), ('open', open_metrics)):
    with open(f'{sys.argv[1]}/{name}', newline='') as page:
        samples = [sample for family in read(page.read()) for sample in family.samples]
    sought = [sample for sample in samples if sample.name == 'steady_requests_total']
    seen.append([len(samples) > 60, [[s.labels['version'], s.labels['route'], float(s.value)] for s in sought]])
print(json.dumps(seen))";
    let folder = agent.folder.to_str().unwrap();
    let (status, text, error) = output_of(Command::new(python).args(["-c", script, folder]).output().unwrap());
    assert_eq!(status, 0, "{error}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!([true, [[shown.0, shown.1, 10.0]]]);
    assert_eq!(read, serde_json::json!([expected, expected]));
}

#[test]
fn metrics_need_the_token_and_other_paths_do_not_exist() {
    let folder = running::folder("tokens");
    let file = folder.join("token");
    fs::write(&file, "s3cret-t0ken\n").unwrap();
    let args = ["--no-rulers", "--listen", ANYWHERE, "--listen-token", file.to_str().unwrap()];
    let agent = Agent::start("token", &args);
    let status = |request: &str, lines: &str| {
        let (head, body) = ask(&agent, request, lines);
        (head.split(' ').nth(1).unwrap().to_owned(), head.clone(), String::from_utf8(body).unwrap())
    };
    for lines in ["", "Authorization: Bearer s3cret\r\n", "Authorization: Basic s3cret-t0ken\r\n"] {
        for path in ["/metrics", "/", "/else"] {
            let (status, head, body) = status(&format!("GET {path}"), lines);
            assert!(
                status == "401" && head.contains("www-authenticate: bearer") && !body.contains("steady_"),
                "{head}"
            );
        }
    }
    let token = "Authorization: Bearer s3cret-t0ken\r\n";
    assert!(status("GET /metrics", token).2.contains("steady_agent_info{version="));
    assert!(status("GET /metrics?x=y", token).2.contains("# TYPE"));
    let (code, head, body) = status("HEAD /metrics", token);
    assert!(
        code == "200" && body.is_empty() && head.contains("content-type: text/plain; version=0.0.4"),
        "{head} {body}"
    );
    assert!(status("GET /", token).2.contains("/metrics"));
    assert_eq!(
        (status("GET /metrics/", token).0.as_str(), status("GET /favicon.ico", token).0.as_str()),
        ("404", "404")
    );
    let (code, head, _) = status("POST /metrics", token);
    assert!(code == "405" && head.contains("allow: get, head"), "{head}");
    agent.await_status(|status| (status["agent"]["metrics"]["refused"] == 9).then_some(()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn invalid_listen_options_are_usage_errors() {
    let agent = Agent::start("in-use", &["--no-rulers", "--listen", ANYWHERE]);
    let folder = running::folder("wrong");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let url = url(&agent);
    let used_address = address(&url);
    for (name, text) in [("empty", ""), ("words", "two words"), ("none.pem", "no certificate")] {
        fs::write(folder.join(name), text).unwrap();
    }
    let (socket, store) = (path("agent.sock"), path("agent.db"));
    let starts = |args: &[&str]| {
        let begin = ["agent", "--no-rulers", "--socket", &socket, "--store", &store];
        steady::run(&[&begin[..], args].concat())
    };
    let (empty, two_words, missing, none) = (path("empty"), path("words"), path("missing"), path("none.pem"));
    let (fifo, endless) = (path("fifo"), "/dev/zero");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (args, expected) in [
        (vec!["--listen", used_address], "in use"),
        (vec!["--listen", "moon:1"], "write PORT or ADDRESS:PORT"),
        (vec!["--listen", ANYWHERE, "--listen-token", &empty], "one word"),
        (vec!["--listen", ANYWHERE, "--listen-token", &two_words], "one word"),
        (vec!["--listen", ANYWHERE, "--listen-token", &missing], "No such file"),
        (vec!["--listen", ANYWHERE, "--listen-cert", &none, "--listen-key", &none], "no certificate in PEM format"),
        (vec!["--listen", ANYWHERE, "--listen-cert", &missing, "--listen-key", &none], "No such file"),
        (vec!["--listen", ANYWHERE, "--listen-cert", &none], "--listen-key"),
        (vec!["--listen", ANYWHERE, "--listen-token", &fifo], "not a regular file"),
        (vec!["--listen", ANYWHERE, "--listen-token", endless], "not a regular file"),
        (vec!["--listen", ANYWHERE, "--listen-cert", &fifo, "--listen-key", &none], "not a regular file"),
        (vec!["--listen", ANYWHERE, "--listen-cert", &none, "--listen-key", endless], "not a regular file"),
        (vec!["--listen-token", &two_words], "--listen <ADDRESS>"),
    ] {
        let (status, _, error) = starts(&args);
        assert!(status == 2 && error.contains(expected), "{args:?}: {status} {error}");
    }
    let made = ["one", "other"].map(|name| certificate(&folder, name));
    let [Some((one, key)), Some((_, other))] = made else {
        return skip("invalid_listen_options_are_usage_errors", "there is no openssl to create a certificate");
    };
    let (status, _, error) = starts(&["--listen", ANYWHERE, "--listen-cert", &one, "--listen-key", &other]);
    assert!(status == 2 && error.contains("is not the key of"), "{error}");
    let agent =
        Agent::start("tls", &["--no-rulers", "--listen", ANYWHERE, "--listen-cert", &one, "--listen-key", &key]);
    let page = self::url(&agent);
    assert!(page.starts_with("https://"), "{page}");
    let script = "import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2])
print(urllib.request.urlopen(sys.argv[1], context=context, timeout=30).read().decode())";
    let (status, text, error) = output_of(Command::new("python3").args(["-c", script, &page, &one]).output().unwrap());
    assert!(status == 0 && text.contains("steady_agent_start_time_seconds "), "{error}");
    // A plain HTTP request gets no metrics.
    let mut stream = TcpStream::connect(address(&page)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("steady"));
    fs::remove_dir_all(folder).unwrap();
}

/// Creates a self-signed certificate and returns the paths of it and its key. Returns `None` without openssl.
pub(crate) fn certificate(folder: &Path, name: &str) -> Option<(String, String)> {
    let [certificate, key] = ["crt", "key"].map(|kind| folder.join(format!("{name}.{kind}")).display().to_string());
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=here", "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.args(["-addext", "subjectAltName=IP:127.0.0.1"]);
    openssl.args(["-keyout", &key, "-out", &certificate]);
    openssl.output().is_ok_and(|output| output.status.success()).then_some((certificate, key))
}

/// Clients that connect and send nothing, half a request head or half a TLS ClientHello, until this is dropped. They
/// reconnect a second after the agent has closed their connection.
struct Flood(Child);

impl Flood {
    fn begin(address: &str, number: usize) -> Flood {
        let script = r"import asyncio, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
host, port = sys.argv[1].split(':')
starts = [b'', b'GET /metrics HTTP/1.1\r\nHost: he', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03half']
async def client(number):
    await asyncio.sleep(number / 1000)
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(starts[number % 3])
            await reader.read()
            writer.close()
        except OSError:
            pass
        await asyncio.sleep(1)
async def main():
    clients = [asyncio.create_task(client(number)) for number in range(int(sys.argv[2]))]
    await asyncio.sleep(4)
    print('flooded', flush=True)
    await asyncio.gather(*clients)
asyncio.run(main())";
        let mut child = Command::new("python3");
        child.args(["-c", script, address, &number.to_string()]).stdout(Stdio::piped());
        let mut child = child.spawn().expect("python3 starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "flooded\n");
        Flood(child)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_flood_of_idle_connections_does_not_delay_scrapes() {
    let folder = running::folder("flooded-token");
    let token = folder.join("token");
    fs::write(&token, "s3cret").unwrap();
    let certificate = certificate(&folder, "here");
    for is_tls in [false, true] {
        let mut args = vec!["--no-rulers", "--listen", ANYWHERE, "--listen-token", token.to_str().unwrap()];
        match &certificate {
            _ if !is_tls => {}
            Some((certificate, key)) => args.extend(["--listen-cert", certificate, "--listen-key", key]),
            None => {
                skip(
                    "a_flood_of_idle_connections_does_not_delay_scrapes",
                    "there is no openssl to create a certificate",
                );
                continue;
            }
        }
        let agent = Agent::start(if is_tls { "flooded-tls" } else { "flooded" }, &args);
        let url = url(&agent);
        let flood = Flood::begin(address(&url), 1_500);
        // Scrape ten times. The limit of 30 s is above the 10 s of Prometheus, so that a slow response gives a time to
        // report.
        let script = "import ssl, sys, time, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2]) if sys.argv[1].startswith('https') else None
for _ in range(10):
    began = time.monotonic()
    request = urllib.request.Request(sys.argv[1], headers={'Authorization': 'Bearer s3cret'})
    page = urllib.request.urlopen(request, context=context, timeout=30).read().decode()
    assert 'steady_agent_start_time_seconds' in page, page
    print(time.monotonic() - began)";
        let file = certificate.as_ref().map_or("", |(certificate, _)| certificate);
        let scrape = || {
            let output = Command::new("python3").args(["-c", script, &url, file]).output().unwrap();
            let (status, text, error) = output_of(output);
            assert_eq!(status, 0, "{error}");
            let mut seconds: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
            seconds.sort_by(f64::total_cmp);
            assert_eq!(seconds.len(), 10);
            seconds
        };
        // Other processes may delay the scrapes of a set too.
        let mut found = vec![];
        let is_fast = (0..3).any(|_| {
            let seconds = scrape();
            let is_fast = seconds[5] < 1.0 && seconds[9] < 5.0;
            found.push(seconds);
            is_fast
        });
        assert!(is_fast, "{found:?}");
        drop(flood);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn slow_or_many_clients_do_not_block_others() {
    let mut agent = Agent::start("many", &["--no-rulers", "--listen", ANYWHERE]);
    let url = url(&agent);
    let address = address(&url);
    let mut many: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in &mut many {
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").unwrap();
    }
    send(&agent, 400);
    agent.await_requests(400);
    // The agent closes idle connections to serve this one.
    let page = page_of(&agent, 400.0, "");
    assert!(page.contains("steady_requests_total"));
    // One client sends a request and does not read, another sends an endless head.
    many[0] = TcpStream::connect(address).unwrap();
    many[0].write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    many[1] = TcpStream::connect(address).unwrap();
    let line = [b"X: ", &[b'x'; 1_000][..], b"\r\n"].concat();
    many[1].write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    let _ = (0..100).try_for_each(|_| many[1].write_all(&line));
    assert!(ask(&agent, "GET /", "").0.contains("200"));
    let memory = agent.status()["agent"]["peak_memory_bytes"].as_f64().unwrap();
    assert!(memory < 50e6, "{memory} bytes");
    agent.stop();
}
