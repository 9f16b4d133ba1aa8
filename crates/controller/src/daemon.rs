//! The daemon: one task that owns the manager and does what it wants done.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use connections::Accepted;
use control::ResourceManager;
use control::action::{Done, Facts, Token};
use control::config::Config;
use control::orders::GateOrder;
use dds::DomainParticipant;
use network::Texts;
use store::{Change, Standing, Store};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::{info, warn};
use web::Command;

use crate::Error;
use crate::cables;
use crate::connection::{Connection, ConnectionId, Heard};
use crate::elsewhere::Elsewhere;
use crate::facts::Discovered;
use crate::gates::{Agent, GateHeard};
use crate::in_force::{InForce, NetworkFile};
use crate::journal::Journal;
use crate::kept;
use crate::lead;
use crate::operator::Window;
use crate::presence::Presence;
use crate::reports::Reports;
use crate::signed::Signed;
use crate::switch_connections::SwitchConnections;
use crate::topics::{Arrived, Topics};
use crate::tunnels::Waiting;
use crate::verdicts::Verdicts;

/// Messages that wait for the daemon at most; who has more to say waits.
const WAITING: usize = 64;
/// How often is looked whether verdicts have been acknowledged, and whether to stop.
const LOOK: Duration = Duration::from_millis(5);
const LOOK_FOR_STOP: Duration = Duration::from_millis(100);
/// Why gates without an agent cannot be asked.
pub(crate) const NO_AGENT: &str = "where the agent of these gates is was not said: give --gates";
/// How often is looked which participants there are.
const LOOK_FOR_PARTICIPANTS: Duration = Duration::from_secs(1);
/// Verdicts that are kept of requests that were turned away, besides those of the requests that are known.
const TURNED_AWAY: usize = 1_024;

/// Everything that the task owns.
pub(crate) struct Daemon<'d> {
    pub(crate) manager: ResourceManager,
    pub(crate) start: Instant,
    pub(crate) participant: &'d DomainParticipant,
    pub(crate) topics: Topics,
    /// Wakes this task when something has come over the topics.
    pub(crate) waker: Arc<Notify>,
    pub(crate) reports: Reports,
    pub(crate) store: &'d mut (dyn Store + 'static),
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    /// From when the times of their sessions count: they may be older than this manager leads.
    pub(crate) sessions_start: Instant,
    /// By datapath id of the switch.
    pub(crate) agents: BTreeMap<u64, Agent>,
    pub(crate) orders: BTreeMap<Token, (u64, GateOrder)>,
    pub(crate) elsewhere: Elsewhere,
    /// Whether a flow file describes programs that do not ask.
    pub(crate) describes: bool,
    /// Lists of contracts that were asked for, and of which switch.
    pub(crate) readings: BTreeMap<Token, u64>,
    pub(crate) verdicts: Verdicts,
    /// Answers that are known at once, told when the manager is not in the middle of something.
    pub(crate) answers: VecDeque<(Token, Done)>,
    /// What is to be stored, in as few transactions as can be, once nothing else is to be done: the disk takes as long for one as for many.
    pub(crate) to_store: Vec<(Token, Vec<Change>)>,
    /// By this switches and gates know this manager from those before.
    pub(crate) epoch: u64,
    pub(crate) journal: Journal,
    pub(crate) look_at: Duration,
    pub(crate) next_connection: ConnectionId,
    pub(crate) told: Sender<Heard>,
    /// What operators see, if there is a page.
    pub(crate) window: Option<Window<'d>>,
    /// Where the network is read again from.
    pub(crate) file: Option<&'d NetworkFile>,
    /// Whether the store may have a network file that was refused.
    pub(crate) is_file_in_doubt: bool,
    /// Owners of tunnels that wait for an answer.
    pub(crate) tunnels: Waiting,
    /// The network file to go on with.
    pub(crate) changed: Option<Texts>,
}

