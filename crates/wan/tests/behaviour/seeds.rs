//! Many seeds: whatever is lost, late, doubled, crashes or fails, nothing is promised twice, and at the end there is what should be.
use std::collections::BTreeMap;

use wan::{Asking, Class, Direction, FlowKind, FlowRequest, Input, Reason, SessionRequest, TSpec};

use crate::topologies::{CLASSES, MICROSECOND, MILLISECOND, SECOND, address};
use crate::world::{Counts, Faults, Outcome, World};

fn flow(world: &mut World, kind: FlowKind, direction: Direction, class: Class, most: u64) -> FlowRequest {
    let random = &mut world.random;
    let rate = random.range(most / 10, most) * 10;
    let largest_packet = random.range(10, 150) as u32 * 10;
    let bucket = u64::from(largest_packet) * random.range(1, 4);
    let desired = TSpec { rate, bucket, peak: rate * 2, least_unit: 60, largest_packet };
    let least_rate = if random.chance(50) { rate } else { rate / 2 };
    let limit = random.range(10_000, 120_000) * MICROSECOND;
    let port = random.range(1, 9_000) as u16;
    let most_loss = if random.chance(40) { random.range(0, 2_500) as u32 } else { wan::ANY_LOSS };
    let asking = if random.chance(40) { Asking::Direct } else { Asking::HopByHop };
    FlowRequest {
        kind,
        direction,
        protocol: 17,
        source_port: port,
        destination_port: port,
        class,
        desired,
        least_rate,
        limit,
        most_loss,
        copies: 1,
        asking,
    }
}

pub(crate) fn request(world: &mut World, at: usize) -> SessionRequest {
    let class = *world.random.pick(&CLASSES).unwrap();
    let mut flows = vec![flow(world, FlowKind::Data, Direction::Forward, class, 200_000)];
    if world.random.one_in(8) {
        flows[0].copies = 2;
    }
    if world.random.chance(60) {
        flows.push(flow(world, FlowKind::AckNack, Direction::Reverse, class, 40_000));
    }
    if flows.len() == 2 && world.random.one_in(8) {
        flows[1].copies = 2;
    }
    if world.random.chance(50) {
        flows.push(flow(world, FlowKind::Discovery, Direction::Forward, Class::Af1, 10_000));
        flows.push(flow(world, FlowKind::Discovery, Direction::Reverse, Class::Af1, 10_000));
    }
    let count = world.domains.len() as u64;
    let mut callees = Vec::new();
    for _ in 0..world.random.range(1, 3) {
        let domain = world.random.range(1, count) as u32;
        callees.push(address(domain, world.random.range(1, 9) as u8));
    }
    callees.sort();
    callees.dedup();
    let caller = if world.random.one_in(30) { 1 + (at as u32 + 1) % count as u32 } else { at as u32 + 1 };
    let lasts = if world.random.one_in(6) { world.random.range(1, 20) * SECOND } else { 100_000 * SECOND };
    let (user, service) = (world.random.range(1, 2) as u32, world.random.range(1, 2) as u32);
    SessionRequest { user, service, caller: address(caller, 1), callees, flows, lasts }
}

/// An endpoint of a session has another address, of any domain.
fn relocate(world: &mut World, id: wan::SessionId) {
    let Some(manager) = &world.domains[id.origin.0 as usize - 1].manager else { return };
    let Some((_, request, _)) = manager.sessions().find(|(up, ..)| *up == id) else { return };
    let mut all = request.callees.clone();
    all.push(request.caller);
    let from = *world.random.pick(&all).unwrap();
    let domains = world.domains.len() as u64;
    let to = address(world.random.range(1, domains) as u32, world.random.range(1, 30) as u8);
    if !all.contains(&to) {
        world.relocate(id, from, to);
    }
}

#[derive(Default, Debug)]
struct Count {
    counts: Counts,
    admitted: u64,
    refused: u64,
    unknown: u64,
    ended: u64,
    surviving: u64,
    /// How often each reason was why.
    reasons: BTreeMap<String, u64>,
}

/// The reason without its numbers.
fn name(reason: &Reason) -> String {
    format!("{reason:?}").split([' ', '(']).next().unwrap_or_default().to_owned()
}

