//! Messages: the header and what follows it. OpenFlow 1.3.5, 7.1.
use alloc::vec::Vec;

use crate::error_code::ErrorMessage;
use crate::flow::{FlowMod, FlowRemoved};
use crate::group::GroupMod;
use crate::hello::{Hello, VERSION};
use crate::meter::MeterMod;
use crate::multipart::{MultipartReply, MultipartRequest};
use crate::packet::{PacketIn, PacketOut};
use crate::port::{PortMod, PortStatus};
use crate::read::{Problem, Reader, Result};
use crate::switch::{AsyncConfig, Features, Queues, Role, SwitchConfig, TableMod};
use crate::words::{PortNo, Xid, choice};
use crate::write::{Put, TooLong};

/// Bytes of the header that every message has.
pub const HEADER_LEN: usize = 8;

choice! {
    /// The type of a message.
    MessageType(u8) {
        /// Versions.
        Hello = 0,
        /// Something went wrong.
        Error = 1,
        /// Are you there?
        EchoRequest = 2,
        /// I am.
        EchoReply = 3,
        /// Something that the specification leaves to others.
        Experimenter = 4,
        /// Who are you?
        FeaturesRequest = 5,
        /// Who the switch is.
        FeaturesReply = 6,
        /// How are you configured?
        GetConfigRequest = 7,
        /// How the switch is configured.
        GetConfigReply = 8,
        /// Another configuration.
        SetConfig = 9,
        /// A packet for the controller.
        PacketIn = 10,
        /// A flow has gone.
        FlowRemoved = 11,
        /// A port has changed.
        PortStatus = 12,
        /// A packet of the controller.
        PacketOut = 13,
        /// Changes flows.
        FlowMod = 14,
        /// Changes a group.
        GroupMod = 15,
        /// Changes a port.
        PortMod = 16,
        /// Changes a table.
        TableMod = 17,
        /// A question.
        MultipartRequest = 18,
        /// An answer, or a part of it.
        MultipartReply = 19,
        /// Tell when you have done all before this.
        BarrierRequest = 20,
        /// All before it is done.
        BarrierReply = 21,
        /// Which queues has a port?
        QueueGetConfigRequest = 22,
        /// The queues of a port.
        QueueGetConfigReply = 23,
        /// The controller's role.
        RoleRequest = 24,
        /// The role now.
        RoleReply = 25,
        /// What do you tell unasked?
        GetAsyncRequest = 26,
        /// What the switch tells unasked.
        GetAsyncReply = 27,
        /// What to tell unasked.
        SetAsync = 28,
        /// Changes a meter.
        MeterMod = 29,
    }
}

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// The version that the message is in; 4 is 1.3.
    pub version: u8,
    /// The number of its type, [`MessageType`].
    pub kind: u8,
    /// Bytes of the whole message, 8 or more.
    pub len: u16,
    /// The transaction.
    pub xid: Xid,
}

impl Header {
    /// Reads the first bytes of a message; its length is not compared with the bytes that follow.
    ///
    /// # Errors
    /// Fewer than eight bytes, or a length below eight.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let (version, kind) = (reader.u8()?, reader.u8()?);
        let place = reader.clone();
        let len = reader.u16()?;
        if usize::from(len) < HEADER_LEN {
            return Err(place.error(Problem::Length));
        }
        Ok(Self { version, kind, len, xid: Xid(reader.u32()?) })
    }
}

/// What a message says, without its transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Versions.
    Hello(Hello),
    /// Something went wrong.
    Error(ErrorMessage),
    /// Are you there? The bytes come back.
    EchoRequest(Vec<u8>),
    /// The bytes of the request.
    EchoReply(Vec<u8>),
    /// Something that the specification leaves to others, kept unread.
    Experimenter {
        /// Who says what it means.
        experimenter: u32,
        /// The experimenter's type.
        kind: u32,
        /// What it is.
        data: Vec<u8>,
    },
    /// Who are you?
    FeaturesRequest,
    /// Who the switch is.
    FeaturesReply(Features),
    /// How are you configured?
    GetConfigRequest,
    /// How the switch is configured.
    GetConfigReply(SwitchConfig),
    /// Another configuration.
    SetConfig(SwitchConfig),
    /// A packet for the controller.
    PacketIn(PacketIn),
    /// A flow has gone.
    FlowRemoved(FlowRemoved),
    /// A port has changed.
    PortStatus(PortStatus),
    /// A packet of the controller.
    PacketOut(PacketOut),
    /// Changes flows.
    FlowMod(FlowMod),
    /// Changes a group.
    GroupMod(GroupMod),
    /// Changes a port.
    PortMod(PortMod),
    /// Changes a table.
    TableMod(TableMod),
    /// A question.
    MultipartRequest {
        /// True if more of it follows.
        more: bool,
        /// What is asked for.
        request: MultipartRequest,
    },
    /// An answer.
    MultipartReply {
        /// True if more of it follows.
        more: bool,
        /// The answer, or this part of it.
        reply: MultipartReply,
    },
    /// Tell when you have done all before this.
    BarrierRequest,
    /// All before it is done.
    BarrierReply,
    /// Which queues has this port, or `ANY`?
    QueueGetConfigRequest(PortNo),
    /// The queues of a port.
    QueueGetConfigReply(Queues),
    /// The controller's role.
    RoleRequest(Role),
    /// The role now.
    RoleReply(Role),
    /// What do you tell unasked?
    GetAsyncRequest,
    /// What the switch tells unasked.
    GetAsyncReply(AsyncConfig),
    /// What to tell unasked.
    SetAsync(AsyncConfig),
    /// Changes a meter.
    MeterMod(MeterMod),
}

