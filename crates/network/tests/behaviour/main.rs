//! Network files, as those who read them see them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

mod wrong_files;
