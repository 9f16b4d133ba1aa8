//! What the back-end answers, and that what it programs is what it takes away.
use std::net::{IpAddr, Ipv4Addr};

use linux_edge::LinuxEdge;
use linux_edge::program::{Program, Step};
use linux_edge::setup::setup;
use testkit::random::Random;
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, LinkId, Place, SessionId, TSpec, TunnelId,
};

use linux_edge::routes::PortId;

use crate::networks::{chain, domain, fill};

fn with_border(seed: u64) -> LinuxEdge {
    let mut found = (seed..).map(|seed| domain(&mut Random::new(seed)));
    LinuxEdge::new(found.find(|domain| domain.borders.len() == 2 && domain.ceilings.len() == 4).unwrap())
        .unwrap()
}

fn aggregate(number: u64, class: Class) -> AggregateId {
    AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class }
}

fn demand(from: Place, to: Place, rate: u64) -> Demand {
    Demand { from, to, class: Class::Ef, rate, burst: 500, least_packet: 200, largest_packet: 200 }
}

fn reserve(edge: &mut LinuxEdge, aggregate: AggregateId, demand: Demand) -> BackendAnswer {
    edge.handle(BackendCommand::Reserve { ticket: 7, aggregate, demand }).answer.unwrap()
}

/// The number of an aggregate that is released is that of the next one: nothing may be let in by it that was let in for the first.
#[test]
fn a_flow_goes_into_another_aggregate_by_one_rule_and_is_shut_with_its_own() {
    let mut edge = with_border(5);
    let border = Place::Border(LinkId(1));
    let reserve_of = |edge: &mut LinuxEdge, number| {
        let id = aggregate(number, Class::Ef);
        reserve(edge, id, demand(Place::Edges, border, 320_000));
        edge.handle(BackendCommand::Commit { aggregate: id, label_in: None, label_out: Some(9) });
    };
    let leg = LegId { session: SessionId { origin: Asn(1), number: 1 }, flow: 0, peer: Asn(2) };
    let opened = |edge: &mut LinuxEdge, number| edge.handle(opening(leg, aggregate(number, Class::Ef), 0));
    let rules = |programs: &[Program]| format!("{programs:?}");
    reserve_of(&mut edge, 1);
    assert!(rules(&opened(&mut edge, 1).programs).contains("flow-1"));
    // Its aggregate goes, and with it all that lets the flow in.
    let holding = Holding::Aggregate(aggregate(1, Class::Ef));
    let released = edge.handle(BackendCommand::Release { ticket: 1, holding });
    assert!(rules(&released.programs).contains("flow-1"), "{released:?}");
    assert!(edge.holdings().is_empty(), "{:?}", edge.holdings());
    // The other one has the same number; the flow is let into it anew, and shut without a trace.
    reserve_of(&mut edge, 2);
    let again = opened(&mut edge, 2).programs;
    let holding = Holding::Flow(leg);
    let shut = edge.handle(BackendCommand::Release { ticket: 1, holding });
    assert!(rules(&again).contains("flow-1") && rules(&shut.programs).contains("flow-1"));
    // Where both are held, the rule is changed in place.
    reserve_of(&mut edge, 3);
    opened(&mut edge, 2);
    let moved = opened(&mut edge, 3);
    let text = rules(&moved.programs);
    assert!(text.contains("flush") && !text.contains("filter add"), "{text}");
}

