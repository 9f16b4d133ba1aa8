//! The reader: puts the changes of each matched writer in order, without gaps and duplicates if both are reliable,
//! and asks for what is missing (RTPS 2.5, 8.4.10 to 8.4.12).
//!
//! Samples are handed to a [`Sink`] while the message is read. A sample that comes in order is handed on where it lies;
//! only one that has to wait is copied. What waits, and fragments, count towards one byte limit.
mod answer;
mod hold;
mod matched;
mod order;
mod reassembly;
mod single;
mod sink;
mod writer_proxy;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wire::message::{Data, DataFrag, Gap, Heartbeat, HeartbeatFrag};
use wire::parameter::InlineQos;
use wire::{Duration, Guid, GuidPrefix, Instant, Now, SequenceNumber, Timestamp, VendorId};

use crate::Value;
use crate::path::Path;
use crate::spare::fitting;
use matched::Gone;
use reassembly::Run;
pub use sink::{Accept, Sample, SamplePayload, Sink, Unusable};
use writer_proxy::WriterProxy;

/// How a reader behaves. Every value can be changed before the reader is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReaderConfig {
    /// The reader's name.
    pub guid: Guid,
    /// True: it acknowledges and asks for what is missing, if the writer is reliable too.
    pub reliable: bool,
    /// Most bytes of samples that wait for earlier ones and of incomplete samples, of all writers together. Default 32 MiB.
    pub byte_limit: usize,
    /// Most bytes of a sample; what is larger, or more than `byte_limit` can hold, is passed over and told to the sink. Default 2^32 - 1.
    pub max_sample_size: u32,
    /// Wait before asking for what a final HEARTBEAT shows to be missing; it may only be late. Default 500 us.
    pub nack_delay: Duration,
    /// Wait before asking again for the same. Default 20 ms.
    pub nack_period: Duration,
    /// True: an acknowledgement that asks for nothing and is due together with a sample waits until a datagram takes it along
    /// ([`Reader::carry`]) or, at the latest, until [`Reader::release`], which no timeout replaces. Default false.
    pub holds: bool,
}

impl ReaderConfig {
    /// The defaults named at each field.
    pub const fn new(guid: Guid, reliable: bool) -> Self {
        Self {
            guid,
            reliable,
            byte_limit: 32 << 20,
            max_sample_size: u32::MAX,
            nack_delay: Duration::from_micros(500),
            nack_period: Duration::from_millis(20),
            holds: false,
        }
    }

    /// Bytes of the largest sample that is taken: one that waits, with what is kept about it, is within the byte limit.
    pub const fn largest_sample(&self) -> usize {
        let (most, held) = (self.max_sample_size as usize, self.byte_limit.saturating_sub(order::HELD));
        if most < held { most } else { held }
    }
}

/// A writer that a reader is matched with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchedWriter {
    /// The writer's name.
    pub guid: Guid,
    /// It repeats what is lost.
    pub reliable: bool,
    /// Where it can be reached; the first is used.
    pub paths: Vec<Path>,
}

/// What a message says about where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The timestamp in force.
    pub timestamp: Option<Timestamp>,
    /// Who made the implementation.
    pub vendor: VendorId,
}

/// How often something notable happened; for explanations and tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReaderCounters {
    /// Samples that came again.
    pub duplicates: u64,
    /// Samples that had to wait for earlier ones.
    pub held_back: u64,
    /// Samples or fragments dropped because the byte limit or the reach of the window left no room.
    pub no_room: u64,
    /// Samples that were larger than the reader can ever hold.
    pub too_large: u64,
    /// Samples that the sink refused.
    pub full: u64,
    /// Samples of best-effort writers that came after a later one.
    pub late: u64,
    /// Samples that will never come.
    pub lost: u64,
    /// ACKNACKs sent.
    pub acknacks: u64,
    /// Those of them that went along with other datagrams.
    pub carried: u64,
    /// NACK_FRAGs sent.
    pub nack_frags: u64,
    /// Samples put together from fragments.
    pub assembled: u64,
    /// Incomplete samples that had to make room.
    pub evicted: u64,
    /// Messages of writers that are not matched.
    pub unmatched: u64,
    /// HEARTBEATs and GAPs that were old or not believed.
    pub implausible: u64,
    /// Inline QoS that could not be read.
    pub bad_inline_qos: u64,
    /// Samples that a HEARTBEAT said to be gone for good.
    pub jumps: u64,
}

