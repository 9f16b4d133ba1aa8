//! Groups: several ways to treat a packet under one number. OpenFlow 1.3.5, 7.3.4.2.
use alloc::vec::Vec;

use crate::action::Action;
use crate::read::{Problem, Reader, Result};
use crate::words::{GroupId, PortNo, choice};
use crate::write::Put;

choice! {
    /// What is done with a group.
    GroupCommand(u16) {
        /// A new group.
        Add = 0,
        /// Another type or other buckets.
        Modify = 1,
        /// Away with it, and with the flows that use it.
        Delete = 2,
    }
}

choice! {
    /// Which buckets a packet goes through.
    GroupType(u8) {
        /// All: multicast.
        All = 0,
        /// One, chosen by the switch according to the weights.
        Select = 1,
        /// The only one.
        Indirect = 2,
        /// The first whose port or group is live.
        FastFailover = 3,
    }
}

/// One way to treat a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bucket {
    /// Share of packets, for `Select` only; else 0.
    pub weight: u16,
    /// The port that must be live, for `FastFailover`; else `ANY`.
    pub watch_port: PortNo,
    /// The group that must be live, for `FastFailover`; else `ANY`.
    pub watch_group: GroupId,
    /// What is done with the packet.
    pub actions: Vec<Action>,
}

impl Bucket {
    /// A bucket for the types `All` and `Indirect`.
    pub const fn of(actions: Vec<Action>) -> Self {
        Self { weight: 0, watch_port: PortNo::ANY, watch_group: GroupId::ANY, actions }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let mut bucket = reader.counted(0, 16)?;
        if !bucket.remaining().is_multiple_of(8) {
            return Err(start.error(Problem::Length));
        }
        bucket.skip(2)?;
        let weight = bucket.u16()?;
        let (watch_port, watch_group) = (PortNo(bucket.u32()?), GroupId(bucket.u32()?));
        bucket.skip(4)?;
        Ok(Self { weight, watch_port, watch_group, actions: Action::read_list(&mut bucket)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(0);
        out.u16(self.weight);
        out.u32(self.watch_port.0);
        out.u32(self.watch_group.0);
        out.zeros(4);
        Action::write_list(&self.actions, out);
        out.fill_len(start, start);
    }

    pub(crate) fn read_list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        reader.list(|ahead| ahead.peek_u16(0).map(usize::from), Self::read)
    }

    pub(crate) fn write_list(list: &[Self], out: &mut Vec<u8>) {
        for bucket in list {
            bucket.write(out);
        }
    }
}

/// GROUP_MOD: changes a group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroupMod {
    /// What is done.
    pub command: GroupCommand,
    /// Which buckets packets go through.
    pub kind: GroupType,
    /// Which group; `ALL` in deletions.
    pub group: GroupId,
    /// Its buckets; none in deletions.
    pub buckets: Vec<Bucket>,
}

impl GroupMod {
    /// Deletes a group, or all.
    pub const fn delete(group: GroupId) -> Self {
        Self { command: GroupCommand::Delete, kind: GroupType::All, group, buckets: Vec::new() }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let command = GroupCommand::from_number(reader.u16()?);
        let kind = GroupType::from_number(reader.u8()?);
        reader.skip(1)?;
        Ok(Self {
            command: command.ok_or(start.error(Problem::Value("group command")))?,
            kind: kind.ok_or(start.error(Problem::Value("group type")))?,
            group: GroupId(reader.u32()?),
            buckets: Bucket::read_list(reader)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.command.number());
        out.u8(self.kind.number());
        out.zeros(1);
        out.u32(self.group.0);
        Bucket::write_list(&self.buckets, out);
    }
}
