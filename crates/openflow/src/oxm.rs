//! Match fields: the 40 of the class OPENFLOW_BASIC, with widths, masks and prerequisites. OpenFlow 1.3.5, 7.2.3.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::read::{Problem, Reader, Result};
use crate::words::{MacAddress, PortNo, choice};
use crate::write::Put;

/// The class of the fields that the specification defines.
const BASIC: u16 = 0x8000;
/// The bit of VLAN_VID that says that there is a tag (OFPVID_PRESENT).
const TAG_PRESENT: u128 = 0x1000;

choice! {
    /// A field of the class OPENFLOW_BASIC (7.2.3.7). The number is that of the field in its class.
    OxmField(u8) {
        /// Port that the packet came in by.
        InPort = 0,
        /// Physical port below it.
        InPhyPort = 1,
        /// Metadata that tables hand on.
        Metadata = 2,
        /// Ethernet destination.
        EthDst = 3,
        /// Ethernet source.
        EthSrc = 4,
        /// Ethernet type after VLAN tags.
        EthType = 5,
        /// VLAN id of 12 bits, and bit 12: there is a tag.
        VlanVid = 6,
        /// VLAN priority.
        VlanPcp = 7,
        /// DiffServ code point.
        IpDscp = 8,
        /// Explicit congestion notification.
        IpEcn = 9,
        /// IP protocol.
        IpProto = 10,
        /// IPv4 source.
        Ipv4Src = 11,
        /// IPv4 destination.
        Ipv4Dst = 12,
        /// TCP source port.
        TcpSrc = 13,
        /// TCP destination port.
        TcpDst = 14,
        /// UDP source port.
        UdpSrc = 15,
        /// UDP destination port.
        UdpDst = 16,
        /// SCTP source port.
        SctpSrc = 17,
        /// SCTP destination port.
        SctpDst = 18,
        /// ICMP type.
        Icmpv4Type = 19,
        /// ICMP code.
        Icmpv4Code = 20,
        /// ARP operation.
        ArpOp = 21,
        /// ARP source IPv4 address.
        ArpSpa = 22,
        /// ARP target IPv4 address.
        ArpTpa = 23,
        /// ARP source Ethernet address.
        ArpSha = 24,
        /// ARP target Ethernet address.
        ArpTha = 25,
        /// IPv6 source.
        Ipv6Src = 26,
        /// IPv6 destination.
        Ipv6Dst = 27,
        /// IPv6 flow label.
        Ipv6Flabel = 28,
        /// ICMPv6 type.
        Icmpv6Type = 29,
        /// ICMPv6 code.
        Icmpv6Code = 30,
        /// Target of neighbour discovery.
        Ipv6NdTarget = 31,
        /// Source link-layer address of neighbour discovery.
        Ipv6NdSll = 32,
        /// Target link-layer address of neighbour discovery.
        Ipv6NdTll = 33,
        /// MPLS label.
        MplsLabel = 34,
        /// MPLS traffic class.
        MplsTc = 35,
        /// MPLS bottom of stack.
        MplsBos = 36,
        /// Service id of provider backbone bridging.
        PbbIsid = 37,
        /// Metadata of a logical port, such as a tunnel.
        TunnelId = 38,
        /// Which extension headers of IPv6 are there.
        Ipv6Exthdr = 39,
    }
}

impl OxmField {
    /// Bits of a value (table 12 of the specification).
    pub const fn bits(self) -> u32 {
        match self {
            Self::MplsBos => 1,
            Self::IpEcn => 2,
            Self::VlanPcp | Self::MplsTc => 3,
            Self::IpDscp => 6,
            Self::IpProto | Self::Icmpv4Type | Self::Icmpv4Code | Self::Icmpv6Type | Self::Icmpv6Code => 8,
            Self::Ipv6Exthdr => 9,
            Self::VlanVid => 13,
            Self::EthType | Self::ArpOp => 16,
            Self::TcpSrc | Self::TcpDst | Self::UdpSrc | Self::UdpDst | Self::SctpSrc | Self::SctpDst => 16,
            Self::Ipv6Flabel | Self::MplsLabel => 20,
            Self::PbbIsid => 24,
            Self::InPort | Self::InPhyPort | Self::Ipv4Src | Self::Ipv4Dst | Self::ArpSpa | Self::ArpTpa => {
                32
            }
            Self::EthDst | Self::EthSrc | Self::ArpSha | Self::ArpTha | Self::Ipv6NdSll | Self::Ipv6NdTll => {
                48
            }
            Self::Metadata | Self::TunnelId => 64,
            Self::Ipv6Src | Self::Ipv6Dst | Self::Ipv6NdTarget => 128,
        }
    }

