//! How long it takes in virtual time until so many participants have found each other, how much they send for that, and how much at
//! rest: what `docs/measurements/growth.md` has in a table. Each is on a host of its own, in one segment without faults.
use std::net::{IpAddr, SocketAddr};
use std::time::Instant as Stopwatch;

use dds::host::Addresses;
use rtps::discovery::DiscoveryConfig;
use rtps::network::{Interface as OwnInterface, Network as OwnNetwork};
use rtps::ports;
use sim::network::{Attachment, Interface, Network, NodeId, Profile, SegmentId};
use sim::random::Random;
use sim::scenario::dds::{DdsNode, VirtualHost};
use sim::trace::Trace;
use sim::world::{Process, Step, World};
use wire::{Duration, GuidPrefix, Locator};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const DOMAIN: u32 = 0;
/// Bytes of a receive buffer: what Linux grants without being asked.
const BUFFER: usize = 212_992;
/// What handling a datagram of discovery takes on one core, about.
const SERVICE: Duration = Duration::from_micros(15);
const LOOK: Duration = Duration::from_millis(1);
/// Nothing here takes longer, unless it never ends.
const PATIENCE: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_secs(30);

fn main() -> Outcome<()> {
    let wanted: Vec<usize> = std::env::args().skip(1).map(|count| count.parse()).collect::<Result<_, _>>()?;
    if wanted.is_empty() {
        return Err("say how many participants, as often as you like".into());
    }
    wanted.into_iter().try_for_each(measure)
}

fn measure(count: usize) -> Outcome<()> {
    let begun = Stopwatch::now();
    let mut random = Random::new(1);
    let mut network = Network::new(random.fork());
    let segment = network.add_segment(Profile::CALM);
    let mut world: World<'_, DdsNode, ()> = World::new(network, Trace::silent());
    let ids =
        (0..count).map(|_| start(&mut world, segment, &mut random)).collect::<Outcome<Vec<NodeId>>>()?;
    let has_found_all = |world: &World<'_, DdsNode, ()>, id: &NodeId| {
        let participant = world.node(*id).and_then(DdsNode::participant);
        participant.is_some_and(|one| one.get_discovered_participants().len() == count - 1)
    };
    let mut until = world.now();
    while !ids.iter().all(|id| has_found_all(&world, id)) {
        until = until.after(LOOK);
        while world.step(until) != Step::Ended {}
        if world.now().since(Default::default()) > PATIENCE {
            return Err(format!("{count} participants have not found each other").into());
        }
    }
    let found = world.now();
    let sent = |world: &World<'_, DdsNode, ()>| ids.iter().map(|id| world.sent(*id)).sum::<u64>();
    let before = sent(&world);
    let end = found.after(REST);
    while world.step(end) != Step::Ended {}
    let rest = sent(&world) - before;
    println!(
        "participants {count}: all found all after {:.1} ms, with {:.1} datagrams of each; at rest each sends {:.2} in a second; simulated in {:.1} s",
        found.as_nanos() as f64 / 1e6,
        before as f64 / count as f64,
        rest as f64 / count as f64 / REST.as_nanos() as f64 * 1e9,
        begun.elapsed().as_secs_f64(),
    );
    Ok(())
}

/// A participant on a new host.
fn start(world: &mut World<'_, DdsNode, ()>, segment: SegmentId, random: &mut Random) -> Outcome<NodeId> {
    let host = world.network.add_host(&[Attachment { segment, ipv4: true, ipv6: false }]);
    let (metatraffic, user) =
        ports::metatraffic_unicast(DOMAIN, 0).zip(ports::default_unicast(DOMAIN, 0)).ok_or("ports")?;
    let process = Process { host, port: metatraffic, receive_buffer: BUFFER, service_time: SERVICE };
    let id = world.add_process(process);
    world.network.bind(host, metatraffic, id);
    world.network.bind(host, user, id);
    let group = SocketAddr::from((ports::GROUP_V4, ports::metatraffic_multicast(DOMAIN).ok_or("ports")?));
    world.network.join(host, group, id);
    let own: Vec<IpAddr> =
        world.network.interfaces(host).iter().flat_map(Interface::addresses).copied().collect();
    let at = |port: u16| own.iter().map(|address| Locator::udp(SocketAddr::from((*address, port)))).collect();
    let addresses = own.iter().map(|address| (*address, Interface::PREFIX_V4)).collect();
    let interface = OwnInterface { index: 2, addresses, max_datagram: 65_507, multicast: true };
    let addresses = Addresses {
        network: OwnNetwork { interfaces: vec![interface] },
        metatraffic_unicast: at(metatraffic),
        default_unicast: at(user),
        metatraffic_multicast: vec![Locator::udp(group)],
        ..Addresses::default()
    };
    let config = DiscoveryConfig::new(GuidPrefix(random.octets()), DOMAIN, random.next_u64());
    let outside = VirtualHost::new(world.clock(id), metatraffic, user);
    let node = DdsNode::new(outside, config, &addresses)?;
    world.start(id, node);
    Ok(id)
}
