//! A store that speaks HTTP as Prometheus does: it plays back what a real one answered, or misbehaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What is asked: the path, the form and the headers, whose names are in small letters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) path: String,
    pub(crate) form: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A status, the type of the content, the content.
    Whole(u16, &'static str, String),
    /// The same of a success, but it ends in its middle.
    Half(String),
    /// Where to ask instead.
    Elsewhere(&'static str),
    /// Nothing at all, for a while.
    Silence,
    /// The connection is closed.
    Nothing,
}

impl Answer {
    pub(crate) fn json(status: u16, content: &str) -> Answer {
        Answer::Whole(status, "application/json", content.to_owned())
    }
}

/// How answers follow from questions; the number counts the questions from 0.
type Rule = Box<dyn Fn(&Question, usize) -> Answer + Send>;

/// A store that answers until the process ends.
pub(crate) struct Fake {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl Fake {
    pub(crate) fn start(rule: impl Fn(&Question, usize) -> Answer + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Question>>> = Arc::default();
        let (kept, rule): (_, Rule) = (Arc::clone(&asked), Box::new(rule));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(question) = question(&stream) else { continue };
                let number = kept.lock().unwrap().len();
                kept.lock().unwrap().push(question.clone());
                answer(stream, rule(&question, number));
            }
        });
        Fake { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads one question.
fn question(stream: &TcpStream) -> Option<Question> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut question = Question { path: line.split(' ').nth(1)?.to_owned(), ..Question::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        question.headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut form = vec![0; question.headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut form).ok()?;
    for (name, value) in String::from_utf8(form).ok()?.split('&').filter_map(|pair| pair.split_once('=')) {
        question.form.insert(name.to_owned(), decoded(value));
    }
    Some(question)
}

/// A value of a form as it was before it was encoded.
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

fn answer(mut stream: TcpStream, answer: Answer) {
    let head = |status: u16, kind: &str, length: usize| {
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n")
    };
    let text = match answer {
        Answer::Whole(status, kind, content) => format!("{}\r\n{content}", head(status, kind, content.len())),
        Answer::Half(content) => {
            format!("{}\r\n{}", head(200, "application/json", content.len()), &content[..content.len() / 2])
        }
        Answer::Elsewhere(to) => format!("{}Location: {to}\r\n\r\n", head(302, "text/html", 0)),
        Answer::Nothing => String::new(),
        Answer::Silence => {
            thread::sleep(Duration::from_secs(2));
            String::new()
        }
    };
    // Who asked may have gone.
    let _ = stream.write_all(text.as_bytes());
}

/// What a real store answered to the questions about one window.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) window: [String; 2],
    answers: BTreeMap<(String, String), (u16, String)>,
}

impl Recording {
    /// That of `prometheus` or `victoria-metrics`.
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

    /// The answer to a question that was asked then.
    pub(crate) fn answer(&self, question: &Question) -> Answer {
        match self.answers.get(&key(&question.path, &question.form)) {
            Some((status, text)) => Answer::json(*status, text),
            None => Answer::json(
                400,
                &format!(r#"{{"status":"error","errorType":"bad_data","error":"not recorded: {}"}}"#, question.path),
            ),
        }
    }
}

/// What tells one question from another: how long it may take does not.
fn key(path: &str, form: &BTreeMap<String, String>) -> (String, String) {
    let form = form.iter().filter(|(name, _)| *name != "timeout");
    (path.to_owned(), form.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&"))
}
