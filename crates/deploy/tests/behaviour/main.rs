//! The command as a person types it: what it prints, and its exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod connections;
mod export;
mod graph;
mod manifests;
mod networks;
mod programs;
mod units;

use clap::Parser;
use tempfile::TempDir;

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    arguments: deploy::Arguments,
}

/// A folder with files; gone when this is dropped.
struct Folder(TempDir);

const PLAN: &str = r#"name = "Tracker"
manifests = ["tracker.json"]
[container.flight]
process = "sense"
lanes.control = { class = "fifo", priority = 80 }
lane = "control"
[component.gps]
type = "Gps"
host = "n1"
process = "sense"
container = "flight"
[component.airframe]
type = "Airframe"
process = "sense"
container = "flight"
settings.gain = 2.0
[component.display]
type = "Display"
host = "n2"
process = "show"
[connection.fix]
from = "gps.fix"
to = ["airframe.fix"]
queue = { depth = 4, full = "drop-oldest" }
qos = { order-policy = "deadline" }
[connection.position]
from = "airframe.position"
to = ["display.position"]
[host.n1]
cores = 4
resources.memory = 8
[host.n2]
"#;

const MANIFEST: &str = r#"{ "component": {
    "Gps": { "port": { "fix": { "kind": "publisher", "type": "Fix" } } },
    "Airframe": { "setting": { "gain": { "type": "float", "default": 1.0, "range": [0, 10] } },
                  "port": { "fix": { "kind": "consumer", "type": "Fix", "required": true },
                            "position": { "kind": "publisher", "type": "Position" } } },
    "Display": { "port": { "position": { "kind": "consumer", "type": "Position" } } } } }"#;

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.has("tracker.toml", PLAN);
        folder.has("tracker.json", MANIFEST);
        folder
    }

    fn has(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Whether the command line is wrong.
    fn refuses(line: &str) -> bool {
        Typed::try_parse_from(["deploy"].into_iter().chain(line.split(' '))).is_err()
    }

    /// The exit code, what was printed, and what was told on the standard error. Names in braces are files of this folder.
    fn deploy(&self, line: &str) -> (u8, String, String) {
        let words = line.split(' ').map(|word| match word.strip_prefix('{') {
            Some(name) => self.0.path().join(name.trim_end_matches('}')).to_str().unwrap().to_owned(),
            None => word.to_owned(),
        });
        let typed = Typed::try_parse_from(["deploy".to_owned()].into_iter().chain(words)).unwrap();
        let (mut out, mut told) = (Vec::new(), Vec::new());
        let code = deploy::run(&typed.arguments, &mut out, &mut told);
        let place = format!("{}/", self.0.path().display());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&place, "");
        (code, text(out), text(told))
    }
}

#[test]
fn a_plan_is_checked() {
    let folder = Folder::new();
    let said =
        "tracker.toml: 3 components, 2 processes, 2 hosts, 2 connections, 0 chains; nothing is wrong\n";
    assert_eq!(folder.deploy("validate {tracker.toml}"), (0, said.to_owned(), String::new()));
    folder.has("wrong.toml", &PLAN.replace("\"display.position\"", "\"display.positon\""));
    let (code, out, told) = folder.deploy("validate {wrong.toml}");
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        told,
        "wrong.toml:28:7: \"display\" has no port \"positon\"\n  28 | to = [\"display.positon\"]\n     |       ^^^^^^^^^^^^^^^^^\n  \
         did you mean \"position\"?\n"
    );
    // A manifest has its own lines.
    folder.has(
        "tracker.json",
        &MANIFEST.replace("\"consumer\", \"type\": \"Position\"", "\"consumr\", \"type\": \"Position\""),
    );
    let (code, _, told) = folder.deploy("validate {tracker.toml}");
    assert!(code == 1 && told.starts_with("tracker.json:6:50: ") && told.contains("\"consumr\""), "{told}");
    folder.has("tracker.toml", &PLAN.replace("tracker.json", "nowhere.json"));
    let (code, _, told) = folder.deploy("validate {tracker.toml}");
    assert!(code == 3 && told.contains("nowhere.json: "), "{told}");
    let (code, _, told) = folder.deploy("validate {none.toml}");
    assert!(code == 3 && told.starts_with("punctual: none.toml: "), "{told}");
}

#[test]
fn plans_are_checked_together() {
    let folder = Folder::new();
    let needs = PLAN.replace("to = [\"airframe.fix\"]", "to = [\"airframe.fix\"]\nrequires = { memory = 5 }");
    let of = |name: &str| needs.replace("Tracker", name);
    let on_component = |text: String| {
        text.replace("[component.display]", "requires.memory = 5\n[component.display]")
            .replace("requires = { memory = 5 }\n", "")
    };
    folder.has("one.toml", &on_component(of("One")));
    folder.has("two.toml", &on_component(of("Two")));
    assert_eq!(folder.deploy("validate {one.toml}").0, 0, "{:?}", folder.deploy("validate {one.toml}"));
    let (code, out, told) = folder.deploy("validate {one.toml} {two.toml}");
    assert!(code == 1 && out.lines().count() == 2 && told.contains("memory"), "{out}{told}");
}

