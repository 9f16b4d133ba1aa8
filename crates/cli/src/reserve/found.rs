//! Which writers and readers discovery says match, and where they are.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dds::DomainParticipant;
use reservation::{End, Pair, PairId, Share};
use wan_server::DomainFile;
use wire::discovery::{EndpointData, ParticipantData};
use wire::{GuidPrefix, Locator};

use super::described::Described;

/// Pairs that match, and those that are compared anew in a look, at most.
const MOST_PAIRS: usize = 65_536;
/// Writers of a participant and readers of another one that are compared at most, so that one that makes them up takes no room of others.
const MOST_BETWEEN: usize = 4_096;
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

/// What discovery says. All of it is of pairs that may have one end in the domain and one outside.
#[derive(Default)]
pub(super) struct Found {
    /// Pairs whose ends have answered where they are. One that may be at several addresses is at each of them.
    pub(super) pairs: Vec<Pair>,
    /// Pairs that are at no such addresses. They say nothing of what others send.
    pub(super) unproved: Vec<Pair>,
    /// Pairs whose way is not known: why, and what to do.
    pub(super) ambiguous: BTreeMap<PairId, String>,
    /// All that match.
    pub(super) matched: BTreeSet<PairId>,
    /// There are more than are looked at.
    pub(super) is_cut: bool,
}

/// A participant.
struct Seen {
    data: Arc<ParticipantData>,
    /// Addresses at which it has answered.
    reached: Vec<IpAddr>,
}

/// An endpoint.
struct Place<'d> {
    data: &'d EndpointData,
    of: &'d ParticipantData,
    /// Where it may be, and whether its participant has answered there.
    ends: Vec<(End, bool)>,
}

/// Endpoints of one side of a topic: those that may be in the domain, and those that may be outside.
type Side<'p, 'd> = [BTreeMap<GuidPrefix, Vec<&'p Place<'d>>>; 2];

/// All that match, without this participant itself; those that matched before come before others.
pub(super) fn pairs(
    participant: &DomainParticipant,
    domains: &Domains<'_>,
    described: &Described,
    before: &BTreeSet<PairId>,
) -> Found {
    let own: Vec<IpAddr> = places(&participant.get_unicast_locators()).iter().map(SocketAddr::ip).collect();
    let seen = |found: dds::DiscoveredParticipant| {
        let mut reached = found.addresses;
        // One of this host is reached at any of its addresses.
        if reached.iter().any(|at| at.is_loopback() || own.contains(at)) {
            reached.extend(&own);
        }
        (found.data.prefix, Seen { data: found.data, reached })
    };
    let participants: BTreeMap<_, _> =
        participant.get_discovered_participants().into_iter().map(seen).collect();
    of(&participants, &participant.get_discovered_endpoints(), domains, described, before)
}

