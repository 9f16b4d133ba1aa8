//! Messages as bytes. Each message has one encoding, and what is longer than a manager would ever say is not read.
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::message::{
    Available, Body, Establish, Granted, Message, Notify, Query, QueryResponse, Reserve, Response,
    SessionBody,
};
use crate::request::{FlowRequest, MOST_CALLEES, MOST_FLOWS};
use crate::routes::MOST_DOMAINS;
use crate::words::{
    AggregateId, Asking, Asn, Class, DeviceFault, Direction, FlowKind, LegId, LinkId, MessageId, Reason,
    Refusal, SessionId, TSpec, Text, TunnelId,
};

/// The first byte of a message. Records have [versions of their own](records).
const VERSION: u8 = 5;

/// No message is longer, in bytes.
pub const MOST_BYTES: usize = 4_096;

/// Why bytes are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// How many bytes were read.
    pub offset: usize,
    /// What was wrong there.
    pub what: &'static str,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.what)
    }
}

impl core::error::Error for DecodeError {}

impl Message {
    /// The bytes of it; `None` if something in it is longer than messages may have.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut writer = Writer { bytes: alloc::vec![VERSION], fits: true };
        self.put(&mut writer);
        (writer.fits && writer.bytes.len() <= MOST_BYTES).then_some(writer.bytes)
    }

    /// Reads one message, which has all of the bytes. Whether its `from` is whom the connection belongs to is for the owner to look at.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader { bytes, offset: 0, record: None };
        if bytes.len() > MOST_BYTES {
            return Err(reader.wrong("longer than any message"));
        }
        if u8::get(&mut reader)? != VERSION {
            return Err(reader.wrong("another version"));
        }
        let message = Self::get(&mut reader)?;
        if reader.offset < bytes.len() {
            return Err(reader.wrong("bytes after the end"));
        }
        Ok(message)
    }
}

struct Writer {
    bytes: Vec<u8>,
    fits: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// The version of a record that it reads; a message has none.
    record: Option<u8>,
}

impl Reader<'_> {
    fn wrong(&self, what: &'static str) -> DecodeError {
        DecodeError { offset: self.offset, what }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let found = self.bytes.get(self.offset..).and_then(|rest| rest.first_chunk::<N>());
        let found = *found.ok_or_else(|| self.wrong("the end comes too early"))?;
        self.offset += N;
        Ok(found)
    }
}

/// What has an encoding.
trait Wire: Sized {
    fn put(&self, writer: &mut Writer);
    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// What a message may have several of, and how many.
trait Repeated: Wire {
    const MOST: usize;
}

impl Repeated for Asn {
    const MOST: usize = MOST_DOMAINS;
}
impl Repeated for u64 {
    const MOST: usize = MOST_FLOWS;
}
impl Repeated for FlowRequest {
    const MOST: usize = MOST_FLOWS;
}
impl Repeated for IpAddr {
    const MOST: usize = MOST_CALLEES;
}

impl<T: Repeated> Wire for Vec<T> {
    fn put(&self, writer: &mut Writer) {
        writer.fits &= self.len() <= T::MOST;
        u8::try_from(self.len()).unwrap_or(u8::MAX).put(writer);
        self.iter().take(T::MOST).for_each(|one| one.put(writer));
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = usize::from(u8::get(reader)?);
        if count > T::MOST {
            return Err(reader.wrong("a list is too long"));
        }
        let mut list = Self::new();
        for _ in 0..count {
            list.push(T::get(reader)?);
        }
        Ok(list)
    }
}

impl Wire for Text {
    fn put(&self, writer: &mut Writer) {
        // No text is longer than this.
        u8::try_from(self.as_str().len()).unwrap_or(u8::MAX).put(writer);
        writer.bytes.extend(self.as_str().as_bytes());
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let end = usize::from(u8::get(reader)?).saturating_add(reader.offset);
        let bytes = reader.bytes.get(reader.offset..end);
        let bytes = bytes.ok_or_else(|| reader.wrong("the end comes too early"))?;
        let text = core::str::from_utf8(bytes).ok().and_then(|text| Self::exact(text.into()));
        let text = text.ok_or_else(|| reader.wrong("no short plain text"))?;
        reader.offset = end;
        Ok(text)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, writer: &mut Writer) {
        u8::from(self.is_some()).put(writer);
        self.iter().for_each(|some| some.put(writer));
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match u8::get(reader)? {
            0 => Ok(None),
            1 => T::get(reader).map(Some),
            _ => Err(reader.wrong("neither there nor not")),
        }
    }
}

impl<T: Wire> Wire for Result<T, Refusal> {
    fn put(&self, writer: &mut Writer) {
        u8::from(self.is_ok()).put(writer);
        match self {
            Ok(value) => value.put(writer),
            Err(refusal) => refusal.put(writer),
        }
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match u8::get(reader)? {
            0 => Refusal::get(reader).map(Err),
            1 => T::get(reader).map(Ok),
            _ => Err(reader.wrong("neither granted nor refused")),
        }
    }
}

impl Wire for IpAddr {
    fn put(&self, writer: &mut Writer) {
        match self {
            Self::V4(address) => {
                4_u8.put(writer);
                writer.bytes.extend(address.octets());
            }
            Self::V6(address) => {
                6_u8.put(writer);
                writer.bytes.extend(address.octets());
            }
        }
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match u8::get(reader)? {
            4 => reader.take::<4>().map(|bytes| Self::V4(Ipv4Addr::from(bytes))),
            6 => reader.take::<16>().map(|bytes| Self::V6(Ipv6Addr::from(bytes))),
            _ => Err(reader.wrong("an address of no known version")),
        }
    }
}

/// Numbers, the most significant byte first.
macro_rules! numbers {
    ($($number:ident),*) => { $(
        impl Wire for $number {
            fn put(&self, writer: &mut Writer) {
                writer.bytes.extend(self.to_be_bytes());
            }

            fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.take().map(Self::from_be_bytes)
            }
        }
    )* };
}

