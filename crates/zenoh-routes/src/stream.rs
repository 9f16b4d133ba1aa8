//! What comes from one bridge under one key, in the order in which it was sent, each message once.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::cache::Message;

/// Asks for nothing but the number of the last message.
pub const HEAD: u64 = u64::MAX;
/// Asks for what durable writers have kept.
pub const KEPT: u64 = 0;
/// Most messages of one stream that wait for one that is missing.
const MOST_HELD: usize = 4_096;
/// Most bytes of them.
const MOST_BYTES: usize = 16 << 20;

/// What the end of an answer says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The answer has all that there is up to this number.
    pub covered: u64,
    /// The number of the last message that had been sent.
    pub sent: u64,
}

/// Messages of one bridge under one key.
#[derive(Debug)]
pub struct Stream {
    /// What is missing is asked for.
    reliable: bool,
    /// What was sent before is asked for at the begin.
    durable: bool,
    /// The number that comes next; `None` until it is known where the stream begins.
    next: Option<u64>,
    held: BTreeMap<u64, Message>,
    bytes: usize,
    /// How many bytes more there is room for, among all streams.
    room: usize,
    /// An answer is awaited, to a question from this number on.
    asked: Option<u64>,
    /// Is asked once more after the answer: something may be missing that it does not have.
    again: bool,
    /// Messages that will never come.
    skipped: u64,
}

impl Stream {
    /// A stream of which nothing is known yet.
    pub const fn new(reliable: bool, durable: bool) -> Self {
        Self {
            reliable,
            durable,
            next: None,
            held: BTreeMap::new(),
            bytes: 0,
            room: usize::MAX,
            asked: None,
            again: false,
            skipped: 0,
        }
    }

    /// Whether what is missing is asked for from now on.
    pub const fn set_reliable(&mut self, reliable: bool) {
        self.reliable = reliable;
    }

    /// How many bytes more it may hold; what is beyond is not held, and asked for again.
    pub const fn set_room(&mut self, room: usize) {
        self.room = room;
    }

    /// Bytes that it holds.
    pub const fn held_bytes(&self) -> usize {
        self.bytes
    }

    /// How many messages will never come: their bridge had let them go when they were asked for, some of them because a newer one of the same
    /// instance had come.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// True while an answer is awaited.
    pub const fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// It begins, or its bridge is there again: from which number on is asked, [`KEPT`] for what is kept for late readers, [`HEAD`] for the last number alone; `None` if nothing is to be
    /// asked.
    pub fn ask(&mut self) -> Option<u64> {
        let from = match self.next {
            Some(next) if self.reliable => next,
            Some(_) => return None,
            None if self.durable => KEPT,
            None => HEAD,
        };
        if self.asked.is_some() {
            // The answer that is awaited may have been made before what is missing was sent.
            self.again = true;
            return None;
        }
        self.asked = Some(from);
        self.asked
    }

    /// A message has come. Those whose turn it is go to `out`. Gives the number from which on something is missing, and is to be asked for.
    pub fn receive(&mut self, message: Message, out: &mut Vec<Message>) -> Option<u64> {
        let number = message.attachment.number;
        let Some(next) = self.next else {
            if self.durable {
                // Older ones come first.
                self.hold(message);
            } else {
                self.next = Some(number.saturating_add(1));
                out.push(message);
            }
            return None;
        };
        if number < next {
            return None;
        }
        // While what is kept is told, what is newer waits for its turn.
        if number == next || !self.reliable && self.asked.is_none_or(|from| from == HEAD) {
            self.next = Some(number.saturating_add(1));
            out.push(message);
            self.flush(out);
            return None;
        }
        self.hold(message);
        if self.asked.is_some() { None } else { self.ask() }
    }

    /// One message of the answer that is awaited. They come in order and without gaps, so what is between them nothing has any more.
    pub fn answer(&mut self, message: Message, out: &mut Vec<Message>) {
        let number = message.attachment.number;
        if self.next.is_some_and(|next| number < next) {
            return;
        }
        // What came by the other way has its turn first; this one may be among it.
        self.skip_to(number.saturating_sub(1), out);
        if self.next.is_some_and(|next| number < next) {
            return;
        }
        self.next = Some(number.saturating_add(1));
        out.push(message);
        self.flush(out);
    }

