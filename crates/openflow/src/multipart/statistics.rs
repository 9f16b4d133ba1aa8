//! The parts of multipart replies. OpenFlow 1.3.5, 7.3.5.
use alloc::vec::Vec;

use crate::flow::FlowFlags;
use crate::group::{Bucket, GroupType};
use crate::instruction::Instruction;
use crate::matching::Match;
use crate::meter::{Band, MeterFlags};
use crate::port::{put_text, text};
use crate::read::{Problem, Reader, Result};
use crate::words::{Age, GroupId, MeterId, PortNo, QueueId, TableId};
use crate::write::Put;

/// Manufacturers and versions; texts are not checked to be UTF-8.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Description {
    /// Who made the switch; at most 255 bytes.
    pub manufacturer: Vec<u8>,
    /// What it is; at most 255 bytes.
    pub hardware: Vec<u8>,
    /// Version of its software; at most 255 bytes.
    pub software: Vec<u8>,
    /// Its serial number; at most 31 bytes.
    pub serial: Vec<u8>,
    /// What people call the data path; at most 255 bytes.
    pub datapath: Vec<u8>,
}

impl Description {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            manufacturer: text(reader.take(256)?),
            hardware: text(reader.take(256)?),
            software: text(reader.take(256)?),
            serial: text(reader.take(32)?),
            datapath: text(reader.take(256)?),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_text(out, &self.manufacturer, 256);
        put_text(out, &self.hardware, 256);
        put_text(out, &self.software, 256);
        put_text(out, &self.serial, 32);
        put_text(out, &self.datapath, 256);
    }
}

/// Packets and bytes that were counted; all ones where the switch does not count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub octets: u64,
}

impl Traffic {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { packets: reader.u64()?, octets: reader.u64()? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.u64(self.packets);
        out.u64(self.octets);
    }

    fn read_list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        reader.list(|_| Ok(16), Self::read)
    }
}

/// A flow that is installed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowStats {
    /// In which table.
    pub table: TableId,
    /// How long it has been there.
    pub age: Age,
    /// Its priority.
    pub priority: u16,
    /// Seconds without a packet after which it goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which it goes; 0 for never.
    pub hard_timeout: u16,
    /// How it is treated.
    pub flags: FlowFlags,
    /// The controller's mark.
    pub cookie: u64,
    /// What it has seen.
    pub traffic: Traffic,
    /// Which packets.
    pub matching: Match,
    /// What is done with them.
    pub instructions: Vec<Instruction>,
}

impl FlowStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut body = reader.counted(0, 56)?;
        body.skip(2)?;
        let table = TableId(body.u8()?);
        body.skip(1)?;
        let age = Age::read(&mut body)?;
        let (priority, idle_timeout, hard_timeout) = (body.u16()?, body.u16()?, body.u16()?);
        let flags = FlowFlags(body.u16()?);
        body.skip(4)?;
        Ok(Self {
            table,
            age,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie: body.u64()?,
            traffic: Traffic::read(&mut body)?,
            matching: Match::read(&mut body)?,
            instructions: Instruction::read_list(&mut body)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(0);
        out.u8(self.table.0);
        out.zeros(1);
        self.age.write(out);
        for word in [self.priority, self.idle_timeout, self.hard_timeout, self.flags.0] {
            out.u16(word);
        }
        out.zeros(4);
        out.u64(self.cookie);
        self.traffic.write(out);
        self.matching.write(out);
        Instruction::write_list(&self.instructions, out);
        out.fill_len(start, start);
    }
}

/// Sums over flows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AggregateStats {
    /// What they have seen.
    pub traffic: Traffic,
    /// How many they are.
    pub flows: u32,
}

impl AggregateStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let read = Self { traffic: Traffic::read(reader)?, flows: reader.u32()? };
        reader.skip(4)?;
        Ok(read)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.traffic.write(out);
        out.u32(self.flows);
        out.zeros(4);
    }
}

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableStats {
    /// Which one.
    pub table: TableId,
    /// Flows in it.
    pub active: u32,
    /// Packets that were looked up.
    pub lookups: u64,
    /// Packets that matched.
    pub matched: u64,
}