/// The fields of a structure, one after the other.
macro_rules! structures {
    ($($name:ident { $($field:tt),* })*) => { $(
        impl Wire for $name {
            fn put(&self, writer: &mut Writer) {
                $( self.$field.put(writer); )*
            }

            fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $( $field: Wire::get(reader)? ),* })
            }
        }
    )* };
}

/// A byte that says which, and the fields of it.
macro_rules! choices {
    ($($name:ident { $($tag:literal $variant:ident $(($($inner:ident),*))? $({ $($field:ident),* })?),* })*) => { $(
        impl Wire for $name {
            fn put(&self, writer: &mut Writer) {
                match self { $(
                    Self::$variant $(($($inner),*))? $({ $($field),* })? => {
                        writer.bytes.push($tag);
                        $( $( $inner.put(writer); )* )?
                        $( $( $field.put(writer); )* )?
                    }
                )* }
            }

            fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match u8::get(reader)? { $(
                    $tag => {
                        $( $( let $inner = Wire::get(reader)?; )* )?
                        $( $( let $field = Wire::get(reader)?; )* )?
                        Ok(Self::$variant $(($($inner),*))? $({ $($field),* })?)
                    }
                )*
                    _ => Err(reader.wrong(concat!("no known ", stringify!($name)))),
                }
            }
        }
    )* };
}

// They need the three macros above.
mod records;

numbers!(u8, u16, u32, u64);

structures! {
    Asn { 0 }
    LinkId { 0 }
    SessionId { origin, number }
    TunnelId { origin, number }
    AggregateId { tunnel, class }
    MessageId { epoch, number }
    LegId { session, flow, peer }
    TSpec { rate, bucket, peak, least_unit, largest_packet }
    Refusal { asn, link, reason }
    DeviceFault { device, what }
    Message { from, to, body }
    Reserve {
        aggregate, id, echo, path, position, link, traffic, limit, most_loss, delay, jitter, loss, lifetime,
        asking, label
    }
    Response { aggregate, id, echo, verdict }
    Granted { reserved, delay, jitter, loss, price, label, link }
    Notify { aggregate, id, refusal }
    Query { number, aggregate, path, position, link, available, delay, jitter, loss }
    QueryResponse { number, path, position, verdict }
    Available { rate, delay, jitter, loss }
    Establish { caller, callees, flows }
}

choices! {
    Class { 0 BestEffort, 1 Af1, 2 Af4, 3 Ef, 4 Control }
    Asking { 0 HopByHop, 1 Direct }
    Direction { 0 Forward, 1 Reverse }
    FlowKind { 0 Data, 1 AckNack, 2 Discovery }
    Body {
        1 Reserve(reserve), 2 Response(response), 3 Notify(notify), 4 Query(query), 5 QueryResponse(response),
        6 Session(id, body)
    }
    SessionBody {
        1 Establish(asked), 2 Established(said), 3 Commit { echo, rates }, 4 Committed { echo }, 5 Stop(refusal), 6 Ended(refusal),
        7 Rerouted { flow, delay, loss, refusal }, 8 Copies { flow, said }
    }
    Reason {
        1 Invalid, 2 UnknownUser, 3 UnknownService, 4 ContractExpired, 5 ClassNotAgreed, 6 DestinationNotAgreed(asn),
        7 Quota { missing, offer }, 8 TooManySessions, 9 ServiceFull { missing, offer }, 10 ForeignSource { owner },
        11 UnknownDestination(address), 12 NoPath { offer }, 13 NoAgreement, 14 Rate { missing, offer },
        15 Burst { missing, offer }, 16 Delay { missing, offer }, 17 CalleeRefused, 18 NoAnswer, 19 LinkDown, 20 Busy,
        21 UnknownSession, 22 Stopped, 23 TimeOver, 24 Device(fault), 25 NotAuthorized(what), 26 AaaUnavailable(what),
        27 Aborted, 28 GrantOver, 29 Loss { missing, offer }, 40 NotDisjoint { shared }, 41 CannotDuplicate, 42 DirectNotAgreed, 43 Moved(session)
    }
}
