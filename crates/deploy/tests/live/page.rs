//! The live page of deployments: what it says of processes that run, are killed, and end; who may read it.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::place::{self, Place, Supervisor};

/// The command that serves the page, and where that is.
fn served(place: &Place, line: &str) -> (Supervisor, String) {
    let mut page = place.started(line);
    let said = page.prints_line("the page is at ", |line| line.starts_with("the page is at "));
    let address = said.strip_prefix("the page is at http://").unwrap().split('/').next().unwrap();
    let address = address.to_owned();
    (page, address)
}

fn connected(address: &str, path: &str, headers: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

/// Status line with headers, and the body.
fn got(address: &str, path: &str, headers: &str) -> (String, String) {
    let mut text = String::new();
    connected(address, path, headers).read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The next event whose state is as wanted.
fn state(events: &mut BufReader<TcpStream>, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let mut line = String::new();
    for _ in 0..1_000 {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "the events end");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let state: Value = serde_json::from_str(data.trim_end()).unwrap();
        if is_wanted(&state) {
            return state;
        }
    }
    panic!("no such state comes: {line}")
}

/// A process as a state tells of it.
fn process<'s>(state: &'s Value, name: &str) -> Option<&'s Value> {
    state["deployments"][0]["processes"].as_array()?.iter().find(|process| process["name"] == name)
}

#[test]
fn the_page_tells_what_runs_while_it_does() {
    testkit::namespace::alone(|| {
        let place = Place::new("page");
        place.has("tracker.toml", &Place::plan());
        let (_page, address) = served(&place, "page --listen 127.0.0.1:0");
        let own = format!("Host: {address}\r\n");

        let (head, body) = got(&address, "/api/v1/deployments", &own);
        assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("\"deployments\":[]"), "{head}\n{body}");

        let mut supervisor = place.launch("tracker.toml");
        let mut events = connected(&address, "/api/v1/events", &own);
        let takes = |state: &Value| {
            process(state, "show").is_some_and(|show| show["components"][0]["taken"].as_u64() > Some(0))
        };
        let first = state(&mut events, takes);
        assert_eq!(first["deployments"][0]["deployment"], "tracker");
        assert_eq!(process(&first, "sense").unwrap()["state"], "running");
        assert_eq!(first["silent"], Value::Array(Vec::new()));
        assert!(process(&first, "sense").unwrap()["components"][0]["millihertz"].is_u64(), "{first}");

        place::kill(place.pid_of("show"));
        let again = state(&mut events, |state| {
            process(state, "show").is_some_and(|show| show["restarts"] == 1 && show["state"] == "running")
        });
        assert!(process(&again, "show").unwrap()["last"].as_str().unwrap().contains("signal 9"), "{again}");

        supervisor.interrupt();
        assert!(supervisor.ended().success());
        state(&mut events, |state| state["deployments"] == Value::Array(Vec::new()));
    });
}

#[test]
fn the_page_is_for_this_host_and_changes_nothing() {
    testkit::namespace::alone(|| {
        let place = Place::new("page-access");
        let (code, _, told) = place.deploy("page --listen 0.0.0.0:0");
        assert!(code == 2 && told.contains("can be reached by others"), "{code} {told}");
        let (_page, address) = served(&place, "page --listen 127.0.0.1:0");
        let own = format!("Host: {address}\r\n");
        let (head, body) = got(&address, "/", &own);
        assert!(head.contains("content-security-policy: default-src 'none'; style-src 'sha256-"), "{head}");
        assert!(body.contains("<h1>Deployments</h1>"));
        for (path, headers, status) in [
            ("/", "Host: evil.example\r\n", "421"),
            ("/api/v1/deployments", "", "421"),
            ("/api/v1/deployments", &format!("{own}Origin: http://evil.example\r\n"), "403"),
            ("/api/v1/deployments", &format!("{own}Sec-Fetch-Site: cross-site\r\n"), "403"),
            ("/elsewhere", &own, "404"),
        ] {
            let (head, body) = got(&address, path, headers);
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers}: {head}\n{body}");
        }
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "POST / HTTP/1.1\r\n{own}Content-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 405 ") && text.contains("this page changes nothing"), "{text}");
    });
}