impl Message {
    /// Asks a question that fits into one message, as all of OpenFlow 1.3 do but TABLE_FEATURES.
    pub const fn ask(request: MultipartRequest) -> Self {
        Self::MultipartRequest { more: false, request }
    }

    /// Reads one whole message: no byte more or less than its header says.
    ///
    /// # Errors
    /// Where and why it is no message of OpenFlow 1.3. HELLO is read in every version, ERROR in 1.3 and in the version of
    /// a side that does not speak it.
    pub fn decode(bytes: &[u8]) -> Result<(Xid, Self)> {
        let header = Header::read(bytes)?;
        let mut reader = Reader::new(bytes);
        reader.skip(HEADER_LEN)?;
        if usize::from(header.len) != bytes.len() {
            return Err(Reader::new(bytes).error(Problem::Length));
        }
        let kind = MessageType::from_number(header.kind);
        let any_version = matches!(kind, Some(MessageType::Hello | MessageType::Error));
        if header.version != VERSION && !any_version {
            return Err(Reader::new(bytes).error(Problem::Version(header.version)));
        }
        let unknown = Problem::UnknownType("message", u16::from(header.kind));
        let kind = kind.ok_or(Reader::new(bytes).error(unknown))?;
        let message = Self::read_body(kind, header.version, &mut reader)?;
        reader.finish()?;
        Ok((header.xid, message))
    }

