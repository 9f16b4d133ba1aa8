//! Formats of files as data: the same tables check a file, propose near names, and give the JSON schema.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::nearest;

use crate::timing::ExecutionStep;
use crate::tree::{Data, Node, Problems};
use crate::value::Value;

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    /// A name of something: letters, digits, `-` and `_`.
    Name,
    Boolean,
    /// A whole number from one to another.
    Integer(i64, i64),
    /// A whole number or one with a point.
    Number,
    Time,
    /// A step of a handler: a time, two times with `to` between them, or a port.
    Step,
    /// One of these texts.
    Choice(&'static [&'static str]),
    List(&'static Self),
    /// Names, each with a value of this shape.
    Names(&'static Self),
    /// Any texts, each with a value of this shape: names of types have colons and slashes.
    Texts(&'static Self),
    Table(&'static [Key]),
    Any,
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) is_required: bool,
    pub(crate) about: &'static str,
}

/// A key that may be there.
pub(crate) const fn may(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, is_required: false, about }
}

/// A key that has to be there.
pub(crate) const fn must(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, is_required: true, about }
}

/// The longest name.
const LONGEST_NAME: usize = 64;

/// The most entries of a list or a table: some are compared with each other.
const MOST_ITEMS: usize = 8_192;

/// Whether a text is a name of something.
pub(crate) fn is_name(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(is_of_name)
}

const NAME: &str = "a name has 1 to 64 letters, digits, - and _";

/// Tells everything of a node that is not of its shape. `path` says what it belongs to.
pub(crate) fn check(node: &Node, shape: Shape, path: &str, problems: &mut Problems<'_>) {
    match (shape, &node.data) {
        (Shape::Any, _) | (Shape::Text, Data::Text(_)) | (Shape::Boolean, Data::Boolean(_)) => {}
        (Shape::Number, Data::Integer(_) | Data::Float(_)) => {}
        (Shape::Name, Data::Text(text)) => {
            if !is_name(text) {
                problems.add(node.at, format!("\"{text}\" is no name"), NAME);
            }
        }
        (Shape::Integer(low, high), Data::Integer(value)) => {
            if !(low..=high).contains(value) {
                problems.add(node.at, format!("{value} is out of range"), expected(shape));
            }
        }
        (Shape::Time, Data::Text(text)) => {
            if diagnostics::picoseconds(text).is_none() {
                problems.add(node.at, format!("\"{text}\" is no time"), expected(shape));
            }
        }
        (Shape::Step, Data::Text(text)) => {
            if ExecutionStep::parse(text).is_none() {
                problems.add(node.at, format!("\"{text}\" is no step of a handler"), expected(shape));
            }
        }
        (Shape::Choice(choices), Data::Text(text)) => {
            if !choices.contains(&text.as_str()) {
                let list = choices.join(", ");
                let remedy = meant(text, choices.iter().copied(), format!("write one of {list}"));
                problems.add(node.at, format!("\"{text}\" is none of {list}"), remedy);
            }
        }
        (Shape::List(of), Data::List(items)) => {
            if items.len() > MOST_ITEMS {
                problems.add(node.at, format!("more than {MOST_ITEMS} entries"), "split it");
            }
            for item in items {
                check(item, *of, path, problems);
            }
        }
        (Shape::Names(of) | Shape::Texts(of), Data::Table(entries)) => {
            if entries.len() > MOST_ITEMS {
                problems.add(node.at, format!("more than {MOST_ITEMS} entries"), "split the plan");
            }
            for entry in entries {
                if matches!(shape, Shape::Names(_)) && !is_name(&entry.key) {
                    problems.add(entry.key_at, format!("\"{}\" is no name", entry.key), NAME);
                }
                check(&entry.node, *of, &join(path, &entry.key), problems);
            }
        }
        (Shape::Table(keys), Data::Table(entries)) => {
            for entry in entries {
                match keys.iter().find(|key| key.name == entry.key) {
                    Some(key) => check(&entry.node, key.shape, &join(path, &entry.key), problems),
                    None => {
                        let known = keys.iter().map(|key| key.name);
                        let list = known.clone().collect::<Vec<_>>().join(", ");
                        let remedy = meant(&entry.key, known, format!("there may be: {list}"));
                        let place = if path.is_empty() { "the file" } else { path };
                        problems.add(entry.key_at, format!("{place} has no key \"{}\"", entry.key), remedy);
                    }
                }
            }
            for key in keys.iter().filter(|key| key.is_required) {
                if !entries.iter().any(|entry| entry.key == key.name) {
                    let place = if path.is_empty() { "the file" } else { path };
                    let remedy = format!("{} = {}: {}", key.name, example(key.shape), key.about);
                    problems.add(node.at, format!("{place} lacks \"{}\"", key.name), remedy);
                }
            }
        }
        _ => problems.add(node.at, format!("{} is not expected here", node.kind()), expected(shape)),
    }
}

