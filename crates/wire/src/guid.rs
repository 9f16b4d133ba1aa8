//! Globally unique ids of participants and endpoints (RTPS 2.5, 9.3.1).
use core::fmt;

/// Twelve bytes that name a participant (RTPS 2.5, 9.3.1.1). Ours are random: a participant that addresses our prefix has heard from us.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GuidPrefix(pub [u8; 12]);

impl GuidPrefix {
    /// The unknown prefix: in INFO_DST it means every receiver.
    pub const UNKNOWN: Self = Self([0; 12]);
}

/// What an entity is, from the last byte of its id (RTPS 2.5, table 9.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntityKind {
    /// Not a kind of this table.
    Unknown,
    /// The participant itself.
    Participant,
    /// Writer of a topic with a key.
    WriterWithKey,
    /// Writer of a topic without a key.
    WriterNoKey,
    /// Reader of a topic without a key.
    ReaderNoKey,
    /// Reader of a topic with a key.
    ReaderWithKey,
}

/// Four bytes that name an entity inside its participant: a three-byte key and a kind (RTPS 2.5, 9.3.1.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntityId(pub [u8; 4]);

impl EntityId {
    /// Every matching entity.
    pub const UNKNOWN: Self = Self([0, 0, 0, 0]);
    /// The participant.
    pub const PARTICIPANT: Self = Self([0, 0, 1, 0xc1]);
    /// SPDP writer.
    pub const SPDP_WRITER: Self = Self([0, 1, 0, 0xc2]);
    /// SPDP reader.
    pub const SPDP_READER: Self = Self([0, 1, 0, 0xc7]);
    /// SEDP topics writer.
    pub const SEDP_TOPICS_WRITER: Self = Self([0, 0, 2, 0xc2]);
    /// SEDP topics reader.
    pub const SEDP_TOPICS_READER: Self = Self([0, 0, 2, 0xc7]);
    /// SEDP publications writer.
    pub const SEDP_PUBLICATIONS_WRITER: Self = Self([0, 0, 3, 0xc2]);
    /// SEDP publications reader.
    pub const SEDP_PUBLICATIONS_READER: Self = Self([0, 0, 3, 0xc7]);
    /// SEDP subscriptions writer.
    pub const SEDP_SUBSCRIPTIONS_WRITER: Self = Self([0, 0, 4, 0xc2]);
    /// SEDP subscriptions reader.
    pub const SEDP_SUBSCRIPTIONS_READER: Self = Self([0, 0, 4, 0xc7]);
    /// Liveliness (ParticipantMessageData) writer.
    pub const PARTICIPANT_MESSAGE_WRITER: Self = Self([0, 2, 0, 0xc2]);
    /// Liveliness (ParticipantMessageData) reader.
    pub const PARTICIPANT_MESSAGE_READER: Self = Self([0, 2, 0, 0xc7]);
    /// Type lookup: writer of requests (XTypes 1.3, 7.6.3.3.3).
    pub const TYPE_LOOKUP_REQUEST_WRITER: Self = Self([0, 3, 0, 0xc3]);
    /// Type lookup: reader of requests.
    pub const TYPE_LOOKUP_REQUEST_READER: Self = Self([0, 3, 0, 0xc4]);
    /// Type lookup: writer of replies.
    pub const TYPE_LOOKUP_REPLY_WRITER: Self = Self([0, 3, 1, 0xc3]);
    /// Type lookup: reader of replies.
    pub const TYPE_LOOKUP_REPLY_READER: Self = Self([0, 3, 1, 0xc4]);
    /// Reserved for DDS Security: participant stateless message writer (DDS Security 1.1, 7.3.7.4).
    pub const STATELESS_MESSAGE_WRITER: Self = Self([0, 2, 1, 0xc3]);
    /// Reserved for DDS Security: participant stateless message reader.
    pub const STATELESS_MESSAGE_READER: Self = Self([0, 2, 1, 0xc4]);
    /// Reserved for DDS Security: volatile secure message writer.
    pub const VOLATILE_SECURE_WRITER: Self = Self([0xff, 2, 2, 0xc3]);
    /// Reserved for DDS Security: volatile secure message reader.
    pub const VOLATILE_SECURE_READER: Self = Self([0xff, 2, 2, 0xc4]);
    /// Reserved for DDS Security: secure SPDP writer.
    pub const SECURE_SPDP_WRITER: Self = Self([0xff, 1, 1, 0xc2]);
    /// Reserved for DDS Security: secure SPDP reader.
    pub const SECURE_SPDP_READER: Self = Self([0xff, 1, 1, 0xc7]);

