//! Constants, and expressions of them (IDL 4.2, 7.4.1.4.3).
use alloc::format;
use alloc::string::{String, ToString};

use super::annotation::Annotations;
use super::{MAX_NESTING, Parser, Result};
use crate::idl::lexer::Token;
use crate::idl::scope::Meaning;
use crate::idl::{Constant, ConstantValue, Declared};
use wire::schema::{Definition, Primitive, Type};

/// Operators of two values, those that bind least first.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

impl Parser {
    /// `const long SIZE = 2 * OTHER;`
    pub(super) fn constant(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&[])?;
        let is_foreign = match self.word_after(0) {
            Some("fixed") => true,
            Some("long") => self.word_after(1) == Some("double"),
            _ => false,
        };
        if is_foreign {
            // Nothing that is read has such a type.
            self.warn("this constant is passed over: its type has no place in samples here");
            while !matches!(self.peek(), Token::Sign(';') | Token::End) {
                self.advance();
            }
            return Ok(());
        }
        let ty = self.type_spec(0)?;
        let place = self.at;
        let name = self.name("a constant")?;
        self.sign('=')?;
        let begin = self.at;
        self.width = self.width_of(&ty);
        let value = self.expression(0);
        self.width = None;
        let value = self.fitting(&ty, value?, begin)?;
        let constant = Constant { name: self.names.qualified(&name), ty, value: value.clone() };
        self.define_at(&name, Meaning::Constant(value), place)?;
        self.declare(Declared::Constant(constant), place);
        Ok(())
    }

    /// An integer of at most 64 bits; one without sign that needs them all is negative.
    pub(super) fn integer(&mut self, depth: usize) -> Result<i64> {
        let begin = self.at;
        match self.expression(depth)? {
            ConstantValue::Integer(value) => i64::try_from(value)
                .or_else(|_| u64::try_from(value).map(u64::cast_signed))
                .map_err(|_| self.error_at(begin, "the number is too large for 64 bits")),
            _ => Err(self.error_at(begin, "expected an integer")),
        }
    }

    /// A value, or sums, products and the like of such.
    pub(super) fn expression(&mut self, depth: usize) -> Result<ConstantValue> {
        self.binary(0, depth)
    }

    fn binary(&mut self, level: usize, depth: usize) -> Result<ConstantValue> {
        let Some(operators) = LEVELS.get(level) else { return self.unary(depth) };
        let mut value = self.binary(level + 1, depth)?;
        while let Some(operator) = operators.iter().find(|operator| self.is_operator(operator)) {
            let at = self.at;
            operator.bytes().for_each(|_| self.advance());
            let by = self.binary(level + 1, depth)?;
            value = combined(&value, operator, &by).map_err(|wrong| self.error_at(at, wrong))?;
        }
        Ok(value)
    }

    fn is_operator(&self, operator: &str) -> bool {
        // In angle brackets the first > is their end.
        (operator != ">>" || !self.in_brackets)
            && operator.chars().enumerate().all(|(ahead, sign)| *self.peek_at(ahead) == Token::Sign(sign))
    }

    fn unary(&mut self, depth: usize) -> Result<ConstantValue> {
        if depth > MAX_NESTING {
            return Err(self.error("the expression is nested too deeply"));
        }
        let Token::Sign(sign @ ('-' | '+' | '~')) = *self.peek() else { return self.primary(depth) };
        self.advance();
        let at = self.at;
        let wrong = |parser: &Self| parser.error_at(at, format!("{sign} goes before a number"));
        Ok(match (sign, self.unary(depth + 1)?) {
            ('-', ConstantValue::Integer(value)) => ConstantValue::Integer(-value),
            ('-', ConstantValue::Fraction(value)) => ConstantValue::Fraction(-value),
            ('~', ConstantValue::Integer(value)) => ConstantValue::Integer(match self.width {
                Some(bits) => !value & ((1_i128 << bits) - 1),
                None => !value,
            }),
            ('+', value @ (ConstantValue::Integer(_) | ConstantValue::Fraction(_))) => value,
            _ => return Err(wrong(self)),
        })
    }

    fn primary(&mut self, depth: usize) -> Result<ConstantValue> {
        match self.peek().clone() {
            Token::Sign('(') => {
                self.advance();
                let was_in_brackets = core::mem::replace(&mut self.in_brackets, false);
                let value = self.expression(depth + 1);
                self.in_brackets = was_in_brackets;
                let value = value?;
                self.sign(')')?;
                Ok(value)
            }
            Token::Number(number) => {
                self.advance();
                if !(-(1_i128 << 64)..1_i128 << 64).contains(&number) {
                    return Err(self.error_before("the number is too large for 64 bits"));
                }
                Ok(ConstantValue::Integer(number))
            }
            Token::Fraction(number) => {
                self.advance();
                Ok(ConstantValue::Fraction(number))
            }
            Token::Letter(letter) => {
                self.advance();
                Ok(ConstantValue::Integer(u32::from(letter).into()))
            }
            Token::Text(mut text) => {
                self.advance();
                // Texts beside each other are one.
                while let Token::Text(more) = self.peek() {
                    text.push_str(more);
                    self.advance();
                }
                Ok(ConstantValue::Text(text))
            }
            Token::Word(_) | Token::Sign(':') => {
                let at = self.at;
                let name = self.scoped_name()?;
                match self.names.resolve(&name) {
                    Some(Meaning::Constant(value)) => Ok(value.clone()),
                    _ if name == "TRUE" => Ok(ConstantValue::Integer(1)),
                    _ if name == "FALSE" => Ok(ConstantValue::Integer(0)),
                    _ => Err(self.error_at(at, format!("{name} is no constant that is known here"))),
                }
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// Bits of an unsigned type, in which `~` turns all of them.
    fn width_of(&self, ty: &Type) -> Option<u32> {
        match self.schema.plain(ty) {
            Type::Primitive(Primitive::U8) => Some(8),
            Type::Primitive(Primitive::U16) => Some(16),
            Type::Primitive(Primitive::U32) => Some(32),
            Type::Primitive(Primitive::U64) => Some(64),
            _ => None,
        }
    }

    /// The value as one of the type, if it is one; `at` is where it begins.
    fn fitting(&self, ty: &Type, value: ConstantValue, at: usize) -> Result<ConstantValue> {
        let plain = self.schema.plain(ty);
        let wrong = |what: String| Err(self.error_at(at, what));
        let range = match &plain {
            Type::Primitive(Primitive::F32 | Primitive::F64) => {
                let number = match value {
                    ConstantValue::Integer(value) => value as f64,
                    ConstantValue::Fraction(value) => value,
                    ConstantValue::Text(_) => return wrong("expected a number".to_string()),
                };
                let is_large = plain == Type::Primitive(Primitive::F32) && !(number as f32).is_finite();
                if is_large || !number.is_finite() {
                    return wrong(format!("{number} is too large for the type of the constant"));
                }
                return Ok(ConstantValue::Fraction(number));
            }
            Type::Text(bound) | Type::WideText(bound) => {
                let ConstantValue::Text(text) = &value else {
                    return wrong("expected a text in double quotes".to_string());
                };
                let length =
                    if matches!(plain, Type::Text(_)) { text.len() } else { text.encode_utf16().count() };
                if bound.is_some_and(|bound| length > bound as usize) {
                    return wrong("the text is longer than its type allows".to_string());
                }
                return Ok(value);
            }
            Type::Primitive(of) => match of {
                Primitive::Boolean => 0..=1,
                Primitive::Char | Primitive::U8 | Primitive::Octet => 0..=u8::MAX.into(),
                Primitive::I8 => i8::MIN.into()..=i8::MAX.into(),
                Primitive::WideChar | Primitive::U16 => 0..=u16::MAX.into(),
                Primitive::I16 => i16::MIN.into()..=i16::MAX.into(),
                Primitive::U32 => 0..=u32::MAX.into(),
                Primitive::I32 => i32::MIN.into()..=i32::MAX.into(),
                Primitive::U64 => 0..=u64::MAX.into(),
                _ => i64::MIN.into()..=i64::MAX.into(),
            },
            Type::Named(index) => match (self.schema.get(*index), &value) {
                (Some(Definition::Enumeration(of)), ConstantValue::Integer(number))
                    if of.literals.iter().any(|(_, known)| i128::from(*known) == *number) =>
                {
                    return Ok(value);
                }
                (Some(Definition::Enumeration(of)), _) => {
                    return wrong(format!("expected a literal of {}", of.name));
                }
                _ => return wrong("a constant is a number, a text or a literal".to_string()),
            },
            _ => return wrong("a constant is a number, a text or a literal".to_string()),
        };
        match value {
            ConstantValue::Integer(number) if range.contains(&number) => Ok(value),
            ConstantValue::Integer(number) => wrong(format!(
                "{number} does not fit into the type of the constant, which goes from {} to {}",
                range.start(),
                range.end()
            )),
            _ => wrong("expected an integer".to_string()),
        }
    }
}

/// Two values with an operator between them.
fn combined(
    one: &ConstantValue,
    operator: &str,
    other: &ConstantValue,
) -> core::result::Result<ConstantValue, &'static str> {
    let fraction = |value: &ConstantValue| match value {
        ConstantValue::Integer(value) => Some(*value as f64),
        ConstantValue::Fraction(value) => Some(*value),
        ConstantValue::Text(_) => None,
    };
    if let (ConstantValue::Integer(one), ConstantValue::Integer(other)) = (one, other) {
        let (one, other) = (*one, *other);
        let by = u32::try_from(other).ok().filter(|by| *by < 64);
        let value = match operator {
            "|" => Some(one | other),
            "^" => Some(one ^ other),
            "&" => Some(one & other),
            "<<" => by.and_then(|by| one.checked_mul(1 << by)),
            ">>" => by.map(|by| one >> by),
            "+" => one.checked_add(other),
            "-" => one.checked_sub(other),
            "*" => one.checked_mul(other),
            "/" => one.checked_div(other),
            _ => one.checked_rem(other),
        };
        // Values without sign and those with one, of 64 bits.
        let value = value.filter(|value| (i64::MIN.into()..=u64::MAX.into()).contains(value));
        return value
            .map(ConstantValue::Integer)
            .ok_or("the number is too large for 64 bits, or divided by zero, or shifted by more than 63");
    }
    let (Some(one), Some(other)) = (fraction(one), fraction(other)) else {
        return Err("operators are for numbers");
    };
    let value = match operator {
        "+" => one + other,
        "-" => one - other,
        "*" => one * other,
        "/" => one / other,
        _ => return Err("this operator is for integers"),
    };
    if value.is_finite() {
        Ok(ConstantValue::Fraction(value))
    } else {
        Err("the number is too large, or divided by zero")
    }
}
