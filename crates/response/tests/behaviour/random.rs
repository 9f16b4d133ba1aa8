//! Rules on systems that seeds make: more work never makes a bound smaller, and no system makes the analysis panic or go on for ever.
use response::{
    Analysis, Full, Join, Keep, Limits, Order, Reason, Scheduling, SourceKind, Stall, Step, System, Target,
    Throttling, analyse, problems,
};
use testkit::random::Random;

use super::Build;

/// A system without problems: a few cores, lanes of all kinds, components with and without locks, ports that push, call, write and join.
fn random_system(random: &mut Random) -> System {
    let mut build = Build::default();
    let hosts = random.range(1, 2);
    for _ in 0..hosts {
        let host = build.host(random.range(1, 2) as usize);
        let it = &mut build.system.hosts[host];
        let cost = |random: &mut Random, most| if random.chance(40) { random.range(0, most) } else { 0 };
        (it.wake, it.switch, it.dispatch, it.slack) =
            (cost(random, 50), cost(random, 20), cost(random, 20), cost(random, 50));
        (it.drift, it.error) = (cost(random, 200_000), cost(random, 1_000));
        if random.chance(20) {
            it.stalls.push(Stall { length: random.range(1, 300), distance: random.range(5_000, 50_000) });
        }
        if random.chance(20) {
            it.throttling = Some(Throttling { runtime: 95_000, period: 100_000 });
        }
    }
    let lanes = random.range(1, 5);
    for _ in 0..lanes {
        let host = random.below(build.system.hosts.len());
        let cores = build.system.hosts[host].cores;
        let threads: Vec<usize> =
            (0..if random.chance(20) { 2 } else { 1 }).map(|_| random.below(cores)).collect();
        let scheduling = match random.below(12) {
            0 => Scheduling::Other,
            1 => Scheduling::Deadline { runtime: 1_000, deadline: random.range(1_000, 8_000), period: 8_000 },
            _ => Scheduling::Fifo(random.range(1, 9) as u8),
        };
        let lane = build.lane_on(host, &threads, scheduling);
        if random.chance(20) {
            build.system.lanes[lane].order = Order::EarliestDeadline;
        }
    }
    for _ in 0..random.range(1, 4) {
        let host = random.below(build.system.hosts.len());
        build.component(host, random.chance(70));
    }
    let ports = random.range(1, 7) as usize;
    for index in 0..ports {
        let component = random.below(build.system.components.len());
        let host = build.system.components[component].host;
        let of_host: Vec<usize> =
            (0..build.system.lanes.len()).filter(|it| build.system.lanes[*it].host == host).collect();
        let lane = if index > 0 && random.chance(25) { None } else { random.pick(&of_host).copied() };
        let most = random.range(0, 600);
        let port = build.port_of(component, lane, &[Step::Run { least: random.range(0, most), most }]);
        let it = &mut build.system.ports[port];
        (it.deadline, it.depth) = (Some(random.range(100, 20_000)), random.range(1, 6));
        it.parallel = random.chance(20);
        it.policy = if random.chance(20) { Full::Reject } else { Full::DropOldest };
        // From the ports before: queues, calls, registers.
        if index > 0 {
            for _ in 0..random.range(0, 2) {
                let from = random.below(index);
                let target = match (lane, random.below(5)) {
                    (None, _) => Target::Direct(port),
                    (Some(_), 0) => build.register(port),
                    (Some(_), _) => Target::Queue(port),
                };
                let connection = build.connect(from, target);
                let of = |port: usize| build.system.components[build.system.ports[port].component].host;
                if of(from) != of(port) {
                    build.transfer(connection, 10, random.range(10, 500));
                }
            }
        }
        if lane.is_some() && random.chance(60) {
            let period = random.range(2_000, 40_000);
            build.source(
                port,
                match random.below(4) {
                    0 => SourceKind::Sporadic { separation: period },
                    1 => SourceKind::Periodic {
                        period,
                        jitter: random.range(0, 2 * period),
                        gap: random.range(0, period / 4),
                    },
                    _ => SourceKind::Timer { period, jitter: random.range(0, 100), phase: None },
                },
            );
            let timer = matches!(build.system.sources.last().unwrap().kind, SourceKind::Timer { .. });
            if timer && random.chance(15) {
                build.system.ports[port].interval = Some(random.range(500, period));
            }
        }
    }
    if random.chance(40) {
        let lane = random.below(build.system.lanes.len());
        let port = build.port(lane, 1, random.range(1, 300));
        let keep = [Keep::First, Keep::Last, Keep::All(2)][random.below(3)];
        build.system.ports[port].deadline = Some(5_000);
        build.system.ports[port].join =
            Some(Join { parts: 2, keep, within: random.chance(30).then(|| random.range(1_000, 90_000)) });
        for part in 0..2 {
            let from = random.below(port);
            let connection = build.connect(from, Target::Part { port, part });
            let of = |port: usize| build.system.components[build.system.ports[port].component].host;
            if of(from) != of(port) {
                build.transfer(connection, 10, 300);
            }
        }
    }
    // A chain from each source along the first connections.
    for source in 0..build.system.sources.len() {
        let (mut port, mut path) = (build.system.sources[source].port, Vec::new());
        while path.len() < 4 {
            let pushes = build.system.ports[port].steps.iter().find_map(|step| match step {
                Step::Push { output, .. } => Some(*output),
                Step::Run { .. } => None,
            });
            let Some(connection) = pushes else { break };
            path.push(connection);
            port = build.system.connections[connection].port(&build.system.registers).unwrap();
        }
        build.chain(source, &path);
    }
    build.system
}

