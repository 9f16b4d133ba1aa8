//! What is admitted, with which bound, and what is refused, by whom, for which reason.
use testkit::namespace::alone;
use testkit::patience::patiently;
use wan_server::protocol::{Answer, Ask, Event, Refused};

use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};

#[test]
fn a_session_is_admitted_through_a_domain_that_hears_of_none() {
    alone(|| {
        let mut domains = Domains::new("admitted", PATIENT);
        let mut monitor = domains.client(WEST).unwrap();
        monitor.ask(&Ask::Monitor).unwrap();
        let back = wan_server::protocol::Flow {
            kind: "acknack".to_owned(),
            direction: "reverse".to_owned(),
            bucket: 100,
            largest_packet: 100,
            ..flow(50_000, 25 * MILLISECOND)
        };
        let asked = session("10.3.1.7", vec![flow(1_000_000, 25 * MILLISECOND), back]);
        let admitted = domains.admitted(&asked);
        // By hand: 0.7 + 0.3 ms inside AS 65001, 3 ms of link 12, 1 ms inside AS 65002, 2 ms of link 23, 0.4 ms inside AS 65003.
        let bound = &admitted.bounds[0];
        assert_eq!((bound.delay, bound.rate, bound.dscp, bound.to), (7_400_000, 1_000_000, 46, EAST));
        assert_eq!((admitted.bounds.len(), &admitted.peers[..]), (1, &[EAST][..]));
        let caveat = admitted.caveat.as_deref().unwrap();
        assert!(caveat.contains("no device is set up"), "{caveat}");
        match monitor.answer::<Answer>().unwrap() {
            Some(Answer::Event(Event::Admitted(event))) => assert_eq!(event, admitted),
            other => panic!("{other:?}"),
        }
        // In transit there are two aggregates, one for each direction, and no session.
        let transit = domains.status(TRANSIT);
        assert!(transit.sessions.is_empty() && transit.hosted.is_empty());
        let mut rates: Vec<u64> = transit.aggregates.iter().map(|aggregate| aggregate.rate).collect();
        rates.sort_unstable();
        assert_eq!(rates, [50_000, 1_000_000]);
        // Labels agree where one domain hands over to the next.
        let label = |asn: u32, is_out: bool| {
            let status = domains.status(asn);
            let of = status.aggregates.iter().find(|aggregate| aggregate.rate == 1_000_000).unwrap();
            if is_out { of.label_out } else { of.label_in }
        };
        assert!(label(WEST, true).is_some() && label(WEST, true) == label(TRANSIT, false));
        assert!(label(TRANSIT, true).is_some() && label(TRANSIT, true) == label(EAST, false));
        assert_eq!(domains.status(EAST).hosted, [admitted.session.as_str()]);

        // It ends everywhere.
        let stop = Ask::Stop { session: admitted.session.clone() };
        assert_eq!(domains.ask(WEST, &stop), Answer::Stopped { session: admitted.session.clone() });
        match monitor.answer::<Answer>().unwrap() {
            Some(Answer::Event(Event::Ended { session, why })) => {
                assert_eq!((session, why.reason.as_str()), (admitted.session, "stopped"));
            }
            other => panic!("{other:?}"),
        }
        domains.aggregates(0);
        assert!(
            matches!(domains.ask(WEST, &stop), Answer::Unknown { what, .. } if what.contains("has no session"))
        );
        patiently("an end at the callees", || domains.status(EAST).hosted.is_empty().then_some(()));
        assert_eq!(domains.end(TRANSIT), Some(0));
    });
}

