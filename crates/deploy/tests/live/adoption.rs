//! Managers that are killed: processes go on, and the next manager adopts them.
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::hosts::Site;
use crate::place::{Supervisor, kill};

const STATE: &str = "punctual-deploy/node-west/tracker.state";

/// The state of a process in the west, as the last node manager has left it.
fn left(site: &Site) -> String {
    std::fs::read_to_string(site.west.path(STATE)).unwrap()
}

/// The process id that a status gives a process.
fn pid_of(status: &str, process: &str) -> Option<u32> {
    let line = status.lines().find(|line| line.contains(&format!("process {process}: ")))?;
    line.split(", pid ").nth(1)?.split(',').next()?.parse().ok()
}

#[test]
fn processes_go_on_without_their_node_manager_and_the_next_one_adopts_them() {
    alone(|| {
        let site = Site::new("adopted");
        site.site.has("tracker.toml", &Site::plan());
        let mut manager = site.manager();
        let (mut east, mut west) = (site.node("east"), site.node("west"));
        site.ok("launch {tracker.toml}");
        let before = site.whole();
        let pids = Site::pids(&before);
        let (first, _) = west.position();
        // Both node managers at once, in the middle of the data flow; the display goes on into the pipe of the first one.
        east.kill();
        west.kill();
        let mut count = first;
        let mut follows = |west: &mut Supervisor, more: usize| {
            for _ in 0..more {
                count += 1;
                assert_eq!(west.position().0, count, "an event is missed");
            }
        };
        follows(&mut west, 100);
        let (mut next_east, mut next_west) = (site.begin_node("east"), site.begin_node("west"));
        for next in [&mut next_east, &mut next_west] {
            next.prints("punctual: tracker: processes of the node manager before that are adopted: 1");
            next.prints("punctual: connected to the manager");
        }
        let status = site.whole();
        assert_eq!(Site::pids(&status), pids, "{status}");
        for part in
            ["  host east: has followed\n", "  host west: has followed\n", "display (Display): active; "]
        {
            assert!(status.contains(part), "{part}\n{status}");
        }
        let epoch =
            |status: &str| status.lines().find(|line| line.starts_with("deployment ")).map(str::to_owned);
        assert_eq!(epoch(&status), epoch(&before));
        follows(&mut west, 100);
        // The manager as well, and then one after the other again.
        manager.kill();
        next_west.kill();
        follows(&mut west, 20);
        let mut manager = site.manager();
        let mut last_west = site.node("west");
        assert_eq!(Site::pids(&site.whole()), pids);
        follows(&mut west, 20);
        // They are led as before.
        site.site.has("next.toml", &Site::plan().replace("gain = 0.25", "gain = 1.0"));
        assert_eq!(site.ok("apply {next.toml}"), "applied tracker\n");
        let status = site.whole();
        assert_eq!(Site::pids(&status), pids, "{status}");
        follows(&mut west, 20);
        kill(pid_of(&status, "show").unwrap());
        last_west.prints_with("tracker: process show ended: ");
        last_west.prints_with("tracker: process show runs again");
        let after = site.whole();
        assert_eq!(pid_of(&after, "sense"), pid_of(&status, "sense"));
        assert_ne!(pid_of(&after, "show"), pid_of(&status, "show"));
        assert_eq!(site.ok("stop tracker"), "stopped tracker\n");
        for node in [&mut next_east, &mut last_west] {
            node.interrupt();
            assert!(node.ended().success());
        }
        manager.interrupt();
        manager.ended();
        assert!(site.is_empty());
        assert!(!site.west.path(STATE).exists());
    });
}

#[test]
fn what_is_stopped_while_a_node_manager_is_away_is_stopped_when_the_next_one_is_there() {
    alone(|| {
        let site = Site::new("away");
        site.site.has("tracker.toml", &Site::plan());
        let _manager = site.manager();
        let (east, mut west) = (site.node("east"), site.node("west"));
        site.ok("launch {tracker.toml}");
        site.whole();
        west.kill();
        let out = site.ok("stop tracker");
        assert!(out.contains("note: host west has not ended its processes"), "{out}");
        assert_eq!(site.west.processes().len(), 1);
        let next = site.node("west");
        patiently("the end of all", || {
            let launched = site.deploy("launch {tracker.toml}");
            (launched.0 == 0).then_some(())
        });
        site.ok("stop tracker");
        east.interrupt();
        next.interrupt();
    });
}

