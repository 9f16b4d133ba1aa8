//! Bitsets (IDL 4.2, 7.4.13.4.3.2): an integer whose bits are several numbers.
use alloc::format;
use alloc::vec::Vec;

use super::annotation::Annotations;
use super::{Parser, Result};
use crate::idl::lexer::Token;
use wire::schema::{Bitfield, Bitset, Definition, Primitive, Type};

/// Bits of the largest bitset.
const MOST_BITS: u8 = 64;

impl Parser {
    /// `bitset Status : Base { bitfield<3> mode; bitfield<1>; bitfield<4, short> a, b; };`
    pub(super) fn bitset(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&["final", "appendable", "mutable", "extensibility"])?;
        let place = self.at;
        let name = self.name("a bitset")?;
        let (mut fields, mut next): (Vec<Bitfield>, u8) = (Vec::new(), 0);
        if self.take(':') {
            let base = self.type_spec(0)?;
            let Some(Definition::Bitset(base)) = self.definition_of(&base) else {
                return Err(self.error_before("the base of a bitset is a bitset"));
            };
            next = base.fields.iter().map(|field| field.position + field.width).max().unwrap_or(0);
            fields.clone_from(&base.fields);
        }
        self.sign('{')?;
        while !self.take('}') {
            self.bitfield(&mut fields, &mut next)?;
        }
        if next == 0 {
            return Err(self.error_before("a bitset has a bitfield<…>"));
        }
        let bits = match next {
            ..=8 => 8,
            9..=16 => 16,
            17..=32 => 32,
            _ => 64,
        };
        let index =
            self.schema.add(Definition::Bitset(Bitset { name: self.names.qualified(&name), bits, fields }));
        self.define_type(&name, index, place)
    }

    fn bitfield(&mut self, fields: &mut Vec<Bitfield>, next: &mut u8) -> Result<()> {
        self.annotations()?.allow(&[])?;
        let at = self.at;
        if self.word("bitfield<bits> name")? != "bitfield" {
            return Err(self.error_at(at, "expected bitfield<bits> name"));
        }
        self.sign('<')?;
        let width = self.bound()?;
        let width = u8::try_from(width).ok().filter(|width| *width <= MOST_BITS);
        let width =
            width.ok_or_else(|| self.error_before(format!("a bitfield has 1 to {MOST_BITS} bits")))?;
        let ty = if self.take(',') { self.bitfield_type(width)? } else { smallest(width) };
        self.sign('>')?;
        let mut take = |parser: &Self| {
            let position = *next;
            *next = position
                .checked_add(width)
                .filter(|end| *end <= MOST_BITS)
                .ok_or_else(|| parser.error_before(format!("a bitset has at most {MOST_BITS} bits")))?;
            Ok(position)
        };
        if *self.peek() == Token::Sign(';') {
            // Bits that nothing is in.
            take(self)?;
            return self.sign(';');
        }
        loop {
            let name = self.name("a bitfield")?;
            if fields.iter().any(|field| field.name == name) {
                return Err(self.error_before(format!("{name} is there already")));
            }
            fields.push(Bitfield { name, position: take(self)?, width, ty });
            if !self.take(',') {
                return self.sign(';');
            }
        }
    }

    fn bitfield_type(&mut self, width: u8) -> Result<Primitive> {
        let ty = self.type_spec(0)?;
        let (most, ty) = match self.schema.plain(&ty) {
            Type::Primitive(Primitive::Boolean) => (1, Primitive::Boolean),
            Type::Primitive(of)
                if !matches!(of, Primitive::F32 | Primitive::F64 | Primitive::Char | Primitive::WideChar) =>
            {
                (of.size() * 8, of)
            }
            _ => return Err(self.error_before("the type of a bitfield is boolean or an integer")),
        };
        if usize::from(width) > most {
            return Err(self.error_before(format!(
                "the type of the bitfield has {most} bits, and {width} are asked for"
            )));
        }
        Ok(ty)
    }
}

/// The type of a bitfield for which none is given.
const fn smallest(width: u8) -> Primitive {
    match width {
        1 => Primitive::Boolean,
        2..=8 => Primitive::U8,
        9..=16 => Primitive::U16,
        17..=32 => Primitive::U32,
        _ => Primitive::U64,
    }
}
