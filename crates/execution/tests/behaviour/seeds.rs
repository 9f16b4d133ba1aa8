//! Many seeds: whatever is lost, doubled, late or crashes, each deployment has the old plan or the new one on all of its hosts.
use execution::{Answer, Command};

use crate::world::{Faults, HOSTS, MEMORY, MILLISECOND, SECOND, World};

const DEPLOYMENTS: [&str; 2] = ["a", "b"];

/// How often commands ended how.
#[derive(Default)]
struct Count {
    done: u64,
    refused: u64,
    unknown: u64,
    crashes: u64,
    failures: u64,
    rounds: u64,
}

fn command(world: &mut World) -> Command {
    let deployment = *world.random.pick(&DEPLOYMENTS).unwrap();
    let exists = world.judge.holds(deployment).is_some();
    if exists && world.random.chance(25) {
        return Command::Stop { deployment: deployment.to_owned() };
    }
    let mut hosts: Vec<(&str, u64)> = Vec::new();
    for host in HOSTS {
        if world.random.chance(70) {
            hosts.push((host, world.random.range(5, MEMORY / 2)));
        }
    }
    if hosts.is_empty() {
        hosts.push((HOSTS[0], 5));
    }
    let bundle = world.plan(deployment, &hosts);
    // Now and then a command that makes no sense.
    if exists != world.random.one_in(20) { Command::Apply(bundle) } else { Command::Launch(bundle) }
}

fn play(seed: u64) -> Count {
    let mut world = World::new(seed);
    let kinds = [
        Faults::default(),
        Faults { lost: 200, double: 200, late: 100, ..Faults::default() },
        Faults { manager_crash: 8, late: 50, ..Faults::default() },
        Faults { node_crash: 8, late: 50, ..Faults::default() },
        Faults { node_crash: 8, stale: 700, ..Faults::default() },
        Faults { fail: 60, double: 100, ..Faults::default() },
        Faults { cut: 10, late: 30, ..Faults::default() },
        Faults {
            lost: 100,
            double: 100,
            late: 100,
            manager_crash: 4,
            node_crash: 3,
            fail: 15,
            cut: 3,
            stale: 300,
        },
    ];
    let mut count = Count::default();
    world.run(SECOND);
    for round in 0..world.random.range(3, 6) {
        world.context = format!("seed {seed}, round {round}");
        world.faults = *world.random.pick(&kinds).unwrap();
        let mut numbers = Vec::new();
        for _ in 0..world.random.range(1, 3) {
            let command = command(&mut world);
            numbers.extend(world.ask(command));
            let time = world.random.below_u64(2 * SECOND);
            world.run(time);
        }
        for number in numbers {
            match world.until_answered(number) {
                Some(Answer::Done { .. }) => count.done += 1,
                Some(_) => count.refused += 1,
                None => count.unknown += 1,
            }
        }
        if world.random.chance(50) {
            rest(&mut world);
        }
    }
    rest(&mut world);
    Count { crashes: world.crashes, failures: world.failures, rounds: world.judge.rounds, ..count }
}

/// The end of all faults.
fn rest(world: &mut World) {
    world.mend();
    world.run(16 * SECOND);
    let context = world.context.clone();
    world.judge.at_rest(&context);
}

#[test]
fn it_is_the_old_plan_or_the_new_one_on_all_hosts() {
    let mut all = Count::default();
    for seed in tiers::current().seeds("execution.seeds") {
        let played = std::panic::catch_unwind(|| play(seed));
        let count = played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
        all.done += count.done;
        all.refused += count.refused;
        all.unknown += count.unknown;
        all.crashes += count.crashes;
        all.failures += count.failures;
        all.rounds += count.rounds;
    }
    // A single seed that is repeated may have none.
    let kinds = [all.done, all.refused, all.unknown, all.crashes, all.failures, all.rounds];
    assert!(kinds.iter().all(|kind| *kind > 0) || std::env::var_os("PUNCTUAL_SEED").is_some(), "{kinds:?}");
    assert!(all.done > all.refused / 2 || std::env::var_os("PUNCTUAL_SEED").is_some(), "{kinds:?}");
}

