//! One sender, one receiver.
use std::time::SystemTime;

use udp::{BindError, Destination, MAX_DATAGRAM, Received, Report, SendFailure, Socket, SocketOptions, Wait};

use crate::namespace::{alone, close, connected, ip, veth};
use crate::{NOTHING, V4, V6, bound, next, octets, pattern, to, until_received};

#[test]
fn datagrams_arrive_whole_and_answers_go_to_their_source() {
    alone(|| {
        for address in [V4, V6] {
            let (left, right) =
                (bound(address, SocketOptions::default()), bound(address, SocketOptions::default()));
            let mut buffer = [0; 2_000];
            for size in [0, 1, 1_472, 2_000] {
                left.sender().send(&pattern(size), &to(right.local())).unwrap();
                let datagram = next(&right.receiver(), &mut buffer);
                assert_eq!(buffer[..datagram.octets], pattern(size));
                assert_eq!(datagram.source, left.local());
                assert_eq!(datagram.details, udp::Details::default());
                right.sender().send(b"answer", &to(datagram.source)).unwrap();
                assert_eq!(octets(&left.receiver()), b"answer");
            }
        }
    });
}

#[test]
fn the_largest_datagram_arrives_and_a_larger_one_is_refused() {
    alone(|| {
        let (left, right) = (bound(V4, SocketOptions::default()), bound(V4, SocketOptions::default()));
        left.sender().send(&pattern(MAX_DATAGRAM), &to(right.local())).unwrap();
        assert_eq!(octets(&right.receiver()), pattern(MAX_DATAGRAM));
        let error = left.sender().send(&pattern(MAX_DATAGRAM + 1), &to(right.local())).unwrap_err();
        assert!(matches!(error.failure, SendFailure::TooLarge { .. }), "{error}");
        assert_eq!((error.octets, error.destination.address), (65_508, right.local()));
        assert_eq!(left.sender().failures().too_large, 1);
    });
}

#[test]
fn parts_become_one_datagram() {
    alone(|| {
        for address in [V4, V6] {
            let (left, right) =
                (bound(address, SocketOptions::default()), bound(address, SocketOptions::default()));
            let whole = pattern(9_000);
            let (sender, receiver) = (left.sender(), right.receiver());
            for parts in [1, 2, 3, 7, 1_000] {
                sender.send_parts(whole.chunks(whole.len() / parts), &to(right.local())).unwrap();
                assert_eq!(octets(&receiver), whole, "{parts} parts");
            }
            let with_gap = [&whole[..4], &[], &whole[4..]];
            sender.send_parts(with_gap, &to(right.local())).unwrap();
            assert_eq!(octets(&receiver), whole);
            sender.send_parts([], &to(right.local())).unwrap();
            assert_eq!(octets(&receiver), []);
            // 1024 parts are sent, 1025 are refused.
            sender.send_parts(whole[..1_024].chunks(1), &to(right.local())).unwrap();
            assert_eq!(octets(&receiver), whole[..1_024]);
            let error = sender.send_parts(whole[..1_025].chunks(1), &to(right.local())).unwrap_err();
            assert!(matches!(error.failure, SendFailure::TooManyParts), "{error}");
        }
    });
}

#[test]
fn families_do_not_mix() {
    alone(|| {
        let (v4, v6) = (bound(V4, SocketOptions::default()), bound(V6, SocketOptions::default()));
        for (from, other) in [(&v4, &v6), (&v6, &v4)] {
            let to_other = from.sender().send(b"x", &to(other.local())).unwrap_err();
            assert!(matches!(to_other.failure, SendFailure::WrongFamily), "{to_other}");
            let source = Destination { source: Some(other.local().ip()), ..to(from.local()) };
            let from_other = from.sender().send(b"x", &source).unwrap_err();
            assert!(matches!(from_other.failure, SendFailure::WrongFamily), "{from_other}");
            assert_eq!(from.sender().failures().other, 2);
        }
    });
}

#[test]
fn what_does_not_fit_the_buffer_is_reported_and_the_next_is_whole() {
    alone(|| {
        for report in [Report::default(), Report { class: true, ..Report::default() }] {
            let (left, right) = (
                bound(V4, SocketOptions::default()),
                bound(V4, SocketOptions { report, ..Default::default() }),
            );
            for size in [101, 5_000, 100] {
                left.sender().send(&pattern(size), &to(right.local())).unwrap();
            }
            let mut buffer = [0; 100];
            for octets in [101, 5_000] {
                let received = right.receiver().receive(&mut buffer, NOTHING).unwrap();
                assert_eq!(received, Received::Truncated { source: left.local(), octets });
            }
            let datagram = next(&right.receiver(), &mut buffer);
            assert_eq!(buffer[..datagram.octets], pattern(100));
        }
    });
}

