//! Modes that change: all of two modes counted together bounds what happens on the way from one to the other, and each of them alone does not.
use std::collections::BTreeSet;

use processors::generate::system_of;
use processors::{Attack, Claims, Description, Entry, Goal, SourceKind, System, explain, run};
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

/// The bounds of a mode: sources that it does not have make no event within any window.
fn alone(parts: &Description, mode: &[bool], limits: Limits) -> Option<Claims> {
    let mut parts = parts.clone();
    for source in &mut parts.sources {
        if !mode[parts.ports[source.port].component] {
            source.kind = SourceKind::Sporadic { separation: 1 << 50 };
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

#[test]
fn no_bound_of_two_modes_together_is_exceeded_on_the_way() {
    let tier = tiers::current();
    let limits = Limits { steps: tier.number("response.steps"), ..Limits::default() };
    let (mut bounded, mut exceeded) = (0, 0);
    for seed in tier.seeds("response.several") {
        let system = system_of(&shape(seed), seed);
        let parts = system.description();
        let mut random = Random::new(seed);
        let modes = Modes::random(parts, &mut random);
        let Ok(analysis) = analyse(&convert::system(parts), limits) else { continue };
        let together = held(parts, &modes, &claims(&analysis));
        bounded += together.reaction.iter().chain(&together.response).flatten().count();
        let each = alone(parts, &modes.before, limits).zip(alone(parts, &modes.after, limits));
        let each = each.map(|(before, after)| held(parts, &modes, &worse(&before, &after)));
        for _ in 0..12 {
            let attack = change(&system, &modes, &mut random);
            let outcome = run(&system, &attack);
            if let Some(exceedance) = outcome.exceeds(&together) {
                panic!("seed {seed}: {exceedance:?}\n{}", explain(&system, &attack, exceedance.what));
            }
            exceeded += usize::from(each.as_ref().is_some_and(|each| outcome.exceeds(each).is_some()));
        }
    }
    assert!(bounded > 20, "{bounded} bounds");
    // If no run were above what holds in each mode alone, none of them would say anything about the way.
    assert!(exceeded > 0, "no change of modes is worse than both modes");
    println!("{bounded} bounds; {exceeded} runs above those of each mode alone");
}
