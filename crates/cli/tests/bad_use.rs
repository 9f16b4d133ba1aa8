//! Wrong use of the command gets an answer that says what is wrong and what to do, and the exit code that says whose fault it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Child, Command, Stdio};

use testkit::namespace::{alone, bare};

/// Exit code and everything that was said.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
    )
}

/// A wrong command line, and what is said of it; nothing is opened for it, so that no namespace is needed.
fn wrong(arguments: &[&str], said: &str) {
    let (code, all) = run(arguments);
    assert_eq!(code, Some(2), "{arguments:?}: {all}");
    assert!(all.contains(said), "{arguments:?}: {all}");
}

#[test]
fn options_and_values_that_do_not_exist() {
    wrong(&["echo", "Square", "--relyable"], "unexpected argument '--relyable' found");
    wrong(&["echoo"], "unrecognized subcommand 'echoo'");
    wrong(&["ls", "--domain", "233"], "233 is not in 0..=232");
    wrong(&["ls", "--peer", "192.0.2.7:99999"], "--peer 192.0.2.7:99999: \"99999\" is no port");
    wrong(
        &["ping", "--timeout", "0"],
        "\"0\" is no time above zero that ends; give one as 100ms, 1.5s or 2min",
    );
    wrong(&["ping", "--spin", "1000"], "give at most 1s, as 50us");
    wrong(&["echo", "Square", "--reliability", "sometimes"], "[possible values: best-effort, reliable]");
    wrong(
        &["echo", "Square", "--deadline", "soon"],
        "\"soon\" is no duration; give one as 100ms, 1.5s, 2min or infinite",
    );
    wrong(&["echo", "Square", "--history", "0"], "\"0\" is no depth; give 1 or more, or all");
    wrong(
        &["pub", "Square", "x: 1", "--type", "ShapeType", "--rate", "0"],
        "\"0\" is no rate; give samples per second",
    );
    wrong(&["ls", "--interface", "eth0", "--loopback"], "cannot be used with");
    wrong(&["ls", "--interface", "eth0", "--interface", "192.0.2.7"], "give names alone, or addresses alone");
}

#[test]
fn a_page_that_others_could_reach_without_a_token_and_tls() {
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../plan/networks/hosts.toml");
    let said = "192.0.2.1:8080 can be reached by others: give --keys FOLDER, or --web-token FILE, and --web-cert FILE with --web-key FILE for TLS";
    wrong(&["grm", network, "--store", "none", "--web", "192.0.2.1"], said);
    wrong(&["grm", network, "--web", "here"], "give an address, as 192.0.2.1");
    wrong(&["grm", network, "--web-token", "file"], "required arguments were not provided");
    wrong(&["grm", network, "--web", "127.0.0.1", "--web-cert", "file"], "--web-key <FILE>");
    let token = ["grm", network, "--store", "none", "--web", "127.0.0.1", "--web-token", "/nowhere/token"];
    wrong(&token, "--web-token: /nowhere/token cannot be read");
}

#[test]
fn each_value_of_settings_has_an_origin() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.env("PUNCTUAL_DOMAIN", "7").env_remove("PUNCTUAL_CONFIG").args([
        "config",
        "explain",
        "--changed",
    ]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "domain  7  PUNCTUAL_DOMAIN\n");
    let (code, schema) = run(&["config", "schema"]);
    assert!(code == Some(0) && schema.contains("\"participant\""), "{schema}");
}

#[test]
fn types_and_samples_that_do_not_fit() {
    wrong(
        &["pub", "Square", "x: 1", "--type", "Circle"],
        "no struct or union with the name Circle; there are: ShapeType, Reading,",
    );
    wrong(
        &["pub", "Square", "x: 1", "--type", "struct A { lung x; };"],
        "--type: line 1, column 12: the type lung is not known",
    );
    wrong(&["config", "explain", "--config", "/nowhere.toml"], "/nowhere.toml: No such file");
    wrong(&["idl", "/nowhere.idl"], "/nowhere.idl: No such file");
    wrong(&["idl", "/nowhere.idl", "--crate", "a b"], "--crate a b: give a path, as crate::middleware");
    wrong(&["pub", "Square", "x: 1", "--idl", "/nowhere.idl"], "/nowhere.idl: No such file");
    wrong(
        &["pub", "Square", "x: red", "--type", "ShapeType"],
        "sample \"x: red\": line 1, column 7: member x: expected a number from -2147483648 to 2147483647, found \"red\"",
    );
    wrong(
        &["pub", "Square", "0001", "--hex", "--type-name", "A"],
        "give at least the four bytes of the encapsulation header",
    );
    wrong(&["pub", "Square", "0001", "--hex"], "give the name of the type by --type-name");
}

