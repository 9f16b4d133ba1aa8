//! Sessions over several domains: the resource manager of one domain as a state machine.
//!
//! A caller asks the manager of its domain for a session ([`SessionRequest`]). [`ResourceManager`] negotiates with the callees' domains, then has each
//! flow reserved along a path of domains, and answers with a bound or with the reason why not. Between domains a reservation is soft state for each
//! tunnel and class ([`Reserve`]), never for a session. Time, messages, and answers of the store and of the back-end go in; what is to be done comes
//! out ([`Action`]). `docs/decisions/0036-wan-sessions.md` says why.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod action;
mod admission;
mod agreement;
mod backend;
mod bgp;
mod border;
mod callees;
mod callers;
mod codec;
mod config;
mod hops;
mod legs;
mod message;
mod origins;
mod queries;
mod record;
mod request;
mod resource_manager;
mod routes;
mod server;
mod words;

pub use action::{Action, Input};
pub use agreement::{Agreement, Excess, Terms};
pub use backend::{Addresses, BackendAnswer, BackendCommand, Demand, Holding, Place};
pub use bgp::{BgpRoute, LeftOut, MOST_PATHS, Segment, large_community, paths_of_routes};
pub use codec::{DecodeError, MOST_BYTES};
pub use config::{Config, Contract, Limits, NetworkService, SessionService};
pub use message::{
    Available, Body, Establish, Granted, Message, Notify, Query, QueryResponse, Reserve, Response,
    SessionBody,
};
pub use record::{Asked, HeldAggregate, HostedSession, Key, OpenLeg, OwnSession, Record};
pub use request::{ANY_LOSS, Bound, FlowRequest, QosAnswer, SessionRequest};
pub use resource_manager::ResourceManager;
pub use routes::BgpPath;
pub use server::{RateLatency, delay_bound, least_server};
pub use words::{
    AggregateId, Asking, Asn, Class, DeviceFault, Direction, FlowKind, LegId, LinkId, MessageId, Prefix,
    Reason, Refusal, SessionId, TSpec, Text, TunnelId,
};
