//! Waiting for conditions. If all are of one participant, the waiting thread does the receiving itself: the datagram that makes
//! a condition true wakes no other thread.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dcps::{Error, ReturnCode};
use wire::{Duration, Instant};

use super::signal::Signal;
use super::{GuardCondition, QueryCondition, ReadCondition, StatusCondition};
use crate::entity::{StatusSource, of_parent_process};
use crate::host::Host;
use crate::lock::lock;
use crate::node::watch::{Waiter, Watch};
use crate::subscription::SampleType;

/// A condition of any kind.
#[derive(Clone, Debug)]
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
    identity: usize,
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

    fn watch(&self) -> &Arc<Watch> {
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

impl<T: SampleType + 'static> From<QueryCondition<T>> for Condition {
    fn from(condition: QueryCondition<T>) -> Self {
        let read = condition.read.clone();
        Self::Query(Query {
            read,
            identity: condition.identity(),
            trigger: Arc::new(move || condition.get_trigger_value()),
        })
    }
}

/// Waits until one of its conditions holds. Clones are the same WaitSet; one thread may wait at a time.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(one: &DataReader<Reading>, other: &DataReader<Reading>) -> Result<(), dds::Error> {
/// use dds::{Condition, States, WaitSet};
///
/// let arrived: Condition = one.create_readcondition(States::NOT_READ).into();
/// let matched: Condition = other.get_statuscondition().into();
/// let waits = WaitSet::new();
/// waits.attach_condition(arrived.clone())?;
/// waits.attach_condition(matched)?;
/// if waits.wait(Duration::from_secs(1))?.contains(&arrived) {
///     one.samples().for_each(|reading| println!("{reading:?}"));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WaitSet {
    inner: Arc<Inner>,
}

struct Inner {
    conditions: Mutex<Vec<Condition>>,
    waiting: AtomicBool,
    signal: Arc<Signal>,
}

impl WaitSet {
    /// One without conditions.
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                conditions: Mutex::default(),
                waiting: AtomicBool::new(false),
                signal: Arc::default(),
            }),
        }
    }

    /// Attaches a condition; nothing happens if it is attached. A thread that waits already takes it into account.
    ///
    /// # Errors
    /// None today.
    pub fn attach_condition(&self, condition: Condition) -> Result<(), Error> {
        {
            let mut conditions = lock(&self.inner.conditions);
            if conditions.contains(&condition) {
                return Ok(());
            }
            condition.watch().attach(self.waiter());
            conditions.push(condition);
        }
        self.inner.signal.wake();
        Ok(())
    }

    /// Takes away a condition.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it is not attached.
    pub fn detach_condition(&self, condition: &Condition) -> Result<(), Error> {
        let mut conditions = lock(&self.inner.conditions);
        let Some(index) = conditions.iter().position(|known| known == condition) else {
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
    /// `Timeout`; `PreconditionNotMet` if another thread waits, or the process was forked from that of the conditions' participant.
    pub fn wait(&self, timeout: impl Into<Duration>) -> Result<Vec<Condition>, Error> {
        let mut active = Vec::new();
        self.wait_into(&mut active, timeout)?;
        Ok(active)
    }

    /// As [`WaitSet::wait`], but puts the conditions that hold into `active`, whose memory is used again.
    ///
    /// # Errors
    /// As [`WaitSet::wait`].
    pub fn wait_into(&self, active: &mut Vec<Condition>, timeout: impl Into<Duration>) -> Result<(), Error> {
        self.wait_for_active(active, timeout.into())
    }

    fn wait_for_active(&self, active: &mut Vec<Condition>, timeout: Duration) -> Result<(), Error> {
        let Some(_waiting) = Waiting::begin(&self.inner.waiting) else {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "wait",
                "another thread waits on this WaitSet",
                "use a WaitSet for each thread",
            ));
        };
        let is_true = || {
            active.clear();
            active.extend_from_slice(&lock(&self.inner.conditions));
            // Without the lock: a query is the application's.
            active.retain(Condition::get_trigger_value);
            !active.is_empty()
        };
        if self.wait_until_true(timeout, is_true)? {
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
    pub(crate) fn wait_until_true(
        &self,
        timeout: Duration,
        mut is_true: impl FnMut() -> bool,
    ) -> Result<bool, Error> {
        let signal = &self.inner.signal;
        let clock = self.clock();
        if let Clock::Host(host) = &clock
            && host.is_of_parent_process()
        {
            return Err(of_parent_process("wait"));
        }
        let mut end = None;
        loop {
            let generation = signal.generation();
            if is_true() {
                return Ok(true);
            }
            let now = clock.now();
            let until = *end.get_or_insert_with(|| now.after(timeout));
            if until <= now {
                return Ok(false);
            }
            let changed = || signal.generation() != generation;
            if !self.receive(&clock, until, until.since(now), &changed) {
                signal.sleep(until.since(now), changed);
            }
        }
    }

    fn clock(&self) -> Clock {
        let host = lock(&self.inner.conditions).iter().find_map(Condition::host);
        host.map_or_else(|| Clock::System(std::time::Instant::now()), Clock::Host)
    }

    /// Receives for the one participant that all conditions are of, until something has changed or the clock says `until`, which
    /// is in the time `left`.
    fn receive(&self, clock: &Clock, until: Instant, left: Duration, changed: &dyn Fn() -> bool) -> bool {
        let Some(host) = self.host() else { return false };
        let until = match clock {
            Clock::Host(_) => until,
            // The condition with a host came later.
            Clock::System(_) => host.monotonic().after(left),
        };
        self.inner.signal.receive(host, until, changed)
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

impl Drop for Inner {
    fn drop(&mut self) {
        let waiter: Weak<dyn Waiter> = Arc::downgrade(&self.signal) as Weak<Signal>;
        for condition in lock(&self.conditions).iter() {
            if condition.host().is_some_and(|host| host.is_of_parent_process()) {
                // A thread that is not here may have held its lock.
                continue;
            }
            condition.watch().detach(&waiter);
        }
    }
}

/// The time of the host of some condition; that of the system if there is none. All hosts of a process have one time.
enum Clock {
    Host(Arc<dyn Host>),
    /// Counted from there.
    System(std::time::Instant),
}

impl Clock {
    fn now(&self) -> Instant {
        match self {
            Self::Host(host) => host.monotonic(),
            Self::System(start) => {
                Instant::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
            }
        }
    }
}

/// The one thread that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicBool);

impl<'a> Waiting<'a> {
    /// `None` if another thread waits.
    fn begin(flag: &'a AtomicBool) -> Option<Self> {
        (!flag.swap(true, Ordering::SeqCst)).then_some(Self(flag))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Conditions are the same if they say the same of the same entity; two query conditions if one is a clone of the other.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (self, other) {
            (Self::Read(one), Self::Read(other)) => one.states() == other.states(),
            (Self::Query(one), Self::Query(other)) => one.identity == other.identity,
            (Self::Status(_), Self::Status(_)) | (Self::Guard(_), Self::Guard(_)) => true,
            _ => false,
        };
        is_same && Arc::ptr_eq(self.watch(), other.watch())
    }
}
