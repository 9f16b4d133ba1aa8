//! Exported plans, read by readers that share nothing with what writes them.
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Folder;
use crate::manifests::{check, read};
use crate::units::{Unit, verify};

const TRACKER: &str = include_str!("../../examples/tracker.toml");
const TYPES: &str = include_str!("../../examples/tracker.json");
const PAGE: &str = include_str!("../../../../docs/deploy-plan.md");

/// Texts that a careless writer of units or YAML would change.
const ODD: [&str; 22] = [
    "",
    "a b",
    "50%h",
    "$HOME ${HOME} $(HOME) $$",
    "\"quoted\" 'too'",
    "back\\slash\\",
    "line\nExecStart=/bin/false\n",
    "\ttab",
    "# no comment",
    "yes",
    "null",
    "~",
    "012",
    "0x1F",
    "1e3",
    "1:20",
    "2026-01-01",
    "- item",
    "{ map: [",
    "&anchor *alias !tag",
    " blanks ",
    "é\u{85}\u{2028}\u{feff}🦀",
];

fn text(value: &str) -> String {
    // JSON's escapes are TOML's, too.
    Value::from(value).to_string()
}

fn list(values: &[&str]) -> String {
    format!("[{}]", values.iter().map(|value| text(value)).collect::<Vec<_>>().join(", "))
}

/// A folder with the plan of the example and something to execute.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.has("tracker.toml", &plan());
    folder.has("tracker.json", TYPES);
    folder.has("program", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.0.path().join("program"), mode).unwrap();
    folder
}

fn plan() -> String {
    TRACKER.replace("../../../target/debug/examples/tracker", "program")
}

/// The plan with something more of the process `sense`.
fn with(more: &str) -> String {
    testkit::changed(&plan(), "[process.sense]\n", &format!("[process.sense]\n{more}\n"))
}

fn files(folder: &Path) -> BTreeSet<String> {
    let all = fs::read_dir(folder).unwrap();
    all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The unit of a process of the deployment `tracker`.
fn unit(folder: &Folder, process: &str) -> Unit {
    Unit::open(&folder.0.path().join(format!("units/punctual-tracker.{process}.service")))
}

fn manifests(folder: &Folder) -> Vec<Value> {
    read(&fs::read_to_string(folder.0.path().join("manifests/punctual-tracker.yaml")).unwrap())
}

/// The pod of a process.
fn pod<'m>(manifests: &'m [Value], process: &str) -> &'m Value {
    let order = format!("--serve={process}@/etc/punctual/plan.toml");
    let pods = manifests.iter().map(|manifest| &manifest["spec"]["template"]["spec"]);
    let mut own = pods.filter(|pod| pod["containers"][0]["args"][0] == order.as_str());
    own.next().unwrap_or_else(|| panic!("no pod of {process}"))
}

const SYSTEMD: &str = "export {tracker.toml} --to systemd -o {units}";
const KUBERNETES: &str = "export {tracker.toml} --to kubernetes --image registry/tracker:1 -o {manifests}";

fn ok(folder: &Folder, line: &str) -> String {
    let (code, out, told) = folder.deploy(line);
    assert_eq!(code, 0, "{line}: {out}{told}");
    out
}

