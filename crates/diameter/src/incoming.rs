//! A connection that another node has opened, until its first message says who it is.
use alloc::vec::Vec;

use crate::command::CapabilitiesExchangeRequest;
use crate::error::{DecodeError, Problem};
use crate::framer::{Framer, Longest};
use crate::header::{CommandCode, Header};
use crate::local::Local;
use crate::message::Message;

/// The first message of a connection, to be given to the peer whose name it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Introduction {
    /// Its header.
    pub header: Header,
    /// Who the other node says it is.
    pub request: CapabilitiesExchangeRequest,
    /// What came after it. A node that waits for the answer sends nothing.
    pub rest: Vec<u8>,
}

/// Why a connection is closed before it belongs to a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What is wrong.
    pub error: DecodeError,
    /// What to send before it is closed; may be empty.
    pub answer: Vec<u8>,
}

/// Reads the first message. The owner closes the connection when it takes too long.
#[derive(Clone, Debug)]
pub struct Incoming {
    framer: Framer,
}

impl Incoming {
    /// Refuses first messages of more bytes than the limit.
    pub const fn new(largest_message: usize) -> Self {
        Self { framer: Framer::of(Longest(largest_message)) }
    }

    /// Takes received bytes; `None` while the first message is not whole.
    ///
    /// # Errors
    /// The first message is no Capabilities-Exchange-Request that can be read: send the answer and close.
    pub fn received(&mut self, local: &Local, bytes: &[u8]) -> Result<Option<Introduction>, Refused> {
        let mut input = bytes;
        let refused = |error, answer| Refused { error, answer };
        let message = match self.framer.next(&mut input) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(None),
            Err(error) => return Err(refused(error, Vec::new())),
        };
        match Message::decode(message) {
            Ok((header, Message::CapabilitiesExchangeRequest(request))) => {
                Ok(Some(Introduction { header, request, rest: input.to_vec() }))
            }
            Ok((header, _)) => {
                let (code, request) = (header.command.0, header.is_request());
                let error = DecodeError { offset: 5, avp: None, problem: Problem::Command { code, request } };
                Err(refused(error, Vec::new()))
            }
            Err(error) => {
                let asked = Header::read(message).is_ok_and(|(header, _)| {
                    header.is_request() && header.command == CommandCode::CAPABILITIES_EXCHANGE
                });
                let answer = if asked { local.refuse_unreadable(message, &error) } else { Vec::new() };
                Err(refused(error, answer))
            }
        }
    }
}