/// The neighbour chooses the addresses in a tunnel that ends here, and nothing is reserved for it toward other neighbours.
#[test]
fn what_leaves_a_tunnel_has_its_class_toward_edges_alone() {
    let edge = with_border(5);
    let has = |value: &serde_json::Value, word: &str| value.to_string().contains(word);
    let mut marked = 0;
    for Program { step, .. } in setup(edge.domain()) {
        let Step::Nft(commands) = step else { continue };
        for command in commands {
            let Some(rule) = command.pointer("/add/rule") else { continue };
            let chain = rule.pointer("/chain").and_then(serde_json::Value::as_str).unwrap_or_default();
            let dscp = rule.pointer("/expr").and_then(serde_json::Value::as_array).into_iter().flatten();
            let dscp = dscp.filter_map(|it| it.pointer("/mangle")).find(|it| has(it, "dscp"));
            let is_class = dscp.and_then(|it| it.pointer("/value")?.as_u64()).is_some_and(|value| value > 0);
            let is_own = has(rule, "hoplimit") && has(rule, "255");
            assert!(!is_class || chain == "reserved" || is_own, "{rule}");
            marked += usize::from(is_class && chain == "reserved");
            // Packets get there by the addresses of edges and of neighbours' segments.
            assert!(!has(rule, "\"reserved\"") || chain == "reserved" || has(rule, "daddr"), "{rule}");
        }
    }
    assert!(marked > 0);
    // Where a tunnel ends its packets say so, and are kept out of others.
    let mut edge = edge;
    let (link, id) = (Place::Border(LinkId(1)), aggregate(1, Class::Ef));
    let reserved = reserve(&mut edge, id, demand(link, Place::Edges, 16_000));
    assert!(matches!(reserved, BackendAnswer::Reserved { .. }), "{reserved:?}");
    let commit = BackendCommand::Commit { aggregate: id, label_in: Some(9), label_out: None };
    let programs = edge.handle(commit).programs;
    let is_marked = |program: &Program| match &program.step {
        Step::Nft(commands) => commands.iter().any(|it| {
            let key = "{\"key\":{\"meta\":{\"key\":\"mark\"}},\"value\":";
            let text = it.to_string();
            let value =
                text.split_once(key).and_then(|(_, rest)| rest.split('}').next()?.parse::<u32>().ok());
            value.is_some_and(|value| value & 0x80 != 0)
        }),
        _ => false,
    };
    assert!(programs.iter().any(is_marked), "{programs:?}");
}

#[test]
fn an_offer_can_be_reserved_and_a_bit_more_cannot() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut edge = LinuxEdge::new(domain(&mut random)).unwrap();
        fill(&mut edge, &mut random);
        let small = demand(Place::Edges, Place::Edges, 8);
        let answer = edge.handle(BackendCommand::Offer { ticket: 1, demand: small }).answer;
        let Some(BackendAnswer::Offered { rate, .. }) = answer else { panic!("{answer:?}") };
        let id = aggregate(99, Class::Ef);
        let Some(more) = rate.checked_add(1_000).filter(|_| rate >= 1_000) else { continue };
        let much = demand(Place::Edges, Place::Edges, more);
        if let BackendAnswer::Refused { missing, offer, .. } = reserve(&mut edge, id, much) {
            assert_eq!((offer + missing, edge.ledger().held(id)), (more, None));
        } else {
            panic!("{more} bit/s although {rate} were offered");
        }
    }
}

