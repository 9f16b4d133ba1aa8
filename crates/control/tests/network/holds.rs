//! What holds of a network that is played: always, and when all is quiet.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control::grant::StoredRole;
use openflow::flow::FlowMod;
use openflow::words::MeterId;
use wire::Guid;
use wire::admission::{Address, Request, State, Verdict};

use crate::counts::Fault;
use crate::judge::{Case, announcement, judge};
use crate::mix::is_turned_away;
use crate::seeds::{Play, is_foreign};
use crate::world::{LATER_FRAGMENT, Pair, address, mac, packet_of};
use testkit::openflow_switch::{Packet, Tag};

/// The numbers of what is stored, and what each pair was told.
type Outcome = (Vec<u64>, Vec<(Pair, State)>);

impl Play {
    /// Packets that nobody has admitted come from anywhere, and want to be admitted ones.
    pub(crate) fn strange_packets(&mut self) {
        let hosts = self.world.network.hosts.len();
        let (from, to) = (self.random.below(hosts), self.random.below(hosts));
        // Who has taken the place of another one is taken for it until it speaks.
        if self.movers.contains(&from) {
            return;
        }
        let dscp = *self.random.of(&[0, 10, 18, 46, 48]);
        // A frame that claims an IPv4 address that the network file gives to another host reaches no host.
        let claims = Packet {
            from: mac(from),
            to: [0xff; 6],
            tag: None,
            kind: *self.random.of(&[0x0800, 0x0806]),
            source: address(to),
            destination: address(self.random.below(hosts)),
            protocol: 17,
            ports: (40_000, *self.random.of(&[7_400, 7_410, 7_411])),
            dscp: *self.random.of(&[0, 46, 48]),
        };
        // Where a new file gives an address to a host, its switch holds others to that once it has been put right.
        let (_, link) = self.world.network.leaving(from).next().unwrap();
        let first = self.world.network.switch_of(link.to).unwrap();
        let is_put_right = !self.mix.rebound || self.world.manager.report().switches[first].state == "ready";
        let is_bound = !self.world.network.hosts[to].addresses.is_empty() && is_put_right;
        if from != to && is_bound {
            let arrived = self.world.send(from, claims);
            assert!(arrived.is_empty(), "{claims:?} from {from} arrives: {arrived:?}");
        }
        let plain = Packet {
            from: mac(from),
            to: if self.random.one_in(3) { [0xff; 6] } else { mac(to) },
            tag: None,
            kind: *self.random.of(&[0x0800, 0x0806]),
            source: address(from),
            destination: address(to),
            protocol: 17,
            ports: (7_400, *self.random.of(&[7_400, 7_410, 7_411])),
            dscp,
        };
        let forged = self.asked.values().nth(self.random.below(self.asked.len().max(1)));
        // The first who speaks with an address that has to be learned has it.
        let known = |host: usize, of: Address| {
            self.world.manager.report().hosts[host].addresses.contains(&of.to_string())
        };
        let is_known = |(asked, writer, _): &&(Request, usize, usize)| known(*writer, asked.source.address);
        let packet = match forged.filter(|asked| asked.1 != from && is_known(asked)) {
            Some((asked, writer, reader)) => {
                let verdict = self.world.verdicts.values().find(|verdict| verdict.pair() == asked.pair());
                let destination = verdict.map_or(asked.destination, |verdict| verdict.destination);
                let asked = Request { destination, ..asked.clone() };
                Packet { from: mac(from), ..packet_of(&asked, *writer, *reader, dscp) }
            }
            None => plain,
        };
        self.strange_tagged_packets(from, to);
        // With a tag it has no level whatever it is.
        let vid = *self.random.of(&[0, 5, 4_095]);
        for (_, packet, trace) in self.world.send(from, Packet { tag: Some(Tag { vid, pcp: 7 }), ..packet }) {
            let has_level = trace.iter().skip(1).any(|(_, dscp)| *dscp != 0) && packet.kind != 0x0806;
            assert!(!has_level, "{packet:?} from {from} has a level: {trace:?}");
        }
        let discovery = self
            .world
            .discovery_of(from)
            .filter(|_| packet.kind == 0x0800 && gate::metatraffic::domain_of(packet.ports.1) == Some(0));
        for (_, _, trace) in self.world.send(from, packet) {
            let after = trace.iter().skip(1);
            let allowed = |dscp: u8| dscp == 0 || dscp == gate::class::CONTROL && discovery.is_some();
            // What is between two hosts of an aggregate is part of it.
            let between = gate::Key::between(packet.source.ip(), packet.destination.ip());
            let is_part = packet.source == address(from)
                && packet.protocol == 17
                && self.world.gates.iter().any(|gates| gates.keys().any(|key| key.flow == between));
            if is_part {
                continue;
            }
            let has_level = after.clone().any(|(_, dscp)| !allowed(*dscp)) && packet.kind != 0x0806;
            assert!(!has_level, "{packet:?} from {from} has a level: {trace:?}");
        }
    }

