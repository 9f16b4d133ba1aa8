//! Plans of networks: what is admitted, why something is not, what would be, and what it looks like.

use std::fs;
use std::path::Path;

use crate::command::{Folder, arguments, example, flow, json, run};
use plan::{ADMITTED, Arguments, REFUSED, WRONG};
use serde_json::Value;

fn bounds(report: &Value) -> Vec<u64> {
    let flows = report["flows"].as_array().unwrap().iter();
    flows.map(|flow| flow["subscribers"][0]["bound_ps"].as_u64().unwrap() / 1_000).collect()
}

#[test]
fn table_two_is_admitted() {
    let (code, report) = json(&arguments(&example("table-two.toml")));
    assert_eq!((code, report["admitted"].as_u64()), (ADMITTED, Some(3)));
    assert_eq!(bounds(&report), [1_631_312, 2_434_160, 2_969_392]);
    let levels: Vec<u64> = (1..=3)
        .map(|flow| self::flow(&report, &format!("T{flow}"))["hops"][1]["level"].as_u64().unwrap())
        .collect();
    assert!(levels[0] > levels[1] && levels[1] > levels[2], "{levels:?}");
    let port = report["ports"].as_array().unwrap().last().unwrap();
    assert_eq!(port["load_ppm"], 851_842);
}

#[test]
fn table_two_with_our_framing_and_with_meters() {
    let (code, report) = json(&arguments(&example("table-two-rtps.toml")));
    assert_eq!((code, bounds(&report)), (ADMITTED, vec![1_714_272, 2_559_056, 5_657_248]));
    let meters = arguments(&example("table-two-meters.toml"));
    let (code, report) = json(&meters);
    assert_eq!(code, REFUSED);
    let t2 = flow(&report, "T2");
    assert_eq!(t2["admitted"], false);
    let reason = t2["reason"].as_str().unwrap();
    assert!(reason.contains("s1 to display") && reason.contains("would miss by"), "{reason}");
    assert!(t2["offered_latency_ps"].as_u64().unwrap() > 5_227_000_000, "{t2}");
    // With a limit that it can have its bound is 5.227 ms and what a bucket needs beyond a message, because frames of two
    // messages may be nearer to each other.
    let folder = Folder::new();
    let patient = "remove = [\"T2\", \"T3\"]\n[[flow]]\nname = \"T2\"\ntopic = \"T2\"\npublisher = \"monitor\"\nsize = 96_000\n\
        framing = \"udp\"\nseparation = \"3 ms\"\nsubscribers = [{ host = \"display\", limit = \"6 ms\" }]\n";
    let patient = folder.file("patient.toml", patient);
    let (code, report) = json(&Arguments { what_if: Some(patient), ..meters });
    assert_eq!((code, report["flows"].as_array().unwrap().len()), (ADMITTED, 2));
    let bound = flow(&report, "T2")["subscribers"][0]["bound_ps"].as_u64().unwrap();
    assert!((5_227_000_000..5_270_000_000).contains(&bound), "{bound}");
}

/// Where meters do not count what is around a frame, they are set to less, and those who share a port with them wait longer.
#[test]
fn what_meters_count_is_in_the_plan() {
    let folder = Folder::new();
    let text = fs::read_to_string(example("table-two-meters.toml")).unwrap();
    // Less often, so that T2 can be admitted behind either kind.
    let text = text
        .replace("separation = \"3 ms\"", "separation = \"30 ms\"")
        .replace("limit = \"3 ms\"", "limit = \"9 ms\"");
    let planned = |counts: &str| {
        let file =
            folder.file(&format!("{counts}.toml"), &text.replace("\"wire\"", &format!("\"{counts}\"")));
        let (code, report) = json(&Arguments { certify: true, simulate: Some(3), ..arguments(&file) });
        assert_eq!(code, ADMITTED, "{report}");
        let meter = &flow(&report, "T1")["enforcement"];
        assert_eq!(meter["counts"], counts, "{meter}");
        (meter["rate"].as_u64().unwrap(), flow(&report, "T2")["subscribers"][0]["bound_ps"].as_u64().unwrap())
    };
    let (wire, frame) = (planned("wire"), planned("frame"));
    // 131 frames, each with 24 bytes more on the wire, every 30 ms.
    assert!((wire.0 - frame.0).abs_diff(131 * 24 * 8 * 1_000 / 30) <= 1, "{wire:?} {frame:?}");
    assert!(frame.1 > wire.1 + 1_500_000_000, "{wire:?} {frame:?}");
}

