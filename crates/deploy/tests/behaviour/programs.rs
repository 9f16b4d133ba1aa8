//! Plans of programs that know nothing of Punctual: imported, completed, judged, exported.
use super::Folder;
use crate::units::Unit;

const LINE: &str = include_str!("../../../assembly/programs/line.yml");
const ARM: &str = include_str!("../../../assembly/programs/arm.launch.xml");
const SECOND: &str = include_str!("../../../assembly/programs/second.launch.xml");

/// The dataflow as a plan, with all that a bound needs and the file does not say.
fn completed(folder: &Folder) -> String {
    folder.has("line.yml", LINE);
    let (code, out, told) = folder.deploy("import {line.yml} -o {line.toml}");
    assert_eq!((code, out.as_str()), (1, ""), "{told}");
    for part in [
        "line.yml:28:16: how many events of \"picture\" wait at most is not said\n  28 |       picture: eye/picture\n",
        "line.yml:3:5: how long \"eye\" works for an input is not said",
        "places have to be looked at",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let mut text = std::fs::read_to_string(folder.0.path().join("line.toml")).unwrap();
    let costs = "{ wake = \"50 us\", switch = \"5 us\", dispatch = \"5 us\", slack = \"60 us\" }";
    let mut add = |at: &str, more: &str| text = testkit::changed(&text, at, &format!("{at}\n{more}"));
    add("[host.here]", &format!("cores = 4\ncosts = {costs}"));
    for (core, name) in [(1, "eye"), (2, "finder"), (3, "screen")] {
        let lane = format!("class = \"fifo\"\npriority = 50\ncores = [{core}]");
        add(&format!("[container.{name}.lanes.main]"), &lane);
    }
    for connection in ["finder-picture", "screen-boxes", "screen-picture"] {
        add(&format!("[connection.{connection}]"), "transfer = { most = \"1 ms\" }");
    }
    add("[connection.screen-picture]", "queue = { depth = 4 }");
    add("[component.eye.port.tick]", "execution = { worst = \"2 ms\", steps = [\"2 ms\", \"picture\"] }");
    text += "\n[component.finder.port.picture]\nexecution = { worst = \"5 ms\", steps = [\"5 ms\", \"boxes\"] }\n\
        [component.screen.port.boxes]\nexecution = { worst = \"1 ms\" }\n\
        [component.screen.port.picture]\nexecution = { worst = \"1 ms\" }\n\
        [chain.look]\npath = [\"eye.tick\", \"finder.picture\", \"screen.boxes\"]\nreaction = \"100 ms\"\n";
    folder.has("line.toml", &text);
    text
}

#[test]
fn a_dataflow_is_admitted_once_all_is_said() {
    let folder = Folder::new();
    let text = completed(&folder);
    let (code, out, told) = folder.deploy("admit {line.toml}");
    assert!(code == 0 && out.contains("look: admitted"), "{out}{told}");
    // Each thing that is not said is an obstacle.
    for (said, expected) in [
        ("queue = { depth = 4 }\n", "it is not said how many events wait for the program \"screen\""),
        ("execution = { worst = \"1 ms\" }\n", "\"screen.boxes\""),
        ("class = \"fifo\"\npriority = 50\ncores = [2]\n", "finder.main"),
        ("transfer = { most = \"1 ms\" }\n", "it is not said how long an event is on its way"),
    ] {
        folder.has("line.toml", &text.replacen(said, "", 1));
        let (code, out, told) = folder.deploy("admit {line.toml}");
        assert!(code == 1 && out.contains("look: no bound"), "{said}: {out}{told}");
        assert!(told.contains(expected) || out.contains(expected), "{said}: {out}{told}");
    }
}

#[test]
fn a_launch_file_is_imported_with_its_arguments_and_files() {
    let folder = Folder::new();
    folder.has("arm.launch.xml", ARM);
    std::fs::create_dir(folder.0.path().join("more")).unwrap();
    folder.has("more/second.launch.xml", SECOND);
    let line = "import {arm.launch.xml} --arg rate=100 --arg view=true --prefix /opt/ros/x -o {arm.toml}";
    let (code, _, told) = folder.deploy(line);
    assert!(code == 1 && told.contains("arm.launch.xml:16:7: nothing loads \"arm::Filter\""), "{told}");
    let (code, out, told) = folder.deploy("validate {arm.toml}");
    assert!(code == 0 && out.contains("3 components, 3 processes, 1 host,"), "{out}{told}");
    // A problem of a file that is included is shown with its line.
    folder.has("more/second.launch.xml", &SECOND.replace("<arg name=\"who\"/>", "<log/>"));
    let (_, _, told) = folder.deploy(line);
    assert!(
        told.contains("more/second.launch.xml:2:3: <log> has no place in a plan\n  2 |   <log/>\n"),
        "{told}"
    );
    // What is outside is not read, not even by a link.
    std::fs::remove_file(folder.0.path().join("more/second.launch.xml")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.0.path().join("more/second.launch.xml")).unwrap();
    let (_, _, told) = folder.deploy(line);
    assert!(told.contains("a link leads out of the folder"), "{told}");
}

#[test]
fn what_is_no_such_file_is_refused() {
    let folder = Folder::new();
    folder.has("line.yml", LINE);
    folder.has("bad.yml", "nodes: [");
    folder.has("robot.launch.py", "");
    for (line, code, expected) in [
        ("import {robot.launch.py}", 1, "a launch file in Python is a program, and is not run"),
        ("import {bad.yml} -o {x.toml}", 1, "bad.yml:1:"),
        ("import {line.yml}", 2, "say where: -o plan.toml"),
        ("import {line.yml} --prefix /opt", 2, "--arg and --prefix are for launch files"),
        ("import {line.yml} --domain {x.cdd}", 2, "--domain, --events and --program are for descriptors"),
        ("import {arm.launch.xml} --arg rate", 3, "arm.launch.xml"),
    ] {
        let (found, _, told) = folder.deploy(line);
        assert!(found == code && told.contains(expected), "{line}: {found} {told}");
    }
}

#[test]
fn what_depends_on_something_else_is_exported_so() {
    let folder = Folder::new();
    completed(&folder);
    let text = std::fs::read_to_string(folder.0.path().join("line.toml")).unwrap();
    let text = format!("id = \"line\"\ndepends-on = [\"base\", \"a b\"]\n{text}")
        .replace("[process.eye]\n", "[process.eye]\ndepends-on = [\"screen\", \"finder\"]\n")
        .replace("\"bin/", "\"");
    folder.has("line.toml", &text);
    for program in ["eye", "finder", "screen"] {
        folder.has(program, "#!/bin/sh\n");
    }
    let (code, out, told) = folder.deploy("export {line.toml} --to systemd -o {units}");
    assert_eq!(code, 0, "{out}{told}");
    let unit = |name: &str| Unit::open(&folder.0.path().join(format!("units/punctual-line.{name}")));
    let target = Unit::open(&folder.0.path().join("units/punctual-line.target"));
    let others = ["punctual-base.target", "punctual-a_b.target"];
    assert_eq!(target.all("Unit", "Requires"), others);
    assert_eq!(target.all("Unit", "After"), others);
    let eye = unit("eye.service");
    assert_eq!(eye.all("Unit", "Wants"), ["punctual-line.screen.service", "punctual-line.finder.service"]);
    for other in ["punctual-line.screen.service", "punctual-line.finder.service", others[0], others[1]] {
        let after = eye.all("Unit", "After");
        assert_eq!(after.iter().filter(|it| *it == other).count(), 1, "{other}: {after:?}");
    }
    // A program that knows nothing of the plan gets no order by its arguments.
    assert_eq!(eye.command()[1..], ["--width", "640"]);
    for (name, expected) in [
        ("Type", "exec"),
        ("CPUSchedulingPolicy", "fifo"),
        ("CPUSchedulingPriority", "50"),
        ("CPUAffinity", "1"),
    ] {
        assert_eq!(eye.one("Service", name), Some(expected), "{name}");
    }
    let (code, _, told) = folder.deploy("export {line.toml} --to kubernetes --image x -o {manifests}");
    assert!(code == 1 && told.contains("gives a foreign program neither a priority nor cores"), "{told}");
    let plain = (1..4).fold(text, |text, core| {
        text.replace(&format!("class = \"fifo\"\npriority = 50\ncores = [{core}]\n"), "")
    });
    folder.has("line.toml", &plain);
    let (code, out, told) =
        folder.deploy("export {line.toml} --to kubernetes --image x --unproved -o {manifests}");
    assert!(code == 0 && out.contains("not kept: depends-on is not kept"), "{out}{told}");
}
