//! Gateways between event channels of processes and hosts: a federation.
//!
//! Each process has one [`Gateway`]. It is told what its process subscribes to and publishes, which bytes have come and what time it is; it says
//! which bytes go to which peer, and which events are for its process. It has no socket, no thread and no clock.
//!
//! ```
//! use federation::{Gateway, GatewayId, Header, Interest, Settings, To};
//!
//! struct NoFields;
//! impl filter::Fields for NoFields {
//!     fn value(&self, _: u32) -> Option<filter::Value<'_>> {
//!         None
//!     }
//! }
//!
//! let mut here = Gateway::new(GatewayId(1), 1, Settings::default());
//! let mut there = Gateway::new(GatewayId(2), 1, Settings::default());
//! here.add_peer(0, GatewayId(2))?;
//! there.add_peer(0, GatewayId(1))?;
//! there.subscribe(Interest { kind: Some("Fix".into()), ..Interest::default() })?;
//! let fix = here.offer("Fix", None)?;
//!
//! let (mut seen, mut datagram) = (Vec::new(), Vec::new());
//! for now in 0..20 {
//!     if now == 10 {
//!         here.publish(fix, "gps.fix", Header::default(), &NoFields, b"somewhere")?;
//!     }
//!     while here.poll_transmit(now, &mut datagram).is_some() {
//!         there.handle_datagram(now, &datagram, &mut |event| seen.push(event.body.to_vec()));
//!     }
//!     while there.poll_transmit(now, &mut datagram).is_some() {
//!         here.handle_datagram(now, &datagram, &mut |_| {});
//!     }
//! }
//! assert_eq!(seen, [b"somewhere".to_vec()]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How it works, and what it promises:
//!
//! - **Subscriptions go upstream.** A gateway tells all others of its federation the union of what its process subscribes to: types, sources, filter
//!   expressions. The gateway of the publisher compiles the filters and judges each event once. An event that no gateway wants is not sent.
//! - **One transfer for each process.** The gateway of the publisher writes into each event which gateways it is for, and gives it to the next
//!   gateways on shortest ways. Each of them passes the rest of the list on. The lists of two ways have no gateway in common, so that no event comes
//!   twice over a diamond, and none goes round: its `ttl` falls with each gateway that it passes.
//! - **Exactly once while the ways hold.** Between two peers messages have numbers; what is missing is asked for and sent again. If a peer dies,
//!   what it has not acknowledged goes by another way, or is given up and counted. What comes twice by that is refused by the number that its origin
//!   gave it.
//! - **Suspended connections keep** what is for the peer up to [`Settings::held`] bytes. What finds no room is given up and counted.
//! - **A peer that restarts** has another incarnation, and is told everything anew. Events that it has not acknowledged are not its own any more:
//!   they are given up.
//!
//! Nothing is encrypted, and no gateway proves its identity: a federation belongs on a network whose hosts trust each other. Whatever bytes come, a
//! gateway does not panic, and holds no more than [`Settings`] allow.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod event;
mod framing;
mod gateway;
mod incoming;
mod interest;
mod link;
mod message;
mod outgoing;
mod receiver;
mod record;
mod routing;
mod seen;
mod settings;
mod told;
mod topology;

pub use event::{Event, GatewayId, Header};
pub use framing::{FrameError, Frames, frame};
pub use gateway::{Gateway, KindId, Mark, Passed, Published, SubscriptionId, To, TooLarge};
pub use interest::{Filter, Interest};
pub use settings::{LimitError, Settings};
pub use told::{Counts, Notice};