/// Figure 1 of the MIDAS paper: A is admitted, B refused for the separation, C for the latency.
#[test]
fn the_subscribers_of_figure_one() {
    let (code, report) = json(&arguments(&example("figure-one.toml")));
    assert_eq!(code, REFUSED);
    assert_eq!(flow(&report, "A")["admitted"], true);
    let reason = |name| flow(&report, name)["reason"].as_str().unwrap().to_owned();
    assert!(
        reason("B").contains("too far apart for b: the publisher lets 15000.000 us pass by its clock, which may be 3.001 us more"),
        "{}",
        reason("B")
    );
    assert!(reason("B").contains("14000.000 us are accepted"), "{}", reason("B"));
    // It would miss its limit without anybody else in the network.
    assert!(reason("C").contains("\"C\" would miss by"), "{}", reason("C"));
    assert!(flow(&report, "C")["offered_latency_ps"].as_u64().unwrap() > 300_000_000);
}

/// The terms of an explanation are the bound: what is printed adds up to what is promised.
#[test]
fn an_explanation_adds_up() {
    for (file, name) in [("table-two.toml", "T2"), ("figure-four.toml", "c2/image")] {
        let explain = Arguments { explain: Some(name.to_owned()), ..arguments(&example(file)) };
        let (code, text, _) = run(&explain);
        assert_eq!(code, ADMITTED);
        let value = |line: &str| -> u64 {
            let number = line.split_whitespace().last().unwrap().replace('.', "");
            number.parse().unwrap()
        };
        let of = |what: &'static str| {
            text.lines().filter(move |line| line.trim_start().starts_with(what)).map(value)
        };
        let terms = ["the host hands over", "= delay at the port", "propagation", "from reception"];
        let sum: u64 = terms.iter().flat_map(|what| of(what)).sum();
        // Each term is rounded up to a nanosecond.
        assert!(of("= sum").next().unwrap().abs_diff(sum) <= 12, "{text}");
        let bound = of("bound:").next().unwrap();
        assert_eq!(bound, of("= sum").chain(of("or, services")).min().unwrap());
        assert!(of("margin").next().unwrap().abs_diff(of("limit").next().unwrap() - bound) <= 1);
        let (_, report) = json(&arguments(&example(file)));
        let reported = flow(&report, name)["subscribers"][0]["bound_ps"].as_u64().unwrap();
        assert_eq!(reported.div_ceil(1_000), bound);
    }
}

#[test]
fn an_explanation_of_what_is_not_there() {
    let explain = |name: &str| {
        let (code, out, told) =
            run(&Arguments { explain: Some(name.to_owned()), ..arguments(&example("table-two.toml")) });
        assert_eq!((code, out.as_str()), (WRONG, ""));
        told
    };
    assert_eq!(explain("T9"), "there is no flow \"T9\"; flows are T1, T2, T3\n");
}

#[test]
fn what_if_a_flow_goes_and_others_come() {
    let folder = Folder::new();
    let base = arguments(&example("table-two.toml"));
    let change = folder.file("change.toml", "remove = [\"T1\"]\n");
    let what_if = |path| json(&Arguments { what_if: Some(path), ..base.clone() });
    let (code, report) = what_if(change);
    assert_eq!(code, ADMITTED);
    assert_eq!(report["what_if"]["removed"][0], "T1");
    let changed = report["what_if"]["changed"].as_array().unwrap();
    let t2 = changed.iter().find(|changed| changed["name"] == "T2").unwrap();
    assert_eq!(t2["before_ps"], 2_434_160_000_u64);
    assert!(t2["after_ps"].as_u64().unwrap() < 900_000_000, "{t2}");
    let other = "remove = [\"T1\"]\n[[flow]]\nname = \"T1\"\ntopic = \"T1\"\npublisher = \"camera\"\nsize = 1000\n\
        framing = \"udp\"\nseparation = \"3 ms\"\nsubscribers = [{ host = \"display\", limit = \"2 ms\" }]\n";
    let (code, report) = what_if(folder.file("other.toml", other));
    assert_eq!((code, report["flows"].as_array().unwrap().len()), (ADMITTED, 3));
    assert!(flow(&report, "T1")["subscribers"][0]["bound_ps"].as_u64().unwrap() < 100_000_000);
    let urgent = "[[flow]]\nname = \"urgent\"\ntopic = \"u\"\npublisher = \"recorder\"\nimportance = 1\nsize = 80000\n\
        framing = \"udp\"\nseparation = \"8 ms\"\nsubscribers = [{ host = \"display\", limit = \"3 ms\" }]\n";
    let (code, report) = what_if(folder.file("urgent.toml", urgent));
    assert_eq!(code, REFUSED);
    let added = &report["what_if"]["added"][0];
    assert_eq!(added["admitted"], false);
    assert_eq!(added["would_yield"].as_array().unwrap().len(), 1, "{added}");
    let (code, _, told) =
        run(&Arguments { what_if: Some(folder.file("no.toml", "remove = [\"T9\"]")), ..base.clone() });
    assert_eq!(code, WRONG);
    assert!(told.contains("no.toml:1:11: there is no flow \"T9\""), "{told}");
    let twice = folder.file("twice.toml", "remove = [\"T1\", \"T1\"]");
    let (code, _, told) = run(&Arguments { what_if: Some(twice), ..base });
    assert_eq!(code, WRONG);
    assert!(told.contains("twice.toml:1:17: the flow \"T1\" is removed twice"), "{told}");
}

