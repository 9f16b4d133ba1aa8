//! What is durable before what, and what crashes and refusals leave in stores and back-ends: single rules, on worlds without other faults.
use wan::{
    Asn, Body, Class, Establish, Input, Key, LinkId, Message, Reason, Record, SessionBody, SessionId,
    SessionRequest,
};

use crate::scenarios::{line, reliable, request};
use crate::topologies::{MILLISECOND, SECOND, address};
use crate::world::{Outcome, World};

impl World {
    /// Bits per second of the only aggregate from a domain: in the back-end of another, in its ledger, and in its store.
    fn rates(&self, at: usize, origin: u32, link: u32) -> (u64, u64, u64) {
        let domain = &self.domains[at];
        let of_origin = |asn: Asn| asn == Asn(origin);
        let inside = domain.backend.held.iter().find(|(id, _)| of_origin(id.tunnel.origin));
        let stored = domain.store.iter().find_map(|(key, record)| match (key, record) {
            (Key::Aggregate(id), Record::Aggregate(held)) if of_origin(id.tunnel.origin) => Some(held),
            _ => None,
        });
        let ledger = domain.manager.as_ref().unwrap().reserved(LinkId(link), Class::Ef).0;
        let inside = inside.map_or(0, |(_, demand)| demand.rate);
        (inside, ledger, stored.map_or(0, |held| held.asked.traffic.rate))
    }

    fn run_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let end = self.now + 5 * SECOND;
        while !is_so(self) {
            assert!(self.now < end, "it does not come about");
            self.run(MILLISECOND / 2);
        }
    }

    fn has_session_record(&self, at: usize, id: SessionId) -> bool {
        let store = &self.domains[at].store;
        store.contains_key(&Key::Own(id)) || store.contains_key(&Key::Hosted(id))
    }
}

/// Aggregates are durable already; the record of the session is not.
#[test]
fn edges_let_in_no_flow_of_a_session_that_is_not_stored() {
    for at in [0, 2] {
        let mut world = line(3, 1 << 40);
        world.domains[at].hangs_at_sessions = true;
        let ticket = world.request(0, reliable(1, &[3], 100_000));
        world.run(2 * SECOND);
        assert!(!world.domains[at].store.is_empty() && world.held(at) > 0, "all is reserved");
        assert!(world.domains[at].backend.open.is_empty(), "domain {} lets in what is not stored", at + 1);
        assert!(!world.outcomes.contains_key(&ticket), "domain {} is not waited for", at + 1);
        world.store_goes_on(at);
        world.run(2 * SECOND);
        assert!(matches!(world.outcomes.get(&ticket), Some(Outcome::Admitted(_))));
        assert!(!world.domains[at].backend.open.is_empty());
        assert_eq!(world.at_rest(), 1);
    }
}

/// A crash would bring back a session whose end is not durable.
#[test]
fn an_end_is_said_when_it_is_durable() {
    let mut world = line(3, 1 << 40);
    let session = world.admitted(0, reliable(1, &[3], 100_000));
    world.domains[0].hangs_at_sessions = true;
    world.input(0, Input::Stop(session));
    world.run(2 * SECOND);
    assert!(world.has_session_record(0, session));
    assert_eq!(world.ended.get(&session), None, "said, and not durable");
    world.store_goes_on(0);
    world.run(2 * SECOND);
    assert_eq!(world.ended.get(&session).map(|refusal| &refusal.reason), Some(&Reason::Stopped));
    assert_eq!(world.at_rest(), 0);
}

/// A caller ends its session while the manager starts: it hears of the end as at any other time.
#[test]
fn what_is_stopped_while_the_manager_starts_ends_when_it_has_started() {
    let mut world = line(3, 1 << 40);
    let session = world.admitted(0, reliable(1, &[3], 100_000));
    world.domains[0].manager = None;
    world.mend();
    // Its back-end has not said yet what it holds.
    for _ in 0..2 {
        world.input(0, Input::Stop(session));
    }
    assert_eq!(world.ended.get(&session), None, "nothing is decided yet");
    world.run(2 * SECOND);
    assert_eq!(world.ended.get(&session).map(|refusal| &refusal.reason), Some(&Reason::Stopped));
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 0);
}

