//! What packets a flow is for: a list of match fields whose prerequisites hold. OpenFlow 1.3.5, 7.2.3.
use alloc::vec::Vec;

use crate::oxm::{AnyOxm, Oxm, OxmError, OxmField, UnknownOxm};
use crate::read::{Problem, Reader, Result};
use crate::write::Put;

/// The type of a match that is a list of fields; the other one was of OpenFlow 1.0.
const MATCH_OXM: u16 = 1;
/// The longest list whose length, with the header of four bytes, is a number of two bytes.
const MAX_OCTETS: usize = 65_531;

/// A list of match fields: no known field twice, and prerequisites before what needs them. Empty matches everything.
///
/// It is kept as the bytes of the wire, so that it takes no more memory than they did.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Match {
    fields: Vec<u8>,
}

impl Match {
    /// Matches everything.
    pub const fn new() -> Self {
        Self { fields: Vec::new() }
    }

    /// Matches these fields, in this order.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn of(fields: &[Oxm]) -> core::result::Result<Self, OxmError> {
        let mut list = Self::new();
        for field in fields {
            list.push(*field)?;
        }
        Ok(list)
    }

    /// Adds a field.
    ///
    /// # Errors
    /// `Prerequisite` or `Duplicate`; `Unknown` if there is no room. The match is then as it was.
    pub fn push(&mut self, oxm: Oxm) -> core::result::Result<(), OxmError> {
        self.seen().add(&oxm)?;
        self.append(|out| oxm.write(out))
    }

    /// Adds a field that this crate does not know. Nothing is checked but the room.
    ///
    /// # Errors
    /// `Unknown` if there is no room.
    pub fn push_unknown(&mut self, oxm: &UnknownOxm) -> core::result::Result<(), OxmError> {
        self.append(|out| oxm.write(out))
    }

    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> core::result::Result<(), OxmError> {
        let len = self.fields.len();
        write(&mut self.fields);
        if self.fields.len() > MAX_OCTETS {
            self.fields.truncate(len);
            return Err(OxmError::Unknown);
        }
        Ok(())
    }

    /// The fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = AnyOxm> + '_ {
        let mut reader = Reader::new(&self.fields);
        // What is kept here has been checked, so that nothing but the end stops this.
        core::iter::from_fn(move || if reader.is_empty() { None } else { AnyOxm::read(&mut reader).ok() })
    }

    /// The known fields in their order.
    pub fn known(&self) -> impl Iterator<Item = Oxm> + '_ {
        self.iter().filter_map(|any| match any {
            AnyOxm::Known(oxm) => Some(oxm),
            AnyOxm::Unknown(_) => None,
        })
    }

    /// The known field of this name, if it is there.
    pub fn get(&self, field: OxmField) -> Option<Oxm> {
        self.known().find(|oxm| oxm.field() == field)
    }

    /// True if everything is matched.
    pub const fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// True if both match the same packets as far as their fields say it: the order does not count, a mask of all bits
    /// is no mask, and a mask of no bits is no field. Switches report flows in forms of their own.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }

    /// Equal for two matches exactly if [`Self::is_same_as`] holds, and in an order.
    pub fn canonical(&self) -> CanonicalMatch {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for any in self.iter() {
            match any {
                AnyOxm::Known(oxm) => {
                    let mask = oxm.mask().unwrap_or(oxm.field().all_bits());
                    known.extend((mask != 0).then_some((oxm.field(), oxm.value(), mask)));
                }
                AnyOxm::Unknown(oxm) => unknown.push(oxm),
            }
        }
        known.sort_unstable();
        unknown.sort_unstable();
        (known, unknown)
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for oxm in self.known() {
            // The fields that are there were allowed.
            let _ = seen.add(&oxm);
        }
        seen
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        if reader.peek_u16(0)? != MATCH_OXM {
            return Err(start.error(Problem::Value("match type")));
        }
        let len = usize::from(reader.peek_u16(2)?);
        let mut list = reader.counted(2, 4)?;
        reader.skip(len.wrapping_neg() & 7)?;
        list.skip(4)?;
        let mut seen = Seen::default();
        let mut fields = list.clone();
        while !fields.is_empty() {
            let place = fields.clone();
            if let AnyOxm::Known(oxm) = AnyOxm::read(&mut fields)? {
                seen.add(&oxm).map_err(|error| {
                    place.error(match error {
                        OxmError::Duplicate(field) => Problem::Duplicate(field),
                        _ => Problem::Prerequisite(oxm.field()),
                    })
                })?;
            }
        }
        Ok(Self { fields: list.rest_owned() })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(MATCH_OXM);
        out.u16(self.fields.len().saturating_add(4) as u16);
        out.octets(&self.fields);
        out.pad_8(start);
    }
}

/// Field, value and mask of what is matched, and unknown fields, each in order.
pub type CanonicalMatch = (Vec<(OxmField, u128, u128)>, Vec<UnknownOxm>);

/// What stands before a field, as far as prerequisites ask for it.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// A bit for each field that is there.
    present: u64,
    // Values that were matched exactly.
    eth_type: Option<u128>,
    ip_proto: Option<u128>,
    icmpv6_type: Option<u128>,
    vlan_vid: Option<u128>,
}

const IPV4: u128 = 0x0800;
const ARP: u128 = 0x0806;
const IPV6: u128 = 0x86dd;

