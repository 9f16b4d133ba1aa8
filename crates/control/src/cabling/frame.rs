//! The manager's own frames of LLDP: what tells them from all others.
//!
//! Such a frame names the port that it was sent by and when that was, and a keyed digest of both. The key is drawn at each start of a manager and never
//! leaves it, so that no one else can make one; when it was sent says how long it counts.
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use lldp::{ChassisId, Frame, Organization, PortId};

/// A keyed digest: key and message to 32 bytes, as HMAC-SHA-256.
pub type Digest = fn(&[u8; 32], &[u8]) -> [u8; 32];

/// No organization's: the bit of locally administered identifiers is set.
const OUI: [u8; 3] = [0x52, 0x50, 0x4e];
const SUBTYPE: u8 = 1;
/// What is digested begins with this, so that the key means nothing else.
const CONTEXT: &[u8] = b"punctual lldp 1";
/// Bytes of the time.
const TIME: usize = 8;
/// Seconds for which a frame says that it is true, for others who hear it.
const TTL: u16 = 20;
/// The name by which the manager's switches say who they are.
const SYSTEM: &str = "punctual";

/// With what own frames are made and told from others.
#[derive(Clone)]
pub(crate) struct Seal {
    pub(crate) secret: [u8; 32],
    pub(crate) digest: Digest,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

/// Whose a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    /// It was sent by this port of the switch with this datapath id, at this time.
    Own(u64, u32, Duration),
    /// It says so, and it is not true.
    Forged,
    /// Of another station.
    Foreign,
}

impl Seal {
    /// A frame of a port. `None` only if a name were too long, which none is.
    pub(crate) fn frame(&self, datapath: u64, port: u32, address: [u8; 6], now: Duration) -> Option<Vec<u8>> {
        let chassis = ChassisId::local(&format!("{datapath:016x}"))?;
        let mut frame = Frame::new(address, chassis, PortId::local(&format!("{port}"))?, TTL);
        frame.system_name = Some(SYSTEM.into());
        let time = u64::try_from(now.as_millis()).unwrap_or(u64::MAX).to_be_bytes();
        let value = [time.as_slice(), &self.mark(datapath, port, time)].concat();
        frame.organizations.push(Organization { oui: OUI, subtype: SUBTYPE, value });
        frame.write().ok()
    }

    /// Whose a frame is.
    pub(crate) fn whose(&self, frame: &Frame) -> Whose {
        let is_ours = |of: &&Organization| (of.oui, of.subtype) == (OUI, SUBTYPE);
        let Some(said) = frame.organizations.iter().find(is_ours) else { return Whose::Foreign };
        let Some((time, mark)) = said.value.split_first_chunk::<TIME>() else { return Whose::Forged };
        let (Some(datapath), Some(port)) = (digits(&frame.chassis, 16), number(&frame.port)) else {
            return Whose::Forged;
        };
        let wanted = self.mark(datapath, port, *time);
        // All of it is compared, wherever it differs.
        let differs = wanted.iter().zip(mark).fold(0, |sum, (wanted, has)| sum | (wanted ^ has));
        if mark.len() != wanted.len() || differs != 0 {
            return Whose::Forged;
        }
        Whose::Own(datapath, port, Duration::from_millis(u64::from_be_bytes(*time)))
    }

    fn mark(&self, datapath: u64, port: u32, time: [u8; TIME]) -> [u8; 32] {
        let message = [CONTEXT, &datapath.to_be_bytes(), &port.to_be_bytes(), &time].concat();
        (self.digest)(&self.secret, &message)
    }
}

/// A datapath id as it was written.
fn digits(chassis: &ChassisId, radix: u32) -> Option<u64> {
    let text = core::str::from_utf8(chassis.0.value()).ok()?;
    u64::from_str_radix(text, radix).ok()
}

fn number(port: &PortId) -> Option<u32> {
    core::str::from_utf8(port.0.value()).ok()?.parse().ok()
}
