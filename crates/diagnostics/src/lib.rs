//! Problems of files that people write, with their places.
//!
//! A [`Source`] is a file that is being read. It makes a [`Problem`] of an offset, and shows a problem with its line and a caret. What the
//! readers of several kinds of files need besides is here, too: the [`nearest`] name to one that is unknown, times as people write them
//! ([`picoseconds`]), and what XML may have before it is parsed ([`check_markup`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod markup;
mod nearest;
mod problem;
mod quantity;

pub use markup::check_markup;
pub use nearest::nearest;
pub use problem::{Problem, Source, printable};
pub use quantity::{number, picoseconds, written};
