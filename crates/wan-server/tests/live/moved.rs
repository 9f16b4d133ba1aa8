//! A callee has another address: its session follows, and stays as it is where that is refused.
use testkit::namespace::alone;
use testkit::patience::patiently;
use wan_server::protocol::{Answer, Ask, Event};

use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, WEST, flow, session};

#[test]
fn a_session_follows_its_callee_and_stays_where_that_is_refused() {
    alone(|| {
        let domains = Domains::new("moved", PATIENT);
        let first = domains.admitted(&session("10.3.1.7", vec![flow(1_000_000, 25 * MILLISECOND)]));
        let run = |line: &[&str]| {
            let output = domains.command().args(line).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let sessions = || -> Vec<String> {
            domains.status(WEST).sessions.into_iter().map(|session| session.session).collect()
        };
        // Callees of this range take 100 kbit/s of AS 65001.
        let to = |address: &'static str| ["move", &first.session, "10.3.1.7", address, "--asn", "65001"];
        let (code, out, told) = run(&to("10.3.3.7"));
        assert!(code == Some(1) && out.contains("the callee refuses"), "{out}{told}");
        assert_eq!(sessions(), [first.session.as_str()]);
        domains.aggregates(1);

        let mut monitor = domains.client(WEST).unwrap();
        monitor.ask(&Ask::Monitor).unwrap();
        let (code, out, told) = run(&to("10.3.1.9"));
        assert_eq!(code, Some(0), "{out}{told}");
        assert!(out.contains("at most 7.4 ms along AS 65001 65002 65003, 1 Mbit/s reserved"), "{out}");
        let after = loop {
            match monitor.answer::<Answer>().unwrap() {
                Some(Answer::Event(Event::Ended { session, why })) => {
                    assert_eq!((session.as_str(), why.reason.as_str()), (first.session.as_str(), "moved"));
                    break why.text;
                }
                Some(Answer::Event(_)) => {}
                other => panic!("{other:?}"),
            }
        };
        let known = sessions();
        assert!(known.len() == 1 && after.contains(&known[0]), "{known:?}: {after}");
        // Both ends have one session, and one flow of it is reserved.
        patiently("one session at the callees", || (domains.status(EAST).hosted == known).then_some(()));
        patiently("one flow", || {
            (domains.status(EAST).aggregates.iter().map(|held| held.rate).sum::<u64>() == 1_000_000)
                .then_some(())
        });
        let (code, out, _) = run(&to("10.3.1.11"));
        assert!(code == Some(1) && out.contains("not known"), "{out}");
    });
}
