//! Communication statuses, as levels: totals, and the change since they were last read (DDS 1.4, 2.2.4.1).
//!
//! Reading a status sets its changes to zero and clears its bit. Nothing is queued, so nothing can be lost or pile up.
use alloc::vec::Vec;
use core::ops::{BitAnd, BitOr, BitOrAssign};

use rtps::discovery::{Mismatch, PolicyId};
use wire::{Duration, Guid, SequenceNumber};

use crate::InstanceHandle;
use crate::reader::DropReason;

/// A set of statuses, with the bits of the standard (DDS 1.4, 2.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StatusMask(pub u32);

impl StatusMask {
    /// No status.
    pub const NONE: Self = Self(0);
    /// Another participant has a topic of this name with another type.
    pub const INCONSISTENT_TOPIC: Self = Self(1);
    /// A writer did not keep its deadline.
    pub const OFFERED_DEADLINE_MISSED: Self = Self(1 << 1);
    /// A reader did not get a sample within its deadline.
    pub const REQUESTED_DEADLINE_MISSED: Self = Self(1 << 2);
    /// A reader asks for more than a writer offers.
    pub const OFFERED_INCOMPATIBLE_QOS: Self = Self(1 << 5);
    /// A writer offers less than a reader asks for.
    pub const REQUESTED_INCOMPATIBLE_QOS: Self = Self(1 << 6);
    /// A sample will never come.
    pub const SAMPLE_LOST: Self = Self(1 << 7);
    /// A sample was refused.
    pub const SAMPLE_REJECTED: Self = Self(1 << 8);
    /// A reader of the subscriber has data.
    pub const DATA_ON_READERS: Self = Self(1 << 9);
    /// A reader has data.
    pub const DATA_AVAILABLE: Self = Self(1 << 10);
    /// A writer did not keep its own liveliness.
    pub const LIVELINESS_LOST: Self = Self(1 << 11);
    /// The liveliness of a matched writer changed.
    pub const LIVELINESS_CHANGED: Self = Self(1 << 12);
    /// A reader was matched or is gone.
    pub const PUBLICATION_MATCHED: Self = Self(1 << 13);
    /// A writer was matched or is gone.
    pub const SUBSCRIPTION_MATCHED: Self = Self(1 << 14);
    /// The assurance of a pair of writer and reader is another; no status of the standard.
    pub const ASSURANCE_CHANGED: Self = Self(1 << 24);
    /// A sample of an assured reader was later than its bound; no status of the standard.
    pub const BOUND_EXCEEDED: Self = Self(1 << 25);

    /// The session over domains of a pair of writer and reader is another; no status of the standard.
    pub const SESSION_CHANGED: Self = Self(1 << 26);

    /// True if one of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Takes those of `other` out.
    pub const fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl BitOr for StatusMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for StatusMask {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for StatusMask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The statuses of an entity that changed: as levels, until they are read, and as news, until a listener was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Changes {
    set: StatusMask,
    news: StatusMask,
}

impl Changes {
    pub(crate) const NONE: Self = Self { set: StatusMask::NONE, news: StatusMask::NONE };

    /// A status has changed.
    pub(crate) fn raise(&mut self, bits: StatusMask) {
        self.set |= bits;
        self.news |= bits;
    }

    /// A status was read.
    pub(crate) const fn clear(&mut self, bits: StatusMask) {
        self.set.clear(bits);
    }

    /// The statuses that changed since they were last read.
    pub(crate) const fn set(self) -> StatusMask {
        self.set
    }

    /// The statuses that changed since this was last asked, read meanwhile or not.
    pub(crate) const fn take_news(&mut self) -> StatusMask {
        core::mem::replace(&mut self.news, StatusMask::NONE)
    }
}

/// A count that only grows, and how much since it was last read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Total {
    /// All so far.
    pub count: u64,
    /// Since the last reading.
    pub change: u64,
}

impl Total {
    /// Counts more of them.
    pub const fn add(&mut self, more: u64) {
        self.count = self.count.saturating_add(more);
        self.change = self.change.saturating_add(more);
    }
}

/// A current count, and its change since it was last read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Current {
    /// Now.
    pub count: u32,
    /// Since the last reading.
    pub change: i32,
}

impl Current {
    pub(crate) fn up(&mut self) {
        self.count = self.count.saturating_add(1);
        self.change = self.change.saturating_add(1);
    }

    pub(crate) fn down(&mut self) {
        self.count = self.count.saturating_sub(1);
        self.change = self.change.saturating_sub(1);
    }
}

/// A status that can be read; reading it sets its changes to zero.
pub trait Status: Clone {
    /// Sets the changes to zero.
    fn settle(&mut self);
}

pub(crate) fn read<S: Status>(status: &mut S, changes: &mut Changes, bit: StatusMask) -> S {
    let seen = status.clone();
    status.settle();
    changes.clear(bit);
    seen
}

/// INCONSISTENT_TOPIC.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InconsistentTopic {
    /// Topics found.
    pub total: Total,
}

/// OFFERED_DEADLINE_MISSED or REQUESTED_DEADLINE_MISSED.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeadlineMissed {
    /// Periods without a sample, of all instances.
    pub total: Total,
    /// The instance of the last one.
    pub last_instance: Option<InstanceHandle>,
}