/// The advice about an unknown name.
pub(crate) fn meant<'n>(name: &str, known: impl IntoIterator<Item = &'n str>, otherwise: String) -> String {
    nearest(name, known).map_or(otherwise, |nearest| format!("did you mean \"{nearest}\"?"))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

fn expected(shape: Shape) -> String {
    match shape {
        Shape::Text => "write text in quotes".to_string(),
        Shape::Name => format!("write a name in quotes: {NAME}"),
        Shape::Boolean => "write true or false".to_string(),
        Shape::Integer(low, i64::MAX) => format!("write a whole number from {low} on"),
        Shape::Integer(low, high) => format!("write a whole number from {low} to {high}"),
        Shape::Number => "write a number".to_string(),
        Shape::Time => {
            "write a time in quotes such as \"2 ms\": a number and ps, ns, us, ms, s or min".to_string()
        }
        Shape::Step => {
            "write a time such as \"30 us\" or \"10 us to 30 us\", or a port, with ? if it may be left out"
                .to_string()
        }
        Shape::Choice(choices) => format!("write one of {} in quotes", choices.join(", ")),
        Shape::List(of) => format!("write a list in brackets, such as [{}]", example(*of)),
        Shape::Names(_) | Shape::Texts(_) => "write a table with a name for each entry".to_string(),
        Shape::Table(keys) => {
            let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            format!("write a table; it may have {}", names.join(", "))
        }
        Shape::Any => String::new(),
    }
}

fn example(shape: Shape) -> &'static str {
    match shape {
        Shape::Text | Shape::Name | Shape::Choice(_) => "\"...\"",
        Shape::Boolean => "true",
        Shape::Integer(..) | Shape::Number => "NUMBER",
        Shape::Time | Shape::Step => "\"2 ms\"",
        Shape::List(_) => "[...]",
        Shape::Names(_) | Shape::Texts(_) | Shape::Table(_) => "{ ... }",
        Shape::Any => "VALUE",
    }
}

/// The shape as JSON schema (draft 2020-12).
pub(crate) fn schema(shape: Shape) -> BTreeMap<String, Value> {
    let text = |text: &str| Value::Text(text.into());
    let of_type = |name: &str| BTreeMap::from([("type".to_string(), text(name))]);
    let mut schema = match shape {
        Shape::Any => BTreeMap::new(),
        Shape::Text | Shape::Name | Shape::Time | Shape::Step | Shape::Choice(_) => of_type("string"),
        Shape::Boolean => of_type("boolean"),
        Shape::Integer(..) => of_type("integer"),
        Shape::Number => of_type("number"),
        Shape::List(_) => of_type("array"),
        Shape::Names(_) | Shape::Texts(_) | Shape::Table(_) => of_type("object"),
    };
    let mut put = |key: &str, value: Value| drop(schema.insert(key.to_string(), value));
    match shape {
        Shape::Name => put("pattern", text("^[A-Za-z0-9_-]{1,64}$")),
        Shape::Time => put("pattern", text("^\\s*[0-9]+(\\.[0-9]{1,12})?\\s*(ps|ns|us|µs|ms|s|min)\\s*$")),
        Shape::Choice(choices) => {
            put("enum", Value::List(choices.iter().map(|choice| text(choice)).collect()))
        }
        Shape::Integer(low, high) => {
            put("minimum", Value::Integer(low));
            put("maximum", Value::Integer(high));
        }
        Shape::List(of) => put("items", Value::Table(self::schema(*of))),
        Shape::Texts(of) => put("additionalProperties", Value::Table(self::schema(*of))),
        Shape::Names(of) => {
            put("additionalProperties", Value::Table(self::schema(*of)));
            put("propertyNames", Value::Table(self::schema(Shape::Name)));
        }
        Shape::Table(keys) => {
            let property = |key: &Key| {
                let mut of_key = self::schema(key.shape);
                of_key.insert("description".to_string(), text(key.about));
                (key.name.to_string(), Value::Table(of_key))
            };
            put("properties", Value::Table(keys.iter().map(property).collect()));
            put("additionalProperties", Value::Boolean(false));
            let required = keys.iter().filter(|key| key.is_required);
            put("required", Value::List(required.map(|key| text(key.name)).collect()));
        }
        Shape::Any | Shape::Text | Shape::Step | Shape::Boolean | Shape::Number => {}
    }
    schema
}
