//! One flow for readers at several places.
use std::net::IpAddr;
use std::time::Duration;
use wire::admission::Address;

use wire::admission::{Request, State, Verdict};

use crate::cases::{MS, at_once, one_switch};
use crate::judge::{Case, judge};
use crate::networks::{GATES, METERS, network, open_vswitch};
use crate::random::Random;
use crate::world::{Pair, Trace, World, guid, mac, packet_of, request};

/// The writer of host 0 with a reader of a host.
fn reader(host: u8) -> Pair {
    (guid(1, 1), guid(100 + host, 1))
}

fn wish(host: u8, limit: u64) -> Request {
    request(reader(host), 1, 0, host.into(), (5000, 6000 + u16::from(host)), at_once(8_004, 5 * MS), limit)
}

/// Hosts at a line of three switches: 0 and 1 at the first one, 2 and 3 at the last one, 4 in the middle.
fn line() -> World {
    let mut world = World::up(network(&open_vswitch(GATES), 3, &[0, 0, 2, 2, 1], &[(0, 1), (1, 2)]));
    world.greet();
    world.settle();
    world
}

fn star() -> World {
    let mut world = World::up(one_switch());
    world.greet();
    world.settle();
    world
}

fn ask(world: &mut World, host: u8, limit: u64) -> Verdict {
    world.ask(wish(host, limit));
    world.settle();
    world.verdicts[&reader(host)].clone()
}

/// The Ethernet address to which a host sends what is for this address: that of a host, or of a group (RFC 1112, 6.4; RFC 2464, 7).
pub(crate) fn ethernet_of(address: Address) -> [u8; 6] {
    let [.., first, second, third, last] = address.bytes();
    match (address.is_multicast(), address.is_ipv4()) {
        (false, _) => mac(usize::from(last) - 1),
        (true, true) => [1, 0, 0x5e, second & 127, third, last],
        (true, false) => [0x33, 0x33, first, second, third, last],
    }
}

/// Whether it is of a group that an organisation gives out by itself.
fn is_group_of_flows(address: Address) -> bool {
    match address.ip() {
        IpAddr::V4(four) => matches!(four.octets(), [239, 192..=195, ..]),
        IpAddr::V6(six) => six.segments()[0] == 0xff18,
    }
}

/// Whom a message of the writer reaches, each with the way to it: what the verdict says, and for the reader alone at the end.
fn reached(world: &mut World, verdict: &Verdict) -> Vec<(u8, Trace)> {
    let asked = Request { destination: verdict.destination, ..wish(1, MS) };
    let mut packet = packet_of(&asked, 0, 1, verdict.dscp);
    packet.to = ethernet_of(packet.destination);
    let mut arrived = world.send(0, packet);
    arrived.sort_by_key(|(host, _, _)| *host);
    for (host, packet, _) in &arrived {
        let expected = wish(u8::try_from(*host).unwrap(), MS).destination;
        assert_eq!((packet.to, packet.destination), (mac(*host), expected.address));
        assert_eq!(packet.ports, (5000, expected.port));
        assert_ne!(packet.dscp, 0);
    }
    arrived.into_iter().map(|(host, _, trace)| (u8::try_from(host).unwrap(), trace)).collect()
}

fn hosts(world: &mut World, verdict: &Verdict) -> Vec<u8> {
    reached(world, verdict).into_iter().map(|(host, _)| host).collect()
}

fn is_group(verdict: &Verdict) -> bool {
    is_group_of_flows(verdict.destination.address)
}

/// Groups of a switch for flows.
fn groups(world: &World, switch: usize) -> usize {
    world.switches[switch].groups.len() - 1
}

