//! Which packets a rule is about, and what traffic they may be: RFC 5777 (rules and classifiers) and RFC 5624 (token buckets).
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::avp::Avp;
use crate::error::{DecodeError, Problem};
use crate::structure::structures;
use crate::value::{Amount, Value, enumerated};

/// A number in an Integer32 or Enumerated that has fewer bits.
macro_rules! narrow {
    ($($(#[$about:meta])* $name:ident($repr:ty) < $limit:literal;)*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            pub struct $name($repr);
            impl $name {
                /// The value of a number; `None` if it is too large.
                pub const fn new(number: $repr) -> Option<Self> {
                    if (number as u32) < $limit { Some(Self(number)) } else { None }
                }
                /// The number.
                pub const fn number(self) -> $repr {
                    self.0
                }
            }
            impl Value for $name {
                fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
                    let number = <$repr>::try_from(i32::read(avp)?).ok();
                    number.and_then(Self::new).ok_or(avp.error(Problem::Value))
                }
                fn write(&self, out: &mut Vec<u8>) {
                    i32::from(self.0).write(out);
                }
            }
        )*
    };
}

narrow! {
    /// A port of TCP or UDP.
    Port(u16) < 65_536;
    /// A codepoint of DiffServ.
    Dscp(u8) < 64;
    /// A protocol of IP, as the Internet registry numbers them: 6 is TCP, 17 UDP.
    Protocol(u8) < 256;
    /// How many bits of an address count.
    MaskWidth(u8) < 129;
}

enumerated! {
    /// In which direction a classifier applies, seen from the managed terminal.
    Direction {
        /// From the managed terminal.
        In = 0,
        /// To the managed terminal.
        Out = 1,
        /// Both.
        Both = 2,
    }
    /// What happens with packets of a rule.
    TreatmentAction {
        /// They are dropped.
        Drop = 0,
        /// They are delayed until they conform.
        Shape = 1,
        /// Their codepoint is set.
        Mark = 2,
        /// They pass.
        Permit = 3,
    }
    /// What QoS-Parameters mean.
    QosSemantics {
        /// Asked for.
        Desired = 0,
        /// Could be had.
        Available = 1,
        /// Has been delivered.
        Delivered = 2,
        /// The least that is of use.
        Minimum = 3,
        /// Granted.
        Authorized = 4,
    }
    /// Whether a specification means what it says, or all else.
    Negated {
        /// What it says.
        False = 0,
        /// All else.
        True = 1,
    }
}

structures! {
    /// Addresses that begin with the same bits.
    IpAddressMask {
        /// Any of them.
        one IP_ADDRESS address: IpAddr,
        /// How many bits count.
        one IP_MASK_BIT_MASK_WIDTH width: MaskWidth,
    }
    /// Ports from one to another.
    PortRange {
        /// The first; 0 if it is left out.
        maybe PORT_START start: Port,
        /// The last; 65,535 if it is left out.
        maybe PORT_END end: Port,
    }
    /// One end of packets: From-Spec and To-Spec. What is left out may be anything.
    EndSpec {
        /// Single addresses.
        many IP_ADDRESS addresses: IpAddr,
        /// Networks.
        many IP_ADDRESS_MASK masks: IpAddressMask,
        /// Single ports.
        many PORT ports: Port,
        /// Ranges of ports.
        many PORT_RANGE port_ranges: PortRange,
        /// Whether all of this is meant the other way round.
        maybe NEGATED negated: Negated,
    }
    /// Which packets a rule is about.
    Classifier {
        /// Its name, chosen by its author.
        one CLASSIFIER_ID id: Vec<u8>,
        /// The protocol of IP.
        maybe PROTOCOL protocol: Protocol,
        /// The direction; both if it is left out.
        maybe DIRECTION direction: Direction,
        /// Where packets come from.
        many FROM_SPEC from: EndSpec,
        /// Where they go.
        many TO_SPEC to: EndSpec,
        /// Their codepoints.
        many DIFFSERV_CODE_POINT dscp: Dscp,
    }
    /// A token bucket (RFC 5624, 3.1), in bytes and bytes per second.
    TokenBucket {
        /// How fast it is filled, in bytes per second.
        one TOKEN_RATE rate: Amount,
        /// How much it holds, in bytes.
        one BUCKET_DEPTH depth: Amount,
        /// The most that is sent for a moment, in bytes per second.
        one PEAK_TRAFFIC_RATE peak: Amount,
        /// Smaller packets count as so many bytes.
        one MINIMUM_POLICED_UNIT minimum_policed: u32,
        /// The largest packet, in bytes.
        one MAXIMUM_PACKET_SIZE maximum_packet: u32,
    }
    /// The traffic of a rule.
    QosParameters {
        /// The token bucket that it keeps.
        maybe TMOD_1 token_bucket: TokenBucket,
        /// The class of its packets (RFC 5624, 3.4).
        maybe PHB_CLASS phb_class: u32,
    }
    /// Which list of parameters QoS-Parameters has.
    QosProfileTemplate {
        /// Who made the list: 0 is the IETF.
        one VENDOR_ID vendor: u32,
        /// The number of the list: 0 is that of RFC 5624.
        one QOS_PROFILE_ID profile: u32,
    }
    /// What happens with packets above the token bucket.
    ExcessTreatment {
        /// What is done with them.
        one TREATMENT_ACTION treatment: TreatmentAction,
        /// Which list of parameters is used.
        maybe QOS_PROFILE_TEMPLATE template: QosProfileTemplate,
        /// The traffic up to which the treatment applies.
        maybe QOS_PARAMETERS parameters: QosParameters,
    }
    /// A rule: packets, and what traffic they may be.
    FilterRule {
        /// Rules with smaller numbers come first.
        maybe FILTER_RULE_PRECEDENCE precedence: u32,
        /// The packets.
        maybe CLASSIFIER classifier: Classifier,
        /// What happens with them.
        maybe TREATMENT_ACTION treatment: TreatmentAction,
        /// What the parameters mean.
        maybe QOS_SEMANTICS semantics: QosSemantics,
        /// Which list of parameters is used.
        maybe QOS_PROFILE_TEMPLATE template: QosProfileTemplate,
        /// The traffic.
        maybe QOS_PARAMETERS parameters: QosParameters,
        /// What happens with what exceeds it.
        maybe EXCESS_TREATMENT excess: ExcessTreatment,
    }
    /// The rules of a session, one for each direction of each flow.
    QosResources {
        /// At least one is useful.
        many FILTER_RULE rules: FilterRule,
    }
}