/// Nothing is left of processes whose node manager does not come back; one that comes in time finds them as they were.
#[test]
fn a_lease_that_is_over_ends_processes() {
    alone(|| {
        let site = Site::new("lease");
        site.site.has("tracker.toml", &Site::plan());
        let _manager = site.manager();
        let mut east = site.begin_node_with("east", " --lease 10min");
        let mut west = site.begin_node_with("west", " --lease 1s");
        for node in [&mut east, &mut west] {
            node.prints("punctual: connected to the manager");
        }
        site.ok("launch {tracker.toml}");
        let before = site.whole();
        east.kill();
        west.kill();
        patiently("the end of what is in the west", || site.west.processes().is_empty().then_some(()));
        assert_eq!(site.east.processes().len(), 1, "the other lease is not over");
        let (east, mut west) = (site.node("east"), site.begin_node("west"));
        west.prints_with("tracker: process show ended");
        west.prints_with("tracker: process show runs again");
        let after = site.whole();
        assert_eq!(pid_of(&after, "sense"), pid_of(&before, "sense"));
        assert_ne!(pid_of(&after, "show"), pid_of(&before, "show"));
        site.ok("stop tracker");
        east.interrupt();
        west.interrupt();
    });
}

/// What is left is damaged, or of a process that is gone: nothing is adopted that is not what was left, and nothing of others ended.
#[test]
fn a_node_manager_that_cannot_know_what_was_left_begins_nothing() {
    alone(|| {
        let site = Site::new("damaged");
        site.site.has("tracker.toml", &Site::plan());
        let _manager = site.manager();
        let (_east, mut west) = (site.node("east"), site.node("west"));
        site.ok("launch {tracker.toml}");
        let before = site.whole();
        let pids = Site::pids(&before);
        let show = pid_of(&before, "show").unwrap();
        west.kill();
        let state = left(&site);
        let line = format!("node --manager 127.0.0.1 --name west --keys {}", site.keys().display());
        let other_host = state.replace("\"host\":\"west\"", "\"host\":\"east\"");
        for bad in
            [&state[..state.len() / 2], "", &other_host, &state.replace("\"version\":1", "\"version\":2")]
        {
            site.west.has(STATE, bad);
            let (code, _, told) = site.west.deploy(&line);
            assert!(code == 3 && told.contains("tracker.state: "), "{code} {told}");
            assert!(told.contains("neither adopted nor ended"), "{told}");
            assert_eq!(site.west.processes(), [show]);
        }
        site.west.has(STATE, &state);
        let mut next = site.node("west");
        assert_eq!(Site::pids(&site.whole()), pids);

        // Its process ends while no node manager is there, and another one has its id.
        next.kill();
        let state = left(&site);
        kill(show);
        patiently("the end of the display", || site.west.processes().is_empty().then_some(()));
        let mut other = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let its = format!("\"pid\":{}", other.id());
        assert!(state.contains(&format!("\"pid\":{show}")), "{state}");
        site.west.has(STATE, &state.replace(&format!("\"pid\":{show}"), &its));
        let mut last = site.begin_node("west");
        last.prints_with("tracker: process show is not adopted: it ended while no node manager was there");
        last.prints_with("tracker: process show runs again");
        let after = site.whole();
        assert_eq!(pid_of(&after, "sense"), pid_of(&before, "sense"));
        assert!(pid_of(&after, "show") != Some(show), "{after}");
        assert!(other.try_wait().unwrap().is_none(), "a process of somebody else was ended");
        drop(other.stdin.take());
        assert!(other.wait().unwrap().success());
        site.ok("stop tracker");
        last.interrupt();
        last.ended();
        assert!(site.west.processes().is_empty());
    });
}

