//! The writer: numbers changes, keeps them until they are acknowledged or removed, sends and repeats them
//! (RTPS 2.5, 8.4.7 to 8.4.9).
//!
//! One machine serves best-effort and reliable readers. Readers that are *in step* share one datagram per slab;
//! a reader that came late or whose window is full falls behind and is served by datagrams of its own until it has caught up.
mod acknowledge;
mod assemble;
mod change;
mod filter;
mod fresh;
mod history;
mod over;
mod path_size;
mod reader_proxy;
mod send;
mod shaping;
mod single;

use alloc::vec::Vec;

use wire::{Duration, Guid, Instant, Now, SequenceNumber};

use crate::Payload;
use crate::conduct::Conduct;
use crate::pace::Pace;
use crate::path::Path;
pub use change::{Body, Change, InPlaceError, WriteError};
pub use filter::SampleFilter;
use history::{Entry, History};
pub use path_size::PathNews;
pub use reader_proxy::MatchedReader;
use reader_proxy::ReaderProxy;
use shaping::Shaper;
pub use shaping::TokenBucket;

/// How a writer behaves. Every value can be changed before the writer is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriterConfig {
    /// The writer's name.
    pub guid: Guid,
    /// True: what is lost is repeated to reliable readers.
    pub reliable: bool,
    /// True: changes stay until they are removed (TRANSIENT_LOCAL). False: they go once acknowledged.
    pub retain: bool,
    /// Most bytes of history (capacity of slabs and length of large samples); beyond it `write` says `Full`, and `TooLarge` of a sample that
    /// is larger. Default 1 MiB.
    pub byte_limit: usize,
    /// Most bytes under way to one reader, unacknowledged, each datagram counted with 768 bytes more for the receiver's
    /// kernel. A reader that announces its receive buffer gets half of that. Default 160 KiB.
    pub window: u32,
    /// Longest wait for more changes to share a datagram with; zero sends at once (LATENCY_BUDGET). Default zero.
    pub batch_delay: Duration,
    /// Largest datagram, in bytes of UDP payload, whatever the paths allow. Default 65,507.
    pub max_datagram: u32,
    /// DSCP, 0 to 63. Default 0.
    pub class: u8,
    /// First wait for an acknowledgement before it is asked for by a HEARTBEAT of its own; doubles each time. Fresh changes, whose
    /// HEARTBEATs ask as often as half of it, begin the wait anew. Default 20 ms.
    pub heartbeat_period: Duration,
    /// Longest such wait. Default 500 ms.
    pub max_heartbeat_period: Duration,
    /// Payloads above this many bytes are kept by handle and never copied. Default 16 KiB.
    pub copy_limit: usize,
    /// Most bytes of payload and inline QoS in a change whose writer has a contract; larger ones are refused, and datagrams of several
    /// small ones are no larger. Inline QoS counts in each fragment. Such a writer makes its datagrams as large as `max_datagram`
    /// whatever its readers' paths are; a reader whose path carries less is served alone. Default none.
    pub largest_message: Option<u32>,
    /// What everything passes that the writer sends; not for a writer that has a contract. Datagrams are no larger than its packets. Default none.
    pub token_bucket: Option<TokenBucket>,
}

impl WriterConfig {
    /// The defaults named at each field.
    pub const fn new(guid: Guid, reliable: bool) -> Self {
        Self {
            guid,
            reliable,
            retain: false,
            byte_limit: 1 << 20,
            window: 160 << 10,
            batch_delay: Duration::ZERO,
            max_datagram: Path::MAX_DATAGRAM,
            class: 0,
            heartbeat_period: Duration::from_millis(20),
            max_heartbeat_period: Duration::from_millis(500),
            copy_limit: 16 << 10,
            largest_message: None,
            token_bucket: None,
        }
    }
}

