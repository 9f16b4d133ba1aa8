//! Fragments of one sample, put together with memory in proportion to the bytes received (RTPS 2.5, 8.4.14).
//!
//! Fragments are appended in the order in which they come; what came in order is already the sample. Only a sample
//! whose fragments came out of order is copied once more at the end. Sorting pieces in takes time in proportion to their number,
//! which is bounded: beyond that they are joined, and the last of those that do not touch have to come again.
use alloc::vec::Vec;

use wire::message::DataFrag;
use wire::parameter::InlineQos;
use wire::{FragmentNumber, FragmentNumberSet, Instant, SequenceNumber, Timestamp};

/// A sample may be in one piece for so many of its bytes, within the two limits below.
const PIECE: usize = 1_024;
const LEAST_PIECES: usize = 1_024;
const MOST_PIECES: usize = 65_536;

/// A sample of which some fragments are here.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) number: SequenceNumber,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) inline_qos: InlineQos,
    pub(super) is_key: bool,
    pub(super) touched: Instant,
    fragment_size: u32,
    sample_size: u32,
    bytes: Vec<u8>,
    /// Sorted by first fragment, not overlapping, joined where both numbers and bytes follow each other.
    runs: Vec<Run>,
    /// Fragments that are here.
    count: u32,
}

/// Fragments `first..first + count`, counted from 0, whose bytes stand together at `offset`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    first: u32,
    count: u32,
    offset: usize,
}

impl Run {
    fn end(&self) -> u32 {
        self.first.saturating_add(self.count)
    }
}

impl Assembly {
    /// Begins with the facts that the first fragment states; `buffer` is used for the bytes.
    pub(super) fn new(
        fragment: &DataFrag<'_>,
        timestamp: Option<Timestamp>,
        inline_qos: InlineQos,
        mut buffer: Vec<u8>,
        mut runs: Vec<Run>,
    ) -> Self {
        buffer.clear();
        runs.clear();
        Self {
            number: fragment.sequence_number,
            timestamp,
            inline_qos,
            is_key: fragment.is_key,
            touched: Instant::START,
            fragment_size: u32::from(fragment.fragment_size).max(1),
            sample_size: fragment.sample_size,
            bytes: buffer,
            runs,
            count: 0,
        }
    }

    /// True if the fragment states the same sizes as the first one did.
    pub(super) fn agrees(&self, fragment: &DataFrag<'_>) -> bool {
        self.fragment_size == u32::from(fragment.fragment_size) && self.sample_size == fragment.sample_size
    }

    /// Bytes held: at most those of the sample. The places of pieces are not counted: 16 KiB, or a sixty-fourth of the sample, at most.
    pub(super) fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes that `more` bytes would add to those held, at least.
    pub(super) fn growth(&self, more: usize) -> usize {
        self.needed(more).saturating_sub(self.bytes.capacity())
    }

    /// Bytes that are here once `more` have come: each is kept once.
    fn needed(&self, more: usize) -> usize {
        self.bytes.len().saturating_add(more).min(self.sample_size as usize)
    }

    /// Adds fragments and says whether there were new ones; what is here already is skipped. The buffer doubles, but not beyond the sample, nor by more than `room`
    /// bytes unless it has to.
    pub(super) fn add(&mut self, fragment: &DataFrag<'_>, now: Instant, room: usize) -> bool {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        let needed = self.needed(fragment.bytes.len());
        if needed > capacity {
            let doubled = capacity.saturating_mul(2).min(capacity.saturating_add(room));
            let target = doubled.min(self.sample_size as usize).max(needed);
            self.bytes.reserve_exact(target.saturating_sub(len));
        }
        if self.runs.len() >= self.most_pieces() {
            self.join();
        }
        let before = self.count;
        let mut index = fragment.first_fragment.0.saturating_sub(1);
        for bytes in fragment.bytes.chunks(self.fragment_size as usize) {
            if index < self.fragments() && bytes.len() == self.len_of(index) {
                self.insert(index, bytes);
                self.touched = now;
            }
            index = index.saturating_add(1);
        }
        self.count > before
    }

