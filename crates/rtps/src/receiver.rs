//! Interprets a received message: who it is from and for, and which submessage goes to which endpoint (RTPS 2.5, 8.3.4).
use core::fmt;
use core::net::SocketAddr;

use wire::message::{
    AckNack, Data, DataFrag, Frequent, Gap, Heartbeat, HeartbeatFrag, Message, MessageError, NackFrag,
    Submessage, SubmessageError,
};
use wire::{EntityId, Guid, GuidPrefix};

use crate::reader::Source;

/// What is known about a submessage from those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// Who says it, and when.
    pub source: Source,
    /// The address that the datagram came from.
    pub from: SocketAddr,
    /// The sender named our prefix: it has heard from us.
    pub addressed: bool,
}

/// A submessage for readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToReader<'a> {
    /// A sample.
    Data(Data<'a>),
    /// Fragments of a sample.
    DataFrag(DataFrag<'a>),
    /// What the writer holds.
    Heartbeat(Heartbeat),
    /// How many fragments the writer has sent.
    HeartbeatFrag(HeartbeatFrag),
    /// Numbers that will never come.
    Gap(Gap),
}

/// A submessage for a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToWriter {
    /// What a reader has and what it misses.
    AckNack(AckNack),
    /// Fragments that a reader misses.
    NackFrag(NackFrag),
}

/// Where submessages go. Submessages of one message to one endpoint follow each other, so that a route can keep
/// the endpoint's lock between them.
pub trait Route {
    /// For the reader `reader_id`, or for every reader that is matched with `writer` if it is unknown.
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, writer: Guid, submessage: &ToReader<'_>);
    /// For one writer.
    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter);
}

/// Why a message, or its rest, was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveError {
    /// Its header is wrong.
    Message(MessageError),
    /// A submessage is wrong; those before it were routed.
    Submessage(SubmessageError),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => fmt::Display::fmt(error, f),
            Self::Submessage(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for ReceiveError {}

/// Reads a datagram and routes its submessages to the participant `prefix`. What is addressed to another participant
/// is skipped, and so is what this participant has sent itself.
///
/// INFO_SRC changes whom the submessages are from, not where the datagram came from. INFO_REPLY is not followed: answers
/// go to paths that discovery has validated.
///
/// # Errors
/// The header or a submessage is malformed; submessages before that were routed.
pub fn interpret(
    prefix: GuidPrefix,
    from: SocketAddr,
    datagram: &[u8],
    route: &mut impl Route,
) -> Result<(), ReceiveError> {
    let message = Message::parse(datagram).map_err(ReceiveError::Message)?;
    if message.header().prefix == prefix {
        return Ok(());
    }
    walk(prefix, from, &message, route)
}

/// Routes a message that this participant has sent to itself, see [`Path::IN_PROCESS`](crate::Path::IN_PROCESS).
///
/// # Errors
/// As `interpret`; not for what our own machines wrote.
pub fn interpret_own(
    prefix: GuidPrefix,
    datagram: &[u8],
    route: &mut impl Route,
) -> Result<(), ReceiveError> {
    let message = Message::parse(datagram).map_err(ReceiveError::Message)?;
    walk(prefix, crate::Path::IN_PROCESS.destination, &message, route)
}

fn walk(
    prefix: GuidPrefix,
    from: SocketAddr,
    message: &Message<'_>,
    route: &mut impl Route,
) -> Result<(), ReceiveError> {
    let header = message.header();
    let source = Source { prefix: header.prefix, timestamp: None, vendor: header.vendor };
    let mut context = Context { source, from, addressed: false };
    let mut for_us = true;
    let mut submessages = message.submessages();
    loop {
        match submessages.next_frequent() {
            Some(Frequent::Data(data)) => {
                if for_us {
                    to_reader(route, &context, data.reader_id, data.writer_id, ToReader::Data(data));
                }
                continue;
            }
            Some(Frequent::Heartbeat(heartbeat)) => {
                if for_us {
                    let submessage = ToReader::Heartbeat(heartbeat);
                    to_reader(route, &context, heartbeat.reader_id, heartbeat.writer_id, submessage);
                }
                continue;
            }
            Some(Frequent::InfoTimestamp(timestamp)) => {
                context.source.timestamp = timestamp;
                continue;
            }
            None => {}
        }
        let Some(submessage) = submessages.next() else { return Ok(()) };
        let submessage = submessage.map_err(ReceiveError::Submessage)?;
        match submessage {
            Submessage::InfoDestination(destination) => {
                context.addressed = destination == prefix;
                for_us = context.addressed || destination == GuidPrefix::UNKNOWN;
            }
            Submessage::InfoSource(source) => {
                // No relay sends for us.
                if source.prefix == prefix {
                    return Ok(());
                }
                context.source = Source { prefix: source.prefix, timestamp: None, vendor: source.vendor };
                // A relay has not shown that the participants behind it have heard from us.
                context.addressed = false;
            }
            _ if !for_us => {}
            Submessage::DataFrag(fragment) => {
                to_reader(
                    route,
                    &context,
                    fragment.reader_id,
                    fragment.writer_id,
                    ToReader::DataFrag(fragment),
                );
            }
            Submessage::HeartbeatFrag(heartbeat) => {
                let submessage = ToReader::HeartbeatFrag(heartbeat);
                to_reader(route, &context, heartbeat.reader_id, heartbeat.writer_id, submessage);
            }
            Submessage::Gap(gap) => {
                to_reader(route, &context, gap.reader_id, gap.writer_id, ToReader::Gap(gap));
            }
            Submessage::AckNack(acknack) => {
                route.to_writer(&context, acknack.writer_id, &ToWriter::AckNack(acknack));
            }
            Submessage::NackFrag(nack) => {
                route.to_writer(&context, nack.writer_id, &ToWriter::NackFrag(nack));
            }
            // Those are all frequent.
            Submessage::Data(_)
            | Submessage::InfoTimestamp(_)
            | Submessage::Heartbeat(_)
            | Submessage::InfoReply(_)
            | Submessage::Pad
            | Submessage::Secure { .. }
            | Submessage::Other { .. } => {}
        }
    }
}

#[inline]
fn to_reader(
    route: &mut impl Route,
    context: &Context,
    reader_id: EntityId,
    writer_id: EntityId,
    submessage: ToReader<'_>,
) {
    route.to_reader(context, reader_id, Guid::new(context.source.prefix, writer_id), &submessage);
}
