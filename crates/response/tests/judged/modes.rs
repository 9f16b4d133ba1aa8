//! Modes that change: all of two modes counted together bounds what happens on the way from one to the other, and each of them alone does not.
use std::collections::BTreeSet;

use processors::generate::system_of;
use processors::{
    Attack, Chain, Claims, Component, Description, Entry, Full, Goal, Host, Lane, LaneOrder, Port,
    Scheduling, Source, SourceKind, Step, System, explain, run,
};
use response::{Limits, analyse};
use testkit::random::Random;

use crate::{claims, convert, shape};

/// Which components are in the mode before, and in the one after; each is in one of them at least.
struct Modes {
    before: Vec<bool>,
    after: Vec<bool>,
}

impl Modes {
    fn random(parts: &Description, random: &mut Random) -> Self {
        let kinds: Vec<usize> = parts.components.iter().map(|_| random.below(4)).collect();
        // Half of them are in both.
        let before = kinds.iter().map(|kind| *kind != 0).collect();
        let after = kinds.iter().map(|kind| *kind != 1).collect();
        Self { before, after }
    }

    fn are_both(&self, component: usize) -> bool {
        self.before[component] && self.after[component]
    }
}

/// The components of the ports that a chain passes.
fn passed(parts: &Description, chain: usize) -> Vec<usize> {
    let chain = &parts.chains[chain];
    let targets = chain.connections.iter().map(|connection| parts.connections[*connection].target.port());
    let ports = std::iter::once(parts.sources[chain.source].port).chain(targets);
    ports.map(|port| parts.ports[port].component).collect()
}

/// Whether something waits on the way of a chain for parts of a join to which components lead that are not in both modes.
fn waits(parts: &Description, modes: &Modes, chain: usize) -> bool {
    let chain = &parts.chains[chain];
    chain.connections.iter().any(|connection| {
        let port = parts.connections[*connection].target.port();
        if !matches!(parts.ports[port].entry, Entry::Queued { join: Some(_), .. }) {
            return false;
        }
        let mut leading = BTreeSet::from([parts.ports[port].component]);
        loop {
            let before = leading.len();
            for connection in &parts.connections {
                if leading.contains(&parts.ports[connection.target.port()].component) {
                    leading.insert(parts.outputs[connection.output].component);
                }
            }
            if leading.len() == before {
                break;
            }
        }
        leading.iter().any(|component| !modes.are_both(*component))
    })
}

/// What of these bounds holds while modes change: of what is in both modes, and of chains that begin with the second.
fn held(parts: &Description, modes: &Modes, all: &Claims) -> Claims {
    let of_chain = |chain: usize| {
        let passed = passed(parts, chain);
        let source = passed[0];
        let is_in = passed.iter().all(|component| modes.after[*component]);
        let begins = modes.are_both(source) && passed.iter().all(|component| modes.are_both(*component))
            || !modes.before[source];
        is_in && begins && !waits(parts, modes, chain)
    };
    let of_port = |port: usize| modes.after[parts.ports[port].component];
    let of_connection = |connection: usize| {
        let connection = &parts.connections[connection];
        let port = connection.target.port();
        let is_join = matches!(parts.ports[port].entry, Entry::Queued { join: Some(_), .. });
        modes.are_both(parts.outputs[connection.output].component)
            && modes.are_both(parts.ports[port].component)
            && !is_join
    };
    let only = |list: &[Option<u64>], holds: &dyn Fn(usize) -> bool| -> Vec<Option<u64>> {
        list.iter().enumerate().map(|(index, claim)| claim.filter(|_| holds(index))).collect()
    };
    Claims {
        reaction: only(&all.reaction, &of_chain),
        age: only(&all.age, &of_chain),
        response: only(&all.response, &of_port),
        backlog: only(&all.backlog, &of_port),
        latency: only(&all.latency, &of_connection),
    }
}

/// A run in which the second mode follows on the first: what leaves rests one after the other, then what comes begins.
fn change(system: &System, modes: &Modes, random: &mut Random) -> Attack {
    let parts = system.description();
    let longest = parts.sources.iter().map(|source| source.kind.period()).max().unwrap_or(1);
    let goal = Goal::Reaction(0);
    let is_sudden = random.chance(60);
    let mut attack = if is_sudden {
        Attack::critical(system, goal, longest * 8)
    } else {
        Attack::random(system, goal, longest * 12, random.below_u64(u64::MAX))
    };
    let rests = longest * 2 + random.below_u64(longest * 3);
    let takes = if is_sudden { 0 } else { random.below_u64(longest / 4 + 1) };
    let begins = rests + takes;
    for (component, presence) in attack.presence.iter_mut().enumerate() {
        if !modes.after[component] {
            presence.1 = rests + random.below_u64(takes);
        } else if !modes.before[component] {
            // Sources begin when all that they lead to is there.
            presence.0 = begins;
        }
    }
    for (emission, source) in attack.sources.iter_mut().zip(&parts.sources) {
        let component = parts.ports[source.port].component;
        // What leaves comes once more, with all else, and then at once what begins.
        if is_sudden {
            emission.at = if modes.before[component] { rests - 1 } else { begins };
        } else if random.chance(60) {
            emission.at = begins - random.below_u64(source.kind.period() / 4 + 1);
        }
    }
    attack
}

