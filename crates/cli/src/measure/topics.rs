//! The topics that both sides know.
use dds::{DomainParticipant, Error, NO_STATUS, QosKind, Topic};

use super::types::{AnyLoad, Probe};

/// For pings and for answers. Those of best effort have topics of their own, so that one `punctual pong` serves both.
pub(super) fn probe(participant: &DomainParticipant, best_effort: bool) -> Result<[Topic; 2], Error> {
    let names = if best_effort {
        ["PunctualPingBestEffort", "PunctualPongBestEffort"]
    } else {
        ["PunctualPing", "PunctualPong"]
    };
    let [pings, answers] = names.map(|name| {
        participant.create_topic::<Probe>(name, "punctual::Probe", QosKind::Default, None, NO_STATUS)
    });
    Ok([pings?, answers?])
}

/// For a load; `name` is what the user calls it.
pub(super) fn load<T: AnyLoad>(participant: &DomainParticipant, name: &str) -> Result<Topic, Error> {
    let name = format!("Punctual{}{name}", T::NAME);
    let type_name = format!("punctual::{}", T::NAME);
    participant.create_topic::<T>(&name, &type_name, QosKind::Default, None, NO_STATUS)
}
