//! Why a change was not written.
use core::fmt;

use rtps::writer::WriteError as HistoryError;
use wire::Instant;

use crate::error::{Error, ReturnCode};

/// Which limit a write has met.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit {
    /// RESOURCE_LIMITS max_samples.
    Samples,
    /// RESOURCE_LIMITS max_samples_per_instance.
    SamplesPerInstance,
    /// Bytes of history.
    Octets,
    /// FLOW_CONTROL: samples that were written before wait for tokens.
    Tokens,
}

/// There is no room now; there will be once readers have acknowledged, or samples have left or expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The limit.
    pub limit: Limit,
    /// `max_blocking_time` after this call; an owner that tries again keeps the time of the first call.
    pub until: Instant,
}

impl From<Blocked> for Error {
    /// The error once the time is over.
    fn from(blocked: Blocked) -> Self {
        let what = match blocked.limit {
            Limit::Samples => "max_samples are held and not acknowledged",
            Limit::SamplesPerInstance => "max_samples_per_instance are held and not acknowledged",
            Limit::Octets => "the history is full of bytes that are not acknowledged",
            Limit::Tokens => {
                return Self::new(
                    ReturnCode::Timeout,
                    "write",
                    "samples that were written before still wait for tokens of FLOW_CONTROL",
                    "wait longer (RELIABILITY max_blocking_time), write less, raise the rate, or write asynchronously",
                );
            }
        };
        let advice = "wait longer (RELIABILITY max_blocking_time), write less, raise the limit, or use HISTORY KEEP_LAST";
        Self::new(ReturnCode::Timeout, "write", what, advice)
    }
}

/// Why a change was not written. Nothing has changed then, but of a history that is full of bytes those that KEEP_LAST
/// was to replace may be gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// Try again later.
    Blocked(Blocked),
    /// Trying again does not help.
    Refused(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(blocked) => fmt::Display::fmt(&Error::from(*blocked), f),
            Self::Refused(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for WriteError {}

/// A limit that no waiting lifts: the history is kept for late readers.
pub(super) fn exhausted(limit: Limit) -> WriteError {
    let what = match limit {
        Limit::Samples => "max_samples are held for late readers",
        Limit::SamplesPerInstance => "max_samples_per_instance are held for late readers",
        Limit::Octets => "the bytes of the history are held for late readers",
        Limit::Tokens => "samples wait for tokens of FLOW_CONTROL",
    };
    let advice = "raise the limit, use HISTORY KEEP_LAST, a finite LIFESPAN, or DURABILITY Volatile";
    WriteError::Refused(Error::new(ReturnCode::OutOfResources, "write", what, advice))
}

/// A sample that is larger than its writer has promised.
pub(super) fn above_contract(len: usize, limit: usize) -> Error {
    Error::new(
        ReturnCode::BadParameter,
        "write",
        alloc::format!("a sample of {len} bytes is larger than the {limit} that ASSURANCE declares"),
        "write smaller samples, or declare a larger maximum_size",
    )
}

/// A sample that is smaller than its writer has promised.
pub(super) fn below_contract(len: usize, limit: u32) -> Error {
    Error::new(
        ReturnCode::BadParameter,
        "write",
        alloc::format!("a sample of {len} bytes is smaller than the {limit} that ASSURANCE declares"),
        "write larger samples, or declare a smaller minimum_size",
    )
}

/// A sample that no history can hold.
pub(super) fn too_large(error: HistoryError) -> WriteError {
    if let HistoryError::AboveContract { len, limit } = error {
        return above_contract(len, limit).into();
    }
    WriteError::Refused(Error::new(
        ReturnCode::OutOfResources,
        "write",
        alloc::format!("{error}"),
        "raise byte_limit of the writer's QoS, or write smaller samples",
    ))
}