    /// The end of an answer has come; `None` if it did not. Gives the number from which on is to be asked again.
    pub fn answered(&mut self, head: Option<Head>, out: &mut Vec<Message>) -> Option<u64> {
        let from = self.asked.take()?;
        let Some(Head { covered, sent }) = head else {
            if !self.reliable && self.next.is_some() {
                self.give_up(out);
            }
            return None;
        };
        match self.next {
            // It was only asked where the stream is, and what was sent before that may be missing.
            Some(next) if from == HEAD => self.again |= sent >= next,
            _ => self.skip_to(covered, out),
        }
        if (from..sent).contains(&covered) && from != HEAD {
            // The answer was cut: the rest is asked for.
            self.asked = self.next;
            return self.asked;
        }
        if !self.reliable {
            self.give_up(out);
            self.again = false;
            return None;
        }
        if self.held.is_empty() && !self.again {
            return None;
        }
        self.again = false;
        self.ask()
    }

    /// There will be no answer: goes on with what there is.
    pub fn give_up(&mut self, out: &mut Vec<Message>) {
        self.asked = None;
        if let Some(last) = self.held.last_key_value().map(|(number, _)| *number) {
            self.skip_to(last, out);
        }
    }

    fn skip_to(&mut self, last: u64, out: &mut Vec<Message>) {
        while let Some((number, message)) = self.held.first_key_value().map(|(n, m)| (*n, m.cost())) {
            if number > last {
                break;
            }
            let Some(held) = self.held.remove(&number) else { break };
            self.bytes = self.bytes.saturating_sub(message);
            self.count_missing(number);
            self.next = Some(number.saturating_add(1));
            out.push(held);
        }
        self.count_missing(last.saturating_add(1));
        self.next = self.next.max(Some(last.saturating_add(1)));
        self.flush(out);
    }

    fn count_missing(&mut self, until: u64) {
        if let Some(next) = self.next {
            self.skipped = self.skipped.saturating_add(until.saturating_sub(next));
        }
    }

    fn flush(&mut self, out: &mut Vec<Message>) {
        while let Some(next) = self.next
            && let Some(message) = self.held.remove(&next)
        {
            self.bytes = self.bytes.saturating_sub(message.cost());
            self.next = Some(next.saturating_add(1));
            out.push(message);
        }
    }

