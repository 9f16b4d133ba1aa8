//! A frame: who sends it, by which port, for how long that is true, and what else of it is of use here.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::id::{ChassisId, Id, PortId, text};
use crate::tlv::{ReadError, Tlvs, put};

/// The EtherType of LLDP.
pub const ETHER_TYPE: u16 = 0x88cc;
/// The group address that no bridge forwards, whatever kind of bridge it is (IEEE 802.1AB-2016, 7.1).
pub const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];
/// Bytes of an LLDPDU at most: what one Ethernet frame carries.
pub const LARGEST: usize = 1_500;
/// Bytes of text at most.
const TEXT: usize = 255;
/// TLVs of organizations that are kept of a frame.
const ORGANIZATIONS: usize = 16;

const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;
const PORT_DESCRIPTION: u8 = 4;
const SYSTEM_NAME: u8 = 5;
const SYSTEM_DESCRIPTION: u8 = 6;
const ORGANIZATION: u8 = 127;

/// A TLV that an organization has defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Organization {
    /// Who defines what it means: an OUI or CID.
    pub oui: [u8; 3],
    /// Which one of it.
    pub subtype: u8,
    /// Up to 507 bytes.
    pub value: Vec<u8>,
}

/// A frame of LLDP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Where it goes: one of the group addresses of LLDP, as [`NEAREST_BRIDGE`].
    pub to: [u8; 6],
    /// The address of the port that sends it.
    pub from: [u8; 6],
    /// Who sends it.
    pub chassis: ChassisId,
    /// By which port.
    pub port: PortId,
    /// Seconds for which it is true; 0: it is not any more.
    pub ttl: u16,
    /// What the port is, in words; at most 255 bytes.
    pub port_description: Option<String>,
    /// The name of the station; at most 255 bytes.
    pub system_name: Option<String>,
    /// What the station is, in words; at most 255 bytes.
    pub system_description: Option<String>,
    /// What organizations have defined; at most 16 are read.
    pub organizations: Vec<Organization>,
}

/// Why a frame is not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A text or the value of an organization is too long.
    Field,
    /// All of it together is more than [`LARGEST`].
    Frame,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field => f.write_str("a text has more than 255 bytes, or a value more than 507"),
            Self::Frame => write!(f, "it has more than {LARGEST} bytes"),
        }
    }
}

impl core::error::Error for WriteError {}

impl Frame {
    /// A frame to the nearest bridge that says no more than it has to.
    pub const fn new(from: [u8; 6], chassis: ChassisId, port: PortId, ttl: u16) -> Self {
        Self {
            to: NEAREST_BRIDGE,
            from,
            chassis,
            port,
            ttl,
            port_description: None,
            system_name: None,
            system_description: None,
            organizations: Vec::new(),
        }
    }

    /// Whether bytes are a frame of LLDP by their EtherType.
    pub fn is_one(frame: &[u8]) -> bool {
        frame.get(12..14) == Some(&ETHER_TYPE.to_be_bytes())
    }

    /// Reads a frame, from its Ethernet header, with or without padding.
    ///
    /// # Errors
    /// What is wrong with it. Of what may be there once and is there again, the first counts.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let (to, from) = (address(bytes, 0)?, address(bytes, 6)?);
        if !Self::is_one(bytes) {
            return Err(ReadError::Other);
        }
        let body = bytes.get(14..).unwrap_or_default();
        let mut tlvs = Tlvs::new(body.get(..LARGEST).unwrap_or(body));
        let mut expect = |kind| match tlvs.next()? {
            Some((found, value)) if found == kind => Ok(value),
            _ => Err(ReadError::Order),
        };
        let (chassis, port, ttl) = (expect(CHASSIS)?, expect(PORT)?, expect(TTL)?);
        let [high, low, ..] = *ttl else { return Err(ReadError::Length(TTL)) };
        let mut frame = Self::new(
            from,
            ChassisId(id(CHASSIS, chassis)?),
            PortId(id(PORT, port)?),
            u16::from_be_bytes([high, low]),
        );
        frame.to = to;
        while let Some((kind, value)) = tlvs.next()? {
            let place = match kind {
                CHASSIS | PORT | TTL => return Err(ReadError::Order),
                PORT_DESCRIPTION => &mut frame.port_description,
                SYSTEM_NAME => &mut frame.system_name,
                SYSTEM_DESCRIPTION => &mut frame.system_description,
                ORGANIZATION => {
                    frame.take(value)?;
                    continue;
                }
                _ => continue,
            };
            place.get_or_insert(shortened(value));
        }
        Ok(frame)
    }

    fn take(&mut self, value: &[u8]) -> Result<(), ReadError> {
        let [first, second, third, subtype, value @ ..] = value else {
            return Err(ReadError::Length(ORGANIZATION));
        };
        if self.organizations.len() < ORGANIZATIONS {
            let oui = [*first, *second, *third];
            self.organizations.push(Organization { oui, subtype: *subtype, value: value.to_vec() });
        }
        Ok(())
    }

    /// The bytes of the frame, from its Ethernet header.
    ///
    /// # Errors
    /// Something is longer than it may be.
    pub fn write(&self) -> Result<Vec<u8>, WriteError> {
        let mut out = Vec::with_capacity(64);
        out.extend(self.to);
        out.extend(self.from);
        out.extend(ETHER_TYPE.to_be_bytes());
        let head = out.len();
        let mut good = put(&mut out, CHASSIS, &[&[self.chassis.0.subtype()], self.chassis.0.value()]);
        good &= put(&mut out, PORT, &[&[self.port.0.subtype()], self.port.0.value()]);
        good &= put(&mut out, TTL, &[&self.ttl.to_be_bytes()]);
        let texts = [
            (PORT_DESCRIPTION, &self.port_description),
            (SYSTEM_NAME, &self.system_name),
            (SYSTEM_DESCRIPTION, &self.system_description),
        ];
        for (kind, text) in texts {
            let Some(text) = text else { continue };
            good &= text.len() <= TEXT && put(&mut out, kind, &[text.as_bytes()]);
        }
        for Organization { oui, subtype, value } in &self.organizations {
            good &= put(&mut out, ORGANIZATION, &[oui, &[*subtype], value]);
        }
        good &= put(&mut out, 0, &[]);
        match good {
            false => Err(WriteError::Field),
            true if out.len() - head > LARGEST => Err(WriteError::Frame),
            true => Ok(out),
        }
    }
}

fn address(bytes: &[u8], at: usize) -> Result<[u8; 6], ReadError> {
    let found = bytes.get(at..at + 6).and_then(|address| address.try_into().ok());
    found.ok_or(ReadError::Other)
}

fn id(kind: u8, value: &[u8]) -> Result<Id, ReadError> {
    let [subtype, value @ ..] = value else { return Err(ReadError::Length(kind)) };
    Id::new(*subtype, value).ok_or(ReadError::Length(kind))
}

/// Text of a station, as long as it may be.
fn shortened(value: &[u8]) -> String {
    let mut shown = text(value);
    let mut end = shown.len().min(TEXT);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    shown.truncate(end);
    shown
}
