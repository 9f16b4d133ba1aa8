//! A file as a tree of values with places, whether it is written as TOML or as JSON.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::json;
use crate::value::Value;

/// Bytes of the longest file that is read.
pub(crate) const LONGEST: usize = 1 << 20;
/// How deep tables and lists lie in each other.
pub(crate) const DEEPEST: usize = 32;
/// Bytes of the longest key.
pub(crate) const LONGEST_KEY: usize = 128;
/// How many problems are told of one file.
const MOST: usize = 32;

/// A value, and where it begins.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) data: Data,
}

#[derive(Clone, Debug)]
pub(crate) enum Data {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table, with its value and place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: usize,
    pub(crate) node: Node,
}

/// The problems of a file. The first ones are kept, up to a number; further ones are only counted.
pub(crate) struct Problems<'s> {
    pub(crate) source: Source<'s>,
    told: Vec<Problem>,
    more: usize,
}

impl<'s> Problems<'s> {
    pub(crate) const fn new(source: Source<'s>) -> Self {
        Self { source, told: Vec::new(), more: 0 }
    }

    /// Something is wrong at an offset.
    pub(crate) fn add(&mut self, at: usize, what: impl Into<String>, remedy: impl Into<String>) {
        if self.told.len() < MOST {
            self.told.push(self.source.problem(at, what, remedy));
        } else {
            self.more += 1;
        }
    }

    /// Whether what is added is counted only.
    pub(crate) const fn are_enough(&self) -> bool {
        self.told.len() >= MOST
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.told.len() + self.more
    }

    pub(crate) const fn are_none(&self) -> bool {
        self.told.is_empty()
    }

    /// In the order of the file; that there are more is the last one.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        self.told.sort_by_key(|problem| problem.place);
        if self.more > 0 {
            let what = format!("and {} more problems", self.more);
            self.told.push(self.source.problem(0, what, "correct those above first"));
        }
        self.told
    }
}

