//! Managers of several domains: on a network that loses, doubles and reorders what they say, with crashes and faults of links.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod at_rest;
mod bgp;
mod copies;
mod detours;
mod domain;
mod durability;
mod hostile;
mod least_server;
mod losses;
mod mobility;
mod model;
mod scenarios;
mod seeds;
mod single_hop;
mod topologies;
mod world;
