//! Types of members, other names for them, and array dimensions.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::annotation::Annotations;
use super::{MAX_NESTING, MAX_VALUES, Parser, Result};
use crate::idl::lexer::Token;
use crate::idl::scope::Meaning;
use crate::schema::{Primitive, Type, TypeIndex};
use crate::size;

impl Parser {
    /// `typedef long Meters[3], Feet;`
    pub(super) fn typedef(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&[])?;
        let ty = self.type_spec(0)?;
        loop {
            let (name, ty) = self.declarator(&ty)?;
            self.check_size(&ty)?;
            self.define(&name, Meaning::Type(ty))?;
            if !self.take(',') {
                return Ok(());
            }
        }
    }

    /// A name with dimensions, as `matrix[3][4]`.
    pub(super) fn declarator(&mut self, ty: &Type) -> Result<(String, Type)> {
        let name = self.name("a member or type")?;
        let mut dimensions = Vec::new();
        while self.take('[') {
            let size = self.integer(0)?;
            let size = u32::try_from(size).ok().filter(|size| *size > 0);
            dimensions
                .push(size.ok_or_else(|| self.error_before("the size of an array is a number above 0"))?);
            self.sign(']')?;
        }
        let ty = match (dimensions.is_empty(), ty.clone()) {
            (true, ty) => ty,
            // An array of arrays is one array of several dimensions.
            (false, Type::Array(element, inner)) => {
                dimensions.extend(inner);
                Type::Array(element, dimensions)
            }
            (false, element) => Type::Array(Box::new(element), dimensions),
        };
        if let Type::Array(_, dimensions) = &ty
            && dimensions.len() > MAX_NESTING
        {
            return Err(self.error_before(format!("an array has more than {MAX_NESTING} dimensions")));
        }
        Ok((name, ty))
    }

    /// A type that is complete.
    pub(super) fn type_spec(&mut self, depth: usize) -> Result<Type> {
        match self.maybe_open_type(depth)? {
            Ok(ty) => Ok(ty),
            Err((_, name)) => Err(self.error_before(format!(
                "{name} is not described yet; only a sequence of it, or an @optional member, can be here"
            ))),
        }
    }

    /// A type that is complete, or the index and name of one that is not.
    pub(super) fn maybe_open_type(
        &mut self,
        depth: usize,
    ) -> Result<core::result::Result<Type, (TypeIndex, String)>> {
        if depth > MAX_NESTING {
            return Err(self.error(format!("collections are nested deeper than {MAX_NESTING}")));
        }
        if *self.peek() == Token::Sign(':') {
            return self.named();
        }
        let Token::Word(word) = self.peek().clone() else { return Err(self.expected("a type")) };
        if let Some(kind) = simple(&word) {
            self.advance();
            return Ok(Ok(Type::Primitive(kind)));
        }
        Ok(Ok(match word.as_str() {
            "unsigned" => {
                self.advance();
                Type::Primitive(match self.word("short or long")?.as_str() {
                    "short" => Primitive::U16,
                    "long" if self.word_after(0) == Some("long") => {
                        self.advance();
                        Primitive::U64
                    }
                    "long" => Primitive::U32,
                    other => return Err(self.error_before(format!("unsigned {other} is no type; unsigned short, unsigned long and unsigned long long are"))),
                })
            }
            "long" => {
                self.advance();
                Type::Primitive(match self.word_after(0) {
                    Some("long") => {
                        self.advance();
                        Primitive::I64
                    }
                    Some("double") => {
                        return Err(self.error("long double is not read; use double"));
                    }
                    _ => Primitive::I32,
                })
            }
            "string" => {
                self.advance();
                Type::Text(self.bound_in_brackets()?)
            }
            "wstring" => {
                self.advance();
                Type::WideText(self.bound_in_brackets()?)
            }
            "sequence" => self.sequence(depth)?,
            "map" => self.map(depth)?,
            "any" | "fixed" | "Object" | "ValueBase" => {
                return Err(self.error(format!("{word} has no place in samples of DDS")));
            }
            _ => return self.named(),
        }))
    }

    fn sequence(&mut self, depth: usize) -> Result<Type> {
        self.advance();
        self.sign('<')?;
        let inner_annotations = self.annotations()?;
        inner_annotations.allow(&[])?;
        let element = match self.maybe_open_type(depth + 1)? {
            Ok(ty) => ty,
            Err((index, _)) => Type::Named(index),
        };
        let bound = if self.take(',') { Some(self.bound()?) } else { None };
        self.sign('>')?;
        Ok(Type::Sequence(Box::new(element), bound))
    }

    fn map(&mut self, depth: usize) -> Result<Type> {
        self.advance();
        self.sign('<')?;
        let key = self.type_spec(depth + 1)?;
        self.sign(',')?;
        let value = self.type_spec(depth + 1)?;
        let bound = if self.take(',') { Some(self.bound()?) } else { None };
        self.sign('>')?;
        Ok(Type::Map(Box::new(key), Box::new(value), bound))
    }

    fn bound_in_brackets(&mut self) -> Result<Option<u32>> {
        if !self.take('<') {
            return Ok(None);
        }
        let bound = self.bound()?;
        self.sign('>')?;
        Ok(Some(bound))
    }

    fn bound(&mut self) -> Result<u32> {
        let bound = self.integer(0)?;
        let bound = u32::try_from(bound).ok().filter(|bound| *bound > 0);
        bound.ok_or_else(|| self.error_before("a bound is a number above 0, and at most 4294967295"))
    }

    fn named(&mut self) -> Result<core::result::Result<Type, (TypeIndex, String)>> {
        let name = self.scoped_name()?;
        match self.names.resolve(&name) {
            Some(Meaning::Type(ty)) => Ok(Ok(ty.clone())),
            Some(Meaning::Open(index)) => Ok(Err((*index, name))),
            Some(Meaning::Constant(_)) => {
                Err(self.error_before(format!("{name} is a constant, and no type")))
            }
            None => {
                Err(self.error_before(format!("the type {name} is not known; describe it before it is used")))
            }
        }
    }

    /// Refuses types whose values are large before anything is in them.
    pub(super) fn check_size(&self, ty: &Type) -> Result<()> {
        if size::cost(&self.schema, ty).values <= MAX_VALUES {
            return Ok(());
        }
        Err(self.error_before(format!(
            "a value of this type has more than {MAX_VALUES} parts; use sequences in place of large arrays"
        )))
    }
}

fn simple(word: &str) -> Option<Primitive> {
    Some(match word {
        "boolean" => Primitive::Boolean,
        "octet" | "uint8" => Primitive::U8,
        "int8" => Primitive::I8,
        "short" | "int16" => Primitive::I16,
        "uint16" => Primitive::U16,
        "int32" => Primitive::I32,
        "uint32" => Primitive::U32,
        "int64" => Primitive::I64,
        "uint64" => Primitive::U64,
        "float" => Primitive::F32,
        "double" => Primitive::F64,
        "char" => Primitive::Char,
        "wchar" => Primitive::WideChar,
        _ => return None,
    })
}
