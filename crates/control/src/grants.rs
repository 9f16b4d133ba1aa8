//! What a grant comes to in switches and gates.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use latency::ledger::Plan;
use latency::network::Flow;
use latency::path::fixed_latency;
use latency::policing::Enforcement;
use latency::units::NANOSECOND;
use openflow::Message;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::words::MeterId;

use crate::action::{GateKey, Pair};
use crate::entries::FlowEntry;
use crate::network::Network;
use crate::requests::Wish;
use crate::resource_manager::ResourceManager;
use crate::state::{GrantPhase, Granted, GrantedHop, dscp};

impl ResourceManager {
    /// The grant of a plan.
    pub(crate) fn granted(
        &self,
        plan: &Plan,
        wish: &Wish,
        replaces: Option<u64>,
        pairs: BTreeSet<Pair>,
    ) -> Result<Granted, String> {
        let flow = &plan.admitted.flow;
        let hops: Vec<GrantedHop> = flow
            .tree
            .iter()
            .zip(&plan.contenders)
            .zip(&plan.admitted.shares)
            .map(|((hop, contender), share)| GrantedHop {
                link: hop.port,
                share: *share,
                level: contender.level,
            })
            .collect();
        self.grant_of(plan.id, flow, &plan.admitted.enforcement, hops, wish, pairs)
            .map(|granted| Granted { replaces, ..granted })
    }

    /// A grant with these hops, as it is programmed.
    pub(crate) fn grant_of(
        &self,
        number: u64,
        flow: &Flow,
        enforcement: &Enforcement,
        hops: Vec<GrantedHop>,
        wish: &Wish,
        pairs: BTreeSet<Pair>,
    ) -> Result<Granted, String> {
        let numbers = || String::from("its numbers are out of range");
        let ports: Vec<_> = hops.iter().filter_map(|hop| self.ledger.ports().get(hop.link)).collect();
        let fixed = fixed_latency(flow, ports.iter().copied()).ok_or_else(numbers)?;
        let shares =
            hops.iter().try_fold(fixed, |sum, hop| sum.checked_add(hop.share)).ok_or_else(numbers)?;
        let first = hops.first().ok_or_else(numbers)?;
        let frames = ports.first().and_then(|port| flow.frames(port)).ok_or_else(numbers)?;
        let octets = u32::try_from(frames.bits / 8).map_err(|_| numbers())?;
        let (mut gate, mut meter) = (None, None);
        match enforcement {
            Enforcement::Trust => {}
            Enforcement::Gate(limits) => {
                let back = self.network.links.get(Network::back(first.link)).ok_or_else(numbers)?;
                let flow = gate::Key {
                    source: wish.source.address.into(),
                    source_port: wish.source.port,
                    destination: wish.destination.address.into(),
                    destination_port: wish.destination.port,
                };
                let key = GateKey { port: back.number, flow };
                // Steps of gates are whole nanoseconds, so that only a separation may have to be rounded: against us
                // the gate would open earlier than the analysis knows, so it opens later.
                let contract = gate::Contract {
                    kind: gate::Kind::Messages,
                    octets: u32::try_from(limits.octets).map_err(|_| numbers())?,
                    separation: limits.separation.div_ceil(NANOSECOND),
                    tolerance: limits.tolerance / NANOSECOND,
                    window: limits.window / NANOSECOND,
                    dscp: dscp(first.level),
                };
                contract.check().map_err(|error| error.to_string())?;
                gate = Some((key, contract));
            }
            Enforcement::Meter(_) => {
                let switch = self.first_switch(&hops).ok_or_else(numbers)?;
                let used = self.switches.get(switch).map(|state| &state.meters).ok_or_else(numbers)?;
                meter = (1..=MeterId::MAX.0).find(|meter| !used.contains(meter));
            }
        }
        Ok(Granted {
            number,
            source: wish.source,
            destination: wish.destination,
            writer: wish.pair.0,
            contract: wish.contract,
            maximum_latency: wish.maximum_latency,
            maximum_separation: wish.maximum_separation,
            pairs,
            hops,
            meter,
            gate,
            octets,
            promised: shares.div_ceil(NANOSECOND).min(wish.maximum_latency),
            phase: GrantPhase::Installing,
            replaces: None,
            doomed: None,
            serials: BTreeMap::new(),
        })
    }

    /// The switch behind the writer's host.
    pub(crate) fn first_switch(&self, hops: &[GrantedHop]) -> Option<usize> {
        let link = self.network.links.get(hops.first()?.link)?;
        self.network.switch_of(link.to)
    }

    /// What each switch of the way is to have, from the writer on.
    pub(crate) fn flow_entries(&self, grant: &Granted) -> Vec<(usize, FlowEntry)> {
        let mut entries = Vec::new();
        for (index, (before, hop)) in grant.hops.iter().zip(grant.hops.iter().skip(1)).enumerate() {
            let (Some(link), Some(entry)) =
                (self.network.links.get(hop.link), self.network.links.get(Network::back(before.link)))
            else {
                continue;
            };
            let Some(switch) = self.network.switch_of(link.from) else { continue };
            let entry = FlowEntry {
                flow: grant.number,
                in_port: entry.number,
                source: grant.source,
                destination: grant.destination,
                dscp: dscp(hop.level),
                out_port: link.number,
                meter: grant.meter.filter(|_| index == 0),
            };
            entries.push((switch, entry));
        }
        entries
    }

    /// The meter of a grant.
    pub(crate) fn meter_of(&self, number: u64, meter: Option<u32>) -> Option<Message> {
        let Enforcement::Meter(limits) = self.ledger.flow(number)?.enforcement else { return None };
        let kilo = |bits: u64| u32::try_from(bits / 1_000).unwrap_or(u32::MAX);
        Some(Message::MeterMod(MeterMod {
            command: MeterCommand::Add,
            flags: MeterFlags::KBPS | MeterFlags::BURST | MeterFlags::STATS,
            meter: MeterId(meter?),
            bands: alloc::vec![Band::drop(kilo(limits.rate), kilo(limits.burst))],
        }))
    }
}

/// Whether a flow that keeps the old contract keeps the new one, also as gates see it.
pub(crate) fn covers(new: &Granted, old: &Granted) -> bool {
    let (ours, theirs) = (&new.contract, &old.contract);
    let contract = ours.largest_message >= theirs.largest_message
        && ours.smallest_message <= theirs.smallest_message
        && ours.datagram == theirs.datagram
        && ours.minimum_separation <= theirs.minimum_separation
        && ours.jitter >= theirs.jitter
        && ours.emission >= theirs.emission;
    let gate = match (new.gate, old.gate) {
        (Some((key, ours)), Some((old_key, theirs))) => {
            key == old_key
                && ours.octets >= theirs.octets
                && ours.separation <= theirs.separation
                && ours.tolerance >= theirs.tolerance
                && ours.window >= theirs.window
        }
        (None, None) => true,
        _ => false,
    };
    contract && gate && new.meter.is_none()
}
