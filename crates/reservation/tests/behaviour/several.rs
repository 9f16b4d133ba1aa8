//! Sessions with several flows and pairs: each pair has the bound of its own flow, and what is told changes with what is known.
use std::collections::BTreeMap;
use std::net::IpAddr;

use reservation::{
    Action, Answer, Bound, Budget, Direction, Flow, Kind, Limits, Listed, PairId, Part, Plan, Sessions,
    Share, Ticket, Verdict, Wanted,
};
use wan::Class;

use crate::needed::MILLISECOND;

const SECOND: u64 = 1_000 * MILLISECOND;

fn id(number: u8) -> PairId {
    PairId { writer: [number; 16], reader: [number + 100; 16] }
}

fn addresses() -> [IpAddr; 2] {
    ["10.1.0.2", "10.3.0.2"].map(|text| text.parse().unwrap())
}

/// Pairs 1 and 2 in a flow each of one session, and pair 3 in none.
fn plan() -> Plan {
    let flow = |port| Flow {
        kind: Kind::Data,
        direction: Direction::Forward,
        port,
        class: Class::Ef,
        rate: 1_000,
        bucket: 100,
        largest_packet: 100,
        limit: 10 * MILLISECOND,
    };
    let share = Share { time: MILLISECOND, is_announced: true };
    let budget = |flow| Budget {
        flow,
        latency: 12 * MILLISECOND,
        writer: share,
        reader: share,
        part: Part::default(),
    };
    let wanted = Wanted {
        flows: vec![flow(7_411), flow(7_413)],
        pairs: BTreeMap::from([(id(1), budget(0)), (id(2), budget(1))]),
    };
    let [from, to] = addresses();
    Plan {
        sessions: BTreeMap::from([((from, to), wanted)]),
        reasons: BTreeMap::from([(id(3), "its class is not known".to_owned())]),
    }
}

/// The ticket of a request that has been made by now; what is told goes into `told`.
fn asked(sessions: &mut Sessions, told: &mut BTreeMap<PairId, Verdict>) -> Option<Ticket> {
    let mut asked = None;
    for action in sessions.take_actions() {
        match action {
            Action::Establish { ticket, flows, .. } => {
                assert_eq!(flows.len(), 2);
                asked = Some(ticket);
            }
            Action::Tell(id, verdict) => drop(told.insert(id, verdict)),
            Action::Look { .. } | Action::Stop { .. } | Action::Extend { .. } | Action::Query { .. } => {}
        }
    }
    asked
}

/// What is told when the manager has admitted the session with these bounds.
fn told(bounds: &[(usize, u64)]) -> BTreeMap<PairId, Verdict> {
    let mut told = BTreeMap::new();
    let mut sessions = Sessions::new(Limits::default());
    sessions.manager_is_here(0);
    sessions.wants(SECOND, plan());
    assert_eq!(asked(&mut sessions, &mut told), None, "a need settles first");
    sessions.timeout(3 * SECOND);
    let ticket = asked(&mut sessions, &mut told).expect("a request");
    let bounds =
        bounds.iter().map(|(flow, delay)| Bound { flow: *flow, delay: *delay, loss: 30, rate: 1_000 });
    let answer = Answer::Admitted { session: "one".to_owned(), bounds: bounds.collect() };
    sessions.answered(3 * SECOND, ticket, answer);
    assert_eq!(asked(&mut sessions, &mut told), None);
    told
}

#[test]
fn each_pair_of_a_session_is_told_the_bound_of_its_own_flow() {
    let all = told(&[(0, 7), (1, 9)]);
    let bound = |number| match &all[&id(number)] {
        Verdict::Admitted { session, budget, bound, .. } => (session.as_str(), budget.flow, *bound),
        other => panic!("{number}: {other:?}"),
    };
    assert_eq!((bound(1), bound(2)), (("one", 0, 7), ("one", 1, 9)));
    assert_eq!(all[&id(3)], Verdict::Without("its class is not known".to_owned()));
    // A flow without a bound is not told the one of another.
    let all = told(&[(0, 7)]);
    assert!(matches!(&all[&id(1)], Verdict::Admitted { bound: 7, loss: 30, .. }));
    assert!(matches!(&all[&id(2)], Verdict::Without(why) if why.contains("no bound")), "{all:?}");
}

#[test]
fn a_session_to_several_callees_is_stopped_where_it_is_not_known() {
    let mut sessions = Sessions::new(Limits::default());
    sessions.manager_is_here(0);
    let [from, to] = addresses();
    let look = sessions.take_actions().into_iter().find_map(|action| match action {
        Action::Look { ticket } => Some(ticket),
        _ => None,
    });
    let other = "10.3.0.9".parse().unwrap();
    let listed = Listed { session: "old".to_owned(), caller: from, callees: vec![other, to], left: SECOND };
    sessions.answered(SECOND, look.expect("a look"), Answer::Held(vec![listed]));
    let stops = |action: &Action| matches!(action, Action::Stop { session, .. } if session == "old");
    assert!(sessions.take_actions().iter().any(stops));
    assert!(!sessions.is_idle());
}

#[test]
fn what_may_be_there_is_looked_for_before_the_end() {
    let mut sessions = Sessions::new(Limits::default());
    let mut told = BTreeMap::new();
    sessions.manager_is_here(0);
    let first = sessions.take_actions().into_iter().find_map(|action| match action {
        Action::Look { ticket } => Some(ticket),
        _ => None,
    });
    sessions.answered(0, first.expect("a look"), Answer::Held(Vec::new()));
    sessions.wants(SECOND, plan());
    sessions.timeout(3 * SECOND);
    let ticket = asked(&mut sessions, &mut told).expect("a request");
    sessions.wants(3 * SECOND, Plan::default());
    sessions.answered(3 * SECOND, ticket, Answer::Lost("the connection has ended".to_owned()));
    assert!(!sessions.is_idle(), "the manager may have admitted it");
    let look = sessions.take_actions().into_iter().find_map(|action| match action {
        Action::Look { ticket } => Some(ticket),
        _ => None,
    });
    let [from, to] = addresses();
    let listed = Listed { session: "one".to_owned(), caller: from, callees: vec![to], left: SECOND };
    sessions.answered(4 * SECOND, look.expect("a look"), Answer::Held(vec![listed]));
    let stop = sessions.take_actions().into_iter().find_map(|action| match action {
        Action::Stop { ticket, session } if session == "one" => Some(ticket),
        _ => None,
    });
    sessions.answered(5 * SECOND, stop.expect("a stop"), Answer::Done);
    assert!(sessions.is_idle());
}
