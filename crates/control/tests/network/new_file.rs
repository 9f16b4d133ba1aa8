//! Another network file for the manager that leads: applied if all that is in force can be kept, or by force, and refused otherwise. Between the moment when the
//! store has it and the one when the manager goes on with it the manager may crash, or never hear that the store has it.
use std::collections::BTreeSet;

use control::action::StoreChange;
use control::network::{Link, Network};
use latency::port::Control;
use wire::Guid;
use wire::admission::{State, Verdict};

use crate::counts::Fault;
use crate::doing::Next;
use crate::random::Random;
use crate::seeds::Play;
use crate::world::{Pair, address};

/// A network with one thing changed. What is known by its number stays at it.
fn changed(network: &Network, random: &mut Random) -> Network {
    let mut network = network.clone();
    let hosts = network.hosts.len();
    let trunks: Vec<usize> = (2 * hosts..network.links.len()).step_by(2).collect();
    match [0, 1, 1, 1, 2, 3, 4, 5][random.below(8)] {
        // A cable between switches is faster or slower.
        0 if !trunks.is_empty() => {
            let one = *random.of(&trunks);
            let rate = *random.of(&[2_000_000, 10_000_000, 50_000_000, 1_000_000_000]);
            for link in [one, Network::back(one)] {
                network.links[link].port.rate = rate;
            }
        }
        // All ports of switches are.
        1 => {
            let rate = *random.of(&[3_000_000, 10_000_000, 100_000_000]);
            let of_switches = network.links.iter_mut().filter(|link| link.from >= hosts);
            of_switches.for_each(|link| link.port.rate = rate);
        }
        // One more, or the last one less.
        2 if network.switches.len() > 1 => {
            let (one, other) = (hosts, hosts + 1 + random.below(network.switches.len() - 1));
            let port = network.links[1].port;
            if network.leaving(one).any(|(_, link)| link.to == other) {
                return network;
            }
            let number = |network: &Network, node: usize| {
                network.leaving(node).map(|(_, link)| link.number).max().unwrap_or(0) + 1
            };
            let (at_one, at_other) = (number(&network, one), number(&network, other));
            network.links.push(Link { from: one, to: other, number: at_one, port });
            network.links.push(Link { from: other, to: one, number: at_other, port });
        }
        3 if trunks.len() > network.switches.len() => network.links.truncate(network.links.len() - 2),
        // What is reserved for control, or another multiplexing delay.
        4 => {
            let control = random.one_in(2).then_some(Control { burst: 160_000, rate: 500_000 });
            let of_switches = network.links.iter_mut().filter(|link| link.from >= hosts);
            of_switches.for_each(|link| link.port.control = control);
        }
        // An address is not learned any more, or is again.
        _ => {
            let host = random.below(hosts);
            let known = &mut network.hosts[host].addresses;
            *known = if known.is_empty() { vec![address(host)] } else { Vec::new() };
        }
    }
    network
}

impl Play {
    /// The network file is changed and read again.
    pub(crate) fn change_file(&mut self) {
        // Cables that are plugged in wrongly, and hosts that have moved, are not in any file.
        if self.world.is_swapped().is_some() || !self.movers.is_empty() {
            return;
        }
        let network = changed(&self.world.network, &mut self.random);
        let Ok(obstacles) = self.world.manager.obstacles_to(network.clone(), solver::multipliers) else {
            return;
        };
        if !obstacles.is_empty() && !self.random.one_in(3) {
            self.world.counts.add(Fault::FileRefused);
            return;
        }
        // The program has stored all that the manager wanted before it looks at commands.
        if self.world.store_fails {
            return;
        }
        self.world.settle_if(|next| matches!(next, Next::Commit | Next::Stored));
        if obstacles.is_empty() && self.random.one_in(2) {
            return self.change_in_doubt(network);
        }
        self.go_on_with(network, obstacles.is_empty());
        self.world.counts.add(Fault::FileChanged);
    }

    /// The store has the file, and the manager does not know that: it goes on with the former one, until a change of it arrives or it crashes.
    fn change_in_doubt(&mut self, network: Network) {
        (self.world.store_fails, self.world.is_file_in_doubt) = (true, true);
        for _ in 0..self.random.below(4) {
            self.some_request();
            for _ in 0..self.random.below(20) {
                let next = self.world.next();
                if next.is_empty() {
                    break;
                }
                let next = *self.random.of(&next);
                self.world.happen(next, usize::MAX);
            }
            self.world.store_fails &= !self.random.one_in(4);
        }
        if self.random.one_in(2) {
            self.world.store_fails = false;
            self.some_request();
            self.world.settle();
        }
        if self.world.is_file_in_doubt {
            self.go_on_with(network, true);
            self.world.counts.add(Fault::FileLed);
        } else {
            self.world.counts.add(Fault::FileTakenBack);
        }
        (self.world.store_fails, self.world.is_file_in_doubt) = (false, false);
    }

    /// A manager begins with a file and what is stored; all that is admitted is kept if it was to be.
    fn go_on_with(&mut self, network: Network, keeps: bool) {
        let admitted = self.world.verdicts.values().filter(|verdict| verdict.state == State::Admitted);
        let admitted: BTreeSet<Pair> = admitted.map(Verdict::pair).collect();
        let before: BTreeSet<Pair> = self.served().intersection(&admitted).copied().collect();
        self.mix.former = None;
        let hosts = |network: &Network| network.hosts.clone();
        self.mix.rebound |= hosts(&network) != hosts(&self.world.network);
        // Ports have the numbers of the file, and all cables of it are there.
        self.world.has_unplugged |= network.links.len() < self.world.network.links.len();
        self.world.network = network;
        let links = self.world.network.links.len();
        self.world.down.retain(|link| *link < links);
        self.world.speeds.retain(|link, _| *link < links);
        self.world.restart();
        if keeps {
            let after = self.served();
            let lost: Vec<&Pair> = before.difference(&after).collect();
            assert!(lost.is_empty(), "the new file was to keep all flows, and has lost {lost:?}");
        }
        self.begin_again();
    }

    /// The pairs of stored grants that the manager is not about to take out of the store.
    fn served(&self) -> BTreeSet<Pair> {
        let removed: BTreeSet<u64> = self
            .world
            .to_store
            .iter()
            .filter_map(|(_, change)| match change {
                StoreChange::Remove(number) => Some(*number),
                _ => None,
            })
            .collect();
        let grants = self.world.store.values().filter(|grant| !removed.contains(&grant.number));
        let pairs = grants.flat_map(|grant| &grant.pairs);
        pairs.map(|pair| (Guid::from_bytes(pair.writer), Guid::from_bytes(pair.reader))).collect()
    }
}
