//! Reads IDL (OMG IDL 4.2, with the annotations of XTypes 1.3, 7.3.1): types, and what they need. Not read: interfaces and the like,
//! `long double`, `fixed`, `any`, bitsets; `#include` is passed over.
mod lexer;
mod parser;
mod scope;

use alloc::string::String;
use core::fmt;

use crate::schema::Schema;

/// Octets of the largest text that is read.
pub const MAX_TEXT: usize = 1 << 20;

/// Why a text is no description of types that can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdlError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Reads types from a text.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str) -> Result<Schema, IdlError> {
    parser::parse(text)
}

impl fmt::Display for IdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl core::error::Error for IdlError {}