#[test]
fn a_refusal_says_who_refuses_on_which_link_what_is_missing_and_what_can_be_had() {
    alone(|| {
        let domains = Domains::new("refused", PATIENT);
        let held = session("10.3.1.7", vec![flow(4_000_000, 25 * MILLISECOND)]);
        domains.admitted(&held);
        let refused = |asked| -> Refused { *domains.establish(&asked).expect_err("it is refused") };
        // Link 23 carries 10 Mbit/s in this class, of which 4 are taken.
        let why = refused(session("10.3.1.7", vec![flow(7_000_000, 25 * MILLISECOND)]));
        assert_eq!((why.asn, why.link, why.reason.as_str()), (TRANSIT, Some(23), "rate"), "{}", why.text);
        assert_eq!((why.missing, why.offer), (Some(1_000_000), Some(6_000_000)), "{}", why.text);
        // The last domain adds 0.4 ms to 7 ms.
        let why = refused(session("10.3.1.7", vec![flow(1_000_000, 7_399_999)]));
        assert_eq!((why.asn, why.reason.as_str()), (EAST, "delay"), "{}", why.text);
        assert_eq!((why.missing, why.offer, why.unit.as_deref()), (Some(1), Some(7_400_000), Some("ns")));
        // Its callees take 100 kbit/s of AS 65001.
        let why = refused(session("10.3.3.7", vec![flow(200_000, 25 * MILLISECOND)]));
        assert_eq!((why.asn, why.reason.as_str()), (EAST, "callee-refused"));
        // What the operator's data say: nothing of it reaches another domain.
        let with = |change: fn(&mut wan_server::protocol::SessionAsked)| {
            let mut asked = session("10.3.1.7", vec![flow(1_000, 25 * MILLISECOND)]);
            change(&mut asked);
            refused(asked)
        };
        let why = with(|asked| asked.caller = "10.3.1.1".parse().unwrap());
        assert_eq!((why.asn, why.reason.as_str(), why.other), (WEST, "foreign-source", Some(EAST)));
        assert!(why.text.contains("AS 65003, whose manager is to be asked"), "{}", why.text);
        let expected = [
            ("contract-expired", with(|asked| asked.user = "bob".to_owned())),
            ("unknown-user", with(|asked| asked.user = "mallory".to_owned())),
            ("unknown-service", with(|asked| asked.service = "films".to_owned())),
            ("class-not-agreed", with(|asked| asked.flows[0].class = "af1".to_owned())),
            ("unknown-destination", with(|asked| asked.callees[0] = "192.0.2.1".parse().unwrap())),
            ("quota", with(|asked| asked.flows[0].rate = 12_000_000)),
        ];
        for (reason, why) in expected {
            assert_eq!((why.asn, why.reason.as_str()), (WEST, reason), "{}", why.text);
        }
        // Nothing of all that is reserved anywhere.
        domains.aggregates(1);
        assert_eq!(domains.status(TRANSIT).aggregates[0].rate, 4_000_000);
        assert_eq!(domains.status(TRANSIT).links.iter().map(|link| link.reserved).sum::<u64>(), 4_000_000);
        // A question reserves nothing, either.
        match domains.ask(WEST, &Ask::Query { asn: EAST, class: "ef".to_owned() }) {
            Answer::Free { rate, delay, .. } => assert_eq!((rate, delay), (6_000_000, 7_400_000)),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn commands_print_what_is_so_and_end_with_its_exit_code() {
    alone(|| {
        let domains = Domains::new("commands", PATIENT);
        let run = |line: &[&str]| {
            let output = domains.command().args(line).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let establish = |flow: &str, more: &[&str]| {
            let mut line = vec!["establish", "--asn", "65001", "--user", "ann", "--service", "alarms"];
            line.extend(["--caller", "10.1.0.5", "--callee", "10.3.1.7", "--flow", flow]);
            line.extend(more);
            run(&line)
        };
        let (code, out, told) = establish("class=ef, rate=1 Mbit/s, limit=25 ms", &[]);
        assert_eq!(code, Some(0), "{told}");
        let line =
            "  flow 0 to AS 65003: at most 7.4 ms along AS 65001 65002 65003, 1 Mbit/s reserved, DSCP 46\n";
        assert!(out.contains(line) && out.contains("no device is set up"), "{out}");
        let status = domains.status(WEST);
        let (name, ends) = (&status.sessions[0].session, status.sessions[0].ends);
        let (code, out, told) = run(&["extend", name, "5 min", "--asn", "65001", "--json"]);
        assert_eq!(code, Some(0), "{told}");
        let said: Answer = serde_json::from_str(&out).unwrap();
        assert_eq!(said, Answer::Extended { ends: ends + 300 * 1_000 * MILLISECOND });
        assert_eq!(domains.status(WEST).sessions[0].ends, ends + 300 * 1_000 * MILLISECOND);
        let (code, out, _) = run(&["extend", "65001-7", "5 min", "--asn", "65001"]);
        assert!(code == Some(1) && out.contains("refused: AS 65001"), "{out}");
        let (code, out, _) = establish("class=ef, rate=10 Mbit/s, limit=25 ms", &[]);
        let said = "refused: AS 65002, link 23: there is too little by 1 Mbit/s; 9 Mbit/s can be had\n";
        assert_eq!((code, out.as_str()), (Some(1), said));
        let (code, out, _) = establish("class=ef, rate=1 Mbit/s, limit=1 ms", &["--json"]);
        let said: Answer = serde_json::from_str(&out).unwrap();
        assert!(matches!(said, Answer::Refused(why) if why.reason == "no-path"));
        assert_eq!((code, out.lines().count()), (Some(1), 1));
        assert_eq!(establish("class=ef, rate=1 Mbit/s", &[]).0, Some(2), "a flow without a limit");
        // Three managers run here.
        let (code, _, told) = run(&["status"]);
        assert!(code == Some(2) && told.contains("--asn: 65001, 65002, 65003"), "{told}");
        let (code, _, told) = run(&["status", "--asn", "7"]);
        assert!(code == Some(3) && told.contains("no manager of AS 7 runs here"), "{told}");
        let (code, out, _) = run(&["status", "--asn", "65002"]);
        let line = "link 23 to AS 65003, ef: 1 Mbit/s of 10 Mbit/s reserved, ";
        assert!(code == Some(0) && out.contains(line), "{out}");
        let (code, _, told) = run(&["stop", "65001-7", "--asn", "65001"]);
        assert!(code == Some(2) && told.contains("has no session 65001-7"), "{told}");
        // A second manager of the same domain does not disturb the first.
        let (code, _, told) = run(&["serve", "west.toml", "--keys", "keys", "--store", "other.redb"]);
        assert!(code == Some(1) && told.contains("belongs to a manager of this domain"), "{told}");
        let (code, _, told) = run(&["serve", "west.toml", "--keys", "nowhere", "--store", "other.redb"]);
        assert!(code == Some(2) && told.contains("punctual grm keys"), "{told}");
        std::fs::write(domains.path("bad.toml"), "asn = 65001\nlisten = 7\n").unwrap();
        let (code, _, told) = run(&["serve", "bad.toml", "--check"]);
        assert!(code == Some(2) && told.contains("bad.toml:2:10: ") && told.contains('^'), "{told}");
        let (code, out, _) = run(&["serve", "west.toml", "--check"]);
        assert_eq!((code, out.as_str()), (Some(0), "AS 65001: 2 agreements, 2 users\n"));
    });
}
