//! From bytes to values. Nothing here trusts a count or a length.
use super::member::{
    EMHEADER_MUST_UNDERSTAND, LONG_ID_MASK, LONG_MUST_UNDERSTAND, MEMBER_ID_MASK, Member, PID_EXTENDED,
    PID_LIST_END, SHORT_ID_MASK, SHORT_MUST_UNDERSTAND,
};
use super::{CdrType, DecodeError, DecodeFault, Encoding, Extensibility, MAX_DEPTH, Representation, Scope};
use crate::cursor::Endianness;

/// Most elements without bytes of their own that one payload may announce, in all its sequences together.
pub const MAX_EMPTY_ELEMENTS: usize = 65_536;

/// Reads one value. Alignment counts from the first byte after the encapsulation header.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    /// Ends where the innermost delimited part ends.
    bytes: &'a [u8],
    position: usize,
    /// Where alignment counts from.
    origin: usize,
    encoding: Encoding,
    scope: Scope,
    depth: usize,
    collections: usize,
    /// How many elements without bytes may still come.
    empty_elements: usize,
    /// The bound of the string or collection that is read next.
    bound: Option<usize>,
}

/// A part with its own end: what to go back to, and where.
#[must_use = "a part must be ended"]
#[derive(Debug)]
pub struct Part<'a> {
    /// The bytes around it, if it has an end of its own.
    outer: Option<&'a [u8]>,
    origin: usize,
    form: Form,
}

/// The header of a member of a mutable type, which has been read.
#[must_use = "a member must be read or skipped"]
#[derive(Debug)]
pub struct MemberHeader<'a> {
    id: u32,
    must_understand: bool,
    part: Part<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Plain,
    Appendable,
    Parameters,
    Members,
}

impl<'a> Decoder<'a> {
    /// Reads from `bytes`, which begin after the encapsulation header. With `Scope::Data` all members are expected,
    /// otherwise the key members.
    pub const fn new(bytes: &'a [u8], encoding: Encoding, scope: Scope) -> Self {
        Self {
            bytes,
            position: 0,
            origin: 0,
            encoding,
            scope,
            depth: 0,
            collections: 0,
            empty_elements: MAX_EMPTY_ELEMENTS,
            bound: None,
        }
    }

    /// Which members are expected.
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

    /// Bytes read so far.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Bytes left in the innermost delimited part.
    pub const fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// An error at the current position.
    pub const fn error(&self, fault: DecodeFault) -> DecodeError {
        DecodeError { fault, at: self.position, member: None }
    }

    /// Skips to a multiple of `alignment` (1, 2, 4 or 8); XCDR version 2 aligns to no more than 4.
    #[inline]
    pub fn align(&mut self, alignment: usize) -> Result<(), DecodeError> {
        let alignment = match self.encoding.representation {
            Representation::Xcdr1 => alignment,
            Representation::Xcdr2 => alignment.min(4),
        };
        let skip = self.position.wrapping_sub(self.origin).wrapping_neg() & alignment.wrapping_sub(1);
        self.octets(skip).map(|_| ())
    }

    /// Reads `len` bytes as they are.
    #[inline]
    pub fn octets(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let Some(octets) = self.bytes.get(self.position..).and_then(|rest| rest.get(..len)) else {
            return Err(self.error(DecodeFault::Truncated));
        };
        self.position += len;
        Ok(octets)
    }

