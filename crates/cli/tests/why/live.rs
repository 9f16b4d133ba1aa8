//! The command itself, on real sockets, each test in a network namespace of its own.
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use testkit::patience::patiently;

use crate::namespace::{alone, bare, ip, switch_on};

pub(crate) fn punctual(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = punctual(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

/// The same with a text as standard input.
fn feed(arguments: &[&str], text: &str) -> (Option<i32>, String) {
    let mut command = punctual(arguments);
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = process.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

/// A command in the background, and what it says.
pub(crate) struct Background(testkit::background::Background);

impl Background {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = punctual(arguments);
        Self(testkit::background::Background::start(command.stdout(Stdio::piped()).stderr(Stdio::piped())))
    }

    /// Waits for the end.
    pub(crate) fn end(self) -> (Option<i32>, String) {
        let (code, said, _) = self.end_with_errors();
        (code, said)
    }

    /// Ctrl-C, and the end.
    pub(crate) fn interrupt(self) -> (Option<i32>, String) {
        self.signal();
        self.end()
    }

    /// Ctrl-C.
    pub(crate) fn signal(&self) {
        self.0.signal();
    }

    /// Waits for the end; what was said on standard error as well.
    pub(crate) fn end_with_errors(self) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.0.end();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }
}

/// Writes a known type, and stays.
pub(crate) fn talker(more: &[&str]) -> Background {
    Background::start(&[&TALKER[..], more].concat())
}

const TALKER: [&str; 8] =
    ["pub", "Readings", "sensor: 1, celsius: 21.5", "--type", "Reading", "--wait-for", "0", "--stay"];

#[test]
fn what_is_published_is_echoed_and_listed() {
    alone(|| {
        let echo =
            Background::start(&["echo", "Readings", "--type", "Reading", "--count", "3", "--timeout", "60s"]);
        let written = run(&[
            "pub",
            "Readings",
            "{sensor: 7, celsius: 21.5}",
            "{\"sensor\": 8}",
            "--type",
            "struct Reading { @key uint32 sensor; double celsius; };",
            "--timeout",
            "60s",
        ]);
        assert_eq!(written, (Some(0), String::new()));
        let (code, shown) = echo.end();
        assert_eq!(code, Some(0));
        let mut lines: Vec<&str> = shown.lines().collect();
        // The writer leaves: whichever instance is told of first.
        assert!(lines.pop().unwrap().starts_with("# no writers: {\"sensor\": "), "{shown}");
        assert_eq!(lines, ["{\"sensor\": 7, \"celsius\": 21.5}", "{\"sensor\": 8, \"celsius\": 0.0}"]);
        let talker = talker(&["--durability", "transient-local", "--partition", "left"]);
        let late = run(&["echo", "Readings", "--count", "1", "--timeout", "60s"]);
        assert_eq!(late, (Some(0), "{\"sensor\": 1, \"celsius\": 21.5}\n".to_owned()));
        let (code, listed) = run(&["ls", "--duration", "2s"]);
        assert_eq!(code, Some(0));
        assert_eq!(
            listed,
            "domain 0: 1 participant, 1 topic, 1 endpoint (heard in 2 s)\nparticipant \"punctual pub\" (Punctual at 127.0.0.1)\ntopic \"Readings\", type \"Reading\"\n  writer of \"punctual pub\" (Punctual at 127.0.0.1) [00000102]: RELIABLE, TRANSIENT_LOCAL, PARTITION \"left\"\n"
        );
        let (_, listed) = run(&["ls", "--duration", "2s", "--json"]);
        let census: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(census["topics"][0]["endpoints"][0]["qos"]["PARTITION"], "\"left\"");
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

/// What `punctual echo --format text` shows is what `punctual pub --format text` reads, also from one command to the other.
#[test]
fn text_goes_from_echo_to_pub() {
    alone(|| {
        let idl = "struct In { long x; }; struct Out { @key uint32 sensor; string name; sequence<In> parts; @optional long none; };";
        let shown = |topic: &str| {
            let options = ["--type", idl, "--format", "text", "--count", "2", "--timeout", "60s"];
            Background::start(&[&["echo", topic][..], &options].concat())
        };
        let echo = shown("First");
        let samples = ["{\"sensor\": 7, \"name\": \"a\\n#\"}", "sensor: 8\nparts: [\n  {x: 1}\n  {}\n]"];
        let written = run(&["pub", "First", samples[0], samples[1], "--type", idl, "--timeout", "60s"]);
        assert_eq!(written, (Some(0), String::new()));
        let (code, text) = echo.end();
        assert_eq!(code, Some(0));
        let expected = "sensor: 7\nname: \"a\\n#\"\nparts: []\n---\nsensor: 8\nname: \"\"\nparts: [\n  {\n    x: 1\n  }\n  {\n    x: 0\n  }\n]\n---\n";
        let (samples, rest) = text.split_at(expected.len().min(text.len()));
        assert_eq!(samples, expected, "{text}");
        assert!(rest.is_empty() || rest.starts_with("# no writers: {\"sensor\": "), "{text}");
        let echo = shown("Second");
        let wrong = format!("# a line that is no sample\n{text}sensor: 9\nnam: x\n---\n");
        let (code, said) =
            feed(&["pub", "Second", "--type", idl, "--format", "text", "--timeout", "60s"], &wrong);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(", column 4: Out has no member \"nam\"; it has "), "{said}");
        assert!(said.contains("; the sample is not written\n"), "{said}");
        let (code, again) = echo.end();
        assert_eq!(code, Some(0));
        assert!(again.starts_with(expected), "{again}");
    });
}

#[test]
fn domain_id() {
    alone(|| {
        let talker = talker(&["--domain", "3"]);
        let (code, said) = run(&["why", "Readings", "--duration", "5s"]);
        assert_eq!(code, Some(1));
        assert_eq!(
            said,
            "! topic \"Readings\": no endpoint writes or reads it in domain 0 (heard for 5 s)\n  Start one in domain 0; if it runs, it may have another domain, tag, interface or multicast group. Some announce themselves every 30 s only: --duration 35s.\n! participant \"punctual pub\" (Punctual at 127.0.0.1) writes topic \"Readings\", but it is in domain 3, and this is domain 0\n  Give both programs the same domain id (for ROS 2: ROS_DOMAIN_ID); --domain 3 looks into that one.\n"
        );
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

#[test]
fn domain_id_over_ipv6() {
    alone(|| {
        ip("link add eth7 type veth peer name eth8");
        ip("link set eth8 up");
        ip("addr add fd00::7/64 dev eth7 nodad");
        switch_on("eth7");
        let talker = talker(&["--domain", "3", "--ipv6", "--interface", "eth7"]);
        let (code, said) = run(&["why", "--duration", "5s"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(AT_FD00_7), "{said}");
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

const AT_FD00_7: &str =
    "! participant \"punctual pub\" (Punctual at fd00::7) is in domain 3; this is domain 0\n";

/// The interface comes when the command listens already, and the participant is on another host behind it.
#[test]
fn domain_id_at_an_interface_that_comes_later() {
    // On a busy machine interface and participant may come after the command has ended: then it listens for longer.
    for duration in ["8s", "60s"] {
        let mut told = None;
        alone(|| told = Some(why_beside_a_late_interface(duration)));
        // Without the right to make a namespace it is passed over.
        let Some((code, said)) = told else { return };
        if said.contains(AT_FD00_7) {
            return assert_eq!(code, Some(1), "{said}");
        }
        println!("not heard in {duration}: {said}");
    }
    panic!("the participant was not heard");
}

/// What the command says that listens for so long; the interface comes, and a participant behind it, once it listens.
fn why_beside_a_late_interface(duration: &str) -> (Option<i32>, String) {
    let why = Background::start(&["why", "--duration", duration]);
    let last = format!(":{:04X} ", rtps::ports::metatraffic_multicast(232).unwrap());
    patiently("the socket of the last domain", || {
        let sockets = std::fs::read_to_string("/proc/thread-self/net/udp").unwrap();
        sockets.contains(&last).then_some(())
    });
    let host = "ip link set lo up; until ip -o link show dev eth8 | grep -q ' state UP '; do sleep 0.01; done; exec \"$@\"";
    let mut far = Command::new("unshare");
    far.args(["--net", "sh", "-c", host, "sh", env!("CARGO_BIN_EXE_punctual")]);
    far.args(TALKER).args(["--domain", "3", "--ipv6", "--interface", "eth8"]);
    far.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let talker = testkit::background::Background::start(&mut far);
    let process = talker.process();
    let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    patiently("another host", || {
        std::fs::read_link(format!("/proc/{process}/ns/net")).ok().filter(|its| *its != own)
    });
    ip(&format!("link add eth7 type veth peer name eth8 netns {process}"));
    for line in ["ip addr add fd00::7/64 dev eth8 nodad", "ip link set eth8 up"] {
        let inside = format!("--net=/proc/{process}/ns/net {line}");
        testkit::namespace::run("nsenter", &inside);
    }
    switch_on("eth7");
    why.end()
}

#[test]
fn findings_as_json() {
    alone(|| {
        let talker = talker(&["--reliability", "best-effort"]);
        let listener = Background::start(&["echo", "Readings", "--reliability", "reliable"]);
        let elsewhere = Background::start(&[
            "pub",
            "Others",
            "sensor: 1",
            "--type",
            "struct R { int32 sensor; };",
            "--wait-for",
            "0",
            "--stay",
            "--domain",
            "5",
        ]);
        let (code, said) = run(&["why", "Readings", "--json", "--duration", "6s"]);
        assert_eq!(code, Some(1));
        let seen: serde_json::Value = serde_json::from_str(&said).unwrap();
        let finding = &seen["findings"][0];
        assert_eq!((&finding["problem"], &finding["about"]), (&true.into(), &"pairs".into()), "{said}");
        assert!(finding["what"].as_str().unwrap().ends_with("offered BEST_EFFORT, requested RELIABLE"));
        assert_eq!(finding["todo"], "Let the writer offer RELIABLE, or the reader ask for BEST_EFFORT.");
        let topic = serde_json::json!(
            { "name": "Readings", "writers": 1, "readers": 1, "pairs": 1, "pairs_matched": 0 }
        );
        assert_eq!(seen["topics"], serde_json::json!([topic]));
        assert_eq!((&seen["domain"], &seen["watched_ns"]), (&0.into(), &6_000_000_000_u64.into()));
        assert_eq!(seen["participants"].as_array().unwrap().len(), 2, "{said}");
        assert_eq!(seen["neighbours"][0]["domain"], 5, "{said}");
        assert_eq!(seen["received"]["writers"], 1, "its own reader takes what is offered: {said}");
        assert!(seen["host"].as_array().is_some_and(|lines| !lines.is_empty()));
        for background in [talker, listener, elsewhere] {
            assert_eq!(background.interrupt().0, Some(0));
        }
    });
    bare(|| {
        let (code, said) = run(&["why", "--json", "--duration", "1s"]);
        let seen: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, &seen["findings"][0]["about"]), (Some(1), &"host".into()));
        assert!(seen.get("domain").is_none(), "there was nothing to be seen: {said}");
    });
}

#[test]
fn domain_tag() {
    alone(|| {
        let talker = talker(&["--domain-tag", "blue"]);
        let (code, said) = run(&["why", "--duration", "5s"]);
        assert_eq!(code, Some(1));
        assert_eq!(
            said,
            "! participant \"punctual pub\" (Punctual at 127.0.0.1) has the domain tag \"blue\"; here it is \"\"\n  Give both programs the same domain tag; --domain-tag \"blue\" looks into that one.\n"
        );
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

#[test]
fn a_mismatch_is_seen_from_outside() {
    alone(|| {
        let talker = talker(&["--reliability", "best-effort"]);
        let listener = Background::start(&["echo", "Readings", "--reliability", "reliable"]);
        let (code, said) = run(&["why", "--duration", "6s"]);
        assert_eq!(code, Some(1));
        assert_eq!(
            said,
            "topic \"Readings\": 1 writer, 1 reader, 0 of 1 pairs match\n! topic \"Readings\": writer of \"punctual pub\" (Punctual at 127.0.0.1) and reader of \"punctual echo\" (Punctual at 127.0.0.1) do not match: RELIABILITY: offered BEST_EFFORT, requested RELIABLE\n  Let the writer offer RELIABLE, or the reader ask for BEST_EFFORT.\n"
        );
        assert_eq!((talker.interrupt().0, listener.interrupt().0), (Some(0), Some(0)));
    });
}

#[test]
fn no_interface() {
    bare(|| {
        assert_eq!(
            run(&["why", "--duration", "1s"]),
            (
                Some(1),
                "! this host: interfaces: no usable interface; interface lo: not used: it is off or has no carrier (ip link set lo up)\n  Switch one on (ip link set NAME up), or choose others with --interface.\n".to_owned()
            )
        );
    });
}

#[test]
fn no_multicast() {
    alone(|| {
        ip("link add eth7 type veth peer name eth8");
        ip("link set eth8 up");
        ip("addr add 10.9.0.1/24 dev eth7");
        ip("link set eth7 multicast off");
        switch_on("eth7");
        assert_eq!(
            run(&["why", "--duration", "1s", "--interface", "eth7"]),
            (
                Some(1),
                "! this host: multicast: no interface that is used has multicast, and there are no static peers; interface lo: not used: --interface or --loopback names others; interface eth8: not used: --interface or --loopback names others; interface eth7: 10.9.0.1/24, datagrams of 1472 bytes, no multicast\n  Name hosts with --peer, or use an interface with multicast (ip link set NAME multicast on), or --no-multicast.\n".to_owned()
            )
        );
    });
}

#[test]
fn no_route() {
    alone(|| {
        ip("link add eth7 type veth peer name eth8");
        ip("link set eth8 up");
        ip("addr add 10.9.0.1/24 dev eth7");
        switch_on("eth7");
        let (code, said) = run(&["why", "--duration", "2s", "--no-multicast", "--peer", "192.0.2.7:7410"]);
        assert_eq!(code, Some(1));
        let line = said.lines().find(|line| line.contains("unreachable")).expect(&said);
        let rest = line.trim_start_matches("! this host: discovery 0.0.0.0:7410: ");
        let (count, rest) = rest.split_once(' ').unwrap();
        assert!(count.parse::<u32>().unwrap() > 0, "{line}");
        assert_eq!(rest, "datagrams unreachable");
        assert!(said.contains("\n  There is no route: `ip route` shows those that there are; "), "{said}");
    });
}

#[test]
fn lines_of_standard_input_are_published_and_octets_are_shown() {
    use std::io::Write as _;
    alone(|| {
        let echo = Background::start(&[
            "echo",
            "Square",
            "--hex",
            "--type-name",
            "ShapeType",
            "--count",
            "2",
            "--timeout",
            "60s",
        ]);
        let mut publish = punctual(&["pub", "Square", "--type", "ShapeType", "--timeout", "60s"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = publish.stdin.take().unwrap();
        input.write_all(b"{\"color\": \"RED\", \"x\": 1}\n\ncolor: BLUE\n").unwrap();
        drop(input);
        assert_eq!(publish.wait().unwrap().code(), Some(0));
        let (code, shown) = echo.end();
        assert_eq!(code, Some(0), "{shown}");
        assert_eq!(
            shown,
            "000100000400000052454400010000000000000000000000\n0001000005000000424c554500000000000000000000000000000000\n"
        );
    });
}