#[test]
fn a_second_reader_makes_a_tree_and_the_first_one_moves_to_it() {
    let mut world = star();
    let first = ask(&mut world, 1, 9 * MS);
    assert_eq!((first.state, first.destination), (State::Admitted, wish(1, MS).destination));
    world.ask(wish(2, 9 * MS));
    assert_eq!(
        world.verdicts[&reader(1)].destination,
        first.destination,
        "nothing ends before the tree is there"
    );
    // Until everybody has heard of it, the former flow is in force, too.
    world.acknowledge = false;
    world.settle();
    let (one, two) = (world.verdicts[&reader(1)].clone(), world.verdicts[&reader(2)].clone());
    assert_eq!((one.state, two.state), (State::Admitted, State::Admitted), "{}", two.reason);
    assert!(is_group(&one) && one.destination == two.destination, "{one:?}");
    assert!(one.bound <= first.bound);
    assert_eq!(hosts(&mut world, &first), [1]);
    assert_eq!(hosts(&mut world, &one), [1, 2]);
    assert_eq!((world.store.len(), world.gates[0].len(), groups(&world, 0)), (2, 2, 1));
    world.pass(Duration::from_secs(7));
    assert_eq!((world.store.len(), world.gates[0].len(), groups(&world, 0)), (1, 1, 1));
    assert_eq!(hosts(&mut world, &one), [1, 2]);
    assert!(world.history.iter().all(|verdict| verdict.state != State::Revoked));
    assert!(world.manager.audit().is_ok());
    let report = world.manager.report();
    assert!(report.pairs.iter().all(|pair| pair.readers == 2 && pair.hops.len() == 2), "{report:?}");
    assert_eq!(report.pairs[0].destination, report.pairs[1].destination);
    assert_ne!(report.pairs[0].reader_at, report.pairs[1].reader_at);
}

#[test]
fn readers_that_ask_together_get_one_tree() {
    let mut world = line();
    for host in [1, 2, 3, 4] {
        world.ask(wish(host, 9 * MS));
    }
    world.settle();
    world.pass(Duration::from_secs(1));
    let verdict = world.verdicts[&reader(2)].clone();
    assert_eq!(hosts(&mut world, &verdict), [1, 2, 3, 4]);
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
    // Each link once: the writer's, two between switches, four to readers.
    let links: std::collections::BTreeSet<_> =
        reached(&mut world, &verdict).into_iter().flat_map(|(_, trace)| trace).collect();
    assert_eq!(links.len(), 7);
    assert_eq!([0, 1, 2].map(|switch| groups(&world, switch)), [1, 1, 1]);
}