/// What fits only by chance, such as circles of calls, is left out.
fn sound_systems(seed: u64, mut each: impl FnMut(u64, &mut Random, &System)) -> u64 {
    let mut sound = 0;
    for index in 0..tiers::current().number("response.systems") {
        let mut random = Random::of_case(seed, index);
        let system = random_system(&mut random);
        if problems(&system).is_empty() {
            sound += 1;
            each(index, &mut random, &system);
        }
    }
    sound
}

/// Asserts that no bound of `more` is smaller than that of `less`.
fn assert_grows(case: u64, less: &Analysis, more: &Analysis, ages: bool) {
    let at_most = |less: Result<u64, _>, more: Result<u64, _>| {
        more.is_err() || less.is_ok_and(|less| less <= more.unwrap())
    };
    for (port, (less, more)) in less.ports.iter().zip(&more.ports).enumerate() {
        assert!(at_most(less.response, more.response), "case {case}: port {port}: {less:?} {more:?}");
        assert!(at_most(less.backlog, more.backlog), "case {case}: port {port}: {less:?} {more:?}");
    }
    for (chain, (less, more)) in less.chains.iter().zip(&more.chains).enumerate() {
        assert!(
            !ages || at_most(less.reaction, more.reaction),
            "case {case}: chain {chain}: {less:?} {more:?}"
        );
        assert!(!ages || at_most(less.age, more.age), "case {case}: chain {chain}: {less:?} {more:?}");
    }
}

const LIMITS: Limits = Limits { steps: 3_000_000, horizon: 100_000_000 };

