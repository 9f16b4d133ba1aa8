//! Wrong files are told with line, column and what to do; hostile ones do no harm.

use std::fs;

use crate::command::{Folder, arguments, example, json, run};
use plan::{REFUSED, WRONG};
use testkit::random::Random;

const HOSTS: &str = "[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n[[switch]]\nname = \"s\"\nmodel = \"gigabit-8-queues\"\n";

/// A network of two hosts at a switch, with a flow that says `flow` in addition.
fn with_flow(flow: &str) -> String {
    let links = "[[link]]\nends = [\"a\", \"s\"]\n[[link]]\nends = [\"b\", \"s\"]\n";
    format!("{HOSTS}{links}[[flow]]\ntopic = \"t\"\n{flow}\n")
}

/// Networks that are well written and cannot work are refused flow by flow, with the cause.
#[test]
fn impossible_networks_are_named() {
    let folder = Folder::new();
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
    let folder = Folder::new();
    let (code, out, told) = run(&arguments(&folder.path("none.toml")));
    assert_eq!((code, out.as_str()), (WRONG, ""));
    assert!(told.contains("none.toml: No such file"), "{told}");
    fs::write(folder.path("binary.toml"), [0xff, 0xfe]).unwrap();
    assert_eq!(run(&arguments(&folder.path("binary.toml"))).0, WRONG);
}

/// Numbers out of all proportion are planned or refused: no sum overflows, and nothing takes long.
#[test]
fn wild_numbers_do_no_harm() {
    let folder = Folder::new();
    let text = fs::read_to_string(example("figure-four.toml")).unwrap();
    let text = text.replace("model-files = [\"switches.xml\"]\n", "").replace("P-3290", "wild");
    let model = "[[switch-model]]\nname = \"wild\"\nports = 48\nqueues = 8\nrate = \"1 Gb/s\"\nbuffer = 500000\n\
        multiplexing = \"5 us\"\noverhead = 4\nmtu = 1500\nmeters = { precision = \"1 kb/s\", burst-precision = 1000 }\n\
        [control]\nburst = 1538\nrate = \"1 Mb/s\"\n";
    let text = text + model;
    let numbers: Vec<(usize, usize)> = number_places(&text);
    let mut planned = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let mut wild = text.clone();
        // From the end, so that places stay where they are.
        let mut below = |limit: usize| usize::try_from(random.below_u64(limit as u64)).unwrap();
        let count = 1 + below(4);
        let mut chosen: Vec<usize> = (0..count).map(|_| below(numbers.len())).collect();
        chosen.sort_unstable();
        chosen.dedup();
        for place in chosen.into_iter().rev() {
            let (start, end) = numbers[place];
            let digits = 1 + below(13);
            let number: String = (0..digits).map(|_| char::from(b'0' + below(10) as u8)).collect();
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
