//! The daemon: one task that owns the manager and does what it wants done.
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::ResourceManager;
use control::action::{Action, Done, GateChange, StoreChange, Token};
use control::config::Config;
use control::grant::Grant;
use control::network::Network;
use control::orders::{GateOrder, Next};
use control::session::{News, Session};
use dds::DomainParticipant;
use gate::protocol::{Answer, Request};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, channel};
use tracing::{error, info, warn};

use crate::Error;
use crate::connection::{Connection, ConnectionId, Heard};
use crate::elsewhere::Elsewhere;
use crate::facts::Discovered;
use crate::gates::{Agent, GateHeard};
use crate::journal::Journal;
use crate::presence::Presence;
use crate::reports::Reports;
use crate::secure::{Accepted, Arrival, accept};
use crate::store::{Change, Store};
use crate::topics::{Arrived, Topics};
use crate::verdicts::Verdicts;

/// Most connections that may be switches.
const CONNECTIONS: usize = 1_024;
/// Messages that wait for the daemon at most; who has more to say waits.
const WAITING: usize = 64;
/// How often is looked whether verdicts have been acknowledged, and whether to stop.
const LOOK: Duration = Duration::from_millis(5);
const LOOK_FOR_STOP: Duration = Duration::from_millis(100);
/// Why gates without an agent cannot be asked.
const NO_AGENT: &str = "nobody has said where the agent of these gates is: give --gates";
/// How often is looked which participants there are.
const LOOK_FOR_PARTICIPANTS: Duration = Duration::from_secs(1);
/// Verdicts that are kept of requests that were turned away, besides those of the requests that are known.
const TURNED_AWAY: usize = 1_024;

/// Everything that the task owns.
struct Daemon<'d> {
    manager: ResourceManager,
    start: Instant,
    participant: &'d DomainParticipant,
    topics: Topics,
    /// Wakes this task when something has come over the topics.
    waker: Arc<Notify>,
    reports: Reports,
    store: &'d mut (dyn Store + 'static),
    connections: BTreeMap<ConnectionId, Connection>,
    /// By datapath id of the switch.
    agents: BTreeMap<u64, Agent>,
    orders: BTreeMap<Token, (u64, GateOrder)>,
    elsewhere: Elsewhere,
    /// Lists of contracts that were asked for, and of which switch.
    readings: BTreeMap<Token, u64>,
    verdicts: Verdicts,
    /// Answers that are known at once, told when the manager is not in the middle of something.
    answers: VecDeque<(Token, Done)>,
    /// What is to be stored, in one transaction once nothing else is to be done: the disk takes as long for one as for many.
    to_store: Vec<Change>,
    /// The tokens of that.
    storing: Vec<Token>,
    journal: Journal,
    look_at: Duration,
    next_connection: ConnectionId,
    told: Sender<Heard>,
}

/// What a manager works with.
pub(crate) struct Managed<'d> {
    pub(crate) network: Network,
    pub(crate) config: Config,
    pub(crate) agents: BTreeMap<u64, SocketAddr>,
    /// That switches connect to; they do not block.
    pub(crate) sockets: Vec<std::net::TcpListener>,
    /// With which both ends of connections to switches and gates show who they are.
    pub(crate) keys: Option<keys::Identity>,
    pub(crate) store: &'d mut (dyn Store + 'static),
}

/// Why a manager does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It was to stop.
    Stopped,
    /// Another one goes before it.
    StandsBack,
}