#[test]
fn a_simulation_finds_nothing_above_a_bound() {
    for (file, within) in [("table-two.toml", 100), ("table-two-rtps.toml", 100), ("figure-four.toml", 2)] {
        let (code, report) = json(&Arguments { simulate: Some(1), ..arguments(&example(file)) });
        assert_eq!(code, ADMITTED);
        let simulation = &report["simulation"];
        assert_eq!(simulation["violations"], 0);
        assert!(simulation["runs"].as_u64().unwrap() > 50);
        for found in simulation["found"].as_array().unwrap() {
            let (bound, worst) = (found["bound_ps"].as_u64().unwrap(), found["worst_ps"].as_u64().unwrap());
            assert!(worst <= bound && (bound - worst) * within <= bound, "{found}");
        }
    }
}

#[test]
fn the_evidence_for_every_admission_holds() {
    for file in ["table-two.toml", "figure-four.toml"] {
        let (code, report) = json(&Arguments { certify: true, ..arguments(&example(file)) });
        assert_eq!(code, ADMITTED);
        assert_eq!(report["certificates"]["hold"], 3);
    }
    let (_, text, _) = run(&Arguments { certify: true, ..arguments(&example("table-two.toml")) });
    assert!(text.ends_with("Certificates: the evidence for 3 flows holds\n"), "{text}");
}

#[test]
fn a_bundle_is_one_flow() {
    let folder = Folder::new();
    let text = fs::read_to_string(example("figure-four.toml")).unwrap();
    let text = text.replace("model-files = [\"switches.xml\"]\n", "").replace("P-3290", "gigabit-openflow");
    let more = |topic: &str, separation: &str| {
        format!(
            "[[flow]]\ntopic = \"{topic}\"\npublisher = \"c1\"\nbundle = \"foreign\"\nsize = 300\nseparation = \"{separation}\"\n\
             subscribers = [{{ host = \"c3\", limit = \"2 ms\" }}]\n"
        )
    };
    let net = folder.file("net.toml", &(text + &more("one", "3 ms") + &more("two", "5 ms")));
    let (code, report) = json(&Arguments { simulate: Some(1), ..arguments(&net) });
    assert_eq!(code, ADMITTED, "{report}");
    assert_eq!(flow(&report, "foreign")["admitted"], true);
    let found = report["simulation"]["found"].as_array().unwrap();
    assert!(found.iter().any(|found| found["flow"] == "c1/two"));
}

/// The same file gives the same report, to the letter.
#[test]
fn reports_are_repeatable() {
    let report = || run(&arguments(&example("figure-four.toml")));
    assert_eq!(report(), report());
}

/// Discovery takes a gate for each host, as it does from the manager of the same network; only what is left is for flows.
#[test]
fn discovery_takes_its_gates() {
    let folder = Folder::new();
    let admitted = |count: u32, control: &str| {
        let mut text = format!(
            "{control}\n[[switch-model]]\nname = \"few\"\nports = 8\nqueues = 8\nrate = \"100 Mb/s\"\n\
             gates = {{ count = {count}, precision = \"1 ns\" }}\n"
        );
        for switch in 0..3 {
            text += &format!("[[switch]]\nname = \"s{switch}\"\nmodel = \"few\"\n");
        }
        for host in 0..6 {
            text +=
                &format!("[[host]]\nname = \"h{host}\"\n[[link]]\nends = [\"h{host}\", \"s{}\"]\n", host / 2);
        }
        text += "[[link]]\nends = [\"s0\", \"s1\"]\n[[link]]\nends = [\"s1\", \"s2\"]\n";
        for flow in 1..=4 {
            text += &format!(
                "[[flow]]\ntopic = \"t{flow}\"\npublisher = \"h0\"\nsize = 1_000\nseparation = \"50 ms\"\n\
                 subscribers = [{{ host = \"h5\", limit = \"40 ms\" }}]\n"
            );
        }
        let (_, report) = json(&arguments(&folder.file("net.toml", &text)));
        for flow in report["flows"].as_array().unwrap().iter().filter(|flow| flow["admitted"] == false) {
            assert!(flow["reason"].as_str().unwrap().contains("no gate or meter left"), "{flow}");
        }
        report["admitted"].as_u64().unwrap()
    };
    const CONTROL: &str = "control = { burst = 20_000, rate = \"2 Mb/s\" }";
    assert_eq!([2, 3, 4, 5].map(|count| admitted(count, CONTROL)), [0, 1, 2, 3]);
    assert_eq!(admitted(3, ""), 3);
    // Too few for discovery: there is none of it, and all of them are for flows.
    assert_eq!(admitted(1, CONTROL), 1);
}

