//! Bounds with losses: beside the flow there are one of repairs and one of questions, all three or none.
use std::time::Duration;

use control::config::Config;
use control::grant::{StoredAddress, StoredRole};
use latency::policing::Counts;
use latency::switch::Guard;
use latency::units::NANOSECOND;
use wire::admission::{Losses, Request, Socket, State, Verdict};

use crate::cases::{MS, at_once, pair};
use crate::faults::until_it_is_to_be_stored;
use crate::judge::{Case, judge};
use crate::networks::{GATES, network, open_vswitch};
use crate::seeds::Play;
use crate::world::{REACTION, World, packet_of, request};

/// The same request with losses: the sockets have the ports of the writer and of the reader, in ranges of their own.
pub(crate) fn with_losses(asked: Request, frames: u8) -> Request {
    let limit = asked.maximum_latency * 20;
    let own = |socket: Socket, port: u16| Socket { port: 20_000 + port, ..socket };
    let losses = Losses {
        frames,
        repairs: own(asked.source, asked.source.port),
        questions: own(asked.destination, u16::from(asked.reader[14])),
        answered_at: Socket { port: 7_411, ..asked.source },
        within: 2 * limit,
        kept: u64::MAX,
    };
    Request { maximum_latency: limit, losses, ..asked }
}

/// The flow of repairs and that of questions, as if each were asked for by itself.
fn beside(verdict: &Verdict) -> [Request; 2] {
    let one = |source, destination| Request { source, destination, ..Request::default() };
    let losses = verdict.losses;
    [one(losses.repairs, verdict.destination), one(losses.questions, losses.answered_at)]
}

impl Play {
    /// What holds of the flows beside one that is admitted with losses. What a switch does that is away is not known.
    pub(crate) fn beside(&mut self, verdict: &Verdict, from: usize, to: usize) -> Vec<Case> {
        let losses = verdict.losses;
        assert!(losses.without > 0 && losses.without < verdict.bound, "{verdict:?}");
        let heard = (0..self.world.switches.len()).all(|switch| self.world.is_heard(switch));
        let is_known = heard && self.forgetful.is_empty() && self.world.swapped.is_empty();
        let ends = [(from, to, losses.repairs_dscp), (to, from, losses.questions_dscp)];
        let mut cases = Vec::new();
        for (asked, (from, to, dscp)) in beside(verdict).into_iter().zip(ends) {
            let arrived = self.world.send(from, packet_of(&asked, from, to, dscp));
            let is_there = match arrived.as_slice() {
                [(host, _, trace)] => *host == to && trace.iter().all(|(_, dscp)| *dscp != 0),
                _ => false,
            };
            assert!(is_there || !is_known, "not there, or without a level: {asked:?} {arrived:?}");
            if is_there {
                let (source, destination) = (asked.source, asked.destination);
                let size = self.bytes_of(source, destination).filter(|_| is_known);
                assert!(size.is_some() || !is_known, "not stored, or no gate: {asked:?}");
                // How long it may take is what is stored of it.
                let Some(bound) = self.limit_of(source, destination) else { continue };
                let trace = arrived[0].2.clone();
                let separation = losses.spacing;
                cases.push(Case {
                    trace,
                    verdict: Verdict { source, destination, bound, separation, ..Verdict::default() },
                });
            }
        }
        cases
    }

    fn limit_of(&self, source: Socket, destination: Socket) -> Option<u64> {
        let place = |socket: Socket| (StoredAddress::from(socket.address), socket.port);
        let same = |grant: &&control::grant::Grant| {
            (grant.source, grant.destination) == (place(source), place(destination))
        };
        self.world.store.values().find(same).map(|grant| grant.maximum_latency)
    }

    /// What the gate of such a flow takes for one of its datagrams.
    fn bytes_of(&self, source: Socket, destination: Socket) -> Option<u32> {
        let mut gates = self.world.gates.iter().flatten();
        let found = gates.find(|(key, _)| {
            key.flow.source == source.address.ip()
                && key.flow.source_port == source.port
                && key.flow.destination == destination.address.ip()
                && key.flow.destination_port == destination.port
        });
        found.map(|(_, contract)| contract.octets)
    }
}

