//! CAMARA Quality-on-Demand in front of the resource manager of a domain: sessions over HTTP, each with the bound that it has or the reason why
//! there is none.
//!
//! [`body`] reads what clients send, [`ServiceFile`] what the operator says, and [`Sessions`] decides: a state machine without clock, sockets or
//! randomness. Around them `server` speaks HTTP, asks the manager at its local socket, keeps sessions in a store and delivers notifications.
//! `docs/decisions/0043-quality-on-demand.md` says why.
#![forbid(unsafe_code)]

pub mod body;
mod command;
mod flows;
mod notification;
mod problem;
mod record;
mod refusal;
mod secret;
mod server;
mod service_file;
mod sessions;
mod shown;
mod sink;
mod uuid;

pub use command::{Arguments, run};
pub use notification::Notice;
pub use problem::Problem;
pub use record::{Session, State, Why};
pub use service_file::{Client, Profile, ProfileStatus, ServiceFile, Sinks};
pub use sessions::{Act, Answered, Sessions};
pub use shown::{Bounds, bounds, info, profile_info};
pub use sink::{Target, is_public};
pub use uuid::Uuid;

/// The OpenAPI document of what is served.
pub const OPENAPI: &str = include_str!("openapi.json");
