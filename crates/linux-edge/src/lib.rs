//! The back-end of a domain of plain Linux routers, as the resource manager of [`wan`] wants it: edges let flows in and police them, tunnels by
//! SRv6 carry aggregates, ports serve classes in strict priority.
//!
//! What is held, and what fits, is decided in the same way for other devices: `ovs-edge` has a [`LinuxEdge`] for switches whose tunnels are
//! labels. Addresses of routers and locators are not used then.
//!
//! - [`domain`]: the description; [`routes`]: the routes inside.
//! - [`budget`]: delays that hold whatever is admitted up to the ceilings; [`ledger`]: what aggregates hold of the ceilings; [`policing`]:
//!   what is on the wire of what policers let through.
//! - [`demotion`]: what of AF is beyond a contract and goes on with best effort.
//! - [`backend`]: commands in, answers and programs out; [`entry`], [`program`], [`record`]: what programs consist of.
//! - [`together`]: several commands as one change of routers.
//! - [`setup`]: what a router has before anything is reserved; [`observed`]: what it says that it holds.
//! - [`keep_alive`]: whether packets pass a link.
//! - [`execute`]: what does something at a machine, with `colouring` for the program in the kernel.
#![forbid(unsafe_code)]

pub mod backend;
pub mod budget;
mod colouring;
mod copy;
pub mod demotion;
pub mod domain;
pub mod entry;
pub mod execute;
pub mod keep_alive;
pub mod ledger;
pub mod observed;
pub mod policing;
pub mod program;
pub mod record;
pub mod routes;
pub mod setup;
pub mod together;

pub use backend::{Handled, LinuxEdge};
pub use domain::Domain;
pub use execute::Executor;
pub use program::{Program, Step};
pub use together::Together;
