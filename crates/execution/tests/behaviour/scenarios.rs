//! What happens in one case each: adoption, hosts that are away, resources, commands that make no sense.
use deployment::Position;
use execution::{Answer, Command};

use crate::world::{HOSTS, MILLISECOND, SECOND, World};

fn world(name: &str) -> World {
    let mut world = World::new(1);
    world.context = name.to_owned();
    world.run(SECOND);
    world
}

fn done(world: &mut World, command: Command) {
    let number = world.ask(command).unwrap();
    assert_eq!(world.until_answered(number), Some(Answer::Done { notes: Vec::new() }), "{}", world.context);
}

fn refused(world: &mut World, command: Command) -> String {
    let number = world.ask(command).unwrap();
    match world.until_answered(number) {
        Some(Answer::Refused { what }) => what,
        other => panic!("{}: {other:?}", world.context),
    }
}

fn stop(deployment: &str) -> Command {
    Command::Stop { deployment: deployment.to_owned() }
}

#[test]
fn hosts_go_on_without_a_manager_and_the_next_one_adopts_them() {
    let mut world = world("adoption");
    let plan = world.plan("a", &[("h0", 10), ("h1", 10)]);
    done(&mut world, Command::Launch(plan.clone()));
    let launches = HOSTS.map(|host| world.launch_of(host, "a"));
    world.crash_manager();
    world.run(5 * SECOND);
    assert_eq!(HOSTS.map(|host| world.launch_of(host, "a")), launches);
    // The next one knows the state of both hosts within a second, from their reports.
    let number = world.ask(Command::Status { deployment: None }).unwrap();
    world.run(SECOND);
    let number = world.ask(Command::Status { deployment: Some("a".to_owned()) }).unwrap_or(number);
    world.run(7 * SECOND);
    let Some(Answer::Status { deployments, hosts }) = world.answers.get(&number) else { panic!("no status") };
    assert!(hosts.iter().all(|(_, is_there)| *is_there) && hosts.len() == 3, "{hosts:?}");
    assert!(deployments[0].hosts.iter().all(|host| host.runs == deployments[0].epoch), "{deployments:?}");
    assert_eq!(HOSTS.map(|host| world.launch_of(host, "a")), launches);
    let next = world.plan("a", &[("h1", 10), ("h2", 10)]);
    done(&mut world, Command::Apply(next));
    done(&mut world, stop("a"));
    world.judge.at_rest("after adoption");
}

#[test]
fn processes_go_on_without_their_node_manager_and_the_next_one_adopts_them() {
    let mut world = world("node managers");
    let plan = world.plan("a", &[("h0", 10), ("h1", 10)]);
    done(&mut world, Command::Launch(plan));
    let (working, launches) = (world.judge.had.clone(), HOSTS.map(|host| world.launch_of(host, "a")));
    for host in ["h0", "h1", "h0"] {
        world.crash_node(host);
        assert_eq!(world.judge.had, working);
        world.run(8 * SECOND);
        assert_eq!(world.judge.had, working);
        assert_eq!(HOSTS.map(|host| world.launch_of(host, "a")), launches);
    }
    let next = world.plan("a", &[("h1", 10), ("h2", 10)]);
    done(&mut world, Command::Apply(next));
    // What is stopped while nobody is there is ended by the next one.
    world.crash_node("h1");
    let number = world.ask(stop("a")).unwrap();
    world.until_answered(number);
    world.run(8 * SECOND);
    world.judge.at_rest("after adoption");
    assert!(world.judge.had.is_empty(), "{:?}", world.judge.had);
}

#[test]
fn a_host_that_is_cut_off_kills_nothing() {
    let mut world = world("lease");
    let plan = world.plan("a", &[("h0", 10), ("h1", 10)]);
    done(&mut world, Command::Launch(plan));
    let launch = world.launch_of("h1", "a").unwrap();
    let end = world.now + 600 * SECOND;
    world.cut_off("h1", end);
    world.run(590 * SECOND);
    assert_eq!(world.launch_of("h1", "a"), Some(launch));
    let next = world.plan("a", &[("h0", 10)]);
    let what = refused(&mut world, Command::Apply(next));
    assert!(what.contains("host h1 is not there: start punctual deploy node --name h1"), "{what}");
}

#[test]
fn what_was_stopped_while_a_host_was_away_is_stopped_when_it_returns() {
    let mut world = world("away");
    let plan = world.plan("a", &[("h0", 10), ("h1", 10)]);
    done(&mut world, Command::Launch(plan));
    let end = world.now + 100 * SECOND;
    world.cut_off("h1", end);
    let number = world.ask(stop("a")).unwrap();
    let Some(Answer::Done { notes }) = world.until_answered(number) else { panic!("not stopped") };
    assert!(notes[0].contains("host h1 has not ended its processes"), "{notes:?}");
    assert!(world.launch_of("h0", "a").is_none() && world.launch_of("h1", "a").is_some());
    // Until then nothing else gets its name: two epochs would exchange events.
    let plan = world.plan("a", &[("h0", 10)]);
    let what = refused(&mut world, Command::Launch(plan.clone()));
    assert!(what.contains("h1 may still have processes of it"), "{what}");
    // That is not forgotten by a manager that begins meanwhile.
    world.crash_manager();
    world.run(6 * SECOND);
    let what = refused(&mut world, Command::Launch(plan.clone()));
    assert!(what.contains("h1 may still have processes of it"), "{what}");
    world.mend();
    world.run(2 * SECOND);
    assert!(world.launch_of("h1", "a").is_none());
    done(&mut world, Command::Launch(plan));
    world.run(SECOND);
    world.judge.at_rest("after the return");
}

