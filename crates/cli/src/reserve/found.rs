//! Which writers and readers discovery says match, and where they are.
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dds::DomainParticipant;
use reservation::{End, Pair, PairId, Share};
use wan_server::DomainFile;
use wire::discovery::{EndpointData, ParticipantData};
use wire::{GuidPrefix, Locator};

use super::described::Described;

/// Pairs that are looked at at most.
const MOST_PAIRS: usize = 65_536;
/// What USER_DATA of a participant says before the time that its host takes of a limit; a `;` ends it.
const HOST_SHARE: &str = "punctual.host-share=";
/// Bytes of USER_DATA that are looked at.
const MOST_USER_DATA: usize = 4_096;

/// Whose addresses are whose.
pub(super) struct Domains<'n> {
    pub(super) network: &'n DomainFile,
    /// Of hosts that announce none.
    pub(super) share: Option<Share>,
}

/// What discovery says.
#[derive(Default)]
pub(super) struct Found {
    /// All pairs. One that may be at several addresses is at each of them.
    pub(super) pairs: Vec<Pair>,
    /// Pairs whose way is not known: why, and what to do.
    pub(super) ambiguous: BTreeMap<PairId, String>,
}

/// All that match, without this participant itself.
pub(super) fn pairs(participant: &DomainParticipant, domains: &Domains<'_>, described: &Described) -> Found {
    let participants: BTreeMap<GuidPrefix, Arc<ParticipantData>> = participant
        .get_discovered_participants()
        .into_iter()
        .map(|found| (found.data.prefix, found.data))
        .collect();
    let endpoints = participant.get_discovered_endpoints();
    of(&participants, &endpoints, domains, described)
}

fn of(
    participants: &BTreeMap<GuidPrefix, Arc<ParticipantData>>,
    endpoints: &[Arc<EndpointData>],
    domains: &Domains<'_>,
    described: &Described,
) -> Found {
    let mut topics: BTreeMap<&str, [Vec<&EndpointData>; 2]> = BTreeMap::new();
    let known = endpoints.iter().filter(|data| participants.contains_key(&data.participant));
    for data in known.filter(|data| !wire::admission::is_control(&data.topic_name)) {
        let [writers, readers] = topics.entry(&data.topic_name).or_default();
        if data.guid.entity_id.is_writer() { writers } else { readers }.push(data);
    }
    let mut found = Found::default();
    let pairs = topics.values().flat_map(|[writers, readers]| {
        writers.iter().flat_map(move |writer| readers.iter().map(move |reader| (*writer, *reader)))
    });
    for (writer, reader) in pairs.take(MOST_PAIRS) {
        let of = (participants.get(&writer.participant), participants.get(&reader.participant));
        if let (Some(from), Some(to)) = of
            && rtps::discovery::compare(writer, reader).is_ok()
        {
            found.add((writer, from), (reader, to), domains, described);
        }
    }
    found
}

impl Found {
    fn add(
        &mut self,
        (writer, of_writer): (&EndpointData, &ParticipantData),
        (reader, of_reader): (&EndpointData, &ParticipantData),
        domains: &Domains<'_>,
        described: &Described,
    ) {
        let id = PairId { writer: writer.guid.to_bytes(), reader: reader.guid.to_bytes() };
        let (froms, tos) = (domains.ends(writer, of_writer), domains.ends(reader, of_reader));
        let count = self.pairs.len();
        for from in &froms {
            for to in tos.iter().filter(|to| to.address.is_ipv4() == from.address.is_ipv4()) {
                let asked = described.asked(writer, reader, (from.address, to.address));
                self.pairs.push(Pair {
                    id,
                    topic: writer.topic_name.clone(),
                    from: *from,
                    to: *to,
                    is_reliable: is_reliable(writer) && is_reliable(reader),
                    traffic: asked.traffic,
                    class: asked.class,
                    latency: asked.latency,
                });
            }
        }
        let several = |what: &str, ends: &[End]| {
            let list: Vec<String> = ends.iter().map(|end| format!("{}:{}", end.address, end.port)).collect();
            format!(
                "the {what}'s participant has several addresses ({}): tell it which interface to use",
                list.join(", ")
            )
        };
        let groups = reader.multicast.iter().chain(&of_reader.default_multicast);
        let why = match self.pairs.len() - count {
            0 => return,
            1 if groups.into_iter().any(|group| group.socket_addr().is_some()) => {
                "the reader announces a group for samples, and it is not known whether the writer sends there: let its participant use multicast for discovery \
                 alone (Cyclone DDS: AllowMulticast spdp)"
                    .to_owned()
            }
            1 => return,
            _ if froms.len() > 1 => several("writer", &froms),
            _ => several("reader", &tos),
        };
        // Whatever else goes by one of these ways is not known, either.
        for pair in self.pairs.iter_mut().skip(count) {
            pair.traffic = Err(why.clone());
        }
        self.ambiguous.insert(id, why);
    }
}

fn is_reliable(data: &EndpointData) -> bool {
    data.qos.reliability.kind == dds::qos::ReliabilityKind::Reliable
}

