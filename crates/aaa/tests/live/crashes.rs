//! Servers and clients that are killed.
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use aaa::client::Refusal;
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use testkit::patience::patiently;

use crate::scene::{
    Process, authorize, client, connected, delivered, in_network, plain, printed, program, records, serve,
};

/// While the server is away nothing is granted, sessions go on, and their records wait; later each is there once.
#[test]
fn a_server_that_is_killed_loses_no_record_and_counts_none_twice() {
    in_network(|folder| {
        let (server, client_file) = plain(folder);
        let mut process = serve(&server);
        let handle = client(&client_file);
        connected(&handle);
        let mut expected = Vec::new();
        for round in 0..3_u64 {
            let session = authorize(&handle, 100_000).unwrap().session;
            handle.start_accounting(&session).wait().unwrap().unwrap();
            let usage = |bytes| Usage { output_bytes: bytes, ..Usage::default() };
            // Some are confirmed, some are on their way when it is killed, some wait.
            let interims: Vec<_> = (1..=20).map(|bytes| handle.interim(&session, usage(bytes))).collect();
            process.kill();
            interims.into_iter().for_each(|interim| interim.wait().unwrap().unwrap());
            patiently("the end of the connection", || {
                (!handle.undelivered().wait().unwrap().1).then_some(())
            });
            let refusal = authorize(&handle, 1_000).unwrap_err();
            assert_eq!(refusal, Refusal::NoServer);
            handle.interim(&session, usage(21)).wait().unwrap().unwrap();
            let stop = handle.stop(&session, usage(22 + round), TerminationCause::Logout);
            stop.wait().unwrap().unwrap();
            process = serve(&server);
            connected(&handle);
            delivered(&handle);
            expected.push((session, 22 + round));
        }
        let taken = records(&server);
        assert_eq!(taken.len(), 3 * 23);
        for (session, bytes) in expected {
            let of: Vec<_> = taken.iter().filter(|record| record.session == session).collect();
            let mut numbers: Vec<u32> = of.iter().map(|record| record.number).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..23).collect::<Vec<_>>(), "{session}");
            let last = of.iter().find(|record| record.number == 22).unwrap();
            assert_eq!((last.output_bytes, last.cause.as_deref()), (bytes, Some("logout")));
        }
        patiently("the ends of the sessions", || {
            printed(&["sessions", server.to_str().unwrap(), "--json"]).is_empty().then_some(())
        });
    });
}

/// What is written half is cut, and what was confirmed is there.
#[test]
fn a_torn_record_is_cut_at_the_next_start() {
    in_network(|folder| {
        let (server, client_file) = plain(folder);
        let mut process = serve(&server);
        let done = printed(&[
            "ask",
            client_file.to_str().unwrap(),
            "--user",
            "user-alice",
            "--to",
            "203.0.113.9",
            "--class",
            "ef",
            "--rate",
            "1 Mb/s",
            "--bytes",
            "77",
            "--timeout",
            "1 min",
        ]);
        assert!(done.ends_with("the server has all records\n"), "{done}");
        process.kill();
        let path = folder.path().join("server/records");
        let whole = std::fs::read(&path).unwrap();
        let torn: Vec<u8> = whole.iter().chain(&whole[..whole.len() / 3]).copied().collect();
        std::fs::write(&path, &torn).unwrap();
        assert_eq!(records(&server).len(), 2, "the command reads what is whole");
        let _process = serve(&server);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    });
}

/// A client that is killed loses what was delivered since its last record, and nothing else: the next one ends its session.
#[test]
fn a_client_that_is_killed_loses_one_interim_record_at_most() {
    in_network(|folder| {
        let (server, client_file) = plain(folder);
        let file = std::fs::read_to_string(&server).unwrap();
        std::fs::write(&server, file.replace("watchdog", "interim = \"1 s\"\nwatchdog")).unwrap();
        let _process = serve(&server);
        let mut child = program()
            .arg("ask")
            .arg(&client_file)
            .args(["--user", "user-alice", "--to", "203.0.113.9", "--class", "ef", "--rate", "1 Mb/s"])
            .args(["--bytes", "4321", "--hold", "60 min", "--timeout", "1 min"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut child = Process(child);
        let granted = lines.next().unwrap().unwrap();
        let session = granted.strip_prefix("granted ").unwrap().to_owned();
        patiently("an interim record", || {
            records(&server).iter().any(|record| record.kind.name() == "interim").then_some(())
        });
        child.kill();
        let handle = client(&client_file);
        connected(&handle);
        delivered(&handle);
        let taken = records(&server);
        let last = taken.iter().max_by_key(|record| record.number).unwrap();
        assert_eq!(
            (last.session.as_str(), last.kind.name(), last.output_bytes),
            (session.as_str(), "stop", 4_321)
        );
        assert_eq!(last.cause.as_deref(), Some("administrative"));
        patiently("the end of the session", || {
            printed(&["sessions", server.to_str().unwrap(), "--json"]).is_empty().then_some(())
        });
        authorize(&handle, 1_000_000).unwrap();
    });
}
