//! What a flow may send, and the most that then leaves a gate under its contract.
use core::fmt;
use core::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Bytes around a frame on the wire: check sequence, preamble and gap.
pub const AROUND: u32 = 4 + 8 + 12;
/// Bytes of the shortest frame, without check sequence; shorter ones are padded.
pub const SHORTEST_FRAME: u32 = 60;
/// Bytes of the longest frame that a gate lets through, without check sequence.
pub const LONGEST_FRAME: u32 = 1_514;
/// The longest time in a contract, in nanoseconds: an hour.
pub const LONGEST_TIME: u64 = 3_600_000_000_000;

/// What a contract allows, and what becomes of the excess.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One message of at most `octets` for each `separation`. What exceeds it is dropped, messages as a whole.
    #[default]
    Messages,
    /// A bucket that holds `octets` and is filled from empty in `separation`. A frame for which it has too little goes on all the
    /// same, but as what has no contract: with codepoint 0, below the limit of its port.
    Bucket,
}

/// What a flow may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Whether it is about messages, which is meant if it is left out, or a bucket.
    #[serde(default, skip_serializing_if = "Kind::is_default")]
    pub kind: Kind,
    /// Bytes of a message, or of a full bucket, on the wire, every frame counted by [`wire_octets`]; at least those of the shortest
    /// frame.
    pub octets: u32,
    /// Least time from one message to the next, or the time that fills the bucket, in nanoseconds, from 1 to [`LONGEST_TIME`].
    pub separation: u64,
    /// How early a message may come, in nanoseconds, at most [`LONGEST_TIME`]; 0 for a bucket.
    pub tolerance: u64,
    /// The most time from the first to the last frame of a message, in nanoseconds, at most [`LONGEST_TIME`]; 0 for a bucket.
    pub window: u64,
    /// The codepoint that its frames get, at most 63; see [`crate::class`].
    pub dscp: u8,
}

/// The flow that a contract is about: UDP over IPv4 or IPv6, on the port where the gate is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Key {
    /// Where it comes from.
    pub source: IpAddr,
    /// The port that it comes from; 0 is any, and all that match are one flow.
    pub source_port: u16,
    /// Where it goes; 0.0.0.0 or :: is anywhere, and all that match are one flow.
    pub destination: IpAddr,
    /// The port that it goes to. If both ports are 0 and no address is unspecified, it is all UDP between the addresses that has no other contract,
    /// fragments included: see [`Key::between`].
    pub destination_port: u16,
}

impl Kind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a contract or a key makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContractError {
    /// Fewer bytes than the shortest frame has.
    Octets,
    /// A separation of 0 or above an hour.
    Separation,
    /// A tolerance above an hour.
    Tolerance,
    /// A window above an hour.
    Window,
    /// A codepoint above 63.
    Dscp,
    /// A bucket with a tolerance or a window.
    Bucket,
    /// A key with addresses of different versions of IP.
    Version,
    /// A key without an address that it comes from, or without a port that it goes to, which is neither that of a domain's metatraffic nor
    /// that of all UDP between two addresses.
    Key,
}

/// What a frame of `length` bytes, without check sequence, takes on the wire.
pub const fn wire_octets(length: u32) -> u32 {
    (if length < SHORTEST_FRAME { SHORTEST_FRAME } else { length }) + AROUND
}

impl Contract {
    /// Checks the numbers.
    ///
    /// # Errors
    /// The first number that is out of its range.
    pub const fn check(&self) -> Result<(), ContractError> {
        if self.octets < wire_octets(0) {
            return Err(ContractError::Octets);
        }
        if self.separation == 0 || self.separation > LONGEST_TIME {
            return Err(ContractError::Separation);
        }
        if self.tolerance > LONGEST_TIME {
            return Err(ContractError::Tolerance);
        }
        if self.window > LONGEST_TIME {
            return Err(ContractError::Window);
        }
        if self.dscp > 63 {
            return Err(ContractError::Dscp);
        }
        if matches!(self.kind, Kind::Bucket) && (self.tolerance > 0 || self.window > 0) {
            return Err(ContractError::Bucket);
        }
        Ok(())
    }

