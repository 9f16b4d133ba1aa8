//! What comes into a manager and what it wants done.
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::backend::{BackendAnswer, BackendCommand};
use crate::message::{Available, Body, Granted, Message, Notify, Response};
use crate::record::{Key, Record};
use crate::request::{FlowRequest, QosAnswer, SessionRequest};
use crate::routes::BgpPath;
use crate::words::{AggregateId, Asn, Class, LegId, LinkId, Reason, Refusal, SessionId};

/// What happens to a manager.
#[derive(Clone, Debug)]
pub enum Input {
    /// Another manager says something. Its `from` has been authenticated.
    Message(Message),
    /// A record is durable.
    Stored {
        /// Of [`Action::Store`].
        ticket: u64,
    },
    /// The back-end answers.
    Backend(BackendAnswer),
    /// A caller wants a session.
    Request {
        /// Of the answer.
        ticket: u64,
        /// What.
        request: SessionRequest,
    },
    /// Callees have decided.
    CalleeAnswer {
        /// Of the question.
        session: SessionId,
        /// Bits per second for each flow, or a refusal.
        rates: Option<Vec<u64>>,
    },
    /// The AAA server has decided about a session, has renewed its grant, or ends it. What is said last counts.
    Granted {
        /// Of [`Action::AskGrant`] or [`Action::KeepGrant`].
        session: SessionId,
        /// Until when it may go on, in nanoseconds, or why it may not.
        said: Result<u64, Reason>,
    },
    /// The first record of a session is durable: of [`Action::Account`].
    Accounted(SessionId),
    /// A caller ends its session.
    Stop(SessionId),
    /// A session of a caller of this domain is to last longer.
    Extend {
        /// Of the answer.
        ticket: u64,
        /// Which.
        session: SessionId,
        /// Nanoseconds after the end that it has.
        by: u64,
    },
    /// An endpoint of a session of a caller of this domain has another address: the session is to follow. Answered like a request: the new session
    /// has a number of its own, and the one before ends when it is let in; what is refused leaves that one as it is.
    Move {
        /// Of the answer.
        ticket: u64,
        /// Which.
        session: SessionId,
        /// The caller or one of the callees.
        from: IpAddr,
        /// Its address from now on.
        to: IpAddr,
    },
    /// A border link works, or does not.
    Link {
        /// Which.
        link: LinkId,
        /// It works.
        is_up: bool,
    },
    /// So much of a class was measured to fit through a border link; more than agreed counts as what is agreed.
    Measured {
        /// Which.
        link: LinkId,
        /// The class.
        class: Class,
        /// Bits per second.
        rate: u64,
    },
    /// All paths that BGP tells now.
    Paths(Vec<BgpPath>),
    /// What is free on the way to a domain?
    Query {
        /// Of the answer.
        ticket: u64,
        /// The domain.
        destination: Asn,
        /// The class.
        class: Class,
    },
}

