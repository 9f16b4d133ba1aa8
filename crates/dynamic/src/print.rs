//! From values to text: JSON in one line.
use core::fmt;

use alloc::string::ToString;

use crate::bitset;
use crate::decode::label;
use crate::encode::from_label;
use crate::value::Value;
use wire::schema::{Definition, Primitive, Schema, Type};

/// Writes a value. What JSON has no word for is a string: `"NaN"`, `"Infinity"`, `"-Infinity"`.
pub(crate) fn value(f: &mut fmt::Formatter<'_>, schema: &Schema, ty: &Type, value: &Value) -> fmt::Result {
    match (ty, value) {
        (_, Value::Absent) => f.write_str("null"),
        (Type::Array(element, dimensions), Value::List(_) | Value::Octets(_)) => {
            array(f, schema, element, dimensions, value, 0)
        }
        (Type::Sequence(element, _), Value::List(items)) => {
            list(f, items, |f, item| self::value(f, schema, element, item))
        }
        (Type::Map(key, of, _), Value::Map(entries)) => list_in(f, ['{', '}'], entries, |f, (one, other)| {
            self::key(f, schema, key, one)?;
            f.write_str(": ")?;
            self::value(f, schema, of, other)
        }),
        (Type::Named(index), _) => match (schema.get(*index), value) {
            (Some(Definition::Struct(of)), Value::Members(members)) => {
                let there = of.members.iter().zip(members).filter(|(_, value)| **value != Value::Absent);
                list_in(f, ['{', '}'], there, |f, (member, value)| {
                    member_name(f, &member.name)?;
                    self::value(f, schema, &member.ty, value)
                })
            }
            (Some(Definition::Union(of)), Value::Union(discriminator, inner)) => {
                f.write_str("{\"_d\": ")?;
                self::value(f, schema, &of.discriminator, &from_label(&of.discriminator, *discriminator))?;
                let case = of.case(*discriminator).and_then(|case| of.cases.get(case));
                if let (Some(case), Some(inner)) = (case, inner) {
                    f.write_str(", ")?;
                    member_name(f, &case.name)?;
                    self::value(f, schema, &case.ty, inner)?;
                }
                f.write_str("}")
            }
            (Some(Definition::Enumeration(of)), Value::Signed(number)) => {
                match of.literals.iter().find(|(_, value)| value == number) {
                    Some((name, _)) => quoted(f, name),
                    None => write!(f, "{number}"),
                }
            }
            (Some(Definition::Bitmask(of)), Value::Unsigned(bits)) => {
                let known = of.flags.iter().fold(0, |known, (_, position)| known | 1_u64 << position);
                if bits & !known != 0 {
                    return write!(f, "{bits}");
                }
                let set = of.flags.iter().filter(|(_, position)| bits >> position & 1 == 1);
                list_in(f, ['[', ']'], set, |f, (name, _)| quoted(f, name))
            }
            (Some(Definition::Bitset(of)), Value::Unsigned(bits)) => {
                let known = of.fields.iter().fold(0, |known, field| known | field.mask());
                if bits & !known != 0 {
                    return write!(f, "{bits}");
                }
                list_in(f, ['{', '}'], of.fields.iter(), |f, field| {
                    member_name(f, &field.name)?;
                    plain(f, &bitset::get(field, *bits))
                })
            }
            _ => f.write_str("null"),
        },
        (Type::Primitive(Primitive::WideChar), Value::Unsigned(unit)) => {
            units(f, &[u16::try_from(*unit).unwrap_or(0xfffd)])
        }
        _ => plain(f, value),
    }
}

/// Writes the key of an entry of a map: names of JSON are strings.
pub(crate) fn key(f: &mut fmt::Formatter<'_>, schema: &Schema, ty: &Type, value: &Value) -> fmt::Result {
    if matches!(value, Value::Text(_) | Value::WideText(_)) {
        return self::value(f, schema, ty, value);
    }
    quoted(f, &Shown { schema, ty, value }.to_string())
}

