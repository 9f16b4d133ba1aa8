//! QoS profiles in the XML of the OMG (DDS-XML 1.0, building block QoS): a file is read whole or refused with line, column and what to do, and
//! gives the QoS that participants, topics, writers and readers are made with.
//!
//! ```
//! use qos_profiles::QosProvider;
//!
//! let text = r#"
//! <dds>
//!   <qos_library name="Plant">
//!     <qos_profile name="Positions" base_name="punctual::continuous">
//!       <datawriter_qos>
//!         <deadline><period><nanosec>20000000</nanosec></period></deadline>
//!       </datawriter_qos>
//!     </qos_profile>
//!   </qos_library>
//! </dds>"#;
//! let qos = QosProvider::read("plant.xml", text).map_err(|problems| problems[0].clone())?;
//! let writer = qos.datawriter_qos("Plant::Positions", "arm/pose")?;
//! assert_eq!(writer.endpoint.deadline, wire::Duration::from_millis(20));
//! assert_eq!(writer.endpoint.transport_priority, 12);
//! # Ok::<(), diagnostics::Problem>(())
//! ```
//!
//! What the elements are, what of the standard has no effect, and the profiles that are built in: `docs/qos.md`, "Files".
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod dialect;
mod entity;
mod fields;
mod file;
mod literal;
mod markup;
mod policies;
mod profile;
mod provider;
mod read;
mod values;
mod words;

pub use diagnostics::Problem;
pub use entity::Entity;
pub use provider::{BUILT_IN, Explained, LIBRARY, QosProvider, Resolved};

/// Bytes of the longest file that is read.
pub const LONGEST: usize = 1 << 20;
/// Profiles of a file.
pub const MOST_PROFILES: usize = 1_024;
/// Sets of policies of a file.
pub const MOST_SECTIONS: usize = 2_048;
/// Sets of policies of a profile.
pub const MOST_SECTIONS_OF_PROFILE: usize = 64;
/// Profiles that inherit from each other.
pub const MOST_DEPTH: usize = 16;
/// Bytes of a name or topic filter.
pub const LONGEST_NAME: usize = 256;
