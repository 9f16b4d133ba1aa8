//! A reader behind its lock: the RTPS reader and the cache that it delivers to.
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use dcps::TypeSupport;
use dcps::reader::DataReader;
use dcps::status::StatusMask;
use rtps::familiar::Single;
use rtps::reader::Reader;
use rtps::receiver::{Context, ToReader};
use rtps::{Transmit, Value};
use wire::admission::Socket;
use wire::{Guid, Instant, Now};

use super::log::Limiter;
use super::router::Arrival;
use super::timers::Alarm;
use super::watch::Watch;
use crate::bytes::Bytes;
use crate::lock::lock;

/// The cache of a reader, whatever its type.
pub(crate) type Cache = DataReader<Box<dyn TypeSupport + Send>>;

/// What the lock of a reader protects.
pub(crate) struct ReaderState {
    pub(crate) rtps: Reader,
    pub(crate) cache: Cache,
    pub(crate) deleted: bool,
}

/// A reader behind its lock.
pub(crate) struct ReaderCell {
    pub(crate) guid: Guid,
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) watch: Arc<Watch>,
    /// Where its questions leave, if it has asked for a bound with losses; port 0 until then.
    pub(crate) questions: Mutex<Socket>,
    state: Mutex<ReaderState>,
    /// The application was told of its data since it was locked last.
    told: AtomicBool,
    /// Threads in wait_for_historical_data.
    history_waiters: AtomicUsize,
    /// Of lines about samples that did not arrive.
    pub(super) log: Limiter,
}

/// What a look at a reader has found.
pub(crate) struct Looked {
    /// A datagram is to be sent.
    pub(crate) sends: bool,
    /// An acknowledgement waits for a datagram to go with.
    pub(crate) holds: bool,
    /// When to look again.
    pub(crate) timeout: Instant,
    /// Statuses that have changed since the last look.
    pub(crate) news: StatusMask,
}

impl ReaderCell {
    pub(crate) fn new(rtps: Reader, cache: Cache, watch: Arc<Watch>) -> Self {
        Self {
            guid: cache.guid(),
            alarm: Alarm::new(),
            watch,
            questions: Mutex::default(),
            state: Mutex::new(ReaderState { rtps, cache, deleted: false }),
            told: AtomicBool::new(false),
            history_waiters: AtomicUsize::new(0),
            log: Limiter::default(),
        }
    }

    /// True if a thread waits for the history of writers, of which no status tells.
    pub(crate) fn is_history_awaited(&self) -> bool {
        self.history_waiters.load(Ordering::SeqCst) > 0
    }

    /// Runs `wait` while [`ReaderCell::is_history_awaited`].
    pub(crate) fn await_history<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.history_waiters.fetch_add(1, Ordering::SeqCst);
        let result = wait();
        self.history_waiters.fetch_sub(1, Ordering::SeqCst);
        result
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, ReaderState> {
        let mut state = lock(&self.state);
        if self.told.load(Ordering::Acquire) {
            // What was told before that counts as told; what comes from here on does not.
            self.told.store(false, Ordering::Relaxed);
            state.cache.settle_data_available();
        }
        state
    }

    /// The application is told of its data: DATA_AVAILABLE is not set for the next thread that locks it. A lock for that alone would be on the
    /// way of each sample.
    pub(crate) fn settle_data_available(&self) {
        self.told.store(true, Ordering::Release);
    }
}

impl ReaderState {
    /// Does what is due, and puts the next answer into `out`.
    pub(crate) fn look(&mut self, now: Now, out: &mut Transmit<Bytes>) -> Looked {
        let Self { rtps, cache, deleted } = self;
        if *deleted {
            return Looked { sends: false, holds: false, timeout: Instant::NEVER, news: StatusMask::NONE };
        }
        if cache.poll_timeout() <= now.monotonic {
            cache.on_timeout(now);
        }
        if cache.wants_resume() {
            rtps.resume(now, &mut cache.sink(now));
        }
        if rtps.next_expiry() <= now.monotonic {
            rtps.expire(now, &mut cache.sink(now));
        }
        let sends = rtps.poll_timeout() <= now.monotonic && rtps.poll_transmit(now, out);
        let timeout = rtps.poll_timeout().min(rtps.next_expiry()).min(cache.poll_timeout());
        Looked { sends, holds: rtps.holds(), timeout, news: cache.take_status_news() }
    }

    /// Both submessages of a datagram that is like the last one of its writer.
    #[inline]
    pub(crate) fn receive_single(&mut self, arrival: &Arrival<'_>, from: SocketAddr, single: &Single<'_>) {
        let Self { rtps, cache, .. } = self;
        let Arrival { now, waited, buffer } = *arrival;
        if cache.has_bounds() {
            cache.set_origin(from, waited);
        }
        let mut sink = cache.sink(now).in_buffer(buffer);
        rtps.on_single(now, single, &mut sink);
    }

    /// A submessage for this reader, whose payload may stand for a sample that is no bytes.
    pub(crate) fn receive(
        &mut self,
        arrival: &Arrival<'_>,
        context: &Context,
        submessage: &ToReader<'_>,
        value: Option<Arc<dyn Value>>,
    ) {
        let Self { rtps, cache, .. } = self;
        let Arrival { now, waited, buffer } = *arrival;
        if cache.has_bounds() {
            cache.set_origin(context.from, waited);
        }
        let mut sink = cache.sink(now).in_buffer(buffer);
        match (submessage, value) {
            (ToReader::Data(data), Some(value)) => {
                rtps.on_value(now, &context.source, data, value, &mut sink)
            }
            _ => rtps::route::to_reader(now, &context.source, rtps, submessage, &mut sink),
        }
    }
}
