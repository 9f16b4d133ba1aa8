//! `punctual reserve` in a lab of three domains with Linux routers: programs that know nothing of sessions get them, and keep their rate in a flood.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::wan::{WanFile, WanLab};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::conversation::Conversation;
use testkit::namespace::alone;
use testkit::patience::{patiently, patiently_or};

const LINE: &str = include_str!("../../wan-server/examples/linux/line.toml");
const FILES: [(u32, &str, &str); 3] = [
    (65_001, "west", include_str!("../../wan-server/examples/linux/west.toml")),
    (65_002, "transit", include_str!("../../wan-server/examples/linux/transit.toml")),
    (65_003, "east", include_str!("../../wan-server/examples/linux/east.toml")),
];
/// Long enough for a busy machine.
const PATIENT: &str =
    "[limits]\nrefresh = \"500 ms\"\nlifetime = \"50 s\"\nguard = \"5 s\"\npatience = \"30 s\"\n";
const TOPICS: &str = r#"
[[topic]]
name = "Square"
written = "on-event"
size = 60
separation = "30 ms"
burst = 4
latency = "120 ms"

[[topic]]
name = "Pictures"
written = "on-event"
size = 600
separation = "12 ms"
burst = 2
latency = "120 ms"
"#;
/// Cyclone DDS without multicast, which does not pass routers.
const CYCLONE: &str = "<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast></General>\
     <Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address=\"10.1.0.2\"/><Peer address=\"10.3.0.2\"/></Peers></Discovery></Domain></CycloneDDS>";

/// A process that is asked to end with this value, and waited for.
struct Program {
    child: Child,
    output: PathBuf,
}

