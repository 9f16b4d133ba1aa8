//! What of the traffic of control each host may send, where gates hold it to that, and how many gates that takes.
//!
//! Each host behind a gate has a bucket in it. What hosts send in it goes to all hosts, so that the buckets of all hosts come together at
//! every port. On their way there frames of control wait for each other and for the frame on the wire, so that a burst that left the gates
//! apart may arrive together: the buckets are smaller than the burst of control by what that can add.
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::framing::{ETHERNET_HEADER, FRAME_AROUND, frame_bits};
use crate::network::Port;
use crate::policing::stretched;
use crate::switch::{Guard, SwitchModel};
use crate::units::{SECOND, scale_down};

/// Bytes on the wire that a bucket holds at least: less would never let a full frame through.
pub const LEAST: u64 = 1_500 + ETHERNET_HEADER + FRAME_AROUND;
/// The longest time that fills a bucket, in nanoseconds: an hour.
pub const LONGEST: u64 = 3_600_000_000_000;

/// A network as its edge is seen from here. Nodes are hosts first, then switches; the ports `2k` and `2k + 1` are the two directions of
/// one cable.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'n> {
    /// The number of hosts.
    pub hosts: usize,
    /// The models of the switches.
    pub models: &'n [&'n SwitchModel],
    /// All ports.
    pub ports: &'n [Port],
    /// For each port, its node and the node that it leads to.
    pub links: &'n [(usize, usize)],
}

/// What each host may send of control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reserve {
    /// Bytes on the wire of a full bucket, at least [`LEAST`].
    pub octets: u64,
    /// The time that fills an empty bucket, in nanoseconds, up to [`LONGEST`].
    pub separation: u64,
    /// How many hosts have buckets.
    pub hosts: usize,
    /// How many gates they take of each switch.
    pub gates: Vec<u32>,
}

/// Why hosts may send nothing of control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoReserve {
    /// A port of a switch has no traffic of control.
    NoControl,
    /// No host is at a switch with gates.
    NoGates,
    /// Too little is left of the burst.
    Burst {
        /// Bytes of the burst.
        burst: u64,
        /// Bytes that may come together on the way.
        added: u64,
        /// Bytes that are left for a bucket.
        left: u64,
        /// How many hosts share it.
        hosts: usize,
        /// In how many domains.
        domains: usize,
    },
    /// A bucket is not full again within [`LONGEST`].
    Rate,
    /// A switch has too few gates.
    Gates {
        /// Its index among the switches.
        switch: usize,
        /// How many it has.
        has: u32,
        /// How many are needed.
        needs: u32,
    },
}

impl NoReserve {
    /// The reason in words, and what to do; `name` says what a switch is called.
    pub fn said(&self, name: impl Fn(usize) -> String) -> String {
        match *self {
            Self::NoControl => "the network file gives no traffic to control: add `control`".into(),
            Self::NoGates => {
                "no host is at a switch with gates, and nothing else keeps discovery within bounds".into()
            }
            Self::Burst { burst, added, left, hosts, domains } => format!(
                "of the burst of control, {burst} octets, {left} are left for each of {hosts} hosts in {domains} domains, since up to \
                 {added} come together on the way, and a frame takes {LEAST}: give `control` a larger burst"
            ),
            Self::Rate => {
                "the rate of control is so small that a bucket is not full again in an hour: give it more"
                    .into()
            }
            Self::Gates { switch, has, needs } => {
                format!("{} has {has} gates, and {needs} are needed for discovery", name(switch))
            }
        }
    }
}

