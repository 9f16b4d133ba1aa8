//! From values to bytes.
use super::Written;
use super::member::{
    EMHEADER_MUST_UNDERSTAND, FITS_SHORT_PARAMETER_ID, LONG_MUST_UNDERSTAND, LengthCode, MEMBER_ID_MASK,
    Member, PID_EXTENDED, PID_LIST_END, SHORT_MUST_UNDERSTAND,
};
use super::sink::{Full, Sink};
use super::{CdrType, EncodeError, EncodeFault, Encoding, Extensibility, MAX_DEPTH, Representation};
use crate::cursor::Endianness;

/// Which members are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All.
    Data,
    /// The key, in the form and order of the data: what a dispose carries.
    Key,
    /// The key as key hashes are made of it: members by their ids, no headers (RTPS 2.5, 9.6.4.8; XTypes 1.3, 7.6.8).
    KeyHash,
}

/// Writes one value. Alignment counts from the first byte after the encapsulation header.
#[derive(Debug)]
pub struct Encoder<S> {
    sink: S,
    encoding: Encoding,
    scope: Scope,
    /// Where alignment counts from.
    origin: usize,
    depth: usize,
}

/// A structure or union whose members are being written.
#[must_use = "an aggregate must be ended"]
#[derive(Debug)]
pub struct Aggregate {
    form: Form,
    header: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Members follow each other.
    Plain,
    /// Members have parameter headers (XCDR version 1).
    Parameters,
    /// Members have EMHEADERs (XCDR version 2).
    Members,
}

impl<S: Sink> Encoder<S> {
    /// Writes to `sink`.
    pub const fn new(sink: S, encoding: Encoding, scope: Scope) -> Self {
        Self { sink, encoding, scope, origin: 0, depth: 0 }
    }

    /// Which members are to be written.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// The CDR version.
    pub const fn representation(&self) -> Representation {
        self.encoding.representation
    }

    /// The byte order.
    pub const fn endianness(&self) -> Endianness {
        self.encoding.endianness
    }

    /// Bytes written so far.
    pub fn position(&self) -> usize {
        self.sink.position()
    }

    /// An error at the current position.
    pub fn error(&self, fault: EncodeFault) -> EncodeError {
        EncodeError { fault, at: self.sink.position(), member: None }
    }

    /// Pads with zeros to a multiple of `alignment` (1, 2, 4 or 8); XCDR version 2 aligns to no more than 4.
    #[inline]
    pub fn align(&mut self, alignment: usize) -> Result<(), EncodeError> {
        let alignment = match self.encoding.representation {
            Representation::Xcdr1 => alignment,
            Representation::Xcdr2 => alignment.min(4),
        };
        let padding =
            self.sink.position().wrapping_sub(self.origin).wrapping_neg() & alignment.wrapping_sub(1);
        if padding == 0 {
            return Ok(());
        }
        self.octets([0; 8].get(..padding).unwrap_or(&[]))
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn octets(&mut self, octets: &[u8]) -> Result<(), EncodeError> {
        self.sink.extend(octets).map_err(|Full| self.error(EncodeFault::BufferTooSmall))
    }

    /// Writes `len` bytes that `write` puts in place.
    #[inline]
    pub fn fill(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), EncodeError> {
        self.sink.fill(len, write).map_err(|Full| self.error(EncodeFault::BufferTooSmall))
    }

    /// Writes two bytes, aligned.
    #[inline]
    pub fn u16(&mut self, value: u16) -> Result<(), EncodeError> {
        self.align(2)?;
        self.octets(&match self.encoding.endianness {
            Endianness::Big => value.to_be_bytes(),
            Endianness::Little => value.to_le_bytes(),
        })
    }

    /// Writes four bytes, aligned.
    #[inline]
    pub fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.align(4)?;
        self.octets(&self.word(value))
    }

    /// Writes a length or a count.
    pub fn length(&mut self, len: usize) -> Result<(), EncodeError> {
        let Ok(len) = u32::try_from(len) else { return Err(self.error(EncodeFault::TooLong)) };
        self.u32(len)
    }

    /// Refuses a value that has more elements than its bound.
    pub fn check_bound(&self, bound: usize, actual: usize) -> Result<(), EncodeError> {
        if actual > bound { Err(self.error(EncodeFault::OverBound { bound, actual })) } else { Ok(()) }
    }

    /// Begins a collection; in XCDR version 2 with a DHEADER, unless its elements are primitive.
    pub fn begin_collection(&mut self, primitive: bool) -> Result<Aggregate, EncodeError> {
        let delimited = !primitive && self.encoding.representation == Representation::Xcdr2;
        let header = if delimited { Some(self.reserve_length()?) } else { None };
        Ok(Aggregate { form: Form::Plain, header })
    }

