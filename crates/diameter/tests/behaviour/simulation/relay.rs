//! The relay: forwards requests to the node that they name, and answers back.

use std::collections::BTreeMap;

use super::network::{CLIENT, Network, RELAY, SERVER, local};
use diameter::ResultCode;
use diameter::peer::{Event, Ticket};
use diameter::relay::{destination, forward};

/// Where the answers to forwarded requests go.
#[derive(Default)]
pub(crate) struct RelayNode {
    places: BTreeMap<u64, (usize, Ticket, Vec<u8>)>,
    tokens: u64,
}

impl RelayNode {
    pub(crate) fn on_event(&mut self, network: &mut Network, from: usize, event: Event) {
        match event {
            Event::Request { ticket, message } => {
                let there = destination(&message).unwrap();
                let other = if there.realm == Some(local(CLIENT).realm) { CLIENT } else { SERVER };
                let sent = forward(&message, &local(from).host, &local(RELAY).host).and_then(|forwarded| {
                    self.tokens += 1;
                    let now = network.now;
                    let peer = network.peers.get_mut(&(RELAY, other)).unwrap();
                    peer.send_request(now, self.tokens, &forwarded).map_err(|_| ResultCode::UNABLE_TO_DELIVER)
                });
                match sent {
                    Ok(()) => {
                        self.places.insert(self.tokens, (from, ticket, message));
                    }
                    Err(code) => Self::refuse(network, from, ticket, &message, code),
                }
            }
            Event::Answer { token, message } => {
                let (from, ticket, _) = self.places.remove(&token).unwrap();
                let now = network.now;
                // The connection may be gone: then the request has gone elsewhere.
                let _ = network.peers.get_mut(&(RELAY, from)).unwrap().send_answer(now, ticket, &message);
            }
            Event::Unanswered { token, .. } => {
                let (from, ticket, request) = self.places.remove(&token).unwrap();
                Self::refuse(network, from, ticket, &request, ResultCode::UNABLE_TO_DELIVER);
            }
            _ => {}
        }
    }

    fn refuse(network: &mut Network, from: usize, ticket: Ticket, request: &[u8], code: ResultCode) {
        let answer = local(RELAY).refuse(request, code, "");
        let now = network.now;
        let _ = network.peers.get_mut(&(RELAY, from)).unwrap().send_answer(now, ticket, &answer);
    }
}
