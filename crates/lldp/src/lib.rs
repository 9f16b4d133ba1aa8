//! LLDP (IEEE 802.1AB-2016): what a station says of itself to its nearest neighbour, as Ethernet frames that are read and written.
//!
//! [`Frame`] is a whole frame; [`Frame::read`] takes any bytes. What else a frame may say (capabilities, management addresses) is passed over. No
//! sockets, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod frame;
mod id;
mod tlv;

pub use frame::{ETHER_TYPE, Frame, LARGEST, NEAREST_BRIDGE, Organization, WriteError};
pub use id::{ChassisId, Id, PortId};
pub use tlv::ReadError;