#[test]
fn who_joins_and_leaves_changes_nothing_for_the_others() {
    let mut world = line();
    ask(&mut world, 2, 9 * MS);
    ask(&mut world, 3, 9 * MS);
    world.pass(Duration::from_secs(1));
    let before = world.verdicts[&reader(2)].clone();
    assert_eq!(hosts(&mut world, &before), [2, 3]);
    assert_eq!([0, 1, 2].map(|switch| groups(&world, switch)), [0, 0, 1]);
    world.ask(wish(1, 9 * MS));
    // After each answer of a switch or the gates the others have what they had.
    let all = |world: &mut World, others: [u8; 2]| {
        let reached = hosts(world, &before);
        assert!(others.iter().all(|other| reached.contains(other)), "{reached:?}");
        reached
    };
    while !world.next().is_empty() {
        all(&mut world, [2, 3]);
        world.answer(0);
    }
    assert_eq!(all(&mut world, [2, 3]), [1, 2, 3]);
    let joined = world.verdicts[&reader(1)].clone();
    assert_eq!((joined.state, joined.destination), (State::Admitted, before.destination));
    assert_eq!(world.verdicts[&reader(2)], before, "nothing is new for it");
    world.pass(Duration::from_secs(1));
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
    assert_eq!([0, 1, 2].map(|switch| groups(&world, switch)), [1, 0, 1]);
    // A fourth one in the middle, then those at the end leave.
    ask(&mut world, 4, 9 * MS);
    world.pass(Duration::from_secs(1));
    for gone in [3, 2] {
        world.withdraw(reader(gone));
        while !world.next().is_empty() {
            all(&mut world, [1, 4]);
            world.answer(0);
        }
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(all(&mut world, [1, 4]), [1, 4]);
    assert_eq!([0, 1, 2].map(|switch| groups(&world, switch)), [1, 0, 0]);
    assert_eq!(world.manager.report().switches[2].flows, 0, "the last switch knows nothing of it");
    assert!(world.manager.audit().is_ok());
    // One that is left keeps its place.
    world.withdraw(reader(4));
    world.pass(Duration::from_secs(1));
    assert_eq!(all(&mut world, [1, 1]), [1]);
    world.withdraw(reader(1));
    world.pass(Duration::from_secs(1));
    assert!(world.store.is_empty() && world.gates[0].is_empty());
    assert_eq!([0, 1, 2].map(|switch| groups(&world, switch)), [0, 0, 0]);
    // Only who has left has heard that it is over.
    let revoked: Vec<Pair> =
        world.history.iter().filter(|verdict| verdict.state == State::Revoked).map(Verdict::pair).collect();
    assert_eq!(revoked, [3, 2, 4, 1].map(reader));
}

#[test]
fn a_change_that_fails_leaves_the_tree_as_it_was() {
    let mut world = line();
    ask(&mut world, 2, 9 * MS);
    ask(&mut world, 3, 9 * MS);
    world.pass(Duration::from_secs(1));
    let before = world.verdicts[&reader(2)].clone();
    // The switch in the middle has no room for a group that it has said to have.
    world.switches[1].most_groups = Some(1);
    ask(&mut world, 4, 9 * MS);
    world.pass(Duration::from_millis(500));
    let verdict = world.verdicts[&reader(4)].clone();
    // It gets a flow of its own.
    assert_eq!((verdict.state, is_group(&verdict)), (State::Admitted, false), "{}", verdict.reason);
    assert_eq!(hosts(&mut world, &verdict), [4]);
    assert_eq!(hosts(&mut world, &before), [2, 3]);
    assert_eq!(world.verdicts[&reader(2)], before);
    assert_eq!((world.store.len(), world.gates[0].len()), (2, 2));
    assert!(world.manager.audit().is_ok());
}

#[test]
fn where_a_tree_does_not_help_each_reader_has_its_own_flow() {
    let two = |mut world: World, other: Request| {
        ask(&mut world, 1, 30 * MS);
        world.ask(other.clone());
        world.settle();
        let verdicts = [reader(1), other.pair()].map(|pair| world.verdicts[&pair].clone());
        assert!(verdicts.iter().all(|verdict| verdict.state == State::Admitted), "{verdicts:?}");
        assert!(verdicts.iter().all(|verdict| !is_group(verdict)), "{verdicts:?}");
        assert_eq!(world.store.len(), 2);
    };
    // Addresses that nobody has seen.
    two(World::up(one_switch()), wish(2, 30 * MS));
    // A second place on the same host.
    let twice = Request { reader: guid(101, 2).to_bytes(), ..wish(1, 30 * MS) };
    two(
        star(),
        Request { destination: wire::admission::Socket { port: 7000, ..twice.destination }, ..twice },
    );
    // Another contract.
    two(star(), Request { contract: at_once(8_004, 6 * MS), ..wish(2, 30 * MS) });
    // Meters.
    let mut metered = World::up(network(&open_vswitch(METERS), 1, &[0, 0, 0, 0], &[]));
    metered.greet();
    metered.settle();
    two(metered, wish(2, 30 * MS));
    // No groups but the one for everything else.
    let mut few = World::new(one_switch(), control::config::Config::default());
    few.most_groups = 1;
    few.connect_all();
    few.greet();
    few.settle();
    two(few, wish(2, 30 * MS));
}

#[test]
fn a_reader_that_no_branch_can_serve_is_refused_with_place_and_offer() {
    let mut world = star();
    ask(&mut world, 1, 9 * MS);
    ask(&mut world, 2, 9 * MS);
    world.pass(Duration::from_secs(1));
    let refused = ask(&mut world, 3, MS / 10);
    assert_eq!(refused.state, State::Refused);
    assert!(refused.reason.contains("h0 to s0") && refused.offered_latency > MS / 10, "{refused:?}");
    let verdict = world.verdicts[&reader(1)].clone();
    assert_eq!(hosts(&mut world, &verdict), [1, 2]);
}

#[test]
fn a_link_that_breaks_takes_its_branch_along_and_the_others_come_back_together() {
    let mut world = line();
    for host in [1, 2, 4] {
        ask(&mut world, host, 9 * MS);
        world.pass(Duration::from_secs(1));
    }
    let link = (0..).find(|link| world.network.port_name(*link) == "s1 to s2").unwrap();
    world.cable(link, false);
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!([1, 4].map(|host| world.state(reader(host))), [Some(State::Admitted); 2]);
    assert_ne!(world.state(reader(2)), Some(State::Admitted));
    world.cable(link, true);
    world.settle();
    world.pass(Duration::from_secs(1));
    let verdict = world.verdicts[&reader(2)].clone();
    assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    assert_eq!(hosts(&mut world, &verdict), [1, 2, 4]);
}

#[test]
fn a_new_manager_takes_up_a_tree() {
    let mut world = line();
    for host in [1, 2, 3] {
        ask(&mut world, host, 9 * MS);
    }
    world.pass(Duration::from_secs(1));
    let before = world.verdicts[&reader(3)].clone();
    let tables: Vec<_> =
        world.switches.iter().map(|switch| (switch.flows.clone(), switch.groups.clone())).collect();
    world.restart();
    world.connect_all();
    let same = |world: &World| {
        let now = world.switches.iter().map(|switch| (switch.flows.clone(), switch.groups.clone()));
        let ours = |flow: &&openflow::flow::FlowMod| flow.priority == 60_000;
        now.zip(&tables).all(|((flows, groups), (before, known))| {
            groups == *known && flows.iter().filter(ours).eq(before.iter().filter(ours))
        })
    };
    assert!(same(&world), "nothing is touched");
    for host in [1, 2, 3] {
        ask(&mut world, host, 9 * MS);
    }
    world.pass(Duration::from_secs(20));
    let verdict = world.verdicts[&reader(3)].clone();
    assert_eq!((verdict.state, verdict.destination), (State::Admitted, before.destination));
    assert_eq!(hosts(&mut world, &verdict), [1, 2, 3]);
    assert!(same(&world) && world.store.len() == 1);
    // Of those that do not ask again the branches go.
    world.restart();
    world.connect_all();
    ask(&mut world, 2, 9 * MS);
    world.pass(Duration::from_secs(20));
    assert_eq!(hosts(&mut world, &verdict), [2]);
    assert_eq!(world.store.len(), 1);
}

#[test]
fn no_frame_of_a_tree_is_late_under_attack() {
    let mut random = Random::new(7);
    let mut world = line();
    for host in [1, 2, 3, 4] {
        ask(&mut world, host, 4 * MS);
    }
    // Somebody else at the readers' links.
    let other = (guid(50, 1), guid(60, 1));
    world.ask(request(other, 1, 4, 2, (5100, 7000), at_once(16_004, 7 * MS), 6 * MS));
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(other), Some(State::Admitted));
    let verdicts: Vec<Verdict> = [1, 2, 3, 4].map(|host| world.verdicts[&reader(host)].clone()).to_vec();
    assert!(verdicts.iter().all(is_group), "{verdicts:?}");
    let traces = reached(&mut world, &verdicts[0]);
    let mut cases: Vec<Case> =
        verdicts.into_iter().zip(traces).map(|(verdict, (_, trace))| Case { verdict, trace }).collect();
    let verdict = world.verdicts[&other].clone();
    let asked = request(other, 1, 4, 2, (5100, 7000), at_once(16_004, 7 * MS), 6 * MS);
    let trace = world.send(4, packet_of(&asked, 4, 2, verdict.dscp)).remove(0).2;
    cases.push(Case { verdict, trace });
    judge(&mut world, &cases, random.next()).unwrap();
    // A claim that is too small is found out, so that the judge has looked at the branches.
    for late in 0..4 {
        let mut cases: Vec<Case> = cases
            .iter()
            .map(|case| Case { verdict: case.verdict.clone(), trace: case.trace.clone() })
            .collect();
        cases[late].verdict.bound = MS / 2;
        assert!(judge(&mut world, &cases, random.next()).is_err(), "{late}");
    }
}

