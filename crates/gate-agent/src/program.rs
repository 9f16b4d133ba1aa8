//! The program in the kernel and its maps. Keys and values are bytes in the order of `gate.c`.
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use aya::maps::{HashMap, Map, MapData, PerCpuHashMap, PerCpuValues, RingBuf};
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::xdp::XdpLink;
use aya::programs::{Xdp, XdpFlags};
use aya::{Ebpf, EbpfLoader};
use gate::protocol::{Counters, LIMIT_BURST, Others};
use gate::{Contract, Key, Kind};

use system::Error;

type KeyBytes = [u8; 40];
type ContractBytes = [u8; 32];
type StateBytes = [u8; STATE];
type PortBytes = [u8; 32];
type OthersBytes = [u8; 56];

/// Only what is not there yet is put in (BPF_NOEXIST).
const IF_NONE: u64 = 1;
/// Bytes of the log of judgements, if there is one; else the least that there can be.
const LOG: u32 = 1 << 22;
const NO_LOG: u32 = 4_096;
/// Bytes of the state of a contract.
const STATE: usize = 112;
/// Bytes of one judgement.
const JUDGEMENT: usize = 24;

/// What the gate decided about a frame of a flow with a contract; in a log that tests switch on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The time that it decided on, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// How many frames of the flow it had judged before.
    pub number: u64,
    /// Bytes of the frame on the wire.
    pub octets: u32,
    /// 0 opens a message or finds room in a bucket, 1 is more of a message; dropped are 2 early, 3 the rest, 4 cut; 5 is the excess
    /// of a bucket.
    pub verdict: u32,
}

/// A loaded program. What is pinned stays when this is dropped; what is not ends.
pub struct Program {
    ebpf: Ebpf,
    contracts: HashMap<MapData, KeyBytes, ContractBytes>,
    states: HashMap<MapData, KeyBytes, StateBytes>,
    ports: HashMap<MapData, [u8; 4], PortBytes>,
    counts: PerCpuHashMap<MapData, [u8; 4], OthersBytes>,
    log: Option<RingBuf<MapData>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("log", &self.log.is_some()).finish_non_exhaustive()
    }
}

