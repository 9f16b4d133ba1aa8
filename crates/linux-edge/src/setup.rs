//! What a router has before anything is reserved: forwarding, routes, queues in strict priority, policers without contracts, and rules that
//! take every mark from packets that come from outside.
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use serde_json::{Value, json};
use wan::{Class, Prefix};

use crate::budget::{KEEP_ALIVE, allowed, answered, port_delay, saved};
use crate::demotion::{EXCESS, excess};
use crate::domain::{Border, CLASSES, Domain, ETHERNET, Family, Wire, segment};
use crate::entry::{FROM_TUNNEL, PROTOCOL, policer};
use crate::program::{Program, Step, field, matches, meta, object, rule, set};
use crate::record::code;
use crate::routes::{PortId, Routes};

/// Packets of best effort that wait at a port.
const BEST_EFFORT_QUEUE: u32 = 50;
/// Packets beyond contracts that do: fewer, so that they are dropped first.
const EXCESS_QUEUE: u32 = 20;
/// In which order what comes in is looked at: by the program that marks what is beyond contracts, if there is one; then what was beyond one before; then
/// the rest.
pub(crate) const COLOURING: u32 = 1;
const PAST_POLICERS: u32 = 2;
const THROUGH_POLICERS: u32 = 3;
/// The preference of the rules that come before those of tunnels.
const BEFORE_TUNNELS: u32 = 900;

/// How the name of the set begins that says by which description a router was set up.
pub(crate) const MARK: &str = "set-up-";

/// The set that routers of this description have when all else is there. Rules of aggregates outlive the program that made them, and name segments:
/// those of a program that has another form of segments are not taken up.
pub fn mark(domain: &Domain) -> String {
    // FNV-1a: who could forge it could change the rules as well.
    let text = format!("{:?}{:?}{:?}", without_mark(domain), segments(), domain.demoted);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{MARK}{hash:016x}")
}

/// All programs that make a domain of routers which have their interfaces, and nothing else.
pub fn setup(domain: &Domain) -> Vec<Program> {
    let mut programs = without_mark(domain);
    let set = object("add", "set", json!({ "name": mark(domain), "type": "mark" }));
    programs.extend((0..domain.routers.len()).map(|router| Program::nft(router, vec![set.clone()])));
    programs
}

/// One segment for each class and each version of IP: the form that all have.
fn segments() -> Vec<Ipv6Addr> {
    let of = |class| {
        [Family::V4, Family::V6]
            .map(|family| segment(Ipv6Addr::from_bits(u128::MAX), 0x1234_5678, class, family))
    };
    CLASSES.into_iter().flat_map(of).collect()
}

fn without_mark(domain: &Domain) -> Vec<Program> {
    let routes = Routes::new(domain);
    let mut programs = Vec::new();
    for router in 0..domain.routers.len() {
        settings(domain, router, &mut programs);
        addresses(domain, router, &mut programs);
        inside(domain, &routes, router, &mut programs);
        for (port, interface, wire) in ports(domain, router) {
            programs.extend(queues(domain, interface, &wire).lines().map(|line| Program::tc(router, line)));
            let around = match port {
                PortId::Core(..) => continue,
                PortId::Edge(_) => ETHERNET,
                PortId::Border(_) => ETHERNET + crate::domain::TUNNEL,
            };
            policers(router, interface, around, &mut programs);
            if domain.demoted.is_any() {
                programs.push(Program { router, step: Step::Colouring(interface.to_owned()) });
            }
        }
        programs.extend(
            domain.borders.iter().map(|border| Program::ip_of(Family::V6, router, tunnelled(border))),
        );
        programs.push(Program::nft(router, rules(domain, router)));
    }
    programs
}

/// What is in a tunnel already has its mark still, and is not put into it once more.
fn tunnelled(border: &Border) -> String {
    format!(
        "rule add to {}/64 lookup main pref {BEFORE_TUNNELS} protocol {PROTOCOL}",
        border.neighbour_locator
    )
}

/// What the kernel forgets of a router when one of its interfaces goes down: addresses of that interface, and routes over it that are always there.
/// No interface is switched on by it: its operator may have switched one off.
pub fn routes_again(domain: &Domain, router: usize, interface: &str) -> Vec<Program> {
    let mut programs = Vec::new();
    addresses(domain, router, &mut programs);
    inside(domain, &Routes::new(domain), router, &mut programs);
    programs.retain(|program| is_forgotten(program, router, interface));
    programs
}

