//! All pairs of a participant that wait for a verdict, or have one.
mod ask;
mod settle;

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use wire::admission::{Losses, MOST_TEXT, Request, RequestedAssurance, Socket, Stage, State, Verdict};
use wire::discovery::EndpointData;
use wire::sorted::SortedMap;
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use self::ask::named;
use super::managers::Managers;
use super::pair::{Pair, Runs, Side, batching, hopeless};
use super::verdict::Grant;
use super::{Action, DISTRUST, PairAssurance, Way};

/// Verdicts and requests that came before discovery had told of their pair; managers and readers repeat the others.
const EARLY: usize = 256;

const GIVEN_UP_THERE: &str = "the participant of the reader has waited for a verdict, and waits no longer";
const REFUSED_THERE: &str =
    "the participant of the reader has refused it by itself, without asking a manager";

/// How often something was not believed or not in force; for explanations and tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GateCounters {
    /// Verdicts of others than the manager that the participant of the pair's reader asks.
    pub other_manager: u64,
    /// Verdicts of an earlier epoch of the same manager.
    pub old_epoch: u64,
    /// Verdicts about a request that is not the last one.
    pub old_serial: u64,
    /// Verdicts of admission that are not believed, see `docs/wire.md`.
    pub implausible: u64,
    /// Grants that no manager has repeated in time.
    pub expired: u64,
    /// Requests, and ends of them, that others than the participant of their reader have published. Those do not reach a gate: the owner
    /// of its reader counts them.
    pub unauthorized: u64,
}

/// See the module above. It has neither input nor output: its owner tells it what discovery, managers and readers say, and does what
/// [`Gate::poll_action`] says.
#[derive(Debug)]
pub struct Gate {
    prefix: GuidPrefix,
    patience: Duration,
    pairs: SortedMap<(EntityId, Guid), Pair>,
    managers: Managers,
    /// Goes on over all pairs, so that no request has the serial of an earlier one.
    serial: u64,
    early: VecDeque<Early>,
    actions: VecDeque<Action>,
    counters: GateCounters,
    /// A manager is there that is not believed: why there is no answer.
    distrusts: bool,
}

#[derive(Debug)]
enum Early {
    /// When it was heard, of whose participant.
    Verdict(Instant, GuidPrefix, Verdict),
    Request(Request),
}

impl Gate {
    /// A participant without pairs. A pair without a decision for as long as `patience` counts as refused.
    pub const fn new(prefix: GuidPrefix, patience: Duration) -> Self {
        Self {
            prefix,
            patience,
            pairs: SortedMap::new(),
            managers: Managers::new(),
            serial: 0,
            early: VecDeque::new(),
            actions: VecDeque::new(),
            distrusts: false,
            counters: GateCounters {
                other_manager: 0,
                old_epoch: 0,
                old_serial: 0,
                implausible: 0,
                expired: 0,
                unauthorized: 0,
            },
        }
    }

    /// What it counted.
    pub const fn counters(&self) -> &GateCounters {
        &self.counters
    }

    /// Whether the managers of the domain are not believed, all of them: pairs without an answer are refused with that reason.
    pub const fn set_distrust(&mut self, distrusts: bool) {
        self.distrusts = distrusts;
    }

    /// True if it has no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The participant of the resource manager that is asked, and how many there are in the domain.
    pub const fn managers(&self) -> (Option<GuidPrefix>, usize) {
        (self.managers.asked(), self.managers.len())
    }

    /// The pairs of a local endpoint.
    pub fn pairs_of(&self, local: EntityId) -> Vec<PairAssurance> {
        let of_local = self.pairs.range((local, Guid::UNKNOWN)..=(local, Guid::from_bytes([0xff; 16])));
        of_local.map(|(_, pair)| pair.status(self.prefix)).collect()
    }