/// Two hosts at each of two switches, and two ways between these.
fn diamond() -> World {
    let cables = [(0, 2), (2, 1), (0, 3), (3, 1)];
    let mut world = World::up(network(&open_vswitch(GATES), 4, &[0, 0, 1, 1], &cables));
    world.greet();
    world.settle();
    world
}

fn asked(number: u8, serial: u64, frames: u8) -> Request {
    let ports = (5_000 + u16::from(number), 6_000);
    with_losses(request(pair(number), serial, 0, 2, ports, at_once(4_004, 10 * MS), 10 * MS), frames)
}

/// Gates of single flows at a switch.
fn rules_at(world: &World, switch: usize) -> usize {
    world.gates[switch].keys().filter(|key| key.flow.source_port > 0).count()
}

/// Gates at the first two switches, and entries of admitted flows everywhere.
fn rules(world: &World) -> (usize, usize, usize) {
    let gates = |switch: usize| rules_at(world, switch);
    let is_flow = |flow: &&openflow::flow::FlowMod| flow.table.0 == 0 && flow.priority == 60_000;
    let entries = world.switches.iter().map(|switch| switch.flows.iter().filter(is_flow).count()).sum();
    (gates(0), gates(1), entries)
}

#[test]
fn all_three_flows_are_there_before_the_answer_and_none_after_the_end() {
    let mut world = diamond();
    let before = rules(&world);
    let asked = asked(1, 1, 2);
    world.ask(asked.clone());
    while world.state(pair(1)) != Some(State::Admitted) {
        let next = world.next().first().copied().unwrap_or_else(|| panic!("{:?}", world.verdicts));
        world.happen(next, usize::MAX);
    }
    let (first, second, entries) = rules(&world);
    // The samples and the repairs begin at one switch, the questions at the other one; each flow has a way of three switches.
    assert_eq!((first - before.0, second - before.1, entries - before.2), (2, 1, 9));
    let verdict = world.verdicts[&pair(1)].clone();
    let kept = verdict.losses;
    assert!(verdict.bound <= asked.maximum_latency && kept.without < verdict.bound, "{verdict:?}");
    assert_eq!(
        (kept.frames, kept.repairs, kept.questions),
        (2, asked.losses.repairs, asked.losses.questions)
    );
    assert!(
        kept.heartbeat >= 4 * kept.spacing && kept.again > kept.heartbeat && kept.patience >= kept.without
    );
    let report = world.manager.report().pairs.remove(0);
    assert_eq!((report.losses.unwrap().frames, report.promised), (2, verdict.bound));
    assert!(report.present > 0 && report.present <= report.promised, "{report:?}");
    let stored: Vec<_> = world.store.values().map(|grant| grant.role.clone()).collect();
    let [Some(StoredRole::Samples(together)), Some(StoredRole::Beside(1)), Some(StoredRole::Beside(1))] =
        &stored[..]
    else {
        panic!("{stored:?}")
    };
    assert_eq!(together.beside, [2, 3]);
    // Frame by frame, each flow keeps what the bound rests on.
    let ends = [(0, 2, kept.repairs_dscp), (2, 0, kept.questions_dscp)];
    let mut cases = Vec::new();
    for (asked, (from, to, dscp)) in beside(&verdict).into_iter().zip(ends) {
        let trace = world.send(from, packet_of(&asked, from, to, dscp)).remove(0).2;
        assert!(trace.iter().all(|(_, dscp)| *dscp != 0), "{trace:?}");
        let (source, destination) = (asked.source, asked.destination);
        let limit = world.store.values().find(|grant| grant.source == (source.address.into(), source.port));
        let bound = limit.unwrap().maximum_latency;
        let separation = kept.spacing;
        cases.push(Case {
            trace,
            verdict: Verdict { source, destination, bound, separation, ..Verdict::default() },
        });
    }
    let trace = world.send(0, packet_of(&asked, 0, 2, verdict.dscp)).remove(0).2;
    cases.push(Case { trace, verdict: Verdict { bound: kept.without, ..verdict } });
    judge(&mut world, &cases, 1).unwrap();
    world.withdraw(pair(1));
    world.pass(Duration::from_secs(2));
    assert_eq!((rules(&world), world.store.len()), (before, 0));
}

