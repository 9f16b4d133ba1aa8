//! Connections that managers of other domains make: each is of the domain that its certificate names, and so is each message on it.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use connections::{Accepted, Arrival, To};
use keys::{Identity, Role};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::interval;
use wan::{Asn, Message};

use crate::event::Event;
use crate::framing::{ALIVE, BEAT, next};

/// What is known of all connections.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) own: Asn,
    /// Domains that may connect.
    pub(crate) known: Arc<BTreeSet<Asn>>,
    /// Messages that were none, or of another domain than they said.
    pub(crate) false_messages: Arc<AtomicU64>,
}

/// Takes connections over. Of each domain the last one counts.
pub(crate) async fn run(incoming: Incoming, mut arrivals: Receiver<Accepted>, tell: Sender<Event>) {
    let mut current: BTreeMap<Asn, JoinHandle<()>> = BTreeMap::new();
    while let Some(accepted) = arrivals.recv().await {
        let odd = match accepted {
            Accepted::Unknown(peer, why) => format!("{} is turned away: {why}", peer.ip()),
            Accepted::Arrived(arrival) => match arrival.shown.as_deref().and_then(Identity::shown_by) {
                Some(Role::Domain(asn)) if incoming.known.contains(&Asn(asn)) => {
                    let attending = tokio::spawn(attend(incoming.clone(), Asn(asn), arrival, tell.clone()));
                    if let Some(earlier) = current.insert(Asn(asn), attending) {
                        earlier.abort();
                    }
                    continue;
                }
                Some(Role::Domain(asn)) => {
                    format!(
                        "AS {asn} at {} is turned away: no [[domain]] of the file is it",
                        arrival.peer.ip()
                    )
                }
                other => {
                    let role = other.map_or_else(|| "no role".to_owned(), |role| role.to_string());
                    format!(
                        "{} is turned away: its certificate is that of {role}, and of no domain",
                        arrival.peer.ip()
                    )
                }
            },
        };
        if tell.send(Event::Odd(odd)).await.is_err() {
            return;
        }
    }
}

/// Whether bytes are a message of a domain to this one, and which; or what is wrong.
fn message(own: Asn, from: Asn, bytes: &[u8]) -> Result<Message, String> {
    let message = Message::decode(bytes).map_err(|error| format!("what it sends is no message: {error}"))?;
    if message.from != from {
        return Err(format!("it speaks in the name of AS {}", message.from.0));
    }
    if message.to != own {
        return Err(format!("it sends here what is for AS {}", message.to.0));
    }
    Ok(message)
}

async fn attend(incoming: Incoming, asn: Asn, arrival: Arrival, tell: Sender<Event>) {
    let (mut from, to) = tokio::io::split(arrival.stream);
    let hears = async {
        let mut is_told = false;
        loop {
            let bytes = match next(&mut from).await {
                Ok(bytes) if bytes.is_empty() => continue,
                Ok(bytes) => bytes,
                // Its end that sends tells of it, and connects again.
                Err(_) => return,
            };
            let event = match message(incoming.own, asn, &bytes) {
                Ok(message) => Event::Message(message),
                Err(what) => {
                    incoming.false_messages.fetch_add(1, Relaxed);
                    // Once for each connection: another domain may not fill the log.
                    if std::mem::replace(&mut is_told, true) {
                        continue;
                    }
                    Event::Odd(format!("AS {}: {what}; such messages are left out", asn.0))
                }
            };
            if tell.send(event).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = hears => {}
        () = beat(to) => {}
    }
}

/// Says that this end is there, until the other one does not hear it.
async fn beat(mut to: To) {
    let mut beats = interval(BEAT);
    loop {
        beats.tick().await;
        let sent = async {
            to.write_all(&ALIVE).await?;
            to.flush().await
        };
        if sent.await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use wan::{Body, Reason, Refusal, SessionBody, SessionId};

    use super::*;

    #[test]
    fn a_message_is_of_whom_the_connection_is() {
        let refusal = Refusal { asn: Asn(2), link: None, reason: Reason::Stopped };
        let body = Body::Session(SessionId { origin: Asn(2), number: 1 }, SessionBody::Stop(refusal));
        let sent = Message { from: Asn(2), to: Asn(1), body };
        let bytes = sent.encode().unwrap();
        assert_eq!(message(Asn(1), Asn(2), &bytes), Ok(sent));
        for (own, from, what) in [(1, 3, "in the name of AS 2"), (3, 2, "for AS 1")] {
            let said = message(Asn(own), Asn(from), &bytes).unwrap_err();
            assert!(said.contains(what), "{said}");
        }
        assert!(message(Asn(1), Asn(2), &bytes[1..]).unwrap_err().contains("no message"));
    }
}