    /// True if every fragment is here.
    pub(super) fn is_complete(&self) -> bool {
        self.count == self.fragments()
    }

    /// The sample in one piece, and what can be used again: `spare` is used if the sample has to be copied, and the buffer
    /// that is not needed comes back.
    pub(super) fn finish(self, mut spare: Vec<u8>) -> (Vec<u8>, Vec<u8>, Vec<Run>) {
        if let [all] = self.runs.as_slice()
            && all.offset == 0
        {
            return (self.bytes, spare, self.runs);
        }
        spare.clear();
        spare.reserve_exact(self.sample_size as usize);
        self.runs.iter().for_each(|run| spare.extend_from_slice(self.bytes_of(run)));
        (spare, self.bytes, self.runs)
    }

    /// Puts the bytes in order, so that fragments that follow each other are one piece, and forgets the last pieces if there still are
    /// too many.
    fn join(&mut self) {
        let most = self.most_pieces() / 2;
        let (mut bytes, mut joined) = (Vec::with_capacity(self.bytes.len()), Vec::<Run>::new());
        for run in &self.runs {
            let (offset, pieces) = (bytes.len(), joined.len());
            match joined.last_mut() {
                Some(last) if last.end() == run.first => last.count += run.count,
                _ if pieces >= most => break,
                _ => joined.push(Run { offset, ..*run }),
            }
            bytes.extend_from_slice(self.bytes_of(run));
        }
        self.count = joined.iter().map(|run| run.count).sum();
        self.bytes = bytes;
        self.runs = joined;
    }

    fn most_pieces(&self) -> usize {
        (self.sample_size as usize / PIECE).clamp(LEAST_PIECES, MOST_PIECES)
    }

    fn bytes_of(&self, run: &Run) -> &[u8] {
        let place = |index: u32| u64::from(index).saturating_mul(u64::from(self.fragment_size));
        let end = place(run.end()).min(u64::from(self.sample_size));
        let len = end.saturating_sub(place(run.first)) as usize;
        self.bytes.get(run.offset..run.offset.saturating_add(len)).unwrap_or_default()
    }

    /// Takes the buffers back without the sample.
    pub(super) fn into_buffers(self) -> (Vec<u8>, Vec<Run>) {
        (self.bytes, self.runs)
    }

    /// The first missing fragments among the first `last`, as many as a set holds; an empty set behind them if all are here.
    pub(super) fn missing(&self, last: u32) -> FragmentNumberSet {
        let last = last.min(self.fragments());
        let mut wanted = 0;
        let mut set: Option<FragmentNumberSet> = None;
        let ends = self.runs.iter().map(|run| (run.first, run.end())).chain([(last, u32::MAX)]);
        for (start, end) in ends {
            for index in wanted..start.min(last) {
                let number = FragmentNumber(index.saturating_add(1));
                let set = set.get_or_insert_with(|| FragmentNumberSet::empty(number));
                if !set.insert(number) {
                    return *set;
                }
            }
            wanted = end;
        }
        set.unwrap_or_else(|| FragmentNumberSet::empty(FragmentNumber(last.saturating_add(1))))
    }

    fn fragments(&self) -> u32 {
        self.sample_size.div_ceil(self.fragment_size)
    }

    fn len_of(&self, index: u32) -> usize {
        let start = u64::from(index) * u64::from(self.fragment_size);
        u64::from(self.sample_size).saturating_sub(start).min(u64::from(self.fragment_size)) as usize
    }

