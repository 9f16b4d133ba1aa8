//! Links that hold frames and lose some.
use std::time::{Duration, Instant};

use crate::alone::{THREE, turn, up};
use crate::traffic::{Counter, address, greet, send, socket};

#[test]
fn a_link_with_a_delay_holds_every_frame_so_long() {
    let Some(_turn) = turn() else { return };
    let text = THREE.replace("MODEL", "plain").replace("rate = \"20 Mb/s\"", "delay = \"10 ms\"");
    let lab = up(&text);
    greet(&lab, "a", "c");
    let (one, other) = (socket(&lab, "a", 5_000, 0), socket(&lab, "c", 5_000, 0));
    other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut octets = [0; 8];
    for number in 0..20_u64 {
        let sent = Instant::now();
        one.send_to(&number.to_ne_bytes(), address(&lab, "c", 5_000)).unwrap();
        assert_eq!(other.recv(&mut octets).unwrap(), 8);
        assert!(sent.elapsed() >= Duration::from_millis(10), "held for {:?}", sent.elapsed());
        assert_eq!(u64::from_ne_bytes(octets), number);
    }
    // In order, and without loss, when many are on the way at once.
    let counter = Counter::on(other);
    send(&one, address(&lab, "c", 5_000), 64, 500, Duration::from_micros(200));
    assert_eq!(counter.numbers().len(), 500);
}

#[test]
fn a_link_with_a_loss_loses_about_so_many() {
    let Some(_turn) = turn() else { return };
    let text = THREE.replace("MODEL", "plain").replace("rate = \"20 Mb/s\"", "loss = \"20 %\"");
    let lab = up(&text);
    greet(&lab, "a", "c");
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&socket(&lab, "a", 0, 0), address(&lab, "c", 5_000), 64, 2_000, Duration::from_micros(200));
    let came = counter.numbers().len();
    // Six standard deviations.
    assert!((1_493..=1_707).contains(&came), "{came} of 2000 came");
}
