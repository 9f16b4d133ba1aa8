//! Managers that are killed: back within the lifetime, or not.
use testkit::namespace::alone;
use testkit::patience::patiently;
use wan_server::protocol::{Answer, Ask, Event, Status};

use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};

/// What a status says apart from what changes with each start.
fn reserved(status: &Status) -> (Vec<String>, Vec<String>, Vec<u64>, Vec<String>) {
    let sessions = status.sessions.iter().map(|session| format!("{session:?}")).collect();
    let aggregates = status.aggregates.iter().map(|aggregate| format!("{aggregate:?}")).collect();
    (sessions, status.hosted.clone(), status.links.iter().map(|link| link.reserved).collect(), aggregates)
}

#[test]
fn a_manager_that_is_killed_and_back_in_time_has_changed_nothing() {
    alone(|| {
        let mut domains = Domains::new("back", PATIENT);
        let mut monitor = domains.client(WEST).unwrap();
        let asked = session("10.3.1.7", vec![flow(1_000_000, 25 * MILLISECOND)]);
        let first = domains.admitted(&asked);
        monitor.ask(&Ask::Monitor).unwrap();
        let before = [WEST, TRANSIT, EAST].map(|asn| reserved(&domains.status(asn)));
        let epoch = domains.status(TRANSIT).epoch;
        for asn in [TRANSIT, EAST] {
            domains.kill(asn);
            domains.start(asn);
        }
        assert!(domains.status(TRANSIT).epoch > epoch);
        assert_eq!([WEST, TRANSIT, EAST].map(|asn| reserved(&domains.status(asn))), before);
        domains.connected();
        // The same tunnel carries more now, and nothing has ended meanwhile: the event of the second session is the first that comes.
        let second = domains.admitted(&asked);
        let status = domains.status(TRANSIT);
        assert_eq!((status.aggregates.len(), status.aggregates[0].rate), (1, 2_000_000));
        match monitor.answer::<Answer>().unwrap() {
            Some(Answer::Event(Event::Admitted(event))) => assert_eq!(event.session, second.session),
            other => panic!("{other:?}"),
        }
        // The origin, too: its sessions are there, and are refreshed and ended by the one that begins again.
        domains.kill(WEST);
        domains.start(WEST);
        domains.connected();
        let sessions: Vec<String> =
            domains.status(WEST).sessions.into_iter().map(|session| session.session).collect();
        assert_eq!(sessions, [first.session.clone(), second.session.clone()]);
        for session in sessions {
            assert_eq!(
                domains.ask(WEST, &Ask::Stop { session: session.clone() }),
                Answer::Stopped { session }
            );
        }
        domains.aggregates(0);
        patiently("an end at the callees", || domains.status(EAST).hosted.is_empty().then_some(()));
    });
}

#[test]
fn what_passes_a_manager_that_stays_away_ends_and_is_told() {
    alone(|| {
        let limits = "[limits]\nrefresh = \"500 ms\"\nlifetime = \"5 s\"\nguard = \"1 s\"\n";
        let mut domains = Domains::new("away", limits);
        // A set-up that ends at once on a busy machine is set up again.
        let asked = session("10.3.1.7", vec![flow(1_000_000, 25 * MILLISECOND)]);
        let mut monitor = domains.client(WEST).unwrap();
        monitor.ask(&Ask::Monitor).unwrap();
        let admitted = domains.admitted(&asked);
        domains.kill(TRANSIT);
        let why = loop {
            match monitor.answer::<Answer>().unwrap() {
                Some(Answer::Event(Event::Ended { session, why })) if session == admitted.session => {
                    break why;
                }
                Some(Answer::Event(_)) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(why.reason, "no-answer", "{}", why.text);
        domains.aggregates(0);
        assert!(domains.status(WEST).links.iter().all(|link| link.reserved == 0));
        patiently("an end at the callees", || domains.status(EAST).hosted.is_empty().then_some(()));
        // Back again it forgets what its store had, and carries new sessions.
        domains.start(TRANSIT);
        domains.connected();
        domains.aggregates(0);
        domains.admitted(&asked);
    });
}
