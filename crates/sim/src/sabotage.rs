//! A node that breaks a rule on purpose, so that it can be shown that the judge notices.
use std::net::SocketAddr;

use wire::{Instant, Now};

use crate::node::{Node, Observed as _, Outgoing};

/// What a saboteur does. Those about samples happen once, at the first opportunity after `Sabotaged::after` deliveries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// Keeps a delivered sample from the application.
    Drop,
    /// Delivers a sample twice.
    Repeat,
    /// Delivers two samples in the wrong order.
    Swap,
    /// Changes a byte of a payload.
    Damage,
    /// Stops sending anything.
    Mute,
    /// Wants to be woken at once, always.
    Spin,
    /// Sends a datagram every millisecond.
    Chatter,
    /// Exceeds a limit.
    Hoard,
}

/// A node with or without a saboteur inside.
pub struct Sabotaged<N: Node> {
    node: N,
    sabotage: Option<Sabotage>,
    /// Deliveries before it begins.
    after: u32,
    delivered: u32,
    kept: Option<N::Observation>,
    chatter_at: Instant,
}

impl<N: Node> Sabotaged<N> {
    /// A node that is left alone.
    pub const fn honest(node: N) -> Self {
        Self { node, sabotage: None, after: 0, delivered: 0, kept: None, chatter_at: Instant::START }
    }

    /// A node with a saboteur that begins after so many deliveries.
    pub fn new(node: N, sabotage: Sabotage, after: u32) -> Self {
        Self { sabotage: Some(sabotage), after, ..Self::honest(node) }
    }

    /// The node inside.
    pub const fn inner(&self) -> &N {
        &self.node
    }

    /// The node inside.
    pub const fn inner_mut(&mut self) -> &mut N {
        &mut self.node
    }

    fn is_active(&self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage) && self.delivered > self.after
    }
}

impl<N: Node> Node for Sabotaged<N> {
    type Observation = N::Observation;

    fn handle_datagram(&mut self, now: Now, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.node.handle_datagram(now, from, to, bytes);
    }

    fn poll_transmit(&mut self, now: Now, out: &mut Outgoing) -> bool {
        if self.is_active(Sabotage::Mute) {
            while self.node.poll_transmit(now, out) {
                out.paths.clear();
                out.bytes.clear();
            }
            return false;
        }
        if self.is_active(Sabotage::Chatter) && now.monotonic >= self.chatter_at {
            self.chatter_at = now.monotonic.after(wire::Duration::from_millis(1));
            out.bytes.extend_from_slice(b"chatter");
            return true;
        }
        self.node.poll_transmit(now, out)
    }

    fn poll_timeout(&self) -> Instant {
        let own = self.node.poll_timeout();
        match self.sabotage {
            Some(Sabotage::Spin) if self.is_active(Sabotage::Spin) => Instant::START,
            Some(Sabotage::Chatter) if self.is_active(Sabotage::Chatter) => own.min(self.chatter_at),
            _ => own,
        }
    }

    fn take_observations(&mut self, out: &mut Vec<N::Observation>) {
        let begin = out.len();
        self.node.take_observations(out);
        for mut observation in out.split_off(begin) {
            if !observation.is_delivery() {
                out.push(observation);
                continue;
            }
            self.delivered += 1;
            if let Some(kept) = self.kept.take() {
                out.extend([observation, kept]);
                continue;
            }
            if self.delivered != self.after + 1 {
                out.push(observation);
                continue;
            }
            match self.sabotage {
                Some(Sabotage::Drop) => {}
                Some(Sabotage::Swap) => self.kept = Some(observation),
                Some(Sabotage::Repeat) => out.extend([observation.clone(), observation]),
                Some(Sabotage::Damage) => {
                    observation.damage();
                    out.push(observation);
                }
                _ => out.push(observation),
            }
        }
    }

    fn excess(&self) -> Option<String> {
        match self.is_active(Sabotage::Hoard) {
            true => Some("a limit is exceeded on purpose".to_owned()),
            false => self.node.excess(),
        }
    }
}