#[test]
fn units_start_what_a_launch_starts() {
    let folder = folder();
    let lanes = "lanes.control = { class = \"fifo\", priority = 70 }\nlanes.slow = { class = \"fifo\", priority = 7 }";
    let more = "cores = [0]\nlock-memory = true\narguments = [\"--own\", \"a b\"]\nenvironment = { LEVEL = \"2 3\" }";
    let plan = testkit::changed(&with(more), "lanes.control = { threads = 1 }", lanes);
    folder.has("tracker.toml", &plan);
    let out = ok(&folder, &format!("{SYSTEMD} --user robot"));
    assert!(out.contains("not kept: Changes of the plan are not atomic"), "{out}");
    let units = folder.0.path().join("units");
    let plan_file = files(&units).into_iter().find(|name| name.ends_with(".toml")).unwrap();
    let sense = unit(&folder, "sense");
    let at = |name: &str| fs::canonicalize(folder.0.path().join(name)).unwrap().to_str().unwrap().to_owned();
    let order = |process: &str| format!("--serve={process}@{}", at(&format!("units/{plan_file}")));
    assert_eq!(sense.command(), [at("program"), order("sense"), "--own".to_owned(), "a b".to_owned()]);
    assert_eq!(sense.environment(), ["LEVEL=2 3"]);
    for (section, name, expected) in [
        ("Unit", "PartOf", "punctual-tracker.target"),
        // The display consumes what sense publishes.
        ("Unit", "After", "punctual-tracker.show.service"),
        ("Unit", "StartLimitIntervalSec", "60000000us"),
        ("Unit", "StartLimitBurst", "6"),
        ("Service", "Type", "notify"),
        ("Service", "User", "robot"),
        ("Service", "Restart", "on-failure"),
        ("Service", "RestartSec", "100000us"),
        ("Service", "CPUAffinity", "0"),
        ("Service", "CPUSchedulingPolicy", "other"),
        ("Service", "LimitRTPRIO", "70"),
        ("Service", "LimitMEMLOCK", "infinity"),
    ] {
        assert_eq!(sense.one(section, name), Some(expected), "{name}");
    }
    let show = unit(&folder, "show");
    assert_eq!(show.command(), [at("program"), order("show")]);
    for (section, name) in [
        ("Unit", "After"),
        ("Service", "CPUAffinity"),
        ("Service", "LimitRTPRIO"),
        ("Service", "LimitMEMLOCK"),
    ] {
        assert_eq!(show.one(section, name), None, "{name}");
    }
    // A launch restarts five times within a minute, the first time after 200 ms.
    assert_eq!(show.one("Service", "RestartSec"), Some("200000us"));
    assert_eq!(show.one("Unit", "StartLimitBurst"), Some("6"));
    let target = Unit::open(&units.join("punctual-tracker.target"));
    let wants = ["punctual-tracker.show.service", "punctual-tracker.sense.service"];
    assert_eq!(target.all("Unit", "Wants"), wants);
}

#[test]
fn restart_policies_become_those_of_the_manager() {
    let folder = folder();
    let said = "restart = { policy = \"on-failure\", limit = 5, within = \"1 min\", delay = \"100 ms\" }";
    for (policy, restart, interval, burst, kind) in [
        ("{ policy = \"never\" }", "no", "0", None, "Job"),
        (
            "{ policy = \"always\", limit = 2, within = \"3 s\" }",
            "always",
            "3000000us",
            Some("3"),
            "StatefulSet",
        ),
    ] {
        let plan = testkit::changed(&plan(), said, &format!("restart = {policy}"));
        folder.has("tracker.toml", &plan);
        ok(&folder, SYSTEMD);
        let sense = unit(&folder, "sense");
        assert_eq!(sense.one("Service", "Restart"), Some(restart));
        assert_eq!(sense.one("Unit", "StartLimitIntervalSec"), Some(interval));
        assert_eq!(sense.one("Unit", "StartLimitBurst"), burst);
        ok(&folder, KUBERNETES);
        let all = manifests(&folder);
        all.iter().for_each(check);
        let sense = all.iter().find(|one| one["metadata"]["name"] == "tracker-sense").unwrap();
        assert_eq!(sense["kind"], kind);
        let pods = if kind == "Job" { "Never" } else { "Always" };
        assert_eq!(sense["spec"]["template"]["spec"]["restartPolicy"], pods);
    }
}

