//! Sleeping until a time, a ring, or room in a full socket.
use std::time::{Duration, Instant};

use udp::{Alarm, Rung, SocketOptions};

use crate::namespace::{alone, tc};
use crate::{PATIENCE, V4, bound, pattern, to};

#[test]
fn a_ring_ends_the_wait_in_progress_or_the_next_one() {
    let alarm = Alarm::new().unwrap();
    alarm.ring();
    alarm.ring();
    // Several rings are one.
    assert_eq!(alarm.wait(Some(PATIENCE), &[]).unwrap(), Rung::Rung);
    assert_eq!(alarm.wait(Some(Duration::ZERO), &[]).unwrap(), Rung::TimedOut);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| alarm.wait(None, &[]).unwrap());
        alarm.ring();
        assert_eq!(waiting.join().unwrap(), Rung::Rung);
    });
}

#[test]
fn the_time_is_kept() {
    let alarm = Alarm::new().unwrap();
    let start = Instant::now();
    assert_eq!(alarm.wait(Some(Duration::from_micros(1_500)), &[]).unwrap(), Rung::TimedOut);
    assert!(start.elapsed() >= Duration::from_micros(1_500));
}

#[test]
fn room_in_a_full_socket_ends_the_wait() {
    alone(|| {
        let alarm = Alarm::new().unwrap();
        let receiver = bound(V4, SocketOptions::default());
        let idle = bound(V4, SocketOptions::default()).sender();
        let full = bound(V4, SocketOptions { send_buffer: Some(20_000), ..Default::default() }).sender();
        assert_eq!(alarm.wait(Some(PATIENCE), &[&idle]).unwrap(), Rung::Writable);
        // A second for each datagram: the send buffer fills.
        tc("qdisc add dev lo root tbf rate 8kbit burst 2000 limit 10000000");
        let destination = to(receiver.local());
        assert!((0..1_000).any(|_| full.send(&pattern(1_000), &destination).is_err()));
        assert_eq!(alarm.wait(Some(Duration::from_millis(2)), &[&full]).unwrap(), Rung::TimedOut);
        // A ring comes first.
        alarm.ring();
        assert_eq!(alarm.wait(Some(PATIENCE), &[&full, &idle]).unwrap(), Rung::Rung);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| alarm.wait(Some(PATIENCE), &[&full]).unwrap());
            // What waits is thrown away.
            tc("qdisc del dev lo root");
            assert_eq!(waiting.join().unwrap(), Rung::Writable);
        });
    });
}