impl TableStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        Ok(Self { table, active: reader.u32()?, lookups: reader.u64()?, matched: reader.u64()? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u8(self.table.0);
        out.zeros(3);
        out.u32(self.active);
        out.u64(self.lookups);
        out.u64(self.matched);
    }
}

/// Counters of a port; all ones where the switch does not count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortStats {
    /// Which port.
    pub port: PortNo,
    /// Came in.
    pub received: Traffic,
    /// Went out.
    pub sent: Traffic,
    /// Packets that came in and were dropped.
    pub receive_dropped: u64,
    /// Packets that should go out and were dropped.
    pub send_dropped: u64,
    /// Errors of receiving, of which the next three are kinds.
    pub receive_errors: u64,
    /// Errors of sending.
    pub send_errors: u64,
    /// Errors of alignment.
    pub frame_errors: u64,
    /// Packets that found no room.
    pub overruns: u64,
    /// Wrong checksums.
    pub crc_errors: u64,
    /// Collisions.
    pub collisions: u64,
    /// How long it has been there.
    pub age: Age,
}

impl PortStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let port = PortNo(reader.u32()?);
        reader.skip(4)?;
        let (packets_in, packets_out) = (reader.u64()?, reader.u64()?);
        let (octets_in, octets_out) = (reader.u64()?, reader.u64()?);
        Ok(Self {
            port,
            received: Traffic { packets: packets_in, octets: octets_in },
            sent: Traffic { packets: packets_out, octets: octets_out },
            receive_dropped: reader.u64()?,
            send_dropped: reader.u64()?,
            receive_errors: reader.u64()?,
            send_errors: reader.u64()?,
            frame_errors: reader.u64()?,
            overruns: reader.u64()?,
            crc_errors: reader.u64()?,
            collisions: reader.u64()?,
            age: Age::read(reader)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.port.0);
        out.zeros(4);
        let traffic = [self.received.packets, self.sent.packets, self.received.octets, self.sent.octets];
        let dropped = [self.receive_dropped, self.send_dropped, self.receive_errors, self.send_errors];
        let errors = [self.frame_errors, self.overruns, self.crc_errors, self.collisions];
        for counter in traffic.into_iter().chain(dropped).chain(errors) {
            out.u64(counter);
        }
        self.age.write(out);
    }
}

/// Counters of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueueStats {
    /// Of which port.
    pub port: PortNo,
    /// Which queue.
    pub queue: QueueId,
    /// Went out.
    pub sent: Traffic,
    /// Packets that found no room.
    pub errors: u64,
    /// How long it has been there. Open vSwitch gives nonsense.
    pub age: Age,
}

impl QueueStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (port, queue) = (PortNo(reader.u32()?), QueueId(reader.u32()?));
        let (octets, packets) = (reader.u64()?, reader.u64()?);
        let sent = Traffic { packets, octets };
        Ok(Self { port, queue, sent, errors: reader.u64()?, age: Age::read(reader)? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.port.0);
        out.u32(self.queue.0);
        out.u64(self.sent.octets);
        out.u64(self.sent.packets);
        out.u64(self.errors);
        self.age.write(out);
    }
}

/// Counters of a group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroupStats {
    /// Which group.
    pub group: GroupId,
    /// Flows and groups that send to it.
    pub references: u32,
    /// What it has seen.
    pub traffic: Traffic,
    /// How long it has been there.
    pub age: Age,
    /// What its buckets have seen.
    pub buckets: Vec<Traffic>,
}

impl GroupStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut body = reader.counted(0, 40)?;
        body.skip(4)?;
        let (group, references) = (GroupId(body.u32()?), body.u32()?);
        body.skip(4)?;
        let (traffic, age) = (Traffic::read(&mut body)?, Age::read(&mut body)?);
        Ok(Self { group, references, traffic, age, buckets: Traffic::read_list(&mut body)? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.zeros(4);
        out.u32(self.group.0);
        out.u32(self.references);
        out.zeros(4);
        self.traffic.write(out);
        self.age.write(out);
        for bucket in &self.buckets {
            bucket.write(out);
        }
        out.fill_len(start, start);
    }
}

