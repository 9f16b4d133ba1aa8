//! What happens to a manager from outside.
use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;

use linux_edge::observed::Delivered;
use wan::{BackendAnswer, LegId, Message};

use crate::authorization::Told;
use crate::bgp_watch::BgpNews;
use crate::durable::Written;
use crate::link_watch::LinkNews;
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
    /// Edges have let in so much of each flow; `None` if they do not count, or could not be asked.
    Counted(Option<BTreeMap<LegId, Delivered>>),
    /// A link is cut, or works again.
    Link(LinkNews),
    /// BGP tells other paths than before, or cannot be asked.
    Bgp(BgpNews),
    /// The AAA server says something of a session.
    Aaa(Told),
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