/// Two AVPs that contradict each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction(pub String);

impl core::fmt::Display for Contradiction {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Contradiction {}

impl TokenBucket {
    /// Finds numbers that no traffic can have together: a peak below the rate, a bucket that the largest packet does not
    /// fit in, a least unit above the largest packet, or no packet at all.
    ///
    /// # Errors
    /// Which two numbers, with their values; the answer is then DIAMETER_CONTRADICTING_AVPS.
    pub fn check(&self) -> Result<(), Contradiction> {
        let fails = |text| Err(Contradiction(text));
        let (packet, unit) = (self.maximum_packet, self.minimum_policed);
        if packet == 0 {
            return fails("Maximum-Packet-Size is 0: say the bytes of the largest packet".into());
        }
        if self.peak < self.rate {
            return fails(alloc::format!(
                "Peak-Traffic-Rate {} is below Token-Rate {}",
                self.peak.0,
                self.rate.0
            ));
        }
        if self.depth.0 < u64::from(packet) {
            return fails(alloc::format!(
                "Bucket-Depth {} is below Maximum-Packet-Size {packet}",
                self.depth.0
            ));
        }
        if unit > packet {
            return fails(alloc::format!(
                "Minimum-Policed-Unit {unit} is above Maximum-Packet-Size {packet}"
            ));
        }
        Ok(())
    }
}

impl PortRange {
    /// The first and the last port; `None` if the first is above the last.
    pub fn bounds(&self) -> Option<(u16, u16)> {
        let start = self.start.map_or(0, Port::number);
        let end = self.end.map_or(u16::MAX, Port::number);
        (start <= end).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_traffic_has_are_named() {
        let right = TokenBucket {
            rate: Amount(1000),
            depth: Amount(1500),
            peak: Amount::UNLIMITED,
            minimum_policed: 64,
            maximum_packet: 1500,
            other: Vec::new(),
        };
        assert_eq!(right.check(), Ok(()));
        let wrong = [
            (TokenBucket { peak: Amount(999), ..right.clone() }, "Peak-Traffic-Rate 999"),
            (TokenBucket { depth: Amount(1499), ..right.clone() }, "Bucket-Depth 1499"),
            (TokenBucket { minimum_policed: 1501, ..right.clone() }, "Minimum-Policed-Unit 1501"),
            (TokenBucket { maximum_packet: 0, ..right }, "Maximum-Packet-Size is 0"),
        ];
        for (bucket, text) in wrong {
            assert!(bucket.check().unwrap_err().0.starts_with(text), "{text}");
        }
    }

    #[test]
    fn ranges_without_ends_are_open() {
        let range = |start: Option<u16>, end: Option<u16>| PortRange {
            start: start.and_then(Port::new),
            end: end.and_then(Port::new),
            other: Vec::new(),
        };
        assert_eq!(range(None, None).bounds(), Some((0, 65_535)));
        assert_eq!(range(Some(7), Some(7)).bounds(), Some((7, 7)));
        assert_eq!(range(Some(8), Some(7)).bounds(), None);
    }
}
