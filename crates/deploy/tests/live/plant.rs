//! The commands of the README that run a plant of 50 components on three hosts, and break it.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use testkit::patience::patiently;

use crate::place::Place;

const README: &str = include_str!("../../../../README.md");
const PAGE: &str = include_str!("../../../../docs/plant.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const COMMANDS: [&str; 2] = ["cargo build --bin punctual --example plant", "scripts/plant"];

/// The script, with the programs that cargo has built for tests; `run` marks its processes.
fn script(run: &str) -> Command {
    // The first of both commands has been run: cargo builds examples with their tests, and `punctual` with those of its package.
    let program = PathBuf::from(Place::example("plant"));
    let built = program.parent().and_then(Path::parent).unwrap();
    assert!(built.join("punctual").is_file(), "punctual is not there: {}", COMMANDS[0]);
    let mut command = Command::new(format!("{ROOT}/scripts/plant"));
    command.env("PUNCTUAL_BUILT", built).env("PLANT_RUN", run).stdin(Stdio::null());
    command
}

/// What marks the processes of a run, also beside other runs of this test.
fn mark(run: &str) -> String {
    format!("{run}-{}", std::process::id())
}

/// Processes of a run that are still there.
fn left(run: &str) -> Vec<u32> {
    let mine = format!("PLANT_RUN={run}");
    let all = std::fs::read_dir("/proc").unwrap();
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mine.as_bytes())
    })
    .collect()
}

fn may_run() -> bool {
    let made = Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "true"]).output();
    let may = made.is_ok_and(|output| output.status.success());
    assert!(may || std::env::var_os("CI").is_none(), "namespaces need root");
    if !may {
        eprintln!("passed over: namespaces need root");
    }
    may
}

fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// What is between two texts.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("{from}: {text}"));
    rest.split_once(to).unwrap_or_else(|| panic!("{to}: {rest}")).0
}

#[test]
fn a_plant_of_three_hosts_is_refused_mended_launched_and_broken() {
    if !may_run() {
        return;
    }
    for command in COMMANDS {
        assert!(README.contains(&format!("`{command}`")) && PAGE.contains(command), "{command}");
    }
    let text = printed(&script(&mark("whole")).output().unwrap());

    // What is refused, and by what it is mended, is as the page says.
    let blocks = PAGE.split("```text\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    let proofs: Vec<&str> = blocks.filter(|block| block.starts_with("$ punctual deploy admit ")).collect();
    assert_eq!(proofs.len(), 2, "refused, and mended");
    for shown in &proofs {
        assert!(text.contains(shown), "{shown}\nis not in\n{text}");
    }
    // The change is the first that was offered.
    let offered = between(proofs[0], "what would admit more:\n  ", "\n");
    assert!(text.contains(&format!("\nchanged: {offered}\n")), "{offered}: {text}");
    assert!(PAGE.contains(&format!("`{offered}`")), "{offered}");

    // All three hosts have followed, with 50 components, and chains over them are measured beside what is proved.
    let status = between(&text, "$ punctual deploy status plant --manager ..\n", "\nplant: ");
    for host in ["field", "control", "room"] {
        assert!(status.contains(&format!("host {host}: there\n")), "{status}");
        assert!(status.contains(&format!("  host {host}: has followed\n")), "{status}");
    }
    assert_eq!(status.matches("deployment plant (").count(), 1, "it is named once for all hosts: {status}");
    let components = status.lines().filter(|line| line.contains("): active; "));
    assert_eq!(components.count(), 50, "{status}");
    let chains: Vec<&str> = status.split("  chain ").skip(1).collect();
    assert_eq!(chains.len(), 8, "each chain is told once: {status}");
    for chain in chains {
        assert!(chain.contains(": proved, as far as the measured times hold\n"), "{chain}");
        let measured = between(chain, "bound ", " measured: median ").rsplit(' ').next().unwrap();
        assert!(measured.parse::<u32>().unwrap() > 0, "{chain}");
        assert!(!chain.contains("bound none") && !chain.contains("not measured"), "{chain}");
    }
    assert!(status.contains(" on the way, "), "{status}");

    // Both faults, and what was told of them.
    let killed = between(&text, "\n$ kill -KILL ", "\nplant: ");
    assert!(killed.contains("process loops: running, pid "), "{killed}");
    assert!(killed.contains(", started again 1 times\n    ended last: killed by signal 9\n"), "{killed}");
    assert!(killed.contains("process io: chain pressure-loop: "), "{killed}");
    let alarm = between(&text, "the control room hears of it\n", "\nplant: ");
    for said in [
        "interlock: trip 1 because of 105",
        "\nalarm: 105 comes: ",
        "\nhorn: 1 for 105",
        "\njournal: 105 comes: ",
    ] {
        assert!(alarm.contains(said), "{said}: {alarm}");
    }
    let cut = between(&text, "\n$ ip link set room down\n", "\nplant: ");
    assert!(cut.contains("host room: away\n") && cut.contains("host room: away; what runs there goes on\n"));
    assert!(cut.contains("chain pressure-loop: proved"), "{cut}");
    let back = between(&text, "\n$ ip link set room up\n", "\nplant: ");
    assert!(back.contains("host room: there\n") && back.contains("host room: has followed\n"), "{back}");
    assert!(back.contains("\n  historian: ") || back.contains("\n  operator: "), "{back}");
    assert!(text.ends_with("nothing is left\n"), "{text}");
    assert_eq!(left(&mark("whole")), [0; 0]);
}

/// Ends a run that was begun, whatever becomes of the test.
struct Begun(Child);

impl Drop for Begun {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_is_left_of_a_plant_that_is_killed() {
    if !may_run() {
        return;
    }
    let run = mark("killed");
    let (printed, writer) = std::io::pipe().unwrap();
    let mut command = script(&run);
    let mut script = Begun(command.stderr(Stdio::null()).stdout(writer).spawn().unwrap());
    drop(command);
    let mut lines = BufReader::new(printed).lines();
    let is_launched = lines.by_ref().any(|line| line.unwrap() == "launched plant");
    assert!(is_launched && !left(&run).is_empty());
    script.0.kill().unwrap();
    script.0.wait().unwrap();
    patiently("the end of all", || left(&run).is_empty().then_some(()));
    let after: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(!after.iter().any(|line| line == "plant: the end"), "it went on: {after:?}");
}