/// Runs a manager until `stop` says so, or another one goes before it.
pub(crate) async fn run(
    mut managed: Managed<'_>,
    participant: &DomainParticipant,
    presence: &mut Presence<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Ended, Error> {
    let (accepted, mut arrivals) = channel(1);
    let Managed { sockets, keys, .. } = &mut managed;
    for socket in std::mem::take(sockets) {
        let listener = TcpListener::from_std(socket);
        let listener = listener
            .map_err(|error| Error::System(format!("a socket for switches cannot be used: {error}")))?;
        tokio::spawn(accept(listener, keys.clone(), accepted.clone()));
    }
    let (told, mut heard) = channel(WAITING);
    let (told_by_agents, mut heard_of_gates) = channel(WAITING);
    let waker = Arc::new(Notify::new());
    let mut daemon = Daemon::new(managed, participant, &waker, told, &told_by_agents)?;
    let mut look_for_stop = tokio::time::interval(LOOK_FOR_STOP);
    let mut look_around = tokio::time::interval(LOOK_FOR_PARTICIPANTS);
    loop {
        daemon.settle();
        let until = tokio::time::Instant::from_std(daemon.start + daemon.next_timeout());
        tokio::select! {
            Some(accepted) = arrivals.recv() => daemon.accepted(accepted),
            Some(said) = heard.recv() => daemon.heard(said),
            Some(said) = heard_of_gates.recv() => daemon.heard_of_gates(said),
            () = waker.notified() => daemon.arrived(),
            () = tokio::time::sleep_until(until) => daemon.timeout(),
            _ = look_for_stop.tick() => if stop() { return Ok(Ended::Stopped) },
            _ = look_around.tick() => if !daemon.goes_on(presence) { return Ok(Ended::StandsBack) },
        }
    }
}

impl<'d> Daemon<'d> {
    fn new(
        managed: Managed<'d>,
        participant: &'d DomainParticipant,
        waker: &Arc<Notify>,
        told: Sender<Heard>,
        told_by_agents: &Sender<GateHeard>,
    ) -> Result<Self, Error> {
        let Managed { network, config, agents, store, keys, .. } = managed;
        let start = Instant::now();
        let epoch = store.next_epoch()?;
        let most_verdicts = config.most_requests.saturating_add(TURNED_AWAY);
        let most_of_participant = config.most_requests_of_participant;
        let mut manager = ResourceManager::new(config, network, epoch)?;
        manager.use_solver(solver::multipliers);
        info!("{}", manager.reserved_status());
        let mut grants = Vec::new();
        for (number, grant) in store.grants()? {
            match serde_json::from_slice::<Grant>(&grant) {
                Ok(grant) => grants.push(grant),
                Err(error) => error!("stored grant {number} cannot be read and is left out: {error}"),
            }
        }
        info!("manager {} of this store begins with {} stored grants", epoch, grants.len());
        manager.restore(Duration::ZERO, grants);
        let agents = agents.into_iter().map(|(datapath, address)| {
            (datapath, Agent::new(datapath, address, keys.clone(), told_by_agents.clone()))
        });
        Ok(Self {
            manager,
            start,
            participant,
            topics: Topics::new(participant, waker, most_verdicts, most_of_participant)?,
            waker: Arc::clone(waker),
            reports: Reports::new(participant, waker, epoch)?,
            store,
            connections: BTreeMap::new(),
            agents: agents.collect(),
            orders: BTreeMap::new(),
            elsewhere: Elsewhere::default(),
            readings: BTreeMap::new(),
            verdicts: Verdicts::new(most_verdicts),
            answers: VecDeque::new(),
            to_store: Vec::new(),
            storing: Vec::new(),
            journal: Journal::default(),
            look_at: Duration::ZERO,
            next_connection: 0,
            told,
        })
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn next_timeout(&self) -> Duration {
        let channels = self.connections.values().filter_map(|connection| connection.session.poll_timeout());
        let due = [self.manager.poll_timeout(), self.verdicts.poll_timeout(), self.reports.poll_timeout()];
        let next = channels.chain(due.into_iter().flatten()).min().unwrap_or(self.look_at);
        let acknowledged = match self.verdicts.is_waited_for() {
            true => self.now().saturating_add(LOOK),
            false => self.look_at,
        };
        next.min(acknowledged).min(self.look_at)
    }

    fn timeout(&mut self) {
        let now = self.now();
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            self.with_session(id, |session, news| session.timeout(now, news));
        }
        if self.manager.poll_timeout().is_some_and(|at| at <= now) {
            self.manager.handle_timeout(now);
        }
        self.verdicts.retry(now, &self.topics);
        self.reports.publish(now, &self.manager);
        if now >= self.look_at {
            self.look_at = now.saturating_add(LOOK_FOR_PARTICIPANTS);
            self.journal.participants(&self.participant.get_discovered_participants(), &self.manager);
            self.journal.time_passes(self.verdicts.waiting());
            for pair in self.elsewhere.take_lost(now) {
                self.manager.withdraw(now, pair);
            }
        }
    }

    /// Looks for other managers; false if one of them goes before this one.
    fn goes_on(&mut self, presence: &mut Presence<'_>) -> bool {
        let first = presence.look();
        self.manager.managers_seen(presence.others());
        if let Some(first) = &first {
            warn!("stands back: {first} manages this network, too, and began earlier");
        }
        first.is_none()
    }

    fn accepted(&mut self, accepted: Accepted) {
        match accepted {
            Accepted::Arrived(arrival) => self.connected(arrival),
            Accepted::Unknown(peer, why) => {
                let line = format!("{} is turned away: {why}", peer.ip());
                self.journal.trouble(format!("peer {}", peer.ip()), line);
            }
        }
    }

    fn connected(&mut self, arrival: Arrival) {
        let peer = arrival.peer;
        if self.connections.len() >= CONNECTIONS {
            let line = format!(
                "switches are turned away: there are {CONNECTIONS} connections, the last one from {peer}"
            );
            return self.journal.trouble("connections".to_owned(), line);
        }
        let id = self.next_connection;
        self.next_connection += 1;
        let connection = Connection::new(id, arrival, Session::new(self.now()), self.told.clone());
        self.connections.insert(id, connection);
    }

    fn heard(&mut self, heard: Heard) {
        let now = self.now();
        match heard {
            Heard::Input(id, octets) => {
                self.with_session(id, |session, news| session.input(now, &octets, news))
            }
            Heard::Closed(id) => self.with_session(id, |session, news| session.closed(now, news)),
            // Room was made; what waits leaves when all is settled.
            Heard::Sent => {}
        }
    }

    fn with_session(&mut self, id: ConnectionId, act: impl FnOnce(&mut Session, &mut Vec<News>)) {
        let mut news = Vec::new();
        if let Some(connection) = self.connections.get_mut(&id) {
            act(&mut connection.session, &mut news);
        }
        for news in news {
            self.news(id, news);
        }
    }

    fn news(&mut self, id: ConnectionId, news: News) {
        let now = self.now();
        let Some(connection) = self.connections.get(&id) else { return };
        let (peer, datapath) = (connection.peer, connection.session.datapath());
        match (news, datapath) {
            (News::Up(report), Some(datapath)) => {
                // Before anything is done to a switch of that name which is there.
                if let Err(why) = connection.may_be(datapath) {
                    let line = format!(
                        "{} says that it is switch {datapath:#x} and is turned away: {why}",
                        peer.ip()
                    );
                    self.journal.trouble(format!("peer {}", peer.ip()), line);
                    self.connections.remove(&id);
                    return;
                }
                let former = self
                    .connections
                    .iter()
                    .find(|(other, former)| **other != id && former.session.datapath() == Some(datapath));
                // A switch that comes again has lost its former connection, whether or not we have seen that.
                if let Some(former) = former.map(|(former, _)| *former) {
                    self.close(former, "it has connected again");
                }
                match self.manager.switch_up(now, &report) {
                    Ok(()) => {
                        self.journal.is_well(&format!("switch {datapath:#x}"));
                        info!("{} at {peer} has connected", self.manager.switch_name(datapath));
                    }
                    Err(refusal) => {
                        let line = format!("switch {datapath:#x} at {} is refused: {refusal}", peer.ip());
                        self.journal.trouble(format!("switch {datapath:#x}"), line);
                        self.connections.remove(&id);
                    }
                }
            }
            (News::Packet(packet), Some(datapath)) => self.manager.packet_in(now, datapath, &packet),
            (News::Removed(removed), Some(datapath)) => self.manager.flow_removed(datapath, &removed),
            (News::Port(status), Some(datapath)) => self.manager.port_status(now, datapath, &status),
            (News::Installed(token, done), _) => self.manager.installed(now, token, done),
            (News::Read(token, content), _) => self.manager.has_read(now, token, content),
            (News::Odd(what), _) => {
                self.journal.trouble(format!("odd {}", peer.ip()), format!("{}: {what}", peer.ip()))
            }
            (News::Down(why), _) => self.close(id, &why),
            (News::Up(_) | News::Packet(_) | News::Removed(_) | News::Port(_), None) => {}
        }
    }

    fn close(&mut self, id: ConnectionId, why: &str) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let peer = connection.peer;
        match connection.session.datapath() {
            Some(datapath) => {
                warn!("{} at {peer} is gone: {why}", self.manager.switch_name(datapath));
                self.manager.switch_down(self.now(), datapath);
            }
            None => {
                let line = format!("{} is gone and was no switch: {why}", peer.ip());
                self.journal.trouble(format!("peer {}", peer.ip()), line);
            }
        }
    }

    fn heard_of_gates(&mut self, heard: GateHeard) {
        let now = self.now();
        match heard {
            GateHeard::Up { switch } => {
                let name = self.manager.switch_name(switch);
                let room = Some(gate::protocol::MOST_CONTRACTS);
                match self.manager.gates_up(now, switch, room) {
                    Ok(()) => self.journal.is_well(&format!("gates {switch:#x}")),
                    Err(refusal) => {
                        let line = format!("the gates of {name} are refused: {refusal}");
                        self.journal.trouble(format!("gates {switch:#x}"), line);
                    }
                }
            }
            GateHeard::Down { switch, why } => {
                let name = self.manager.switch_name(switch);
                let line = format!(
                    "the gates of {name} cannot be reached: {why}; is their agent running (punctual gate serve)?"
                );
                self.journal.trouble(format!("gates {switch:#x}"), line);
                self.manager.gates_down(now, switch);
            }
            GateHeard::Done { token, answer } if self.readings.remove(&Token(token)).is_some() => {
                let read = match answer {
                    Ok(Answer::List { contracts, .. }) => Ok(contracts),
                    Ok(other) => Err(format!("they answer something else than what they have: {other:?}")),
                    Err(why) => Err(why),
                };
                self.manager.has_read_gates(now, Token(token), read);
            }
            GateHeard::Done { token, answer } => {
                let token = Token(token);
                let Some((switch, order)) = self.orders.get_mut(&token) else { return };
                match (order.answer(answer), self.agents.get(switch)) {
                    (Next::Ask(request), Some(agent)) => agent.ask(token.0, request),
                    (Next::Ask(_), None) => {}
                    (Next::Done(done), _) => {
                        self.orders.remove(&token);
                        self.manager.installed(now, token, done);
                    }
                }
            }
        }
    }

    /// Something came over the admission topics.
    fn arrived(&mut self) {
        let now = self.now();
        self.reports.publish(now, &self.manager);
        let mut arrived = Vec::new();
        match self.topics.take(&mut arrived) {
            Ok(is_all) => {
                self.journal.is_well("requests");
                if !is_all {
                    // What else there is to do has its turn before.
                    self.waker.notify_one();
                }
            }
            Err(error) => {
                self.journal.trouble("requests".to_owned(), format!("requests cannot be taken: {error}"))
            }
        }
        if let Some(participant) = self.topics.dropped() {
            let line = format!(
                "requests of participant {participant} are dropped: it has more than any may have, of readers that may not even exist"
            );
            self.journal.trouble("dropped requests".to_owned(), line);
        }
        let is_request = |arrived: &Arrived| matches!(arrived, Arrived::Request(_));
        let discovered = arrived.iter().any(is_request).then(|| Discovered::by(self.participant));
        for arrived in arrived {
            match arrived {
                Arrived::Request(request) => {
                    let facts = discovered.as_ref().map(|known| known.facts(&request)).unwrap_or_default();
                    self.elsewhere.back(request.pair());
                    self.manager.request(now, *request, facts);
                }
                Arrived::Elsewhere(pair) if self.verdicts.has(pair) => {
                    let line = "another manager answers in this domain: participants that were answered here ask it now; two of them overwrite \
                                each other's entries in switches";
                    self.journal.trouble("another manager".to_owned(), line.to_owned());
                    self.elsewhere.gone(now, pair);
                }
                // Nothing was said about it here: it may still name the manager before this one, whose grants wait for it.
                Arrived::Elsewhere(_) => {}
                Arrived::Withdrawn(request) => {
                    self.elsewhere.back(request.pair());
                    self.manager.withdraw(now, request.pair());
                }
                Arrived::Measured(measured) => self.manager.measured(&measured),
            }
        }
    }

    /// Does what the manager wants, until it wants nothing more.
    fn settle(&mut self) {
        let now = self.now();
        for token in self.verdicts.arrived(&self.topics) {
            self.manager.announced(now, token);
        }
        loop {
            if let Some(action) = self.manager.poll_action() {
                self.act(now, action);
            } else if let Some((token, done)) = self.answers.pop_front() {
                self.manager.stored(now, token, done);
            } else if !self.to_store.is_empty() {
                self.store_all();
            } else {
                break;
            }
        }
        for connection in self.connections.values_mut() {
            connection.flush();
        }
        while let Some(note) = self.manager.poll_note() {
            self.journal.note(now, &note);
        }
    }

    fn act(&mut self, now: Duration, action: Action) {
        match action {
            Action::Install { token, switch, messages } => {
                self.with_switch(switch, |session, news| session.install(now, token, &messages, news));
            }
            Action::Send { switch, messages } => {
                self.with_switch(switch, |session, news| session.send(now, &messages, news));
            }
            Action::Read { token, switch, counters } => {
                self.with_switch(switch, |session, news| session.read(now, token, counters, news));
            }
            Action::ReadGates { token, switch } => match self.agents.get(&switch) {
                Some(agent) => {
                    agent.ask(token.0, Request::List);
                    self.readings.insert(token, switch);
                }
                None => self.manager.has_read_gates(now, token, Err(NO_AGENT.to_owned())),
            },
            Action::Gate { token, switch, change } => self.order(now, token, switch, change),
            Action::Disconnect { switch } => {
                if let Some(id) = self.connection_of(switch) {
                    self.close(id, "what it has is not known: it has to connect again");
                }
                if let Some(agent) = self.agents.get(&switch) {
                    agent.connect_again();
                }
            }
            Action::Store { token, change } => match stored(change) {
                Ok(changes) => {
                    self.storing.push(token);
                    self.to_store.extend(changes);
                }
                Err(error) => self.answers.push_back((token, Done::Failed(error))),
            },
            Action::Publish { token, verdict } => self.verdicts.say(now, &self.topics, *verdict, token),
            Action::Dispose(pair) => self.verdicts.forget(now, &self.topics, pair),
        }
    }

    fn connection_of(&self, datapath: u64) -> Option<ConnectionId> {
        let is = |connection: &Connection| connection.session.datapath() == Some(datapath);
        let mut found = self.connections.iter().filter(|(_, connection)| is(connection));
        found.next().map(|(id, _)| *id)
    }

    /// A switch that is gone needs no answer: the manager was told, or will be.
    fn with_switch(&mut self, datapath: u64, act: impl FnOnce(&mut Session, &mut Vec<News>)) {
        if let Some(id) = self.connection_of(datapath) {
            self.with_session(id, act);
        }
    }

    fn order(&mut self, now: Duration, token: Token, switch: u64, change: GateChange) {
        let Some(agent) = self.agents.get(&switch) else {
            return self.manager.installed(now, token, Done::Failed(NO_AGENT.to_owned()));
        };
        let (order, first) = GateOrder::new(change);
        agent.ask(token.0, first);
        self.orders.insert(token, (switch, order));
    }

    fn store_all(&mut self) {
        let stored = self.store.change(&std::mem::take(&mut self.to_store));
        let done = match stored {
            Ok(()) => Done::Confirmed,
            Err(error) => Done::Failed(error.to_string()),
        };
        self.answers.extend(std::mem::take(&mut self.storing).into_iter().map(|token| (token, done.clone())));
    }
}

/// A change as it is stored.
fn stored(change: StoreChange) -> Result<Vec<Change>, String> {
    let put = |grant: &Grant| {
        let octets = serde_json::to_vec(grant).map_err(|error| error.to_string())?;
        Ok((grant.number, Some(octets)))
    };
    match change {
        StoreChange::Put(grant) => Ok(vec![put(&grant)?]),
        StoreChange::PutAll(grants) => grants.iter().map(put).collect(),
        StoreChange::Remove(number) => Ok(vec![(number, None)]),
    }
}