fn of(
    participants: &BTreeMap<GuidPrefix, Seen>,
    endpoints: &[Arc<EndpointData>],
    domains: &Domains<'_>,
    described: &Described,
    before: &BTreeSet<PairId>,
) -> Found {
    let known = endpoints.iter().filter(|data| !wire::admission::is_control(&data.topic_name));
    let all: Vec<Place<'_>> = known
        .filter_map(|data| {
            let seen = participants.get(&data.participant)?;
            Some(Place { data, of: &seen.data, ends: domains.ends(data, seen) })
        })
        .collect();
    let mut found = Found::default();
    let by_guid: BTreeMap<[u8; 16], &Place<'_>> =
        all.iter().map(|place| (place.data.guid.to_bytes(), place)).collect();
    for id in before {
        if let (Some(writer), Some(reader)) = (by_guid.get(&id.writer), by_guid.get(&id.reader)) {
            found.compare(writer, reader, described);
        }
    }
    let mut topics: BTreeMap<&str, [Side<'_, '_>; 2]> = BTreeMap::new();
    for place in &all {
        let [writers, readers] = topics.entry(&place.data.topic_name).or_default();
        let side = if place.data.guid.entity_id.is_writer() { writers } else { readers };
        for (of, is_own) in side.iter_mut().zip([true, false]) {
            if place.ends.iter().any(|(end, _)| (end.domain == Some(domains.network.config.asn)) == is_own) {
                of.entry(place.data.participant).or_default().push(place);
            }
        }
    }
    let mut compared = before.clone();
    let mut between: BTreeMap<[GuidPrefix; 2], usize> = BTreeMap::new();
    'all: for [[own_writers, other_writers], [own_readers, other_readers]] in topics.values() {
        for (writers, readers) in [(own_writers, other_readers), (other_writers, own_readers)] {
            for (from, writers) in writers {
                for (to, readers) in readers {
                    let count = between.entry([*from, *to]).or_default();
                    let pairs = writers
                        .iter()
                        .flat_map(|writer| readers.iter().map(move |reader| (*writer, *reader)));
                    for (writer, reader) in pairs {
                        let is_full = compared.len() >= before.len() + MOST_PAIRS;
                        if is_full || found.matched.len() >= MOST_PAIRS {
                            found.is_cut = true;
                            break 'all;
                        }
                        if *count >= MOST_BETWEEN {
                            found.is_cut = true;
                            break;
                        }
                        *count += 1;
                        if compared.insert(id(writer, reader)) {
                            found.compare(writer, reader, described);
                        }
                    }
                }
            }
        }
    }
    found
}

fn id(writer: &Place<'_>, reader: &Place<'_>) -> PairId {
    PairId { writer: writer.data.guid.to_bytes(), reader: reader.data.guid.to_bytes() }
}

impl Found {
    fn compare(&mut self, writer: &Place<'_>, reader: &Place<'_>, described: &Described) {
        if rtps::discovery::compare(writer.data, reader.data).is_ok() {
            self.add(writer, reader, described);
        }
    }

