//! From tokens to types.
mod annotation;
mod bitset;
mod composite;
mod expression;
mod keylist;
mod types;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use self::annotation::Annotations;
pub(super) use self::annotation::meaning;
pub(crate) use self::composite::hash_id;
use super::lexer::{self, Placed, Token};
use super::scope::{Meaning, Names};
use super::{Declared, IdlError, Include, Item, Parsed};
use wire::schema::Schema;

/// How deep modules, collections and the like may be nested.
const MAX_NESTING: usize = 32;
/// Most values that the initial value of a type may have: arrays in structures in arrays multiply.
const MAX_VALUES: usize = 1 << 20;
/// Most members that structures inherit, all together: a large one can be extended many times.
const MAX_INHERITED: usize = 1 << 16;
/// Most types of a text.
const MAX_TYPES: usize = 4096;
/// Most warnings: who writes a thousand annotations that are not known has read the first hundred.
const MAX_WARNINGS: usize = 100;

pub(super) struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    schema: Schema,
    names: Names,
    /// Names of the files that tokens are of.
    files: Vec<String>,
    warnings: Vec<IdlError>,
    /// Annotations that the text describes.
    described: BTreeSet<String>,
    /// What was declared so far.
    items: Vec<Item>,
    /// Members that structures have inherited.
    inherited: usize,
    /// Angle brackets are around what is read.
    in_brackets: bool,
    /// Bits of the unsigned constant that is read.
    width: Option<u32>,
}

type Result<T> = core::result::Result<T, IdlError>;

pub(super) fn parse(text: &str, include: Include<'_>) -> Result<Parsed> {
    let lexer::Reading { tokens, files, warnings, .. } = lexer::tokens(text, include)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        schema: Schema::default(),
        names: Names::default(),
        files,
        warnings,
        described: BTreeSet::new(),
        items: Vec::new(),
        inherited: 0,
        in_brackets: false,
        width: None,
    };
    while *parser.peek() != Token::End {
        parser.definition()?;
    }
    if let Some(name) = parser.names.open() {
        return Err(parser.error(format!("{name} was declared, and is never described")));
    }
    if parser.schema.iter().next().is_none() {
        return Err(parser.error("there is no type in the text; write struct Name { long member; };"));
    }
    let Parser { schema, mut warnings, items, .. } = parser;
    warnings.truncate(MAX_WARNINGS);
    Ok(Parsed { schema, items, warnings })
}

impl Parser {
    fn definition(&mut self) -> Result<()> {
        if self.schema.iter().count() >= MAX_TYPES {
            return Err(self.error(format!("there are more than {MAX_TYPES} types")));
        }
        if *self.peek() == Token::Sign('@') && self.word_after(1) == Some("annotation") {
            return self.annotation_definition();
        }
        if let Token::Keys(of, keys) = self.peek().clone() {
            self.advance();
            return self.key_list(&of, &keys);
        }
        let annotations = self.annotations()?;
        let keyword = self.word("struct, union, enum, bitmask, bitset, typedef, const or module")?;
        match keyword.as_str() {
            "module" => self.module(&annotations)?,
            "struct" => self.structure(&annotations)?,
            "union" => self.union(&annotations)?,
            "enum" => self.enumeration(&annotations)?,
            "bitmask" => self.bitmask(&annotations)?,
            "bitset" => self.bitset(&annotations)?,
            "typedef" => self.typedef(&annotations)?,
            "const" => self.constant(&annotations)?,
            other => {
                return Err(self.error_before(format!(
                    "{other:?} begins nothing that is read here; struct, union, enum, bitmask, bitset, typedef, const and module do"
                )));
            }
        }
        // The last one may go without: people type types on command lines.
        if matches!(self.peek(), Token::End | Token::Keys(..)) { Ok(()) } else { self.sign(';') }
    }

    fn module(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&[])?;
        let name = self.name("a module")?;
        if self.names.depth() >= MAX_NESTING {
            return Err(self.error(format!("modules are nested deeper than {MAX_NESTING}")));
        }
        self.sign('{')?;
        self.names.enter(&name);
        while *self.peek() != Token::Sign('}') {
            self.definition()?;
        }
        self.names.leave();
        self.sign('}')
    }

    /// Gives a name of this module, at the token `at`, a meaning.
    fn define_at(&mut self, name: &str, meaning: Meaning, at: usize) -> Result<()> {
        let qualified = self.names.qualified(name);
        if self.names.define(&qualified, meaning) {
            return Ok(());
        }
        Err(self.error_at(at, format!("{qualified} is described twice; give one of them another name")))
    }

    /// Notes what was declared by the name at the token `at`.
    fn declare(&mut self, what: Declared, at: usize) {
        let place = self.error_at(at, "");
        self.items.push(Item { what, place });
    }

    /// Remarks what begins at the next token.
    fn warn(&mut self, message: &str) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(self.error(message));
        }
    }

    /// `a::b`, or `::a::b`.
    fn scoped_name(&mut self) -> Result<String> {
        let mut name = String::new();
        if self.two(':') {
            name.push_str("::");
        }
        name.push_str(&self.word("a name")?);
        while self.two(':') {
            name.push_str("::");
            name.push_str(&self.word("a name")?);
        }
        Ok(name)
    }

    fn name(&mut self, of: &str) -> Result<String> {
        self.word(&format!("the name of {of}"))
    }

    fn word(&mut self, what: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn sign(&mut self, sign: char) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(self.expected(&format!("{sign:?}"))) }
    }

    /// Takes a sign if it comes next.
    fn take(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a sign of two like characters if it comes next.
    fn two(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign) && *self.peek_at(1) == Token::Sign(sign);
        if found {
            self.advance();
            self.advance();
        }
        found
    }

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at.saturating_add(ahead)).map_or(&Token::End, |placed| &placed.token)
    }

    fn word_after(&self, ahead: usize) -> Option<&str> {
        match self.peek_at(ahead) {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Goes on; the end stays where it is.
    fn advance(&mut self) {
        self.at = self.at.saturating_add(1).min(self.tokens.len());
    }

    fn expected(&self, what: &str) -> IdlError {
        let found = match self.peek() {
            Token::Word(word) => format!("{word:?}"),
            Token::Number(number) => number.to_string(),
            Token::Fraction(number) => number.to_string(),
            Token::Text(text) => format!("{text:?}"),
            Token::Letter(letter) => format!("{letter:?}"),
            Token::Sign(sign) => format!("{sign:?}"),
            Token::Keys(..) => "#pragma keylist".to_string(),
            Token::End => "the end of the text".to_string(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// An error at the next token.
    fn error(&self, message: impl Into<String>) -> IdlError {
        self.error_at(self.at, message)
    }

    /// An error at the token that was taken last.
    fn error_before(&self, message: impl Into<String>) -> IdlError {
        self.error_at(self.at.saturating_sub(1), message)
    }

    fn error_at(&self, at: usize, message: impl Into<String>) -> IdlError {
        let placed = self.tokens.get(at).or_else(|| self.tokens.last());
        let (line, column, file) =
            placed.map_or((1, 1, 0), |placed| (placed.line, placed.column, placed.file));
        let file = self.files.get(usize::from(file)).cloned().unwrap_or_default();
        IdlError { file, line, column, message: message.into() }
    }
}
