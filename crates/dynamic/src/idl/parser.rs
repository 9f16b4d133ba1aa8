//! From tokens to types.
mod annotation;
mod composite;
mod keylist;
mod types;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use self::annotation::Annotations;
pub(super) use self::annotation::meaning;
use super::lexer::{self, Placed, Token};
use super::scope::{Meaning, Names};
use super::{IdlError, Include, Parsed};
use wire::schema::{Schema, Type};

/// How deep modules, collections and the like may be nested.
const MAX_NESTING: usize = 32;
/// Most values that the initial value of a type may have: arrays in structures in arrays multiply.
const MAX_VALUES: usize = 1 << 20;
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
    let Parser { schema, mut warnings, .. } = parser;
    warnings.truncate(MAX_WARNINGS);
    Ok(Parsed { schema, warnings })
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
        let keyword = self.word("struct, union, enum, bitmask, typedef, const or module")?;
        match keyword.as_str() {
            "module" => self.module(&annotations)?,
            "struct" => self.structure(&annotations)?,
            "union" => self.union(&annotations)?,
            "enum" => self.enumeration(&annotations)?,
            "bitmask" => self.bitmask(&annotations)?,
            "typedef" => self.typedef(&annotations)?,
            "const" => self.constant(&annotations)?,
            other => {
                return Err(self.error_before(format!(
                    "{other:?} begins nothing that is read here; struct, union, enum, bitmask, typedef, const and module do"
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

    fn constant(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&[])?;
        // Other constants than integers mean nothing to types.
        let place = self.at;
        let is_integer =
            self.type_spec(0).is_ok_and(|ty| matches!(self.schema.plain(&ty), Type::Primitive(_)));
        if !is_integer {
            self.at = place;
            while !matches!(self.peek(), Token::Sign(';') | Token::End) {
                self.advance();
            }
            return Ok(());
        }
        let name = self.name("a constant")?;
        self.sign('=')?;
        if let (Token::Text(_), _) = (self.peek(), ()) {
            self.advance();
            return Ok(());
        }
        let value = self.integer(0)?;
        self.define(&name, Meaning::Constant(value))
    }

    /// Gives a name of this module a meaning.
    fn define(&mut self, name: &str, meaning: Meaning) -> Result<()> {
        let qualified = self.names.qualified(name);
        if self.names.define(&qualified, meaning) {
            return Ok(());
        }
        Err(self.error_before(format!("{qualified} is described twice; give one of them another name")))
    }

    /// An integer, or sums, products and the like of such.
    fn integer(&mut self, depth: usize) -> Result<i64> {
        let mut value = self.product(depth)?;
        loop {
            let combined = match self.peek() {
                Token::Sign('+') => {
                    self.advance();
                    value.checked_add(self.product(depth)?)
                }
                Token::Sign('-') => {
                    self.advance();
                    value.checked_sub(self.product(depth)?)
                }
                Token::Sign('|') => {
                    self.advance();
                    Some(value | self.product(depth)?)
                }
                Token::Sign('<') if self.peek_at(1) == &Token::Sign('<') => {
                    self.advance();
                    self.advance();
                    let by = self.product(depth)?;
                    u32::try_from(by).ok().filter(|by| *by < 63).and_then(|by| value.checked_mul(1 << by))
                }
                _ => return Ok(value),
            };
            value = combined.ok_or_else(|| self.error_before("the number is too large for 64 bits"))?;
        }
    }

    fn product(&mut self, depth: usize) -> Result<i64> {
        let mut value = self.factor(depth)?;
        loop {
            let combined = match self.peek() {
                Token::Sign('*') => {
                    self.advance();
                    value.checked_mul(self.factor(depth)?)
                }
                Token::Sign('/') => {
                    self.advance();
                    value.checked_div(self.factor(depth)?)
                }
                _ => return Ok(value),
            };
            value =
                combined.ok_or_else(|| self.error_before("the number is too large, or divided by zero"))?;
        }
    }

    fn factor(&mut self, depth: usize) -> Result<i64> {
        if depth > MAX_NESTING {
            return Err(self.error("the expression is nested too deeply"));
        }
        match self.peek().clone() {
            Token::Sign('-') => {
                self.advance();
                let value = self.factor(depth + 1)?;
                value.checked_neg().ok_or_else(|| self.error_before("the number is too large for 64 bits"))
            }
            Token::Sign('(') => {
                self.advance();
                let value = self.integer(depth + 1)?;
                self.sign(')')?;
                Ok(value)
            }
            Token::Number(number) => {
                self.advance();
                // Octal and hexadecimal masks of 64 bits are written without sign.
                i64::try_from(number)
                    .or_else(|_| u64::try_from(number).map(u64::cast_signed))
                    .map_err(|_| self.error_before("the number is too large for 64 bits"))
            }
            Token::Letter(letter) => {
                self.advance();
                Ok(i64::from(u32::from(letter)))
            }
            Token::Word(_) | Token::Sign(':') => {
                let name = self.scoped_name()?;
                match self.names.resolve(&name) {
                    Some(Meaning::Constant(value)) => Ok(*value),
                    _ if name == "TRUE" => Ok(1),
                    _ if name == "FALSE" => Ok(0),
                    _ => Err(self.error_before(format!("{name} is no constant that is known here"))),
                }
            }
            _ => Err(self.expected("a number")),
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
