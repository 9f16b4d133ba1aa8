//! Real test networks on one machine, from a network file: hosts are network namespaces, links are pairs of virtual
//! interfaces with the rates and queues of the file, switches are instances of Open vSwitch, and message gates are programs in
//! the kernel. `docs/lab.md` says how to use labs, and what they are not.
//!
//! [`Lab`] builds, uses and removes one; [`down`] removes what is left of any. [`command`] is what the command line does.
//! [`layout`] says what a network becomes, without touching the machine.
#![forbid(unsafe_code)]

pub mod awake;
pub mod bridge_switch;
pub mod command;
pub mod emulator;
mod ended;
mod first_frame;
pub mod host;
mod inside;
mod lab;
pub mod layout;
mod link;
mod list;
mod memory;
mod place;
pub mod probe;
mod remove;
mod switch;
pub mod tap;
mod tools;
pub mod train;
pub mod wan;

pub use lab::{Lab, Options};
pub use list::{Condition, Listed, list};
pub use place::{PLACE, Record, names, record};
pub use remove::down;
pub use system::Error;
pub use tools::{check_programs, check_programs_of, check_rights};
