//! Managers of domains in virtual time, on a network with faults. After each event the judge looks.
mod aaa;
mod harm;
mod looks;

pub(crate) use aaa::Account;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use testkit::random::Random;
use wan::{
    Action, BackendAnswer, BackendCommand, DeviceFault, FlowRequest, Holding, Input, LegId, LinkId, Message,
    QosAnswer, Reason, Refusal, ResourceManager, SessionId, SessionRequest, Text,
};

use crate::domain::Domain;
use crate::model::Topology;
use crate::topologies::{MICROSECOND, MILLISECOND, SECOND, make};

/// In a thousand; times in nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    /// So many are up to three seconds late.
    pub(crate) late: u64,
    /// At each event.
    pub(crate) crash: u64,
    pub(crate) link: u64,
    pub(crate) measured: u64,
    pub(crate) cut: u64,
    /// So many commands are not carried out; at each event, so many of ten thousand times something is lost.
    pub(crate) device: u64,
    /// At each event, so many of ten thousand times BGP tells a domain some of its paths only, for a while.
    pub(crate) paths: u64,
    /// At each event, so many of ten thousand times an AAA server is away for a while; otherwise only whether its messages go astray.
    pub(crate) aaa: u64,
}

#[derive(Debug)]
enum Event {
    Deliver(Message),
    Tick(usize),
    Stored(usize, u32),
    Command(usize),
    Answer(usize, u32, BackendAnswer),
    Callee(usize, u32, SessionId, Option<Vec<u64>>),
    Restart(usize),
    Link(usize, LinkId, bool),
    Paths(usize),
    Mend(u32, u32),
    Aaa(usize, u32, SessionId, aaa::Step),
}

/// How a request ended.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Admitted(SessionId),
    Refused(Refusal),
    /// Its manager crashed before it answered.
    Unknown,
}

