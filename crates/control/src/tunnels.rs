//! Tunnels: flows of packets that come from elsewhere or go there, between two stations of the network. Who manages more than this network asks for
//! them: the manager of a domain, of which the network is a part. Programs in the network do not.
//!
//! An owner says all that it wants at a time, and says it again before a lifetime is over ([`ResourceManager::hold_tunnels`]). What it does not say any
//! more ends, and so does all of an owner that falls silent. Grants are stored as others are: a manager that starts again goes on with them, and they
//! end if their owner does not ask for them within the grace.
//!
//! The first switch knows the packets by their codepoint or by their addresses and ports, and by the station that they go to. It holds them to their
//! rate and burst by a meter, and drops what is beyond. Until the last switch they have a destination address of Ethernet that is the tunnel's own, so that
//! switches in between tell tunnels apart whatever is inside. `docs/decisions/0058-lan-of-a-domain.md` says why.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::time::Duration;

use latency::network::Policing;
use latency::policing::Counts;
use latency::switch::Guard;
use openflow::words::MacAddress;
use serde::{Deserialize, Serialize};
use wire::Guid;
use wire::admission::{Address, Contract, Losses, Request, Socket, Stage, State};

use crate::action::{Facts, Pair};
use crate::foreign::aggregate::Aggregate;
use crate::network::Network;
use crate::operations::Timer;
use crate::resource_manager::ResourceManager;

/// Tunnels of an owner at most: as many as a body of HTTP has room for.
pub const MOST_TUNNELS: usize = 160;
/// Owners at most.
pub const MOST_OWNERS: usize = 64;
/// Digits of an id at most.
pub const MOST_DIGITS: usize = 40;
/// Bytes of an id.
const ID: usize = MOST_DIGITS / 2;
/// The shortest and the longest lifetime, in nanoseconds.
const LIFETIMES: core::ops::RangeInclusive<u64> = 1_000_000_000..=3_600_000_000_000;
/// Bytes of the largest packet of IP.
const LARGEST_PACKET: u32 = 1_500;
/// Bytes of the smallest datagram of UDP over IPv4.
const SMALLEST_PACKET: u32 = 28;
/// Bytes that a frame has around a packet: header, check sequence, preamble and gap; and without the last three.
const AROUND_PACKET: u64 = 38;
const HEADER: u64 = 14;
/// Bytes of the least packet that needs no padding.
const UNPADDED: u64 = 46;
/// Bytes of the longest frame on the wire.
const LONGEST: u64 = 1_538;
/// Bytes by which each frame of a tunnel counts as longer where meters count frames from address to payload. The analysis takes the smallest frame to
/// have 42 bytes there, which occupy 84 of the wire. A tunnel matches fragments too, of which the smallest has 35: so it counts as (84 + 17) / 42 for each byte that is
/// counted, which is no less than 84 / 35.
const FOR_FRAGMENTS: u32 = 17;
/// The first bytes of the identifiers that stand for the ends of a tunnel among those of writers and readers. No vendor of RTPS has such an id.
const SENDS: [u8; 2] = [0xff, 0xfe];
const RECEIVES: [u8; 2] = [0xff, 0xfd];
/// The first bytes of the addresses of Ethernet that tunnels have on their way: one that no card has.
const LABEL: [u8; 2] = [0x06, 0x50];

/// Which packets go into a tunnel: of UDP over IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Packets {
    /// All that have this codepoint, 1 to 63.
    Codepoint(u8),
    /// Those of one flow. A port of 0 is any.
    Flow {
        /// Where they come from.
        source: Ipv4Addr,
        /// The port that they come from.
        source_port: u16,
        /// Where they go.
        destination: Ipv4Addr,
        /// The port that they go to.
        destination_port: u16,
    },
}

impl Packets {
    /// Whether a packet may be of both. A codepoint and a flow do not count: the flow comes first.
    fn meet(&self, other: &Self) -> bool {
        let port = |one: u16, other: u16| one == 0 || other == 0 || one == other;
        match (*self, *other) {
            (Self::Codepoint(one), Self::Codepoint(other)) => one == other,
            (
                Self::Flow { source, source_port, destination, destination_port },
                Self::Flow { source: from, source_port: out, destination: to, destination_port: into },
            ) => {
                source == from && destination == to && port(source_port, out) && port(destination_port, into)
            }
            _ => false,
        }
    }
}