    /// The pairs with a local reader whose flow is admitted, and whether both ends are on this host and so have one clock.
    pub fn assured_readers(&self) -> impl Iterator<Item = (EntityId, Guid, bool)> + '_ {
        self.pairs.iter().filter_map(|((reader, writer), pair)| match (&pair.side, &pair.runs) {
            (Side::Reader { request: Some(request), .. }, Runs::Assured(_)) => {
                Some((*reader, *writer, request.source.address == request.destination.address))
            }
            _ => None,
        })
    }

    /// True if a local endpoint and one that discovery has found to match it wait here: one of them asks for a latency, and they are not
    /// in the same participant.
    pub fn is_for(own: &EndpointData, other: &EndpointData) -> bool {
        if own.guid.prefix == other.guid.prefix {
            return false;
        }
        if own.guid.entity_id.is_reader() {
            return own.requested_assurance.is_some();
        }
        other.requested_assurance.is_some_and(|wanted| own.offered_assurance.is_some() || wanted.is_required)
    }

    /// Discovery has found a writer for an assured local reader, or something of it has changed. `destination` is where that writer
    /// reaches us.
    pub fn writer_found(
        &mut self,
        now: Instant,
        reader: &EndpointData,
        writer: &Arc<EndpointData>,
        way: Way,
        destination: Socket,
    ) {
        let Some(wanted) = reader.requested_assurance else { return };
        let (local, remote) = (reader.guid.entity_id, writer.guid);
        let is_new =
            self.put(local, writer, way, || Side::Reader { wanted, request: None, is_released: false });
        let Some(pair) = self.pairs.get_mut(&(local, remote)) else { return };
        let stage = pair.stage();
        let Side::Reader { wanted: place, request, .. } = &mut pair.side else { return };
        *place = wanted;
        let hopeless = hopeless(&wanted, writer, destination);
        let is_news = is_new || hopeless.as_ref().is_some_and(|reason| pair.reason != *reason);
        if let (Some(reason), None) = (&hopeless, writer.offered_assurance) {
            let withdrawn = request.take();
            pair.decide(State::Refused, reason.as_str());
            pair.patience_at = Instant::NEVER;
            self.actions.extend(withdrawn.map(Action::Withdraw));
            self.settle((local, remote), is_news);
            return;
        }
        // The participant of a writer that waits has to hear what the reader does, also if there is nothing to ask for.
        let maximum_latency = match hopeless {
            Some(_) => 0,
            None => wanted.maximum_latency.saturating_sub(batching(writer)),
        };
        let asked = Request {
            writer: remote.to_bytes(),
            reader: reader.guid.to_bytes(),
            serial: self.serial.saturating_add(1),
            topic: shortened(&reader.topic_name),
            contract: writer.offered_assurance.unwrap_or_default().contract,
            maximum_latency,
            maximum_separation: wanted.maximum_separation,
            source: writer.offered_assurance.unwrap_or_default().source,
            destination,
            stage: Stage::Waiting,
            losses: losses(&wanted, writer, &pair.way),
            manager: request.as_ref().map_or_else(|| named(self.managers.asked()), |request| request.manager),
        };
        let same = request.as_ref().is_some_and(|before| {
            Request { serial: before.serial, stage: before.stage, ..asked.clone() } == *before
        });
        if !same {
            self.serial = asked.serial;
            pair.serial = asked.serial;
            pair.patience_at = now.after(self.patience);
            if asked.maximum_latency > 0 {
                self.managers.expect_answer(now, self.patience);
            }
            let asked = Request { stage, ..asked };
            *request = Some(asked.clone());
            pair.is_taken_up = false;
            self.actions.push_back(Action::Ask(asked));
            // A former grant holds until the new request is decided; what was refused is open again.
            if pair.grant.is_none() && !is_new {
                pair.state = State::Pending;
            }
        }
        if let Some(reason) = hopeless {
            pair.decide(State::Refused, reason);
            pair.patience_at = Instant::NEVER;
        }
        self.settle((local, remote), is_news || !same);
        if is_new {
            self.replay(now, (local, remote));
        }
    }

    /// Discovery has found an assured reader for a local writer, or something of it has changed. `announced` is where it receives.
    pub fn reader_found(
        &mut self,
        now: Instant,
        writer: &EndpointData,
        reader: &Arc<EndpointData>,
        way: Way,
        announced: Vec<SocketAddr>,
    ) {
        let (local, remote) = (writer.guid.entity_id, reader.guid);
        let is_new = self.put(local, reader, way, || Side::Writer {
            offered: None,
            announced: Vec::new(),
            stage: Stage::Waiting,
            manager: None,
        });
        let Some(pair) = self.pairs.get_mut(&(local, remote)) else { return };
        let Side::Writer { offered, announced: places, stage, .. } = &mut pair.side else { return };
        *offered = writer.offered_assurance;
        *places = announced;
        let has_moved =
            |grant: &Grant| offered.is_some_and(|offered| offered.source.addr() != Some(grant.source));
        if pair.grant.as_ref().is_some_and(has_moved) {
            pair.grant = None;
        }
        if offered.is_none() {
            *stage = Stage::Waiting;
            pair.decide(State::Refused, "the reader insists on assurance, and the writer has none");
        } else if is_new {
            pair.patience_at = now.after(self.patience);
        }
        self.settle((local, remote), is_new);
        if is_new {
            self.replay(now, (local, remote));
        }
    }

    /// Discovery does not match them any more; false if they were not here.
    pub fn lost(&mut self, local: EntityId, remote: Guid) -> bool {
        let Some(pair) = self.pairs.remove(&(local, remote)) else { return false };
        if pair.runs != Runs::No {
            self.actions.push_back(Action::Unmatch { local, remote });
        }
        match pair.side {
            Side::Reader { request, .. } => {
                self.actions.extend(request.map(Action::Withdraw));
                self.actions.push_back(Action::Promise { reader: local, writer: remote, bound: None });
            }
            Side::Writer { .. } => self.separate(local),
        }
        self.actions.push_back(Action::Changed { local, remote });
        true
    }

    /// A writer in the participant `from` has published a verdict.
    pub fn verdict_heard(&mut self, now: Instant, from: GuidPrefix, verdict: Verdict) {
        let (writer, reader) = verdict.pair();
        if writer.prefix == reader.prefix {
            return;
        }
        let keys = [(reader.entity_id, writer), (writer.entity_id, reader)];
        let own = [reader.prefix, writer.prefix];
        let mut is_ours = false;
        for (key, _) in keys.into_iter().zip(own).filter(|(_, prefix)| *prefix == self.prefix) {
            is_ours = true;
            if let Some(pair) = self.pairs.get(&key) {
                if self.counts(pair, from) {
                    return self.apply_verdict(now, key, from, &verdict);
                }
                self.counters.other_manager += 1;
                // It may have overtaken the request that names its manager.
                is_ours = matches!(pair.side, Side::Writer { .. });
            }
        }
        if is_ours {
            self.keep_early(Early::Verdict(now, from, verdict));
        }
    }

    /// A writer in the participant `from` has disposed a verdict about a pair.
    pub fn verdict_withdrawn(&mut self, from: GuidPrefix, writer: Guid, reader: Guid) {
        for key in [(reader.entity_id, writer), (writer.entity_id, reader)] {
            let Some(pair) = self.pairs.get_mut(&key) else { continue };
            let is_its = pair.grant.as_ref().is_some_and(|grant| grant.manager == from);
            if pair.names(self.prefix) == (writer, reader) && is_its {
                pair.decide(State::Revoked, "the resource manager has withdrawn its verdict");
                self.settle(key, true);
            }
        }
    }

    /// The participant of a reader has published a request, or what its reader does at present: no other participant may, and the owner of this
    /// drops what others publish ([`wire::admission::instance_owner`]).
    pub fn request_heard(&mut self, now: Instant, request: Request) {
        let (writer, reader) = request.pair();
        let key = (writer.entity_id, reader);
        if writer.prefix != self.prefix {
            return;
        }
        let Some(pair) = self.pairs.get_mut(&key) else {
            return self.keep_early(Early::Request(request));
        };
        let Side::Writer { stage, offered: Some(_), manager, .. } = &mut pair.side else { return };
        if request.serial < pair.serial {
            return;
        }
        let asked = Guid::from_bytes(request.manager).prefix;
        let asked = Some(asked).filter(|asked| *asked != GuidPrefix::UNKNOWN);
        let is_other_manager = core::mem::replace(manager, asked) != asked;
        let is_assured = request.stage == Stage::Assured;
        if is_assured && *stage != Stage::Assured && pair.grant.is_none() && pair.runs == Runs::No {
            // Its verdict is on its way here, too.
            pair.state = State::Pending;
            pair.patience_at = now.after(self.patience);
        }
        *stage = request.stage;
        if request.serial > pair.serial {
            pair.serial = request.serial;
            pair.patience_at = now.after(self.patience);
        }
        // The reader has waited long enough, or has not asked at all.
        let is_open = pair.state == State::Pending && pair.grant.is_none();
        let is_news = is_open && (request.stage == Stage::Unassured || request.maximum_latency == 0);
        if is_news {
            pair.decide(
                State::Refused,
                if request.maximum_latency == 0 { REFUSED_THERE } else { GIVEN_UP_THERE },
            );
            pair.patience_at = Instant::NEVER;
        }
        self.settle(key, is_news);
        if is_other_manager {
            self.replay(now, key);
        }
    }

    /// A reader's participant has disposed its request.
    pub fn request_withdrawn(&mut self, writer: Guid, reader: Guid) {
        let key = (writer.entity_id, reader);
        let Some(pair) = self.pairs.get_mut(&key).filter(|_| writer.prefix == self.prefix) else { return };
        let Side::Writer { stage, .. } = &mut pair.side else { return };
        *stage = Stage::Waiting;
        pair.grant = None;
        self.settle(key, false);
    }

    /// When [`Gate::on_timeout`] has to be called.
    pub fn poll_timeout(&self) -> Instant {
        let managers = self.managers.poll_timeout(self.has_grants());
        self.pairs.values().fold(managers, |next, pair| {
            let lease = pair.grant.as_ref().map_or(Instant::NEVER, |grant| grant.until);
            next.min(lease).min(pair.patience_at)
        })
    }

    /// Ends leases and patience that are over.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.managers.on_timeout(now, self.has_grants()) {
            self.ask_again(now);
        }
        let due: Vec<(EntityId, Guid)> = self
            .pairs
            .iter()
            .filter(|(_, pair)| {
                pair.patience_at <= now || pair.grant.as_ref().is_some_and(|grant| grant.until <= now)
            })
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            let Some(pair) = self.pairs.get_mut(&key) else { continue };
            if pair.grant.as_ref().is_some_and(|grant| grant.until <= now) {
                self.counters.expired += 1;
                pair.decide(State::Revoked, "no resource manager has repeated its verdict within the lease");
            }
            if pair.patience_at <= now {
                pair.patience_at = Instant::NEVER;
                // A former grant goes on: it is repeated for as long as it holds.
                if pair.state == State::Pending && pair.grant.is_none() {
                    let reason = match self.distrusts && !pair.is_taken_up {
                        true => DISTRUST.into(),
                        false => shortened(&pair.unheard()),
                    };
                    pair.decide(State::Refused, reason);
                }
            }
            self.settle(key, true);
        }
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Takes over what discovery says; true if the pair is new.
    fn put(
        &mut self,
        local: EntityId,
        remote: &Arc<EndpointData>,
        way: Way,
        side: impl FnOnce() -> Side,
    ) -> bool {
        let key = (local, remote.guid);
        if let Some(pair) = self.pairs.get_mut(&key) {
            let is_same = pair.way == way && pair.remote == *remote;
            (pair.way, pair.remote) = (way, Arc::clone(remote));
            if !is_same && pair.runs != Runs::No {
                self.enter(key);
            }
            return false;
        }
        let pair = Pair {
            local,
            remote: Arc::clone(remote),
            way,
            side: side(),
            serial: 0,
            state: State::Pending,
            reason: String::new(),
            offered_latency: 0,
            offered_separation: 0,
            is_taken_up: false,
            grant: None,
            runs: Runs::No,
            patience_at: Instant::NEVER,
        };
        self.pairs.insert(key, pair);
        true
    }

    fn keep_early(&mut self, early: Early) {
        if self.early.len() >= EARLY {
            self.early.pop_front();
        }
        self.early.push_back(early);
    }

    /// What came before the pair was known.
    fn replay(&mut self, now: Instant, key: (EntityId, Guid)) {
        let Some(names) = self.pairs.get(&key).map(|pair| pair.names(self.prefix)) else { return };
        for early in core::mem::take(&mut self.early) {
            match early {
                Early::Verdict(at, from, verdict) if verdict.pair() == names => {
                    self.verdict_heard(at, from, verdict);
                }
                Early::Request(request) if request.pair() == names => self.request_heard(now, request),
                other => self.early.push_back(other),
            }
        }
    }
}

/// The losses that a reader asks for, with the sockets of both sides; questions go where they went before.
fn losses(wanted: &RequestedAssurance, writer: &EndpointData, way: &Way) -> Losses {
    let repairs = writer.offered_assurance.and_then(|offered| offered.repairs);
    let (Some(losses), Some(repairs)) = (&wanted.losses, repairs) else { return Losses::default() };
    let is_of_flow = |to: &SocketAddr| to.is_ipv4() == repairs.source.address.is_ipv4();
    let to = way.paths.iter().map(|path| path.destination).find(is_of_flow).map(Socket::from);
    Losses {
        frames: losses.frames,
        repairs: repairs.source,
        questions: losses.source,
        answered_at: to.unwrap_or_default(),
        within: losses.within,
        kept: repairs.kept,
    }
}

/// As much of a text as the type of verdicts and requests takes.
fn shortened(text: &str) -> String {
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default().into()
}