/// A reader without input or output. See the module.
#[derive(Debug)]
pub struct Reader {
    config: ReaderConfig,
    /// Sorted by guid.
    writers: Vec<WriterProxy>,
    gone: Gone,
    store: Store,
}

/// What the proxies of a reader share: the byte limit and spare buffers.
#[derive(Debug)]
struct Store {
    config: ReaderConfig,
    held_bytes: usize,
    /// In the order in which they came back.
    spare: VecDeque<Vec<u8>>,
    spare_bytes: usize,
    spare_runs: Vec<Vec<Run>>,
    counters: ReaderCounters,
    /// The count of the last ACKNACK to any writer: it goes on when a writer is matched again, which would not believe a lower one.
    count: i32,
}

impl Store {
    /// Most spare buffers that are kept, and most bytes of each.
    const SPARE: usize = 4_096;
    const SPARE_LEN: usize = 4 << 20;
    const SPARE_BYTES: usize = 8 << 20;

    /// Most bytes of all spare buffers together.
    fn spare_limit(&self) -> usize {
        (self.config.byte_limit / 4).min(Self::SPARE_BYTES)
    }

    /// A buffer for `len` bytes. What is held counts with its capacity, so a spare one that is far too large is not used.
    fn buffer(&mut self, len: usize) -> Vec<u8> {
        let index = fitting(self.spare.iter().map(Vec::capacity), len);
        let Some(buffer) = index.and_then(|index| self.spare.swap_remove_back(index)) else {
            return Vec::new();
        };
        if !self.has_room(buffer.capacity()) {
            self.spare.push_back(buffer);
            return Vec::new();
        }
        self.spare_bytes = self.spare_bytes.saturating_sub(buffer.capacity());
        buffer
    }

    /// Keeps a buffer for later; those that came back longest ago make room for it.
    fn recycle(&mut self, mut buffer: Vec<u8>) {
        let len = buffer.capacity();
        if !(1..=Self::SPARE_LEN.min(self.spare_limit())).contains(&len) {
            return;
        }
        buffer.clear();
        self.spare.push_back(buffer);
        self.spare_bytes += len;
        while self.spare.len() > Self::SPARE || self.spare_bytes > self.spare_limit() {
            let Some(oldest) = self.spare.pop_front() else { return };
            self.spare_bytes = self.spare_bytes.saturating_sub(oldest.capacity());
        }
    }

    fn runs(&mut self) -> Vec<Run> {
        self.spare_runs.pop().unwrap_or_default()
    }

    fn recycle_assembly(&mut self, buffer: Vec<u8>, runs: Vec<Run>) {
        self.recycle(buffer);
        if self.spare_runs.len() < 16 && runs.capacity() <= 4_096 {
            self.spare_runs.push(runs);
        }
    }

    #[inline]
    fn has_room(&self, more: usize) -> bool {
        self.held_bytes.saturating_add(more) <= self.config.byte_limit
    }
}

impl Reader {
    /// A reader without writers.
    pub fn new(config: ReaderConfig) -> Self {
        let store = Store {
            config,
            held_bytes: 0,
            spare: VecDeque::new(),
            spare_bytes: 0,
            spare_runs: Vec::new(),
            counters: ReaderCounters::default(),
            count: 0,
        };
        Self { config, writers: Vec::new(), gone: Gone::default(), store }
    }

    /// The reader's name.
    pub const fn guid(&self) -> Guid {
        self.config.guid
    }

    /// How it behaves.
    pub const fn config(&self) -> &ReaderConfig {
        &self.config
    }

    /// Bytes of samples that wait and of incomplete ones; never above the byte limit.
    pub const fn held_bytes(&self) -> usize {
        self.store.held_bytes
    }

    /// What happened so far.
    pub const fn counters(&self) -> &ReaderCounters {
        &self.store.counters
    }

