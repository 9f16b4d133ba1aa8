//! Types of topics, as far as discovery has to do with them: others understand what is announced of them.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use wire::discovery::EndpointData;
use wire::{GuidPrefix, Instant};

/// What is said of the types of a writer and a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeVerdict {
    /// Their names count: not both announce a type that is understood.
    ByName,
    /// What is written can be read, whatever the names of the types are.
    Assignable,
    /// It cannot, because of this.
    Different(String),
    /// That is not known yet. There is no match until it is.
    Pending,
}

/// Compares types, asks other participants for them, and answers others. Payloads are those of the type lookup service (XTypes 1.3, 7.6.3.3).
pub trait Types: fmt::Debug + Send {
    /// Compares the types of a writer and a reader. `remote` is the participant that can be asked for what is missing.
    fn compare(
        &mut self,
        now: Instant,
        writer: &EndpointData,
        reader: &EndpointData,
        remote: Option<GuidPrefix>,
    ) -> TypeVerdict;

    /// True once after more is known than before: what was pending has to be compared again.
    fn take_news(&mut self) -> bool;

    /// The next request, and the participant that it is for. `own` is our participant.
    fn poll_request(&mut self, now: Instant, own: GuidPrefix) -> Option<(GuidPrefix, Vec<u8>)>;

    /// When `poll_request` has to be called at the latest.
    fn poll_timeout(&self) -> Instant;

    /// A request came from a validated participant; gives the reply.
    fn on_request(
        &mut self,
        now: Instant,
        own: GuidPrefix,
        from: GuidPrefix,
        request: &[u8],
    ) -> Option<Vec<u8>>;

    /// A reply came from a validated participant.
    fn on_reply(&mut self, now: Instant, from: GuidPrefix, reply: &[u8]);

    /// A participant is gone.
    fn forget(&mut self, participant: GuidPrefix);
}

/// Types are compared by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamesAlone;

impl Types for NamesAlone {
    fn compare(
        &mut self,
        _: Instant,
        _: &EndpointData,
        reader: &EndpointData,
        _: Option<GuidPrefix>,
    ) -> TypeVerdict {
        if !reader.qos.type_consistency.force_type_validation {
            return TypeVerdict::ByName;
        }
        TypeVerdict::Different("the reader forces type validation, and types are not compared here".into())
    }

    fn take_news(&mut self) -> bool {
        false
    }

    fn poll_request(&mut self, _: Instant, _: GuidPrefix) -> Option<(GuidPrefix, Vec<u8>)> {
        None
    }

    fn poll_timeout(&self) -> Instant {
        Instant::NEVER
    }

    fn on_request(&mut self, _: Instant, _: GuidPrefix, _: GuidPrefix, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn on_reply(&mut self, _: Instant, _: GuidPrefix, _: &[u8]) {}

    fn forget(&mut self, _: GuidPrefix) {}
}
