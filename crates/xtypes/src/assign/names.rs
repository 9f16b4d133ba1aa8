//! How types that differ are told to people.
use alloc::format;
use alloc::string::{String, ToString};

use super::{Difference, Judge, MAX_DEPTH, Obstacle, Resolved, bound, dimensions, element, key};
use crate::identifier::{TypeIdentifier, kind};
use crate::shape::{Change, Shape};

impl Judge<'_> {
    /// A difference in the place where the comparison is.
    pub(super) fn differ(&self, written: impl Into<String>, read: impl Into<String>) -> Obstacle {
        let mut path = String::new();
        for step in &self.path {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        Obstacle::Difference(Difference { path, written: written.into(), read: read.into() })
    }

    pub(super) fn differ_types(&mut self, read: &Resolved, written: &Resolved) -> Obstacle {
        let (read, written) = (self.name(read), self.name(written));
        self.differ(written, read)
    }

    pub(super) fn differ_change(&self, read: Change, written: Change) -> Obstacle {
        self.differ(written.name(), read.name())
    }

    /// A type as IDL has it.
    pub(super) fn name(&mut self, of: &Resolved) -> String {
        match of {
            Resolved::Object(_, shape) => match &**shape {
                Shape::Struct(_) => "a structure".to_string(),
                Shape::Union(_) => "a union".to_string(),
                Shape::Enumeration(_) => "an enumeration".to_string(),
                Shape::Bitmask { bit_bound } => format!("a bitmask of {bit_bound} bits"),
                Shape::Bitset(fields) => format!("a bitset of {} fields", fields.len()),
                Shape::Alias(_) => "another name".to_string(),
            },
            Resolved::Plain(plain) => self.plain_name(plain, 0),
        }
    }

    fn plain_name(&mut self, of: &TypeIdentifier, depth: usize) -> String {
        if depth > MAX_DEPTH {
            return "…".to_string();
        }
        let bounded = || match bound(of) {
            u32::MAX => String::new(),
            bound => format!(", {bound}"),
        };
        match of {
            TypeIdentifier::Plain(kind, _) => primitive(*kind).to_string(),
            TypeIdentifier::String(_) | TypeIdentifier::LargeString(_) => text("string", bound(of)),
            TypeIdentifier::WideString(_) | TypeIdentifier::LargeWideString(_) => text("wstring", bound(of)),
            _ => {
                let part = |judge: &mut Self, part: Option<&TypeIdentifier>| match part {
                    Some(part) => match judge.resolve(part) {
                        Ok(Resolved::Plain(plain)) => judge.plain_name(&plain, depth + 1),
                        Ok(resolved) => judge.name(&resolved),
                        Err(_) => "a type".to_string(),
                    },
                    None => String::new(),
                };
                let inner = part(self, element(of));
                match (key(of), dimensions(of).as_slice()) {
                    (Some(key), _) => {
                        let key = part(self, Some(key));
                        format!("map<{key}, {inner}{}>", bounded())
                    }
                    (None, []) => format!("sequence<{inner}{}>", bounded()),
                    (None, dimensions) => {
                        dimensions.iter().fold(inner, |name, dimension| format!("{name}[{dimension}]"))
                    }
                }
            }
        }
    }
}

fn text(name: &str, bound: u32) -> String {
    if bound == u32::MAX { name.to_string() } else { format!("{name}<{bound}>") }
}

const fn primitive(of: u8) -> &'static str {
    match of {
        kind::NONE => "nothing",
        kind::BOOLEAN => "boolean",
        kind::BYTE => "octet",
        kind::INT8 => "int8",
        kind::UINT8 => "uint8",
        kind::INT16 => "int16",
        kind::UINT16 => "uint16",
        kind::INT32 => "int32",
        kind::UINT32 => "uint32",
        kind::INT64 => "int64",
        kind::UINT64 => "uint64",
        kind::FLOAT32 => "float",
        kind::FLOAT64 => "double",
        kind::CHAR8 => "char",
        kind::CHAR16 => "wchar",
        _ => "a type of another kind",
    }
}
