//! Packets to and from the controller. OpenFlow 1.3.5, 7.3.7, 7.4.1.
use alloc::vec::Vec;

use crate::action::Action;
use crate::matching::Match;
use crate::read::{Problem, Reader, Result};
use crate::words::{BufferId, PortNo, TableId, choice};
use crate::write::Put;

choice! {
    /// Why a packet came.
    PacketInReason(u8) {
        /// No flow matched, or the table-miss flow did.
        NoMatch = 0,
        /// An action sent it.
        Action = 1,
        /// Its TTL is used up.
        InvalidTtl = 2,
    }
}

/// PACKET_IN: a packet for the controller.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PacketIn {
    /// Under which number the switch holds it.
    pub buffer: BufferId,
    /// Bytes of the whole packet, of which `data` may be the first.
    pub total_len: u16,
    /// Why it came.
    pub reason: PacketInReason,
    /// Which table sent it.
    pub table: TableId,
    /// The mark of the flow that sent it; all ones if none did.
    pub cookie: u64,
    /// Where it came in, and metadata. IN_PORT is always there.
    pub matching: Match,
    /// The packet, from its Ethernet header.
    pub data: Vec<u8>,
}

impl PacketIn {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (buffer, total_len) = (BufferId(reader.u32()?), reader.u16()?);
        let place = reader.clone();
        let reason = PacketInReason::from_number(reader.u8()?);
        let reason = reason.ok_or(place.error(Problem::Value("reason")))?;
        let (table, cookie) = (TableId(reader.u8()?), reader.u64()?);
        let matching = Match::read(reader)?;
        reader.skip(2)?;
        Ok(Self { buffer, total_len, reason, table, cookie, matching, data: reader.rest_owned() })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.buffer.0);
        out.u16(self.total_len);
        out.u8(self.reason.number());
        out.u8(self.table.0);
        out.u64(self.cookie);
        self.matching.write(out);
        out.zeros(2);
        out.octets(&self.data);
    }
}

/// PACKET_OUT: the controller sends a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PacketOut {
    /// A packet that the switch holds, or `NONE`: it is in `data`.
    pub buffer: BufferId,
    /// As if it had come in here; `CONTROLLER` for none.
    pub in_port: PortNo,
    /// What is done with it.
    pub actions: Vec<Action>,
    /// The packet, from its Ethernet header; empty with a buffer.
    pub data: Vec<u8>,
}

impl PacketOut {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (buffer, in_port) = (BufferId(reader.u32()?), PortNo(reader.u32()?));
        let len = usize::from(reader.u16()?);
        reader.skip(6)?;
        let actions = Action::read_list(&mut reader.part(len)?)?;
        Ok(Self { buffer, in_port, actions, data: reader.rest_owned() })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.buffer.0);
        out.u32(self.in_port.0);
        let length_at = out.len();
        out.zeros(8);
        let start = out.len();
        Action::write_list(&self.actions, out);
        out.fill_len(start, length_at);
        out.octets(&self.data);
    }
}