#[test]
fn what_stands_in_the_way_is_said_with_the_flow_and_the_port_and_nothing_is_left() {
    let reason = |world: &mut World, asked: Request| {
        world.ask(asked.clone());
        world.pass(Duration::from_secs(11));
        let verdict = world.verdicts[&asked.pair()].clone();
        assert_eq!((verdict.state, world.store.len()), (State::Refused, 0), "{verdict:?}");
        verdict.reason
    };
    // Without the word of an operator there is none.
    let plain = network(&open_vswitch(GATES), 1, &[0, 0, 0], &[]);
    let mut world = World::new(plain, Config::default());
    world.connect_all();
    let words = reason(&mut world, asked(1, 1, 1));
    assert!(words.contains("operator does not allow"), "{words}");
    // One gate is left at the switch of both: for samples.
    let scarce = Guard::Gates { count: Some(2), tick: NANOSECOND };
    let mut world = World::up(network(&open_vswitch(scarce), 1, &[0, 0, 0], &[]));
    let words = reason(&mut world, asked(1, 1, 1));
    assert!(words.starts_with("its questions: the switch behind h2 to s0 has no gate"), "{words}");
    assert_eq!(rules_at(&world, 0), 0);
    let meters = Guard::Meters { count: Some(9), rate_step: 1_000, burst_step: 1_000, counts: Counts::Wire };
    let mut world = World::up(network(&open_vswitch(meters), 1, &[0, 0, 0], &[]));
    let words = reason(&mut world, asked(1, 1, 1));
    assert!(words.contains("s0 has meters"), "{words}");
    let mut world = World::up(network(&open_vswitch(GATES), 1, &[0, 0, 0], &[]));
    let hasty = Request { maximum_latency: 4 * REACTION.as_nanos() as u64, ..asked(1, 1, 1) };
    let words = reason(&mut world, hasty);
    assert!(words.contains("what hosts take to react alone"), "{words}");
    let short = asked(2, 1, 1);
    let short = Request { losses: Losses { kept: 10 * MS, ..short.losses }, ..short };
    let words = reason(&mut world, short);
    assert!(words.contains("needs a longer history"), "{words}");
    let brief = asked(3, 1, 1);
    let brief = Request { losses: Losses { within: 2 * brief.maximum_latency - 2, ..brief.losses }, ..brief };
    let words = reason(&mut world, brief);
    assert!(words.contains("at least twice"), "{words}");
    let mixed = asked(4, 1, 1);
    let mixed = Request { losses: Losses { repairs: mixed.source, ..mixed.losses }, ..mixed };
    let words = reason(&mut world, mixed);
    assert!(words.contains("sockets of their own"), "{words}");
    let large = request(pair(5), 1, 0, 2, (5_005, 6_000), at_once(400_000, 90 * MS), 90 * MS);
    let words = reason(&mut world, with_losses(large, 1));
    assert!(words.contains("256 at most"), "{words}");
}