    /// The tolerance with which a gate refuses nothing of a sender whose first frames are up to `jitter` late and whose
    /// messages take up to `window`, both in nanoseconds (decision 3).
    pub const fn tolerance_for(separation: u64, jitter: u64, window: u64) -> u64 {
        let both = jitter.saturating_add(window);
        if both < separation { jitter } else { both }
    }

    /// The least time from the last frame of a message to the first of the next if the sender keeps the contract, in nanoseconds: as little
    /// as 0.
    pub const fn quiet(&self) -> u64 {
        self.separation.saturating_sub(self.tolerance.saturating_add(self.window))
    }

    /// The most bytes that leave the gate under the contract within `time` nanoseconds, both ends included, whatever comes.
    pub fn most_in(&self, time: u64) -> u64 {
        let (octets, separation) = (u128::from(self.octets), u128::from(self.separation.max(1)));
        let most = match self.kind {
            Kind::Messages => {
                let whole = u128::from(time) + u128::from(self.tolerance) + u128::from(self.window);
                (whole / separation + 1) * octets
            }
            Kind::Bucket => octets + u128::from(time) * octets / separation,
        };
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// The time in which the bucket is filled with so many bytes, in nanoseconds, rounded up.
    pub(crate) fn filled_in(&self, octets: u32) -> u64 {
        let product = u128::from(octets) * u128::from(self.separation);
        u64::try_from(product.div_ceil(u128::from(self.octets.max(1)))).unwrap_or(u64::MAX)
    }
}

impl Key {
    /// The key of all UDP from one address to another that has no other contract, whatever its ports: also of fragments, of which only
    /// the first one of a datagram has ports.
    pub const fn between(source: IpAddr, destination: IpAddr) -> Self {
        Self { source, source_port: 0, destination, destination_port: 0 }
    }

    /// Whether it is such a key.
    pub const fn is_between(&self) -> bool {
        let ports = self.source_port == 0 && self.destination_port == 0;
        ports && !self.source.is_unspecified() && !self.destination.is_unspecified()
    }

    /// Checks that it names a flow, all UDP between two addresses, or the metatraffic of a domain ([`Self::metatraffic`]).
    ///
    /// # Errors
    /// [`ContractError::Key`].
    pub fn check(&self) -> Result<(), ContractError> {
        if self.source.is_ipv4() != self.destination.is_ipv4() {
            return Err(ContractError::Version);
        }
        let names_flow = !self.source.is_unspecified() && self.destination_port != 0;
        if names_flow || self.is_between() || self.domain().is_some() {
            Ok(())
        } else {
            Err(ContractError::Key)
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(domain) = self.domain() {
            return write!(f, "metatraffic of domain {domain}");
        }
        if self.is_between() {
            return write!(f, "all UDP from {} to {}", self.source, self.destination);
        }
        let host = |f: &mut fmt::Formatter<'_>, address: IpAddr| match address {
            IpAddr::V4(four) => write!(f, "{four}"),
            IpAddr::V6(six) => write!(f, "[{six}]"),
        };
        host(f, self.source)?;
        match self.source_port {
            0 => write!(f, ":* to ")?,
            port => write!(f, ":{port} to ")?,
        }
        if self.destination.is_unspecified() {
            f.write_str("*")?;
        } else {
            host(f, self.destination)?;
        }
        write!(f, ":{}", self.destination_port)
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Octets => "a contract for less than the 84 octets of the shortest frame on the wire",
            Self::Separation => "a separation of 0 or above an hour",
            Self::Tolerance => "a tolerance above an hour",
            Self::Window => "a window above an hour",
            Self::Dscp => "a codepoint above 63",
            Self::Bucket => "a bucket with a tolerance or a window: both are for messages, give 0",
            Self::Version => "a key with addresses of IPv4 and of IPv6",
            Self::Key => "a key needs the address that the flow comes from and the port that it goes to",
        })
    }
}

