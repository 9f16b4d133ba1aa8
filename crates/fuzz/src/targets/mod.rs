//! The code under test: what reads bytes from the network, and the rules that hold for any bytes.
mod cdr;
mod discovery;
mod messages;

use crate::runner::Target;
use crate::seeds;
use crate::structure::Structure;

pub use cdr::cdr_rich_type;
pub use discovery::discovery_data;
pub use messages::rtps_message;

/// How many inputs share a session where sessions have no state.
const STATELESS_BATCH: u64 = 256;

/// Whole messages as they come out of a socket.
pub const RTPS_MESSAGE: Target = Target {
    name: "rtps_message",
    structure: Structure::Message,
    seeds: seeds::messages,
    session: || Box::new(rtps_message),
    batch: STATELESS_BATCH,
};

/// Payloads of the built-in topics, and parameter lists in general.
pub const DISCOVERY_DATA: Target = Target {
    name: "discovery_data",
    structure: Structure::ParameterList,
    seeds: seeds::parameter_lists,
    session: || Box::new(discovery_data),
    batch: STATELESS_BATCH,
};

/// Samples of application types.
pub const CDR_RICH_TYPE: Target = Target {
    name: "cdr_rich_type",
    structure: Structure::Plain,
    seeds: cdr::seeds,
    session: || Box::new(cdr_rich_type),
    batch: STATELESS_BATCH,
};

/// All targets.
pub const ALL: [Target; 3] = [RTPS_MESSAGE, DISCOVERY_DATA, CDR_RICH_TYPE];

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}
