//! What the kernel makes of flow tables: rules as `nft` reads them, frames as they come out, and what saboteurs do. Each test has a network
//! namespace of its own, with a bridge and hosts that are the other ends of its ports.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod frames;
mod queues;
mod rules;
mod scene;
