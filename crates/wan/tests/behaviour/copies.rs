//! Two copies of a flow over disjoint paths: both are reserved or none, one link that fails takes one of them and the session goes on, and the copy comes back.
use std::collections::BTreeSet;

use wan::{LinkId, OpenLeg, Reason, Refusal, SessionId, SessionRequest};

use crate::scenarios::{line, reliable, request, world};
use crate::topologies::SECOND;
use crate::world::World;

/// From 1 to 3 there are two ways with a domain each.
const RING: [(u32, u32); 4] = [(1, 2), (2, 3), (3, 4), (1, 4)];

fn doubled(mut request: SessionRequest) -> SessionRequest {
    request.flows.iter_mut().for_each(|flow| flow.copies = 2);
    request
}

fn legs(world: &World, session: SessionId) -> Vec<OpenLeg> {
    let all = world.domains.iter().filter_map(|domain| domain.manager.as_ref());
    all.flat_map(|manager| manager.legs(session)).collect()
}

fn ways(world: &World, session: SessionId) -> BTreeSet<(u8, Vec<u32>)> {
    let all = legs(world, session).into_iter();
    all.map(|leg| (leg.leg.flow, leg.path.iter().map(|asn| asn.0).collect())).collect()
}

fn let_in(world: &World) -> usize {
    world.domains.iter().map(|domain| domain.backend.open.len()).sum()
}

#[test]
fn both_copies_of_each_flow_are_reserved_in_both_directions_and_stop_ends_all() {
    let mut world = world(4, &RING, 1 << 40);
    let session = world.admitted(0, doubled(reliable(1, &[3], 1_000_000)));
    assert_eq!(let_in(&world), 8);
    for (flow, path) in ways(&world, session) {
        let other = ways(&world, session).into_iter().find(|(other, _)| *other == flow ^ 0x80).unwrap();
        assert_eq!(path[1] + other.1[1], 2 + 4, "one by 2, one by 4: {path:?}, {other:?}");
    }
    assert_eq!(world.at_rest(), 1);
    world.input(0, wan::Input::Stop(session));
    world.run(20 * SECOND);
    assert_eq!((world.at_rest(), let_in(&world)), (0, 0));
    assert!(world.domains.iter().all(|domain| domain.backend.held.is_empty()));
}

#[test]
fn without_disjoint_paths_it_is_refused_and_the_shared_domain_is_named() {
    let mut world = world(5, &[(1, 2), (2, 3), (2, 4), (3, 5), (4, 5)], 1 << 40);
    let refusal = world.refused(doubled(request(1, &[5], 1_000_000)));
    assert_eq!(refusal.reason, Reason::NotDisjoint { shared: Some(wan::Asn(2)) });
    assert!(refusal.to_string().contains("AS 2"), "{refusal}");
    let mut line = line(2, 1 << 40);
    let refusal = line.refused(doubled(request(1, &[2], 1_000_000)));
    assert_eq!(refusal.reason, Reason::NotDisjoint { shared: None });
    assert!(line.domains.iter().all(|domain| domain.backend.held.is_empty()));
}

#[test]
fn a_domain_that_cannot_send_two_copies_refuses_those_that_leave_it() {
    let mut world = world(4, &RING, 1 << 40);
    // A domain is told by its file, when it starts.
    world.domains[2].config.can_duplicate = false;
    world.crash(2);
    world.run(20 * SECOND);
    let refusal = world.refused(doubled(reliable(1, &[3], 1_000_000)));
    assert_eq!(refusal, Refusal { asn: wan::Asn(3), link: None, reason: Reason::CannotDuplicate });
    // What leaves the other domain alone has two copies.
    world.admitted(0, doubled(request(1, &[3], 1_000_000)));
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 1);
}

#[test]
fn where_one_way_is_full_nothing_is_reserved() {
    let mut world = world(4, &RING, 1_500_000);
    // The rates of both copies are the same: neither is lowered by a network.
    let mut asked = doubled(request(1, &[3], 1_000_000));
    asked.flows[0].least_rate = 100_000;
    world.admitted(0, asked.clone());
    let refusal = world.refused(asked);
    assert!(matches!(refusal.reason, Reason::Rate { .. }), "{refusal}");
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 1);
}

#[test]
fn each_link_may_fail_and_one_copy_goes_on_until_the_other_comes_back() {
    for link in 1..=4 {
        let mut world = world(4, &RING, 1 << 40);
        let session = world.admitted(0, doubled(reliable(1, &[3], 1_000_000)));
        let before = ways(&world, session);
        world.context = format!("link {link}");
        world.cut_link(LinkId(link), 10 * SECOND);
        world.run(5 * SECOND);
        // Four flows are left with one copy each, and each was on its way before; both ends hear of each.
        let left = ways(&world, session);
        assert_eq!((left.len(), let_in(&world)), (4, 4), "{left:?}");
        assert!(left.is_subset(&before), "{left:?} of {before:?}");
        let told: BTreeSet<_> = world.copies.iter().map(|(at, leg, _)| (*at, leg.flow)).collect();
        assert_eq!((told.len(), world.copies.len()), (8, 8), "{:?}", world.copies);
        for (.., said) in &world.copies {
            let refusal = said.as_ref().unwrap_err();
            assert_eq!((refusal.link, &refusal.reason), (Some(LinkId(link)), &Reason::LinkDown));
        }
        assert!(world.ended.is_empty() && world.rerouted.is_empty());
        world.run(30 * SECOND);
        assert_eq!(ways(&world, session), before, "both copies go again");
        let back = world.copies.iter().filter(|(.., said)| said.is_ok()).count();
        assert_eq!((back, world.copies.len(), let_in(&world)), (8, 16, 8));
        assert_eq!(world.at_rest(), 1);
    }
}

#[test]
fn the_last_copy_goes_another_way_or_ends_the_session() {
    let mut world = world(4, &RING, 1 << 40);
    let session = world.admitted(0, doubled(request(1, &[3], 1_000_000)));
    world.cut_link(LinkId(1), 100 * SECOND);
    world.run(5 * SECOND);
    assert_eq!(ways(&world, session).len(), 1);
    world.cut_link(LinkId(3), 100 * SECOND);
    world.run(5 * SECOND);
    assert!(world.ended.contains_key(&session));
    world.run(20 * SECOND);
    assert_eq!((world.at_rest(), let_in(&world)), (0, 0));
}

/// A manager of the origin that crashes at any step after a cut goes on with one copy or both, and holds nothing else.
#[test]
fn a_crash_after_a_cut_leaves_one_copy_or_both() {
    let mut survived = 0;
    for step in 0..40_u64 {
        let mut world = world(4, &RING, 1 << 40);
        let session = world.admitted(0, doubled(request(1, &[3], 1_000_000)));
        world.context = format!("step {step}");
        world.cut_link(LinkId(2), 3 * SECOND);
        world.run(step * 130 * 1_000_000);
        world.crash(0);
        world.run(13 * SECOND);
        world.mend();
        world.run(27 * SECOND);
        if world.at_rest() == 1 {
            assert_eq!(ways(&world, session).len(), 2, "{}", world.context);
            survived += 1;
        }
    }
    assert!(survived > 20, "{survived}");
}