/// A crash would bring back the earlier end of a session whose caller has heard of the later one.
#[test]
fn a_later_end_counts_and_is_said_when_it_is_durable() {
    let mut world = line(3, 1 << 40);
    let request = SessionRequest { lasts: 60 * SECOND, ..reliable(1, &[3], 100_000) };
    let (crashes, ends) = (world.admitted(0, request.clone()), world.admitted(0, request));
    let first = world.domains[0].manager.as_ref().unwrap().ends(crashes).unwrap();
    world.domains[0].hangs_at_sessions = true;
    world.extend(crashes, 20 * SECOND);
    world.run(SECOND);
    assert_eq!(world.extended.get(&crashes), None, "said, and not durable");
    world.extend(crashes, 20 * SECOND);
    assert_eq!(world.not_extended, [Reason::Busy], "one after the other");
    world.store_goes_on(0);
    world.run(SECOND);
    let end = world.extended[&crashes];
    assert_eq!(world.domains[0].manager.as_ref().unwrap().ends(crashes), Some(end));
    assert_eq!(end, first + 20 * SECOND);
    world.domains[0].manager = None;
    world.mend();
    assert_eq!(world.domains[0].manager.as_ref().unwrap().ends(crashes), Some(end));
    world.run(first - world.now + 10 * SECOND);
    assert_eq!(world.ended.get(&ends).map(|refusal| &refusal.reason), Some(&Reason::TimeOver));
    assert_eq!(world.ended.get(&crashes), None);
    world.extend(ends, SECOND);
    assert_eq!(world.not_extended.last(), Some(&Reason::UnknownSession));
    world.run(20 * SECOND);
    assert_eq!(world.ended.get(&crashes).map(|refusal| &refusal.reason), Some(&Reason::TimeOver));
    assert_eq!(world.at_rest(), 0);
}

/// The manager forgets a session and crashes before its back-end hears of it.
#[test]
fn a_start_shuts_flows_that_the_store_does_not_know() {
    for at in [0, 2] {
        let mut world = line(3, 1 << 40);
        let session = world.admitted(0, reliable(1, &[3], 100_000));
        world.input(0, Input::Stop(session));
        world.run_until(|world| {
            let domain = &world.domains[at];
            !domain.commands.is_empty() || !world.has_session_record(at, session)
        });
        world.domains[at].commands.clear();
        world.run_until(|world| !world.has_session_record(at, session));
        world.domains[at].manager = None;
        assert!(!world.domains[at].backend.open.is_empty(), "edges are still open");
        world.mend();
        world.run(SECOND);
        assert!(world.domains[at].backend.open.is_empty(), "domain {} leaves flows open", at + 1);
        world.run(20 * SECOND);
        assert_eq!(world.at_rest(), 0);
    }
}

/// While the manager of the second domain is down its operator takes room away, and its back-end has forgotten all, as one without devices does.
#[test]
fn what_a_start_cannot_hold_any_more_ends_and_is_told() {
    for (capacity, budget, is_kept) in
        [(1_000_000, None, true), (999_999, None, false), (1_000_000, Some(1), false)]
    {
        let mut world = line(3, 1 << 40);
        let session = world.admitted(0, request(1, &[3], 1_000_000));
        world.domains[1].manager = None;
        let backend = &mut world.domains[1].backend;
        backend.held.clear();
        backend.committed.clear();
        backend.capacity.insert(Class::Ef, capacity);
        if let Some(more) = budget {
            backend.budget.entry(Class::Ef).and_modify(|(delay, _)| *delay += more);
        }
        world.domains[1].excused = u64::MAX;
        world.mend();
        world.run(4 * SECOND);
        let refusal = world.ended.get(&session);
        if is_kept {
            assert_eq!(refusal, None);
            assert_eq!(world.rates(1, 1, 2), (1_000_000, 1_000_000, 1_000_000));
            continue;
        }
        let refusal = refusal.unwrap();
        let is_told =
            matches!(refusal.reason, Reason::Rate { missing: 1, .. } | Reason::Delay { missing: 1, .. });
        assert!(refusal.asn == Asn(2) && is_told, "{refusal:?}");
        assert_eq!(world.rates(1, 1, 2), (0, 0, 0));
    }
}

/// The third domain has no room for more. The second has asked its back-end already; the first, which would say less, is dead by then.
#[test]
fn a_refused_increase_is_taken_back_inside_the_domains_before() {
    let mut world = line(4, 1 << 40);
    world.input(2, Input::Measured { link: LinkId(3), class: Class::Ef, rate: 1_500_000 });
    world.admitted(0, request(1, &[4], 1_000_000));
    let ticket = world.request(0, request(1, &[4], 1_000_000));
    world.run_until(|world| world.rates(1, 1, 2).0 == 2_000_000);
    world.domains[0].manager = None;
    world.outcomes.insert(ticket, Outcome::Unknown);
    world.run(2 * SECOND);
    assert_eq!(world.rates(1, 1, 2), (1_000_000, 1_000_000, 1_000_000));
    world.mend();
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 1);
}

