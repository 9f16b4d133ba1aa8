//! A legitimate participant that writes verdicts and requests about a pair that is not its own; and managers that come and go.
use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

use crate::admission::{REQUEST, Request, VERDICT, Verdict, key};
use crate::managed::Managed;
use crate::peer::{Endpoint, Manners, Peer, Sample};

const PREFIX: [u8; 12] = *b"not a manage";
const VERDICTS: [u8; 4] = [0, 0, 1, 2];
const REQUESTS: [u8; 4] = [0, 0, 2, 2];
/// Longest silence of a flow of 20 samples a second that goes on.
const SILENCE: Duration = Duration::from_millis(1_500);
/// How long a forgery may do its work before it is judged: longer than a lease.
const EFFECT: Duration = Duration::from_secs(8);
/// How soon a manager that is new to its participants has them back: an announcement, a request, an admission.
const BACK: Duration = Duration::from_secs(20);

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
    let peer = stranger(&managed);
    // Discovery takes a moment; the writers' histories reach who comes later.
    std::thread::sleep(Duration::from_secs(4));
    let own = SocketAddrV4::new(managed.address("stranger"), 7411);
    let pair = [managed.writer.guid(), managed.reader.guid()];
    let nowhere = [[7; 16], [8; 16]];
    let verdict =
        |pair, serial, state| Verdict { pair, serial, epoch: u64::MAX, state, destination: own }.bytes();
    let request = |serial, latency, separation, stage| {
        Request { pair, serial, latency, separation, sockets: [own; 2], stage }.bytes()
    };
    let since = Instant::now();
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
    for (entity, payload, ends) in attacks.clone() {
        peer.write(entity, Sample { payload, ends });
        std::thread::sleep(Duration::from_millis(500));
    }
    std::thread::sleep(EFFECT);
    for wanted in [VERDICTS, REQUESTS] {
        let written = attacks.iter().filter(|(entity, ..)| *entity == wanted).count();
        assert_eq!(
            peer.acknowledged(wanted),
            i64::try_from(written).unwrap(),
            "the forgeries did not arrive"
        );
    }
    let silence = managed.longest_silence(since);
    assert!(silence <= SILENCE, "no sample for {silence:?}; the reader was told {:?}", managed.states());
    assert_eq!(managed.states().last().map(|state| state.starts_with("pair Admitted Assured")), Some(true));
    assert!(managed.managers_live());
    managed.assert_none_forged();
}

#[test]
fn a_manager_without_its_store_has_its_pairs_back_also_after_another_one() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    managed.kill_managers();
    std::fs::remove_file(managed.file("grants")).unwrap();
    managed.start_manager("grants", "log");
    admitted_again(&managed, "after its store was deleted");
    // Another one whose store is newer than all, for a moment.
    managed.kill_managers();
    managed.start_manager("none", "log2");
    admitted_again(&managed, "with a manager without a store");
    managed.kill_managers();
    managed.start_manager("grants", "log");
    admitted_again(&managed, "with the former manager");
    managed.assert_none_forged();
}

#[test]
fn a_second_manager_is_noticed_and_takes_nothing_from_the_first() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    let since = Instant::now();
    // No switch connects to it; what it does reaches participants alone.
    managed.start_manager_at("stranger", &["--listen", "127.0.0.1", "--store", "none"], "log2");
    std::thread::sleep(EFFECT);
    assert!(managed.managers_live(), "{}", managed.log("log2"));
    let silence = managed.longest_silence(since);
    assert!(silence <= SILENCE, "no sample for {silence:?}; the reader was told {:?}", managed.states());
    let logs = [managed.log("log"), managed.log("log2")];
    for log in &logs {
        assert!(log.to_lowercase().contains("another resource manager"), "not noticed: {logs:#?}");
    }
}

/// The pair runs assured for longer than a lease, at the latest after a while.
fn admitted_again(managed: &Managed, when: &str) {
    let end = Instant::now() + BACK;
    // A lease is 6 s: what still runs because of the former manager has ended by then.
    std::thread::sleep(Duration::from_secs(8));
    managed.goes_on_after(when, end.saturating_duration_since(Instant::now()));
    let since = Instant::now();
    std::thread::sleep(Duration::from_secs(7));
    let silence = managed.longest_silence(since);
    let states = managed.states();
    assert!(silence <= SILENCE, "no sample for {silence:?} {when}; the reader was told {states:?}");
    assert!(
        states.last().is_some_and(|state| state.starts_with("pair Admitted Assured")),
        "{when}: {states:?}"
    );
}
