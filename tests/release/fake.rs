//! A fake Prometheus server, which replays the recorded responses of a real one, or misbehaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A request: the path, the form and the headers, whose names are in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) form: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A response of the fake server, or a way in which it fails to respond.
#[derive(Clone, Debug)]
pub(crate) enum Response {
    /// A status, a content type and the content.
    Whole(u16, &'static str, String),
    /// Half of the content of a successful JSON response, then the end of the connection.
    Half(String),
    /// A redirect to this URL.
    Redirect(&'static str),
    /// Two seconds without a response, then the end of the connection.
    Silence,
    /// The end of the connection without a response.
    Nothing,
}

impl Response {
    pub(crate) fn json(status: u16, content: &str) -> Response {
        Response::Whole(status, "application/json", content.to_owned())
    }
}

/// Returns the response to a request. The number counts requests from 0.
type Rule = Box<dyn Fn(&Request, usize) -> Response + Send>;

/// A server that runs until the process ends.
pub(crate) struct FakeServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl FakeServer {
    pub(crate) fn start(rule: impl Fn(&Request, usize) -> Response + Send + 'static) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (kept, rule): (_, Rule) = (Arc::clone(&asked), Box::new(rule));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = request(&stream) else { continue };
                let number = kept.lock().unwrap().len();
                kept.lock().unwrap().push(request.clone());
                respond(stream, rule(&request, number));
            }
        });
        FakeServer { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads one request from a connection. Returns `None` if it is incomplete.
fn request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut request = Request { path: line.split(' ').nth(1)?.to_owned(), ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut form = vec![0; request.headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut form).ok()?;
    for (name, value) in String::from_utf8(form).ok()?.split('&').filter_map(|pair| pair.split_once('=')) {
        request.form.insert(name.to_owned(), decoded(value));
    }
    Some(request)
}

/// Decodes a percent-encoded value of a form.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn respond(mut stream: TcpStream, response: Response) {
    let head = |status: u16, kind: &str, length: usize| {
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n")
    };
    let text = match response {
        Response::Whole(status, kind, content) => format!("{}\r\n{content}", head(status, kind, content.len())),
        Response::Half(content) => {
            format!("{}\r\n{}", head(200, "application/json", content.len()), &content[..content.len() / 2])
        }
        Response::Redirect(to) => format!("{}Location: {to}\r\n\r\n", head(302, "text/html", 0)),
        Response::Nothing => String::new(),
        Response::Silence => {
            thread::sleep(Duration::from_secs(2));
            String::new()
        }
    };
    // The client may have closed the connection.
    let _ = stream.write_all(text.as_bytes());
}

/// The responses of a real server to all requests about one time window.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) window: [String; 2],
    answers: BTreeMap<(String, String), (u16, String)>,
}

impl Recording {
    /// Reads the recording of `prometheus` or `victoria-metrics`.
    pub(crate) fn of(store: &str) -> Recording {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/fleet/{store}.json"));
        let recorded: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let answer = |asked: &Value| {
            let form = asked["form"].as_object().unwrap().iter().map(|(name, value)| (name.clone(), text(value)));
            let status = asked["status"].as_u64().unwrap() as u16;
            (key(&text(&asked["path"]), &form.collect()), (status, text(&asked["answer"])))
        };
        let answers = recorded["asked"].as_array().unwrap().iter().map(answer).collect();
        Recording { window: ["from", "to"].map(|end| recorded[end].to_string()), answers }
    }

    /// Returns the recorded response, or an error if the request was not recorded.
    pub(crate) fn answer(&self, request: &Request) -> Response {
        match self.answers.get(&key(&request.path, &request.form)) {
            Some((status, text)) => Response::json(*status, text),
            None => Response::json(
                400,
                &format!(r#"{{"status":"error","errorType":"bad_data","error":"not recorded: {}"}}"#, request.path),
            ),
        }
    }
}

/// Returns the identity of a request: the path and the form without the timeout.
fn key(path: &str, form: &BTreeMap<String, String>) -> (String, String) {
    let form = form.iter().filter(|(name, _)| *name != "timeout");
    (path.to_owned(), form.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&"))
}
