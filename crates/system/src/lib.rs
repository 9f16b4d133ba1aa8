//! What labs, host queues and the agent of gates need of the machine they run on: its programs and the packages that bring them, the rights of
//! the process, folders and mounts. What could not be done is an [`Error`], which says what to do.
#![forbid(unsafe_code)]

mod error;
mod folder;
mod packages;
mod programs;
mod rights;

pub use error::Error;
pub use folder::{is_mounted, make_folder};
pub use packages::check_packages;
pub use programs::{end, finish, program};
pub use rights::check_rights;