/// What a manager works with.
pub(crate) struct Managed<'d> {
    pub(crate) in_force: &'d InForce,
    /// The epoch of the store that was taken for this.
    pub(crate) epoch: u64,
    pub(crate) config: Config,
    /// Those that are there, which may have come while this manager stood by.
    pub(crate) switches: SwitchConnections,
    /// With which both ends of connections to switches and gates show who they are.
    pub(crate) keys: Option<keys::Identity>,
    /// With which requests and verdicts are signed.
    pub(crate) credentials: Option<Arc<dyn wire::seal::Credentials>>,
    pub(crate) store: &'d mut (dyn Store + 'static),
    pub(crate) window: Option<Window<'d>>,
    /// Where the network is read again from.
    pub(crate) file: Option<&'d NetworkFile>,
}

/// Why a manager does not go on.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It was to stop.
    Stopped,
    /// Another one goes before it.
    StandsBack,
    /// It goes on with another network file.
    Changed(Texts),
}

/// Runs a manager until `stop` says so, or another one goes before it.
pub(crate) async fn run(
    managed: Managed<'_>,
    participant: &DomainParticipant,
    presence: &mut Presence<'_>,
    mut commands: Option<&mut Receiver<Command>>,
    stop: &dyn Fn() -> bool,
) -> Result<Ended, Error> {
    let (told_by_agents, mut heard_of_gates) = channel(WAITING);
    let waker = Arc::new(Notify::new());
    let (mut daemon, mut arrivals, mut heard) = Daemon::new(managed, participant, &waker, &told_by_agents)?;
    daemon.lead_switches();
    let mut look_for_stop = tokio::time::interval(LOOK_FOR_STOP);
    let mut look_around = tokio::time::interval(LOOK_FOR_PARTICIPANTS);
    let mut look_at_lead = tokio::time::interval(lead::LOOK);
    let is_shared = daemon.store.standing() != Standing::Alone;
    loop {
        // Also if this process was stopped for a while.
        if !daemon.may_act() {
            return Ok(daemon.hold_out(stop).await);
        }
        daemon.settle();
        let until = tokio::time::Instant::from_std(daemon.start + daemon.next_timeout());
        tokio::select! {
            Some(accepted) = arrivals.recv() => daemon.accepted(accepted),
            Some(said) = heard.recv() => daemon.heard(said),
            Some(said) = heard_of_gates.recv() => daemon.heard_of_gates(said),
            Some(command) = next(&mut commands) => {
                daemon.commanded(command);
                if let Some(changed) = daemon.changed.take() {
                    return Ok(Ended::Changed(changed));
                }
            }
            () = waker.notified() => daemon.arrived(),
            () = tokio::time::sleep_until(until) => daemon.timeout(),
            _ = look_at_lead.tick(), if is_shared => {}
            _ = look_for_stop.tick() => if stop() { return Ok(Ended::Stopped) },
            _ = look_around.tick() => if !daemon.goes_on(presence) { return Ok(Ended::StandsBack) },
        }
    }
}

/// What an operator asks for next; without a page that never comes.
async fn next(commands: &mut Option<&mut Receiver<Command>>) -> Option<Command> {
    match commands {
        Some(commands) => commands.recv().await,
        None => std::future::pending().await,
    }
}

