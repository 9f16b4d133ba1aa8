//! Flows: to install them, and that they have gone. OpenFlow 1.3.5, 7.3.4.1, 7.4.2.
use alloc::vec::Vec;

use crate::instruction::Instruction;
use crate::matching::Match;
use crate::read::{Problem, Reader, Result};
use crate::words::{Age, BufferId, GroupId, PortNo, TableId, choice, flags};
use crate::write::Put;

choice! {
    /// What is done with flows.
    FlowCommand(u8) {
        /// A new flow; one with the same match and priority is replaced.
        Add = 0,
        /// Other instructions for all flows that the match covers.
        Modify = 1,
        /// Other instructions for the flow with this match and priority.
        ModifyStrict = 2,
        /// Away with all flows that the match covers.
        Delete = 3,
        /// Away with the flow with this match and priority.
        DeleteStrict = 4,
    }
}

flags! {
    /// How a flow is treated.
    FlowFlags(u16) {
        /// FLOW_REMOVED when it goes.
        SEND_FLOW_REM = 1;
        /// Refused if it overlaps with another of its priority.
        CHECK_OVERLAP = 1 << 1;
        /// Its counters begin again.
        RESET_COUNTS = 1 << 2;
        /// Packets are not counted.
        NO_PKT_COUNTS = 1 << 3;
        /// Bytes are not counted.
        NO_BYT_COUNTS = 1 << 4;
    }
}

/// FLOW_MOD: changes flows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowMod {
    /// The controller's mark on the flow; in changes and deletions, which marks are meant.
    pub cookie: u64,
    /// Which bits of the cookie count, in changes and deletions.
    pub cookie_mask: u64,
    /// Which table; `ALL` in deletions.
    pub table: TableId,
    /// What is done.
    pub command: FlowCommand,
    /// Seconds without a packet after which the flow goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which the flow goes; 0 for never.
    pub hard_timeout: u16,
    /// Higher ones win.
    pub priority: u16,
    /// A packet that the switch holds and sends through the flow.
    pub buffer: BufferId,
    /// In deletions: flows that send to this port only; else `ANY`.
    pub out_port: PortNo,
    /// In deletions: flows that send to this group only; else `ANY`.
    pub out_group: GroupId,
    /// How it is treated.
    pub flags: FlowFlags,
    /// Which packets.
    pub matching: Match,
    /// What is done with them.
    pub instructions: Vec<Instruction>,
}

impl FlowMod {
    /// Adds a flow to table 0 without timeouts.
    pub const fn add(priority: u16, matching: Match, instructions: Vec<Instruction>) -> Self {
        Self {
            cookie: 0,
            cookie_mask: 0,
            table: TableId(0),
            command: FlowCommand::Add,
            idle_timeout: 0,
            hard_timeout: 0,
            priority,
            buffer: BufferId::NONE,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            flags: FlowFlags::NONE,
            matching,
            instructions,
        }
    }

    /// Deletes the flow of this table with this priority and match.
    pub const fn delete_strict(table: TableId, priority: u16, matching: Match) -> Self {
        let mut delete = Self::add(priority, matching, Vec::new());
        delete.table = table;
        delete.command = FlowCommand::DeleteStrict;
        delete
    }

    /// Deletes all flows, in all tables, whose cookies have these bits under the mask.
    pub const fn delete_by_cookie(cookie: u64, cookie_mask: u64) -> Self {
        let mut delete = Self::add(0, Match::new(), Vec::new());
        delete.table = TableId::ALL;
        delete.command = FlowCommand::Delete;
        delete.cookie = cookie;
        delete.cookie_mask = cookie_mask;
        delete
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (cookie, cookie_mask) = (reader.u64()?, reader.u64()?);
        let table = TableId(reader.u8()?);
        let place = reader.clone();
        let command = FlowCommand::from_number(reader.u8()?);
        let command = command.ok_or(place.error(Problem::Value("flow command")))?;
        let (idle_timeout, hard_timeout, priority) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let buffer = BufferId(reader.u32()?);
        let (out_port, out_group) = (PortNo(reader.u32()?), GroupId(reader.u32()?));
        let flags = FlowFlags(reader.u16()?);
        reader.skip(2)?;
        Ok(Self {
            cookie,
            cookie_mask,
            table,
            command,
            idle_timeout,
            hard_timeout,
            priority,
            buffer,
            out_port,
            out_group,
            flags,
            matching: Match::read(reader)?,
            instructions: Instruction::read_list(reader)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u64(self.cookie);
        out.u64(self.cookie_mask);
        out.u8(self.table.0);
        out.u8(self.command.number());
        for word in [self.idle_timeout, self.hard_timeout, self.priority] {
            out.u16(word);
        }
        for word in [self.buffer.0, self.out_port.0, self.out_group.0] {
            out.u32(word);
        }
        out.u16(self.flags.0);
        out.zeros(2);
        self.matching.write(out);
        Instruction::write_list(&self.instructions, out);
    }
}

choice! {
    /// Why a flow has gone.
    FlowRemovedReason(u8) {
        /// No packet for too long.
        IdleTimeout = 0,
        /// Its time was over.
        HardTimeout = 1,
        /// It was deleted.
        Delete = 2,
        /// Its group was deleted.
        GroupDelete = 3,
    }
}

/// FLOW_REMOVED: a flow has gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowRemoved {
    /// The controller's mark.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
    /// Why.
    pub reason: FlowRemovedReason,
    /// From which table.
    pub table: TableId,
    /// How long it was there.
    pub age: Age,
    /// As it was installed, seconds.
    pub idle_timeout: u16,
    /// As it was installed, seconds.
    pub hard_timeout: u16,
    /// Packets that it saw.
    pub packets: u64,
    /// Bytes that it saw.
    pub octets: u64,
    /// Which packets it was for.
    pub matching: Match,
}

impl FlowRemoved {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (cookie, priority) = (reader.u64()?, reader.u16()?);
        let place = reader.clone();
        let reason = FlowRemovedReason::from_number(reader.u8()?);
        Ok(Self {
            cookie,
            priority,
            reason: reason.ok_or(place.error(Problem::Value("reason")))?,
            table: TableId(reader.u8()?),
            age: Age::read(reader)?,
            idle_timeout: reader.u16()?,
            hard_timeout: reader.u16()?,
            packets: reader.u64()?,
            octets: reader.u64()?,
            matching: Match::read(reader)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u64(self.cookie);
        out.u16(self.priority);
        out.u8(self.reason.number());
        out.u8(self.table.0);
        self.age.write(out);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        out.u64(self.packets);
        out.u64(self.octets);
        self.matching.write(out);
    }
}

impl Age {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { seconds: reader.u32()?, nanoseconds: reader.u32()? })
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.u32(self.seconds);
        out.u32(self.nanoseconds);
    }
}
