//! Wrong files are told with line, column and what to do; hostile ones do no harm.
use std::fs;
use std::path::Path;

use network::{check_models, check_network};

fn wrong(text: &str) -> String {
    check_network("net.toml", text, |_| Err("not there".to_owned())).unwrap_err().to_string()
}

/// What is wrong with a text is told with its place, and in the second line what to do.
fn is_told(text: &str, place: &str, what: &str, remedy: &str) {
    let told = wrong(text);
    assert!(told.starts_with(&format!("net.toml:{place}: ")), "{text}\n{told}");
    assert!(told.contains(what), "{told}");
    assert!(told.lines().nth(1).unwrap().contains(remedy), "{told}");
}

const HOSTS: &str = "[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n[[switch]]\nname = \"s\"\nmodel = \"gigabit-8-queues\"\n";

const METERS: &str = "[[switch-model]]\nname = \"m\"\nports = 2\nqueues = 8\nrate = \"1 Gb/s\"\n";

/// A network of two hosts at a switch, with a flow that says `flow` in addition.
fn with_flow(flow: &str) -> String {
    let links = "[[link]]\nends = [\"a\", \"s\"]\n[[link]]\nends = [\"b\", \"s\"]\n";
    format!("{HOSTS}{links}[[flow]]\ntopic = \"t\"\n{flow}\n")
}

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let usual = "publisher = \"a\"\nsubscribers = [{ host = \"b\", limit = \"2 ms\" }]\nsize = 100\nseparation = \"1 ms\"";
    check_network("net.toml", &with_flow(usual), |_| Err(String::new())).unwrap();
    for (text, place, what, remedy) in [
        ("name = 3".to_owned(), "1:8", "invalid type: integer", "docs/plan.md"),
        ("nam = \"x\"".to_owned(), "1:1", "unknown field `nam`", "docs/plan.md"),
        ("[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"".to_owned(), "4:8", "two nodes \"a\"", "rename"),
        ("[[switch]]\nname = \"s\"\nmodel = \"x\"".to_owned(), "3:9", "no model \"x\"", "gigabit-8-queues"),
        (
            format!("{HOSTS}[[link]]\nends = [\"a\", \"s\"]\n"),
            "4:8",
            "host \"b\" has no link",
            "end of the file",
        ),
        (HOSTS.to_owned(), "2:8", "host \"a\" has no link", "[[link]]"),
        (
            with_flow(usual).replace(
                "[[link]]\nends = [\"a",
                "[[switch]]\nname = \"t\"\nmodel = \"gigabit-8-queues\"\n[[link]]\nends = [\"a",
            ),
            "9:8",
            "switch \"t\" has no link",
            "[[link]]",
        ),
        (
            format!("control = {{ burst = 1_000, rate = \"4 Gb/s\" }}\n{}", with_flow(usual)),
            "10:8",
            "control has 4000000000 b/s of this link, which has 1000000000",
            "lower the rate of control",
        ),
        (format!("{HOSTS}[[link]]\nends = [\"a\", \"c\"]"), "9:14", "no node \"c\"", "[[host]]"),
        (format!("{HOSTS}[[link]]\nends = [\"a\", \"a\"]"), "9:14", "\"a\" has one link", "by a switch"),
        (format!("{HOSTS}[[link]]\nends = [\"s\", \"s\"]"), "9:8", "to itself", "two nodes"),
        (
            "[[switch]]\nname = \"s\"\nmodel = \"gigabit-8-queues\"\ndatapath = \"0x2\"\n\
             [[switch]]\nname = \"t\"\nmodel = \"gigabit-8-queues\"\n[[host]]\nname = \"a\""
                .to_owned(),
            "6:8",
            "\"s\" has the datapath id 0x2, too",
            "datapath = \"0x...\"",
        ),
        (
            "[[switch]]\nname = \"s\"\nmodel = \"gigabit-8-queues\"\ndatapath = 2".to_owned(),
            "4:12",
            "a datapath id in quotes such as \"0x2a\"",
            "docs/plan.md",
        ),
        (
            format!("{HOSTS}[[link]]\nends = [\"a\", \"s:49\"]"),
            "9:14",
            "\"s\" has 48 ports",
            "counted from 1",
        ),
        (format!("{HOSTS}[[link]]\nends = [\"a\", \"s\", \"b\"]"), "9:8", "two ends", "switch:1"),
        (format!("{HOSTS}[[link]]\nends = [\"a\"]"), "9:8", "two ends", "switch:1"),
        (
            format!("{HOSTS}{METERS}meters = {{ counts = \"all\" }}"),
            "13:21",
            "unknown variant `all`, expected `wire` or `frame`",
            "docs/plan.md",
        ),
        ("clock-drift = \"11 %\"".to_owned(), "1:15", "is not a drift of clocks", "docs/plan.md"),
        ("[[host]]\nname = \"a\"\nqueues = 0".to_owned(), "2:8", "no queue for assured flows", "more queues"),
        (
            "[[host]]\nname = \"a\"\nother = \"much\"".to_owned(),
            "3:9",
            "expected { burst = BYTES, rate",
            "docs/plan.md",
        ),
        (
            "[[host]]\nname = \"a\"\nwake = \"9 us\"\nenergy-efficient = false".to_owned(),
            "2:8",
            "does not sleep has a time to wake",
            "energy-efficient = false",
        ),
        (
            format!("host-defaults = {{ other = {{ burst = 0, rate = \"1 Gb/s\" }} }}\n{}", with_flow(usual)),
            "10:8",
            "\"a\" sends 1000000000 b/s besides its flows, and its link has 1000000000",
            "lower the rate of other",
        ),
        (format!("{HOSTS}{METERS}cell = 0"), "9:8", "a cell of the buffer is not", "correct"),
        (
            format!("{HOSTS}{METERS}buffer = 1\nshared-buffer = 1"),
            "9:8",
            "more than one of buffer, queue-buffer and shared-buffer",
            "leave all but one out",
        ),
        (format!("{HOSTS}{METERS}pause = \"maybe\""), "13:9", "expected `on` or `off`", "docs/plan.md"),
        (String::new(), "1:1", "no hosts", "[[host]]"),
        (
            with_flow(&usual.replace("\"1 ms\"", "\"1 ms\"\nmaximum-separation = \"999 us\"")),
            "17:14",
            "less than its separation",
            "the most",
        ),
        (format!("{HOSTS}[[link]]\nends = [\"a\", \"s:0\"]"), "9:14", "1 or more", "switch:3"),
        (
            format!("{HOSTS}[[link]]\nends = [\"a\", \"s\"]\nrate = \"10 Gb/s\""),
            "10:8",
            "faster than a switch",
            "lower",
        ),
        (
            format!("{HOSTS}[[link]]\nends = [\"a\", \"s\"]\nrate = \"0 b/s\""),
            "10:8",
            "is not a rate",
            "docs",
        ),
        (with_flow(&usual.replace("\"b\"", "\"s\"")), "15:25", "no host \"s\"", "[[host]]"),
        (with_flow(&usual.replace("\"b\"", "\"a\"")), "15:25", "cannot subscribe", "another host"),
        (with_flow(&usual.replace("1 ms", "0 ms")), "17:14", "separation of 0", "least time"),
        (with_flow(&usual.replace("2 ms", "2 parsecs")), "15:38", "is not a time", "docs"),
        (with_flow(&usual.replace("size = 100", "size = -1")), "16:8", "invalid value", "docs"),
        (with_flow(&usual.replace("100", "100\nleast-size = 101")), "16:8", "least-size is above", "largest"),
        (with_flow(&format!("{usual}\nthrough = [\"a\"]")), "18:12", "no switch \"a\"", "[[switch]]"),
        (with_flow(&format!("{usual}\nbundle = \"\"")), "13:9", "1 to 256 bytes", "another name"),
        ("model-files = [\"m.xml\"]".to_owned(), "1:16", "cannot be read: not there", "relative"),
        (with_flow(&format!("{usual}\nip = 5")), "18:6", "no version 5 of IP", "ip = 6"),
        (
            with_flow(&format!("{usual}\nip = 6")).replacen("name = \"b\"", "name = \"b\"\naddress = \"10.0.0.1\"", 1),
            "19:6",
            "goes over IPv6, and \"b\" has no such address",
            "ip = 4",
        ),
        (
            with_flow(usual)
                .replacen("name = \"a\"", "name = \"a\"\naddress = \"fd00::1\"", 1)
                .replacen("name = \"b\"", "name = \"b\"\naddress = \"10.0.0.1\"", 1),
            "16:13",
            "goes over IPv6, and \"b\" has no such address",
            "of one version",
        ),
        ("[[host]]\nname = \"a:b\"".to_owned(), "2:8", "without \":\"", "another name"),
        ("[[host]]\nname = \"a\"\nmac = \"52:54:00:12:34\"".to_owned(), "3:7", "is no MAC address", "52:54:00"),
        ("[[host]]\nname = \"a\"\nmac = \"52:54:00:12:34:+6\"".to_owned(), "3:7", "is no MAC address", "52:54"),
        ("[[host]]\nname = \"a\"\nmac = \"01:00:5e:12:34:56\"".to_owned(), "3:7", "no host has", "interface"),
        (
            "[[host]]\nname = \"a\"\nmac = \"52-54-00-12-34-aF\"\n[[host]]\nname = \"b\"\nmac = \"52:54:00:12:34:Af\""
                .to_owned(),
            "6:7",
            "two hosts have the MAC address",
            "its own",
        ),
        ("[[host]]\nname = \"a\"\naddress = \"10.0.0\"".to_owned(), "3:11", "an address in quotes", "docs"),
        ("[[host]]\nname = \"a\"\naddress = \"fd00::g\"".to_owned(), "3:11", "an address in quotes", "docs"),
        ("[[host]]\nname = \"a\"\naddress = \"ff02::1\"".to_owned(), "3:11", "no host has", "interface"),
        ("[[host]]\nname = \"a\"\naddress = \"::ffff:10.0.0.1\"".to_owned(), "3:11", "no host has", "interface"),
        ("[[host]]\nname = \"a\"\naddress = \"fe80::1\"".to_owned(), "3:11", "of one link alone", "fd00::"),
        (
            "[[host]]\nname = \"a\"\naddress = [\"fd00::1\", \"10.0.0.1\", \"fd00::2\"]".to_owned(),
            "3:11",
            "two IPv6 addresses",
            "one of IPv6 at most",
        ),
        (
            "[[host]]\nname = \"a\"\naddress = \"10.0.0.1\"\n[[host]]\nname = \"b\"\naddress = \"10.0.0.1\""
                .to_owned(),
            "6:11",
            "two hosts have the address 10.0.0.1",
            "of its own",
        ),
        (
            "[[host]]\nname = \"a\"\nmanager = true\n[[host]]\nname = \"b\"\nmanager = true".to_owned(),
            "5:8",
            "two hosts have manager = true",
            "one manager",
        ),
        (
            format!("{HOSTS}[[link]]\nends = [\"a\", \"s\"]\nloss = \"2\""),
            "10:8",
            "is not a loss such as",
            "docs",
        ),
        (
            with_flow(usual).replacen("\"s\"]", "\"s\"]\nloss = \"1 %\"", 1),
            "10:8",
            "loses frames, in a file with flows",
            "leave out the loss",
        ),
        ("[control]\nburst = 1".to_owned(), "1:1", "missing field `rate`", "docs"),
        ("a = ".to_owned(), "1:5", "", "docs"),
    ] {
        is_told(&text, place, what, remedy);
    }
}

