//! Multipart messages: questions whose answers may need several messages. OpenFlow 1.3.5, 7.3.5.
mod reply;
mod statistics;

pub use reply::MultipartReply;
pub use statistics::{
    AggregateStats, Description, FlowStats, GroupDescription, GroupFeatures, GroupStats, MeterConfig,
    MeterFeatures, MeterStats, PortStats, QueueStats, TableStats, Traffic,
};

use alloc::vec::Vec;

use crate::matching::Match;
use crate::read::{Problem, Reader, Result};
use crate::words::{GroupId, MeterId, PortNo, QueueId, TableId, choice};
use crate::write::Put;

choice! {
    /// What is asked for.
    MultipartType(u16) {
        /// Manufacturers and versions.
        Description = 0,
        /// Flows.
        Flow = 1,
        /// Sums over flows.
        Aggregate = 2,
        /// Tables.
        Table = 3,
        /// Counters of ports.
        PortStats = 4,
        /// Counters of queues.
        Queue = 5,
        /// Counters of groups.
        Group = 6,
        /// What groups are.
        GroupDescription = 7,
        /// What groups can be.
        GroupFeatures = 8,
        /// Counters of meters.
        Meter = 9,
        /// What meters are.
        MeterConfig = 10,
        /// What meters can be.
        MeterFeatures = 11,
        /// What tables can be; kept unread.
        TableFeatures = 12,
        /// What ports are.
        PortDescription = 13,
        /// Something that the specification leaves to others.
        Experimenter = 0xffff,
    }
}

/// The flag of a message that is not the last of its request or reply.
const MORE: u16 = 1;

/// Which flows are asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowFilter {
    /// Of this table, or of `ALL`.
    pub table: TableId,
    /// That send to this port, or `ANY`.
    pub out_port: PortNo,
    /// That send to this group, or `ANY`.
    pub out_group: GroupId,
    /// Bits of the cookie.
    pub cookie: u64,
    /// Which bits of the cookie count.
    pub cookie_mask: u64,
    /// That this match covers.
    pub matching: Match,
}

impl FlowFilter {
    /// All flows of all tables.
    pub const ALL: Self = Self {
        table: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        cookie: 0,
        cookie_mask: 0,
        matching: Match::new(),
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let (out_port, out_group) = (PortNo(reader.u32()?), GroupId(reader.u32()?));
        reader.skip(4)?;
        let (cookie, cookie_mask) = (reader.u64()?, reader.u64()?);
        Ok(Self { table, out_port, out_group, cookie, cookie_mask, matching: Match::read(reader)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.u8(self.table.0);
        out.zeros(3);
        out.u32(self.out_port.0);
        out.u32(self.out_group.0);
        out.zeros(4);
        out.u64(self.cookie);
        out.u64(self.cookie_mask);
        self.matching.write(out);
    }
}

/// A question.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MultipartRequest {
    /// Manufacturers and versions.
    Description,
    /// Flows.
    Flow(FlowFilter),
    /// Sums over flows.
    Aggregate(FlowFilter),
    /// Tables.
    Table,
    /// Counters of a port, or of `ANY`.
    PortStats(PortNo),
    /// Counters of a queue of a port; `ANY` and `ALL` for all.
    Queue(PortNo, QueueId),
    /// Counters of a group, or of `ALL`.
    Group(GroupId),
    /// What groups are.
    GroupDescription,
    /// What groups can be.
    GroupFeatures,
    /// Counters of a meter, or of `ALL`.
    Meter(MeterId),
    /// What a meter is, or `ALL`.
    MeterConfig(MeterId),
    /// What meters can be.
    MeterFeatures,
    /// What tables can be: a body of bytes; empty asks and changes nothing.
    TableFeatures(Vec<u8>),
    /// What ports are.
    PortDescription,
    /// Something that the specification leaves to others.
    Experimenter {
        /// Who says what it means.
        experimenter: u32,
        /// The experimenter's type.
        kind: u32,
        /// What it is.
        data: Vec<u8>,
    },
}

impl MultipartRequest {
    /// What is asked for.
    pub const fn kind(&self) -> MultipartType {
        match self {
            Self::Description => MultipartType::Description,
            Self::Flow(_) => MultipartType::Flow,
            Self::Aggregate(_) => MultipartType::Aggregate,
            Self::Table => MultipartType::Table,
            Self::PortStats(_) => MultipartType::PortStats,
            Self::Queue(..) => MultipartType::Queue,
            Self::Group(_) => MultipartType::Group,
            Self::GroupDescription => MultipartType::GroupDescription,
            Self::GroupFeatures => MultipartType::GroupFeatures,
            Self::Meter(_) => MultipartType::Meter,
            Self::MeterConfig(_) => MultipartType::MeterConfig,
            Self::MeterFeatures => MultipartType::MeterFeatures,
            Self::TableFeatures(_) => MultipartType::TableFeatures,
            Self::PortDescription => MultipartType::PortDescription,
            Self::Experimenter { .. } => MultipartType::Experimenter,
        }
    }