/// The bounds of a mode: sources that it does not have make one event at most, and their handlers take no time.
fn alone(parts: &Description, mode: &[bool], limits: Limits) -> Option<Claims> {
    let mut parts = parts.clone();
    for source in &mut parts.sources {
        if !mode[parts.ports[source.port].component] {
            source.kind = SourceKind::Sporadic { separation: 1 << 50 };
        }
    }
    for port in parts.ports.iter_mut().filter(|port| !mode[port.component]) {
        for step in &mut port.steps {
            if let Step::Run { least, most } = step {
                (*least, *most) = (0, 0);
            }
        }
    }
    let system = System::new(parts).ok()?;
    Some(claims(&analyse(&convert::system(system.description()), limits).ok()?))
}

/// The worse of two bounds, each of which may hold; none if one of them is not known.
fn worse(one: &Claims, other: &Claims) -> Claims {
    let of = |one: &[Option<u64>], other: &[Option<u64>]| -> Vec<Option<u64>> {
        one.iter().zip(other).map(|(one, other)| Some((*one)?.max((*other)?))).collect()
    };
    Claims {
        reaction: of(&one.reaction, &other.reaction),
        age: of(&one.age, &other.age),
        response: of(&one.response, &other.response),
        backlog: of(&one.backlog, &other.backlog),
        latency: of(&one.latency, &other.latency),
    }
}

/// How often runs are above bounds: of both modes together, which none may be, and of each mode alone.
fn judge(
    system: &System,
    modes: &Modes,
    limits: Limits,
    random: &mut Random,
    count: &mut [usize; 2],
    seed: u64,
) {
    let parts = system.description();
    let Ok(analysis) = analyse(&convert::system(parts), limits) else { return };
    let together = held(parts, modes, &claims(&analysis));
    count[0] += together.reaction.iter().chain(&together.response).flatten().count();
    let each = alone(parts, &modes.before, limits).zip(alone(parts, &modes.after, limits));
    let each = each.map(|(before, after)| held(parts, modes, &worse(&before, &after)));
    for _ in 0..12 {
        let attack = change(system, modes, random);
        let outcome = run(system, &attack);
        if let Some(exceedance) = outcome.exceeds(&together) {
            panic!("seed {seed}: {exceedance:?}\n{}", explain(system, &attack, exceedance.what));
        }
        count[1] += usize::from(each.as_ref().is_some_and(|each| outcome.exceeds(each).is_some()));
    }
}

#[test]
fn no_bound_of_two_modes_together_is_exceeded_on_the_way() {
    let tier = tiers::current();
    let limits = Limits { steps: tier.number("response.steps"), ..Limits::default() };
    let mut count = [0; 2];
    for seed in tier.seeds("response.several") {
        let system = system_of(&shape(seed), seed);
        let mut random = Random::new(seed);
        let modes = Modes::random(system.description(), &mut random);
        judge(&system, &modes, limits, &mut random, &mut count, seed);
    }
    println!("{} bounds; {} runs above those of each mode alone", count[0], count[1]);
    assert!(count[0] > 20, "{count:?}");
}

/// Three handlers of one core, of 2, 2 and 6 ms; the first is in the mode before only, the second in the one after. The third is below them.
fn in_turn() -> System {
    let handler = |name: &str, index: usize, run: u64| Port {
        name: name.to_owned(),
        component: index,
        entry: Entry::Queued { lane: index, depth: 10, full: Full::DropOldest, join: None, deadline: 0 },
        registers: 0,
        steps: vec![Step::Run { least: run, most: run }],
        interval: None,
    };
    let lane = |index: usize| Lane {
        name: format!("lane {index}"),
        host: 0,
        threads: vec![0],
        scheduling: Scheduling::Fifo { priority: 30 - 10 * index as u8 },
        order: LaneOrder::Fifo,
    };
    let component =
        |index: usize| Component { name: format!("component {index}"), host: 0, serialised: true };
    let timer = |port: usize, period: u64| Source {
        kind: SourceKind::Timer { period, jitter: 0, phase: None },
        port,
    };
    let chain = |source: usize| Chain { name: format!("chain {source}"), source, connections: Vec::new() };
    let ports = vec![handler("first", 0, 2_000), handler("second", 1, 2_000), handler("third", 2, 6_000)];
    System::new(Description {
        hosts: vec![Host { cores: 1, ..Host::default() }],
        lanes: (0..3).map(lane).collect(),
        components: (0..3).map(component).collect(),
        ports,
        sources: vec![timer(0, 20_000), timer(1, 20_000), timer(2, 50_000)],
        chains: (0..3).map(chain).collect(),
        ..Description::default()
    })
    .unwrap()
}

/// If no run were above what holds in each mode alone, the judge would say nothing about the way.
#[test]
fn bounds_of_each_mode_alone_are_exceeded_on_the_way() {
    let modes = Modes { before: vec![true, false, true], after: vec![false, true, true] };
    let mut count = [0; 2];
    for seed in 0..10 {
        judge(&in_turn(), &modes, Limits::default(), &mut Random::new(seed), &mut count, seed);
    }
    assert!(count[1] > 5, "{count:?}");
}
