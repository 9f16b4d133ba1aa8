//! What switches are told: changes make exactly what is wanted, transit has nothing for a session, and labels carry the class.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linux_edge::domain::{Border, Ceiling, CoreLink, Edge, End, Router, Wire};
use linux_edge::policing::Policing;
use ovs_edge::domain::Station;
use ovs_edge::program::{Content, Flow, Program};
use ovs_edge::{Domain, OvsEdge};
use testkit::random::Random;
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, LinkId, Place, Prefix, SessionId, TSpec, TunnelId,
};

/// Two switches with a link: an edge and border 1 at the first, an edge and border 2 at the second.
fn domain() -> Domain {
    let address = Ipv6Addr::UNSPECIFIED;
    let wire = Wire { rate: 100_000_000, propagation: 0, mtu: 1_540, bursts: 1 };
    let end = |router: usize, interface: &str| End { router, interface: interface.to_owned(), address };
    let prefix = |third: u8, last: u8, length: u8| Prefix {
        address: IpAddr::V4(Ipv4Addr::new(10, 1, third, last)),
        length,
    };
    let edge = |router: usize, third: u8| Edge {
        router,
        interface: format!("edge{third}"),
        addresses: vec![prefix(third, 1, 24)],
        wire,
    };
    let border = |router: usize, link: u32| Border {
        link: LinkId(link),
        end: end(router, &format!("border{link}")),
        neighbour: address,
        locator: address,
        neighbour_locator: address,
        beyond: Vec::new(),
        wire,
    };
    let stations =
        |third: u8| vec![Station { addresses: prefix(third, 2, 32), hardware: [2, 0, 0, 0, 0, third] }];
    let plan = linux_edge::Domain {
        asn: Asn(1),
        routers: ["one", "two"].map(|name| Router { name: name.to_owned(), address }).into(),
        links: vec![CoreLink { ends: [end(0, "core0"), end(1, "core1")], wire, access: None }],
        edges: vec![edge(0, 0), edge(1, 1)],
        borders: vec![border(0, 1), border(1, 2)],
        ceilings: BTreeMap::from([
            (Class::Ef, Ceiling { share: 400, burst: 2_000_000 }),
            (Class::Af4, Ceiling { share: 300, burst: 2_000_000 }),
        ]),
        processing: 1_000_000,
        policing: Policing::Meters,
        demoted: Default::default(),
    };
    Domain { plan, stations: vec![stations(0), stations(1)] }
}

fn aggregate(number: u64, class: Class) -> AggregateId {
    AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class }
}

fn reserve(number: u64, class: Class, from: Place, to: Place, rate: u64) -> BackendCommand {
    let demand = Demand { from, to, class, rate, burst: 4_000, least_packet: 200, largest_packet: 200 };
    BackendCommand::Reserve { ticket: 1, aggregate: aggregate(number, class), demand }
}

fn leg(number: u64) -> LegId {
    LegId { session: SessionId { origin: Asn(1), number }, flow: 0, peer: Asn(2) }
}

fn open(number: u64, of: AggregateId, sources: Vec<IpAddr>, protocol: u8) -> BackendCommand {
    let flow = FlowRequest {
        kind: FlowKind::Data,
        direction: Direction::Forward,
        protocol,
        source_port: 0,
        destination_port: 7_400 + u16::try_from(number).unwrap(),
        class: of.class,
        desired: TSpec::of_packets(200, 100_000_000).unwrap(),
        least_rate: 1,
        most_loss: wan::ANY_LOSS,
        limit: 1,
        copies: 1,
        asking: Asking::HopByHop,
    };
    let addresses = Addresses { sources, destinations: vec![IpAddr::from([10, 2, 0, 2])] };
    BackendCommand::Open { ticket: 2, leg: leg(number), aggregate: of, flow, addresses }
}

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 2));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 1, 2));
const BORDERS: [Place; 2] = [Place::Border(LinkId(1)), Place::Border(LinkId(2))];

/// A switch that does what its programs say, in their order, and refuses what a real one refuses.
#[derive(Default)]
struct Switch(Content);