    fn read_body(kind: MessageType, version: u8, reader: &mut Reader<'_>) -> Result<Self> {
        Ok(match kind {
            MessageType::Hello => Self::Hello(Hello::read(version, reader)?),
            MessageType::Error => Self::Error(ErrorMessage::read(reader)?),
            MessageType::EchoRequest => Self::EchoRequest(reader.rest_owned()),
            MessageType::EchoReply => Self::EchoReply(reader.rest_owned()),
            MessageType::Experimenter => {
                let (experimenter, kind) = (reader.u32()?, reader.u32()?);
                Self::Experimenter { experimenter, kind, data: reader.rest_owned() }
            }
            MessageType::FeaturesRequest => Self::FeaturesRequest,
            MessageType::FeaturesReply => Self::FeaturesReply(Features::read(reader)?),
            MessageType::GetConfigRequest => Self::GetConfigRequest,
            MessageType::GetConfigReply => Self::GetConfigReply(SwitchConfig::read(reader)?),
            MessageType::SetConfig => Self::SetConfig(SwitchConfig::read(reader)?),
            MessageType::PacketIn => Self::PacketIn(PacketIn::read(reader)?),
            MessageType::FlowRemoved => Self::FlowRemoved(FlowRemoved::read(reader)?),
            MessageType::PortStatus => Self::PortStatus(PortStatus::read(reader)?),
            MessageType::PacketOut => Self::PacketOut(PacketOut::read(reader)?),
            MessageType::FlowMod => Self::FlowMod(FlowMod::read(reader)?),
            MessageType::GroupMod => Self::GroupMod(GroupMod::read(reader)?),
            MessageType::PortMod => Self::PortMod(PortMod::read(reader)?),
            MessageType::TableMod => Self::TableMod(TableMod::read(reader)?),
            MessageType::MultipartRequest => {
                let (more, request) = MultipartRequest::read(reader)?;
                Self::MultipartRequest { more, request }
            }
            MessageType::MultipartReply => {
                let (more, reply) = MultipartReply::read(reader)?;
                Self::MultipartReply { more, reply }
            }
            MessageType::BarrierRequest => Self::BarrierRequest,
            MessageType::BarrierReply => Self::BarrierReply,
            MessageType::QueueGetConfigRequest => {
                let port = PortNo(reader.u32()?);
                reader.skip(4)?;
                Self::QueueGetConfigRequest(port)
            }
            MessageType::QueueGetConfigReply => Self::QueueGetConfigReply(Queues::read(reader)?),
            MessageType::RoleRequest => Self::RoleRequest(Role::read(reader)?),
            MessageType::RoleReply => Self::RoleReply(Role::read(reader)?),
            MessageType::GetAsyncRequest => Self::GetAsyncRequest,
            MessageType::GetAsyncReply => Self::GetAsyncReply(AsyncConfig::read(reader)?),
            MessageType::SetAsync => Self::SetAsync(AsyncConfig::read(reader)?),
            MessageType::MeterMod => Self::MeterMod(MeterMod::read(reader)?),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Errors
    /// More than 65,535 bytes; `out` is then as it was.
    pub fn encode(&self, xid: Xid, out: &mut Vec<u8>) -> core::result::Result<(), TooLong> {
        let start = out.len();
        out.u8(if let Self::Hello(hello) = self { hello.version } else { VERSION });
        out.u8(self.kind().number());
        out.u16(0);
        out.u32(xid.0);
        self.write_body(out);
        let len = out.len().saturating_sub(start);
        if len > usize::from(u16::MAX) {
            out.truncate(start);
            return Err(TooLong { len });
        }
        out.fill_len(start, start.saturating_add(2));
        Ok(())
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => hello.write(out),
            Self::Error(error) => error.write(out),
            Self::EchoRequest(data) | Self::EchoReply(data) => out.octets(data),
            Self::Experimenter { experimenter, kind, data } => {
                out.u32(*experimenter);
                out.u32(*kind);
                out.octets(data);
            }
            Self::FeaturesRequest | Self::GetConfigRequest | Self::GetAsyncRequest => {}
            Self::BarrierRequest | Self::BarrierReply => {}
            Self::FeaturesReply(features) => features.write(out),
            Self::GetConfigReply(config) | Self::SetConfig(config) => config.write(out),
            Self::PacketIn(packet) => packet.write(out),
            Self::FlowRemoved(removed) => removed.write(out),
            Self::PortStatus(status) => status.write(out),
            Self::PacketOut(packet) => packet.write(out),
            Self::FlowMod(change) => change.write(out),
            Self::GroupMod(change) => change.write(out),
            Self::PortMod(change) => change.write(out),
            Self::TableMod(change) => change.write(out),
            Self::MultipartRequest { more, request } => request.write(*more, out),
            Self::MultipartReply { more, reply } => reply.write(*more, out),
            Self::QueueGetConfigRequest(port) => {
                out.u32(port.0);
                out.zeros(4);
            }
            Self::QueueGetConfigReply(queues) => queues.write(out),
            Self::RoleRequest(role) | Self::RoleReply(role) => role.write(out),
            Self::GetAsyncReply(config) | Self::SetAsync(config) => config.write(out),
            Self::MeterMod(change) => change.write(out),
        }
    }

    /// Its type.
    pub const fn kind(&self) -> MessageType {
        match self {
            Self::Hello(_) => MessageType::Hello,
            Self::Error(_) => MessageType::Error,
            Self::EchoRequest(_) => MessageType::EchoRequest,
            Self::EchoReply(_) => MessageType::EchoReply,
            Self::Experimenter { .. } => MessageType::Experimenter,
            Self::FeaturesRequest => MessageType::FeaturesRequest,
            Self::FeaturesReply(_) => MessageType::FeaturesReply,
            Self::GetConfigRequest => MessageType::GetConfigRequest,
            Self::GetConfigReply(_) => MessageType::GetConfigReply,
            Self::SetConfig(_) => MessageType::SetConfig,
            Self::PacketIn(_) => MessageType::PacketIn,
            Self::FlowRemoved(_) => MessageType::FlowRemoved,
            Self::PortStatus(_) => MessageType::PortStatus,
            Self::PacketOut(_) => MessageType::PacketOut,
            Self::FlowMod(_) => MessageType::FlowMod,
            Self::GroupMod(_) => MessageType::GroupMod,
            Self::PortMod(_) => MessageType::PortMod,
            Self::TableMod(_) => MessageType::TableMod,
            Self::MultipartRequest { .. } => MessageType::MultipartRequest,
            Self::MultipartReply { .. } => MessageType::MultipartReply,
            Self::BarrierRequest => MessageType::BarrierRequest,
            Self::BarrierReply => MessageType::BarrierReply,
            Self::QueueGetConfigRequest(_) => MessageType::QueueGetConfigRequest,
            Self::QueueGetConfigReply(_) => MessageType::QueueGetConfigReply,
            Self::RoleRequest(_) => MessageType::RoleRequest,
            Self::RoleReply(_) => MessageType::RoleReply,
            Self::GetAsyncRequest => MessageType::GetAsyncRequest,
            Self::GetAsyncReply(_) => MessageType::GetAsyncReply,
            Self::SetAsync(_) => MessageType::SetAsync,
            Self::MeterMod(_) => MessageType::MeterMod,
        }
    }
}
