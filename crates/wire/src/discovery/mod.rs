//! The data of the built-in endpoints: participants (SPDP), endpoints (SEDP) and liveliness messages (RTPS 2.5, 8.5, 9.6.2, 9.6.3).
//!
//! `encode` appends a whole serialized payload, encapsulation header included. `decode` reads one:
//! - The encapsulation is PL_CDR in either byte order; ParticipantMessage is plain CDR, whatever CDR its header says.
//! - An absent parameter means the default of the standard for that kind of entity. The order is free.
//! - Of a parameter that is there twice the last counts; locators accumulate, at most [`MAX_LOCATORS`] of each list are kept.
//! - An unknown parameter is skipped, unless it must be understood (0x4000) and is not a vendor's (0x8000): that refuses the record.
//! - A value that is too short or not allowed refuses the record; type information is opaque here and never does.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::cursor::{Cursor, Endianness};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::Locator;
use crate::parameter::{ParameterError, ParameterList, ParameterReason, ParameterWriter, value};

mod content_filter;
mod endpoint;
mod endpoint_qos;
mod participant;
mod participant_message;
mod punctual;

pub use content_filter::ContentFilterProperty;
pub use endpoint::{EndpointData, EndpointRole};
pub use participant::{BuiltinEndpointSet, EndpointsSummary, ParticipantData, SharedMemory};
pub use participant_message::ParticipantMessage;

/// The most locators that are kept of one list.
pub const MAX_LOCATORS: usize = 16;
/// The most bytes of a topic name, type name, entity name, partition name or domain tag, without NUL.
pub const MAX_NAME: usize = 256;
/// The most partition names of an endpoint.
pub const MAX_PARTITIONS: usize = 256;

/// Why the payload of a built-in endpoint was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiscoveryError {
    /// It is shorter than its encapsulation header, or than its fields.
    TooShort,
    /// Its encapsulation is another one than this record has.
    Encapsulation(u16),
    /// It is no parameter list, or one of its parameters was refused.
    Parameter(ParameterError),
    /// A parameter that has no default is absent.
    Missing(u16),
    /// Its endpoint is not of the kind that this topic announces.
    Role(EntityId),
    /// It names a participant other than its endpoint's.
    Participant(GuidPrefix),
}

impl From<ParameterError> for DiscoveryError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => write!(f, "payload is too short"),
            Self::Encapsulation(id) => write!(f, "encapsulation {id:#06x} is not that of discovery data"),
            Self::Parameter(error) => error.fmt(f),
            Self::Missing(pid) => write!(f, "parameter {pid:#06x} is absent"),
            Self::Role(id) => write!(f, "entity {id} is not of the kind announced here"),
            Self::Participant(prefix) => write!(f, "names participant {prefix}, which is not the endpoint's"),
        }
    }
}

impl core::error::Error for DiscoveryError {}

/// PL_CDR, big endian (RTPS 2.5, 10.5).
const PL_CDR_BE: u16 = 2;
/// PL_CDR, little endian: what we send.
const PL_CDR_LE: u16 = 3;

/// Begins a payload that is a parameter list.
fn begin(out: &mut Vec<u8>) -> ParameterWriter<'_> {
    out.extend_from_slice(&[0, PL_CDR_LE as u8, 0, 0]);
    ParameterWriter::new(out)
}

/// Splits the encapsulation header from a payload: id and content.
fn encapsulated(payload: &[u8]) -> Result<(u16, &[u8]), DiscoveryError> {
    let ([high, low, _, _], content) = payload.split_first_chunk().ok_or(DiscoveryError::TooShort)?;
    Ok((u16::from_be_bytes([*high, *low]), content))
}

/// Reads a payload that is a parameter list.
fn list(payload: &[u8]) -> Result<ParameterList<'_>, DiscoveryError> {
    let (id, content) = encapsulated(payload)?;
    let endianness = match id {
        PL_CDR_BE => Endianness::Big,
        PL_CDR_LE => Endianness::Little,
        id => return Err(DiscoveryError::Encapsulation(id)),
    };
    Ok(ParameterList::parse(content, endianness)?.0)
}

/// The key of a record: the last guid under `pid`, if there is one. What else is in the list is skipped.
fn key(payload: &[u8], pid: u16) -> Result<Option<Guid>, DiscoveryError> {
    let mut found = None;
    for parameter in &list(payload)? {
        if parameter.pid == pid {
            found = Some(required(pid, value::guid(&mut parameter.cursor()))?);
        }
    }
    Ok(found)
}

/// A value that was long enough and allowed, or the error that names its parameter.
fn required<T>(pid: u16, value: Option<T>) -> Result<T, ParameterError> {
    value.ok_or(ParameterError { pid, reason: ParameterReason::Value })
}

fn name(pid: u16, fields: &mut Cursor<'_>) -> Result<String, ParameterError> {
    value::text(fields, MAX_NAME).map_err(|reason| ParameterError { pid, reason })
}

fn add_locator(to: &mut Vec<Locator>, pid: u16, fields: &mut Cursor<'_>) -> Result<(), ParameterError> {
    let locator = required(pid, value::locator(fields))?;
    if to.len() < MAX_LOCATORS {
        to.push(locator);
    }
    Ok(())
}

fn put_locators(list: &mut ParameterWriter<'_>, pid: u16, locators: &[Locator]) {
    for locator in locators {
        list.with(pid, |out| value::put_locator(out, locator));
    }
}