/// Whether the kernel forgets what a program has done when an interface of a router goes down.
pub(crate) fn is_forgotten(program: &Program, router: usize, interface: &str) -> bool {
    let Step::Ip(_, line) = &program.step else { return false };
    let mut words = line.split(' ');
    let is_kept = !matches!(words.next(), Some("addr" | "route"));
    let device = words.skip_while(|word| *word != "dev").nth(1);
    program.router == router && !is_kept && device == Some(interface)
}

/// The ports of a router.
fn ports(domain: &Domain, router: usize) -> Vec<(PortId, &str, Wire)> {
    let mut ports = Vec::new();
    for (at, link) in domain.links.iter().enumerate() {
        for (sends, end) in link.ends.iter().enumerate().filter(|(_, end)| end.router == router) {
            ports.push((PortId::Core(at, sends), end.interface.as_str(), link.wire_from(sends)));
        }
    }
    let edges = domain.edges.iter().enumerate().filter(|(_, edge)| edge.router == router);
    ports.extend(edges.map(|(at, edge)| (PortId::Edge(at), edge.interface.as_str(), edge.wire)));
    let borders = domain.borders.iter().enumerate().filter(|(_, border)| border.end.router == router);
    ports
        .extend(borders.map(|(at, border)| (PortId::Border(at), border.end.interface.as_str(), border.wire)));
    ports
}

fn settings(domain: &Domain, router: usize, programs: &mut Vec<Program>) {
    let all = [
        ("net.ipv4.ip_forward", "1"),
        ("net.ipv6.conf.all.forwarding", "1"),
        ("net.ipv6.conf.all.seg6_enabled", "1"),
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.ipv4.conf.default.rp_filter", "0"),
    ];
    let mut add = |name: String, value: &str| {
        programs.push(Program { router, step: Step::Setting(name, value.to_owned()) });
    };
    for (name, value) in all {
        add(name.to_owned(), value);
    }
    for (_, interface, _) in ports(domain, router) {
        // A name may have dots in it, which are slashes elsewhere.
        let interface = interface.replace('.', "/");
        add(format!("net.ipv6.conf.{interface}.seg6_enabled"), "1");
        add(format!("net.ipv4.conf.{interface}.rp_filter"), "0");
    }
}

fn addresses(domain: &Domain, router: usize, programs: &mut Vec<Program>) {
    let mut ip = |line: String| programs.push(Program::ip(router, line));
    if let Some(own) = domain.routers.get(router) {
        ip(format!("addr replace {}/128 dev lo nodad", own.address));
        ip(format!("sr tunsrc set {}", own.address));
    }
    let core = domain.links.iter().flat_map(|link| link.ends.iter().map(move |end| (end, &link.wire)));
    let borders = domain.borders.iter().map(|border| (&border.end, &border.wire));
    for (end, wire) in core.chain(borders).filter(|(end, _)| end.router == router) {
        ip(format!("link set dev {} mtu {} up", end.interface, wire.mtu));
        ip(format!("addr replace {}/64 dev {} nodad", end.address, end.interface));
    }
    for edge in domain.edges.iter().filter(|edge| edge.router == router) {
        ip(format!("link set dev {} mtu {} up", edge.interface, edge.wire.mtu));
        for Prefix { address, length } in &edge.addresses {
            let nodad = if address.is_ipv4() { "" } else { " nodad" };
            ip(format!("addr replace {address}/{length} dev {}{nodad}", edge.interface));
        }
    }
}

