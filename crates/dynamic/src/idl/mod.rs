//! Reads IDL (OMG IDL 4.2, with the annotations of XTypes 1.3, 7.3.1): types, and what they need. Not read: interfaces and the like,
//! `long double`, `fixed`, `any`, macros with arguments.
//!
//! What changes bytes or keys is honoured or refused. What is passed over, and may have been meant to do so, is a warning.
mod directive;
mod lexer;
mod parser;
mod scope;
mod text;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub(crate) use parser::hash_id;
pub use text::text;
use wire::schema::{Schema, Type, TypeIndex};

/// Bytes of the largest text that is read.
pub const MAX_TEXT: usize = 1 << 20;

/// Why a text is no description of types that can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdlError {
    /// The file that is included, by the name that `#include` says; empty for the text itself.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// What gives the text of a file that is included, by its name in the text; an error says why there is none.
pub type Include<'f> = &'f mut dyn FnMut(&str) -> Result<String, String>;

/// Types, and what may be wrong with their text.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// The types.
    pub schema: Schema,
    /// Types and constants in the order in which they are complete.
    pub items: Vec<Item>,
    /// What was passed over, and may have been meant to change something, with its place.
    pub warnings: Vec<IdlError>,
}

/// What a text declares, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// What it is.
    pub what: Declared,
    /// Place of its name, with an empty message.
    pub place: IdlError,
}

/// A type or a constant.
#[derive(Clone, PartialEq, Debug)]
pub enum Declared {
    /// A type of the schema.
    Type(TypeIndex),
    /// A constant.
    Constant(Constant),
}

/// A constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    /// Name with its modules.
    pub name: String,
    /// Type as it was declared: a number, a character, a boolean, a text, an enumeration, or another name for one of these.
    pub ty: Type,
    /// A value of this type.
    pub value: ConstantValue,
}

/// The value of a constant.
#[derive(Clone, PartialEq, Debug)]
pub enum ConstantValue {
    /// An integer, a boolean as 0 or 1, a character by its number, a literal by its value: -2^63 to 2^64 - 1.
    Integer(i128),
    /// A number with a fraction; it is finite.
    Fraction(f64),
    /// A text.
    Text(String),
}

/// Reads types from a text that includes no other, without a word about what is passed over.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str) -> Result<Schema, IdlError> {
    let advice = "no file can be read here; put the types into one text, those that others need first";
    parse_with(text, &mut |_| Err(String::from(advice))).map(|parsed| parsed.schema)
}

/// Reads types from a text and from the files that it includes, each of them once.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse_with(text: &str, include: Include<'_>) -> Result<Parsed, IdlError> {
    parser::parse(text, include)
}

impl fmt::Display for IdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl core::error::Error for IdlError {}
