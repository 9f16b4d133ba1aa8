//! The words of DDS and RTPS, and their bytes.
//!
//! Ids, time, locators, QoS, CDR and RTPS messages, as values and as borrowed views over received bytes.
//! Nothing here knows a socket, a clock or a state machine. Reading is done in two steps: a view that cannot
//! panic checks lengths first, then a value type is made in which wrong states cannot be written down.
//!
//! Work and memory are proportional to the bytes given, whatever counts and lengths those bytes claim.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod admission;
pub mod cdr;
pub mod cursor;
pub mod discovery;
pub mod guid;
pub mod locator;
pub mod md5;
pub mod message;
pub mod parameter;
pub mod qos;
pub mod schema;
pub mod seal;
pub mod sequence_number;
pub mod session;
pub mod sorted;
pub mod time;
pub mod vendor;

pub use guid::{EntityId, EntityKind, Guid, GuidPrefix};
pub use locator::Locator;
pub use sequence_number::{FragmentNumber, FragmentNumberSet, SequenceNumber, SequenceNumberSet};
pub use time::{Duration, Instant, Now, ParseDurationError, Timestamp};
pub use vendor::{ProtocolVersion, VendorId};
