//! Valid inputs, made by our own encoders and, where we never write such bytes, by hand.
mod discovery;
mod messages;

use wire::{EntityId, EntityKind, GuidPrefix};

/// The participant that sends all seeds.
pub const PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfeseed-of-us");
/// A writer of the sender, without keys.
pub const WRITER: EntityId = EntityId::user(1, EntityKind::WriterNoKey);
/// A reader of the sender, without keys.
pub const READER: EntityId = EntityId::user(2, EntityKind::ReaderNoKey);

/// Whole messages.
pub fn messages() -> Vec<Vec<u8>> {
    messages::messages()
}

/// Payloads that are parameter lists, in both byte orders: announcements, keys, inline QoS.
pub fn parameter_lists() -> Vec<Vec<u8>> {
    let inline_qos = [[0, 3, 0, 0].as_slice(), &messages::INLINE_QOS].concat();
    let big_endian = vec![0, 2, 0, 0, 0, 0x71, 0, 4, 0, 0, 0, 1, 0, 0x15, 0, 4, 2, 5, 0, 0, 0, 1, 0, 0];
    let mut seeds = discovery::all();
    seeds.extend([inline_qos, big_endian]);
    seeds
}
