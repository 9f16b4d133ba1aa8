//! CDR: values of application types and their bytes (XTypes 1.3, 7.4; RTPS 2.5, 10).
//!
//! Both versions of the encoding (XCDR1 and XCDR2), both byte orders, and final, appendable and mutable types.
//! `CdrType` is what can be a member; `DdsType`, derived, is what can be a topic. The greatest size that values of a
//! type can take is a constant of the type; where it is `None`, something in the type has no bound.
//!
//! Decoding costs time and memory in proportion to the bytes received: counts are checked against the bytes that
//! are left before anything is allocated, at most 16 KiB and eight times those bytes are reserved for elements that
//! are announced, and beyond that collections grow as their elements arrive. The factor is thus one of the type, what
//! an element takes in memory for its least bytes on the wire, and nothing that a sender can choose.
pub mod description;
pub mod sink;

mod bounded;
mod collection;
mod dds_type;
mod decode;
mod encapsulation;
mod encode;
mod entries;
mod error;
mod key;
mod member;
mod primitive;
mod size;
mod string;
mod tuple;
mod types;

pub use bounded::{Boundable, BoundedMap, BoundedString, BoundedVec, BoundedWString, OverBound};
pub use dds_type::DdsType;
pub use decode::{Decoder, MAX_EMPTY_ELEMENTS, MemberHeader, Part};
pub use description::Description;
pub use encapsulation::{ENCAPSULATION_SIZE, Encoding, Extensibility, Representation, payload_size};
pub use encode::{Aggregate, Encoder, Scope};
pub use entries::{SortedEntries, Written};
pub use error::{DecodeError, DecodeFault, EncodeError, EncodeFault};
pub use key::KeyHash;
pub use member::{LengthCode, Member};
pub use primitive::{Char8, Char16};
pub use sink::Sink;
pub use size::SizeBound;
pub use string::WString;
pub use types::CdrType;

/// How deeply structures and unions may be nested in each other.
pub const MAX_DEPTH: usize = 32;
