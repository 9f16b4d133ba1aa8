//! A back-end of a LAN that has a manager of its own, `punctual grm`: what sessions need there becomes tunnels, for which that manager promises a limit.
//!
//! The manager of the LAN has the ledger of its links. What is counted here is what the operator of the domain lets sessions have of each way.
//! `docs/decisions/0058-lan-of-a-domain.md` says what is asked for when.
mod door;
mod plan;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use wan::{AggregateId, BackendAnswer, BackendCommand, Demand, DeviceFault, Holding, LegId, Text};

use crate::backend::Backend;
use door::AtAddress;
pub use door::LanManager;
use plan::Way;
pub use plan::{BorderStation, EdgeStation, LanPlan, Service};
use words::{Held, State, Status, Wanted, Wish};

/// How often the manager of the LAN is asked: several times within the shortest lifetime.
const EVERY: Duration = Duration::from_millis(250);
/// How often it is asked if nothing changes.
const REFRESH: Duration = Duration::from_secs(1);
/// How often a question is repeated while something is not decided; each waits for a second.
const MOST_ASKED: usize = 8;
/// What is said beside each bound.
const CAVEAT: &str = "routers at the border links of the LAN are not set up: the bound holds only if they forward within the `processing` of [lan], and keep the codepoint of each packet";

impl LanPlan {
    /// Where the manager is; keys are looked for from the folder of the domain's file on.
    fn door(&self, file: &Path) -> Result<AtAddress, String> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let keys = self.keys.as_ref().map(|keys| folder.join(keys));
        AtAddress::new(self.manager, keys.as_deref()).map_err(|what| format!("`keys` of [lan]: {what}"))
    }

    /// A back-end of this LAN. Its manager may come later.
    ///
    /// # Errors
    /// The keys cannot be used.
    pub(crate) fn start(&self, file: &Path, tell: fn(&str)) -> Result<Lan, String> {
        let start = Instant::now();
        Ok(Lan::new(self.clone(), Box::new(self.door(file)?), Box::new(move || start.elapsed()), tell))
    }

    /// Ends all tunnels that a manager has had in the LAN.
    ///
    /// # Errors
    /// The keys cannot be used, or the manager of the LAN does not answer.
    pub(crate) fn clear(&self, file: &Path) -> Result<(), String> {
        let nothing = Wanted { lifetime: self.lifetime, keep_others: false, tunnels: &[] };
        let body = serde_json::to_vec(&nothing).map_err(|error| error.to_string())?;
        let cleared = self.door(file)?.hold(self.owner, &body);
        cleared.map(drop).map_err(|what| format!("the manager of the LAN at {}: {what}", self.manager))
    }
}

/// The time since some moment.
pub type Clock = Box<dyn Fn() -> Duration + Send>;

/// What is held of an aggregate.
#[derive(Clone, Debug)]
struct Carried {
    demand: Demand,
    way: Way,
    /// It was told to be lost.
    is_lost: bool,
}

/// A flow that is let in.
#[derive(Clone, Debug)]
struct OpenFlow {
    aggregate: AggregateId,
    tunnels: Vec<Wish>,
    /// It was told to be lost.
    is_lost: bool,
}

/// The back-end.
pub struct Lan {
    plan: LanPlan,
    manager: Box<dyn LanManager>,
    aggregates: BTreeMap<AggregateId, Carried>,
    flows: BTreeMap<LegId, OpenFlow>,
    /// What the manager has said last of each tunnel.
    said: BTreeMap<String, Status>,
    /// Tunnels of a manager before this one, which may be asked for again.
    former: BTreeSet<String>,
    /// What is to be released, and was not yet: by ticket.
    unreleased: BTreeSet<u64>,
    /// The time since some moment.
    clock: Clock,
    started: Duration,
    /// When the manager was told last; `None`: it has to be.
    asked: Option<Duration>,
    /// What was told last of a manager that does not answer.
    trouble: Option<String>,
    tell: fn(&str),
}