/// Two hosts in VLAN 10, one of them in 20 as well, and a flow in 10.
const VLANS: &str = "\
[[host]]
name = \"a\"
mac = \"02:00:00:00:00:01\"
address = \"10.0.0.1\"
vlans = [{ id = 10, address = [\"10.10.0.1\", \"fd10::1\"] }]
[[host]]
name = \"b\"
mac = \"02:00:00:00:00:02\"
vlans = [{ id = 10, address = \"10.10.0.2\" }, { id = 20, address = \"10.20.0.2\" }]
[[switch]]
name = \"s\"
model = \"gigabit-8-queues\"
[[link]]
ends = [\"a\", \"s\"]
[[link]]
ends = [\"b\", \"s\"]
[[flow]]
topic = \"t\"
publisher = \"a\"
subscribers = [{ host = \"b\", limit = \"2 ms\" }]
size = 100
separation = \"1 ms\"
vlan = 10
";

#[test]
fn vlans_are_read_and_frames_in_them_are_longer() {
    let read = |text: &str| network::Network::parse("net.toml", text, |_| Err(String::new())).unwrap();
    let (tagged, plain) = (read(VLANS), read(&VLANS.replace("vlan = 10\n", "")));
    let vlans = |host: usize| -> Vec<(u16, usize)> {
        tagged.hosts()[host].vlans.iter().map(|vlan| (vlan.id, vlan.addresses.len())).collect()
    };
    assert_eq!((vlans(0), vlans(1)), (vec![(10, 2)], vec![(10, 1), (20, 1)]));
    let of = |network: &network::Network| (network.flows()[0].vlan, network.flows()[0].flow.tag);
    assert_eq!((of(&tagged), of(&plain)), ((Some(10), 4), (None, 0)));
    // Whatever a link carries may have a tag if there are VLANs at all.
    let none = plain.has_vlans();
    assert!(none && tagged.ports().iter().all(|port| (port.tag, port.largest_frame) == (0, 1_542)));
    assert!(tagged.ports().iter().any(|port| port.best_effort == 1_542));
    let bare = read(&VLANS.lines().filter(|line| !line.starts_with("vlan")).collect::<Vec<_>>().join("\n"));
    assert!(!bare.has_vlans() && bare.ports().iter().all(|port| port.largest_frame == 1_538));
}

#[test]
fn mistakes_with_vlans_have_a_place_and_a_remedy() {
    let (first, both) = ("{ id = 10, address = [", "\"10.10.0.1\", \"fd10::1\"");
    let flow = "vlan = 10\n";
    for (from, to, place, what, remedy) in [
        (first, "{ id = 0, address = [", "5:17", "no VLAN 0", "1 to 4094"),
        (first, "{ id = 4095, address = [", "5:17", "no VLAN 4095", "1 to 4094"),
        (first, "{ id = 70_000, address = [", "5:17", "a whole number from 0 to 65535", "docs"),
        ("id = 20", "id = 10", "9:53", "in VLAN 10 twice", "once"),
        ("10.20.0.2", "10.10.0.1", "9:67", "two hosts have the address 10.10.0.1", "of its own"),
        ("\"fd10::1\"] }", "\"10.10.0.9\"] }", "5:31", "two IPv4 addresses", "one of IPv6"),
        (both, "", "5:31", "no address in VLAN 10", "VLAN interface"),
        ("mac = \"02:00:00:00:00:02\"\n", "", "8:17", "its MAC address is not said", "mac = "),
        (flow, "vlan = 20\n", "23:8", "in VLAN 20, and \"a\" is not in it", "vlans = ["),
        (flow, "vlan = 4_095\n", "23:8", "no VLAN 4095", "1 to 4094"),
        (flow, "vlan = 10\nip = 6\n", "24:6", "over IPv6, and \"b\" has no such address", "one version"),
        ("gigabit-8-queues", "linux-bridge", "5:17", "the switch \"s\" is a bridge", "open-vswitch"),
        ("{ id = 20,", "{ id = 20, name = 1,", "9:57", "unknown field `name`", "docs/plan.md"),
    ] {
        is_told(&VLANS.replacen(from, to, 1), place, what, remedy);
    }
}

/// Anything that comes from mutated examples is read or refused, and nothing else happens.
#[test]
fn mutated_files_do_no_harm() {
    let [one, other] = ["table-two.toml", "figure-four.toml"].map(shipped);
    let networks = [one, other, VLANS.as_bytes().to_vec()];
    let models = shipped("switches.xml");
    let mut right = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random(testkit::random::Random::new(seed));
        let pick = random.below(networks.len());
        let text = random.mutated(&networks[pick]);
        right += u64::from(check_network("net.toml", &text, |_| Ok(String::new())).is_ok());
        right += u64::from(check_models("m.xml", &random.mutated(&models)).is_ok());
    }
    assert!(right > 0, "some mutations are harmless");
}

/// A shipped example.
fn shipped(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../plan/networks").join(name)).unwrap()
}

/// Random changes of files.
struct Random(testkit::random::Random);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below_u64(limit as u64)).unwrap()
    }

    fn mutated(&mut self, bytes: &[u8]) -> String {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] = b"0123456789-\"[]{}=<>/&;\n "[self.below(25) % 24],
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at.max(1)),
                3 => {
                    let end = (at + 1 + self.below(80)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => {
                    let end = (at + 1 + self.below(40)).min(bytes.len());
                    bytes.drain(at..end);
                    bytes.push(b'\n');
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