    /// What holds at any time.
    pub(crate) fn check(&mut self) -> Vec<Case> {
        self.world.manager.audit().unwrap();
        self.nothing_new_is_drained();
        let report = self.world.manager.report();
        for pair in &report.pairs {
            assert!(
                pair.state == "admitted" && pair.present <= pair.promised || pair.promised == 0,
                "{pair:?}"
            );
        }
        let admitted: Vec<_> = self
            .world
            .verdicts
            .values()
            .filter(|verdict| verdict.state == State::Admitted && verdict.epoch == self.world.epoch)
            .cloned()
            .collect();
        let mut cases = Vec::new();
        for verdict in admitted {
            let Some((asked, from, to)) = self.asked.get(&verdict.pair()).cloned() else {
                panic!("a verdict for nobody: {verdict:?}")
            };
            if verdict.serial == asked.serial {
                assert!((1..=asked.maximum_latency).contains(&verdict.bound), "{verdict:?}");
            }
            let way: Vec<usize> = self.way(&report, verdict.pair());
            let node = |switch: usize| self.world.network.switch_node(switch);
            let on_way =
                |switch: &usize| way.iter().any(|link| self.world.network.links[*link].from == node(*switch));
            // Nobody can know what happens at a switch that is away, or that has said it and was not heard yet.
            let away = (0..self.world.switches.len()).filter(|switch| !self.world.is_heard(*switch));
            let broken = way.iter().any(|link| self.world.down.contains(link));
            // Until it speaks, and its former place does not answer, a host that has moved is where it was.
            if self.movers.contains(&from) || self.movers.contains(&to) {
                continue;
            }
            // Nor is it known at once that nothing comes over a cable.
            if way.iter().any(|link| self.world.silent.contains(link)) {
                continue;
            }
            // A frame that says where the cable leads may be on its way.
            if way.iter().any(|link| self.world.swapped.contains_key(link)) {
                continue;
            }
            // A flow whose way is cut is on its way to another one, or is about to be revoked, while something is under way.
            let is_moving = report.operations > 0 || away.into_iter().any(|switch| on_way(&switch));
            if self.forgetful.iter().any(on_way) || broken && is_moving {
                continue;
            }
            let of_serial = self.destinations.get(&(verdict.pair(), verdict.serial));
            let reader = of_serial.copied().unwrap_or(asked.destination);
            let asked = Request { source: verdict.source, destination: verdict.destination, ..asked };
            let sent = packet_of(&asked, from, to, verdict.dscp);
            self.other_tags_gain_nothing(from, sent);
            let mut arrived = self.world.send(from, sent);
            // A copy for another reader may come over a cable that is plugged in wrongly, until a frame says where it leads.
            let is_astray =
                |trace: &[(usize, u8)]| trace.iter().any(|(link, _)| self.world.swapped.contains_key(link));
            arrived.retain(|(_, _, trace)| !is_astray(trace));
            let hosts: BTreeSet<usize> = arrived.iter().map(|(host, _, _)| *host).collect();
            assert_eq!(hosts.len(), arrived.len(), "a host has it twice: {verdict:?} {arrived:?}");
            if verdict.destination.address.is_multicast() {
                // On its last link it is for the reader alone; others may have it, too.
                arrived.retain(|(host, _, _)| *host == to);
                self.world.counts.add(Fault::ServedByTree);
            }
            assert_eq!(arrived.len(), 1, "not there, or elsewhere: {verdict:?} {arrived:?}");
            let (host, packet, trace) = &arrived[0];
            assert_eq!(*host, to);
            assert_eq!(packet.tag, sent.tag, "a tag is kept: {verdict:?}");
            self.world.counts.add_if(sent.tag.is_some(), Fault::ServedInVlan);
            assert_eq!(
                (packet.to, packet.destination, packet.ports.1),
                (mac(to), reader.address, reader.port),
                "not there, or elsewhere: {verdict:?}"
            );
            assert!(trace.iter().all(|(_, dscp)| *dscp != 0), "no level: {trace:?}");
            assert_eq!(trace.iter().map(|(link, _)| *link).collect::<Vec<_>>(), way);
            let first = self.world.network.switch_of(self.world.network.links[way[0]].to).unwrap();
            if self.world.has_gates(first) {
                let key = self.world.gates[first].iter().find(|(key, _)| {
                    key.flow.source == asked.source.address.ip()
                        && key.flow.source_port == asked.source.port
                        && key.flow.destination == asked.destination.address.ip()
                });
                assert!(key.is_some_and(|(_, gate)| gate.octets >= verdict.octets), "no gate: {verdict:?}");
            }
            let trace = trace.clone();
            if is_foreign(&asked) && !asked.source.address.is_ipv4() {
                let later = Packet { protocol: LATER_FRAGMENT, ..sent };
                let arrived = self.world.send(from, later);
                assert!(
                    arrived.len() == 1 && arrived[0].2 == trace,
                    "a later fragment goes another way: {verdict:?} {arrived:?}"
                );
            }
            if verdict.losses.frames == 0 {
                cases.push(Case { trace, verdict });
                continue;
            }
            self.world.counts.add(Fault::WithLosses);
            cases.extend(self.beside(&verdict, from, to));
            let bound = verdict.losses.without;
            cases.push(Case { trace, verdict: Verdict { bound, ..verdict } });
        }
        cases
    }

