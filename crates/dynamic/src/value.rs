//! Values of types that are described at run time.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use wire::cdr::{EncodeError, Encoding};

use crate::decode::{self, Unreadable};
use crate::encode;
use crate::lines;
use crate::print;
use crate::read::{self, TextError};
use wire::schema::{Definition, Primitive, Schema, Type, TypeIndex, is_octets, length};

/// A value. The maker of a value sees to it that it fits its type: [`Sample`] holds only those that do.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An optional member that is not there, or a member that a key alone does not have.
    Absent,
    /// boolean
    Boolean(bool),
    /// A signed integer, enumerator or discriminator.
    Signed(i64),
    /// An unsigned integer, octet, wide character or bitmask.
    Unsigned(u64),
    /// float
    F32(f32),
    /// double
    F64(f64),
    /// char: one byte
    Char(u8),
    /// A string.
    Text(String),
    /// A wide string.
    WideText(Vec<u16>),
    /// A sequence or array of bytes.
    Octets(Vec<u8>),
    /// A sequence or array of anything else; of several dimensions in their order.
    List(Vec<Value>),
    /// A map.
    Map(Vec<(Value, Value)>),
    /// The members of a structure, in the order of its definition.
    Members(Vec<Value>),
    /// A union: discriminator, and the value of its case if there is one.
    Union(i64, Option<Box<Value>>),
}

/// A sample, or the key of one: a type and a value that fits it.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    schema: Arc<Schema>,
    index: TypeIndex,
    value: Value,
}

impl Sample {
    /// Reads a serialized payload, or a serialized key if `is_key`: other members are [`Value::Absent`] then.
    ///
    /// # Errors
    /// What the octets have that does not fit the type, and in which member.
    pub fn decode(
        schema: &Arc<Schema>,
        index: TypeIndex,
        payload: &[u8],
        is_key: bool,
    ) -> Result<Self, Unreadable> {
        let value = decode::payload(schema, index, payload, is_key)?;
        Ok(Self { schema: Arc::clone(schema), index, value })
    }

    /// Reads a text, as [`fmt::Display`] or [`Self::lines`] write it, and more freely: quotes around words and commas at line ends may be
    /// left out.
    /// Members that are not named have their initial values.
    ///
    /// # Errors
    /// What does not fit the type, where, and what would.
    pub fn read(schema: &Arc<Schema>, index: TypeIndex, text: &str) -> Result<Self, TextError> {
        let value = read::text(schema, index, text)?;
        Ok(Self { schema: Arc::clone(schema), index, value })
    }

    /// Appends the serialized payload: encapsulation header, value, padding.
    ///
    /// # Errors
    /// A string or collection is longer than its type allows.
    pub fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode::payload(&self.schema, self.index, &self.value, encoding, out)
    }

    /// The sample as text for people: a member a line, without a line break at the end. No line begins with `#` or `---`.
    pub const fn lines(&self) -> impl fmt::Display {
        Lines(self)
    }

    /// The value.
    pub const fn value(&self) -> &Value {
        &self.value
    }
}

struct Lines<'a>(&'a Sample);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lines::sample(f, &self.0.schema, self.0.index, &self.0.value)
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::value(f, &self.schema, &Type::Named(self.index), &self.value)
    }
}

/// The value of what was not sent (XTypes 1.3, table 9). Types are complete, and their initial values of a limited size, so that
/// this ends.
pub(crate) fn initial(schema: &Schema, ty: &Type) -> Value {
    match ty {
        Type::Primitive(kind) => match kind {
            Primitive::Boolean => Value::Boolean(false),
            Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => Value::Signed(0),
            Primitive::U8
            | Primitive::Octet
            | Primitive::U16
            | Primitive::U32
            | Primitive::U64
            | Primitive::WideChar => Value::Unsigned(0),
            Primitive::F32 => Value::F32(0.0),
            Primitive::F64 => Value::F64(0.0),
            Primitive::Char => Value::Char(0),
        },
        Type::Text(_) => Value::Text(String::new()),
        Type::WideText(_) => Value::WideText(Vec::new()),
        Type::Sequence(element, _) if is_octets(element) => Value::Octets(Vec::new()),
        Type::Sequence(..) => Value::List(Vec::new()),
        Type::Array(element, dimensions) if is_octets(element) => Value::Octets(vec![0; length(dimensions)]),
        Type::Array(element, dimensions) => Value::List(vec![initial(schema, element); length(dimensions)]),
        Type::Map(..) => Value::Map(Vec::new()),
        Type::Named(index) => match schema.get(*index) {
            Some(Definition::Struct(structure)) => {
                let members = structure.members.iter();
                Value::Members(
                    members
                        .map(
                            |member| {
                                if member.optional { Value::Absent } else { initial(schema, &member.ty) }
                            },
                        )
                        .collect(),
                )
            }
            Some(Definition::Union(union)) => {
                let label = union.cases.first().and_then(|case| case.labels.first()).copied().unwrap_or(0);
                let case = union.case(label).and_then(|case| union.cases.get(case));
                Value::Union(label, case.map(|case| Box::new(initial(schema, &case.ty))))
            }
            Some(Definition::Enumeration(enumeration)) => Value::Signed(enumeration.default),
            Some(Definition::Bitmask(_) | Definition::Bitset(_)) => Value::Unsigned(0),
            Some(Definition::Alias(alias)) => initial(schema, &alias.plain),
            None => Value::Absent,
        },
    }
}
