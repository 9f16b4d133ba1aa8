//! Flows with losses: what is planned beside them, what is shown, and what is refused.
use std::fs;

use crate::command::{Folder, arguments, example, flow, json, run};
use network::check_network;
use plan::{ADMITTED, Arguments, REFUSED};
use serde_json::Value;

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The example, with `losses` in place of what it says of them.
fn with(losses: &str, limit: &str) -> String {
    let text = fs::read_to_string(example("losses.toml")).unwrap();
    let stated = "losses = { frames = 2, within = \"1 s\", reaction = \"500 us\" }";
    assert!(text.contains(stated));
    text.replace(stated, losses).replace("30 ms", limit)
}

/// The bound of the example, from the report alone and by the table of decision 16.
#[test]
fn the_bound_is_that_of_the_table() {
    let (code, report) = json(&arguments(&example("losses.toml")));
    assert_eq!((code, number(&report, "admitted")), (ADMITTED, 2));
    let main = flow(&report, "sensor/pressure");
    let (losses, subscriber) = (&main["losses"], &main["subscribers"][0]);
    let way = |beside: &str| {
        let beside = flow(&report, &format!("sensor/pressure ({beside} valve)"));
        assert_eq!((&beside["repairs_of"], &beside["admitted"]), (&main["name"], &Value::Bool(true)));
        number(&beside["subscribers"][0], "bound_ps")
    };
    let (repair, question) = (way("repairs to"), way("questions of"));
    let reaction = number(losses, "reaction_ps");
    // A clock may show 200 millionths more.
    let slow = |time: u64| (time * 1_000_000).div_ceil(999_800);
    let slot = slow(number(losses, "spacing_ps")) + reaction;
    let step = |key: &str| slow(number(losses, key)) + reaction;
    let known = |lost: u64| lost * step("heartbeat_ps") + slot + repair;
    let behind = step("patience_ps") + slot + question + reaction + 4 * slot + repair;
    let worst = (1..=2).map(|lost| known(lost) + (2 - lost) * (step("again_ps") + slot) + behind).max();
    assert_eq!(subscriber["bound_ps"].as_u64(), worst);
    // Nothing is asked for too early.
    assert!(number(losses, "again_ps") >= question + 2 * reaction + 4 * slot + repair);
    assert!(number(losses, "patience_ps") >= number(subscriber, "first_transmission_ps"));
    assert!(number(losses, "heartbeat_ps") >= 4 * slot);
    let names = main["assumptions"].as_array().unwrap();
    let has = |name: &str| names.iter().any(|other| other == name);
    assert!(
        has("losses") && has("repairs") && has("reaction") && !has("no-loss") && !has("first-transmission")
    );
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("only for readers that ask for them"), "{warnings}");
}

#[test]
fn more_losses_take_longer_and_too_many_are_refused() {
    let folder = Folder::new();
    for frames in 1..=4 {
        let losses = format!("losses = {{ frames = {frames}, within = \"1 s\", reaction = \"100 us\" }}");
        let file = folder.file("network.toml", &with(&losses, "30 ms"));
        let (code, report) = json(&Arguments { certify: true, ..arguments(&file) });
        assert_eq!((code, report["certificates"]["hold"].as_u64()), (ADMITTED, Some(4)), "{report}");
    }
    // A reaction of 1 ms, as it is by default, is more than there is time for.
    let losses = "losses = { frames = 2, within = \"1 s\" }";
    let (code, report) = json(&arguments(&folder.file("network.toml", &with(losses, "9 ms"))));
    assert_eq!((code, number(&report, "refused")), (REFUSED, 1));
    let reaction = report["assumptions"].as_array().unwrap().iter().find(|entry| entry["id"] == "reaction");
    assert_eq!(reaction.unwrap()["default"], true);
    let reason = flow(&report, "sensor/pressure")["reason"].as_str().unwrap();
    assert!(reason.contains("to react alone"), "{reason}");
    // Nothing of the flow is left in the plan where only its repairs find no room.
    let text = with(losses, "60 ms").replace("[[flow]]\ntopic = \"pressure\"", "[[flow]]\ntopic = \"busy\"\npublisher = \"valve\"\nsubscribers = \
        [{ host = \"sensor\", limit = \"800 ms\" }]\nsize = 1_000_000\nseparation = \"8.803 ms\"\nimportance = 9\n\n[[flow]]\ntopic = \"pressure\"");
    let (code, report) = json(&arguments(&folder.file("network.toml", &text)));
    assert_eq!((code, number(&report, "admitted"), number(&report, "refused")), (REFUSED, 2, 1), "{report}");
    assert!(!report.to_string().contains("(repairs to"), "{report}");
}

