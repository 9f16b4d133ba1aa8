//! Bodies, files and sessions: what is taken, what is refused with which words of CAMARA, and what follows from what a manager says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod document;
mod files;
mod machine;
mod races;
mod seeds;
