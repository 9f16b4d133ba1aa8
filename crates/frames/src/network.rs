//! The network that is simulated: nodes, directed ports, flows on trees. Plain data, checked once.
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::policer::Policer;

/// The longest time and the largest number of bytes that a network may contain: sums of them fit in 64 bits.
pub const LARGEST: u64 = 1 << 50;
/// Levels of a port, from 0 (lowest) to 8 (highest): eight of flows, and one of control above them.
pub const LEVELS: u8 = 9;

/// What sits where links end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// Sends and receives; forwards nothing.
    Host,
    /// Stores whole frames and forwards them; between the last bit of a frame and its place in the output queue pass
    /// at least `fastest` and at most `slowest` picoseconds.
    Switch {
        /// Least multiplexing latency, in picoseconds.
        fastest: u64,
        /// Largest multiplexing latency, in picoseconds.
        slowest: u64,
        /// Whether frames of one link keep their order; else each takes its own time.
        ordered: bool,
    },
}

/// One direction of a link with the output queues in front of it: non-preemptive strict priority over FIFO levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// The node whose output this is.
    pub from: usize,
    /// The node at the other end of the link.
    pub to: usize,
    /// Picoseconds that one byte takes: 8000 at 1 Gb/s.
    pub picoseconds_per_byte: u64,
    /// Propagation of the link, in picoseconds.
    pub propagation: u64,
    /// The largest frame, in bytes on the wire, that was not admitted and may be on the wire when an admitted
    /// one arrives; 0 if there is none.
    pub best_effort: u64,
    /// Bytes that each level can hold, in whole cells, the frame in transmission included; what does not fit is lost.
    pub buffer: u64,
    /// Bytes of tags that frames have on this link.
    pub tag: u64,
    /// What it has besides, and an ideal port has not.
    pub imperfections: Imperfections,
}

impl Port {
    /// An ideal port: a byte takes so many picoseconds, the link no time, the buffer holds everything, frames have no tags, and nothing
    /// but admitted frames comes.
    pub fn ideal(from: usize, to: usize, picoseconds_per_byte: u64) -> Self {
        Self {
            from,
            to,
            picoseconds_per_byte,
            propagation: 0,
            best_effort: 0,
            buffer: u64::MAX,
            tag: 0,
            imperfections: Imperfections::default(),
        }
    }
}

/// What real ports have, and ideal ones have not: nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Imperfections {
    /// Bytes of frames, beside the one on the wire, that a card takes from the queues as soon as there is room: they leave in the order
    /// in which they were taken. Frames that are not admitted fill it while no admitted one waits.
    pub ring: u64,
    /// Picoseconds that the link may need before it sends after it was idle.
    pub wake: u64,
    /// Bytes of a cell of the buffer, of which a frame takes whole ones; 0 if bytes are counted.
    pub cell: u64,
    /// Bytes that the frames of all levels have together; as many as they like if there is no number.
    pub pool: Option<u64>,
}

impl Imperfections {
    /// What a frame takes of the buffer.
    pub(crate) fn occupied(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.cell.max(1))
    }
}

/// One edge of the tree that a flow takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Index of the port.
    pub port: usize,
    /// The level in which the flow's frames wait there; a larger number goes first.
    pub level: u8,
}

/// What a conforming source may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contract {
    /// Messages whose nominal instants are at least `separation` apart. The first frame of each is handed to the
    /// host's port at most `jitter` after its nominal instant, the last at most `emission` after the first.
    Gated {
        /// Least distance of two nominal instants, in picoseconds.
        separation: u64,
        /// Longest delay after the nominal instant, in picoseconds.
        jitter: u64,
        /// Longest time from the first frame of a message to its last, in picoseconds.
        emission: u64,
    },
    /// Frames as a token bucket allows: a burst, and `bytes` for each `period`.
    Bucket {
        /// Capacity in bytes, at least the largest frame.
        burst: u64,
        /// Bytes earned in each period.
        bytes: u64,
        /// The period in picoseconds.
        period: u64,
    },
}

/// The data of one publisher to its subscribers, along one tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The edges: the first leaves the publishing host, each other one leaves the end of an earlier one. An edge that
    /// ends at a host delivers there. Traffic of control at a port of a switch, wherever it comes from, and what a host sends besides its
    /// flows is a token bucket whose tree is that port alone.
    pub tree: Vec<Hop>,
    /// Bytes on the wire of the first link (preamble, checksum and gap included) of the frames of the heaviest message, in order.
    pub frames: Vec<u64>,
    /// Other messages that it may send, in the same way; none if all messages are alike.
    pub others: Vec<Vec<u64>>,
    /// What a conforming source may send.
    pub contract: Contract,
    /// What guards the first switch against the source, if anything does.
    pub policer: Option<Policer>,
    /// Bytes of a tag that all its frames have on every link, beside those of the link: that of a VLAN. They are in `frames` and `others`. If the
    /// source babbles, its policer does not count them: an interface may take the tag off before the policer counts.
    pub tag: u64,
    /// True if the source ignores its contract and fills its link.
    pub babbles: bool,
}