impl Edge<'_> {
    fn switch_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.hosts).filter(|switch| *switch < self.models.len())
    }

    /// The ports with their ends.
    fn links(&self) -> impl Iterator<Item = (usize, usize, &Port)> {
        self.links.iter().zip(self.ports).map(|((from, to), port)| (*from, *to, port))
    }

    /// What each host has of control, if hosts have buckets in so many domains.
    ///
    /// # Errors
    /// Why there are no buckets.
    pub fn reserve(&self, domains: usize) -> Result<Reserve, NoReserve> {
        let from_switches = || self.links().filter(|(from, ..)| self.switch_of(*from).is_some());
        let controls: Option<Vec<_>> = from_switches().map(|(.., port)| port.control).collect();
        let controls = controls.ok_or(NoReserve::NoControl)?;
        let rate = self.counted(controls.iter().map(|control| control.rate).min().unwrap_or(0));
        let burst = controls.iter().map(|control| control.burst).min().unwrap_or(0);
        let mut gates = vec![0_u32; self.models.len()];
        let mut hosts = 0_usize;
        for switch in self.links().filter_map(|(from, to, _)| self.gated(from, to)) {
            hosts += 1;
            if let Some(gates) = gates.get_mut(switch) {
                *gates = gates.saturating_add(u32::try_from(domains).unwrap_or(u32::MAX));
            }
        }
        if hosts == 0 || domains == 0 {
            return Err(NoReserve::NoGates);
        }
        let added = self.added_on_the_way(rate, burst).unwrap_or(u64::MAX);
        let shares = u64::try_from(hosts.saturating_mul(domains)).unwrap_or(u64::MAX);
        let octets = self.counted(burst).saturating_sub(added) / 8 / shares;
        if octets < LEAST {
            let (burst, added) = (burst / 8, added.div_ceil(8));
            return Err(NoReserve::Burst { burst, added, left: octets, hosts, domains });
        }
        // Shares of the rate: a bucket is filled in the time that it has for its bytes, by a clock that may be fast.
        let drift = self.links().map(|(.., port)| port.imperfections.drift).max().unwrap_or(0);
        let separation = (u128::from(octets) * 8 * u128::from(shares) * 1_000_000_000)
            .checked_div(rate.into())
            .and_then(|time| stretched(u64::try_from(time + 1).ok()?, drift))
            .filter(|time| *time <= LONGEST)
            .ok_or(NoReserve::Rate)?;
        for (switch, (model, needs)) in self.models.iter().zip(&gates).enumerate() {
            if let Guard::Gates { count: Some(has), .. } = model.guard
                && has < *needs
            {
                return Err(NoReserve::Gates { switch, has, needs: *needs });
            }
        }
        Ok(Reserve { octets, separation, hosts, gates })
    }

    /// For each switch whose gates or meters are counted: its index, the ports of hosts that lead to it, and how many are there for flows,
    /// which is what hosts' buckets leave.
    pub fn guards_of_flows(&self, reserve: Option<&Reserve>) -> Vec<(usize, Vec<usize>, u32)> {
        let mut from_hosts = vec![Vec::new(); self.models.len()];
        for (port, (from, to)) in self.links.iter().enumerate() {
            if let Some(ports) = self
                .switch_of(*to)
                .filter(|_| *from < self.hosts)
                .and_then(|switch| from_hosts.get_mut(switch))
            {
                ports.push(port);
            }
        }
        let counted = self.models.iter().zip(from_hosts).enumerate();
        counted
            .filter_map(|(switch, (model, ports))| {
                let taken = reserve.and_then(|reserve| reserve.gates.get(switch)).copied().unwrap_or(0);
                Some((switch, ports, model.guards()?.saturating_sub(taken)))
            })
            .collect()
    }

    /// What buckets may let through so that it is no more than these bits on any link: they count with the tags of the first link, and the
    /// smallest frames gain most, since a switch may pad them before it tags them.
    fn counted(&self, bits: u64) -> u64 {
        let tag = self.ports.iter().map(|port| u64::from(port.tag) * 8).max().unwrap_or(0);
        scale_down(bits, frame_bits(0), frame_bits(0) + tag).unwrap_or(0)
    }

    /// The switch with a gate that a port leads to, if it is the port of a host.
    fn gated(&self, from: usize, to: usize) -> Option<usize> {
        let switch = self.switch_of(to).filter(|_| from < self.hosts)?;
        self.models.get(switch).filter(|model| matches!(model.guard, Guard::Gates { .. })).map(|_| switch)
    }

    /// How many bits of control more may come together at a port than left the gates together, at this rate in all: those that come in
    /// the time by which one frame may be slower than another until it is in the queue of a port. A way leads through every switch and
    /// every cable between switches once at most, and through one cable less than switches. In a port a frame of control waits for one
    /// other frame, and for control.
    fn added_on_the_way(&self, rate: u64, burst: u64) -> Option<u64> {
        let spread = |model: &SwitchModel| {
            model.most_multiplexing - model.least_multiplexing.min(model.most_multiplexing)
        };
        let switches = self.models.iter().try_fold(0_u64, |sum, model| sum.checked_add(spread(model)))?;
        let trunks = self
            .links()
            .filter(|(from, to, _)| self.switch_of(*from).is_some() && self.switch_of(*to).is_some());
        let waits: Option<Vec<u64>> = trunks
            .map(|(.., port)| {
                let blocking = u64::from(port.best_effort.max(port.largest_frame)) * 8;
                let blocking = blocking.checked_add(port.server().ahead)?;
                let time = u128::from(blocking.checked_add(burst)?) * u128::from(SECOND);
                u64::try_from(time.div_ceil(u128::from(port.rate.max(1)))).ok()
            })
            .collect();
        let mut waits: Vec<u64> = waits?.chunks(2).filter_map(|both| both.iter().max().copied()).collect();
        waits.sort_unstable_by(|one, other| other.cmp(one));
        let most = self.models.len().saturating_sub(1);
        let time = waits.iter().take(most).try_fold(switches, |sum, wait| sum.checked_add(*wait))?;
        u64::try_from((u128::from(rate) * u128::from(time)).div_ceil(u128::from(SECOND))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Buffer;
    use crate::port::Control;
    use crate::switch::{Interface, Others};
    use crate::units::MICROSECOND;

    fn model(guard: Guard) -> SwitchModel {
        SwitchModel {
            ports: 8,
            queues: 8,
            rate: 100_000_000,
            buffer: Buffer::Shared(500_000),
            pooled: false,
            cell: 1,
            interface: Interface::default(),
            guard,
            least_multiplexing: 0,
            most_multiplexing: 50 * MICROSECOND,
            keeps_order: true,
            overhead: 0,
            preemption: false,
            mtu: 1_500,
        }
    }

    /// Switch, ports and number.
    type Guards = Vec<(usize, Vec<usize>, u32)>;

    /// Two hosts at a first switch, one at a second one.
    fn of(guards: [Guard; 2], control: Option<Control>) -> (Result<Reserve, NoReserve>, Guards) {
        let models = guards.map(model);
        let port = models[0].port(100_000_000, 0, Others { best_effort: true, control }).unwrap();
        let mut links = Vec::new();
        for (one, other) in [(0, 3), (1, 3), (2, 4), (3, 4)] {
            links.extend([(one, other), (other, one)]);
        }
        let ports = vec![port; links.len()];
        let edge = Edge { hosts: 3, models: &models.each_ref(), ports: &ports, links: &links };
        let reserve = edge.reserve(1);
        let guards = edge.guards_of_flows(reserve.as_ref().ok());
        (reserve, guards)
    }

    const fn gates(count: u32) -> Guard {
        Guard::Gates { count: Some(count), tick: 1_000 }
    }

    const CONTROL: Option<Control> = Some(Control { burst: 160_000, rate: 1_000_000 });

    #[test]
    fn buckets_take_gates_from_flows() {
        let (reserve, guards) = of([gates(3), gates(2)], CONTROL);
        let reserve = reserve.unwrap();
        assert_eq!((reserve.hosts, &*reserve.gates), (3, [2, 1].as_slice()));
        assert_eq!(guards, [(0, vec![0, 2], 1), (1, vec![4], 1)]);
        // At the last gate there are buckets and no flows; with one less there is no class, and all gates are for flows.
        let (reserve, guards) = of([gates(2), gates(2)], CONTROL);
        assert!(reserve.is_ok());
        assert_eq!(guards[0], (0, vec![0, 2], 0));
        let (reserve, guards) = of([gates(1), gates(2)], CONTROL);
        assert_eq!(reserve, Err(NoReserve::Gates { switch: 0, has: 1, needs: 2 }));
        assert_eq!(guards, [(0, vec![0, 2], 1), (1, vec![4], 2)]);
    }

    /// Frames of 84 bytes have 88 where they are tagged behind the gate, or padded without their tag: buckets give that much less.
    #[test]
    fn buckets_are_smaller_where_there_are_tags() {
        let models = [gates(3), gates(3)].map(model);
        let port = models[0].port(100_000_000, 0, Others { best_effort: true, control: CONTROL }).unwrap();
        let links = [(0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 2)];
        let octets = |tags: [u32; 2]| {
            let mut ports = vec![Port { tag: tags[0], ..port }; links.len()];
            ports[4].tag = tags[1];
            let models = &models.each_ref();
            let reserve = Edge { hosts: 2, models, ports: &ports, links: &links }.reserve(1).unwrap();
            (reserve.octets, u128::from(reserve.octets) * 1_000_000_000 / u128::from(reserve.separation))
        };
        let (plain, tagged) = (octets([0, 0]), octets([0, 4]));
        assert_eq!(tagged, octets([4, 4]));
        // A burst of 20,000 bytes counts as 19,090, and 2 hosts share it; what comes together on the way is a little less, too.
        assert!((448..=455).contains(&(plain.0 - tagged.0)), "{plain:?} {tagged:?}");
        assert!(tagged.1 * 88 <= plain.1 * 84 + 88, "{plain:?} {tagged:?}");
    }

    /// A gate whose clock is fast fills its bucket earlier: it is told to take longer.
    #[test]
    fn buckets_fill_more_slowly_where_clocks_run_apart() {
        let models = [gates(3), gates(3)].map(model);
        let port = models[0].port(100_000_000, 0, Others { best_effort: true, control: CONTROL }).unwrap();
        let links = [(0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 2)];
        let separation = |drift: u32| {
            let mut ports = vec![port; links.len()];
            ports[0].imperfections.drift = drift;
            let models = &models.each_ref();
            Edge { hosts: 2, models, ports: &ports, links: &links }.reserve(1).unwrap().separation
        };
        let plain = separation(0);
        assert_eq!(separation(200), (plain * 1_000_000).div_ceil(999_800));
    }

    #[test]
    fn meters_and_switches_without_a_number_give_nothing_away() {
        let uncounted = Guard::Gates { count: None, tick: 1_000 };
        let meters = Guard::Meters {
            count: Some(4),
            rate_step: 1_000,
            burst_step: 1_000,
            counts: crate::policing::Counts::Wire,
        };
        let (reserve, guards) = of([uncounted, meters], CONTROL);
        assert_eq!(reserve.unwrap().gates, [2, 0]);
        assert_eq!(guards, [(1, vec![4], 4)]);
        let (reserve, guards) = of([meters, Guard::None], CONTROL);
        assert_eq!((reserve, guards), (Err(NoReserve::NoGates), vec![(0, vec![0, 2], 4)]));
    }

    #[test]
    fn where_there_is_too_little_there_are_no_buckets() {
        assert_eq!(of([gates(9); 2], None).0, Err(NoReserve::NoControl));
        let little = Some(Control { burst: 3 * 8 * LEAST, rate: 1_000_000 });
        assert!(matches!(of([gates(9); 2], little).0, Err(NoReserve::Burst { hosts: 3, .. })));
        let slow = Some(Control { burst: 160_000, rate: 1 });
        assert_eq!(of([gates(9); 2], slow).0, Err(NoReserve::Rate));
    }
}
