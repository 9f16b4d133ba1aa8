//! From text to values: JSON, what `lines` writes, and what people type: `{sensor: 7, name: left wheel}`.
mod cursor;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use self::cursor::Cursor;
use crate::bitset;
use crate::decode::label;
use crate::encode::{signed, unsigned};
use crate::value::{Value, initial};
use wire::schema::{
    Bitset, Definition, Enumeration, Primitive, Schema, Struct, Type, TypeIndex, Union, is_octets, length,
};

/// Why a text is no value of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// How deep values may be nested: types may contain themselves.
const MAX_DEPTH: usize = 64;

type Result<T> = core::result::Result<T, TextError>;

/// Reads a value, and nothing after it.
pub(crate) fn text(schema: &Schema, index: TypeIndex, text: &str) -> Result<Value> {
    let mut cursor = Cursor::new(text);
    let ty = Type::Named(index);
    let reader = Reader { schema };
    cursor.skip_space();
    // The braces around the whole may be left out.
    let value = match schema.get(index) {
        Some(Definition::Struct(of)) if cursor.peek() != Some('{') => {
            reader.members(&mut cursor, of, None, 0)?
        }
        _ => reader.value(&mut cursor, &ty, 0)?,
    };
    cursor.skip_space();
    match cursor.peek() {
        None => Ok(value),
        Some(left) => Err(cursor.error(format!("expected the end of the text, found {left:?}"))),
    }
}

struct Reader<'a> {
    schema: &'a Schema,
}

