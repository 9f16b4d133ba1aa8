//! What can be seen of the manager: flows with what was promised and measured, refusals, switches.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::others::OtherManager;

/// The manager's view.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// The epoch of the manager.
    pub epoch: u64,
    /// How many requests are known.
    pub requests: usize,
    /// How many requests are admitted.
    pub admitted: usize,
    /// Requests with their verdicts, the admitted ones with their flows: all, unless there are more than fit a report.
    pub pairs: Vec<PairReport>,
    /// Every switch of the network.
    pub switches: Vec<SwitchStatus>,
    /// Switches that are not of the network, or not as it says: datapath id and reason.
    pub refused_switches: Vec<(u64, String)>,
    /// Hosts with the addresses that they have or have been seen with.
    pub hosts: Vec<HostStatus>,
    /// The reserved class for discovery.
    pub reserved: ReservedStatus,
    /// Changes under way.
    pub operations: usize,
    /// What is wrong with the cabling.
    pub cabling: Vec<CablingAlarm>,
    /// What is plugged in, by its own word, and is no switch of this manager.
    pub plugged: Vec<Plugged>,
    /// Who may ask for what, in words.
    pub access: String,
    /// Other managers in the domain.
    pub managers: Vec<OtherManager>,
}

/// The reserved class: what each host may send above all levels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReservedStatus {
    /// Why there is none; empty if there is one.
    pub reason: String,
    /// Hosts that have a part of it.
    pub hosts: usize,
    /// The domains whose discovery is in it.
    pub domains: Vec<u16>,
    /// Bytes on the wire that a host may send at once in each domain.
    pub octets: u32,
    /// Bits per second, on the wire, of each host in each domain.
    pub rate: u64,
}

impl fmt::Display for ReservedStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, hosts, octets, rate, .. } = self;
        if reason.is_empty() {
            let kilo = rate / 1_000;
            write!(
                f,
                "Discovery of {hosts} hosts goes before all flows: {octets} octets at once and {kilo} kb/s of each; more is best effort"
            )
        } else {
            write!(f, "Discovery is best effort: {reason}")
        }
    }
}

/// A pair of writer and reader.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PairReport {
    /// GUID of the writer, as 32 hexadecimal digits.
    pub writer: String,
    /// GUID of the reader, as 32 hexadecimal digits.
    pub reader: String,
    /// The host of the writer by its name, or its address if no host is known to have it.
    pub from: String,
    /// The host of the reader.
    pub to: String,
    /// What is written.
    pub topic: String,
    /// `pending`, `admitted`, `refused` or `revoked`.
    pub state: &'static str,
    /// Why, if it is not admitted.
    pub reason: String,
    /// The latency asked for, in nanoseconds.
    pub maximum_latency: u64,
    /// What is promised, in nanoseconds; 0 unless admitted. The verdict says the same.
    pub promised: u64,
    /// The worst case with the flows that there are now, in nanoseconds: at most what is promised. 0 unless admitted.
    pub present: u64,
    /// A latency that would be admitted, in nanoseconds; 0 if none is known.
    pub offered_latency: u64,
    /// A separation that would be admitted, in nanoseconds; 0 if none is known.
    pub offered_separation: u64,
    /// Who yields: those with the smaller number.
    pub importance: u8,
    /// Where the flow comes from, as `address:port`; `address:*` if it is all UDP between two hosts.
    pub source: String,
    /// Where it goes: to the reader, or to a group whose frames switches copy for several readers.
    pub destination: String,
    /// Where the reader receives, as `address:port`.
    pub reader_at: String,
    /// Readers that the flow serves; 0 unless admitted.
    pub readers: usize,
    /// The most losses with which the promise holds, if it allows for losses.
    pub losses: Option<LossesReport>,
    /// Its way to this reader, if it is admitted.
    pub hops: Vec<HopReport>,
    /// What its reader has seen, if it has said so.
    pub measured: Option<MeasuredReport>,
}