/// A gate of one of the three, or an entry, that a switch has no room for: all that was there goes again.
#[test]
fn what_fails_on_its_way_in_is_undone_as_a_whole() {
    let mut world = diamond();
    world.switches[1].most_flows = Some(world.switches[1].flows.len() + 1);
    let before = rules(&world);
    world.ask(asked(1, 1, 1));
    world.pass(Duration::from_secs(5));
    assert_ne!(world.state(pair(1)), Some(State::Admitted));
    assert_eq!((rules(&world), world.store.len()), (before, 0), "{:?}", world.verdicts);
    world.switches[1].most_flows = None;
    world.pass(Duration::from_secs(25));
    assert_eq!((world.state(pair(1)), world.store.len()), (Some(State::Admitted), 3));
    world.withdraw(pair(1));
    world.pass(Duration::from_secs(2));
    world.store_fails = true;
    world.ask(asked(2, 1, 1));
    world.pass(Duration::from_secs(5));
    assert!(world.verdicts[&pair(2)].reason.contains("no space"), "{:?}", world.verdicts);
    assert_eq!(rules(&world), before);
    // When it is tried again it is stored first.
    until_it_is_to_be_stored(&mut world);
    assert_eq!(rules(&world), before);
    world.store_fails = false;
    world.pass(Duration::from_secs(25));
    assert_eq!((world.state(pair(2)), world.store.len()), (Some(State::Admitted), 3));
}

#[test]
fn a_flow_that_is_lost_takes_the_others_along_and_all_come_back_another_way() {
    let mut world = diamond();
    world.ask(asked(1, 1, 1));
    world.settle();
    let verdict = world.verdicts[&pair(1)].clone();
    assert_eq!(verdict.state, State::Admitted, "{verdict:?}");
    // A link of the questions breaks, which may go another way than the samples.
    let [_, questions] = beside(&verdict);
    let trace = world.send(2, packet_of(&questions, 2, 0, verdict.losses.questions_dscp)).remove(0).2;
    let (link, _) = trace[1];
    let said = world.history.len();
    world.cable(link, false);
    world.pass(Duration::from_secs(5));
    let revoked = world.history[said..].iter().find(|said| said.state == State::Revoked).unwrap();
    assert_eq!(revoked.losses.frames, 0, "nothing is to be kept any more");
    assert_eq!((world.state(pair(1)), world.store.len()), (Some(State::Admitted), 3));
    let verdict = world.verdicts[&pair(1)].clone();
    let trace = world.send(2, packet_of(&questions, 2, 0, verdict.losses.questions_dscp)).remove(0).2;
    assert!(trace.iter().all(|(at, dscp)| *at != link && *dscp != 0), "{trace:?}");
}

#[test]
fn a_manager_that_starts_again_has_all_three_or_ends_what_is_left() {
    let mut world = diamond();
    let asked = asked(1, 1, 3);
    world.ask(asked.clone());
    world.settle();
    let (before, verdict) = (rules(&world), world.verdicts[&pair(1)].clone());
    assert_eq!(verdict.state, State::Admitted, "{verdict:?}");
    world.restart();
    world.connect_all();
    world.ask(asked.clone());
    world.settle();
    let again = world.verdicts[&pair(1)].clone();
    assert_eq!((again.state, again.bound, again.losses), (State::Admitted, verdict.bound, verdict.losses));
    assert_eq!((rules(&world), world.store.len()), (before, 3));
    // What was stored by another hand has lost one of them.
    for lost in [3, 2, 1] {
        let number = world.store.keys().next().copied().unwrap() + lost - 1;
        world.store.remove(&number);
        world.restart();
        world.connect_all();
        world.ask(asked.clone());
        world.pass(Duration::from_secs(15));
        assert_eq!((world.state(pair(1)), world.store.len()), (Some(State::Admitted), 3), "{lost}");
        assert_eq!(rules(&world), before, "{lost}");
    }
    // A participant that does not come back leaves nothing.
    world.restart();
    world.connect_all();
    world.pass(Duration::from_secs(15));
    assert_eq!(world.store.len(), 0);
}

