//! The command itself, on real sockets, each test in a network namespace of its own.
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::namespace::{alone, bare, ip};

fn punctual(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = punctual(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

/// A command in the background; it ends with this value.
struct Background(Option<Child>);

impl Background {
    fn start(arguments: &[&str]) -> Self {
        Self(Some(punctual(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Waits for the end.
    fn end(mut self) -> (Option<i32>, String) {
        let Output { status, stdout, .. } = self.0.take().unwrap().wait_with_output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap())
    }

    /// Ctrl-C, and the end.
    fn interrupt(self) -> (Option<i32>, String) {
        let id = i32::try_from(self.0.as_ref().unwrap().id()).unwrap();
        kill(Pid::from_raw(id), Signal::SIGINT).unwrap();
        self.end()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Writes a known type, and stays.
fn talker(more: &[&str]) -> Background {
    let all = [
        &["pub", "Readings", "sensor: 1, celsius: 21.5", "--type", "Reading", "--wait", "0", "--stay"],
        more,
    ];
    Background::start(&all.concat())
}

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
            "--wait-time",
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
        let late = run(&["echo", "Readings", "--count", "1", "--timeout", "60s", "--wait-time", "60s"]);
        assert_eq!(late, (Some(0), "{\"sensor\": 1, \"celsius\": 21.5}\n".to_owned()));
        let (code, listed) = run(&["ls", "--time", "2s"]);
        assert_eq!(code, Some(0));
        assert_eq!(
            listed,
            "domain 0: 1 participant, 1 topic, 1 endpoint (heard in 2 s)\nparticipant \"punctual pub\" (Punctual at 127.0.0.1)\ntopic \"Readings\", type \"Reading\"\n  writer of \"punctual pub\" (Punctual at 127.0.0.1) [00000102]: RELIABLE, TRANSIENT_LOCAL, PARTITION \"left\"\n"
        );
        let (_, listed) = run(&["ls", "--time", "2s", "--json"]);
        let census: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(census["topics"][0]["endpoints"][0]["qos"]["PARTITION"], "\"left\"");
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

#[test]
fn domain_id() {
    alone(|| {
        let talker = talker(&["--domain", "3"]);
        let (code, said) = run(&["why", "Readings", "--time", "5s"]);
        assert_eq!(code, Some(1));
        assert_eq!(
            said,
            "! topic \"Readings\": nobody writes or reads it in domain 0 (heard for 5 s)\n  Start one in domain 0; if it runs, it may have another domain, tag, interface or multicast group. Some announce themselves every 30 s only: --time 35s.\n! participant \"punctual pub\" (Punctual at 127.0.0.1) writes topic \"Readings\", but it is in domain 3, and this is domain 0\n  Give both programs the same domain id (for ROS 2: ROS_DOMAIN_ID); --domain 3 looks into that one.\n"
        );
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

#[test]
fn domain_tag() {
    alone(|| {
        let talker = talker(&["--domain-tag", "blue"]);
        let (code, said) = run(&["why", "--time", "5s"]);
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
        let (code, said) = run(&["why", "--time", "6s"]);
        assert_eq!(code, Some(1));
        assert_eq!(
            said,
            "topic \"Readings\": 1 writer, 1 reader, 0 of 1 pair match\n! topic \"Readings\": writer of \"punctual pub\" (Punctual at 127.0.0.1) and reader of \"punctual echo\" (Punctual at 127.0.0.1) do not match: RELIABILITY: offered BEST_EFFORT, requested RELIABLE\n  Let the writer offer RELIABLE, or the reader ask for BEST_EFFORT.\n"
        );
        assert_eq!((talker.interrupt().0, listener.interrupt().0), (Some(0), Some(0)));
    });
}

#[test]
fn no_interface() {
    bare(|| {
        assert_eq!(
            run(&["why", "--time", "1s"]),
            (
                Some(1),
                "! this host: interfaces: no usable interface; interface lo: not used: it is off or has no carrier (ip link set lo up)\n  Switch one on (ip link set NAME up), or choose others in the configuration.\n".to_owned()
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
        ip("link set eth7 up multicast off");
        assert_eq!(
            run(&["why", "--time", "1s", "--interface", "eth7"]),
            (
                Some(1),
                "! this host: multicast: no interface that is used has multicast, and there are no static peers; interface lo: not used: the configuration names others; interface eth8: not used: the configuration names others; interface eth7: 10.9.0.1/24, datagrams of 1472 octets, no multicast\n  Give static peers, or use an interface with multicast (ip link set NAME multicast on), or multicast = false.\n".to_owned()
            )
        );
    });
}