impl Switch {
    fn apply(&mut self, program: &Program) {
        for (id, text, is_there) in &program.meters {
            assert_eq!(self.0.meters.insert(*id, text.clone()).is_some(), *is_there, "meter {id}");
        }
        for line in &program.flows {
            let (verb, rest) = line.split_once(' ').unwrap();
            let (key, actions) = match rest.split_once(",cookie=") {
                Some((key, actions)) => (key, Some(actions)),
                None => (rest, None),
            };
            let mut parts = key.splitn(3, ',');
            let mut number = |name: &str| parts.next().unwrap().strip_prefix(name).unwrap().to_owned();
            let (table, priority) = (number("table=").parse().unwrap(), number("priority=").parse().unwrap());
            let key = (table, priority, parts.next().unwrap_or_default().to_owned());
            match (verb, actions) {
                ("add", Some(actions)) => {
                    let (cookie, actions) = actions.split_once(",actions=").unwrap();
                    let cookie = u64::from_str_radix(cookie.trim_start_matches("0x"), 16).unwrap();
                    let flow = Flow { cookie, actions: actions.to_owned() };
                    self.0.flows.insert(key, flow);
                }
                ("delete_strict", None) => assert!(self.0.flows.remove(&key).is_some(), "{line}"),
                other => panic!("{other:?}"),
            }
        }
        for id in &program.gone {
            assert!(self.0.meters.remove(id).is_some(), "meter {id}");
        }
        // Flows need their meters, and go on to later tables alone.
        for ((table, ..), flow) in &self.0.flows {
            for action in flow.actions.split(',') {
                if let Some(id) = action.strip_prefix("meter:") {
                    assert!(self.0.meters.contains_key(&id.parse().unwrap()), "{flow:?}");
                }
                if let Some(next) = action.strip_prefix("goto_table:") {
                    assert!(next.parse::<u8>().unwrap() > *table, "table {table}: {flow:?}");
                }
            }
        }
    }
}

#[test]
fn changes_make_exactly_what_is_wanted_and_nothing_is_left() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut edge = OvsEdge::new(domain()).unwrap();
        let mut switches = [0, 1].map(|at| Switch(edge.wanted(at)));
        for _ in 0..60 {
            let number = random.range(1, 4);
            let class = if random.chance(50) { Class::Ef } else { Class::Af4 };
            let id = aggregate(number, class);
            let (from, to) = match number {
                1 => (Place::Edges, BORDERS[1]),
                2 => (BORDERS[0], BORDERS[1]),
                3 => (BORDERS[1], Place::Edges),
                _ => (Place::Edges, Place::Edges),
            };
            let label =
                |it: Place| matches!(it, Place::Border(_)).then(|| 16 + u32::try_from(number).unwrap());
            let flow = random.range(1, 9);
            let command = match random.below(6) {
                0 | 1 => reserve(number, class, from, to, random.range(100_000, 4_000_000)),
                2 => BackendCommand::Commit { aggregate: id, label_in: label(from), label_out: label(to) },
                3 => {
                    let sources = if random.chance(50) { vec![HOST, OTHER] } else { vec![OTHER] };
                    open(flow, aggregate(if random.chance(50) { 1 } else { 4 }, class), sources, 17)
                }
                4 => BackendCommand::Release { ticket: 3, holding: Holding::Flow(leg(flow)) },
                _ => BackendCommand::Release { ticket: 3, holding: Holding::Aggregate(id) },
            };
            for (switch, program) in edge.handle(command).programs {
                switches[switch].apply(&program);
            }
            for (at, switch) in switches.iter().enumerate() {
                assert_eq!(switch.0, edge.wanted(at), "seed {seed}, switch {at}");
            }
        }
        for holding in edge.held().holdings().into_iter().rev() {
            for (switch, program) in edge.handle(BackendCommand::Release { ticket: 4, holding }).programs {
                switches[switch].apply(&program);
            }
        }
        let empty = OvsEdge::new(domain()).unwrap();
        for (at, switch) in switches.iter().enumerate() {
            assert_eq!(switch.0, empty.wanted(at), "seed {seed}: switch {at} has something left");
        }
    }
}

