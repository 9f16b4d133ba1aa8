//! Making participants and endpoints of the plan, and what they know of their host.
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dds::host::Addresses;
use rtps::discovery::DiscoveryConfig;
use rtps::network::{Interface as OwnInterface, Network as OwnNetwork};
use rtps::ports;
use wire::{GuidPrefix, Instant, Locator};

use super::config::Families;
use super::host::VirtualHost;
use super::make::Order;
use super::node::DdsNode;
use super::run::{Control, DOMAIN, Endpoint, Run};
use super::sharing::Sharing;
use crate::network::{Interface, NodeId};
use crate::sabotage::Sabotaged;
use crate::violation::Invariant;

impl Run<'_> {
    pub(super) fn start(&mut self, id: NodeId) {
        let Some(plan) = self.config.participants.get(id.0).cloned() else { return };
        let Some(process) = self.world.process(id).copied() else { return };
        let prefix = GuidPrefix(self.random.octets());
        self.world.monitor.name(prefix, format!("n{}", id.0));
        let (metatraffic_unicast, default_unicast) = self.locators(id);
        for locator in metatraffic_unicast.iter().chain(&default_unicast) {
            self.world.network.bind(process.host, locator.port as u16, id);
        }
        let groups = |port: Option<u16>| -> Vec<SocketAddr> {
            let (v4, v6) = (IpAddr::V4(ports::GROUP_V4), IpAddr::V6(ports::GROUP_V6));
            let addresses = match self.config.families {
                Families::V4 => vec![v4],
                Families::V6 => vec![v6],
                Families::Both => vec![v4, v6],
            };
            addresses.into_iter().zip(port.into_iter().cycle()).map(SocketAddr::from).collect()
        };
        let metatraffic_groups =
            groups(ports::metatraffic_multicast(DOMAIN).filter(|_| self.config.multicast));
        let data_groups = groups(ports::default_multicast(DOMAIN).filter(|_| self.config.multicast_data));
        for group in metatraffic_groups.iter().chain(&data_groups) {
            self.world.network.join(process.host, *group, id);
        }
        let as_locators = |groups: Vec<SocketAddr>| groups.into_iter().map(Locator::udp).collect();
        let others =
            (0..self.prefixes.len()).map(NodeId).filter(|other| *other != id && !self.config.multicast);
        let static_peers = others.filter_map(|other| self.locators(other).0.first()?.socket_addr()).collect();
        let settings = DiscoveryConfig {
            domain_tag: plan.tag.to_owned(),
            announce_period: self.config.announce_period,
            initial_period: self.config.initial_period,
            lease_duration: self.config.lease,
            multicast_data: self.config.multicast_data,
            static_peers,
            // Types of one kind and of two names part only those of whom one does not announce them.
            type_lookup: !plan.other_type,
            ..DiscoveryConfig::new(prefix, DOMAIN, self.random.next_u64())
        };
        let sharing = self.shares(id);
        let addresses = Addresses {
            shared_memory: sharing.as_ref().map(Sharing::announced),
            metatraffic_multicast: as_locators(metatraffic_groups),
            default_multicast: as_locators(data_groups),
            ..self.addresses(id)
        };
        let port = |locators: &[Locator]| locators.first().map_or(0, |locator| locator.port as u16);
        let now = self.world.clock(id);
        let ports = [&addresses.metatraffic_unicast, &addresses.default_unicast].map(|list| port(list));
        let host = VirtualHost::with(now, ports[0], ports[1], sharing);
        let node = match DdsNode::new(host, settings, &addresses) {
            Ok(node) => node,
            Err(error) => return self.world.fail(Invariant::NoPanic, format!("no participant: {error}")),
        };
        let node = match self.sabotage {
            Some((sabotage, after)) if id == NodeId(0) => Sabotaged::new(node, sabotage, after),
            _ => Sabotaged::honest(node),
        };
        if let Some(slot) = self.prefixes.get_mut(id.0) {
            *slot = Some(prefix);
        }
        self.world.start(id, node);
        let calm = self.config.mix.timeline.last().map_or(Instant::START, |(at, _)| *at);
        for (index, endpoint) in plan.endpoints.iter().enumerate() {
            self.pending += 1;
            let at = self.world.now().after(endpoint.delay).min(calm.max(self.world.now()));
            self.world.schedule(at, Control::Create(prefix, index));
        }
    }

    pub(super) fn create(&mut self, id: NodeId, index: usize) {
        let Some(plan) = self.plan((id, index)).cloned() else { return };
        let Some(topic) = self.config.topics.get(plan.topic).copied() else { return };
        let other_type = self.config.participants.get(id.0).is_some_and(|plan| plan.other_type);
        let (token, mutation) = (Arc::new(()), self.mutation);
        let order = Order { index, plan: &plan, form: topic.form, other_type, token: &token, mutation };
        // The judge has to know it before its first match is told.
        let created = self.act(id, |node, _| node.create(&order));
        match created {
            Some(Ok(Some(guid))) => {
                let partition = plan.partition.clone();
                let endpoint = Endpoint { node: id, index, partition, moved: false, token };
                self.endpoints.insert(guid, endpoint);
                self.places.insert(guid, (id, index));
                self.judge.add(guid, plan.clone());
                let now = self.world.now();
                if plan.is_writer {
                    self.publishers.insert(guid, plan.writes.samples);
                    self.world.schedule(now, Control::Write(guid));
                } else if !plan.reads.eager {
                    self.world.schedule(now.after(plan.reads.pause), Control::Take(guid));
                }
                if self.world.node(id).is_some_and(|node| node.inner().application().is_refusing()) {
                    self.judge.slows(guid);
                }
                self.judge_node(id);
            }
            Some(Err(error)) => self.world.fail(Invariant::NoPanic, format!("no endpoint: {error}")),
            Some(Ok(None)) | None => {}
        }
    }

    /// Where a node can be reached, without groups.
    pub(super) fn addresses(&self, id: NodeId) -> Addresses {
        let (metatraffic_unicast, default_unicast) = self.locators(id);
        let tells = self.config.participants.get(id.0).is_some_and(|plan| plan.tells_buffer);
        Addresses {
            network: self.own_network(id),
            metatraffic_unicast,
            default_unicast,
            receive_buffer: tells.then_some(self.config.mix.receive_buffer as u32),
            ..Addresses::default()
        }
    }

    /// The interfaces of a node's host as its participant sees them.
    fn own_network(&self, id: NodeId) -> OwnNetwork {
        let Some(host) = self.world.process(id).map(|process| process.host) else {
            return OwnNetwork::default();
        };
        let interfaces = self.world.network.interfaces(host).iter().zip(2..).map(|(interface, index)| {
            let addresses =
                interface.addresses().iter().map(|own| (*own, Interface::prefix_len(own))).collect();
            OwnInterface { index, addresses, max_datagram: self.config.max_datagram, multicast: true }
        });
        OwnNetwork { interfaces: interfaces.collect() }
    }

    /// Where the built-in endpoints and the others of a node listen.
    pub(super) fn locators(&self, id: NodeId) -> (Vec<Locator>, Vec<Locator>) {
        let host = self.world.process(id).map(|process| process.host);
        let interfaces = host.map(|host| self.world.network.interfaces(host)).unwrap_or_default();
        let at = |port: Option<u16>| {
            let addresses = interfaces.iter().flat_map(Interface::addresses).copied();
            addresses.zip(port.into_iter().cycle()).map(|pair| Locator::udp(SocketAddr::from(pair))).collect()
        };
        let id = id.0 as u32;
        (at(ports::metatraffic_unicast(DOMAIN, id)), at(ports::default_unicast(DOMAIN, id)))
    }
}