#[test]
fn less_is_never_refused_and_a_refusal_changes_nothing() {
    let mut edge = with_border(1);
    let (id, to) = (aggregate(1, Class::Ef), Place::Edges);
    let first = demand(Place::Border(LinkId(1)), to, 100_000);
    assert!(matches!(reserve(&mut edge, id, first), BackendAnswer::Reserved { .. }));
    let before = format!("{edge:?}");
    let huge = demand(Place::Border(LinkId(1)), to, 1 << 45);
    assert!(matches!(reserve(&mut edge, id, huge), BackendAnswer::Refused { .. }));
    assert_eq!(format!("{edge:?}"), before);
    let wrong = Demand { class: Class::Af4, ..first };
    assert!(matches!(reserve(&mut edge, id, wrong), BackendAnswer::Refused { offer: 0, .. }));
    let control = Demand { class: Class::Control, ..first };
    assert!(matches!(
        reserve(&mut edge, aggregate(2, Class::Control), control),
        BackendAnswer::Refused { .. }
    ));
    let reversed = Demand { least_packet: 300, ..first };
    assert!(matches!(reserve(&mut edge, id, reversed), BackendAnswer::Refused { .. }));
    assert_eq!(format!("{edge:?}"), before);
    for rate in [99_999, 8, 1] {
        let less = demand(Place::Border(LinkId(1)), to, rate);
        assert!(matches!(reserve(&mut edge, id, less), BackendAnswer::Reserved { .. }));
    }
    let answer = edge.handle(BackendCommand::Release { ticket: 3, holding: Holding::Aggregate(id) }).answer;
    assert_eq!(answer, Some(BackendAnswer::Done { ticket: 3 }));
    assert_eq!(
        edge.handle(BackendCommand::Observe { ticket: 4 }).answer,
        Some(BackendAnswer::Observed { ticket: 4, holdings: Vec::new() })
    );
}

#[test]
fn the_thousandth_flow_adds_nothing_in_transit() {
    let mut edge = with_border(2);
    let id = aggregate(1, Class::Ef);
    let transit = |rate| demand(Place::Border(LinkId(1)), Place::Border(LinkId(2)), rate);
    assert!(matches!(reserve(&mut edge, id, transit(1_000)), BackendAnswer::Reserved { .. }));
    let (label_in, label_out) = (Some(5), Some(6));
    let first = edge.handle(BackendCommand::Commit { aggregate: id, label_in, label_out }).programs;
    assert!(
        first.iter().any(|program| matches!(&program.step, Step::Tc(line) if line.starts_with("filter add")))
    );
    // Who is ended between two programs leaves no record without its rules.
    let is_record = |program: &Program| match &program.step {
        Step::Nft(commands) => commands.iter().any(|command| command.to_string().contains("\"held\"")),
        _ => false,
    };
    assert_eq!(first.iter().position(is_record), Some(first.len() - 1), "{first:?}");
    let handled = edge.handle(BackendCommand::Reserve { ticket: 1, aggregate: id, demand: transit(20_000) });
    assert!(matches!(handled.answer, Some(BackendAnswer::Reserved { .. })));
    let adds = |program: &Program| match &program.step {
        Step::Tc(line) => line.starts_with("filter"),
        Step::Ip(..) => true,
        Step::Nft(commands) => commands.iter().any(|command| command.pointer("/add/chain").is_some()),
        Step::Setting(..) | Step::Colouring(_) => true,
        Step::Colour { contract, .. } => contract.is_none(),
    };
    assert!(!handled.programs.is_empty() && !handled.programs.iter().any(adds), "{:?}", handled.programs);
}