/// Each message of an apply in turn is the last that a manager receives.
fn crash_at_every_word(crash: impl Fn(&mut World, u64)) -> (u64, u64, u64) {
    let (mut done, mut refused, mut unknown) = (0, 0, 0);
    for word in 1.. {
        let mut world = World::new(word);
        world.context = format!("word {word}");
        world.run(SECOND);
        let first = world.plan("a", &[("h0", 10), ("h1", 10)]);
        let next = world.plan("a", &[("h1", 20), ("h2", 20)]);
        let number = world.ask(Command::Launch(first.clone())).unwrap();
        assert_eq!(world.until_answered(number), Some(Answer::Done { notes: Vec::new() }));
        let at = world.words + word;
        crash(&mut world, at);
        let number = world.ask(Command::Apply(next.clone())).unwrap();
        let answer = world.until_answered(number);
        let came = world.words >= at;
        rest(&mut world);
        // The plan was launched as a change of several hosts: no process of it is started by anything else.
        for host in HOSTS {
            assert_eq!(world.launch_of(host, "a").unwrap_or_default(), 0, "{}: {host}", world.context);
        }
        let holds = world.judge.holds("a").cloned();
        match answer {
            Some(Answer::Done { .. }) => {
                done += 1;
                assert_eq!(holds, Some(next.file));
            }
            Some(_) => {
                refused += 1;
                assert_eq!(holds, Some(first.file));
            }
            None => {
                unknown += 1;
                assert!(holds == Some(first.file) || holds == Some(next.file), "{holds:?}");
            }
        }
        if !came {
            break;
        }
    }
    (done, refused, unknown)
}

#[test]
fn the_manager_crashes_at_every_word_of_a_change() {
    let (_, refused, unknown) = crash_at_every_word(|world, word| world.manager_crash_at = Some(word));
    assert!(refused == 0 && unknown > 15, "{refused} refused, {unknown} unknown");
}

/// Its processes go on, and are neither started again nor left, also when words for the node manager before come to the next one.
#[test]
fn a_node_manager_crashes_at_every_word_of_a_change() {
    for (host, stale) in HOSTS.into_iter().flat_map(|host| [(host, 0), (host, 1_000)]) {
        let (done, refused, unknown) = crash_at_every_word(|world, word| {
            world.node_crash_at = Some((word, host.to_owned()));
            world.faults.stale = stale;
        });
        assert!(done > 2 && refused > 5 && unknown == 0, "{host}: {done} done, {refused} refused");
    }
}

/// What does not come about leaves the processes of the old plan as they are.
#[test]
fn a_change_that_fails_on_one_host_harms_no_process() {
    let mut refused = 0;
    for seed in 0..40 {
        let mut world = World::new(seed);
        world.context = format!("failing change, seed {seed}");
        world.run(SECOND);
        let first = world.plan("a", &[("h0", 10), ("h1", 10), ("h2", 10)]);
        let number = world.ask(Command::Launch(first)).unwrap();
        world.until_answered(number);
        let before = HOSTS.map(|host| world.launch_of(host, "a"));
        world.faults = Faults { fail: 150, ..Faults::default() };
        let next = world.plan("a", &[("h0", 20), ("h1", 20), ("h2", 20)]);
        let number = world.ask(Command::Apply(next)).unwrap();
        let answer = world.until_answered(number).unwrap();
        world.mend();
        world.run(500 * MILLISECOND);
        if matches!(answer, Answer::Refused { .. }) {
            refused += 1;
            assert_eq!(HOSTS.map(|host| world.launch_of(host, "a")), before, "{}", world.context);
        }
        rest(&mut world);
    }
    assert!(refused > 5, "{refused}");
}
