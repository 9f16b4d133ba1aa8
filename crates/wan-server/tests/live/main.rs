//! Managers of three domains as processes, in a network namespace for each test: what they reserve, refuse, keep and tell.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod aaa_server;
mod access;
mod admitted;
mod alarms;
mod authorized;
mod bgp;
mod bgp_speakers;
mod callees;
mod cuts;
mod domains;
mod killed;
mod many;
mod moved;
mod page;
mod relayed;
mod routers;
mod single_hop;
mod strangers;
mod switches;
mod thousand;
