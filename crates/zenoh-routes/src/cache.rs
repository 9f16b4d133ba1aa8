//! What a bridge keeps of what it has sent under one key: the newest messages, for those who missed some, and what durable writers would still
//! tell a late reader.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;

use wire::Guid;
use wire::qos::History;

use crate::attachment::{Attachment, Kind};

/// A message between bridges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// What travels beside the bytes.
    pub attachment: Attachment,
    /// A serialized sample or key, encapsulation header included.
    pub payload: Arc<[u8]>,
}

impl Message {
    /// Bytes that it costs to keep it.
    pub fn cost(&self) -> usize {
        self.payload.len().saturating_add(size_of::<Self>())
    }
}

/// An instance as one writer has it; samples without a key hash are of one instance.
type Place = (Guid, [u8; 16]);

/// Messages of one key.
#[derive(Debug, Default)]
pub struct Cache {
    messages: BTreeMap<u64, Message>,
    /// Numbers of the newest messages, whatever they are.
    newest: VecDeque<u64>,
    /// Numbers of what is kept of each instance, of durable writers only.
    durable: BTreeMap<Place, VecDeque<u64>>,
    last: u64,
    bytes: usize,
}

impl Cache {
    /// Most messages that are kept for those who missed some.
    pub const NEWEST: usize = 1_024;

    /// The number of the last message that was sent; zero if none was.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Bytes that it holds.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives a message its number and keeps it. `durable` is the history of its writer, if that is for late readers too.
    pub fn push(&mut self, mut message: Message, durable: Option<History>) -> Message {
        self.last = self.last.saturating_add(1);
        message.attachment.number = self.last;
        let place = (message.attachment.writer, message.attachment.hash.unwrap_or_default());
        if message.attachment.kind == Kind::WriterGone {
            self.forget(place.0);
        } else if let Some(history) = durable {
            let kept = self.durable.entry(place).or_default();
            kept.push_back(self.last);
            let depth = match history {
                History::KeepLast(depth) => (depth as usize).max(1),
                History::KeepAll => usize::MAX,
            };
            if kept.len() > depth
                && let Some(old) = kept.pop_front()
            {
                self.drop_unless_kept(old);
            }
        }
        self.bytes = self.bytes.saturating_add(message.cost());
        self.messages.insert(self.last, message.clone());
        self.newest.push_back(self.last);
        if self.newest.len() > Self::NEWEST {
            self.drop_newest();
        }
        message
    }

    /// Forgets one message, which a newer one of the same instance has replaced before it was sent.
    pub fn forget_one(&mut self, number: u64) {
        let Some(message) = self.messages.get(&number) else { return };
        let place = (message.attachment.writer, message.attachment.hash.unwrap_or_default());
        if let Some(kept) = self.durable.get_mut(&place) {
            kept.retain(|kept| *kept != number);
            if kept.is_empty() {
                self.durable.remove(&place);
            }
        }
        if let Ok(at) = self.newest.binary_search(&number) {
            self.newest.remove(at);
        }
        self.remove(number);
    }

    /// Lets the oldest go until it holds no more than `bytes`; how many went.
    pub fn shrink(&mut self, bytes: usize) -> u64 {
        let mut gone = 0;
        while self.bytes > bytes {
            let Some((&number, message)) = self.messages.first_key_value() else { break };
            let place = (message.attachment.writer, message.attachment.hash.unwrap_or_default());
            if let Some(kept) = self.durable.get_mut(&place) {
                kept.retain(|kept| *kept != number);
                if kept.is_empty() {
                    self.durable.remove(&place);
                }
            }
            while self.newest.front().is_some_and(|newest| *newest <= number) {
                self.newest.pop_front();
            }
            self.remove(number);
            gone += 1;
        }
        gone
    }

    /// Forgets all but the number of the last message.
    pub fn clear(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }

    /// What it holds, from this number on, in order.
    pub fn from(&self, number: u64) -> impl Iterator<Item = &Message> {
        self.messages.range(number..).map(|(_, message)| message)
    }