impl core::error::Error for ContractError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;
    use core::net::Ipv4Addr;

    const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

    const GOOD: Contract = Contract {
        kind: Kind::Messages,
        octets: 5_064,
        separation: 5_000_000,
        tolerance: 300_000,
        window: 600_000,
        dscp: 46,
    };

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(GOOD.check(), Ok(()));
        let wrong = |change: &dyn Fn(&mut Contract)| {
            let mut contract = GOOD;
            change(&mut contract);
            contract.check().unwrap_err()
        };
        assert_eq!(wrong(&|c| c.octets = 83), ContractError::Octets);
        assert_eq!(wrong(&|c| c.separation = 0), ContractError::Separation);
        assert_eq!(wrong(&|c| c.separation = LONGEST_TIME + 1), ContractError::Separation);
        assert_eq!(wrong(&|c| c.tolerance = LONGEST_TIME + 1), ContractError::Tolerance);
        assert_eq!(wrong(&|c| c.window = u64::MAX), ContractError::Window);
        assert_eq!(wrong(&|c| c.dscp = 64), ContractError::Dscp);
        assert_eq!(wrong(&|c| c.kind = Kind::Bucket), ContractError::Bucket);
        let bucket = Contract { kind: Kind::Bucket, tolerance: 0, window: 0, ..GOOD };
        assert_eq!(bucket.check(), Ok(()));
        assert_eq!(Contract { window: 1, ..bucket }.check(), Err(ContractError::Bucket));
    }

    #[test]
    fn frames_count_as_they_lie_on_the_wire() {
        assert_eq!(wire_octets(42), 84);
        assert_eq!(wire_octets(60), 84);
        // A datagram of 1,200 bytes has 42 of headers.
        assert_eq!(wire_octets(1_242) * 4, 5_064);
    }

    #[test]
    fn the_curve_counts_a_message_for_every_separation_begun() {
        assert_eq!(GOOD.most_in(0), 5_064);
        assert_eq!(GOOD.most_in(4_100_000 - 1), 5_064);
        assert_eq!(GOOD.most_in(4_100_000), 2 * 5_064);
        assert_eq!(GOOD.most_in(u64::MAX), 3_689_348_814_743 * 5_064);
        assert_eq!(Contract { separation: 1, ..GOOD }.most_in(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_bucket_lets_its_octets_through_at_once_and_then_those_that_fill_it() {
        let bucket = Contract { kind: Kind::Bucket, tolerance: 0, window: 0, ..GOOD };
        assert_eq!(bucket.most_in(0), 5_064);
        assert_eq!(bucket.most_in(5_000_000), 2 * 5_064);
        assert_eq!((bucket.most_in(987), bucket.most_in(988)), (5_064, 5_065));
        assert_eq!((bucket.filled_in(5_064), bucket.filled_in(1)), (5_000_000, 988));
        assert_eq!(Contract { separation: 1, ..bucket }.most_in(u64::MAX), u64::MAX);
    }

    #[test]
    fn keys_name_where_a_flow_comes_from() {
        let key = Key {
            source: IpAddr::from([10, 0, 0, 1]),
            source_port: 0,
            destination: ANY,
            destination_port: 7_400,
        };
        assert_eq!((key.check(), key.to_string()), (Ok(()), "10.0.0.1:* to *:7400".to_string()));
        assert_eq!(Key { destination_port: 0, ..key }.check(), Err(ContractError::Key));
        let between = Key::between(key.source, IpAddr::from([10, 0, 0, 2]));
        let words = "all UDP from 10.0.0.1 to 10.0.0.2".to_string();
        assert_eq!((between.check(), between.to_string()), (Ok(()), words));
        for part in [
            Key { source: ANY, ..between },
            Key { destination: ANY, ..between },
            Key { source_port: 9, ..between },
        ] {
            assert_eq!((part.check(), part.is_between()), (Err(ContractError::Key), false));
        }
        let six = |text: &str| text.parse::<IpAddr>().unwrap();
        let flow = Key { source: six("fd00::1"), destination: six("fd00::2"), ..key };
        assert_eq!((flow.check(), flow.to_string()), (Ok(()), "[fd00::1]:* to [fd00::2]:7400".to_string()));
        assert_eq!(Key { destination: six("::"), ..flow }.check(), Ok(()));
        assert_eq!(Key { destination: ANY, ..flow }.check(), Err(ContractError::Version));
        assert!(Key::between(flow.source, flow.destination).is_between());
        let from_any = Key { source: ANY, destination_port: 7_401, ..key };
        assert_eq!(from_any.check(), Err(ContractError::Key));
    }
}
