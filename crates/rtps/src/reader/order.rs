//! The order of one writer's changes: the next expected number, what waits for it, and what will never come.
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::size_of;

use wire::parameter::InlineQos;
use wire::{Guid, SequenceNumber, Timestamp};

use super::{Sample, SamplePayload};

/// Numbers ahead of the next expected one that can be kept; what is further ahead is asked for later.
pub(super) const REACH: u64 = 8_192;
/// GAPs ahead that are remembered, the nearest ones. What does not fit is asked for again, and the writer repeats the GAP.
const GAPS: usize = 256;

/// A sample that waits, apart from its writer and its number.
#[derive(Debug, Default)]
pub(super) struct Held {
    timestamp: Option<Timestamp>,
    inline_qos: InlineQos,
    is_key: bool,
    payload: SamplePayload<'static>,
}

/// Bytes that are kept about a sample that waits, apart from its payload.
pub(super) const HELD: usize = size_of::<(SequenceNumber, Held)>();

impl Held {
    /// A sample with a payload that can be kept.
    pub(super) fn new(sample: &Sample<'_>, payload: SamplePayload<'static>) -> Self {
        let Sample { source_timestamp, inline_qos, is_key, .. } = *sample;
        Self { timestamp: source_timestamp, inline_qos, is_key, payload }
    }

