//! The switch as a whole: features, configuration, roles, what it tells unasked. OpenFlow 1.3.5, 7.3.1, 7.3.2, 7.3.9, 7.3.10.
use alloc::vec::Vec;

use crate::read::{Problem, Reader, Result};
use crate::words::{PortNo, QueueId, TableId, choice, flags};
use crate::write::Put;

flags! {
    /// What a switch can.
    Capabilities(u32) {
        /// Statistics of flows.
        FLOW_STATS = 1;
        /// Statistics of tables.
        TABLE_STATS = 1 << 1;
        /// Statistics of ports.
        PORT_STATS = 1 << 2;
        /// Statistics of groups.
        GROUP_STATS = 1 << 3;
        /// Puts fragments of IP together.
        IP_REASM = 1 << 5;
        /// Statistics of queues.
        QUEUE_STATS = 1 << 6;
        /// Blocks looping ports.
        PORT_BLOCKED = 1 << 8;
    }
}

/// FEATURES_REPLY: who the switch is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Features {
    /// The number that names the data path; the low 48 bits are an Ethernet address.
    pub datapath_id: u64,
    /// How many packets it can hold.
    pub buffers: u32,
    /// How many tables it has.
    pub tables: u8,
    /// 0 for the main connection.
    pub auxiliary_id: u8,
    /// What it can.
    pub capabilities: Capabilities,
}

impl Features {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (datapath_id, buffers) = (reader.u64()?, reader.u32()?);
        let (tables, auxiliary_id) = (reader.u8()?, reader.u8()?);
        reader.skip(2)?;
        let capabilities = Capabilities(reader.u32()?);
        reader.skip(4)?;
        Ok(Self { datapath_id, buffers, tables, auxiliary_id, capabilities })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u64(self.datapath_id);
        out.u32(self.buffers);
        out.u8(self.tables);
        out.u8(self.auxiliary_id);
        out.zeros(2);
        out.u32(self.capabilities.0);
        out.zeros(4);
    }
}

flags! {
    /// What a switch does with fragments of IP.
    ConfigFlags(u16) {
        /// Drops them.
        FRAG_DROP = 1;
        /// Puts them together.
        FRAG_REASM = 2;
    }
}

/// SET_CONFIG and GET_CONFIG_REPLY.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SwitchConfig {
    /// What is done with fragments.
    pub flags: ConfigFlags,
    /// How many bytes of a packet that matches nothing go to the controller; 0xffff for all.
    pub miss_send_len: u16,
}

impl SwitchConfig {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { flags: ConfigFlags(reader.u16()?), miss_send_len: reader.u16()? })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.flags.0);
        out.u16(self.miss_send_len);
    }
}

/// TABLE_MOD: configuration of a table. OpenFlow 1.3 defines no bit of it; the message is for what was before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableMod {
    /// Which table; `ALL` for all.
    pub table: TableId,
    /// Bits of the configuration.
    pub config: u32,
}

impl TableMod {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        Ok(Self { table, config: reader.u32()? })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u8(self.table.0);
        out.zeros(3);
        out.u32(self.config);
    }
}

choice! {
    /// What a controller may do.
    ControllerRole(u32) {
        /// In requests: as it is.
        NoChange = 0,
        /// Everything, as others may.
        Equal = 1,
        /// Everything, and all others become slaves.
        Master = 2,
        /// Only look.
        Slave = 3,
    }
}

/// ROLE_REQUEST and ROLE_REPLY.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Role {
    /// The role.
    pub role: ControllerRole,
    /// Grows with every change of master: switches refuse older ones.
    pub generation: u64,
}

impl Role {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let role = ControllerRole::from_number(reader.u32()?);
        reader.skip(4)?;
        Ok(Self { role: role.ok_or(start.error(Problem::Value("role")))?, generation: reader.u64()? })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.role.number());
        out.zeros(4);
        out.u64(self.generation);
    }
}

/// What a switch tells unasked, as bits `1 << reason`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reasons {
    /// Reasons for PACKET_IN, [`PacketInReason`](crate::packet::PacketInReason).
    pub packet_in: u32,
    /// Reasons for PORT_STATUS, [`PortReason`](crate::port::PortReason).
    pub port_status: u32,
    /// Reasons for FLOW_REMOVED, [`FlowRemovedReason`](crate::flow::FlowRemovedReason).
    pub flow_removed: u32,
}