/// A promise that allows for losses. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LossesReport {
    /// So many frames of samples, repairs and questions ...
    pub frames: u8,
    /// ... may be lost in any time of this length.
    pub within: u64,
    /// The bound of a sample of which nothing is lost.
    pub without: u64,
    /// A writer asks for an acknowledgement so long after a sample.
    pub heartbeat: u64,
    /// A reader asks for a sample so long after it was announced.
    pub patience: u64,
    /// A reader asks again so long after it has asked.
    pub again: u64,
    /// Repairs are so far apart, and questions.
    pub spacing: u64,
}

impl LossesReport {
    /// The waits that both sides keep; `None` if the promise allows for no losses.
    pub(crate) fn of(kept: wire::admission::Repairs) -> Option<Self> {
        let wire::admission::Repairs { frames, within, without, heartbeat, patience, again, spacing, .. } =
            kept;
        (frames > 0).then_some(Self { frames, within, without, heartbeat, patience, again, spacing })
    }
}

/// A hop of an admitted flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HopReport {
    /// The port, as `s1 to display`.
    pub port: String,
    /// Its level there, 0 the lowest.
    pub level: u8,
    /// The DSCP that it has there.
    pub dscp: u8,
    /// The delay that no frame exceeds there, in nanoseconds.
    pub share: u64,
}

/// One direction of a link, as it is promised: what measured traffic takes of it is not known here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinkReport {
    /// The node that the port belongs to.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// Bits per second on the wire.
    pub rate: u64,
    /// The part of its time that admitted flows may take, in parts of a million.
    pub load: u64,
    /// Admitted flows over it.
    pub flows: usize,
    /// False if the switch has said that the port at one of its ends is down, or it is plugged elsewhere.
    pub up: bool,
    /// Whether the network file declares it full: it takes no flows besides those that it has.
    pub full: bool,
    /// What LLDP says of it: `as planned`, `elsewhere`, `silent` if frames are lost on it although its ports are up, `undecided` if nothing was heard in one of its
    /// directions for 30 rounds that were looked at, or `unknown` as long as nothing was heard. Of a host's link nothing is known.
    pub cable: &'static str,
}

/// Something is wrong with the cabling.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CablingAlarm {
    /// The ports it is about.
    pub subject: String,
    /// What is wrong, and what it means.
    pub what: String,
}

/// What is plugged in at a port of a switch and tells of itself by LLDP, and is no switch of this manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Plugged {
    /// The switch.
    pub switch: String,
    /// The number of the port.
    pub port: u32,
    /// What the network file has there; empty if it has nothing.
    pub planned: String,
    /// Which chassis it says that it is.
    pub chassis: String,
    /// Which port of it.
    pub port_id: String,
    /// The name that it gives itself; empty if it gives none.
    pub system_name: String,
}

/// What a reader has seen of a flow. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct MeasuredReport {
    /// Samples received.
    pub samples: u64,
    /// Samples later than the bound.
    pub late: u64,
    /// Samples lost.
    pub lost: u64,
    /// Latency of the worst sample.
    pub worst: u64,
    /// Median latency of the last second.
    pub median: u64,
    /// How far clocks may differ; `None` if that is not known.
    pub clock_error: Option<u64>,
}

/// A switch of the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SwitchStatus {
    /// Its name.
    pub name: String,
    /// Its datapath id.
    pub datapath: u64,
    /// `away`, `preparing` or `ready`.
    pub state: &'static str,
    /// Whether flows are to leave it, and nothing new is admitted over it.
    pub drained: bool,
    /// Whether its gates can be reached; `None` if it has none.
    pub gates: Option<bool>,
    /// Numbers of its ports that are down.
    pub ports_down: Vec<u32>,
    /// Flow entries of admitted flows.
    pub flows: usize,
    /// Flow entries of everything else, without those that are learned.
    pub entries: usize,
    /// Contracts in its gates.
    pub contracts: usize,
    /// Meters.
    pub meters: usize,
    /// Groups that copy admitted flows.
    pub groups: usize,
    /// Ethernet addresses learned.
    pub addresses: usize,
}

/// A host of the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// The switch behind it.
    pub switch: String,
}
