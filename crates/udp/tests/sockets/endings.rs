//! A receiver returns when it should although no datagram comes.
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::unistd::gettid;
use udp::{Received, Report, Socket, SocketOptions, Wait};

use crate::namespace::{alone, wait_until_asleep};
use crate::{NOTHING, PATIENCE, V4, V6, bound, octets, to};

/// Lets a thread block in a receive call, interrupts it, and says what the call gave.
fn interrupted(socket: &Socket, wait: Wait, interrupt: impl FnOnce()) -> Received {
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let receiver = socket.receiver();
    // Not scoped: a thread that never returns must not keep the test from failing.
    std::thread::spawn(move || {
        tell.send(gettid()).unwrap();
        end.send(receiver.receive(&mut [0; 100], wait).unwrap()).unwrap();
    });
    wait_until_asleep(told.recv_timeout(PATIENCE).unwrap());
    interrupt();
    ended.recv_timeout(PATIENCE).expect("the receiver does not return")
}

fn kinds() -> Vec<Socket> {
    let report = Report { destination: true, ..Report::default() };
    let mut sockets = Vec::new();
    for options in [SocketOptions::default(), SocketOptions { report, ..Default::default() }] {
        sockets.extend([V4, V6, "0.0.0.0:0", "[::]:0"].map(|address| bound(address, options)));
        for v4 in [true, false] {
            // Two sockets of one port: the one that is stopped is not the only one.
            sockets.push(Socket::multicast(v4, 7400, &options).unwrap());
        }
    }
    sockets
}

#[test]
fn a_blocked_receiver_is_stopped_at_once() {
    alone(|| {
        for socket in kinds() {
            let mut taken = PATIENCE;
            let received = interrupted(&socket, Wait::Forever, || {
                let start = Instant::now();
                socket.stopper().stop();
                taken = start.elapsed();
            });
            assert_eq!(received, Received::Stopped);
            assert!(taken < PATIENCE);
            // It stays so, also for calls that begin later.
            for wait in [Wait::Forever, Wait::AtMost(PATIENCE), Wait::No] {
                assert_eq!(socket.receiver().receive(&mut [0; 100], wait).unwrap(), Received::Stopped);
            }
            assert!(socket.stopper().is_stopped());
        }
    });
}

#[test]
fn stopping_loses_against_no_flood_and_sending_goes_on() {
    alone(|| {
        let (socket, other) = (bound(V4, SocketOptions::default()), bound(V4, SocketOptions::default()));
        let sender = other.sender();
        (0..10).for_each(|_| sender.send(b"flood", &to(socket.local())).unwrap());
        socket.stopper().stop();
        sender.send(b"flood", &to(socket.local())).unwrap();
        assert_eq!(socket.receiver().receive(&mut [0; 100], Wait::Forever).unwrap(), Received::Stopped);
        socket.sender().send(b"farewell", &to(other.local())).unwrap();
        assert_eq!(octets(&other.receiver()), b"farewell");
    });
}

#[test]
fn a_blocked_receiver_is_woken_and_goes_on() {
    alone(|| {
        for address in [V4, V6, "0.0.0.0:0", "[::]:0"] {
            let socket = bound(address, SocketOptions { wakeable: true, ..Default::default() });
            let waker = socket.waker().unwrap();
            for _ in 0..100 {
                let received = interrupted(&socket, Wait::Forever, || waker.wake().unwrap());
                assert_eq!(received, Received::Woken);
            }
            let receive = |wait| socket.receiver().receive(&mut [0; 100], wait).unwrap();
            // Before a call begins it counts too, and what was not waited for is seen at most twice.
            waker.wake().unwrap();
            waker.wake().unwrap();
            assert_eq!(receive(Wait::Forever), Received::Woken);
            assert!(matches!(receive(NOTHING), Received::Woken | Received::TimedOut));
            assert_eq!(receive(NOTHING), Received::TimedOut);
        }
    });
}

#[test]
fn a_wake_up_that_finds_no_room_is_seen_all_the_same() {
    alone(|| {
        let socket =
            bound(V4, SocketOptions { wakeable: true, receive_buffer: Some(3_000), ..Default::default() });
        let sender = bound(V4, SocketOptions::default()).sender();
        while socket.dropped().unwrap() == 0 {
            // As small as the wake-up.
            sender.send(&[], &to(socket.local())).unwrap();
        }
        socket.waker().unwrap().wake().unwrap();
        let seen = (0..100).map(|_| socket.receiver().receive(&mut [0; 1_000], NOTHING).unwrap());
        assert!(seen.take_while(|seen| *seen != Received::TimedOut).any(|seen| seen == Received::Woken));
    });
}

#[test]
fn only_sockets_that_share_no_port_are_wakeable() {
    alone(|| {
        let wakeable = SocketOptions { wakeable: true, ..Default::default() };
        assert!(Socket::multicast(true, 7400, &wakeable).unwrap().waker().is_none());
        assert!(bound(V4, SocketOptions::default()).waker().is_none());
        // An empty datagram of somebody else is a datagram.
        let socket = bound(V4, wakeable);
        bound(V4, SocketOptions::default()).sender().send(&[], &to(socket.local())).unwrap();
        assert_eq!(octets(&socket.receiver()), []);
    });
}

#[test]
fn waiting_ends_in_time_but_not_before() {
    alone(|| {
        let socket = bound(V4, SocketOptions::default());
        for milliseconds in [0, 1, 30, 30, 2] {
            let (start, wait) = (Instant::now(), Duration::from_millis(milliseconds));
            let received = socket.receiver().receive(&mut [0; 100], Wait::AtMost(wait)).unwrap();
            let taken = start.elapsed();
            assert_eq!(received, Received::TimedOut);
            assert!(wait <= taken && taken < wait + PATIENCE, "{wait:?} took {taken:?}");
        }
        // A wait that is over leaves nothing behind: the next one lasts until the datagram comes.
        let sender = bound(V4, SocketOptions::default()).sender();
        let received =
            interrupted(&socket, Wait::Forever, || sender.send(b"late", &to(socket.local())).unwrap());
        assert!(matches!(received, Received::Datagram(datagram) if datagram.octets == 4));
    });
}
