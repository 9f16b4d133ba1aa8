//! JSON (RFC 8259) as a tree with places: programs write manifests so, and people have to find what is wrong in them.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::tree::{DEEPEST, Data, Entry, Node};

type Wrong = (usize, String);

/// The tree of a text; or where it goes wrong, and how.
pub(crate) fn read(text: &str) -> Result<Node, Wrong> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { text, at: start };
    let node = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() { reader.wrong("the end of the file is expected") } else { Ok(node) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wrong<T>(&self, what: &str) -> Result<T, Wrong> {
        Err((self.at, what.to_owned()))
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Takes a character, if it is next.
    fn take(&mut self, c: char) -> bool {
        self.blanks();
        let is_next = self.rest().starts_with(c);
        self.at += if is_next { c.len_utf8() } else { 0 };
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Node, Wrong> {
        self.blanks();
        let at = self.at;
        if depth > DEEPEST {
            return self.wrong("objects and lists lie too deep in each other");
        }
        let data = match self.rest().chars().next() {
            Some('{') => Data::Table(self.object(depth)?),
            Some('[') => Data::List(self.list(depth)?),
            Some('"') => Data::Text(self.string()?),
            Some('-' | '0'..='9') => self.number()?,
            _ if self.word("true") => Data::Boolean(true),
            _ if self.word("false") => Data::Boolean(false),
            _ => {
                return self
                    .wrong("a value is expected: an object, a list, a string, a number, true or false");
            }
        };
        Ok(Node { at, data })
    }

    fn word(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Entry>, Wrong> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut known = alloc::collections::BTreeSet::new();
        self.at += 1;
        if self.take('}') {
            return Ok(entries);
        }
        loop {
            self.blanks();
            let key_at = self.at;
            if !self.rest().starts_with('"') {
                return self.wrong("a name in quotes is expected");
            }
            let key = self.string()?;
            if !known.insert(key.clone()) {
                return Err((key_at, format!("the name {} is there twice", crate::value::quoted(&key))));
            }
            if !self.take(':') {
                return self.wrong("a colon is expected");
            }
            let node = self.value(depth + 1)?;
            entries.push(Entry { key, key_at, node });
            if self.take('}') {
                return Ok(entries);
            }
            if !self.take(',') {
                return self.wrong("a comma or a brace is expected");
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Wrong> {
        let mut items = Vec::new();
        self.at += 1;
        if self.take(']') {
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(']') {
                return Ok(items);
            }
            if !self.take(',') {
                return self.wrong("a comma or a bracket is expected");
            }
        }
    }

    fn number(&mut self) -> Result<Data, Wrong> {
        let rest = self.rest();
        let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let has_zero = digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let is_integer = !text.contains(['.', 'e', 'E']);
        let data = if has_zero || digits.starts_with('.') || digits.ends_with('.') || digits.contains(".e") {
            None
        } else if is_integer {
            text.parse().ok().map(Data::Integer)
        } else {
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(Data::Float)
        };
        let Some(data) = data else {
            return self.wrong("this is no number, or one that is too large");
        };
        self.at += end;
        Ok(data)
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let mut out = String::new();
        let begin = self.at;
        self.at += 1;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err((begin, "the string has no end".to_owned()));
            };
            if u32::from(c) < 0x20 {
                return self.wrong("a control character in a string; write it as \\n or \\u000a");
            }
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Wrong> {
        let Some(c) = self.rest().chars().next() else { return self.wrong("the string has no end") };
        let plain = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            _ => return self.wrong("no such escape"),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `\u` and four digits; twice for what is beyond the first plane.
    fn unicode(&mut self) -> Result<char, Wrong> {
        let first = self.unit()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 1;
            let second = self.unit()?;
            if !(0xdc00..0xe000).contains(&second) {
                return self.wrong("half a character");
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).map_or_else(|| self.wrong("half a character"), Ok)
    }

    /// Four hexadecimal digits after `u`.
    fn unit(&mut self) -> Result<u32, Wrong> {
        let digits = self.rest().get(1..5).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(unit) = unit else { return self.wrong("four hexadecimal digits are expected") };
        self.at += 5;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::value::Value;

    /// The value as an independent reader reads it.
    fn other(value: &serde_json::Value) -> Option<Value> {
        Some(match value {
            serde_json::Value::Null => return None,
            serde_json::Value::Bool(value) => Value::Boolean(*value),
            serde_json::Value::Number(value) => match value.as_i64() {
                Some(value) => Value::Integer(value),
                None => Value::Float(value.as_f64()?),
            },
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(other).collect::<Option<_>>()?),
            serde_json::Value::Object(items) => Value::Table(
                items.iter().map(|(key, value)| Some((key.clone(), other(value)?))).collect::<Option<_>>()?,
            ),
        })
    }

    #[test]
    fn another_reader_reads_the_same() {
        let texts = [
            r#"{"a": [1, -2, 2.5e3, 0, -0.5, "x\ty\u00e9\ud83d\ude00\/"], "b": {"c": {}}, "d": [], "e": false}"#,
            r#" [ 1 , 2 ] "#,
            r#""\b\f\n\r\t\"\\""#,
        ];
        for text in texts {
            let read = read(text).unwrap().value();
            assert_eq!(Some(&read), other(&serde_json::from_str(text).unwrap()).as_ref(), "{text}");
            assert_eq!(Some(read.clone()), other(&serde_json::from_str(&read.json()).unwrap()), "{text}");
        }
    }

    #[test]
    fn another_reader_refuses_the_same() {
        for text in [
            "",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "{a: 1}",
            "{\"a\": 1,}",
            "01",
            "-",
            "1.",
            ".5",
            "1.e3",
            "+1",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\n\"",
            "tru",
            "[]]",
            "nul",
            "1e999",
            "--1",
            "1-2",
        ] {
            assert!(read(text).is_err(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
        let twice = read("{\"a\": 1,\n \"a\": 2}").unwrap_err();
        assert_eq!(twice, (10, "the name \"a\" is there twice".to_owned()));
        assert!(read("null").is_err() && read("99999999999999999999").is_err());
    }
}
