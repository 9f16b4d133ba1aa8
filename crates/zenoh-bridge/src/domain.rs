//! The participant of a bridge, and what it finds in its domain.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dds::qos::DomainParticipantQos;
use dds::{DomainParticipant, Guid, GuidPrefix};
use wire::discovery::EndpointData;
use zenoh_routes::{Bridge, BridgeId};

use crate::Failure;
use crate::arguments::Choices;

/// What USER_DATA of the participants of bridges begins with.
const MARK: &str = "punctual-bridge/1/";

/// What is known of the domain.
pub(crate) struct Domain {
    participant: DomainParticipant,
    /// Group and id of this bridge, as others have theirs.
    own: (String, BridgeId),
    /// Endpoints that the bridge was told of.
    known: BTreeMap<Guid, Arc<EndpointData>>,
}

/// A change of the domain.
pub(crate) enum Change {
    /// A writer or reader is there, or is another one.
    Found(Arc<EndpointData>),
    /// A writer or reader is gone.
    Gone(Guid),
}

impl Domain {
    /// Joins the domain.
    pub(crate) fn join(choices: &Choices, id: BridgeId) -> Result<Self, Failure> {
        let user_data = format!("{MARK}{}/{id}", choices.group).into_bytes();
        let qos = DomainParticipantQos { user_data, ..DomainParticipantQos::default() };
        let builder = DomainParticipant::builder(choices.domain);
        let participant = builder.config(choices.config.clone()).qos(qos).create()?;
        Ok(Self { participant, own: (choices.group.clone(), id), known: BTreeMap::new() })
    }

    pub(crate) const fn participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// What changed since the last time; endpoints of bridges are none. Tells `bridge` whether it works or stands by.
    pub(crate) fn changes(&mut self, bridge: &mut Bridge) -> Vec<Change> {
        // Endpoints first: of each of them it is known below whether its participant is a bridge.
        let endpoints = self.participant.get_discovered_endpoints();
        let mut participants: BTreeSet<GuidPrefix> = BTreeSet::new();
        let (mut bridges, mut leads): (BTreeSet<GuidPrefix>, bool) =
            ([self.participant.prefix()].into(), true);
        for other in self.participant.get_discovered_participants() {
            participants.insert(other.data.prefix);
            if let Some((group, id)) = read_mark(&other.data.user_data) {
                bridges.insert(other.data.prefix);
                // The oldest works.
                leads &= group != self.own.0 || self.own.1 <= id;
            }
        }
        bridge.lead(leads);
        let mut changes = Vec::new();
        let mut there = BTreeMap::new();
        for data in endpoints {
            let prefix = data.guid.prefix;
            if !participants.contains(&prefix) || bridges.contains(&prefix) || is_builtin(&data) {
                continue;
            }
            if self.known.get(&data.guid).is_none_or(|known| known != &data) {
                changes.push(Change::Found(Arc::clone(&data)));
            }
            there.insert(data.guid, data);
        }
        changes.extend(
            self.known.keys().filter(|guid| !there.contains_key(*guid)).map(|guid| Change::Gone(*guid)),
        );
        self.known = there;
        changes
    }
}

/// Topics of Punctual itself are of one site.
fn is_builtin(data: &EndpointData) -> bool {
    data.guid.entity_id.is_builtin()
        || data.guid.entity_id.is_vendor()
        || data.topic_name.starts_with("punctual/")
}

/// Group and id, if these are data of a bridge.
fn read_mark(user_data: &[u8]) -> Option<(&str, BridgeId)> {
    let rest = std::str::from_utf8(user_data).ok()?.strip_prefix(MARK)?;
    let (group, id) = rest.split_once('/')?;
    Some((group, BridgeId::parse(id)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridges_are_known_by_their_user_data() {
        let id = BridgeId([3; 16]);
        let mark = format!("{MARK}north/{id}");
        assert_eq!(read_mark(mark.as_bytes()), Some(("north", id)));
        for other in ["", "punctual-bridge/1/", "punctual-bridge/1/x/y", "punctual-bridge/2/x/00"] {
            assert_eq!(read_mark(other.as_bytes()), None);
        }
    }
}