/// SET_ASYNC and GET_ASYNC_REPLY.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AsyncConfig {
    /// To a controller that is master or equal.
    pub master: Reasons,
    /// To a slave.
    pub slave: Reasons,
}

impl AsyncConfig {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut words = [0; 6];
        for word in &mut words {
            *word = reader.u32()?;
        }
        let [packet_in, slave_packet_in, port_status, slave_port_status, flow_removed, slave_flow_removed] =
            words;
        Ok(Self {
            master: Reasons { packet_in, port_status, flow_removed },
            slave: Reasons {
                packet_in: slave_packet_in,
                port_status: slave_port_status,
                flow_removed: slave_flow_removed,
            },
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let of = |reasons: Reasons| [reasons.packet_in, reasons.port_status, reasons.flow_removed];
        for (master, slave) in of(self.master).into_iter().zip(of(self.slave)) {
            out.u32(master);
            out.u32(slave);
        }
    }
}

/// A property of a queue (7.2.2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum QueueProperty {
    /// Least rate, in tenths of a percent of the port's; above 1000 means none is set.
    MinRate(u16),
    /// Greatest rate, in tenths of a percent of the port's; above 1000 means none is set.
    MaxRate(u16),
    /// Something that the specification leaves to others.
    Experimenter {
        /// Who says what it means.
        experimenter: u32,
        /// What it is. On the wire it is padded to a multiple of eight bytes, and read with the padding.
        data: Vec<u8>,
    },
}

/// A queue of a port (7.2.2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Queue {
    /// Its number.
    pub queue: QueueId,
    /// Its port.
    pub port: PortNo,
    /// What it has been given. Open vSwitch gives no rates.
    pub properties: Vec<QueueProperty>,
}

impl Queue {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut body = reader.counted(8, 16)?;
        let (queue, port) = (QueueId(body.u32()?), PortNo(body.u32()?));
        body.skip(8)?;
        let properties = body.list(|ahead| ahead.peek_u16(2).map(usize::from), QueueProperty::read)?;
        Ok(Self { queue, port, properties })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u32(self.queue.0);
        out.u32(self.port.0);
        out.zeros(8);
        for property in &self.properties {
            property.write(out);
        }
        out.fill_len(start, start.saturating_add(8));
    }
}

impl QueueProperty {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let mut body = reader.counted(2, 16)?;
        let number = body.u16()?;
        body.skip(6)?;
        let read = match number {
            1 | 2 => {
                let rate = body.u16()?;
                body.skip(6)?;
                if number == 1 { Self::MinRate(rate) } else { Self::MaxRate(rate) }
            }
            0xffff => {
                let experimenter = body.u32()?;
                body.skip(4)?;
                Self::Experimenter { experimenter, data: body.rest_owned() }
            }
            _ => return Err(start.error(Problem::UnknownType("queue property", number))),
        };
        body.finish()?;
        Ok(read)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(match self {
            Self::MinRate(_) => 1,
            Self::MaxRate(_) => 2,
            Self::Experimenter { .. } => 0xffff,
        });
        out.zeros(6);
        match self {
            Self::MinRate(rate) | Self::MaxRate(rate) => out.u16(*rate),
            Self::Experimenter { experimenter, data } => {
                out.u32(*experimenter);
                out.zeros(4);
                out.octets(data);
            }
        }
        out.pad_8(start);
        out.fill_len(start, start.saturating_add(2));
    }
}

/// QUEUE_GET_CONFIG_REPLY: the queues of a port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Queues {
    /// Which port.
    pub port: PortNo,
    /// Its queues.
    pub queues: Vec<Queue>,
}

impl Queues {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let port = PortNo(reader.u32()?);
        reader.skip(4)?;
        let queues = reader.list(|ahead| ahead.peek_u16(8).map(usize::from), Queue::read)?;
        Ok(Self { port, queues })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.port.0);
        out.zeros(4);
        for queue in &self.queues {
            queue.write(out);
        }
    }
}