fn ids(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

/// Every verdict names what it rests on, and each name is explained.
#[test]
fn verdicts_name_their_assumptions() {
    let folder = Folder::new();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/ordinary.toml"));
    let text = text.unwrap();
    let planned = |name: &str, text: &str| json(&arguments(&folder.file(name, text))).1;
    let ordinary = planned("ordinary.toml", &text);
    let explained: Vec<&str> = ordinary["assumptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|known| known["id"].as_str().unwrap())
        .collect();
    let of = |report: &Value, name: &str| -> Vec<String> {
        ids(&flow(report, name)["assumptions"]).into_iter().map(str::to_owned).collect()
    };
    let always =
        ["clock-drift", "first-transmission", "host-timing", "link-rate", "no-loss", "strict-priority"];
    for name in ["sensor/pulse", "camera/image"] {
        let own = of(&ordinary, name);
        assert!(always.iter().all(|id| own.iter().any(|own| own == id)), "{own:?}");
        assert!(own.iter().all(|id| explained.contains(&id.as_str())), "{own:?} {explained:?}");
        assert!(
            ["trust", "buffer", "wake", "no-pause", "switch-time"]
                .iter()
                .all(|id| own.iter().any(|own| own == id))
        );
    }
    let only = |id: &str| {
        let has = |name| of(&ordinary, name).iter().any(|own| own == id);
        (has("sensor/pulse"), has("camera/image"))
    };
    assert_eq!([only("one-queue"), only("host-queues")], [(true, false), (false, true)]);
    let entry = |report: &Value, id: &str| -> Value {
        let entries = report["assumptions"].as_array().unwrap();
        entries.iter().find(|entry| entry["id"] == id).unwrap_or_else(|| panic!("{id}")).clone()
    };
    let queue = entry(&ordinary, "one-queue");
    assert_eq!((queue["default"].as_bool(), queue["about"][0].as_str()), (Some(true), Some("sensor")));
    assert!(queue["text"].as_str().unwrap().contains("15380 bytes at once and 100000000 b/s"), "{queue}");
    let warnings = ordinary["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().contains("through the same queue: sensor; `punctual host`"));
    assert!(warnings[1].as_str().unwrap().contains("camera to s1, s1 to sink, sensor to s1"));
    // What the file says is no default, and what is held or switched off is no reason to warn.
    let told = text
        .replace(
            "name = \"sensor\"\n",
            "name = \"sensor\"\nother = { burst = 9_000, rate = \"1 Mb/s\", limited = true }\n",
        )
        .replace(
            "buffer = 20_000\n",
            "buffer = 20_000\npause = \"off\"\nenergy-efficient = false\nkeeps-order = true\ngates = {}\n",
        );
    let told = planned("told.toml", &told);
    assert_eq!(told["warnings"], Value::Array(Vec::new()));
    assert_eq!(entry(&told, "one-queue")["default"], false);
    let own = of(&told, "sensor/pulse");
    assert!(
        own.iter().any(|id| id == "no-sleep") && !own.iter().any(|id| id == "wake" || id == "trust"),
        "{own:?}"
    );
    // A refused flow rests on what is at its first way, and one without a way on nothing.
    let refused = planned("refused.toml", &text.replace("limit = \"5 ms\"", "limit = \"5 us\""));
    assert_eq!(of(&refused, "sensor/pulse"), of(&ordinary, "sensor/pulse"));
    // Text and page say it, too.
    let page = folder.path("plan.html");
    let file = folder.file("again.toml", &text);
    let (_, shown, _) = run(&Arguments { html: Some(page.clone()), ..arguments(&file) });
    let page = fs::read_to_string(page).unwrap();
    assert!(
        shown.contains("    rests on buffer, clock-drift, ")
            && shown.contains("\nWarnings\n  nothing limits"),
        "{shown}"
    );
    assert!(page.contains("rests on buffer, clock-drift, ") && page.contains("<h2>Warnings</h2>"), "{page}");
}
