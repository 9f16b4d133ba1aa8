//! What an operator should know: events for a log, each with what it is about and why.
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use wire::admission::Address;

use wire::Guid;
use wire::admission::{Request, Socket, State};

use crate::action::Pair;
use crate::fabric::Fabric;
use crate::resource_manager::ResourceManager;

/// Notes that are kept until they are taken; beyond it the oldest go.
const MOST_NOTES: usize = 4_096;

/// A pair, as people know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// What is written.
    pub topic: String,
    /// The writer.
    pub writer: Guid,
    /// The reader.
    pub reader: Guid,
    /// The host of the writer by its name, or its address if no host is known to have it.
    pub from: String,
    /// The host of the reader.
    pub to: String,
}

/// Something has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// A pair was admitted within so many nanoseconds.
    Admitted(Box<Ends>, u64),
    /// A pair was refused; why.
    Refused(Box<Ends>, String),
    /// A pair was admitted and is no longer; why.
    Revoked(Box<Ends>, String),
    /// No reader asks for a pair any more.
    Withdrawn(Box<Ends>),
    /// A switch, or the gates of one, have what they are to have.
    Ready(String),
    /// A switch, or the gates of one, have something else than they are to have; what, in words. It is put right.
    Different {
        /// The switch or its gates.
        site: String,
        /// How many of what are missing, different or unknown.
        what: String,
    },
    /// It has been put right.
    PutRight(String),
    /// It could not be put right, or not be read; it is tried again.
    NotPutRight {
        /// The switch or its gates.
        site: String,
        /// Why.
        why: String,
    },
    /// A site that has connected could not be put right; why.
    NotReady {
        /// The switch or its gates.
        site: String,
        /// Why.
        why: String,
    },
    /// Frames of an admitted flow have passed its gate, or its first switch, and the entry of a switch behind has not counted them.
    Missing {
        /// The flow.
        ends: Box<Ends>,
        /// The switch.
        place: String,
        /// How many, since it was told last.
        frames: u64,
    },
    /// Frames of an admitted flow are dropped, because they are more than its contract says.
    Dropped {
        /// The flow.
        ends: Box<Ends>,
        /// The gates or the switch with the meter.
        place: String,
        /// How many since it was told last.
        frames: u64,
    },
    /// A frame has come by a port and claims an address that belongs to another host. It is dropped.
    FalseClaim {
        /// The port.
        place: String,
        /// The host at it.
        from: String,
        /// The address, in words.
        claim: String,
        /// The host that it belongs to.
        owner: String,
    },
    /// Frames with a VLAN tag have come by a port that may have none. They are dropped.
    Tagged {
        /// The port.
        place: String,
        /// The host at the port.
        from: String,
        /// How many since it was told last.
        frames: u64,
    },
    /// A cable is not where the network file has it, or what a port hears cannot be.
    Cabling {
        /// The ports it is about.
        subject: String,
        /// What is wrong, and what it means.
        what: String,
    },
    /// What was wrong with these ports is over.
    CablingRight(String),
    /// The store has not taken a change: what it says.
    NotStored(String),
    /// The store takes changes again.
    StoreWorks,
}

impl Note {
    /// Whether an operator should look after it.
    pub const fn is_warning(&self) -> bool {
        !matches!(
            self,
            Self::Admitted(..)
                | Self::Withdrawn(_)
                | Self::Ready(_)
                | Self::PutRight(_)
                | Self::CablingRight(_)
                | Self::StoreWorks
        )
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, writer, reader, from, to } = self;
        write!(f, "{topic:?} from {from} to {to} (writer {writer}, reader {reader})")
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted(ends, bound) => write!(f, "admitted within {} us: {ends}", bound.div_ceil(1_000)),
            Self::Refused(ends, why) => write!(f, "refused: {ends}: {why}"),
            Self::Revoked(ends, why) => write!(f, "revoked: {ends}: {why}"),
            Self::Withdrawn(ends) => write!(f, "withdrawn: {ends}"),
            Self::Ready(site) => write!(f, "{site}: as it is to be"),
            Self::Different { site, what } => {
                write!(f, "{site}: not as it is to be: {what}; it is put right")
            }
            Self::PutRight(site) => write!(f, "{site}: put right"),
            Self::NotPutRight { site, why } => {
                write!(f, "{site}: not as it is to be, or not to be read: {why}; it is tried again")
            }
            Self::NotReady { site, why } => write!(f, "{site}: cannot be used: {why}; it is tried again"),
            Self::Missing { ends, place, frames } => write!(
                f,
                "{place}: {frames} frames of an admitted flow have not come, though its gate or first switch let them pass: {ends}"
            ),
            Self::Dropped { ends, place, frames } => write!(
                f,
                "{place}: {frames} frames dropped that were larger, or came earlier, than the contract says: {ends}"
            ),
            Self::FalseClaim { place, from, claim, owner } => write!(
                f,
                "{place}: frames of {from} claim {claim}, which is that of {owner}: they are dropped, and the address stays with {owner}"
            ),
            Self::Tagged { place, from, frames } => write!(
                f,
                "{place}: {frames} frames of {from} with a VLAN tag are dropped: it may send none; take the tag off at its interface"
            ),
            Self::Cabling { what, .. } => f.write_str(what),
            Self::CablingRight(subject) => write!(f, "{subject}: what was wrong with the cabling is over"),
            Self::NotStored(why) => {
                write!(f, "{why}; grants in force go on, new ones are refused until the store works again")
            }
            Self::StoreWorks => f.write_str("the store works again"),
        }
    }
}

impl ResourceManager {
    /// The next thing that an operator should know.
    pub fn poll_note(&mut self) -> Option<Note> {
        self.notes.pop_front()
    }

    pub(crate) fn note(&mut self, note: Note) {
        if self.notes.len() >= MOST_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(note);
    }

    /// Notes what has become of a pair, once for each state of a request.
    pub(crate) fn note_verdict(&mut self, pair: Pair) {
        let Some(asked) = self.requests.take_news(pair) else { return };
        let ends = ends(&self.fabric, &asked.request);
        let note = match asked.verdict.state {
            State::Pending => return,
            State::Admitted => Note::Admitted(ends, asked.verdict.bound),
            State::Refused => Note::Refused(ends, asked.verdict.reason.clone()),
            State::Revoked => Note::Revoked(ends, asked.verdict.reason.clone()),
        };
        self.note(note);
    }

    /// The ends of a request.
    pub(crate) fn ends(&self, request: &Request) -> Box<Ends> {
        ends(&self.fabric, request)
    }

    /// The ends of one of the pairs that a grant serves.
    pub(crate) fn ends_of_grant(&self, number: u64) -> Option<Box<Ends>> {
        let asked =
            self.requests.first_of(&self.reservations.get(self.reservations.leader_of(number))?.pairs)?;
        Some(self.ends(&asked.request))
    }

    /// The name of the host that has an address, or the address.
    pub fn host_name(&self, address: Address) -> String {
        self.fabric.host_name(address)
    }
}

fn ends(fabric: &Fabric, request: &Request) -> Box<Ends> {
    let (writer, reader) = request.pair();
    let host = |socket: Socket| fabric.host_name(socket.address);
    let (from, to) = (host(request.source), host(request.destination));
    Box::new(Ends { topic: request.topic.clone(), writer, reader, from, to })
}
