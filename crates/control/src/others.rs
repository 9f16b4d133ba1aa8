//! Managers beside each other: what each says of itself, and which of them manages a network that several could.
//!
//! A manager that manages goes before one that does not; of two that are alike the one that began earlier, and of two that began at the
//! same time the one whose participant has the smaller prefix. The others stand by: they touch no switch and answer no request. All see the
//! same, so all decide alike, and what has begun goes on: a manager that comes later never takes over from one that works.
//!
//! Nothing of it is secret, but a claim is bound to its participant and to the network file: without the file no participant makes a manager
//! stand by, only by spying on its memory or disk. Managers that share a store are of one network whatever files they were started with, because the file that is
//! in the store leads; they know each other by what tells that store from others ([`proof_of_store`]).
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use wire::GuidPrefix;
use wire::md5::md5;

use crate::network::Network;

const MAGIC: [u8; 4] = *b"PNGM";
/// The version of a claim that says nothing of a store, and of one that does.
const VERSION: u8 = 1;
const VERSION_OF_STORE: u8 = 2;
/// Bytes of a claim without that.
const LEN: usize = 30;

/// What a manager says of itself, in USER_DATA of its participant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// It manages its network; else it stands by.
    pub manages: bool,
    /// When it began to do what it does, in milliseconds since 1970.
    pub began: u64,
    /// See [`proof`].
    pub proof: [u8; 16],
    /// See [`proof_of_store`]; `None` if it shares no store.
    pub store: Option<[u8; 16]>,
}

/// Another manager, as an operator should see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OtherManager {
    /// GUID prefix of its participant, as hexadecimal digits.
    pub participant: String,
    /// The name of its participant, if it has one.
    pub name: String,
    /// Where it is.
    pub address: String,
    /// What it does: `manages`, `stands by`, or `unknown` if it has not said so in a way that shows that it knows the network file.
    pub role: &'static str,
    /// Whether it shows that it shares the store of the manager that says this: it leads with the network file that is kept there.
    pub shares_store: bool,
}

impl Claim {
    /// As USER_DATA.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LEN);
        bytes.extend(MAGIC);
        let version = if self.store.is_some() { VERSION_OF_STORE } else { VERSION };
        bytes.extend([version, u8::from(self.manages)]);
        bytes.extend(self.began.to_le_bytes());
        bytes.extend(self.proof);
        bytes.extend(self.store.into_iter().flatten());
        bytes
    }

    /// What USER_DATA says; `None` if that is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let ([version, manages], rest) = rest.split_first_chunk::<2>()?;
        let (began, rest) = rest.split_first_chunk::<8>()?;
        let (proof, store) = rest.split_first_chunk::<16>()?;
        let store = match *version {
            VERSION if store.is_empty() => None,
            VERSION_OF_STORE => Some(store.try_into().ok()?),
            _ => return None,
        };
        let is_known = *magic == MAGIC && *manages < 2;
        is_known.then_some(Self {
            manages: *manages == 1,
            began: u64::from_le_bytes(*began),
            proof: *proof,
            store,
        })
    }

    /// Whether the manager with this claim goes before the other.
    pub fn goes_before(&self, own: GuidPrefix, other: &Self, of: GuidPrefix) -> bool {
        let rank = |claim: &Self, prefix: GuidPrefix| (!claim.manages, claim.began, prefix);
        rank(self, own) < rank(other, of)
    }
}

/// What only a participant that has the file of a network can say: a digest of the network's hosts, switches and links, and of the
/// participant itself, so that what one has said means nothing if another one repeats it.
pub fn proof(network: &Network, participant: GuidPrefix) -> [u8; 16] {
    let mut bytes = Vec::new();
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes();
    let name = |name: &str, bytes: &mut Vec<u8>| {
        bytes.extend(number(name.len()));
        bytes.extend(name.as_bytes());
    };
    bytes.extend(number(network.hosts.len()));
    for host in &network.hosts {
        name(&host.name, &mut bytes);
        bytes.extend(number(host.addresses.len()));
        bytes.extend(host.addresses.iter().flat_map(|address| address.bytes()));
        for vlan in &host.vlans {
            bytes.extend(vlan.id.to_le_bytes());
            bytes.extend(number(vlan.addresses.len()));
            bytes.extend(vlan.addresses.iter().flat_map(|address| address.bytes()));
        }
    }
    bytes.extend(number(network.switches.len()));
    for switch in &network.switches {
        name(&switch.name, &mut bytes);
        bytes.extend(switch.datapath.to_le_bytes());
    }
    for link in &network.links {
        bytes.extend(number(link.from));
        bytes.extend(number(link.to));
        bytes.extend(link.number.to_le_bytes());
    }
    bytes.extend(participant.0);
    md5(&bytes)
}

