//! What goes wrong, one thing at a time.
use std::time::Duration;

use control::SwitchRefusal;
use control::action::StoreChange;
use wire::admission::{Contract, Request, State};

use crate::cases::{MS, at_once, contract, one_switch, pair};
use crate::doing::Next;
use crate::networks::{GATES, METERS, network, open_vswitch};
use crate::world::{World, packet_of, request};

fn lease() -> Duration {
    control::config::Config::default().lease
}

fn grace() -> Duration {
    control::config::Config::default().grace
}

/// Two ways between both hosts: by s1 and by s2 and s3.
pub(crate) fn two_ways() -> control::network::Network {
    network(&open_vswitch(GATES), 4, &[0, 0, 1, 1], &[(0, 1), (0, 2), (2, 3), (3, 1)])
}

#[test]
fn a_verdict_is_repeated_within_its_lease() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.settle();
    let said = world.history.len();
    world.pass(lease());
    assert_eq!(world.history.len() - said, 3);
    assert!(world.history[said..].iter().all(|verdict| verdict.state == State::Admitted));
}

#[test]
fn a_switch_that_is_away_for_a_moment_keeps_its_grants_and_is_put_right() {
    let mut world = World::up(two_ways());
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.settle();
    world.disconnect(0);
    // It has forgotten everything, and has something that nobody wants.
    let stray = world.switches[1].flows[0].clone();
    world.switches[0] = testkit::openflow_switch::Switch::default();
    world.switches[0].flows.push(stray);
    world.pass(grace() / 2);
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    world.connect(0);
    world.settle();
    let arrived = world.send(0, packet_of(&asked, 0, 2, 10));
    assert_eq!(arrived.len(), 1);
    assert_ne!(arrived[0].1.dscp, 0);
    world.pass(grace() * 2);
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
}

#[test]
fn a_switch_that_is_away_for_too_long_loses_its_grants() {
    let mut world = World::up(two_ways());
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.settle();
    world.disconnect(0);
    world.pass(grace() + Duration::from_secs(1));
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!(verdict.state, State::Revoked);
    assert!(verdict.reason.contains("s0"), "{}", verdict.reason);
    world.pass(Duration::from_secs(1));
    // What it kept is taken away when it comes back, and the request is admitted again.
    world.connect(0);
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts[&pair(1)]);
    assert_eq!(world.store.len(), 1);
    let arrived = world.send(0, packet_of(&asked, 0, 2, 10));
    assert!(arrived.len() == 1 && arrived[0].1.dscp != 0);
}

#[test]
fn a_broken_link_moves_a_flow_to_another_way_and_no_revocation_is_told() {
    let mut world = World::up(two_ways());
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.settle();
    let way = world.send(0, packet_of(&asked, 0, 2, 10))[0].2.clone();
    assert_eq!(way.len(), 3);
    world.cable(way[1].0, false);
    world.pass(Duration::from_millis(100));
    assert!(world.history.iter().all(|verdict| verdict.state != State::Revoked), "{:?}", world.history);
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts[&pair(1)]);
    let arrived = world.send(0, packet_of(&asked, 0, 2, 10));
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].2.len(), 5);
    assert!(arrived[0].2.iter().skip(1).all(|(_, dscp)| *dscp != 0));
    assert_eq!(world.store.len(), 1);
}

/// What came by the former gate may still be in the first switch: nothing goes the new way until that is gone, and the gate is set first.
#[test]
fn a_flow_whose_way_is_cut_takes_the_other_one_after_its_gate_and_when_the_former_way_is_empty() {
    let mut world = World::up(two_ways());
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.settle();
    let way = world.send(0, packet_of(&asked, 0, 2, 10))[0].2.clone();
    let before = world.gates[0].clone();
    world.cable(way[1].0, false);
    world.pass(Duration::from_millis(4));
    assert_ne!(world.gates[0], before, "the gate of the longer way is another one");
    assert!(world.send(0, packet_of(&asked, 0, 2, 10)).is_empty(), "its limit is 5 ms, and has not passed");
    world.pass(Duration::from_millis(20));
    assert_eq!(world.send(0, packet_of(&asked, 0, 2, 10)).len(), 1);
}