impl<'d> Daemon<'d> {
    fn new(
        managed: Managed<'d>,
        participant: &'d DomainParticipant,
        waker: &Arc<Notify>,
        told_by_agents: &Sender<GateHeard>,
    ) -> Result<(Self, Receiver<Accepted>, Receiver<Heard>), Error> {
        let Managed { in_force, epoch, config, store, window, keys, credentials, file, switches } = managed;
        let SwitchConnections {
            start: sessions_start, all: connections, next, told, heard, arrivals, ..
        } = switches;
        let start = Instant::now();
        let most_verdicts = config.most_requests.saturating_add(TURNED_AWAY);
        let most_of_participant = config.most_requests_of_participant;
        let describes = !config.described.topics.is_empty();
        let mut manager = ResourceManager::new(config, in_force.network.clone(), epoch)?;
        manager.use_solver(solver::multipliers);
        info!("{}", manager.reserved_status());
        info!("{}", manager.access());
        kept::take_up(&mut manager, store, epoch)?;
        manager.watch_cables(Duration::ZERO, cables::secret()?, cables::digest);
        let agents = in_force.agents.iter().map(|(datapath, address)| {
            (*datapath, Agent::new(*datapath, *address, epoch, keys.clone(), told_by_agents.clone()))
        });
        let signed =
            credentials.map(|credentials| Signed::new(participant, waker, credentials, epoch)).transpose()?;
        let daemon = Self {
            manager,
            start,
            participant,
            topics: Topics::new(participant, waker, most_verdicts, most_of_participant, signed)?,
            waker: Arc::clone(waker),
            reports: Reports::new(participant, waker, epoch, store.place(), in_force.other_file.clone())?,
            store,
            connections,
            sessions_start,
            agents: agents.collect(),
            orders: BTreeMap::new(),
            elsewhere: Elsewhere::default(),
            describes,
            readings: BTreeMap::new(),
            verdicts: Verdicts::new(most_verdicts),
            answers: VecDeque::new(),
            to_store: Vec::new(),
            epoch,
            journal: Journal::default(),
            look_at: Duration::ZERO,
            next_connection: next,
            told,
            window,
            file,
            is_file_in_doubt: false,
            tunnels: Waiting::default(),
            changed: None,
        };
        Ok((daemon, arrivals, heard))
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn next_timeout(&self) -> Duration {
        let older = self.start.saturating_duration_since(self.sessions_start);
        let channels = self.connections.values().filter_map(|connection| connection.session.poll_timeout());
        let channels = channels.map(|at| at.saturating_sub(older));
        let window = self.window.as_ref().map(Window::poll_timeout);
        let due =
            [self.manager.poll_timeout(), self.verdicts.poll_timeout(), self.reports.poll_timeout(), window];
        let due = due.into_iter().chain([self.tunnels.poll_timeout()]);
        let next = channels.chain(due.flatten()).min().unwrap_or(self.look_at);
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
            self.with_session(id, |session, now, news| session.timeout(now, news));
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
            if self.describes {
                self.manager.discovered(now, crate::foreign::endpoints(self.participant));
            }
            for pair in self.elsewhere.take_lost(now) {
                self.manager.withdraw(now, pair);
            }
            if let Some((count, last)) = self.topics.forged() {
                self.journal.forgeries(count, last);
            }
            self.look_for_askers(now);
            self.take_back_file();
        }
    }

    /// Looks for other managers; false if one of them goes before this one.
    fn goes_on(&mut self, presence: &mut Presence<'_>) -> bool {
        if let Err(error) = presence.shares(self.store.identity()) {
            let line = format!("it cannot be told to other managers which store this one has: {error}");
            self.journal.trouble("presence".to_owned(), line);
        }
        let first = presence.look();
        self.manager.managers_seen(presence.others());
        // Those that share a store go by that.
        if self.store.standing() != Standing::Alone {
            return true;
        }
        if let Some(first) = &first {
            warn!("stands back: {first} manages this network, too, and began earlier");
        }
        first.is_none()
    }

    /// Something came over the admission topics.
    fn arrived(&mut self) {
        let now = self.now();
        self.reports.publish(now, &self.manager);
        let mut arrived = Vec::new();
        match self.topics.take(now, &mut arrived) {
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
        self.take_up(now, arrived);
    }

    /// With keys: who asked and is gone, and who has not shown who it is.
    fn look_for_askers(&mut self, now: Duration) {
        let Some(signed) = &self.topics.signed else { return };
        let (gone, overdue, counters) =
            (signed.take_gone(self.participant), signed.take_overdue(now), signed.counters());
        self.journal.disbelief(counters.0, counters.1);
        for participant in gone {
            self.manager.participant_lost(now, participant);
        }
        self.take_up(now, overdue);
    }

    fn take_up(&mut self, now: Duration, arrived: Vec<Arrived>) {
        let is_request = |arrived: &Arrived| matches!(arrived, Arrived::Request(..));
        let discovered = arrived.iter().any(is_request).then(|| Discovered::by(self.participant));
        for arrived in arrived {
            match arrived {
                Arrived::Request(request, asker) => {
                    let facts = discovered.as_ref().map(|known| known.facts(&request)).unwrap_or_default();
                    let facts = Facts { asker, ..facts };
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
    pub(crate) fn settle(&mut self) {
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
            if let Some(window) = &mut self.window {
                window.note(&note);
            }
        }
        self.tunnels.answer(now, self.epoch, &self.manager);
        self.show(now);
    }
}