fn play(seed: u64) -> Count {
    let mut world = World::new(seed);
    world.looks_for_secrets = seed.is_multiple_of(16);
    let kinds = [
        Faults::default(),
        Faults { lost: 200, doubled: 200, late: 100, ..Faults::default() },
        Faults { crash: 60, late: 30, ..Faults::default() },
        Faults { link: 30, ..Faults::default() },
        Faults { measured: 100, lost: 50, ..Faults::default() },
        Faults { cut: 40, doubled: 100, ..Faults::default() },
        Faults { device: 60, ..Faults::default() },
        Faults { paths: 60, link: 10, ..Faults::default() },
        Faults { aaa: 30, ..Faults::default() },
        Faults { aaa: 20, crash: 40, late: 30, ..Faults::default() },
        Faults {
            lost: 100,
            doubled: 100,
            late: 100,
            crash: 20,
            link: 10,
            measured: 20,
            cut: 10,
            device: 10,
            aaa: 10,
            paths: 10,
        },
    ];
    world.run(SECOND);
    let mut surviving = 0;
    for round in 0..2 {
        world.context = format!("seed {seed}, round {round}");
        world.faults = *world.random.pick(&kinds).unwrap();
        for _ in 0..world.random.range(4, 12) {
            let at = world.random.below(world.domains.len());
            let request = request(&mut world, at);
            world.request(at, request);
            if world.random.chance(40) {
                let time = world.random.range(1, 1_000) * MILLISECOND;
                world.run(time);
            }
            if world.random.one_in(5) {
                let admitted = world.outcomes.values().filter_map(|outcome| match outcome {
                    Outcome::Admitted(id) => Some(*id),
                    _ => None,
                });
                let admitted: Vec<_> = admitted.collect();
                if let Some(id) = world.random.pick(&admitted).copied() {
                    if world.random.one_in(3) {
                        relocate(&mut world, id);
                    } else if world.random.one_in(3) {
                        world.extend(id, SECOND);
                    } else {
                        world.input(id.origin.0 as usize - 1, Input::Stop(id));
                    }
                }
            }
        }
        let time = world.random.range(1, 12) * SECOND;
        world.run(time);
        world.mend();
        // What was under way ends or comes about; after that a lifetime and a refresh pass.
        world.run(18 * SECOND + 9 * SECOND);
        surviving += world.at_rest() as u64;
    }
    let mut count = Count { counts: world.counts.clone(), surviving, ..Count::default() };
    for outcome in world.outcomes.values() {
        match outcome {
            Outcome::Admitted(_) => count.admitted += 1,
            Outcome::Refused(refusal) => {
                assert!(refusal.to_string().starts_with("AS "), "{refusal}");
                count.refused += 1;
                *count.reasons.entry(name(&refusal.reason)).or_default() += 1;
            }
            Outcome::Unknown => count.unknown += 1,
        }
    }
    for refusal in world.ended.values() {
        *count.reasons.entry(name(&refusal.reason)).or_default() += 1;
    }
    // Managers that are honest ask each other for nothing that makes no sense, whatever is late.
    assert!(!count.reasons.contains_key("Invalid"), "{}", world.context);
    count.ended = world.ended.len() as u64;
    count
}

#[test]
fn every_domain_has_what_the_surviving_sessions_need() {
    let mut all = Count::default();
    let seeds = tiers::current().seeds("control.seeds");
    let number = seeds.end - seeds.start;
    for seed in seeds {
        let played = std::panic::catch_unwind(|| play(seed));
        let count = played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
        all.admitted += count.admitted;
        all.refused += count.refused;
        all.unknown += count.unknown;
        all.ended += count.ended;
        all.surviving += count.surviving;
        for (reason, times) in count.reasons {
            *all.reasons.entry(reason).or_default() += times;
        }
        let (sum, one) = (&mut all.counts, count.counts);
        sum.events += one.events;
        sum.crashes += one.crashes;
        sum.links += one.links;
        sum.measured += one.measured;
        sum.cuts += one.cuts;
        sum.lost += one.lost;
        sum.devices += one.devices;
        sum.fewer_paths += one.fewer_paths;
        sum.covered += one.covered;
        sum.grants += one.grants;
        sum.withdrawn += one.withdrawn;
        sum.told_hosts += one.told_hosts;
        sum.rerouted += one.rerouted;
        sum.copies_lost += one.copies_lost;
        sum.copies_back += one.copies_back;
        sum.granted_directly += one.granted_directly;
        sum.not_let += one.not_let;
        sum.moves += one.moves;
    }
    eprintln!("{number} seeds: {all:?}");
    let counts = &all.counts;
    let kinds =
        [all.admitted, all.refused, all.unknown, all.ended, all.surviving, counts.crashes, counts.links];
    let others = [
        counts.measured,
        counts.cuts,
        counts.lost,
        counts.devices,
        counts.fewer_paths,
        counts.covered,
        counts.grants,
        counts.told_hosts,
        counts.rerouted,
        counts.copies_lost,
        counts.copies_back,
        counts.granted_directly,
        counts.not_let,
    ];
    // A single seed that is repeated may have none.
    let reasons = [
        "Rate",
        "Delay",
        "NoPath",
        "ServiceFull",
        "CalleeRefused",
        "ForeignSource",
        "NoAnswer",
        "LinkDown",
        "Device",
        "NotAuthorized",
        "AaaUnavailable",
        "Aborted",
        "GrantOver",
        "NotDisjoint",
        "CannotDuplicate",
        "Moved",
    ];
    let has_reasons = reasons.iter().all(|reason| all.reasons.contains_key(*reason));
    let has_all = has_reasons && kinds.iter().chain(&others).all(|kind| *kind > 0);
    assert!(has_all || std::env::var_os("PUNCTUAL_SEED").is_some(), "{all:?}");
}