    fn hold(&mut self, message: Message) {
        let cost = message.cost();
        if self.held.len() >= MOST_HELD || cost > self.room || self.bytes.saturating_add(cost) > MOST_BYTES {
            self.again = true;
            return;
        }
        let number = message.attachment.number;
        self.bytes = self.bytes.saturating_add(cost);
        if let Some(before) = self.held.insert(number, message) {
            self.bytes = self.bytes.saturating_sub(before.cost());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::{Attachment, Kind};
    use crate::key::BridgeId;
    use alloc::sync::Arc;
    use wire::{Guid, SequenceNumber, Timestamp};

    fn message(number: u64) -> Message {
        let attachment = Attachment {
            kind: Kind::Sample,
            bridge: BridgeId([1; 16]),
            number,
            writer: Guid::from_bytes([1; 16]),
            sequence: SequenceNumber(1),
            source: Timestamp::from_nanos(0),
            hash: None,
            related: None,
        };
        Message { attachment, payload: Arc::from([0; 4]) }
    }

    /// The numbers that are delivered, and what is asked for.
    fn receive(stream: &mut Stream, numbers: &[u64]) -> (Vec<u64>, Option<u64>) {
        let (mut out, mut asked) = (Vec::new(), None);
        for number in numbers {
            asked = stream.receive(message(*number), &mut out).or(asked);
        }
        (out.iter().map(|message| message.attachment.number).collect(), asked)
    }

    /// The same for an answer with messages of these numbers, which is all that there is.
    fn answered(stream: &mut Stream, numbers: &[u64], last: Option<u64>) -> (Vec<u64>, Option<u64>) {
        cut(stream, numbers, last.map(|last| Head { covered: last, sent: last }))
    }

    fn cut(stream: &mut Stream, numbers: &[u64], head: Option<Head>) -> (Vec<u64>, Option<u64>) {
        let mut out = Vec::new();
        for number in numbers {
            stream.answer(message(*number), &mut out);
        }
        let asked = stream.answered(head, &mut out);
        (out.iter().map(|message| message.attachment.number).collect(), asked)
    }

    #[test]
    fn a_late_reader_gets_what_is_kept_before_what_is_new() {
        let mut stream = Stream::new(true, true);
        assert_eq!(stream.ask(), Some(KEPT));
        assert_eq!(stream.ask(), None, "one question at a time");
        assert_eq!(receive(&mut stream, &[9]), (Vec::new(), None));
        assert_eq!(stream.ask(), None, "asks once more after this");
        assert_eq!(answered(&mut stream, &[2, 5], Some(8)), (Vec::from([2, 5, 9]), Some(10)));
        assert_eq!(answered(&mut stream, &[], Some(9)), (Vec::new(), None));
        assert_eq!(receive(&mut stream, &[5, 9, 10]), (Vec::from([10]), None));
    }

    #[test]
    fn what_is_missing_is_asked_for_and_what_nothing_has_is_passed_over() {
        let mut stream = Stream::new(true, false);
        assert_eq!(stream.ask(), Some(HEAD));
        assert_eq!(answered(&mut stream, &[], Some(4)), (Vec::new(), None));
        assert_eq!(receive(&mut stream, &[4, 5, 8, 9]), (Vec::from([5]), Some(6)));
        assert_eq!(answered(&mut stream, &[7, 8, 9], Some(9)), (Vec::from([7, 8, 9]), None));
        assert_eq!(stream.skipped(), 1);
        // Cut off, and there again: the last messages may be missing without a trace.
        assert_eq!(stream.ask(), Some(10));
        assert_eq!(receive(&mut stream, &[10, 11]), (Vec::from([10, 11]), None));
        assert_eq!(answered(&mut stream, &[10, 11], Some(11)), (Vec::new(), None));
        assert_eq!(stream.ask(), Some(12));
        assert_eq!(answered(&mut stream, &[], None), (Vec::new(), None));
        assert!(!stream.is_asking());
    }

    #[test]
    fn best_effort_passes_over_at_once() {
        let mut stream = Stream::new(false, false);
        assert_eq!(receive(&mut stream, &[3, 7, 5, 8]), (Vec::from([3, 7, 8]), None));
        assert_eq!(stream.ask(), None);
    }

    #[test]
    fn too_much_is_not_held_and_asked_for_again() {
        let mut stream = Stream::new(true, false);
        receive(&mut stream, &[1]);
        let end = u64::try_from(MOST_HELD).unwrap() + 10;
        let many: Vec<u64> = (3..=end).collect();
        assert_eq!(receive(&mut stream, &many), (Vec::new(), Some(2)));
        // Nothing has 2; the answer was made when 4 was the last.
        let (out, again) = answered(&mut stream, &[3, 4], Some(4));
        assert_eq!((out.len(), again), (MOST_HELD, Some(end - 7)));
        let rest: Vec<u64> = (end - 7..=end).collect();
        assert_eq!(answered(&mut stream, &rest, Some(end)), (rest, None));
        assert_eq!(stream.skipped(), 1);
    }

    #[test]
    fn an_answer_needs_no_room_and_one_that_is_cut_or_breaks_off_goes_on_where_it_ended() {
        let mut stream = Stream::new(true, true);
        stream.set_room(0);
        assert_eq!(stream.ask(), Some(KEPT));
        assert_eq!(receive(&mut stream, &[9]), (Vec::new(), None));
        let head = Head { covered: 4, sent: 9 };
        assert_eq!(cut(&mut stream, &[2, 4], Some(head)), (Vec::from([2, 4]), Some(5)));
        // It breaks off.
        assert_eq!(answered(&mut stream, &[5], None), (Vec::from([5]), None));
        assert_eq!(stream.ask(), Some(6));
        assert_eq!(answered(&mut stream, &[8, 9], Some(9)), (Vec::from([8, 9]), Some(10)));
        assert_eq!(answered(&mut stream, &[], Some(9)), (Vec::new(), None));
    }
}
