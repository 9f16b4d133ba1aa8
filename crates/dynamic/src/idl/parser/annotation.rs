//! `@key` and its like (XTypes 1.3, 7.3.1.2).
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use wire::cdr::Extensibility;

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

/// What changes how samples look. Everything else (`@default`, `@unit`, `@range`, `@verbatim` and so on) is passed over.
const MEANT: [&str; 13] = [
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
];

impl Parser {
    /// Those that come next, also in the form `//@key`, which is a comment and thus not seen.
    pub(super) fn annotations(&mut self) -> Result<Annotations> {
        let mut annotations = Annotations::default();
        while self.take('@') {
            let place = self.error_before(String::new());
            let name = self.scoped_name()?;
            let mut annotation = Annotation { name, number: None, word: None, place };
            if self.take('(') {
                self.value_of(&mut annotation)?;
            }
            annotations.found.push(annotation);
        }
        Ok(annotations)
    }

    fn value_of(&mut self, annotation: &mut Annotation) -> Result<()> {
        let meant = MEANT.contains(&annotation.name.as_str());
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

    /// `@annotation name { … };` describes a new annotation: passed over.
    pub(super) fn annotation_definition(&mut self) -> Result<()> {
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
        let named = self.get("extensibility");
        let mut found: Vec<&str> =
            ["final", "appendable", "mutable"].into_iter().filter(|name| self.has(name)).collect();
        found.extend(named.and_then(|annotation| annotation.word.as_deref()));
        match found.as_slice() {
            [] if named.is_none() => Ok(Extensibility::Appendable),
            ["final" | "FINAL"] => Ok(Extensibility::Final),
            ["appendable" | "APPENDABLE"] => Ok(Extensibility::Appendable),
            ["mutable" | "MUTABLE"] => Ok(Extensibility::Mutable),
            _ => {
                let place = self.found.first().map(|first| first.place.clone());
                let message = "a type is one of @final, @appendable and @mutable".to_string();
                Err(place.map_or(IdlError { line: 1, column: 1, message: message.clone() }, |place| {
                    IdlError { message, ..place }
                }))
            }
        }
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