#[test]
fn more_work_makes_no_bound_smaller() {
    let (mut bounded, mut all, mut stopped) = (0, 0, 0);
    let sound = sound_systems(11, |case, random, system| {
        let before = analyse(system, LIMITS).unwrap();
        if before.ports.iter().any(|port| port.response == Err(Reason::Steps)) {
            // All or nothing: with more work it may be found sooner that a lane has too much.
            stopped += 1;
            return;
        }
        all += before.chains.len();
        bounded += before.chains.iter().filter(|chain| chain.reaction.is_ok()).count();

        let mut longer = system.clone();
        let port = random.below(longer.ports.len());
        if let Some(Step::Run { most, .. }) = longer.ports[port].steps.first_mut() {
            *most += random.range(1, 300);
        }
        assert_grows(case, &before, &analyse(&longer, LIMITS).unwrap(), true);

        // More often: what samples or joins may wait less.
        let mut oftener = system.clone();
        for source in &mut oftener.sources {
            match &mut source.kind {
                SourceKind::Timer { period, .. } if oftener.ports[source.port].interval.is_none() => {
                    *period -= *period / 5
                }
                SourceKind::Sporadic { separation } => *separation -= *separation / 3,
                SourceKind::Timer { .. } | SourceKind::Periodic { .. } => {}
            }
        }
        assert_grows(case, &before, &analyse(&oftener, LIMITS).unwrap(), false);

        let mut another = Build { system: system.clone() };
        let host = random.below(system.hosts.len());
        let core = random.below(system.hosts[host].cores);
        let lane = another.lane_on(host, &[core], Scheduling::Fifo(random.range(1, 9) as u8));
        let component = (0..system.components.len()).find(|it| system.components[*it].host == host);
        if let Some(component) = component {
            let port = another.port_of(component, Some(lane), &[Step::Run { least: 0, most: 100 }]);
            another.timer(port, 30_000);
            if problems(&another.system).is_empty() {
                assert_grows(case, &before, &analyse(&another.system, LIMITS).unwrap(), true);
            }
        }

        let mut host = system.clone();
        let it = &mut host.hosts[0];
        (it.wake, it.switch, it.dispatch, it.slack) =
            (it.wake + 7, it.switch + 3, it.dispatch + 2, it.slack + 5);
        it.stalls.push(Stall { length: 11, distance: 9_000 });
        let _ = problems(&host);
        assert_grows(case, &before, &analyse(&host, LIMITS).unwrap(), true);
    });
    assert!(
        sound > 50 && bounded * 5 > all && bounded < all,
        "{sound} systems, {bounded} of {all} chains with bounds"
    );
}

#[test]
fn no_system_is_too_much() {
    for index in 0..tiers::current().number("response.systems") {
        let mut random = Random::of_case(12, index);
        let mut system = random_system(&mut random);
        for _ in 0..random.range(1, 12) {
            spoil(&mut random, &mut system);
        }
        let limits = Limits { steps: 200_000, horizon: u64::MAX };
        if let Ok(analysis) = analyse(&system, limits) {
            assert_eq!(analysis.ports.len(), system.ports.len());
        }
    }
}

/// Sets one value of the system to an extreme one.
fn spoil(random: &mut Random, system: &mut System) {
    let numbers = [0, 1, 2, 3, 1_000, u64::MAX, u64::MAX / 2, 1 << 40, 999_999_999];
    let number = numbers[random.below(numbers.len())];
    let index = (number % 9) as usize;
    let host = random.below(system.hosts.len());
    let port = random.below(system.ports.len());
    let connections = system.connections.len();
    match random.below(16) {
        0 => system.hosts[host].wake = number,
        1 => system.hosts[host].drift = number,
        2 => system.hosts[host].stalls.push(Stall { length: number, distance: number / 2 + 1 }),
        3 => system.hosts[host].throttling = Some(Throttling { runtime: number / 3, period: number }),
        4 => system.ports[port].steps.push(Step::Run { least: 0, most: number }),
        5 => system.ports[port].steps.push(Step::Push { output: index, optional: true }),
        6 => system.ports[port].lane = Some(index),
        7 => system.ports[port].component = index,
        8 => system.ports[port].interval = Some(number),
        9 => {
            system.ports[port].join =
                Some(Join { parts: index, keep: Keep::All(number), within: Some(number) })
        }
        10 => system.ports[port].deadline = Some(number),
        11 if connections > 0 => system.connections[random.below(connections)].target = Target::Direct(index),
        12 if connections > 0 => system.connections[random.below(connections)].target = Target::Queue(index),
        13 if connections > 0 => system.connections[random.below(connections)].output = index,
        14 if !system.sources.is_empty() => {
            system.sources[0].kind = SourceKind::Periodic { period: number, jitter: number, gap: number / 2 };
        }
        15 if !system.chains.is_empty() => system.chains[0].connections.push(index),
        _ => system.hosts[host].switch = number,
    }
}
