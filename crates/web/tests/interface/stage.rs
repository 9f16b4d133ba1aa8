//! The interface with a manager that is played: it shows what a test says, and answers what it is asked.
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use control::change_network::{Obstacle, Reloaded};
use control::drain::{Drained, Staying};
use control::others::OtherManager;
use control::report::{
    CablingAlarm, HopReport, HostStatus, LinkReport, MeasuredReport, PairReport, Plugged, Report,
    ReservedStatus, SwitchStatus,
};
use control::tunnels::{TunnelState, TunnelStatus, TunnelWish};
use control::what_if::{Answer, Outcome};
use serde_json::Value;
use testkit::patience::patiently_or;
use web::{Alarm, Command, Place, Publisher, Refused, Running, Said, Settings, Snapshot, TunnelsHeld};
use wire::Guid;

/// Milliseconds since 1970, at some moment.
pub(crate) const NOW: u64 = 1_795_000_000_000;
pub(crate) const WRITER: &str = "01010101000000000000000000000102";
pub(crate) const READER: &str = "01010165000000000000000000000107";

pub(crate) fn id() -> String {
    format!("{WRITER}-{READER}")
}

pub(crate) fn guid(digits: &str) -> Guid {
    let byte = |index: usize| u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).unwrap();
    Guid::from_bytes(std::array::from_fn(byte))
}

/// A flow with what its reader has measured.
pub(crate) fn flow(samples: u64) -> PairReport {
    PairReport {
        writer: WRITER.to_owned(),
        reader: READER.to_owned(),
        from: "camera".to_owned(),
        to: "display".to_owned(),
        topic: "Picture \"</script><b>\\\n".to_owned(),
        state: "admitted",
        reason: String::new(),
        maximum_latency: 5_000_000,
        promised: 5_000_000,
        present: 1_800_000,
        offered_latency: 0,
        offered_separation: 0,
        importance: 3,
        source: "10.0.0.1:5000".to_owned(),
        destination: "10.0.0.2:6000".to_owned(),
        reader_at: "10.0.0.2:6000".to_owned(),
        readers: 1,
        hops: vec![HopReport { port: "camera to s1".to_owned(), level: 2, dscp: 26, share: 900_000 }],
        losses: None,
        measured: Some(MeasuredReport {
            samples,
            late: samples / 100,
            lost: 0,
            worst: 1_200_000,
            median: 300_000 + samples,
            clock_error: Some(20_000),
        }),
    }
}

/// A network of one switch, its flow, and everything else that there can be.
pub(crate) fn snapshot(seconds: u64) -> Snapshot {
    let link = |from: &str, to: &str, load: u64| LinkReport {
        from: from.to_owned(),
        to: to.to_owned(),
        rate: 100_000_000,
        load,
        flows: usize::from(load > 0),
        up: load < 900_000,
        full: false,
        cable: if from == "s1" { "undecided" } else { "unknown" },
    };
    let host = |name: &str| HostStatus {
        name: name.to_owned(),
        addresses: vec!["10.0.0.1".to_owned()],
        switch: "s1".to_owned(),
    };
    let switch = SwitchStatus {
        name: "s1".to_owned(),
        datapath: 1,
        state: "ready",
        drained: false,
        gates: Some(true),
        ports_down: vec![3],
        flows: 1,
        entries: 20,
        contracts: 1,
        meters: 0,
        groups: 0,
        addresses: 4,
    };
    Snapshot {
        time: NOW + seconds * 1_000,
        started: NOW,
        report: Report {
            epoch: 7,
            requests: 1,
            admitted: 1,
            pairs: vec![flow(100 * seconds)],
            switches: vec![switch],
            refused_switches: vec![(9, "it has two ports, and not three".to_owned())],
            hosts: vec![host("camera"), host("display")],
            reserved: ReservedStatus {
                reason: String::new(),
                hosts: 2,
                domains: vec![0],
                octets: 3_000,
                rate: 2_000_000,
            },
            operations: 0,
            cabling: vec![CablingAlarm {
                subject: "port 3 of s1".to_owned(),
                what: "it is no link".to_owned(),
            }],
            plugged: vec![Plugged {
                switch: "s1".to_owned(),
                port: 3,
                planned: String::new(),
                chassis: "02:00:00:00:00:09".to_owned(),
                port_id: "eth0".to_owned(),
                system_name: "desk".to_owned(),
            }],
            access: "Requests are not signed: anybody in the domain may ask, for anything".to_owned(),
            managers: vec![OtherManager {
                participant: "0101".to_owned(),
                name: "punctual grm".to_owned(),
                address: "10.0.0.9".to_owned(),
                role: "stands by",
                shares_store: true,
            }],
        },
        links: vec![
            link("camera", "s1", 400_000),
            link("s1", "camera", 0),
            link("s1", "display", 950_000),
            link("display", "s1", 0),
        ],
        alarms: vec![Alarm { subject: "store".to_owned(), text: "the disk is full".to_owned(), since: NOW }],
    }
}

/// Frames of the flow were dropped.
pub(crate) fn dropped(frames: u64) -> Said {
    Said {
        time: NOW,
        who: "participant 01 on camera".to_owned(),
        what: "dropped",
        text: format!("{frames} frames dropped"),
        warning: true,
        flow: Some((guid(WRITER), guid(READER))),
        frames: Some(Place {
            place: "the gates of s1".to_owned(),
            topic: "Picture".to_owned(),
            how: "dropped",
            frames,
        }),
    }
}