/// Where samples are taken by UDP. An address of IPv4 that is mapped into IPv6 counts as the one of IPv4, since IPv4 carries what is sent there.
fn places(locators: &[Locator]) -> Vec<SocketAddr> {
    let mut places: Vec<SocketAddr> = locators
        .iter()
        .filter_map(Locator::socket_addr)
        .map(|at| SocketAddr::new(at.ip().to_canonical(), at.port()))
        .filter(|at| !at.ip().is_unspecified() && !at.ip().is_multicast())
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

impl Domains<'_> {
    /// Where an endpoint is: at its addresses in domains that are known, else at the others.
    fn ends(&self, data: &EndpointData, participant: &ParticipantData) -> Vec<End> {
        let own = places(&data.unicast);
        let all = if own.is_empty() { places(&participant.default_unicast) } else { own };
        let discovery = places(&participant.metatraffic_unicast);
        let share = announced(&participant.user_data).or(self.share);
        let end = |at: &SocketAddr| End {
            address: at.ip(),
            port: at.port(),
            discovery_port: discovery.iter().find(|other| other.ip() == at.ip()).map(SocketAddr::port),
            domain: self.network.config.owner(at.ip()),
            share,
        };
        let ends: Vec<End> = all.iter().map(end).collect();
        let is_of_network = |address: &IpAddr| !address.is_loopback();
        if ends.iter().any(|end| end.domain.is_some()) {
            ends.into_iter().filter(|end| end.domain.is_some()).collect()
        } else {
            ends.into_iter().filter(|end| is_of_network(&end.address)).collect()
        }
    }
}

/// What a participant announces that its host takes of a limit, rounded up.
fn announced(user_data: &[u8]) -> Option<Share> {
    let text = String::from_utf8_lossy(user_data.get(..MOST_USER_DATA).unwrap_or(user_data));
    let said = text.split(';').find_map(|part| part.trim().strip_prefix(HOST_SHARE))?;
    let time = diagnostics::picoseconds(said)?.div_ceil(1_000);
    Some(Share { time, is_announced: true })
}

#[cfg(test)]
mod tests {
    use wire::qos::EndpointQos;
    use wire::{EntityId, Guid};

    use super::*;

    const FILE: &str = include_str!("../../../wan-server/examples/wan/west.toml");

    fn locators(texts: &[&str]) -> Vec<Locator> {
        texts.iter().map(|text| Locator::udp(text.parse().unwrap())).collect()
    }

    /// A participant at these addresses, with a writer or a reader of a topic.
    fn endpoint(number: u8, at: &[&str], user_data: &str) -> (Arc<ParticipantData>, Arc<EndpointData>) {
        let prefix = GuidPrefix([number; 12]);
        let mut participant = ParticipantData::new(prefix);
        participant.default_unicast = locators(at);
        participant.metatraffic_unicast = at.iter().map(|_| locators(&["10.1.0.5:7410"])[0]).collect();
        participant.user_data = user_data.as_bytes().to_vec();
        let is_writer = number == 1;
        let qos = if is_writer { EndpointQos::writer() } else { EndpointQos::reader() };
        let guid = Guid::new(prefix, EntityId([0, 0, 1, if is_writer { 3 } else { 4 }]));
        (Arc::new(participant), Arc::new(EndpointData::new(guid, "Square".into(), "Shape".into(), qos)))
    }

    fn found(of: [(Arc<ParticipantData>, Arc<EndpointData>); 2], share: Option<Share>) -> Found {
        let network = DomainFile::read("west.toml", FILE).unwrap();
        let participants = of.iter().map(|(data, _)| (data.prefix, Arc::clone(data))).collect();
        let endpoints: Vec<_> = of.iter().map(|(_, data)| Arc::clone(data)).collect();
        super::of(&participants, &endpoints, &Domains { network: &network, share }, &Described::default())
    }

    #[test]
    fn a_pair_is_at_its_addresses_in_domains_with_the_share_of_its_host() {
        let said = Share { time: 7, is_announced: false };
        let writer = endpoint(
            1,
            &["10.1.0.5:7411", "192.168.0.1:7411", "[::ffff:10.1.0.5]:7411"],
            "enclave=/;punctual.host-share=1.5 us;",
        );
        let reader = endpoint(2, &["10.3.0.7:7413"], "punctual.host-share=soon");
        let all = found([writer, reader], Some(said));
        assert!(all.ambiguous.is_empty(), "{:?}", all.ambiguous);
        let [pair] = &all.pairs[..] else { panic!("{:?}", all.pairs) };
        assert_eq!(
            (pair.from.address.to_string(), pair.from.port, pair.from.discovery_port),
            ("10.1.0.5".to_owned(), 7411, Some(7410))
        );
        assert_eq!(
            (pair.from.domain.unwrap().0, pair.to.domain.unwrap().0, pair.to.port),
            (65_001, 65_003, 7413)
        );
        assert_eq!(pair.from.share, Some(Share { time: 1_500, is_announced: true }));
        assert_eq!(pair.to.share, Some(said), "what is no time is not announced");
        assert!(!pair.is_reliable);
    }

    #[test]
    fn a_pair_that_may_go_several_ways_is_at_all_of_them_with_traffic_that_is_not_known() {
        let all = found(
            [endpoint(1, &["10.1.0.5:7411", "10.1.1.5:7411"], ""), endpoint(2, &["10.3.0.7:7411"], "")],
            None,
        );
        assert_eq!((all.pairs.len(), all.ambiguous.len()), (2, 1));
        assert!(all.pairs.iter().all(|pair| {
            pair.traffic
                .as_ref()
                .is_err_and(|why| why.contains("the writer's participant has several addresses"))
        }));
        let (mut participant, reader) = endpoint(2, &["10.3.0.7:7411"], "");
        Arc::make_mut(&mut participant).default_multicast = locators(&["239.255.0.1:7401"]);
        let all = found([endpoint(1, &["10.1.0.5:7411"], ""), (participant, reader)], None);
        assert!(all.ambiguous.values().all(|why| why.contains("announces a group")) && all.pairs.len() == 1);
        // Other versions of IP do not meet.
        let all = found([endpoint(1, &["10.1.0.5:7411"], ""), endpoint(2, &["[fd00::7]:7411"], "")], None);
        assert!(all.pairs.is_empty() && all.ambiguous.is_empty());
    }
}
