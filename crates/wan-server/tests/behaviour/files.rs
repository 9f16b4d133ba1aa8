//! Files of domains: what they mean, and where a wrong one is wrong.
use diagnostics::Source;
use wan::{Asn, Class, Excess, LinkId};
use wan_server::{CalleeAnswer, DomainFile, Within};

const WEST: &str = include_str!("../../examples/wan/west.toml");
const TRANSIT: &str = include_str!("../../examples/wan/transit.toml");
const EAST: &str = include_str!("../../examples/wan/east.toml");
const ACCESS: &str = include_str!("../../examples/access/site.toml");
const LAN_EAST: &str = include_str!("../../examples/lan/east.toml");
const LINUX_WEST: &str = include_str!("../../examples/linux/west.toml");
const LINUX_TRANSIT: &str = include_str!("../../examples/linux/transit.toml");
const LINUX_EAST: &str = include_str!("../../examples/linux/east.toml");

fn read(text: &str) -> DomainFile {
    DomainFile::read("domain.toml", text).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn the_examples_say_what_they_seem_to() {
    let west = read(WEST);
    assert_eq!(west.config.asn, Asn(65_001));
    assert_eq!(west.config.owner("10.3.7.9".parse().unwrap()), Some(Asn(65_003)));
    let first = &west.config.agreements[0];
    let ef = first.terms[&Class::Ef];
    assert_eq!((ef.rate, ef.burst, ef.delay, ef.jitter), (20_000_000, 60_000, 3_000_000, 1_000_000));
    assert_eq!((first.link, first.excess, first.begins, first.ends), (LinkId(12), Excess::Drop, 0, u64::MAX));
    // 2026-01-01 is 20,454 days after 1970-01-01.
    let bob = &west.config.users[1].1;
    assert_eq!(bob.ends, 20_454 * 86_400 * 1_000_000_000);
    assert_eq!(west.paths[1].delay(Class::Ef), Some(6_000_000));
    assert_eq!(west.paths[1].delay(Class::Af1), None);
    assert_eq!(west.managers[&Asn(65_003)], "127.0.0.1:7413");
    assert_eq!((west.users["bob"], west.services["alarms"], west.callee_patience), (2, 1, 2_000_000_000));
    let Within::Declared(inside) = &west.inside else { panic!("{:?}", west.inside) };
    assert_eq!(inside.edges, ["site-a", "site-b"]);
    let east = read(EAST);
    assert_eq!(east.callees[1].answer, CalleeAnswer::Ask);
    assert!(east.callees[2].callers.as_ref().unwrap()[0].contains("10.1.2.3".parse().unwrap()));
    read(TRANSIT);
}

#[test]
fn a_wrong_file_is_told_with_its_place_and_a_remedy() {
    let cases = [
        ("asn = 65001\nlisten", "asn = 65001\nnoise = 1\nlisten", "unknown field `noise`", "noise"),
        ("listen = \"127.0.0.1:7411\"", "listen = \"here\"", "no address with a port", "\"here\""),
        (
            "asn = 65001\nlisten",
            "asn = 65009\nlisten",
            "no [[domain]] says which addresses AS 65009",
            "65009",
        ),
        ("\"10.2.0.0/16\"", "\"10.2.0.1/16\"", "whose other bits are 0", "\"10.2.0.1/16\""),
        ("\"10.2.0.0/16\"", "\"10.1.0.0/16\"", "another domain has the same", "\"10.1.0.0/16\""),
        (
            "manager = \"127.0.0.1:7412\"\n",
            "",
            "AS 65002 is a neighbour, and has no manager",
            "[[agreement]]",
        ),
        ("manager = \"127.0.0.1:7412\"", "manager = \"there\"", "no host with a port", "\"there\""),
        ("rate = \"20 Mbit/s\"", "rate = \"20 Mbits\"", "is not a rate", "\"20 Mbits\""),
        ("delay = \"3 ms\"", "delay = \"3\"", "is not a time", "\"3\""),
        ("burst = \"60 kB\"", "burst = \"60 k\"", "is not a number of bytes", "\"60 k\""),
        ("delay = \"3 ms\", ", "", "missing field `delay`", ""),
        ("from = 65001\n", "from = 65003\n", "not between AS 65001 and another", "[[agreement]]"),
        ("destinations = [65001]\n", "destinations = [7]\n", "no [[domain]] is AS 7", "[[agreement]]"),
        ("direct = [65003]\n", "direct = [7]\n", "no [[domain]] is AS 7", "[7]"),
        ("direct = [65003]\n", "direct = [65001]\n", "AS 65001 is one of the two that agree", "[65001]"),
        (
            "manager = \"127.0.0.1:7413\"\n",
            "",
            "AS 65003 may ask here, and has no manager to be answered",
            "[65003]",
        ),
        (
            "from = 65002\nto = 65001\n",
            "from = 65001\nto = 65002\n",
            "two agreements in this direction",
            "[[agreement]]",
        ),
        (
            "from = 65002\nto = 65001\n",
            "from = 65003\nto = 65001\n",
            "link 12 is to AS 65003 in the other",
            "[[agreement]]",
        ),
        ("domains = [65002]\n", "domains = [65003]\n", "to which no agreement is", "[[path]]"),
        ("domains = [65002, 65003]", "domains = [65002, 65001]", "a domain twice", "[[path]]"),
        ("ef = [\"4 ms\", \"2 ms\"]", "ef = [\"4 ms\"]", "1 delays for 2 domains", "[[path]]"),
        ("id = 2\n", "id = 1\n", "the id 1 is there twice", "[[user]]"),
        ("ends = 2026-01-01", "ends = 07:32:00", "no date", "07:32:00"),
        (
            "network-service = \"gold\"",
            "network-service = \"golt\"",
            "no network service \"golt\"",
            "\"golt\"",
        ),
        ("classes = [\"ef\"]", "classes = [\"be\"]", "is not a class", "\"be\""),
        ("ef = \"5 Mbit/s\"", "", "these callees say nothing", "[[callee]]"),
        ("ef = \"5 Mbit/s\"", "ef = \"5 Mbit/s\"\nask = true", "have no rates", "[[callee]]"),
        ("edges = [\"site-a\", \"site-b\"]", "edges = [\"border-1\"]", "no name of an edge", "\"border-1\""),
        (
            "\"middle\", \"border-12\"]",
            "\"middle\", \"border-9\"]",
            "the end of no border link",
            "\"border-9\"",
        ),
        (
            "[\"middle\", \"border-12\"]",
            "[\"site-a\", \"middle\"]",
            "no way from site-a to border-12",
            "[declared]",
        ),
        (
            "[declared]\n",
            "[limits]\nlifetime = \"3 s\"\n\n[declared]\n",
            "not longer than two refreshes",
            "[limits]",
        ),
        ("[declared]\n", "[limits]\nretransmit = \"1 us\"\n\n[declared]\n", "shorter than 1 ms", "[limits]"),
    ];
    wrong(WEST, &cases);
}

#[test]
fn routers_that_do_not_fit_together_are_told() {
    for text in [LINUX_WEST, LINUX_TRANSIT, LINUX_EAST] {
        let Within::Linux(routers) = read(text).inside else { panic!("{text}") };
        assert_eq!((routers.domain.routers.len(), routers.namespaces.len()), (1, 1));
    }
    let router = "[[linux.router]]\n";
    let twice = "[[linux.router]]\nname = \"router-65001\"\naddress = \"fd30:1::2\"\n\n[[linux.router]]\n";
    let beside = "[[linux.router]]\nname = \"other\"\naddress = \"fd30:1::2\"\nnamespace = \"line-router-65001\"\n\n[[linux.router]]\n";
    let apart = "[[linux.router]]\nname = \"other\"\naddress = \"fd30:1::2\"\n\n[[linux.router]]\n";
    let cases = [
        ("share = \"60 %\"", "share = \"much\"", "is not a share", "\"much\""),
        ("share = \"60 %\"", "share = \"80 %\"", "1050 thousandths", "[linux]"),
        (
            "control = { share = \"5 %\", burst = \"1 kB\" }\n",
            "",
            "15040 bit/s and 188 B of control",
            "[linux]",
        ),
        (
            "control = { share = \"5 %\", burst = \"1 kB\" }\n",
            "control = { share = \"5 %\", burst = \"187 B\" }\n",
            "a link has less",
            "[linux]",
        ),
        (
            "control = { share = \"5 %\", burst = \"1 kB\" }\n",
            "control = { share = \"3 %\", burst = \"1 kB\" }\nkeep-alive = \"10 ms\"\n",
            "150400 bit/s and 188 B of control",
            "[linux]",
        ),
        ("\"10.1.0.1/24\"", "\"10.1.0.1\"", "is not an address", "\"10.1.0.1\""),
        ("\"10.1.0.1/24\"", "\"10.9.0.1/24\"", "not of this domain", "[[linux.edge]]"),
        ("\"fd20:1::1\"", "\"10.1.1.1\"", "IPv6", "\"10.1.1.1\""),
        (
            "router = \"router-65001\"",
            "router = \"router-65002\"",
            "no router \"router-65002\"",
            "\"router-65002\"",
        ),
        (
            "namespace = \"line-router-65001\"",
            "namespace = \"../x\"",
            "no name of a network namespace",
            "[[linux.router]]",
        ),
        (router, twice, "there twice", "[[linux.router]]"),
        (router, beside, "two routers are in one", "[[linux.router]]"),
        (
            "[[linux.border]]\nlink = 1\n",
            "[[linux.border]]\nlink = 7\n",
            "no [[agreement]] is about link 7",
            "[[linux.border]]",
        ),
        ("interface = \"edge0\"", "interface = \"edge0; true\"", "no name", "[linux]"),
        ("processing = \"1 ms\"\n", "", "missing field `processing`", ""),
        ("[linux]\n", "[declared]\nedges = [\"a\"]\n\n[linux]\n", "there twice", "[linux]"),
    ];
    wrong(LINUX_WEST, &cases);
    let two = LINUX_WEST.replacen(router, apart, 1);
    let at = |router: &str| format!("router = \"{router}\"\ninterface = \"edge0\"");
    wrong(&two, &[(&at("router-65001"), &at("other"), "no way, or no bound", "[linux]")]);
    // A port takes the time that it takes: what an agreement says is not less.
    let at = LINUX_WEST.find("ef = { rate = \"3 Mbit/s\"").unwrap();
    let line = LINUX_WEST[at..].lines().next().unwrap();
    let short = "ef = { rate = \"3 Mbit/s\", burst = \"6 kB\", delay = \"9 ms\", jitter = \"1 ms\" }";
    wrong(LINUX_WEST, &[(line, short, "link 1 keeps no such delay in ef", "[[agreement]]")]);
    let text = LINUX_WEST.split("# The inside").next().unwrap();
    let problem = DomainFile::read("domain.toml", text).unwrap_err();
    assert!(problem.what.contains("nothing says what is inside"), "{problem}");
}

#[test]
fn an_access_is_a_link_of_two_rates_that_varies_and_loses() {
    let Within::Linux(routers) = read(ACCESS).inside else { panic!("{ACCESS}") };
    let link = &routers.domain.links[0];
    assert_eq!([0, 1].map(|end| link.wire_from(end).rate), [2_000_000, 8_000_000]);
    assert_eq!((link.wire.propagation, link.jitter(), link.loss()), (250_000_000, 150_000_000, 50_000));
    // What an access loses would look like a cut.
    assert_eq!(routers.keep_alive, 0);
    let line = "[[access.line]]";
    let cases = [
        ("jitter = \"150 ms\"", "jitter = \"401 ms\"", "varies by more than it is", line),
        ("loss = \"5 %\"", "loss = \"100 %\"", "loses all packets", line),
        ("loss = \"5 %\"", "loss = \"5\"", "is not a loss", "\"5\""),
        ("up = \"2 Mbit/s\"", "up = \"7 kbit/s\"", "a rate of 7000 bit/s", "[access]"),
        ("down = \"8 Mbit/s\"", "down = \"7 kbit/s\"", "a rate of 7000 bit/s", "[access]"),
        ("delay = \"400 ms\"", "delay = \"11 s\"", "10 s is possible at most", "[access]"),
        ("head = { router = \"head\"", "head = { router = \"heat\"", "no router \"heat\"", "\"heat\""),
        ("delay = \"400 ms\"\n", "delay = \"400 ms\"\nkeep-alive = \"1 s\"\n", "unknown field", "keep-alive"),
        ("[access]\n", "[declared]\nedges = [\"a\"]\n\n[access]\n", "there twice", "[access]"),
    ];
    wrong(ACCESS, &cases);
    let begin = ACCESS.find(line).unwrap();
    let end = ACCESS.find("[[access.edge]]").unwrap();
    let none = ACCESS.replacen("[access]\n", "[access]\nline = []\n", 1);
    let text = none.replace(&ACCESS[begin..end], "");
    wrong(&text, &[("line = []", "line = [ ]", "there is no access", "[access]")]);
}

#[test]
fn what_is_beyond_an_agreement_is_marked_down_where_it_says_so() {
    let demoted = |text: &str| match DomainFile::read("domain.toml", text).unwrap().inside {
        Within::Linux(routers) => routers.domain.demoted,
        other => panic!("{other:?}"),
    };
    assert!(!demoted(LINUX_WEST).is_any());
    // The first agreement is that by which this domain sends.
    let says = |times: usize| {
        let line = "destinations = [65002, 65003]\n";
        LINUX_WEST.replacen(line, &format!("{line}excess = \"demote\"\n"), times)
    };
    let of = demoted(&says(1));
    assert_eq!((of.inside, of.from.len(), of.to), (false, 0, [LinkId(1)].into()));
    let inside = demoted(&LINUX_WEST.replacen("[linux]\n", "[linux]\nexcess = \"demote\"\n", 1));
    assert!(inside.inside && inside.to.is_empty());
}

#[test]
fn switches_that_do_not_fit_together_are_told() {
    let cases = [
        (
            "destinations = [65002, 65003]\n",
            "destinations = [65002, 65003]\nexcess = \"demote\"\n",
            "meters of switches drop",
            "[[agreement]]",
        ),
        ("unix:/run", "tcp:/run", "no socket of a bridge", "[[ovs.switch]]"),
        ("02:01:00:01:00:00", "03:01:00:01:00:00", "no address of a station", "[[ovs.edge]]"),
        (
            "switch = \"switch-65001\"",
            "switch = \"switch-65002\"",
            "no switch \"switch-65002\"",
            "\"switch-65002\"",
        ),
        ("\"10.1.0.2/32\"", "\"10.1.9.2/32\"", "not among the addresses", "[ovs]"),
        ("interface = \"edge0\"", "interface = \"all\"", "a port of their own", "[ovs]"),
        (
            "beyond = [\"10.2.0.0/16\", ",
            "beyond = [\"10.3.0.0/16\", ",
            "10.3.0.0/16 is what is beyond",
            "[ovs]",
        ),
        ("[ovs]\n", "[declared]\nedges = [\"a\"]\n\n[ovs]\n", "there twice", "[ovs]"),
    ];
    wrong(include_str!("../../examples/ovs/west.toml"), &cases);
}

#[test]
fn a_lan_has_stations_for_its_links_and_hosts() {
    let file = read(LAN_EAST);
    let Within::Lan(plan) = &file.inside else { panic!("{:?}", file.inside) };
    assert_eq!(
        (plan.owner, plan.lifetime, plan.importance, plan.jitter),
        (65_003, 7_000_000_000, 0, 1_000_000)
    );
    let ef = plan.services[&Class::Ef];
    assert_eq!((ef.rate, ef.burst, ef.limit), (2_000_000, 6_000, 25_000_000));
    assert_eq!((ef.least_packet, ef.largest_packet), (100, 1_500));
    assert_eq!((&*plan.borders[0].station, plan.borders[0].processing), ("router", 1_000_000));
    let first = "[[lan.edge]]\nstation = \"display\"";
    let twice = format!("[[lan.edge]]\nstation = \"display\"\naddresses = [\"10.3.0.12\"]\n\n{first}");
    let border = "[[lan.border]]\nlink = 13\nstation = \"router\"\n";
    let two_borders = format!("{border}\n{border}");
    let cases = [
        ("\"127.0.0.1:8080\"", "\"grm\"", "no address with a port", "\"grm\""),
        ("\"127.0.0.1:8080\"", "\"192.0.2.1:8080\"", "by TLS alone", "\"192.0.2.1:8080\""),
        ("link = 13\nstation", "link = 14\nstation", "no [[agreement]] is about link 14", "[[lan.border]]"),
        (border, &*two_borders, "link 13 is there twice", "[[lan.border]]"),
        (
            "[[lan.border]]\nlink = 13\nstation = \"router\"\nprocessing = \"1 ms\"\n",
            "",
            "has no router",
            "[lan]",
        ),
        (first, &*twice, "\"display\" is there twice", "\"display\""),
        ("station = \"display\"", "station = \"\"", "no name of a host", "\"\""),
        ("[\"10.3.0.11\"]", "[\"10.1.0.11\"]", "not of this domain", "[[lan.edge]]"),
        ("limit = \"25 ms\"", "limit = \"0 s\"", "no limit", "{ rate"),
        ("burst = \"6 kB\", limit", "burst = \"1 kB\", limit", "no room for its largest packet", "{ rate"),
        ("limit = \"25 ms\"", "limit = \"25 ms\", packet = \"9 kB\"", "28 to 1500 bytes", "{ rate"),
        ("[lan]\n", "[lan]\nlifetime = \"3 s\"\n", "shorter than 4 s", "[lan]"),
        ("[lan]\n", "[lan]\nspeed = 1\n", "unknown field `speed`", "speed"),
        ("[lan]\n", "[declared]\nedges = [\"a\"]\n\n[lan]\n", "there twice", "[lan]"),
    ];
    wrong(LAN_EAST, &cases);
}

/// Changes of a file, what is wrong then, and the text under the caret's beginning.
fn wrong(file: &str, cases: &[(&str, &str, &str, &str)]) {
    for (from, to, what, place) in cases.iter().copied() {
        assert!(file.contains(from), "{from}");
        let text = file.replacen(from, to, 1);
        let Err(problem) = DomainFile::read("domain.toml", &text) else { panic!("{to} is not wrong") };
        let shown = Source { file: "domain.toml", text: &text }.show(&problem);
        assert!(problem.what.contains(what), "{to}: {shown}");
        let (line, column) = problem.place.unwrap();
        let rest: String = text.lines().nth(line - 1).unwrap().chars().skip(column - 1).collect();
        assert!(rest.starts_with(place), "{to}: the caret is at {rest:?}\n{shown}");
        assert!(shown.contains('^') && shown.lines().count() >= 3, "{shown}");
    }
}

#[test]
fn times_are_rounded_up_and_limits_are_taken() {
    let text = WEST.replacen("delay = \"3 ms\"", "delay = \"1001 ps\"", 1).replacen(
        "[declared]\n",
        "[limits]\nrefresh = \"100 ms\"\nlifetime = \"1 s\"\nguard = \"200 ms\"\nmost-hosted = 7\ncallee-patience = \"1 s\"\n\n[declared]\n",
        1,
    );
    let file = read(&text);
    assert_eq!(file.config.agreements[0].terms[&Class::Ef].delay, 2);
    let limits = file.config.limits;
    assert_eq!((limits.refresh, limits.lifetime, limits.guard), (100_000_000, 1_000_000_000, 200_000_000));
    assert_eq!((limits.most_hosted, file.callee_patience), (7, 1_000_000_000));
}

#[test]
fn a_domain_with_a_client_of_an_aaa_server_admits_nothing_without_it() {
    let plain = read(WEST);
    assert_eq!((plain.config.needs_grants, plain.aaa), (false, None));
    let text = format!("{WEST}\n[aaa]\nclient = \"client.toml\"\n");
    let file = read(&text);
    assert_eq!((file.config.needs_grants, file.aaa), (true, Some("client.toml".into())));
    let table = "client = \"client.toml\"";
    wrong(&text, &[(table, "clients = \"client.toml\"", "unknown field", "clients")]);
}

#[test]
fn a_speaker_of_bgp_is_a_command_an_interval_and_what_the_domain_tells() {
    assert_eq!(read(WEST).bgp, None);
    let plain = read(&format!("{WEST}\n[bgp]\n")).bgp.unwrap();
    let own = ["vtysh".to_owned()];
    assert_eq!((&plain.command[..], plain.interval, plain.told), (&own[..], 5_000_000_000, Vec::new()));
    let command = "command = [\"vtysh\", \"--vty_socket\", \"/run/x\"]\n";
    let text = format!("{WEST}\n[bgp]\n{command}interval = \"1 s\"\naf4 = \"2 ms\"\nef = \"1000001 ps\"\n");
    let said = read(&text).bgp.unwrap();
    assert_eq!((said.command.len(), said.interval), (3, 1_000_000_000));
    // Microseconds, rounded up.
    assert_eq!(said.told, [(Class::Ef, 2), (Class::Af4, 2_000)]);
    let cases = [
        (command, "command = []\n", "no command of 1 to 32 words", "[]"),
        (command, "command = [\"\"]\n", "no command of 1 to 32 words", "[\"\"]"),
        ("interval = \"1 s\"", "interval = \"99 ms\"", "shorter than 100 ms", "\"99 ms\""),
        ("af4 = \"2 ms\"", "be = \"2 ms\"", "unknown field `be`", "be"),
    ];
    wrong(&text, &cases);
}