impl Seen {
    fn has(&self, field: OxmField) -> bool {
        self.present >> field.number() & 1 == 1
    }

    fn add(&mut self, oxm: &Oxm) -> core::result::Result<(), OxmError> {
        let field = oxm.field();
        if self.has(field) {
            return Err(OxmError::Duplicate(field));
        }
        if !self.allows(field) {
            return Err(OxmError::Prerequisite(field));
        }
        self.present |= 1 << field.number();
        let exact = if oxm.mask().is_none() { Some(oxm.value()) } else { None };
        match field {
            OxmField::EthType => self.eth_type = exact,
            OxmField::IpProto => self.ip_proto = exact,
            OxmField::Icmpv6Type => self.icmpv6_type = exact,
            OxmField::VlanVid => self.vlan_vid = exact,
            _ => {}
        }
        Ok(())
    }

    /// True if the prerequisites of the field hold (table 12 of the specification).
    fn allows(&self, field: OxmField) -> bool {
        use OxmField::*;
        let eth_type = |types: &[u128]| self.eth_type.is_some_and(|found| types.contains(&found));
        let protocol = |number: u128| self.ip_proto == Some(number);
        let icmpv6 = |types: &[u128]| self.icmpv6_type.is_some_and(|found| types.contains(&found));
        match field {
            InPhyPort => self.has(InPort),
            // "There is a tag" may be said with a mask; a packet without a tag has no priority.
            VlanPcp => self.has(VlanVid) && self.vlan_vid != Some(0),
            IpDscp | IpEcn | IpProto => eth_type(&[IPV4, IPV6]),
            Ipv4Src | Ipv4Dst => eth_type(&[IPV4]),
            TcpSrc | TcpDst => protocol(6),
            UdpSrc | UdpDst => protocol(17),
            SctpSrc | SctpDst => protocol(132),
            Icmpv4Type | Icmpv4Code => eth_type(&[IPV4]) && protocol(1),
            ArpOp | ArpSpa | ArpTpa | ArpSha | ArpTha => eth_type(&[ARP]),
            Ipv6Src | Ipv6Dst | Ipv6Flabel | Ipv6Exthdr => eth_type(&[IPV6]),
            Icmpv6Type | Icmpv6Code => eth_type(&[IPV6]) && protocol(58),
            Ipv6NdTarget => icmpv6(&[135, 136]),
            Ipv6NdSll => icmpv6(&[135]),
            Ipv6NdTll => icmpv6(&[136]),
            MplsLabel | MplsTc | MplsBos => eth_type(&[0x8847, 0x8848]),
            PbbIsid => eth_type(&[0x88e7]),
            InPort | Metadata | EthDst | EthSrc | EthType | VlanVid | TunnelId => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prerequisites_stand_before_what_needs_them() {
        let udp = [Oxm::eth_type(0x0800), Oxm::ip_proto(17), Oxm::udp_dst(7400)];
        let list = Match::of(&udp).unwrap();
        assert_eq!(list.known().collect::<Vec<_>>(), udp);
        assert_eq!(Match::of(&udp[1..]), Err(OxmError::Prerequisite(OxmField::IpProto)));
        let tcp = [udp[0], Oxm::ip_proto(6), udp[2]];
        assert_eq!(Match::of(&tcp), Err(OxmError::Prerequisite(OxmField::UdpDst)));
        let twice = [udp[0], udp[0]];
        assert_eq!(Match::of(&twice), Err(OxmError::Duplicate(OxmField::EthType)));
    }

    #[test]
    fn a_vlan_priority_needs_a_tag() {
        let pcp = Oxm::exact(OxmField::VlanPcp, 5).unwrap();
        let vid = |vid| Oxm::exact(OxmField::VlanVid, vid).unwrap();
        let any_tag = Oxm::masked(OxmField::VlanVid, 0x1000, 0x1000).unwrap();
        assert!(Match::of(&[vid(0x1005), pcp]).is_ok());
        assert!(Match::of(&[any_tag, pcp]).is_ok());
        assert_eq!(Match::of(&[vid(0), pcp]), Err(OxmError::Prerequisite(OxmField::VlanPcp)));
    }

    #[test]
    fn the_same_packets_in_another_form() {
        let all = u128::from(u32::MAX);
        let left =
            [Oxm::in_port(crate::words::PortNo(1)), Oxm::eth_type(0x0800), Oxm::ipv4_dst([10, 0, 0, 1])];
        let right = [
            Oxm::eth_type(0x0800),
            Oxm::masked(OxmField::Ipv4Dst, 0x0a00_0001, all).unwrap(),
            Oxm::masked(OxmField::EthDst, 0, 0).unwrap(),
            left[0],
        ];
        let (left, mut right) = (Match::of(&left).unwrap(), Match::of(&right).unwrap());
        assert!(left.is_same_as(&right) && left != right);
        right.push_unknown(&UnknownOxm::new(1, 2, false, &[3]).unwrap()).unwrap();
        assert!(!left.is_same_as(&right));
    }

    #[test]
    fn a_match_ends_where_its_length_does() {
        let mut list = Match::new();
        let oxm = UnknownOxm::new(1, 2, false, &[0; 255]).unwrap();
        while list.push_unknown(&oxm).is_ok() {}
        assert!(list.fields.len() <= MAX_OCTETS && list.fields.len() + 259 > MAX_OCTETS);
    }
}
