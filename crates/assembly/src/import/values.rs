//! Typed values of descriptors: `<value><type><kind>tk_long</kind></type><value><long>5</long></value></value>`.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::xml::{Element, elements, first, name, named, text, text_of};
use crate::value::Value;

/// The value of a property; `None` if it is of no type that has a value here.
pub(super) fn property(element: Element<'_>) -> Option<Value> {
    let any = first(element, "value")?;
    match first(any, "value") {
        Some(inner) => value(inner, kind(any).as_deref()),
        // Without a type it is text.
        None => elements(any).next().map_or_else(|| text(any).map(Value::Text), |leaf| value_of(leaf)),
    }
}

fn kind(any: Element<'_>) -> Option<String> {
    first(any, "type").and_then(|of| text_of(of, "kind"))
}

fn value(element: Element<'_>, kind: Option<&str>) -> Option<Value> {
    let leaves: Vec<Element<'_>> = elements(element).collect();
    match (kind, leaves.as_slice()) {
        (Some("tk_sequence" | "tk_array"), [leaf]) => {
            value_of(*leaf).map(|value| Value::List([value].into()))
        }
        (_, [leaf]) => value_of(*leaf),
        (_, []) => text(element).map(Value::Text),
        // Several: a list, whatever its type is called.
        (_, leaves) => leaves.iter().map(|leaf| value_of(*leaf)).collect::<Option<Vec<_>>>().map(Value::List),
    }
}

fn value_of(leaf: Element<'_>) -> Option<Value> {
    let content = || text(leaf);
    match name(leaf) {
        "short" | "long" | "longlong" | "ushort" | "ulong" | "ulonglong" | "octet" => {
            content()?.parse().ok().map(Value::Integer)
        }
        "float" | "double" | "longdouble" => {
            content()?.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
        }
        "boolean" => match content()?.as_str() {
            "true" | "TRUE" | "1" => Some(Value::Boolean(true)),
            "false" | "FALSE" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        "string" | "char" | "enum" | "wstring" | "wchar" => Some(Value::Text(content().unwrap_or_default())),
        "element" | "value" => {
            elements(leaf).next().map_or_else(|| content().map(Value::Text), |inner| value_of(inner))
        }
        "struct" => {
            let members = named(leaf, "member").map(|member| {
                let inner = first(member, "value").and_then(|value| elements(value).next());
                Some((text_of(member, "name")?, value_of(inner?)?))
            });
            members.collect::<Option<BTreeMap<_, _>>>().map(Value::Table)
        }
        _ => None,
    }
}
