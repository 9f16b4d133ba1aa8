//! What waits to be sent, by key: a key whose connection is slow holds up no other, and what is dropped of it is said by the QoS of its writers.
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use wire::Guid;

use crate::attachment::Kind;
use crate::cache::{Cache, Message};
use crate::turns::Turns;

/// Messages of a key that may wait before its reliable writers are held up. What waits is kept for those who miss it, therefore.
pub(crate) const MOST_WAITING: usize = Cache::NEWEST / 2;
/// Bytes of them.
const MOST_BYTES: usize = 4 << 20;
/// Most messages of best-effort writers that wait under a key.
const MOST_BEST_EFFORT: usize = 64;
/// Most messages that are sent at one turn, and most bytes if there are several.
const MOST_AT_ONCE: usize = 64;
const MOST_BYTES_AT_ONCE: usize = 256 << 10;

/// What is dropped of a writer where too much waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// The oldest messages: of best-effort writers.
    Newest,
    /// What newer messages of the same instance have replaced, so many of which are kept: of reliable writers with KEEP_LAST.
    Last(usize),
    /// Nothing: the writer is held up. Of reliable writers with KEEP_ALL.
    All,
}

/// An instance as one writer has it.
type Place = (Guid, [u8; 16]);

#[derive(Debug)]
struct Waiting {
    message: Message,
    keep: Keep,
}

/// What waits under one key, by number.
#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeMap<u64, Waiting>,
    /// Numbers of messages that newer ones can replace.
    places: BTreeMap<Place, VecDeque<u64>>,
    best_effort: VecDeque<u64>,
    bytes: usize,
    /// Some of it is being sent.
    is_sending: bool,
}

impl Queue {
    fn remove(&mut self, number: u64) -> Option<Waiting> {
        let gone = self.waiting.remove(&number)?;
        self.bytes = self.bytes.saturating_sub(gone.message.cost());
        match gone.keep {
            Keep::Newest => self.best_effort.retain(|of| *of != number),
            Keep::Last(_) => {
                let place = place(&gone.message);
                if let Some(numbers) = self.places.get_mut(&place) {
                    numbers.retain(|of| *of != number);
                    if numbers.is_empty() {
                        self.places.remove(&place);
                    }
                }
            }
            Keep::All => {}
        }
        Some(gone)
    }
}

fn place(message: &Message) -> Place {
    (message.attachment.writer, message.attachment.hash.unwrap_or_default())
}

/// What became of messages instead of being sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Dropped {
    /// Of reliable writers: newer ones of the same instance came.
    pub(crate) replaced: u64,
    /// Of best-effort writers.
    pub(crate) best_effort: u64,
    /// Of reliable writers: there was no room for them.
    pub(crate) lost: u64,
}

/// Queues of all keys.
#[derive(Debug)]
pub(crate) struct Queues {
    queues: BTreeMap<String, Queue>,
    turns: Turns,
    bytes: usize,
    /// Most bytes that wait, of all keys.
    most: usize,
    pub(crate) dropped: Dropped,
}

impl Queues {
    /// At most `sending` keys are being sent at a time; `most` bytes wait at most.
    pub(crate) fn new(sending: usize, most: usize) -> Self {
        Self {
            queues: BTreeMap::new(),
            turns: Turns::new(sending),
            bytes: 0,
            most,
            dropped: Dropped::default(),
        }
    }