#[test]
fn resources_are_for_all_plans_together_and_for_old_and_new() {
    let mut world = world("resources");
    let first = world.plan("a", &[("h0", 40)]);
    done(&mut world, Command::Launch(first));
    let other = world.plan("b", &[("h0", 70)]);
    let what = refused(&mut world, Command::Launch(other));
    assert!(what.contains("110 of memory are required on \"h0\"") && what.contains("it has 100"), "{what}");
    let other = world.plan("b", &[("h0", 30)]);
    done(&mut world, Command::Launch(other));
    // While one follows the other, both are there.
    let next = world.plan("a", &[("h0", 31)]);
    let what = refused(&mut world, Command::Apply(next));
    assert!(what.contains("101 of memory"), "{what}");
    let next = world.plan("a", &[("h0", 30)]);
    done(&mut world, Command::Apply(next));
}

#[test]
fn commands_that_make_no_sense_are_refused_with_advice() {
    let mut world = world("senseless");
    let plan = world.plan("a", &[("h0", 10)]);
    let what = refused(&mut world, Command::Apply(plan.clone()));
    assert!(what.contains("deployment a does not run: punctual deploy launch starts it"), "{what}");
    let what = refused(&mut world, stop("a"));
    assert!(what.contains("does not run"), "{what}");
    let elsewhere = world.plan("a", &[("h9", 10)]);
    let what = refused(&mut world, Command::Launch(elsewhere));
    assert!(what.contains("host h9 is not there"), "{what}");
    done(&mut world, Command::Launch(plan.clone()));
    let other = world.plan("a", &[("h0", 10)]);
    let what = refused(&mut world, Command::Launch(other));
    assert!(what.contains("deployment a runs: punctual deploy apply"), "{what}");
    let mut broken = world.plan("a", &[("h0", 10)]);
    broken.plan += "[host.h0\n";
    let file = broken.file.clone();
    let what = refused(&mut world, Command::Launch(broken));
    assert!(what.contains(&file), "{what}");
    let mut dependent = world.plan("b", &[("h0", 10)]);
    dependent.plan = format!("depends-on = [\"c\"]\n{}", dependent.plan);
    let what = refused(&mut world, Command::Launch(dependent));
    assert!(what.contains("depends on the deployment c, which does not run"), "{what}");
    let number = world.ask(Command::Read { deployment: "a".to_owned() }).unwrap();
    let Some(Answer::Plan { bundle, .. }) = world.until_answered(number) else { panic!("no plan") };
    assert_eq!(bundle, plan);
}

#[test]
fn a_manager_that_loses_the_connection_takes_back_what_is_not_decided() {
    let mut world = world("lost");
    let plan = world.plan("a", &[("h0", 10), ("h1", 10)]);
    done(&mut world, Command::Launch(plan));
    let next = world.plan("a", &[("h0", 20), ("h1", 20)]);
    let number = world.ask(Command::Apply(next)).unwrap();
    world.run(300 * MILLISECOND);
    let end = world.now + 20 * SECOND;
    world.cut_off("h1", end);
    let Some(Answer::Refused { what }) = world.until_answered(number) else { panic!("not refused") };
    assert!(what.contains("host h1: the connection to it has ended"), "{what}");
    world.run(8 * SECOND);
    // The host that is cut off has taken it back, too, by itself.
    assert!(HOSTS[..2].iter().all(|host| world.launch_of(host, "a").is_some()));
}

/// What a host says of rounds and of what was published there goes to all other hosts: it is compared with the plan that holds.
#[test]
fn a_host_that_says_of_a_change_what_cannot_be_is_refused() {
    let mut world = world("strange");
    let plan = world.plan("a", &[("h0", 10), ("h1", 10)]);
    done(&mut world, Command::Launch(plan));
    let position = |end: &str, source: &str| Position { end: end.into(), source: source.into(), sequence: 1 };
    let writers = ["a", "b", "c"].map(|source| position("h1-0", source));
    // A plan of two hosts has six components, and a connection to one of them one writer, or two.
    let cases: [(u32, &[Position], &str); 5] = [
        (7, &[], "7 rounds are needed between events, and 6 are the most"),
        (
            1,
            &[position("x", "a")],
            "host h1 says what it has published by the connection x, which does not begin there",
        ),
        (1, &[position("h0-0", "a")], "the connection h0-0, which does not begin there"),
        (
            1,
            &[position("h1-0", &"a".repeat(65))],
            "a writer of the connection h1-0 by 65 bytes, and 64 are the most",
        ),
        (1, &writers, "host h1 names more than 2 writers of the connection h1-0"),
    ];
    for (rounds, published, expected) in cases {
        world.hosts.get_mut("h1").unwrap().says = Some((rounds, published.to_vec()));
        let next = world.plan("a", &[("h0", 20), ("h1", 20)]);
        let what = refused(&mut world, Command::Apply(next));
        assert!(what.contains(expected), "{what}");
    }
    world.hosts.get_mut("h1").unwrap().says = None;
    let next = world.plan("a", &[("h0", 20), ("h1", 20)]);
    done(&mut world, Command::Apply(next));
}
