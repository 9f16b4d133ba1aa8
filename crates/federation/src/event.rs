//! Events as they go between gateways.
use alloc::vec::Vec;

use wire::cursor::{Cursor, Endianness};

/// The name of a gateway, which no other of its federation has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GatewayId(pub u64);

/// What travels with an event besides its body.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Header {
    /// The importance; a larger number is more important.
    pub priority: u8,
    /// Nanoseconds that were left until its deadline when it was published. The clocks of two hosts do not agree, so the time under way does not count.
    pub budget: Option<u64>,
}

/// An event that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'a> {
    /// The gateway of its publisher.
    pub origin: GatewayId,
    /// The start of that gateway.
    pub incarnation: u64,
    /// Its number among the events of that start.
    pub number: u64,
    /// Its type.
    pub kind: &'a str,
    /// The port that published it.
    pub source: &'a str,
    /// Priority and time left.
    pub header: Header,
    /// The event itself.
    pub body: &'a [u8],
}

/// The most gateways that one transfer is for.
pub(crate) const MOST_DESTINATIONS: usize = 1_024;

/// A message with an event: whom it is for, how far it may go, and the event.
pub(crate) struct Addressed<'a> {
    pub(crate) ttl: u8,
    /// Gateway ids, eight bytes each.
    destinations: &'a [u8],
    /// The event as it is written, which no gateway changes.
    pub(crate) rest: &'a [u8],
}

impl<'a> Addressed<'a> {
    /// Reads what follows the kind of a message.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        let ttl = cursor.u8()?;
        let count = usize::from(cursor.u16()?);
        if count == 0 || count > MOST_DESTINATIONS {
            return None;
        }
        let destinations = cursor.take(count * 8)?;
        let rest = cursor.rest();
        Some(Self { ttl, destinations, rest })
    }

    pub(crate) fn destinations(&self) -> impl Iterator<Item = u64> + 'a {
        self.destinations.chunks_exact(8).map(|bytes| {
            let mut id = [0; 8];
            id.copy_from_slice(bytes);
            u64::from_le_bytes(id)
        })
    }
}

/// A message with an event for a group: whom of it the event is for, how far it may go on from them, and the event.
pub(crate) struct Grouped<'a> {
    pub(crate) ttl: u8,
    /// A bit for each place in the group, the least significant of the first byte for the first place. What is missing is 0.
    places: &'a [u8],
    /// As in [`Addressed::rest`].
    pub(crate) rest: &'a [u8],
}

impl<'a> Grouped<'a> {
    /// Reads what follows the kind of a message.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        let ttl = cursor.u8()?;
        let length = usize::from(cursor.u8()?);
        let places = cursor.take(length)?;
        Some(Self { ttl, places, rest: cursor.rest() })
    }

    /// The event is for the receiver that has this place.
    pub(crate) fn is_for(&self, place: u16) -> bool {
        let byte = self.places.get(usize::from(place / 8));
        byte.is_some_and(|byte| byte >> (place % 8) & 1 == 1)
    }
}

/// Writes the head of a message with an event for a group in which no place is `count` or more.
pub(crate) fn write_group_head(to: &mut Vec<u8>, ttl: u8, count: usize, places: impl Iterator<Item = u16>) {
    let length = u8::try_from(count.div_ceil(8)).unwrap_or(u8::MAX);
    to.extend_from_slice(&[ttl, length]);
    let begin = to.len();
    to.resize(begin + usize::from(length), 0);
    for place in places {
        if let Some(byte) = to.get_mut(begin + usize::from(place / 8)) {
            *byte |= 1 << (place % 8);
        }
    }
}

/// Writes the head of a message with an event.
pub(crate) fn write_head(to: &mut Vec<u8>, ttl: u8, destinations: impl ExactSizeIterator<Item = u64>) {
    to.push(ttl);
    let count = u16::try_from(destinations.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&count.to_le_bytes());
    for id in destinations {
        to.extend_from_slice(&id.to_le_bytes());
    }
}

fn text(to: &mut Vec<u8>, text: &str) {
    let text = text.get(..text.len().min(255)).unwrap_or_default();
    to.push(text.len() as u8);
    to.extend_from_slice(text.as_bytes());
}

impl<'a> Event<'a> {
    /// Writes what [`Addressed::rest`] is.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        for number in [self.origin.0, self.incarnation, self.number] {
            to.extend_from_slice(&number.to_le_bytes());
        }
        to.push(self.header.priority);
        to.extend_from_slice(&self.header.budget.unwrap_or(u64::MAX).to_le_bytes());
        text(to, self.kind);
        text(to, self.source);
        to.extend_from_slice(self.body);
    }

    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        let (origin, incarnation, number) = (GatewayId(cursor.u64()?), cursor.u64()?, cursor.u64()?);
        let priority = cursor.u8()?;
        let budget = Some(cursor.u64()?).filter(|budget| *budget < u64::MAX);
        let mut text = || {
            let length = usize::from(cursor.u8()?);
            core::str::from_utf8(cursor.take(length)?).ok()
        };
        let (kind, source) = (text()?, text()?);
        let header = Header { priority, budget };
        Some(Self { origin, incarnation, number, kind, source, header, body: cursor.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_group_is_for_the_places_that_were_written() {
        for count in [1, 7, 8, 9, 64, 1_000] {
            let places: Vec<u16> = (0..count).filter(|place| place % 3 == 2 || *place == count - 1).collect();
            let mut bytes = Vec::new();
            write_group_head(&mut bytes, 4, usize::from(count), places.iter().copied());
            bytes.extend_from_slice(b"rest");
            let read = Grouped::read(&bytes).unwrap();
            assert_eq!((read.ttl, read.rest), (4, &b"rest"[..]));
            let is_for: Vec<u16> = (0..2_100).filter(|place| read.is_for(*place)).collect();
            assert_eq!(is_for, places);
            assert!(
                (0..usize::from(count).div_ceil(8)).all(|length| Grouped::read(&bytes[..length]).is_none())
            );
        }
    }
}
