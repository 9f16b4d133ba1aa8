//! Words, numbers and signs of IDL.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::Chars;

use super::{IdlError, Include, MAX_TEXT};

/// Most files that belong to a text, itself too: they are read inside of one another.
const MAX_FILES: u16 = 64;
/// Most bytes of a name: type objects have no room for longer ones (XTypes 1.3, annex B).
const MAX_NAME: usize = 255;
/// Most conditions inside of one another.
const MAX_CONDITIONS: usize = 32;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A name or keyword.
    Word(String),
    /// An integer.
    Number(i128),
    /// A number with a fraction or an exponent.
    Fraction(f64),
    /// A string.
    Text(String),
    /// A character in single quotes.
    Letter(char),
    /// A sign; `::`, `<<` and `>>` are made of two.
    Sign(char),
    /// `#pragma keylist`: a type and its keys.
    Keys(String, Vec<String>),
    /// The end of the text.
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Place of the file's name.
    pub(super) file: u16,
}

/// What a text is read with, and what came of it so far, over all files.
pub(super) struct Reading<'f> {
    /// Gives the text of a file that is included.
    include: Include<'f>,
    pub(super) tokens: Vec<Placed>,
    /// Names of the files, the text itself first, as the empty name.
    pub(super) files: Vec<String>,
    pub(super) warnings: Vec<IdlError>,
    /// What `#define` names, and stands for.
    defined: BTreeMap<String, Vec<Token>>,
    /// Bytes that all files together may still have.
    left: usize,
}

/// One text on its way to tokens.
pub(super) struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    line: u32,
    column: u32,
    /// Its name's place in the names of all files.
    file: u16,
    /// For each `#ifdef` that is open whether its part is read, and where it stands.
    conditions: Vec<(bool, u32)>,
}

/// All tokens of a text and of what it includes, with an end.
pub(super) fn tokens<'f>(text: &str, include: Include<'f>) -> Result<Reading<'f>, IdlError> {
    let mut reading = Reading {
        include,
        tokens: Vec::new(),
        files: Vec::from([String::new()]),
        warnings: Vec::new(),
        defined: BTreeMap::new(),
        left: MAX_TEXT,
    };
    let (line, column) = reading.text(text, 0)?;
    reading.tokens.push(Placed { token: Token::End, line, column, file: 0 });
    Ok(reading)
}