#[test]
fn flows_that_cannot_be_held_are_not_let_in() {
    let mut edge = with_border(3);
    let (id, to) = (aggregate(1, Class::Ef), Place::Border(LinkId(1)));
    let leg = |number| LegId { session: SessionId { origin: Asn(1), number }, flow: 0, peer: Asn(2) };
    let flow = |protocol| FlowRequest {
        kind: FlowKind::Data,
        direction: Direction::Forward,
        protocol,
        source_port: 7_400,
        destination_port: 7_400,
        class: Class::Ef,
        desired: TSpec::of_packets(200, 10_000_000).unwrap(),
        least_rate: 1,
        most_loss: wan::ANY_LOSS,
        limit: 1,
        copies: 1,
        asking: Asking::HopByHop,
    };
    let host = |third| IpAddr::V4(Ipv4Addr::new(10, 1, third, 2));
    let mut open = |number, protocol, source| {
        let addresses =
            Addresses { sources: vec![source], destinations: vec![IpAddr::V4(Ipv4Addr::new(10, 2, 0, 2))] };
        let (leg, flow) = (leg(number), flow(protocol));
        let handled = edge.handle(BackendCommand::Open { ticket: 1, leg, aggregate: id, flow, addresses });
        if number == 0 {
            assert!(matches!(
                reserve(&mut edge, id, demand(Place::Edges, to, 160_000)),
                BackendAnswer::Reserved { .. }
            ));
        }
        handled
    };
    assert!(open(0, 17, host(0)).trouble.unwrap().contains("is not reserved"));
    assert!(open(1, 1, host(0)).trouble.unwrap().contains("has no ports"));
    assert!(open(2, 17, host(77)).trouble.unwrap().contains("at no edge"));
    // Let in once there is a tunnel for it, and not before.
    let waiting = open(3, 17, host(0));
    assert_eq!((waiting.answer, waiting.programs.len()), (Some(BackendAnswer::Done { ticket: 1 }), 0));
    assert!(open(4, 17, host(0)).trouble.unwrap().contains("same addresses and ports"));
    let commit = BackendCommand::Commit { aggregate: id, label_in: None, label_out: Some(9) };
    let programs = edge.handle(commit).programs;
    let lets_in = |program: &Program| match &program.step {
        Step::Nft(commands) => commands.iter().any(|command| command.to_string().contains("flows4")),
        _ => false,
    };
    let (tunnel, let_in) = (
        programs.iter().position(|program| matches!(program.step, Step::Ip(..))).unwrap(),
        programs.iter().position(lets_in).unwrap(),
    );
    assert!(tunnel < let_in);
}

#[test]
fn set_up_says_what_each_router_needs() {
    for seed in 0..50 {
        let domain = domain(&mut Random::new(seed));
        let programs = setup(&domain);
        for router in 0..domain.routers.len() {
            assert!(
                programs
                    .iter()
                    .any(|program| program.router == router && matches!(program.step, Step::Nft(_)))
            );
        }
        assert!(programs.iter().all(|program| program.router < domain.routers.len()));
    }
}

