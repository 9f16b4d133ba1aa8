//! Sessions that an AAA server grants, refuses, ends and accounts.
use testkit::namespace::alone;
use testkit::patience::{LIMIT, patiently, patiently_or};
use wan_server::Client;
use wan_server::protocol::{Admitted, Answer, Ask, Event, Refused, SessionAsked};

use crate::aaa_server::{AaaServer, TABLE, granted, last_record, operate, records, set_quota, write_files};
use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, WEST, flow, session};

/// Managers of three domains, of which the west asks an AAA server; that is not there yet.
fn domains(test: &str, lines: &str) -> Domains {
    Domains::prepared(test, PATIENT, |folder, asn, text| {
        if asn == WEST {
            write_files(folder, lines);
            text.push_str(TABLE);
        }
    })
}

pub(crate) fn asked(rate: u64) -> SessionAsked {
    session("10.3.1.7", vec![flow(rate, 25 * MILLISECOND)])
}

/// A session is admitted once the client has found its server. Where the set-up takes longer than a grant holds, it is set up again.
pub(crate) fn admitted(domains: &Domains, rate: u64) -> Admitted {
    patiently("a session that is admitted", || match domains.establish(&asked(rate)) {
        Ok(admitted) => Some(admitted),
        Err(refused) => {
            let again = ["aaa-unavailable", "grant-over"];
            assert!(again.contains(&refused.reason.as_str()), "{}: {}", refused.reason, refused.text);
            None
        }
    })
}

pub(crate) fn monitor(domains: &Domains, asn: u32) -> Client {
    let mut monitor = domains.client(asn).unwrap();
    monitor.ask(&Ask::Monitor).unwrap();
    // An end that is never told fails the test, and does not hang it.
    monitor.writer().unwrap().set_read_timeout(Some(LIMIT)).unwrap();
    monitor
}

