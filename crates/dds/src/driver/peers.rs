//! Sockets that are connected to those that unicast goes to often: the kernel looks for the route to each once, not for each datagram.
//!
//! They only send. Where there is none, or one fails, the participant's own socket sends as well.
use std::net::SocketAddr;

use udp::Sender;

/// Most sockets: each is an open file.
const MOST: usize = 64;

/// Those of one participant.
#[derive(Debug, Default)]
pub(super) struct Peers(Vec<(SocketAddr, Option<Sender>)>);

impl Peers {
    /// The socket that is connected to `to`, if there is one; an error if there may be one and there is not yet.
    pub(super) fn get(&self, to: SocketAddr) -> Result<Option<&Sender>, Unknown> {
        match self.0.iter().find(|(peer, _)| *peer == to) {
            Some((_, sender)) => Ok(sender.as_ref()),
            None if self.0.len() >= MOST => Ok(None),
            None => Err(Unknown),
        }
    }

    /// From now on `sender` is for `to`; `None` if it could not be connected, or has failed, which is not tried again.
    pub(super) fn set(&mut self, to: SocketAddr, sender: Option<Sender>) {
        if let Some((_, known)) = self.0.iter_mut().find(|(peer, _)| *peer == to) {
            *known = sender;
        } else if self.0.len() < MOST {
            self.0.push((to, sender));
        }
    }
}

/// Nothing was tried yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unknown;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_is_tried_once_and_no_more_than_so_many() {
        let mut peers = Peers::default();
        let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
        for port in 1..=MOST as u16 {
            assert_eq!(peers.get(peer(port)).err(), Some(Unknown));
            peers.set(peer(port), None);
            assert!(matches!(peers.get(peer(port)), Ok(None)));
        }
        assert!(matches!(peers.get(peer(9_999)), Ok(None)));
        peers.set(peer(9_999), None);
        assert_eq!(peers.0.len(), MOST);
    }
}