/// A branch that cannot be cut off is tried again after a while, not all the time.
#[test]
fn a_branch_that_cannot_be_cut_off_is_left_for_a_while() {
    let mut world = line();
    ask(&mut world, 2, 9 * MS);
    ask(&mut world, 3, 9 * MS);
    world.pass(Duration::from_secs(1));
    let before = world.verdicts[&reader(2)].clone();
    world.store_fails = true;
    world.withdraw(reader(3));
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!(hosts(&mut world, &before), [2, 3]);
    world.store_fails = false;
    world.pass(Duration::from_secs(25));
    assert_eq!(hosts(&mut world, &before), [2]);
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
}

/// A reader that asks for less gets a flow of its own; when its former tree loses a branch meanwhile, that is no answer to what it asks for now.
#[test]
fn a_tree_that_changes_answers_nothing_that_was_asked_for_after_it() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut world = star();
        for host in [1, 2, 3] {
            ask(&mut world, host, 9 * MS);
        }
        world.pass(Duration::from_secs(1));
        let before = world.history.len();
        world.ask(Request { serial: 2, ..wish(1, 3 * MS) });
        let early = random.below(6);
        for step in 0.. {
            if step == early {
                world.withdraw(reader(2));
            }
            let next = world.next();
            if next.is_empty() && step > early {
                break;
            }
            if !next.is_empty() {
                world.happen(*random.of(&next), usize::MAX);
            }
            let known = |verdict: &Verdict| {
                let least = if verdict.serial == 2 { 3 * MS } else { 9 * MS };
                verdict.state != State::Admitted || verdict.bound <= least
            };
            let said = &world.history[before..];
            assert!(said.iter().all(known), "seed {seed}: {said:#?}");
        }
        world.pass(Duration::from_secs(1));
        let verdict = &world.verdicts[&reader(1)];
        assert_eq!((verdict.state, verdict.serial), (State::Admitted, 2), "seed {seed}: {verdict:?}");
        assert!(verdict.bound <= 3 * MS, "seed {seed}: {verdict:?}");
    }
}

