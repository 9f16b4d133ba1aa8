//! Values whose types the plan does not know: of settings, properties and extensions; how they are written.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// A value of a setting, a property or an extension.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Another number; never infinite, and never not a number.
    Float(f64),
    /// Text.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// Values by name.
    Table(BTreeMap<String, Value>),
}

impl Value {
    /// The kind of the value, in words.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The number that it is, if it is one. Integers above 2^53 are rounded.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// As TOML, on one line.
    pub fn toml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &Form { text: quoted, key, separator: " = ", blank: " " });
        out
    }

    /// As JSON, on one line.
    pub fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &Form { text: quoted, key: quoted, separator: ":", blank: "" });
        out
    }

    fn write(&self, out: &mut String, form: &Form) {
        match self {
            Self::Boolean(value) => drop(write!(out, "{value}")),
            Self::Integer(value) => drop(write!(out, "{value}")),
            // With a point or an exponent, so that it is read as a float again.
            Self::Float(value) => drop(write!(out, "{value:?}")),
            Self::Text(text) => out.push_str(&(form.text)(text)),
            Self::List(values) => {
                out.push('[');
                for (number, value) in values.iter().enumerate() {
                    form.separate(out, number);
                    value.write(out, form);
                }
                out.push(']');
            }
            Self::Table(values) => {
                out.push('{');
                out.push_str(form.blank);
                for (number, (name, value)) in values.iter().enumerate() {
                    form.separate(out, number);
                    out.push_str(&(form.key)(name));
                    out.push_str(form.separator);
                    value.write(out, form);
                }
                out.push_str(form.blank);
                out.push('}');
            }
        }
    }
}

/// The differences between TOML and JSON.
struct Form {
    text: fn(&str) -> String,
    key: fn(&str) -> String,
    separator: &'static str,
    blank: &'static str,
}

impl Form {
    fn separate(&self, out: &mut String, number: usize) {
        if number > 0 {
            out.push(',');
            out.push_str(self.blank);
        }
    }
}

/// Text in quotes, as both TOML and JSON read it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key of TOML, in quotes if it needs them.
pub(crate) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.into() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_both() {
        let inner = BTreeMap::from([
            ("a b".into(), Value::Float(2.0)),
            ("c".into(), Value::Text("\"\\\n\u{1}".into())),
        ]);
        let value = Value::List([Value::Integer(-3), Value::Table(inner), Value::Boolean(true)].into());
        assert_eq!(value.toml(), "[-3, { \"a b\" = 2.0, c = \"\\\"\\\\\\n\\u0001\" }, true]");
        assert_eq!(value.json(), "[-3,{\"a b\":2.0,\"c\":\"\\\"\\\\\\n\\u0001\"},true]");
    }
}