impl Lan {
    /// A back-end that holds nothing. `clock` gives the time since some moment; `tell` is told what its operator should know.
    pub fn new(plan: LanPlan, manager: Box<dyn LanManager>, clock: Clock, tell: fn(&str)) -> Self {
        let started = clock();
        let mut lan = Self {
            plan,
            manager,
            aggregates: BTreeMap::new(),
            flows: BTreeMap::new(),
            said: BTreeMap::new(),
            former: BTreeSet::new(),
            unreleased: BTreeSet::new(),
            clock,
            started,
            asked: None,
            trouble: None,
            tell,
        };
        // What a manager before this one has there goes on until it is known what of it is needed.
        if lan.ask(true).is_ok() {
            lan.former = lan.said.keys().cloned().collect();
        } else {
            lan.asked = None;
        }
        lan
    }

    fn since(&self, time: Duration) -> Duration {
        (self.clock)().saturating_sub(time)
    }

    /// All tunnels that are needed, each once.
    fn needed(&self) -> Vec<Wish> {
        let ways: BTreeSet<Way> =
            self.aggregates.values().filter(|carried| !carried.is_lost).map(|carried| carried.way).collect();
        let of_ways = ways.into_iter().flat_map(|way| self.plan.tunnels_of_way(way));
        let of_flows = self.flows.values().filter(|flow| !flow.is_lost).flat_map(|flow| flow.tunnels.clone());
        let all: BTreeMap<String, Wish> =
            of_ways.chain(of_flows).map(|wish| (wish.id.clone(), wish)).collect();
        all.into_values().collect()
    }

    /// Tells the manager of the LAN what is needed, and hears how far that is.
    fn ask(&mut self, keep_others: bool) -> Result<(), String> {
        let needed = self.needed();
        let lifetime = self.plan.lifetime;
        let wanted = Wanted { lifetime, keep_others, tunnels: &needed };
        let body = serde_json::to_vec(&wanted).map_err(|error| error.to_string())?;
        for _ in 0..MOST_ASKED {
            let answer = self.manager.hold(self.plan.owner, &body)?;
            let held: Held = serde_json::from_slice(&answer)
                .map_err(|error| format!("it does not answer as a manager does: {error}"))?;
            self.said = held.tunnels.into_iter().map(|status| (status.id.clone(), status)).collect();
            // What was there and waits for a switch stays as it is meanwhile.
            let is_new =
                |wish: &Wish| self.said.get(&wish.id).is_none_or(|said| said.state == State::Pending);
            if !needed.iter().any(is_new) {
                break;
            }
        }
        self.asked = Some((self.clock)());
        Ok(())
    }

