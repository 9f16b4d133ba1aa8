//! Managers of domains in virtual time, on a network with faults. After each event the judge looks.
use std::collections::{BTreeMap, BTreeSet};

use testkit::random::Random;
use wan::{
    Action, BackendAnswer, BackendCommand, Body, Class, FlowRequest, Input, LegId, LinkId, Message,
    QosAnswer, Refusal, ResourceManager, SessionId, SessionRequest,
};

use crate::domain::Domain;
use crate::model::{Topology, burst};
use crate::topologies::{CLASSES, MICROSECOND, MILLISECOND, SECOND, make};

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
    Mend(u32, u32),
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
    pub(crate) covered: u64,
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
    /// Callees agree to everything at once.
    pub(crate) callees_agree: bool,
    /// Looks for numbers of agreements in messages to others.
    pub(crate) looks_for_secrets: bool,
    secrets: Vec<BTreeSet<u64>>,
    pub(crate) context: String,
    pub(crate) counts: Counts,
    pub(crate) answers: Vec<(u64, Result<wan::Available, Refusal>)>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::of_case(seed, 36);
        let (topology, domains) = make(&mut random);
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
            callees_agree: false,
            looks_for_secrets: false,
            secrets,
            context: String::new(),
            counts: Counts::default(),
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
        let records: Vec<_> = domain.store.clone().into_iter().collect();
        let (manager, actions) = ResourceManager::new(domain.config.clone(), domain.epoch, now, records);
        domain.manager = Some(manager);
        domain.excused = now + 9 * SECOND;
        if domain.epoch == 1 {
            domain.excused = 0;
        }
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
                Action::Answer { ticket, answer } => self.answer(at, ticket, answer),
                Action::Ended { session, refusal } => {
                    assert!(!refusal.to_string().is_empty());
                    let before = self.ended.insert(session, refusal);
                    assert!(before.is_none(), "{}: {session:?} ended twice", self.context);
                }
                Action::QueryAnswer { ticket, answer } => self.answers.push((ticket, answer)),
            }
        }
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
                    let flow = &request.flows[usize::from(bound.leg.flow)];
                    assert!(bound.delay <= flow.limit, "{}: {bound:?} of {flow:?}", self.context);
                    assert!(bound.traffic.rate >= flow.least_rate, "{}: {bound:?} of {flow:?}", self.context);
                }
                Outcome::Admitted(session)
            }
        };
        assert!(self.outcomes.insert(ticket, outcome).is_none(), "{}: answered twice", self.context);
    }

    fn send(&mut self, message: Message) {
        let at = (message.from.0.min(message.to.0), message.from.0.max(message.to.0));
        let faults = self.faults;
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
        }
    }

    fn command(&mut self, at: usize) {
        let domain = &mut self.domains[at];
        let Some(command) = domain.commands.pop_front() else { return };
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
            BackendCommand::Release { holding: wan::Holding::Aggregate(aggregate), .. } => Some(*aggregate),
            BackendCommand::Open { aggregate, .. } => Some(*aggregate),
            _ => None,
        };
        let answer = domain.backend.execute(command, path.iter().map(|asn| asn.0).collect());
        let epoch = domain.epoch;
        if let Some(answer) = answer {
            let time = self.after(2 * MILLISECOND);
            self.at(time, Event::Answer(at, epoch, answer));
        }
        if let Some(aggregate) = may_uncover {
            self.look_at_cover(aggregate);
        }
    }

    /// All that edges let in is held by every domain of the path.
    fn look_at_cover(&mut self, aggregate: wan::AggregateId) {
        let origin = &self.domains[aggregate.tunnel.origin.0 as usize - 1];
        if origin.manager.is_none() || self.now < origin.excused {
            return;
        }
        let open: Vec<(&LegId, &FlowRequest, &Vec<u32>)> = origin
            .backend
            .open
            .iter()
            .filter(|(_, (of, ..))| *of == aggregate)
            .map(|(leg, (_, flow, path))| (leg, flow, path))
            .collect();
        let Some((_, _, path)) = open.iter().find(|(_, _, path)| !path.is_empty()) else { return };
        let rate: u64 = open.iter().map(|(_, flow, _)| flow.desired.rate).sum();
        let bucket: u64 = open.iter().map(|(_, flow, _)| flow.desired.bucket).sum();
        for asn in *path {
            let domain = &self.domains[*asn as usize - 1];
            if self.now < domain.excused {
                continue;
            }
            let held = domain.backend.held.get(&aggregate).map_or((0, 0), |held| (held.rate, held.burst));
            assert!(
                held.0 >= rate && held.1 >= bucket,
                "{}, {}: edges let in {rate} bit/s and {bucket} bytes of {aggregate:?}, domain {asn} holds {held:?}: {open:?}",
                self.context,
                self.now
            );
        }
        self.counts.covered += 1;
    }

    /// No link of a domain is reserved more than it carries, as the judge adds it up, nor as the manager says.
    fn look(&self, at: usize) {
        let domain = &self.domains[at];
        let Some(manager) = &domain.manager else { return };
        let records = manager.aggregates().map(|(id, held)| (id.class, held));
        let sums = self.sums(at, records);
        for ((next, link, class), (rate, burst)) in sums {
            let agreed = &self.topology.agreed[&(at as u32 + 1, next, link, class.dscp())];
            let most = if domain.down.contains(&link) { 0 } else { agreed.rate };
            let most = most.min(domain.measured.get(&(link, class)).copied().unwrap_or(u64::MAX));
            let said = manager.reserved(LinkId(link), class);
            assert!(said.0 >= rate && said.1 >= burst, "{}: {said:?} counts less than {rate}", self.context);
            assert!(
                said.0 <= most && said.1 <= agreed.burst,
                "{}, {}: {said:?} reserved of {most} on link {link} of {}",
                self.context,
                self.now,
                at + 1
            );
        }
    }

    /// What a crash would leave fits what is agreed.
    fn look_at_store(&self, at: usize) {
        let records = self.domains[at].store.iter().filter_map(|(key, record)| match (key, record) {
            (wan::Key::Aggregate(id), wan::Record::Aggregate(held)) => Some((id.class, held)),
            _ => None,
        });
        for ((next, link, class), (rate, burst)) in self.sums(at, records) {
            let agreed = &self.topology.agreed[&(at as u32 + 1, next, link, class.dscp())];
            let fits = rate <= agreed.rate && burst <= agreed.burst;
            assert!(
                fits,
                "{}, {}: the store of {} has {rate} bit/s on {link}",
                self.context,
                self.now,
                at + 1
            );
        }
    }

    fn sums<'a>(
        &self,
        at: usize,
        held: impl Iterator<Item = (Class, &'a wan::HeldAggregate)>,
    ) -> BTreeMap<(u32, u32, Class), (u64, u64)> {
        let mut sums: BTreeMap<(u32, u32, Class), (u64, u64)> = BTreeMap::new();
        for (class, held) in held {
            let Some(link) = held.link_out else { continue };
            let next = held.asked.path[usize::from(held.asked.position) + 1];
            let inside = self.topology.inside[&(at as u32 + 1, class.dscp())];
            let sum = sums.entry((next.0, link.0, class)).or_default();
            sum.0 += held.asked.traffic.rate;
            sum.1 += burst(held.asked.traffic.bucket, held.asked.traffic.rate, held.asked.jitter + inside.1);
        }
        sums
    }

    /// No message has a number of an agreement between others. What is offered in place of what was refused is not looked at.
    fn knows_no_secret(&self, message: &Message) {
        let mut text = format!("{:?}", message.body);
        if let Body::Response(_) | Body::Notify(_) | Body::Session(..) | Body::QueryResponse(_) =
            &message.body
            && let Some(at) = text.find("reason:")
        {
            text.truncate(at);
        }
        let secrets = &self.secrets[message.to.0 as usize - 1];
        for digits in text.split(|c: char| !c.is_ascii_digit()) {
            if let Ok(number) = digits.parse::<u64>() {
                assert!(!secrets.contains(&number), "{}: {number} is told to {:?}", self.context, message);
            }
        }
    }

    /// Something fails, now and then.
    fn harm(&mut self) {
        let faults = self.faults;
        let at = self.random.below(self.domains.len());
        if self.random.below_u64(10_000) < faults.crash {
            self.crash(at);
        }
        if self.random.below_u64(10_000) < faults.link {
            self.fail_link(at);
        }
        if self.random.below_u64(10_000) < faults.measured {
            let own = at as u32 + 1;
            let of = self.domains[at].config.agreements.iter().filter(|agreement| agreement.from.0 == own);
            let links: Vec<LinkId> = of.map(|agreement| agreement.link).collect();
            let (link, class) = (*self.random.pick(&links).unwrap(), *self.random.pick(&CLASSES).unwrap());
            let rate = self.random.range(0, 1_200) * 10_000;
            self.domains[at].measured.insert((link.0, class), rate);
            self.domains[at].excused = self.domains[at].excused.max(self.now + 9 * SECOND);
            self.counts.measured += 1;
            self.input(at, Input::Measured { link, class, rate });
        }
        if self.random.below_u64(10_000) < faults.cut {
            let others = self.domains.len() as u64;
            let (one, other) = (at as u32 + 1, self.random.range(1, others) as u32);
            let pair = (one.min(other), one.max(other));
            self.cuts.insert(pair);
            self.counts.cuts += 1;
            let time = self.after(12 * SECOND);
            self.at(time, Event::Mend(pair.0, pair.1));
        }
    }

    pub(crate) fn crash(&mut self, at: usize) {
        if self.domains[at].manager.take().is_none() {
            return;
        }
        self.counts.crashes += 1;
        // Some of what was under way is durable all the same.
        let durable = self.random.below(self.domains[at].unstored.len() + 1);
        for _ in 0..durable {
            self.domains[at].make_durable();
        }
        self.domains[at].unstored.clear();
        self.look_at_store(at);
        let epoch = self.domains[at].epoch;
        for (ticket, (of, in_epoch, _)) in &self.requests {
            if *of == at && *in_epoch == epoch {
                self.outcomes.entry(*ticket).or_insert(Outcome::Unknown);
            }
        }
        let most = if self.random.chance(70) { SECOND } else { 12 * SECOND };
        let time = self.after(most);
        self.at(time, Event::Restart(at));
    }

    /// A link of a domain fails, on both sides.
    fn fail_link(&mut self, at: usize) {
        let links: Vec<LinkId> =
            self.domains[at].config.agreements.iter().map(|agreement| agreement.link).collect();
        let link = *self.random.pick(&links).unwrap();
        self.counts.links += 1;
        let back = self.after(10 * SECOND);
        for at in 0..self.domains.len() {
            if self.domains[at].config.agreements.iter().any(|agreement| agreement.link == link) {
                let time = self.after(200 * MILLISECOND);
                self.at(time, Event::Link(at, link, false));
                self.at(back + 200 * MILLISECOND, Event::Link(at, link, true));
            }
        }
    }

    /// No more faults; all that is down comes back.
    pub(crate) fn mend(&mut self) {
        self.faults = Faults::default();
        self.cuts.clear();
        for at in 0..self.domains.len() {
            if self.domains[at].manager.is_none() {
                self.start(at);
            }
        }
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