impl Program {
    /// Loads the compiled program. Maps that are pinned in the folder are used as they are, and new ones are pinned there. If frames are
    /// `stamped`, each has four bytes behind it, the lower half of the monotonic clock at which it came, which are taken off.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn load(object: &Path, pins: &Path, log: bool, stamped: bool) -> Result<Self, Error> {
        let bytes = fs::read(object).map_err(Error::system(object.display()))?;
        let (switch, stamps) = (u32::from(log), u32::from(stamped));
        let mut loader = EbpfLoader::new();
        loader.map_pin_path(pins).set_global("log_on", &switch, true).set_global("stamped", &stamps, true);
        loader.set_max_entries("judgements", if log { LOG } else { NO_LOG });
        let mut ebpf = loader.load(&bytes).map_err(refused("load"))?;
        let mut take = |name: &str| {
            let map = ebpf.take_map(name);
            map.ok_or_else(|| Error::new(format!("the gate has no map \"{name}\""), "build it again"))
        };
        let log = if log { Some(map(take("judgements")?)?) } else { None };
        let (contracts, states) = (map(take("contracts")?)?, map(take("states")?)?);
        let (ports, counts) = (map(take("ports")?)?, map(take("counts")?)?);
        xdp(&mut ebpf)?.load().map_err(refused("load"))?;
        Ok(Self { ebpf, contracts, states, ports, counts, log })
    }

    /// Puts the gate at an interface, with the link pinned at the path. If one is there from before it gets this program
    /// without a moment in between.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn attach(&mut self, interface: u32, pin: &Path) -> Result<(), Error> {
        // Asked for by key, because a value of zeros is also what aya 0.13 gives for one that is not there.
        if !self.counts.keys().flatten().any(|key| key == interface.to_ne_bytes()) {
            let cpus = aya::util::nr_cpus().map_err(|(what, error)| Error::system(what)(error))?;
            let zero = PerCpuValues::try_from(vec![[0; 56]; cpus]).map_err(Error::system("counts"))?;
            self.counts.insert(interface.to_ne_bytes(), zero, 0).map_err(refused("counts"))?;
        }
        let program = xdp(&mut self.ebpf)?;
        let before = PinnedLink::from_pin(pin).ok().map(FdLink::from);
        if let Some(link) = before.and_then(|link| XdpLink::try_from(link).ok())
            && program.attach_to_link(link).is_ok()
        {
            return Ok(());
        }
        // Left of an interface that is gone.
        let _ = fs::remove_file(pin);
        let id = program.attach_to_if_index(interface, XdpFlags::SKB_MODE).map_err(refused("attach"))?;
        let link = program.take_link(id).map_err(refused("attach"))?;
        let link = FdLink::try_from(link).map_err(refused("attach"))?;
        link.pin(pin).map_err(refused("pin"))?;
        Ok(())
    }

    /// Gives a flow a contract; what it has sent is not forgotten. The contract that the kernel has then.
    ///
    /// # Errors
    /// What the kernel says: also that there is no room.
    pub fn set(&mut self, interface: u32, key: &Key, contract: &Contract) -> Result<Contract, Error> {
        let bytes = key_bytes(interface, key);
        if self.states.get(&bytes, 0).is_err() {
            self.states.insert(bytes, [0; STATE], IF_NONE).map_err(refused("states"))?;
        }
        let set = self.contracts.insert(bytes, contract_bytes(contract), 0).map_err(refused("contracts"));
        if let Err(error) = set {
            let _ = self.states.remove(&bytes);
            return Err(error);
        }
        self.contracts.get(&bytes, 0).map(|bytes| contract_of(&bytes)).map_err(refused("contracts"))
    }

    /// Takes the contract of a flow away; what was counted, or `None` if it had none.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn remove(&mut self, interface: u32, key: &Key) -> Result<Option<Counters>, Error> {
        let bytes = key_bytes(interface, key);
        if self.contracts.get(&bytes, 0).is_err() {
            return Ok(None);
        }
        self.contracts.remove(&bytes).map_err(refused("contracts"))?;
        let counters = self.states.get(&bytes, 0).map(|bytes| counters_of(&bytes));
        let _ = self.states.remove(&bytes);
        Ok(Some(counters.unwrap_or_default()))
    }

    /// All contracts, with the interface and what was counted.
    pub fn list(&self) -> Vec<(u32, Key, Contract, Counters)> {
        let entries = self.contracts.iter().flatten();
        entries
            .map(|(key, contract)| {
                let counters = self.states.get(&key, 0).map(|bytes| counters_of(&bytes));
                let (interface, flow) = key_of(&key);
                (interface, flow, contract_of(&contract), counters.unwrap_or_default())
            })
            .collect()
    }

    /// Lets so many frames per second pass without a contract; what the kernel has then.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn limit(&mut self, interface: u32, frames: u32) -> Result<u32, Error> {
        let each = 1_000_000_000_u32.div_ceil(frames.max(1));
        let mut bytes = PortBytes::default();
        put(&mut bytes, 4, &each.to_ne_bytes());
        put(&mut bytes, 8, &(u64::from(each) * u64::from(LIMIT_BURST)).to_ne_bytes());
        put(&mut bytes, 24, &u64::from(frames).to_ne_bytes());
        self.ports.insert(interface.to_ne_bytes(), bytes, 0).map_err(refused("ports"))?;
        self.limit_of(interface).ok_or_else(|| Error::new("the kernel does not keep the limit", ""))
    }

    /// How many frames per second pass without a contract; `None` if none at all.
    pub fn limit_of(&self, interface: u32) -> Option<u32> {
        let bytes = self.ports.get(&interface.to_ne_bytes(), 0).ok()?;
        u32::try_from(number(&bytes, 24)).ok()
    }

    /// What came in at an interface without a contract.
    pub fn others(&self, interface: u32) -> Others {
        let Ok(values) = self.counts.get(&interface.to_ne_bytes(), 0) else { return Others::default() };
        let sum = |place: usize| values.iter().map(|bytes| number(bytes, 8 * place)).sum();
        Others {
            best_effort: sum(0),
            other: sum(1),
            limited: sum(2),
            fragments: sum(3),
            too_long: sum(4),
            tagged: sum(5),
            broken: sum(6),
        }
    }

    /// The next entry of the log, if it is on.
    pub fn judgement(&mut self) -> Option<Judgement> {
        let item = self.log.as_mut()?.next()?;
        let bytes: &[u8; JUDGEMENT] = item.first_chunk()?;
        let half = |at: usize| u32::try_from(number(bytes, 16) >> (8 * at) & 0xffff_ffff).unwrap_or(0);
        // Size and verdict are the halves of the last eight bytes.
        let (bytes_place, verdict_place) = if cfg!(target_endian = "little") { (0, 4) } else { (4, 0) };
        Some(Judgement {
            time: number(bytes, 0),
            number: number(bytes, 8),
            octets: half(bytes_place),
            verdict: half(verdict_place),
        })
    }
}

/// Whether an error of [`Program::set`] is that there is no room.
pub(crate) fn full(error: &Error) -> bool {
    // E2BIG is what maps say.
    error.what.contains("os error 7")
}

fn xdp(ebpf: &mut Ebpf) -> Result<&mut Xdp, Error> {
    let program =
        ebpf.program_mut("gate").ok_or_else(|| Error::new("no program \"gate\"", "build it again"))?;
    program.try_into().map_err(refused("load"))
}

fn map<M: TryFrom<Map, Error = aya::maps::MapError>>(map: Map) -> Result<M, Error> {
    M::try_from(map).map_err(refused("map"))
}

