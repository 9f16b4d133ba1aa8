//! Actions: what is done with a packet. OpenFlow 1.3.5, 7.2.5.
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::oxm::{AnyOxm, FieldValue, Oxm};
use crate::read::{Problem, Reader, Result};
use crate::words::{GroupId, PortNo, QueueId, number};
use crate::write::Put;

number! {
    /// How many bytes of a packet go to the controller.
    MaxLen(u16) {
        /// The most that can be asked for while the switch keeps the packet.
        MAX = 0xffe5;
        /// The whole packet; the switch keeps nothing.
        NO_BUFFER = 0xffff;
    }
}

/// What is done with a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// To a port; `max_len` counts for the controller only.
    Output {
        /// Where to.
        port: PortNo,
        /// How much of it, for the controller.
        max_len: MaxLen,
    },
    /// TTL of the outer header from that of the next one.
    CopyTtlOut,
    /// TTL of the next header from that of the outer one.
    CopyTtlIn,
    /// The TTL of MPLS.
    SetMplsTtl(u8),
    /// One off the TTL of MPLS.
    DecMplsTtl,
    /// A new VLAN tag of this Ethernet type.
    PushVlan(u16),
    /// Without the outer VLAN tag.
    PopVlan,
    /// A new MPLS label of this Ethernet type.
    PushMpls(u16),
    /// Without the outer MPLS label; the Ethernet type of what is below.
    PopMpls(u16),
    /// Into this queue of the port. The userspace data path of Open vSwitch takes it and does nothing.
    SetQueue(QueueId),
    /// Through a group.
    Group(GroupId),
    /// The TTL of IP.
    SetNwTtl(u8),
    /// One off the TTL of IP.
    DecNwTtl,
    /// Another value of a field.
    SetField(FieldValue),
    /// A new service tag of provider backbone bridging, of this Ethernet type.
    PushPbb(u16),
    /// Without that service tag.
    PopPbb,
    /// Something that the specification leaves to others.
    Experimenter {
        /// Who says what it means.
        experimenter: u32,
        /// What it is. On the wire it is padded to a multiple of eight bytes, and read with the padding.
        data: Box<[u8]>,
    },
}

impl Action {
    /// Sends the packet to a port.
    pub const fn output(port: PortNo) -> Self {
        Self::Output { port, max_len: MaxLen(0) }
    }

    /// Sends the whole packet to the controller.
    pub const fn controller() -> Self {
        Self::Output { port: PortNo::CONTROLLER, max_len: MaxLen::NO_BUFFER }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let mut action = reader.counted(2, 8)?;
        if !action.remaining().is_multiple_of(8) {
            return Err(start.error(Problem::Length));
        }
        let number = action.u16()?;
        action.skip(2)?;
        let (one, two) =
            (|bytes: [u8; 4]| bytes[0], |bytes: [u8; 4]| u16::from_be_bytes([bytes[0], bytes[1]]));
        let read = match number {
            0 => {
                let read = Self::Output { port: PortNo(action.u32()?), max_len: MaxLen(action.u16()?) };
                action.skip(6)?;
                read
            }
            25 => return Self::read_set_field(&mut action),
            0xffff => {
                let experimenter = action.u32()?;
                Self::Experimenter { experimenter, data: action.rest().into() }
            }
            11 => action.skip(4).map(|()| Self::CopyTtlOut)?,
            12 => action.skip(4).map(|()| Self::CopyTtlIn)?,
            15 => Self::SetMplsTtl(one(action.array()?)),
            16 => action.skip(4).map(|()| Self::DecMplsTtl)?,
            17 => Self::PushVlan(two(action.array()?)),
            18 => action.skip(4).map(|()| Self::PopVlan)?,
            19 => Self::PushMpls(two(action.array()?)),
            20 => Self::PopMpls(two(action.array()?)),
            21 => Self::SetQueue(QueueId(action.u32()?)),
            22 => Self::Group(GroupId(action.u32()?)),
            23 => Self::SetNwTtl(one(action.array()?)),
            24 => action.skip(4).map(|()| Self::DecNwTtl)?,
            26 => Self::PushPbb(two(action.array()?)),
            27 => action.skip(4).map(|()| Self::PopPbb)?,
            _ => return Err(start.error(Problem::UnknownType("action", number))),
        };
        action.finish()?;
        Ok(read)
    }