    /// The links of an admitted pair.
    fn way(&self, report: &control::report::Report, pair: Pair) -> Vec<usize> {
        let digits =
            |guid: Guid| -> String { guid.to_bytes().iter().map(|octet| format!("{octet:02x}")).collect() };
        let of_pair = |found: &&control::report::PairReport| {
            (found.writer.as_str(), found.reader.as_str()) == (&*digits(pair.0), &*digits(pair.1))
        };
        let hops = &report.pairs.iter().find(of_pair).expect("the pair is reported").hops;
        let link = |port: &str| {
            let links = 0..self.world.network.links.len();
            links.into_iter().find(|link| self.world.network.port_name(*link) == port).unwrap()
        };
        hops.iter().map(|hop| link(&hop.port)).collect()
    }

    /// Everything comes back, and time passes: what holds then.
    pub(crate) fn quiet(&mut self) {
        self.mix.former = None;
        self.world.store_fails = false;
        while let Some(gone) = self.ghosts.first().copied() {
            self.miss(gone);
        }
        for switch in &mut self.world.switches {
            switch.most_flows = None;
            switch.most_groups = None;
        }
        self.silent_cables_are_found();
        self.wrong_cables_are_found();
        let slow: Vec<usize> = self.world.speeds.keys().copied().collect();
        slow.into_iter().for_each(|link| self.world.negotiate(link, None));
        for switch in 0..self.world.switches.len() {
            let name = self.world.network.switches[switch].name.clone();
            drop(self.world.manager.undrain(self.world.now, &name));
            self.is_not_drained(switch);
            self.world.collect();
        }
        for link in (0..self.world.network.links.len()).step_by(2) {
            self.world.cable(link, true);
        }
        // Answers that were lost with a connection never come; the manager closes what does not answer.
        let mut before = None;
        for _ in 0..6 {
            self.reconnect();
            self.forgetful.clear();
            self.world.greet();
            self.world.pass(Duration::from_secs(20));
            // As a manager looks from time to time: meanwhile it may have learned where a host is.
            self.find_again();
            let now = self.at_rest();
            if now.is_some() && now == before {
                break;
            }
            before = now;
        }
        self.movers.clear();
        let cases = self.check();
        self.allowed();
        self.samples_find_room();
        if self.random.one_in(4)
            && let Err(reason) = judge(&mut self.world, &cases, self.random.next())
        {
            panic!("{reason}");
        }
        let report = self.world.manager.report();
        assert_eq!(report.operations, 0, "{:#?}", self.world.manager);
        for switch in &report.switches {
            assert_eq!((switch.state, switch.gates.unwrap_or(true)), ("ready", true));
        }
        let mut served = BTreeSet::new();
        for verdict in self.world.verdicts.values() {
            assert_ne!(verdict.state, State::Pending, "{verdict:?}");
            let pair = verdict.pair();
            let Some((asked, _, _)) = self.asked.get(&pair) else {
                // Of two addresses of one host the manager may know one alone.
                assert!(pair.0.prefix == pair.1.prefix && verdict.state == State::Refused, "{verdict:?}");
                continue;
            };
            assert!(is_foreign(asked) || verdict.serial == asked.serial, "{verdict:?}");
            if verdict.state == State::Admitted {
                served.insert(verdict.pair());
            }
        }
        let told = |pair: &&Pair| self.world.verdicts.contains_key(*pair);
        let untold: Vec<&Pair> = self.asked.keys().filter(|pair| !told(pair)).collect();
        assert!(untold.is_empty(), "they are told nothing: {untold:?}");
        // Each pair has one stored grant if it is admitted, and none if not; each grant its rules, and each rule its grant.
        let mut stored = Vec::new();
        let (mut entries, mut forks) = (0, 0);
        for grant in self.world.store.values() {
            stored.extend(grant.pairs.iter().map(|pair| (pair.writer, pair.reader)));
            let parents: Vec<usize> = grant.hops.iter().filter_map(|hop| hop.parent).collect();
            entries += parents.iter().collect::<BTreeSet<_>>().len();
            let ends = grant.ends.len().max(1);
            let is_beside = matches!(grant.role, Some(StoredRole::Beside(_)));
            assert!(
                is_beside || (0..ends).all(|end| grant.pairs.iter().any(|pair| pair.end == end)),
                "{grant:?}"
            );
            forks += grant.hops.iter().filter(|hop| hop.group > 0).count();
        }
        stored.sort_unstable();
        let served: Vec<_> = served.into_iter().map(|pair| (pair.0.to_bytes(), pair.1.to_bytes())).collect();
        assert_eq!(stored, served, "stored grants and admitted pairs");
        self.stored_where_they_are(&report);
        let of_flows =
            |flow: &&FlowMod| flow.table.0 == 0 && [59_000, 60_000, 65_400].contains(&flow.priority);
        let rules: usize =
            self.world.switches.iter().map(|switch| switch.flows.iter().filter(of_flows).count()).sum();
        assert_eq!(rules, entries, "rules and grants");
        let copies: usize = self
            .world
            .switches
            .iter()
            .map(|switch| switch.groups.keys().filter(|group| (2..1 << 24).contains(*group)).count())
            .sum();
        assert_eq!(copies, forks, "groups and grants");
        let contracts: usize = self.world.gates.iter().map(BTreeMap::len).sum();
        let of_flows = |meters: &BTreeMap<u32, _>| {
            meters.keys().filter(|meter| **meter != MeterId::CONTROLLER.0).count()
        };
        let meters: usize = self.world.switches.iter().map(|switch| of_flows(&switch.meters)).sum();
        let reserved = report.reserved.hosts;
        assert_eq!(contracts + meters, self.world.store.len() + reserved, "contracts and grants");
        // The discovery of every host that has a part of the class has it all the way.
        assert!(reserved == 0 || reserved == self.world.network.hosts.len());
        for host in 0..self.world.network.hosts.len() {
            assert_eq!(self.world.discovery_of(host).is_some(), reserved > 0);
            let wanted = if reserved > 0 { gate::class::CONTROL } else { gate::class::BEST_EFFORT };
            for (_, _, trace) in self.world.send(host, announcement(host)) {
                assert!(trace.iter().skip(1).all(|(_, dscp)| *dscp == wanted), "{trace:?}");
            }
        }
    }

