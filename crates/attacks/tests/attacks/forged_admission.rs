//! A legitimate participant that writes verdicts and requests about a pair that is not its own; and managers that come and go.
use std::net::SocketAddrV4;
use std::time::Duration;

use crate::admission::{REQUEST, Request, VERDICT, Verdict, key};
use crate::managed::Managed;
use crate::peer::{Endpoint, Manners, Peer, Sample};

const PREFIX: [u8; 12] = *b"not a manage";
const VERDICTS: [u8; 4] = [0, 0, 1, 2];
const REQUESTS: [u8; 4] = [0, 0, 2, 2];
/// The stranger with its two writers.
fn stranger(managed: &Managed) -> Peer {
    let endpoint = |entity, [topic, type_name]: [&'static str; 2]| Endpoint {
        entity,
        topic,
        type_name,
        is_lasting: true,
    };
    let manners = Manners {
        prefix: PREFIX,
        address: managed.address("stranger"),
        says: None,
        period: Duration::from_millis(500),
        wants_more: false,
        endpoints: vec![endpoint(VERDICTS, VERDICT), endpoint(REQUESTS, REQUEST)],
    };
    Peer::new(&managed.host("stranger"), manners)
}

#[test]
fn forged_verdicts_and_requests_about_an_admitted_pair_count_for_nothing() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    let _peer = forge(&managed);
    managed.stays_assured("after the forgeries");
    managed.assert_none_forged();
}

#[test]
fn with_keys_forgeries_count_for_nothing_and_their_host_is_named() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured();
    let _peer = forge(&managed);
    let named = "requests about readers of other participants than they came from are dropped";
    managed.is_told("the forger", &[named, "on stranger"]);
    managed.assert_unharmed("after the forgeries");
    assert!(managed.managers_live());
}

/// Publishes verdicts and requests about the pair of others, until all have read them.
fn forge(managed: &Managed) -> Peer {
    // Who comes later gets its writers' histories.
    let peer = stranger(managed);
    let own = SocketAddrV4::new(managed.address("stranger"), 7411);
    let pair = [managed.writer.guid(), managed.reader.guid()];
    let nowhere = [[7; 16], [8; 16]];
    let verdict =
        |pair, serial, state| Verdict { pair, serial, epoch: u64::MAX, state, destination: own }.bytes();
    let manager = managed.manager_guid();
    let request = |serial, latency, separation, stage| {
        Request { pair, serial, latency, separation, sockets: [own; 2], stage, manager }.bytes()
    };
    let attacks = [
        (VERDICTS, verdict(nowhere, 1, 1), false),
        (VERDICTS, verdict(pair, 1, 2), false),
        (VERDICTS, verdict(pair, 1, 3), false),
        (VERDICTS, verdict(pair, u64::MAX, 1), false),
        (REQUESTS, request(1, 20_000_000, 20_000_000, 0), false),
        (REQUESTS, request(u64::MAX, 1, 1_000, 0), false),
        (REQUESTS, request(2, 0, 20_000_000, 1), false),
        (REQUESTS, key(pair), true),
        (VERDICTS, key(pair), true),
    ];
    for (entity, payload, ends) in attacks {
        // Verdicts are read by both ends of the pair, requests by the manager.
        let participants = if entity == VERDICTS { 2 } else { 1 };
        peer.deliver(entity, Sample { payload, ends }, participants);
    }
    peer
}

#[test]
fn a_manager_without_its_store_has_its_pairs_back_also_after_another_one() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    let rounds = [
        ("grants", "log", "after its store was deleted"),
        // Another one whose store is newer than all, for a moment.
        ("none", "log2", "with a manager without a store"),
        ("grants", "log", "with the former manager"),
    ];
    for (round, (store, log, when)) in rounds.into_iter().enumerate() {
        managed.kill_managers();
        if round == 0 {
            std::fs::remove_file(managed.file("grants")).unwrap();
        }
        managed.start_manager(store, log);
        managed.has_its_pair_again(when);
    }
    managed.assert_none_forged();
}

#[test]
fn a_second_manager_is_noticed_and_takes_nothing_from_the_first() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    // No switch connects to it; what it does reaches participants alone.
    managed.start_manager_at("stranger", &["--listen", "127.0.0.1", "--store", "none"], "log2");
    let logs = ["log", "log2"];
    managed.meanwhile("a line of each manager about the other one", |managed| {
        let is_told = |log: &&str| managed.log(log).to_lowercase().contains("another resource manager");
        logs.iter().all(is_told).then_some(())
    });
    managed.stays_assured("with a second manager");
}
