//! Instructions: what a flow does with its packets. OpenFlow 1.3.5, 7.2.4.
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::action::Action;
use crate::read::{Problem, Reader, Result};
use crate::words::{MeterId, TableId};
use crate::write::Put;

/// What a flow does with its packets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    /// On to a later table.
    GotoTable(TableId),
    /// Bits of the metadata that later tables see.
    WriteMetadata {
        /// Their values.
        metadata: u64,
        /// Which bits.
        mask: u64,
    },
    /// Into the set of actions that are done at the end.
    WriteActions(Vec<Action>),
    /// Done at once, in this order.
    ApplyActions(Vec<Action>),
    /// The set of actions is emptied.
    ClearActions,
    /// Through a meter, which may drop them.
    Meter(MeterId),
    /// Something that the specification leaves to others.
    Experimenter {
        /// Who says what it means.
        experimenter: u32,
        /// What it is. On the wire it is padded to a multiple of eight bytes, and read with the padding.
        data: Box<[u8]>,
    },
}

impl Instruction {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let mut body = reader.counted(2, 8)?;
        if !body.remaining().is_multiple_of(8) {
            return Err(start.error(Problem::Length));
        }
        let number = body.u16()?;
        body.skip(2)?;
        let read = match number {
            1 => {
                let [table, ..] = body.array::<4>()?;
                Self::GotoTable(TableId(table))
            }
            2 => {
                body.skip(4)?;
                Self::WriteMetadata { metadata: body.u64()?, mask: body.u64()? }
            }
            3 => {
                body.skip(4)?;
                Self::WriteActions(Action::read_list(&mut body)?)
            }
            4 => {
                body.skip(4)?;
                Self::ApplyActions(Action::read_list(&mut body)?)
            }
            5 => body.skip(4).map(|()| Self::ClearActions)?,
            6 => Self::Meter(MeterId(body.u32()?)),
            0xffff => Self::Experimenter { experimenter: body.u32()?, data: body.rest().into() },
            _ => return Err(start.error(Problem::UnknownType("instruction", number))),
        };
        body.finish()?;
        Ok(read)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let number = match self {
            Self::GotoTable(_) => 1,
            Self::WriteMetadata { .. } => 2,
            Self::WriteActions(_) => 3,
            Self::ApplyActions(_) => 4,
            Self::ClearActions => 5,
            Self::Meter(_) => 6,
            Self::Experimenter { .. } => 0xffff,
        };
        out.u16(number);
        out.u16(0);
        match self {
            Self::GotoTable(table) => out.u8(table.0),
            Self::WriteMetadata { metadata, mask } => {
                out.zeros(4);
                out.u64(*metadata);
                out.u64(*mask);
            }
            Self::WriteActions(actions) | Self::ApplyActions(actions) => {
                out.zeros(4);
                Action::write_list(actions, out);
            }
            Self::ClearActions => {}
            Self::Meter(meter) => out.u32(meter.0),
            Self::Experimenter { experimenter, data } => {
                out.u32(*experimenter);
                out.octets(data);
            }
        }
        out.pad_8(start);
        out.fill_len(start, start.saturating_add(2));
    }

    /// All instructions up to the end.
    pub(crate) fn read_list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        reader.list(|ahead| ahead.peek_u16(2).map(usize::from), Self::read)
    }

    pub(crate) fn write_list(list: &[Self], out: &mut Vec<u8>) {
        for instruction in list {
            instruction.write(out);
        }
    }
}
