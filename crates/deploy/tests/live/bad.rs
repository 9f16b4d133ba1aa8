//! Plans, programs and control lines that are wrong: a clear error, and nothing is started.
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::place::Place;

#[test]
fn plans_that_cannot_be_launched_start_nothing() {
    let place = Place::new("bad-plans");
    let plan = Place::plan();
    let program = Place::example("tracker");
    for (from, to, expected) in [
        (
            "tick.period = \"10 ms\"",
            "fix.lane = \"control\"",
            "tracker.toml:25:12: the timer \"tick\" has no period",
        ),
        ("to = [\"airframe.fix\"]", "to = [\"airframe.fx\"]", "did you mean \"fix\"?"),
        (program.as_str(), "/nowhere", "artefact tracker: there is no file /nowhere"),
        ("[artefact.tracker]", "[artefact.tracker]\ndigest = \"sha256:00\"", "digest"),
        ("gain = 0.25", "gain = 7.0", "gain"),
        (
            "host = \"here\"\nartefact = \"tracker\"\nrestart",
            "host = \"here\"\nrestart",
            "nothing says what the process \"sense\" executes",
        ),
    ] {
        place.has("tracker.toml", &testkit::changed(&plan, from, to));
        let (code, out, told) = place.deploy("launch {tracker.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{to}: {told}");
        assert!(told.contains(expected), "{to}: {told}");
        assert_eq!(place.processes(), Vec::<u32>::new());
    }
    let two = plan.replace("[host.here]\ncores = 1", "[host.here]\ncores = 1\n[host.there]\ncores = 1");
    let two = two.replacen("[process.show]\nhost = \"here\"", "[process.show]\nhost = \"there\"", 1);
    place.has("tracker.toml", &two);
    let (code, _, told) = place.deploy("launch {tracker.toml}");
    assert!(code == 2 && told.contains("here, there: say which host this is, by --host NAME"), "{told}");
    let (code, _, told) = place.deploy("launch {tracker.toml} --host her");
    assert!(code == 2 && told.contains("did you mean \"here\"?"), "{told}");
}

/// A chain with a limit is a demand: without a proof nothing is started, and nothing that runs is changed.
#[test]
fn chains_without_a_proof_start_nothing() {
    testkit::namespace::alone(|| {
        let place = Place::new("unproved");
        let chain = "\n[chain.fix]\npath = [\"gps.tick\", \"airframe.fix\"]\nreaction = \"1 ms\"\n";
        let plan = Place::plan() + chain;
        place.has("tracker.toml", &plan);
        let (code, out, told) = place.deploy("launch {tracker.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        for part in ["not every chain and connection of the plan is proved", "fix: no bound: ", "--unproved"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(place.processes(), Vec::<u32>::new());
        place.has("before.toml", &Place::plan());
        let mut supervisor = place.launch("before.toml");
        let (code, _, told) = place.deploy("apply {tracker.toml}");
        assert!(code == 1 && told.contains("fix: no bound: "), "{told}");
        assert!(place.ok("status tracker").contains("before.toml)"));
        supervisor.interrupt();
        assert!(supervisor.ended().success());
        let mut supervisor = place.launched("launch --unproved {tracker.toml}");
        supervisor.interrupt();
        assert!(supervisor.ended().success());
    });
}

#[test]
fn programs_that_are_no_component_servers_are_told() {
    let place = Place::new("bad-programs");
    for (program, expected) in [
        ("/bin/true", "is no component server"),
        ("/bin/false", "--describe ends with exit status: 1: it is no component server"),
        ("/nowhere", "No such file"),
        ("/bin/echo", "is no component server"),
    ] {
        let (code, out, told) = place.deploy(&format!("describe {program}"));
        assert!(code != 0 && out.is_empty() && told.contains(expected), "{program}: {code} {told}");
    }
    for (program, expected) in [("/bin/true", "exit code 0"), ("/bin/cat", "process")] {
        place.has("tracker.toml", &Place::plan().replace(&Place::example("tracker"), program));
        let (code, out, told) = place.deploy("launch {tracker.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{program}: {told}");
        assert!(told.contains("not launched: ") && told.contains(expected), "{program}: {told}");
        assert_eq!(place.processes(), Vec::<u32>::new());
    }
}

#[test]
fn control_lines_that_mean_nothing_are_refused() {
    testkit::namespace::alone(|| {
        let place = Place::new("bad-lines");
        place.has("tracker.toml", &Place::plan());
        let mut supervisor = place.launch("tracker.toml");
        let pids = place.pids();
        let long = "x".repeat(70_000);
        for (text, expected) in [
            ("\n", "EOF while parsing"),
            ("\"launch\"\n", "unknown variant"),
            ("{\"apply\":{\"plan\":\"/nowhere.toml\"}}\n", "nowhere.toml"),
            ("{\"apply\":{\"plan\":\"/nowhere.toml\",\"x\":1}}\n", "unknown field"),
            (long.as_str(), "a line has more than 65536 bytes"),
        ] {
            let mut stream = UnixStream::connect(place.socket()).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            let mut told = String::new();
            let _ = stream.read_to_string(&mut told);
            assert!(told.starts_with("{\"refused\":") && told.contains(expected), "{text:.80}: {told}");
        }
        // Wrong plans are told with their lines, by the command and by the supervisor.
        place.has("next.toml", &Place::plan().replace("airframe.fix", "airframe.fx"));
        let (code, _, told) = place.deploy("apply {next.toml}");
        assert!(code == 1 && told.contains('^') && told.contains("did you mean \"fix\"?"), "{told}");
        place.has("other.toml", &Place::plan().replace("id = \"tracker\"", "id = \"other\""));
        let (code, _, told) = place.deploy("apply {other.toml}");
        assert!(code == 1 && told.contains("deployment other: it does not run"), "{told}");
        assert_eq!(place.pids(), pids);
        supervisor.interrupt();
        assert!(supervisor.ended().success());
    });
}

/// Cores that the system does not have: the plan runs, and the status says that its bounds mean nothing there.
#[test]
fn what_the_system_refuses_to_threads_is_in_the_status() {
    testkit::namespace::alone(|| {
        let place = Place::new("refused");
        let plan = testkit::changed(&Place::plan(), "cores = 1\n", "cores = 1024\n");
        let lane = "lanes.control = { threads = 1 }";
        let cores = "lanes.control = { threads = 1, cores = [1023] }";
        place.has("tracker.toml", &testkit::changed(&plan, lane, cores));
        let mut supervisor = place.launch("tracker.toml");
        let line = testkit::patience::patiently("a refusal", || {
            let status = place.ok("status tracker");
            status.lines().find(|line| line.starts_with("    no bound holds here: ")).map(str::to_owned)
        });
        assert!(line.contains("cores"), "{line}");
        assert!(place.ok("status tracker --json").contains("\"refused\":[\""));
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
    });
}