/// Why a session has ended, as a domain tells it.
pub(crate) fn why(monitor: &mut Client, of: &str) -> Refused {
    loop {
        match monitor.answer::<Answer>().unwrap() {
            Some(Answer::Event(Event::Ended { session, why })) if session == of => return why,
            Some(Answer::Event(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The only session that the server grants.
pub(crate) fn only(domains: &Domains) -> String {
    let all = granted(domains);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

pub(crate) fn nothing_is_reserved(domains: &Domains) {
    domains.aggregates(0);
    assert!(domains.status(WEST).links.iter().all(|link| link.reserved == 0));
}

#[test]
pub(crate) fn nothing_is_reserved_without_a_grant_and_what_is_withdrawn_ends_at_both_ends() {
    alone(|| {
        let domains = domains("granted", "");
        // Without a server nothing is admitted.
        for _ in 0..3 {
            let refused = domains.establish(&asked(1_000_000)).unwrap_err();
            assert_eq!((refused.asn, refused.reason.as_str()), (WEST, "aaa-unavailable"), "{refused:?}");
            assert!(refused.text.contains("nothing is admitted without the AAA server"), "{refused:?}");
        }
        nothing_is_reserved(&domains);

        let server = AaaServer::start(&domains);
        let (mut at_west, mut at_east) = (monitor(&domains, WEST), monitor(&domains, EAST));
        let first = admitted(&domains, 1_000_000);
        let name = only(&domains);
        // The contract of the server refuses what the file of the domain allows.
        let refused = domains.establish(&asked(1_500_000)).unwrap_err();
        assert_eq!((refused.asn, refused.reason.as_str()), (WEST, "not-authorized"), "{refused:?}");
        assert!(refused.text.contains("1000000 of 2000000 b/s are left"), "{refused:?}");
        assert_eq!(domains.status(EAST).hosted, std::slice::from_ref(&first.session));

        // Its operator ends it: both ends hear that, and in which words.
        operate(&domains, &["abort", "aaa.toml", &name]);
        for monitor in [&mut at_west, &mut at_east] {
            let why = why(monitor, &first.session);
            assert_eq!((why.asn, why.reason.as_str()), (WEST, "aborted"), "{why:?}");
        }
        nothing_is_reserved(&domains);
        assert_eq!(last_record(&domains, &name).cause.as_deref(), Some("administrative"));

        // What the contract pays for no longer ends.
        let second = admitted(&domains, 1_000_000);
        let name = only(&domains);
        set_quota(&domains, "100 kb/s");
        for monitor in [&mut at_west, &mut at_east] {
            let why = why(monitor, &second.session);
            assert_eq!((why.asn, why.reason.as_str()), (WEST, "not-authorized"), "{why:?}");
        }
        nothing_is_reserved(&domains);
        last_record(&domains, &name);
        set_quota(&domains, "2 Mb/s");

        // The server is killed: 0 are admitted. It is back: they are. A caller's end is one in the records.
        drop(server);
        patiently("a client that knows it", || match domains.establish(&asked(1_000_000)) {
            Err(refused) if refused.reason == "aaa-unavailable" => Some(()),
            other => panic!("{other:?}"),
        });
        nothing_is_reserved(&domains);
        let _server = AaaServer::start(&domains);
        let third = admitted(&domains, 1_000_000);
        let name = only(&domains);
        assert_eq!(
            domains.ask(WEST, &Ask::Stop { session: third.session.clone() }),
            Answer::Stopped { session: third.session }
        );
        assert_eq!(last_record(&domains, &name).cause.as_deref(), Some("logout"));
        let reserved: Vec<u64> = last_record(&domains, &name).reserved.iter().map(|flow| flow.rate).collect();
        assert_eq!(reserved, [1_000_000]);
    });
}

#[test]
fn a_session_whose_grant_is_not_renewed_ends_with_it() {
    alone(|| {
        // The end of a grant is waited for, and a set-up on a busy host takes seconds.
        let domains = domains("expires", "lifetime = \"10 s\"\ngrace = \"5 s\"");
        let server = AaaServer::start(&domains);
        let mut monitor = monitor(&domains, WEST);
        let session = admitted(&domains, 1_000_000);
        let name = only(&domains);
        drop(server);
        let why = why(&mut monitor, &session.session);
        assert_eq!((why.asn, why.reason.as_str()), (WEST, "grant-over"), "{why:?}");
        nothing_is_reserved(&domains);
        // The record of its end was kept until there is a server to take it.
        let _server = AaaServer::start(&domains);
        assert_eq!(last_record(&domains, &name).cause.as_deref(), Some("auth-expired"));
    });
}

#[test]
fn a_manager_that_starts_again_goes_on_with_its_grants_and_records() {
    alone(|| {
        let mut domains = domains("resumed", "");
        let _server = AaaServer::start(&domains);
        let session = admitted(&domains, 1_000_000).session;
        let name = only(&domains);
        for kills in [true, false] {
            if kills {
                domains.kill(WEST);
            } else {
                assert_eq!(domains.end(WEST), Some(0));
            }
            domains.start(WEST);
            domains.connected();
            let is_there = |status: wan_server::protocol::Status| {
                status.sessions.iter().map(|one| one.session.clone()).eq([session.clone()])
            };
            assert!(is_there(domains.status(WEST)));
            assert_eq!(only(&domains), name, "it is the same session for the server");
        }
        // A renewal is asked for at once, so the server counts it once: there is room for as much again.
        let second = admitted(&domains, 1_000_000).session;
        assert_eq!(domains.establish(&asked(1_000_000)).unwrap_err().reason, "not-authorized");
        assert_eq!(granted(&domains).len(), 2);
        for session in [session, second] {
            assert_eq!(
                domains.ask(WEST, &Ask::Stop { session: session.clone() }),
                Answer::Stopped { session }
            );
        }
        assert_eq!(last_record(&domains, &name).cause.as_deref(), Some("logout"));
        patiently_or(
            || format!("no sessions at the server: {:?}, {:?}", granted(&domains), records(&domains)),
            || granted(&domains).is_empty().then_some(()),
        );
    });
}