    fn insert(&mut self, index: u32, bytes: &[u8]) {
        let after = self.runs.partition_point(|run| run.first <= index);
        let offset = self.bytes.len();
        if let Some(before) = after.checked_sub(1).and_then(|before| self.runs.get_mut(before)) {
            if index < before.end() {
                return;
            }
            let len = before.count as usize * self.fragment_size as usize;
            if before.end() == index && before.offset + len == offset {
                before.count += 1;
                self.count += 1;
                self.bytes.extend_from_slice(bytes);
                return;
            }
        }
        self.bytes.extend_from_slice(bytes);
        self.count += 1;
        self.runs.insert(after, Run { first: index, count: 1, offset });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::EntityId;

    const SAMPLE: &[u8] = b"0123456789abcdefghijk";

    fn fragment(index: u32, bytes: &'static [u8]) -> DataFrag<'static> {
        DataFrag {
            reader_id: EntityId::UNKNOWN,
            writer_id: EntityId::UNKNOWN,
            sequence_number: SequenceNumber(7),
            first_fragment: FragmentNumber(index + 1),
            fragment_count: 1,
            fragment_size: 4,
            sample_size: 21,
            inline_qos: None,
            is_key: false,
            bytes,
        }
    }

    fn assemble(order: &[u32]) -> Assembly {
        let mut assembly =
            Assembly::new(&fragment(0, b""), None, InlineQos::default(), Vec::new(), Vec::new());
        for index in order {
            let start = *index as usize * 4;
            assembly.add(&fragment(*index, &SAMPLE[start..(start + 4).min(21)]), Instant::START, 64);
        }
        assembly
    }

    #[test]
    fn any_order_gives_the_sample() {
        for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3]] {
            let assembly = assemble(&order);
            assert!(assembly.is_complete());
            assert!(assembly.missing(u32::MAX).bitmap().is_empty());
            assert_eq!(assembly.finish(Vec::new()).0, SAMPLE);
        }
    }

    #[test]
    fn a_sample_in_more_pieces_than_are_kept_arrives_nevertheless() {
        let sample: Vec<u8> = (0..20_000_u32).map(|index| (index % 251) as u8).collect();
        let bytes: &'static [u8] = sample.clone().leak();
        let of = |index: u32| DataFrag {
            fragment_size: 1,
            sample_size: 20_000,
            ..fragment(index, bytes.get(index as usize..=index as usize).unwrap())
        };
        let mut assembly = Assembly::new(&of(0), None, InlineQos::default(), Vec::new(), Vec::new());
        (0..20_000).rev().step_by(2).for_each(|index| {
            assembly.add(&of(index), Instant::START, 1 << 20);
        });
        assert!(assembly.runs.len() <= LEAST_PIECES && assembly.held() <= 20_000);
        let mut rounds = 0;
        while !assembly.is_complete() {
            rounds += 1;
            assert!(rounds < 200, "no end");
            let missing: Vec<_> = assembly.missing(u32::MAX).iter().collect();
            missing.iter().rev().for_each(|number| {
                assembly.add(&of(number.0 - 1), Instant::START, 1 << 20);
            });
        }
        assert_eq!(assembly.finish(Vec::new()).0, sample);
    }

    #[test]
    fn repeated_fragments_count_once_and_missing_ones_are_named() {
        let assembly = assemble(&[0, 0, 3, 3]);
        assert!(!assembly.is_complete());
        let missing = |last| assembly.missing(last).iter().map(|number| number.0).collect::<Vec<_>>();
        assert_eq!(missing(u32::MAX), [2, 3, 5, 6]);
        assert_eq!(missing(4), [2, 3]);
        assert_eq!(missing(1), [0; 0]);
        assert_eq!(assembly.missing(1).base(), FragmentNumber(2));
        assert_eq!(assembly.bytes.len(), 8);
    }

    #[test]
    fn wrong_lengths_and_numbers_are_not_taken() {
        let mut assembly = assemble(&[]);
        assembly.add(&fragment(0, b"abc"), Instant::START, 64);
        assembly.add(&fragment(9, b"abcd"), Instant::START, 64);
        assembly.add(&fragment(5, b"ab"), Instant::START, 64);
        assert!(assembly.runs.is_empty() && assembly.bytes.is_empty());
    }
}
