//! Messages that say that something is granted wait until devices have been told of it: the first packet after an answer meets what was promised in
//! every domain.
use std::collections::VecDeque;

use wan::Message;

/// Messages of one manager, and how far its back-end has come.
#[derive(Debug, Default)]
pub(crate) struct HeldBack {
    commanded: u64,
    executed: u64,
    /// In the order of the commands that they wait for.
    waiting: VecDeque<(u64, Message)>,
}

impl HeldBack {
    /// A command is given to the back-end; which one it is, from 1.
    pub(crate) fn commanded(&mut self) -> u64 {
        self.commanded += 1;
        self.commanded
    }

    /// A message waits for a command.
    pub(crate) fn hold(&mut self, command: u64, message: Message) {
        self.waiting.push_back((command, message));
    }

    /// The back-end has carried out so many more: what may be sent now.
    pub(crate) fn executed(&mut self, count: usize) -> Vec<Message> {
        self.executed = self.executed.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        let ready = self.waiting.iter().take_while(|(command, _)| *command <= self.executed).count();
        self.waiting.drain(..ready).map(|(_, message)| message).collect()
    }
}

#[cfg(test)]
mod tests {
    use wan::{Asn, Body, SessionBody, SessionId};

    use super::*;

    fn message(number: u64) -> Message {
        let session = SessionId { origin: Asn(1), number };
        Message { from: Asn(1), to: Asn(2), body: Body::Session(session, SessionBody::Committed { echo: 7 }) }
    }

    #[test]
    fn a_message_is_sent_when_all_commands_before_it_are_done() {
        let mut held = HeldBack::default();
        assert_eq!([held.commanded(), held.commanded()], [1, 2]);
        held.hold(2, message(0));
        let third = held.commanded();
        held.hold(third, message(1));
        assert_eq!(held.executed(1), []);
        assert_eq!(held.executed(1), [message(0)]);
        assert_eq!(held.executed(1), [message(1)]);
        assert_eq!(held.executed(0), []);
    }
}
