//! `#pragma keylist`, by which older IDL says what the key is.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Parser, Result};
use crate::idl::scope::Meaning;
use wire::schema::{Definition, Struct, Type, TypeIndex};

impl Parser {
    /// Makes exactly these members of a struct its key.
    pub(super) fn key_list(&mut self, of: &str, keys: &[String]) -> Result<()> {
        let of = of.replace('.', "::");
        let wrong = |parser: &Self, what: String| parser.error_before(format!("#pragma keylist: {what}"));
        let index = match self.names.resolve(&of) {
            Some(Meaning::Type(Type::Named(index))) => *index,
            _ => return Err(wrong(self, format!("there is no struct {of} before it"))),
        };
        let Some(Definition::Struct(found)) = self.schema.get(index) else {
            return Err(wrong(self, format!("there is no struct {of} before it")));
        };
        let mut changed: Struct = found.clone();
        // The size of its key is part of theirs.
        if self.schema.iter().any(|(_, definition)| is_in(index, definition)) {
            return Err(wrong(
                self,
                format!("{of} is part of another type already; put the line behind {of}"),
            ));
        }
        changed.members.iter_mut().for_each(|member| member.key = false);
        for key in keys {
            if let Some((outer, inner)) = key.split_once('.') {
                let advice = format!("put @key before {outer}, and before {inner} in its type");
                return Err(wrong(self, format!("members of members are not read; {advice}")));
            }
            let Some(member) = changed.members.iter_mut().find(|member| member.name == *key) else {
                let names: Vec<&str> = changed.members.iter().map(|member| member.name.as_str()).collect();
                return Err(wrong(self, format!("{of} has no member {key}; it has {}", names.join(", "))));
            };
            if member.optional {
                return Err(wrong(self, format!("{key} is @optional, and cannot be a key")));
            }
            member.key = true;
        }
        let Struct { name, extensibility, base, remarks, members, .. } = changed;
        let changed = Struct { remarks, ..Struct::new(&self.schema, name, extensibility, base, members) };
        self.schema.replace(index, Definition::Struct(changed));
        Ok(())
    }
}

/// True if values of the definition contain some of the type at `index`.
fn is_in(index: TypeIndex, definition: &Definition) -> bool {
    fn is_of(index: TypeIndex, ty: &Type) -> bool {
        match ty {
            Type::Named(found) => *found == index,
            Type::Sequence(element, _) | Type::Array(element, _) => is_of(index, element),
            Type::Map(key, value, _) => is_of(index, key) || is_of(index, value),
            Type::Primitive(_) | Type::Text(_) | Type::WideText(_) => false,
        }
    }
    match definition {
        Definition::Struct(of) => of.members.iter().any(|member| is_of(index, &member.ty)),
        Definition::Union(of) => of.cases.iter().any(|case| is_of(index, &case.ty)),
        Definition::Alias(of) => is_of(index, &of.plain),
        Definition::Enumeration(_) | Definition::Bitmask(_) | Definition::Bitset(_) => false,
    }
}
