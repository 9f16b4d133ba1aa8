//! The connection between a session of the manager and a switch: bytes that come in any pieces, late, or not at all.
use std::time::Duration;

use control::session::{News, Session};
use openflow::Message;
use openflow::channel::{Channel, Config, Event};
use openflow::words::Xid;

/// Bytes that a connection takes at a time.
const PIECE: usize = 16 * 1024;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    ToSwitch,
    ToManager,
}

/// A connection. What one side has said and the other has not heard is on the way.
pub(crate) struct Line {
    pub(crate) session: Session,
    /// The switch's end.
    end: Channel,
    /// Nothing gets through any more, and nobody has been told.
    pub(crate) is_stalled: bool,
    /// For each way: bytes of a message of which some have arrived.
    rest: [usize; 2],
    /// As which master the manager speaks, once the switch has agreed.
    pub(crate) master: Option<u64>,
}

impl Line {
    /// One of a manager of this epoch.
    pub(crate) fn new(now: Duration, epoch: u64) -> Self {
        Self::over(Session::new(now).of_master(epoch), now)
    }

    /// One of a manager that stands by.
    pub(crate) fn of_slave(now: Duration) -> Self {
        Self::over(Session::new(now).of_slave(), now)
    }

    fn over(session: Session, now: Duration) -> Self {
        let end = Channel::new(Config::switch(), now);
        Self { session, end, is_stalled: false, rest: [0; 2], master: None }
    }

    /// Bytes that are on the way and can arrive.
    pub(crate) fn waiting(&self, way: Way) -> usize {
        match way {
            _ if self.is_stalled => 0,
            Way::ToSwitch => self.session.output().len(),
            Way::ToManager => self.end.output().len(),
        }
    }

    /// Bytes on the way, whether they can arrive or not.
    pub(crate) fn under_way(&self) -> usize {
        self.session.output().len() + self.end.output().len()
    }

    /// True if some bytes of a message have arrived and others have not.
    pub(crate) fn is_cut(&self) -> bool {
        self.rest.iter().any(|rest| *rest > 0)
    }

    /// So many bytes arrive at the switch: what it is told.
    pub(crate) fn arrive_at_switch(&mut self, now: Duration, bytes: usize) -> Vec<(Xid, Message)> {
        let piece = self.session.output()[..bytes].to_vec();
        self.rest[0] = cut(self.rest[0], self.session.output(), bytes);
        self.session.sent(bytes);
        let mut told = Vec::new();
        for piece in piece.chunks(PIECE) {
            self.end.handle_input(now, piece);
            while let Some(event) = self.end.poll_event() {
                match event {
                    Event::Message { xid, message } => told.push((xid, message)),
                    Event::Up { .. } => {}
                    other => panic!("the switch does not understand the manager: {other:?}"),
                }
            }
        }
        told
    }

    /// So many bytes arrive at the manager.
    pub(crate) fn arrive_at_manager(&mut self, now: Duration, bytes: usize) -> Vec<News> {
        let piece = self.end.output()[..bytes].to_vec();
        self.rest[1] = cut(self.rest[1], self.end.output(), bytes);
        self.end.sent(bytes);
        let mut news = Vec::new();
        piece.chunks(PIECE).for_each(|piece| self.session.input(now, piece, &mut news));
        news
    }

    /// The switch says something.
    pub(crate) fn say(&mut self, xid: Xid, message: &Message) {
        // Before the manager's HELLO nothing but HELLO is said, and nobody misses it: the manager asks when it is there.
        if self.end.is_up() {
            self.end.reply(xid, message).expect("there is room for it");
        }
    }
}

/// How much of a message is still to come if so many bytes arrive, which begin with the rest of another one.
fn cut(rest: usize, output: &[u8], bytes: usize) -> usize {
    let mut at = rest;
    while at < bytes {
        at += usize::from(u16::from_be_bytes([output[at + 2], output[at + 3]]));
    }
    at - bytes
}
