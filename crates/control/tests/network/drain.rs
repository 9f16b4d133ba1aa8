//! Switches that are drained: flows leave them without a gap, those that cannot stay or are cut, and nothing new comes.
use std::time::Duration;

use control::ResourceManager;
use control::action::Done;
use control::drain::StoredDrain;
use wire::admission::State;

use crate::cases::{MS, at_once, pair};
use crate::doing::Next;
use crate::networks::{GATES, network, open_vswitch};
use crate::world::{World, packet_of, request};

/// Two hosts at each of two switches, and two ways between these.
fn diamond() -> World {
    let cables = [(0, 2), (2, 1), (0, 3), (3, 1)];
    let mut world = World::up(network(&open_vswitch(GATES), 4, &[0, 0, 1, 1], &cables));
    world.greet();
    world
}

/// The switches that a flow passes.
fn way(world: &mut World, asked: &wire::admission::Request) -> Vec<usize> {
    let dscp = world.verdicts[&asked.pair()].dscp;
    let arrived = world.send(0, packet_of(asked, 0, 2, dscp));
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    assert!(arrived[0].2.iter().all(|(_, dscp)| *dscp != 0), "it has its level: {arrived:?}");
    let nodes = arrived[0].2.iter().map(|(link, _)| world.network.links[*link].to);
    nodes.filter_map(|node| world.network.switch_of(node)).collect()
}

#[test]
fn a_flow_leaves_a_drained_switch_without_a_gap_and_nothing_new_comes() {
    let mut world = diamond();
    let asked = request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(8_004, 10 * MS), 20 * MS);
    world.ask(asked.clone());
    world.settle();
    let before = way(&mut world, &asked);
    let (drained, name) = (before[1], world.network.switches[before[1]].name.clone());
    let said = world.history.len();
    let told = world.manager.drain(world.now, &name, false, "maintenance").unwrap();
    world.collect();
    assert_eq!((told.leaving.len(), told.staying.len()), (1, 0), "{told:?}");
    // Whatever has been done so far, frames of the flow arrive with their level.
    while let Some(next) = world.next().first().copied() {
        world.happen(next, usize::MAX);
        way(&mut world, &asked);
    }
    world.pass(Duration::from_secs(1));
    let after = way(&mut world, &asked);
    assert!(!after.contains(&drained), "{after:?}");
    assert!(
        world.history[said..].iter().all(|verdict| verdict.state == State::Admitted),
        "{:?}",
        world.history
    );
    assert_eq!(world.store.len(), 1);
    assert_eq!(world.manager.report().switches[drained].flows, 0);
    assert!(world.manager.report().switches[drained].drained);
    let told = world.manager.drain(world.now, &name, false, "maintenance").unwrap();
    assert_eq!((told.leaving.len(), told.staying.len()), (0, 0));
    world.collect();
    // Without the other switch there is no way for more.
    let other = after[1];
    for port in (0..world.network.links.len()).step_by(2) {
        let link = &world.network.links[port];
        let node = world.network.switch_node(other);
        if link.from == node || link.to == node {
            world.cable(port, false);
        }
    }
    world.pass(Duration::from_secs(15));
    assert_ne!(world.state(pair(1)), Some(State::Admitted));
    let reason = &world.verdicts[&pair(1)].reason;
    assert!(reason.contains("drained") || reason.contains("is down"), "{reason}");
    world.manager.undrain(world.now, &name).unwrap();
    world.collect();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    assert!(world.manager.undrain(world.now, &name).unwrap_err().contains("is not drained"));
    assert!(world.manager.drain(world.now, "nothing", false, "").unwrap_err().contains("no switch"));
}

