//! A back-end that sets no device up: the links inside the domain are as the operator declares them, and a ledger counts what they carry.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wan::{
    AggregateId, BackendAnswer, BackendCommand, Class, Demand, FlowRequest, Holding, LegId, LinkId, Place,
    TSpec, Terms,
};

use crate::backend::Backend;

/// What is said beside each bound.
const CAVEAT: &str = "no device is set up: the bound holds only if the network is configured as declared";
/// What is said instead where links are declared to lose packets.
const CAVEAT_LOSSY: &str = "no device is set up: the bound holds only if the network is configured as declared, and only for packets that arrive: links inside lose some, as declared";
/// All packets, in packets of a million.
const ALL: u32 = 1_000_000;

/// A node inside a domain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// The end of a border link in this domain.
    Border(LinkId),
    /// Any other, by its name.
    Inner(String),
}

/// A link inside a domain, with the same terms in both directions, each of which has all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InnerLink {
    /// Its ends.
    pub between: [Node; 2],
    /// What it carries in each class: while no more comes in, all of it has this delay and jitter at most, but for the loss.
    pub terms: BTreeMap<Class, Terms>,
}

/// The inside of a domain, as its operator declares it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inside {
    /// Names of nodes where hosts are.
    pub edges: Vec<String>,
    /// Links.
    pub links: Vec<InnerLink>,
}

/// A link in one direction: its number, and whether it is from its first end to its second.
type Directed = (usize, bool);

/// The back-end.
#[derive(Debug)]
pub struct Declared {
    inside: Inside,
    /// For each demand's ends all the ways that its packets may go.
    ways: BTreeMap<(Place, Place), Vec<Vec<Directed>>>,
    /// With what each takes of each link.
    held: BTreeMap<AggregateId, (Demand, BTreeMap<Directed, Load>)>,
    /// All that is held together, by link and class.
    taken: BTreeMap<(Directed, Class), Load>,
    labels: BTreeMap<AggregateId, (Option<u32>, Option<u32>)>,
    open: BTreeMap<LegId, (AggregateId, FlowRequest)>,
}

/// Bits per second, and bytes at once.
type Load = (u64, u64);

/// What ways keep: nanoseconds of delay and jitter, and packets of a million that are lost, each at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Budget {
    delay: u64,
    jitter: u64,
    loss: u32,
}

impl Inside {
    /// Nodes of a place.
    fn nodes(&self, place: Place) -> Vec<Node> {
        match place {
            Place::Edges => self.edges.iter().cloned().map(Node::Inner).collect(),
            Place::Border(link) => vec![Node::Border(link)],
        }
    }

    /// For each node its links, with the nodes at their other ends, in the order of the declaration.
    fn neighbours(&self) -> BTreeMap<&Node, Vec<(&Node, Directed)>> {
        let mut neighbours: BTreeMap<&Node, Vec<(&Node, Directed)>> = BTreeMap::new();
        for (number, link) in self.links.iter().enumerate() {
            let [first, second] = &link.between;
            neighbours.entry(first).or_default().push((second, (number, true)));
            neighbours.entry(second).or_default().push((first, (number, false)));
        }
        neighbours
    }

    /// From a node on, for each node that is reached without passing a border: the node before it, and the link. On the way with the fewest links,
    /// of several the one whose links are declared first.
    fn tree<'n>(&'n self, from: &'n Node) -> BTreeMap<&'n Node, Option<(&'n Node, Directed)>> {
        let neighbours = self.neighbours();
        let mut before: BTreeMap<&Node, Option<(&Node, Directed)>> = BTreeMap::from([(from, None)]);
        let mut next = VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            if at != from && matches!(at, Node::Border(_)) {
                continue;
            }
            for (there, link) in neighbours.get(at).map(Vec::as_slice).unwrap_or_default() {
                if !before.contains_key(there) {
                    before.insert(there, Some((at, *link)));
                    next.push_back(there);
                }
            }
        }
        before
    }

    /// All nodes that a node reaches without passing a border.
    pub(crate) fn reached(&self, from: &Node) -> BTreeSet<Node> {
        self.tree(from).into_keys().cloned().collect()
    }

    /// Ways from each node of a place to each of another; between edges those from one to another one. `None` if one is missing.
    fn ways(&self, from: Place, to: Place) -> Option<Vec<Vec<Directed>>> {
        let (mut ways, ends) = (Vec::new(), self.nodes(to));
        for first in self.nodes(from) {
            let before = self.tree(&first);
            for last in ends.iter().filter(|last| **last != first) {
                let (mut way, mut at) = (Vec::new(), last);
                while let Some((earlier, link)) = before.get(at)? {
                    way.push(*link);
                    at = earlier;
                }
                way.reverse();
                ways.push(way);
            }
        }
        Some(ways)
    }
}

