//! The reserved class: discovery above all levels, of each host so much that all hosts together stay within the traffic of control that
//! the network file has.
//!
//! The gate of each host's port gives discovery a bucket and marks what finds room there; the excess is best effort. Discovery is sent
//! to everybody, so the buckets of all hosts come together at every port. On their way there frames of control wait for each other and
//! for the frame on the wire, so that a burst that left the gates apart may arrive together: the buckets are smaller than the burst of the
//! file by what that can add.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gate::contract::{LONGEST_FRAME, LONGEST_TIME, wire_octets};
use gate::{Contract, Key, Kind, class};
use latency::switch::Guard;
use latency::units::SECOND;

use crate::action::GateKey;
use crate::network::Network;

/// Octets on the wire that a bucket holds at least: less would never let a full frame through.
const LEAST: u64 = wire_octets(LONGEST_FRAME) as u64;

/// The reserved class of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reserved {
    /// What a host may send in it in each domain.
    pub(crate) contract: Contract,
    /// The number of hosts that have it.
    pub(crate) hosts: usize,
    /// The keys of the domains' discovery.
    keys: Vec<Key>,
}

impl Reserved {
    /// The class of a network whose hosts are in these domains.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(crate) fn of(network: &Network, domains: &[u16]) -> Result<Self, String> {
        let keys: Option<Vec<Key>> = domains.iter().map(|domain| Key::metatraffic(*domain)).collect();
        let keys = keys.filter(|keys| !keys.is_empty()).ok_or("no domain below 233 is served")?;
        let from_switches = || network.links.iter().filter(|link| network.switch_of(link.from).is_some());
        let controls: Option<Vec<_>> = from_switches().map(|link| link.port.control).collect();
        let controls = controls.ok_or("the network file gives no traffic to control: add `control`")?;
        let rate = controls.iter().map(|control| control.rate).min().unwrap_or(0);
        let burst = controls.iter().map(|control| control.burst).min().unwrap_or(0);
        let hosts = gated_hosts(network).count();
        if hosts == 0 {
            return Err(
                "no host is at a switch with gates, and nothing else keeps discovery within bounds".into()
            );
        }
        let added = added_on_the_way(network, rate, burst).unwrap_or(u64::MAX);
        let shares = u64::try_from(hosts.saturating_mul(keys.len())).unwrap_or(u64::MAX);
        let octets = burst.saturating_sub(added) / 8 / shares;
        if octets < LEAST {
            return Err(format!(
                "of the burst of control, {} octets, {octets} are left for each of {hosts} hosts in {} domains, since up to {} come \
                 together on the way, and a frame takes {LEAST}: give `control` a larger burst",
                burst / 8,
                keys.len(),
                added.div_ceil(8),
            ));
        }
        // Shares of the rate: a bucket is filled in the time that it has for its octets.
        let separation = (u128::from(octets) * 8 * u128::from(shares) * 1_000_000_000)
            .checked_div(rate.into())
            .and_then(|time| u64::try_from(time + 1).ok())
            .filter(|time| *time <= LONGEST_TIME)
            .ok_or(
                "the rate of control is so small that a bucket is not full again in an hour: give it more",
            )?;
        let contract = Contract {
            kind: Kind::Bucket,
            octets: u32::try_from(octets).unwrap_or(u32::MAX),
            separation,
            tolerance: 0,
            window: 0,
            dscp: class::CONTROL,
        };
        contract.check().map_err(|error| format!("{error}"))?;
        for (switch, found) in network.switches.iter().enumerate() {
            if let Guard::Gates { count: Some(has), .. } = found.model.guard {
                let ports = gated_hosts(network).filter(|(at, _)| *at == switch).count();
                let needs = ports.saturating_mul(keys.len());
                if usize::try_from(has).is_ok_and(|has| has < needs) {
                    return Err(format!(
                        "{} has {has} gates, and {needs} are needed for discovery",
                        found.name
                    ));
                }
            }
        }
        Ok(Self { contract, hosts, keys })
    }

    /// What the gates of a switch have for the class, by port and domain.
    pub(crate) fn at(&self, network: &Network, switch: usize) -> Vec<(GateKey, Contract)> {
        let ports = gated_hosts(network).filter(|(at, _)| *at == switch);
        ports
            .flat_map(|(_, port)| self.keys.iter().map(move |flow| GateKey { port, flow: *flow }))
            .map(|key| (key, self.contract))
            .collect()
    }
}

/// The ports with a gate that lead to hosts: the switch, and the port's number.
fn gated_hosts(network: &Network) -> impl Iterator<Item = (usize, u32)> {
    network.links.iter().filter(|link| network.switch_of(link.to).is_none()).filter_map(|link| {
        let switch = network.switch_of(link.from)?;
        let gates = matches!(network.switches.get(switch)?.model.guard, Guard::Gates { .. });
        gates.then_some((switch, link.number))
    })
}

/// How many bits of control more may come together at a port than left the gates together, at this rate in all: those that come in the
/// time by which one frame may be slower than another until it is in the queue of a port. A way leads through every switch and every
/// cable between switches once at most, and through one cable less than switches. In a port a frame of control waits for one other
/// frame, and for control.
fn added_on_the_way(network: &Network, rate: u64, burst: u64) -> Option<u64> {
    let spread = |model: &latency::switch::SwitchModel| {
        model.most_multiplexing - model.least_multiplexing.min(model.most_multiplexing)
    };
    let switches =
        network.switches.iter().try_fold(0_u64, |sum, switch| sum.checked_add(spread(&switch.model)))?;
    let trunks = network.links.iter().enumerate().filter(|(index, _)| network.is_trunk(*index));
    let waits: Option<Vec<u64>> = trunks
        .map(|(_, link)| {
            let blocking = u64::from(link.port.best_effort.max(link.port.largest_frame)) * 8;
            let time = u128::from(blocking.checked_add(burst)?) * u128::from(SECOND);
            u64::try_from(time.div_ceil(u128::from(link.port.rate.max(1)))).ok()
        })
        .collect();
    let mut waits: Vec<u64> = waits?.chunks(2).filter_map(|both| both.iter().max().copied()).collect();
    waits.sort_unstable_by(|one, other| other.cmp(one));
    let most = network.switches.len().saturating_sub(1);
    let time = waits.iter().take(most).try_fold(switches, |sum, wait| sum.checked_add(*wait))?;
    u64::try_from((u128::from(rate) * u128::from(time)).div_ceil(u128::from(SECOND))).ok()
}
