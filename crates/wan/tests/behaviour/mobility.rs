//! An endpoint has another address: its session follows, and what is refused leaves it as it is.
use std::collections::BTreeSet;
use std::net::IpAddr;

use wan::{Asn, Input, LegId, Reason, SessionId};

use crate::scenarios::{Alike, line, of, reliable, request};
use crate::topologies::{MILLISECOND, SECOND, address};
use crate::world::{Outcome, World};

fn open(world: &World, session: SessionId) -> BTreeSet<LegId> {
    let all = world.domains.iter().flat_map(|domain| domain.backend.open.keys().copied());
    all.filter(|leg| leg.session == session).collect()
}

/// Moves, and looks at each step whether edges let in all flows of the session before or of the one after it.
fn moved(world: &mut World, session: SessionId, from: IpAddr, to: IpAddr) -> SessionId {
    let before = open(world, session);
    let ticket = world.relocate(session, from, to);
    let mut after = None;
    for _ in 0..2_000 {
        world.run(2 * MILLISECOND);
        if let Some(Outcome::Admitted(id)) = world.outcomes.get(&ticket) {
            after = Some(*id);
        }
        let is_before = open(world, session) == before;
        let is_after = after.is_some_and(|id| open(world, id).len() == before.len());
        assert!(is_before || is_after, "at {}: {:?}", world.now, world.outcomes.get(&ticket));
    }
    let after = after.expect("it has moved");
    assert_eq!(world.ended.get(&session).map(|refusal| &refusal.reason), Some(&Reason::Moved(after)));
    assert!(open(world, session).is_empty());
    after
}

#[test]
fn a_session_follows_either_end_without_a_gap() {
    let mut world = line(4, 1 << 40);
    let session = world.admitted(0, reliable(1, &[3], 1_000_000));
    let ends = world.domains[0].manager.as_ref().unwrap().ends(session);
    // A callee at another edge, then the caller, then the callee in another domain.
    let mut now = moved(&mut world, session, address(3, 1), address(3, 77));
    for (from, to) in [(address(1, 1), address(1, 9)), (address(3, 77), address(4, 5))] {
        now = moved(&mut world, now, from, to);
        world.run(20 * SECOND);
        assert_eq!(world.at_rest(), 1);
    }
    let manager = world.domains[0].manager.as_ref().unwrap();
    let (_, request, _) = manager.sessions().next().unwrap();
    assert_eq!((request.caller, &request.callees[..]), (address(1, 9), &[address(4, 5)][..]));
    // It ends when it would have ended.
    assert_eq!(manager.ends(now), ends);
}

/// Whatever is wrong with the new address or the way to it, the session stays.
#[test]
fn what_is_refused_leaves_the_session_as_it_is() {
    // The link from 2 to 3 has room for one of them.
    let numbers = Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1_500_000, slower: 0, links: 0, loss: 0 };
    let mut world = of(4, &[(1, 2), (2, 3), (3, 4)], numbers);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    let before = open(&world, session);
    let mut refused = |session: SessionId, from: IpAddr, to: IpAddr| {
        let ticket = world.relocate(session, from, to);
        world.run(10 * SECOND);
        assert_eq!(world.at_rest(), 1);
        assert_eq!(open(&world, SessionId { origin: Asn(1), ..before.first().unwrap().session }), before);
        match &world.outcomes[&ticket] {
            Outcome::Refused(refusal) => refusal.reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    let callee = address(3, 1);
    assert!(matches!(refused(session, callee, address(3, 9)), Reason::Rate { .. }), "no room for both");
    let of_other = Reason::ForeignSource { owner: Some(Asn(2)) };
    assert_eq!(refused(session, address(1, 1), address(2, 1)), of_other);
    let nowhere: IpAddr = "192.0.2.1".parse().unwrap();
    assert_eq!(refused(session, callee, nowhere), Reason::UnknownDestination(nowhere));
    assert_eq!(refused(session, address(3, 2), address(3, 9)), Reason::Invalid, "it is no end of it");
    assert_eq!(refused(session, callee, address(1, 1)), Reason::Invalid, "it is one already");
    let unknown = SessionId { origin: Asn(1), number: 1 };
    assert_eq!(refused(unknown, callee, address(3, 9)), Reason::UnknownSession);
}

/// The session before does not count beside the one that takes its place.
#[test]
fn a_quota_that_is_used_up_stops_no_move() {
    let mut world = line(3, 1 << 40);
    let mut asked = request(1, &[3], 3_000_000);
    // This user may have three sessions of 9 Mbit/s together.
    asked.user = 2;
    let sessions: Vec<SessionId> = (0..3).map(|_| world.admitted(0, asked.clone())).collect();
    moved(&mut world, sessions[1], address(3, 1), address(3, 9));
    assert_eq!(world.refused(asked).reason, Reason::TooManySessions);
}

#[test]
fn who_stops_a_session_that_moves_stops_both() {
    for step in 0..20 {
        let mut world = line(4, 1 << 40);
        let session = world.admitted(0, reliable(1, &[3], 1_000_000));
        let ticket = world.relocate(session, address(3, 1), address(4, 1));
        world.run(step * 10 * MILLISECOND);
        world.input(0, Input::Stop(session));
        world.run(30 * SECOND);
        let lives = match &world.outcomes[&ticket] {
            // It had moved already.
            Outcome::Admitted(_) => 1,
            _ => 0,
        };
        assert_eq!(world.at_rest(), lives, "step {step}");
    }
}

/// A manager that crashes at any step goes on with one of both.
#[test]
fn a_crash_leaves_one_of_both() {
    let (mut old, mut new) = (0, 0);
    for step in 0..30 {
        for crashes in [0, 1, 3] {
            let mut world = line(4, 1 << 40);
            let session = world.admitted(0, reliable(1, &[3], 1_000_000));
            world.relocate(session, address(3, 1), address(4, 1));
            world.context = format!("step {step}, domain {}", crashes + 1);
            world.run(step * 14 * MILLISECOND);
            world.crash(crashes);
            world.run(13 * SECOND);
            world.mend();
            world.run(27 * SECOND);
            let lives = world.at_rest();
            assert!(lives <= 1, "{}", world.context);
            let manager = world.domains[0].manager.as_ref().unwrap();
            match manager.sessions().next() {
                Some((id, ..)) if id == session => old += 1,
                Some(_) => new += 1,
                None => {}
            }
        }
    }
    assert!(old > 0 && new > 0, "{old} have not moved, {new} have");
}