    /// Messages that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queues.values().map(|queue| queue.waiting.len()).sum()
    }

    /// True while something waits or is being sent.
    pub(crate) fn is_sending(&self) -> bool {
        !self.queues.is_empty()
    }

    /// The number of the first message under a key that waits for its turn.
    pub(crate) fn first_waiting(&self, key: &str) -> Option<u64> {
        self.queues.get(key)?.waiting.first_key_value().map(|(number, _)| *number)
    }

    /// True if reliable writers of this key are to be held up.
    pub(crate) fn is_full(&self, key: &str) -> bool {
        let over = |queue: &Queue| queue.waiting.len() >= MOST_WAITING || queue.bytes >= MOST_BYTES;
        self.queues.get(key).is_some_and(over)
    }

    /// A message waits. Gives the numbers of those under its key that newer ones have replaced, and the key of which messages were lost, if there was
    /// no room.
    pub(crate) fn push(&mut self, key: &str, message: Message, keep: Keep) -> (Vec<u64>, Option<String>) {
        let queue = self.queues.entry(key.into()).or_default();
        let number = message.attachment.number;
        let before = queue.bytes;
        let mut replaced = Vec::new();
        queue.bytes = queue.bytes.saturating_add(message.cost());
        let is_end = message.attachment.kind == Kind::WriterGone;
        let keep = if is_end { Keep::All } else { keep };
        match keep {
            Keep::Newest => {
                queue.best_effort.push_back(number);
                // One alone waits, however long it is.
                while queue.best_effort.len() > 1
                    && (queue.best_effort.len() > MOST_BEST_EFFORT || queue.bytes > MOST_BYTES)
                    && let Some(oldest) = queue.best_effort.front().copied()
                {
                    self.dropped.best_effort += u64::from(queue.remove(oldest).is_some());
                }
            }
            Keep::Last(depth) => {
                let numbers = queue.places.entry(place(&message)).or_default();
                numbers.push_back(number);
                if numbers.len() > depth.max(1)
                    && let Some(oldest) = numbers.front().copied()
                    && queue.remove(oldest).is_some()
                {
                    self.dropped.replaced += 1;
                    replaced.push(oldest);
                }
            }
            Keep::All => {}
        }
        queue.waiting.insert(number, Waiting { message, keep });
        self.bytes = self.bytes.saturating_sub(before).saturating_add(queue.bytes);
        self.turns.wants(key);
        (replaced, self.make_room())
    }

    /// Drops the oldest of the longest queue until all fit.
    fn make_room(&mut self) -> Option<String> {
        let mut of = None;
        while self.bytes > self.most {
            let longest = self.queues.iter_mut().max_by_key(|(_, queue)| queue.bytes);
            let Some((key, queue)) = longest else { break };
            let Some(oldest) = queue.waiting.first_key_value().map(|(number, _)| *number) else { break };
            let before = queue.bytes;
            match queue.remove(oldest).map(|gone| gone.keep) {
                Some(Keep::Newest) => self.dropped.best_effort += 1,
                Some(_) => {
                    self.dropped.lost += 1;
                    of = Some(key.clone());
                }
                None => break,
            }
            self.bytes = self.bytes.saturating_sub(before.saturating_sub(queue.bytes));
        }
        of
    }

    /// The key whose turn it is, what is sent, in order, and whether it is reliable. The key has its next turn after [`Queues::sent`].
    pub(crate) fn next(&mut self, now: u64) -> Option<(String, Vec<Message>, bool)> {
        loop {
            let key = self.turns.next(now)?;
            let Some(queue) = self.queues.get_mut(&key).filter(|queue| !queue.waiting.is_empty()) else {
                // What waited was dropped.
                self.queues.remove(&key);
                self.turns.done(&key, now, false);
                continue;
            };
            let before = queue.bytes;
            let (mut batch, mut reliable, mut bytes) = (Vec::new(), false, 0_usize);
            while let Some((number, waiting)) = queue.waiting.first_key_value() {
                let is_reliable = waiting.keep != Keep::Newest;
                bytes = bytes.saturating_add(waiting.message.cost());
                let is_first = batch.is_empty();
                let has_room = batch.len() < MOST_AT_ONCE && bytes <= MOST_BYTES_AT_ONCE;
                if !is_first && (is_reliable != reliable || !has_room) {
                    break;
                }
                reliable = is_reliable;
                let number = *number;
                let Some(gone) = queue.remove(number) else { break };
                batch.push(gone.message);
            }
            queue.is_sending = true;
            self.bytes = self.bytes.saturating_sub(before.saturating_sub(queue.bytes));
            return Some((key, batch, reliable));
        }
    }

    /// What was sent of a key has been taken by the connection, or has been lost with it.
    pub(crate) fn sent(&mut self, key: &str, now: u64) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if !core::mem::take(&mut queue.is_sending) {
            return;
        }
        let has_more = !queue.waiting.is_empty();
        if !has_more {
            self.queues.remove(key);
        }
        self.turns.done(key, now, has_more);
    }
}