impl Program {
    fn lines(&self) -> usize {
        std::fs::read_to_string(&self.output).unwrap().lines().count()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

/// Three domains, their managers, and what watches for AS 65001.
struct Stage<'l> {
    lab: &'l WanLab,
    folder: PathBuf,
    managers: Vec<Program>,
}

impl Stage<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn punctual(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.env("XDG_RUNTIME_DIR", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Runs a command of ours to its end: what it prints.
    fn said(&self, words: &[&str]) -> String {
        let output = self.punctual().args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn start(&self, name: &str, mut command: Command, host: Option<&str>) -> Program {
        let output = self.path(&format!("{name}.out"));
        let told = File::create(self.path(&format!("{name}.log"))).unwrap();
        command.stdout(File::create(&output).unwrap()).stderr(told);
        let mut spawn = || command.spawn().unwrap();
        let child = match host {
            Some(host) => self.lab.on(host, spawn).unwrap(),
            None => spawn(),
        };
        Program { child, output }
    }

    /// A command of ours on a host.
    fn on(&self, host: &str, name: &str, words: &[&str]) -> Program {
        let mut command = self.punctual();
        command.args(words);
        self.start(name, command, Some(host))
    }

    /// So many sessions are there.
    fn sessions(&self, count: usize) {
        let is = format!("AS 65001: {count} sessions of its callers");
        let status = || self.said(&["rm", "status", "--asn", "65001"]);
        patiently_or(|| format!("{is}: {}", status()), || status().contains(&is).then_some(()));
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.managers.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn stage(lab: &WanLab) -> Stage<'_> {
    let folder = std::env::temp_dir().join(format!("punctual-reserve-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut stage = Stage { lab, folder, managers: Vec::new() };
    stage.said(&["grm", "keys", "keys", "domain-65001", "domain-65002", "domain-65003"]);
    let router = format!("\"{}-router", lab.record().name);
    for (asn, name, text) in FILES {
        let text =
            text.replace("\"line-router", &router).replacen("[linux]\n", &format!("{PATIENT}\n[linux]\n"), 1);
        std::fs::write(stage.path(&format!("{name}.toml")), text).unwrap();
        let mut command = stage.punctual();
        command.args([
            "rm",
            "serve",
            &format!("{name}.toml"),
            "--keys",
            "keys",
            "--store",
            &format!("{name}.redb"),
        ]);
        let manager = stage.start(&format!("{asn}"), command, None);
        stage.managers.push(manager);
    }
    for (asn, ..) in FILES {
        let asn = asn.to_string();
        patiently("connections between all managers", || {
            (stage.said(&["rm", "status", "--asn", &asn]).matches(": connected").count() == 2).then_some(())
        });
    }
    stage
}

/// A test with a lab; passed over if none can be built here.
fn in_lab(test: impl FnOnce(&Stage<'_>) + Send) {
    let Some(_turn) = lab_turn::turn() else { return };
    alone(|| {
        let file = WanFile::read("line.toml", LINE).unwrap();
        let lab = WanLab::up(&file, &lab_turn::name(), &Arc::new(AtomicBool::new(false))).unwrap();
        test(&stage(&lab));
    });
}

/// `punctual reserve` for AS 65001, on another host than that of the writers.
fn watcher(stage: &Stage<'_>) -> Conversation {
    watcher_of(stage, TOPICS, &[])
}

/// The same for these topics, with more options.
fn watcher_of(stage: &Stage<'_>, topics: &str, more: &[&str]) -> Conversation {
    std::fs::write(stage.path("topics.toml"), topics).unwrap();
    let mut command = stage.punctual();
    command.args([
        "reserve",
        "topics.toml",
        "--network",
        "west.toml",
        "--account",
        "ann",
        "--service",
        "alarms",
    ]);
    command.args(["--host-share", "5ms", "--shared-memory", "off", "--no-multicast"]);
    command.args(["--peer", "10.1.0.2", "--peer", "10.3.0.2"]).args(more);
    stage.lab.on("flood", || Conversation::start("reserve", command)).unwrap()
}

/// More than the links carry, from another host, while this lives; it is there when this returns.
fn flood(stage: &Stage<'_>) -> [Program; 2] {
    let dds = [
        "--domain",
        "1",
        "--best-effort",
        "--no-multicast",
        "--participant-id",
        "0",
        "--shared-memory",
        "off",
    ];
    let sub = [&["perf", "sub", "--json", "--topic", "flood", "--peer", "10.1.1.2"][..], &dds].concat();
    let publish = [
        "perf", "pub", "--json", "--topic", "flood", "--peer", "10.3.0.2", "--rate", "900", "--size", "1000",
    ];
    let reader = stage.on("c", "flood-sub", &sub);
    let writer = stage.on("flood", "flood-pub", &[&publish[..], &dds].concat());
    let is_lossy = |line: &str| line.contains("\"lost\":") && !line.contains("\"lost\":0,");
    patiently_or(
        || format!("a full link: {}", reader.text()),
        || reader.text().lines().any(is_lossy).then_some(()),
    );
    [reader, writer]
}

#[test]
fn unmodified_programs_get_a_session_keep_their_rate_in_a_flood_and_lose_it_with_their_match() {
    in_lab(|stage| {
        let watcher = watcher(stage);
        let program = Path::new(env!("CARGO_BIN_EXE_punctual")).with_file_name("shape_main");
        assert!(program.is_file(), "cargo build --package punctual-shapes makes {}", program.display());
        let mut command = Command::new(program);
        command.args(["-P", "-t", "Square", "-b", "-k", "0", "-w"]).stdin(Stdio::null());
        let writer = stage.start("shapes", command, Some("a"));
        let echo = ["echo", "Square", "--shared-memory", "off", "--no-multicast", "--peer", "10.1.0.2"];
        let reader = stage.on("c", "echo", &echo);
        let told = watcher.hear("Square from 10.1.0.2 to 10.3.0.2:7411: session 65001-");
        for part in
            ["of 120 ms: the writer's host 5 ms (by --host-share), the network at most ", " of 110 ms"]
        {
            assert!(told.contains(part), "{told}");
        }
        stage.sessions(1);
        patiently("samples", || (reader.lines() > 5).then_some(()));
        let flood = flood(stage);
        // Without a session six of ten are lost. Discovery is best effort: should the programs lose each other for a while, the next samples count.
        patiently_or(
            || format!("a time without losses: {} of {}", reader.lines(), writer.lines()),
            || {
                let (sent, came) = (writer.lines(), reader.lines());
                patiently("samples that are written", || (writer.lines() >= sent + 60).then_some(()));
                let sent = writer.lines() - sent;
                ((reader.lines() - came) * 100 >= sent * 90).then_some(())
            },
        );
        drop(writer);
        drop(flood);
        watcher.hear("Square from 10.1.0.2 to 10.3.0.2:7411: writer and reader match no more");
        stage.sessions(0);
    });
}

#[test]
fn programs_of_cyclone_dds_get_a_session_and_keep_their_rate_in_a_flood() {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers").join("cyclone/bin/python");
    if !python.exists() {
        assert!(std::env::var_os("CI").is_none(), "{} is missing: run scripts/peers", python.display());
        eprintln!("passed over: {} is missing: run scripts/peers", python.display());
        return;
    }
    in_lab(|stage| {
        let watcher = watcher(stage);
        let program = |verb: &str| {
            let mut command = Command::new(&python);
            command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grm/cyclone.py"));
            command.args([verb, "Pictures", "100", "600"]).env("CYCLONEDDS_URI", CYCLONE);
            command
        };
        let mut reader = stage.lab.on("c", || Conversation::start("reader", program("read"))).unwrap();
        reader.hear("ready");
        let mut command = program("write");
        command.stdin(Stdio::null());
        let writer = stage.start("writer", command, Some("a"));
        watcher.hear("Pictures from 10.1.0.2 to 10.3.0.2:7411: session 65001-");
        stage.sessions(1);
        let flood = flood(stage);
        // The hundred next samples: how many of how many came.
        patiently("a time without losses", || {
            reader.tell("");
            let line = reader.hear("");
            let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            (numbers[0] * 100 >= numbers[1] * 90).then_some(())
        });
        drop(flood);
        drop(writer);
        watcher.hear("Pictures from 10.1.0.2 to 10.3.0.2:7411: writer and reader match no more");
        stage.sessions(0);
    });
}

/// What a participant needs to be found beyond routers.
fn beyond_routers(peer: &str) -> dds::config::Config {
    let mut config = dds::config::Config::default();
    config.network.multicast = false;
    config.shared_memory.enabled = false;
    config.discovery.static_peers = vec![peer.parse().unwrap()];
    config.discovery.host_share = Some(dds::Duration::from_millis(7));
    // Announcements are best effort in the network, and a flood takes most of them.
    config.discovery.lease_duration = dds::Duration::from_secs(600);
    config.assurance.sessions = true;
    config
}

#[derive(dds::DdsType, Clone, Debug, Default)]
struct Picture {
    number: u32,
    bytes: Vec<u8>,
}

#[test]
fn a_program_of_ours_follows_its_session_and_keeps_its_samples_in_a_flood() {
    in_lab(|stage| {
        let watcher = watcher(stage);
        let participant = |host: &str, peer: &str| {
            let make = || dds::Participant::builder(0).config(beyond_routers(peer)).create().unwrap();
            stage.lab.on(host, make).unwrap()
        };
        let (here, there) = (participant("a", "10.3.0.2"), participant("c", "10.1.0.2"));
        let reader = there.reader::<Picture>("Pictures").best_effort().keep_all().create().unwrap();
        let mut qos = dds::qos::DataWriterQos::default();
        qos.endpoint.reliability = dds::qos::Reliability::BEST_EFFORT;
        qos.endpoint.reliability.max_blocking_time = dds::Duration::from_secs(60);
        qos.endpoint.history = dds::qos::History::KeepAll;
        qos.session_flow_controller = Some(dds::qos::Publishing::Synchronous);
        let writer = here.writer::<Picture>("Pictures").qos(qos).create().unwrap();
        // Shares that participants announce are larger than what the operator says.
        let told = watcher.hear("Pictures from 10.1.0.2 to 10.3.0.2:7411: session 65001-");
        for part in ["the writer's host 7 ms (announced)", " of 106 ms", "the reader's host 7 ms (announced)"]
        {
            assert!(told.contains(part), "{told}");
        }
        let granted = |sessions: Vec<dds::session::PairSession>| {
            let state = dds::session::SessionState::Granted;
            sessions.into_iter().find(|session| session.state == state)
        };
        let at_writer = patiently("the writer's session", || granted(writer.sessions()));
        let at_reader = patiently("the reader's session", || granted(reader.sessions()));
        assert_eq!(at_writer, at_reader);
        let session = at_writer.session.as_str();
        assert!(told.contains(&format!("session {session},")) && told.contains("the network at most "));
        assert_eq!(at_writer.writer_host, dds::Duration::from_millis(7));
        // A writer alone has all of its flow, but for what is rounded.
        let status = stage.said(&["rm", "status", "--asn", "65001", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let bucket = at_writer.bucket.expect("a token bucket");
        let held = status.to_string();
        let is_held = held.contains(&format!("\"rate\":{},", bucket.rate + 1));
        assert!(is_held, "{bucket:?} in {held}");
        // In the flood. Without a session six of ten samples are lost, and never this many in a row arrive. Where the machine delays packets for
        // long before the edge, some are lost with a session, too: the next ones count. Edges count each packet as one of the largest, and the
        // bucket counts bytes: so samples are written at a pace, slower than described.
        let flood = flood(stage);
        let (written, mut last, mut in_a_row) = (std::cell::Cell::new(0), None, 0);
        patiently_or(
            || format!("200 samples in a row of {}, with {:?}", written.get(), writer.sessions()),
            || {
                for _ in 0..20 {
                    writer.write(&Picture { number: written.get(), bytes: vec![7; 590] }).unwrap();
                    written.set(written.get() + 1);
                    std::thread::sleep(std::time::Duration::from_millis(15));
                }
                while let Some(sample) = reader.take_next_sample().unwrap() {
                    let next = sample.data.map(|picture| picture.number);
                    let follows = last.zip(next).is_some_and(|(last, next)| next == last + 1);
                    in_a_row = if follows { in_a_row + 1 } else { 0 };
                    last = next;
                }
                (in_a_row >= 200).then_some(())
            },
        );
        drop(flood);
        // The reader is gone: so is the session, and the bucket.
        there.delete_contained_entities().unwrap();
        let is_over = |sessions: Vec<dds::session::PairSession>| {
            let over = dds::session::SessionState::Over;
            sessions.iter().all(|session| session.state == over && session.bucket.is_none()).then_some(())
        };
        patiently("the end at the writer", || is_over(writer.sessions()));
        stage.sessions(0);
    });
}

#[test]
fn discovery_has_room_in_both_directions_beside_samples_of_its_class() {
    in_lab(|stage| {
        let make = |host: &str, peer: &str| {
            let make = || dds::Participant::builder(0).config(beyond_routers(peer)).create().unwrap();
            stage.lab.on(host, make).unwrap()
        };
        let (here, there) = (make("a", "10.3.0.2"), make("c", "10.1.0.2"));
        let _reader = there.reader::<Picture>("Pictures").best_effort().create().unwrap();
        let _writer = here.writer::<Picture>("Pictures").create().unwrap();
        // State is in AF4, as discovery is: alarms would be in EF, and routers do not set up two classes for one session.
        let state = TOPICS
            .replace("on-event", "on-change")
            .replace("separation = \"12 ms\"", "separation = \"50 ms\"")
            .replace("120 ms", "900 ms");
        let watcher = watcher_of(stage, &state, &["--discovery", "40 kbit/s"]);
        watcher.hear("Pictures from 10.1.0.2 to 10.3.0.2:7411: session 65001-");
        let status = stage.said(&["rm", "status", "--asn", "65001", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let flows = status["status"]["sessions"][0]["flows"].as_array().unwrap_or_else(|| panic!("{status}"));
        let of = |kind: &str| flows.iter().filter(|flow| flow["kind"] == kind).collect::<Vec<_>>();
        let directions: Vec<&serde_json::Value> =
            of("discovery").iter().map(|flow| &flow["direction"]).collect();
        assert_eq!((of("data").len(), of("acknack").len()), (1, 0), "{status}");
        assert!(directions.len() == 2 && directions[0] != directions[1], "{status}");
        assert!(of("discovery").iter().all(|flow| flow["class"] == "af4"), "{status}");
    });
}