impl Reading<'_> {
    /// Reads one text; where it ends.
    fn text(&mut self, text: &str, file: u16) -> Result<(u32, u32), IdlError> {
        let mut lexer =
            Lexer { rest: text.chars().peekable(), line: 1, column: 1, file, conditions: Vec::new() };
        self.left = self
            .left
            .checked_sub(text.len())
            .ok_or_else(|| self.error(&lexer, 1, 1, format!("the text is longer than {MAX_TEXT} bytes")))?;
        loop {
            lexer.skip_space();
            let (line, column) = (lexer.line, lexer.column);
            let Some(first) = lexer.next() else {
                if let Some((_, line)) = lexer.conditions.last() {
                    return Err(self.error(&lexer, *line, 1, "#ifdef has no #endif".to_string()));
                }
                return Ok((line, column));
            };
            if first == '#' {
                self.directive(&mut lexer, line, column)?;
                continue;
            }
            if lexer.is_skipped() {
                lexer.while_in("", |next| next != '\n');
                continue;
            }
            let wrong = |message: String| IdlError { file: String::new(), line, column, message };
            match lexer.token(first).map_err(|message| self.place(&lexer, wrong(message)))? {
                Read::Token(Token::Word(word)) if self.defined.contains_key(&word) => {
                    for token in self.defined.get(&word).cloned().unwrap_or_default() {
                        self.push(&lexer, token, line, column)?;
                    }
                }
                Read::Token(token) => self.push(&lexer, token, line, column)?,
                Read::Comment(text) => self.comment(&lexer, &text, line, column),
            }
        }
    }

    pub(super) fn push(
        &mut self,
        lexer: &Lexer<'_>,
        token: Token,
        line: u32,
        column: u32,
    ) -> Result<(), IdlError> {
        // Each token has a byte; those of macros need not.
        if self.tokens.len() > MAX_TEXT {
            return Err(self.error(lexer, line, column, "macros make the text too long".to_string()));
        }
        self.tokens.push(Placed { token, line, column, file: lexer.file });
        Ok(())
    }

    /// Old tools read annotations from comments, as `//@key`.
    fn comment(&mut self, lexer: &Lexer<'_>, text: &str, line: u32, column: u32) {
        let name: String = text
            .strip_prefix('@')
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        if let Some(meant) = super::parser::meaning(&name) {
            let message =
                format!("//@{name} is a comment, and changes nothing; put @{meant} before the member");
            let warning = self.error(lexer, line, column, message);
            self.warnings.push(warning);
        }
    }

    pub(super) fn error(&self, lexer: &Lexer<'_>, line: u32, column: u32, message: String) -> IdlError {
        self.place(lexer, IdlError { file: String::new(), line, column, message })
    }

    fn place(&self, lexer: &Lexer<'_>, error: IdlError) -> IdlError {
        let file = self.files.get(usize::from(lexer.file)).cloned().unwrap_or_default();
        IdlError { file, ..error }
    }

    /// Reads a file in the place of an `#include`; nothing if it was read before.
    pub(super) fn included(&mut self, name: &str) -> Result<(), Result<IdlError, String>> {
        if self.files.iter().any(|known| known == name) {
            return Ok(());
        }
        let file = u16::try_from(self.files.len()).ok().filter(|file| *file < MAX_FILES);
        let file = file.ok_or_else(|| Err(format!("there are more than {MAX_FILES} files")))?;
        let text = (self.include)(name).map_err(Err)?;
        self.files.push(name.to_string());
        self.text(&text, file).map(|_| ()).map_err(Ok)
    }

    pub(super) fn define(&mut self, name: String, text: &str) -> Result<(), String> {
        let mut lexer =
            Lexer { rest: text.chars().peekable(), line: 1, column: 1, file: 0, conditions: Vec::new() };
        let mut tokens = Vec::new();
        loop {
            lexer.skip_space();
            match lexer.next().map(|first| lexer.token(first)).transpose()? {
                Some(Read::Token(token)) => tokens.push(token),
                Some(Read::Comment(_)) => {}
                None => break,
            }
        }
        self.defined.insert(name, tokens);
        Ok(())
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.defined.contains_key(name)
    }

    pub(super) fn undefine(&mut self, name: &str) {
        self.defined.remove(name);
    }
}

/// What a text goes on with.
enum Read {
    Token(Token),
    /// What follows `//` in its line, or nothing.
    Comment(String),
}