#[test]
fn what_leaves_takes_its_repairs_along() {
    let folder = Folder::new();
    let change = |text: &str| Arguments {
        what_if: Some(folder.file("change.toml", text)),
        ..arguments(&example("losses.toml"))
    };
    let (code, report) = json(&change("remove = [\"sensor/pressure\"]"));
    assert_eq!((code, report["flows"].as_array().unwrap().len()), (ADMITTED, 1), "{report}");
    let (_, _, told) = run(&change("remove = [\"sensor/pressure (repairs to valve)\"]"));
    assert!(told.contains("is there for \"sensor/pressure\""), "{told}");
}

#[test]
fn every_term_is_explained() {
    let explain = Some("sensor/pressure".to_owned());
    let (code, out, _) = run(&Arguments { explain, ..arguments(&example("losses.toml")) });
    assert_eq!(code, ADMITTED);
    let micro = |line: &str| -> u64 {
        let line = out.lines().rfind(|shown| shown.contains(line));
        let shown = line.unwrap_or_else(|| panic!("no {line:?} in {out}")).rsplit(' ').next().unwrap();
        shown.replace('.', "").parse().unwrap()
    };
    let terms =
        ["knows of the sample", "until it has asked  ", "asked again", "the repair has come"].map(micro);
    // Each is rounded up to a nanosecond.
    let (sum, bound) = (terms.iter().sum::<u64>(), micro("bound with losses"));
    assert!((bound..=bound + 4).contains(&sum), "{terms:?} {bound}\n{out}");
    assert!(out.contains("with 2 frames lost within 1000000.000; a host reacts within 500.000"), "{out}");
    assert_eq!(micro("  limit  "), 30_000_000);
}

#[test]
fn what_cannot_be_promised_is_told() {
    let told = |text: &str| check_network("net.toml", text, |_| Err(String::new())).unwrap_err().to_string();
    let usual = "losses = { frames = 2, within = \"1 s\" }";
    check_network("net.toml", &with(usual, "30 ms"), |_| Err(String::new())).unwrap();
    for (text, what, remedy) in [
        (with("losses = { frames = 0, within = \"1 s\" }", "30 ms"), "losses of 0 frames", "1 to 4"),
        (with("losses = { frames = 5, within = \"1 s\" }", "30 ms"), "losses of 5 frames", "1 to 4"),
        (with("losses = { frames = 1, within = \"59 ms\" }", "30 ms"), "twice the limit", "a longer time"),
        (with(&format!("{usual}\nframing = \"udp\""), "30 ms"), "no reliable one", "framing"),
        (with(&format!("{usual}\nbundle = \"b\""), "30 ms"), "no reliable one", "no bundle"),
        (with(usual, "30 ms").replace("size = 64", "size = 400_000"), "have 295 frames", "256 frames"),
        (with(usual, "30 ms\", maximum-separation = \"1 s"), "maximum-separation", "only one of them"),
        (with("losses = 3", "30 ms"), "expected { frames = NUMBER, within", "docs/plan.md"),
        (with("losses = { frames = 1 }", "30 ms"), "missing field `within`", "docs/plan.md"),
    ] {
        let told = told(&text);
        assert!(told.starts_with("net.toml:") && told.contains(what) && told.contains(remedy), "{told}");
    }
}