#[test]
fn what_holds_is_explained() {
    let folder = Folder::new();
    let (code, out, told) = folder.deploy("explain {tracker.toml} fix");
    assert_eq!((code, told.as_str()), (0, ""));
    assert!(out.starts_with("fix: gps.fix → airframe.fix by channel, because "), "{out}");
    assert!(out.contains("\n  order-policy = deadline from connection (connection.fix)\n"), "{out}");
    assert!(!out.contains("position") && !out.contains("timeout"), "{out}");
    let (_, more, _) = folder.deploy("explain {tracker.toml} fix --all");
    assert!(more.starts_with(&out) && more.contains("\n  timeout = "), "{more}");
    let (code, _, told) = folder.deploy("explain {tracker.toml} fux");
    assert_eq!(
        (code, told.as_str()),
        (2, "punctual: the plan has no connection \"fux\"\n  did you mean \"fix\"?\n")
    );
}

#[test]
fn a_plan_is_split() {
    let folder = Folder::new();
    let (code, out, _) = folder.deploy("split {tracker.toml}");
    assert_eq!(code, 0);
    assert_eq!(
        out,
        "host n1\n  process sense\n    container flight\n      installs airframe, gps\n    needs display.position (position by dds)\n\
         host n2\n  process show\n    container of components without one\n      installs display\n    \
         provides display.position (position by dds)\n"
    );
    let (_, one, _) = folder.deploy("split {tracker.toml} --host n2");
    assert!(one.starts_with("host n2\n") && out.ends_with(&one), "{one}");
    assert_eq!(folder.deploy("split {tracker.toml} --host n3").0, 2);
}

#[test]
fn plans_are_compared() {
    let folder = Folder::new();
    assert_eq!(
        folder.deploy("diff {tracker.toml} {tracker.toml}"),
        (0, "the plans do the same\n".to_owned(), String::new())
    );
    folder.has("next.toml", &PLAN.replace("gain = 2.0", "gain = 3.0"));
    let (code, out, _) = folder.deploy("diff {tracker.toml} {next.toml}");
    assert_eq!(code, 1);
    assert!(
        out.starts_with("component airframe has other settings: gain 2.0 → 3.0\n\nSteps\n   1  "),
        "{out}"
    );
    assert!(out.contains("set airframe.gain = 3.0\n"), "{out}");
}

#[test]
fn descriptors_become_a_plan() {
    let folder = Folder::new();
    folder.has(
        "plan.cdp",
        r#"<Deployment:DeploymentPlan xmlns:Deployment="http://www.omg.org/Deployment">
  <label>Small</label>
  <implementation id="i"><name>Gps</name></implementation>
  <instance id="gps"><name>gps</name><node>n1</node><implementation>i</implementation></instance>
  <odd>1</odd>
</Deployment:DeploymentPlan>"#,
    );
    let (code, out, told) = folder.deploy("import {plan.cdp}");
    assert!(out.contains("[component.gps]") && out.contains("type = \"Gps\""), "{out}{told}");
    assert!(
        code == 1 && told.contains("plan.cdp:5:3: ") && told.contains("\n  5 |   <odd>1</odd>"),
        "{told}"
    );
    let (code, out, _) = folder.deploy("import {plan.cdp} -o {made.toml}");
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(folder.deploy("validate {made.toml}").0, 0);
    folder.has("plan.cdp", "<a><b></a>");
    let (code, _, told) = folder.deploy("import {plan.cdp}");
    assert!(code == 1 && told.contains("plan.cdp:1:"), "{told}");
}

#[test]
fn schemas_are_printed() {
    let folder = Folder::new();
    for of in ["plan", "manifest"] {
        let (code, out, _) = folder.deploy(&format!("schema {of}"));
        assert!(code == 0 && out.starts_with('{') && out.contains("\"$schema\""), "{of}");
    }
}

const ARM: &str = include_str!("../plans/arm.toml");
const ARM_TYPES: &str = include_str!("../plans/arm.json");

/// The page shows this plan, and what the command says of it.
#[test]
fn the_page_shows_what_is_admitted() {
    const PAGE: &str = include_str!("../../../../docs/components-bounds.md");
    let folder = Folder::new();
    folder.has("arm.toml", ARM);
    folder.has("arm.json", ARM_TYPES);
    let (code, out, told) = folder.deploy("admit {arm.toml}");
    assert_eq!((code, told.as_str()), (1, ""));
    assert!(PAGE.contains(&format!("```toml\n{ARM}```")), "the page has another plan");
    assert!(PAGE.contains(&format!("$ punctual deploy admit arm.toml\n{out}```")), "{out}");
    // What is offered is right: with it all is admitted.
    let (code, out, _) = folder.deploy("admit {arm.toml} --write {new.toml}");
    assert!(code == 0 && out.contains("changed: container.arm.lanes."), "{out}");
    let (code, out, _) = folder.deploy("admit {new.toml} --all");
    assert!(
        code == 0 && out.contains("admitted, as far as the measured times hold") && out.contains("age: "),
        "{out}"
    );
    let (code, _, told) = folder.deploy("admit {arm.toml} {new.toml} --write {x.toml}");
    assert!(code == 2 && told.contains("one plan"), "{told}");
}

#[test]
fn what_a_bound_lacks_is_told_with_its_place() {
    let folder = Folder::new();
    folder.has("arm.json", ARM_TYPES);
    let costs = ARM.lines().find(|line| line.starts_with("costs")).unwrap();
    folder.has("arm.toml", &ARM.replace(costs, "").replace("port.tick.period = \"2 ms\"\n", ""));
    let (code, out, told) = folder.deploy("admit {arm.toml}");
    assert!(code == 1 && out.starts_with("angle-to-torque: no bound: "), "{out}");
    assert!(
        told.contains("arm.toml:4:7: it is not said what the processors of n1 take\n  4 | [host.n1]"),
        "{told}"
    );
    assert!(
        told.contains("the timer \"encoder.tick\" has no period") && told.contains("[component.encoder]"),
        "{told}"
    );
}
