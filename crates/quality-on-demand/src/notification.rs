//! Notifications: CloudEvents in JSON.
use serde::Serialize;

use crate::body::SinkToken;
use crate::record::{Session, State, Why};
use crate::shown;
use crate::uuid::Uuid;

/// The kind of these events.
const KIND: &str = "org.camaraproject.quality-on-demand.v1.qos-status-changed";

/// Something that a client is to be told.
#[derive(Clone, PartialEq, Eq)]
pub struct Notice {
    /// The client.
    pub client: String,
    /// Where it goes to.
    pub sink: String,
    /// What is shown there.
    pub token: Option<SinkToken>,
    /// The event.
    pub body: String,
}

#[derive(Serialize)]
struct Event<'e> {
    id: String,
    source: String,
    specversion: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    time: String,
    datacontenttype: &'static str,
    data: Data<'e>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'e> {
    session_id: Uuid,
    qos_status: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_info: Option<Why>,
}

/// The notification of a change of a session, if it has a sink. `url` is how clients call this server.
pub(crate) fn of(session: &mut Session, now: u64, url: &str) -> Option<Notice> {
    let sink = session.sink.clone()?;
    session.events = session.events.saturating_add(1);
    let status_info = match session.state {
        State::Unavailable { why, .. } => Some(why),
        State::Requested | State::Available { .. } => None,
    };
    let event = Event {
        // Unique, since the number of a session grows with each.
        id: format!("{}-{}", session.id, session.events),
        source: format!("{url}/quality-on-demand/v1/sessions/{}", session.id),
        specversion: "1.0",
        kind: KIND,
        time: shown::time(now),
        datacontenttype: "application/json",
        data: Data { session_id: session.id, qos_status: shown::status(session.state), status_info },
    };
    let body = serde_json::to_string(&event).ok()?;
    Some(Notice { client: session.client.clone(), sink, token: session.token.clone(), body })
}
