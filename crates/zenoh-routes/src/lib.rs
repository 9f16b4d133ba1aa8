//! A DDS domain joined to Zenoh, as a state machine: what is announced, subscribed and written, in which order, and when it ends. No sockets, no
//! session, no clock.
//!
//! - [`key`]: topics as key expressions, and the announcements of writers in liveliness tokens.
//! - [`attachment`]: what travels beside the bytes of a sample.
//! - [`cache`]: what a bridge keeps of what it has sent; [`stream`]: the order of what comes from another bridge.
//! - [`turns`]: which of those that may each wait for long goes next.
//! - [`types`]: what bridges tell each other of types.
//! - [`election`]: which bridge of a site works.
//! - [`bridge`]: the bridge of a site, which is told what happens and answers with [`Action`]s.
//!
//! What is kept of DDS on the way, and what is not: `docs/zenoh.md`; reasons: `docs/decisions/0048-zenoh.md`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod action;
pub mod attachment;
pub mod bridge;
pub mod cache;
pub mod election;
pub mod key;
mod lines;
mod proxies;
mod queue;
pub mod stream;
pub mod turns;
pub mod types;

pub use action::{Action, ProxyId};
pub use attachment::{Attachment, Kind};
pub use bridge::{Bridge, Limits, Options, Summary};
pub use cache::Message;
pub use key::BridgeId;
