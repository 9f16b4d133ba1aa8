//! Wrong files are told with line, column and what to do; hostile ones do no harm.

use std::fs;

use crate::command::{Folder, arguments, example, json, run};
use plan::{REFUSED, WRONG, check_models, check_network};

fn wrong(text: &str) -> String {
    check_network("net.toml", text, |_| Err("not there".to_owned())).unwrap_err().to_string()
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
            "expected { burst = OCTETS, rate",
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
        (with_flow(&format!("{usual}\nbundle = \"\"")), "13:9", "1 to 256 octets", "another name"),
        ("model-files = [\"m.xml\"]".to_owned(), "1:16", "cannot be read: not there", "relative"),
        ("[[host]]\nname = \"a:b\"".to_owned(), "2:8", "without \":\"", "another name"),
        ("[[host]]\nname = \"a\"\naddress = \"10.0.0\"".to_owned(), "3:11", "IPv4 address", "docs"),
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
        let told = wrong(&text);
        assert!(told.starts_with(&format!("net.toml:{place}: ")), "{text}\n{told}");
        assert!(told.contains(what), "{told}");
        assert!(told.lines().nth(1).unwrap().contains(remedy), "{told}");
    }
}

/// Networks that are well written and cannot work are refused flow by flow, with the cause.
#[test]
fn impossible_networks_are_named() {
    let folder = Folder::new("impossible");
    let usual = "publisher = \"a\"\nsubscribers = [{ host = \"b\", limit = \"2 ms\" }]\nsize = 100\nseparation = \"1 ms\"";
    let reason = |name: &str, text: &str| {
        let (code, report) = json(&arguments(&folder.file(name, text)));
        assert_eq!(code, REFUSED);
        report["flows"][0]["reason"].as_str().unwrap().to_owned()
    };
    let apart = with_flow(usual).replace("[[link]]\nends = [\"b\", \"s\"]\n", "");
    let more = "[[switch]]\nname = \"t\"\nmodel = \"gigabit-8-queues\"\n[[link]]\nends = [\"b\", \"t\"]\n";
    let two = format!("{more}{}", apart);
    assert_eq!(reason("two.toml", &two), "there is no way from a to b: no links lead there");
    let through = with_flow(&format!("{usual}\nthrough = []"));
    let told = reason("through.toml", &through);
    assert_eq!(told, "there is no way from a to b: not through the switches that it may pass");
    let mut row =
        String::from("[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n[[link]]\nends = [\"a\", \"s0\"]\n");
    for switch in 0..300 {
        row += &format!("[[switch]]\nname = \"s{switch}\"\nmodel = \"gigabit-8-queues\"\n[[link]]\n");
        row += &match switch {
            299 => "ends = [\"s299\", \"b\"]\n".to_owned(),
            _ => format!("ends = [\"s{switch}\", \"s{}\"]\n", switch + 1),
        };
    }
    row += &format!("[[flow]]\ntopic = \"t\"\n{usual}\n");
    assert_eq!(reason("row.toml", &row), "there is no way from a to b: more than 64 links are between them");
    let overload = with_flow(&usual.replace("size = 100", "size = 200_000"));
    let told = reason("overload.toml", &overload);
    assert!(told.contains("too much load"), "{told}");
    let loops = with_flow(usual)
        .replace("name = \"s\"", "name = \"s\"\nmodel = \"gigabit-8-queues\"\n[[switch]]\nname = \"s2\"");
    let loops = loops
        .replace("[[flow]]", "[[link]]\nends = [\"s\", \"s2\"]\n[[link]]\nends = [\"s2\", \"s\"]\n[[flow]]");
    assert_eq!(
        json(&arguments(&folder.file("loop.toml", &loops))).0,
        0,
        "a loop in the network does no harm"
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new("unreadable");
    let (code, out, told) = run(&arguments(&folder.path("none.toml")));
    assert_eq!((code, out.as_str()), (WRONG, ""));
    assert!(told.contains("none.toml: No such file"), "{told}");
    fs::write(folder.path("binary.toml"), [0xff, 0xfe]).unwrap();
    assert_eq!(run(&arguments(&folder.path("binary.toml"))).0, WRONG);
}

/// Anything that comes from mutated examples is read or refused, and nothing else happens.
#[test]
fn mutated_files_do_no_harm() {
    let networks = ["table-two.toml", "figure-four.toml"].map(|name| fs::read(example(name)).unwrap());
    let models = fs::read(example("switches.xml")).unwrap();
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

/// Numbers out of all proportion are planned or refused: no sum overflows, and nothing takes long.
#[test]
fn wild_numbers_do_no_harm() {
    let folder = Folder::new("wild");
    let text = fs::read_to_string(example("figure-four.toml")).unwrap();
    let text = text.replace("model-files = [\"switches.xml\"]\n", "").replace("P-3290", "wild");
    let model = "[[switch-model]]\nname = \"wild\"\nports = 48\nqueues = 8\nrate = \"1 Gb/s\"\nbuffer = 500000\n\
        multiplexing = \"5 us\"\noverhead = 4\nmtu = 1500\nmeters = { precision = \"1 kb/s\", burst-precision = 1000 }\n\
        [control]\nburst = 1538\nrate = \"1 Mb/s\"\n";
    let text = text + model;
    let numbers: Vec<(usize, usize)> = number_places(&text);
    let mut planned = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random(testkit::random::Random::new(seed));
        let mut wild = text.clone();
        // From the end, so that places stay where they are.
        let count = 1 + random.below(4);
        let mut chosen: Vec<usize> = (0..count).map(|_| random.below(numbers.len())).collect();
        chosen.sort_unstable();
        chosen.dedup();
        for place in chosen.into_iter().rev() {
            let (start, end) = numbers[place];
            let digits = 1 + random.below(13);
            let number: String = (0..digits).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
            let number = number.trim_start_matches('0');
            wild.replace_range(start..end, if number.is_empty() { "0" } else { number });
        }
        let net = arguments(&folder.file("net.toml", &wild));
        let (code, ..) =
            run(&plan::Arguments { certify: true, html: Some(folder.path("page.html")), ..net.clone() });
        assert!(code == 0 || code == REFUSED || code == WRONG, "seed {seed}: {code}\n{wild}");
        planned += u64::from(code != WRONG);
        run(&plan::Arguments { explain: Some("c2/image".to_owned()), ..net });
    }
    assert!(planned > 10, "{planned}");
}

/// Where numbers stand that are values.
fn number_places(text: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(equals) =
            line.find("= ").filter(|_| !line.starts_with("name") && !line.starts_with("ends"))
        {
            let value = &line[equals..];
            let digits = |c: char| c.is_ascii_digit();
            let mut from = 0;
            while let Some(start) = value[from..].find(digits).map(|start| start + from) {
                let end = value[start..].find(|c| !digits(c)).map_or(value.len(), |end| start + end);
                if !value[..start].ends_with(|c: char| c.is_ascii_alphabetic()) {
                    places.push((at + equals + start, at + equals + end));
                }
                from = end;
            }
        }
        at += line.len();
    }
    places
}

/// SplitMix64.
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