#[test]
fn a_flow_that_cannot_leave_stays_until_it_is_cut_by_force() {
    let mut world = diamond();
    // Its host is at the switch.
    let asked = request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(8_004, 10 * MS), 20 * MS);
    world.ask(asked.clone());
    world.settle();
    let told = world.manager.drain(world.now, "s0", false, "maintenance").unwrap();
    world.collect();
    assert_eq!((told.leaving.len(), told.staying.len()), (0, 1), "{told:?}");
    assert!(told.staying[0].why.contains("s0 is drained"), "{told:?}");
    world.pass(Duration::from_secs(30));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "it is not cut");
    // Another one is not admitted meanwhile.
    let other = request(pair(2), 1, 1, 3, (5_001, 6_000), at_once(8_004, 10 * MS), 20 * MS);
    world.ask(other);
    world.pass(Duration::from_secs(30));
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    assert!(world.verdicts[&pair(2)].reason.contains("s0 is drained"), "{:?}", world.verdicts);
    let told = world.manager.drain(world.now, "s0", true, "now").unwrap();
    world.collect();
    assert_eq!((told.leaving.len(), told.staying.len()), (1, 0), "{told:?}");
    let revoked = world.verdicts[&pair(1)].clone();
    assert_eq!((revoked.state, revoked.reason.as_str()), (State::Revoked, "switch s0 is drained: now"));
    world.pass(Duration::from_secs(30));
    assert_eq!((world.store.len(), world.manager.report().switches[0].flows), (0, 0));
    // A manager that starts again goes on with it.
    world.restart();
    world.connect_all();
    assert!(world.manager.report().switches[0].drained);
    world.ask(asked.clone());
    world.pass(Duration::from_secs(30));
    assert_eq!(world.state(pair(1)), Some(State::Refused));
    assert!(world.verdicts[&pair(1)].reason.contains("s0 is drained"), "{:?}", world.verdicts);
    world.manager.undrain(world.now, "s0").unwrap();
    world.collect();
    world.settle();
    world.restart();
    world.connect_all();
    assert!(!world.manager.report().switches[0].drained);
    world.ask(asked);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
}

#[test]
fn a_flow_whose_new_way_fails_keeps_the_one_it_has() {
    let mut world = diamond();
    let asked = request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(8_004, 10 * MS), 20 * MS);
    world.ask(asked.clone());
    world.settle();
    let before = way(&mut world, &asked);
    let other = 5 - before[1];
    world.switches[other].most_flows = Some(world.switches[other].flows.len());
    let said = world.history.len();
    let name = world.network.switches[before[1]].name.clone();
    world.manager.drain(world.now, &name, false, "maintenance").unwrap();
    world.collect();
    world.pass(Duration::from_secs(5));
    assert_eq!(way(&mut world, &asked), before);
    assert!(
        world.history[said..].iter().all(|verdict| verdict.state == State::Admitted),
        "{:?}",
        world.history
    );
    // As soon as there is room it leaves by itself.
    world.switches[other].most_flows = None;
    world.pass(Duration::from_secs(5));
    assert_eq!(way(&mut world, &asked)[1], other);
    assert_eq!(world.store.len(), 1);
}

/// The flow is on its way out of the switch when another manager takes over.
#[test]
fn a_flow_leaves_under_the_manager_that_takes_over() {
    let mut world = diamond();
    let asked = request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(8_004, 10 * MS), 20 * MS);
    world.ask(asked.clone());
    world.settle();
    let drained = way(&mut world, &asked)[1];
    let name = world.network.switches[drained].name.clone();
    let told = world.manager.drain(world.now, &name, false, "maintenance").unwrap();
    world.collect();
    assert_eq!((told.leaving.len(), told.stored), (1, false));
    world.settle_if(|next| matches!(next, Next::Commit));
    world.restart();
    world.connect_all();
    world.ask(asked.clone());
    world.pass(Duration::from_secs(3));
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    assert!(!way(&mut world, &asked).contains(&drained), "it has left");
    let told = world.manager.drain(world.now, &name, false, "maintenance").unwrap();
    assert_eq!((told.leaving.len(), told.staying.len(), told.stored), (0, 0, true));
    assert_eq!(world.stored_drains[&name].reason, "maintenance");
}