/// A prefix without the bits of a host.
fn network(prefix: &Prefix) -> String {
    let length = u32::from(prefix.length);
    match prefix.address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - length.min(32)).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - length.min(128)).unwrap_or(0);
            format!("{}/{length}", Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

/// Routes to what is at other routers, and over borders.
fn inside(domain: &Domain, routes: &Routes, router: usize, programs: &mut Vec<Program>) {
    let mut route = |to: &str, is_v4: bool, via: &str, interface: &str| {
        let (family, word) = if is_v4 { (Family::V4, "via inet6") } else { (Family::V6, "via") };
        let line = format!("route replace {to} {word} {via} dev {interface}");
        programs.push(Program::ip_of(family, router, line));
    };
    // By which address and interface another router is reached.
    let toward = |to: usize| {
        let PortId::Core(link, end) = routes.next(router, to)? else { return None };
        let ends = &domain.links.get(link)?.ends;
        Some((ends.get(1 - end)?.address.to_string(), ends.get(end)?.interface.clone()))
    };
    for (at, other) in domain.routers.iter().enumerate() {
        if let Some((via, interface)) = toward(at) {
            route(&format!("{}/128", other.address), false, &via, &interface);
        }
    }
    for edge in &domain.edges {
        if let Some((via, interface)) = toward(edge.router) {
            for prefix in &edge.addresses {
                route(&network(prefix), prefix.address.is_ipv4(), &via, &interface);
            }
        }
    }
    for border in &domain.borders {
        let own = || (border.neighbour.to_string(), border.end.interface.clone());
        let reached = if border.end.router == router { Some(own()) } else { toward(border.end.router) };
        let Some((via, interface)) = reached else { continue };
        route(&format!("{}/64", border.neighbour_locator), false, &via, &interface);
        for prefix in &border.beyond {
            route(&network(prefix), prefix.address.is_ipv4(), &via, &interface);
        }
    }
}

/// The number of the class of HTB that a class has: its place in the order of service.
fn place(class: Class) -> usize {
    CLASSES.iter().position(|other| *other == class).unwrap_or(CLASSES.len()) + 1
}

/// Strict priority at the rate of a link: a discipline with a single class at that rate, and in it one whose classes never wait. Classes that
/// borrow all they send would each send a frame before higher ones from time to time, from what they save themselves.
pub fn queues(domain: &Domain, interface: &str, wire: &Wire) -> String {
    let (rate, saved) = (wire.served(), saved(wire));
    let lowest = place(Class::BestEffort);
    let mut out = format!(
        "qdisc replace dev {interface} root handle 1: htb default 1\n\
         class replace dev {interface} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {saved} cburst {saved} \
         quantum 1600 overhead 24 mpu 84\n\
         qdisc replace dev {interface} parent 1:1 handle 2: htb default {lowest:x}\n"
    );
    for class in CLASSES {
        let (number, priority) = (place(class), place(class) - 1);
        // Writing to a text cannot fail.
        let _ = writeln!(
            out,
            "class replace dev {interface} parent 2: classid 2:{number} htb rate 100gbit ceil 100gbit burst 10000000 cburst 10000000 \
             prio {priority} quantum 1600"
        );
        let ceiling = domain.ceilings.get(&class);
        let _ = match ceiling {
            Some(ceiling) => {
                // What comes until the first of it has left.
                let (rate, burst) = allowed(wire, ceiling);
                let delay = port_delay(domain, wire, class).unwrap_or(1_000_000_000);
                let meanwhile = u128::from(rate) * u128::from(delay) / 8_000_000_000;
                let bytes = u128::from(burst) + meanwhile + u128::from(wire.mtu);
                writeln!(
                    out,
                    "qdisc replace dev {interface} parent 2:{number} handle 1{number}: bfifo limit {bytes}"
                )
            }
            // The first one goes if there is no room. A switch that is told of a last one that goes would give up all that it sends in the
            // same call, whatever its class.
            None => writeln!(
                out,
                "qdisc replace dev {interface} parent 2:{number} handle 1{number}: pfifo_head_drop limit {BEST_EFFORT_QUEUE}"
            ),
        };
        if class != Class::BestEffort {
            let mark = class.dscp() << 2;
            let _ = writeln!(
                out,
                "filter add dev {interface} parent 2: protocol ip prio 1 u32 match ip dsfield {mark:#x} 0xfc flowid 2:{number}\n\
                 filter add dev {interface} parent 2: protocol ipv6 prio 2 u32 match ip6 priority {mark:#x} 0xfc flowid 2:{number}"
            );
        }
    }
    // What is beyond contracts takes turns with best effort: those who break theirs get no more of what is left.
    let (number, priority) = (lowest + 1, lowest - 1);
    let _ = writeln!(
        out,
        "class replace dev {interface} parent 2: classid 2:{number} htb rate 100gbit ceil 100gbit burst 10000000 cburst 10000000 \
         prio {priority} quantum 1600\n\
         qdisc replace dev {interface} parent 2:{number} handle 1{number}: pfifo_head_drop limit {EXCESS_QUEUE}"
    );
    for mark in CLASSES.into_iter().filter_map(excess).map(|dscp| dscp << 2) {
        let _ = writeln!(
            out,
            "filter add dev {interface} parent 2: protocol ip prio 1 u32 match ip dsfield {mark:#x} 0xfc flowid 2:{number}\n\
             filter add dev {interface} parent 2: protocol ipv6 prio 2 u32 match ip6 priority {mark:#x} 0xfc flowid 2:{number}"
        );
    }
    let control = place(Class::Control);
    let _ = writeln!(
        out,
        "filter add dev {interface} parent 2: protocol arp prio 3 u32 match u32 0 0 flowid 2:{control}"
    );
    out
}

/// A device through which all passes that comes from outside: contracts are classes in it, and what has none passes at once. What was beyond a contract
/// at a neighbour goes past it, so that it takes nothing of what is admitted.
fn policers(router: usize, interface: &str, around: u64, programs: &mut Vec<Program>) {
    let device = policer(interface);
    programs.push(Program::ip(router, format!("link add name {device} type ifb")));
    programs.push(Program::ip(router, format!("link set dev {device} up txqueuelen 1000")));
    let mut lines = vec![
        format!(
            "qdisc replace dev {device} root handle 1: stab mtu 2048 tsize 2048 overhead -{around} linklayer ethernet htb"
        ),
        format!("qdisc add dev {interface} handle ffff: ingress"),
    ];
    for mark in CLASSES.into_iter().filter_map(excess).map(|dscp| dscp << 2) {
        lines.push(format!(
            "filter add dev {interface} parent ffff: protocol ipv6 prio {PAST_POLICERS} u32 match ip6 priority {mark:#x} 0xfc flowid :1"
        ));
    }
    lines.push(format!(
        "filter add dev {interface} parent ffff: protocol all prio {THROUGH_POLICERS} u32 match u32 0 0 action mirred egress redirect dev {device}"
    ));
    programs.extend(lines.into_iter().map(|line| Program::tc(router, line)));
}

/// The table of nftables of a router, in place of one that is there.
fn rules(domain: &Domain, router: usize) -> Vec<Value> {
    let mut commands = vec![
        object("add", "table", json!({})),
        object("delete", "table", json!({})),
        object("add", "table", json!({})),
        object("add", "set", json!({ "name": "held", "type": "mark" })),
        object("add", "map", json!({ "name": "labels", "type": "ipv6_addr", "map": "verdict" })),
    ];
    for (version, address) in [("4", "ipv4_addr"), ("6", "ipv6_addr")] {
        let key = [address, address, "inet_proto", "inet_service", "inet_service"];
        for (map, key) in [("flows", &key[..]), ("from-any", &key[..4])] {
            let map = json!({ "name": format!("{map}{version}"), "type": key, "map": "verdict" });
            commands.push(object("add", "map", map));
        }
    }
    for (chain, hook) in [("enter", "prerouting"), ("leave", "postrouting")] {
        let chain =
            json!({ "name": chain, "type": "filter", "hook": hook, "prio": -150, "policy": "accept" });
        commands.push(object("add", "chain", chain));
    }
    for chain in ["from-hosts", "from-neighbour", "reserved"] {
        commands.push(object("add", "chain", json!({ "name": chain })));
    }
    let drop = || json!({ "drop": null });
    let is = |left, right| matches("==", left, right);
    let unmarked =
        || [("ip", "dscp"), ("ip6", "dscp")].map(|(protocol, name)| set(field(protocol, name), json!(0)));
    let locator = |address: &Ipv6Addr| {
        let prefix = json!({ "prefix": { "addr": address.to_string(), "len": 64 } });
        is(field("ip6", "daddr"), prefix)
    };

    // Hosts choose neither classes nor tunnels, and have no routing headers.
    let no_mark = || set(meta("mark"), json!(0));
    // The program has seen to it that no more of a mark comes in.
    let colour_alone = || match domain.demoted.is_any() {
        true => set(meta("mark"), json!({ "&": [meta("mark"), EXCESS] })),
        false => no_mark(),
    };
    commands.push(rule("from-hosts", vec![colour_alone()], None));
    for expression in unmarked() {
        commands.push(rule("from-hosts", vec![expression], None));
    }
    let routing = is(json!({ "exthdr": { "name": "rt" } }), json!(true));
    commands.push(rule("from-hosts", vec![routing, drop()], None));
    for border in &domain.borders {
        for address in [&border.locator, &border.neighbour_locator] {
            commands.push(rule("from-hosts", vec![locator(address), drop()], None));
        }
    }
    for guard in crate::copy::guards() {
        commands.push(rule("from-hosts", vec![guard.clone(), drop()], None));
        commands.push(rule("from-neighbour", vec![guard, drop()], None));
    }
    // Policers do not look behind options.
    for (version, protocol, inside, plain) in
        [("4", "ip", "protocol", Some(is(field("ip", "hdrlength"), json!(5)))), ("6", "ip6", "nexthdr", None)]
    {
        let addresses = [field(protocol, "saddr"), field(protocol, "daddr"), field(protocol, inside)];
        for (map, ports) in [("flows", &["sport", "dport"][..]), ("from-any", &["dport"])] {
            let ports = ports.iter().map(|port| field("th", port));
            let key: Vec<Value> = addresses.iter().cloned().chain(ports).collect();
            let lookup = json!({ "vmap": { "key": { "concat": key }, "data": format!("@{map}{version}") } });
            commands.push(rule("from-hosts", plain.clone().into_iter().chain([lookup]).collect(), None));
        }
    }

    if domain.demoted.is_any() {
        commands.push(rule("from-hosts", vec![no_mark()], None));
    }

    // What a neighbour sends is in a tunnel of ours, or for this router, or best effort.
    commands.push(rule("from-neighbour", vec![colour_alone()], None));
    // What was beyond a contract before is taken where the program knows its label.
    let is_excess = is(
        field("ip6", "dscp"),
        json!({ "set": CLASSES.into_iter().filter_map(excess).collect::<Vec<_>>() }),
    );
    for border in domain.borders.iter().filter(|border| border.end.router == router) {
        let is_new = is(json!({ "&": [meta("mark"), EXCESS] }), json!(0));
        let refused = vec![locator(&border.locator), is_excess.clone(), is_new, drop()];
        commands.push(rule("from-neighbour", refused, None));
    }
    let lookup = json!({ "vmap": { "key": field("ip6", "daddr"), "data": "@labels" } });
    commands.push(rule("from-neighbour", vec![lookup], None));
    if domain.demoted.is_any() {
        commands.push(rule("from-neighbour", vec![no_mark()], None));
    }
    for border in &domain.borders {
        for address in [&border.locator, &border.neighbour_locator] {
            commands.push(rule("from-neighbour", vec![locator(address), drop()], None));
        }
        if border.end.router == router {
            let own = || is(field("ip6", "daddr"), json!(border.end.address.to_string()));
            // The kernel answers echo requests in their class, and keep-alives ask in that of control: those of the other end of the link alone,
            // and no more than control has room for.
            let not_control = set(field("ip6", "dscp"), json!(0));
            let far = matches("!=", field("ip6", "hoplimit"), json!(255));
            let large = matches(">", meta("length"), json!(KEEP_ALIVE));
            let limit = answered(domain, &border.wire).map_or_else(
                || is(field("ip6", "version"), json!(6)),
                |(rate, burst)| json!({ "limit": { "rate": rate, "burst": burst, "per": "second", "inv": true } }),
            );
            for excess in [far, large, limit] {
                let echo = is(field("icmpv6", "type"), json!(128));
                commands.push(rule("from-neighbour", vec![own(), echo, excess, not_control.clone()], None));
            }
            commands.push(rule("from-neighbour", vec![own(), json!({ "return": null })], None));
        }
    }
    for expression in unmarked() {
        commands.push(rule("from-neighbour", vec![expression], None));
    }

    for (port, interface, _) in ports(domain, router) {
        let chain = match port {
            PortId::Core(..) => continue,
            PortId::Edge(_) => "from-hosts",
            PortId::Border(_) => "from-neighbour",
        };
        let from = is(meta("iifname"), json!(interface));
        commands.push(rule("enter", vec![from, json!({ "jump": { "target": chain } })], None));
    }

    commands.extend(leave(domain));
    commands.extend(crate::copy::tables());
    commands
}

/// What gives packets the class of their session where they leave a router, and to those alone that go where the session was reserved for.
fn leave(domain: &Domain) -> Vec<Value> {
    let mut commands = Vec::new();
    let is = |left, right| matches("==", left, right);
    let masked = |mask: u32, value: u32| is(json!({ "&": [meta("mark"), mask] }), json!(value));
    let toward = |prefix: &Prefix| {
        let protocol = if prefix.address.is_ipv4() { "ip" } else { "ip6" };
        let text = network(prefix);
        let address = text.split_once('/').map_or(text.as_str(), |(address, _)| address);
        let prefix = json!({ "prefix": { "addr": address, "len": prefix.length } });
        is(field(protocol, "daddr"), prefix)
    };
    let of_locator = |address: Ipv6Addr| toward(&Prefix { address: address.into(), length: 64 });

    // Neighbour discovery is control: without it a full link would be no link after a while. What is forwarded has a smaller hop limit.
    let discovery = is(field("icmpv6", "type"), json!({ "set": [135, 136] }));
    let is_own = is(field("ip6", "hoplimit"), json!(255));
    let control = set(field("ip6", "dscp"), json!(Class::Control.dscp()));
    commands.push(rule("leave", vec![discovery, is_own, control], None));
    // What comes out of a tunnel goes into no other one.
    for border in &domain.borders {
        for address in [border.locator, border.neighbour_locator] {
            let left = masked(FROM_TUNNEL, FROM_TUNNEL);
            commands.push(rule("leave", vec![left, of_locator(address), json!({ "drop": null })], None));
        }
    }
    // A neighbour chooses where a packet goes that leaves its tunnel here: on the way to another neighbour nothing is reserved for it.
    for class in [Class::Ef, Class::Af4, Class::Af1] {
        for protocol in ["ip", "ip6"] {
            let of_class = || masked(FROM_TUNNEL - 1, code(class).into());
            let marking = |dscp: u8| set(field(protocol, "dscp"), json!(dscp));
            commands.push(rule("leave", vec![of_class(), marking(0)], None));
            commands.push(rule("reserved", vec![of_class(), marking(class.dscp())], None));
        }
    }
    for class in CLASSES.into_iter().filter(|_| domain.demoted.is_any()) {
        let Some(dscp) = excess(class) else { continue };
        for protocol in ["ip", "ip6"] {
            let beyond = || masked(FROM_TUNNEL - 1, u32::from(code(class)) | EXCESS);
            let marking = |dscp: u8| set(field(protocol, "dscp"), json!(dscp));
            commands.push(rule("leave", vec![beyond(), marking(0)], None));
            commands.push(rule("reserved", vec![beyond(), marking(dscp)], None));
        }
    }
    let to_reserved = || json!({ "jump": { "target": "reserved" } });
    for prefix in domain.edges.iter().flat_map(|edge| &edge.addresses) {
        commands.push(rule("leave", vec![toward(prefix), to_reserved()], None));
    }
    for border in &domain.borders {
        commands.push(rule("leave", vec![of_locator(border.neighbour_locator), to_reserved()], None));
    }
    commands
}

/// What takes away all that [`setup`] and the back-end have put there; interfaces and their addresses stay.
pub fn removal(domain: &Domain) -> Vec<Program> {
    let mut programs = Vec::new();
    for router in 0..domain.routers.len() {
        for (port, interface, _) in ports(domain, router) {
            programs.push(Program::tc(router, format!("qdisc del dev {interface} root")));
            if !matches!(port, PortId::Core(..)) {
                programs.push(Program::tc(router, format!("qdisc del dev {interface} ingress")));
                programs.push(Program::ip(router, format!("link del dev {}", policer(interface))));
            }
        }
        // Those of tunnels that are left, and no rules of others.
        for family in [Family::V4, Family::V6] {
            programs.push(Program::ip_of(family, router, format!("rule flush protocol {PROTOCOL}")));
        }
        programs.extend(crate::copy::removal(router));
        programs.push(Program::nft(router, vec![object("delete", "table", json!({}))]));
    }
    programs
}