impl Reader<'_> {
    fn value(&self, cursor: &mut Cursor<'_>, ty: &Type, depth: usize) -> Result<Value> {
        if depth > MAX_DEPTH {
            return Err(cursor.error(format!("values are nested deeper than {MAX_DEPTH}")));
        }
        cursor.skip_space();
        match ty {
            Type::Primitive(kind) => primitive(cursor, *kind),
            Type::Text(bound) => {
                let text = without_nul(cursor)?;
                within(cursor, *bound, text.len(), "octets")?;
                Ok(Value::Text(text))
            }
            Type::WideText(bound) => {
                let units = cursor.units()?;
                if units.contains(&0) {
                    return Err(cursor.error(NUL.to_string()));
                }
                within(cursor, *bound, units.len(), "UTF-16 code units")?;
                Ok(Value::WideText(units))
            }
            Type::Sequence(element, bound) => {
                let mut items = Vec::new();
                self.list(cursor, |cursor| {
                    items.push(self.value(cursor, element, depth + 1)?);
                    Ok(())
                })?;
                within(cursor, *bound, items.len(), "elements")?;
                Ok(collected(element, items))
            }
            Type::Array(element, dimensions) => {
                let mut items = Vec::new();
                self.dimension(cursor, element, dimensions, &mut items, depth)?;
                debug_assert_eq!(items.len(), length(dimensions));
                Ok(collected(element, items))
            }
            Type::Map(key, of, bound) => {
                let mut entries = Vec::new();
                cursor.expect('{', "{key: value, …}")?;
                while !cursor.ends_with('}')? {
                    // A key that is not text is written as text in JSON.
                    let entry = if cursor.peek() == Some('"')
                        && !matches!(**key, Type::Text(_) | Type::WideText(_))
                    {
                        let inner = cursor.text()?;
                        self.value(&mut Cursor::new(&inner), key, depth + 1)
                            .map_err(|error| cursor.error(error.message))?
                    } else {
                        self.value(cursor, key, depth + 1)?
                    };
                    cursor.expect(':', "a colon after the key")?;
                    entries.push((entry, self.value(cursor, of, depth + 1)?));
                    cursor.separator('}')?;
                }
                within(cursor, *bound, entries.len(), "entries")?;
                Ok(Value::Map(entries))
            }
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Struct(of)) => {
                    cursor.expect('{', &format!("{{member: value, …}} of {}", of.name))?;
                    self.members(cursor, of, Some('}'), depth)
                }
                Some(Definition::Union(of)) => self.union(cursor, of, depth),
                Some(Definition::Enumeration(of)) => literal(cursor, of),
                Some(Definition::Bitmask(of)) => {
                    if cursor.peek() != Some('[') {
                        return primitive(cursor, unsigned(of.bits));
                    }
                    let mut bits = 0_u64;
                    self.list(cursor, |cursor| {
                        let name = cursor.text()?;
                        let found = of.flags.iter().find(|(flag, _)| *flag == name);
                        let Some((_, position)) = found else {
                            let names: Vec<&str> = of.flags.iter().map(|(flag, _)| flag.as_str()).collect();
                            return Err(cursor.error(format!(
                                "{} has no flag {name:?}; it has {}",
                                of.name,
                                names.join(", ")
                            )));
                        };
                        bits |= 1 << position;
                        Ok(())
                    })?;
                    Ok(Value::Unsigned(bits))
                }
                Some(Definition::Bitset(of)) => {
                    if cursor.peek() != Some('{') {
                        return primitive(cursor, unsigned(of.bits));
                    }
                    self.bitset(cursor, of)
                }
                Some(Definition::Alias(of)) => self.value(cursor, &of.plain, depth + 1),
                None => Err(cursor.error("the type is not known".to_string())),
            },
        }
    }

    /// `{a: 1, b: true}`; what is not said is 0.
    fn bitset(&self, cursor: &mut Cursor<'_>, of: &Bitset) -> Result<Value> {
        cursor.expect('{', &format!("{{field: value, …}} of {}", of.name))?;
        let mut bits = 0;
        while !cursor.ends_with('}')? {
            let name = cursor.text()?;
            let Some(field) = of.fields.iter().find(|field| field.name == name) else {
                let names: Vec<&str> = of.fields.iter().map(|field| field.name.as_str()).collect();
                return Err(cursor.error(format!(
                    "{} has no field {name:?}; it has {}",
                    of.name,
                    names.join(", ")
                )));
            };
            cursor.expect(':', &format!("a colon after {name}"))?;
            let value = primitive(cursor, field.ty)?;
            let Some(with) = bitset::set(field, bits, &value) else {
                return Err(
                    cursor.error(format!("{name} has {} bits, which are too few for this", field.width))
                );
            };
            bits = with;
            cursor.separator('}')?;
        }
        Ok(Value::Unsigned(bits))
    }

    /// The members of a structure up to `end`, or up to the end of the text.
    fn members(
        &self,
        cursor: &mut Cursor<'_>,
        of: &Struct,
        end: Option<char>,
        depth: usize,
    ) -> Result<Value> {
        let mut values: Vec<Option<Value>> = vec![None; of.members.len()];
        loop {
            cursor.skip_space();
            match end {
                Some(end) if cursor.ends_with(end)? => break,
                None if cursor.peek().is_none() => break,
                _ => {}
            }
            let name = cursor.text()?;
            let found = of.members.iter().position(|member| member.name == name);
            let Some((member, place)) = found.and_then(|at| of.members.get(at).zip(values.get_mut(at)))
            else {
                let names: Vec<&str> = of.members.iter().map(|member| member.name.as_str()).collect();
                return Err(cursor.error(format!(
                    "{} has no member {name:?}; it has {}",
                    of.name,
                    names.join(", ")
                )));
            };
            if place.is_some() {
                return Err(cursor.error(format!("member {name} is given twice")));
            }
            cursor.expect(':', &format!("a colon after {name}"))?;
            cursor.skip_space();
            *place = Some(if member.optional && cursor.word_is("null") {
                cursor.text()?;
                Value::Absent
            } else {
                self.value(cursor, &member.ty, depth + 1).map_err(|error| error.of(&name))?
            });
            match end {
                Some(end) => cursor.separator(end)?,
                None => cursor.separator_or_end()?,
            }
        }
        let given = values.into_iter().zip(&of.members);
        Ok(Value::Members(
            given
                .map(|(value, member)| match value {
                    Some(value) => value,
                    None if member.optional => Value::Absent,
                    None => initial(self.schema, &member.ty),
                })
                .collect(),
        ))
    }

    /// `{_d: 2, name: value}`; the discriminator may be left out where the name says it.
    fn union(&self, cursor: &mut Cursor<'_>, of: &Union, depth: usize) -> Result<Value> {
        cursor.expect('{', &format!("{{member: value}} of {}", of.name))?;
        let mut discriminator = None;
        let mut found: Option<(usize, Value)> = None;
        while !cursor.ends_with('}')? {
            let name = cursor.text()?;
            cursor.expect(':', &format!("a colon after {name}"))?;
            if name == "_d" {
                discriminator = Some(label(&self.value(cursor, &of.discriminator, depth + 1)?));
            } else {
                let case = of.cases.iter().position(|case| case.name == name);
                let Some((at, case)) = case.and_then(|at| Some((at, of.cases.get(at)?))) else {
                    let names: Vec<&str> = of.cases.iter().map(|case| case.name.as_str()).collect();
                    return Err(cursor.error(format!(
                        "{} has no member {name:?}; it has {}",
                        of.name,
                        names.join(", ")
                    )));
                };
                let value = self.value(cursor, &case.ty, depth + 1).map_err(|error| error.of(&name))?;
                if found.replace((at, value)).is_some() {
                    return Err(cursor.error(format!("a value of {} has one member", of.name)));
                }
            }
            cursor.separator('}')?;
        }
        let own = found.as_ref().and_then(|(at, _)| of.cases.get(*at));
        let discriminator = match (discriminator, own) {
            (Some(discriminator), _) => discriminator,
            (None, Some(case)) => {
                let free =
                    || (0..i64::MAX).find(|label| of.cases.iter().all(|case| !case.labels.contains(label)));
                case.labels.first().copied().or_else(free).unwrap_or(0)
            }
            (None, None) => {
                return Err(
                    cursor.error(format!("a value of {} has a member, or a discriminator _d", of.name))
                );
            }
        };
        let meant = of.case(discriminator);
        match (meant, found) {
            (Some(meant), Some((at, value))) if meant == at => {
                Ok(Value::Union(discriminator, Some(Box::new(value))))
            }
            (Some(meant), None) => {
                let value = of.cases.get(meant).map(|case| Box::new(initial(self.schema, &case.ty)));
                Ok(Value::Union(discriminator, value))
            }
            (None, None) => Ok(Value::Union(discriminator, None)),
            _ => Err(cursor
                .error(format!("the discriminator {discriminator} of {} means another member", of.name))),
        }
    }

    fn list(
        &self,
        cursor: &mut Cursor<'_>,
        mut item: impl FnMut(&mut Cursor<'_>) -> Result<()>,
    ) -> Result<()> {
        cursor.expect('[', "a list, as [1, 2, 3]")?;
        while !cursor.ends_with(']')? {
            item(cursor)?;
            cursor.separator(']')?;
        }
        Ok(())
    }

    fn dimension(
        &self,
        cursor: &mut Cursor<'_>,
        element: &Type,
        dimensions: &[u32],
        items: &mut Vec<Value>,
        depth: usize,
    ) -> Result<()> {
        let Some((first, rest)) = dimensions.split_first() else {
            items.push(self.value(cursor, element, depth + 1)?);
            return Ok(());
        };
        let mut count = 0_u32;
        cursor.skip_space();
        self.list(cursor, |cursor| {
            if count == *first {
                return Err(cursor.error(format!("the array has {first} elements, and here is one more")));
            }
            count += 1;
            self.dimension(cursor, element, rest, items, depth)
        })?;
        if count < *first {
            return Err(cursor.error(format!("the array has {first} elements, and here are {count}")));
        }
        Ok(())
    }
}

