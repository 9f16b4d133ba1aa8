//! What other programs send a bridge over Zenoh: messages with attachments, tokens, questions, types.
use wire::discovery::EndpointData;
use wire::qos::EndpointQos;
use wire::{EntityId, EntityKind, Guid, GuidPrefix, SequenceNumber, Timestamp};
use zenoh_routes::{Attachment, Bridge, BridgeId, Kind, Options, key, types};

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
        let writer = Guid::new(GuidPrefix([3; 12]), EntityId::user(1, EntityKind::WriterWithKey));
        seeds.push([&[2][..], key::type_of_writer(OTHER, writer).as_bytes()].concat());
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
            assert!(key::asked_type(OTHER, &text).is_none_or(|of| key::type_of_writer(OTHER, of) == text));
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

/// What tells types: of one that needs another, and of types that contain each other.
pub(super) fn type_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "enum Gear { LOW, HIGH }; struct Inner { sequence<Gear, 4> gears; }; struct Outer { @key long id; Inner inner; string<9> name; };",
        "struct Tree; struct Branch { sequence<Tree> trees; }; struct Tree { Branch branch; };",
    ];
    let told = |text: &&str| {
        let schema = dynamic::idl::parse(text).ok()?;
        let (index, _) = schema.iter().next_back()?;
        types::encode(&xtypes::describe(&schema, index).ok()?)
    };
    texts.iter().filter_map(told).collect()
}

/// What another bridge tells of a type; what is read is told as it is understood, and read as the same.
pub fn zenoh_type(bytes: &[u8]) {
    if let Ok(told) = types::decode(bytes)
        && let Some(again) = types::encode(&told)
    {
        assert_eq!(types::decode(&again), Ok(told));
    }
}
