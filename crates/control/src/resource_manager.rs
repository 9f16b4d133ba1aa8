//! The resource manager: what it is told, and what it wants done.
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::Ledger;
use latency::network::Port;
use latency::program::Solver;
use latency::reserve::Edge;
use wire::admission::{Measured, Request};
use wire::{Guid, GuidPrefix};

use crate::action::{Action, Done, Facts, GatesContent, Pair, SwitchContent, Token};
use crate::cabling::Cabling;
use crate::config::Config;
use crate::fabric::{Fabric, Reserved};
use crate::foreign::Foreign;
use crate::network::{Network, NetworkError};
use crate::note::Note;
use crate::operations::{Chore, Operations, Timer};
use crate::others::OtherManager;
use crate::requests::Requests;
use crate::reservations::Reservations;
use crate::tunnels::Tunnels;

/// The resource manager of a network.
///
/// After every call take all of [`Self::poll_action`], and call [`Self::handle_timeout`] when [`Self::poll_timeout`] says
/// so. `now` is the time since any moment, the same one in all calls.
#[derive(Debug)]
pub struct ResourceManager {
    pub(crate) config: Config,
    pub(crate) fabric: Fabric,
    pub(crate) reservations: Reservations,
    pub(crate) requests: Requests,
    pub(crate) operations: Operations,
    /// Those who do not ask.
    pub(crate) foreign: Foreign,
    /// What others want that manage more than this network.
    pub(crate) tunnels: Tunnels,
    /// What an operator should know.
    pub(crate) notes: VecDeque<Note>,
    /// Others in the domain.
    pub(crate) managers: Vec<OtherManager>,
    /// What is plugged in where.
    pub(crate) cabling: Cabling,
    /// What ports are in the analysis by the network file.
    pub(crate) planned: Vec<Port>,
}

impl ResourceManager {
    /// Limits may rest on linear programs from now on, for which the solver proposes multipliers: before grants are restored that do.
    pub fn use_solver(&mut self, solver: Solver) {
        self.reservations.use_solver(solver);
    }

    /// A manager of a network of which nothing is connected yet. `epoch` is larger than that of every manager before.
    ///
    /// # Errors
    /// What is wrong with the network.
    pub fn new(config: Config, network: Network, epoch: u64) -> Result<Self, NetworkError> {
        network.check()?;
        let models: Vec<_> = network.switches.iter().map(|switch| &switch.model).collect();
        let planned: Vec<Port> = network.links.iter().map(|link| link.port).collect();
        let ends: Vec<_> = network.links.iter().map(|link| (link.from, link.to)).collect();
        let edge = Edge { hosts: network.hosts.len(), models: &models, ports: &planned, links: &ends };
        let reserved = Reserved::of(&network, &edge, &config.domains);
        let guards = edge.guards_of_flows(reserved.as_ref().ok().map(|reserved| &reserved.share));
        let port = |port: &Port| Port { queues: port.queues.min(gate::class::MOST_LEVELS), ..*port };
        let planned: Vec<Port> = planned.iter().map(port).collect();
        let mut ledger = Ledger::new(planned.clone(), network.split);
        for (switch, ports, guards) in guards {
            ledger.limit_guards(switch, &ports, guards);
        }
        ledger.keep_meters();
        ledger.declare_full(network.full.iter().copied());
        Ok(Self {
            requests: Requests::new(epoch, config.lease),
            config,
            reservations: Reservations::new(ledger, network.switches.len()),
            fabric: Fabric::new(network, reserved),
            operations: Operations::default(),
            foreign: Foreign::default(),
            tunnels: Tunnels::default(),
            notes: VecDeque::new(),
            managers: Vec::new(),
            cabling: Cabling::default(),
            planned,
        })
    }

