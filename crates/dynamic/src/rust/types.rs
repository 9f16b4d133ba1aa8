//! Types of members as types of Rust.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Result, Writer, graph, names};
use wire::schema::{Alias, Definition, Primitive, Type, TypeIndex};

/// The type of a member, and what is said of it besides.
pub(super) struct Field {
    pub(super) ty: String,
    /// Parts of `#[dds(…)]`.
    pub(super) said: Vec<String>,
}

impl Writer<'_> {
    /// The type of a member of the type at `owner`: around it a `Box` if it is external.
    pub(super) fn field(
        &self,
        owner: TypeIndex,
        declared: &Type,
        external: bool,
        inside: &[&str],
    ) -> Result<Field> {
        let mut said = Vec::new();
        let bound = match declared {
            Type::Text(bound) | Type::WideText(bound) | Type::Sequence(_, bound) | Type::Map(_, _, bound) => {
                *bound
            }
            _ => None,
        };
        let ty = if external {
            format!("Box<{}>", self.ty(declared, inside)?)
        } else if let Some(bound) = bound {
            said.push(format!("bound = {bound}"));
            self.ty(&unbound(declared), inside)?
        } else {
            self.ty(declared, inside)?
        };
        if self.graph.is_recursive(owner, declared) {
            said.push("recursive".to_string());
        }
        if has_octets(declared)? {
            said.push("octet".to_string());
        }
        Ok(Field { ty, said })
    }

    /// Another name for a type.
    pub(super) fn alias(&mut self, index: TypeIndex, of: &Alias, name: &str, inside: &[&str]) -> Result<()> {
        let ty = self.ty(&of.declared, inside)?;
        let octet = if has_octets(&of.declared)? { "#[dds(octet)] " } else { "" };
        let mut traits = Vec::from(["Clone", "PartialEq", "Debug"]);
        if self.is_copy(&of.plain) {
            traits.insert(1, "Copy");
        }
        self.comparable(index, &of.declared, &mut traits);
        self.begin(&traits, &of.name, name, Vec::new());
        self.line(&format!("pub struct {name}({octet}pub {ty});"));
        self.default(name);
        Ok(())
    }

    /// Adds what equality and order need, if values of the type have them.
    pub(super) fn comparable(&self, index: TypeIndex, ty: &Type, traits: &mut Vec<&str>) {
        if !self.graph.is_floating(ty) {
            traits.extend(["Eq", "Hash"]);
            if self.graph.is_ordered(index) {
                traits.extend(["PartialOrd", "Ord"]);
            }
        }
    }

    fn is_copy(&self, plain: &Type) -> bool {
        match plain {
            Type::Primitive(_) => true,
            Type::Array(element, _) => self.is_copy(element),
            Type::Named(index) => matches!(
                self.schema.get(*index),
                Some(Definition::Enumeration(_) | Definition::Bitmask(_) | Definition::Bitset(_))
            ),
            _ => false,
        }
    }

    /// A type with its bounds.
    pub(super) fn ty(&self, ty: &Type, inside: &[&str]) -> Result<String> {
        let cdr = format!("{}::cdr", self.path);
        Ok(match ty {
            Type::Primitive(of) => self.primitive(*of),
            Type::Text(None) => "String".to_string(),
            Type::Text(Some(bound)) => format!("{cdr}::BoundedString<{bound}>"),
            Type::WideText(None) => format!("{cdr}::WString"),
            Type::WideText(Some(bound)) => format!("{cdr}::BoundedWString<{bound}>"),
            Type::Sequence(element, None) => format!("Vec<{}>", self.ty(element, inside)?),
            Type::Sequence(element, Some(bound)) => {
                format!("{cdr}::BoundedVec<{}, {bound}>", self.ty(element, inside)?)
            }
            Type::Array(element, dimensions) => {
                let element = self.ty(element, inside)?;
                dimensions.iter().rev().fold(element, |element, size| format!("[{element}; {size}]"))
            }
            Type::Map(key, value, bound) => {
                if self.graph.is_floating(key) {
                    return Err(
                        "a key of a map has numbers with a fraction in it, which have no order in Rust; use integers"
                            .to_string(),
                    );
                }
                let (key, value) = (self.ty(key, inside)?, self.ty(value, inside)?);
                match bound {
                    Some(bound) => format!("{cdr}::BoundedMap<{key}, {value}, {bound}>"),
                    None => format!("::std::collections::BTreeMap<{key}, {value}>"),
                }
            }
            Type::Named(index) => self.named(*index, inside),
        })
    }

    /// The path to a type.
    pub(super) fn named(&self, index: TypeIndex, inside: &[&str]) -> String {
        names::path(inside, self.schema.get(index).map_or("", Definition::name), names::ty)
    }

    fn primitive(&self, of: Primitive) -> String {
        match of {
            Primitive::Boolean => "bool",
            Primitive::U8 | Primitive::Octet => "u8",
            Primitive::I8 => "i8",
            Primitive::U16 => "u16",
            Primitive::I16 => "i16",
            Primitive::U32 => "u32",
            Primitive::I32 => "i32",
            Primitive::U64 => "u64",
            Primitive::I64 => "i64",
            Primitive::F32 => "f32",
            Primitive::F64 => "f64",
            Primitive::Char => return format!("{}::cdr::Char8", self.path),
            Primitive::WideChar => return format!("{}::cdr::Char16", self.path),
        }
        .to_string()
    }

    /// An integer as a value of a type: of a label, or of a constant.
    pub(super) fn number(&self, declared: &Type, value: i128, inside: &[&str]) -> Result<String> {
        Ok(match declared {
            Type::Primitive(Primitive::Boolean) => (value != 0).to_string(),
            Type::Primitive(of @ (Primitive::Char | Primitive::WideChar)) => {
                format!("{}({value})", self.primitive(*of))
            }
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Alias(of)) => {
                    format!("{}({})", self.named(*index, inside), self.number(&of.declared, value, inside)?)
                }
                Some(Definition::Enumeration(of)) => {
                    let literal = of.literals.iter().find(|(_, known)| i128::from(*known) == value);
                    let (literal, _) =
                        literal.ok_or_else(|| format!("{} has no literal {value}", of.name))?;
                    format!("{}::{}", self.named(*index, inside), names::value(literal))
                }
                _ => value.to_string(),
            },
            _ => value.to_string(),
        })
    }
}

/// The type without its own bound.
fn unbound(ty: &Type) -> Type {
    match ty {
        Type::Text(_) => Type::Text(None),
        Type::WideText(_) => Type::WideText(None),
        Type::Sequence(element, _) => Type::Sequence(element.clone(), None),
        Type::Map(key, value, _) => Type::Map(key.clone(), value.clone(), None),
        other => other.clone(),
    }
}

/// True if its bytes are octets of IDL; both are `u8` in Rust, and differ in type objects.
fn has_octets(ty: &Type) -> Result<bool> {
    let (mut octets, mut numbers) = (false, false);
    graph::walk(ty, false, &mut |part, _| match part {
        Type::Primitive(Primitive::Octet) => octets = true,
        Type::Primitive(Primitive::U8) => numbers = true,
        _ => {}
    });
    if octets && numbers {
        return Err(
            "octet and uint8 in one type are both u8 in Rust; use one of them, or a typedef".to_string()
        );
    }
    Ok(octets)
}