#[test]
fn a_flow_that_a_switch_of_the_other_way_has_no_room_for_is_revoked_when_its_way_is_cut() {
    let mut world = World::up(two_ways());
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.settle();
    let way = world.send(0, packet_of(&asked, 0, 2, 10))[0].2.clone();
    world.cable(way[1].0, false);
    // By then the tree has its entries, and the flow waits until its former way is empty.
    world.pass(Duration::from_millis(4));
    for switch in &mut world.switches {
        switch.most_flows = Some(switch.flows.len());
    }
    world.pass(Duration::from_millis(500));
    let revoked = world.history.iter().find(|verdict| verdict.state == State::Revoked).unwrap();
    assert!(revoked.reason.contains("is down"), "{}", revoked.reason);
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!(verdict.state, State::Revoked, "{verdict:?}");
    assert!(verdict.reason.contains("TABLE_FULL"), "{}", verdict.reason);
    // With room it comes back.
    world.switches.iter_mut().for_each(|switch| switch.most_flows = None);
    world.pass(Duration::from_secs(15));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts[&pair(1)]);
    assert_eq!((world.store.len(), world.send(0, packet_of(&asked, 0, 2, 10)).len()), (1, 1));
}

#[test]
fn a_change_that_a_switch_refuses_is_undone_and_the_request_refused() {
    let mut world = World::up(two_ways());
    world.switches[1].most_flows = Some(world.switches[1].flows.len());
    let before: Vec<usize> = world.switches.iter().map(|switch| switch.flows.len()).collect();
    world.ask(request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.settle();
    world.pass(Duration::from_secs(1));
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!(verdict.state, State::Refused);
    assert!(verdict.reason.contains("TABLE_FULL"), "{}", verdict.reason);
    let after: Vec<usize> = world.switches.iter().map(|switch| switch.flows.len()).collect();
    assert_eq!(before, after);
    assert!(world.gates.iter().all(std::collections::BTreeMap::is_empty) && world.store.is_empty());
    // The place is free again.
    world.switches[1].most_flows = None;
    world.ask(request(pair(1), 2, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
}

/// A switch refuses its entry of a flow, and the other switch of the way has not answered yet: nobody misses the entry where it is not.
#[test]
fn what_a_switch_has_refused_is_not_missed_there() {
    let mut world = World::up(network(&open_vswitch(GATES), 2, &[0, 1], &[(0, 1)]));
    world.greet();
    world.pass(Duration::from_secs(1));
    world.switches[0].most_flows = Some(world.switches[0].flows.len());
    world.lines[1].as_mut().unwrap().is_stalled = true;
    while world.manager.poll_note().is_some() {}
    world.ask(request(pair(1), 1, 0, 1, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.pass(Duration::from_secs(3));
    assert_eq!(world.state(pair(1)), Some(State::Pending), "s1 has not answered");
    assert!(world.connected[0], "it does what it can");
    // It has been read back several times meanwhile.
    let notes: Vec<String> =
        std::iter::from_fn(|| world.manager.poll_note()).map(|note| note.to_string()).collect();
    assert!(notes.iter().all(|note| !note.contains("s0: not as it is to be")), "{notes:?}");
    world.pass(Duration::from_secs(13));
    assert!(world.connected[0] && !world.connected[1]);
    assert_eq!(world.state(pair(1)), Some(State::Refused));
    assert!(world.verdicts[&pair(1)].reason.contains("TABLE_FULL"), "{:?}", world.verdicts);
}

#[test]
fn without_an_answer_nothing_is_promised() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    // The gate's answer is lost.
    world.agents[0].asked.clear();
    world.pass(Duration::from_secs(16));
    assert!(!world.connected[0], "nobody knows what the switch has");
    assert_ne!(world.state(pair(1)), Some(State::Admitted));
    // After a while it is tried again.
    world.connect_all();
    world.pass(grace() + Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts[&pair(1)]);
}

#[test]
fn a_store_that_fails_means_no() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.store_fails = true;
    world.settle();
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!(verdict.state, State::Refused);
    assert!(verdict.reason.contains("no space"), "{}", verdict.reason);
    assert_eq!(world.manager.report().switches[0].flows, 0);
    assert!(world.gates[0].is_empty());
}

/// What is stored already is not stored again: a store that does not work takes nothing from a pair that asks again.
#[test]
fn a_pair_that_asks_again_keeps_its_grant_though_the_store_fails() {
    let mut world = World::up(one_switch());
    let asked = |serial| request(pair(1), serial, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked(1));
    world.settle();
    world.store_fails = true;
    world.ask(asked(2));
    world.settle();
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!((verdict.state, verdict.serial), (State::Admitted, 2), "{}", verdict.reason);
    assert_eq!((entries(&world), world.gates[0].len(), world.store.len()), (1, 1, 1));
}

/// What could not be stored is tried again, and then stored before anything of it is in a switch or a gate.
#[test]
fn what_a_store_does_not_take_is_not_put_in_at_each_try() {
    let mut world = World::up(one_switch());
    world.store_fails = true;
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.settle();
    for _ in 0..3 {
        assert_eq!(world.state(pair(1)), Some(State::Refused));
        until_it_is_to_be_stored(&mut world);
        assert_eq!((entries(&world), world.gates[0].len()), (0, 0));
        world.settle();
    }
    world.store_fails = false;
    world.pass(3 * grace());
    assert_eq!((world.state(pair(1)), world.store.len()), (Some(State::Admitted), 1));
    assert_eq!((entries(&world), world.gates[0].len()), (1, 1));
    // From then on what is stored is in force already.
    world.ask(request(pair(2), 1, 1, 3, (5000, 6001), at_once(8_004, 5 * MS), 8 * MS));
    until_it_is_to_be_stored(&mut world);
    assert_eq!((entries(&world), world.gates[0].len()), (2, 2));
}

/// All goes on until a grant is on its way to the store.
pub(crate) fn until_it_is_to_be_stored(world: &mut World) {
    let is_put = |change: &StoreChange| matches!(change, StoreChange::Put(_) | StoreChange::PutAll(_));
    for _ in 0..1_000 {
        world.settle_if(|next| !matches!(next, Next::Commit));
        if world.to_store.iter().any(|(_, change)| is_put(change)) {
            return;
        }
        world.settle();
        world.now = world.now.max(world.manager.poll_timeout().unwrap());
        world.manager.handle_timeout(world.now);
        world.collect();
    }
    panic!("nothing is to be stored");
}

/// Entries of flows at the first switch.
fn entries(world: &World) -> usize {
    world.switches[0].flows.iter().filter(|flow| flow.priority == 60_000).count()
}

/// A switch is away when a flow that it has cannot be stored, for which another one may have moved: until it is back and has forgotten the
/// flow, the gate holds that to its contract.
fn fails_while_its_switch_is_away(bytes: u32, moves: bool) {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(1_004, 20 * MS), 2 * MS));
    world.settle();
    let before = world.store[&1].hops.clone();
    world.ask(request(pair(2), 1, 1, 3, (5000, 6001), at_once(bytes, 20 * MS), 8 * MS));
    // What moves is stored as well, and moves only after that.
    let stores_it = |world: &World| {
        let mut puts = world.to_store.iter().filter_map(|(_, change)| match change {
            StoreChange::Put(grant) => Some(grant.number),
            _ => None,
        });
        puts.any(|number| number == 2)
    };
    for _ in 0..10_000 {
        match world.next().first().copied() {
            _ if stores_it(&world) => break,
            Some(next) => world.happen(next, usize::MAX),
            None => {
                world.now = world.now.max(world.manager.poll_timeout().unwrap());
                world.manager.handle_timeout(world.now);
                world.collect();
            }
        }
    }
    assert!(stores_it(&world), "{:?}", world.verdicts);
    world.store_fails = true;
    world.disconnect(0);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    assert_eq!((entries(&world), world.gates[0].len()), (2, 2));
    world.store_fails = false;
    world.connect(0);
    world.pass(Duration::from_secs(1));
    assert_eq!((entries(&world), world.gates[0].len()), (1, 1));
    assert_eq!(world.manager.report().switches[0].flows, 1);
    assert_eq!(world.store[&1].hops != before, moves, "what has moved stays where it is");
    // It is tried again.
    world.pass(grace());
    assert_eq!((world.state(pair(2)), world.gates[0].len()), (Some(State::Admitted), 2));
}

#[test]
fn a_gate_holds_a_flow_for_as_long_as_its_switch_may_have_it() {
    fails_while_its_switch_is_away(1_004, false);
    fails_while_its_switch_is_away(48_004, true);
}

/// A store that fails for a moment says in the end what is so.
#[test]
fn what_could_not_be_stored_is_stored_later() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.ask(request(pair(2), 1, 1, 3, (5000, 6001), at_once(8_004, 5 * MS), 8 * MS));
    world.settle();
    world.store_fails = true;
    world.withdraw(pair(1));
    world.pass(3 * grace());
    assert_eq!((world.store.len(), world.gates[0].len()), (2, 1));
    world.store_fails = false;
    world.pass(2 * grace());
    assert_eq!(world.store.len(), 1);
    assert_eq!(world.manager.poll_timeout().map(|at| at > world.now), Some(true));
    assert_eq!(world.manager.report().operations, 0);
}

