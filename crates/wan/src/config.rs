//! What a manager knows from its operator: its own domain, its neighbours' agreements, its users. Nothing of other domains but their addresses.
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::agreement::Agreement;
use crate::words::{Asn, Class, LinkId, Prefix};

/// What an operator says.
#[derive(Clone, Debug)]
pub struct Config {
    /// The domain.
    pub asn: Asn,
    /// Who has which addresses, as BGP says. The longest prefix counts.
    pub addresses: Vec<(Prefix, Asn)>,
    /// Agreements of this domain, as sender or receiver.
    pub agreements: Vec<Agreement>,
    /// Users and their contracts.
    pub users: Vec<(u32, Contract)>,
    /// Network services.
    pub network_services: Vec<NetworkService>,
    /// Session services.
    pub session_services: Vec<SessionService>,
    /// Sessions of callers are granted by an AAA server before anything is reserved for them.
    pub needs_grants: bool,
    /// Its edges can send two copies of a flow into two tunnels.
    pub can_duplicate: bool,
    /// Times and limits.
    pub limits: Limits,
}

/// What a user may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contract {
    /// Valid from, in nanoseconds.
    pub begins: u64,
    /// Valid until.
    pub ends: u64,
    /// Classes that may be asked for.
    pub classes: Vec<Class>,
    /// Domains that may be reached.
    pub destinations: Vec<Asn>,
    /// Bits per second of all sessions together, in the direction of callees, once for each domain of them.
    pub quota: u64,
    /// Most sessions at a time.
    pub most_sessions: usize,
}

/// Bandwidth between edges that sessions share. Several may exist between the same edges; none borrows from another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkService {
    /// Its number.
    pub id: u32,
    /// Domains that it reaches.
    pub destinations: Vec<Asn>,
    /// Bits per second toward all of them together.
    pub bandwidth: u64,
}

/// A kind of session within a network service. A request for it is the trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionService {
    /// Its number.
    pub id: u32,
    /// The network service that carries it.
    pub network_service: u32,
    /// Classes of its flows.
    pub classes: Vec<Class>,
    /// Most bits per second of one flow.
    pub most_rate: u64,
}

/// Times in nanoseconds, and how much is held at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// From one refresh to the next.
    pub refresh: u64,
    /// Without a refresh, state ends after this.
    pub lifetime: u64,
    /// So much sooner an origin gives up what is not confirmed: its edges are shut before others forget it.
    pub guard: u64,
    /// From one sending to the next while there is no answer.
    pub retransmit: u64,
    /// After this, no answer is a refusal.
    pub patience: u64,
    /// Sessions that are set up at a time.
    pub most_in_setup: usize,
    /// Aggregates that are held at a time.
    pub most_aggregates: usize,
    /// Sessions of callers in other domains.
    pub most_hosted: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let millisecond = 1_000_000;
        Self {
            refresh: 2_000 * millisecond,
            lifetime: 7_000 * millisecond,
            guard: 1_000 * millisecond,
            retransmit: 500 * millisecond,
            patience: 3_000 * millisecond,
            most_in_setup: 64,
            most_aggregates: 10_000,
            most_hosted: 100_000,
        }
    }
}

impl Config {
    /// Whose address it is.
    pub fn owner(&self, address: IpAddr) -> Option<Asn> {
        let of = self.addresses.iter().filter(|(prefix, _)| prefix.contains(address));
        of.max_by_key(|(prefix, _)| prefix.length).map(|(_, asn)| *asn)
    }

    /// There is an agreement with it, in either direction.
    pub(crate) fn is_neighbour(&self, asn: Asn) -> bool {
        self.agreements.iter().any(|agreement| {
            let other = if agreement.from == self.asn { agreement.to } else { agreement.from };
            other == asn
        })
    }

    /// What this domain tells of the price of a link to a neighbour: for a million bits per second and hour.
    pub(crate) fn told_price(&self, next: Asn, link: LinkId) -> Option<u64> {
        let agreement = self.toward(next).find(|agreement| agreement.link == link)?;
        (!agreement.hides_price).then_some(agreement.price)
    }

    /// The agreement for what a domain sends here over a link.
    pub(crate) fn by_which(&self, from: Asn, link: Option<LinkId>) -> Option<&Agreement> {
        let mut of = self.agreements.iter().filter(|one| one.from == from && one.to == self.asn);
        of.find(|agreement| Some(agreement.link) == link)
    }

    /// Agreements for traffic from this domain to another.
    pub(crate) fn toward(&self, next: Asn) -> impl Iterator<Item = &Agreement> {
        self.agreements.iter().filter(move |agreement| agreement.from == self.asn && agreement.to == next)
    }
}