const NUL: &str = "a string of DDS contains no NUL";

/// NUL ends strings on the wire, so that none can contain it.
fn without_nul(cursor: &mut Cursor<'_>) -> Result<String> {
    let text = cursor.text()?;
    if text.contains('\0') {
        return Err(cursor.error(NUL.to_string()));
    }
    Ok(text)
}

fn collected(element: &Type, items: Vec<Value>) -> Value {
    if !is_octets(element) {
        return Value::List(items);
    }
    let octet = |item: Value| match item {
        Value::Unsigned(octet) => u8::try_from(octet).unwrap_or(0),
        _ => 0,
    };
    Value::Octets(items.into_iter().map(octet).collect())
}

fn literal(cursor: &mut Cursor<'_>, of: &Enumeration) -> Result<Value> {
    if cursor.peek().is_some_and(|next| next == '-' || next.is_ascii_digit()) {
        return primitive(cursor, signed(of.bits));
    }
    let name = cursor.text()?;
    // With its modules or its enumeration it is the same literal.
    let own = name.rsplit("::").next().unwrap_or(&name);
    let found = of.literals.iter().find(|(literal, _)| literal == own);
    found.map(|(_, value)| Value::Signed(*value)).ok_or_else(|| {
        let names: Vec<&str> = of.literals.iter().map(|(literal, _)| literal.as_str()).collect();
        cursor.error(format!("{} has no literal {name:?}; it has {}", of.name, names.join(", ")))
    })
}

