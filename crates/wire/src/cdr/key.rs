//! Key hashes (RTPS 2.5, 9.6.4.8; XTypes 1.3, 7.6.8).
use crate::md5::md5;

/// The identity of an instance in 16 bytes: the key itself, in big-endian CDR and padded with zeros, if no key of the
/// type is longer; otherwise the MD5 of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct KeyHash(pub [u8; 16]);

impl KeyHash {
    /// Bytes of a key hash.
    pub const SIZE: usize = 16;

    /// True if keys of at most `max` bytes are their own hash.
    pub(super) const fn holds(max: Option<usize>) -> bool {
        matches!(max, Some(max) if max <= Self::SIZE)
    }

    /// The hash of a key that may be longer than 16 bytes.
    pub(super) fn digest(key: &[u8]) -> Self {
        Self(md5(key))
    }
}
