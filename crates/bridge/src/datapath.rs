//! What forwards frames for a switch that speaks OpenFlow by this crate: the place where kinds of switches differ.
//!
//! The manager knows one kind of switch: what speaks OpenFlow 1.3. Open vSwitch does that by itself. Anything else gets an agent, which is
//! [`Switch`](crate::switch::Switch) over a `DataPath`. The one that there is sets nftables at the ports of a Linux bridge
//! ([`Bridge`](crate::path::Bridge)). A switch with TSN (IEEE 802.1Qbv, 802.1Qci, 802.1Qcr), set by NETCONF, would be another: what it would
//! take, and what of TSN fits which concept here, is in decision 21 (docs/decisions/0021-second-kind-of-switch.md).
//!
//! | who forwards has to | so that |
//! |---|---|
//! | do all tables in one step, or leave all as they are | a frame never meets half of a change |
//! | tell by [`DataPath::read`] what is really there, not what was told | the manager finds out what others have changed |
//! | go on with what it has when its agent ends by a crash | promises outlive the agent |
//! | keep the order of frames of one flow at one level | the plan says so of its model |
//!
//! Queues are no part of it: the plan knows them by the model of the switch, and they are made beside its ports ([`PortQueues`](crate::queues::PortQueues)).
use std::collections::{BTreeMap, BTreeSet};

use openflow::multipart::{PortStats, Traffic};
use openflow::port::Port;
use openflow::words::PortNo;
use system::Error;

use crate::tables::Tables;

/// What is found by looking at what forwards.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// Entries that are not what they were told to be, by number.
    pub flows: BTreeSet<u64>,
    /// Groups of which the same holds.
    pub groups: BTreeSet<u32>,
    /// Whether anything was changed by others. What was is put right by the next [`DataPath::apply`].
    pub altered: bool,
    /// What entries have counted since they came.
    pub traffic: BTreeMap<u64, Traffic>,
}

/// What forwards frames as flow tables say.
pub trait DataPath {
    /// The ports that are there.
    fn ports(&mut self) -> Vec<Port>;

    /// What a port, or any, has counted.
    fn counted(&mut self, port: PortNo) -> Vec<PortStats>;

    /// Forwards by these tables from now on.
    ///
    /// # Errors
    /// Why not; it forwards as before then.
    fn apply(&mut self, tables: &Tables) -> Result<(), Error>;

    /// Looks at what is really there, against the tables that were applied last.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&mut self, tables: &Tables) -> Result<Found, Error>;

    /// Sends a frame by a port.
    ///
    /// # Errors
    /// It was not sent.
    fn send(&mut self, port: u32, frame: &[u8]) -> Result<(), Error>;
}
