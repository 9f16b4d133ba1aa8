//! Messages: the header, and the command that follows it as a value.
use alloc::vec::Vec;

use crate::avp::Avps;
use crate::command::{
    AaAnswer, AaRequest, AbortSessionRequest, AccountingAnswer, AccountingRequest,
    CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest, DeviceWatchdogAnswer, DeviceWatchdogRequest,
    DisconnectPeerAnswer, DisconnectPeerRequest, ErrorAnswer, ReAuthRequest, SessionAnswer,
    SessionTerminationAnswer, SessionTerminationRequest,
};
use crate::error::{DecodeError, EncodeError, Problem};
use crate::header::{ApplicationId, CommandCode, Flags, HEADER_LEN, Header, LONGEST};
use crate::structure::Structure;

/// A message in received bytes: its header, and its AVPs without copying. What agents forward stays so.
#[derive(Clone, Copy, Debug)]
pub struct RawMessage<'a> {
    /// The header.
    pub header: Header,
    bytes: &'a [u8],
}

impl<'a> RawMessage<'a> {
    /// Reads the header of bytes that are one whole message.
    ///
    /// # Errors
    /// Another version, a length that is not that of the bytes, or flags that contradict each other.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (header, len) = Header::read(bytes)?;
        if len != bytes.len() {
            return Err(DecodeError { offset: 1, avp: None, problem: Problem::MessageLength(len) });
        }
        header.check_flags()?;
        Ok(Self { header, bytes })
    }

    /// The whole message.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its AVPs.
    pub fn avps(&self) -> Avps<'a> {
        Avps::new(self.bytes.get(HEADER_LEN..).unwrap_or_default(), HEADER_LEN)
    }
}