    /// The next thing to be done.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.operations.poll_action()
    }

    /// When [`Self::handle_timeout`] has to be called, unless something else happens before.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.operations.poll_timeout()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some((time, timer)) = self.operations.due(now) {
            match timer {
                Timer::Token(token) => self.token_expired(now, token),
                Timer::Repeat(pair) => self.repeat(now, time, pair),
                Timer::Wait(pair) => self.wait_is_over(now, pair),
                Timer::Retry(pair) => self.requests.retry(pair),
                // The work below begins with it.
                Timer::Look => {}
                Timer::Groups(switch) => self.reservations.forget_most_groups(switch),
                Timer::Store => self.store_again(now),
                Timer::Prune(number) => self.prune_again(number),
                Timer::Inspect(site) => self.inspect(now, time, site),
                Timer::Moved => self.moves_are_due(now),
                Timer::Tunnels => self.forget_tunnels(now),
                Timer::Drain(switch) => self.drain_on(now, switch),
                Timer::Cabling => self.tell_cables(now),
                Timer::Cables => _ = self.use_cables(now),
                Timer::Away(site) => self.away_for_long(now, site),
                Timer::Restored(number) => self.restored_for_long(now, number),
            }
        }
        self.work(now);
    }

    /// The reader's participant asks, or asks again. A request that is known is answered again; one with another serial
    /// takes the place of the one before.
    pub fn request(&mut self, now: Duration, request: Request, facts: Facts) {
        self.take_request(now, request, facts);
        self.work(now);
    }

    /// The pair is not wanted any more.
    pub fn withdraw(&mut self, now: Duration, pair: Pair) {
        self.forget(now, pair);
        self.work(now);
    }

    /// A participant is gone, and with it all its requests and writers.
    pub fn participant_lost(&mut self, now: Duration, participant: GuidPrefix) {
        let is = |guid: &Guid| guid.prefix == participant;
        let served = self.reservations.all().flat_map(|grant| &grant.pairs);
        let served = served.filter(|(writer, reader)| is(writer) || is(reader)).copied();
        let turned_away = self.requests.turned_away_of(participant);
        let known = self.requests.of_participant(participant).chain(turned_away);
        let gone: BTreeSet<Pair> = known.chain(served).collect();
        for pair in gone {
            self.withdraw(now, pair);
        }
    }

    /// What a reader has seen of its flow.
    pub fn measured(&mut self, measured: &Measured) {
        self.requests.measured(measured);
    }

    /// The other managers in the domain.
    pub fn managers(&self) -> &[OtherManager] {
        &self.managers
    }

    /// Which other managers are in the domain now: for the report.
    pub fn managers_seen(&mut self, managers: Vec<OtherManager>) {
        self.managers = managers;
    }

    /// The answer to [`Action::Install`] or [`Action::Gate`].
    pub fn installed(&mut self, now: Duration, token: Token, done: Done) {
        self.answered(now, token, done);
        self.work(now);
    }

    /// The answer to [`Action::Read`].
    pub fn has_read(&mut self, now: Duration, token: Token, read: Result<SwitchContent, String>) {
        self.content_read(now, token, read);
        self.work(now);
    }

    /// The answer to [`Action::ReadGates`].
    pub fn has_read_gates(&mut self, now: Duration, token: Token, read: Result<GatesContent, String>) {
        self.gates_read(now, token, read);
        self.work(now);
    }

    /// The answer to [`Action::Store`].
    pub fn stored(&mut self, now: Duration, token: Token, done: Done) {
        self.answered(now, token, done);
        self.work(now);
    }

    /// The answer to [`Action::Publish`] with a token.
    pub fn announced(&mut self, now: Duration, token: Token) {
        self.answered(now, token, Done::Confirmed);
        self.work(now);
    }

    /// Begins what can begin, in the order of turns.
    pub(crate) fn work(&mut self, now: Duration) {
        loop {
            self.look(now);
            if self.operations.busy() >= self.config.most_operations.max(1) || self.operations.is_exclusive()
            {
                break;
            }
            let Some(work) = self.next_work() else { break };
            let before = self.reservations.begin_work();
            let begun = match work {
                Work::Request(pair) => self.begin_request(now, pair),
                Work::Chore(Chore::Release(number)) => self.begin_release(now, number),
                Work::Chore(Chore::Prune(number)) => self.begin_prune(now, number),
                Work::Chore(Chore::Tree) => self.begin_tree(now),
                Work::Chore(Chore::Rates) => self.begin_rates(now),
                Work::Chore(Chore::Reroute(number)) => self.begin_reroute(now, number),
                Work::Unite(pair) => {
                    self.unite(now, pair);
                    true
                }
            };
            self.reservations.end_work(before);
            if !begun {
                self.put_back(work);
                break;
            }
        }
    }
}

/// Something that waits for its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Chore(Chore),
    Request(Pair),
    /// A pair with a flow of its own may join others of its writer.
    Unite(Pair),
}
