//! Types of members, other names for them, and array dimensions.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::annotation::Annotations;
use super::{MAX_NESTING, MAX_VALUES, Parser, Result};
use crate::idl::Declared;
use crate::idl::lexer::Token;
use crate::idl::scope::Meaning;
use wire::schema::{Alias, Definition, Primitive, Type, TypeIndex};

/// Most collections and their elements that a type without other names may have.
const MAX_PARTS: usize = 1024;

/// How large the description of a type is.
struct Extent {
    /// Collections and what is in them.
    parts: usize,
    /// Collections in each other.
    depth: usize,
}

impl Parser {
    /// `typedef long Meters[3], Feet;`
    pub(super) fn typedef(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&[])?;
        let ty = self.type_spec(0)?;
        loop {
            let place = self.at;
            let (name, declared) = self.declarator(&ty)?;
            let plain = self.plain(&declared)?;
            let name_with_modules = self.names.qualified(&name);
            let index =
                self.schema.add(Definition::Alias(Alias { name: name_with_modules, declared, plain }));
            self.define_at(&name, Meaning::Type(Type::Named(index)), place)?;
            self.declare(Declared::Type(index), place);
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
        let ty = ty.clone();
        let ty = if dimensions.is_empty() { ty } else { Type::Array(Box::new(ty), dimensions) };
        Ok((name, ty))
    }

    /// The type without other names; refused if its values are large before anything is in them.
    pub(super) fn plain(&self, declared: &Type) -> Result<Type> {
        let extent = self.extent(declared);
        if extent.depth > MAX_NESTING || extent.parts > MAX_PARTS {
            return Err(self.error_before(format!(
                "collections are nested deeper than {MAX_NESTING}, or have more than {MAX_PARTS} parts"
            )));
        }
        let plain = self.schema.plain(declared);
        if let Type::Array(_, dimensions) = &plain
            && dimensions.len() > MAX_NESTING
        {
            return Err(self.error_before(format!("an array has more than {MAX_NESTING} dimensions")));
        }
        self.check_size(&plain)?;
        Ok(plain)
    }

    /// How large the description of a type is without other names, which can stand for much.
    fn extent(&self, ty: &Type) -> Extent {
        let (parts, depth) = match ty {
            Type::Primitive(_) | Type::Text(_) | Type::WideText(_) => return Extent { parts: 1, depth: 0 },
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Alias(alias)) => return self.extent(&alias.plain),
                _ => return Extent { parts: 1, depth: 0 },
            },
            Type::Sequence(element, _) | Type::Array(element, _) => {
                let element = self.extent(element);
                (element.parts, element.depth)
            }
            Type::Map(key, value, _) => {
                let (key, value) = (self.extent(key), self.extent(value));
                (key.parts.saturating_add(value.parts), key.depth.max(value.depth))
            }
        };
        Extent { parts: parts.saturating_add(1), depth: depth + 1 }
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
                        return Err(self.error(
                            "long double is not read: Rust has no floating-point number of 128 bits; use double",
                        ));
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

    pub(super) fn bound(&mut self) -> Result<u32> {
        let was_in_brackets = core::mem::replace(&mut self.in_brackets, true);
        let bound = self.integer(0);
        self.in_brackets = was_in_brackets;
        let bound = bound?;
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
        if wire::schema::cost(&self.schema, ty).values <= MAX_VALUES {
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
        "octet" => Primitive::Octet,
        "uint8" => Primitive::U8,
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
