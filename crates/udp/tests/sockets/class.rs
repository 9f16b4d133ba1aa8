//! Classes of service, as the receiver sees them.
use udp::{Destination, Dscp, Report, SocketOptions};

use crate::namespace::alone;
use crate::{V4, V6, bound, next, to};

fn dscp(code_point: u8) -> Dscp {
    Dscp::new(code_point).unwrap()
}

#[test]
fn the_socket_has_a_class_and_each_datagram_may_have_another() {
    alone(|| {
        let report = Report { class: true, ..Report::default() };
        for address in [V4, V6] {
            let receiver = bound(address, SocketOptions { report, ..Default::default() });
            for class in [0, 46, 63].map(dscp) {
                let sender = bound(address, SocketOptions { class, ..Default::default() }).sender();
                for asked in [None, Some(dscp(10)), Some(class), Some(dscp(0)), Some(dscp(46)), None] {
                    let destination = Destination { class: asked, ..to(receiver.local()) };
                    let seen = || next(&receiver.receiver(), &mut [0; 10]).details.class;
                    sender.send(b"x", &destination).unwrap();
                    assert_eq!(seen(), Some(asked.unwrap_or(class)));
                    sender.send_parts([&b"x"[..], b"y"], &destination).unwrap();
                    assert_eq!(seen(), Some(asked.unwrap_or(class)));
                }
            }
        }
    });
}

#[test]
fn classes_end_at_63() {
    assert_eq!(Dscp::new(63).map(Dscp::get), Some(63));
    assert_eq!(Dscp::new(64), None);
}
