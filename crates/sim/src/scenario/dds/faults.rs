//! What faults do to participants.
use std::sync::Arc;

use rtps::ports;
use wire::discovery::ParticipantData;
use wire::message::PayloadKind;
use wire::message::encode::{self, DataHeader};
use wire::{Duration, EntityId, Guid, GuidPrefix, Locator, SequenceNumber};

use super::judge::Clocks as _;
use super::run::{Control, DOMAIN, Run};
use crate::coverage::Situation;
use crate::faults::Fault;
use crate::network::NodeId;
use crate::sabotage::Sabotaged;
use crate::violation::Invariant;

impl Run<'_> {
    pub(super) fn fault(&mut self, fault: Fault) {
        if self.world.inflict(&fault) {
            self.note_clocks();
            if fault == Fault::Calm {
                for node in (0..self.prefixes.len()).map(NodeId) {
                    self.accept(node);
                    self.set_full(node, false);
                }
            }
            return;
        }
        self.world.trace.line(self.world.now(), format_args!("fault: {fault:?}"));
        match fault {
            Fault::Crash(node) => self.crash(node),
            Fault::Leave(node) => self.leave(node),
            Fault::Restart(node) | Fault::Join(node)
                if self.prefixes.get(node.0).is_some_and(Option::is_none) =>
            {
                let restarts = matches!(fault, Fault::Restart(_));
                self.world.coverage.hit(if restarts { Situation::Restart } else { Situation::LateJoin });
                self.start(node);
            }
            Fault::Refuse(node) => self.refuse(node),
            Fault::Fill(node) => self.set_full(node, true),
            Fault::Drain(node) => self.set_full(node, false),
            Fault::Accept(node) => self.accept(node),
            Fault::Renumber(node) => self.renumber(node),
            Fault::Unmatch { node, lasts } => self.unmatch(node, lasts),
            Fault::Spoof(node) => self.spoof(node),
            _ => {}
        }
    }

    /// Counts what a participant has shown when it is gone or the run ends.
    pub(super) fn count(&mut self, node: NodeId) {
        let mut coverage = self.world.coverage.clone();
        if let Some(node) = self.world.node(node).map(Sabotaged::inner) {
            node.count(&mut coverage);
        }
        self.world.coverage = coverage;
    }

    /// From now on nothing is required of a participant; false if it is gone already.
    fn bury(&mut self, node: NodeId, situation: Situation) -> bool {
        if self.prefixes.get_mut(node.0).and_then(Option::take).is_none() {
            return false;
        }
        self.world.coverage.hit(situation);
        self.count(node);
        let of_node = self.endpoints.iter().filter(|(_, endpoint)| endpoint.node == node);
        let crashes = matches!(situation, Situation::Crash);
        for guid in of_node.map(|(guid, _)| *guid).collect::<Vec<_>>() {
            self.forget(guid, !crashes);
        }
        true
    }

    /// From now on nothing is required of an endpoint, which is deleted now or has crashed.
    fn forget(&mut self, guid: Guid, is_deleted: bool) {
        let deleted = is_deleted.then(|| self.latest());
        self.judge.forget(guid, deleted);
        self.publishers.remove(&guid);
        if let Some(endpoint) = self.endpoints.remove(&guid) {
            self.released.push((guid, Arc::downgrade(&endpoint.token)));
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.crashed.extend(self.prefixes.get(node.0).copied().flatten());
        if self.bury(node, Situation::Crash) {
            self.act(node, |node, _| node.host().kill());
            self.end(node, false);
        }
    }

    pub(super) fn leave(&mut self, node: NodeId) {
        if self.bury(node, Situation::Leave) {
            let lets_go = self.config.participants.get(node.0).is_some_and(|plan| plan.lets_go);
            self.end(node, lets_go);
        }
    }

    /// A participant leaves, and its process ends; nothing is to be left of it.
    fn end(&mut self, node: NodeId, lets_go: bool) {
        let left = self.act(node, |node, _| (node.leave(lets_go), node.remains()));
        self.world.stop(node);
        let Some((left, remains)) = left else { return };
        if let Err(what) = left {
            self.world.fail(Invariant::NothingHeld, format!("n{} leaves: {what}", node.0));
        } else if let Some(held) = remains.held() {
            self.world.fail(Invariant::NothingHeld, format!("n{} is gone and still holds {held}", node.0));
        }
    }

    fn refuse(&mut self, node: NodeId) {
        self.act(node, |node, _| node.application().refuse());
        self.world.coverage.hit(Situation::SlowReader);
        let readers = self.endpoints.iter().filter(|(_, endpoint)| endpoint.node == node);
        readers.for_each(|(guid, _)| self.judge.slows(*guid));
    }

    fn accept(&mut self, node: NodeId) {
        self.act(node, |node, _| node.application().accept());
        self.judge_node(node);
    }

    fn set_full(&mut self, node: NodeId, full: bool) {
        self.act(node, |node, _| node.host().set_full(full));
    }

    /// The host's addresses change; each participant there learns it a little later.
    fn renumber(&mut self, node: NodeId) {
        let Some(host) = self.world.process(node).map(|process| process.host) else { return };
        self.world.coverage.hit(Situation::AddressChange);
        self.world.network.change_addresses(host);
        let here: Vec<NodeId> = (0..self.prefixes.len())
            .map(NodeId)
            .filter(|id| self.world.process(*id).is_some_and(|process| process.host == host))
            .collect();
        for id in here {
            self.pending += 1;
            let delay = Duration::from_nanos(self.random.below(200_000_000) as i64);
            self.world.schedule(self.world.now().after(delay), Control::Readdress(id));
        }
    }

    /// An endpoint is deleted, and a new one of the same plan made later; or it moves to another partition for a while.
    fn unmatch(&mut self, node: NodeId, lasts: Duration) {
        let Some(prefix) = self.prefixes.get(node.0).copied().flatten() else { return };
        let own: Vec<_> = self.endpoints.iter().filter(|(_, endpoint)| endpoint.node == node).collect();
        let own: Vec<_> = own.into_iter().map(|(guid, endpoint)| (*guid, endpoint.index)).collect();
        let Some((guid, index)) = self.random.pick(&own) else { return };
        let at = self.world.now().after(lasts);
        if self.random.coin() {
            self.repartition(guid, &["elsewhere"]);
            self.pending += 1;
            return self.world.schedule(at, Control::Return(guid));
        }
        self.world.coverage.hit(Situation::Replacement);
        self.forget(guid, true);
        let deleted = self.act(node, |node, _| node.delete(index));
        if let Some(Err(error)) = deleted {
            self.world.fail(Invariant::NoPanic, format!("{guid} cannot be deleted: {error}"));
        }
        self.judge_node(node);
        self.pending += 1;
        self.world.schedule(at, Control::Create(prefix, index));
    }

    pub(super) fn repartition(&mut self, guid: Guid, partition: &[&'static str]) {
        let Some(endpoint) = self.endpoints.get_mut(&guid) else { return };
        self.judge.moves(guid);
        self.world.coverage.hit(Situation::Repartition);
        (endpoint.partition, endpoint.moved) = (partition.to_vec(), true);
        let (node, index) = (endpoint.node, endpoint.index);
        if let Some(Err(error)) = self.act(node, |node, _| node.repartition(index, partition)) {
            self.world.fail(Invariant::NoPanic, format!("PARTITION of {guid} cannot be changed: {error}"));
        }
        self.judge_node(node);
    }

    /// An attacker announces, in the name of an address that has nothing to do with it, a participant that wants everything there.
    fn spoof(&mut self, node: NodeId) {
        self.world.coverage.hit(Situation::Spoofed);
        let Some(host) = self.world.process(node).map(|process| process.host) else { return };
        let Some(to) = self.locators(node).0.first().and_then(Locator::socket_addr) else { return };
        let prefix = GuidPrefix(self.random.octets());
        let victim = vec![Locator::udp(self.victim)];
        let announcement = ParticipantData {
            metatraffic_unicast: victim.clone(),
            default_unicast: victim,
            domain_id: Some(DOMAIN),
            lease_duration: Duration::from_secs(1_000),
            user_data: vec![0; self.random.below(300) as usize],
            ..ParticipantData::new(prefix)
        };
        let mut payload = Vec::new();
        announcement.encode(&mut payload);
        let mut bytes = Vec::new();
        encode::header(&mut bytes, prefix);
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id: EntityId::SPDP_WRITER,
            sequence_number: SequenceNumber::FIRST,
            inline_qos: None,
            kind: PayloadKind::Data,
        };
        encode::data(&mut bytes, &header, &payload);
        // From the node's own host it is sure to get there.
        let port = ports::metatraffic_unicast(DOMAIN, 0).unwrap_or_default();
        let from = std::net::SocketAddr::new(self.victim.ip(), port);
        for _ in 0..self.random.within(1..=4) {
            self.forged += bytes.len() as u64;
            self.world.forge(host, from, to, &bytes);
        }
        self.check_victim();
    }

    /// The address of the victim has not got more than came in its name.
    pub(super) fn check_victim(&mut self) {
        let sent = self.world.monitor.octets_to(self.victim.ip());
        if sent > self.forged {
            let what = format!("{sent} bytes went to an address from which {} came", self.forged);
            self.world.fail(Invariant::NoAmplification, what);
        }
    }
}