/// The end that receives may be the only one whose interface was down: nothing is sent anew then, and routes are what is missing.
#[test]
fn what_the_kernel_forgets_of_an_interface_is_put_back_and_no_interface_is_switched_on() {
    let id = aggregate(1, Class::Ef);
    let reserved = |seed: u64| {
        let mut edge = with_border(seed);
        let link = edge.domain().borders[0].link;
        let answer = reserve(&mut edge, id, demand(Place::Border(link), Place::Edges, 1_000));
        matches!(answer, BackendAnswer::Reserved { .. }).then_some(edge)
    };
    let mut edge = (0..200).find_map(reserved).unwrap();
    let border = edge.domain().borders[0].clone();
    let (router, interface) = (border.end.router, border.end.interface.as_str());
    assert_eq!(edge.routes_again(router, interface), [], "it is not forwarded yet");
    let commit = BackendCommand::Commit { aggregate: id, label_in: Some(5), label_out: None };
    let programs = edge.handle(commit).programs;
    let is_route =
        |program: &&Program| matches!(&program.step, Step::Ip(_, line) if line.contains("seg6local"));
    let routes: Vec<Program> = programs.iter().filter(is_route).cloned().collect();
    assert_eq!(routes.len(), 2, "{programs:?}");
    assert_eq!(edge.routes_again(router, interface), routes);
    assert_eq!(edge.routes_again(router, "another"), []);
    assert_eq!(edge.routes_again(router + 1, interface), []);
    let always = linux_edge::setup::routes_again(edge.domain(), router, interface);
    let lines: Vec<&str> = always
        .iter()
        .map(|program| match &program.step {
            Step::Ip(_, line) if program.router == router => line.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(lines.iter().all(|line| line.contains(&format!(" dev {interface}"))), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("addr replace")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("route replace")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("link")), "{lines:?}");
    let release = BackendCommand::Release { ticket: 3, holding: Holding::Aggregate(id) };
    edge.handle(release);
    assert_eq!(edge.routes_again(router, interface), []);
}

#[test]
fn a_burst_grows_by_the_delays_before_and_is_given_back() {
    let mut edge = LinuxEdge::new(chain()).unwrap();
    let id = aggregate(1, Class::Ef);
    let sums = |edge: &LinuxEdge| {
        [PortId::Core(0, 0), PortId::Edge(0)].map(|port| {
            let sum = edge.ledger().sum(port, Class::Ef);
            (sum.rate, sum.burst)
        })
    };
    let demand = Demand {
        from: Place::Border(LinkId(1)),
        to: Place::Edges,
        class: Class::Ef,
        rate: 80_000,
        burst: 1_000,
        least_packet: 500,
        largest_packet: 500,
    };
    // Two packets with 78 bytes around each. A router takes 0.1 ms. A port takes 9.3624 ms: 10,000 bytes of EF, a frame of 1,578 and what it
    // has saved, 125, at 10 Mbit/s. In 0.1 ms come 2 bytes of 92,480 bit/s, in 9.5624 ms 111.
    assert!(matches!(
        reserve(&mut edge, id, demand),
        BackendAnswer::Reserved { delay: 18_924_800, jitter: 18_924_800, .. }
    ));
    assert_eq!(sums(&edge), [(92_480, 1_158), (92_480, 1_267)]);
    assert!(matches!(
        reserve(&mut edge, id, Demand { rate: 40_000, ..demand }),
        BackendAnswer::Reserved { .. }
    ));
    assert_eq!(sums(&edge).map(|sum| sum.0), [46_240; 2]);
    // Bursts have a ceiling, too.
    let much = Demand { burst: 8_600, ..demand };
    assert!(matches!(
        reserve(&mut edge, aggregate(2, Class::Ef), much),
        BackendAnswer::Refused { offer: 0, .. }
    ));
    edge.handle(BackendCommand::Release { ticket: 3, holding: Holding::Aggregate(id) });
    assert_eq!(sums(&edge), [(0, 0); 2]);

    // A border link carries no more than its ceiling either, with what is around packets. It adds no delay here.
    let mut domain = chain();
    domain.borders[0].wire.rate = 1_000_000;
    let mut edge = LinuxEdge::new(domain).unwrap();
    let out = |rate| Demand { from: Place::Edges, to: Place::Border(LinkId(1)), rate, ..demand };
    let answer = reserve(&mut edge, id, out(433_000));
    assert!(matches!(answer, BackendAnswer::Refused { offer: 432_520, missing: 480, .. }), "{answer:?}");
    let answer = reserve(&mut edge, id, out(432_520));
    assert!(
        matches!(answer, BackendAnswer::Reserved { delay: 9_562_400, jitter: 9_562_400, .. }),
        "{answer:?}"
    );
}

#[test]
fn what_undoes_a_command_is_what_goes_back() {
    let mut edge = with_border(4);
    let id = aggregate(1, Class::Ef);
    let out = |rate| demand(Place::Edges, Place::Border(LinkId(1)), rate);
    let ask = |rate| BackendCommand::Reserve { ticket: 1, aggregate: id, demand: out(rate) };
    let first = edge.handle(ask(1_000));
    let release = |holding| BackendCommand::Release { ticket: 2, holding };
    let back = edge.clone().handle(release(Holding::Aggregate(id)));
    assert_eq!(first.undo, back.programs);
    edge.handle(BackendCommand::Commit { aggregate: id, label_in: None, label_out: Some(9) });
    let more = edge.handle(ask(20_000));
    assert!(!more.undo.is_empty());
    assert_eq!(more.undo, edge.handle(ask(1_000)).programs);
    let leg = LegId { session: SessionId { origin: Asn(1), number: 1 }, flow: 0, peer: Asn(2) };
    let opened = edge.handle(opening(leg, id, 7_400));
    let shut = edge.handle(release(Holding::Flow(leg)));
    assert!(!opened.programs.is_empty() && opened.undo == shut.programs && shut.undo.is_empty());
}

fn opening(leg: LegId, aggregate: AggregateId, source_port: u16) -> BackendCommand {
    let flow = FlowRequest {
        kind: FlowKind::Data,
        direction: Direction::Forward,
        protocol: 17,
        source_port,
        destination_port: 7_411,
        class: Class::Ef,
        desired: TSpec::of_packets(200, 10_000_000).unwrap(),
        least_rate: 1,
        most_loss: wan::ANY_LOSS,
        limit: 1,
        copies: 1,
        asking: Asking::HopByHop,
    };
    let host = |second| IpAddr::V4(Ipv4Addr::new(10, second, 0, 2));
    let addresses = Addresses { sources: vec![host(1)], destinations: vec![host(2)] };
    BackendCommand::Open { ticket: 1, leg, aggregate, flow, addresses }
}

#[test]
fn a_flow_of_any_port_is_beside_none_that_it_would_take_packets_of() {
    for (first, second, is_free) in [(0, 7_400, false), (7_400, 0, false), (0, 0, false), (1, 2, true)] {
        let mut edge = with_border(5);
        let id = aggregate(1, Class::Ef);
        reserve(&mut edge, id, demand(Place::Edges, Place::Border(LinkId(1)), 320_000));
        edge.handle(BackendCommand::Commit { aggregate: id, label_in: None, label_out: Some(9) });
        let leg = |number| LegId { session: SessionId { origin: Asn(1), number }, flow: 0, peer: Asn(2) };
        let opened = edge.handle(opening(leg(1), id, first));
        let text = format!("{:?}", opened.programs);
        assert_eq!((text.contains("from-any4"), text.contains("sport")), (first == 0, first != 0), "{text}");
        let beside = edge.handle(opening(leg(2), id, second));
        assert_eq!(beside.answer.is_some(), is_free, "{first} and {second}: {:?}", beside.trouble);
    }
    let mut edge = with_border(5);
    reserve(&mut edge, aggregate(1, Class::Ef), demand(Place::Edges, Place::Border(LinkId(1)), 80_000));
    let leg = LegId { session: SessionId { origin: Asn(1), number: 1 }, flow: 0, peer: Asn(2) };
    let BackendCommand::Open { ticket, leg, aggregate, flow, addresses } =
        opening(leg, aggregate(1, Class::Ef), 7)
    else {
        panic!()
    };
    let flow = FlowRequest { destination_port: 0, ..flow };
    let handled = edge.handle(BackendCommand::Open { ticket, leg, aggregate, flow, addresses });
    assert!(handled.trouble.unwrap().contains("port 0"));
}

#[test]
fn another_description_is_another_mark() {
    let of = |seed: u64| domain(&mut Random::new(seed));
    for seed in 0..50 {
        let (one, mut other) = (of(seed), of(seed));
        assert_eq!(linux_edge::setup::mark(&one), linux_edge::setup::mark(&other));
        other.ceilings.get_mut(&Class::Ef).unwrap().burst += 100_000;
        other.edges[0].wire.rate += 8_000;
        assert_ne!(linux_edge::setup::mark(&one), linux_edge::setup::mark(&other), "seed {seed}");
    }
}

#[test]
fn classes_of_a_tunnel_have_one_label_and_segments_of_their_own() {
    use linux_edge::domain::{Family, segment};
    let of = |class, family| segment("fd40:1:2::".parse().unwrap(), 16, class, family);
    let mut all: Vec<_> = [Class::Ef, Class::Af4, Class::Af1]
        .into_iter()
        .flat_map(|class| [Family::V4, Family::V6].map(|family| of(class, family)))
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6, "{all:?}");
    assert_ne!(of(Class::Ef, Family::V4), segment("fd40:1:2::".parse().unwrap(), 17, Class::Ef, Family::V4));
}