fn refused<E: std::error::Error>(step: &str) -> impl FnOnce(E) -> Error {
    move |error| {
        let mut what = format!("the gate: {step}: {error}");
        let mut cause = error.source();
        while let Some(inner) = cause {
            what += &format!(": {inner}");
            cause = inner.source();
        }
        Error::new(what, "gates need root, and a kernel with BTF (CONFIG_DEBUG_INFO_BTF)")
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

fn key_bytes(interface: u32, key: &Key) -> KeyBytes {
    let mut bytes = [0; 40];
    put(&mut bytes, 0, &interface.to_ne_bytes());
    put(&mut bytes, 4, &address_bytes(key.source));
    put(&mut bytes, 20, &address_bytes(key.destination));
    put(&mut bytes, 36, &key.source_port.to_be_bytes());
    put(&mut bytes, 38, &key.destination_port.to_be_bytes());
    bytes
}

/// An address of IPv4 mapped into IPv6; no address is zeros in both.
fn address_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(four) if four.is_unspecified() => [0; 16],
        IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
        IpAddr::V6(six) => six.octets(),
    }
}

fn key_of(bytes: &KeyBytes) -> (u32, Key) {
    let number = bytes.first_chunk::<4>().copied().unwrap_or_default();
    let two = |at: usize| bytes.get(at..).and_then(|bytes| bytes.first_chunk::<2>()).copied();
    let address = |at: usize| bytes.get(at..).and_then(|bytes| bytes.first_chunk::<16>()).copied();
    let address = |at: usize| Ipv6Addr::from(address(at).unwrap_or_default()).to_canonical();
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let (mut source, mut destination) = (address(4), address(20));
    if source.is_unspecified() {
        source = any;
    }
    if destination.is_unspecified() && source.is_ipv4() {
        destination = any;
    }
    let key = Key {
        source,
        destination,
        source_port: u16::from_be_bytes(two(36).unwrap_or_default()),
        destination_port: u16::from_be_bytes(two(38).unwrap_or_default()),
    };
    (u32::from_ne_bytes(number), key)
}

fn contract_bytes(contract: &Contract) -> ContractBytes {
    let mut bytes = ContractBytes::default();
    put(&mut bytes, 0, &contract.separation.to_ne_bytes());
    put(&mut bytes, 8, &contract.tolerance.to_ne_bytes());
    put(&mut bytes, 16, &contract.window.to_ne_bytes());
    put(&mut bytes, 24, &contract.octets.to_ne_bytes());
    put(&mut bytes, 28, &[contract.dscp << 2, u8::from(contract.kind == Kind::Bucket)]);
    bytes
}

fn contract_of(bytes: &ContractBytes) -> Contract {
    let size = bytes.get(24..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
    Contract {
        kind: if bytes.get(29) == Some(&1) { Kind::Bucket } else { Kind::Messages },
        octets: u32::from_ne_bytes(size),
        separation: number(bytes, 0),
        tolerance: number(bytes, 8),
        window: number(bytes, 16),
        dscp: bytes.get(28).map_or(0, |tos| tos >> 2),
    }
}

fn counters_of(bytes: &StateBytes) -> Counters {
    let place = |place: usize| number(bytes, 48 + 8 * place);
    Counters {
        messages: place(0),
        frames: place(1),
        octets: place(2),
        early: place(3),
        rest: place(4),
        cut: place(5),
        // Behind what is known of the message that frames came of last.
        excess: place(7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_program_in_c() {
        let key = Key {
            source: IpAddr::from([10, 1, 0, 2]),
            source_port: 7_411,
            destination: IpAddr::from([239, 255, 0, 1]),
            destination_port: 7_400,
        };
        let bytes = key_bytes(9, &key);
        assert_eq!(bytes[14..20], [0xff, 0xff, 10, 1, 0, 2]);
        assert_eq!(bytes[30..], [0xff, 0xff, 239, 255, 0, 1, 0x1c, 0xf3, 0x1c, 0xe8]);
        assert_eq!(key_of(&bytes), (9, key));
        let six = |text: &str| text.parse::<IpAddr>().unwrap();
        for (source, destination) in
            [(six("fd00::1"), six("ff18::7")), (six("fd00::1"), six("::")), (key.source, six("0.0.0.0"))]
        {
            let key = Key { source, destination, ..key };
            assert_eq!(key_of(&key_bytes(9, &key)), (9, key));
        }
        let metatraffic = Key::metatraffic(3).unwrap();
        assert_eq!(key_bytes(9, &metatraffic)[4..36], [0; 32]);
        assert_eq!(key_of(&key_bytes(9, &metatraffic)), (9, metatraffic));
        let contract = Contract {
            kind: Kind::Messages,
            octets: 5_064,
            separation: 5_000_000,
            tolerance: 1,
            window: 600_000,
            dscp: 46,
        };
        let bytes = contract_bytes(&contract);
        assert_eq!((&bytes[28..], contract_of(&bytes)), ([0xb8, 0, 0, 0].as_slice(), contract));
        let bucket = Contract { kind: Kind::Bucket, ..contract };
        let bytes = contract_bytes(&bucket);
        assert_eq!((&bytes[28..], contract_of(&bytes)), ([0xb8, 1, 0, 0].as_slice(), bucket));
    }
}