/// A reader joins a tree that gives what it asks for now, while the tree that it comes from is being changed to take the place of both.
#[test]
fn who_has_joined_a_better_tree_is_not_taken_back() {
    let mut world = star();
    for host in [1, 2] {
        ask(&mut world, host, 30 * MS);
    }
    // Another reader at the place of the first one, and one elsewhere, ask for more than that tree gives.
    let strict = |host: u8, serial: u64, limit: u64| Request {
        reader: guid(100 + host, 2).to_bytes(),
        serial,
        ..wish(host, limit)
    };
    for host in [1, 3] {
        world.ask(strict(host, 1, 3 * MS));
        world.pass(Duration::from_secs(1));
    }
    let of = |world: &World, pair: Pair| world.verdicts[&pair].destination;
    let (first, other) = (of(&world, reader(1)), of(&world, strict(1, 1, MS).pair()));
    assert_eq!(of(&world, strict(3, 1, MS).pair()), other, "two trees");
    assert_ne!(first, other);
    // One leaves the better tree for the other one, another comes.
    world.ask(strict(3, 2, 30 * MS));
    world.ask(Request { serial: 2, ..wish(1, 5 * MS) });
    world.pass(Duration::from_secs(1));
    let verdict = &world.verdicts[&reader(1)];
    assert_eq!((verdict.state, verdict.serial), (State::Admitted, 2));
    assert!(verdict.bound <= 5 * MS, "{verdict:?}");
    world.manager.audit().unwrap();
}

