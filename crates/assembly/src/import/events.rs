//! The events descriptor: services with their filters and their gateways.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::Source;

use super::Import;
use super::names::plain;
use super::xml::{Element, at, elements, id, name, named, text_of};
use crate::plan::{Placement, Service, ServiceKind};

/// Facts about services that a plan does not keep.
#[derive(Default)]
pub(super) struct Services {
    /// Services by the names of the descriptor.
    pub(super) known: BTreeMap<String, Known>,
}

/// A service.
#[derive(Default)]
pub(super) struct Known {
    /// Its name in the plan; none if connections are direct.
    pub(super) service: Option<String>,
    /// Its filters, by name.
    pub(super) filters: BTreeMap<String, Filter>,
    /// Where it sends, and where it listens.
    senders: Vec<Address>,
    receivers: Vec<Address>,
}

/// A filter.
#[derive(Clone)]
pub(super) struct Filter {
    /// How it combines its sources.
    pub(super) kind: String,
    /// Instances whose events it is about.
    pub(super) sources: BTreeSet<String>,
}

/// Where events are sent to.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Address {
    address: Option<String>,
    port: Option<String>,
}

impl Import {
    pub(super) fn events(&mut self, source: Source<'_>, root: Element<'_>) {
        for element in elements(root) {
            if name(element).eq_ignore_ascii_case("eventServiceConfiguration") {
                self.event_service(source, element);
            } else {
                let what = format!("<{}> of an events descriptor has no place in a plan", name(element));
                self.leave(source, at(element), what, "add what is meant by hand");
            }
        }
    }

    fn event_service(&mut self, source: Source<'_>, element: Element<'_>) {
        let called = text_of(element, "name").or_else(|| id(element)).unwrap_or_default();
        let node = text_of(element, "node");
        let mut addresses: BTreeMap<String, Address> = BTreeMap::new();
        for inner in named(element, "addr_serv") {
            let address = Address { address: text_of(inner, "address"), port: text_of(inner, "port") };
            addresses.extend(names_of(inner).into_iter().map(|name| (name, address.clone())));
            let why = "gateways find each other by their peers: look at the ports";
            self.leave(source, at(inner), "ports of gateways have no place in a plan", why);
        }
        let mut known = Known::default();
        let mut kind = ServiceKind::Channel;
        for inner in elements(element) {
            match name(inner).to_ascii_lowercase().as_str() {
                "name" | "node" | "addr_serv" => {}
                "type" => match text_of(element, "type").unwrap_or_default().to_ascii_uppercase().as_str() {
                    "DIRECT" => kind = ServiceKind::Direct,
                    "EC" | "RTEC" => {}
                    other => {
                        let why =
                            "the connections will go through a channel: compare the qualities that are used";
                        self.leave(
                            source,
                            at(inner),
                            format!("a service of the type {other} becomes a channel"),
                            why,
                        );
                    }
                },
                "filter" => {
                    let filter = Filter {
                        kind: text_of(inner, "type").unwrap_or_default().to_ascii_lowercase(),
                        sources: named(inner, "source")
                            .filter_map(super::xml::reference)
                            .map(|source| plain(&source))
                            .collect(),
                    };
                    known.filters.extend(names_of(inner).into_iter().map(|name| (name, filter.clone())));
                }
                "udp_sender" => {
                    let to = text_of(inner, "addr_serv_id").and_then(|name| addresses.get(&name));
                    match to {
                        Some(address) => known.senders.push(address.clone()),
                        None => {
                            self.leave(source, at(inner), "a sender without an address", "add peers by hand")
                        }
                    }
                }
                "udp_receiver" => {
                    let is_multicast =
                        matches!(text_of(inner, "is_multicast").as_deref(), Some("1" | "true"));
                    let group = text_of(inner, "addr_serv_id").and_then(|name| addresses.get(&name)).cloned();
                    let listens = Address { address: None, port: text_of(inner, "listen_port") };
                    match (is_multicast, group) {
                        (true, Some(group)) => known.receivers.push(group),
                        (true, None) => {
                            self.leave(source, at(inner), "a receiver without a group", "add peers by hand")
                        }
                        (false, _) => known.receivers.push(listens),
                    }
                }
                other => {
                    let what = format!("<{other}> of a service has no place in a plan");
                    let why = if other == "svc_cfg_file" {
                        "what it says of queues and threads is said by qos and lanes"
                    } else {
                        "add what is meant by hand"
                    };
                    self.leave(source, at(inner), what, why);
                }
            }
        }
        if kind == ServiceKind::Direct {
            self.services.known.insert(called, known);
            return;
        }
        let is_federated = !known.senders.is_empty() || !known.receivers.is_empty();
        let group = known.senders.iter().chain(&known.receivers).find_map(|address| {
            let address = address.address.clone()?;
            address
                .parse::<core::net::IpAddr>()
                .is_ok_and(|address| address.is_multicast())
                .then_some(address)
        });
        let service = self.names.fresh("service", &called);
        let said = Service {
            kind: if is_federated { ServiceKind::Federated } else { kind },
            placement: Placement::Server,
            at: node.as_deref().map(plain),
            groups: group.map(|group| ("*".to_string(), group)).into_iter().collect(),
            ..Service::default()
        };
        if said.at.is_none() {
            self.leave(
                source,
                at(element),
                format!("the service \"{called}\" is at no node"),
                "add at = \"PROCESS\"",
            );
        }
        self.plan.services.insert(service.clone(), said);
        known.service = Some(service);
        self.services.known.insert(called, known);
    }

    /// A service that sends to where another one listens is its peer.
    pub(super) fn peers(&mut self) {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for from in self.services.known.values() {
            for to in self.services.known.values() {
                let meets = |sender: &Address| {
                    to.receivers.iter().any(|receiver| {
                        sender.port == receiver.port
                            && (receiver.address.is_none() || receiver.address == sender.address)
                    })
                };
                if let (Some(name), Some(peer)) = (&from.service, &to.service)
                    && name != peer
                    && from.senders.iter().any(meets)
                {
                    pairs.push((name.clone(), peer.clone()));
                }
            }
        }
        for (name, peer) in pairs {
            if let Some(service) = self.plan.services.get_mut(&name)
                && !service.peers.contains(&peer)
            {
                service.peers.push(peer);
            }
        }
    }
}

/// By what an element is referred to: its name, and its id.
fn names_of(element: Element<'_>) -> Vec<String> {
    text_of(element, "name").into_iter().chain(id(element)).collect()
}
