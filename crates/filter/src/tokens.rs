//! The tokens of expressions: names, literals, parameters, operators and keywords.
use alloc::borrow::ToOwned;
use alloc::string::String;

use crate::error::{SyntaxError, SyntaxProblem};
use crate::fields::index;

/// A relation between two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
}

/// A value that stands in the text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Boolean(bool),
    /// From -2^63 to 2^64 - 1.
    Integer(i128),
    Float(f64),
    /// A quoted text: a character, a string or a label, as what it is compared with says.
    Text(String),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Token {
    /// The path of a field, without blanks.
    Path(String),
    Literal(Literal),
    /// `%n`.
    Parameter(u8),
    Relation(Relation),
    And,
    Or,
    Not,
    Between,
    Open,
    Close,
    End,
}

/// Reads tokens one by one.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    /// Where the next token may begin; always at a character's first byte.
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// The next token, and where it begins.
    pub(crate) fn next(&mut self) -> Result<(usize, Token), SyntaxError> {
        let blanks = self.rest().len() - self.rest().trim_ascii_start().len();
        self.at += blanks;
        let at = self.at;
        let rest = self.rest();
        let error = |problem| SyntaxError { at, problem };
        let Some(first) = rest.chars().next() else {
            return Ok((at, Token::End));
        };
        let pairs = [
            ("<>", Relation::NotEqual),
            ("<=", Relation::LessOrEqual),
            (">=", Relation::GreaterOrEqual),
            ("=", Relation::Equal),
            ("<", Relation::Less),
            (">", Relation::Greater),
        ];
        if rest.starts_with("==") {
            return Err(error(SyntaxProblem::ForeignOperator("==", "=")));
        }
        if rest.starts_with("!=") {
            return Err(error(SyntaxProblem::ForeignOperator("!=", "<>")));
        }
        if let Some((sign, relation)) = pairs.into_iter().find(|(sign, _)| rest.starts_with(sign)) {
            self.at += sign.len();
            return Ok((at, Token::Relation(relation)));
        }
        let token = match first {
            '(' | ')' => {
                self.at += 1;
                if first == '(' { Token::Open } else { Token::Close }
            }
            '\'' | '`' => Token::Literal(Literal::Text(self.quoted(at)?)),
            '%' => {
                let digits = leading(rest.get(1..).unwrap_or(""), |c| c.is_ascii_digit());
                let number = digits.parse().ok().filter(|number: &u8| *number < 100);
                self.at += 1 + digits.len();
                Token::Parameter(number.ok_or(error(SyntaxProblem::BadParameter))?)
            }
            '+' | '-' | '.' | '0'..='9' => {
                let word = number_word(rest);
                self.at += word.len();
                Token::Literal(number(word).map_err(error)?)
            }
            'a'..='z' | 'A'..='Z' | '_' => self.word(at)?,
            other => return Err(error(SyntaxProblem::UnknownCharacter(other))),
        };
        Ok((at, token))
    }

    fn quoted(&mut self, at: usize) -> Result<String, SyntaxError> {
        let open = SyntaxError { at, problem: SyntaxProblem::OpenText };
        let inside = self.rest().get(1..).unwrap_or("");
        match inside.find(['\'', '\n']) {
            Some(end) if inside.as_bytes().get(end) == Some(&b'\'') => {
                self.at += end + 2;
                Ok(inside.get(..end).unwrap_or("").to_owned())
            }
            _ => Err(open),
        }
    }

    /// A keyword, or the path of a field.
    fn word(&mut self, at: usize) -> Result<Token, SyntaxError> {
        let word = leading(self.rest(), is_part);
        let keywords = [
            ("AND", Token::And),
            ("OR", Token::Or),
            ("NOT", Token::Not),
            ("BETWEEN", Token::Between),
            ("LIKE", Token::Relation(Relation::Like)),
            ("TRUE", Token::Literal(Literal::Boolean(true))),
            ("FALSE", Token::Literal(Literal::Boolean(false))),
        ];
        if let Some((keyword, token)) =
            keywords.into_iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word))
        {
            self.at += keyword.len();
            return Ok(token);
        }
        self.at += word.len();
        loop {
            let rest = self.rest();
            let bad = SyntaxError { at: self.at, problem: SyntaxProblem::BadPath };
            if let Some(after) = rest.strip_prefix('.') {
                let name = leading(after, is_part);
                if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    return Err(bad);
                }
                self.at += 1 + name.len();
            } else if let Some(after) = rest.strip_prefix('[') {
                let digits = leading(after, |c| c.is_ascii_alphanumeric());
                if index(digits).is_none() || !after.get(digits.len()..).unwrap_or("").starts_with(']') {
                    return Err(bad);
                }
                self.at += 2 + digits.len();
            } else {
                break;
            }
        }
        Ok(Token::Path(self.text.get(at..self.at).unwrap_or("").to_owned()))
    }

    /// The token that begins at a byte, as it is written; empty at the end.
    pub(crate) fn written(&self, at: usize) -> String {
        self.text.get(at..self.at).unwrap_or("").to_owned()
    }
}

/// A literal that is the whole of a text, as parameters are; `None` if it is none.
pub(crate) fn literal(text: &str) -> Option<Literal> {
    let mut tokens = Tokens::new(text);
    let Ok((_, Token::Literal(literal))) = tokens.next() else {
        return None;
    };
    matches!(tokens.next(), Ok((_, Token::End))).then_some(literal)
}

fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

/// The part of a text that belongs to the number at its beginning: a sign behind an `e` does, if no hexadecimal digits come before it.
fn number_word(text: &str) -> &str {
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text.get(sign..).unwrap_or("");
    let is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    let mut before = ' ';
    let end = digits.find(|c: char| {
        let exponent = !is_hexadecimal && matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
        before = c;
        !(is_part(c) || c == '.' || exponent)
    });
    text.get(..end.map_or(text.len(), |end| sign + end)).unwrap_or("")
}

fn number(word: &str) -> Result<Literal, SyntaxProblem> {
    let (negative, digits) = match word.strip_prefix(['+', '-']) {
        Some(digits) => (word.starts_with('-'), digits),
        None => (false, word),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let is_whole = digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.is_empty();
    if hexadecimal.is_some() || is_whole {
        let (digits, radix) = hexadecimal.map_or((digits, 10), |digits| (digits, 16));
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(SyntaxProblem::BadNumber);
        }
        let size = u64::from_str_radix(digits, radix).map_err(|_| SyntaxProblem::NumberTooLarge)?;
        let value = if negative { -i128::from(size) } else { i128::from(size) };
        return if value < i128::from(i64::MIN) {
            Err(SyntaxProblem::NumberTooLarge)
        } else {
            Ok(Literal::Integer(value))
        };
    }
    // Beside the standard's floats Rust also reads some words, such as `inf`. These do not come here: a word begins with a letter.
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(SyntaxProblem::BadNumber);
    }
    let value: f64 = word.parse().map_err(|_| SyntaxProblem::BadNumber)?;
    if value.is_finite() { Ok(Literal::Float(value)) } else { Err(SyntaxProblem::NumberTooLarge) }
}
