//! Types that are described at run time, in IDL (IDL 4.2, XTypes 1.3), and their samples: from and to CDR, from and to text.
//!
//! For tools that show or write samples of types that were not known when they were compiled. Programs that know their types derive
//! them, which is faster and checked by the compiler. Both give the same bytes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bitset;
mod codec;
mod decode;
mod encode;
pub mod idl;
mod lines;
mod print;
mod read;
pub mod rust;
mod support;
mod value;

pub use decode::Unreadable;
pub use read::TextError;
pub use support::DynamicTypeSupport;
pub use value::{Sample, Value};
pub use wire::schema::{
    Bitfield, Bitmask, Bitset, Case, Definition, Enumeration, Member, Primitive, Schema, Struct, Type,
    TypeIndex, Union,
};
