//! YAML with limits, as a tree of values with places: one document, no tags, and aliases that count as what they stand for.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use crate::tree::{DEEPEST, Data, Entry, LONGEST_KEY, Node};

/// Bytes of the longest file.
pub(super) const LONGEST: usize = 256 << 10;
/// Bytes of all values, each as often as aliases repeat it, and bytes that a value takes besides its text.
const MOST_BYTES: usize = 1 << 20;
const VALUE: usize = 32;
/// Entries of a table: each key is compared with those before it.
const MOST_ENTRIES: usize = 1_024;

/// The value of a text, which is one document. What has no value is left out, as if the key were not there.
pub(super) fn parse(source: Source<'_>, remedy: &str) -> Result<Node, Problem> {
    if source.text.len() > LONGEST {
        return Err(source.problem(0, format!("the file is longer than {LONGEST} bytes"), remedy));
    }
    let mut reading = Reading {
        source,
        remedy,
        offsets: source.text.char_indices().map(|(at, _)| at).collect(),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        bytes: 0,
        root: None,
        documents: 0,
    };
    let mut parser = Parser::new_from_str(source.text);
    while let Some(next) = parser.next_event() {
        let (event, span) =
            next.map_err(|error| reading.wrong(error.marker(), format!("no YAML: {}", error.info())))?;
        reading.event(event, span)?;
    }
    match reading.root {
        Some(Some(root)) => Ok(root),
        _ => Err(source.problem(0, "the file says nothing", remedy)),
    }
}

/// A list or table that has not ended.
struct Open {
    at: usize,
    anchor: usize,
    data: Data,
    /// Of a table: the key whose value comes next.
    key: Option<(String, usize)>,
}

struct Reading<'s> {
    source: Source<'s>,
    remedy: &'s str,
    /// The byte at which each character begins.
    offsets: Vec<usize>,
    open: Vec<Open>,
    /// Values that have a name, which aliases use.
    anchors: BTreeMap<usize, Option<Node>>,
    bytes: usize,
    root: Option<Option<Node>>,
    documents: usize,
}

impl Reading<'_> {
    fn at(&self, marker: &Marker) -> usize {
        self.offsets.get(marker.index()).copied().unwrap_or(self.source.text.len())
    }

    fn wrong(&self, marker: &Marker, what: String) -> Problem {
        self.source.problem(self.at(marker), what, self.remedy)
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let at = self.at(&span.start);
        let has_tag = match &event {
            Event::Scalar(_, _, _, tag) | Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) => {
                tag.is_some()
            }
            _ => false,
        };
        if has_tag {
            return Err(self.source.problem(at, "tags mean nothing here", "write the value without one"));
        }
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.source.problem(at, "a second document", "leave one in the file"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, _) => {
                let data = scalar(&text, style);
                self.value(at, anchor, data.map(|data| Node { at, data }), &text)
            }
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor).cloned() else {
                    let what = "an alias inside of what it stands for";
                    return Err(self.source.problem(at, what, "write the value out"));
                };
                self.count(at, value.as_ref().map_or(VALUE, size))?;
                self.put(at, value, None)
            }
            Event::SequenceStart(anchor, _) => self.begin(at, anchor, Data::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.begin(at, anchor, Data::Table(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let node = Node { at: open.at, data: open.data };
                self.end(open.at, open.anchor, Some(node), None)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, at: usize, bytes: usize) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= MOST_BYTES {
            return Ok(());
        }
        let what = "too many values, with what aliases repeat";
        Err(self.source.problem(at, what, self.remedy))
    }

    fn begin(&mut self, at: usize, anchor: usize, data: Data) -> Result<(), Problem> {
        self.count(at, VALUE)?;
        if self.open.len() >= DEEPEST {
            let what = format!("more than {DEEPEST} lists and tables in each other");
            return Err(self.source.problem(at, what, self.remedy));
        }
        self.open.push(Open { at, anchor, data, key: None });
        Ok(())
    }

    fn value(&mut self, at: usize, anchor: usize, node: Option<Node>, text: &str) -> Result<(), Problem> {
        self.count(at, VALUE.saturating_add(text.len()))?;
        self.end(at, anchor, node, Some(text))
    }

    /// A value is whole.
    fn end(
        &mut self,
        at: usize,
        anchor: usize,
        node: Option<Node>,
        text: Option<&str>,
    ) -> Result<(), Problem> {
        if anchor > 0 {
            self.count(at, node.as_ref().map_or(VALUE, size))?;
            self.anchors.insert(anchor, node.clone());
        }
        self.put(at, node, text)
    }

    /// Puts a value where it belongs. `text` is what a key says, if the value could be one.
    fn put(&mut self, at: usize, node: Option<Node>, text: Option<&str>) -> Result<(), Problem> {
        let wrong = |what: String, remedy: &str| Err(self.source.problem(at, what, remedy));
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.data, open.key.take()) {
            (Data::List(items), _) => match node {
                Some(node) => items.push(node),
                None => return wrong("an item without a value".to_string(), "write one, or take it out"),
            },
            (Data::Table(entries), None) => {
                let Some(key) = text else {
                    return wrong("this is no key".to_string(), "a key is a word");
                };
                if key.len() > LONGEST_KEY {
                    return wrong(format!("a key of more than {LONGEST_KEY} bytes"), self.remedy);
                }
                if entries.iter().any(|entry| entry.key == key) {
                    return wrong(format!("\"{key}\" is said twice"), "remove one of both");
                }
                if entries.len() >= MOST_ENTRIES {
                    return wrong(format!("a table of more than {MOST_ENTRIES} entries"), self.remedy);
                }
                open.key = Some((key.to_string(), at));
            }
            (Data::Table(entries), Some((key, key_at))) => {
                entries.extend(node.map(|node| Entry { key, key_at, node }));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The bytes of a value, with all that is in it.
fn size(node: &Node) -> usize {
    let keys = node.entries().iter().map(|entry| VALUE.saturating_add(entry.key.len()));
    let items = node.items().iter().chain(node.entries().iter().map(|entry| &entry.node));
    let own = VALUE.saturating_add(node.text().map_or(0, str::len));
    keys.chain(items.map(size)).fold(own, usize::saturating_add)
}

/// The value of a text after the core schema of YAML 1.2; `None` is null.
fn scalar(text: &str, style: ScalarStyle) -> Option<Data> {
    if style != ScalarStyle::Plain {
        return Some(Data::Text(text.to_string()));
    }
    let number = |digits: &str, base| i64::from_str_radix(digits, base).ok().map(Data::Integer);
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.contains(|c: char| c.is_ascii_digit());
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => return None,
        "true" | "True" | "TRUE" => Data::Boolean(true),
        "false" | "False" | "FALSE" => Data::Boolean(false),
        _ => {
            let hexadecimal = text.strip_prefix("0x").and_then(|digits| number(digits, 16));
            let octal = text.strip_prefix("0o").and_then(|digits| number(digits, 8));
            let decimal = text.parse().ok().map(Data::Integer);
            let float = text.parse().ok().filter(|value: &f64| is_number && value.is_finite());
            hexadecimal
                .or(octal)
                .or(decimal)
                .or(float.map(Data::Float))
                .unwrap_or_else(|| Data::Text(text.to_string()))
        }
    })
}