#[test]
fn qos_that_contradicts_itself() {
    let publish = |more: &[&str], said: &str| {
        wrong(&[&["pub", "Square", "x: 1", "--type", "ShapeType"], more].concat(), said);
    };
    publish(
        &["--history", "10", "--max-samples-per-instance", "5"],
        "INCONSISTENT_POLICY: HISTORY: depth 10 is more than max_samples_per_instance 5; make the depth at most max_samples_per_instance",
    );
    publish(&["--deadline", "0"], "BAD_PARAMETER: DEADLINE");
    wrong(
        &["echo", "Square", "--type", "ShapeType", "--deadline", "10ms", "--separation", "1s"],
        "INCONSISTENT_POLICY: DEADLINE: period 10 ms is shorter than TIME_BASED_FILTER minimum_separation 1 s",
    );
}

/// A process that ends with this value.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_port_that_is_taken() {
    alone(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let first = command.args(["ls", "--participant-id", "4", "--duration", "60s"]).stdin(Stdio::null());
        let _first = Background(first.spawn().unwrap());
        // Until the first one has its port.
        let mut tries = (0..200).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            run(&["ls", "--participant-id", "4", "--duration", "1ms"])
        });
        let (_, said) = tries.find(|(code, _)| *code == Some(3)).expect("the port is taken in ten seconds");
        assert!(
            said.starts_with(
                "punctual: OUT_OF_RESOURCES: participant_id: participant 4 of domain 0 is there already"
            ),
            "{said}"
        );
        assert!(
            said.contains(
                "give another --participant-id, or none for the first free one; the command ss -ulpn says who has the port"
            ),
            "{said}"
        );
        // Without a wish the next one is taken.
        assert_eq!(run(&["ls", "--duration", "1ms"]).0.map(|code| code < 2), Some(true));
    });
}

#[test]
fn no_usable_interface() {
    bare(|| {
        let (code, said) = run(&["ls", "--duration", "1s"]);
        assert_eq!(code, Some(3));
        assert!(said.starts_with("punctual: PRECONDITION_NOT_MET: interfaces: no usable interface; interface lo: not used: it is off"), "{said}");
        assert!(said.contains("switch one on (ip link set NAME up)"), "{said}");
    });
}

#[test]
fn no_multicast_and_nobody_named() {
    alone(|| {
        let (code, said) = run(&["ls", "--duration", "10ms", "--no-multicast"]);
        assert_eq!(code, Some(1));
        assert!(
            said.contains("no other participant is there; `punctual why` says what may be in the way"),
            "{said}"
        );
        let (code, said) = run(&["why", "--duration", "10ms", "--no-multicast"]);
        assert_eq!(code, Some(1));
        assert!(said.contains("! no other participant is heard in domain 0, nor in another, in 10 ms\n  Let multicast and UDP ports from 7400 on through"), "{said}");
        assert!(
            said.contains(
                "no interface that is used has multicast: only participants that are named are found"
            ),
            "{said}"
        );
        assert!(said.contains("Name hosts with --peer"), "{said}");
    });
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_is_run() {
    let start = std::time::Instant::now();
    let (code, said) = run(&["midas", "--simulate", "--html", "/nope/m.html"]);
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(
        said,
        "punctual midas: --html /nope/m.html: No such file or directory (os error 2); nothing was run\n"
    );
    assert!(start.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn help_teaches_with_examples() {
    for command in
        ["pub", "echo", "ls", "why", "ping", "pong", "plan", "midas", "lab", "gate", "host", "perf"]
    {
        let (code, help) = run(&["help", command]);
        assert_eq!(code, Some(0));
        assert!(help.contains("Examples:") && help.contains(&format!("punctual {command}")), "{help}");
    }
    for command in ["plan", "midas", "lab", "gate", "host"] {
        let (_, help) = run(&["help", command]);
        assert!(help.contains("Exit code:"), "{command} has codes of its own: {help}");
    }
    let (_, help) = run(&["--help"]);
    assert!(help.contains("Exit code:"), "{help}");
}

#[test]
fn options_stand_under_their_own_heading() {
    for command in [&["ping"][..], &["pong"], &["perf", "pub"], &["perf", "sub"], &["pub"], &["echo"]] {
        let (_, help) = run(&[&["help"], command].concat());
        let (own, _) = help.split_once("Domain and network:").expect(&help);
        for option in ["--count", "--duration", "--json", "--rate", "--arrival"] {
            let named = |text: &str| {
                text.lines().any(|line| {
                    line.trim_start().split([' ', ',']).any(|word| word == option)
                        && line.trim_start().starts_with('-')
                })
            };
            assert_eq!(named(&help), named(own), "{command:?} {option}: {help}");
        }
    }
}
