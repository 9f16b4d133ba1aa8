//! Why there is no filter.
use core::fmt;

use filter::{CompileError, SyntaxError};

/// An expression with its parameters is no filter for a type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FilterError {
    /// The text is no filter expression, or is beyond a limit.
    Syntax(SyntaxError),
    /// The expression does not fit the type or the parameters.
    Compile(CompileError),
    /// There are more parameters than the limit, which is this.
    TooManyParameters(usize),
    /// The parameters together have more bytes than the limit, which is this.
    ParametersTooLong(usize),
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::Compile(error) => error.fmt(f),
            Self::TooManyParameters(most) => write!(f, "there are more than {most} parameters"),
            Self::ParametersTooLong(most) => write!(f, "the parameters have more than {most} bytes"),
        }
    }
}

impl core::error::Error for FilterError {}
