//! The page of a domain says what the commands say, live, and to those who may ask.
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::namespace::alone;
use testkit::patience::{LIMIT, patiently, patiently_or};
use wan_server::protocol::{Answer, Ask, Event, Measured};

use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};

const AT: &str = "127.0.0.1:8081";

/// Status and body of the answer to a request, or nothing if the connection ends without one.
fn raw(request: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(AT).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    if let Err(error) = stream.write_all(request.as_bytes()) {
        // The server may have answered and ended what is too long before all of it was written.
        assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
    }
    let mut text = Vec::new();
    if let Err(error) = stream.read_to_end(&mut text) {
        // What was sent and not read makes the end a reset.
        assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    }
    let text = String::from_utf8_lossy(&text);
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn get_with(path: &str, headers: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {AT}\r\nConnection: close\r\n{headers}\r\n");
    let (status, body) = raw(&request).expect("an answer");
    // A body in pieces has the length of each before it.
    let body = body.lines().find(|line| line.starts_with(['{', '<'])).unwrap_or(&body).to_owned();
    (status, body)
}

fn get(path: &str) -> Value {
    let (status, body) = get_with(path, "");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

/// The page's events, from now on.
fn events() -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(AT).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(format!("GET /api/v1/events HTTP/1.1\r\nHost: {AT}\r\n\r\n").as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    next_event(&mut stream, "state");
    stream
}

/// The data of the next event of a kind.
fn next_event(stream: &mut BufReader<TcpStream>, kind: &str) -> Value {
    let mut line = String::new();
    let mut is_of_kind = false;
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the page has ended the connection");
        if let Some(event) = line.strip_prefix("event: ") {
            is_of_kind = event.trim_end() == kind;
        } else if let Some(data) = line.strip_prefix("data: ").filter(|_| is_of_kind) {
            return serde_json::from_str(data).unwrap();
        }
    }
}

/// The domain as the page and as the command have it, once both are of one moment.
fn same(domains: &Domains) -> Value {
    let command = || -> Value {
        let output = domains.command().args(["status", "--asn", "65001", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    patiently_or(
        || format!("what the command says: {} and not {}", command(), get("/api/v1/domain")),
        || {
            let said = command();
            (get("/api/v1/domain") == said).then_some(said)
        },
    )
}

#[test]
fn the_page_says_what_the_commands_say() {
    alone(|| {
        let mut domains = Domains::new("page", PATIENT);
        domains.end(WEST);
        domains.start_so(WEST, "keys", &["--web", AT]);
        patiently("a manager that works", || domains.try_status(WEST));
        domains.connected();
        let mut monitor = domains.client(WEST).unwrap();
        monitor.ask(&Ask::Monitor).unwrap();
        monitor.writer().unwrap().set_read_timeout(Some(LIMIT)).unwrap();
        let mut live = events();
        let before = same(&domains);
        assert_eq!(before["status"]["sessions"].as_array().unwrap().len(), 0);

        let admitted = domains.admitted(&session("10.3.1.7", vec![flow(4_000_000, 25 * MILLISECOND)]));
        let wanted = session("10.3.1.7", vec![flow(7_000_000, 25 * MILLISECOND)]);
        let refused = domains.establish(&wanted).expect_err("there is too little");
        assert_eq!((refused.asn, refused.missing), (TRANSIT, Some(1_000_000)));
        let measured = |worst| Measured {
            session: admitted.session.clone(),
            flow: 0,
            to: EAST,
            samples: 1_000,
            median: 3 * MILLISECOND,
            worst,
        };
        let noted = Answer::Noted { session: admitted.session.clone() };
        assert_eq!(domains.ask(WEST, &Ask::Measured(measured(4 * MILLISECOND))), noted);
        // A flow that is not there has no latency.
        let other = Measured { flow: 1, ..measured(4 * MILLISECOND) };
        assert!(matches!(domains.ask(WEST, &Ask::Measured(other)), Answer::Unknown { .. }));
        // Nor are there a latency of no sample, and a median that is longer than the worst.
        for odd in [Measured { samples: 0, ..measured(1 << 40) }, measured(1)] {
            assert!(matches!(domains.ask(WEST, &Ask::Measured(odd)), Answer::Wrong { .. }));
        }

        let status = same(&domains)["status"].clone();
        let shown = &status["sessions"][0];
        assert_eq!(shown["session"], admitted.session.as_str());
        assert_eq!(
            (&shown["flows"][0]["class"], &shown["bounds"][0]["delay"]),
            (&"ef".into(), &7_400_000.into())
        );
        assert_eq!(shown["measured"][0]["worst"], 4_000_000);
        assert!(shown["since"].as_u64().unwrap() < shown["ends"].as_u64().unwrap(), "{shown}");
        let mut links = status["links"].as_array().unwrap().iter();
        let link = links.find(|link| link["class"] == "ef").unwrap();
        assert_eq!((&link["reserved"], &link["rate"]), (&4_000_000.into(), &20_000_000.into()));
        assert!(status["managers"].as_array().unwrap().iter().all(|other| other["is-connected"] == true));

        // What is longer than the bound is said in words.
        domains.ask(WEST, &Ask::Measured(measured(9 * MILLISECOND)));
        let output = domains.command().args(["status", "--asn", "65001"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("worst 9 ms, which is longer than its bound"), "{text}");

        domains.ask(WEST, &Ask::Stop { session: admitted.session.clone() });
        assert_eq!(same(&domains)["status"]["sessions"].as_array().unwrap().len(), 0);
        // A neighbour that is away is shown as one.
        domains.kill(TRANSIT);
        patiently("a neighbour that is away", || {
            let status = &same(&domains)["status"];
            let of = status["managers"].as_array().unwrap().iter().find(|other| other["asn"] == TRANSIT);
            (of.unwrap()["is-connected"] == false).then_some(())
        });

        // All that those who monitor hear is in the history, and was told live, in this order.
        let mut told = Vec::new();
        while told.len() < 3 {
            match monitor.answer::<Answer>().unwrap() {
                Some(Answer::Event(event)) => told.push(event),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(&told[0], Event::Admitted(of) if *of == admitted), "{told:?}");
        assert!(
            matches!(&told[1], Event::Refused { user, why, .. } if user == "ann" && *why == *refused),
            "{told:?}"
        );
        assert!(matches!(&told[2], Event::Ended { why, .. } if why.reason == "stopped"), "{told:?}");
        // The page takes an event down before it tells it.
        let live: Vec<Value> = told.iter().map(|_| next_event(&mut live, "history")).collect();
        let history = get("/api/v1/history");
        assert_eq!((history["entries"].as_array(), &history["last"]), (Some(&live), &3.into()));
        for (entry, event) in live.iter().zip(&told) {
            assert_eq!(entry["event"], serde_json::to_value(event).unwrap());
        }
        assert_eq!(get("/api/v1/history?after=2")["entries"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn the_page_is_for_those_who_may_ask_and_takes_no_harm() {
    alone(|| {
        let mut domains = Domains::new("page-access", PATIENT);
        domains.end(WEST);
        // An address that others reach needs a token and TLS, and certificates of domains open nothing.
        let far = ["serve", "west.toml", "--keys", "keys", "--store", "west.redb", "--web", "192.0.2.1:8081"];
        let output = domains.command().args(far).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("give --web-token FILE"), "{said}");
        let token = "0123456789abcdef0123456789abcdef";
        std::fs::write(domains.path("token"), token).unwrap();
        std::fs::set_permissions(domains.path("token"), std::fs::Permissions::from_mode(0o600)).unwrap();
        domains.start_so(WEST, "keys", &["--web", AT, "--web-token", "token"]);
        patiently("a manager that works", || domains.try_status(WEST));

        let (status, page) = get_with("/", "");
        assert!(status == 200 && page.starts_with("<!DOCTYPE html>"), "{status}");
        let right = format!("Authorization: Bearer {token}\r\n");
        for path in ["/api/v1/domain", "/api/v1/history", "/api/v1/events", "/nothing"] {
            for headers in ["", "Authorization: Bearer 0123456789abcdef0123456789abcdee\r\n"] {
                assert_eq!(get_with(path, headers).0, 401, "{path}");
            }
            let origin = format!("{right}Origin: http://evil.example\r\n");
            assert_eq!(get_with(path, &origin).0, 403, "{path}");
        }
        assert_eq!(get_with("/api/v1/domain", &right).0, 200);
        assert_eq!(get_with("/api/v1/history?after=x", &right).0, 400);
        assert_eq!(get_with("/api/v1/history?after=99999999999999999999", &right).0, 400);
        assert_eq!(get_with("/nothing", &right).0, 404);
        let odd = |line: &str, host: &str, more: &str| {
            raw(&format!("{line}\r\nHost: {host}\r\nConnection: close\r\n{right}{more}\r\n")).map(|it| it.0)
        };
        assert_eq!(odd("GET /api/v1/domain HTTP/1.1", "evil.example:8081", ""), Some(421));
        for method in ["POST", "DELETE", "PUT"] {
            let line = format!("{method} /api/v1/domain HTTP/1.1");
            assert_eq!(odd(&line, AT, "Content-Length: 0\r\n"), Some(405));
        }
        let long = format!("X: {}\r\n", "x".repeat(100_000));
        assert!(matches!(odd("GET / HTTP/1.1", AT, &long), None | Some(400 | 431)));
        assert!(matches!(
            odd(&format!("GET /{} HTTP/1.1", "a".repeat(100_000)), AT, ""),
            None | Some(400 | 414 | 431)
        ));
        assert!(matches!(odd("G\0T / HTTP/1.1", AT, ""), None | Some(400)));
        // The manager works on, and ends.
        assert_eq!(get_with("/api/v1/domain", &right).0, 200);
        assert!(domains.status(WEST).sessions.is_empty());
        assert_eq!(domains.end(WEST), Some(0));
    });
}