    /// The matched writers.
    pub fn writers(&self) -> impl Iterator<Item = Guid> + '_ {
        self.writers.iter().map(|proxy| proxy.guid)
    }

    /// The first path to a matched writer, which answers take; `None` if it is not matched or has none.
    pub fn path_to(&self, writer: Guid) -> Option<&Path> {
        self.writers.iter().find(|proxy| proxy.guid == writer)?.path.as_ref()
    }

    /// True if the writer is matched.
    pub fn is_matched(&self, writer: Guid) -> bool {
        self.position(writer).is_ok()
    }

    /// The next number expected from a matched writer: everything below was delivered or will never come.
    pub fn next_expected(&self, writer: Guid) -> Option<SequenceNumber> {
        Some(self.writers.get(self.position(writer).ok()?)?.next())
    }

    /// True once a matched writer has said what it holds, and all of that was delivered or will never come; what it writes later
    /// does not count. A best-effort writer does not say it: then it is true at once.
    pub fn has_history(&self, writer: Guid) -> bool {
        self.position(writer)
            .ok()
            .and_then(|index| self.writers.get(index))
            .is_some_and(WriterProxy::has_history)
    }

    /// A sample, or the key of a disposed or unregistered instance.
    pub fn on_data(&mut self, now: Now, source: &Source, data: &Data<'_>, sink: &mut impl Sink) {
        let payload = match data.payload {
            None => SamplePayload::None,
            Some(payload) => SamplePayload::Datagram(payload.bytes),
        };
        self.on_sample(now, source, data, payload, sink);
    }

    /// A sample of the same process, for which the payload of `data` only stands.
    pub fn on_value(
        &mut self,
        now: Now,
        source: &Source,
        data: &Data<'_>,
        value: Arc<dyn Value>,
        sink: &mut impl Sink,
    ) {
        self.on_sample(now, source, data, SamplePayload::Value(value), sink);
    }

    fn on_sample(
        &mut self,
        now: Now,
        source: &Source,
        data: &Data<'_>,
        payload: SamplePayload<'_>,
        sink: &mut impl Sink,
    ) {
        let Ok(index) = self.position(Guid::new(source.prefix, data.writer_id)) else {
            self.store.counters.unmatched += 1;
            return;
        };
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let mut sample = Sample {
            writer: proxy.guid,
            sequence_number: data.sequence_number,
            source_timestamp: source.timestamp,
            inline_qos: InlineQos::default(),
            is_key: data.payload.is_some_and(|payload| payload.is_key),
            payload,
        };
        if let Some(list) = &data.inline_qos {
            match InlineQos::read(list) {
                Ok(read) => sample.inline_qos = read,
                Err(_) => {
                    return proxy.refuse(data.sequence_number, Unusable::InlineQos, &mut self.store, sink);
                }
            }
        }
        let (size, limit) = (sample.payload.size(), self.config.largest_sample());
        if size > limit {
            let why = Unusable::TooLarge { size, limit };
            return proxy.refuse(data.sequence_number, why, &mut self.store, sink);
        }
        let before = proxy.next();
        proxy.receive(now.monotonic, &mut sample, &mut self.store, sink);
        if proxy.next() > before {
            proxy.delivered_at = Some(now.monotonic);
        }
        self.make_room(index, now.monotonic);
    }

    /// Fragments of a sample.
    pub fn on_data_frag(&mut self, now: Now, source: &Source, fragment: &DataFrag<'_>, sink: &mut impl Sink) {
        let Ok(index) = self.position(Guid::new(source.prefix, fragment.writer_id)) else {
            self.store.counters.unmatched += 1;
            return;
        };
        let (size, limit) = (fragment.sample_size as usize, self.config.largest_sample());
        let inline_qos = match fragment.inline_qos.as_ref().map(InlineQos::read).transpose() {
            _ if size > limit => Err(Unusable::TooLarge { size, limit }),
            Ok(read) => Ok(read.unwrap_or_default()),
            Err(_) => Err(Unusable::InlineQos),
        };
        let inline_qos = match inline_qos {
            Ok(inline_qos) => inline_qos,
            Err(why) => {
                let Some(proxy) = self.writers.get_mut(index) else { return };
                return proxy.refuse(fragment.sequence_number, why, &mut self.store, sink);
            }
        };
        self.reserve(index, fragment.bytes.len(), now.monotonic);
        let Some(proxy) = self.writers.get_mut(index) else { return };
        proxy.receive_fragment(now.monotonic, source.timestamp, inline_qos, fragment, &mut self.store, sink);
        self.make_room(index, now.monotonic);
    }

    /// What the writer holds, and whether it wants an answer.
    pub fn on_heartbeat(&mut self, now: Now, source: &Source, heartbeat: &Heartbeat, sink: &mut impl Sink) {
        let Ok(index) = self.position(Guid::new(source.prefix, heartbeat.writer_id)) else {
            self.store.counters.unmatched += 1;
            return;
        };
        if let Some(proxy) = self.writers.get_mut(index) {
            let is_ours = source.vendor == VendorId::PUNCTUAL;
            proxy.on_heartbeat(now.monotonic, heartbeat, is_ours, &mut self.store, sink);
        }
    }

    /// How far the writer has got with the fragments of a sample.
    pub fn on_heartbeat_frag(
        &mut self,
        now: Now,
        source: &Source,
        heartbeat: &HeartbeatFrag,
        sink: &mut impl Sink,
    ) {
        let Ok(index) = self.position(Guid::new(source.prefix, heartbeat.writer_id)) else {
            self.store.counters.unmatched += 1;
            return;
        };
        if let Some(proxy) = self.writers.get_mut(index) {
            let always = source.vendor == VendorId::PUNCTUAL;
            proxy.on_heartbeat_frag(now.monotonic, heartbeat, always, &mut self.store, sink);
        }
    }

    /// Numbers that will never come.
    pub fn on_gap(&mut self, now: Now, source: &Source, gap: &Gap, sink: &mut impl Sink) {
        let Ok(index) = self.position(Guid::new(source.prefix, gap.writer_id)) else {
            self.store.counters.unmatched += 1;
            return;
        };
        if let Some(proxy) = self.writers.get_mut(index) {
            proxy.on_gap(now.monotonic, gap, &mut self.store, sink);
        }
    }

    /// Offers again what the sink had refused, when it has room.
    pub fn resume(&mut self, now: Now, sink: &mut impl Sink) {
        for proxy in &mut self.writers {
            proxy.resume(now.monotonic, &mut self.store, sink);
        }
    }

    /// Takes a buffer back that came with a sample.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.store.recycle(buffer);
    }

    /// When `poll_transmit` has to be called again at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.writers.iter().map(WriterProxy::due).min().unwrap_or(Instant::NEVER)
    }

    /// When [`Reader::expire`] has to be called at the latest.
    pub fn next_expiry(&self) -> Instant {
        self.writers.iter().map(WriterProxy::expires).min().unwrap_or(Instant::NEVER)
    }

    /// Gives up incomplete samples of best-effort writers of which nothing has come for a second: they are lost.
    pub fn expire(&mut self, now: Now, sink: &mut impl Sink) {
        for proxy in self.writers.iter_mut().filter(|proxy| proxy.expires() <= now.monotonic) {
            proxy.expire(now.monotonic, &mut self.store, sink);
        }
    }

    #[inline]
    fn position(&self, writer: Guid) -> Result<usize, usize> {
        match self.writers.as_slice() {
            [only] if only.guid == writer => Ok(0),
            writers => writers.binary_search_by_key(&writer, |proxy| proxy.guid),
        }
    }

    /// Makes room for `more` bytes of the writer at `index`: what the writers behind it hold ahead of their turn goes
    /// first, then what the writer itself holds further ahead. Writers before it keep theirs, so that one of them always gets on.
    fn reserve(&mut self, index: usize, more: usize, now: Instant) {
        let mut victim = self.writers.len();
        while !self.store.has_room(more) && victim > 0 {
            victim -= 1;
            let Some(proxy) = self.writers.get_mut(victim) else { return };
            while !self.store.has_room(more)
                && proxy.evict(victim > index, victim < index, now, &mut self.store)
            {}
        }
    }

    /// Keeps the byte limit after buffers have grown.
    #[inline]
    fn make_room(&mut self, index: usize, now: Instant) {
        if !self.store.has_room(0) {
            self.throw_out(index, now);
        }
    }

    fn throw_out(&mut self, index: usize, now: Instant) {
        self.reserve(index, 0, now);
        if !self.store.has_room(0)
            && let Some(proxy) = self.writers.get_mut(index)
        {
            while !self.store.has_room(0) && proxy.evict(true, false, now, &mut self.store) {}
        }
    }
}
