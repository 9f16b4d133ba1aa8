//! Links that a file declares full.
use crate::command::{Folder, arguments, flow, json, run};
use plan::{ADMITTED, Arguments, REFUSED, WRONG};
use serde_json::Value;

/// Two publishers, whose links are slow, and a subscriber, with what the file says of the link of the first publisher.
fn text(full: &str) -> String {
    let mut text = String::from(
        "host-defaults = { queues = 8, ring = 0 }\n[[switch]]\nname = \"s1\"\nmodel = \"gigabit-8-queues\"\n",
    );
    for (host, link) in [("one", full), ("two", ""), ("display", "")] {
        text += &format!(
            "[[host]]\nname = \"{host}\"\n[[link]]\nends = [\"{host}\", \"s1\"]\nrate = \"100 Mb/s\"\n{link}"
        );
    }
    for (topic, publisher) in [("a", "one"), ("b", "one"), ("c", "two")] {
        text += &format!(
            "[[flow]]\ntopic = \"{topic}\"\npublisher = \"{publisher}\"\nsize = 5_000\nseparation = \"2 ms\"\n\
             subscribers = [{{ host = \"display\", limit = \"20 ms\" }}]\n"
        );
    }
    text
}

fn shares(report: &Value, name: &str) -> Vec<u64> {
    let hops = flow(report, name)["hops"].as_array().unwrap().iter();
    hops.map(|hop| hop["share_ps"].as_u64().unwrap()).collect()
}

#[test]
fn what_a_full_link_frees_goes_to_later_hops_and_bounds_are_less() {
    let folder = Folder::new();
    let planned = |full: &str| {
        let file = folder.file("full.toml", &text(full));
        let (code, report) = json(&Arguments { certify: true, simulate: Some(3), ..arguments(&file) });
        assert_eq!(code, ADMITTED, "{report}");
        report
    };
    let (open, full) = (planned(""), planned("full = \"one\"\n"));
    for (name, has_slack) in [("one/a", false), ("one/b", true)] {
        let (open, full) = (shares(&open, name), shares(&full, name));
        // The first flow of a host has no slack there, as none is needed below it.
        assert_eq!((full[0] < open[0], full[1] > open[1]), (has_slack, has_slack), "{open:?} {full:?}");
        assert_eq!(full.iter().sum::<u64>(), open.iter().sum::<u64>());
    }
    assert_eq!(shares(&open, "two/c"), shares(&full, "two/c"));
    let bound = |report: &Value| flow(report, "two/c")["subscribers"][0]["bound_ps"].as_u64().unwrap();
    assert!(bound(&full) < bound(&open), "what comes with the others is less spread");
    let is_full = |report: &Value| -> Vec<bool> {
        report["ports"].as_array().unwrap().iter().map(|port| port["full"].as_bool().unwrap()).collect()
    };
    assert_eq!((is_full(&open), is_full(&full)), (vec![false; 3], vec![true, false, false]));
    // Both directions of the other link.
    let (_, out, _) = run(&arguments(&folder.file("both.toml", &text("full = true\n"))));
    assert!(out.contains("one to s1 (declared full): load"), "{out}");
}

#[test]
fn what_comes_later_is_refused_at_a_full_link() {
    let folder = Folder::new();
    let file = folder.file("full.toml", &text("full = true\n"));
    let more = |from: &str, to: &str| {
        let flow = format!(
            "[[flow]]\ntopic = \"d\"\npublisher = \"{from}\"\nsize = 20\nseparation = \"1 s\"\nimportance = 9\n\
             subscribers = [{{ host = \"{to}\", limit = \"1 s\" }}]\n"
        );
        let change = folder.file("more.toml", &flow);
        json(&Arguments { what_if: Some(change), ..arguments(&file) })
    };
    for (from, to, port) in [("one", "two", "one to s1"), ("two", "one", "s1 to one")] {
        let (code, report) = more(from, to);
        assert_eq!(code, REFUSED);
        let refused = flow(&report, &format!("{from}/d"));
        let reason = refused["reason"].as_str().unwrap();
        assert_eq!(reason, format!("{port} is declared full: it takes no flows besides those that it has"));
        assert!(refused["offered_latency_ps"].is_null(), "{refused}");
    }
    assert_eq!(more("two", "display").0, ADMITTED);
}

/// Flows of the file come to full links whatever their order, and one that found no room is looked at again when shares have come down.
#[test]
fn flows_of_the_file_are_those_that_a_full_link_takes() {
    let folder = Folder::new();
    for full in ["full = true\n", "full = \"one\"\n", "full = \"s1\"\n", "full = false\n"] {
        let (code, report) = json(&arguments(&folder.file("full.toml", &text(full))));
        assert_eq!((code, report["admitted"].as_u64()), (ADMITTED, Some(3)), "{full}");
    }
    let (code, _, told) = run(&arguments(&folder.file("wrong.toml", &text("full = \"two\"\n"))));
    assert!(code == WRONG && told.contains("wrong.toml:10:8: \"two\" is no end of this link"), "{told}");
}
