//! Mistakes that people make, each staged, and what `punctual why` says of it, word for word. Participants are on virtual hosts in
//! virtual time; what needs real sockets is in `live`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod assurance;
/// Under the name that the tests know it by.
mod desk {
    pub(crate) use testkit::virtual_domain::VirtualDomain as Desk;
}
mod live;
mod mismatch;
mod partners;
mod people;
mod samples;
mod stage;
mod types;
mod ways;

use testkit::namespace;