impl Lexer<'_> {
    /// What begins with this character; an error is told where it stands.
    fn token(&mut self, first: char) -> Result<Read, String> {
        let token = match first {
            '/' if self.rest.peek() == Some(&'/') => {
                let line = self.while_in("", |next| next != '\n');
                return Ok(Read::Comment(line.trim_start_matches('/').to_string()));
            }
            '/' if self.rest.peek() == Some(&'*') => {
                self.comment()?;
                return Ok(Read::Comment(String::new()));
            }
            '"' => self.string()?,
            '\'' => self.letter()?,
            // Wide texts and characters are marked, and are the same here.
            'L' if self.rest.peek() == Some(&'"') => {
                self.next();
                self.string()?
            }
            'L' if self.rest.peek() == Some(&'\'') => {
                self.next();
                self.letter()?
            }
            '0'..='9' => self.number(first)?,
            '.' if self.rest.peek().is_some_and(char::is_ascii_digit) => self.number(first)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                let word =
                    self.while_in(&first.to_string(), |next| next.is_ascii_alphanumeric() || next == '_');
                if word.len() > MAX_NAME {
                    return Err(format!("a name has at most {MAX_NAME} bytes"));
                }
                // A leading underscore only keeps a name from being a keyword.
                Token::Word(word.strip_prefix('_').map_or(word.clone(), ToString::to_string))
            }
            '{' | '}' | '(' | ')' | '<' | '>' | '[' | ']' | ';' | ':' | ',' | '=' | '@' | '-' | '+' | '*'
            | '/' | '|' | '&' | '^' | '~' | '%' => Token::Sign(first),
            other => return Err(format!("the character {other:?} has no meaning here")),
        };
        Ok(Read::Token(token))
    }

    /// The rest of the line.
    pub(super) fn rest_of_line(&mut self) -> String {
        self.while_in("", |next| next != '\n')
    }

    /// True inside of a part that conditions leave out.
    pub(super) fn is_skipped(&self) -> bool {
        self.conditions.iter().any(|(is_read, _)| !is_read)
    }

    pub(super) fn begin_condition(&mut self, is_read: bool, line: u32) -> bool {
        self.conditions.push((is_read, line));
        self.conditions.len() <= MAX_CONDITIONS
    }

    /// False if there is none.
    pub(super) fn turn_condition(&mut self) -> bool {
        self.conditions.last_mut().map(|(is_read, _)| *is_read = !*is_read).is_some()
    }

    /// False if there is none.
    pub(super) fn end_condition(&mut self) -> bool {
        self.conditions.pop().is_some()
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

    fn skip_space(&mut self) {
        while self.rest.peek().is_some_and(|next| next.is_whitespace()) {
            self.next();
        }
    }

    fn while_in(&mut self, start: &str, is_in: impl Fn(char) -> bool) -> String {
        let mut text = start.to_string();
        while let Some(next) = self.rest.peek().copied().filter(|next| is_in(*next)) {
            text.push(next);
            self.next();
        }
        text
    }

    fn comment(&mut self) -> Result<(), String> {
        let mut before = ' ';
        // The star that begins it does not end it.
        self.next();
        while let Some(next) = self.next() {
            if before == '*' && next == '/' {
                return Ok(());
            }
            before = next;
        }
        Err("the comment does not end; put */ at its end".to_string())
    }

    fn string(&mut self) -> Result<Token, String> {
        let mut text = String::new();
        while let Some(next) = self.next() {
            match next {
                '"' => return Ok(Token::Text(text)),
                '\\' => text.push(self.escaped()?),
                '\n' => break,
                other => text.push(other),
            }
        }
        Err("the string does not end; put \" at its end".to_string())
    }

    fn letter(&mut self) -> Result<Token, String> {
        let found = match self.next() {
            Some('\\') => Some(self.escaped()?),
            other => other.filter(|letter| !matches!(letter, '\'' | '\n')),
        };
        match (found, self.next()) {
            (Some(letter), Some('\'')) => Ok(Token::Letter(letter)),
            _ => Err("one character belongs between the quotes, as 'x'".to_string()),
        }
    }

    /// What follows a backslash.
    fn escaped(&mut self) -> Result<char, String> {
        let wrong = || "the character after \\ has no meaning there".to_string();
        let first = self.next().ok_or_else(wrong)?;
        let (radix, most) = match first {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            'a' => return Ok('\x07'),
            'b' => return Ok('\x08'),
            'v' => return Ok('\x0b'),
            'f' => return Ok('\x0c'),
            '\\' | '\'' | '"' | '?' => return Ok(first),
            '0'..='7' => (8, 2),
            'x' => (16, 2),
            'u' => (16, 4),
            _ => return Err(wrong()),
        };
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..most {
            let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(radix)) else { break };
            value = value * radix + digit;
            self.next();
        }
        char::from_u32(value).ok_or_else(wrong)
    }

    fn number(&mut self, first: char) -> Result<Token, String> {
        let is_part = |next: char| next.is_ascii_alphanumeric() || next == '.';
        let mut text = self.while_in(&first.to_string(), is_part);
        let wrong = |text: &str| format!("{text} is no number; write it as 42, 0x2a or 052");
        let lower = text.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("0x") {
            return i128::from_str_radix(digits, 16).map(Token::Number).map_err(|_| wrong(&text));
        }
        if lower.ends_with('e') && self.rest.peek().is_some_and(|next| matches!(next, '+' | '-')) {
            text.extend(self.next());
            text = self.while_in(&text, is_part);
        }
        if text.contains(['.', 'e', 'E']) {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            return value
                .map(Token::Fraction)
                .ok_or_else(|| format!("{text} is no number; write it as 4.2 or 42e-1"));
        }
        let parsed = if lower.len() > 1 && lower.starts_with('0') {
            i128::from_str_radix(&lower, 8)
        } else {
            lower.parse()
        };
        parsed.map(Token::Number).map_err(|_| wrong(&text))
    }
}
