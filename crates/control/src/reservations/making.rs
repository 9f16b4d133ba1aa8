//! What a grant comes to in switches and gates.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use gate::class;
use latency::ledger::{Admitted, Plan};
use latency::network::Hop;
use latency::policing::Enforcement;
use latency::port::Contender;
use latency::units::NANOSECOND;
use openflow::Message;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::words::MeterId;

use super::{End, GrantPhase, Granted, GrantedHop, Reservations, dscp};
use crate::action::{GateKey, Pair};
use crate::foreign::aggregate::bucket;
use crate::losses::Role;
use crate::network::Network;
use crate::requests::Wish;

impl Reservations {
    /// The grant of a plan.
    pub(crate) fn granted(
        &self,
        network: &Network,
        plan: &Plan,
        wish: &Wish,
        replaces: Vec<u64>,
        at: BTreeMap<Pair, usize>,
    ) -> Result<Granted, String> {
        let hop = |((hop, contender), share): ((&Hop, &Contender), &u64)| GrantedHop {
            link: hop.port,
            parent: hop.parent,
            share: *share,
            level: contender.level,
            group: None,
        };
        let Admitted { flow, shares, .. } = &plan.admitted;
        let hops = flow.tree.iter().zip(&plan.contenders).zip(shares).map(hop).collect();
        let mut granted = self.grant_of(network, plan.id, &plan.admitted, hops, wish, at)?;
        self.numbers.give_groups(network, &mut granted.hops)?;
        Ok(Granted { replaces, ..granted })
    }

    /// A grant with these hops, as it is programmed.
    pub(crate) fn grant_of(
        &self,
        network: &Network,
        number: u64,
        admitted: &Admitted,
        hops: Vec<GrantedHop>,
        wish: &Wish,
        at: BTreeMap<Pair, usize>,
    ) -> Result<Granted, String> {
        let Admitted { flow, enforcement, .. } = admitted;
        let numbers = || String::from("its numbers are out of range");
        let first = hops.first().ok_or_else(numbers)?;
        let frames = self.ledger.ports().get(first.link).and_then(|port| flow.frames(port));
        let frames = frames.ok_or_else(numbers)?;
        let octets = u32::try_from(frames.bits / 8).map_err(|_| numbers())?;
        let (mut gate, mut meter) = (None, None);
        match enforcement {
            Enforcement::Trust => {}
            Enforcement::Gate(limits) => {
                let back = network.links.get(Network::back(first.link)).ok_or_else(numbers)?;
                let flow = gate::Key {
                    source: wish.source.address.ip(),
                    source_port: wish.source.port,
                    destination: wish.destination.address.ip(),
                    destination_port: wish.destination.port,
                };
                let key = GateKey { port: back.number, flow };
                // Steps of gates are whole nanoseconds.
                let contract = gate::Contract {
                    kind: gate::Kind::Messages,
                    octets: u32::try_from(limits.octets).map_err(|_| numbers())?,
                    separation: limits.separation / NANOSECOND,
                    tolerance: limits.tolerance / NANOSECOND,
                    window: limits.window / NANOSECOND,
                    dscp: if wish.source.address.is_ipv4() { dscp(first.level) } else { class::MARKED },
                };
                contract.check().map_err(|error| error.to_string())?;
                gate = Some((key, contract));
            }
            Enforcement::Meter(limits) if wish.aggregate.is_some() && wish.tunnel.is_none() => {
                let back = network.links.get(Network::back(first.link)).ok_or_else(numbers)?;
                let flow = gate::Key::between(wish.source.address.ip(), wish.destination.address.ip());
                let (octets, separation) = bucket(limits.burst, limits.rate).ok_or_else(numbers)?;
                let contract = gate::Contract {
                    kind: gate::Kind::Bucket,
                    octets,
                    separation,
                    tolerance: 0,
                    window: 0,
                    dscp: class::MARKED,
                };
                contract.check().map_err(|error| error.to_string())?;
                gate = Some((GateKey { port: back.number, flow }, contract));
            }
            Enforcement::Meter(_) => {
                let switch = network.first_switch(&hops).ok_or_else(numbers)?;
                meter = self.numbers.free_meter(switch);
            }
        }
        let ends = wish.goals.iter().zip(&flow.subscribers).map(|(goal, subscriber)| {
            End {
                hop: subscriber.hop,
                to: goal.to,
                address: goal.address,
                maximum_latency: goal.maximum_latency,
                maximum_separation: goal.maximum_separation,
                // How it is spent among the hops may change, and with that the sum of shares.
                promised: goal.maximum_latency,
            }
        });
        Ok(Granted {
            number,
            source: wish.source,
            destination: wish.destination,
            writer: wish.pair.0,
            contract: wish.contract,
            aggregate: wish.aggregate,
            tunnel: wish.tunnel,
            role: Role::Alone,
            pairs: at.keys().copied().collect(),
            at,
            ends: ends.collect(),
            hops,
            meter,
            gate,
            octets,
            phase: GrantPhase::Installing { doomed: None },
            replaces: Vec::new(),
            covered_by: None,
            prune_waits: false,
            lost_pair: None,
            serials: BTreeMap::new(),
        })
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
