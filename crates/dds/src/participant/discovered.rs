//! What a participant knows of its domain.
use std::net::SocketAddr;
use std::sync::Arc;

use dcps::{Error, InstanceHandle};
use rtps::discovery::{Mismatch, Rejection};
use wire::discovery::{EndpointData, ParticipantData};
use wire::{Duration, Guid};

use super::DomainParticipant;
use crate::condition::{StatusCondition, WaitSet};
use crate::entity::StatusSource;
use crate::host::Host;
use crate::node::Node;
use crate::node::watch::Watch;

/// Another participant.
#[derive(Clone, Debug)]
pub struct DiscoveredParticipant {
    /// What it announced.
    pub data: Arc<ParticipantData>,
}

/// A local endpoint and another of the same topic that do not match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotMatched {
    /// The local endpoint.
    pub local: Arc<EndpointData>,
    /// The other.
    pub remote: Arc<EndpointData>,
    /// Every reason against it, one or more.
    pub reasons: Vec<Mismatch>,
}

impl DomainParticipant {
    /// The participants that were found, without this one.
    pub fn get_discovered_participants(&self) -> Vec<DiscoveredParticipant> {
        let discovery = self.node().lock_discovery();
        discovery
            .participants()
            .map(|found| DiscoveredParticipant { data: Arc::clone(found.data()) })
            .collect()
    }

    /// The participants that announced themselves and have not proved yet that they hear us, each with the address that it was heard
    /// from. Most of them are found within a moment; one that stays here does not get what we send to it.
    pub fn get_unvalidated_participants(&self) -> Vec<(SocketAddr, ParticipantData)> {
        let discovery = self.node().lock_discovery();
        let known = |prefix| discovery.participant(prefix).is_some();
        let strangers = discovery.strangers().filter(|(_, data)| !known(data.prefix));
        strangers.map(|(from, data)| (from, data.clone())).collect()
    }

    /// All writers and readers that are known, those of this participant too.
    pub fn get_discovered_endpoints(&self) -> Vec<Arc<EndpointData>> {
        self.node().lock_discovery().endpoints().cloned().collect()
    }

    /// What one of our endpoints is matched with.
    pub fn get_matched(&self, local: InstanceHandle) -> Vec<InstanceHandle> {
        let guid = Guid::from_bytes(local.to_bytes());
        let discovery = self.node().lock_discovery();
        discovery.matches(guid.entity_id).map(InstanceHandle::from).collect()
    }

    /// Every endpoint of ours and every other one of the same topic that do not match, with the reasons.
    pub fn get_not_matched(&self) -> Vec<NotMatched> {
        let discovery = self.node().lock_discovery();
        let mut found = Vec::new();
        for (local, remote, reasons) in discovery.mismatches() {
            if let Some(local) = discovery.endpoint(Guid::new(discovery.prefix(), local)) {
                found.push(NotMatched { local: Arc::clone(local), remote: Arc::clone(remote), reasons });
            }
        }
        found
    }

    /// What was received and not believed, with counts; reasons that did not occur are left out.
    pub fn get_rejections(&self) -> Vec<(Rejection, u64)> {
        let discovery = self.node().lock_discovery();
        let counted = Rejection::ALL.map(|reason| (reason, discovery.rejected(reason)));
        counted.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Waits until something is found or lost for which `is_enough` is true, which is asked at once as well; false if it did not
    /// come in time.
    ///
    /// # Errors
    /// None today.
    pub fn wait_for_discovery(
        &self,
        max_wait: Duration,
        is_enough: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Error> {
        let mut is_enough = is_enough;
        let waits = WaitSet::new();
        waits.attach_condition(StatusCondition::new(Arc::new(Found(Arc::clone(self.node())))).into())?;
        Ok(waits.wait_until_true(max_wait, || is_enough(self)))
    }
}

/// Discovery's news as a source of wake-ups.
struct Found(Arc<Node>);

impl StatusSource for Found {
    fn status_changes(&self) -> dcps::status::StatusMask {
        dcps::status::StatusMask::NONE
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.0.found
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.0.shared_host())
    }
}
