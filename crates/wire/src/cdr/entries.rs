//! What a member is written from: a value, or the entries of a map that keeps them in no order.
use alloc::collections::BTreeMap;

use super::{CdrType, EncodeError, Encoder, LengthCode, Sink};

/// Something that can be written as a member.
pub trait Written {
    /// The length code of such a member.
    const LENGTH_CODE: LengthCode;

    /// Writes it.
    fn write<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError>;
}

impl<T: CdrType> Written for T {
    const LENGTH_CODE: LengthCode = T::LENGTH_CODE;

    #[inline]
    fn write<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        self.encode(encoder)
    }
}

/// The entries of a map in the order of their keys: the same map is always written by the same bytes. It is written as a
/// [`BTreeMap`] of them.
#[derive(Debug)]
pub struct SortedEntries<'a, K, V>(BTreeMap<&'a K, &'a V>);

impl<'a, K: Ord, V> SortedEntries<'a, K, V> {
    /// Sorts the entries of a map.
    pub fn of(map: impl IntoIterator<Item = (&'a K, &'a V)>) -> Self {
        Self(map.into_iter().collect())
    }
}

impl<K: CdrType + Ord, V: CdrType> Written for SortedEntries<'_, K, V> {
    const LENGTH_CODE: LengthCode = <BTreeMap<K, V> as CdrType>::LENGTH_CODE;

    fn write<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        write_entries(encoder, self.0.len(), self.0.iter().map(|(key, value)| (*key, *value)))
    }
}

/// Writes a map of so many entries.
pub(super) fn write_entries<'a, K: CdrType + 'a, V: CdrType + 'a, S: Sink>(
    encoder: &mut Encoder<S>,
    count: usize,
    entries: impl Iterator<Item = (&'a K, &'a V)>,
) -> Result<(), EncodeError> {
    let aggregate = encoder.begin_collection(K::PRIMITIVE && V::PRIMITIVE)?;
    encoder.length(count)?;
    for (key, value) in entries {
        key.encode(encoder)?;
        value.encode(encoder)?;
    }
    encoder.end_collection(aggregate)
}