    pub(super) fn into_sample(self, writer: Guid, sequence_number: SequenceNumber) -> Sample<'static> {
        let Self { timestamp, inline_qos, is_key, payload } = self;
        Sample { writer, sequence_number, source_timestamp: timestamp, inline_qos, is_key, payload }
    }

    pub(super) fn into_payload(self) -> SamplePayload<'static> {
        self.payload
    }

    /// Bytes that it takes while it waits.
    pub(super) fn cost(&self) -> usize {
        Self::cost_of(&self.payload)
    }

    /// Bytes that a sample with this payload takes while it waits.
    pub(super) fn cost_of(payload: &SamplePayload<'_>) -> usize {
        HELD + match payload {
            SamplePayload::Owned(buffer) => buffer.capacity(),
            SamplePayload::Value(value) => value.size(),
            SamplePayload::Datagram(bytes) => bytes.len(),
            SamplePayload::None => 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct Order {
    /// Everything below was delivered or will never come.
    next: SequenceNumber,
    /// Sorted by number, all `next` or more.
    waiting: VecDeque<(SequenceNumber, Held)>,
    /// Ranges that will never come: sorted, apart from each other, all ending after `next`.
    gaps: Vec<(SequenceNumber, SequenceNumber)>,
}

impl Order {
    pub(super) const fn new(next: SequenceNumber) -> Self {
        Self { next, waiting: VecDeque::new(), gaps: Vec::new() }
    }

    pub(super) const fn next(&self) -> SequenceNumber {
        self.next
    }

    /// The newest number that waits, or the one before `next`.
    pub(super) fn newest(&self) -> SequenceNumber {
        self.waiting.back().map_or(self.next.prev(), |(number, _)| *number)
    }

    /// True if this number was delivered, waits, or will never come.
    #[inline]
    pub(super) fn knows(&self, number: SequenceNumber) -> bool {
        number < self.next || (!self.is_plain() && self.knows_ahead(number))
    }

    fn knows_ahead(&self, number: SequenceNumber) -> bool {
        self.find(number).is_ok() || self.gap_at(number).is_some()
    }

    /// True if this number is ahead, does not wait, and was said never to come.
    pub(super) fn is_gap(&self, number: SequenceNumber) -> bool {
        number >= self.next && self.find(number).is_err() && self.gap_at(number).is_some()
    }

    /// Expects a number again that was passed over; what was passed over behind it stays so.
    pub(super) fn step_back(&mut self, number: SequenceNumber) {
        let end = core::mem::replace(&mut self.next, number);
        self.skip(number.next(), end);
    }

    /// Nothing is known of what is ahead.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.waiting.is_empty() && self.gaps.is_empty()
    }

    /// True if it is the turn of this number, and nothing is known of what is ahead.
    #[inline]
    pub(super) fn is_next(&self, number: SequenceNumber) -> bool {
        self.next == number && self.is_plain()
    }

    /// `number` was delivered without waiting.
    pub(super) fn delivered(&mut self, number: SequenceNumber) {
        self.next = number.next();
    }

    /// Keeps a change until it is its turn.
    pub(super) fn insert(&mut self, number: SequenceNumber, held: Held) {
        if let Err(index) = self.find(number) {
            self.waiting.insert(index, (number, held));
        }
    }

    /// Takes the change whose turn it is, if it is here.
    #[inline]
    pub(super) fn take_next(&mut self) -> Option<(SequenceNumber, Held)> {
        if self.is_plain() { None } else { self.take_ahead() }
    }

    fn take_ahead(&mut self) -> Option<(SequenceNumber, Held)> {
        while let Some((start, end)) = self.gaps.first().copied()
            && start <= self.next
        {
            let first = self.waiting.front().map_or(end, |(number, _)| *number);
            self.next = self.next.max(end.min(first));
            if self.next < end {
                // It came before the writer gave it up.
                break;
            }
            self.gaps.remove(0);
        }
        let taken = self.waiting.pop_front_if(|(number, _)| *number <= self.next)?;
        self.next = taken.0.next();
        Some(taken)
    }

    /// Puts back what `take_next` gave.
    pub(super) fn put_back(&mut self, number: SequenceNumber, held: Held) {
        self.next = number;
        self.waiting.push_front((number, held));
    }

    /// The end of the run of missing numbers that begins at `next`, at most `limit`.
    pub(super) fn missing_until(&self, limit: SequenceNumber) -> SequenceNumber {
        let waiting = self.waiting.front().map_or(limit, |(number, _)| *number);
        let gap = self.gaps.first().map_or(limit, |(start, _)| *start);
        limit.min(waiting).min(gap).max(self.next)
    }

    /// Gives up every number below `number`.
    pub(super) fn give_up_before(&mut self, number: SequenceNumber) {
        self.next = self.next.max(number);
    }

    /// The numbers in `next..end` that neither wait nor will never come.
    pub(super) fn missing(&self, end: SequenceNumber) -> impl Iterator<Item = SequenceNumber> + '_ {
        let mut waiting = self.waiting.iter().map(|(number, _)| *number).peekable();
        let mut gaps = self.gaps.iter().copied().peekable();
        let mut number = self.next;
        core::iter::from_fn(move || {
            while number < end && number.distance_from(self.next) < REACH {
                let current = number;
                number = number.next();
                if waiting.next_if(|held| *held <= current).is_some() {
                    continue;
                }
                if let Some((start, until)) = gaps.peek().copied()
                    && start <= current
                {
                    number = until.max(number);
                    gaps.next();
                    while waiting.next_if(|held| *held < number).is_some() {}
                    if current < until {
                        continue;
                    }
                }
                return Some(current);
            }
            None
        })
    }

    /// Numbers that will never come. What has come already is kept.
    pub(super) fn skip(&mut self, start: SequenceNumber, end: SequenceNumber) {
        let start = start.max(self.next);
        if start >= end {
            return;
        }
        let from = self.gaps.partition_point(|(_, until)| *until < start);
        let to = self.gaps.partition_point(|(begin, _)| *begin <= end);
        let touching = self.gaps.get(from..to).unwrap_or_default();
        let merged = match (touching.first(), touching.last()) {
            (Some((begin, _)), Some((_, until))) => (start.min(*begin), end.max(*until)),
            _ if self.gaps.len() >= GAPS && from == self.gaps.len() => return,
            _ => {
                self.gaps.truncate(GAPS - 1);
                (start, end)
            }
        };
        self.gaps.drain(from..to.max(from));
        self.gaps.insert(from, merged);
    }

    /// Takes out the change that is furthest ahead; the one whose turn it is only if `all` says so.
    pub(super) fn evict(&mut self, all: bool) -> Option<(SequenceNumber, Held)> {
        let next = self.next;
        self.waiting.pop_back_if(|(number, _)| all || *number > next)
    }

    /// Takes out everything and goes on at `next`.
    pub(super) fn restart(&mut self, next: SequenceNumber) -> impl Iterator<Item = Held> + '_ {
        self.next = next;
        self.gaps.clear();
        self.waiting.drain(..).map(|(_, held)| held)
    }

    fn find(&self, number: SequenceNumber) -> Result<usize, usize> {
        // Mostly changes come in order, behind all that wait.
        match self.waiting.back() {
            Some((last, _)) if *last < number => Err(self.waiting.len()),
            _ => self.waiting.binary_search_by_key(&number, |(number, _)| *number),
        }
    }

    fn gap_at(&self, number: SequenceNumber) -> Option<SequenceNumber> {
        let after = self.gaps.partition_point(|(start, _)| *start <= number);
        let (_, end) = self.gaps.get(after.checked_sub(1)?)?;
        (number < *end).then_some(*end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(waiting: &[i64], gaps: &[(i64, i64)]) -> Order {
        let mut order = Order::new(SequenceNumber(10));
        for (start, end) in gaps {
            order.skip(SequenceNumber(*start), SequenceNumber(*end));
        }
        for number in waiting {
            order.insert(SequenceNumber(*number), Held::default());
        }
        order
    }

    fn missing(order: &Order, end: i64) -> Vec<i64> {
        order.missing(SequenceNumber(end)).map(|number| number.0).collect()
    }

    #[test]
    fn what_neither_waits_nor_is_a_gap_is_missing() {
        assert_eq!(missing(&order(&[12, 14, 17], &[(15, 17)]), 19), [10, 11, 13, 18]);
        assert_eq!(missing(&order(&[12, 16], &[(11, 18)]), 20), [10, 18, 19]);
        assert_eq!(missing(&order(&[], &[]), 10), [0; 0]);
        assert_eq!(missing(&order(&[20], &[(1, 1 << 62)]), 30), [0; 0]);
        assert_eq!(missing(&order(&[], &[]), i64::MAX).len(), REACH as usize);
    }

    #[test]
    fn gaps_are_joined_and_taken_in_turn() {
        let mut order = order(&[13, 20], &[(16, 18), (14, 16), (18, 20), (10, 12), (30, 31)]);
        assert_eq!(order.gaps.len(), 3);
        assert!(order.take_next().is_none());
        assert_eq!(order.next(), SequenceNumber(12));
        order.delivered(SequenceNumber(12));
        assert_eq!(order.take_next().unwrap().0, SequenceNumber(13));
        assert_eq!(order.take_next().unwrap().0, SequenceNumber(20));
        assert!(order.take_next().is_none());
        assert!(order.knows(SequenceNumber(30)) && !order.knows(SequenceNumber(21)));
    }

    #[test]
    fn what_came_inside_a_gap_is_kept_and_the_rest_is_not_missing() {
        let mut order = order(&[13, 15], &[(10, 20)]);
        assert_eq!(order.take_next().unwrap().0, SequenceNumber(13));
        assert_eq!(missing(&order, 22), [20, 21]);
        assert_eq!(order.take_next().unwrap().0, SequenceNumber(15));
        assert!(order.take_next().is_none());
        assert_eq!(order.next(), SequenceNumber(20));
    }

    #[test]
    fn memory_for_gaps_is_bounded() {
        let gaps: Vec<_> = (0..10_000).map(|index| (20 + 2 * index, 21 + 2 * index)).collect();
        assert_eq!(order(&[], &gaps).gaps.len(), GAPS);
    }

    #[test]
    fn the_change_in_turn_is_evicted_last() {
        let mut order = order(&[10, 12, 14], &[]);
        assert_eq!(order.evict(false).unwrap().0, SequenceNumber(14));
        assert_eq!(order.evict(false).unwrap().0, SequenceNumber(12));
        assert!(order.evict(false).is_none());
        assert_eq!(order.evict(true).unwrap().0, SequenceNumber(10));
    }
}
