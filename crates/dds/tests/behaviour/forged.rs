//! What a stranger that knows every prefix, entity id and number says to endpoints in their names.
use std::net::SocketAddr;

use dds::qos::History;
use rtps::discovery::Rejection;
use wire::message::encode::{self, DataHeader};
use wire::message::{AckNack, Gap, Heartbeat, PayloadKind};
use wire::{EntityId, EntityKind, GuidPrefix, SequenceNumber, SequenceNumberSet};

use crate::fixture::{keep_all, millis, reader, reading, settle, two, values, writer};

/// The writer is the only one of its participant, and so is the reader.
const WRITER: EntityId = EntityId::user(1, EntityKind::WriterWithKey);
const READER: EntityId = EntityId::user(1, EntityKind::ReaderWithKey);

fn message(from: GuidPrefix, to: GuidPrefix, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::header(&mut bytes, from);
    encode::info_destination(&mut bytes, to);
    write(&mut bytes);
    bytes
}

/// Everything that could lose or forge sample `number`.
fn forgeries(number: i64) -> [(usize, Vec<u8>); 4] {
    let (writer, reader) = (GuidPrefix([1; 12]), GuidPrefix([2; 12]));
    let number = SequenceNumber(number);
    let later = SequenceNumber(number.0 + 100);
    let gap = Gap {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        start: number,
        list: SequenceNumberSet::empty(later),
    };
    let count = i32::try_from(number.0).unwrap() + 1_000;
    let heartbeat = Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        first: later,
        last: later,
        count,
        is_final: true,
        liveliness: true,
    };
    let data = DataHeader {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        sequence_number: number,
        inline_qos: None,
        kind: PayloadKind::Data,
    };
    let acknack = AckNack {
        reader_id: READER,
        writer_id: WRITER,
        set: SequenceNumberSet::empty(number.next()),
        count,
        is_final: true,
    };
    let payload = [0, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9];
    [
        (1, message(writer, reader, |bytes| encode::gap(bytes, &gap))),
        (1, message(writer, reader, |bytes| encode::heartbeat(bytes, &heartbeat))),
        (1, message(writer, reader, |bytes| encode::data(bytes, &data, &payload))),
        (0, message(reader, writer, |bytes| encode::acknack(bytes, &acknack))),
    ]
}

#[test]
fn samples_are_neither_lost_nor_forged_by_who_speaks_from_elsewhere() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, keep_all);
    let reader = reader(&there, |qos| qos.endpoint.history = History::KeepAll);
    settle(&mut desk);
    // Another address, another port of the host of the participant that is named, and a port of the reader's own host.
    let strangers: [SocketAddr; 3] =
        ["10.0.0.66:7411", "10.0.0.1:50000", "10.0.0.2:50000"].map(|from| from.parse().unwrap());
    let mut taken = Vec::new();
    for value in 1..=200_i64 {
        // Sometimes the sample itself is lost, so that what is forged comes first, and it has to be repeated.
        desk.lose(if value % 10 == 0 { 500 } else { 0 }, value.unsigned_abs());
        for (host, datagram) in forgeries(value) {
            strangers.iter().for_each(|from| desk.hand(host, *from, &datagram));
        }
        writer.write(&reading(1, value)).unwrap();
        desk.run(millis(5));
        for (host, datagram) in forgeries(value) {
            strangers.iter().for_each(|from| desk.hand(host, *from, &datagram));
        }
        taken.extend(values(&reader));
    }
    desk.heal();
    settle(&mut desk);
    taken.extend(values(&reader));
    assert_eq!(taken, Vec::from_iter(1..=200));
    assert_eq!(reader.get_sample_lost_status().total.count, 0);
    for participant in [&here, &there] {
        let counted = participant.get_rejections().into_iter().find(|(why, _)| *why == Rejection::UserSource);
        assert!(counted.is_some_and(|(_, count)| count >= 200), "{counted:?}");
        assert!(participant.report().iter().any(|line| line.contains(" and were dropped")));
    }
}
