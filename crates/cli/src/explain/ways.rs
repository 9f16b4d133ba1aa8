//! Which way the samples of matched pairs take: what both participants announce decides it.
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dds::Transport;
use rtps::discovery::compare;
use wire::discovery::{EndpointData, ParticipantData};
use wire::{Locator, VendorId};

use super::Scene;
use super::pairs::MAX_PAIRS;
use crate::describe::vendor;

/// Most lines; `--json` has all pairs.
const MOST_LINES: usize = 20;

/// A matched pair, and how its samples travel.
pub(super) struct Way<'a> {
    pub(super) writer: &'a EndpointData,
    pub(super) reader: &'a EndpointData,
    pub(super) transport: Transport,
    /// Where UDP can go: the writer takes the one that its network reaches best.
    pub(super) addresses: Vec<SocketAddr>,
    /// Why it is not shared memory, of two processes of one host.
    pub(super) obstacle: Option<String>,
}

/// Of the topics that are asked about.
pub(super) fn ways(scene: &Scene) -> impl Iterator<Item = Way<'_>> {
    let topics = scene.topics().into_iter().filter(|(name, _)| scene.is_asked(name));
    topics
        .flat_map(|(_, topic)| {
            let readers = topic.readers;
            let all = topic.writers.into_iter();
            all.flat_map(move |writer| readers.clone().into_iter().map(move |reader| (writer, reader)))
        })
        .take(MAX_PAIRS)
        .filter(|(writer, reader)| compare(writer, reader).is_ok())
        .map(|(writer, reader)| of(scene, writer, reader))
}

pub(super) fn summary(scene: &Scene) -> Vec<String> {
    let mut ways = ways(scene);
    let mut lines: Vec<String> = ways.by_ref().take(MOST_LINES).map(|way| way.told(scene)).collect();
    match ways.count() {
        0 => {}
        1 => lines.push("and 1 other pair that matches: --json".to_owned()),
        more => lines.push(format!("and {more} other pairs that match: --json")),
    }
    lines
}

fn of<'a>(scene: &Scene, writer: &'a EndpointData, reader: &'a EndpointData) -> Way<'a> {
    let way = |transport, addresses, obstacle| Way { writer, reader, transport, addresses, obstacle };
    if writer.participant == reader.participant {
        return way(Transport::InProcess, Vec::new(), None);
    }
    let to = scene.participants.get(&reader.participant);
    let is_assured = writer.offered_assurance.is_some() && reader.requested_assurance.is_some();
    let obstacle = match scene.participants.get(&writer.participant).zip(to) {
        Some((from, to)) => obstacle(scene, [from, to], is_assured),
        None => Some(None),
    };
    match obstacle {
        None => way(Transport::SharedMemory, Vec::new(), None),
        Some(obstacle) => way(Transport::Udp, addresses(reader, to), obstacle),
    }
}

/// What keeps two participants from sharing memory: `None` if nothing does, and no words if they are not of one host.
fn obstacle(scene: &Scene, both: [&Arc<ParticipantData>; 2], is_assured: bool) -> Option<Option<String>> {
    let told = match both.map(|data| data.shared_memory) {
        [Some(one), Some(other)] if one.host != other.host => return Some(None),
        [Some(one), Some(other)] if one.network_namespace != other.network_namespace => {
            "they are in two network namespaces, as containers are".to_owned()
        }
        [Some(one), Some(other)] if one.user != other.user => {
            format!("they run as users {} and {}", one.user, other.user)
        }
        [Some(_), Some(_)] if is_assured => "its latency is assured in the network".to_owned(),
        [Some(_), Some(_)] => return None,
        _ if hosts(both[0]).is_disjoint(&hosts(both[1])) => return Some(None),
        _ => {
            let without = both.into_iter().filter(|data| data.shared_memory.is_none());
            let told = without.map(|data| {
                let who = scene.people.participant(data.prefix);
                if data.vendor == VendorId::PUNCTUAL {
                    format!("{who} has it switched off, or may not")
                } else {
                    format!("{who} is of {}", vendor(data.vendor))
                }
            });
            told.collect::<Vec<_>>().join(", and ")
        }
    };
    Some(Some(told))
}

/// Where a participant can be reached.
fn hosts(data: &ParticipantData) -> BTreeSet<IpAddr> {
    let locators = data.metatraffic_unicast.iter().chain(&data.default_unicast);
    locators.filter_map(Locator::socket_addr).map(|address| address.ip()).collect()
}

/// Where samples for a reader go by UDP, each once.
fn addresses(reader: &EndpointData, participant: Option<&Arc<ParticipantData>>) -> Vec<SocketAddr> {
    let default = participant.map(|data| &*data.default_unicast).unwrap_or_default();
    let locators = if reader.unicast.is_empty() { default } else { &reader.unicast };
    let all: BTreeSet<SocketAddr> = locators.iter().filter_map(Locator::socket_addr).collect();
    all.into_iter().collect()
}

impl Way<'_> {
    fn told(&self, scene: &Scene) -> String {
        let (from, to) = (scene.people.endpoint(self.writer), scene.people.endpoint(self.reader));
        format!("topic {:?}: {from} to {to}: {self}", self.writer.topic_name)
    }
}

/// `shared memory`, or `UDP to 192.0.2.9:7411, not shared memory: they run as users 0 and 1000`.
impl fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.transport.name())?;
        for (place, address) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}", if place == 0 { " to " } else { " or " })?;
        }
        match &self.obstacle {
            Some(obstacle) => write!(f, ", not shared memory: {obstacle}"),
            None => Ok(()),
        }
    }
}