/// Writes the name of a member: in quotes if it is none of IDL, as a type that another participant tells may have.
pub(crate) fn name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.is_empty() && name.chars().all(is_word) { f.write_str(name) } else { quoted(f, name) }
}

fn member_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    quoted(f, name)?;
    f.write_str(": ")
}

/// A value of a type, to be shown.
struct Shown<'a> {
    schema: &'a Schema,
    ty: &'a Type,
    value: &'a Value,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        value(f, self.schema, self.ty, self.value)
    }
}

/// A value whose type makes no difference.
fn plain(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Boolean(value) => write!(f, "{value}"),
        Value::Signed(value) => write!(f, "{value}"),
        Value::Unsigned(value) => write!(f, "{value}"),
        Value::F32(value) if value.is_finite() => write!(f, "{value:?}"),
        Value::F64(value) if value.is_finite() => write!(f, "{value:?}"),
        Value::F32(value) => endless(f, f64::from(*value)),
        Value::F64(value) => endless(f, *value),
        Value::Char(octet) if octet.is_ascii() => quoted(f, &char::from(*octet).to_string()),
        // Which character it is, is a matter of the sender's code page.
        Value::Char(_) => write!(f, "{}", label(value)),
        Value::Text(text) => quoted(f, text),
        Value::WideText(units) => self::units(f, units),
        Value::Octets(bytes) => list(f, bytes, |f, octet| write!(f, "{octet}")),
        _ => f.write_str("null"),
    }
}

fn endless(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    f.write_str(match (value.is_nan(), value > 0.0) {
        (true, _) => "\"NaN\"",
        (false, true) => "\"Infinity\"",
        (false, false) => "\"-Infinity\"",
    })
}

/// The dimensions from `depth` on of the part of an array that `value` is.
fn array(
    f: &mut fmt::Formatter<'_>,
    schema: &Schema,
    element: &Type,
    dimensions: &[u32],
    value: &Value,
    depth: usize,
) -> fmt::Result {
    let mut indices = Indices { f, schema, element, dimensions, value, next: 0 };
    indices.write(depth)
}

struct Indices<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    schema: &'a Schema,
    element: &'a Type,
    dimensions: &'a [u32],
    value: &'a Value,
    next: usize,
}

impl Indices<'_, '_> {
    fn write(&mut self, depth: usize) -> fmt::Result {
        let Some(dimension) = self.dimensions.get(depth) else {
            let at = self.next;
            self.next += 1;
            return match self.value {
                Value::Octets(bytes) => write!(self.f, "{}", bytes.get(at).copied().unwrap_or(0)),
                Value::List(items) => {
                    let item = items.get(at).unwrap_or(&Value::Absent);
                    value(self.f, self.schema, self.element, item)
                }
                _ => Ok(()),
            };
        };
        self.f.write_str("[")?;
        for index in 0..*dimension {
            if index > 0 {
                self.f.write_str(", ")?;
            }
            self.write(depth + 1)?;
        }
        self.f.write_str("]")
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    list_in(f, ['[', ']'], items, write)
}

fn list_in<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{open}")?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    write!(f, "{close}")
}

/// Characters that turn the direction of what follows, so that something else is seen than is there.
const fn turns_text(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    text.chars().try_for_each(|character| escaped(f, character))?;
    f.write_str("\"")
}

/// UTF-16 code units, also halves of pairs, which are no characters.
fn units(f: &mut fmt::Formatter<'_>, units: &[u16]) -> fmt::Result {
    f.write_str("\"")?;
    for decoded in char::decode_utf16(units.iter().copied()) {
        match decoded {
            Ok(character) => escaped(f, character)?,
            Err(half) => write!(f, "\\u{:04x}", half.unpaired_surrogate())?,
        }
    }
    f.write_str("\"")
}

fn escaped(f: &mut fmt::Formatter<'_>, character: char) -> fmt::Result {
    match character {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        // Also the controls of a terminal above ASCII: what is printed may come from anybody.
        control if control.is_control() || turns_text(control) => {
            write!(f, "\\u{:04x}", u32::from(control))
        }
        other => write!(f, "{other}"),
    }
}