/// The origin comes down, and a domain after this one refuses even that. What is left here is the lesser, in the store too: a crash must not bring
/// back what others may have by then.
#[test]
fn a_refused_decrease_stays_a_decrease() {
    let mut world = line(4, 1 << 40);
    world.admitted(0, request(1, &[4], 1_000_000));
    let other = world.admitted(0, request(1, &[4], 1_000_000));
    world.domains.iter_mut().for_each(|domain| domain.excused = u64::MAX);
    world.faults.lost = 1_000;
    world.input(2, Input::Link { link: LinkId(3), is_up: false });
    world.domains[2].down.insert(3);
    world.faults.lost = 0;
    world.input(0, Input::Stop(other));
    world.run_until(|world| world.rates(1, 1, 2).0 == 1_000_000);
    world.domains[0].manager = None;
    world.run(2 * SECOND);
    assert_eq!(world.rates(1, 1, 2), (1_000_000, 1_000_000, 1_000_000));
}

/// While a record becomes durable the ledger counts it: the store will have it, whatever the origin says meanwhile.
#[test]
fn what_is_being_stored_counts_until_it_is_answered() {
    let mut world = line(3, 1 << 40);
    world.admitted(0, request(1, &[3], 1_000_000));
    world.domains[1].stored_until = world.now + 4 * SECOND;
    let ticket = world.request(0, request(1, &[3], 1_000_000));
    // The origin waits no longer, and asks for less.
    world.run(7 * SECOND / 2);
    let outcome = world.outcomes.get(&ticket);
    assert!(matches!(outcome, Some(Outcome::Refused(refusal)) if refusal.reason == Reason::NoAnswer));
    let (_, ledger, stored) = world.rates(1, 1, 2);
    assert_eq!((ledger, stored), (2_000_000, 1_000_000), "what is not durable yet counts");
    world.run(3 * SECOND);
    assert_eq!(world.rates(1, 1, 2), (1_000_000, 1_000_000, 1_000_000));
    assert_eq!(world.at_rest(), 1);
}

/// The callees' domain ends a session, its word of that is lost, and a copy of the first question comes late.
#[test]
fn a_late_question_does_not_begin_a_session_again_that_has_ended() {
    let mut world = line(3, 1 << 40);
    let asked = reliable(1, &[3], 100_000);
    let session = world.admitted(0, asked.clone());
    world.faults.lost = 1_000;
    world.domains[2].down.insert(2);
    world.domains[2].excused = world.now + 20 * SECOND;
    world.input(2, Input::Link { link: LinkId(2), is_up: false });
    world.faults.lost = 0;
    let callees = vec![address(3, 1)];
    let establish = Establish { caller: asked.caller, callees, flows: asked.flows };
    let body = Body::Session(session, SessionBody::Establish(establish));
    world.input(2, Input::Message(Message { from: Asn(1), to: Asn(3), body }));
    let is_known = |world: &World| world.domains[2].manager.as_ref().unwrap().hosted_or_asked().count() > 0;
    assert!(!is_known(&world), "it begins again");
    world.run(4 * SECOND);
    let refusal = world.ended.get(&session).unwrap();
    assert_eq!((refusal.asn, &refusal.reason), (Asn(3), &Reason::LinkDown), "the reason that was lost");
    assert!(!is_known(&world));
}

/// The manager of the caller's domain is gone for good. With flows in both directions, and with none from the callees.
#[test]
fn a_session_that_is_not_kept_alive_ends_in_the_callees_domain() {
    for asked in [request(1, &[3], 100_000), reliable(1, &[3], 100_000)] {
        let mut world = line(3, 1 << 40);
        world.admitted(0, asked);
        world.domains[0].manager = None;
        world.run(10 * SECOND);
        let there = &world.domains[2];
        assert_eq!(there.manager.as_ref().unwrap().hosted_or_asked().count(), 0);
        assert!(there.backend.open.is_empty() && there.store.is_empty(), "{:?}", there.store);
        assert_eq!(world.held(1), 0, "nothing passes any more");
    }
}

/// It fails while its record is under way: the store forgets it after that, and then the caller is told.
#[test]
fn a_session_that_fails_while_it_is_stored_is_forgotten() {
    let mut world = line(3, 1 << 40);
    world.domains[0].hangs_at_sessions = true;
    let ticket = world.request(0, reliable(1, &[3], 100_000));
    world.run(2 * SECOND);
    world.domains[2].down.insert(2);
    world.domains[2].excused = world.now + 20 * SECOND;
    world.input(2, Input::Link { link: LinkId(2), is_up: false });
    world.run(SECOND);
    assert!(!world.outcomes.contains_key(&ticket), "said, and a crash may bring it back");
    world.store_goes_on(0);
    world.run(20 * SECOND);
    let outcome = world.outcomes.get(&ticket);
    assert!(matches!(outcome, Some(Outcome::Refused(refusal)) if refusal.reason == Reason::LinkDown));
    assert_eq!(world.at_rest(), 0);
}
