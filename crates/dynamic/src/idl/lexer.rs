//! Words, numbers and signs of IDL.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{IdlError, MAX_TEXT};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A name or keyword.
    Word(String),
    /// An integer.
    Number(i128),
    /// A string, or a number with a fraction: only annotations that are passed over have these.
    Text(String),
    /// A character in single quotes.
    Letter(char),
    /// A sign; `::`, `<<` and `>>` are made of two.
    Sign(char),
    /// The end of the text.
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) line: u32,
    pub(super) column: u32,
}

struct Lexer<'a> {
    rest: core::iter::Peekable<core::str::Chars<'a>>,
    line: u32,
    column: u32,
}

/// The tokens of a text, with an end; and whether it has an `#include`.
pub(super) fn tokens(text: &str) -> Result<(Vec<Placed>, bool), IdlError> {
    let mut lexer = Lexer { rest: text.chars().peekable(), line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        return Err(lexer.error(1, 1, format!("the text is longer than {MAX_TEXT} octets")));
    }
    let (mut tokens, mut includes) = (Vec::new(), false);
    loop {
        lexer.skip_space();
        let (line, column) = (lexer.line, lexer.column);
        let Some(first) = lexer.next() else {
            tokens.push(Placed { token: Token::End, line, column });
            return Ok((tokens, includes));
        };
        let token = match first {
            '#' => {
                includes |= lexer.while_in("#", |next| next != '\n').starts_with("#include");
                continue;
            }
            '/' if lexer.rest.peek() == Some(&'/') => {
                lexer.while_in("", |next| next != '\n');
                continue;
            }
            '/' if lexer.rest.peek() == Some(&'*') => {
                lexer.comment(line, column)?;
                continue;
            }
            '"' => lexer.string(line, column)?,
            '\'' => lexer.letter(line, column)?,
            '0'..='9' => lexer.number(first, line, column)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                let word =
                    lexer.while_in(&first.to_string(), |next| next.is_ascii_alphanumeric() || next == '_');
                // A leading underscore only keeps a name from being a keyword.
                Token::Word(word.strip_prefix('_').map_or(word.clone(), ToString::to_string))
            }
            '{' | '}' | '(' | ')' | '<' | '>' | '[' | ']' | ';' | ':' | ',' | '=' | '@' | '-' | '+' | '*'
            | '/' | '|' => Token::Sign(first),
            other => {
                return Err(lexer.error(
                    line,
                    column,
                    format!("the character {other:?} has no meaning here"),
                ));
            }
        };
        tokens.push(Placed { token, line, column });
    }
}

impl Lexer<'_> {
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

    fn comment(&mut self, line: u32, column: u32) -> Result<(), IdlError> {
        let mut before = ' ';
        // The star that begins it does not end it.
        self.next();
        while let Some(next) = self.next() {
            if before == '*' && next == '/' {
                return Ok(());
            }
            before = next;
        }
        Err(self.error(line, column, "the comment does not end; put */ at its end".to_string()))
    }

    fn string(&mut self, line: u32, column: u32) -> Result<Token, IdlError> {
        let mut text = String::new();
        while let Some(next) = self.next() {
            match next {
                '"' => return Ok(Token::Text(text)),
                '\\' => text.extend(self.next()),
                '\n' => break,
                other => text.push(other),
            }
        }
        Err(self.error(line, column, "the string does not end; put \" at its end".to_string()))
    }

    fn letter(&mut self, line: u32, column: u32) -> Result<Token, IdlError> {
        let found = self.next().filter(|letter| !matches!(letter, '\\' | '\'' | '\n'));
        match (found, self.next()) {
            (Some(letter), Some('\'')) => Ok(Token::Letter(letter)),
            _ => {
                Err(self.error(line, column, "one character belongs between the quotes, as 'x'".to_string()))
            }
        }
    }

    fn number(&mut self, first: char, line: u32, column: u32) -> Result<Token, IdlError> {
        let text = self.while_in(&first.to_string(), |next| next.is_ascii_alphanumeric() || next == '.');
        if text.contains('.') {
            return Ok(Token::Text(text));
        }
        let lower = text.to_ascii_lowercase();
        let parsed = if let Some(digits) = lower.strip_prefix("0x") {
            i128::from_str_radix(digits, 16)
        } else if lower.len() > 1 && lower.starts_with('0') {
            i128::from_str_radix(&lower, 8)
        } else {
            lower.parse()
        };
        parsed.map(Token::Number).map_err(|_| {
            self.error(line, column, format!("{text} is no number; write it as 42, 0x2a or 052"))
        })
    }

    fn error(&self, line: u32, column: u32, message: String) -> IdlError {
        IdlError { line, column, message }
    }
}
