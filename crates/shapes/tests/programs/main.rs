//! The program against itself, each test in a network namespace of its own: the lines and exit codes that vendors' tests wait for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod endings;
mod program;

use testkit::namespace;
