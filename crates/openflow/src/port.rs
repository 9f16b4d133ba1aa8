//! Ports: what they are, that they change, and how to change them. OpenFlow 1.3.5, 7.2.1, 7.3.4.3, 7.4.3.
use alloc::vec::Vec;

use crate::read::{Problem, Reader, Result};
use crate::words::{MacAddress, PortNo, choice, flags};
use crate::write::Put;

flags! {
    /// How a port is configured.
    PortConfig(u32) {
        /// Down by order.
        PORT_DOWN = 1;
        /// What comes in is dropped.
        NO_RECV = 1 << 2;
        /// What goes out is dropped.
        NO_FWD = 1 << 5;
        /// No packet-in for what comes in here.
        NO_PACKET_IN = 1 << 6;
    }
}

flags! {
    /// What a port has come to.
    PortState(u32) {
        /// No carrier.
        LINK_DOWN = 1;
        /// Blocked, as by a spanning tree.
        BLOCKED = 1 << 1;
        /// Live for fast failover groups.
        LIVE = 1 << 2;
    }
}

flags! {
    /// Speeds and media.
    PortFeatures(u32) {
        /// 10 Mbit/s, half duplex.
        MBIT_10_HALF = 1;
        /// 10 Mbit/s, full duplex.
        MBIT_10_FULL = 1 << 1;
        /// 100 Mbit/s, half duplex.
        MBIT_100_HALF = 1 << 2;
        /// 100 Mbit/s, full duplex.
        MBIT_100_FULL = 1 << 3;
        /// 1 Gbit/s, half duplex.
        GBIT_1_HALF = 1 << 4;
        /// 1 Gbit/s, full duplex.
        GBIT_1_FULL = 1 << 5;
        /// 10 Gbit/s, full duplex.
        GBIT_10_FULL = 1 << 6;
        /// 40 Gbit/s, full duplex.
        GBIT_40_FULL = 1 << 7;
        /// 100 Gbit/s, full duplex.
        GBIT_100_FULL = 1 << 8;
        /// 1 Tbit/s, full duplex.
        TBIT_1_FULL = 1 << 9;
        /// Another rate.
        OTHER = 1 << 10;
        /// Copper.
        COPPER = 1 << 11;
        /// Fibre.
        FIBER = 1 << 12;
        /// Negotiates.
        AUTONEG = 1 << 13;
        /// Pauses in both directions.
        PAUSE = 1 << 14;
        /// Pauses in one direction.
        PAUSE_ASYM = 1 << 15;
    }
}

/// Bytes of a text in a place of fixed length, up to the first zero. A place without any has its last byte cut off, so that
/// what is read can be written.
pub(crate) fn text(place: &[u8]) -> Vec<u8> {
    let place = place.split_last().map_or(place, |(_, rest)| rest);
    place.split(|octet| *octet == 0).next().unwrap_or_default().to_vec()
}

/// Writes a text into `room` bytes; one that is too long is cut, and the last byte is always zero.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8], room: usize) {
    let text = text.split(|octet| *octet == 0).next().unwrap_or_default();
    let text = text.get(..room.saturating_sub(1)).unwrap_or(text);
    out.octets(text);
    out.zeros(room.saturating_sub(text.len()));
}

/// A port of a switch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Port {
    /// Its number.
    pub number: PortNo,
    /// Its address.
    pub address: MacAddress,
    /// Its name, as 16 bytes of which the last is zero. See [`Self::name`].
    pub raw_name: [u8; 16],
    /// How it is configured.
    pub config: PortConfig,
    /// What it has come to.
    pub state: PortState,
    /// What it does now.
    pub current: PortFeatures,
    /// What it says it can.
    pub advertised: PortFeatures,
    /// What it can.
    pub supported: PortFeatures,
    /// What the other side says it can.
    pub peer: PortFeatures,
    /// Rate now, in kbit/s; 0 if unknown.
    pub current_speed: u32,
    /// The highest rate, in kbit/s; 0 if unknown.
    pub max_speed: u32,
}

impl Port {
    /// Bytes of a port on the wire.
    pub(crate) const LEN: usize = 64;

    /// The name up to the first zero; not checked to be UTF-8.
    pub fn name(&self) -> &[u8] {
        self.raw_name.split(|octet| *octet == 0).next().unwrap_or_default()
    }

    /// What a name becomes on the wire; longer ones are cut to 15 bytes.
    pub fn pack_name(name: &[u8]) -> [u8; 16] {
        let mut raw = [0; 16];
        for (place, octet) in raw.iter_mut().take(15).zip(name) {
            *place = *octet;
        }
        raw
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let number = PortNo(reader.u32()?);
        reader.skip(4)?;
        let address = reader.array()?;
        reader.skip(2)?;
        Ok(Self {
            number,
            address,
            raw_name: reader.array()?,
            config: PortConfig(reader.u32()?),
            state: PortState(reader.u32()?),
            current: PortFeatures(reader.u32()?),
            advertised: PortFeatures(reader.u32()?),
            supported: PortFeatures(reader.u32()?),
            peer: PortFeatures(reader.u32()?),
            current_speed: reader.u32()?,
            max_speed: reader.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.number.0);
        out.zeros(4);
        out.octets(&self.address);
        out.zeros(2);
        out.octets(&self.raw_name);
        let features = [self.current, self.advertised, self.supported, self.peer];
        let words = [self.config.0, self.state.0].into_iter().chain(features.map(|word| word.0));
        for word in words.chain([self.current_speed, self.max_speed]) {
            out.u32(word);
        }
    }
}

choice! {
    /// What happened to a port.
    PortReason(u8) {
        /// It is new.
        Add = 0,
        /// It is gone.
        Delete = 1,
        /// It is different.
        Modify = 2,
    }
}

/// PORT_STATUS: a port has changed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PortStatus {
    /// What happened.
    pub reason: PortReason,
    /// The port now, or as it was when it was deleted.
    pub port: Port,
}

impl PortStatus {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.clone();
        let reason = PortReason::from_number(reader.u8()?).ok_or(start.error(Problem::Value("reason")))?;
        reader.skip(7)?;
        Ok(Self { reason, port: Port::read(reader)? })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u8(self.reason.number());
        out.zeros(7);
        self.port.write(out);
    }
}

/// PORT_MOD: changes a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortMod {
    /// Which port.
    pub port: PortNo,
    /// Its address, which must be right: a guard against mistakes.
    pub address: MacAddress,
    /// Values of the bits in `mask`.
    pub config: PortConfig,
    /// Which bits change.
    pub mask: PortConfig,
    /// What to advertise; none leaves it as it is.
    pub advertise: PortFeatures,
}

impl PortMod {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let port = PortNo(reader.u32()?);
        reader.skip(4)?;
        let address = reader.array()?;
        reader.skip(2)?;
        let (config, mask) = (PortConfig(reader.u32()?), PortConfig(reader.u32()?));
        let advertise = PortFeatures(reader.u32()?);
        reader.skip(4)?;
        Ok(Self { port, address, config, mask, advertise })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.port.0);
        out.zeros(4);
        out.octets(&self.address);
        out.zeros(2);
        for word in [self.config.0, self.mask.0, self.advertise.0] {
            out.u32(word);
        }
        out.zeros(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_zero() {
        assert_eq!(text(b"ab\0cd\0"), b"ab");
        assert_eq!(text(b"abcd"), b"abc", "there is no zero");
        let mut out = Vec::new();
        put_text(&mut out, b"abcd", 4);
        put_text(&mut out, b"a\0b", 4);
        assert_eq!(out, b"abc\0a\0\0\0");
    }
}