/// A program that is no component server has no connection: it is known by its process id and its start.
#[test]
fn a_foreign_program_is_adopted() {
    alone(|| {
        let site = Site::new("foreign-adopted");
        let program = "#!/bin/sh\ntrap 'echo \"program ends\"; exit 0' TERM\necho program begins\nwhile :; do sleep 0.1; done\n";
        site.east.has("program", program);
        std::fs::set_permissions(site.east.path("program"), PermissionsExt::from_mode(0o755)).unwrap();
        let path = site.east.path("program");
        let plan = format!(
            "id = \"tracker\"\n[host.east]\n[artefact.program]\nlocation = [\"{}\"]\nkind = \"foreign\"\n\
             [process.back]\nhost = \"east\"\nartefact = \"program\"\nrestart = {{ policy = \"always\", delay = \"10 ms\" }}\n",
            path.display()
        );
        site.site.has("plan.toml", &plan);
        let _manager = site.manager();
        let mut east = site.node("east");
        site.ok("launch {plan.toml}");
        east.prints("program begins");
        let before = pid_of(&site.whole(), "back");
        east.kill();
        let mut next = site.node("east");
        assert_eq!(pid_of(&site.whole(), "back"), before);
        kill(before.unwrap());
        next.prints_with("tracker: process back ended: how is not known");
        next.prints("program begins");
        assert_ne!(pid_of(&site.whole(), "back"), before);
        next.kill();
        let last = site.node("east");
        site.whole();
        assert_eq!(site.ok("stop tracker"), "stopped tracker\n");
        next.prints("program ends");
        last.interrupt();
        patiently("the end of all", || site.east.processes().is_empty().then_some(()));
    });
}

const STAGES: [&str; 5] = ["preparePlan", "passivate", "startLaunch", "finishLaunch", "the change holds"];
const VICTIMS: [&str; 5] = ["manager", "east", "west", "sense", "show"];

/// Each party is killed when a host begins each stage of a change, as its log tells: it is the old plan or the new one on both hosts, and all
/// processes are those of before but one that was killed itself.
#[test]
fn kills_at_each_stage_leave_the_old_plan_or_the_new_one() {
    alone(|| {
        let site = Site::new("kills");
        let plan =
            |number: u64| Site::plan().replace("gain = 0.25", &format!("gain = 0.{}", 10 + number % 80));
        site.site.has("plan-0.toml", &plan(0));
        let mut manager = site.manager();
        let (mut east, mut west) = (site.node("east"), site.node("west"));
        site.ok("launch {plan-0.toml}");
        // Processes write into the pipe of the node manager that started them.
        let mut gone = Vec::new();
        let mut holds = 0;
        let mut counts = [0; 3];
        let mut before = site.whole();
        for number in 1..=5 * tiers::current().number("execution.kills") {
            site.site.has(&format!("plan-{number}.toml"), &plan(number));
            let (stage, victim) = ((number - 1) % 5, (number - 1) / 5 % 5);
            let (stage, victim) = (STAGES[stage as usize], VICTIMS[victim as usize]);
            let context = format!("kill {number}, {victim} at {stage}");
            let mut command = site.site.begin(&Site::asked(&format!("apply {{plan-{number}.toml}}")));
            let line = |line: &str| line.starts_with("punctual: tracker") && line.ends_with(stage);
            east.prints_line(stage, line);
            let pids = ["sense", "show"].map(|process| pid_of(&before, process).unwrap());
            match victim {
                "manager" => {
                    manager.kill();
                    manager = site.manager();
                }
                "east" => {
                    east.kill();
                    gone.push(std::mem::replace(&mut east, site.node("east")));
                }
                "west" => {
                    west.kill();
                    gone.push(std::mem::replace(&mut west, site.node("west")));
                }
                "sense" => kill(pids[0]),
                _ => kill(pids[1]),
            }
            let code = command.ended().code();
            let status = patiently("all that runs", || {
                let (code, status, _) = site.deploy("status tracker");
                // Its end is not known yet.
                let is_early = pid_of(&status, victim).is_some_and(|pid| pids.contains(&pid));
                (code == 0 && !is_early).then_some(status)
            });
            let has = |number: u64| status.contains(&format!("deployment tracker (plan-{number}.toml)"));
            assert!(has(holds) != has(number), "{context}: {status}");
            match code {
                Some(0) => assert!(has(number), "{context}: applied, and {status}"),
                Some(1) => assert!(has(holds), "{context}: refused, and {status}"),
                // It does not know.
                code => assert_eq!(code, Some(3), "{context}"),
            }
            counts[usize::from(has(number)) + usize::from(code == Some(3))] += 1;
            if has(number) {
                holds = number;
            }
            for (name, pid) in ["sense", "show"].into_iter().zip(pids) {
                let is_same = pid_of(&status, name) == Some(pid);
                assert_eq!(is_same, name != victim, "{context}: {name} had {pid}\n{before}\n{status}");
            }
            before = status;
        }
        eprintln!("refused, applied or unknown, unknown and applied: {counts:?}");
        site.ok("stop tracker");
        for node in [&mut east, &mut west] {
            node.interrupt();
            node.ended();
        }
        assert!(site.is_empty());
        drop(gone);
    });
}
