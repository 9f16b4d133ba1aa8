//! Reservations: the ledger of what is promised, the grants that have a place in it, and what they have in switches.
//!
//! [`Reservations`] keeps them. It answers what there is room for and who could go for it, makes grants of plans, and is told how far they are. It
//! knows nothing of requests beyond the pairs that a grant serves, and of the network only what it is given.
mod branch;
mod changes;
mod counted;
mod counting;
mod granted;
mod making;
mod numbers;
mod questions;
mod rates;
mod together;
mod victims;

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Values;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Admitted, Ledger};
use latency::program::Solver;
use latency::units::NANOSECOND;
use latency::work::Limits;
use wire::admission::Socket;

use crate::action::Pair;
use crate::network::Network;

use counted::Counted;
pub(crate) use counting::Counts;
pub(crate) use granted::{
    End, GrantPhase, Granted, GrantedHop, covers, dscp, suits, takes_over, with_level, with_shares,
};
use numbers::Numbers;
pub(crate) use questions::Load;

/// What is promised, and to whom.
#[derive(Debug)]
pub(crate) struct Reservations {
    ledger: Ledger,
    grants: BTreeMap<u64, Granted>,
    /// Grants in force or on their way in, by where they come from and go to.
    tuples: BTreeMap<(Socket, Socket), u64>,
    /// Meters and groups of grants in switches.
    numbers: Numbers,
    /// What entries and gates of grants have counted.
    counted: Counted,
    next_number: u64,
    /// The most steps that anything has taken which began together.
    most_steps: u64,
}

impl Reservations {
    /// No grants, on a ledger without flows, in so many switches.
    pub(crate) fn new(ledger: Ledger, switches: usize) -> Self {
        Self {
            ledger,
            grants: BTreeMap::new(),
            tuples: BTreeMap::new(),
            numbers: Numbers::new(switches),
            counted: Counted::default(),
            next_number: 1,
            most_steps: 0,
        }
    }

    /// Limits may rest on linear programs from now on, for which the solver proposes multipliers.
    pub(crate) fn use_solver(&mut self, solver: Solver) {
        self.ledger.use_solver(solver);
    }

    /// Something is to be decided, with as many steps of work as a request may take. How many have been taken before.
    pub(crate) fn begin_work(&mut self) -> u64 {
        self.ledger.begin(Limits::REQUEST);
        self.ledger.work().done()
    }

    /// It has been decided; it began when so many steps had been taken.
    pub(crate) fn end_work(&mut self, before: u64) {
        self.most_steps = self.ledger.work().done().saturating_sub(before).max(self.most_steps);
    }

    /// The most steps of work that any decision has taken.
    pub(crate) const fn most_steps(&self) -> u64 {
        self.most_steps
    }

    /// The number that the next grant gets.
    pub(crate) const fn next_number(&self) -> u64 {
        self.next_number
    }

    /// A number has been used, by an earlier manager too.
    pub(crate) fn use_number(&mut self, number: u64) {
        self.next_number = self.next_number.max(number.saturating_add(1));
    }

    /// A grant by its number.
    pub(crate) fn get(&self, number: u64) -> Option<&Granted> {
        self.grants.get(&number)
    }

    /// All grants, by their numbers.
    pub(crate) fn all(&self) -> Values<'_, u64, Granted> {
        self.grants.values()
    }

    /// Those of some numbers that there are.
    pub(crate) fn of<'a>(&'a self, numbers: &'a [u64]) -> impl Iterator<Item = &'a Granted> {
        numbers.iter().filter_map(|number| self.grants.get(number))
    }

    /// The grant that a flow has come to last.
    pub(crate) fn at(&self, source: Socket, destination: Socket) -> Option<u64> {
        self.tuples.get(&(source, destination)).copied()
    }

    /// The grants that serve a pair and stay.
    pub(crate) fn serving(&self, pair: Pair) -> Vec<u64> {
        let stays = |grant: &&Granted| !grant.is_leaving();
        let serving = self.grants.values().filter(stays).filter(|grant| grant.pairs.contains(&pair));
        serving.map(|grant| grant.number).collect()
    }

    /// How many grants are in force.
    pub(crate) fn held(&self) -> usize {
        self.grants.values().filter(|grant| grant.is_held()).count()
    }

    /// What a grant was admitted with.
    pub(crate) fn admitted(&self, number: u64) -> Option<&Admitted> {
        self.ledger.flow(number)
    }

    /// How long frames that a grant has queued can still be before others.
    pub(crate) fn longest_busy(&self, number: u64) -> Duration {
        Duration::from_nanos(self.ledger.longest_busy(number).unwrap_or(0).div_ceil(NANOSECOND))
    }

    /// Whether another grant is on its way in that changes this one.
    pub(crate) fn is_being_changed(&self, number: u64) -> bool {
        let Some(grant) = self.grants.get(&number) else { return false };
        let changes =
            |new: &Granted| new.is_installing() && new.replaces.contains(&number) && new.is_same_flow(grant);
        self.grants.values().any(changes)
    }

    /// Whether a grant takes the place of another one for the same flow.
    pub(crate) fn is_change(&self, grant: &Granted) -> bool {
        self.of(&grant.replaces).any(|former| former.is_same_flow(grant))
    }

    /// Whether a grant has its place in that of another one, or another one in its.
    pub(crate) fn is_entangled(&self, number: u64) -> bool {
        let covers = self.grants.values().any(|grant| grant.covered_by == Some(number));
        covers || self.grants.get(&number).is_some_and(|grant| grant.covered_by.is_some())
    }

    /// What is the worst at an end with the flows that there are now, in picoseconds.
    pub(crate) fn present(&self, grant: &Granted, end: &End) -> Option<u64> {
        let number = grant.covered_by.unwrap_or(grant.number);
        let flow = &self.ledger.flow(number)?.flow;
        let link = grant.hops.get(end.hop)?.link;
        let leads_there = |hop: usize| flow.tree.get(hop).is_some_and(|hop| hop.port == link);
        let at = flow.subscribers.iter().position(|subscriber| leads_there(subscriber.hop))?;
        Some(self.ledger.bounds(number)?.get(at)?.latency)
    }

    /// Computes anew whether every promise can be kept with all that is promised.
    pub(crate) fn audit(&self, network: &Network) -> Result<(), String> {
        (0..network.links.len()).try_for_each(|port| {
            self.ledger.audit(port).map_err(|flow| {
                alloc::format!("grant {flow} is not kept at {}: report this", network.port_name(port))
            })
        })
    }

    /// The groups and meters of grants in switches.
    pub(crate) const fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// A switch says that it has room for so many groups.
    pub(crate) fn set_room_for_groups(&mut self, switch: usize, groups: u32) {
        self.numbers.set_room_for_groups(switch, groups);
    }

    /// A switch has refused a group of a grant for want of room: it counts as having as many as the others need. False if there is no
    /// such grant.
    pub(crate) fn learn_most_groups(&mut self, network: &Network, number: u64, switch: usize) -> bool {
        let Some(grant) = self.grants.get(&number) else { return false };
        self.numbers.learn_most_groups(network, &grant.hops, switch);
        true
    }

    /// Whether a switch has more room for groups than it had is to be tried again.
    pub(crate) fn forget_most_groups(&mut self, switch: usize) {
        self.numbers.forget_most_groups(switch);
    }
}