    /// Bytes of a value on the wire, 1 to 16.
    pub const fn octets(self) -> usize {
        match self {
            // Twenty bits travel as four bytes.
            Self::Ipv6Flabel | Self::MplsLabel => 4,
            _ => self.bits().div_ceil(8) as usize,
        }
    }

    /// True if OpenFlow 1.3 allows a mask.
    pub const fn maskable(self) -> bool {
        matches!(
            self,
            Self::Metadata
                | Self::EthDst
                | Self::EthSrc
                | Self::VlanVid
                | Self::Ipv4Src
                | Self::Ipv4Dst
                | Self::ArpSpa
                | Self::ArpTpa
                | Self::ArpSha
                | Self::ArpTha
                | Self::Ipv6Src
                | Self::Ipv6Dst
                | Self::Ipv6Flabel
                | Self::PbbIsid
                | Self::TunnelId
                | Self::Ipv6Exthdr
        )
    }

    /// The highest value: all bits of the field.
    pub const fn all_bits(self) -> u128 {
        u128::MAX >> 128_u32.saturating_sub(self.bits())
    }
}

/// Why a field is no field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OxmError {
    /// The value or the mask has more bits than the field.
    TooWide(OxmField),
    /// OpenFlow 1.3 allows no mask on this field.
    NotMaskable(OxmField),
    /// The value has bits where the mask has none.
    OutsideMask(OxmField),
    /// The field that it needs does not stand before it: ETH_TYPE, IP_PROTO, VLAN_VID or ICMPV6_TYPE.
    Prerequisite(OxmField),
    /// The field is there already.
    Duplicate(OxmField),
    /// An unknown field of more than 255 bytes, of a known number, or a match above 65,535 bytes.
    Unknown,
}

impl fmt::Display for OxmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooWide(field) => write!(f, "{field:?} has {} bits, the value more", field.bits()),
            Self::NotMaskable(field) => write!(f, "OpenFlow 1.3 has no mask for {field:?}"),
            Self::OutsideMask(field) => write!(f, "the value of {field:?} has bits outside its mask"),
            Self::Prerequisite(field) => write!(f, "{field:?} needs another field before it"),
            Self::Duplicate(field) => write!(f, "{field:?} is there already"),
            Self::Unknown => write!(f, "a field that cannot be kept as an unknown one"),
        }
    }
}

impl core::error::Error for OxmError {}

/// A field and its value, without a mask. The value fits the field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldValue {
    field: OxmField,
    // Not u128: its alignment would blow up the lists of actions.
    bits: [u8; 16],
}

impl FieldValue {
    /// The value as a number: addresses are read as one number, most significant byte first.
    ///
    /// # Errors
    /// `TooWide`.
    pub const fn new(field: OxmField, value: u128) -> core::result::Result<Self, OxmError> {
        if value > field.all_bits() {
            return Err(OxmError::TooWide(field));
        }
        Ok(Self { field, bits: value.to_be_bytes() })
    }

    /// The DiffServ code point, of which six bits are taken.
    pub const fn ip_dscp(dscp: u8) -> Self {
        Self::fits(OxmField::IpDscp, (dscp & 0x3f) as u128)
    }

    /// An Ethernet destination.
    pub const fn eth_dst(address: MacAddress) -> Self {
        Self::fits(OxmField::EthDst, mac(address))
    }

    const fn fits(field: OxmField, value: u128) -> Self {
        Self { field, bits: value.to_be_bytes() }
    }

    /// Which field.
    pub const fn field(&self) -> OxmField {
        self.field
    }

    /// Its value.
    pub const fn value(&self) -> u128 {
        u128::from_be_bytes(self.bits)
    }
}

const fn mac([a, b, c, d, e, f]: MacAddress) -> u128 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]) as u128
}

/// A field to be matched: exactly, or under a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Oxm {
    value: FieldValue,
    mask: Option<[u8; 16]>,
}

impl Oxm {
    /// Matches the value exactly.
    ///
    /// # Errors
    /// `TooWide`.
    pub const fn exact(field: OxmField, value: u128) -> core::result::Result<Self, OxmError> {
        match FieldValue::new(field, value) {
            Ok(value) => Ok(Self { value, mask: None }),
            Err(error) => Err(error),
        }
    }

    /// Matches the bits that the mask has. Bits of the value outside the mask must be zero.
    ///
    /// # Errors
    /// `TooWide`, `NotMaskable`, `OutsideMask`.
    pub fn masked(field: OxmField, value: u128, mask: u128) -> core::result::Result<Self, OxmError> {
        if !field.maskable() {
            return Err(OxmError::NotMaskable(field));
        }
        Self::any_masked(field, value, mask)
    }

