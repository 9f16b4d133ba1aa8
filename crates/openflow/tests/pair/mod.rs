//! Both ends of a connection, in pieces of a given size.
use std::time::Duration;

use openflow::channel::{Channel, Config, Event};
use openflow::switch::{Capabilities, Features};
use openflow::{Message, Xid};

/// What the switch says of itself.
pub(crate) const FEATURES: Features =
    Features { datapath_id: 10, buffers: 0, tables: 254, auxiliary_id: 0, capabilities: Capabilities(0x4f) };

pub(crate) struct Pair {
    pub(crate) controller: Channel,
    pub(crate) switch: Channel,
    pub(crate) controller_events: Vec<Event>,
    pub(crate) now: Duration,
    piece: usize,
}

impl Pair {
    pub(crate) fn new(piece: usize) -> Self {
        Self {
            controller: Channel::new(Config::controller(), Duration::ZERO),
            switch: Channel::new(Config::switch(), Duration::ZERO),
            controller_events: Vec::new(),
            now: Duration::ZERO,
            piece,
        }
    }

    /// Carries bytes both ways until none are left; `serve` answers what the switch is asked.
    pub(crate) fn run_with(&mut self, mut serve: impl FnMut(Xid, Message) -> Vec<(Xid, Message)>) {
        while !self.controller.output().is_empty() || !self.switch.output().is_empty() {
            let piece = self.piece;
            carry(self.now, piece, &mut self.controller, &mut self.switch);
            while let Some(event) = self.switch.poll_event() {
                let Event::Message { xid, message } = event else { continue };
                for (xid, reply) in serve(xid, message) {
                    self.switch.reply(xid, &reply).unwrap();
                }
            }
            carry(self.now, piece, &mut self.switch, &mut self.controller);
            self.controller_events.extend(std::iter::from_fn(|| self.controller.poll_event()));
        }
    }

    /// With a switch that tells its features and nothing else.
    pub(crate) fn run(&mut self) {
        self.run_with(|xid, message| match message {
            Message::FeaturesRequest => vec![(xid, Message::FeaturesReply(FEATURES))],
            _ => Vec::new(),
        });
    }
}

fn carry(now: Duration, piece: usize, from: &mut Channel, to: &mut Channel) {
    let bytes = from.output().to_vec();
    for piece in bytes.chunks(piece) {
        to.handle_input(now, piece);
        from.sent(piece.len());
    }
}
