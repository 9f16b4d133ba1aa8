//! Types as participants tell each other (XTypes 1.3, 7.3.4): type identifiers, type objects, type information.
//!
//! Made from descriptions of types ([`wire::schema`]), which come from IDL or from `#[derive(DdsType)]`. Two types are the same for samples
//! where the hashes of their minimal type objects are.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod identifier;
pub mod object;

mod describe;
mod information;

pub use describe::{DescribeError, Described, Pair, describe};
pub use identifier::TypeIdentifier;
pub use information::{Dependencies, IdentifierWithSize, TypeInformation};
pub use object::TypeObject;