/// What an owner wants of one tunnel. Times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelWish {
    /// The owner's name of it: hexadecimal digits, an even number up to [`MOST_DIGITS`].
    pub id: String,
    /// The station where packets come in, by the name of its host.
    pub from: String,
    /// The station where they go out, by the name of its host.
    pub to: String,
    /// Which packets.
    pub packets: Packets,
    /// Bits per second of packets of IP.
    pub rate: u64,
    /// Bytes of packets that may come at once.
    pub burst: u64,
    /// Bytes of the smallest packet; smaller ones count as this.
    pub least_packet: u32,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// How much later than it should a packet is handed to the port of the station where it comes in.
    pub jitter: u64,
    /// The most time from there to the station where it goes out.
    pub limit: u64,
    /// Who yields: flows with the smaller number.
    pub importance: u8,
}

/// All that an owner wants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelsWanted {
    /// Nanoseconds, 1 s to an hour: what the owner has does not outlast its silence for longer.
    pub lifetime: u64,
    /// What it has besides goes on until its lifetime is over. Of an owner that has begun anew, and does not know yet what it needs.
    #[serde(default)]
    pub keep_others: bool,
    /// At most [`MOST_TUNNELS`], each id once.
    pub tunnels: Vec<TunnelWish>,
}

/// How far a tunnel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TunnelState {
    /// It is not decided yet.
    Pending,
    /// It is there, and stays.
    Admitted,
    /// It is not.
    Refused,
    /// It was, and has been taken away.
    Revoked,
}

/// What is said of a tunnel. Times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TunnelStatus {
    /// The owner's name of it.
    pub id: String,
    /// How far it is.
    pub state: TunnelState,
    /// Why it is not there; empty if it is.
    pub reason: String,
    /// No packet takes longer; 0 if it is not there.
    pub bound: u64,
    /// A limit that could be had in place of the one that was refused; 0 if none is known.
    pub offered_limit: u64,
    /// A number that is another one when it was taken away and has been admitted anew since; 0 if it is not there.
    pub grant: u64,
}

/// What a grant stores of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tunnel {
    /// Which packets.
    pub packets: Packets,
}

/// What is known of one.
#[derive(Debug)]
struct Known {
    wish: TunnelWish,
    serial: u64,
    /// Why nothing is asked for.
    obstacle: Option<String>,
}

#[derive(Debug)]
struct Owner {
    until: Duration,
    tunnels: BTreeMap<Vec<u8>, Known>,
}

/// All owners with what they want.
#[derive(Default, Debug)]
pub(crate) struct Tunnels {
    owners: BTreeMap<u32, Owner>,
}

/// The destination address of Ethernet that packets of a grant have between its first switch and its last.
pub(crate) const fn label(grant: u64) -> MacAddress {
    let [.., a, b, c, d] = grant.to_be_bytes();
    [LABEL[0], LABEL[1], a, b, c, d]
}

/// The pair that stands for a tunnel.
fn pair_of(owner: u32, id: &[u8]) -> Pair {
    let mut bytes = [0_u8; ID];
    bytes.iter_mut().zip(id).for_each(|(to, from)| *to = *from);
    let [of_length, ..] = u32::try_from(id.len()).unwrap_or(u32::MAX).to_le_bytes();
    let (mut sends, mut receives) = ([0_u8; 16], [0_u8; 16]);
    let fill = |place: &mut [u8; 16], start: [u8; 2], rest: &[&[u8]]| {
        let all = start.iter().chain(rest.iter().flat_map(|part| part.iter()));
        place.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
    };
    let (first, last) = bytes.split_at(14);
    fill(&mut sends, SENDS, &[first]);
    fill(&mut receives, RECEIVES, &[&owner.to_be_bytes(), last, &[of_length]]);
    (Guid::from_bytes(sends), Guid::from_bytes(receives))
}