fn primitive(cursor: &mut Cursor<'_>, kind: Primitive) -> Result<Value> {
    if kind == Primitive::WideChar {
        return match cursor.units()?.as_slice() {
            [unit] => Ok(Value::Unsigned(u64::from(*unit))),
            _ => Err(cursor.error("expected one character of the first 65536".to_string())),
        };
    }
    let text = cursor.text()?;
    let wrong = |what: &str| Err(cursor.error(format!("expected {what}, found {text:?}")));
    macro_rules! number {
        ($type:ty, $variant:ident, $what:literal) => {
            match integer(&text).and_then(|number| <$type>::try_from(number).ok()) {
                Some(number) => Ok(Value::$variant(number.into())),
                None => wrong($what),
            }
        };
    }
    match kind {
        Primitive::Boolean => match text.as_str() {
            "true" | "True" | "TRUE" | "1" => Ok(Value::Boolean(true)),
            "false" | "False" | "FALSE" | "0" => Ok(Value::Boolean(false)),
            _ => wrong("true or false"),
        },
        Primitive::U8 | Primitive::Octet => number!(u8, Unsigned, "a number from 0 to 255"),
        Primitive::U16 => number!(u16, Unsigned, "a number from 0 to 65535"),
        Primitive::U32 => number!(u32, Unsigned, "a number from 0 to 4294967295"),
        Primitive::U64 => number!(u64, Unsigned, "a number from 0 to 18446744073709551615"),
        Primitive::I8 => number!(i8, Signed, "a number from -128 to 127"),
        Primitive::I16 => number!(i16, Signed, "a number from -32768 to 32767"),
        Primitive::I32 => number!(i32, Signed, "a number from -2147483648 to 2147483647"),
        Primitive::I64 => number!(i64, Signed, "a number from -9223372036854775808 to 9223372036854775807"),
        Primitive::F32 => {
            float(&text).map_or_else(|| wrong("a number, as 21.5"), |value: f32| Ok(Value::F32(value)))
        }
        Primitive::F64 => {
            float(&text).map_or_else(|| wrong("a number, as 21.5"), |value: f64| Ok(Value::F64(value)))
        }
        Primitive::Char => {
            let mut letters = text.chars();
            match (letters.next(), letters.next(), text.parse::<u8>()) {
                (Some(letter), None, _) if letter.is_ascii() => Ok(Value::Char(text.as_bytes()[0])),
                (_, _, Ok(octet)) => Ok(Value::Char(octet)),
                _ => wrong("one character of ASCII, or the number of an octet"),
            }
        }
        Primitive::WideChar => wrong("one character of the first 65536"),
    }
}

/// A decimal or hexadecimal number.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let number = match hexadecimal {
        Some(digits) => i128::from(u64::from_str_radix(digits, 16).ok()?),
        None => i128::from(digits.strip_prefix('+').unwrap_or(digits).parse::<u64>().ok()?),
    };
    Some(if negative { -number } else { number })
}

fn float<F: core::str::FromStr>(text: &str) -> Option<F> {
    // The names that YAML, JSON dialects and Rust have for them.
    match text.trim_start_matches('.').to_ascii_lowercase().as_str() {
        "nan" => "NaN".parse().ok(),
        "inf" | "infinity" | "+inf" => "inf".parse().ok(),
        "-inf" | "-infinity" | "-.inf" => "-inf".parse().ok(),
        _ => text.parse().ok(),
    }
}

fn within(cursor: &Cursor<'_>, bound: Option<u32>, actual: usize, what: &str) -> Result<()> {
    match bound {
        Some(bound) if actual > bound as usize => {
            Err(cursor.error(format!("{actual} {what} are more than the {bound} of the type")))
        }
        _ => Ok(()),
    }
}

impl TextError {
    /// Names the member that the error is in.
    fn of(mut self, member: &str) -> Self {
        self.message = match self.message.strip_prefix("member ").map(ToString::to_string) {
            Some(inner) => format!("member {member}.{inner}"),
            None => format!("member {member}: {}", self.message),
        };
        self
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl core::error::Error for TextError {}