    /// What is stored and told, if nothing is under way: the same after another while is what it comes to.
    fn at_rest(&self) -> Option<Outcome> {
        let report = self.world.manager.report();
        let is_ready = report
            .switches
            .iter()
            .all(|switch| (switch.state, switch.gates.unwrap_or(true)) == ("ready", true));
        let told: Vec<(Pair, State)> =
            self.world.verdicts.values().map(|verdict| (verdict.pair(), verdict.state)).collect();
        let is_over = told.iter().all(|(_, state)| *state != State::Pending);
        let stored = self.world.store.keys().copied().collect();
        (is_ready && is_over && report.operations == 0).then_some((stored, told))
    }

    /// Once everybody has had time to say so, no flow is left on cables that are plugged elsewhere; then they are put right.
    fn wrong_cables_are_found(&mut self) {
        let Some((one, other)) = self.world.is_swapped() else { return };
        self.reconnect();
        // A switch that is put right meanwhile, or does not answer, tells it later.
        self.world.pass(Duration::from_secs(40));
        self.world.greet();
        self.world.pass(Duration::from_secs(5));
        let is_ready = self.world.manager.report().switches.iter().all(|switch| switch.state == "ready");
        let is_there = [one, other].iter().all(|link| !self.world.down.contains(link));
        if is_ready && is_there && self.is_trunk(one) {
            let links = self.world.manager.link_reports();
            for link in [one, other] {
                assert_eq!((links[link].cable, links[link].flows), ("elsewhere", 0), "{:?}", links[link]);
            }
            self.world.counts.add(Fault::SwapFound);
        } else if is_ready && is_there {
            for (host, place) in [(one / 2, other / 2), (other / 2, one / 2)] {
                let known = &self.world.manager.report().hosts[place].addresses;
                assert_eq!(*known, [address(host).to_string()], "{host} at {place}");
            }
        }
        self.world.swap(one, other);
    }