/// Where a packet of IPv4 to this address leaves a switch, with its EXP (register 2) and its codepoint, from a table on.
fn leaves(content: &Content, mut table: u8, to: Ipv4Addr, exp: &str) -> Option<(String, String, String)> {
    let mut fields: BTreeMap<String, String> =
        [("reg2", exp), ("ip_dscp", "46")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    loop {
        let holds = |word: &str| match word.split_once('=') {
            None => word == "ip",
            Some(("nw_dst", prefix)) => {
                let (address, length) = prefix.split_once('/').unwrap_or((prefix, "32"));
                let prefix = Prefix { address: address.parse().unwrap(), length: length.parse().unwrap() };
                prefix.contains(IpAddr::V4(to))
            }
            Some((name, value)) => fields.get(name).is_some_and(|of| of == value),
        };
        let of_table = content.flows.iter().filter(|((at, ..), _)| *at == table);
        let met = of_table.filter(|((.., matching), _)| matching.split(',').all(holds));
        let (_, flow) = met.max_by_key(|((_, priority, _), _)| *priority)?;
        let mut next = None;
        for action in flow.actions.split(',') {
            if let Some((value, name)) = action.strip_prefix("set_field:").and_then(|it| it.split_once("->"))
            {
                fields.insert(name.to_owned(), value.to_owned());
            } else if let Some(port) = action.strip_prefix("output:") {
                let of = |name: &str| fields.get(name).cloned().unwrap_or_default();
                return Some((port.to_owned(), of("reg2"), of("ip_dscp")));
            } else if let Some(table) = action.strip_prefix("goto_table:") {
                next = table.parse().ok();
            }
        }
        table = next?;
    }
}

#[test]
fn what_leaves_its_tunnel_has_its_class_toward_stations_alone() {
    let mut domain = domain();
    let beyond = Prefix { address: IpAddr::from([10, 9, 0, 0]), length: 16 };
    domain.plan.borders[0].beyond.push(beyond);
    domain.plan.borders[1].beyond.push(Prefix { address: IpAddr::from([10, 8, 0, 0]), length: 16 });
    let mut edge = OvsEdge::new(domain).unwrap();
    for (number, from) in [(1, BORDERS[1]), (2, Place::Edges)] {
        edge.handle(reserve(number, Class::Ef, from, Place::Edges, 64_000));
        let label_in = (from != Place::Edges).then_some(17);
        let commit =
            BackendCommand::Commit { aggregate: aggregate(number, Class::Ef), label_in, label_out: None };
        edge.handle(commit);
    }
    let text = |port: &str, exp: &str, dscp: &str| Some((port.to_owned(), exp.to_owned(), dscp.to_owned()));
    for (switch, station, border, border_address) in [
        (0, Ipv4Addr::new(10, 1, 0, 2), "border1", Ipv4Addr::new(10, 9, 0, 1)),
        (1, Ipv4Addr::new(10, 1, 1, 2), "border2", Ipv4Addr::new(10, 8, 0, 1)),
    ] {
        let wanted = edge.wanted(switch);
        let of_aggregates = wanted.flows.iter().filter(|((table, ..), _)| [3, 6].contains(table));
        for (key, flow) in of_aggregates {
            let next = flow.actions.rsplit_once("goto_table:").unwrap().1;
            assert!(flow.actions.contains("set_field:5->reg2"), "{key:?}");
            let next = next.parse().unwrap();
            assert_eq!(leaves(&wanted, next, station, "5"), text(&format!("edge{switch}"), "5", "46"));
            assert_eq!(leaves(&wanted, next, border_address, "5"), text(border, "0", "0"), "{key:?}");
        }
        // To a border of the other switch: through the core, with the EXP of best effort.
        let core = leaves(&wanted, 7, Ipv4Addr::new(10, 8 + u8::try_from(switch).unwrap(), 0, 1), "5");
        assert_eq!(core, text(&format!("core{switch}"), "0", "0"));
    }
    assert!(
        edge.wanted(1).flows.keys().any(|(table, ..)| *table == 3),
        "the tunnel ends at the second switch"
    );
}

#[test]
fn the_thousandth_session_adds_no_flow_and_no_label_in_transit() {
    let mut edge = OvsEdge::new(domain()).unwrap();
    let id = aggregate(1, Class::Ef);
    edge.handle(reserve(1, Class::Ef, BORDERS[0], BORDERS[1], 16_000));
    edge.handle(BackendCommand::Commit { aggregate: id, label_in: Some(16), label_out: Some(17) });
    let places = |edge: &OvsEdge| -> Vec<BTreeSet<_>> {
        (0..2)
            .map(|at| edge.wanted(at).flows.into_keys().filter(|(table, ..)| *table < 250).collect())
            .collect()
    };
    let first = places(&edge);
    for sessions in 2..=1_000 {
        let handled = edge.handle(reserve(1, Class::Ef, BORDERS[0], BORDERS[1], 16_000 * sessions));
        assert!(matches!(handled.answer, Some(BackendAnswer::Reserved { .. })), "session {sessions}");
    }
    assert_eq!(places(&edge), first);
    // Two classes of a tunnel have one label, and are told apart by EXP.
    edge.handle(reserve(1, Class::Af4, BORDERS[0], BORDERS[1], 16_000));
    let id = aggregate(1, Class::Af4);
    edge.handle(BackendCommand::Commit { aggregate: id, label_in: Some(16), label_out: Some(17) });
    let wanted = edge.wanted(0);
    let labels =
        wanted.flows.keys().filter(|(table, _, matching)| *table == 2 && matching.contains("mpls_label=16"));
    let exp: BTreeSet<bool> = labels.map(|(.., matching)| matching.contains("mpls_tc=5")).collect();
    assert_eq!(exp.len(), 2);
}

#[test]
fn a_description_that_says_something_twice_or_means_other_ports_is_refused() {
    assert_eq!(domain().check(), Ok(()));
    let refused = |change: &dyn Fn(&mut Domain)| {
        let mut domain = domain();
        change(&mut domain);
        OvsEdge::new(domain).map(drop).unwrap_err()
    };
    for name in ["all", "FLOOD", "normal", "none", "Local"] {
        assert!(refused(&|it| it.plan.borders[0].end.interface = name.to_owned()).contains(name));
        assert!(refused(&|it| it.plan.links[0].ends[1].interface = name.to_owned()).contains(name));
        assert!(refused(&|it| it.plan.edges[1].interface = name.to_owned()).contains(name));
    }
    let range = |third: u8, length: u8| Prefix { address: IpAddr::from([10, 1, third, 2]), length };
    let six = Prefix { address: IpAddr::V6(Ipv6Addr::LOCALHOST), length: 128 };
    assert!(refused(&|it| it.plan.borders[0].beyond.push(six)).contains("::1/128 is what is beyond link 1"));
    let twice = refused(&|it| {
        let station = it.stations[0][0];
        it.stations[0].push(station);
    });
    assert_eq!(twice, "10.1.0.2/32 is a station at edge0 and a station at edge0");
    let twice = refused(&|it| it.plan.borders[1].beyond.push(range(1, 32)));
    assert_eq!(twice, "10.1.1.2/32 is a station at edge1 and what is beyond link 2");
    // The same range by other bits of hosts.
    let twice = refused(&|it| {
        it.plan.borders[0].beyond.push(Prefix { address: IpAddr::from([10, 7, 0, 1]), length: 24 });
        it.plan.borders[1].beyond.push(Prefix { address: IpAddr::from([10, 7, 0, 2]), length: 24 });
    });
    assert_eq!(twice, "10.7.0.0/24 is what is beyond link 1 and what is beyond link 2");
    // A longer range in another one is one more place.
    let mut domain = domain();
    domain.plan.borders[0].beyond.push(range(0, 24));
    assert_eq!(domain.check(), Ok(()));
}

#[test]
fn what_switches_cannot_carry_is_refused_with_its_reason() {
    let mut edge = OvsEdge::new(domain()).unwrap();
    edge.handle(reserve(1, Class::Ef, Place::Edges, BORDERS[1], 64_000));
    let id = aggregate(1, Class::Ef);
    let trouble = |edge: &mut OvsEdge, command| edge.handle(command).trouble.unwrap_or_default();
    let six = vec![IpAddr::V6(Ipv6Addr::LOCALHOST)];
    assert!(trouble(&mut edge, open(1, id, six, 17)).contains("IPv4"));
    assert!(trouble(&mut edge, open(1, id, vec![HOST], 33)).contains("protocol 33"));
    assert!(trouble(&mut edge, open(1, id, vec![IpAddr::from([10, 1, 9, 9])], 17)).contains("at no edge"));
    let (label_in, label_out) = (None, Some(1 << 20));
    let commit = BackendCommand::Commit { aggregate: id, label_in, label_out };
    assert!(trouble(&mut edge, commit).contains("1048575"));
    // Four flows of 16 kbit/s are more than 64 kbit/s once meters round them up: there is room for that, or the flow is refused.
    for number in 1..=4 {
        let answer = edge.handle(open(number, id, vec![HOST], 17)).answer;
        assert_eq!(answer, Some(BackendAnswer::Done { ticket: 2 }));
    }
    let mut full = domain();
    full.plan.ceilings.insert(Class::Ef, Ceiling { share: 400, burst: 8_500 });
    let mut edge = OvsEdge::new(full).unwrap();
    let demanded = edge.handle(reserve(1, Class::Ef, Place::Edges, BORDERS[1], 64_000)).answer;
    assert!(matches!(demanded, Some(BackendAnswer::Reserved { .. })), "{demanded:?}");
    let load = |edge: &OvsEdge| edge.held().ledger().sum(linux_edge::routes::PortId::Core(0, 0), Class::Ef);
    let before = load(&edge);
    let refused = (1..=60).find_map(|number| edge.handle(open(number, id, vec![HOST], 17)).trouble);
    assert!(refused.is_some_and(|what| what.contains("no room for what meters round up")));
    assert!(load(&edge).burst > before.burst && load(&edge).burst <= 8_500);
}
