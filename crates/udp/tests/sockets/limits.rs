//! What the path and the buffers do not hold.
use std::time::Duration;

use udp::{Destination, SendFailure, SocketOptions};

use crate::namespace::{alone, ip, tc, veth};
use crate::{PATIENCE, V4, bound, octets, pattern, to};

#[test]
fn what_is_larger_than_the_path_is_refused_or_fragmented() {
    alone(|| {
        veth();
        let peers = [("10.9.0.1:0", "10.9.0.2:7410", 28), ("[fd09::1]:0", "[fd09::2]:7410", 48)];
        for (own, peer, headers) in peers {
            let whole = bound(own, SocketOptions { fragment: false, ..Default::default() }).sender();
            let peer = to(peer.parse().unwrap());
            let largest = 1_500 - headers;
            whole.send(&pattern(largest), &peer).unwrap();
            let datagram = pattern(largest + 1);
            let errors = [
                whole.send(&datagram, &peer).unwrap_err(),
                whole.send_parts(datagram.chunks(100), &peer).unwrap_err(),
                whole.send(&datagram, &Destination { source: Some(whole.local().ip()), ..peer }).unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error.failure, SendFailure::TooLarge { path_mtu: Some(1_500) }), "{error}");
                assert_eq!((error.octets, error.destination.address), (largest + 1, peer.address));
            }
            assert_eq!(whole.failures().too_large, 3);
            assert_eq!(whole.path_mtu(&peer).unwrap(), 1_500);
            bound(own, SocketOptions::default()).sender().send(&datagram, &peer).unwrap();
        }
    });
}

#[test]
fn a_full_send_buffer_is_told_and_ends() {
    alone(|| {
        let receiver = bound(V4, SocketOptions::default());
        let sender = bound(V4, SocketOptions { send_buffer: Some(20_000), ..Default::default() }).sender();
        // A second for each datagram: the send buffer fills.
        tc("qdisc add dev lo root tbf rate 8kbit burst 2000 limit 10000000");
        let destination = to(receiver.local());
        let error = (0..1_000).find_map(|_| sender.send(&pattern(1_000), &destination).err()).unwrap();
        assert!(matches!(error.failure, SendFailure::WouldBlock), "{error}");
        assert_eq!((error.octets, error.destination), (1_000, destination));
        let error = sender.send_parts([&b"a"[..], b"b"], &destination).unwrap_err();
        assert!(matches!(error.failure, SendFailure::WouldBlock), "{error}");
        assert_eq!(sender.failures().would_block, 2);
        assert!(!sender.wait_writable(Duration::ZERO).unwrap());
        assert!(!sender.wait_writable(Duration::from_millis(2)).unwrap());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| sender.wait_writable(PATIENCE).unwrap());
            // What waits is thrown away.
            tc("qdisc del dev lo root");
            assert!(waiting.join().unwrap());
        });
        sender.send(b"again", &destination).unwrap();
        let first = (0..100).map(|_| octets(&receiver.receiver())).find(|octets| octets.len() != 1_000);
        assert_eq!(first.unwrap(), b"again");
    });
}

#[test]
fn what_cannot_be_reached_is_counted() {
    alone(|| {
        let sender = bound("0.0.0.0:0", SocketOptions::default()).sender();
        let nowhere = to("192.0.2.1:7410".parse().unwrap());
        let error = sender.send(b"x", &nowhere).unwrap_err();
        assert!(matches!(error.failure, SendFailure::Unreachable(_)), "{error}");
        let no_interface = Destination { interface: 4_711, ..nowhere };
        let error = sender.send(b"x", &no_interface).unwrap_err();
        assert!(matches!(error.failure, SendFailure::Unreachable(_)), "{error}");
        assert!(error.to_string().contains("interface 4711"), "{error}");
        assert_eq!(sender.failures().unreachable, 2);
        // A port that nobody has is not told: ICMP's answers do not disturb a socket that serves many peers.
        let nobody = to("127.0.0.1:7410".parse().unwrap());
        (0..3).for_each(|_| sender.send(b"x", &nobody).unwrap());
    });
}

#[test]
fn buffers_are_granted_and_losses_counted() {
    alone(|| {
        let small = SocketOptions { receive_buffer: Some(10_000), ..Default::default() };
        let receiver = bound(V4, small);
        assert_eq!(receiver.receive_buffer().unwrap(), 20_000);
        assert_eq!(receiver.dropped().unwrap(), 0);
        let sender = bound(V4, SocketOptions::default()).sender();
        let sent = 100;
        (0..sent).for_each(|_| sender.send(&pattern(1_000), &to(receiver.local())).unwrap());
        let mut received = 0;
        let mut buffer = [0; 1_000];
        while let Ok(udp::Received::Datagram(_)) = receiver.receiver().receive(&mut buffer, crate::NOTHING) {
            received += 1;
        }
        assert!(0 < received && received < sent);
        assert_eq!(receiver.dropped().unwrap(), sent - received);
        // More than net.core.rmem_max (4 MiB and less): these tests run with the capability.
        let large = SocketOptions {
            receive_buffer: Some(64 << 20),
            send_buffer: Some(32 << 20),
            ..Default::default()
        };
        let large = bound(V4, large);
        assert_eq!((large.receive_buffer().unwrap(), large.send_buffer().unwrap()), (128 << 20, 64 << 20));
    });
}

#[test]
fn a_cable_that_is_pulled_is_no_end() {
    alone(|| {
        veth();
        let sender = bound("10.9.0.1:0", SocketOptions::default()).sender();
        let peer = to("10.9.0.2:7410".parse().unwrap());
        sender.send(b"x", &peer).unwrap();
        ip("link set left down");
        let error = sender.send(b"x", &peer).unwrap_err();
        assert!(matches!(error.failure, SendFailure::Unreachable(_)), "{error}");
        ip("link set left up");
        sender.send(b"x", &peer).unwrap();
    });
}