    /// A cable that has lost what it carries for long is known, and no flow is on it.
    fn silent_cables_are_found(&mut self) {
        if self.world.silent.is_empty() && self.random.one_in(2) {
            self.cut_silently();
        }
        let Some((link, epoch)) = self.cut.filter(|_| !self.world.silent.is_empty()) else { return };
        self.reconnect();
        // Six readings of each switch, and time for those that were away.
        self.world.pass(Duration::from_secs(60));
        let report = self.world.manager.report();
        let is_ready = report.switches.iter().all(|switch| switch.state == "ready");
        let is_there = !self.world.down.contains(&link) && !self.world.swapped.contains_key(&link);
        if is_ready && is_there && epoch == self.world.epoch {
            let found = &self.world.manager.link_reports()[link];
            assert_eq!((found.cable, found.flows), ("silent", 0), "{found:?}");
            self.world.counts.add(Fault::SilenceFound);
        }
        self.world.silent.clear();
    }

    /// What is stored of a flow says at which levels it is.
    fn stored_where_they_are(&self, report: &control::report::Report) {
        let network = &self.world.network;
        for grant in self.world.store.values() {
            let levels: BTreeMap<String, u8> = (0..network.links.len())
                .flat_map(|index| {
                    let link = &network.links[index];
                    let ends = (network.node_name(link.from), network.node_name(link.to), link.number);
                    let hop = grant.hops.iter().find(|hop| (&*hop.from, &*hop.to, hop.number) == ends);
                    hop.map(|hop| (network.port_name(index), hop.level))
                })
                .collect();
            for pair in &grant.pairs {
                let digits = |bytes: [u8; 16]| -> String {
                    bytes.iter().map(|octet| format!("{octet:02x}")).collect()
                };
                let (writer, reader) = (digits(pair.writer), digits(pair.reader));
                let found =
                    report.pairs.iter().find(|pair| (&pair.writer, &pair.reader) == (&writer, &reader));
                for hop in &found.expect("the pair is reported").hops {
                    assert_eq!(levels.get(&hop.port), Some(&hop.level), "{}: {grant:?}", hop.port);
                }
            }
        }
    }

    /// Nobody goes without what there is: who is refused when all is quiet, and asks the same again, is refused again.
    pub(crate) fn nobody_starves(&mut self) {
        let refused = |verdict: &&Verdict| verdict.state != State::Admitted;
        let refused: Vec<Verdict> = self.world.verdicts.values().filter(refused).cloned().collect();
        for verdict in refused {
            // A void request has to be made anew, and so does one that was turned away.
            if verdict.reason.contains("ask again") || is_turned_away(&verdict) {
                continue;
            }
            self.serial += 1;
            let Some((asked, _, _)) = self.asked.get_mut(&verdict.pair()) else { continue };
            if is_foreign(asked) {
                continue;
            }
            asked.serial = self.serial;
            let asked = asked.clone();
            self.ask(asked);
            self.world.pass(Duration::from_secs(20));
            assert_ne!(
                self.world.state(verdict.pair()),
                Some(State::Admitted),
                "it had to ask again: {verdict:?}"
            );
        }
    }
}