/// Readers of three hosts share a flow, and its publisher starts again: each reader's participant notices that for itself. Whatever comes
/// first, they share one flow again in the end.
#[test]
fn readers_of_a_publisher_that_starts_again_share_one_flow_again() {
    for seed in tiers::current().seeds("control.transitions") {
        let mut random = Random::new(seed);
        let mut world = if random.one_in(2) { star() } else { line() };
        for host in [1, 2, 3] {
            world.ask(wish(host, 9 * MS));
        }
        world.pass(Duration::from_secs(1));
        assert_eq!(world.store.len(), 1, "seed {seed}");
        let source = 5000 + u16::from(random.one_in(2));
        let again = |host: u8| Request {
            writer: guid(2, 1).to_bytes(),
            serial: 2,
            ..request(
                reader(host),
                2,
                0,
                host.into(),
                (source, 6000 + u16::from(host)),
                at_once(8_004, 5 * MS),
                9 * MS,
            )
        };
        let mut left: Vec<(bool, u8)> =
            [1, 2, 3].into_iter().flat_map(|host| [(false, host), (true, host)]).collect();
        while !left.is_empty() {
            let (asks, host) = left.remove(random.below(left.len()));
            match asks {
                true => world.ask(again(host)),
                false => world.withdraw(reader(host)),
            }
            match random.below(4) {
                0 => {}
                1 => world.settle(),
                2 => world.pass(Duration::from_millis(random.below(3_000) as u64)),
                _ => {
                    for _ in 0..random.below(30) {
                        let next = world.next();
                        let Some(chosen) = next.get(random.below(next.len().max(1))).copied() else { break };
                        world.happen(chosen, usize::MAX);
                    }
                }
            }
        }
        world.pass(Duration::from_secs(30));
        let verdicts = [1, 2, 3].map(|host| world.verdicts[&again(host).pair()].clone());
        assert!(
            verdicts.iter().all(|verdict| verdict.state == State::Admitted),
            "seed {seed}: {verdicts:#?}"
        );
        let flows: Vec<_> = verdicts.iter().map(|verdict| verdict.destination).collect();
        assert!(flows.iter().all(|flow| *flow == flows[0]), "seed {seed}: {flows:?}");
        assert_eq!(world.store.len(), 1, "seed {seed}");
        world.manager.audit().unwrap();
    }
}

/// Where the tree is already nothing comes to a port that is declared full.
#[test]
fn a_reader_joins_a_tree_whose_first_port_is_declared_full() {
    let mut world = star();
    for host in [1, 2] {
        assert_eq!(ask(&mut world, host, 9 * MS).state, State::Admitted);
    }
    world.pass(Duration::from_secs(1));
    world
        .network
        .full
        .extend((0..world.network.links.len()).filter(|link| world.network.links[*link].from == 0));
    world.restart();
    world.connect_all();
    world.greet();
    world.settle();
    for host in [1, 2, 3] {
        let verdict = ask(&mut world, host, 9 * MS);
        assert!(verdict.state == State::Admitted && is_group(&verdict), "{host}: {}", verdict.reason);
    }
    // Another flow of that host does not.
    let mut other = wish(3, 9 * MS);
    other.source.port = 5_001;
    other.writer = guid(2, 1).to_bytes();
    let pair = other.pair();
    world.ask(other);
    world.settle();
    assert!(world.verdicts[&pair].reason.contains("is declared full"), "{}", world.verdicts[&pair].reason);
}