/// What the plan says comes to the process as it is written, whatever it is.
#[test]
fn odd_texts_stay_what_they_are() {
    let folder = folder();
    let variables = ODD.iter().enumerate().map(|(index, odd)| format!("V{index} = {}", text(odd)));
    let variables: Vec<String> = variables.collect();
    let more = format!("arguments = {}\nenvironment = {{ {} }}", list(&ODD), variables.join(", "));
    folder.has("tracker.toml", &with(&more));
    ok(&folder, SYSTEMD);
    let sense = unit(&folder, "sense");
    assert_eq!(sense.command()[2..], ODD);
    let mut expected: Vec<String> = (0..).zip(ODD).map(|(index, odd)| format!("V{index}={odd}")).collect();
    expected.sort();
    let mut environment = sense.environment();
    environment.sort();
    assert_eq!(environment, expected);
    verify(&folder.0.path().join("units"));

    ok(&folder, KUBERNETES);
    let all = manifests(&folder);
    all.iter().for_each(check);
    let container = &pod(&all, "sense")["containers"][0];
    let unexpanded = |value: &Value| expanded(value.as_str().unwrap());
    let arguments: Vec<String> =
        container["args"].as_array().unwrap().iter().skip(1).map(unexpanded).collect();
    assert_eq!(arguments, ODD);
    for (index, odd) in ODD.iter().enumerate() {
        let name = format!("V{index}");
        let mut entries = container["env"].as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["name"] == name.as_str()).unwrap();
        assert_eq!(unexpanded(&entry["value"]), *odd);
    }
    // The plan is the one that a launch sends.
    let plan = all[0]["data"]["plan.toml"].as_str().unwrap();
    folder.has("again.toml", plan);
    assert_eq!(folder.deploy("diff {tracker.toml} {again.toml}").1, "the plans do the same\n");
}

/// What Kubernetes makes of a text, after "Expansion" of its container API: `$$` is `$`, and `$(NAME)` the variable.
fn expanded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('$', Some('$')) => drop(rest.next()),
            ('$', Some('(')) => panic!("a variable in {text}"),
            _ => {}
        }
        out.push(c);
    }
    out
}

#[test]
fn odd_names_become_names_of_the_manager() {
    let folder = folder();
    let names = ["-", "_", "-a", "A", "a", "a-b", "a_b", &"x".repeat(64)];
    let processes = names.map(|name| format!("[process.{name}]\nhost = \"here\"\nartefact = \"tracker\"\n"));
    let deployment = "id = \"Odd %h/../ name\"";
    let plan = testkit::changed(&plan(), "id = \"tracker\"", deployment) + &processes.concat();
    folder.has("tracker.toml", &plan.replace("here", "-here"));
    ok(&folder, SYSTEMD);
    let units = files(&folder.0.path().join("units"));
    for name in names {
        assert!(units.contains(&format!("punctual-Odd__h_____name.{name}.service")), "{name}: {units:?}");
    }
    verify(&folder.0.path().join("units"));
    ok(&folder, KUBERNETES);
    let text = fs::read_to_string(folder.0.path().join("manifests/punctual-Odd__h_____name.yaml")).unwrap();
    let all = read(&text);
    let mut seen = BTreeSet::new();
    for manifest in &all {
        check(manifest);
        let (kind, name) =
            (manifest["kind"].as_str().unwrap(), manifest["metadata"]["name"].as_str().unwrap());
        assert!(seen.insert((kind, name)), "{kind} {name} is there twice");
        let labels = manifest["metadata"]["labels"].as_object().unwrap().values();
        let selector = &manifest["spec"]["template"]["spec"]["nodeSelector"];
        let selector = selector.as_object().into_iter().flat_map(|all| all.values());
        for value in labels.chain(selector) {
            let value = value.as_str().unwrap();
            let is_end = |c: char| c.is_ascii_alphanumeric();
            assert!(value.len() <= 63 && value.starts_with(is_end) && value.ends_with(is_end), "{value}");
        }
        if kind != "ConfigMap" {
            let may = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.len() <= 63 && name.chars().all(may), "{name}");
        }
    }
    assert_eq!(seen.iter().filter(|(kind, _)| *kind == "StatefulSet").count(), names.len() + 2);
}

