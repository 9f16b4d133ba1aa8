//! Values of the trees of this test: made at random, written as text, and what is to be read of them as another type.
use dynamic::Value as Read;
use wire::schema::Primitive;

use crate::model::{Choice, Model, Random};

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Absent,
    Boolean(bool),
    Number(i128),
    F32(f32),
    F64(f64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// By member ids.
    Members(Vec<(u32, Value)>),
    Union(i64, Option<Box<Value>>),
    /// Whatever is read is right: nothing was written here.
    Any,
}

fn number(random: &mut Random, kind: Primitive) -> Value {
    let bits = i128::from(random.bits());
    let range = |least: i128, most: i128| Value::Number(least + bits % (most - least + 1));
    match kind {
        Primitive::Boolean => Value::Boolean(bits & 1 == 1),
        Primitive::U8 | Primitive::Octet => range(0, 255),
        Primitive::I8 => range(-128, 127),
        Primitive::U16 | Primitive::WideChar => range(0, 65_535),
        Primitive::I16 => range(-32_768, 32_767),
        Primitive::U32 => range(0, u32::MAX.into()),
        Primitive::I32 => range(i32::MIN.into(), i32::MAX.into()),
        Primitive::U64 => range(0, u64::MAX.into()),
        Primitive::I64 => range(i64::MIN.into(), i64::MAX.into()),
        Primitive::F32 => Value::F32((bits % 1000) as f32 + 0.5),
        Primitive::F64 => Value::F64((bits % 100_000) as f64 + 0.25),
        Primitive::Char => range(97, 122),
    }
}

/// Any value of a type.
pub(crate) fn any(random: &mut Random, of: &Model) -> Value {
    match of {
        Model::Primitive(kind) => number(random, *kind),
        Model::Text(bound) => {
            let len = random.below(6).min(bound.unwrap_or(6) as usize);
            Value::Text((0..len).map(|_| char::from(b'a' + random.below(26) as u8)).collect())
        }
        Model::Sequence(element, _) if **element == Model::Nothing => Value::List(Vec::new()),
        Model::Map(_, value, _) if **value == Model::Nothing => Value::Map(Vec::new()),
        Model::Bitset(fields) => {
            let mask =
                fields.iter().fold(0, |mask, (_, at, width, _)| mask | (u64::MAX >> (64 - width)) << at);
            Value::Number(i128::from(random.bits() & mask))
        }
        Model::Again(_) | Model::Known(_) | Model::Nothing => panic!("no value"),
        Model::Sequence(element, bound) => {
            let len = random.below(3).min(bound.unwrap_or(3) as usize);
            Value::List((0..len).map(|_| any(random, element)).collect())
        }
        Model::Array(element, dimensions) => {
            let len = dimensions.iter().product::<u32>();
            Value::List((0..len).map(|_| any(random, element)).collect())
        }
        Model::Map(key, value, bound) => {
            let len = random.below(3).min(bound.unwrap_or(3) as usize);
            let mut entries: Vec<(Value, Value)> = Vec::new();
            for _ in 0..len {
                let key = any(random, key);
                if entries.iter().all(|(known, _)| *known != key) {
                    entries.push((key, any(random, value)));
                }
            }
            Value::Map(entries)
        }
        Model::Enumeration(_, _, literals) => Value::Number(random.pick(literals).1.into()),
        Model::Bitmask(bits) => Value::Number(i128::from(random.bits() & (u64::MAX >> (64 - bits)))),
        Model::Struct(_, members) => Value::Members(
            members
                .iter()
                .map(|member| {
                    let absent = member.optional && (member.ty == Model::Nothing || random.one_in(2));
                    (member.id, if absent { Value::Absent } else { any(random, &member.ty) })
                })
                .collect(),
        ),
        Model::Union(_, discriminator, _, cases) => {
            let mut labels: Vec<i64> = cases.iter().flat_map(|case| case.labels.clone()).collect();
            labels.push(100);
            match &**discriminator {
                Model::Enumeration(_, _, literals) => labels = literals.iter().map(|of| of.1).collect(),
                Model::Primitive(_) => {}
                _ => panic!("no discriminator"),
            }
            let label = *random.pick(&labels);
            let case = case(cases, label);
            Value::Union(label, case.map(|case| Box::new(any(random, &case.ty))))
        }
    }
}

