//! Requests and answers as lines of JSON: what they look like, and that what is wrong is no request.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::{IpAddr, Ipv4Addr};

use gate::protocol::{Answer, Counters, LONGEST_REQUEST, Refusal, Request, VERSION, check_version};
use gate::{Contract, Key, Kind};

const KEY: Key = Key {
    source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    source_port: 7_413,
    destination: IpAddr::V4(Ipv4Addr::new(239, 255, 0, 9)),
    destination_port: 7_401,
};
const CONTRACT: Contract = Contract {
    kind: Kind::Messages,
    octets: 5_064,
    separation: 5_000_000,
    tolerance: 300_000,
    window: 600_000,
    dscp: 46,
};

#[test]
fn a_request_looks_like_this() {
    let line = r#"{"request":"set","port":1,"key":{"source":"10.0.0.1","source-port":7413,"destination":"239.255.0.9","destination-port":7401},"contract":{"octets":5064,"separation":5000000,"tolerance":300000,"window":600000,"dscp":46}}"#;
    let request = Request::Set { port: 1, key: KEY, contract: CONTRACT };
    assert_eq!(serde_json::to_string(&request).unwrap(), line);
    assert_eq!(serde_json::from_str::<Request>(line).unwrap(), request);
    assert_eq!(serde_json::from_str::<Request>(r#"{"request":"list"}"#).unwrap(), Request::List);
    assert!(line.len() * 2 < LONGEST_REQUEST);
}

#[test]
fn answers_are_read_as_they_were_written() {
    let counters = Counters { messages: 1, frames: 2, octets: 3, early: 4, rest: 5, cut: 6, excess: 7 };
    assert_eq!(counters.dropped(), 15);
    let bucket = Contract { kind: Kind::Bucket, tolerance: 0, window: 0, ..CONTRACT };
    for answer in [
        Answer::Version { version: 7 },
        Answer::Set { port: 1, key: Key::metatraffic(0).unwrap(), contract: bucket },
        Answer::Set { port: 1, key: KEY, contract: CONTRACT },
        Answer::Removed { port: 1, key: KEY, counters: Some(counters) },
        Answer::Cleared { contracts: 3 },
        Answer::List { ports: Vec::new(), contracts: Vec::new() },
        Answer::Limit { port: 2, frames: 20_000 },
    ] {
        let line = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<Answer>(&line).unwrap(), answer, "{line}");
    }
}

/// What an agent of version 1 answers, which does not know the request, and one of a later version.
#[test]
fn agents_of_another_version_are_refused() {
    assert_eq!(serde_json::to_string(&Request::Version).unwrap(), r#"{"request":"version"}"#);
    let read = |line: &str| check_version(&serde_json::from_str(line).unwrap());
    assert_eq!(read(&format!(r#"{{"answer":"version","version":{VERSION}}}"#)), Ok(()));
    let old = r#"{"answer":"refused","reason":"malformed","what":"unknown variant `version`"}"#;
    assert!(read(old).unwrap_err().contains("speaks version 1, and this program 4: start the agent"));
    assert!(read(r#"{"answer":"version","version":2}"#).unwrap_err().contains("speaks version 2"));
    assert!(read(r#"{"answer":"version","version":9}"#).unwrap_err().contains("speaks version 9"));
    let full = Answer::Refused { reason: Refusal::Full, what: "there are 8 clients already".to_owned() };
    assert!(check_version(&full).unwrap_err().contains("8 clients"));
    assert!(check_version(&Answer::Cleared { contracts: 0 }).is_err());
}

#[test]
fn what_is_no_request_is_refused() {
    for line in [
        "",
        "{}",
        "[]",
        r#"{"request":"open"}"#,
        r#"{"request":"limit","port":1}"#,
        r#"{"request":"limit","port":-1,"frames":1}"#,
        r#"{"request":"limit","port":1,"frames":1,"more":1}"#,
        r#"{"request":"remove","port":1,"key":{"source":"10.0.0","source-port":1,"destination":"0.0.0.0","destination-port":1}}"#,
    ] {
        assert!(serde_json::from_str::<Request>(line).is_err(), "{line}");
    }
    for (request, why) in [
        (Request::Limit { port: 1, frames: 0 }, "a limit of 0 frames per second: give 1 to 10000000"),
        (
            Request::Set { port: 1, key: KEY, contract: Contract { separation: 0, ..CONTRACT } },
            "a separation of 0 or above an hour",
        ),
        (
            Request::Set { port: 1, key: Key { destination_port: 0, ..KEY }, contract: CONTRACT },
            "a key needs the address that the flow comes from and the port that it goes to",
        ),
    ] {
        assert_eq!(request.check(), Err(why.to_owned()));
    }
    assert_eq!(Request::List.check(), Ok(()));
}

#[test]
fn the_document_shows_requests_as_they_are() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"request\"")).collect();
    assert_eq!(lines.len(), 7);
    for line in lines {
        let request: Request = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!((request.check(), serde_json::to_string(&request).unwrap()), (Ok(()), line.to_owned()));
    }
}