#[test]
fn manifests_have_what_the_processes_need() {
    let folder = folder();
    let lane = "lanes.control = { class = \"fifo\", priority = 70, cores = [0] }";
    let plan = testkit::changed(&plan(), "lanes.control = { threads = 1 }", lane);
    folder.has("tracker.toml", &plan);
    let out = ok(&folder, &format!("{KUBERNETES} --memory 32Mi"));
    assert!(out.contains("next: kubectl label node NODE punctual-host=here; kubectl apply -f"), "{out}");
    assert!(out.contains("not kept: Cores are those of the node only while"), "{out}");
    let all = manifests(&folder);
    all.iter().for_each(check);
    let kinds: Vec<&str> = all.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap", "Service", "StatefulSet", "StatefulSet"]);
    assert_eq!(all[0]["immutable"], true);
    for (process, capabilities) in [("sense", vec!["SYS_NICE"]), ("show", vec![])] {
        let pod = pod(&all, process);
        assert_eq!(
            (&pod["hostNetwork"], &pod["nodeSelector"]["punctual-host"]),
            (&true.into(), &"here".into())
        );
        assert_eq!(pod["volumes"][0]["configMap"]["name"], all[0]["metadata"]["name"]);
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "registry/tracker:1");
        assert_eq!(container["command"], Value::from(vec!["/usr/local/bin/program"]));
        assert_eq!(container["resources"]["requests"]["memory"], "32Mi");
        let security = &container["securityContext"];
        assert_eq!(security["capabilities"]["add"], Value::from(capabilities));
        // They share memory only as one user, and one of them has to be root.
        assert_eq!(security["runAsUser"], 0);
    }
    // Another plan has another ConfigMap, so that pods with the old one keep it.
    folder.has("tracker.toml", &plan.replace("gain = 0.25", "gain = 0.5"));
    ok(&folder, KUBERNETES);
    assert_ne!(manifests(&folder)[0]["metadata"]["name"], all[0]["metadata"]["name"]);
}

#[test]
fn files_of_others_stay_as_they_are() {
    let folder = folder();
    fs::create_dir(folder.0.path().join("units")).unwrap();
    folder.has("units/punctual-tracker.show.service", "[Service]\n");
    let (code, out, told) = folder.deploy(SYSTEMD);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(told.contains("punctual-tracker.show.service is in the way"), "{told}");
    assert_eq!(files(&folder.0.path().join("units")).len(), 1);
    let place = folder.0.path().join("units/punctual-tracker.show.service");
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(folder.0.path().join("program"), &place).unwrap();
    assert_eq!(folder.deploy(SYSTEMD).0, 1);
    assert_eq!(fs::read_to_string(folder.0.path().join("program")).unwrap(), "#!/bin/sh\n");
    fs::remove_file(&place).unwrap();

    // Those of an earlier export are replaced; what is not there any more is told.
    ok(&folder, SYSTEMD);
    let before = files(&folder.0.path().join("units"));
    assert!(!ok(&folder, SYSTEMD).contains("left from"));
    assert_eq!(files(&folder.0.path().join("units")), before);
    let renamed = plan().replace("process.show", "process.screen").replace("\"show\"", "\"screen\"");
    folder.has("tracker.toml", &renamed);
    let out = ok(&folder, SYSTEMD);
    let left: Vec<&str> =
        out.lines().filter(|line| line.starts_with("left from an earlier export: ")).collect();
    assert_eq!(left.len(), 2, "the unit and the plan: {out}");
}