/// Its waits are too short for hosts that react later than the manager was told before, or for clocks that run further apart.
#[test]
fn a_bound_that_no_longer_holds_is_not_taken_up_again() {
    let mut world = diamond();
    let asked = asked(1, 1, 2);
    world.ask(asked.clone());
    world.settle();
    let (rules_before, before) = (rules(&world), world.verdicts[&pair(1)].clone());
    assert_eq!(before.state, State::Admitted, "{before:?}");
    let mut network = world.network.clone();
    assert_eq!(world.manager.obstacles_to(network.clone(), solver::multipliers).unwrap(), []);
    network.links.iter_mut().for_each(|link| link.port.imperfections.drift = 300);
    let obstacles = world.manager.obstacles_to(network, solver::multipliers).unwrap();
    assert_eq!(obstacles.len(), 1, "{obstacles:?}");
    world.config.losses = Some(20 * REACTION);
    world.restart();
    world.connect_all();
    world.ask(asked.clone());
    world.pass(Duration::from_secs(15));
    let after = world.verdicts[&pair(1)].clone();
    assert_eq!(
        (after.state, rules(&world), world.store.len()),
        (State::Admitted, rules_before, 3),
        "{after:?}"
    );
    assert!(after.bound <= asked.maximum_latency, "{after:?}");
    // A HEARTBEAT waits for four slots, each of them a spacing and what hosts take to react.
    let slots = 4 * (Duration::from_nanos(after.losses.spacing) + 20 * REACTION);
    assert!(Duration::from_nanos(after.losses.heartbeat) >= slots, "{before:?} {after:?}");
}

/// Frames of a message may be lost before the gate, which then takes its last one for its first: that comes later on a slower link.
#[test]
fn a_gate_behind_a_link_that_is_slower_than_in_the_file_allows_for_a_whole_message() {
    let mut world = diamond();
    let first = world.network.links.iter().position(|link| link.from == 0).unwrap();
    world.negotiate(first, Some(20_000));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.manager.link_reports()[first].rate, 20_000_000);
    let asked = request(pair(1), 1, 0, 2, (5_001, 6_000), at_once(4_004, 200 * MS), 10 * MS);
    world.ask(with_losses(asked.clone(), 1));
    world.pass(Duration::from_secs(5));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    let samples = world.store.values().find(|grant| matches!(grant.role, Some(StoredRole::Samples(_))));
    let share = samples.unwrap().hops[0].share / NANOSECOND;
    let (_, gate) = world.gates[0].iter().find(|(key, _)| key.flow.source_port == asked.source.port).unwrap();
    // The last frame leaves its host within the share, and the first one might have come at once.
    assert!(gate.tolerance >= share, "{gate:?}, and a share of {share} ns");
}

#[test]
fn who_asks_for_other_losses_gets_them_and_another_reader_does_not_join() {
    let mut world = diamond();
    world.ask(asked(1, 1, 1));
    world.settle();
    let one = world.verdicts[&pair(1)].clone();
    world.ask(asked(1, 2, 3));
    world.pass(Duration::from_secs(3));
    let three = world.verdicts[&pair(1)].clone();
    assert_eq!((three.state, three.losses.frames, world.store.len()), (State::Admitted, 3, 3), "{three:?}");
    assert!(three.losses.spacing < one.losses.spacing, "{one:?} {three:?}");
    // The same writer and the same place, for another reader.
    let writer = asked(1, 1, 1);
    let (_, reader) = pair(2);
    for other in [
        Request { reader: reader.to_bytes(), ..writer.clone() },
        Request { losses: Losses::default(), reader: reader.to_bytes(), serial: 2, ..writer },
    ] {
        world.ask(other.clone());
        world.pass(Duration::from_secs(2));
        let verdict = &world.verdicts[&other.pair()];
        assert_eq!(verdict.state, State::Refused);
        assert!(verdict.reason.contains("for one reader"), "{}", verdict.reason);
    }
    // Without losses it is a flow by itself again.
    let plain = Request { losses: Losses::default(), serial: 3, ..asked(1, 3, 1) };
    world.ask(plain);
    world.pass(Duration::from_secs(3));
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!((verdict.state, verdict.losses.frames, world.store.len()), (State::Admitted, 0, 1));
}
