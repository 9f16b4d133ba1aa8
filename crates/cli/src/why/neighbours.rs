//! Participants of other domains and tags: their announcements to the groups of all domains are listened to, nothing is sent.
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};

use dds::config::Config;
use dds::{DomainParticipantFactory, Duration, GuidPrefix, NO_STATUS, QosKind};
use rtps::ports;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};
use wire::EntityId;
use wire::discovery::ParticipantData;
use wire::message::{Message, Submessage};

use super::Arguments;
use crate::describe::Person;
use crate::exit::Failure;
use crate::explain::{Neighbour, Scene};
use crate::output::progress;
use crate::stop::Stop;

/// Domains that have ports.
const DOMAINS: std::ops::RangeInclusive<u32> = 0..=232;
/// Most participants that are remembered: anybody can announce as many as it likes.
const MAX_NEIGHBOURS: usize = 1_000;
/// Datagrams that are read of one domain at a time.
const AT_ONCE: usize = 64;
/// Other domains that are looked into for a topic, and how long.
const MAX_VISITS: usize = 4;
const VISIT: Duration = Duration::from_secs(2);

/// Who was heard elsewhere so far.
pub(super) struct Neighbours {
    own: (u32, String),
    sockets: Vec<(u32, Socket)>,
    /// Interfaces at which the sockets are in their groups.
    joined: BTreeSet<u32>,
    heard: BTreeMap<(u32, GuidPrefix), (String, Person)>,
}

impl Neighbours {
    /// Begins to listen where that is possible: a port may be another program's alone. Over IPv4 and IPv6, whichever is used otherwise:
    /// others may use another.
    pub(super) fn listen(config: &Config, domain: u32, tag: &str) -> Self {
        let mut sockets = Vec::new();
        if config.network.multicast {
            for domain in DOMAINS {
                let port = ports::metatraffic_multicast(domain);
                let groups = [IpAddr::V4(ports::GROUP_V4), IpAddr::V6(ports::GROUP_V6)];
                let opened = groups.into_iter().filter_map(|group| bound((group, port?).into()));
                sockets.extend(opened.map(|socket| (domain, socket)));
            }
        }
        let mut neighbours =
            Self { own: (domain, tag.to_owned()), sockets, joined: BTreeSet::new(), heard: BTreeMap::new() };
        neighbours.join();
        neighbours
    }

    /// Joins the groups at interfaces that have come. At those too that are off or have no carrier: they may have one later.
    fn join(&mut self) {
        // Where it cannot be read now, it is the next time.
        let mut interfaces = udp::interfaces().unwrap_or_default();
        interfaces.sort_by_key(|interface| !interface.up);
        for interface in interfaces.into_iter().filter(|interface| self.joined.insert(interface.index)) {
            for (_, socket) in &self.sockets {
                // One that has no multicast hears nothing, which is not worth an error here.
                let _ = match socket.local_addr().ok().and_then(|group| group.as_socket_ipv6()) {
                    Some(_) => socket.join_multicast_v6(&ports::GROUP_V6, interface.index),
                    None => socket.join_multicast_v4_n(
                        &ports::GROUP_V4,
                        &InterfaceIndexOrAddress::Index(interface.index),
                    ),
                };
            }
        }
    }

    /// Reads what has come.
    pub(super) fn collect(&mut self) {
        self.join();
        let mut buffer = vec![0; 65_536];
        for (domain, socket) in &mut self.sockets {
            for _ in 0..AT_ONCE {
                let Ok(len) = socket.read(&mut buffer) else { break };
                for data in announcements(buffer.get(..len).unwrap_or(&[])) {
                    let place = (data.domain_id.unwrap_or(*domain), data.domain_tag.clone());
                    if place != self.own && self.heard.len() < MAX_NEIGHBOURS {
                        self.heard.insert((place.0, data.prefix), (place.1, Person::of(&data)));
                    }
                }
            }
        }
    }

    /// Who was heard; with a topic that is not complete here, the domains are looked into.
    pub(super) fn found(
        self,
        scene: &Scene,
        arguments: &Arguments,
        config: &Config,
        stop: &Stop,
    ) -> Result<Vec<Neighbour>, Failure> {
        let mut neighbours: Vec<Neighbour> = self
            .heard
            .into_iter()
            .map(|((domain, _), (tag, person))| Neighbour { domain, tag, person, endpoints: Vec::new() })
            .collect();
        let Some(topic) = scene.topic.as_deref().filter(|_| scene.is_incomplete()) else {
            return Ok(neighbours);
        };
        let mut places: Vec<(u32, String)> =
            neighbours.iter().map(|neighbour| (neighbour.domain, neighbour.tag.clone())).collect();
        places.dedup();
        for (domain, tag) in places.into_iter().take(MAX_VISITS) {
            if stop.requested() {
                break;
            }
            progress(&format!("looking for {topic:?} in domain {domain}"));
            visit(domain, &tag, topic, &mut neighbours, &arguments.elsewhere(config, &tag), stop)?;
        }
        Ok(neighbours)
    }
}

/// Joins another domain for a moment, to see who has the topic.
fn visit(
    domain: u32,
    tag: &str,
    topic: &str,
    neighbours: &mut [Neighbour],
    config: &Config,
    stop: &Stop,
) -> Result<(), Failure> {
    let factory = DomainParticipantFactory::get_instance();
    let joined = factory.create_participant_with(domain, QosKind::Default, config, None, NO_STATUS);
    // Its ports may be taken: then it is known that a participant is there, and no more.
    let Ok(participant) = joined else { return Ok(()) };
    stop.wait(VISIT)?;
    let endpoints = participant.get_discovered_endpoints();
    for neighbour in
        neighbours.iter_mut().filter(|neighbour| neighbour.domain == domain && neighbour.tag == tag)
    {
        let own = endpoints
            .iter()
            .filter(|data| data.topic_name == topic && data.participant == neighbour.person.prefix);
        neighbour.endpoints = own.cloned().collect();
    }
    factory.delete_participant(&participant)?;
    Ok(())
}

/// Bound to a group, so that nothing but its datagrams comes here.
fn bound(group: SocketAddr) -> Option<Socket> {
    let socket = Socket::new(Domain::for_address(group), Type::DGRAM, Some(Protocol::UDP)).ok()?;
    if group.is_ipv6() {
        socket.set_only_v6(true).ok()?;
    }
    socket.set_reuse_address(true).ok()?;
    socket.set_nonblocking(true).ok()?;
    socket.bind(&SockAddr::from(group)).ok()?;
    Some(socket)
}

/// The announcements in a datagram.
fn announcements(datagram: &[u8]) -> Vec<ParticipantData> {
    let Ok(message) = Message::parse(datagram) else { return Vec::new() };
    let submessages = message.submessages().filter_map(Result::ok);
    submessages
        .filter_map(|submessage| match submessage {
            Submessage::Data(data) if data.writer_id == EntityId::SPDP_WRITER => {
                let payload = data.payload.filter(|payload| !payload.is_key)?;
                ParticipantData::decode(payload.bytes).ok()
            }
            _ => None,
        })
        .collect()
}