/// A store that fails keeps no operator from draining, is said, and has what is so as soon as it works.
#[test]
fn a_drain_that_cannot_be_stored_is_in_force_and_stored_later() {
    let mut world = diamond();
    world.store_fails = true;
    let drain = |world: &mut World, reason: &str| {
        let told = world.manager.drain(world.now, "s2", false, reason).unwrap();
        world.collect();
        told.stored
    };
    assert!(!drain(&mut world, "first"));
    world.settle();
    assert!(!drain(&mut world, "first"), "it is said as long as it is so");
    assert!(world.manager.report().switches[2].drained && world.stored_drains.is_empty());
    // Another reason, and back again: what is stored in the end is what was said last.
    drain(&mut world, "second");
    world.settle();
    world.store_fails = false;
    world.pass(Duration::from_secs(11));
    assert!(world.manager.is_drain_stored("s2"));
    assert_eq!(world.stored_drains["s2"].reason, "second");
    world.store_fails = true;
    world.manager.undrain(world.now, "s2").unwrap();
    world.collect();
    world.settle();
    assert!(!world.manager.is_drain_stored("s2"));
    // One that starts meanwhile goes on with what is stored, and forgets what it was to store.
    assert_eq!(world.stored_drains.len(), 1);
    world.store_fails = false;
    world.pass(Duration::from_secs(11));
    assert!(world.manager.is_drain_stored("s2") && world.stored_drains.is_empty());
}

/// What is on its way to the store and what is said meanwhile do not overtake each other.
#[test]
fn what_was_said_last_of_a_switch_is_stored() {
    let mut world = diamond();
    for fails in [[false, false], [true, false], [false, true], [true, true]] {
        for drained in [true, false] {
            let say = |world: &mut World, drained: bool| {
                if drained {
                    world.manager.drain(world.now, "s3", false, "again").unwrap();
                } else {
                    drop(world.manager.undrain(world.now, "s3"));
                }
                world.collect();
            };
            for (fails, drained) in fails.into_iter().zip([!drained, drained]) {
                world.store_fails = fails;
                say(&mut world, drained);
                // The answer to the first one comes after the second one was said.
                world.settle_if(|next| matches!(next, Next::Commit));
            }
            world.store_fails = false;
            world.pass(Duration::from_secs(25));
            let stored = world.stored_drains.contains_key("s3");
            assert_eq!((stored, world.manager.is_drain_stored("s3")), (drained, true), "{fails:?}");
        }
    }
}

#[test]
fn a_drained_switch_that_the_network_does_not_have_any_more_is_forgotten_and_told() {
    let mut world = diamond();
    let gone = StoredDrain::new("s9".into(), "it was replaced".into());
    world.stored_drains.insert("s9".into(), gone.clone());
    world.restart();
    world.settle();
    assert!(world.stored_drains.is_empty());
    let mut manager = ResourceManager::new(world.config.clone(), world.network.clone(), 9).unwrap();
    let here = StoredDrain::new("s1".into(), "firmware".into());
    assert_eq!(manager.restore_drains(world.now, vec![gone.clone(), here]), [gone]);
    assert!(manager.report().switches[1].drained);
}

/// An answer may come late, after that to what was said later: what is tried again is what is so by then.
#[test]
fn a_failure_that_is_told_late_does_not_drain_a_switch_in_the_store() {
    let mut world = diamond();
    world.manager.drain(world.now, "s3", false, "a mistake").unwrap();
    world.manager.undrain(world.now, "s3").unwrap();
    world.collect();
    let mut tokens = std::mem::take(&mut world.to_store).into_iter().map(|(token, _)| token);
    let (first, second) = (tokens.next().unwrap(), tokens.next().unwrap());
    world.manager.stored(world.now, second, Done::Confirmed);
    world.manager.stored(world.now, first, Done::Failed("no space".into()));
    world.collect();
    assert!(!world.manager.is_drain_stored("s3"));
    world.pass(Duration::from_secs(11));
    assert!(world.manager.is_drain_stored("s3") && world.stored_drains.is_empty());
}
