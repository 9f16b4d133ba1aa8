//! Types as participants tell each other (XTypes 1.3, 7.3.4): type identifiers, type objects, type information.
//!
//! Made from descriptions of types ([`wire::schema`]), which come from IDL or from `#[derive(DdsType)]`. Two types are the same for samples
//! where the hashes of their minimal type objects are.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod identifier;
pub mod lookup;
pub mod object;

mod assign;
mod component;
mod describe;
mod directory;
mod graph;
mod information;
mod library;
mod needs;
mod recover;
mod shape;
mod strip;

pub use assign::{Difference, Obstacle, Rules, assignable};
pub use component::{Place, name_together};
pub use describe::{DescribeError, Described, describe};
pub use directory::{ByName, Directory, Verdict, compare};
pub use identifier::TypeIdentifier;
pub use information::{Dependencies, IdentifierWithSize, TypeInformation};
pub use library::{Library, ObjectId};
pub use object::TypeObject;
pub use recover::recover;
