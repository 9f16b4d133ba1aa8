//! Answers to multipart requests, which may come in several messages. OpenFlow 1.3.5, 7.3.5.
use alloc::vec::Vec;

use super::statistics::{
    AggregateStats, Description, FlowStats, GroupDescription, GroupFeatures, GroupStats, MeterConfig,
    MeterFeatures, MeterStats, PortStats, QueueStats, TableStats,
};
use super::{MultipartType, read_header, write_header};
use crate::port::Port;
use crate::read::{Reader, Result};
use crate::write::Put;

/// An answer, or a part of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MultipartReply {
    /// Manufacturers and versions.
    Description(Description),
    /// Flows.
    Flow(Vec<FlowStats>),
    /// Sums over flows.
    Aggregate(AggregateStats),
    /// Tables.
    Table(Vec<TableStats>),
    /// Counters of ports.
    PortStats(Vec<PortStats>),
    /// Counters of queues.
    Queue(Vec<QueueStats>),
    /// Counters of groups.
    Group(Vec<GroupStats>),
    /// What groups are.
    GroupDescription(Vec<GroupDescription>),
    /// What groups can be.
    GroupFeatures(GroupFeatures),
    /// Counters of meters.
    Meter(Vec<MeterStats>),
    /// What meters are.
    MeterConfig(Vec<MeterConfig>),
    /// What meters can be.
    MeterFeatures(MeterFeatures),
    /// What tables can be, as bytes.
    TableFeatures(Vec<u8>),
    /// What ports are.
    PortDescription(Vec<Port>),
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

impl MultipartReply {
    /// What was asked for.
    pub const fn kind(&self) -> MultipartType {
        match self {
            Self::Description(_) => MultipartType::Description,
            Self::Flow(_) => MultipartType::Flow,
            Self::Aggregate(_) => MultipartType::Aggregate,
            Self::Table(_) => MultipartType::Table,
            Self::PortStats(_) => MultipartType::PortStats,
            Self::Queue(_) => MultipartType::Queue,
            Self::Group(_) => MultipartType::Group,
            Self::GroupDescription(_) => MultipartType::GroupDescription,
            Self::GroupFeatures(_) => MultipartType::GroupFeatures,
            Self::Meter(_) => MultipartType::Meter,
            Self::MeterConfig(_) => MultipartType::MeterConfig,
            Self::MeterFeatures(_) => MultipartType::MeterFeatures,
            Self::TableFeatures(_) => MultipartType::TableFeatures,
            Self::PortDescription(_) => MultipartType::PortDescription,
            Self::Experimenter { .. } => MultipartType::Experimenter,
        }
    }

    /// Adds the next part of the same answer. False, and nothing added, if it is not of the kind, or of a kind that comes
    /// in one part.
    #[must_use]
    pub fn append(&mut self, next: Self) -> bool {
        match (self, next) {
            (Self::Flow(list), Self::Flow(next)) => list.extend(next),
            (Self::Table(list), Self::Table(next)) => list.extend(next),
            (Self::PortStats(list), Self::PortStats(next)) => list.extend(next),
            (Self::Queue(list), Self::Queue(next)) => list.extend(next),
            (Self::Group(list), Self::Group(next)) => list.extend(next),
            (Self::GroupDescription(list), Self::GroupDescription(next)) => list.extend(next),
            (Self::Meter(list), Self::Meter(next)) => list.extend(next),
            (Self::MeterConfig(list), Self::MeterConfig(next)) => list.extend(next),
            (Self::TableFeatures(list), Self::TableFeatures(next)) => list.extend(next),
            (Self::PortDescription(list), Self::PortDescription(next)) => list.extend(next),
            (
                Self::Experimenter { experimenter, kind, data },
                Self::Experimenter { experimenter: next_experimenter, kind: next_kind, data: next },
            ) if *experimenter == next_experimenter && *kind == next_kind => data.extend(next),
            _ => return false,
        }
        true
    }

    /// Reads a body, and whether more follows.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<(bool, Self)> {
        let (more, kind) = read_header(reader)?;
        let at = |place: usize| move |ahead: &Reader<'_>| ahead.peek_u16(place).map(usize::from);
        let reply = match kind {
            MultipartType::Description => Self::Description(Description::read(reader)?),
            MultipartType::Flow => Self::Flow(reader.list(at(0), FlowStats::read)?),
            MultipartType::Aggregate => Self::Aggregate(AggregateStats::read(reader)?),
            MultipartType::Table => Self::Table(reader.list(|_| Ok(24), TableStats::read)?),
            MultipartType::PortStats => Self::PortStats(reader.list(|_| Ok(112), PortStats::read)?),
            MultipartType::Queue => Self::Queue(reader.list(|_| Ok(40), QueueStats::read)?),
            MultipartType::Group => Self::Group(reader.list(at(0), GroupStats::read)?),
            MultipartType::GroupDescription => {
                Self::GroupDescription(reader.list(at(0), GroupDescription::read)?)
            }
            MultipartType::GroupFeatures => Self::GroupFeatures(GroupFeatures::read(reader)?),
            MultipartType::Meter => Self::Meter(reader.list(at(4), MeterStats::read)?),
            MultipartType::MeterConfig => Self::MeterConfig(reader.list(at(0), MeterConfig::read)?),
            MultipartType::MeterFeatures => Self::MeterFeatures(MeterFeatures::read(reader)?),
            MultipartType::TableFeatures => Self::TableFeatures(reader.rest_owned()),
            MultipartType::PortDescription => {
                Self::PortDescription(reader.list(|_| Ok(Port::LEN), Port::read)?)
            }
            MultipartType::Experimenter => {
                let (experimenter, kind) = (reader.u32()?, reader.u32()?);
                Self::Experimenter { experimenter, kind, data: reader.rest_owned() }
            }
        };
        Ok((more, reply))
    }

    pub(crate) fn write(&self, more: bool, out: &mut Vec<u8>) {
        write_header(self.kind(), more, out);
        match self {
            Self::Description(description) => description.write(out),
            Self::Flow(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::Aggregate(aggregate) => aggregate.write(out),
            Self::Table(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::PortStats(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::Queue(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::Group(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::GroupDescription(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::GroupFeatures(features) => features.write(out),
            Self::Meter(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::MeterConfig(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::MeterFeatures(features) => features.write(out),
            Self::TableFeatures(body) => out.octets(body),
            Self::PortDescription(list) => list.iter().for_each(|entry| entry.write(out)),
            Self::Experimenter { experimenter, kind, data } => {
                out.u32(*experimenter);
                out.u32(*kind);
                out.octets(data);
            }
        }
    }
}