    fn read_set_field(action: &mut Reader<'_>) -> Result<Self> {
        let start = action.clone();
        // A field of another class would have to be kept unread; it is of no use, so it is refused.
        let oxm = match AnyOxm::read(action)? {
            AnyOxm::Known(oxm) if oxm.mask().is_none() => oxm,
            _ => return Err(start.error(Problem::Value("field of SET_FIELD"))),
        };
        if action.remaining() >= 8 {
            return Err(action.error(Problem::Trailing));
        }
        action.rest();
        FieldValue::new(oxm.field(), oxm.value())
            .map(Self::SetField)
            .map_err(|_| start.error(Problem::Bits(oxm.field())))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut begin = |number: u16| {
            out.u16(number);
            out.u16(0);
        };
        begin(self.number());
        match self {
            Self::Output { port, max_len } => {
                out.u32(port.0);
                out.u16(max_len.0);
            }
            Self::SetMplsTtl(ttl) | Self::SetNwTtl(ttl) => out.u8(*ttl),
            Self::PushVlan(kind) | Self::PushMpls(kind) | Self::PopMpls(kind) | Self::PushPbb(kind) => {
                out.u16(*kind);
            }
            Self::SetQueue(queue) => out.u32(queue.0),
            Self::Group(group) => out.u32(group.0),
            Self::SetField(value) => {
                if let Ok(oxm) = Oxm::exact(value.field(), value.value()) {
                    oxm.write(out);
                }
            }
            Self::Experimenter { experimenter, data } => {
                out.u32(*experimenter);
                out.octets(data);
            }
            Self::CopyTtlOut | Self::CopyTtlIn | Self::DecMplsTtl | Self::PopVlan => {}
            Self::DecNwTtl | Self::PopPbb => {}
        }
        out.pad_8(start);
        out.fill_len(start, start.saturating_add(2));
    }

    /// The number of the kind of action on the wire.
    const fn number(&self) -> u16 {
        match self {
            Self::Output { .. } => 0,
            Self::CopyTtlOut => 11,
            Self::CopyTtlIn => 12,
            Self::SetMplsTtl(_) => 15,
            Self::DecMplsTtl => 16,
            Self::PushVlan(_) => 17,
            Self::PopVlan => 18,
            Self::PushMpls(_) => 19,
            Self::PopMpls(_) => 20,
            Self::SetQueue(_) => 21,
            Self::Group(_) => 22,
            Self::SetNwTtl(_) => 23,
            Self::DecNwTtl => 24,
            Self::SetField(_) => 25,
            Self::PushPbb(_) => 26,
            Self::PopPbb => 27,
            Self::Experimenter { .. } => 0xffff,
        }
    }

    /// All actions up to the end.
    pub(crate) fn read_list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        reader.list(|ahead| ahead.peek_u16(2).map(usize::from), Self::read)
    }

    pub(crate) fn write_list(list: &[Self], out: &mut Vec<u8>) {
        for action in list {
            action.write(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_stay_small() {
        // Budgets of memory rest on this: an action of eight bytes takes at most five times as much.
        assert!(size_of::<Action>() <= 40, "{}", size_of::<Action>());
    }

    #[test]
    fn what_is_no_action_is_refused() {
        let read = |bytes: &[u8]| Action::read(&mut Reader::new(bytes)).map_err(|error| error.problem);
        assert_eq!(read(&[0, 11, 0, 4]), Err(Problem::Length));
        assert_eq!(read(&[0, 11, 0, 16, 0, 0, 0, 0]), Err(Problem::Length));
        assert_eq!(read(&[0, 0, 0, 8, 0, 0, 0, 1]), Err(Problem::Short));
        assert_eq!(read(&[0, 1, 0, 8, 0, 0, 0, 1]), Err(Problem::UnknownType("action", 1)));
        let masked = [0, 25, 0, 16, 0x80, 0, 0x0d, 4, 8, 0, 255, 255, 0, 0, 0, 0];
        assert!(read(&masked).is_err());
    }
}