#[test]
fn a_new_manager_takes_up_what_was_granted() {
    let mut world = World::up(two_ways());
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    let other = request(pair(2), 1, 1, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.ask(other);
    world.settle();
    let bound = world.verdicts[&pair(1)].bound;
    let flows = world.switches[0].flows.len();
    world.restart();
    world.connect_all();
    assert_eq!(world.switches[0].flows.len(), flows, "what is there stays");
    world.ask(asked);
    world.settle();
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!((verdict.state, verdict.epoch, verdict.bound), (State::Admitted, 2, bound));
    // Nobody asks for the other one.
    world.pass(grace() + Duration::from_secs(1));
    assert_eq!(world.store.len(), 1);
    assert_eq!(world.manager.report().switches[0].flows, 1);
}

#[test]
fn of_two_stored_grants_with_the_same_meter_the_later_one_is_in_force() {
    let mut world = World::up(network(&open_vswitch(METERS), 1, &[0, 0, 0], &[]));
    world.ask(request(pair(1), 1, 0, 2, (5000, 6000), at_once(1_004, 5 * MS), 8 * MS));
    world.settle();
    world.store_fails = true;
    world.withdraw(pair(1));
    world.pass(Duration::from_secs(1));
    world.store_fails = false;
    let asked = request(pair(2), 1, 1, 2, (5000, 6000), at_once(1_004, 5 * MS), 8 * MS);
    world.ask(asked.clone());
    world.settle();
    let meters: Vec<u32> = world.store.values().map(|grant| grant.meter).collect();
    assert_eq!(meters, [1, 1], "the one that is over could not be taken out of the store");
    world.restart();
    world.connect_all();
    world.ask(asked.clone());
    world.pass(2 * grace());
    assert_eq!((world.state(pair(2)), world.store.len()), (Some(State::Admitted), 1));
    let arrived = world.send(1, packet_of(&asked, 1, 2, world.verdicts[&pair(2)].dscp));
    assert!(arrived.len() == 1 && arrived[0].1.dscp != 0, "{arrived:?}");
}

/// The manager crashes when the grant that takes the place of another one is stored, and the other one still is.
#[test]
fn of_two_stored_grants_for_the_same_flow_the_later_one_is_in_force() {
    let mut world = World::up(one_switch());
    let asked =
        |serial, bytes| request(pair(1), serial, 0, 3, (5000, 6000), contract(bytes, 20 * MS), 20 * MS);
    world.ask(asked(1, 1_004));
    world.settle();
    let former = world.gates[0].clone();
    world.ask(Request {
        contract: Contract { smallest_message: 1_004, ..contract(1_304, 20 * MS) },
        ..asked(2, 0)
    });
    while world.store.len() < 2 {
        world.answer(0);
    }
    let latest = (world.gates[0].clone(), world.store[&2].clone());
    assert_ne!(latest.0, former, "the gate lets the larger messages through");
    world.restart();
    world.connect_all();
    assert_eq!(world.store.keys().copied().collect::<Vec<u64>>(), [2]);
    assert_eq!((world.gates[0].clone(), world.store[&2].clone()), latest);
}

#[test]
fn what_is_not_as_the_network_says_is_refused_by_name() {
    let mut world = World::new(one_switch(), control::config::Config::default());
    let now = world.now;
    let mut report = world.report(0);
    report.features.datapath_id = 99;
    assert_eq!(world.manager.switch_up(now, &report), Err(SwitchRefusal::Unknown(99)));
    let mut report = world.report(0);
    report.ports.remove(1);
    let refusal = world.manager.switch_up(now, &report).unwrap_err();
    assert_eq!(refusal, SwitchRefusal::Port { switch: "s0".into(), number: 2 });
    let mut report = world.report(0);
    report.features.tables = 1;
    assert!(matches!(
        world.manager.switch_up(now, &report),
        Err(SwitchRefusal::TooFew { what: "tables", .. })
    ));
    let mut report = world.report(0);
    report.queues = vec![(1, 2)];
    assert!(matches!(world.manager.switch_up(now, &report), Err(SwitchRefusal::TooFew { .. })));
    assert_eq!(world.manager.report().refused_switches.len(), 2);
    assert_eq!(world.manager.poll_action(), None, "nothing has been done to it");
    // A request waits for a while, and is refused with that reason.
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    assert_eq!(world.state(pair(1)), Some(State::Pending));
    world.pass(grace() + Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Refused));
    assert!(world.verdicts[&pair(1)].reason.contains("switch s0 is not ready"));
    world.connect_all();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
}

#[test]
fn a_participant_that_is_gone_takes_its_grants_with_it() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.ask(request(pair(2), 1, 1, 3, (5000, 6001), at_once(8_004, 5 * MS), 8 * MS));
    world.settle();
    let now = world.now;
    world.manager.participant_lost(now, pair(1).0.prefix);
    world.collect();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), None);
    assert_eq!(world.state(pair(2)), Some(State::Admitted));
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
}

/// A switch between switches has gates by its model, and nobody whom they could hold.
#[test]
fn gates_of_a_switch_without_hosts_are_not_waited_for() {
    let mut world = World::up(network(&open_vswitch(GATES), 3, &[0, 2], &[(0, 1), (1, 2)]));
    world.ask(request(pair(1), 1, 0, 1, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    let refused = world.manager.gates_up(world.now, 0x11, None).unwrap_err();
    assert!(refused.to_string().contains("s1 has no gates according to its model, or no hosts"), "{refused}");
}