impl Declared {
    /// A back-end for the inside of a domain.
    pub fn new(inside: Inside) -> Self {
        Self {
            inside,
            ways: BTreeMap::new(),
            held: BTreeMap::new(),
            taken: BTreeMap::new(),
            labels: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    fn ways(&mut self, from: Place, to: Place) -> Vec<Vec<Directed>> {
        let inside = &self.inside;
        self.ways.entry((from, to)).or_insert_with(|| inside.ways(from, to).unwrap_or_default()).clone()
    }

    fn terms(&self, link: Directed, class: Class) -> Terms {
        let none = Terms { rate: 0, burst: 0, delay: 0, jitter: 0, loss: 0 };
        self.inside.links.get(link.0).and_then(|link| link.terms.get(&class)).copied().unwrap_or(none)
    }

    /// The most delay, jitter and loss of the ways. Losses of links add up: that is never less than what all of them lose together, however the
    /// loss of one depends on that of another.
    fn budget(&self, ways: &[Vec<Directed>], class: Class) -> Budget {
        let of = |way: &Vec<Directed>| {
            let terms = way.iter().map(|link| self.terms(*link, class));
            terms.fold(Budget::default(), |sum, terms| Budget {
                delay: sum.delay.saturating_add(terms.delay),
                jitter: sum.jitter.saturating_add(terms.jitter),
                loss: sum.loss.saturating_add(terms.loss).min(ALL),
            })
        };
        ways.iter().map(of).fold(Budget::default(), |most, one| Budget {
            delay: most.delay.max(one.delay),
            jitter: most.jitter.max(one.jitter),
            loss: most.loss.max(one.loss),
        })
    }

    /// What a demand takes of each link. All of it may go on each of its ways; on a link of several ways it is there once, with the greatest burst.
    fn loads(&self, ways: &[Vec<Directed>], demand: &Demand) -> BTreeMap<Directed, Load> {
        let mut loads: BTreeMap<Directed, Load> = BTreeMap::new();
        let traffic = TSpec {
            rate: demand.rate,
            bucket: demand.burst,
            peak: demand.rate,
            least_unit: demand.largest_packet,
            largest_packet: demand.largest_packet,
        };
        for way in ways {
            let mut jitter = 0_u64;
            for link in way {
                let load = loads.entry(*link).or_default();
                *load = (demand.rate, load.1.max(traffic.burst_after(jitter)));
                jitter = jitter.saturating_add(self.terms(*link, demand.class).jitter);
            }
        }
        loads
    }

    /// Bits per second and bytes at once that are free on a link, beside all but one aggregate.
    fn free(&self, link: Directed, class: Class, except: Option<AggregateId>) -> Load {
        let terms = self.terms(link, class);
        let taken = self.taken.get(&(link, class)).copied().unwrap_or_default();
        let own = except.and_then(|id| self.held.get(&id)?.1.get(&link).copied()).unwrap_or_default();
        (
            terms.rate.saturating_sub(taken.0.saturating_sub(own.0)),
            terms.burst.saturating_sub(taken.1.saturating_sub(own.1)),
        )
    }

    /// Holds a demand in place of what the aggregate held, or nothing.
    fn hold(&mut self, aggregate: AggregateId, demand: Option<Demand>) {
        let class = aggregate.class;
        if let Some((_, loads)) = self.held.remove(&aggregate) {
            for (link, load) in loads {
                let taken = self.taken.entry((link, class)).or_default();
                *taken = (taken.0.saturating_sub(load.0), taken.1.saturating_sub(load.1));
            }
        }
        let Some(demand) = demand else { return };
        let ways = self.ways(demand.from, demand.to);
        let loads = self.loads(&ways, &demand);
        for (link, load) in &loads {
            // All of them fit into what the link carries, so the sums are no larger than that.
            let taken = self.taken.entry((*link, class)).or_default();
            *taken = (taken.0.saturating_add(load.0), taken.1.saturating_add(load.1));
        }
        self.held.insert(aggregate, (demand, loads));
    }

    /// Bits per second that are free for a demand, and whether its burst fits as well.
    fn room(&mut self, demand: &Demand, except: Option<AggregateId>) -> (u64, bool) {
        let ways = self.ways(demand.from, demand.to);
        if ways.is_empty() && (demand.from != Place::Edges || demand.to != Place::Edges) {
            return (0, false);
        }
        let (mut room, mut fits) = (u64::MAX, true);
        for (link, load) in self.loads(&ways, demand) {
            let (rate, burst) = self.free(link, demand.class, except);
            room = room.min(rate);
            fits &= load.1 <= burst;
        }
        (room, fits)
    }

    fn one(&mut self, command: BackendCommand) -> Option<BackendAnswer> {
        match command {
            BackendCommand::Offer { ticket, demand } => {
                let (room, fits) = self.room(&demand, None);
                let ways = self.ways(demand.from, demand.to);
                let Budget { delay, jitter, loss } = self.budget(&ways, demand.class);
                Some(BackendAnswer::Offered {
                    ticket,
                    rate: if fits { room } else { 0 },
                    delay,
                    jitter,
                    loss,
                })
            }
            BackendCommand::Reserve { ticket, aggregate, demand } => {
                let before = self.held.get(&aggregate).map(|(demand, _)| *demand);
                let is_less = before.is_some_and(|before| {
                    (before.from, before.to) == (demand.from, demand.to)
                        && demand.rate <= before.rate
                        && demand.burst <= before.burst
                });
                if !is_less {
                    let (room, fits) = self.room(&demand, Some(aggregate));
                    if demand.rate > room {
                        let missing = demand.rate - room;
                        return Some(BackendAnswer::Refused { ticket, missing, offer: room });
                    }
                    if !fits {
                        // A lower rate has a smaller burst, but how small is not known: what is held is what can be had for certain.
                        let offer = before.map_or(0, |before| before.rate);
                        let missing = demand.rate.saturating_sub(offer).max(1);
                        return Some(BackendAnswer::Refused { ticket, missing, offer });
                    }
                }
                self.hold(aggregate, Some(demand));
                let ways = self.ways(demand.from, demand.to);
                let Budget { delay, jitter, loss } = self.budget(&ways, demand.class);
                Some(BackendAnswer::Reserved { ticket, delay, jitter, loss })
            }
            BackendCommand::Commit { aggregate, label_in, label_out } => {
                if self.held.contains_key(&aggregate) {
                    self.labels.insert(aggregate, (label_in, label_out));
                }
                None
            }
            BackendCommand::Open { ticket, leg, aggregate, flow, addresses: _ } => {
                self.open.insert(leg, (aggregate, flow));
                Some(BackendAnswer::Done { ticket })
            }
            BackendCommand::Release { ticket, holding } => {
                match holding {
                    Holding::Aggregate(aggregate) => {
                        self.hold(aggregate, None);
                        self.labels.remove(&aggregate);
                        self.open.retain(|_, (of, _)| *of != aggregate);
                    }
                    Holding::Flow(leg) => drop(self.open.remove(&leg)),
                }
                Some(BackendAnswer::Done { ticket })
            }
            BackendCommand::Observe { ticket } => {
                let aggregates = self.held.keys().map(|id| Holding::Aggregate(*id));
                let holdings = aggregates.chain(self.open.keys().map(|id| Holding::Flow(*id))).collect();
                Some(BackendAnswer::Observed { ticket, holdings })
            }
        }
    }
}

impl Backend for Declared {
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer> {
        commands.into_iter().filter_map(|command| self.one(command)).collect()
    }

    fn caveat(&self) -> Option<&'static str> {
        let is_lossy =
            self.inside.links.iter().flat_map(|link| link.terms.values()).any(|terms| terms.loss > 0);
        Some(if is_lossy { CAVEAT_LOSSY } else { CAVEAT })
    }
}
