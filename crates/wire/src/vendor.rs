//! Protocol version and vendor id, the two words that every message and participant announces.

/// RTPS protocol version, major and minor (RTPS 2.5, 9.3.1.2). Peers are never refused for their minor version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProtocolVersion {
    /// Major version; only 2 is understood.
    pub major: u8,
    /// Minor version; informative.
    pub minor: u8,
}

impl ProtocolVersion {
    /// The version that we implement and announce.
    pub const OURS: Self = Self { major: 2, minor: 5 };
}

/// Two bytes that name the vendor of an RTPS implementation (RTPS 2.5, 9.3.1.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VendorId(pub [u8; 2]);

impl VendorId {
    /// Unknown vendor.
    pub const UNKNOWN: Self = Self([0, 0]);
    /// The id that we announce. No id has been assigned to Punctual by the OMG: this one is unassigned, and what is ours
    /// on the wire is recognised by a magic word instead (see docs/wire.md).
    pub const PUNCTUAL: Self = Self([0x01, 0xfe]);
    /// RTI Connext.
    pub const RTI: Self = Self([0x01, 0x01]);
    /// OpenDDS.
    pub const OPENDDS: Self = Self([0x01, 0x03]);
    /// eProsima Fast DDS.
    pub const EPROSIMA: Self = Self([0x01, 0x0f]);
    /// Eclipse Cyclone DDS.
    pub const CYCLONE: Self = Self([0x01, 0x10]);
    /// RustDDS.
    pub const RUSTDDS: Self = Self([0x01, 0x12]);
    /// Dust DDS.
    pub const DUST: Self = Self([0x01, 0x14]);
}
