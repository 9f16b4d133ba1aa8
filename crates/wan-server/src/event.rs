//! What happens to a manager from outside.
use std::sync::mpsc::SyncSender;

use wan::{BackendAnswer, Message};

use crate::durable::Written;
use crate::protocol::{Ask, Reply};

/// Lines of an answer, each a JSON text. The answer is over when it is dropped.
pub(crate) type Lines = SyncSender<String>;

pub(crate) enum Event {
    /// Another manager says something, in its own name.
    Message(Message),
    /// The store has done something.
    Written(Written),
    /// The back-end has done so many commands, and answers.
    Backend(usize, Vec<BackendAnswer>),
    /// A command asks. The number is that of its connection.
    Asked(u64, Ask, Lines),
    /// A program of callees answers, on a connection.
    Replied(u64, Reply),
    /// A connection of a command or a program has ended.
    Left(u64),
    /// For the log.
    Odd(String),
    /// Ctrl-C.
    Interrupted,
}