    /// As [`Self::masked`], also where 1.3 knows no mask: switches report such flows.
    fn any_masked(field: OxmField, value: u128, mask: u128) -> core::result::Result<Self, OxmError> {
        if mask > field.all_bits() {
            return Err(OxmError::TooWide(field));
        }
        if value & !mask != 0 {
            return Err(OxmError::OutsideMask(field));
        }
        Ok(Self { value: FieldValue::new(field, value)?, mask: Some(mask.to_be_bytes()) })
    }

    /// Packets that came in by this port.
    pub const fn in_port(port: PortNo) -> Self {
        Self::fits(OxmField::InPort, port.0 as u128)
    }

    /// Packets without a VLAN tag.
    pub const fn untagged() -> Self {
        Self::fits(OxmField::VlanVid, 0)
    }

    /// Packets with a VLAN tag, whatever its VLAN id: also with 0, which names no VLAN (IEEE 802.1Q, 9.6).
    pub const fn tagged() -> Self {
        let value = FieldValue::fits(OxmField::VlanVid, TAG_PRESENT);
        Self { value, mask: Some(TAG_PRESENT.to_be_bytes()) }
    }

    /// Packets with a VLAN tag of this id, 1 to 4,094.
    pub const fn vlan(id: u16) -> Self {
        Self::fits(OxmField::VlanVid, TAG_PRESENT | (id & 0xfff) as u128)
    }

    /// Packets of this Ethernet type: 0x0800 IPv4, 0x0806 ARP, 0x86dd IPv6.
    pub const fn eth_type(ethertype: u16) -> Self {
        Self::fits(OxmField::EthType, ethertype as u128)
    }

    /// Packets to this Ethernet address.
    pub const fn eth_dst(address: MacAddress) -> Self {
        Self::fits(OxmField::EthDst, mac(address))
    }

    /// Packets from this Ethernet address.
    pub const fn eth_src(address: MacAddress) -> Self {
        Self::fits(OxmField::EthSrc, mac(address))
    }

    /// Packets of this IP protocol: 6 TCP, 17 UDP. Needs the Ethernet type before it.
    pub const fn ip_proto(protocol: u8) -> Self {
        Self::fits(OxmField::IpProto, protocol as u128)
    }

    /// Packets with this DiffServ code point, of which six bits are taken. Needs the Ethernet type before it.
    pub const fn ip_dscp(dscp: u8) -> Self {
        Self::fits(OxmField::IpDscp, (dscp & 0x3f) as u128)
    }

    /// Packets from this IPv4 address. Needs the Ethernet type before it.
    pub const fn ipv4_src(address: [u8; 4]) -> Self {
        Self::fits(OxmField::Ipv4Src, u32::from_be_bytes(address) as u128)
    }

    /// Packets from this IPv6 address. Needs the Ethernet type before it.
    pub const fn ipv6_src(address: [u8; 16]) -> Self {
        Self::fits(OxmField::Ipv6Src, u128::from_be_bytes(address))
    }

    /// Packets to this IPv6 address. Needs the Ethernet type before it.
    pub const fn ipv6_dst(address: [u8; 16]) -> Self {
        Self::fits(OxmField::Ipv6Dst, u128::from_be_bytes(address))
    }

    /// Packets to this IPv4 address. Needs the Ethernet type before it.
    pub const fn ipv4_dst(address: [u8; 4]) -> Self {
        Self::fits(OxmField::Ipv4Dst, u32::from_be_bytes(address) as u128)
    }

    /// ARP whose sender has this IPv4 address. Needs the Ethernet type before it.
    pub const fn arp_spa(address: [u8; 4]) -> Self {
        Self::fits(OxmField::ArpSpa, u32::from_be_bytes(address) as u128)
    }

    /// Packets from this UDP port. Needs the protocol before it.
    pub const fn udp_src(port: u16) -> Self {
        Self::fits(OxmField::UdpSrc, port as u128)
    }

    /// Packets to this UDP port. Needs the protocol before it.
    pub const fn udp_dst(port: u16) -> Self {
        Self::fits(OxmField::UdpDst, port as u128)
    }

    const fn fits(field: OxmField, value: u128) -> Self {
        Self { value: FieldValue::fits(field, value), mask: None }
    }

    /// Which field.
    pub const fn field(&self) -> OxmField {
        self.value.field
    }

    /// Its value.
    pub const fn value(&self) -> u128 {
        self.value.value()
    }