impl Flow {
    /// A source that keeps its contract without a policer, with untagged messages of these frames only.
    pub const fn new(tree: Vec<Hop>, frames: Vec<u64>, contract: Contract) -> Self {
        Self { tree, frames, others: Vec::new(), contract, policer: None, tag: 0, babbles: false }
    }

    /// The bytes of a frame that its policer counts: without the tag if it babbles, and at least those of the smallest frame.
    pub(crate) fn counted(&self, bytes: u64) -> u64 {
        if self.babbles {
            bytes.saturating_sub(self.tag).max(bytes.min(crate::wire::SMALLEST_FRAME))
        } else {
            bytes
        }
    }

    /// Bytes on the wire of one message.
    pub fn bytes(&self) -> u64 {
        self.frames.iter().sum()
    }

    /// Bytes of the largest frame of any message.
    pub fn largest_frame(&self) -> u64 {
        self.others.iter().flatten().chain(&self.frames).copied().max().unwrap_or(0)
    }

    /// The frames of a message: 0 is the heaviest, others follow.
    pub(crate) fn message(&self, kind: usize) -> &[u64] {
        kind.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.frames)
    }

    /// The time in which one message may be sent on average, in picoseconds.
    pub fn separation(&self) -> u64 {
        match self.contract {
            Contract::Gated { separation, .. } => separation,
            Contract::Bucket { bytes, period, .. } => self.bytes().saturating_mul(period) / bytes.max(1),
        }
    }
}

/// Where an edge of a tree leads, as the simulator wants to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) flow: usize,
    pub(crate) port: usize,
    pub(crate) level: u8,
    /// The edge before this one.
    pub(crate) parent: Option<usize>,
    /// The edges after this one.
    pub(crate) children: Vec<usize>,
}

/// A network whose parts fit together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    nodes: Vec<Node>,
    ports: Vec<Port>,
    flows: Vec<Flow>,
    edges: Vec<Edge>,
    first_edge: Vec<usize>,
}

impl Network {
    /// Checks that indexes exist, trees hang together, and numbers are within [`LARGEST`].
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(nodes: Vec<Node>, ports: Vec<Port>, flows: Vec<Flow>) -> Result<Self, NetworkError> {
        for node in &nodes {
            if let Node::Switch { fastest, slowest, .. } = node
                && (fastest > slowest || *slowest > LARGEST)
            {
                return Err(NetworkError::Multiplexing);
            }
        }
        for (index, port) in ports.iter().enumerate() {
            check_port(index, port, nodes.len())?;
        }
        let mut edges = Vec::new();
        let mut first_edge = Vec::new();
        for (index, flow) in flows.iter().enumerate() {
            check_source(index, flow)?;
            first_edge.push(edges.len());
            push_edges(index, flow, &nodes, &ports, &mut edges)?;
        }
        Ok(Self { nodes, ports, flows, edges, first_edge })
    }

    /// The nodes, by index.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The ports, by index.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The flows, by index.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The hops of a flow's path from its publisher to the end of `hop`, in order.
    pub fn path(&self, flow: usize, hop: usize) -> Vec<usize> {
        let first = self.first_edge[flow];
        let mut path = vec![hop];
        let mut edge = &self.edges[first + hop];
        while let Some(parent) = edge.parent {
            path.push(parent - first);
            edge = &self.edges[parent];
        }
        path.reverse();
        path
    }

    /// The hops of a flow that end at a host: its deliveries.
    pub fn deliveries(&self, flow: usize) -> Vec<usize> {
        let tree = &self.flows[flow].tree;
        (0..tree.len()).filter(|hop| self.nodes[self.ports[tree[*hop].port].to] == Node::Host).collect()
    }

    /// The share of a port's time that its flows may take, in parts of a million.
    pub fn load(&self, port: usize) -> u64 {
        let ports = &self.ports[port];
        self.edges
            .iter()
            .filter(|edge| edge.port == port)
            .map(|edge| {
                let flow = &self.flows[edge.flow];
                let busy = u128::from(flow.bytes()) * u128::from(ports.picoseconds_per_byte) * 1_000_000;
                u64::try_from(busy / u128::from(flow.separation().max(1))).unwrap_or(u64::MAX)
            })
            .fold(0, u64::saturating_add)
    }

    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The index of a flow's hop among all edges.
    pub(crate) fn edge(&self, flow: usize, hop: usize) -> usize {
        self.first_edge[flow] + hop
    }
}