/// What happened in all.
#[derive(Clone, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    pub(crate) crashes: u64,
    pub(crate) links: u64,
    pub(crate) measured: u64,
    pub(crate) cuts: u64,
    pub(crate) lost: u64,
    pub(crate) devices: u64,
    pub(crate) fewer_paths: u64,
    pub(crate) covered: u64,
    pub(crate) spoilt: u64,
    pub(crate) grants: u64,
    pub(crate) withdrawn: u64,
    pub(crate) told_hosts: u64,
    pub(crate) rerouted: u64,
    pub(crate) copies_lost: u64,
    pub(crate) copies_back: u64,
    pub(crate) granted_directly: u64,
    pub(crate) not_let: u64,
    pub(crate) moves: u64,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    pub(crate) topology: Topology,
    pub(crate) domains: Vec<Domain>,
    pub(crate) faults: Faults,
    cuts: BTreeSet<(u32, u32)>,
    pub(crate) requests: BTreeMap<u64, (usize, u32, SessionRequest)>,
    pub(crate) outcomes: BTreeMap<u64, Outcome>,
    pub(crate) ended: BTreeMap<SessionId, Refusal>,
    /// What domains of callees have said of the end of sessions.
    pub(crate) hosted_ended: BTreeMap<(usize, SessionId), Refusal>,
    /// Flows that go another way: when it was said, at which domain, and what.
    pub(crate) rerouted: Vec<(u64, usize, LegId, u64, Refusal)>,
    /// Copies of flows that are no more, or go again: at which domain it was said, and what.
    pub(crate) copies: Vec<(usize, LegId, Result<u64, Refusal>)>,
    /// Which sessions are to last longer, by ticket; until when others do, as their callers have heard; why others do not.
    extending: BTreeMap<u64, SessionId>,
    extensions: u64,
    pub(crate) extended: BTreeMap<SessionId, u64>,
    pub(crate) not_extended: Vec<Reason>,
    /// Callees agree to everything at once.
    pub(crate) callees_agree: bool,
    /// Looks for numbers of agreements in messages to others.
    pub(crate) looks_for_secrets: bool,
    secrets: Vec<BTreeSet<u64>>,
    pub(crate) context: String,
    pub(crate) counts: Counts,
    /// Changes a tenth of all messages.
    pub(crate) spoils: Option<fn(&mut Random, &mut Message)>,
    /// Messages between domains.
    pub(crate) sent: u64,
    pub(crate) answers: Vec<(u64, Result<wan::Available, Refusal>)>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self::changed(seed, |_| {})
    }

    /// A random one whose operators have changed their data before anything starts.
    pub(crate) fn changed(seed: u64, change: impl Fn(&mut Domain)) -> Self {
        let mut random = Random::of_case(seed, 36);
        let (topology, mut domains) = make(&mut random);
        domains.iter_mut().for_each(|domain| domain.config.needs_grants = random.chance(50));
        domains.iter_mut().for_each(|domain| domain.config.can_duplicate = !random.one_in(10));
        domains.iter_mut().for_each(change);
        Self::of(random, topology, domains)
    }

    pub(crate) fn of(random: Random, topology: Topology, domains: Vec<Domain>) -> Self {
        let secrets = (1..=domains.len() as u32).map(|asn| topology.secrets_from(asn)).collect();
        let mut world = Self {
            random,
            now: MILLISECOND,
            events: BTreeMap::new(),
            count: 0,
            topology,
            domains,
            faults: Faults::default(),
            cuts: BTreeSet::new(),
            requests: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            ended: BTreeMap::new(),
            rerouted: Vec::new(),
            copies: Vec::new(),
            hosted_ended: BTreeMap::new(),
            extending: BTreeMap::new(),
            extensions: 0,
            extended: BTreeMap::new(),
            not_extended: Vec::new(),
            callees_agree: false,
            looks_for_secrets: false,
            secrets,
            context: String::new(),
            counts: Counts::default(),
            spoils: None,
            sent: 0,
            answers: Vec::new(),
        };
        for at in 0..world.domains.len() {
            world.start(at);
        }
        world
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    fn after(&mut self, most: u64) -> u64 {
        self.now + self.random.range(1, most / MICROSECOND) * MICROSECOND
    }

    fn start(&mut self, at: usize) {
        let now = self.now;
        let domain = &mut self.domains[at];
        domain.epoch += 1;
        domain.started = now;
        let records: Vec<_> = domain.store.clone().into_iter().collect();
        let (manager, actions) = ResourceManager::new(domain.config.clone(), domain.epoch, now, records);
        domain.manager = Some(manager);
        domain.excused = now + 9 * SECOND;
        if domain.epoch == 1 {
            domain.excused = 0;
        }
        let kept = |action: &Action| match action {
            Action::KeepGrant { session, until, .. } => Some((*session, *until)),
            _ => None,
        };
        let kept: Vec<(SessionId, u64)> = actions.iter().filter_map(kept).collect();
        self.client_starts(at, &kept);
        self.carry_out(at, actions);
        let domain = &self.domains[at];
        let links = domain.down.iter().map(|link| Input::Link { link: LinkId(*link), is_up: false });
        let measured = domain.measured.iter();
        let measured = measured.map(|((link, class), rate)| Input::Measured {
            link: LinkId(*link),
            class: *class,
            rate: *rate,
        });
        let told: Vec<Input> = links.chain(measured).collect();
        let paths = domain.paths.clone();
        for input in told {
            if let Some(manager) = self.domains[at].manager.as_mut() {
                let actions = manager.step(now, input);
                self.carry_out(at, actions);
            }
        }
        self.input(at, Input::Paths(paths));
    }

    /// Something happens to a manager, if there is one.
    pub(crate) fn input(&mut self, at: usize, input: Input) {
        let now = self.now;
        let Some(manager) = self.domains[at].manager.as_mut() else { return };
        let actions = manager.step(now, input);
        self.carry_out(at, actions);
        self.look(at);
        self.look_at_grants(at);
        self.schedule(at);
    }

    fn schedule(&mut self, at: usize) {
        let now = self.now;
        let domain = &mut self.domains[at];
        let Some(manager) = domain.manager.as_mut() else { return };
        // Times are whole microseconds, so that no time is taken for a number of an agreement.
        let due = manager.due(now).div_ceil(MICROSECOND).saturating_mul(MICROSECOND).max(now + MICROSECOND);
        if due < u64::MAX / 2 && (domain.tick <= now || due < domain.tick) {
            domain.tick = due;
            self.at(due, Event::Tick(at));
        }
    }

    fn carry_out(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => self.send(message),
                Action::Store { ticket, key, record } => {
                    let time = self.after(5 * MILLISECOND).max(self.domains[at].stored_until);
                    let domain = &mut self.domains[at];
                    domain.stored_until = time;
                    domain.unstored.push_back((ticket, key, record));
                    let epoch = domain.epoch;
                    self.at(time, Event::Stored(at, epoch));
                }
                Action::Backend(command) => {
                    let time = self.after(3 * MILLISECOND).max(self.domains[at].executed_until);
                    self.domains[at].executed_until = time;
                    self.domains[at].commands.push_back(command);
                    self.at(time, Event::Command(at));
                }
                Action::AskCallee { session, flows, .. } => {
                    let rates = self.callee(&flows);
                    let (time, epoch) = (self.after(20 * MILLISECOND), self.domains[at].epoch);
                    self.at(time, Event::Callee(at, epoch, session, rates));
                }
                Action::AskGrant { session, .. } => self.ask_grant(at, session),
                // Of the start alone, which has them all at once.
                Action::KeepGrant { .. } => {}
                Action::Account(session) => self.begin_records(at, session),
                Action::EndGrant { session, .. } => self.end_grant(at, session),
                Action::HostedEnded { session, refusal } => {
                    self.hosted_ended.insert((at, session), refusal.clone());
                    let is_withdrawn = matches!(refusal.reason, Reason::Aborted | Reason::GrantOver);
                    self.counts.told_hosts += u64::from(is_withdrawn);
                }
                Action::Answer { ticket, answer } => self.answer(at, ticket, answer),
                Action::Ended { session, refusal } => {
                    assert!(!refusal.to_string().is_empty());
                    if let Some(ends) = self.extended.get(&session) {
                        let is_over = refusal.reason == Reason::TimeOver;
                        assert!(!is_over || *ends <= self.now, "{}: {session:?} ends early", self.context);
                    }
                    let before = self.ended.insert(session, refusal);
                    assert!(before.is_none(), "{}: {session:?} ended twice", self.context);
                }
                Action::Rerouted { leg, delay, loss, refusal } => {
                    self.is_rerouted(at, leg, (delay, loss), refusal);
                }
                Action::Copies { leg, said } => {
                    self.counts.copies_lost += u64::from(said.is_err());
                    self.counts.copies_back += u64::from(said.is_ok());
                    self.copies.push((at, leg, said));
                }
                Action::QueryAnswer { ticket, answer } => self.answers.push((ticket, answer)),
                Action::ExtendAnswer { ticket, answer } => {
                    let session = self.extending.remove(&ticket).expect("an answer that is asked for");
                    match answer {
                        Ok(ends) => drop(self.extended.insert(session, ends)),
                        Err(refusal) => self.not_extended.push(refusal.reason),
                    }
                }
            }
        }
    }

    /// What is told of a flow that goes another way.
    fn is_rerouted(&mut self, at: usize, leg: LegId, (delay, loss): (u64, u32), refusal: Refusal) {
        let is_cause =
            matches!(refusal.reason, Reason::LinkDown | Reason::Device(_) | Reason::NoPath { offer: None });
        assert!(is_cause, "{}: {refusal}", self.context);
        let of = |outcome: &Outcome| matches!(outcome, Outcome::Admitted(id) if *id == leg.session);
        let ticket = self.outcomes.iter().find(|(_, outcome)| of(outcome)).map(|(ticket, _)| *ticket);
        if let Some((_, _, request)) = ticket.and_then(|ticket| self.requests.get(&ticket)) {
            let flow = &request.flows[usize::from(leg.flow & 0x7f)];
            assert!(delay <= flow.limit, "{}: {leg:?} has {delay} of {}", self.context, flow.limit);
            assert!(loss <= flow.most_loss, "{}: {loss} of {leg:?} may be lost", self.context);
        }
        self.counts.rerouted += 1;
        self.rerouted.push((self.now, at, leg, delay, refusal));
    }

    fn callee(&mut self, flows: &[FlowRequest]) -> Option<Vec<u64>> {
        if self.callees_agree {
            return Some(flows.iter().map(|flow| flow.desired.rate).collect());
        }
        if self.random.one_in(20) {
            return None;
        }
        let lowers = self.random.one_in(5);
        let random = &mut self.random;
        let rates = flows.iter().map(|flow| match lowers {
            true => random.range(flow.least_rate / 10, flow.desired.rate / 10) * 10,
            false => flow.desired.rate,
        });
        Some(rates.collect())
    }

    fn answer(&mut self, at: usize, ticket: u64, answer: QosAnswer) {
        let (of, _, request) = &self.requests[&ticket];
        assert_eq!(*of, at, "{}: answered by another domain", self.context);
        let outcome = match answer {
            QosAnswer::Refused(refusal) => Outcome::Refused(refusal),
            QosAnswer::Admitted { session, bounds, .. } => {
                for bound in &bounds {
                    let flow = &request.flows[usize::from(bound.leg.flow & 0x7f)];
                    assert!(bound.delay <= flow.limit, "{}: {bound:?} of {flow:?}", self.context);
                    assert!(bound.loss <= flow.most_loss, "{}: {bound:?} of {flow:?}", self.context);
                    assert!(bound.traffic.rate >= flow.least_rate, "{}: {bound:?} of {flow:?}", self.context);
                }
                Outcome::Admitted(session)
            }
        };
        assert!(self.outcomes.insert(ticket, outcome).is_none(), "{}: answered twice", self.context);
    }

    fn send(&mut self, mut message: Message) {
        let bytes = message.encode().unwrap_or_else(|| panic!("{}: {message:?} is too long", self.context));
        assert_eq!(Message::decode(&bytes).as_ref(), Ok(&message), "{}", self.context);
        // Reservations are told to neighbours alone, sessions to the domains of caller and callees.
        let pair = [message.from, message.to];
        let own = &self.domains[message.from.0 as usize - 1].config.agreements;
        let is_near = own.iter().any(|one| pair.contains(&one.from) && pair.contains(&one.to));
        let is_of_session = matches!(message.body, wan::Body::Session(..));
        let is_let = !is_near && self.is_direct(&message);
        assert!(is_near || is_of_session || is_let, "{}: {message:?} goes to no neighbour", self.context);
        self.is_granted(&message);
        if let wan::Body::Response(wan::Response { verdict: Err(refusal), .. }) = &message.body {
            self.counts.not_let += u64::from(refusal.reason == Reason::DirectNotAgreed);
        }
        if message.to.0 == 0 || message.to.0 as usize > self.domains.len() {
            return;
        }
        if let Some(spoil) = self.spoils
            && self.random.one_in(10)
        {
            spoil(&mut self.random, &mut message);
            self.counts.spoilt += 1;
        }
        let at = (message.from.0.min(message.to.0), message.from.0.max(message.to.0));
        let faults = self.faults;
        self.sent += 1;
        if self.cuts.contains(&at) || self.random.below_u64(1_000) < faults.lost {
            self.counts.lost += 1;
            return;
        }
        let copies = if self.random.below_u64(1_000) < faults.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let late = self.random.below_u64(1_000) < faults.late;
            let time = self.after(if late { 3 * SECOND } else { 20 * MILLISECOND });
            self.at(time, Event::Deliver(message.clone()));
        }
    }

    /// Runs for some time.
    pub(crate) fn run(&mut self, time: u64) {
        let end = self.now + time;
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((time, _), event) = entry.remove_entry();
            self.now = time;
            self.counts.events += 1;
            self.happen(event);
            self.harm();
        }
        self.now = end;
    }

    /// Goes on to a moment at which nothing is under way: a flow that lacks a copy asks for it again at each refresh, for ever.
    pub(crate) fn settle(&mut self) {
        let end = self.now + 60_000_000_000;
        let is_under_way = |event: &Event| {
            matches!(event, Event::Deliver(_) | Event::Command(_) | Event::Stored(..) | Event::Answer(..))
        };
        while self.events.values().any(is_under_way) {
            assert!(self.now < end, "{}: something is under way all the time", self.context);
            let Some(((time, _), _)) = self.events.first_key_value() else { return };
            self.run(time - self.now);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Deliver(message) => {
                let at = message.to.0 as usize - 1;
                if self.looks_for_secrets {
                    self.knows_no_secret(&message);
                }
                self.input(at, Input::Message(message));
            }
            Event::Tick(at) => {
                if self.domains[at].tick != self.now {
                    return;
                }
                let now = self.now;
                let Some(manager) = self.domains[at].manager.as_mut() else { return };
                let actions = manager.tick(now);
                self.carry_out(at, actions);
                self.look(at);
                self.look_at_grants(at);
                self.schedule(at);
            }
            Event::Stored(at, epoch) => {
                if self.domains[at].epoch == epoch
                    && self.domains[at].manager.is_some()
                    && let Some(ticket) = self.domains[at].make_durable()
                {
                    self.look_at_store(at);
                    self.input(at, Input::Stored { ticket });
                }
            }
            Event::Command(at) => self.command(at),
            Event::Answer(at, epoch, answer) => {
                if self.domains[at].epoch == epoch {
                    self.input(at, Input::Backend(answer));
                }
            }
            Event::Callee(at, epoch, session, rates) => {
                if self.domains[at].epoch == epoch {
                    self.input(at, Input::CalleeAnswer { session, rates });
                }
            }
            Event::Restart(at) => {
                if self.domains[at].manager.is_none() {
                    self.start(at);
                }
            }
            Event::Paths(at) => self.all_paths(at),
            Event::Link(at, link, is_up) => {
                let domain = &mut self.domains[at];
                if is_up {
                    domain.down.remove(&link.0)
                } else {
                    domain.down.insert(link.0)
                };
                domain.excused = domain.excused.max(self.now + 9 * SECOND);
                self.input(at, Input::Link { link, is_up });
            }
            Event::Mend(one, other) => drop(self.cuts.remove(&(one, other))),
            Event::Aaa(at, epoch, session, step) => self.at_server((at, epoch), session, step),
        }
    }

    /// A store that hung goes on.
    pub(crate) fn store_goes_on(&mut self, at: usize) {
        self.domains[at].hangs_at_sessions = false;
        for _ in 0..self.domains[at].unstored.len() {
            let (time, epoch) = (self.now + MICROSECOND, self.domains[at].epoch);
            self.at(time, Event::Stored(at, epoch));
        }
    }

    fn command(&mut self, at: usize) {
        let Some(command) = self.domains[at].commands.pop_front() else { return };
        if let BackendCommand::Open { leg, .. } = &command {
            self.is_recorded(at, leg.session);
        }
        let domain = &mut self.domains[at];
        let mut path = Vec::new();
        if let BackendCommand::Open { leg, .. } = &command
            && let Some(manager) = &domain.manager
        {
            let legs = manager.legs(leg.session);
            path = legs
                .iter()
                .find(|other| other.leg == *leg)
                .map(|other| other.path.clone())
                .unwrap_or_default();
        }
        let may_uncover = match &command {
            BackendCommand::Reserve { aggregate, .. } => Some(*aggregate),
            BackendCommand::Release { holding: Holding::Aggregate(aggregate), .. } => Some(*aggregate),
            BackendCommand::Open { aggregate, .. } => Some(*aggregate),
            _ => None,
        };
        let ends = match &command {
            BackendCommand::Commit { .. } => true,
            BackendCommand::Reserve { aggregate, .. } => domain.backend.held.contains_key(aggregate),
            _ => false,
        };
        let faults = self.faults.device;
        let failed =
            (faults > 0 && self.random.below_u64(1_000) < faults).then(|| Self::failed(&command)).flatten();
        let domain = &mut self.domains[at];
        let answer = match failed {
            Some(failed) => {
                self.counts.devices += 1;
                // What was granted ends then, and its origin hears of that a little later.
                if ends {
                    domain.excused = domain.excused.max(self.now + 9 * SECOND);
                }
                Some(failed)
            }
            None => domain.backend.execute(command, path.iter().map(|asn| asn.0).collect()),
        };
        let epoch = domain.epoch;
        if let Some(answer) = answer {
            let time = self.after(2 * MILLISECOND);
            self.at(time, Event::Answer(at, epoch, answer));
        }
        if let Some(aggregate) = may_uncover {
            self.look_at_cover(aggregate);
        }
    }

    /// A caller wants its session to last longer.
    pub(crate) fn extend(&mut self, session: SessionId, by: u64) {
        self.extensions += 1;
        self.extending.insert(self.extensions, session);
        let extend = Input::Extend { ticket: self.extensions, session, by };
        self.input(session.origin.0 as usize - 1, extend);
    }

    /// An endpoint of a session has another address: the ticket of the answer.
    pub(crate) fn relocate(&mut self, session: SessionId, from: IpAddr, to: IpAddr) -> u64 {
        let at = session.origin.0 as usize - 1;
        let ticket = self.requests.len() as u64 + 1;
        let up = self.domains[at].manager.as_ref().and_then(|manager| {
            manager.sessions().find(|(id, ..)| *id == session).map(|(_, request, _)| request.clone())
        });
        let any = || self.requests.values().next().map(|(.., request)| request.clone());
        let mut request = up.or_else(any).expect("a session that was asked for");
        request.callees.iter_mut().filter(|callee| **callee == from).for_each(|callee| *callee = to);
        let epoch = self.domains[at].epoch;
        self.requests.insert(ticket, (at, epoch, request));
        if self.domains[at].manager.is_none() {
            self.outcomes.insert(ticket, Outcome::Unknown);
        }
        self.counts.moves += 1;
        self.input(at, Input::Move { ticket, session, from, to });
        ticket
    }

    /// What a back-end says whose device does not carry out a command.
    fn failed(command: &BackendCommand) -> Option<BackendAnswer> {
        let fault = DeviceFault { device: Text::fitting("router"), what: Text::fitting("it is deaf") };
        match command {
            BackendCommand::Offer { ticket, .. }
            | BackendCommand::Reserve { ticket, .. }
            | BackendCommand::Open { ticket, .. } => Some(BackendAnswer::Failed { ticket: *ticket, fault }),
            BackendCommand::Commit { aggregate, .. } => {
                Some(BackendAnswer::Lost { holding: Holding::Aggregate(*aggregate), fault })
            }
            BackendCommand::Release { .. } | BackendCommand::Observe { .. } => None,
        }
    }

    /// A device forgets something that it held.
    pub(super) fn lose(&mut self, at: usize) {
        let backend = &mut self.domains[at].backend;
        let aggregates = backend.held.keys().map(|id| Holding::Aggregate(*id));
        let all: Vec<Holding> = aggregates.chain(backend.open.keys().map(|id| Holding::Flow(*id))).collect();
        let Some(holding) = self.random.pick(&all).copied() else { return };
        match holding {
            Holding::Aggregate(aggregate) => {
                backend.held.remove(&aggregate);
                backend.committed.remove(&aggregate);
            }
            Holding::Flow(leg) => drop(backend.open.remove(&leg)),
        }
        let fault = DeviceFault { device: Text::fitting("router"), what: Text::fitting("it forgets") };
        let domain = &mut self.domains[at];
        domain.excused = domain.excused.max(self.now + 9 * SECOND);
        self.counts.devices += 1;
        let (time, epoch) = (self.after(2 * MILLISECOND), self.domains[at].epoch);
        self.at(time, Event::Answer(at, epoch, BackendAnswer::Lost { holding, fault }));
    }

    /// A caller asks.
    pub(crate) fn request(&mut self, at: usize, request: SessionRequest) -> u64 {
        let ticket = self.requests.len() as u64 + 1;
        let epoch = self.domains[at].epoch;
        self.requests.insert(ticket, (at, epoch, request.clone()));
        if self.domains[at].manager.is_none() {
            self.outcomes.insert(ticket, Outcome::Unknown);
        }
        self.input(at, Input::Request { ticket, request });
        ticket
    }
}
