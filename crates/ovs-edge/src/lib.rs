//! The back-end of a domain of switches of Open vSwitch, as the resource manager of [`wan`] wants it: edges let flows in and meter them, tunnels are
//! labels of MPLS with the class in EXP, ports serve classes in strict priority.
//!
//! What is reserved, at which delays, and what fits, `linux_edge` decides as for routers. Here is what switches are told of it.
//!
//! - [`domain`]: the description; [`tables`]: the flows of switches, as a function of what is held.
//! - [`edge`]: commands in, answers and programs out; [`program`]: what programs consist of; [`record`]: what flows say that is held.
//! - [`execute`]: the one module that does something at a machine.
#![forbid(unsafe_code)]

pub mod domain;
pub mod edge;
pub mod execute;
pub mod keep_alive;
pub mod program;
pub mod record;
pub mod tables;

pub use domain::Domain;
pub use edge::OvsEdge;
