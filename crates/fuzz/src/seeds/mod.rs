//! Valid inputs, made by our own encoders and, where we never write such bytes, by hand.
mod captures;
mod discovery;
mod messages;

use std::path::Path;

use wire::{EntityId, EntityKind, GuidPrefix};

/// The participant that sends all seeds.
pub const PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfeseed-of-us");
/// A writer of the sender, without keys.
pub const WRITER: EntityId = EntityId::user(1, EntityKind::WriterNoKey);
/// A reader of the sender, without keys.
pub const READER: EntityId = EntityId::user(2, EntityKind::ReaderNoKey);

/// Where the tests of `wire` keep captures of other vendors' programs.
const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/tests/golden");

/// Whole messages, ours and captured ones.
pub fn messages() -> Vec<Vec<u8>> {
    let mut seeds = messages::messages();
    seeds.extend(captures::messages(Path::new(CAPTURES)));
    seeds
}

/// Payloads that are parameter lists, in both byte orders: announcements, keys, inline QoS.
pub fn parameter_lists() -> Vec<Vec<u8>> {
    let inline_qos = [[0, 3, 0, 0].as_slice(), &messages::INLINE_QOS].concat();
    let big_endian = vec![0, 2, 0, 0, 0, 0x71, 0, 4, 0, 0, 0, 1, 0, 0x15, 0, 4, 2, 5, 0, 0, 0, 1, 0, 0];
    let mut seeds = discovery::all();
    seeds.extend([inline_qos, big_endian]);
    seeds.extend(
        captures::messages(Path::new(CAPTURES)).iter().flat_map(|message| captures::announcements(message)),
    );
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_other_programs_are_found() {
        let vendors: std::collections::BTreeSet<_> =
            captures::messages(Path::new(CAPTURES)).iter().map(|message| message[6..8].to_vec()).collect();
        assert!(vendors.len() >= 3, "captures of {} vendors in {CAPTURES}", vendors.len());
    }
}