#[test]
fn a_taken_port_is_told() {
    alone(|| {
        let first = bound("0.0.0.0:7410", SocketOptions::default());
        assert_eq!(first.local(), "0.0.0.0:7410".parse().unwrap());
        for address in ["0.0.0.0:7410", "127.0.0.1:7410"] {
            let error = Socket::unicast(address.parse().unwrap(), &SocketOptions::default()).unwrap_err();
            assert!(matches!(error, BindError::Taken(taken) if taken.to_string() == address), "{error}");
        }
        // A socket that shares its port does not share it with one that does not, nor the other way round.
        let error = Socket::multicast(true, 7410, &SocketOptions::default()).unwrap_err();
        assert!(matches!(error, BindError::Taken(_)), "{error}");
        let _shared = Socket::multicast(true, 7400, &SocketOptions::default()).unwrap();
        let error = Socket::unicast("0.0.0.0:7400".parse().unwrap(), &SocketOptions::default()).unwrap_err();
        assert!(matches!(error, BindError::Taken(_)), "{error}");
        // IPv6 is apart: one socket of each family may have the port.
        bound("[::]:7410", SocketOptions::default());
        close(first);
        bound("0.0.0.0:7410", SocketOptions::default());
        let error = Socket::unicast("192.0.2.1:0".parse().unwrap(), &SocketOptions::default()).unwrap_err();
        assert!(matches!(error, BindError::NotLocal(_)), "{error}");
    });
}

#[test]
fn interface_and_source_are_chosen_for_each_datagram_and_told_to_the_receiver() {
    alone(|| {
        // The far ends are in no group: nothing comes twice.
        let ([left, _], [other, _]) = (veth(), connected(["other", "far"]));
        let interfaces = [left, other];
        ip("address add 10.9.0.2/24 dev left");
        ip("address add fd09::2/64 dev left nodad");
        let report = Report { destination: true, time: true, ..Report::default() };
        for (any, group, sources) in [
            ("0.0.0.0:0", "239.255.0.1", ["10.9.0.1", "10.9.0.2"]),
            ("[::]:0", "ff03::1", ["fd09::1", "fd09::2"]),
        ] {
            let sender = bound(any, SocketOptions::default()).sender();
            let socket = bound(any, SocketOptions { report, ..Default::default() });
            let mut buffer = [0; 10];
            let mut address = socket.local();
            address.set_ip(group.parse().unwrap());
            for interface in interfaces {
                assert!(socket.join(address.ip(), interface).unwrap());
            }
            for source in sources.map(|source| source.parse().unwrap()) {
                let probe = Socket::unicast((source, 0).into(), &SocketOptions::default()).unwrap();
                until_received(&probe.sender(), &to(probe.local()), &probe.receiver());
                for interface in interfaces {
                    let before = SystemTime::now();
                    let destination = Destination { interface, source: Some(source), ..to(address) };
                    sender.send(b"x", &destination).unwrap();
                    let datagram = next(&socket.receiver(), &mut buffer);
                    assert_eq!(datagram.details.destination, Some((address.ip(), interface)));
                    assert_eq!(datagram.source.ip(), source);
                    assert_eq!(datagram.source.port(), sender.local().port());
                    let time = datagram.details.time.unwrap();
                    assert!(before <= time && time <= SystemTime::now());
                }
                // Without an interface: only the source is chosen.
                let own = Destination { source: Some(source), ..to((source, address.port()).into()) };
                sender.send(b"x", &own).unwrap();
                let datagram = next(&socket.receiver(), &mut buffer);
                assert_eq!((datagram.source.ip(), datagram.details.destination.unwrap().0), (source, source));
            }
        }
    });
}

#[test]
fn nothing_is_taken_from_the_heap() {
    alone(|| {
        for (address, report) in [
            (V4, Report::default()),
            (V6, Report { destination: true, class: true, time: true, trains: true }),
        ] {
            let left = bound(address, SocketOptions::default());
            let right = bound(address, SocketOptions { report, ..Default::default() });
            let (sender, receiver) = (left.sender(), right.receiver());
            let plain = to(right.local());
            let marked = Destination {
                interface: 1,
                source: Some(left.local().ip()),
                class: udp::Dscp::new(10),
                ..plain
            };
            let mut buffer = vec![0; 65_535];
            let datagram = pattern(5_000);
            let round = |buffer: &mut [u8]| {
                sender.send(&datagram, &plain).unwrap();
                sender.send(&datagram, &marked).unwrap();
                sender.send_parts(datagram.chunks(10), &plain).unwrap();
                sender.send_train([&datagram[..]], 1_000, &marked).unwrap();
                let mut octets = 0;
                while let Received::Datagram(datagram) = receiver.receive(buffer, Wait::No).unwrap() {
                    octets += datagram.octets;
                }
                octets
            };
            // The first round asks once whether there are trains.
            assert_eq!(round(&mut buffer), 20_000);
            let (octets, usage) = alloc_meter::measure(|| round(&mut buffer));
            assert_eq!((octets, usage.count), (20_000, 0));
        }
    });
}