    /// Its mask, if it has one.
    pub fn mask(&self) -> Option<u128> {
        self.mask.map(u128::from_be_bytes)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let bytes = self.field().octets();
        header(out, BASIC, self.field().number(), self.mask.is_some(), bytes);
        for bits in [Some(self.value.bits), self.mask].iter().flatten() {
            out.octets(bits.get(16_usize.saturating_sub(bytes)..).unwrap_or(bits));
        }
    }
}

fn header(out: &mut Vec<u8>, class: u16, field: u8, has_mask: bool, octets: usize) {
    out.u16(class);
    out.u8(field << 1 | u8::from(has_mask));
    out.u8(if has_mask { octets.saturating_mul(2) } else { octets } as u8);
}

/// A field of another class, or of a number that OpenFlow 1.3 does not know: kept as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnknownOxm {
    class: u16,
    field: u8,
    has_mask: bool,
    payload: Box<[u8]>,
}

impl UnknownOxm {
    /// A field of `class`, with the number `field` below 128 in it. The payload is what follows the length of the field.
    ///
    /// # Errors
    /// `Unknown` if the payload has more than 255 bytes, the number is above 127, or the field is a known one.
    pub fn new(
        class: u16,
        field: u8,
        has_mask: bool,
        payload: &[u8],
    ) -> core::result::Result<Self, OxmError> {
        let known = class == BASIC && OxmField::from_number(field).is_some();
        if known || field > 127 || payload.len() > 255 {
            return Err(OxmError::Unknown);
        }
        Ok(Self { class, field, has_mask, payload: payload.into() })
    }

    /// The class: 0x8000 for the basic one, 0xffff for experimenters.
    pub const fn class(&self) -> u16 {
        self.class
    }

    /// The number in the class.
    pub const fn field(&self) -> u8 {
        self.field
    }

    /// True if the second half of the payload is a mask.
    pub const fn has_mask(&self) -> bool {
        self.has_mask
    }

    /// The bytes after the header of the field.
    pub const fn payload(&self) -> &[u8] {
        &self.payload
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.class);
        out.u8(self.field << 1 | u8::from(self.has_mask));
        out.u8(self.payload.len() as u8);
        out.octets(&self.payload);
    }
}

/// A field as it was read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AnyOxm {
    /// One of the specification.
    Known(Oxm),
    /// Another.
    Unknown(UnknownOxm),
}

impl AnyOxm {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let (class, packed, len) = (reader.u16()?, reader.u8()?, reader.u8()?);
        let (number, has_mask) = (packed >> 1, packed & 1 == 1);
        let mut payload = reader.part(usize::from(len))?;
        let field = if class == BASIC { OxmField::from_number(number) } else { None };
        let Some(field) = field else {
            return UnknownOxm::new(class, number, has_mask, payload.rest())
                .map(Self::Unknown)
                .map_err(|_| start.error(Problem::Length));
        };
        let bytes = if has_mask { field.octets().saturating_mul(2) } else { field.octets() };
        if payload.remaining() != bytes {
            return Err(start.error(Problem::Length));
        }
        let value = number_of(payload.take(field.octets())?);
        let oxm = if has_mask {
            Oxm::any_masked(field, value, number_of(payload.rest()))
        } else {
            Oxm::exact(field, value)
        };
        oxm.map(Self::Known).map_err(|_| start.error(Problem::Bits(field)))
    }
}

fn number_of(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, octet| number << 8 | u128::from(*octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_masks_fit_their_fields() {
        assert_eq!(Oxm::exact(OxmField::VlanPcp, 8), Err(OxmError::TooWide(OxmField::VlanPcp)));
        assert_eq!(Oxm::masked(OxmField::EthType, 0, 0), Err(OxmError::NotMaskable(OxmField::EthType)));
        assert_eq!(Oxm::masked(OxmField::Ipv4Src, 3, 2), Err(OxmError::OutsideMask(OxmField::Ipv4Src)));
        assert_eq!(OxmField::Ipv6Src.all_bits(), u128::MAX);
        assert_eq!(OxmField::MplsBos.all_bits(), 1);
        for field in OxmField::ALL {
            assert!(Oxm::exact(*field, field.all_bits()).is_ok());
            assert!(field.octets() * 8 >= field.bits() as usize && field.octets() <= 16);
        }
    }

    #[test]
    fn known_fields_are_not_unknown() {
        assert_eq!(UnknownOxm::new(0x8000, 39, false, &[0, 0]), Err(OxmError::Unknown));
        assert_eq!(UnknownOxm::new(0x8000, 128, false, &[]), Err(OxmError::Unknown));
        assert_eq!(UnknownOxm::new(1, 0, false, &[0; 256]), Err(OxmError::Unknown));
        assert!(UnknownOxm::new(0x8000, 40, true, &[0; 255]).is_ok());
    }
}
