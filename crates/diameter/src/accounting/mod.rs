//! Records of sessions: RFC 6733, 8.2 and 9.
//!
//! [`recorder`] makes the records of a session. [`spool`] keeps them at the client until the server has them, and sends each
//! with the same number and End-to-End Identifier however often. [`ledger`] takes each once at the server.
pub mod ledger;
pub mod recorder;
pub mod spool;
