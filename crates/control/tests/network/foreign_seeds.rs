//! Random networks and faults with programs that do not ask, which come, change and go.
use std::collections::BTreeMap;

use control::foreign::{Endpoint, Limit, Topic};
use frames::wire::{LARGEST_FRAME, in_fragments};
use wire::admission::{Address, State};

use crate::cases::MS;
use crate::counts::Fault;
use crate::foreign::{endpoint, topic};
use crate::random::Random;
use crate::seeds::Play;
use crate::world::{address, address6, guid, over_ipv6, request};

/// Participants of such programs have numbers from this one on, one for each host.
const FIRST: u8 = 200;

/// What is there of them.
pub(crate) struct Foreign {
    endpoints: Vec<Endpoint>,
    /// Which versions of IP they have, and which one most of them have.
    versions: Random,
    most_have_ipv6: bool,
}

impl Foreign {
    pub(crate) fn new(seed: u64) -> Self {
        let mut versions = Random::new(seed ^ 0x86dd);
        let most_have_ipv6 = versions.one_in(2);
        Self { endpoints: Vec::new(), versions, most_have_ipv6 }
    }

    /// The addresses that a participant of a host announces: mostly one.
    fn addresses(&mut self, host: usize) -> Vec<Address> {
        let is_other = self.versions.one_in(12);
        match self.versions.one_in(6) {
            true => vec![address(host), address6(host)],
            false if self.most_have_ipv6 != is_other => vec![address6(host)],
            false => vec![address(host)],
        }
    }
}

/// Whether IPv6 carries what goes from one to the other, and not IPv4; `None` if it may be both, or is neither.
fn is_over_ipv6(writer: &Endpoint, reader: &Endpoint) -> Option<bool> {
    let has = |end: &Endpoint, six: bool| end.addresses.iter().any(|at| at.is_ipv4() != six);
    let both = |six: bool| has(writer, six) && has(reader, six);
    (both(true) != both(false)).then_some(both(true))
}

/// What an operator has described of them.
pub(crate) fn described_topics() -> Vec<Topic> {
    vec![
        Topic { largest: 500, ..topic("small", Some(Limit::Fixed(15 * MS))) },
        topic("large", Some(Limit::Fixed(40 * MS))),
        topic("quiet", None),
    ]
}

impl Play {
    /// One of them comes, changes or goes.
    pub(crate) fn find_some(&mut self) {
        let Some(mut foreign) = self.foreign.take() else { return };
        let hosts = self.world.network.hosts.len();
        if self.random.one_in(2) {
            let host = self.random.below(hosts);
            let name = match self.random.below(48) {
                0 => "undescribed",
                1..=5 => "quiet",
                6..=10 => "large",
                _ => "small",
            };
            let number = u8::try_from(self.random.below(2)).unwrap() + 1;
            let is_writer = self.random.one_in(2);
            let mut found = endpoint(host, number, is_writer, name);
            let kind = u8::from(is_writer) * 16 + name.len() as u8;
            found.guid = guid(FIRST + u8::try_from(host).unwrap(), number * 32 + kind);
            found.is_reliable = self.random.one_in(2);
            if !self.world.network.hosts[host].addresses.is_empty() {
                found.addresses = foreign.addresses(host);
            }
            match foreign.endpoints.iter().position(|known| known.guid == found.guid) {
                Some(at) => drop(foreign.endpoints.remove(at)),
                None => foreign.endpoints.push(found),
            }
        } else if self.random.one_in(20) {
            foreign.endpoints.clear();
        }
        self.foreign = Some(foreign);
        self.find_again();
    }

