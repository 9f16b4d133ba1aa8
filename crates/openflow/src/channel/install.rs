//! Changes that are believed only when they are seen: sent, confirmed by a barrier, read back and compared.
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

pub use super::expect::Difference;
use super::expect::{Expected, Question};
use super::{Channel, Event, SendError};
use crate::error_code::ErrorCode;
use crate::message::Message;
use crate::multipart::MultipartRequest;
use crate::words::Xid;

/// Why an installation was not begun; nothing has been sent. Indices count the changes from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A change whose effect cannot be read back: only adding and deleting flows, and group and meter mods, can.
    NotReadable(usize),
    /// A deletion of flows after a flow was added: what must be left cannot be told. Make it an installation of its own.
    DeletesAfterAdding(usize),
    /// The channel does not take it.
    Send(SendError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReadable(index) => write!(f, "change {index} cannot be read back: send it by itself"),
            Self::DeletesAfterAdding(index) => {
                write!(f, "change {index} deletes flows after others were added: install it by itself")
            }
            Self::Send(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for StartError {}

/// How an installation has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The switch has all of it, as it was told.
    Installed,
    /// The switch refused these changes, by index, and took the others.
    Refused(Vec<(usize, ErrorCode)>),
    /// The switch refused nothing, and has something else.
    Different(Vec<Difference>),
    /// What the switch has is not known: the channel ended, or an answer did not come, was refused or cannot be read.
    Unknown,
}

/// Changes on their way: adds and deletes of flows, groups and meters.
///
/// Hand it every event of the channel until it gives an outcome. It keeps time by the channel: an answer that does not
/// come is [`Event::TimedOut`].
pub struct Installation {
    /// Transaction and index of each change.
    changes: BTreeMap<Xid, usize>,
    barrier: Option<Xid>,
    refused: Vec<(usize, ErrorCode)>,
    expected: Expected,
    to_ask: VecDeque<(Question, MultipartRequest)>,
    asked: BTreeMap<Xid, Question>,
}

impl Installation {
    /// Sends the changes, in this order, a barrier, and what reads them back.
    ///
    /// # Errors
    /// [`StartError`]; nothing is sent then.
    pub fn start(channel: &mut Channel, now: Duration, changes: &[Message]) -> Result<Self, StartError> {
        let expected = Expected::after(changes)?;
        let commit = channel.commit(now, changes).map_err(StartError::Send)?;
        let mut installation = Self {
            changes: commit.changes.into_iter().enumerate().map(|(index, xid)| (xid, index)).collect(),
            barrier: Some(commit.barrier),
            refused: Vec::new(),
            to_ask: expected.questions().into(),
            asked: BTreeMap::new(),
            expected,
        };
        // What stands behind a barrier is begun when what stands before it is done (OpenFlow 1.3.5, 6.2), so the channel need not wait for the
        // answer to ask. What finds no room now is sent with a later event.
        let _ = installation.ask(channel, now);
        Ok(installation)
    }

    /// An event of the channel, of whatever transaction. Gives the outcome once; after it, forget the installation.
    pub fn handle(&mut self, channel: &mut Channel, now: Duration, event: &Event) -> Option<Outcome> {
        match event {
            Event::Down(_) => return Some(Outcome::Unknown),
            Event::Refused { xid, error, .. } => match self.changes.get(xid) {
                Some(index) if self.barrier.is_some() => self.refused.push((*index, error.code())),
                _ if self.waits_for(*xid) => return Some(Outcome::Unknown),
                _ => {}
            },
            Event::TimedOut { xid, .. } | Event::ReplyTooLong { xid } if self.waits_for(*xid) => {
                return Some(Outcome::Unknown);
            }
            Event::Unreadable { header, request: Some(_), .. } if self.waits_for(header.xid) => {
                return Some(Outcome::Unknown);
            }
            Event::Confirmed { barrier, .. } if self.barrier == Some(*barrier) => {
                if !self.refused.is_empty() {
                    return Some(Outcome::Refused(core::mem::take(&mut self.refused)));
                }
                self.barrier = None;
            }
            Event::Reply { xid, message: Message::MultipartReply { reply, .. } } => {
                if let Some(question) = self.asked.remove(xid) {
                    self.expected.compare(question, reply);
                }
            }
            _ => {}
        }
        let asks = self.ask(channel, now);
        if self.barrier.is_some() {
            return None;
        }
        if !asks {
            return Some(Outcome::Unknown);
        }
        if !self.asked.is_empty() || !self.to_ask.is_empty() {
            return None;
        }
        let differences = self.expected.differences();
        Some(if differences.is_empty() { Outcome::Installed } else { Outcome::Different(differences) })
    }

    fn waits_for(&self, xid: Xid) -> bool {
        self.barrier == Some(xid) || self.asked.contains_key(&xid)
    }

    /// Asks what has not been asked and finds room; false if that cannot be.
    fn ask(&mut self, channel: &mut Channel, now: Duration) -> bool {
        while let Some((question, request)) = self.to_ask.pop_front() {
            match channel.send(now, &Message::ask(request.clone())) {
                Ok(xid) => {
                    self.asked.insert(xid, question);
                }
                Err(error) => {
                    self.to_ask.push_front((question, request));
                    // There will be room: every request ends with an event, which brings us here again.
                    return error == SendError::TooManyOutstanding;
                }
            }
        }
        true
    }
}
