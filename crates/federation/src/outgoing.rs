//! The sending half of a stream: messages, cut into fragments, until all receivers have acknowledged them.
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Buffers that are kept for later messages, and their size at most.
const SPARE: usize = 64;
const SPARE_BYTES: usize = 16 << 10;

/// Messages that are not acknowledged by all receivers, and those that wait to be sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    messages: VecDeque<Message>,
    /// Bytes of all messages.
    bytes: usize,
    /// Bytes of messages that have been sent, in part at least.
    flying: usize,
    /// The number of the fragment that is sent next for the first time.
    next: u64,
    /// The number behind the last fragment.
    end: u64,
    /// Bytes of a fragment.
    size: usize,
    spare: Vec<Vec<u8>>,
    /// When fragments were sent first that are not acknowledged: the number behind those of an instant, and the instant.
    sent_at: VecDeque<(u64, u64)>,
}

#[derive(Debug)]
struct Message {
    bytes: Vec<u8>,
    /// The number of its first fragment.
    first: u64,
    fragments: u64,
}

impl Outgoing {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            flying: 0,
            next: 0,
            end: 0,
            size: size.max(1),
            spare: Vec::new(),
            sent_at: VecDeque::new(),
        }
    }

    /// An empty buffer for a message.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        let fragments = bytes.len().div_ceil(self.size).max(1) as u64;
        self.bytes += bytes.len();
        self.messages.push_back(Message { bytes, first: self.end, fragments });
        self.end += fragments;
    }

    /// Bytes that are kept.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) const fn flying(&self) -> usize {
        self.flying
    }

    /// The number behind the last fragment that was sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.next
    }

    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    pub(crate) const fn has_unsent(&self) -> bool {
        self.next < self.end
    }

    fn find(&self, number: u64) -> Option<&Message> {
        let after = self.messages.partition_point(|message| message.first <= number);
        let message = self.messages.get(after.checked_sub(1)?)?;
        (number < message.first + message.fragments).then_some(message)
    }

    /// A fragment, and whether it ends its message.
    pub(crate) fn fragment(&self, number: u64) -> Option<(&[u8], bool)> {
        let message = self.find(number)?;
        let index = number - message.first;
        let start = usize::try_from(index).ok()? * self.size;
        let end = message.bytes.len().min(start + self.size);
        Some((message.bytes.get(start..end)?, index + 1 == message.fragments))
    }

    /// The fragment to be sent next for the first time, if its message may fly besides those that do.
    pub(crate) fn next(&self, flight: usize) -> Option<u64> {
        if !self.has_unsent() {
            return None;
        }
        let message = self.find(self.next)?;
        let is_begun = self.next > message.first;
        let may = is_begun || self.flying == 0 || self.flying + message.bytes.len() <= flight;
        may.then_some(self.next)
    }

    /// The fragment that [`Outgoing::next`] gave has been sent.
    pub(crate) fn advance(&mut self, now: u64) {
        if let Some(message) = self.find(self.next).filter(|message| message.first == self.next) {
            self.flying += message.bytes.len();
        }
        self.next += 1;
        match self.sent_at.back_mut().filter(|(_, at)| *at == now) {
            Some((end, _)) => *end = self.next,
            None => self.sent_at.push_back((self.next, now)),
        }
    }

    /// All fragments before this number were sent before an instant.
    pub(crate) fn sent_before(&self, instant: u64) -> u64 {
        let later = self.sent_at.partition_point(|(_, at)| *at < instant);
        later.checked_sub(1).and_then(|index| self.sent_at.get(index)).map_or(0, |(end, _)| *end)
    }

    /// All fragments before this number have been acknowledged by all receivers.
    pub(crate) fn release(&mut self, before: u64) {
        let before = before.min(self.next);
        while self.messages.front().is_some_and(|message| message.first + message.fragments <= before) {
            let Some(message) = self.messages.pop_front() else { return };
            self.bytes -= message.bytes.len();
            self.flying -= message.bytes.len();
            while self.sent_at.front().is_some_and(|(end, _)| *end <= message.first) {
                self.sent_at.pop_front();
            }
            if self.spare.len() < SPARE && message.bytes.capacity() <= SPARE_BYTES {
                let mut bytes = message.bytes;
                bytes.clear();
                self.spare.push(bytes);
            }
        }
    }

    /// Takes all messages out whose last fragment is not before this number; the numbers begin anew.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        let messages = core::mem::take(&mut self.messages);
        *self = Self { spare: core::mem::take(&mut self.spare), ..Self::new(self.size) };
        messages.into_iter().map(|message| message.bytes).collect()
    }

    /// The messages that a receiver has not acknowledged all of.
    pub(crate) fn missing(&self, acknowledged: u64) -> impl Iterator<Item = &[u8]> {
        let is_missing = move |message: &&Message| message.first + message.fragments > acknowledged;
        self.messages.iter().filter(is_missing).map(|message| message.bytes.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_have_numbers_and_go_when_all_is_acknowledged() {
        let mut outgoing = Outgoing::new(4);
        outgoing.push(b"abcdefghi".to_vec());
        outgoing.push(b"".to_vec());
        outgoing.push(b"jkl".to_vec());
        assert_eq!((outgoing.end(), outgoing.bytes()), (5, 12));
        assert_eq!(outgoing.fragment(0), Some((&b"abcd"[..], false)));
        assert_eq!(outgoing.fragment(2), Some((&b"i"[..], true)));
        assert_eq!(outgoing.fragment(3), Some((&b""[..], true)));
        assert_eq!(outgoing.fragment(5), None);
        // What is larger than the flight goes alone.
        for number in 0..3 {
            assert_eq!(outgoing.next(4), Some(number));
            outgoing.advance(1);
        }
        assert_eq!((outgoing.next(8), outgoing.next(9)), (None, Some(3)));
        outgoing.release(2);
        assert_eq!(outgoing.flying(), 9);
        outgoing.release(5);
        assert_eq!((outgoing.flying(), outgoing.bytes(), outgoing.next(4)), (0, 3, Some(3)));
        assert_eq!(outgoing.fragment(0), None);
        assert_eq!(outgoing.missing(4).collect::<Vec<_>>(), [b"jkl"]);
        assert_eq!(outgoing.take(), [b"".to_vec(), b"jkl".to_vec()]);
        assert_eq!((outgoing.end(), outgoing.bytes()), (0, 0));
    }
}
