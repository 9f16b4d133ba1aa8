//! Waiting for conditions. If all are of one participant, the waiting thread does the receiving itself: the datagram that makes
//! a condition true wakes nobody else.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Instant;

use dcps::{Error, ReturnCode};
use wire::Duration;
use wire::cdr::DdsType;

use super::{GuardCondition, QueryCondition, ReadCondition, StatusCondition};
use crate::entity::StatusSource;
use crate::host::Host;
use crate::lock::lock;
use crate::node::watch::{Waiter, Watch};

/// A condition of any kind.
#[derive(Clone)]
pub enum Condition {
    /// A status of an entity has changed.
    Status(StatusCondition),
    /// A reader has samples in some states.
    Read(ReadCondition),
    /// A reader has samples in some states that a query is true of.
    Query(Query),
    /// The application says so.
    Guard(GuardCondition),
}

/// A query condition, whatever its type.
#[derive(Clone)]
pub struct Query {
    read: ReadCondition,
    trigger: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Condition {
    /// True if it holds now.
    pub fn get_trigger_value(&self) -> bool {
        match self {
            Self::Status(condition) => condition.get_trigger_value(),
            Self::Read(condition) => condition.get_trigger_value(),
            Self::Query(condition) => (condition.trigger)(),
            Self::Guard(condition) => condition.get_trigger_value(),
        }
    }

    fn watch(&self) -> &Watch {
        match self {
            Self::Status(condition) => condition.entity.watch(),
            Self::Read(condition) | Self::Query(Query { read: condition, .. }) => {
                &condition.reader.entity().watch
            }
            Self::Guard(condition) => &condition.state.watch,
        }
    }

    /// The host whose datagrams can make it true; `None` for one that only the application sets.
    fn host(&self) -> Option<Arc<dyn Host>> {
        match self {
            Self::Status(condition) => condition.entity.host(),
            Self::Read(condition) | Self::Query(Query { read: condition, .. }) => {
                condition.reader.entity().host()
            }
            Self::Guard(_) => None,
        }
    }
}

impl From<StatusCondition> for Condition {
    fn from(condition: StatusCondition) -> Self {
        Self::Status(condition)
    }
}

impl From<ReadCondition> for Condition {
    fn from(condition: ReadCondition) -> Self {
        Self::Read(condition)
    }
}

impl From<GuardCondition> for Condition {
    fn from(condition: GuardCondition) -> Self {
        Self::Guard(condition)
    }
}

impl<T: DdsType + 'static> From<QueryCondition<T>> for Condition {
    fn from(condition: QueryCondition<T>) -> Self {
        let read = condition.read.clone();
        Self::Query(Query { read, trigger: Arc::new(move || condition.get_trigger_value()) })
    }
}

/// Waits until one of its conditions holds. Clones are the same WaitSet; one thread may wait at a time.
#[derive(Clone)]
pub struct WaitSet {
    inner: Arc<Inner>,
}

struct Inner {
    conditions: Mutex<Vec<Condition>>,
    waiting: Mutex<bool>,
    signal: Arc<Signal>,
}

/// What wakes the waiting thread.
#[derive(Default)]
struct Signal {
    /// Grows whenever a condition may have become true.
    generation: AtomicU64,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    condvar: Condvar,
    /// The host that the waiting thread receives for.
    led: Mutex<Option<Arc<dyn Host>>>,
}

impl Waiter for Signal {
    fn wake(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // Whoever is about to sleep holds the lock until it does.
            drop(lock(&self.lock));
            self.condvar.notify_all();
        }
        let led = lock(&self.led).clone();
        if let Some(host) = led
            && !host.is_inside()
        {
            host.interrupt();
        }
    }
}

