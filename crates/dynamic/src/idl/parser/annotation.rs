//! `@key` and its like (XTypes 1.3, 7.3.1.2).
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use wire::cdr::Extensibility;
use wire::schema::{Remarks, TryConstruct};

use super::{Parser, Result};
use crate::idl::IdlError;
use crate::idl::lexer::Token;

/// The annotations of one thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Annotations {
    found: Vec<Annotation>,
}

#[derive(Clone, Debug)]
struct Annotation {
    name: String,
    /// The value, if it is one integer, or a word.
    number: Option<i64>,
    word: Option<String>,
    place: IdlError,
}

/// What changes how samples look.
const MEANT: [&str; 14] = [
    "key",
    "id",
    "hashid",
    "optional",
    "must_understand",
    "final",
    "appendable",
    "mutable",
    "extensibility",
    "autoid",
    "bit_bound",
    "position",
    "default_literal",
    "value",
];

/// What changes type objects, and neither bytes nor keys.
const DESCRIPTIVE: [&str; 3] = ["nested", "external", "try_construct"];

/// What changes neither bytes nor keys (IDL 4.2, 8.3, XTypes 1.3, 7.3.1.2).
const HARMLESS: [&str; 17] = [
    "default_nested",
    "topic",
    "unit",
    "min",
    "max",
    "range",
    "verbatim",
    "data_representation",
    "ignore_literal_names",
    "service",
    "oneway",
    "ami",
    "default_topic",
    "publish",
    "subscribe",
    "description",
    "annotation",
];

/// The annotation that changes bytes or keys and has this name in another spelling, as older tools have it (`@Key`, `@ID`).
pub(in crate::idl) fn meaning(name: &str) -> Option<&'static str> {
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let name = plain(name);
    MEANT.into_iter().find(|known| plain(known) == name)
}

impl Parser {
    /// Those that come next, also in the form `//@key`, which is a comment and thus not seen.
    pub(super) fn annotations(&mut self) -> Result<Annotations> {
        let mut annotations = Annotations::default();
        while self.take('@') {
            let place = self.error_before(String::new());
            let name = self.scoped_name()?;
            let mut annotation = Annotation { name, number: None, word: None, place };
            self.remark(&annotation)?;
            if self.take('(') {
                self.value_of(&mut annotation)?;
            }
            annotations.found.push(annotation);
        }
        Ok(annotations)
    }

    /// Refuses an annotation that is not read and changes bytes or keys, and warns of one that may be meant to.
    fn remark(&mut self, annotation: &Annotation) -> Result<()> {
        let name = annotation.name.as_str();
        if MEANT.contains(&name)
            || DESCRIPTIVE.contains(&name)
            || HARMLESS.contains(&name)
            || self.described.contains(name)
        {
            return Ok(());
        }
        if name == "non_serialized" {
            return Err(annotation.wrong(
                "@non_serialized changes the bytes and is not read; leave the member out".to_string(),
            ));
        }
        let warning = if name == "default" {
            "@default is passed over: a member that is left out is 0 or empty".to_string()
        } else if let Some(meant) = meaning(name) {
            let what = if meant == "key" { "key" } else { "bytes" };
            return Err(annotation
                .wrong(format!("@{name} is not known, and would change the {what}; write @{meant}")));
        } else {
            let near = MEANT.into_iter().find(|known| is_near(known, name));
            let hint = near.map(|near| format!("; is @{near} meant?")).unwrap_or_default();
            format!("@{name} is not known and passed over{hint}")
        };
        if self.warnings.len() < super::MAX_WARNINGS {
            self.warnings.push(annotation.wrong(warning));
        }
        Ok(())
    }

    fn value_of(&mut self, annotation: &mut Annotation) -> Result<()> {
        let name = annotation.name.as_str();
        let meant = MEANT.contains(&name) || DESCRIPTIVE.contains(&name);
        if meant && self.word_after(0) == Some("value") && *self.peek_at(1) == Token::Sign('=') {
            self.advance();
            self.advance();
        }
        match self.peek().clone() {
            Token::Word(word) | Token::Text(word) if meant => {
                annotation.word = Some(word);
                self.advance();
            }
            _ if meant => annotation.number = Some(self.integer(0)?),
            _ => {}
        }
        let mut open = 1_usize;
        while open > 0 {
            match self.peek() {
                Token::Sign('(') => open = open.saturating_add(1),
                Token::Sign(')') => open -= 1,
                Token::End => return Err(self.expected("')'")),
                _ if meant => return Err(self.expected("')'")),
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// `@annotation name { … };` describes a new annotation, which changes nothing.
    pub(super) fn annotation_definition(&mut self) -> Result<()> {
        self.advance();
        self.advance();
        let name = self.name("an annotation")?;
        self.described.insert(name);
        while !matches!(self.peek(), Token::Sign('}') | Token::End) {
            self.advance();
        }
        self.sign('}')?;
        self.sign(';')
    }
}

impl Annotations {
    /// True if it is there and does not say FALSE.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some_and(|found| {
            found.number != Some(0) && !matches!(found.word.as_deref(), Some("FALSE" | "false"))
        })
    }