/// OFFERED_INCOMPATIBLE_QOS or REQUESTED_INCOMPATIBLE_QOS.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IncompatibleQos {
    /// Endpoints that were found not to fit.
    pub total: Total,
    /// The first policy at fault of the last one.
    pub last_policy: Option<PolicyId>,
    /// How often each policy was at fault, by policy.
    pub policies: Vec<(PolicyId, u64)>,
}

impl IncompatibleQos {
    /// Counts an endpoint that does not match; false if none of the reasons is a QoS policy.
    pub(crate) fn add(&mut self, reasons: &[Mismatch]) -> bool {
        let mut ids = reasons.iter().filter(|reason| reason.is_incompatible_qos());
        let mut first = None;
        for id in ids.by_ref().filter_map(Mismatch::policy_id) {
            if first == Some(id) {
                continue;
            }
            first = first.or(Some(id));
            match self.policies.binary_search_by_key(&id, |(id, _)| *id) {
                Ok(index) => {
                    if let Some((_, count)) = self.policies.get_mut(index) {
                        *count = count.saturating_add(1);
                    }
                }
                Err(index) => self.policies.insert(index, (id, 1)),
            }
        }
        if first.is_none() {
            return false;
        }
        self.last_policy = first;
        self.total.add(1);
        true
    }
}

/// SAMPLE_LOST.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SampleLost {
    /// Samples lost.
    pub total: Total,
    /// Why the last one was.
    pub last_reason: Option<DropReason>,
}

/// Which limit a sample met.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RejectedReason {
    /// The limit of instances.
    Instances,
    /// The limit of samples or of bytes.
    Samples,
    /// The limit of samples of one instance.
    SamplesPerInstance,
    /// The sample is larger than the limit of bytes can ever hold; no reason of the standard.
    SampleSize,
}

/// SAMPLE_REJECTED.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SampleRejected {
    /// Samples refused; one that is offered again is counted once.
    pub total: Total,
    /// Why the last one was.
    pub last_reason: Option<RejectedReason>,
    /// Its instance, if it was known.
    pub last_instance: Option<InstanceHandle>,
}

/// LIVELINESS_LOST.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LivelinessLost {
    /// How often the writer became not alive.
    pub total: Total,
}

/// LIVELINESS_CHANGED.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LivelinessChanged {
    /// Matched writers that are alive.
    pub alive: Current,
    /// Matched writers that are not.
    pub not_alive: Current,
    /// The last one that changed.
    pub last_publication: Option<InstanceHandle>,
}

/// PUBLICATION_MATCHED or SUBSCRIPTION_MATCHED.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matched {
    /// Matches so far.
    pub total: Total,
    /// Matches now.
    pub current: Current,
    /// The last endpoint that was matched or is gone.
    pub last_endpoint: Option<InstanceHandle>,
}

impl Matched {
    pub(crate) fn up(&mut self, endpoint: InstanceHandle) {
        self.total.add(1);
        self.current.up();
        self.last_endpoint = Some(endpoint);
    }

    pub(crate) fn down(&mut self, endpoint: InstanceHandle) {
        self.current.down();
        self.last_endpoint = Some(endpoint);
    }
}

/// ASSURANCE_CHANGED, of writers and readers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AssuranceChanged {
    /// Times that the assurance with some endpoint has changed.
    pub total: Total,
    /// The last one that it has changed with.
    pub last_endpoint: Option<InstanceHandle>,
}

/// SESSION_CHANGED, of writers and readers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionChanged {
    /// Times that the session with some endpoint has changed.
    pub total: Total,
    /// The last one that it has changed with.
    pub last_endpoint: Option<InstanceHandle>,
}

/// A sample that was later than the bound that was promised for it, and where its time went as far as that can be told here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LateSample {
    /// Its writer.
    pub writer: Guid,
    /// Its number.
    pub sequence_number: SequenceNumber,
    /// From its source timestamp to its reception, by the clocks of both hosts.
    pub latency: Duration,
    /// What was promised.
    pub bound: Duration,
    /// How long it has waited in its writer at least, because it was written earlier than the contract allows; not part of the bound.
    pub waited_for_contract: Duration,
    /// True if it did not come along its flow: it was repeated, or had to wait for one that was.
    pub repaired: bool,
    /// From the kernel's reception to its delivery here; `None` if the kernel did not tell.
    pub host: Option<Duration>,
}

/// BOUND_EXCEEDED, of readers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BoundExceeded {
    /// Samples that were later than promised.
    pub total: Total,
    /// The last one.
    pub last: Option<LateSample>,
}

macro_rules! settle {
    ($($status:ident: $($field:ident),+;)*) => {
        $(impl Status for $status {
            fn settle(&mut self) {
                $(self.$field.change = 0;)+
            }
        })*
    };
}

settle! {
    InconsistentTopic: total;
    DeadlineMissed: total;
    IncompatibleQos: total;
    SampleLost: total;
    SampleRejected: total;
    LivelinessLost: total;
    LivelinessChanged: alive, not_alive;
    Matched: total, current;
    AssuranceChanged: total;
    SessionChanged: total;
    BoundExceeded: total;
}
