//! Senders that are connected to one peer.
use std::io::ErrorKind;
use std::net::SocketAddr;

use udp::{Dscp, Received, Report, SendingPort, SocketOptions};

use crate::namespace::{alone, close};
use crate::{NOTHING, V4, V6, bound, next, octets, pattern, to};

#[test]
fn datagrams_arrive_from_another_port_and_answers_reach_the_socket() {
    alone(|| {
        for address in [V4, V6] {
            let class = Dscp::new(34).unwrap();
            let options = SocketOptions { class, ..SocketOptions::default() };
            let report = Report { class: true, ..Report::default() };
            let here = bound(address, options);
            let there = bound(address, SocketOptions { report, ..options });
            let port = SendingPort::reserve(address == V4).unwrap();
            let sender = here.sender().connected(there.local(), &port).unwrap();
            assert_ne!(sender.local().port(), here.local().port());
            // Others are connected at the same port.
            let other = bound(address, SocketOptions::default());
            let second = here.sender().connected(other.local(), &port).unwrap();
            assert_eq!((sender.local().port(), second.local().port()), (port.port(), port.port()));
            let mut buffer = [0; 2_000];
            for parts in [1, 3] {
                let whole = pattern(1_500);
                sender.send_parts(whole.chunks(whole.len() / parts), &to(there.local())).unwrap();
                let datagram = next(&there.receiver(), &mut buffer);
                assert_eq!((&buffer[..datagram.octets], datagram.source), (&whole[..], sender.local()));
                assert_eq!(datagram.details.class, Some(class));
            }
            // It takes nothing away from the socket in whose place it sends.
            there.sender().send(b"answer", &to(here.local())).unwrap();
            there.sender().send(b"astray", &to(sender.local())).unwrap();
            assert_eq!(octets(&here.receiver()), b"answer");
            assert_eq!(here.receiver().receive(&mut buffer, NOTHING).unwrap(), Received::TimedOut);
            // What is for somebody else goes there.
            let third = bound(address, SocketOptions::default());
            sender.send(b"elsewhere", &to(third.local())).unwrap();
            assert_eq!(octets(&third.receiver()), b"elsewhere");
        }
    });
}

#[test]
fn a_peer_that_comes_back_gets_the_next_datagram() {
    alone(|| {
        for address in [V4, V6] {
            let here = bound(address, SocketOptions::default());
            let there = bound(address, SocketOptions::default());
            let peer: SocketAddr = there.local();
            let sender =
                here.sender().connected(peer, &SendingPort::reserve(address == V4).unwrap()).unwrap();
            close(there);
            // The kernel refuses every second call, because nobody was there for the datagram before.
            for _ in 0..5 {
                sender.send(b"to nobody", &to(peer)).unwrap();
            }
            let again = bound(&peer.to_string(), SocketOptions::default());
            sender.send_parts([&b"to "[..], b"somebody"], &to(peer)).unwrap();
            assert_eq!(octets(&again.receiver()), b"to somebody");
            assert_eq!(here.sender().failures(), udp::SendFailures::default());
        }
    });
}

#[test]
fn nobody_is_connected_from_another_namespace() {
    alone(|| {
        let (here, there) = (bound(V4, SocketOptions::default()), bound(V4, SocketOptions::default()));
        alone(|| {
            let port = SendingPort::reserve(true).unwrap();
            let error = here.sender().connected(there.local(), &port).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        });
        here.sender().connected(there.local(), &SendingPort::reserve(true).unwrap()).unwrap();
    });
}