    /// Adds what comes later.
    pub(super) fn extend(&mut self, more: Self) {
        self.found.extend(more.found);
    }

    /// Its number.
    pub(super) fn number(&self, name: &str, range: core::ops::RangeInclusive<i64>) -> Result<Option<i64>> {
        let Some(found) = self.get(name) else { return Ok(None) };
        match found.number {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                Err(found.wrong(format!("@{name} takes a number from {} to {}", range.start(), range.end())))
            }
        }
    }

    /// Its word; the inner `None` if it has none.
    pub(super) fn word(&self, name: &str) -> Option<Option<&str>> {
        self.get(name).map(|found| found.word.as_deref())
    }

    /// How far a type may change; appendable if nothing is said (XTypes 1.3, 7.3.3.1).
    pub(super) fn extensibility(&self) -> Result<Extensibility> {
        self.extensibility_or(Extensibility::Appendable)
    }

    /// How far a type may change; `default` if nothing is said.
    pub(super) fn extensibility_or(&self, default: Extensibility) -> Result<Extensibility> {
        let named = self.get("extensibility");
        let mut found: Vec<&str> =
            ["final", "appendable", "mutable"].into_iter().filter(|name| self.has(name)).collect();
        found.extend(named.and_then(|annotation| annotation.word.as_deref()));
        match found.as_slice() {
            [] if named.is_none() => Ok(default),
            ["final" | "FINAL"] => Ok(Extensibility::Final),
            ["appendable" | "APPENDABLE"] => Ok(Extensibility::Appendable),
            ["mutable" | "MUTABLE"] => Ok(Extensibility::Mutable),
            _ => {
                let first = self.found.first().map_or("", |first| first.name.as_str());
                Err(self.wrong(first, "a type is one of @final, @appendable and @mutable"))
            }
        }
    }

    /// What becomes of values that do not fit; discarded if nothing is said.
    pub(super) fn try_construct(&self) -> TryConstruct {
        match self.word("try_construct") {
            Some(None | Some("USE_DEFAULT")) => TryConstruct::UseDefault,
            Some(Some("TRIM")) => TryConstruct::Trim,
            _ => TryConstruct::Discard,
        }
    }

    /// What is said of a structure or union that changes its type object alone.
    pub(super) fn remarks(&self) -> Remarks {
        let hash_ids = matches!(self.word("autoid"), Some(None | Some("HASH")));
        Remarks { nested: self.has("nested"), hash_ids }
    }

    /// An error at the annotation of this name.
    pub(super) fn wrong(&self, name: &str, message: &str) -> IdlError {
        let anywhere = IdlError { file: String::new(), line: 1, column: 1, message: String::new() };
        let place = self.get(name).map_or(anywhere, |found| found.place.clone());
        IdlError { message: message.to_string(), ..place }
    }

    /// Refuses what would change how samples look, but not here.
    pub(super) fn allow(&self, names: &[&str]) -> Result<()> {
        let misplaced = self
            .found
            .iter()
            .find(|found| MEANT.contains(&found.name.as_str()) && !names.contains(&found.name.as_str()));
        misplaced.map_or(Ok(()), |found| Err(found.wrong(format!("@{} has no meaning here", found.name))))
    }

    fn get(&self, name: &str) -> Option<&Annotation> {
        self.found.iter().find(|found| found.name == name)
    }
}

impl Annotation {
    fn wrong(&self, message: String) -> IdlError {
        IdlError { message, ..self.place.clone() }
    }
}

/// True if one letter is more, less or another, or two neighbours changed places.
fn is_near(known: &str, name: &str) -> bool {
    let (one, other) = (known.as_bytes(), name.as_bytes());
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one, other) = (one.get(same..).unwrap_or(&[]), other.get(same..).unwrap_or(&[]));
    match (one, other) {
        ([a, b, rest @ ..], [c, d, more @ ..]) if (a, b) == (d, c) && rest == more => true,
        ([_, rest @ ..], [_, more @ ..]) if rest == more => true,
        ([_, rest @ ..], more) if rest == more => true,
        (rest, [_, more @ ..]) => rest == more,
        _ => false,
    }
}
