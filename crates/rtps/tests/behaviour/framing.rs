//! What a writer with a contract makes of its samples is no more than what admission counts on.

use std::num::NonZeroU16;
use std::sync::Arc;

use latency::framing::{Framing, Ip, frame_bits};
use rtps::writer::{Body, Change, MatchedReader, WriteError, Writer, WriterConfig};
use rtps::{Flow, Path, Transmit};
use wire::message::PayloadKind;
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant, Now, Timestamp};

/// Header of Ethernet, IPv4 and UDP.
const HEADERS: u64 = 14 + 28;

fn now(nanos: u64) -> Now {
    Now { monotonic: Instant::from_nanos(nanos), wall: Timestamp::from_nanos(1_700_000_000_000_000_000) }
}

fn guid(octet: u8, kind: EntityKind) -> Guid {
    Guid::new(GuidPrefix([octet; 12]), EntityId::user(1, kind))
}

fn path(to: &str, flow: Option<Flow>) -> Path {
    Path { flow, ..Path::routed(to.parse().unwrap(), 1_472) }
}

fn flow() -> Path {
    path("10.0.0.2:7411", Some(Flow { port: NonZeroU16::new(50_000).unwrap(), class: 46 }))
}

/// A writer with a contract, and a reliable reader that was admitted.
fn admitted(datagram: u32, largest: u32) -> Writer<Arc<[u8]>> {
    let mut config = WriterConfig::new(guid(1, EntityKind::WriterNoKey), true);
    config.max_datagram = datagram;
    config.largest_message = Some(largest);
    let mut writer = Writer::new(config);
    let reader = MatchedReader {
        guid: guid(2, EntityKind::ReaderNoKey),
        reliable: true,
        wants_history: false,
        paths: vec![Path { max_datagram: datagram, ..flow() }],
        direct: Some(Path { max_datagram: datagram, ..path("10.0.0.2:7411", None) }),
        receive_buffer: Some(1 << 20),
    };
    writer.match_reader(now(0), reader);
    writer
}

fn write(
    writer: &mut Writer<Arc<[u8]>>,
    bytes: &Arc<[u8]>,
    inline_qos: Option<&[u8]>,
) -> Result<(), WriteError> {
    let source_timestamp = Some(now(0).wall);
    let change = Change { kind: PayloadKind::Data, inline_qos, source_timestamp };
    writer.write(now(1), &change, Body::Shared(Arc::clone(bytes))).map(drop)
}

/// Bits and number of the frames that leave along the flow.
fn frames(writer: &mut Writer<Arc<[u8]>>) -> (u64, u64) {
    let mut out = Transmit::new();
    let (mut bits, mut count) = (0, 0);
    while writer.poll_transmit(now(2), &mut out) {
        if !out.is_message() {
            assert!(out.paths().iter().all(|path| path.flow.is_none()));
            continue;
        }
        assert_eq!(out.paths().len(), 1);
        let lens: Vec<usize> = out.datagrams().map(|slices| slices.map(<[u8]>::len).sum::<usize>()).collect();
        assert!(lens.len() <= 64 && lens.iter().sum::<usize>() <= 65_507);
        if let Some(segment) = out.segment() {
            let (last, others) = lens.split_last().unwrap();
            assert!(others.iter().all(|len| *len == usize::from(segment)) && *last <= usize::from(segment));
        }
        count += lens.len() as u64;
        bits += lens.iter().map(|len| frame_bits(HEADERS + *len as u64)).sum::<u64>();
    }
    (bits, count)
}

#[test]
fn no_sample_has_more_frames_or_octets_than_admission_counts() {
    for datagram in [1_472, 700, 9_000] {
        let all: Arc<[u8]> = vec![5; 200_000].into();
        let framing = Framing::Rtps { datagram, ip: Ip::V4 };
        // Every size for Ethernet, and the same remainders of other datagrams here and there.
        let step = if datagram == 1_472 { 1 } else { 211 };
        for len in (1..=4_096).chain((4_097..=200_000).step_by(step)) {
            let mut writer = admitted(datagram, len);
            write(&mut writer, &Arc::from(all.get(..len as usize).unwrap()), None).unwrap();
            let (bits, count) = frames(&mut writer);
            let promised = framing.frames(len, 0).unwrap();
            assert!(count > 0 && count <= promised.count, "{len}: {count} frames, {promised:?}");
            assert!(bits <= promised.bits, "{len}: {bits} bits, {promised:?}");
        }
    }
}

#[test]
fn inline_qos_counts_in_every_fragment() {
    let inline_qos = [[0x70, 0, 16, 0].as_slice(), &[9; 16], &[1, 0, 0, 0]].concat();
    let payload: Arc<[u8]> = vec![5; 10_000].into();
    // 1,472 bytes have room for fragments of 1,332 beside it.
    let weight = 10_000 + 24 * 8;
    let error = write(&mut admitted(1_472, weight - 1), &payload, Some(&inline_qos)).unwrap_err();
    assert_eq!(error, WriteError::AboveContract { len: weight as usize, limit: weight as usize - 1 });
    let mut writer = admitted(1_472, weight);
    write(&mut writer, &payload, Some(&inline_qos)).unwrap();
    let (bits, count) = frames(&mut writer);
    let promised = Framing::Rtps { datagram: 1_472, ip: Ip::V4 }.frames(weight, 0).unwrap();
    assert!(count <= promised.count && bits <= promised.bits, "{count} {bits} {promised:?}");
}

#[test]
fn small_samples_share_a_datagram_no_further_than_the_contract() {
    let mut writer = admitted(1_472, 100);
    let small: Arc<[u8]> = vec![5; 30].into();
    writer.set_separation(Duration::from_millis(5));
    for _ in 0..10 {
        write(&mut writer, &small, None).unwrap();
    }
    let promised = Framing::Rtps { datagram: 1_472, ip: Ip::V4 }.frames(100, 0).unwrap();
    let (bits, count) = frames(&mut writer);
    assert_eq!(count, 1, "the others wait");
    assert!(bits <= promised.bits);
    let mut out = Transmit::new();
    let mut at = 2;
    while writer.poll_timeout() < now(1_000_000_000).monotonic {
        at = writer.poll_timeout().as_nanos().max(at);
        while writer.poll_transmit(now(at), &mut out) {
            if out.is_message() {
                let len = out.len() as u64;
                assert!(frame_bits(HEADERS + len) <= promised.bits, "{len}");
            }
        }
        if writer.counters().messages >= 5 {
            break;
        }
    }
    assert!(writer.counters().messages >= 4, "not all in one: {:?}", writer.counters());
}