impl WaitSet {
    /// One without conditions.
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                conditions: Mutex::default(),
                waiting: Mutex::default(),
                signal: Arc::default(),
            }),
        }
    }

    /// Attaches a condition. A thread that waits already takes it into account.
    ///
    /// # Errors
    /// None today.
    pub fn attach_condition(&self, condition: Condition) -> Result<(), Error> {
        condition.watch().attach(self.waiter());
        lock(&self.inner.conditions).push(condition);
        self.inner.signal.wake();
        Ok(())
    }

    /// Takes away a condition: of those that are the same as this one, the first.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it is not attached.
    pub fn detach_condition(&self, condition: &Condition) -> Result<(), Error> {
        let mut conditions = lock(&self.inner.conditions);
        let Some(index) = conditions.iter().position(|known| is_same(known, condition)) else {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "detach_condition",
                "the condition is not attached",
                "detach only what was attached to this WaitSet",
            ));
        };
        let condition = conditions.swap_remove(index);
        drop(conditions);
        condition.watch().detach(&self.waiter());
        Ok(())
    }

    /// The conditions that are attached.
    pub fn get_conditions(&self) -> Vec<Condition> {
        lock(&self.inner.conditions).clone()
    }

    /// Waits until a condition holds, and gives all that hold.
    ///
    /// # Errors
    /// `Timeout`; `PreconditionNotMet` if another thread waits.
    pub fn wait(&self, timeout: Duration) -> Result<Vec<Condition>, Error> {
        let mut active = Vec::new();
        self.wait_into(&mut active, timeout)?;
        Ok(active)
    }

    /// As [`WaitSet::wait`], but puts the conditions that hold into `active`, whose memory is used again.
    ///
    /// # Errors
    /// As [`WaitSet::wait`].
    pub fn wait_into(&self, active: &mut Vec<Condition>, timeout: Duration) -> Result<(), Error> {
        if std::mem::replace(&mut *lock(&self.inner.waiting), true) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "wait",
                "another thread waits on this WaitSet",
                "use a WaitSet for each thread",
            ));
        }
        let found = self.wait_until_true(timeout, || {
            active.clear();
            let conditions = lock(&self.inner.conditions);
            active.extend(conditions.iter().filter(|condition| condition.get_trigger_value()).cloned());
            !active.is_empty()
        });
        *lock(&self.inner.waiting) = false;
        if found {
            return Ok(());
        }
        Err(Error::new(
            ReturnCode::Timeout,
            "wait",
            "no condition became true in time",
            "wait longer, or see with `punctual why` what does not arrive",
        ))
    }

    /// Waits until `is_true`, which is asked whenever a condition may have changed; false if it did not come in time.
    pub(crate) fn wait_until_true(&self, timeout: Duration, mut is_true: impl FnMut() -> bool) -> bool {
        let signal = &self.inner.signal;
        let start = Instant::now();
        let limit = std::time::Duration::from_nanos(u64::try_from(timeout.as_nanos()).unwrap_or(0));
        loop {
            let generation = signal.generation.load(Ordering::SeqCst);
            if is_true() {
                return true;
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                return false;
            }
            let changed = || signal.generation.load(Ordering::SeqCst) != generation;
            if !self.receive(left, &changed) {
                signal.sleep(left, changed);
            }
        }
    }

    /// Receives for the one participant that all conditions are of, until something has changed.
    fn receive(&self, left: std::time::Duration, changed: &dyn Fn() -> bool) -> bool {
        let signal = &self.inner.signal;
        let Some(host) = self.host() else { return false };
        *lock(&signal.led) = Some(Arc::clone(&host));
        let nanos = i64::try_from(left.as_nanos()).unwrap_or(i64::MAX);
        let until = host.now().monotonic.after(Duration::from_nanos(nanos));
        let led = changed() || host.receive(until, changed);
        *lock(&signal.led) = None;
        led
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        let conditions = lock(&self.inner.conditions);
        let mut hosts = conditions.iter().filter_map(Condition::host);
        let first = hosts.next()?;
        hosts.all(|host| Arc::ptr_eq(&host, &first)).then_some(first)
    }

    fn waiter(&self) -> Weak<dyn Waiter> {
        let signal: Weak<Signal> = Arc::downgrade(&self.inner.signal);
        signal
    }
}

impl Default for WaitSet {
    fn default() -> Self {
        Self::new()
    }
}

impl Signal {
    fn sleep(&self, left: std::time::Duration, changed: impl Fn() -> bool) {
        let guard = lock(&self.lock);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let slept = self.condvar.wait_timeout_while(guard, left, |()| !changed());
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        drop(slept.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let waiter: Weak<dyn Waiter> = Arc::downgrade(&self.signal) as Weak<Signal>;
        for condition in lock(&self.conditions).iter() {
            condition.watch().detach(&waiter);
        }
    }
}

fn is_same(one: &Condition, other: &Condition) -> bool {
    let same_kind = std::mem::discriminant(one) == std::mem::discriminant(other);
    let same_states = match (one, other) {
        (Condition::Read(one), Condition::Read(other)) => one.states() == other.states(),
        (Condition::Query(one), Condition::Query(other)) => Arc::ptr_eq(&one.trigger, &other.trigger),
        (Condition::Status(one), Condition::Status(other)) => {
            one.get_enabled_statuses() == other.get_enabled_statuses()
        }
        _ => true,
    };
    same_kind && same_states && std::ptr::eq(one.watch(), other.watch())
}