/// What is wrong with a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkError {
    /// A switch is faster than its fastest, or slower than [`LARGEST`].
    Multiplexing,
    /// A port names a missing node, connects a node with itself, has no rate, or a number above [`LARGEST`].
    Port {
        /// Index of the port.
        port: usize,
    },
    /// A flow has no frames, an empty or too large one, or a contract that allows nothing or everything.
    Source {
        /// Index of the flow.
        flow: usize,
    },
    /// An edge of a tree names a missing port or level, or does not begin where an earlier one ends, or passes
    /// through a host, or ends nowhere.
    Tree {
        /// Index of the flow.
        flow: usize,
        /// Index of the edge in its tree.
        hop: usize,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Multiplexing => write!(f, "a switch with impossible multiplexing latency"),
            Self::Port { port } => write!(f, "port {port} is impossible"),
            Self::Source { flow } => write!(f, "flow {flow} has impossible frames or an impossible contract"),
            Self::Tree { flow, hop } => write!(f, "edge {hop} of flow {flow} does not fit into a tree"),
        }
    }
}

impl core::error::Error for NetworkError {}

fn check_port(index: usize, port: &Port, nodes: usize) -> Result<(), NetworkError> {
    let rate = 1..=LARGEST >> 24;
    let possible = port.from < nodes
        && port.to < nodes
        && port.from != port.to
        && rate.contains(&port.picoseconds_per_byte)
        && port.propagation <= LARGEST
        && port.best_effort <= 1 << 24
        && port.imperfections.ring <= 1 << 32
        && port.imperfections.wake <= LARGEST
        && port.imperfections.cell <= 1 << 24
        && port.tag <= 1 << 16;
    if possible { Ok(()) } else { Err(NetworkError::Port { port: index }) }
}

fn check_source(index: usize, flow: &Flow) -> Result<(), NetworkError> {
    let frames = !flow.frames.is_empty()
        && flow.frames.iter().chain(flow.others.iter().flatten()).all(|bytes| (1..=1 << 20).contains(bytes))
        && flow.frames.len() <= 1 << 16
        && flow.others.iter().all(|message| !message.is_empty() && message.len() <= flow.frames.len())
        && flow.others.iter().all(|message| message.iter().sum::<u64>() <= flow.bytes());
    let contract = match flow.contract {
        Contract::Gated { separation, jitter, emission } => {
            (1..=LARGEST).contains(&separation) && jitter.saturating_add(emission) / separation <= 1 << 10
        }
        Contract::Bucket { burst, bytes, period } => {
            (flow.largest_frame()..=1 << 40).contains(&burst)
                && (1..=1 << 40).contains(&bytes)
                && (1..=LARGEST).contains(&period)
        }
    };
    if frames && contract { Ok(()) } else { Err(NetworkError::Source { flow: index }) }
}

fn push_edges(
    index: usize,
    flow: &Flow,
    nodes: &[Node],
    ports: &[Port],
    edges: &mut Vec<Edge>,
) -> Result<(), NetworkError> {
    let first = edges.len();
    if flow.tree.is_empty() {
        return Err(NetworkError::Tree { flow: index, hop: 0 });
    }
    for (hop, edge) in flow.tree.iter().enumerate() {
        let error = NetworkError::Tree { flow: index, hop };
        let port = ports.get(edge.port).ok_or(error)?;
        if edge.level >= LEVELS || flow.tree[..hop].iter().any(|earlier| earlier.port == edge.port) {
            return Err(error);
        }
        let control = flow.tree.len() == 1 && matches!(flow.contract, Contract::Bucket { .. });
        let starts_here = nodes[port.from] == Node::Host || control;
        let parent = (first..edges.len()).find(|earlier| ports[edges[*earlier].port].to == port.from);
        if starts_here != (hop == 0) || parent.is_none() != (hop == 0) {
            return Err(error);
        }
        if let Some(parent) = parent {
            let own = edges.len();
            edges[parent].children.push(own);
        }
        edges.push(Edge { flow: index, port: edge.port, level: edge.level, parent, children: Vec::new() });
    }
    for (hop, edge) in edges[first..].iter().enumerate() {
        let ends_at_host = nodes[ports[edge.port].to] == Node::Host;
        let unadmitted = flow.tree.len() == 1 && matches!(flow.contract, Contract::Bucket { .. });
        if ends_at_host != edge.children.is_empty() && !unadmitted {
            return Err(NetworkError::Tree { flow: index, hop });
        }
    }
    Ok(())
}