    /// Reads a body, and whether more follows.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<(bool, Self)> {
        let (more, kind) = read_header(reader)?;
        let padded = |reader: &mut Reader<'_>| {
            let word = reader.u32()?;
            reader.skip(4).map(|()| word)
        };
        let request = match kind {
            MultipartType::Description => Self::Description,
            MultipartType::Flow => Self::Flow(FlowFilter::read(reader)?),
            MultipartType::Aggregate => Self::Aggregate(FlowFilter::read(reader)?),
            MultipartType::Table => Self::Table,
            MultipartType::PortStats => Self::PortStats(PortNo(padded(reader)?)),
            MultipartType::Queue => Self::Queue(PortNo(reader.u32()?), QueueId(reader.u32()?)),
            MultipartType::Group => Self::Group(GroupId(padded(reader)?)),
            MultipartType::GroupDescription => Self::GroupDescription,
            MultipartType::GroupFeatures => Self::GroupFeatures,
            MultipartType::Meter => Self::Meter(MeterId(padded(reader)?)),
            MultipartType::MeterConfig => Self::MeterConfig(MeterId(padded(reader)?)),
            MultipartType::MeterFeatures => Self::MeterFeatures,
            MultipartType::TableFeatures => Self::TableFeatures(reader.rest_owned()),
            MultipartType::PortDescription => Self::PortDescription,
            MultipartType::Experimenter => {
                let (experimenter, kind) = (reader.u32()?, reader.u32()?);
                Self::Experimenter { experimenter, kind, data: reader.rest_owned() }
            }
        };
        Ok((more, request))
    }

    pub(crate) fn write(&self, more: bool, out: &mut Vec<u8>) {
        write_header(self.kind(), more, out);
        match self {
            Self::Flow(filter) | Self::Aggregate(filter) => filter.write(out),
            Self::PortStats(port) => {
                out.u32(port.0);
                out.zeros(4);
            }
            Self::Queue(port, queue) => {
                out.u32(port.0);
                out.u32(queue.0);
            }
            Self::Group(group) => {
                out.u32(group.0);
                out.zeros(4);
            }
            Self::Meter(meter) | Self::MeterConfig(meter) => {
                out.u32(meter.0);
                out.zeros(4);
            }
            Self::TableFeatures(body) => out.octets(body),
            Self::Experimenter { experimenter, kind, data } => {
                out.u32(*experimenter);
                out.u32(*kind);
                out.octets(data);
            }
            Self::Description | Self::Table | Self::GroupDescription | Self::GroupFeatures => {}
            Self::MeterFeatures | Self::PortDescription => {}
        }
    }
}

fn read_header(reader: &mut Reader<'_>) -> Result<(bool, MultipartType)> {
    let start = reader.clone();
    let number = reader.u16()?;
    let kind =
        MultipartType::from_number(number).ok_or(start.error(Problem::UnknownType("multipart", number)))?;
    let flags = reader.u16()?;
    reader.skip(4)?;
    Ok((flags & MORE != 0, kind))
}

fn write_header(kind: MultipartType, more: bool, out: &mut Vec<u8>) {
    out.u16(kind.number());
    out.u16(if more { MORE } else { 0 });
    out.zeros(4);
}