/// How often something notable happened; for explanations and tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriterCounters {
    /// Times that a reader acknowledged more than before.
    pub acknowledged: u64,
    /// Times that smaller datagrams were tried because large ones never arrive at a reader.
    pub narrowed: u64,
    /// Times that larger ones passed again.
    pub widened: u64,
    /// Changes sent again because a reader asked.
    pub repairs: u64,
    /// Fragments sent again because a reader asked.
    pub fragment_repairs: u64,
    /// GAPs sent.
    pub gaps: u64,
    /// Heartbeats that asked for an answer.
    pub asks: u64,
    /// Times that nothing could leave because every window was full.
    pub blocked: u64,
    /// Readers that fell out of step because their window was full while another's was not.
    pub lagging: u64,
    /// ACKNACKs and NACK_FRAGs ignored: unmatched, old, or acknowledging what was never sent.
    pub implausible: u64,
    /// Times that half-empty slabs were copied together.
    pub compactions: u64,
    /// Messages along a flow.
    pub messages: u64,
    /// Messages that had to wait for the separation of their contract.
    pub paced: u64,
    /// How long those have waited, in nanoseconds together.
    pub paced_nanos: u64,
    /// Datagrams that have taken tokens of the writer's bucket.
    pub shaped: u64,
}

/// Most bytes of slabs that are kept for later.
const IDLE_SLABS: usize = 4 << 20;

/// A writer without input or output. See the module.
#[derive(Debug)]
pub struct Writer<P> {
    config: WriterConfig,
    history: History<P>,
    /// Sorted by guid.
    readers: Vec<ReaderProxy>,
    last: SequenceNumber,
    /// The next change to send to the readers in step.
    fresh: SequenceNumber,
    /// Its next fragment, counted from 0.
    fresh_fragment: u32,
    /// Bytes sent since an answer was last asked for.
    unasked: u64,
    /// From then on the next fresh change asks for an answer, however little was sent.
    ask_at: Instant,
    /// When the open slab got its first change.
    open_since: Instant,
    flush: bool,
    /// Nothing fresh may leave until a reader acknowledges.
    blocked: bool,
    liveliness: bool,
    heartbeat_at: Instant,
    heartbeat_wait: Duration,
    /// First and longest wait for an acknowledgement.
    waits: (Duration, Duration),
    heartbeat_count: i32,
    /// Something may be ready to leave.
    ready: bool,
    /// A question was asked, and no reader has answered since.
    question_open: bool,
    /// Smallest datagram over all paths.
    datagram: u32,
    /// Largest datagram without a token bucket.
    largest_datagram: u32,
    /// Each path at most once.
    path_news: Vec<PathNews>,
    pace: Pace,
    shaper: Option<Shaper>,
    /// Some reader has a flow, or a filter that is evaluated here, or there is a token bucket: there is more to be decided than for others.
    has_flows: bool,
    counters: WriterCounters,
}

/// Bytes of UDP payload of the largest datagram with a token bucket.
fn limited(largest: u32, bucket: Option<TokenBucket>) -> u32 {
    bucket.map_or(largest, |bucket| largest.min(bucket.datagram()).max(Path::MIN_DATAGRAM))
}

impl<P: Payload> Writer<P> {
    /// A writer without readers and history.
    pub fn new(config: WriterConfig) -> Self {
        let largest_datagram = config.max_datagram.clamp(Path::MIN_DATAGRAM, Path::MAX_DATAGRAM);
        let datagram = limited(largest_datagram, config.token_bucket);
        let mut history =
            History::new(config.guid.prefix, config.guid.entity_id, (config.byte_limit / 4).min(IDLE_SLABS));
        history.set_datagram(datagram as usize);
        Self {
            history,
            config: WriterConfig { max_datagram: datagram, ..config },
            readers: Vec::new(),
            last: SequenceNumber::ZERO,
            fresh: SequenceNumber::FIRST,
            fresh_fragment: 0,
            unasked: 0,
            ask_at: Instant::START,
            open_since: Instant::START,
            flush: false,
            blocked: false,
            liveliness: false,
            heartbeat_at: Instant::NEVER,
            heartbeat_wait: config.heartbeat_period,
            waits: (config.heartbeat_period, config.max_heartbeat_period),
            heartbeat_count: 0,
            ready: false,
            question_open: false,
            datagram,
            largest_datagram,
            path_news: Vec::new(),
            pace: Pace::default(),
            shaper: config.token_bucket.map(Shaper::new),
            has_flows: config.token_bucket.is_some(),
            counters: WriterCounters::default(),
        }
    }

