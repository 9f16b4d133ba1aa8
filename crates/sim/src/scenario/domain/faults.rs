//! What faults do to participants.
use rtps::ports;
use wire::discovery::ParticipantData;
use wire::message::PayloadKind;
use wire::message::encode::{self, DataHeader};
use wire::{Duration, EntityId, GuidPrefix, Locator, SequenceNumber};

use super::run::{Control, DOMAIN, Run};
use crate::coverage::Situation;
use crate::faults::Fault;
use crate::network::NodeId;
use crate::sabotage::Sabotaged;
use crate::violation::Invariant;

impl Run<'_> {
    pub(super) fn fault(&mut self, fault: Fault) {
        if self.world.inflict(&fault) {
            if fault == Fault::Calm {
                (0..self.prefixes.len()).for_each(|node| self.accept(NodeId(node)));
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
                // One that is still saying goodbye is ended first.
                self.world.stop(node);
                self.start(node);
            }
            Fault::Refuse(node) => {
                self.world.command(node, |node, _| node.inner_mut().refuse());
            }
            Fault::Accept(node) => self.accept(node),
            Fault::Renumber(node) => self.renumber(node),
            Fault::Unmatch { node, lasts } => self.replace(node, lasts),
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
        let gone = |place: &(NodeId, usize)| place.0 == node;
        for (guid, _) in self.endpoints.iter().filter(|(_, place)| gone(place)) {
            self.judge.forget(*guid);
            self.publishers.remove(guid);
        }
        self.endpoints.retain(|_, place| !gone(place));
        true
    }

    fn crash(&mut self, node: NodeId) {
        if self.bury(node, Situation::Crash) {
            self.world.stop(node);
        }
    }

    fn leave(&mut self, node: NodeId) {
        let Some(prefix) = self.prefixes.get(node.0).copied().flatten() else { return };
        self.bury(node, Situation::Leave);
        self.world.command(node, |node, now| node.inner_mut().participant_mut().shutdown(now));
        self.pending += 1;
        self.world.schedule(self.world.now().after(Duration::from_millis(50)), Control::End(node, prefix));
    }

    fn accept(&mut self, node: NodeId) {
        self.world.command(node, |node, now| node.inner_mut().accept(now));
        self.judge_node(node);
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

    /// An endpoint is deleted, and a new one of the same plan made later.
    fn replace(&mut self, node: NodeId, lasts: Duration) {
        let Some(prefix) = self.prefixes.get(node.0).copied().flatten() else { return };
        let own: Vec<_> = self.endpoints.iter().filter(|(_, place)| place.0 == node).collect();
        let Some((guid, (_, index))) = self.random.pick(&own).map(|(guid, place)| (*guid, *place)) else {
            return;
        };
        self.endpoints.remove(&guid);
        self.publishers.remove(&guid);
        self.judge.forget(guid);
        self.world.command(node, |node, now| node.inner_mut().participant_mut().delete(now, guid.entity_id));
        self.judge_node(node);
        self.pending += 1;
        self.world.schedule(self.world.now().after(lasts), Control::Create(prefix, index));
    }

    /// Somebody announces, in the name of an address that has nothing to do with it, a participant that wants everything there.
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
            let what = format!("{sent} octets went to an address from which {} came", self.forged);
            self.world.fail(Invariant::NoAmplification, what);
        }
    }
}
