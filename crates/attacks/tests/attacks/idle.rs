//! A peer whose answers to a HEARTBEAT want another one, also where it needs none: two idle programs must not keep each other busy.
use std::time::{Duration, Instant};

use crate::peer::{Endpoint, Manners, Peer};
use crate::place::{Lan, address};
use crate::program::{PATIENCE, Program};
use crate::watch::Watch;

/// Most datagrams a second from an idle program.
const IDLE: u64 = 10;

#[test]
fn answers_that_want_an_answer_are_not_answered_one_for_one() {
    let Some(lan) = Lan::of(2) else { return };
    let reader =
        Endpoint { entity: [0, 0, 1, 4], topic: "Numbers", type_name: "Numbered", is_lasting: false };
    let manners = Manners {
        prefix: *b"idle idle id",
        address: address(2),
        says: None,
        period: Duration::from_secs(3),
        wants_more: true,
        endpoints: vec![reader],
    };
    let mut writer = Program::start("the writer", &lan.hosts[0], "pub Numbers");
    let _peer = Peer::new(&lan.hosts[1], manners);
    writer.wait("matched 1");
    for number in 1..=3 {
        writer.tell(&format!("write {number} 100"));
    }
    writer.tell("acknowledged 20");
    writer.wait("acknowledged");
    let watch = Watch::new(&lan.hosts[1], address(2), &[address(1)]);
    let count = |seconds: u64| {
        let before = watch.datagrams();
        std::thread::sleep(Duration::from_secs(seconds));
        watch.datagrams() - before
    };
    // What is still said because of the samples.
    let end = Instant::now() + PATIENCE;
    while count(1) > IDLE {
        assert!(Instant::now() < end, "the writer did not become idle");
    }
    // Nothing tells that nothing will come: it is waited for, a longer time in higher tiers.
    let seconds = tiers::current().number("attacks.idle_seconds");
    let before = writer.processor();
    let (came, used) = (count(seconds), writer.processor() - before);
    assert!(
        came <= IDLE * seconds,
        "{came} datagrams in {seconds} s from an idle writer, which used {used} s of processor"
    );
}
