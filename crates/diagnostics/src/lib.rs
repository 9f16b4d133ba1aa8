//! Problems of files that people write, with their places.
//!
//! A [`Source`] is a file that is being read. It makes a [`Problem`] of an offset, and shows a problem with its line and a caret. What the
//! readers of several kinds of files need besides is here, too: the [`nearest`] name to one that is unknown, times as people write them
//! ([`picoseconds`]), and XML within limits ([`parse_xml`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod markup;
mod nearest;
mod problem;
mod quantity;
mod xml;

pub use nearest::nearest;
pub use problem::{Problem, Source, printable};
pub use quantity::{bits_per_second, number, parts_per_million, picoseconds, written};
pub use xml::parse_xml;
