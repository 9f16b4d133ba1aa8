//! What other programs send a bridge over Zenoh: messages with attachments, tokens, questions.
use wire::discovery::EndpointData;
use wire::qos::EndpointQos;
use wire::{EntityId, EntityKind, Guid, GuidPrefix, SequenceNumber, Timestamp};
use zenoh_routes::{Attachment, Bridge, BridgeId, Kind, Options, key};

const OTHER: BridgeId = BridgeId([7; 16]);

fn endpoint(kind: EntityKind, qos: EndpointQos) -> EndpointData {
    let guid = Guid::new(GuidPrefix([3; 12]), EntityId::user(1, kind));
    EndpointData::new(guid, "Square".to_owned(), "ShapeType".to_owned(), qos)
}

/// Attachments of each kind, and a token: the first byte says which it is.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in [Kind::Sample, Kind::Disposed, Kind::Unregistered, Kind::WriterGone, Kind::Head] {
        let attachment = Attachment {
            kind,
            bridge: OTHER,
            number: 1,
            writer: Guid::new(GuidPrefix([3; 12]), EntityId::user(1, EntityKind::WriterWithKey)),
            sequence: SequenceNumber(1),
            source: Timestamp::from_nanos(1),
            hash: Some([1; 16]),
            related: None,
        };
        seeds.push([&[0][..], &attachment.encode()].concat());
    }
    if let Some(token) = key::token(OTHER, "", 1, &endpoint(EntityKind::WriterWithKey, EndpointQos::writer()))
    {
        seeds.push([&[1][..], token.as_bytes()].concat());
        seeds.push([&[2][..], key::cache_of_key(OTHER, "Square").as_bytes()].concat());
    }
    seeds
}

/// A message, a token or a question for a bridge with a reader.
pub fn zenoh_message(bytes: &[u8]) {
    let Some((what, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let mut bridge = Bridge::new(BridgeId([9; 16]), Options::default());
    bridge.reader_found(&endpoint(EntityKind::ReaderWithKey, EndpointQos::reader()));
    if let Some(token) = key::token(OTHER, "", 1, &endpoint(EntityKind::WriterWithKey, EndpointQos::writer()))
    {
        bridge.token(&token, true);
    }
    bridge.settle(0);
    match what % 3 {
        0 => {
            if let Ok(attachment) = Attachment::decode(bytes) {
                assert_eq!(attachment.encode(), bytes);
            }
            for at in ["Square", "Square/@punctual_end", "Circle"] {
                bridge.message(at, Some(bytes), bytes);
            }
            bridge.answer(1, bytes, bytes);
            bridge.answered(1);
        }
        1 => {
            bridge.token(&text, true);
            bridge.settle(1);
            bridge.token(&text, false);
        }
        _ => {
            assert!(bridge.asked(&text, 0).is_empty());
            if let Some(of) = key::asked(OTHER, &text) {
                assert!(key::is_plain(of));
            }
        }
    }
    bridge.settle(100_000);
    let mut actions = 0;
    while bridge.next_action().is_some() {
        actions += 1;
    }
    assert!(actions < 64, "{actions} actions follow");
}
