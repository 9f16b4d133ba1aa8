//! The network delivers, loses and delays what it should.
use super::*;

const PORT: u16 = 7410;

fn two_hosts(profile: Profile) -> Network {
    let mut network = Network::new(Random::new(1));
    let segment = network.add_segment(profile);
    for node in 0..2 {
        let host = network.add_host(&[Attachment { segment, ipv4: true, ipv6: true }]);
        network.bind(host, PORT, NodeId(node));
        network.join(host, group(), NodeId(node));
    }
    network
}

fn group() -> SocketAddr {
    "239.255.0.1:7400".parse().unwrap()
}

fn address(network: &Network, host: usize) -> SocketAddr {
    SocketAddr::new(network.interfaces(HostId(host))[0].addresses()[0], PORT)
}

fn send(network: &mut Network, to: SocketAddr, len: usize, coverage: &mut Coverage) -> Vec<Arrival> {
    network.send(Instant::START, HostId(0), PORT, &Path::routed(to, 65_507), len, coverage)
}

#[test]
fn unicast_multicast_and_loopback_reach_whom_they_should() {
    let mut network = two_hosts(Profile::CALM);
    let mut coverage = Coverage::new();
    let (ours, theirs) = (address(&network, 0), address(&network, 1));
    let arrivals = send(&mut network, theirs, 100, &mut coverage);
    assert_eq!(arrivals.len(), 1);
    assert_eq!((arrivals[0].node, arrivals[0].from, arrivals[0].to), (NodeId(1), ours, theirs));
    let nodes = |arrivals: Vec<Arrival>| arrivals.iter().map(|a| a.node.0).collect::<Vec<_>>();
    assert_eq!(nodes(send(&mut network, group(), 100, &mut coverage)), [0, 1]);
    assert_eq!(nodes(send(&mut network, "127.0.0.1:7410".parse().unwrap(), 100, &mut coverage)), [0]);
    assert_eq!(nodes(send(&mut network, ours, 100, &mut coverage)), [0]);
    assert_eq!(nodes(send(&mut network, "10.0.0.2:9".parse().unwrap(), 100, &mut coverage)), [0_usize; 0]);
    assert_eq!(nodes(send(&mut network, "[fd00::2]:7410".parse().unwrap(), 100, &mut coverage)), [1]);
    assert_eq!((coverage.count(Situation::Multicast), coverage.count(Situation::Ipv6)), (1, 1));
}

#[test]
fn loss_duplication_and_bursts_happen_as_often_as_asked() {
    let mut coverage = Coverage::new();
    let profile = Profile { loss: 300_000, duplicate: 100_000, ..Profile::CALM };
    let mut network = two_hosts(profile);
    let to = address(&network, 1);
    let copies: usize = (0..100_000).map(|_| send(&mut network, to, 100, &mut coverage).len()).sum();
    let lost = coverage.count(Situation::Lost);
    assert!((29_000..31_000).contains(&lost), "{lost}");
    assert_eq!(copies as u64, 100_000 - lost + coverage.count(Situation::Duplicated));
    assert!((6_500..7_500).contains(&coverage.count(Situation::Duplicated)));

    let mut network = two_hosts(Profile { burst: 10_000, burst_length: 10, ..Profile::CALM });
    let lost = (0..100_000).filter(|_| send(&mut network, to, 100, &mut coverage).is_empty()).count();
    // A burst of 10.5 begins after 100 datagrams on the average.
    assert!((8_500..10_500).contains(&lost), "{lost}");
}

#[test]
fn the_mtu_drops_or_multiplies_the_loss() {
    let mut coverage = Coverage::new();
    let mut network = two_hosts(Profile { fragments: false, ..Profile::CALM });
    let to = address(&network, 1);
    assert_eq!(send(&mut network, to, 1_472, &mut coverage).len(), 1);
    assert_eq!(send(&mut network, to, 1_473, &mut coverage).len(), 0);
    assert_eq!(coverage.count(Situation::TooLarge), 1);
    let mut network = two_hosts(Profile { loss: 100_000, ..Profile::CALM });
    let arrived = (0..10_000).filter(|_| !send(&mut network, to, 14_000, &mut coverage).is_empty()).count();
    // Ten fragments, each of which survives with 0.9.
    assert!((3_200..3_800).contains(&arrived), "{arrived}");
}

#[test]
fn cuts_have_a_direction_and_are_counted() {
    let mut coverage = Coverage::new();
    let mut network = two_hosts(Profile::CALM);
    let to = address(&network, 1);
    network.cut(HostId(1), HostId(0));
    assert_eq!(send(&mut network, to, 10, &mut coverage).len(), 1);
    network.cut(HostId(0), HostId(1));
    network.cut(HostId(0), HostId(1));
    network.mend(HostId(0), HostId(1));
    assert_eq!(send(&mut network, to, 10, &mut coverage).len(), 0);
    network.mend(HostId(0), HostId(1));
    assert_eq!(send(&mut network, to, 10, &mut coverage).len(), 1);
    network.cut(HostId(0), HostId(1));
    network.calm();
    assert_eq!(send(&mut network, to, 10, &mut coverage).len(), 1);
}

#[test]
fn order_is_kept_unless_a_datagram_is_held_back() {
    let mut coverage = Coverage::new();
    let jitter = Duration::from_millis(5);
    let mut network = two_hosts(Profile { jitter, ..Profile::CALM });
    let to = address(&network, 1);
    let times = |network: &mut Network, coverage: &mut Coverage| {
        (0..1_000).map(|_| send(network, to, 10, coverage)[0].at).collect::<Vec<_>>()
    };
    assert!(times(&mut network, &mut coverage).is_sorted());
    let reorder_delay = Duration::from_millis(50);
    let mut network = two_hosts(Profile { reorder: 100_000, reorder_delay, ..Profile::CALM });
    assert!(!times(&mut network, &mut coverage).is_sorted());
}

#[test]
fn a_changed_address_leaves_the_old_one_dead() {
    let mut coverage = Coverage::new();
    let mut network = two_hosts(Profile::CALM);
    let (old_source, old) = (address(&network, 0), address(&network, 1));
    network.change_addresses(HostId(1));
    assert_eq!(send(&mut network, old, 10, &mut coverage).len(), 0);
    let new = address(&network, 1);
    assert_ne!(old, new);
    assert_eq!(send(&mut network, new, 10, &mut coverage).len(), 1);
    network.change_addresses(HostId(0));
    let stale = Path { local: Some(old_source.ip()), ..Path::routed(new, 1_472) };
    assert!(network.send(Instant::START, HostId(0), PORT, &stale, 10, &mut coverage).is_empty());
}
