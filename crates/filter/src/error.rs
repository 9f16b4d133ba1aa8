//! Errors in the text of an expression, with their places.
use alloc::string::String;
use core::fmt;

/// The text of an expression cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// The byte of the text where it goes wrong, from 0; the length of the text if something is missing at the end.
    pub at: usize,
    /// The problem.
    pub problem: SyntaxProblem,
}

/// A problem of the text of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SyntaxProblem {
    /// The text is longer than the limit, in bytes.
    TooLong(usize),
    /// Parentheses and NOT lie deeper in each other than the limit.
    TooDeep(usize),
    /// There are more comparisons than the limit; BETWEEN is two.
    TooManyComparisons(usize),
    /// A character that begins nothing.
    UnknownCharacter(char),
    /// An operator of other languages, and what it is here.
    ForeignOperator(&'static str, &'static str),
    /// A quoted text without its end, or with a new line in it.
    OpenText,
    /// Something that begins like a number, and is none.
    BadNumber,
    /// An integer below -2^63 or above 2^64 - 1, or a float that is too large.
    NumberTooLarge,
    /// `%` without a number below 100 behind it.
    BadParameter,
    /// `.` without a name, or `[` without a number and `]`.
    BadPath,
    /// Something else was expected.
    Expected {
        /// The words that could stand here.
        expected: &'static str,
        /// The word that stands here; empty at the end of the text.
        found: String,
    },
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at byte {}: ", self.at)?;
        match &self.problem {
            SyntaxProblem::TooLong(limit) => write!(out, "the expression is longer than {limit} bytes"),
            SyntaxProblem::TooDeep(limit) => {
                write!(out, "more than {limit} parentheses and NOT lie in each other")
            }
            SyntaxProblem::TooManyComparisons(limit) => write!(out, "more than {limit} comparisons"),
            SyntaxProblem::UnknownCharacter(character) => write!(out, "{character:?} begins nothing"),
            SyntaxProblem::ForeignOperator(foreign, ours) => write!(out, "`{foreign}` is written `{ours}`"),
            SyntaxProblem::OpenText => out.write_str("a text in quotes does not end on its line"),
            SyntaxProblem::BadNumber => out.write_str("not a number"),
            SyntaxProblem::NumberTooLarge => out.write_str("the number is out of range"),
            SyntaxProblem::BadParameter => out.write_str("`%` is followed by a number from 0 to 99"),
            SyntaxProblem::BadPath => {
                out.write_str("a field is names with dots between them, and indices such as [2]")
            }
            SyntaxProblem::Expected { expected, found } if found.is_empty() => {
                write!(out, "{expected} is missing at the end")
            }
            SyntaxProblem::Expected { expected, found } => {
                write!(out, "{expected} is expected, not `{found}`")
            }
        }
    }
}

impl core::error::Error for SyntaxError {}
