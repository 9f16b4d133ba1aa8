//! What a reader did not hand on, and why.
use core::fmt;

use wire::cdr::{DecodeError, DecodeFault};
use wire::{Guid, SequenceNumber, Timestamp};

use crate::KeyError;

/// Why a sample did not reach the application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// It never came, and the writer has it no more.
    Lost,
    /// RESOURCE_LIMITS: there are as many instances as allowed.
    Instances,
    /// RESOURCE_LIMITS: there are as many samples, or bytes, as allowed.
    Samples,
    /// RESOURCE_LIMITS: its instance has as many samples as allowed.
    SamplesPerInstance,
    /// HISTORY: newer samples of its instance took its place before it was read.
    Replaced,
    /// TIME_BASED_FILTER: it came too soon after the one before.
    Filtered,
    /// It does not pass the content filter of the reader, or its writer says so.
    ContentFilter,
    /// OWNERSHIP: a stronger writer owns the instance.
    Ownership,
    /// DESTINATION_ORDER: a sample that was written later was there before.
    OutOfOrder,
    /// LIFESPAN: it was too old when it came, or before it was read.
    Expired,
    /// READER_DATA_LIFECYCLE: its instance was purged before it was read.
    Purged,
    /// It is larger than the reader's `byte_limit` can hold.
    TooLarge,
    /// Its encapsulation is not that of the type: another extensibility (final, appendable, mutable) at the writer, or no CDR.
    Encapsulation,
    /// Its key, its form or its inline QoS could not be read.
    Malformed,
    /// A change of an instance that is not known here.
    UnknownInstance,
    /// Two keys have one key hash; the later one is not taken.
    KeyCollision,
    /// Its writer is not matched.
    NotMatched,
    /// Its instance belongs to another participant than its writer.
    Unauthorized,
}

impl DropReason {
    /// Why a payload of which this was said does not get on.
    pub const fn undecodable(error: &KeyError) -> Self {
        match error {
            KeyError::Decode(DecodeError {
                fault: DecodeFault::UnknownEncapsulation(_) | DecodeFault::WrongEncapsulation(_),
                ..
            }) => Self::Encapsulation,
            _ => Self::Malformed,
        }
    }

    /// True if the sample was written for the reader and nothing in its QoS keeps it away, so that it is lost to it.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Lost | Self::Encapsulation | Self::Malformed | Self::KeyCollision)
    }

    /// Every reason.
    pub const ALL: [Self; 18] = [
        Self::Lost,
        Self::Instances,
        Self::Samples,
        Self::SamplesPerInstance,
        Self::Replaced,
        Self::Filtered,
        Self::ContentFilter,
        Self::Ownership,
        Self::OutOfOrder,
        Self::Expired,
        Self::Purged,
        Self::TooLarge,
        Self::Encapsulation,
        Self::Malformed,
        Self::UnknownInstance,
        Self::KeyCollision,
        Self::NotMatched,
        Self::Unauthorized,
    ];
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "lost: it never came, and the writer has it no more",
            Self::Instances => "RESOURCE_LIMITS: too many instances",
            Self::Samples => "RESOURCE_LIMITS: too many samples or octets",
            Self::SamplesPerInstance => "RESOURCE_LIMITS: too many samples of one instance",
            Self::Replaced => "HISTORY: replaced by newer samples before it was read",
            Self::Filtered => "TIME_BASED_FILTER: too soon after the sample before",
            Self::ContentFilter => "content filter: did not pass",
            Self::Ownership => "OWNERSHIP: a stronger writer owns the instance",
            Self::OutOfOrder => "DESTINATION_ORDER: written before a sample that is there already",
            Self::Expired => "LIFESPAN: expired before it was read",
            Self::Purged => "READER_DATA_LIFECYCLE: purged before it was read",
            Self::TooLarge => "larger than byte_limit of the reader can hold",
            Self::Encapsulation => "encapsulation is not that of the type: another extensibility, or no CDR",
            Self::Malformed => "key, form or inline QoS cannot be read",
            Self::UnknownInstance => "change of an instance that is not known",
            Self::KeyCollision => "key hash is that of another key",
            Self::NotMatched => "writer is not matched",
            Self::Unauthorized => "its instance belongs to another participant than its writer",
        })
    }
}

/// How often something happened, and the last time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DropCount {
    /// How many samples.
    pub count: u64,
    /// Writer and number of the last one, and when it was dropped.
    pub last: Option<(Guid, SequenceNumber, Timestamp)>,
}

/// Counts per reason.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drops([DropCount; DropReason::ALL.len()]);

impl Drops {
    pub(super) fn add(
        &mut self,
        reason: DropReason,
        more: u64,
        writer: Guid,
        number: SequenceNumber,
        at: Timestamp,
    ) {
        if let Some(place) = self.0.get_mut(reason as usize) {
            place.count = place.count.saturating_add(more);
            place.last = Some((writer, number, at));
        }
    }

    pub(super) fn get(&self, reason: DropReason) -> DropCount {
        self.0.get(reason as usize).copied().unwrap_or_default()
    }
}