/// The interface, and the manager behind it.
pub(crate) struct Stage {
    pub(crate) publisher: Mutex<Publisher>,
    pub(crate) address: SocketAddr,
    /// What the manager was asked.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    /// Whether it answers.
    pub(crate) answers: Arc<AtomicBool>,
    running: Option<Running>,
    manager: Option<JoinHandle<()>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::of(Settings::new("127.0.0.1:0".parse().unwrap(), None, None, None).unwrap())
    }

    pub(crate) fn of(settings: Settings) -> Self {
        let (publisher, mut commands, running) = web::start(settings).unwrap();
        let (asked, answers) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(true)));
        let (heard, replies) = (Arc::clone(&asked), Arc::clone(&answers));
        let manager = std::thread::spawn(move || {
            while let Some(command) = commands.blocking_recv() {
                heard.lock().unwrap().push(format!("{command:?}"));
                if replies.load(Ordering::Relaxed) {
                    reply(command);
                } else {
                    // It holds on to the question.
                    std::mem::forget(command);
                }
            }
        });
        let address = running.address();
        let (running, manager) = (Some(running), Some(manager));
        Self { publisher: Mutex::new(publisher), address, asked, answers, running, manager }
    }

    /// The same with a snapshot and something that has happened.
    pub(crate) fn shown() -> Self {
        let stage = Self::new();
        stage.show(1);
        stage.show(3);
        stage.publisher.lock().unwrap().say(dropped(7));
        stage.await_metric("punctual_frames_total{");
        stage
    }

    pub(crate) fn show(&self, seconds: u64) {
        self.publisher.lock().unwrap().show(snapshot(seconds));
    }

    pub(crate) fn await_metric(&self, text: &str) {
        patiently_or(
            || format!("{text} did not come: {}", self.get("/metrics").body),
            || self.get("/metrics").body.contains(text).then_some(()),
        );
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn question(&self, body: &[u8]) -> Reply {
        self.send("POST", "/api/v1/requests", &[("Content-Type", "application/json")], body)
    }

    /// Sends a request with these headers and what else it needs.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if headers.iter().all(|(name, _)| *name != "Host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        head += "\r\n";
        self.raw(&[head.as_bytes(), body].concat())
    }

    /// Sends bytes and reads until the end.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = connect(self.address);
        // It may have answered and closed before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Reply::read(&answer)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(manager) = self.manager.take() {
            manager.join().unwrap();
        }
    }
}

fn reply(command: Command) {
    match command {
        Command::WhatIf(question, answer) => {
            let good = Answer {
                outcome: Outcome::Admitted,
                reason: String::new(),
                promised: question.maximum_latency,
                present: 1_000,
                offered_latency: 0,
                offered_separation: 0,
                hops: vec![HopReport { port: "camera to s1".to_owned(), level: 2, dscp: 26, share: 900 }],
                changes: 2,
                yielding: vec!["Other".to_owned()],
                steps: 99,
            };
            let unknown = question.from != "camera";
            let _ =
                answer.send(if unknown { Err("the network has no such host".to_owned()) } else { Ok(good) });
        }
        Command::Tunnels { owner, wanted, answer } => {
            let status = |wish: &TunnelWish| TunnelStatus {
                id: wish.id.clone(),
                state: TunnelState::Admitted,
                reason: String::new(),
                bound: wish.limit,
                offered_limit: 0,
                grant: u64::from(owner),
            };
            let held = TunnelsHeld { epoch: 7, tunnels: wanted.tunnels.iter().map(status).collect() };
            let is_good = wanted.tunnels.iter().all(|wish| wish.limit > 1);
            let _ = answer.send(if is_good { Ok(held) } else { Err("a limit is too short".to_owned()) });
        }
        Command::Reload { check, answer, .. } => {
            let obstacle = Obstacle {
                topic: "Picture".to_owned(),
                from: "camera".to_owned(),
                to: vec!["display".to_owned()],
                reason: "what it was promised would not hold".to_owned(),
            };
            let reloaded = Reloaded { applied: false, obstacles: vec![obstacle] };
            let _ = answer.send(if check { Ok(reloaded) } else { Err("line 3: no node".to_owned()) });
        }
        Command::Drain { switch, answer, .. } => {
            let staying = Staying { flow: "Picture".to_owned(), why: "no other way".to_owned() };
            let drained =
                Drained { leaving: vec!["Other".to_owned()], staying: vec![staying], switch, stored: true };
            let _ = answer.send(match drained.switch.as_str() {
                "s1" => Ok(drained),
                other => Err(format!("the network has no switch {other}")),
            });
        }
        Command::ByHand { pair, reason, who, answer, .. } => {
            let said = match reason.as_str() {
                "busy" => Err(Refused::Now("this flow is being changed".to_owned())),
                _ if pair == (guid(WRITER), guid(READER)) => Ok(format!("done by {who}: {reason}")),
                _ => Err(Refused::Unknown),
            };
            let _ = answer.send(said);
        }
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// An error says what, where, and what to do.
    pub(crate) fn is_wrong(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        let wrong = self.json();
        for key in ["error", "place", "action"] {
            assert!(wrong[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {self:?}");
        }
    }
}
