//! What the resource manager wants done, and what it is told of that.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use wire::admission::Address;

use gate::protocol::{ContractState, PortState};
use openflow::Message;
use openflow::multipart::{
    FlowStats, GroupDescription, GroupFeatures, MeterConfig, MeterFeatures, MeterStats,
};
use openflow::port::Port;
use openflow::switch::Features;
use wire::Guid;
use wire::admission::{Contract, OfferedRepairs, RequestedLosses, Verdict};

use crate::drain::StoredDrain;
use crate::foreign::aggregate::Aggregate;
use crate::grant::Grant;
use crate::tunnels::Tunnel;

/// Names what was asked for, so that the answer finds it. Never used twice by a manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u64);

/// A writer and a reader.
pub type Pair = (Guid, Guid);

/// Something to be done. What has a token is answered, with that token, exactly once; a connection that ends may be told
/// instead of answers to what was asked of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// These changes of a switch, in this order, confirmed by a barrier and read back
    /// ([`openflow::channel::install::Installation`]). Answer: [`crate::ResourceManager::installed`].
    Install {
        /// For the answer.
        token: Token,
        /// The switch, by its datapath id.
        switch: u64,
        /// Deletions of flows stand before additions.
        messages: Vec<Message>,
    },
    /// These messages to a switch, in this order; no answer is awaited.
    Send {
        /// The switch, by its datapath id.
        switch: u64,
        /// The messages.
        messages: Vec<Message>,
    },
    /// Reads all flows, groups and meters of a switch. Answer: [`crate::ResourceManager::has_read`].
    Read {
        /// For the answer.
        token: Token,
        /// The switch, by its datapath id.
        switch: u64,
        /// Also what its meters have counted.
        counters: bool,
    },
    /// Reads all contracts of the gates of a switch. Answer: [`crate::ResourceManager::has_read_gates`].
    ReadGates {
        /// For the answer.
        token: Token,
        /// The switch, by its datapath id.
        switch: u64,
    },
    /// A change of the gates of a switch, read back. Answer: [`crate::ResourceManager::installed`].
    Gate {
        /// For the answer.
        token: Token,
        /// The switch, by its datapath id.
        switch: u64,
        /// What to change.
        change: GateChange,
    },
    /// The connection to this switch and to its gate agent is to be closed: what it has is not known. It is read and put
    /// right when it is back.
    Disconnect {
        /// The switch, by its datapath id.
        switch: u64,
    },
    /// To be kept across starts. Answer: [`crate::ResourceManager::stored`].
    Store {
        /// For the answer.
        token: Token,
        /// What to keep or forget.
        change: StoreChange,
    },
    /// To be published. With a token: [`crate::ResourceManager::announced`] when all participants of the pair have
    /// acknowledged it; if that does not come, the manager waits for a lease.
    Publish {
        /// For the answer, if one is wanted.
        token: Option<Token>,
        /// The verdict.
        verdict: Box<Verdict>,
    },
    /// The verdict of this pair is to be disposed of: no reader asks for it any more.
    Dispose(Pair),
}

/// A flow at the gate of a port of a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GateKey {
    /// Number of the switch's port that the flow comes in by.
    pub port: u32,
    /// The flow.
    pub flow: gate::Key,
}

/// A change of a switch's gates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GateChange {
    /// This contract for this flow, in place of any it had.
    Set(GateKey, gate::Contract),
    /// No contract for this flow.
    Remove(GateKey),
    /// These and no others; contracts that are there already are not touched.
    Replace(Vec<(GateKey, gate::Contract)>),
}

/// A change of what is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreChange {
    /// This grant, in place of any of its number.
    Put(Box<Grant>),
    /// These grants, in the same way: all of them or none.
    PutAll(Vec<Grant>),
    /// No grant of this number.
    Remove(u64),
    /// This switch is drained.
    Drain(StoredDrain),
    /// The switch of this name is not.
    Undrain(String),
}

/// What a switch says of itself when it connects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchReport {
    /// FEATURES_REPLY.
    pub features: Features,
    /// All ports (PORT_DESC).
    pub ports: Vec<Port>,
    /// What it has of meters; `None` if it does not say.
    pub meters: Option<MeterFeatures>,
    /// What it has of groups; `None` if it does not say.
    pub groups: Option<GroupFeatures>,
    /// For each port that it says queues of, their number. Empty if it does not say.
    pub queues: Vec<(u32, usize)>,
}

/// All that a switch has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SwitchContent {
    /// Its flows.
    pub flows: Vec<FlowStats>,
    /// Its groups.
    pub groups: Vec<GroupDescription>,
    /// Its meters.
    pub meters: Vec<MeterConfig>,
    /// What its meters have counted, if that was asked for.
    pub counters: Vec<MeterStats>,
}

/// All that the gates of a switch have.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GatesContent {
    /// Contracts, with what was counted under each.
    pub contracts: Vec<ContractState>,
    /// Ports, with what came in without a contract.
    pub ports: Vec<PortState>,
}

/// How something ended that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// It is as it was asked for, and was seen to be so.
    Confirmed,
    /// It is not, or that is not known; the reason in words.
    Failed(String),
    /// It is not, because there was no room of this kind for it; the reason in words.
    Full(Room, String),
}

/// What a switch or its gates may have no more of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Room {
    /// Flow entries.
    Entries,
    /// Groups.
    Groups,
    /// Meters.
    Meters,
    /// Gates.
    Gates,
}

/// What the manager's own discovery says of a pair; what it does not know is `None` and is not compared.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Facts {
    /// What the writer has announced.
    pub contract: Option<Contract>,
    /// Addresses of the writer's participant; empty if unknown.
    pub writer_addresses: Vec<Address>,
    /// Addresses of the reader's participant; empty if unknown.
    pub reader_addresses: Vec<Address>,
    /// The maximum latency that the reader has announced, in nanoseconds.
    pub maximum_latency: Option<u64>,
    /// The writer's announcement about repairs.
    pub repairs: Option<OfferedRepairs>,
    /// The reader's announcement about losses.
    pub losses: Option<RequestedLosses>,
    /// Of a pair that does not ask by itself: what goes between its hosts, whose part it is, or why that cannot be said.
    pub aggregate: Option<Result<Aggregate, String>>,
    /// Of a tunnel: which packets go into it. What they come to is its aggregate.
    pub tunnel: Option<Tunnel>,
    /// Who asks.
    pub asker: Asker,
}

/// Who asks, as far as it was shown.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Asker {
    /// Requests are not signed: the host that it comes from counts.
    #[default]
    Anyone,
    /// The user of this name: its key has signed the request.
    User(String),
    /// It has not shown who it is, and why that is so, for people. It is refused.
    Unknown(String),
}
