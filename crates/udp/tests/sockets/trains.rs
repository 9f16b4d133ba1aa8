//! Several datagrams in one call.
use udp::{Report, SendFailure, SocketOptions};

use crate::namespace::{alone, veth};
use crate::{V4, V6, bound, next, octets, pattern, to};

#[test]
fn a_train_arrives_as_datagrams() {
    alone(|| {
        for address in [V4, V6] {
            let (left, right) =
                (bound(address, SocketOptions::default()), bound(address, SocketOptions::default()));
            let sender = left.sender();
            assert!(sender.trains());
            let whole = pattern(10_300);
            // The boundaries of parts do not matter.
            sender.send_train(whole.chunks(777), 1_000, &to(right.local())).unwrap();
            for expected in whole.chunks(1_000) {
                assert_eq!(octets(&right.receiver()), expected);
            }
            // What fits into one is one.
            sender.send_train([&whole[..500]], 1_000, &to(right.local())).unwrap();
            assert_eq!(octets(&right.receiver()), whole[..500]);
        }
    });
}

#[test]
fn a_receiver_that_asks_for_it_gets_a_train_in_one_piece() {
    alone(|| {
        let report = Report { trains: true, ..Report::default() };
        for address in [V4, V6] {
            let left = bound(address, SocketOptions::default());
            let right = bound(address, SocketOptions { report, ..Default::default() });
            let whole = pattern(10_300);
            left.sender().send_train([&whole[..]], 1_000, &to(right.local())).unwrap();
            left.sender().send(&whole[..700], &to(right.local())).unwrap();
            left.sender().send(&[], &to(right.local())).unwrap();
            let mut buffer = vec![0; 65_535];
            let train = next(&right.receiver(), &mut buffer);
            assert_eq!((train.octets, train.details.segment), (10_300, Some(1_000)));
            assert!(train.parts(&buffer).eq(whole.chunks(1_000)));
            let single = next(&right.receiver(), &mut buffer);
            assert!(single.parts(&buffer).eq([&whole[..700]]));
            let empty = next(&right.receiver(), &mut buffer);
            assert!(empty.parts(&buffer).eq([&[][..]]));
        }
    });
}

#[test]
fn trains_that_cannot_be_are_refused() {
    alone(|| {
        veth();
        let sender = bound("0.0.0.0:0", SocketOptions::default()).sender();
        let far = to("10.9.0.2:7410".parse().unwrap());
        let data = pattern(65_508);
        for (octets, segment) in [(65_508, 1_472), (65, 1), (1, 0)] {
            let error = sender.send_train([&data[..octets]], segment, &far).unwrap_err();
            assert!(matches!(error.failure, SendFailure::TooLarge { path_mtu: None }), "{error}");
        }
        sender.send_train([&data[..64 * 1_000]], 1_000, &far).unwrap();
        sender.send_train([&data[..5_000]], 1_472, &far).unwrap();
        // The interface sends 1472 bytes in one piece.
        let error = sender.send_train([&data[..5_000]], 1_473, &far).unwrap_err();
        assert!(matches!(error.failure, SendFailure::TooLarge { path_mtu: Some(1_500) }), "{error}");
        assert_eq!(sender.failures().too_large, 4);
    });
}