    /// Begins a structure or union.
    #[inline]
    pub fn begin(&mut self, extensibility: Extensibility) -> Result<Aggregate, EncodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(EncodeFault::TooDeep));
        }
        self.depth += 1;
        if self.scope == Scope::KeyHash {
            return Ok(Aggregate { form: Form::Plain, header: None });
        }
        let mutable = extensibility == Extensibility::Mutable;
        match self.encoding.representation {
            Representation::Xcdr1 => {
                Ok(Aggregate { form: if mutable { Form::Parameters } else { Form::Plain }, header: None })
            }
            Representation::Xcdr2 => {
                let delimited = extensibility != Extensibility::Final;
                let header = if delimited { Some(self.reserve_length()?) } else { None };
                Ok(Aggregate { form: if mutable { Form::Members } else { Form::Plain }, header })
            }
        }
    }

    /// Writes a member.
    #[inline]
    pub fn member<T: Written>(
        &mut self,
        aggregate: &Aggregate,
        member: &Member,
        value: &T,
    ) -> Result<(), EncodeError> {
        match aggregate.form {
            Form::Plain => value.write(self),
            Form::Parameters => self.parameter(member, Some(value)),
            Form::Members => self.delimited_member(member, value),
        }
        .map_err(|error| error.in_member(member.name))
    }

    /// Writes an optional member.
    pub fn optional<T: CdrType>(
        &mut self,
        aggregate: &Aggregate,
        member: &Member,
        value: Option<&T>,
    ) -> Result<(), EncodeError> {
        match (aggregate.form, self.encoding.representation, value) {
            (Form::Parameters | Form::Members, _, None) => Ok(()),
            (Form::Parameters, _, Some(value)) => self.parameter(member, Some(value)),
            (Form::Members, _, Some(value)) => self.delimited_member(member, value),
            (Form::Plain, Representation::Xcdr1, value) => self.parameter(member, value),
            (Form::Plain, Representation::Xcdr2, None) => self.octets(&[0]),
            (Form::Plain, Representation::Xcdr2, Some(value)) => {
                self.octets(&[1]).and_then(|()| value.encode(self))
            }
        }
        .map_err(|error| error.in_member(member.name))
    }

    /// Ends a structure or union.
    #[inline]
    pub fn end(&mut self, aggregate: Aggregate) -> Result<(), EncodeError> {
        self.depth = self.depth.saturating_sub(1);
        if aggregate.form == Form::Parameters {
            self.align(4)?;
            self.u16(PID_LIST_END | SHORT_MUST_UNDERSTAND)?;
            self.u16(0)?;
        }
        self.end_collection(aggregate)
    }

    /// Ends a collection.
    pub fn end_collection(&mut self, aggregate: Aggregate) -> Result<(), EncodeError> {
        match aggregate.header {
            Some(header) => self.set_length(header),
            None => Ok(()),
        }
    }

    fn word(&self, value: u32) -> [u8; 4] {
        match self.encoding.endianness {
            Endianness::Big => value.to_be_bytes(),
            Endianness::Little => value.to_le_bytes(),
        }
    }

    /// Leaves room for a length of what follows it.
    fn reserve_length(&mut self) -> Result<usize, EncodeError> {
        self.u32(0)?;
        Ok(self.sink.position() - 4)
    }

    fn set_length(&mut self, at: usize) -> Result<(), EncodeError> {
        let len = self.sink.position().saturating_sub(at).saturating_sub(4);
        let Ok(len) = u32::try_from(len) else { return Err(self.error(EncodeFault::TooLong)) };
        self.sink.replace(at, &self.word(len));
        Ok(())
    }

    /// A member with a parameter header; without value if it is an absent optional one.
    fn parameter<T: Written>(&mut self, member: &Member, value: Option<&T>) -> Result<(), EncodeError> {
        self.align(4)?;
        let at = self.sink.position();
        let short = member.id <= FITS_SHORT_PARAMETER_ID;
        self.octets(if short { &[0; 4] } else { &[0; 12] })?;
        // The value is aligned as if it were the first byte (XTypes 1.3, 7.4.1.1.5).
        let outer = core::mem::replace(&mut self.origin, self.sink.position());
        let start = self.origin;
        if let Some(value) = value {
            value.write(self)?;
        }
        self.origin = outer;
        let Ok(len) = u32::try_from(self.sink.position() - start) else {
            return Err(self.error(EncodeFault::TooLong));
        };
        if short && let Ok(len) = u16::try_from(len) {
            let flag = if member.must_understand { SHORT_MUST_UNDERSTAND } else { 0 };
            let head = self.halves(flag | (member.id & 0x3fff) as u16, len);
            self.sink.replace(at, &head);
            return Ok(());
        }
        if short {
            self.sink.open_gap(start, 8).map_err(|Full| self.error(EncodeFault::BufferTooSmall))?;
        }
        let flag = if member.must_understand { LONG_MUST_UNDERSTAND } else { 0 };
        let head = self.halves(PID_EXTENDED | SHORT_MUST_UNDERSTAND, 8);
        self.sink.replace(at, &head);
        self.sink.replace(at + 4, &self.word(flag | member.id));
        self.sink.replace(at + 8, &self.word(len));
        Ok(())
    }

    fn halves(&self, first: u16, second: u16) -> [u8; 4] {
        match self.encoding.endianness {
            Endianness::Big => (u32::from(first) << 16 | u32::from(second)).to_be_bytes(),
            Endianness::Little => (u32::from(second) << 16 | u32::from(first)).to_le_bytes(),
        }
    }

    /// A member with an EMHEADER.
    fn delimited_member<T: Written>(&mut self, member: &Member, value: &T) -> Result<(), EncodeError> {
        let flag = if member.must_understand { EMHEADER_MUST_UNDERSTAND } else { 0 };
        let code = T::LENGTH_CODE;
        self.u32(flag | (code as u32) << 28 | (member.id & MEMBER_ID_MASK))?;
        if code != LengthCode::NextInt {
            return value.write(self);
        }
        let at = self.reserve_length()?;
        value.write(self)?;
        self.set_length(at)
    }
}