/// What a group is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroupDescription {
    /// Which buckets packets go through.
    pub kind: GroupType,
    /// Which group.
    pub group: GroupId,
    /// Its buckets.
    pub buckets: Vec<Bucket>,
}

impl GroupDescription {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let mut body = reader.counted(0, 8)?;
        body.skip(2)?;
        let kind = GroupType::from_number(body.u8()?).ok_or(start.error(Problem::Value("group type")))?;
        body.skip(1)?;
        Ok(Self { kind, group: GroupId(body.u32()?), buckets: Bucket::read_list(&mut body)? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(0);
        out.u8(self.kind.number());
        out.zeros(1);
        out.u32(self.group.0);
        Bucket::write_list(&self.buckets, out);
        out.fill_len(start, start);
    }
}

/// What groups can be. Lists of four are by [`GroupType`], bits `1 << number`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupFeatures {
    /// Types that there are, as bits.
    pub types: u32,
    /// Weights (1), liveness (2), chaining (4), checks of chaining (8).
    pub capabilities: u32,
    /// The most groups of each type.
    pub max_groups: [u32; 4],
    /// Actions of each type, as bits of their numbers.
    pub actions: [u32; 4],
}

impl GroupFeatures {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (types, capabilities) = (reader.u32()?, reader.u32()?);
        let mut words = [[0; 4]; 2];
        for word in words.iter_mut().flatten() {
            *word = reader.u32()?;
        }
        let [max_groups, actions] = words;
        Ok(Self { types, capabilities, max_groups, actions })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let words = [self.types, self.capabilities].into_iter().chain(self.max_groups).chain(self.actions);
        for word in words {
            out.u32(word);
        }
    }
}

/// Counters of a meter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeterStats {
    /// Which meter.
    pub meter: MeterId,
    /// Flows that go through it.
    pub flows: u32,
    /// What it has seen.
    pub traffic: Traffic,
    /// How long it has been there.
    pub age: Age,
    /// What was above the rates of its bands.
    pub bands: Vec<Traffic>,
}

impl MeterStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut body = reader.counted(4, 40)?;
        let meter = MeterId(body.u32()?);
        body.skip(8)?;
        let flows = body.u32()?;
        let (traffic, age) = (Traffic::read(&mut body)?, Age::read(&mut body)?);
        Ok(Self { meter, flows, traffic, age, bands: Traffic::read_list(&mut body)? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u32(self.meter.0);
        out.zeros(8);
        out.u32(self.flows);
        self.traffic.write(out);
        self.age.write(out);
        for band in &self.bands {
            band.write(out);
        }
        out.fill_len(start, start.saturating_add(4));
    }
}

/// What a meter is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeterConfig {
    /// How it counts.
    pub flags: MeterFlags,
    /// Which meter.
    pub meter: MeterId,
    /// Its bands.
    pub bands: Vec<Band>,
}

impl MeterConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut body = reader.counted(0, 8)?;
        body.skip(2)?;
        let (flags, meter) = (MeterFlags(body.u16()?), MeterId(body.u32()?));
        Ok(Self { flags, meter, bands: Band::read_list(&mut body)? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(0);
        out.u16(self.flags.0);
        out.u32(self.meter.0);
        Band::write_list(&self.bands, out);
        out.fill_len(start, start);
    }
}

/// What meters can be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MeterFeatures {
    /// The most meters.
    pub max_meters: u32,
    /// Kinds of bands, as bits `1 << number`: 2 drop, 4 remark.
    pub band_types: u32,
    /// Flags of meters, as in [`MeterFlags`].
    pub capabilities: u32,
    /// The most bands of a meter.
    pub max_bands: u8,
    /// The highest color.
    pub max_color: u8,
}

impl MeterFeatures {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (max_meters, band_types, capabilities) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (max_bands, max_color) = (reader.u8()?, reader.u8()?);
        reader.skip(2)?;
        Ok(Self { max_meters, band_types, capabilities, max_bands, max_color })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for word in [self.max_meters, self.band_types, self.capabilities] {
            out.u32(word);
        }
        out.u8(self.max_bands);
        out.u8(self.max_color);
        out.zeros(2);
    }
}
