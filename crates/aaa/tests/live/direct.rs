//! A server and a client that talk to each other.
use aaa::client::Refusal;
use aaa::run::handle::Event;
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::result_code::ResultCode;
use diameter::session::client::EndReason;
use testkit::patience::patiently;
use wan::Class;

use crate::scene::{
    USERS, ask, authorize, client, connected, delivered, in_network, plain, printed, records, run, serve,
};

fn usage(bytes: u64) -> Usage {
    Usage { output_bytes: bytes, output_packets: bytes / 1_000, ..Usage::default() }
}

#[test]
fn a_session_is_granted_accounted_and_ended() {
    in_network(|folder| {
        let (server, client_file) = plain(folder);
        let _process = serve(&server);
        let handle = client(&client_file);
        connected(&handle);
        let permit = authorize(&handle, 500_000).unwrap();
        handle.start_accounting(&permit.session).wait().unwrap().unwrap();
        let shown = printed(&["sessions", server.to_str().unwrap()]);
        assert!(
            shown.contains("peer rm.example.net is connected") && shown.contains(&permit.session),
            "{shown}"
        );
        assert!(shown.contains("500000 b/s to 203.0.113.9 with codepoint 46"), "{shown}");
        handle.interim(&permit.session, usage(70_000)).wait().unwrap().unwrap();
        let stopped = handle.stop(&permit.session, usage(123_000), TerminationCause::Logout);
        stopped.wait().unwrap().unwrap();
        delivered(&handle);
        let taken: Vec<_> = records(&server)
            .into_iter()
            .map(|record| {
                let reserved = record.reserved.iter().map(|flow| flow.rate).sum::<u64>();
                (record.number, record.kind.name(), record.output_bytes, reserved, record.granted)
            })
            .collect();
        let expected = [
            (0, "start", 0, 500_000, true),
            (1, "interim", 70_000, 500_000, true),
            (2, "stop", 123_000, 500_000, true),
        ];
        assert_eq!(taken, expected);
        let text = printed(&["records", server.to_str().unwrap(), "--session", &permit.session]);
        assert!(text.lines().count() == 4 && text.contains("logout"), "{text}");
        patiently("the end of the session", || {
            let shown = printed(&["sessions", server.to_str().unwrap(), "--json"]);
            shown.is_empty().then_some(())
        });
    });
}

#[test]
fn an_operator_ends_a_session_and_other_users_do_not_end_it() {
    in_network(|folder| {
        let (server, client_file) = plain(folder);
        let file = server.to_str().unwrap();
        let _process = serve(&server);
        let mut handle = client(&client_file);
        connected(&handle);
        let [first, second] = [(); 2].map(|()| authorize(&handle, 400_000).unwrap().session);
        for session in [&first, &second] {
            handle.start_accounting(session).wait().unwrap().unwrap();
        }
        let nothing = run(&["abort", file, "rm.example.net;0;0"]);
        assert!(nothing.status.code() == Some(1), "{nothing:?}");
        printed(&["abort", file, &first]);
        let ended = Event::Ended { session: first.clone(), reason: EndReason::Aborted };
        assert_eq!(handle.wait_event(), Some(ended));
        handle.stop(&first, usage(5), TerminationCause::Administrative).wait().unwrap().unwrap();
        // A file that is wrong changes nothing; one that allows less ends what it does not allow.
        folder.write("users.toml", "[[user]]\nid = 1\n");
        let wrong = run(&["reload", file]);
        let told = String::from_utf8(wrong.stderr).unwrap();
        assert!(
            wrong.status.code() == Some(1) && told.contains("users.toml:1:1") && told.contains('^'),
            "{told}"
        );
        authorize(&handle, 1_000).unwrap();
        folder.write("users.toml", &USERS.replace("user-alice", "user-carol").replace("alice", "carol"));
        assert!(printed(&["reload", file]).contains("1 users; 2 sessions have to ask again"));
        let ends = [(); 2].map(|()| match handle.wait_event() {
            Some(Event::Ended { session, reason: EndReason::Refused(_) }) => session,
            other => panic!("{other:?}"),
        });
        assert!(ends.contains(&second), "{ends:?}");
    });
}

/// What a contract does not allow is refused over sockets as in virtual time, in great number and at once.
#[test]
fn hundreds_of_requests_without_a_right_get_nothing() {
    in_network(|folder| {
        let (server, client_file) = plain(folder);
        let _process = serve(&server);
        let handle = client(&client_file);
        connected(&handle);
        let asks = (0..400_u64).map(|number| match number % 4 {
            0 => ask("user-eve", "203.0.113.9", Class::Ef, 1_000),
            1 => ask("user-alice", "198.51.100.1", Class::Ef, 1_000),
            2 => ask("user-alice", "203.0.113.9", Class::Af1, 1_000),
            _ => ask("user-alice", "203.0.113.9", Class::Ef, 1_000_001 + number),
        });
        let pending: Vec<_> = asks.map(|ask| handle.authorize(ask)).collect();
        for (number, one) in pending.into_iter().enumerate() {
            let refusal = one.wait().unwrap().unwrap_err();
            // More at once than the client may have open is refused as well, by itself.
            let expected = matches!(
                refusal,
                Refusal::Denied {
                    code: ResultCode::AUTHENTICATION_REJECTED
                        | ResultCode::AUTHORIZATION_REJECTED
                        | ResultCode::RESOURCES_EXCEEDED,
                    ..
                }
            );
            assert!(expected, "{number}: {refusal}");
        }
        assert_eq!(printed(&["sessions", server.to_str().unwrap(), "--json"]), "");
        authorize(&handle, 1_000_000).unwrap();
    });
}
