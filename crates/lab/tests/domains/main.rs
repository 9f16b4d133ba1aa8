//! Labs of several domains as they really are: built, loaded, cut and removed. Needs root; elsewhere the tests are passed over, but not in
//! continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod demoted;
mod flows;
mod life;
mod session;
mod switches;