/// The commands, each with its code, direction, flags and body.
macro_rules! messages {
    ($($(#[$doc:meta])* $variant:ident($body:ty) = $command:ident, $request:literal, $proxiable:literal;)*) => {
        /// What a message says, without its header.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Message {
            $($(#[$doc])* $variant($body),)*
            /// An answer to any command in the form of RFC 6733, 7.2: one with the error bit, or a failure that lacks what
            /// the answer to its command has.
            Error(ErrorAnswer),
        }

        impl Message {
            fn read_body(header: &Header, avps: Avps<'_>) -> Result<Self, DecodeError> {
                if header.flags.contains(Flags::ERROR) {
                    return ErrorAnswer::read_avps(avps).map(Self::Error);
                }
                let request = header.is_request();
                match (header.command, request) {
                    $((CommandCode::$command, $request) => <$body>::read_avps(avps).map(Self::$variant),)*
                    (CommandCode(code), request) => Err(DecodeError {
                        offset: 5,
                        avp: None,
                        problem: Problem::Command { code, request },
                    }),
                }
            }

            fn write_body(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(body) => body.write_avps(out),)*
                    Self::Error(body) => body.write_avps(out),
                }
            }

            /// The command, whether it is a request, and whether agents may forward it. `None` for an error, which
            /// belongs to any command.
            pub const fn kind(&self) -> Option<(CommandCode, bool, bool)> {
                match self {
                    $(Self::$variant(_) => Some((CommandCode::$command, $request, $proxiable)),)*
                    Self::Error(_) => None,
                }
            }
        }
    };
}

messages! {
    /// What the peer that opened the connection is and can.
    CapabilitiesExchangeRequest(CapabilitiesExchangeRequest) = CAPABILITIES_EXCHANGE, true, false;
    /// What the other peer is and can.
    CapabilitiesExchangeAnswer(CapabilitiesExchangeAnswer) = CAPABILITIES_EXCHANGE, false, false;
    /// The server wants the client to authorise again.
    ReAuthRequest(ReAuthRequest) = RE_AUTH, true, true;
    /// The client has heard it.
    ReAuthAnswer(SessionAnswer) = RE_AUTH, false, true;
    /// May this session be?
    AaRequest(AaRequest) = AA, true, true;
    /// It may, or may not.
    AaAnswer(AaAnswer) = AA, false, true;
    /// A record.
    AccountingRequest(AccountingRequest) = ACCOUNTING, true, true;
    /// The record is kept, or not.
    AccountingAnswer(AccountingAnswer) = ACCOUNTING, false, true;
    /// The server ends a session.
    AbortSessionRequest(AbortSessionRequest) = ABORT_SESSION, true, true;
    /// The client has ended it, or not.
    AbortSessionAnswer(SessionAnswer) = ABORT_SESSION, false, true;
    /// The client has ended a session.
    SessionTerminationRequest(SessionTerminationRequest) = SESSION_TERMINATION, true, true;
    /// The server has heard it.
    SessionTerminationAnswer(SessionTerminationAnswer) = SESSION_TERMINATION, false, true;
    /// Are you alive?
    DeviceWatchdogRequest(DeviceWatchdogRequest) = DEVICE_WATCHDOG, true, false;
    /// I am.
    DeviceWatchdogAnswer(DeviceWatchdogAnswer) = DEVICE_WATCHDOG, false, false;
    /// The connection is about to be closed.
    DisconnectPeerRequest(DisconnectPeerRequest) = DISCONNECT_PEER, true, false;
    /// It may be closed.
    DisconnectPeerAnswer(DisconnectPeerAnswer) = DISCONNECT_PEER, false, false;
}

impl Message {
    /// Reads one whole message.
    ///
    /// # Errors
    /// What is wrong with it, where, and so the Result-Code of the answer that refuses it.
    pub fn decode(bytes: &[u8]) -> Result<(Header, Self), DecodeError> {
        let raw = RawMessage::read(bytes)?;
        let read = Self::read_body(&raw.header, raw.avps()).or_else(|error| {
            // A peer that could not read a request may not be able to answer as its command wants (RFC 6733, 7.1.5).
            let lacks = matches!(error.problem, Problem::Missing | Problem::Command { request: false, .. });
            if raw.header.is_request() || !lacks {
                return Err(error);
            }
            let failure = ErrorAnswer::read_avps(raw.avps()).map_err(|_| error)?;
            if failure.result_code.is_success() { Err(error) } else { Ok(Self::Error(failure)) }
        });
        Ok((raw.header, read?))
    }

    /// The header of a new request; its numbers are still zero. For an answer take [`Header::answer`] of the request.
    pub fn request_header(&self) -> Header {
        let (command, _, proxiable) = self.kind().unwrap_or((CommandCode::AA, false, false));
        Header::request(command, self.application(), proxiable)
    }

    /// The application that a request belongs to.
    fn application(&self) -> ApplicationId {
        ApplicationId(match self {
            Self::AaRequest(body) => body.auth_application_id,
            Self::ReAuthRequest(body) => body.auth_application_id,
            Self::AbortSessionRequest(body) => body.auth_application_id,
            Self::SessionTerminationRequest(body) => body.auth_application_id,
            Self::AccountingRequest(body) => body.acct_application_id.unwrap_or(ApplicationId::ACCOUNTING.0),
            _ => 0,
        })
    }

    /// Appends the message. Command and R flag are those of the message, all else is that of the header, as far as the flags
    /// may be together.
    ///
    /// # Errors
    /// The message is longer than a length can say; `out` is as before.
    pub fn encode(&self, header: &Header, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut header = *header;
        match self.kind() {
            Some((command, request, _)) => {
                header.command = command;
                header.flags = if request {
                    header.flags.with(Flags::REQUEST).without(Flags::ERROR)
                } else {
                    header.flags.without(Flags::REQUEST).without(Flags::ERROR).without(Flags::RETRANSMITTED)
                };
            }
            // With or without the error bit, as the header says.
            None => {
                header.flags = header.flags.without(Flags::REQUEST).without(Flags::RETRANSMITTED);
            }
        }
        let start = out.len();
        header.write(HEADER_LEN, out);
        self.write_body(out);
        let len = out.len().saturating_sub(start);
        if len > LONGEST {
            out.truncate(start);
            return Err(EncodeError::TooLong(len));
        }
        let [_, high, middle, low] = (len as u32).to_be_bytes();
        if let Some(place) = out.get_mut(start.saturating_add(1)..start.saturating_add(4)) {
            place.copy_from_slice(&[high, middle, low]);
        }
        Ok(())
    }
}