    /// What a late reader gets, in order.
    pub fn kept(&self) -> impl Iterator<Item = &Message> {
        let numbers: BTreeSet<u64> = self.durable.values().flatten().copied().collect();
        numbers.into_iter().filter_map(|number| self.messages.get(&number))
    }

    /// A writer is gone: a late reader gets nothing of it any more.
    fn forget(&mut self, writer: Guid) {
        let places = (writer, [0; 16])..=(writer, [u8::MAX; 16]);
        let places: alloc::vec::Vec<Place> = self.durable.range(places).map(|(place, _)| *place).collect();
        for place in places {
            for number in self.durable.remove(&place).unwrap_or_default() {
                self.drop_unless_kept(number);
            }
        }
    }

    fn drop_newest(&mut self) {
        let Some(number) = self.newest.pop_front() else { return };
        let place = self
            .messages
            .get(&number)
            .map(|message| (message.attachment.writer, message.attachment.hash.unwrap_or_default()));
        let durable = place.and_then(|place| self.durable.get(&place));
        if !durable.is_some_and(|kept| kept.contains(&number)) {
            self.remove(number);
        }
    }

    fn drop_unless_kept(&mut self, number: u64) {
        if self.newest.front().is_none_or(|newest| number < *newest) {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(message) = self.messages.remove(&number) {
            self.bytes = self.bytes.saturating_sub(message.cost());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::BridgeId;
    use alloc::vec::Vec;
    use wire::{SequenceNumber, Timestamp};

    fn message(writer: u8, hash: u8, kind: Kind) -> Message {
        let attachment = Attachment {
            kind,
            bridge: BridgeId([1; 16]),
            number: 0,
            writer: Guid::from_bytes([writer; 16]),
            sequence: SequenceNumber(1),
            source: Timestamp::from_nanos(0),
            hash: Some([hash; 16]),
            related: None,
        };
        Message { attachment, payload: Arc::from([hash; 100]) }
    }

    fn numbers(cache: &Cache, from: u64) -> Vec<u64> {
        cache.from(from).map(|message| message.attachment.number).collect()
    }

    #[test]
    fn the_newest_messages_are_kept_and_of_durable_writers_what_a_late_reader_gets() {
        let mut cache = Cache::default();
        for hash in 0..3 {
            cache.push(message(1, hash, Kind::Sample), Some(History::KeepLast(1)));
        }
        for _ in 0..Cache::NEWEST {
            cache.push(message(2, 9, Kind::Sample), None);
        }
        let all = numbers(&cache, 1);
        assert_eq!((all[..4].to_vec(), all.len()), (Vec::from([1, 2, 3, 4]), 3 + Cache::NEWEST));
        cache.push(message(1, 1, Kind::Sample), Some(History::KeepLast(1)));
        assert_eq!(numbers(&cache, 1)[..3], [1, 3, 5], "one sample of each instance");
        let kept: Vec<u64> = cache.kept().map(|message| message.attachment.number).collect();
        assert_eq!(kept, [1, 3, cache.last()], "and nothing else for a late reader");
        cache.push(message(1, 0, Kind::WriterGone), None);
        assert_eq!(numbers(&cache, 1)[..1], [6], "a late reader gets nothing of a writer that is gone");
        assert_eq!(numbers(&cache, cache.last()), [cache.last()]);
    }

    #[test]
    fn bytes_are_counted_and_the_oldest_go_first() {
        let mut cache = Cache::default();
        for hash in 0..10 {
            cache.push(message(1, hash, Kind::Sample), Some(History::KeepAll));
        }
        let one = cache.bytes() / 10;
        assert_eq!(cache.shrink(one * 4), 6);
        assert_eq!((numbers(&cache, 1), cache.bytes()), (Vec::from([7, 8, 9, 10]), one * 4));
        cache.forget_one(8);
        cache.forget_one(8);
        assert_eq!((numbers(&cache, 1), cache.bytes()), (Vec::from([7, 9, 10]), one * 3));
        cache.clear();
        assert_eq!((cache.bytes(), cache.last(), numbers(&cache, 1).len()), (0, 10, 0));
        assert_eq!(cache.push(message(1, 1, Kind::Sample), None).attachment.number, 11);
    }
}