fn case(cases: &[Choice], label: i64) -> Option<&Choice> {
    cases.iter().find(|case| case.labels.contains(&label)).or_else(|| cases.iter().find(|case| case.default))
}

/// As `punctual pub` reads it.
pub(crate) fn text(of: &Model, value: &Value) -> String {
    match (of, value) {
        (Model::Array(element, dimensions), Value::List(items)) => {
            let items: Vec<String> = items.iter().map(|item| text(element, item)).collect();
            nest(&items, dimensions)
        }
        (Model::Sequence(element, _), Value::List(items)) => {
            let items: Vec<String> = items.iter().map(|item| text(element, item)).collect();
            format!("[{}]", items.join(", "))
        }
        (Model::Map(key, of, _), Value::Map(entries)) => {
            let entry = |(name, value): &(Value, Value)| {
                format!("\"{}\": {}", text(key, name).trim_matches('"'), text(of, value))
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        (Model::Primitive(Primitive::Char), Value::Number(code)) => {
            format!("\"{}\"", char::from(*code as u8))
        }
        (Model::Enumeration(_, _, literals), Value::Number(value)) => {
            let literal = literals.iter().find(|(_, known)| i128::from(*known) == *value);
            format!("\"{}\"", literal.unwrap().0)
        }
        (Model::Struct(_, members), Value::Members(values)) => {
            let there = members.iter().zip(values).filter(|(_, (_, value))| *value != Value::Absent);
            let there =
                there.map(|(member, (_, value))| format!("\"{}\": {}", member.name, text(&member.ty, value)));
            format!("{{{}}}", there.collect::<Vec<_>>().join(", "))
        }
        (Model::Union(_, discriminator, _, cases), Value::Union(label, inner)) => {
            let tag = text(discriminator, &Value::Number((*label).into()));
            match (case(cases, *label), inner) {
                (Some(case), Some(inner)) => {
                    format!("{{\"_d\": {tag}, \"{}\": {}}}", case.name, text(&case.ty, inner))
                }
                _ => format!("{{\"_d\": {tag}}}"),
            }
        }
        (_, Value::Boolean(value)) => value.to_string(),
        (_, Value::Number(value)) => value.to_string(),
        (_, Value::F32(value)) => format!("{value:?}"),
        (_, Value::F64(value)) => format!("{value:?}"),
        (_, Value::Text(value)) => format!("\"{value}\""),
        _ => panic!("{value:?} is no value of {of:?}"),
    }
}

fn nest(items: &[String], dimensions: &[u32]) -> String {
    let Some((first, rest)) = dimensions.split_first() else { return items[0].clone() };
    let parts = items.chunks(items.len() / *first as usize).map(|part| nest(part, rest));
    format!("[{}]", parts.collect::<Vec<_>>().join(", "))
}

/// What is read of a value as another type; `None` if the reader may refuse it: it exceeds a bound, or
/// has what must be understood.
pub(crate) fn seen(read: &Model, written: &Model, value: &Value) -> Option<Value> {
    let within = |bound: &Option<u32>, len: usize| bound.is_none_or(|bound| len <= bound as usize);
    Some(match (read, written, value) {
        (Model::Text(bound), _, Value::Text(text)) => {
            return within(bound, text.len()).then(|| value.clone());
        }
        (Model::Sequence(one, bound), Model::Sequence(other, _), Value::List(items)) => {
            if !within(bound, items.len()) {
                return None;
            }
            Value::List(items.iter().map(|item| seen(one, other, item)).collect::<Option<_>>()?)
        }
        (Model::Array(one, _), Model::Array(other, _), Value::List(items)) => {
            Value::List(items.iter().map(|item| seen(one, other, item)).collect::<Option<_>>()?)
        }
        (Model::Map(key, one, bound), Model::Map(other_key, other, _), Value::Map(entries)) => {
            if !within(bound, entries.len()) {
                return None;
            }
            let entry = |(name, value): &(Value, Value)| {
                Some((seen(key, other_key, name)?, seen(one, other, value)?))
            };
            Value::Map(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        (Model::Struct(_, ours), Model::Struct(_, theirs), Value::Members(values)) => {
            let unknown = theirs.iter().zip(values).any(|(of, (_, value))| {
                of.must_understand && *value != Value::Absent && ours.iter().all(|known| known.id != of.id)
            });
            if unknown {
                return None;
            }
            let member = |member: &crate::model::Part| {
                let twin = theirs.iter().zip(values).find(|(twin, _)| twin.id == member.id);
                let value = match twin {
                    Some((twin, (_, value))) if *value != Value::Absent => seen(&member.ty, &twin.ty, value)?,
                    _ if member.optional => Value::Absent,
                    // A member of a key that does not count here; a reader does not do without it all the same.
                    _ if member.key => return None,
                    _ => Value::Any,
                };
                Some((member.id, value))
            };
            Value::Members(ours.iter().map(member).collect::<Option<_>>()?)
        }
        (Model::Union(_, _, _, ours), Model::Union(_, _, _, theirs), Value::Union(label, inner)) => {
            let inner = match (case(ours, *label), case(theirs, *label), inner) {
                (Some(one), Some(other), Some(inner)) => Some(seen(&one.ty, &other.ty, inner)?.into()),
                // A case without a value that was written: the reader refuses it or takes what it has.
                (Some(_), ..) => return None,
                (None, ..) => None,
            };
            Value::Union(*label, inner)
        }
        _ => value.clone(),
    })
}

/// True if what was read is that value.
pub(crate) fn is(of: &Model, expected: &Value, read: &Read) -> bool {
    match (of, expected, read) {
        (_, Value::Any, _) => true,
        (_, Value::Absent, Read::Absent) => true,
        (_, Value::Boolean(one), Read::Boolean(other)) => one == other,
        (_, Value::Number(one), Read::Signed(other)) => *one == i128::from(*other),
        (_, Value::Number(one), Read::Unsigned(other)) => *one == i128::from(*other),
        (_, Value::Number(one), Read::Char(other)) => *one == i128::from(*other),
        (_, Value::F32(one), Read::F32(other)) => one == other,
        (_, Value::F64(one), Read::F64(other)) => one == other,
        (_, Value::Text(one), Read::Text(other)) => one == other,
        (_, Value::List(items), Read::Octets(bytes)) => {
            items.len() == bytes.len()
                && items.iter().zip(bytes).all(|(item, octet)| *item == Value::Number((*octet).into()))
        }
        (Model::Sequence(element, _) | Model::Array(element, _), Value::List(ones), Read::List(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| is(element, one, other))
        }
        (Model::Map(key, value, _), Value::Map(ones), Read::Map(others)) => {
            ones.len() == others.len()
                && ones
                    .iter()
                    .zip(others)
                    .all(|(one, other)| is(key, &one.0, &other.0) && is(value, &one.1, &other.1))
        }
        (Model::Struct(_, members), Value::Members(ones), Read::Members(others)) => {
            members.len() == others.len()
                && members
                    .iter()
                    .zip(ones)
                    .zip(others)
                    .all(|((member, one), other)| is(&member.ty, &one.1, other))
        }
        (Model::Union(_, _, _, cases), Value::Union(label, one), Read::Union(other_label, other)) => {
            label == other_label
                && match (case(cases, *label), one, other) {
                    (Some(case), Some(one), Some(other)) => is(&case.ty, one, other),
                    (None, None, None) => true,
                    _ => false,
                }
        }
        _ => false,
    }
}
