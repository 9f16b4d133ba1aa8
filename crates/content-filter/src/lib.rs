//! Content filters over serialized samples (DDS 1.4, 2.2.2.3.3 and Annex B): the fields that an expression names are found in CDR, of
//! either version and in any byte order, by the description of the type.
//!
//! A [`ContentFilter`] is made of a [`SampleType`], an expression and the texts of its parameters. It reads a payload as far as the last
//! field that the expression names, in one pass, and makes no sample of it. Nothing is allocated, except that the buffer for wide strings
//! grows to the longest that was seen.
//!
//! What a sample does not have is missing, as `filter` says: an optional member that is absent, an element behind the end of a sequence, a
//! member of another case of a union, text that is not UTF-8. A member that the writer's version of the type does not have is what a reader
//! gets for it: its default value (XTypes 1.3, table 9).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod defaults;
mod error;
mod filter;
mod integers;
mod paths;
mod walk;

pub use error::FilterError;
pub use filter::{ContentFilter, Limits, Outcome};
pub use paths::SampleType;
