//! Where in a text of values the reader is.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Result, TextError};

pub(super) struct Cursor<'a> {
    rest: core::str::Chars<'a>,
    line: u32,
    column: u32,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.chars(), line: 1, column: 1 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    pub(super) fn error(&self, message: String) -> TextError {
        TextError { line: self.line, column: self.column, message }
    }

    pub(super) fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
    }

    /// Takes a sign, with space around it.
    pub(super) fn expect(&mut self, sign: char, what: &str) -> Result<()> {
        self.skip_space();
        match self.peek() {
            Some(next) if next == sign => {
                self.next();
                self.skip_space();
                Ok(())
            }
            Some(other) => Err(self.error(format!("expected {what}, found {other:?}"))),
            None => Err(self.error(format!("expected {what}, found the end of the text"))),
        }
    }

    /// Takes the sign that ends a list if it comes next.
    pub(super) fn ends_with(&mut self, end: char) -> Result<bool> {
        self.skip_space();
        match self.peek() {
            Some(next) if next == end => {
                self.next();
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Err(self.error(format!("expected {end:?}, found the end of the text"))),
        }
    }

    /// Takes a comma, or sees the end of the list; the end of a line is as good as a comma.
    pub(super) fn separator(&mut self, end: char) -> Result<()> {
        let line = self.line;
        self.skip_space();
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(())
            }
            Some(next) if next == end || self.line > line => Ok(()),
            Some(other) => Err(self.error(format!("expected a comma or {end:?}, found {other:?}"))),
            None => Err(self.error(format!("expected {end:?}, found the end of the text"))),
        }
    }

    /// Takes a comma, or sees the end of the text; the end of a line is as good as a comma.
    pub(super) fn separator_or_end(&mut self) -> Result<()> {
        let line = self.line;
        self.skip_space();
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(())
            }
            None => Ok(()),
            Some(_) if self.line > line => Ok(()),
            Some(other) => Err(self.error(format!("expected a comma, found {other:?}"))),
        }
    }

    /// True if a word comes next, without quotes.
    pub(super) fn word_is(&self, word: &str) -> bool {
        let mut rest = self.rest.clone();
        word.chars().all(|letter| rest.next() == Some(letter))
            && rest.next().is_none_or(|next| !next.is_alphanumeric())
    }

    /// UTF-16 code units: of a string in quotes also halves of pairs, which are no characters.
    pub(super) fn units(&mut self) -> Result<Vec<u16>> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.next();
                self.quoted(quote)
            }
            _ => Ok(self.text()?.encode_utf16().collect()),
        }
    }

    /// A word in quotes, or up to the next sign without.
    pub(super) fn text(&mut self) -> Result<String> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.next();
                let units = self.quoted(quote)?;
                String::from_utf16(&units)
                    .map_err(|_| self.error("\\u is no character: half of a pair stands alone".to_string()))
            }
            _ => {
                let mut text = String::new();
                while let Some(next) = self.peek() {
                    let ends = matches!(next, ',' | '{' | '}' | '[' | ']' | '\n')
                        // Names of C++ have two colons.
                        || next == ':' && !self.rest.as_str().starts_with("::") && !text.ends_with("::");
                    if ends {
                        break;
                    }
                    text.push(next);
                    self.next();
                    if next == ':' && self.peek() == Some(':') {
                        text.push(':');
                        self.next();
                    }
                }
                let text = text.trim_end().to_string();
                if text.is_empty() {
                    let found =
                        self.peek().map_or("the end of the text".to_string(), |next| format!("{next:?}"));
                    return Err(self.error(format!("expected a word or number, found {found}")));
                }
                Ok(text)
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Vec<u16>> {
        let mut units = Vec::new();
        while let Some(next) = self.next() {
            match next {
                end if end == quote => return Ok(units),
                '\\' if quote == '"' => units.push(self.escape()?),
                other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
            }
        }
        Err(self.error(format!("the string does not end; put {quote} at its end")))
    }

    fn escape(&mut self) -> Result<u16> {
        Ok(match self.next() {
            Some('n') => 0xa,
            Some('r') => 0xd,
            Some('t') => 0x9,
            Some('b') => 0x8,
            Some('f') => 0xc,
            Some('u') => self.unit()?,
            Some(other @ ('"' | '\\' | '/' | '\'')) => other as u16,
            _ => return Err(self.error("a backslash stands before one of n r t b f u \" \\ /".to_string())),
        })
    }

    /// Four hexadecimal digits: a code unit of UTF-16.
    fn unit(&mut self) -> Result<u16> {
        let mut unit = 0_u32;
        for _ in 0..4 {
            let digit = self.next().and_then(|digit| digit.to_digit(16));
            unit = unit * 16
                + digit.ok_or_else(|| self.error("four hexadecimal digits follow \\u".to_string()))?;
        }
        Ok(u16::try_from(unit).unwrap_or(0))
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(next)
    }
}