    /// Tells it, and the operator if it does not answer.
    fn settle(&mut self) -> Result<(), String> {
        let needed: BTreeSet<String> = self.needed().into_iter().map(|wish| wish.id).collect();
        self.former.retain(|id| !needed.contains(id));
        if self.since(self.started) >= Duration::from_nanos(self.plan.lifetime) {
            self.former.clear();
        }
        let asked = self.ask(!self.former.is_empty());
        match &asked {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    (self.tell)("the manager of the LAN answers again");
                }
            }
            Err(what) => {
                self.asked = None;
                if self.trouble.as_ref() != Some(what) {
                    (self.tell)(&format!("the manager of the LAN at {}: {what}", self.plan.manager));
                    self.trouble = Some(what.clone());
                }
            }
        }
        asked
    }

    /// Why a tunnel is not there, if it is not.
    fn missing(&self, wish: &Wish) -> Option<DeviceFault> {
        let device = || format!("LAN from {} to {}", wish.from, wish.to);
        let what = match self.said.get(&wish.id) {
            Some(said) if said.state == State::Admitted => return None,
            Some(said) if said.state == State::Pending => "its manager does not decide".to_owned(),
            Some(said) if said.offered_limit > 0 => {
                // A text has room for little more than that.
                format!("{} us can be had: {}", said.offered_limit.div_ceil(1_000), said.reason)
            }
            Some(said) => said.reason.clone(),
            None => "its manager does not know it".to_owned(),
        };
        Some(fault(&device(), &what))
    }

    /// What was wanted is there, or why not.
    fn obtain(&mut self, tunnels: &[Wish]) -> Result<(), DeviceFault> {
        let is_there = |wish: &Wish| self.missing(wish).is_none();
        if self.asked.is_some() && tunnels.iter().all(is_there) {
            return Ok(());
        }
        self.settle().map_err(|what| fault("the manager of the LAN", &what))?;
        tunnels.iter().find_map(|wish| self.missing(wish)).map_or(Ok(()), Err)
    }

    /// Bits per second that are free on a way, and whether a burst fits as well, beside all but one aggregate.
    fn room(&self, way: Way, demand: &Demand, except: Option<AggregateId>) -> (u64, bool) {
        let Some(service) = self.plan.services.get(&demand.class) else { return (0, false) };
        let others = self.aggregates.iter().filter(|(id, held)| held.way == way && Some(**id) != except);
        let (rate, burst) = others.fold((0_u64, 0_u64), |(rate, burst), (_, held)| {
            (rate.saturating_add(held.demand.rate), burst.saturating_add(held.demand.burst))
        });
        (service.rate.saturating_sub(rate), demand.burst <= service.burst.saturating_sub(burst))
    }

    fn offer(&self, ticket: u64, demand: &Demand) -> BackendAnswer {
        match self.plan.way(demand) {
            Err(what) => BackendAnswer::Failed { ticket, fault: fault("LAN", &what) },
            Ok((way, service)) => {
                let (room, fits) = self.room(way, demand, None);
                let delay = self.plan.delay(demand, service);
                BackendAnswer::Offered {
                    ticket,
                    rate: if fits { room } else { 0 },
                    delay,
                    jitter: delay,
                    loss: 0,
                }
            }
        }
    }

    fn reserve(&mut self, ticket: u64, aggregate: AggregateId, demand: Demand) -> BackendAnswer {
        let (way, delay) = match self.plan.way(&demand) {
            Ok((way, service)) => (way, self.plan.delay(&demand, service)),
            Err(what) => return BackendAnswer::Failed { ticket, fault: fault("LAN", &what) },
        };
        let before = self.aggregates.get(&aggregate).cloned();
        let is_less = before.as_ref().is_some_and(|before| {
            before.way == way && demand.rate <= before.demand.rate && demand.burst <= before.demand.burst
        });
        if !is_less {
            let (room, fits) = self.room(way, &demand, Some(aggregate));
            if demand.rate > room {
                return BackendAnswer::Refused { ticket, missing: demand.rate - room, offer: room };
            }
            if !fits {
                let offer = before.map_or(0, |before| before.demand.rate);
                let missing = demand.rate.saturating_sub(offer).max(1);
                return BackendAnswer::Refused { ticket, missing, offer };
            }
        }
        self.aggregates.insert(aggregate, Carried { demand, way, is_lost: false });
        let tunnels = self.plan.tunnels_of_way(way);
        match self.obtain(&tunnels) {
            Ok(()) => BackendAnswer::Reserved { ticket, delay, jitter: delay, loss: 0 },
            Err(fault) => {
                match before {
                    Some(before) => self.aggregates.insert(aggregate, before),
                    None => self.aggregates.remove(&aggregate),
                };
                // What it has of its tunnels goes; if that is not heard, at the next time.
                let _ = self.settle();
                BackendAnswer::Failed { ticket, fault }
            }
        }
    }

    fn open(&mut self, ticket: u64, leg: LegId, command: OpenCommand<'_>) -> BackendAnswer {
        let OpenCommand { aggregate, flow, addresses } = command;
        let failed = |what: &str| BackendAnswer::Failed { ticket, fault: fault("LAN", what) };
        let Some(carried) = self.aggregates.get(&aggregate) else {
            return failed("the aggregate of this flow is not held");
        };
        let (_, to, class) = carried.way;
        let tunnels = match self.plan.tunnels_of_flow(flow, addresses, (to, class)) {
            Ok(tunnels) => tunnels,
            Err(what) => return failed(&what),
        };
        let is_taken = |wish: &Wish| {
            let others = self.flows.iter().filter(|(other, _)| **other != leg);
            others.flat_map(|(_, flow)| &flow.tunnels).any(|other| other.packets == wish.packets)
        };
        if tunnels.iter().any(is_taken) {
            return failed("its packets are those of another flow");
        }
        let before = self.flows.insert(leg, OpenFlow { aggregate, tunnels: tunnels.clone(), is_lost: false });
        match self.obtain(&tunnels) {
            Ok(()) => BackendAnswer::Done { ticket },
            Err(fault) => {
                match before {
                    Some(before) => self.flows.insert(leg, before),
                    None => self.flows.remove(&leg),
                };
                let _ = self.settle();
                BackendAnswer::Failed { ticket, fault }
            }
        }
    }

    /// It is done once the manager of the LAN has heard of it.
    fn release(&mut self, ticket: u64, holding: Holding) -> Option<BackendAnswer> {
        let before = self.needed().len();
        match holding {
            Holding::Aggregate(aggregate) => {
                self.aggregates.remove(&aggregate);
                self.flows.retain(|_, flow| flow.aggregate != aggregate);
            }
            Holding::Flow(leg) => drop(self.flows.remove(&leg)),
        }
        if self.asked.is_some() && self.needed().len() == before || self.settle().is_ok() {
            return Some(BackendAnswer::Done { ticket });
        }
        self.unreleased.insert(ticket);
        None
    }

    fn one(&mut self, command: BackendCommand) -> Option<BackendAnswer> {
        match command {
            BackendCommand::Offer { ticket, demand } => Some(self.offer(ticket, &demand)),
            BackendCommand::Reserve { ticket, aggregate, demand } => {
                Some(self.reserve(ticket, aggregate, demand))
            }
            // What comes in is told apart by its codepoint and its station, so there are no labels.
            BackendCommand::Commit { .. } => None,
            BackendCommand::Open { ticket, leg, aggregate, flow, addresses } => {
                let command = OpenCommand { aggregate, flow: &flow, addresses: &addresses };
                Some(self.open(ticket, leg, command))
            }
            BackendCommand::Release { ticket, holding } => self.release(ticket, holding),
            BackendCommand::Observe { ticket } => {
                let aggregates = self.aggregates.keys().map(|id| Holding::Aggregate(*id));
                let holdings = aggregates.chain(self.flows.keys().map(|id| Holding::Flow(*id))).collect();
                Some(BackendAnswer::Observed { ticket, holdings })
            }
        }
    }

    /// What the manager of the LAN has taken away, told once.
    fn lost(&mut self) -> Vec<BackendAnswer> {
        let is_gone = |said: &Status| matches!(said.state, State::Refused | State::Revoked);
        let gone = |wish: &Wish| {
            self.said.get(&wish.id).filter(|said| is_gone(said)).and_then(|_| self.missing(wish))
        };
        let aggregates =
            self.aggregates.iter().filter(|(_, carried)| !carried.is_lost).filter_map(|(id, carried)| {
                let fault = self.plan.tunnels_of_way(carried.way).iter().find_map(gone)?;
                Some((Holding::Aggregate(*id), fault))
            });
        let flows = self.flows.iter().filter(|(_, flow)| !flow.is_lost);
        let flows =
            flows.filter_map(|(id, flow)| Some((Holding::Flow(*id), flow.tunnels.iter().find_map(gone)?)));
        let lost: Vec<(Holding, DeviceFault)> = aggregates.chain(flows).collect();
        for (holding, _) in &lost {
            match holding {
                Holding::Aggregate(id) => {
                    self.aggregates.get_mut(id).into_iter().for_each(|carried| carried.is_lost = true);
                }
                Holding::Flow(id) => self.flows.get_mut(id).into_iter().for_each(|flow| flow.is_lost = true),
            }
        }
        lost.into_iter().map(|(holding, fault)| BackendAnswer::Lost { holding, fault }).collect()
    }
}

/// What is wanted of a flow.
struct OpenCommand<'c> {
    aggregate: AggregateId,
    flow: &'c wan::FlowRequest,
    addresses: &'c wan::Addresses,
}

fn fault(device: &str, what: &str) -> DeviceFault {
    DeviceFault { device: Text::fitting(device), what: Text::fitting(what) }
}

impl Backend for Lan {
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer> {
        commands.into_iter().filter_map(|command| self.one(command)).collect()
    }

    fn again(&mut self) -> Vec<BackendAnswer> {
        if self.asked.is_some_and(|asked| self.since(asked) < REFRESH) || self.settle().is_err() {
            return Vec::new();
        }
        let released = std::mem::take(&mut self.unreleased);
        let mut answers: Vec<BackendAnswer> =
            released.into_iter().map(|ticket| BackendAnswer::Done { ticket }).collect();
        answers.extend(self.lost());
        answers
    }

    fn every(&self) -> Option<Duration> {
        Some(EVERY)
    }

    fn caveat(&self) -> Option<&'static str> {
        Some(CAVEAT)
    }
}