    /// The writer's name.
    pub const fn guid(&self) -> Guid {
        self.config.guid
    }

    /// How it behaves.
    pub const fn config(&self) -> &WriterConfig {
        &self.config
    }

    /// The number of the newest change, zero before the first.
    pub const fn last(&self) -> SequenceNumber {
        self.last
    }

    /// The oldest change that is held.
    pub fn first_held(&self) -> Option<SequenceNumber> {
        self.history.first()
    }

    /// Bytes of history; never above the byte limit.
    pub fn held_bytes(&self) -> usize {
        self.history.held_bytes()
    }

    /// What happened so far.
    pub const fn counters(&self) -> &WriterCounters {
        &self.counters
    }

    /// The matched readers.
    pub fn readers(&self) -> impl Iterator<Item = Guid> + '_ {
        self.readers.iter().map(|proxy| proxy.guid)
    }

    /// The first path to a matched reader; `None` if it is not matched or has none.
    pub fn path_to(&self, reader: Guid) -> Option<&Path> {
        self.readers.iter().find(|proxy| proxy.guid == reader)?.paths.first()
    }

    /// True if something that was written before has still to leave through the token bucket, and is not held up by readers that have
    /// to acknowledge first.
    pub fn waits_for_tokens(&self) -> bool {
        self.shaper.is_some() && self.fresh <= self.last && !self.blocked && !self.readers.is_empty()
    }

    /// True if a reader of the same process is matched.
    pub fn has_local_readers(&self) -> bool {
        self.readers.iter().any(ReaderProxy::is_local)
    }

    /// True once every reliable reader has acknowledged every change up to `number`.
    pub fn is_acknowledged(&self, number: SequenceNumber) -> bool {
        self.readers.iter().all(|proxy| !proxy.reliable || proxy.acked > number)
    }

    /// True if a reader is matched and has acknowledged every change up to `number`.
    pub(crate) fn is_acknowledged_by(&self, reader: Guid, number: SequenceNumber) -> bool {
        self.readers.iter().any(|proxy| proxy.guid == reader && proxy.acked > number)
    }

    /// From now on everything that is sent passes this token bucket, or none. The bucket is empty at first. A sample that is on its
    /// way in fragments may not reach best-effort readers. It is not for a writer that has a contract.
    pub fn set_token_bucket(&mut self, now: Now, bucket: Option<TokenBucket>) {
        if self.shaper.as_ref().map(Shaper::bucket) == bucket {
            return;
        }
        let before = self.shaper.take();
        self.shaper = bucket.map(|bucket| Shaper::taking_over(bucket, now.monotonic, before.as_ref()));
        let datagram = limited(self.largest_datagram, bucket);
        (self.config.token_bucket, self.config.max_datagram) = (bucket, datagram);
        // What waits was put together for other datagrams.
        self.history.close();
        self.readers.iter_mut().for_each(|proxy| proxy.limit(datagram));
        self.measure_paths();
        self.ready = true;
    }

    /// Matches a reader, or gives a matched one new paths.
    pub fn match_reader(&mut self, now: Now, reader: MatchedReader) {
        self.ready = true;
        let reliable = reader.reliable && self.config.reliable;
        match self.readers.binary_search_by_key(&reader.guid, |proxy| proxy.guid) {
            Ok(index) => {
                if let Some(proxy) = self.readers.get_mut(index) {
                    proxy.set_paths(reader.paths, reader.direct);
                    if self.shaper.is_some() {
                        proxy.narrow(self.config.max_datagram);
                    }
                }
            }
            Err(index) => {
                // Changes that wait to leave are for those that are matched now.
                self.history.close();
                let next = self.last.next();
                let start = match self.history.first() {
                    Some(first) if reader.wants_history => first,
                    _ => next,
                };
                // Never none: something has to be left for repairs.
                let window = reader.receive_buffer.map_or(self.config.window, |bytes| bytes / 2).max(1);
                let offset = self.history.offset_before(start);
                let reader = MatchedReader { reliable, ..reader };
                self.readers
                    .insert(index, ReaderProxy::new(reader, start, offset, self.last, u64::from(window)));
                if let (Some(_), Some(proxy)) = (&self.shaper, self.readers.get_mut(index)) {
                    proxy.narrow(self.config.max_datagram);
                }
                if reliable {
                    self.arm_heartbeat(now.monotonic);
                }
            }
        }
        self.blocked = false;
        self.measure_paths();
    }

    /// Forgets a reader; false if it was not matched.
    pub fn unmatch_reader(&mut self, _now: Now, reader: Guid) -> bool {
        let Ok(index) = self.readers.binary_search_by_key(&reader, |proxy| proxy.guid) else { return false };
        self.readers.remove(index);
        self.ready = true;
        self.blocked = false;
        self.measure_waits();
        self.measure_paths();
        self.trim();
        true
    }

    /// Writes a change.
    ///
    /// # Errors
    /// `Full` leaves the writer as it was.
    pub fn write(
        &mut self,
        now: Now,
        change: &Change<'_>,
        body: Body<'_, P>,
    ) -> Result<SequenceNumber, WriteError> {
        let len = body.size();
        if self.fits_slab(change, len) && !matches!(body, Body::Kept(_)) {
            let bytes = body.bytes();
            return self
                .write_in_place(now, change, len, |out| {
                    out.extend_from_slice(bytes);
                    Ok::<(), ()>(())
                })
                .map_err(|error| match error {
                    InPlaceError::Write(error) => error,
                    // Copying cannot fail and writes `len` bytes.
                    InPlaceError::Encode(()) | InPlaceError::Overrun { .. } => {
                        WriteError::TooLarge { len, limit: self.config.byte_limit }
                    }
                });
        }
        let limit = self.config.byte_limit.min(u32::MAX as usize);
        if len > limit {
            return Err(WriteError::TooLarge { len, limit });
        }
        self.check_contract(change.inline_qos, len)?;
        if self.keeps_nothing() {
            return Ok(self.pass());
        }
        self.make_room(len)?;
        let payload = match body {
            Body::Copy(bytes) => P::copied_from(bytes),
            Body::Shared(payload) | Body::Kept(payload) => payload,
        };
        let fragment_size = self.fragment_size(change.inline_qos, len);
        let number = self.last.next();
        self.history.append_large(number, &entry(change), payload, fragment_size);
        self.last = number;
        self.ready = true;
        Ok(number)
    }

    /// Writes a change whose payload of at most `max_len` bytes, encapsulation header included, is encoded straight
    /// into the history by `encode`, which appends to the buffer it is given and leaves its content as it is.
    ///
    /// # Errors
    /// Every error leaves the writer as it was. `TooLarge` if `max_len` is above the copy limit or a datagram: use `write`.
    pub fn write_in_place<E>(
        &mut self,
        now: Now,
        change: &Change<'_>,
        max_len: usize,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<SequenceNumber, InPlaceError<E>> {
        if !self.fits_slab(change, max_len) {
            let limit = self.config.copy_limit.min(self.datagram as usize);
            return Err(InPlaceError::Write(WriteError::TooLarge { len: max_len, limit }));
        }
        self.check_contract(change.inline_qos, max_len).map_err(InPlaceError::Write)?;
        if self.keeps_nothing() {
            return Ok(self.pass());
        }
        let entry = entry(change);
        // Changes that wait for others, or for the socket, share datagrams; a lone one takes the room that it needs.
        let shares = self.config.batch_delay > Duration::ZERO || self.fresh <= self.last;
        let target = if shares { (self.datagram as usize).min(self.config.byte_limit / 8) } else { 0 };
        if self.history.open_slab().is_some() && self.history.cost(&entry, max_len, target) > 0 {
            self.history.close();
        }
        let mut target = target;
        if self.make_room(self.history.cost(&entry, max_len, target)).is_err() {
            target = 0;
            self.make_room(self.history.cost(&entry, max_len, target)).map_err(InPlaceError::Write)?;
        }
        let number = self.last.next();
        let opens = self.history.open_slab().is_none();
        match self.history.append(number, &entry, max_len, target, encode) {
            Ok(true) => {}
            Ok(false) => return Err(InPlaceError::Overrun { max_len }),
            Err(error) => return Err(InPlaceError::Encode(error)),
        }
        if opens {
            self.open_since = now.monotonic;
        }
        self.last = number;
        // One that joins others that wait changes nothing about when they leave.
        self.ready |= opens || self.flush || now.monotonic >= self.open_since.after(self.config.batch_delay);
        Ok(number)
    }

    /// Forgets a change; readers that miss it are told by GAP. False if it was not held.
    pub fn remove(&mut self, number: SequenceNumber) -> bool {
        let removed = self.history.remove(number);
        self.ready |= removed;
        removed
    }

    /// Changes the DSCP, 0 to 63, of what leaves from now on.
    pub const fn set_class(&mut self, class: u8) {
        self.config.class = class;
    }

    /// Changes how long a change waits for others; what waits already may be due by that.
    pub const fn set_batch_delay(&mut self, delay: Duration) {
        self.config.batch_delay = delay;
        self.ready = true;
    }

    /// Changes the largest message of a writer that has a contract, for what is written from now on.
    pub fn set_largest_message(&mut self, bytes: u32) {
        self.config.largest_message = Some(bytes);
        self.measure_paths();
    }

    /// A message along a flow begins so long after the one before has left, at least. Zero, the default, paces nothing.
    pub fn set_separation(&mut self, separation: Duration) {
        self.pace.separation = separation;
        self.ready = true;
    }

    /// Sets how repairs for a matched reader are conducted that gets its samples along a flow; `None`, the default, leaves them to the times of
    /// the configuration. False if the reader is not matched.
    pub fn set_conduct(&mut self, reader: Guid, conduct: Option<Conduct>) -> bool {
        let Ok(index) = self.readers.binary_search_by_key(&reader, |proxy| proxy.guid) else { return false };
        if let Some(proxy) = self.readers.get_mut(index) {
            if proxy.conduct == conduct {
                return true;
            }
            proxy.set_conduct(conduct);
        }
        self.ready = true;
        self.measure_waits();
        true
    }

    /// Sends what waits for more changes to share a datagram with.
    pub fn flush(&mut self) {
        self.flush = true;
        self.ready = true;
    }

    /// Asks every reader that has not acknowledged all to do so now, and sends what waits for more changes.
    pub fn ask(&mut self, now: Now) {
        self.flush();
        self.ask_at = Instant::START;
        if self.readers.iter().any(ReaderProxy::is_waited_for) {
            self.heartbeat_at = now.monotonic;
        }
    }

    /// The next poll sends a HEARTBEAT with the liveliness flag (MANUAL_BY_TOPIC).
    pub fn assert_liveliness(&mut self) {
        self.liveliness = true;
        self.ready = true;
    }

    /// With no reader and nothing to retain, a change only takes a number.
    fn keeps_nothing(&self) -> bool {
        self.readers.is_empty() && !self.config.retain
    }

    fn pass(&mut self) -> SequenceNumber {
        self.last = self.last.next();
        self.fresh = self.last.next();
        self.last
    }

    fn fits_slab(&self, change: &Change<'_>, len: usize) -> bool {
        len <= self.config.copy_limit
            && len.saturating_add(assemble::overhead(change.inline_qos)) <= self.datagram as usize
    }

    /// Bytes of a fragment of a sample of `len` bytes, or 0 if one datagram holds it.
    fn fragment_size(&self, inline_qos: Option<&[u8]>, len: usize) -> u32 {
        if len.saturating_add(assemble::overhead(inline_qos)) <= self.datagram as usize {
            return 0;
        }
        assemble::fragment_size(self.datagram, inline_qos)
    }

    fn check_contract(&self, inline_qos: Option<&[u8]>, len: usize) -> Result<(), WriteError> {
        let Some(limit) = self.config.largest_message.map(|bytes| bytes as usize) else { return Ok(()) };
        let around = inline_qos.map_or(0, <[u8]>::len);
        let fragments = match self.fragment_size(inline_qos, len) {
            0 => 1,
            size => len.div_ceil(size as usize),
        };
        let len = len.saturating_add(around.saturating_mul(fragments));
        if len > limit { Err(WriteError::AboveContract { len, limit }) } else { Ok(()) }
    }

    #[inline(never)]
    fn make_room(&mut self, needed: usize) -> Result<(), WriteError> {
        let limit = self.config.byte_limit;
        if self.history.held_bytes().saturating_add(needed) > limit {
            self.counters.compactions += 1;
            self.history.compact(self.fresh);
        }
        let held = self.history.held_bytes();
        if held.saturating_add(needed) > limit {
            return Err(WriteError::Full { held, needed, limit });
        }
        Ok(())
    }

    fn measure_waits(&mut self) {
        let conducts = self.readers.iter().filter_map(|proxy| proxy.conduct);
        let shortest = conducts.map(|conduct| conduct.heartbeat).min();
        let own = (self.config.heartbeat_period, self.config.max_heartbeat_period);
        self.waits = shortest.map_or(own, |wait| (wait, wait));
        self.heartbeat_wait = self.waits.0;
    }

    fn measure_paths(&mut self) {
        self.has_flows =
            self.measure_filters() | self.readers.iter().any(|proxy| proxy.is_flow) | self.shaper.is_some();
        if let Some(largest) = self.config.largest_message {
            self.datagram = self.config.max_datagram;
            let several = assemble::slab_around().saturating_add(largest as usize);
            return self.history.set_datagram(several.min(self.datagram as usize));
        }
        let smallest = self.readers.iter().map(ReaderProxy::max_datagram).min();
        self.datagram =
            smallest.unwrap_or(self.config.max_datagram).clamp(Path::MIN_DATAGRAM, self.config.max_datagram);
        self.history.set_datagram(self.datagram as usize);
    }

    /// Forgets changes that no reader can ask for any more.
    fn trim(&mut self) {
        if self.config.retain {
            return;
        }
        let needed =
            self.readers.iter().map(|proxy| if proxy.reliable { proxy.acked } else { proxy.sent }).min();
        let before = needed.map_or(self.last.next(), |number| number.min(self.fresh));
        if needed.is_none() {
            (self.fresh, self.fresh_fragment) = (before, 0);
        }
        self.history.remove_before(before);
    }

    fn arm_heartbeat(&mut self, now: Instant) {
        if self.heartbeat_at == Instant::NEVER {
            self.heartbeat_at = now.after(self.heartbeat_wait);
        }
    }
}

fn entry<'a>(change: &Change<'a>) -> Entry<'a> {
    Entry { kind: change.kind, inline_qos: change.inline_qos, timestamp: change.source_timestamp }
}