    /// Reads `N` bytes, aligned to `N` (1, 2, 4 or 8).
    #[inline]
    pub fn word<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.align(N)?;
        let Some(bytes) = self.bytes.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) else {
            return Err(self.error(DecodeFault::Truncated));
        };
        self.position += N;
        Ok(*bytes)
    }

    /// Reads two bytes, aligned.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        let bytes = self.word()?;
        Ok(match self.encoding.endianness {
            Endianness::Big => u16::from_be_bytes(bytes),
            Endianness::Little => u16::from_le_bytes(bytes),
        })
    }

    /// Reads four bytes, aligned.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        let bytes = self.word()?;
        Ok(match self.encoding.endianness {
            Endianness::Big => u32::from_be_bytes(bytes),
            Endianness::Little => u32::from_le_bytes(bytes),
        })
    }

    /// Sets the bound of the string or collection that is read next.
    pub const fn expect_bound(&mut self, bound: usize) {
        self.bound = Some(bound);
    }

    /// Takes the bound that was set, before anything is read that could take it by mistake.
    pub const fn take_bound(&mut self) -> Option<usize> {
        self.bound.take()
    }

    /// Refuses more elements than the bound.
    pub const fn check_bound(&self, bound: Option<usize>, actual: usize) -> Result<(), DecodeError> {
        match bound {
            Some(bound) if actual > bound => Err(self.error(DecodeFault::OverBound { bound, actual })),
            _ => Ok(()),
        }
    }

    /// Reads a count of elements of at least `min` bytes each, and refuses one that cannot be true.
    pub fn count(&mut self, bound: Option<usize>, min: usize) -> Result<usize, DecodeError> {
        let announced = self.u32()?;
        let count = announced as usize;
        self.check_bound(bound, count)?;
        let most = self.remaining().checked_div(min).unwrap_or(self.empty_elements);
        if count > most {
            return Err(self.error(DecodeFault::ImpossibleCount(announced)));
        }
        if min == 0 {
            self.empty_elements -= count;
        }
        Ok(count)
    }

    /// The least bytes of an element of a collection.
    pub fn min_size<T: CdrType>(&self) -> usize {
        let min = match self.encoding.representation {
            Representation::Xcdr1 => const { T::SIZE_XCDR1.min() },
            Representation::Xcdr2 => const { T::SIZE_XCDR2.min() },
        };
        // A key alone takes less than the whole value.
        if self.scope == Scope::Data { min } else { min.min(1) }
    }

    /// How many of `count` elements may be given memory before they were seen: no more than 16 KiB and eight times
    /// the bytes that are left.
    pub fn reservation<T>(&self, count: usize) -> usize {
        let budget = self.remaining().saturating_mul(8).saturating_add(16 << 10);
        count.min(budget / size_of::<T>().max(1))
    }

    /// Begins a collection; in XCDR version 2 with a DHEADER, unless its elements are primitive.
    pub fn begin_collection(&mut self, primitive: bool) -> Result<Part<'a>, DecodeError> {
        self.collections += 1;
        if primitive || self.encoding.representation == Representation::Xcdr1 {
            return Ok(Part { outer: None, origin: self.origin, form: Form::Plain });
        }
        self.delimited(Form::Plain)
    }

    /// Ends a collection.
    pub fn end_collection(&mut self, part: Part<'a>) {
        self.collections = self.collections.saturating_sub(1);
        self.leave(part);
    }

    /// Begins a structure or union.
    #[inline]
    pub fn begin(&mut self, extensibility: Extensibility) -> Result<Part<'a>, DecodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(DecodeFault::TooDeep));
        }
        self.depth += 1;
        let form = match (extensibility, self.encoding.representation) {
            (_, _) if self.scope == Scope::KeyHash => Form::Plain,
            (Extensibility::Final, _) => Form::Plain,
            (Extensibility::Appendable, Representation::Xcdr1) => Form::Appendable,
            (Extensibility::Mutable, Representation::Xcdr1) => Form::Parameters,
            (Extensibility::Appendable, Representation::Xcdr2) => return self.delimited(Form::Appendable),
            (Extensibility::Mutable, Representation::Xcdr2) => return self.delimited(Form::Members),
        };
        Ok(Part { outer: None, origin: self.origin, form })
    }

    /// Ends a structure or union. Members that are unknown here are skipped.
    #[inline]
    pub fn end(&mut self, part: Part<'a>) {
        self.depth = self.depth.saturating_sub(1);
        self.leave(part);
    }

    /// Reads a member that follows without a header, or sets it to its initial value if the sender has none.
    #[inline]
    pub fn member<T: CdrType>(
        &mut self,
        part: &Part<'a>,
        member: &Member,
        value: &mut T,
    ) -> Result<(), DecodeError> {
        if self.ended(part) {
            *value = T::initial();
            return Ok(());
        }
        let before = self.at_padding(part);
        self.bound = member.bound;
        match value.decode_into(self) {
            Err(error) => self.absent(before, error, member).map(|()| *value = T::initial()),
            Ok(()) => Ok(()),
        }
    }

    /// Reads an optional member of a type that is not mutable.
    pub fn optional<T: CdrType>(
        &mut self,
        part: &Part<'a>,
        member: &Member,
        value: &mut Option<T>,
    ) -> Result<(), DecodeError> {
        if self.ended(part) {
            *value = None;
            return Ok(());
        }
        let before = self.at_padding(part);
        match self.optional_value(member, value) {
            Err(error) => self.absent(before, error, member).map(|()| *value = None),
            Ok(()) => Ok(()),
        }
    }

    /// Reads the header of the next member of a mutable type; `None` after the last.
    pub fn next_member(&mut self, part: &Part<'a>) -> Result<Option<MemberHeader<'a>>, DecodeError> {
        match part.form {
            Form::Parameters => self.parameter_header(),
            Form::Members if self.remaining() == 0 => Ok(None),
            Form::Members => self.member_header().map(Some),
            Form::Plain | Form::Appendable => Ok(None),
        }
    }

    /// Reads the value of a member of a mutable type.
    pub fn value<T: CdrType>(
        &mut self,
        header: MemberHeader<'a>,
        member: &Member,
        value: &mut T,
    ) -> Result<(), DecodeError> {
        self.bound = member.bound;
        // A member has an end of its own, after which no element of a collection around it comes.
        let collections = core::mem::replace(&mut self.collections, 0);
        value.decode_into(self).map_err(|error| error.in_member(member.name))?;
        self.collections = collections;
        self.leave(header.part);
        Ok(())
    }

    /// Skips a member that is unknown here, unless it must be understood.
    pub fn skip(&mut self, header: MemberHeader<'a>) -> Result<(), DecodeError> {
        if header.must_understand {
            return Err(self.error(DecodeFault::MustUnderstand(header.id)));
        }
        self.leave(header.part);
        Ok(())
    }

    /// Reads the discriminator or the value of a union.
    pub fn member_of_union<T: CdrType>(
        &mut self,
        part: &Part<'a>,
        member: &Member,
        value: &mut T,
    ) -> Result<(), DecodeError> {
        if matches!(part.form, Form::Plain | Form::Appendable) {
            return self.member(part, member, value);
        }
        while let Some(header) = self.next_member(part)? {
            if header.id == member.id {
                return self.value(header, member, value);
            }
            self.skip(header)?;
        }
        Err(self.error(DecodeFault::Truncated).in_member(member.name))
    }

    /// Ends a union. Members that are unknown here are skipped.
    pub fn end_union(&mut self, part: Part<'a>) -> Result<(), DecodeError> {
        while let Some(header) = self.next_member(&part)? {
            self.skip(header)?;
        }
        self.end(part);
        Ok(())
    }

    /// True if the sender's version of an appendable type ends here: later members keep their initial value.
    #[inline]
    fn ended(&self, part: &Part<'a>) -> bool {
        // Without a DHEADER the end can only be seen at the end of the payload, where no element can follow.
        part.form == Form::Appendable
            && self.position >= self.bytes.len()
            && (part.outer.is_some() || self.collections == 0)
    }

    /// The state before a member that may be missing, if what is left may be nothing but padding of the payload:
    /// not every sender announces padding in the options. Only types that have no DHEADER are in doubt.
    #[inline]
    fn at_padding(&self, part: &Part<'a>) -> Option<Self> {
        let doubt = part.form == Form::Appendable && part.outer.is_none() && self.collections == 0;
        (doubt && self.remaining() < 4 && self.bytes.len().is_multiple_of(4)).then(|| self.clone())
    }

    /// Passes an error on, unless the member is missing: nothing but padding is in its place.
    fn absent(
        &mut self,
        before: Option<Self>,
        error: DecodeError,
        member: &Member,
    ) -> Result<(), DecodeError> {
        if let Some(before) = before
            && before.bytes.iter().skip(before.position).all(|octet| *octet == 0)
        {
            *self = before;
            self.position = self.bytes.len();
            return Ok(());
        }
        Err(error.in_member(member.name))
    }

    /// Begins a part that starts with its length.
    fn delimited(&mut self, form: Form) -> Result<Part<'a>, DecodeError> {
        let len = self.u32()?;
        let mut part = self.enter(len)?;
        part.form = form;
        Ok(part)
    }

    /// Begins a part of `len` bytes.
    fn enter(&mut self, len: u32) -> Result<Part<'a>, DecodeError> {
        let inner = self.position.checked_add(len as usize).and_then(|end| self.bytes.get(..end));
        let Some(inner) = inner else { return Err(self.error(DecodeFault::Truncated)) };
        let outer = core::mem::replace(&mut self.bytes, inner);
        Ok(Part { outer: Some(outer), origin: self.origin, form: Form::Plain })
    }

    fn leave(&mut self, part: Part<'a>) {
        if let Some(outer) = part.outer {
            self.position = self.bytes.len();
            self.bytes = outer;
        }
        self.origin = part.origin;
    }

    fn optional_value<T: CdrType>(
        &mut self,
        member: &Member,
        value: &mut Option<T>,
    ) -> Result<(), DecodeError> {
        let header = match self.encoding.representation {
            Representation::Xcdr1 => {
                let Some(header) = self.parameter_header()? else {
                    return Err(self.error(DecodeFault::BadParameterHeader));
                };
                if header.id != member.id {
                    return Err(self.error(DecodeFault::UnexpectedMember(header.id)));
                }
                if self.remaining() == 0 {
                    *value = None;
                    self.leave(header.part);
                    return Ok(());
                }
                Some(header)
            }
            Representation::Xcdr2 => {
                if !bool::decode(self)? {
                    *value = None;
                    return Ok(());
                }
                None
            }
        };
        self.bound = member.bound;
        value.get_or_insert_with(T::initial).decode_into(self)?;
        if let Some(header) = header {
            self.leave(header.part);
        }
        Ok(())
    }

    /// A parameter header of XCDR version 1; `None` at the end of the list (XTypes 1.3, 7.4.1.2).
    fn parameter_header(&mut self) -> Result<Option<MemberHeader<'a>>, DecodeError> {
        self.align(4)?;
        let word = self.u16()?;
        let short_len = self.u16()?;
        let (id, must_understand, len) = match word & SHORT_ID_MASK {
            PID_LIST_END => return Ok(None),
            PID_EXTENDED => {
                if short_len != 8 {
                    return Err(self.error(DecodeFault::BadParameterHeader));
                }
                let word = self.u32()?;
                (word & LONG_ID_MASK, word & LONG_MUST_UNDERSTAND != 0, self.u32()?)
            }
            id => (u32::from(id), word & SHORT_MUST_UNDERSTAND != 0, u32::from(short_len)),
        };
        let part = self.enter(len)?;
        self.origin = self.position;
        Ok(Some(MemberHeader { id, must_understand, part }))
    }

    /// An EMHEADER (XTypes 1.3, 7.4.3.4.2).
    fn member_header(&mut self) -> Result<MemberHeader<'a>, DecodeError> {
        let word = self.u32()?;
        let code = word >> 28 & 7;
        let len = match code {
            0..=3 => Some(1 << code),
            4 => Some(self.u32()?),
            _ => {
                // The length is the first word of the value itself.
                let start = self.position;
                let own = self.u32()?;
                self.position = start;
                own.checked_mul(match code {
                    5 => 1,
                    6 => 4,
                    _ => 8,
                })
                .and_then(|len| len.checked_add(4))
            }
        };
        let Some(len) = len else { return Err(self.error(DecodeFault::Truncated)) };
        let must_understand = word & EMHEADER_MUST_UNDERSTAND != 0;
        Ok(MemberHeader { id: word & MEMBER_ID_MASK, must_understand, part: self.enter(len)? })
    }
}

impl MemberHeader<'_> {
    /// The member id.
    pub const fn id(&self) -> u32 {
        self.id
    }
}
