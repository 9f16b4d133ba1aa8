//! Switches that are drained: flows leave them without a gap, those that cannot stay or are cut, and nothing new comes.
use std::time::Duration;

use wire::admission::State;

use crate::cases::{MS, at_once, pair};
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
    // A manager that starts again drains nothing.
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