    /// The id of user entity number `key` (only 24 bits are used) of this kind.
    pub const fn user(key: u32, kind: EntityKind) -> Self {
        let octet = match kind {
            EntityKind::Unknown | EntityKind::Participant => 0,
            EntityKind::WriterWithKey => 0x02,
            EntityKind::WriterNoKey => 0x03,
            EntityKind::ReaderNoKey => 0x04,
            EntityKind::ReaderWithKey => 0x07,
        };
        Self([(key >> 16) as u8, (key >> 8) as u8, key as u8, octet])
    }

    /// What the last byte says, for user, built-in (0xc0) and vendor (0x40) entities alike.
    pub const fn kind(self) -> EntityKind {
        match self.0[3] & 0x3f {
            0x01 => EntityKind::Participant,
            0x02 => EntityKind::WriterWithKey,
            0x03 => EntityKind::WriterNoKey,
            0x04 => EntityKind::ReaderNoKey,
            0x07 => EntityKind::ReaderWithKey,
            _ => EntityKind::Unknown,
        }
    }

    /// True for a writer of any origin.
    pub const fn is_writer(self) -> bool {
        matches!(self.kind(), EntityKind::WriterWithKey | EntityKind::WriterNoKey)
    }

    /// True for a reader of any origin.
    pub const fn is_reader(self) -> bool {
        matches!(self.kind(), EntityKind::ReaderWithKey | EntityKind::ReaderNoKey)
    }

    /// True for built-in entities of the standard.
    pub const fn is_builtin(self) -> bool {
        self.0[3] & 0xc0 == 0xc0
    }

    /// True for entities that only their own vendor understands.
    pub const fn is_vendor(self) -> bool {
        self.0[3] & 0xc0 == 0x40
    }
}

/// The name of an entity in the whole domain (RTPS 2.5, 9.3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Guid {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The entity inside it.
    pub entity_id: EntityId,
}

impl Guid {
    /// The unknown guid, all bytes zero.
    pub const UNKNOWN: Self = Self { prefix: GuidPrefix::UNKNOWN, entity_id: EntityId::UNKNOWN };

    /// Joins a prefix and an entity id.
    pub const fn new(prefix: GuidPrefix, entity_id: EntityId) -> Self {
        Self { prefix, entity_id }
    }

    /// The sixteen bytes as they stand on the wire.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&self.prefix.0);
        bytes[12..].copy_from_slice(&self.entity_id.0);
        bytes
    }

    /// Reads the sixteen bytes of the wire.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        Self { prefix: GuidPrefix([a, b, c, d, e, f, g, h, i, j, k, l]), entity_id: EntityId([m, n, o, p]) }
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
}

impl fmt::Display for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.prefix, self.entity_id)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_table() {
        assert_eq!(EntityId::user(0x010203, EntityKind::WriterWithKey).0, [1, 2, 3, 2]);
        assert_eq!(EntityId::SPDP_READER.kind(), EntityKind::ReaderWithKey);
        assert!(EntityId::SPDP_WRITER.is_builtin() && EntityId::SPDP_WRITER.is_writer());
        assert!(EntityId([0, 0, 1, 0x43]).is_vendor());
        assert!(!EntityId([0, 0, 1, 0x03]).is_vendor());
    }

    #[test]
    fn bytes_round_trip() {
        let guid = Guid::new(GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), EntityId([13, 14, 15, 16]));
        assert_eq!(Guid::from_bytes(guid.to_bytes()), guid);
        assert_eq!(guid.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    }
}
