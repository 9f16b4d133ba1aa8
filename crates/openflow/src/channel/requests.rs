//! What has been sent and waits: requests for their answers, changes for a barrier.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use super::Refusal;
use crate::error_code::ErrorCode;
use crate::message::{Message, MessageType};
use crate::multipart::{MultipartReply, MultipartType};
use crate::words::Xid;

/// The type of the answer, if this type is a request.
pub(super) const fn reply_to(request: MessageType) -> Option<MessageType> {
    Some(match request {
        MessageType::EchoRequest => MessageType::EchoReply,
        MessageType::FeaturesRequest => MessageType::FeaturesReply,
        MessageType::GetConfigRequest => MessageType::GetConfigReply,
        MessageType::MultipartRequest => MessageType::MultipartReply,
        MessageType::BarrierRequest => MessageType::BarrierReply,
        MessageType::QueueGetConfigRequest => MessageType::QueueGetConfigReply,
        MessageType::RoleRequest => MessageType::RoleReply,
        MessageType::GetAsyncRequest => MessageType::GetAsyncReply,
        _ => return None,
    })
}

/// True if this type answers a request.
const fn is_reply(kind: MessageType) -> bool {
    use MessageType::*;
    matches!(
        kind,
        EchoReply
            | FeaturesReply
            | GetConfigReply
            | MultipartReply
            | BarrierReply
            | QueueGetConfigReply
            | RoleReply
            | GetAsyncReply
    )
}

/// True if this type changes something and is answered by nothing but an ERROR.
pub(super) const fn is_change(kind: MessageType) -> bool {
    use MessageType::*;
    matches!(kind, SetConfig | PacketOut | FlowMod | GroupMod | PortMod | TableMod | SetAsync | MeterMod)
}

#[derive(Debug)]
struct Request {
    kind: MessageType,
    multipart: Option<MultipartType>,
    deadline: Duration,
    /// The parts of the answer that have come.
    parts: Option<MultipartReply>,
    bytes: usize,
}

/// Requests that wait for their answers.
#[derive(Debug, Default)]
pub(super) struct Requests {
    waiting: BTreeMap<Xid, Request>,
    deadlines: BTreeSet<(Duration, Xid)>,
    /// Bytes of all unfinished answers.
    bytes: usize,
}

/// What became of a message that may be an answer.
pub(super) enum Taken {
    /// It is none.
    Unasked(Message),
    /// It answers nothing that was asked.
    Stray(MessageType),
    /// More of it is to come.
    Part,
    /// There is no room for it, or its parts do not fit together.
    TooLong,
    /// The whole answer.
    Reply(Message),
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn contains(&self, xid: Xid) -> bool {
        self.waiting.contains_key(&xid)
    }

    /// Whether an answer is still to come that says what changes have made.
    pub(super) fn asks(&self) -> bool {
        self.waiting.values().any(|request| super::order::asks(request.kind))
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Remembers the message if it is a request.
    pub(super) fn sent(&mut self, xid: Xid, message: &Message, deadline: Duration) {
        let kind = message.kind();
        if reply_to(kind).is_none() {
            return;
        }
        let multipart = match message {
            Message::MultipartRequest { request, .. } => Some(request.kind()),
            _ => None,
        };
        self.deadlines.insert((deadline, xid));
        self.waiting.insert(xid, Request { kind, multipart, deadline, parts: None, bytes: 0 });
    }

    /// Ends a request, and says what it was.
    pub(super) fn forget(&mut self, xid: Xid) -> Option<MessageType> {
        self.end(xid).map(|request| request.kind)
    }

    fn end(&mut self, xid: Xid) -> Option<Request> {
        let request = self.waiting.remove(&xid)?;
        self.deadlines.remove(&(request.deadline, xid));
        self.bytes = self.bytes.saturating_sub(request.bytes);
        Some(request)
    }

    /// Ends a request whose time is over.
    pub(super) fn expire(&mut self, now: Duration) -> Option<(Xid, MessageType)> {
        let (_, xid) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now)?;
        self.forget(xid).map(|kind| (xid, kind))
    }

    /// Finds the request that a message of so many bytes answers. Unfinished answers have at most `max` bytes together.
    pub(super) fn take(&mut self, xid: Xid, message: Message, bytes: usize, max: usize) -> Taken {
        let kind = message.kind();
        if !is_reply(kind) {
            return Taken::Unasked(message);
        }
        let request = self.waiting.get_mut(&xid).filter(|request| reply_to(request.kind) == Some(kind));
        let Some(request) = request else { return Taken::Stray(kind) };
        let Message::MultipartReply { more, reply } = message else {
            self.end(xid);
            return Taken::Reply(message);
        };
        if request.multipart != Some(reply.kind()) {
            return Taken::Stray(kind);
        }
        request.bytes = request.bytes.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        let fits = match &mut request.parts {
            Some(parts) => parts.append(reply),
            empty => {
                *empty = Some(reply);
                true
            }
        };
        if !fits || self.bytes > max {
            self.end(xid);
            return Taken::TooLong;
        }
        if more {
            return Taken::Part;
        }
        match self.end(xid).and_then(|request| request.parts) {
            Some(reply) => Taken::Reply(Message::MultipartReply { more: false, reply }),
            None => Taken::Stray(kind),
        }
    }
}

#[derive(Debug)]
struct Sent {
    xid: Xid,
    /// `BarrierRequest` for a barrier.
    kind: MessageType,
    refused: Option<ErrorCode>,
}

/// Changes since the last barrier that was answered, and the barriers among them, in the order of sending.
#[derive(Debug, Default)]
pub(super) struct Changes {
    list: VecDeque<Sent>,
}

impl Changes {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn sent(&mut self, xid: Xid, kind: MessageType) {
        self.list.push_back(Sent { xid, kind, refused: None });
    }

    pub(super) fn barrier(&mut self, xid: Xid) {
        self.sent(xid, MessageType::BarrierRequest);
    }

    /// Where this transaction stands. Transactions grow along the list, counted from its first.
    fn find(&self, xid: Xid) -> Option<usize> {
        let first = self.list.front()?.xid;
        let distance = |xid: Xid| xid.0.wrapping_sub(first.0);
        let index = self.list.partition_point(|sent| distance(sent.xid) < distance(xid));
        self.list.get(index).filter(|sent| sent.xid == xid).map(|_| index)
    }

    /// Marks a change as refused, and says what it was.
    pub(super) fn refused(&mut self, xid: Xid, code: ErrorCode) -> Option<MessageType> {
        let index = self.find(xid)?;
        let sent = self.list.get_mut(index)?;
        sent.refused.get_or_insert(code);
        Some(sent.kind)
    }

    /// Ends everything up to this barrier, and gives the changes among it that were refused; `None` if it is not in the list.
    pub(super) fn confirmed(&mut self, barrier: Xid) -> Option<Vec<Refusal>> {
        let index = self.find(barrier)?;
        let before = self.list.drain(..=index).filter(|sent| sent.kind != MessageType::BarrierRequest);
        Some(before.filter_map(|sent| sent.refused.map(|code| Refusal { xid: sent.xid, code })).collect())
    }
}