impl Node {
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Table(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) const fn integer(&self) -> Option<i64> {
        match self.data {
            Data::Integer(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) const fn boolean(&self) -> Option<bool> {
        match self.data {
            Data::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// The kind of the value, in words.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.data {
            Data::Boolean(_) => "true or false",
            Data::Integer(_) => "a whole number",
            Data::Float(_) => "a number",
            Data::Text(_) => "text",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
        }
    }

    pub(crate) fn value(&self) -> Value {
        match &self.data {
            Data::Boolean(value) => Value::Boolean(*value),
            Data::Integer(value) => Value::Integer(*value),
            Data::Float(value) => Value::Float(*value),
            Data::Text(text) => Value::Text(text.clone()),
            Data::List(items) => Value::List(items.iter().map(Self::value).collect()),
            Data::Table(entries) => Value::Table(Self::values(entries)),
        }
    }

    pub(crate) fn values(entries: &[Entry]) -> BTreeMap<String, Value> {
        entries.iter().map(|entry| (entry.key.clone(), entry.node.value())).collect()
    }
}

/// The tree of a file: JSON if it begins with a brace, otherwise TOML. What is wrong with its syntax is told.
pub(crate) fn read(problems: &mut Problems<'_>) -> Option<Node> {
    let text = problems.source.text;
    if text.len() > LONGEST {
        problems.add(0, format!("the file is longer than {LONGEST} bytes"), "split the plan into several");
        return None;
    }
    let blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    if text.trim_start_matches(blank).starts_with('{') {
        return match json::read(text) {
            Ok(node) => Some(node),
            Err((at, what)) => {
                problems.add(at, what, "a file that begins with a brace is read as JSON, any other as TOML");
                None
            }
        };
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        let what = error.message().trim().replace('\n', "; ");
        let remedy = if text.trim_start_matches(blank).starts_with('<') {
            "an XML descriptor is not a plan; it can be imported"
        } else {
            "this is no TOML: https://toml.io says how it is written"
        };
        problems.add(at, what, remedy);
    }
    if !problems.are_none() {
        return None;
    }
    let at = table.span().start;
    let entries = of_table(table.get_ref(), 0, problems)?;
    Some(Node { at, data: Data::Table(entries) })
}

fn of_table(table: &DeTable<'_>, depth: usize, problems: &mut Problems<'_>) -> Option<Vec<Entry>> {
    let entries = table.iter().map(|(key, value)| {
        let node = of_value(value, depth + 1, problems)?;
        if key.get_ref().len() > LONGEST_KEY {
            problems.add(key.span().start, format!("a key of more than {LONGEST_KEY} bytes"), "shorten it");
            return None;
        }
        Some(Entry { key: key.get_ref().to_string(), key_at: key.span().start, node })
    });
    let entries: Option<Vec<_>> = entries.collect();
    entries.map(|mut entries| {
        entries.sort_by_key(|entry| entry.key_at);
        entries
    })
}

fn of_value(value: &Spanned<DeValue<'_>>, depth: usize, problems: &mut Problems<'_>) -> Option<Node> {
    let at = value.span().start;
    let mut refuse = |what: &str, remedy: &str| {
        problems.add(at, what, remedy);
        None
    };
    if depth > DEEPEST {
        return refuse("tables and lists lie too deep in each other", "a plan needs six levels");
    }
    let data = match value.get_ref() {
        DeValue::Boolean(value) => Data::Boolean(*value),
        DeValue::Integer(value) => match i64::from_str_radix(value.as_str(), value.radix()) {
            Ok(value) => Data::Integer(value),
            Err(_) => return refuse("the number has more than 64 bits", "write a smaller one"),
        },
        DeValue::Float(value) => match value.as_str().parse::<f64>() {
            Ok(value) if value.is_finite() => Data::Float(value),
            _ => return refuse("the number is not finite", "write a number"),
        },
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Datetime(_) => {
            return refuse("a date has no meaning in this file", "write it as text in quotes");
        }
        DeValue::Array(items) => {
            let items: Option<Vec<_>> =
                items.iter().map(|item| of_value(item, depth + 1, problems)).collect();
            Data::List(items?)
        }
        DeValue::Table(table) => Data::Table(of_table(table, depth, problems)?),
    };
    Some(Node { at, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let mut problems = Problems::new(Source { file: "p", text });
        let node = read(&mut problems);
        assert_eq!(node.is_some(), problems.are_none(), "{text}");
        problems.into_list().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_forms_give_the_same_tree() {
        let of = |text| {
            let mut problems = Problems::new(Source { file: "p", text });
            read(&mut problems).map(|node| node.value())
        };
        let json = "{\"a\": {\"b\": [1, 2.5, \"x\\u00e4\\n\"]}, \"c\": true}";
        let toml = "c = true\n[a]\nb = [0x1, 2.5, \"xä\\n\"]\n";
        assert_eq!(of(json), of(toml));
        assert!(of(json).is_some());
    }

    #[test]
    fn several_mistakes_of_syntax_are_told_at_once() {
        let told = told("a = \nb = 1\nc = [1,,]\nd = 2020-01-01\n");
        assert!(told.len() >= 2 && told[0].starts_with("p:1:") && told[1].starts_with("p:3:"), "{told:?}");
        let many = "x 1\n".repeat(100);
        let told = self::told(&many);
        assert!(told.len() == MOST + 1 && told[MOST].contains("more problems"), "{}", told.len());
    }

    #[test]
    fn what_lies_too_deep_is_refused() {
        let nested = ["[".repeat(100_000), "{a=".repeat(100_000)];
        let dotted = "a.".repeat(500_000) + "a = 1";
        let header = ["[", &"a.".repeat(500_000), "a]"].concat();
        let json = ["{\"a\":".repeat(100_000), "[".repeat(100_000)].concat();
        let list = ["x = ", &"[".repeat(40), &"]".repeat(40)].concat();
        for text in [nested[0].clone(), ["x = ", &nested[1]].concat(), dotted, header, json, list] {
            assert!(!told(&text).is_empty());
        }
        assert!(told("a = 1.5\nb = \"....................................................\"").is_empty());
        assert!(told("a = 99999999999999999999")[0].contains("64 bits"));
        assert!(told("a = nan")[0].contains("finite"));
        assert!(told("a = 2020-01-01")[0].contains("date"));
    }
}
