//! The participant of a bridge, and what it finds in its domain.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dds::qos::DomainParticipantQos;
use dds::{DomainParticipant, Guid, GuidPrefix, QosKind};
use wire::discovery::EndpointData;
use zenoh_routes::election::{Election, Standing};
use zenoh_routes::{Bridge, BridgeId};

use crate::Failure;
use crate::arguments::Choices;

/// What USER_DATA of the participants of bridges begins with.
const MARK: &str = "punctual-bridge/1/";
/// What it says of a bridge that works, and of one that stands by.
const WORKS: &str = "works";
const STANDS_BY: &str = "stands-by";

/// What is known of the domain.
pub(crate) struct Domain {
    participant: DomainParticipant,
    /// Bridges of one group take turns.
    group: String,
    election: Election,
    /// What others were told of this bridge.
    told: Standing,
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
        let election = Election::new(id);
        let told = election.standing();
        let user_data = mark(&choices.group, &told);
        let qos = DomainParticipantQos { user_data, ..DomainParticipantQos::default() };
        let builder = DomainParticipant::builder(choices.domain);
        let participant = builder.config(choices.config.clone()).qos(qos).create()?;
        Ok(Self { participant, group: choices.group.clone(), election, told, known: BTreeMap::new() })
    }

    pub(crate) const fn participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// What is known of a writer or reader of the site.
    pub(crate) fn endpoint(&self, guid: Guid) -> Option<&Arc<EndpointData>> {
        self.known.get(&guid)
    }

    /// What changed since the last time; endpoints of bridges are none. Tells `bridge` whether it works or stands by: it has so many connections to
    /// other sites at this time, in milliseconds.
    ///
    /// # Errors
    /// The other bridges of the site cannot be told.
    pub(crate) fn changes(
        &mut self,
        bridge: &mut Bridge,
        now: u64,
        connections: usize,
    ) -> Result<Vec<Change>, Failure> {
        // What follows from the last look has been done: one that takes over is not told before that.
        let standing = self.election.standing();
        if standing != self.told {
            let qos = DomainParticipantQos {
                user_data: mark(&self.group, &standing),
                ..self.participant.get_qos()
            };
            self.participant.set_qos(QosKind::Specific(qos))?;
            self.told = standing;
        }
        // Endpoints first: of each of them it is known below whether its participant is a bridge.
        let endpoints = self.participant.get_discovered_endpoints();
        let mut participants: BTreeSet<GuidPrefix> = BTreeSet::new();
        let mut bridges: BTreeSet<GuidPrefix> = [self.participant.prefix()].into();
        let mut others = Vec::new();
        for other in self.participant.get_discovered_participants() {
            participants.insert(other.data.prefix);
            if other.data.user_data.starts_with(MARK.as_bytes()) {
                bridges.insert(other.data.prefix);
                let told = read_mark(&other.data.user_data);
                others.extend(told.filter(|(group, _)| *group == self.group).map(|(_, standing)| standing));
            }
        }
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        bridge.lead(self.election.look(now, connections, others));
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
        Ok(changes)
    }
}

/// Topics of Punctual itself are of one site.
fn is_builtin(data: &EndpointData) -> bool {
    data.guid.entity_id.is_builtin()
        || data.guid.entity_id.is_vendor()
        || data.topic_name.starts_with("punctual/")
}

/// What others read of a bridge.
fn mark(group: &str, of: &Standing) -> Vec<u8> {
    let does = if of.leads { WORKS } else { STANDS_BY };
    format!("{MARK}{group}/{}/{}/{does}", of.id, of.connections).into_bytes()
}

/// Group and standing, if these are data of a bridge.
fn read_mark(user_data: &[u8]) -> Option<(&str, Standing)> {
    let rest = std::str::from_utf8(user_data).ok()?.strip_prefix(MARK)?;
    let mut parts = rest.split('/');
    let (group, id, connections, does) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let leads = match does {
        WORKS => true,
        STANDS_BY => false,
        _ => return None,
    };
    let id = BridgeId::parse(id)?;
    let connections = connections.parse().ok()?;
    parts.next().is_none().then_some((group, Standing { id, connections, leads }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridges_are_known_by_their_user_data() {
        for (connections, leads) in [(0, false), (3, true)] {
            let standing = Standing { id: BridgeId([3; 16]), connections, leads };
            assert_eq!(read_mark(&mark("north", &standing)), Some(("north", standing)));
        }
        let id = BridgeId([3; 16]);
        for other in ["", MARK, "punctual-bridge/1/x/y/1/works", "punctual-bridge/2/x/00"] {
            assert_eq!(read_mark(other.as_bytes()), None);
        }
        for rest in ["1/sleeps", "1", "-1/works", "1/works/"] {
            assert_eq!(read_mark(format!("{MARK}north/{id}/{rest}").as_bytes()), None, "{rest}");
        }
    }
}