#[test]
fn what_cannot_be_exported_writes_nothing() {
    let folder = folder();
    let chain = "\n[chain.fix]\npath = [\"gps.tick\", \"airframe.fix\"]\nreaction = \"1 ms\"\n";
    let two = plan().replace("[host.here]", "[host.there]\n[host.here]");
    let two = two.replacen("[process.show]\nhost = \"here\"", "[process.show]\nhost = \"there\"", 1);
    let odd = |text: &str| with(&format!("environment = {text}"));
    let digest =
        testkit::changed(&plan(), "[artefact.tracker]", "[artefact.tracker]\ndigest = \"sha256:00\"");
    let cases: Vec<(String, &str, u8, &str)> = vec![
        (plan() + chain, SYSTEMD, 1, "export --unproved goes on without a proof"),
        (plan() + chain, KUBERNETES, 1, "export --unproved goes on without a proof"),
        (two.clone(), SYSTEMD, 2, "here, there: say which host this is, by --host NAME"),
        (digest, SYSTEMD, 1, "digest"),
        (testkit::changed(&plan(), "\"program\"", "\"nowhere\""), SYSTEMD, 1, "there is no file"),
        (odd("{ \"a b\" = \"\" }"), SYSTEMD, 1, "systemd accepts no variable a b="),
        (odd("{ A = \"\\u0007\" }"), SYSTEMD, 1, "systemd accepts no variable A="),
        (odd("{ \"a b\" = \"\" }"), KUBERNETES, 1, "Kubernetes accepts no variable a b"),
        (with("arguments = [\"\\u0000\"]"), SYSTEMD, 1, "has a NUL character"),
        (with("arguments = [\"\\u0000\"]"), KUBERNETES, 1, "has a NUL character"),
        (with("cgroup = \"x\""), KUBERNETES, 1, "cgroup"),
        (with("cgroup = \"x\""), SYSTEMD, 1, "into a control group of its own"),
        (
            plan(),
            "export {tracker.toml} --to systemd -o {units} --image x",
            2,
            "--image is for --to kubernetes",
        ),
        (plan(), "export {tracker.toml} --to systemd -o {units} --user a%b", 2, "no name of a user"),
    ];
    for (text, line, expected, told_of) in cases {
        folder.has("tracker.toml", &text);
        let (code, out, told) = folder.deploy(line);
        assert_eq!((code, out.as_str()), (expected, ""), "{line}: {told}");
        assert!(told.contains(told_of), "{told_of}: {told}");
        for place in ["units", "manifests"] {
            let written = fs::read_dir(folder.0.path().join(place)).map_or(0, Iterator::count);
            assert_eq!(written, 0, "{line}: {told_of}");
        }
    }
    assert!(Folder::refuses("export p.toml --to kubernetes -o m"), "an image is needed");
    for wrong in ["--image a\u{a0}b", "--image x --cpu 1x", "--image x --programs bin", "--image x --user u"]
    {
        folder.has("tracker.toml", &plan());
        let line = format!("export {{tracker.toml}} --to kubernetes -o {{manifests}} {wrong}");
        assert_eq!(folder.deploy(&line).0, 2, "{wrong}");
    }
    // One host of several, and chains without a proof if that is wanted.
    folder.has("tracker.toml", &two);
    ok(&folder, &format!("{SYSTEMD} --host there"));
    assert_eq!(files(&folder.0.path().join("units")).len(), 3);
    folder.has("tracker.toml", &(plan() + chain));
    ok(&folder, &format!("{SYSTEMD} --unproved"));
    assert!(unit(&folder, "sense").command()[1].starts_with("--serve-unproved=sense@"));
}

/// The page shows the units of the example as they are written.
#[test]
fn the_page_shows_what_is_exported() {
    let folder = folder();
    ok(&folder, SYSTEMD);
    let at = fs::canonicalize(folder.0.path()).unwrap();
    let here = std::env::current_dir().unwrap();
    let text = fs::read_to_string(folder.0.path().join("units/punctual-tracker.sense.service")).unwrap();
    let service = &text[text.find("[Unit]").unwrap()..];
    let service =
        service.replace(at.to_str().unwrap(), "/srv/tracker").replace(here.to_str().unwrap(), "/srv/tracker");
    assert!(PAGE.contains(&format!("```ini\n{service}```")), "{service}");
}
