//! The content filters of DDS: filter expressions over the fields of a sample (DDS 1.4, Annex B).
//!
//! An [`Expression`] is parsed once. With the fields that there are ([`Schema`]) and the values of its parameters it is compiled to a
//! [`Program`], which says of a sample ([`Fields`]) whether it passes. Where a program decides, nothing is allocated and nothing recurses.
//!
//! ```
//! use filter::{Expression, Field, Fields, Kind, Path, Schema, Value};
//!
//! struct Fix { quality: u32, station: &'static str }
//! struct Known;
//! impl Schema for Known {
//!     fn field(&self, path: Path<'_>) -> Option<Field> {
//!         match path.text() {
//!             "quality" => Some(Field { slot: 0, kind: Kind::Integer }),
//!             "station" => Some(Field { slot: 1, kind: Kind::String }),
//!             _ => None,
//!         }
//!     }
//!     fn label(&self, _: u32, _: &str) -> Option<i64> {
//!         None
//!     }
//! }
//! impl Fields for Fix {
//!     fn value(&self, slot: u32) -> Option<Value<'_>> {
//!         match slot {
//!             0 => Some(Value::Unsigned(self.quality.into())),
//!             _ => Some(Value::String(self.station)),
//!         }
//!     }
//! }
//!
//! let expression = Expression::parse("quality >= %0 AND station LIKE 'north%'")?;
//! let program = expression.compile(&Known, &["3"])?;
//! assert!(program.passes(&Fix { quality: 4, station: "north-7" }));
//! assert!(!program.passes(&Fix { quality: 2, station: "north-7" }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Choices that the standard leaves open:
//!
//! - A field that a sample does not have (an element behind the end of a sequence, an optional member, a member of another case of a union)
//!   makes its comparison *unknown*. AND, OR and NOT are those of SQL: a sample passes only where the whole is true.
//! - Numbers are compared by their exact values, also an integer with a float. NaN is unequal to everything, and neither less nor greater.
//! - Texts are compared by code points. `LIKE` knows `%` for any characters and `_` for one. A character is a text of length one.
//! - `TRUE` and `FALSE` are literals; FALSE is less than TRUE.
//! - A quoted text cannot contain a quote, as the standard says; the text of a parameter that does not begin with a quote can.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod compare;
mod compile;
mod error;
mod fields;
mod parse;
mod program;
mod tokens;

pub use compile::{CompileError, CompileProblem};
pub use error::{SyntaxError, SyntaxProblem};
pub use fields::{Field, Fields, Kind, Path, Schema, Step, Steps, Value};
pub use parse::{Expression, Limits};
pub use program::Program;