/// What only a participant can say that knows the identity of a store, which is kept in that store alone: a digest of it and of the participant.
pub fn proof_of_store(identity: &str, participant: GuidPrefix) -> [u8; 16] {
    let mut bytes = b"store".to_vec();
    bytes.extend(identity.as_bytes());
    bytes.extend(participant.0);
    md5(&bytes)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;
    use crate::network::Host;
    use alloc::vec;
    use latency::split::Split;

    const A: GuidPrefix = GuidPrefix([1; 12]);
    const B: GuidPrefix = GuidPrefix([2; 12]);

    fn claim(manages: bool, began: u64) -> Claim {
        Claim { manages, began, proof: [7; 16], store: None }
    }

    #[test]
    fn one_of_two_goes_before_the_other_and_both_see_that() {
        let all = [claim(true, 1), claim(true, 2), claim(false, 1), claim(false, 2)];
        for one in all {
            for other in all {
                let (first, second) = (one.goes_before(A, &other, B), other.goes_before(B, &one, A));
                assert!(first != second, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn who_comes_later_does_not_take_over_whatever_its_clock_says() {
        assert!(claim(true, 1_000).goes_before(B, &claim(false, 0), A));
        assert!(
            claim(true, 1_000).goes_before(B, &claim(true, 1_001), A),
            "after a split network is whole again"
        );
        assert!(claim(false, 5).goes_before(A, &claim(false, 5), B));
    }

    #[test]
    fn a_claim_is_read_as_it_was_written_and_nothing_else_is_one() {
        for store in [None, Some([9; 16])] {
            let written = Claim { store, ..claim(true, 1_795_470_978_274) };
            let bytes = written.to_bytes();
            assert_eq!(Claim::from_bytes(&bytes), Some(written));
            for length in 0..bytes.len() {
                assert_eq!(Claim::from_bytes(&bytes[..length]), None);
            }
            for place in 0..6 {
                let mut other = bytes.clone();
                other[place] ^= 0x40;
                assert_eq!(Claim::from_bytes(&other), None, "byte {place}");
            }
            assert_eq!(Claim::from_bytes(&[&bytes[..], &[0]].concat()), None);
        }
        // As the versions before wrote it.
        assert_eq!((claim(true, 1).to_bytes().len(), claim(true, 1).to_bytes()[4]), (30, 1));
    }

    #[test]
    fn a_proof_of_a_store_is_of_that_store_and_one_participant() {
        let one = proof_of_store("7 12 host, process 3", A);
        assert_eq!(one, proof_of_store("7 12 host, process 3", A));
        assert_ne!(one, proof_of_store("7 12 host, process 3", B));
        assert_ne!(one, proof_of_store("7 12 host, process 4", A));
    }

    #[test]
    fn a_proof_is_of_one_network_and_one_participant() {
        let host = |name: &str| Host {
            name: name.into(),
            addresses: vec![[10, 0, 0, 1].into()],
            mac: None,
            vlans: Vec::new(),
        };
        let network = |hosts| Network {
            hosts,
            switches: vec![],
            links: vec![],
            split: Split::Load,
            full: BTreeSet::new(),
        };
        let one = network(vec![host("ab"), host("c")]);
        let shifted = network(vec![host("a"), host("bc")]);
        assert_eq!(proof(&one, A), proof(&one.clone(), A));
        assert_ne!(proof(&one, A), proof(&one, B));
        assert_ne!(proof(&one, A), proof(&shifted, A));
    }
}
