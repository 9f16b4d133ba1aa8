//! Other managers in the domain: who they are, and whether this one has to stand by for one of them.
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use control::network::Network;
use control::others::{Claim, OtherManager, proof, proof_of_store};
use dds::{DomainParticipant, Error, QosKind};
use tracing::{info, warn};
use wire::admission::VERDICT_TOPIC;
use wire::{GuidPrefix, Locator};

/// How long it listens before it manages: the answers to its first announcement are there by then.
const LISTEN: Duration = Duration::from_millis(500);
/// How often it looks while it waits.
const LOOK: Duration = Duration::from_millis(50);

/// Lets a manager's participant say each second that it is there, and be missed after 4 s: another manager that stands by then has answered before the
/// verdicts of the one that is gone end, which hold for 3 to 6 s more ([`control::config::Config::lease`]).
pub fn announce_often(config: &mut dds::config::Config) {
    config.discovery.announce_period = dds::Duration::from_secs(1);
    config.discovery.lease_duration = dds::Duration::from_secs(4);
}

/// What this manager says of itself, and what it has seen of others.
pub(crate) struct Presence<'p> {
    participant: &'p DomainParticipant,
    network: Network,
    claim: Claim,
    /// What tells the store that this manager shares from others, if it shares one and that is known.
    store: Option<String>,
    seen: BTreeMap<GuidPrefix, OtherManager>,
}

impl<'p> Presence<'p> {
    /// A manager of a network, which says nothing yet.
    pub(crate) fn new(participant: &'p DomainParticipant, network: &Network) -> Self {
        let proof = proof(network, participant.prefix());
        let claim = Claim { manages: false, began: now(), proof, store: None };
        Self { participant, network: network.clone(), claim, store: None, seen: BTreeMap::new() }
    }

    /// This manager shares a store, which this tells from others: those that share it are of its network, whatever file they were started with.
    ///
    /// # Errors
    /// What announcing says.
    pub(crate) fn shares(&mut self, store: Option<String>) -> Result<(), Error> {
        if store == self.store {
            return Ok(());
        }
        let of_store = store.as_ref().map(|store| proof_of_store(store, self.participant.prefix()));
        self.store = store;
        self.say(Claim { store: of_store, ..self.claim })
    }

    /// Says that this manager manages, and that its network is this one from now on.
    ///
    /// # Errors
    /// What announcing says.
    pub(crate) fn manages(&mut self, network: &Network) -> Result<(), Error> {
        self.network = network.clone();
        self.claim.proof = proof(network, self.participant.prefix());
        self.say_that(true)
    }

    /// Waits until no other manager of the network goes before this one, and says that it manages then; false if it was to stop. `stands_by`
    /// is called when it has to wait for another one.
    ///
    /// # Errors
    /// What announcing says.
    pub(crate) fn wait_for_turn(
        &mut self,
        stop: &dyn Fn() -> bool,
        stands_by: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        self.say_that(false)?;
        let start = Instant::now();
        let mut told = None;
        loop {
            if stop() {
                return Ok(false);
            }
            let first = self.look();
            if first.is_none() && start.elapsed() >= LISTEN {
                break;
            }
            if let Some(first) = first.filter(|first| told.as_ref() != Some(first)) {
                stands_by();
                info!("stands by for {first}, and takes over when that one is gone");
                told = Some(first);
            }
            std::thread::sleep(LOOK);
        }
        self.say_that(true)?;
        Ok(true)
    }

    /// Looks who is there, and logs who has come or gone; gives the manager that goes before this one, in words.
    pub(crate) fn look(&mut self) -> Option<String> {
        let endpoints = self.participant.get_discovered_endpoints();
        let speaks = |prefix| {
            let is = |topic: &str, id: wire::EntityId| topic == VERDICT_TOPIC && id.is_writer();
            endpoints
                .iter()
                .any(|data| data.guid.prefix == prefix && is(&data.topic_name, data.guid.entity_id))
        };
        let mut found = BTreeMap::new();
        let mut first: Option<(Claim, GuidPrefix)> = None;
        for other in self.participant.get_discovered_participants() {
            let prefix = other.data.prefix;
            let claim = Claim::from_bytes(&other.data.user_data);
            if claim.is_none() && !speaks(prefix) {
                continue;
            }
            let of_store = self.store.as_ref().map(|store| proof_of_store(store, prefix));
            let shares_store = of_store.is_some() && claim.is_some_and(|claim| claim.store == of_store);
            let claim = claim.filter(|claim| shares_store || claim.proof == proof(&self.network, prefix));
            let addresses = other.data.default_unicast.iter().filter_map(Locator::socket_addr);
            let address = addresses.map(|address| address.ip().to_string()).next();
            let seen = OtherManager {
                participant: prefix.to_string(),
                name: other.data.entity_name.clone().unwrap_or_default(),
                address: address.unwrap_or_else(|| "an unknown address".to_owned()),
                role: claim.map_or("unknown", |claim| if claim.manages { "manages" } else { "stands by" }),
                shares_store,
            };
            found.insert(prefix, seen);
            if let Some(claim) = claim
                && claim.goes_before(prefix, &self.claim, self.participant.prefix())
                && first.is_none_or(|(before, of)| claim.goes_before(prefix, &before, of))
            {
                first = Some((claim, prefix));
            }
        }
        // That it shares the store is known a moment later than what it does, and is no news.
        let is_known = |seen: &OtherManager, other: &OtherManager| {
            (seen.role, &seen.name, &seen.address) == (other.role, &other.name, &other.address)
        };
        let is_news = |(prefix, other): &(&GuidPrefix, &OtherManager)| {
            !self.seen.get(prefix).is_some_and(|seen| is_known(seen, other))
        };
        for (prefix, other) in found.iter().filter(is_news) {
            let what = match other.role {
                "manages" => "it manages this network",
                "stands by" => "it stands by",
                _ => {
                    "it does not show that it knows the file of this network: stop it if it is none of yours"
                }
            };
            warn!("another resource manager, {}: {what}", named(*prefix, other));
        }
        for (prefix, other) in self.seen.iter().filter(|(prefix, _)| !found.contains_key(prefix)) {
            info!("the other resource manager, {}, is gone", named(*prefix, other));
        }
        self.seen = found;
        let (_, prefix) = first?;
        self.seen.get(&prefix).map(|other| named(prefix, other))
    }

    /// Says whether this manager manages its network.
    ///
    /// # Errors
    /// What announcing says.
    pub(crate) fn say_that(&mut self, manages: bool) -> Result<(), Error> {
        self.say(Claim { manages, began: now(), ..self.claim })
    }

    /// The others, as they were seen last.
    pub(crate) fn others(&self) -> Vec<OtherManager> {
        self.seen.values().cloned().collect()
    }

    fn say(&mut self, claim: Claim) -> Result<(), Error> {
        self.claim = claim;
        let mut qos = self.participant.get_qos();
        qos.user_data = claim.to_bytes();
        self.participant.set_qos(QosKind::Specific(qos))
    }
}

fn named(prefix: GuidPrefix, other: &OtherManager) -> String {
    format!("participant {prefix} \"{}\" at {}", other.name, other.address)
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
