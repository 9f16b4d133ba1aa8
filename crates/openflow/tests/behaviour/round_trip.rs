//! Whatever is written is read as the same, cut short it is refused, and the heap follows the bytes.

use std::collections::BTreeSet;

use crate::generate::Random;
use openflow::message::MessageType;
use openflow::{Message, Xid};

#[test]
fn what_is_written_is_read_as_the_same() {
    let mut kinds = BTreeSet::new();
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        for _ in 0..20 {
            let (message, xid) = (random.message(), Xid(random.u32()));
            let mut bytes = vec![0xaa; 3];
            message.encode(xid, &mut bytes).unwrap();
            assert_eq!(bytes[..3], [0xaa; 3], "seed {seed}");
            assert_eq!(Message::decode(&bytes[3..]), Ok((xid, message.clone())), "seed {seed}");
            kinds.insert(message.kind());
        }
    }
    assert_eq!(kinds.len(), MessageType::ALL.len(), "every kind of message was tried");
}

#[test]
fn what_is_cut_short_is_read_as_something_shorter_or_refused() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let message = random.message();
        let mut bytes = Vec::new();
        message.encode(Xid(1), &mut bytes).unwrap();
        let len = random.below(bytes.len());
        assert!(Message::decode(&bytes[..len]).is_err(), "seed {seed}: the header tells the length");
        bytes.truncate(len.max(8));
        let short = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&short);
        match Message::decode(&bytes) {
            Ok((_, read)) => {
                // Some lists just end earlier; nothing that was cut off may still be there.
                let mut again = Vec::new();
                read.encode(Xid(1), &mut again).unwrap();
                assert!(again.len() <= bytes.len() + 7, "seed {seed}");
            }
            Err(error) => assert!(error.offset <= bytes.len(), "seed {seed}: {error}"),
        }
    }
}

#[test]
fn what_is_too_long_is_not_written() {
    let mut out = vec![1, 2, 3];
    assert!(Message::EchoRequest(vec![0; 65_527]).encode(Xid(1), &mut out).is_ok());
    out.truncate(3);
    let error = Message::EchoRequest(vec![0; 65_528]).encode(Xid(1), &mut out).unwrap_err();
    assert_eq!((error.len, out), (65_536, vec![1, 2, 3]));
}