/// What is to be done. The order counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a message; it may be lost.
    Send(Message),
    /// Make durable, and say so by [`Input::Stored`]. Several may be made durable at once; what a crash leaves is those up to one of them.
    Store {
        /// Of the answer.
        ticket: u64,
        /// What is replaced.
        key: Key,
        /// By what; none forgets it.
        record: Option<Record>,
    },
    /// To the back-end.
    Backend(BackendCommand),
    /// Ask callees whether they take part.
    AskCallee {
        /// The session.
        session: SessionId,
        /// Who calls.
        caller: IpAddr,
        /// Who is asked.
        callees: Vec<IpAddr>,
        /// The flows.
        flows: Vec<FlowRequest>,
    },
    /// To a caller.
    Answer {
        /// Of the request.
        ticket: u64,
        /// What.
        answer: QosAnswer,
    },
    /// Ask the AAA server whether a session may be. Nothing is reserved for it before [`Input::Granted`].
    AskGrant {
        /// Which.
        session: SessionId,
        /// What is asked for.
        request: SessionRequest,
    },
    /// A session of the store goes on with the grant that it had: ask the AAA server to renew it at once, as the same session.
    KeepGrant {
        /// Which.
        session: SessionId,
        /// What was asked for.
        request: SessionRequest,
        /// Until when it is granted.
        until: u64,
    },
    /// Begin the records of a session; it is let in after [`Input::Accounted`].
    Account(SessionId),
    /// A session that was asked a grant for is over, its edges are shut, and the store has forgotten it: end its grant and its records, if there are any. Said once.
    EndGrant {
        /// Which.
        session: SessionId,
        /// Why it is over.
        refusal: Refusal,
    },
    /// A session with callees of this domain has ended.
    HostedEnded {
        /// Which.
        session: SessionId,
        /// Why.
        refusal: Refusal,
    },
    /// A flow of a session goes another way, because what carried it is no more. Said in the domain that it leaves, and in the one that it goes to.
    Rerouted {
        /// Which.
        leg: LegId,
        /// Nanoseconds from edge to edge at most, from now on.
        delay: u64,
        /// Packets of a million that may be lost, from now on.
        loss: u32,
        /// What became of the way before.
        refusal: Refusal,
    },
    /// One copy of a flow is no more and the other one goes on, or two go again. Said in the domain that the flow leaves, and in the one that it goes to.
    Copies {
        /// Which copy.
        leg: LegId,
        /// Nanoseconds from edge to edge at most of this copy, which goes again, or what became of it.
        said: Result<u64, Refusal>,
    },
    /// A session that was admitted has ended.
    Ended {
        /// Which.
        session: SessionId,
        /// Why.
        refusal: Refusal,
    },
    /// To a query.
    QueryAnswer {
        /// Of the query.
        ticket: u64,
        /// What.
        answer: Result<Available, Refusal>,
    },
    /// To a session that is to last longer.
    ExtendAnswer {
        /// Of the request.
        ticket: u64,
        /// When it ends now, in nanoseconds; what is refused changes nothing.
        answer: Result<u64, Refusal>,
    },
}

/// What an origin says of a flow that wants into an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LegEvent {
    pub(crate) leg: LegId,
    pub(crate) aggregate: AggregateId,
    pub(crate) said: Said,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// It is reserved, with this delay, loss and price.
    Admitted(Granted),
    /// It is not.
    Refused(Refusal),
    /// It was, and is no more.
    Failed(Refusal),
}

/// What the parts of a manager want done, and what they tell each other.
#[derive(Debug)]
pub(crate) struct Out {
    pub(crate) own: Asn,
    pub(crate) epoch: u32,
    pub(crate) actions: Vec<Action>,
    /// Messages to this manager itself.
    pub(crate) loopback: VecDeque<Message>,
    pub(crate) responses: VecDeque<Response>,
    pub(crate) notifies: VecDeque<Notify>,
    pub(crate) legs: VecDeque<LegEvent>,
    ticket: u64,
    count: u64,
}

impl Out {
    pub(crate) fn new(own: Asn, epoch: u32) -> Self {
        Self {
            own,
            epoch,
            actions: Vec::new(),
            loopback: VecDeque::new(),
            responses: VecDeque::new(),
            notifies: VecDeque::new(),
            legs: VecDeque::new(),
            // What answers to a start before this one have is none of these.
            ticket: u64::from(epoch) << 32,
            count: 0,
        }
    }

    pub(crate) fn ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    /// A number that no other start of this manager gives.
    pub(crate) fn unique(&mut self) -> u64 {
        self.count += 1;
        (u64::from(self.epoch) << 32) | self.count
    }

    pub(crate) fn send(&mut self, to: Asn, body: Body) {
        let message = Message { from: self.own, to, body };
        if to == self.own {
            self.loopback.push_back(message)
        } else {
            self.actions.push(Action::Send(message))
        }
    }

    pub(crate) fn store(&mut self, key: Key, record: Option<Record>) -> u64 {
        let ticket = self.ticket();
        self.actions.push(Action::Store { ticket, key, record });
        ticket
    }

    pub(crate) fn tell_leg(&mut self, leg: LegId, aggregate: AggregateId, said: Said) {
        self.legs.push_back(LegEvent { leg, aggregate, said });
    }

    pub(crate) fn command(&mut self, command: BackendCommand) {
        self.actions.push(Action::Backend(command));
    }
}
