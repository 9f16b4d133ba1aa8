//! Components: parts of a program that say what they publish and consume, and are connected by others.
//!
//! A component is a struct. Its fields are its ports, its settings and its own state; a derive macro writes the glue. A [`Server`] has
//! [containers](Policy), and these have components. How two ports are connected is said outside of both, by a [`Service`]: [`Direct`] calls,
//! [`ByChannel`] queues, and gives the work to threads by priority.
//!
//! ```
//! use container::{Component, Consumer, Context, Event, Handle, Harness, Lifecycle, Outcome, Publisher};
//!
//! #[derive(Clone, Copy, PartialEq, Debug)]
//! struct Fix(f64);
//! impl Event for Fix {}
//!
//! #[derive(Component)]
//! struct Smoother {
//!     fix: Consumer<Fix>,
//!     smooth: Publisher<Fix>,
//!     #[setting(default = 0.5, range = 0.0..=1.0)]
//!     gain: f64,
//!     last: f64,
//! }
//!
//! impl Lifecycle for Smoother {}
//!
//! impl Handle<smoother::Fix> for Smoother {
//!     fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
//!         self.last += self.gain * (fix.0 - self.last);
//!         self.smooth.push(at, &Fix(self.last))
//!     }
//! }
//!
//! let mut harness = Harness::new(Smoother::default())?;
//! harness.feed::<smoother::Fix>(&Fix(8.0))?;
//! harness.feed::<smoother::Fix>(&Fix(8.0))?;
//! assert_eq!(harness.published::<Fix>("smooth"), [Fix(4.0), Fix(6.0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod aside;
mod calls;
mod cell;
mod chains;
mod changes;
mod channel_service;
mod component;
mod connection;
mod context;
mod dds_service;
mod entry;
mod error;
mod event;
mod event_fields;
mod federated_service;
#[doc(hidden)]
pub mod glue;
mod hand_over;
mod harness;
mod hooks;
mod instance;
mod intake;
mod joins;
mod logical;
mod outcome;
mod policy;
mod ports;
mod reports;
mod server;
mod service;
mod settings;
mod sync;
mod target;
mod turn;
mod watch;

pub use aside::Aside;
pub use calls::{Facet, Provider, Receptacle};
pub use cell::State;
pub use chains::{Chain, ChainScore, Exceeded, Hop, Limit, MOST_HOPS, Quantiles, Stalled, Times};
pub use changes::{TakenComponent, TakenContainer};
pub use channel_service::{Branch, ByChannel, Every, Join};
pub use component::{
    Component, Handle, HandleParallel, Hook, In, Lifecycle, Manifest, Port, PortKind, SettingInfo,
};
/// The glue between a component's ports and its container; see the documentation of this crate.
pub use component_derive::Component;
pub use context::Context;
pub use dds_service::ByDds;
pub use entry::{Entry, EntryError};
pub use error::ServerError;
pub use event::{AnyLink, Event, EventType, ListedField};
pub use event_fields::{ComparedField, EventFields};
pub use federated_service::ByGateway;
pub use hand_over::{Elsewhere, Matched, Position};
pub use harness::Harness;
pub use instance::ComponentType;
pub use logical::{Boundary, Instants};
pub use outcome::{Failure, Outcome};
pub use policy::{Container, Placement, Policy, Threads};
pub use ports::{AttachError, Consumer, Emitter, Publisher, Sink, Tick, Timer};
pub use reports::{Fault, Report};
pub use server::{Counts, Locality, Server};
pub use service::{Direct, End, Joined, Route, Service, ServiceError};
pub use settings::{Setting, SettingError, Value};
pub use target::{ConsumerPort, Target};
pub use watch::{Again, Moment, Watch};

pub use channel::{Counts as Deliveries, Dispatch, Full, Gather, Keep, Order, Queue};
pub use filter;
pub use udp::thread::Scheduling;

/// A list of types of components, from which a program makes them by name: `components![Airframe, Gps]`.
#[macro_export]
macro_rules! components {
    ($($component:ty),* $(,)?) => {
        [$($crate::ComponentType::of::<$component>()),*]
    };
}
