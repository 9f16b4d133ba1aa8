//! Meters: token buckets that drop or remark. OpenFlow 1.3.5, 7.3.4.4.
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::read::{Problem, Reader, Result};
use crate::words::{MeterId, choice, flags};
use crate::write::Put;

choice! {
    /// What is done with a meter.
    MeterCommand(u16) {
        /// A new meter.
        Add = 0,
        /// Other bands.
        Modify = 1,
        /// Away with it, and with the flows that use it.
        Delete = 2,
    }
}

flags! {
    /// How a meter counts.
    MeterFlags(u16) {
        /// Rates in kbit/s, bursts in kbit.
        KBPS = 1;
        /// Rates in packets per second, bursts in packets.
        PKTPS = 1 << 1;
        /// The bursts of the bands count. Without it Open vSwitch lets a whole second of rate through at once.
        BURST = 1 << 2;
        /// Statistics are collected.
        STATS = 1 << 3;
    }
}

/// What a band does with what is above its rate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BandKind {
    /// Drops it.
    Drop,
    /// Raises its drop precedence in the DSCP by as many levels.
    DscpRemark(u8),
    /// Something that the specification leaves to others.
    Experimenter {
        /// Who says what it means.
        experimenter: u32,
        /// What it is. On the wire it is padded to a multiple of eight bytes, and read with the padding.
        data: Box<[u8]>,
    },
}

/// A token bucket of a meter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Band {
    /// What is done with what is above.
    pub kind: BandKind,
    /// Rate, in the unit of the meter.
    pub rate: u32,
    /// Burst, in the unit of the meter.
    pub burst: u32,
}

impl Band {
    /// A band that drops.
    pub const fn drop(rate: u32, burst: u32) -> Self {
        Self { kind: BandKind::Drop, rate, burst }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let mut band = reader.counted(2, 16)?;
        let number = band.u16()?;
        band.skip(2)?;
        let (rate, burst) = (band.u32()?, band.u32()?);
        let kind = match number {
            1 => band.skip(4).map(|()| BandKind::Drop)?,
            2 => {
                let [level, ..] = band.array::<4>()?;
                BandKind::DscpRemark(level)
            }
            0xffff => BandKind::Experimenter { experimenter: band.u32()?, data: band.rest().into() },
            _ => return Err(start.error(Problem::UnknownType("band", number))),
        };
        band.finish()?;
        Ok(Self { kind, rate, burst })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(match self.kind {
            BandKind::Drop => 1,
            BandKind::DscpRemark(_) => 2,
            BandKind::Experimenter { .. } => 0xffff,
        });
        out.u16(0);
        out.u32(self.rate);
        out.u32(self.burst);
        match &self.kind {
            BandKind::Drop => out.zeros(4),
            BandKind::DscpRemark(level) => {
                out.u8(*level);
                out.zeros(3);
            }
            BandKind::Experimenter { experimenter, data } => {
                out.u32(*experimenter);
                out.octets(data);
                out.pad_8(start);
            }
        }
        out.fill_len(start, start.saturating_add(2));
    }

    pub(crate) fn read_list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        reader.list(|ahead| ahead.peek_u16(2).map(usize::from), Self::read)
    }

    pub(crate) fn write_list(list: &[Self], out: &mut Vec<u8>) {
        for band in list {
            band.write(out);
        }
    }
}

/// METER_MOD: changes a meter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeterMod {
    /// What is done.
    pub command: MeterCommand,
    /// How it counts.
    pub flags: MeterFlags,
    /// Which meter; `ALL` in deletions.
    pub meter: MeterId,
    /// Its bands; none in deletions.
    pub bands: Vec<Band>,
}

impl MeterMod {
    /// Deletes a meter, or all.
    pub const fn delete(meter: MeterId) -> Self {
        Self { command: MeterCommand::Delete, flags: MeterFlags::NONE, meter, bands: Vec::new() }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let command = MeterCommand::from_number(reader.u16()?);
        Ok(Self {
            command: command.ok_or(start.error(Problem::Value("meter command")))?,
            flags: MeterFlags(reader.u16()?),
            meter: MeterId(reader.u32()?),
            bands: Band::read_list(reader)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.command.number());
        out.u16(self.flags.0);
        out.u32(self.meter.0);
        Band::write_list(&self.bands, out);
    }
}
