//! The manager of the caller's domain asks each manager of the path itself.
use nix::sys::signal::Signal;
use testkit::namespace::alone;
use testkit::patience::patiently;
use wan_server::protocol::{Answer, Ask, Flow, SessionAsked, Status};

use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};

/// What the domains ask each other, and how.
fn asked(asking: &str) -> SessionAsked {
    let asking = asking.to_owned();
    let data = Flow { asking: asking.clone(), ..flow(1_000_000, 25 * MILLISECOND) };
    let back = Flow {
        kind: "acknack".to_owned(),
        direction: "reverse".to_owned(),
        bucket: 100,
        largest_packet: 100,
        asking,
        ..flow(50_000, 25 * MILLISECOND)
    };
    session("10.3.1.7", vec![data, back])
}

/// What a domain holds, without the numbers of tunnels.
fn held(status: &Status) -> (Vec<(u64, bool, bool)>, Vec<u64>) {
    let of = status.aggregates.iter();
    let mut all: Vec<_> =
        of.map(|held| (held.rate, held.label_in.is_some(), held.label_out.is_some())).collect();
    all.sort_unstable();
    (all, status.links.iter().map(|link| link.reserved).collect())
}

#[test]
fn domains_that_are_asked_by_the_first_one_hold_what_they_would_hold_otherwise() {
    alone(|| {
        let domains = Domains::new("single-hop", PATIENT);
        let mut seen = Vec::new();
        for asking in ["direct", "hop-by-hop"] {
            let admitted = domains.admitted(&asked(asking));
            domains.aggregates(2);
            let bounds: Vec<_> = admitted.bounds.iter().map(|bound| (bound.delay, bound.rate)).collect();
            seen.push((bounds, [WEST, TRANSIT, EAST].map(|asn| held(&domains.status(asn)))));
            domains.ask(WEST, &Ask::Stop { session: admitted.session });
            domains.aggregates(0);
        }
        assert_eq!(seen[0], seen[1]);
        // By hand, as in `admitted.rs`.
        assert_eq!(seen[0].0, [(7_400_000, 1_000_000)]);
    });
}

/// Without `direct` in the agreement of link 23, its domains are asked hop by hop; what is asked is admitted all the same.
#[test]
fn agreements_say_who_may_ask() {
    alone(|| {
        let domains = Domains::changed("not-let", PATIENT, |_, text| text.replace("direct = [65001]\n", ""));
        let admitted = domains.admitted(&asked("direct"));
        assert_eq!(admitted.bounds[0].delay, 7_400_000);
        domains.aggregates(2);
    });
}

/// The manager in the middle stands still while the others hold their parts, and is killed then.
#[test]
fn a_manager_that_is_killed_in_the_middle_of_it_leaves_nothing() {
    alone(|| {
        let limits =
            "[limits]\nrefresh = \"500 ms\"\nlifetime = \"5 s\"\nguard = \"1 s\"\npatience = \"4 s\"\n";
        let mut domains = Domains::new("killed-middle", limits);
        domains.signal(TRANSIT, Signal::SIGSTOP);
        let mut client = domains.client(WEST).unwrap();
        client.ask(&Ask::Establish(asked("direct"))).unwrap();
        patiently("both ends hold their own parts", || {
            let counts = [WEST, EAST].map(|asn| domains.status(asn).aggregates.len());
            (counts == [1, 1]).then_some(())
        });
        domains.kill(TRANSIT);
        match client.answer::<Answer>().unwrap() {
            Some(Answer::Refused(refused)) => assert_eq!(refused.reason, "no-answer", "{}", refused.text),
            other => panic!("{other:?}"),
        }
        domains.aggregates(0);
        patiently("an end at the callees", || domains.status(EAST).hosted.is_empty().then_some(()));
        assert!(domains.status(WEST).links.iter().all(|link| link.reserved == 0));
        domains.start(TRANSIT);
        domains.connected();
        domains.aggregates(0);
        domains.admitted(&asked("direct"));
        domains.aggregates(2);
    });
}