    /// They are all there, for a manager that has just begun, too.
    pub(crate) fn find_again(&mut self) {
        let Some(foreign) = &mut self.foreign else { return };
        self.asked.retain(|_, (asked, _, _)| asked.source.port != 0);
        let host = |endpoint: &Endpoint| usize::from(endpoint.guid.to_bytes()[3] - FIRST);
        for writer in foreign.endpoints.iter().filter(|endpoint| endpoint.is_writer) {
            for reader in foreign.endpoints.iter().filter(|endpoint| !endpoint.is_writer) {
                let limit = match &*writer.topic {
                    "small" => 15 * MS,
                    "large" => 40 * MS,
                    _ => continue,
                };
                let (from, to, pair) = (host(writer), host(reader), (writer.guid, reader.guid));
                if from == to || writer.topic != reader.topic {
                    continue;
                }
                let mut asked = request(pair, 0, from, to, (0, 0), crate::cases::contract(1, 1), limit);
                let six = is_over_ipv6(writer, reader);
                if six == Some(true) {
                    asked = over_ipv6(asked, from, to);
                }
                self.asked.insert(pair, (asked, from, to));
                let is_served = self.world.state(pair) == Some(State::Admitted);
                self.world.counts.add_if(is_served, Fault::ServedUnasked);
                self.world.counts.add_if(is_served && six == Some(true), Fault::ServedUnaskedOverIpv6);
            }
        }
        let endpoints = foreign.endpoints.clone();
        self.world.find(&endpoints);
    }

    /// Where all is quiet, a sample of each topic finds room in the bucket of its hosts with what acknowledges it and some full frames, however IPv6 cuts
    /// them; and what may be carried by either version, or by none, is not served.
    pub(crate) fn samples_find_room(&self) {
        let Some(foreign) = &self.foreign else { return };
        let of = |is_writer: bool| {
            foreign.endpoints.iter().filter(move |endpoint| endpoint.is_writer == is_writer)
        };
        let mut all: BTreeMap<(Address, Address), u64> = BTreeMap::new();
        for (writer, reader) in of(true).flat_map(|writer| of(false).map(move |reader| (writer, reader))) {
            if writer.topic != reader.topic {
                continue;
            }
            let Some(six) = is_over_ipv6(writer, reader) else {
                let state = self.world.state((writer.guid, reader.guid));
                assert_ne!(state, Some(State::Admitted), "{writer:?} {reader:?}");
                continue;
            };
            let at = |end: &Endpoint| *end.addresses.iter().find(|at| at.is_ipv4() != six).unwrap();
            let size = if writer.topic == "small" { 500 } else { 4_000 };
            // By hand: RTPS header 20, and for each fragment INFO_DST 16, INFO_TS 12, DATA_FRAG 36 and HEARTBEAT 32. ACKNACK is 28 and 32 of a set.
            let packed = |pieces: u64| 20 + size + pieces * (16 + 12 + 36 + 32);
            let pieces = size / 1_024 + 1;
            let on_wire = |bytes, mtu| in_fragments(bytes, mtu, six).iter().sum::<u64>();
            let apart = pieces * on_wire(packed(pieces) / pieces, 1_280);
            let sample = [1_280, 1_500].map(|mtu| on_wire(packed(pieces), mtu)).into_iter().max().unwrap();
            let answer = on_wire(20 + 16 + 28 + 32, 1_500);
            let is_answered = writer.is_reliable && reader.is_reliable;
            let (from, to) = (at(writer), at(reader));
            *all.entry((from, to)).or_insert(4 * LARGEST_FRAME) += sample.max(apart);
            if is_answered {
                *all.entry((to, from)).or_insert(4 * LARGEST_FRAME) += answer;
            }
        }
        for (key, gate) in self.world.gates.iter().flatten().filter(|(key, _)| key.flow.is_between()) {
            let ends: (Address, Address) = (key.flow.source.into(), key.flow.destination.into());
            let needed = all.get(&ends).copied().unwrap_or(0);
            assert!(u64::from(gate.octets) >= needed, "{needed} bytes are needed: {key:?} {gate:?}");
        }
    }

    /// None of them is there any more.
    pub(crate) fn find_none(&mut self) {
        if let Some(foreign) = &mut self.foreign {
            foreign.endpoints.clear();
            self.find_again();
        }
    }
}