fn id_of(digits: &str) -> Option<Vec<u8>> {
    let is_good = !digits.is_empty()
        && digits.len() <= MOST_DIGITS
        && digits.len().is_multiple_of(2)
        && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    is_good.then(|| (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>())?
}

impl TunnelWish {
    fn check(&self) -> Result<(), String> {
        let (least, largest) = (self.least_packet, self.largest_packet);
        if !(SMALLEST_PACKET..=LARGEST_PACKET).contains(&largest)
            || least < SMALLEST_PACKET
            || least > largest
        {
            return Err(format!(
                "packets have {SMALLEST_PACKET} to {LARGEST_PACKET} bytes, the least no more than the largest"
            ));
        }
        if self.rate == 0 || self.limit == 0 {
            return Err("a rate and a limit above 0 are needed".into());
        }
        if self.burst < largest.into() {
            return Err("the burst has no room for the largest packet".into());
        }
        if matches!(self.packets, Packets::Codepoint(0 | 64..)) {
            return Err("a codepoint is 1 to 63".into());
        }
        Ok(())
    }

    /// What it comes to on the wire, and as a contract; `None` if numbers are out of range.
    ///
    /// Of packets with `n` bytes the frame occupies `max(n, 46) + 38`. In proportion to `n` that is most for the least packet.
    fn contract(&self) -> Option<(Aggregate, Contract)> {
        let least = u64::from(self.least_packet);
        let in_proportion = |amount: u64, around: u64| {
            let all = u128::from(amount) * u128::from(least.max(UNPADDED) + around);
            u64::try_from(all.div_ceil(u128::from(least))).ok()
        };
        let late = |rate: u64| {
            u64::try_from((u128::from(rate) * u128::from(self.jitter)).div_ceil(1_000_000_000)).ok()
        };
        let rate = in_proportion(self.rate, HEADER)?;
        // A byte more in each frame: eight bits, as often as a packet of the least size comes.
        let rate_each = self.rate.div_ceil(least);
        let largest = u64::from(self.largest_packet).max(UNPADDED) + AROUND_PACKET;
        let aggregate = Aggregate {
            frames: self.burst.div_ceil(least),
            bits: in_proportion(self.burst.checked_mul(8)?, AROUND_PACKET)?,
            largest: largest.min(LONGEST - u64::from(FOR_FRAGMENTS)) * 8,
            smallest: (UNPADDED + AROUND_PACKET) * 8,
            late: late(rate)?,
            late_each: late(rate_each)?,
            rate,
            rate_each,
        };
        let filled = u128::from(self.burst) * 8_000_000_000 / u128::from(self.rate);
        let contract = Contract {
            largest_message: u32::try_from(self.burst).ok()?,
            smallest_message: 0,
            datagram: self.largest_packet - SMALLEST_PACKET,
            minimum_separation: u64::try_from(filled).ok()?.max(1),
            maximum_separation: 0,
            jitter: self.jitter,
            emission: 0,
            slack: 0,
            importance: self.importance,
        };
        Some((aggregate, contract))
    }
}

/// The flow of an aggregate as that of a tunnel, which a meter of the first switch holds to its contract. Without a meter it has no place.
pub(crate) fn applied(
    network: &Network,
    from: usize,
    flow: latency::network::Flow,
) -> latency::network::Flow {
    let guard = guard(network, from);
    let counts_frames = matches!(guard, Some(Guard::Meters { counts: Counts::Frame, .. }));
    let policing = match guard {
        Some(Guard::Meters { rate_step, burst_step, counts, .. }) => {
            Policing::Meter { rate_step, burst_step, counts }
        }
        // An aggregate has no place behind a gate, so that the analysis refuses what no meter would hold.
        _ => Policing::Gate { tick: 1 },
    };
    let tag = if counts_frames { FOR_FRAGMENTS } else { 0 };
    latency::network::Flow { policing, tag, ..flow }
}

/// What holds the flows of a host at its switch.
fn guard(network: &Network, host: usize) -> Option<Guard> {
    let (_, entry) = network.access(host)?;
    let switch = network.switch_of(network.links.get(entry)?.from)?;
    Some(network.switches.get(switch)?.model.guard)
}

impl ResourceManager {
    /// An owner says what it wants, and is heard. What it wanted before and does not name now ends, unless others are kept.
    ///
    /// How far each is [`Self::tunnels_of`] says. What is named again stays as it is.
    ///
    /// # Errors
    /// What is wrong with it, and with which tunnel. Nothing is changed then.
    pub fn hold_tunnels(&mut self, now: Duration, owner: u32, wanted: &TunnelsWanted) -> Result<(), String> {
        if !LIFETIMES.contains(&wanted.lifetime) {
            return Err("the lifetime is not between a second and an hour".into());
        }
        let mut named = BTreeMap::new();
        for wish in &wanted.tunnels {
            let place = |what: String| format!("tunnel \"{}\": {what}", cut(&wish.id));
            let id = id_of(&wish.id).ok_or_else(|| {
                place(format!(
                    "an id has an even number of the digits 0 to 9 and a to f, up to {MOST_DIGITS}"
                ))
            })?;
            wish.check().map_err(place)?;
            wish.contract().ok_or_else(|| place("its numbers are out of range".into()))?;
            if named.insert(id, wish).is_some() {
                return Err(place("it is there twice".into()));
            }
        }
        let known = self.tunnels.owners.get(&owner);
        let others = known
            .filter(|_| wanted.keep_others)
            .map_or(0, |known| known.tunnels.keys().filter(|id| !named.contains_key(*id)).count());
        if named.len().saturating_add(others) > MOST_TUNNELS {
            return Err(format!("an owner has at most {MOST_TUNNELS} tunnels"));
        }
        if known.is_none() && self.tunnels.owners.len() >= MOST_OWNERS {
            return Err(format!("there are {MOST_OWNERS} owners of tunnels already"));
        }
        let until = now.saturating_add(Duration::from_nanos(wanted.lifetime));
        let former = self.tunnels.owners.remove(&owner).map(|owner| owner.tunnels).unwrap_or_default();
        let (mut tunnels, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
            former.into_iter().partition(|(id, _)| wanted.keep_others || named.contains_key(id));
        for id in gone.into_keys() {
            self.forget(now, pair_of(owner, &id));
        }
        for (id, wish) in named {
            let known = tunnels.remove(&id);
            let known = self.want(now, owner, (&id, wish, known), &tunnels);
            tunnels.insert(id, known);
        }
        if tunnels.is_empty() {
            self.work(now);
            return Ok(());
        }
        self.tunnels.owners.insert(owner, Owner { until, tunnels });
        self.operations.wake(until, Timer::Tunnels);
        self.work(now);
        Ok(())
    }

    /// What an owner has named last, with how far each is.
    pub fn tunnels_of(&self, owner: u32) -> Vec<TunnelStatus> {
        let Some(known) = self.tunnels.owners.get(&owner) else { return Vec::new() };
        known.tunnels.iter().map(|(id, known)| self.status(owner, id, known)).collect()
    }

    /// Owners that were not heard for longer than they wanted lose what they have.
    pub(crate) fn forget_tunnels(&mut self, now: Duration) {
        let silent: Vec<u32> =
            self.tunnels.owners.iter().filter(|(_, owner)| owner.until <= now).map(|(id, _)| *id).collect();
        for owner in silent {
            let Some(known) = self.tunnels.owners.remove(&owner) else { continue };
            for id in known.tunnels.into_keys() {
                self.forget(now, pair_of(owner, &id));
            }
        }
    }

    /// Asks for a tunnel, unless it is known as it is. `others` are those of the owner.
    fn want(
        &mut self,
        now: Duration,
        owner: u32,
        (id, wish, known): (&[u8], &TunnelWish, Option<Known>),
        others: &BTreeMap<Vec<u8>, Known>,
    ) -> Known {
        let pair = pair_of(owner, id);
        let is_same = known.as_ref().is_some_and(|known| known.wish == *wish && known.obstacle.is_none());
        let serial = known.as_ref().map_or(1, |known| known.serial);
        if is_same && self.requests.contains(pair) {
            return Known { wish: wish.clone(), serial, obstacle: None };
        }
        let serial = serial.saturating_add(u64::from(known.is_some()));
        let of_all = self.tunnels.owners.iter().flat_map(|(owner, known)| {
            known.tunnels.iter().map(|(id, known)| (pair_of(*owner, id), &known.wish))
        });
        let of_all = of_all.chain(others.iter().map(|(id, known)| (pair_of(owner, id), &known.wish)));
        let mut wanted = of_all.filter(|(other, _)| *other != pair && self.requests.contains(*other));
        let meets = wanted.any(|(_, other)| {
            (&other.from, &other.to) == (&wish.from, &wish.to) && other.packets.meet(&wish.packets)
        });
        let asked = if meets {
            Err("packets of it are those of another tunnel".to_string())
        } else {
            self.asking(pair, wish, serial)
        };
        let obstacle = match asked {
            Ok((request, facts)) => {
                self.take_request(now, request, facts);
                None
            }
            Err(obstacle) => {
                self.forget(now, pair);
                Some(obstacle)
            }
        };
        Known { wish: wish.clone(), serial, obstacle }
    }

    /// What is asked for a tunnel, or why it cannot be.
    fn asking(&self, pair: Pair, wish: &TunnelWish, serial: u64) -> Result<(Request, Facts), String> {
        let (from, source) = self.station(&wish.from)?;
        let (to, destination) = self.station(&wish.to)?;
        if from == to {
            return Err("both stations are the same".into());
        }
        let network = self.fabric.network();
        if !matches!(guard(network, from), Some(Guard::Meters { .. })) {
            return Err(format!(
                "the switch of {} has no meters, which hold tunnels to what is asked for",
                wish.from
            ));
        }
        let port = network.access(from).and_then(|(link, _)| network.links.get(link)).map(|link| link.port);
        if port.is_none_or(|port| port.queues > 1) {
            // It would have to sort by codepoints of levels, which packets from elsewhere do not have.
            return Err(format!(
                "{} has several queues: give it `queues = 1` in the network file",
                wish.from
            ));
        }
        // One that is on its way out has its entry still, which is found by what it matches.
        let is_of_others = |grant: &&crate::reservations::Granted| {
            let is_there = grant.tunnel.is_some_and(|tunnel| tunnel.packets.meet(&wish.packets));
            is_there && !grant.at.contains_key(&pair) && {
                let ends = network.wish_of(grant);
                ends.is_some_and(|ends| (ends.from, ends.hosts()) == (from, alloc::vec![to]))
            }
        };
        if self.reservations.all().any(|grant| is_of_others(&grant)) {
            return Err("packets of it are those of a tunnel that is on its way out".into());
        }
        let (aggregate, contract) = wish.contract().ok_or("its numbers are out of range")?;
        let slot = self.slot(pair).ok_or("there are too many tunnels")?;
        let request = Request {
            writer: pair.0.to_bytes(),
            reader: pair.1.to_bytes(),
            serial,
            topic: format!("tunnel {}", wish.id),
            contract,
            maximum_latency: wish.limit,
            maximum_separation: 0,
            source: Socket { address: source, port: 0 },
            destination: Socket { address: destination, port: slot },
            stage: Stage::Unassured,
            manager: [0; 16],
            losses: Losses::default(),
        };
        let facts = Facts {
            aggregate: Some(Ok(aggregate)),
            tunnel: Some(Tunnel { packets: wish.packets }),
            ..Facts::default()
        };
        Ok((request, facts))
    }

    /// Grants are told apart by where they come from and go to. No flow but a tunnel has a port at one end alone: it has one of its own.
    fn slot(&self, pair: Pair) -> Option<u16> {
        let granted = self.reservations.all().filter(|grant| grant.tunnel.is_some());
        let granted = granted.map(|grant| (grant.at.contains_key(&pair), grant.destination.port));
        let asked = self.requests.all().filter(|(_, asked)| asked.facts.tunnel.is_some());
        let asked = asked.map(|(other, asked)| (other == pair, asked.request.destination.port));
        let all: Vec<(bool, u16)> = granted.chain(asked).collect();
        if let Some((_, own)) = all.iter().find(|(is_own, _)| *is_own) {
            return Some(*own);
        }
        let used: BTreeSet<u16> = all.into_iter().map(|(_, slot)| slot).collect();
        (1..=u16::MAX).find(|slot| !used.contains(slot))
    }

    /// A host by its name, with an address of IPv4 that it has in no VLAN.
    fn station(&self, name: &str) -> Result<(usize, Address), String> {
        let hosts = &self.fabric.network().hosts;
        let Some((index, host)) = hosts.iter().enumerate().find(|(_, host)| host.name == name) else {
            return Err(format!("the network has no host \"{}\"", cut(name)));
        };
        let address = host.addresses.iter().copied().find(|address| address.is_ipv4());
        let address = address.or_else(|| self.fabric.address_of(index)).ok_or_else(|| {
            format!("no address of {name} is known yet: give it one in the network file, or let it send ARP")
        })?;
        Ok((index, address))
    }

    fn status(&self, owner: u32, id: &[u8], known: &Known) -> TunnelStatus {
        let pair = pair_of(owner, id);
        let said = |state: TunnelState, reason: &str| TunnelStatus {
            id: known.wish.id.clone(),
            state,
            reason: reason.to_string(),
            bound: 0,
            offered_limit: 0,
            grant: 0,
        };
        if let Some(obstacle) = &known.obstacle {
            return said(TunnelState::Refused, obstacle);
        }
        let grant = self.requests.get(pair).and_then(|asked| asked.grant).unwrap_or(0);
        let verdict = match (self.requests.get(pair), self.requests.turned_away(pair)) {
            (Some(asked), _) if asked.verdict.serial == known.serial => &asked.verdict,
            (None, Some(turned_away)) => turned_away,
            (Some(_), _) => return said(TunnelState::Pending, ""),
            (None, None) => return said(TunnelState::Refused, "there is no room for its request"),
        };
        let state = match verdict.state {
            State::Admitted => {
                return TunnelStatus { bound: verdict.bound, grant, ..said(TunnelState::Admitted, "") };
            }
            State::Pending => TunnelState::Pending,
            State::Revoked => TunnelState::Revoked,
            State::Refused => TunnelState::Refused,
        };
        TunnelStatus { offered_limit: verdict.offered_latency, ..said(state, &verdict.reason) }
    }
}

/// A text of others, short enough to be repeated.
fn cut(text: &str) -> String {
    text.chars().take(MOST_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the fragment, what counts for it is no less than the wire that it takes.
    #[test]
    fn the_smallest_fragment_counts_for_all_that_it_takes_of_the_wire() {
        for counted in 35..=1_514_u64 {
            let wire = counted.max(60) + 24;
            assert!(counted * (84 + u64::from(FOR_FRAGMENTS)) >= wire * 42, "{counted}");
        }
        assert!(35 * (84 + u64::from(FOR_FRAGMENTS) - 1) < 84 * 42, "no more than is needed");
    }

    #[test]
    fn no_two_tunnels_have_one_pair() {
        let ids =
            ["00", "0000", "01", "0100", "ff".repeat(ID).as_str(), "ff".repeat(ID - 1).as_str()].map(id_of);
        let pairs: BTreeSet<Pair> = [0, 1, u32::MAX]
            .into_iter()
            .flat_map(|owner| ids.iter().flatten().map(move |id| pair_of(owner, id)))
            .collect();
        assert_eq!(pairs.len(), 3 * ids.len());
        for wrong in ["", "0", "0g", "AB", "+1", "é", "ab".repeat(ID + 1).as_str()] {
            assert_eq!(id_of(wrong), None, "{wrong}");
        }
    }

    /// Whatever the sizes of packets that keep rate and burst, their frames occupy no more than is counted.
    #[test]
    fn frames_of_packets_are_no_more_than_is_counted() {
        for (least, largest, burst) in
            [(28, 1_500, 9_000), (46, 46, 460), (100, 1_000, 5_000), (1_500, 1_500, 1_500)]
        {
            let wish = TunnelWish {
                id: "00".into(),
                from: "a".into(),
                to: "b".into(),
                packets: Packets::Codepoint(46),
                rate: 1_000_000,
                burst,
                least_packet: least,
                largest_packet: largest,
                jitter: 1_000_000,
                limit: 1,
                importance: 0,
            };
            let (aggregate, _) = wish.contract().unwrap();
            for packet in [least, (least + largest) / 2, largest] {
                let count = burst / u64::from(packet);
                let frame = u64::from(packet).max(46) + 38;
                assert!(count * frame * 8 <= aggregate.bits && count <= aggregate.frames, "{packet}");
                // In a second: without what is around frames.
                let each_second = 1_000_000 / 8 / u64::from(packet);
                assert!(
                    each_second * (frame - 24) * 8 <= aggregate.rate
                        && each_second * 8 <= aggregate.rate_each
                );
            }
        }
    }
}