    fn add(&mut self, writer: &Place<'_>, reader: &Place<'_>, described: &Described) {
        let id = id(writer, reader);
        let (froms, tos) = (&writer.ends, &reader.ends);
        let count = self.pairs.len();
        let mut ways = 0_usize;
        let mut unproved = None;
        for (from, from_is_proved) in froms {
            for (to, to_is_proved) in
                tos.iter().filter(|(to, _)| to.address.is_ipv4() == from.address.is_ipv4())
            {
                let asked = described.asked(writer.data, reader.data, (from.address, to.address));
                let pair = Pair {
                    id,
                    topic: writer.data.topic_name.clone(),
                    from: *from,
                    to: *to,
                    is_reliable: is_reliable(writer.data) && is_reliable(reader.data),
                    traffic: asked.traffic,
                    class: asked.class,
                    latency: asked.latency,
                };
                ways += 1;
                if *from_is_proved && *to_is_proved {
                    self.pairs.push(pair);
                } else {
                    unproved = Some(pair);
                }
            }
        }
        if ways == 0 {
            return;
        }
        self.matched.insert(id);
        let several = |what: &str, ends: &[(End, bool)]| {
            let list: Vec<String> =
                ends.iter().map(|(end, _)| format!("{}:{}", end.address, end.port)).collect();
            format!(
                "the {what}'s participant has several addresses ({}): tell it which interface to use",
                list.join(", ")
            )
        };
        let groups = reader.data.multicast.iter().chain(&reader.of.default_multicast);
        let why = match (ways, &unproved) {
            (1, Some(pair)) => {
                let is_proved = froms.iter().any(|(end, is_proved)| end == &pair.from && *is_proved);
                let (what, at) = if is_proved { ("reader", pair.to.address) } else { ("writer", pair.from.address) };
                format!("the {what}'s participant announces {at} and has not answered there: this command has to reach it at that address")
            }
            (1, None) if groups.into_iter().any(|group| group.socket_addr().is_some()) => {
                "the reader announces a group for samples, and it is not known whether the writer sends there: let its participant use multicast for discovery \
                 alone (Cyclone DDS: AllowMulticast spdp)"
                    .to_owned()
            }
            (1, None) => return,
            _ if froms.len() > 1 => several("writer", froms),
            _ => several("reader", tos),
        };
        // Whatever else goes by one of these ways is not known, either.
        for pair in self.pairs.iter_mut().skip(count) {
            pair.traffic = Err(why.clone());
        }
        if self.pairs.len() == count {
            self.unproved.extend(unproved);
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
    /// Where an endpoint may be, and whether its participant has answered there.
    fn ends(&self, data: &EndpointData, seen: &Seen) -> Vec<(End, bool)> {
        let participant = &seen.data;
        let own = places(&data.unicast);
        let all = if own.is_empty() { places(&participant.default_unicast) } else { own };
        let discovery = places(&participant.metatraffic_unicast);
        // A participant may say that its host takes more than the operator says, and not less.
        let share = match (announced(&participant.user_data), self.share) {
            (Some(announced), Some(said)) if announced.time < said.time => Some(said),
            (announced, said) => announced.or(said),
        };
        let end = |at: &SocketAddr| End {
            address: at.ip(),
            port: at.port(),
            discovery_port: discovery.iter().find(|other| other.ip() == at.ip()).map(SocketAddr::port),
            domain: self.network.config.owner(at.ip()),
            share,
        };
        // Samples may take an address of no known domain, too, unless no router passes it on.
        let routed = all.iter().filter(|at| !is_of_link(at.ip()));
        routed.map(|at| (end(at), seen.reached.contains(&at.ip()))).collect()
    }
}

/// Routers do not pass it on.
fn is_of_link(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    address.is_loopback() || is_link_local
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
        let reached = |data: &ParticipantData| {
            places(&data.default_unicast).iter().map(SocketAddr::ip).collect::<Vec<IpAddr>>()
        };
        let participants: BTreeMap<_, _> = of
            .iter()
            .map(|(data, _)| (data.prefix, Seen { data: Arc::clone(data), reached: reached(data) }))
            .collect();
        let endpoints: Vec<_> = of.iter().map(|(_, data)| Arc::clone(data)).collect();
        among(&participants, &endpoints, share, &BTreeSet::new())
    }

    fn among(
        participants: &BTreeMap<GuidPrefix, Seen>,
        endpoints: &[Arc<EndpointData>],
        share: Option<Share>,
        before: &BTreeSet<PairId>,
    ) -> Found {
        let network = DomainFile::read("west.toml", FILE).unwrap();
        let domains = Domains { network: &network, share };
        of(participants, endpoints, &domains, &Described::default(), before)
    }

    #[test]
    fn a_pair_is_at_its_addresses_in_domains_with_the_share_of_its_host() {
        let said = Share { time: 7, is_announced: false };
        let writer = endpoint(
            1,
            &["10.1.0.5:7411", "169.254.0.1:7411", "127.0.0.1:7411", "[::ffff:10.1.0.5]:7411"],
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
    fn a_participant_that_has_not_answered_at_an_address_says_nothing_of_what_goes_there() {
        let at = |text: &str| vec![text.parse::<IpAddr>().unwrap()];
        let told = |reader_at: &[&str], answered: &str| {
            let (writer, reader) = (endpoint(1, &["10.1.0.5:7411"], ""), endpoint(2, reader_at, ""));
            let participants = BTreeMap::from([
                (writer.0.prefix, Seen { data: writer.0, reached: at("10.1.0.5") }),
                (reader.0.prefix, Seen { data: reader.0, reached: at(answered) }),
            ]);
            among(&participants, &[writer.1, reader.1], None, &BTreeSet::new())
        };
        let one = told(&["10.3.0.7:7411"], "10.3.0.9");
        assert!(one.pairs.is_empty() && one.unproved.len() == 1);
        let why = one.ambiguous.values().next().unwrap();
        assert!(why.contains("reader's participant announces 10.3.0.7 and has not answered there"), "{why}");
        let two = told(&["10.3.0.7:7411", "10.3.0.9:7411"], "10.3.0.9");
        let [pair] = &two.pairs[..] else { panic!("{:?}", two.pairs) };
        assert!(pair.to.address.to_string() == "10.3.0.9" && pair.traffic.is_err(), "{pair:?}");
        assert!(two.unproved.is_empty() && two.ambiguous.len() == 1);
    }

    #[test]
    fn a_topic_of_a_stranger_takes_no_room_of_others() {
        let (of_writer, writer) = endpoint(1, &["10.1.0.5:7411"], "");
        let (of_reader, reader) = endpoint(2, &["10.3.0.7:7411"], "");
        let (strangers, _) = endpoint(3, &["10.1.0.9:7411", "10.3.0.9:7411"], "");
        let mut participants = BTreeMap::new();
        for data in [of_writer, of_reader, Arc::clone(&strangers)] {
            let reached = places(&data.default_unicast).iter().map(SocketAddr::ip).collect::<Vec<IpAddr>>();
            participants.insert(data.prefix, Seen { data, reached });
        }
        // Of a topic that comes before others by its name.
        let many = (0..=255).flat_map(|number| {
            [(3, EndpointQos::writer()), (4, EndpointQos::reader())].map(|(kind, qos)| {
                let guid = Guid::new(strangers.prefix, EntityId([0, 1, number, kind]));
                Arc::new(EndpointData::new(guid, "!".into(), "Shape".into(), qos))
            })
        });
        let endpoints: Vec<_> = many.chain([Arc::clone(&writer), Arc::clone(&reader)]).collect();
        let is_of_others = |found: &Found| found.pairs.iter().any(|pair| pair.topic == "Square");
        let first = among(&participants, &endpoints, None, &BTreeSet::new());
        assert!(first.is_cut && is_of_others(&first));
        assert_eq!(first.matched.len(), MOST_BETWEEN + 1);
        // What matched before is there, and what matches no more is not.
        let next = among(&participants, &endpoints, None, &first.matched);
        assert!(next.matched == first.matched && is_of_others(&next));
        let without = among(&participants, &endpoints[..512], None, &first.matched);
        assert!(!is_of_others(&without) && without.matched.len() == MOST_BETWEEN);
    }

    #[test]
    fn an_announced_share_is_no_less_than_what_the_operator_says() {
        let said = Share { time: 2_000, is_announced: false };
        let writer = endpoint(1, &["10.1.0.5:7411"], "punctual.host-share=0us;");
        let reader = endpoint(2, &["10.3.0.7:7411"], "punctual.host-share=3us;");
        let all = found([writer.clone(), reader.clone()], Some(said));
        let announced = |time| Some(Share { time, is_announced: true });
        assert_eq!((all.pairs[0].from.share, all.pairs[0].to.share), (Some(said), announced(3_000)));
        let all = found([writer, reader], None);
        assert_eq!(all.pairs[0].from.share, announced(0));
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
        // Samples may go by the other network, or leave with its address.
        let private = ["10.1.0.5:7411", "192.168.0.1:7411"];
        let all = found([endpoint(1, &private, ""), endpoint(2, &["10.3.0.7:7411"], "")], None);
        assert!(all.pairs.iter().all(|pair| pair.traffic.is_err()) && all.ambiguous.len() == 1);
        let (mut participant, reader) = endpoint(2, &["10.3.0.7:7411"], "");
        Arc::make_mut(&mut participant).default_multicast = locators(&["239.255.0.1:7401"]);
        let all = found([endpoint(1, &["10.1.0.5:7411"], ""), (participant, reader)], None);
        assert!(all.ambiguous.values().all(|why| why.contains("announces a group")) && all.pairs.len() == 1);
        // Other versions of IP do not meet.
        let all = found([endpoint(1, &["10.1.0.5:7411"], ""), endpoint(2, &["[fd00::7]:7411"], "")], None);
        assert!(all.pairs.is_empty() && all.ambiguous.is_empty());
    }
}
