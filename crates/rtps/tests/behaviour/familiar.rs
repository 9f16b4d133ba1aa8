//! What is recognised as like the datagram before is what interpreting it gives.

use std::net::SocketAddr;

use crate::pair::Random;
use rtps::familiar::Familiar;
use rtps::receiver::{Context, Route, ToReader, ToWriter, interpret};
use wire::message::encode::{self, DataHeader};
use wire::message::{Heartbeat, PayloadKind};
use wire::{EntityId, EntityKind, Guid, GuidPrefix, SequenceNumber, Timestamp};

const OWN: GuidPrefix = GuidPrefix([9; 12]);
const PREFIX: GuidPrefix = GuidPrefix([1; 12]);
const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7_411);

/// Remembers all that is routed, as text: payloads and all.
#[derive(Default, PartialEq, Eq, Debug)]
struct Seen(Vec<String>);

impl Route for Seen {
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, writer: Guid, submessage: &ToReader<'_>) {
        self.0.push(format!("{context:?} {reader_id:?} {writer:?} {submessage:?}"));
    }
    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter) {
        self.0.push(format!("{context:?} {writer_id:?} {submessage:?}"));
    }
}

/// A datagram of steady state: one sample, and a HEARTBEAT of a reliable writer.
fn datagram(random: &mut Random, reader_id: EntityId, reliable: bool) -> Vec<u8> {
    let writer_id = EntityId::user(5, EntityKind::WriterNoKey);
    let number = SequenceNumber(1 + random.below_u64(1 << 40).cast_signed());
    let mut bytes = Vec::new();
    encode::header(&mut bytes, PREFIX);
    encode::info_timestamp(&mut bytes, Some(Timestamp::from_nanos(random.below_u64(1 << 60).cast_signed())));
    let header = DataHeader {
        reader_id,
        writer_id,
        sequence_number: number,
        inline_qos: None,
        kind: PayloadKind::Data,
    };
    let data = encode::begin_data(&mut bytes, &header);
    let len = 4 + random.below_u64(80) as usize;
    bytes.extend((0..len).map(|_| random.bits() as u8));
    encode::finish_data(&mut bytes, data);
    if reliable {
        let heartbeat = Heartbeat {
            reader_id,
            writer_id,
            first: SequenceNumber(1 + random.below_u64(number.0.cast_unsigned()).cast_signed()),
            last: number,
            count: random.bits() as i32,
            is_final: random.chance(50),
            liveliness: false,
        };
        encode::heartbeat(&mut bytes, &heartbeat);
    }
    bytes
}

/// True if it was recognised; then it is what interpreting it gives.
fn check(familiar: &Familiar, bytes: &[u8]) -> bool {
    let Some(single) = familiar.read(bytes) else { return false };
    let context = single.context(FROM);
    let mut recognised = Seen::default();
    for submessage in single.submessages() {
        let (reader_id, writer_id) = match &submessage {
            ToReader::Data(data) => (data.reader_id, data.writer_id),
            ToReader::Heartbeat(heartbeat) => (heartbeat.reader_id, heartbeat.writer_id),
            other => panic!("{other:?}"),
        };
        let writer = Guid::new(context.source.prefix, writer_id);
        assert_eq!(writer, familiar.writer());
        for id in [reader_id, EntityId::user(77, EntityKind::ReaderNoKey)] {
            let is_meant = reader_id == EntityId::UNKNOWN || reader_id == id;
            assert!(is_meant || !familiar.is_for(id));
        }
        recognised.to_reader(&context, reader_id, writer, &submessage);
    }
    let mut interpreted = Seen::default();
    let result = interpret(OWN, FROM, bytes, &mut interpreted);
    assert_eq!((result, &interpreted), (Ok(()), &recognised), "{bytes:02x?}");
    true
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below_u64(3) {
        let at = random.below_u64(bytes.len() as u64) as usize;
        match random.below_u64(6) {
            0 => bytes[at] ^= 1 << random.below_u64(8),
            1 => bytes[at] = random.bits() as u8,
            2 => bytes[at] = [0x00, 0xff, 0x7f, 0x80][random.below_u64(4) as usize],
            3 => bytes.truncate(at.max(1)),
            4 => bytes.extend((0..random.below_u64(40)).map(|_| 0)),
            _ => {
                // What is only numbers may be any.
                let at = [24, 28, 48, 52][random.below_u64(4) as usize];
                if let Some(word) = bytes.get_mut(at..at + 4) {
                    word.copy_from_slice(&(random.bits() as u32).to_le_bytes());
                }
            }
        }
    }
}

#[test]
fn what_is_recognised_is_what_interpreting_gives() {
    let reader = EntityId::user(3, EntityKind::ReaderNoKey);
    let (mut recognised, mut refused) = (0, 0);
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        for _ in 0..100 {
            let reader_id = if random.chance(50) { EntityId::UNKNOWN } else { reader };
            let reliable = random.chance(70);
            let familiar = Familiar::of(&datagram(&mut random, reader_id, reliable)).unwrap();
            assert!(familiar.is_for(reader));
            let mut next = datagram(&mut random, reader_id, reliable);
            assert!(check(&familiar, &next), "seed {seed}: {next:02x?}");
            assert!(!check(&familiar, &datagram(&mut random, reader_id, !reliable)));
            mutate(&mut random, &mut next);
            let found = check(&familiar, &next);
            recognised += u64::from(found);
            refused += u64::from(!found);
            // What is remembered of a broken one is as careful.
            if let Some(familiar) = Familiar::of(&next) {
                assert!(check(&familiar, &next), "seed {seed}: {next:02x?}");
            }
        }
    }
    assert!(recognised > 0 && refused > 0, "{recognised} recognised, {refused} refused");
}

#[test]
fn other_forms_are_not_remembered() {
    let mut random = Random::new(2);
    let whole = datagram(&mut random, EntityId::UNKNOWN, true);
    assert!(
        (0..whole.len()).filter(|len| Familiar::of(&whole[..*len]).is_some()).count() == 1,
        "without HEARTBEAT"
    );
    let mut two = whole.clone();
    encode::info_destination(&mut two, OWN);
    assert_eq!(Familiar::of(&two), None);
    let changed = |at: usize, octet: u8| {
        let mut bytes = whole.clone();
        bytes[at] = octet;
        Familiar::of(&bytes)
    };
    // Version, INFO_TS without time, DATA with inline QoS, with a key, big endian; HEARTBEAT with liveliness, of another writer.
    let heartbeat = whole.len() - 32;
    let places =
        [(4, 3), (21, 0x03), (33, 0x07), (33, 0x09), (33, 0x04), (heartbeat + 1, 0x05), (heartbeat + 10, 77)];
    for (at, octet) in places {
        assert_eq!(changed(at, octet), None, "{at}");
    }
}
