//! Dataflows of dora and launch files of ROS 2 become plans of programs as they are; what a file does not say is told at its line.
use assembly::{
    ArtefactKind, Catalogue, End, FullPolicy, ImportedPrograms, LaunchFile, Plan, Queue, RestartPolicy,
    import_dataflow, import_launch,
};
use diagnostics::{Problem, Source};
use testkit::each_is_told;

const LINE: &str = include_str!("../../programs/line.yml");
const ARM: &str = include_str!("../../programs/arm.launch.xml");
const SECOND: &str = include_str!("../../programs/second.launch.xml");
const MILLISECOND: u64 = 1_000_000_000;

fn dataflow(text: &str) -> Result<ImportedPrograms, Vec<Problem>> {
    import_dataflow(Source { file: "line.yml", text })
}

fn launched(text: &str, arguments: &[(&str, &str)]) -> Result<ImportedPrograms, Vec<Problem>> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let arguments: Vec<(String, String)> = arguments.iter().map(own).collect();
    let include = |path: &str| match path {
        "more/second.launch.xml" => Ok(("more/second.launch.xml".to_owned(), SECOND.to_owned())),
        "again.launch.xml" => Ok((
            "again.launch.xml".to_owned(),
            "<launch><include file='again.launch.xml'/></launch>".to_owned(),
        )),
        _ => Err("there is none".to_owned()),
    };
    let source = Source { file: "arm.launch.xml", text };
    import_launch(&LaunchFile {
        source,
        arguments: &arguments,
        prefix: Some("/opt/ros/x/"),
        include: &include,
    })
}

/// What was made, if it is right: it reads as the same from TOML, and makes sense with its types.
fn right(imported: Result<ImportedPrograms, Vec<Problem>>) -> ImportedPrograms {
    let imported = imported.unwrap_or_else(|problems| panic!("{problems:#?}"));
    let text = imported.plan.to_toml();
    let source = Source { file: "made.toml", text: &text };
    let (read, places) = Plan::read(source).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"));
    assert_eq!(read, imported.plan, "{text}");
    let types = Catalogue::of([("types".to_owned(), imported.types.clone())]).unwrap();
    assert_eq!(read.check(source, &places, &types), [], "{text}");
    imported
}

fn told(imported: &ImportedPrograms) -> String {
    imported.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_dataflow_becomes_programs_with_connections_and_timers() {
    let made = right(dataflow(LINE));
    let plan = &made.plan;
    let eye = &plan.processes["eye"];
    assert_eq!(eye.arguments, ["--width", "640"]);
    assert_eq!((eye.environment["LEVEL"].as_str(), eye.environment["NAME"].as_str()), ("2", "front eye"));
    assert_eq!(eye.restart.as_ref().unwrap().policy, RestartPolicy::Never);
    let artefact = &plan.artefacts[eye.artefact.as_ref().unwrap()];
    assert_eq!(
        (artefact.kind, artefact.location.as_slice()),
        (ArtefactKind::Foreign, &["bin/eye".to_owned()][..])
    );
    assert_eq!(plan.components["eye"].ports["tick"].period, Some(20 * MILLISECOND));
    let restart = plan.processes["finder"].restart.clone().unwrap();
    assert_eq!((restart.policy, restart.limit), (RestartPolicy::OnFailure, Some(3)));
    assert_eq!((restart.within, restart.delay), (Some(60_000 * MILLISECOND), Some(500 * MILLISECOND)));
    let to_finder = &plan.connections["finder-picture"];
    assert_eq!(
        (&to_finder.from, to_finder.to.as_slice()),
        (&End::port("eye", "picture"), &[End::port("finder", "picture")][..])
    );
    assert_eq!(to_finder.queue, Some(Queue { depth: 1, full: FullPolicy::DropOldest, wait: None }));
    // What is not said is said to be missing, and not made up.
    assert_eq!(plan.connections["screen-picture"].queue, None);
    let told = told(&made);
    for part in [
        "line.yml:28:16: how many events of \"picture\" wait at most is not said",
        "line.yml:3:5: how long \"eye\" works for an input is not said",
        "line.yml:13:5: on which core \"finder\" runs, and with which priority, is not said",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
}

#[test]
fn what_a_dataflow_says_wrongly_or_in_vain_is_told() {
    each_is_told(
        LINE,
        &[
            (
                "source: eye/picture",
                "source: eye/pictures",
                "line.yml:21:9: there is no output \"eye/pictures\"",
            ),
            ("timer/millis/20", "timer/millis/0", "\"dora/timer/millis/0\" is no timer with a period"),
            ("id: screen", "id: eye", "a second node \"eye\""),
            ("path: bin/screen", "operator: {}", "the node \"screen\" is no program with a path"),
            ("path: bin/screen", "path: dynamic", "what \"screen\" executes is not said"),
            ("path: bin/screen", "path: python", "\"python\" is looked for among programs by dora"),
            (
                "path: bin/screen",
                "path: bin/screen\n    build: make",
                "line.yml:26:5: \"build\" has no place in a plan",
            ),
            ("--width 640", "\"'a b'\"", "arguments with quotes"),
            ("LEVEL: 2", "LEVEL: $HOME", "variables in a value are not replaced"),
            ("restart_window: 60\n", "\n", "a plan counts restarts within a time"),
            ("on-failure", "sometimes", "\"sometimes\" is no policy of restarts"),
            ("queue_size: 4", "queue_size: 0", "how many events of \"boxes\" wait at most is not said"),
            ("nodes:", "debug: {}\nnodes:", "\"debug\" has no place in a plan"),
        ],
        |text| told(&right(dataflow(text))),
    );
}

/// A plan would not allow that a component calls itself.
#[test]
fn a_node_that_hears_itself_does_so_by_a_queue() {
    let made = right(dataflow(
        "nodes:\n- id: eye\n  path: eye\n  outputs:\n  - seen\n  inputs:\n    back: eye/seen\n",
    ));
    let services = made.plan.connections.values().map(|connection| connection.service.as_deref());
    assert_eq!(services.collect::<Vec<_>>(), [Some("channel")]);
}

/// Keys of plans have 128 bytes at most.
#[test]
fn variables_with_long_names_are_left_out_of_a_launch_file() {
    let long = "N".repeat(129);
    let variable = |name: &str| format!("<env name='{name}' value='x'/>");
    let text = format!(
        "<launch><executable cmd='eye'>{}{}</executable></launch>",
        variable(&long),
        variable("SHORT")
    );
    let made = right(launched(&text, &[]));
    let variables = made.plan.processes.values().flat_map(|process| process.environment.keys());
    assert_eq!(variables.collect::<Vec<_>>(), ["SHORT"]);
    assert!(told(&made).contains("more than 128 bytes"), "{}", told(&made));
}

#[test]
fn hostile_yaml_is_refused_with_its_place() {
    let laughs = (1..30).fold("a0: &a0 [x, x, x]\n".to_owned(), |text, level| {
        let before = level - 1;
        text + &format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}]\n")
    });
    let long = format!("nodes: &n {}\na: [{}]", "x".repeat(9_000), "*n, ".repeat(200));
    let deep = "[".repeat(40);
    let deeper = "[".repeat(10_000);
    let blocks = (0..200).map(|depth| format!("{}-\n", "  ".repeat(depth))).collect::<String>();
    let large = format!("nodes: [{}]", "{}, ".repeat(100_000));
    for (text, expected) in [
        (laughs.as_str(), "too many values, with what aliases repeat"),
        (&long, "too many values, with what aliases repeat"),
        (&deep, "more than 32 lists and tables in each other"),
        // The parser refuses before it has told of the first.
        (&deeper, "no YAML: recursion limit exceeded"),
        (&blocks, "more than 32 lists and tables in each other"),
        (&large, "the file is longer than"),
        ("nodes: &a [*a]", "line.yml:1:12: an alias inside of what it stands for"),
        ("nodes: !!map {}", "tags mean nothing here"),
        ("nodes: []\n---\nnodes: []", "line.yml:2:1: a second document"),
        ("nodes: []\nnodes: []", "line.yml:2:1: \"nodes\" is said twice"),
        ("nodes: [", "no YAML"),
        ("nodes: *a", "no YAML"),
        ("? [a]\n: b", "this is no key"),
        ("[]", "this is no dataflow"),
        ("a: 1", "the dataflow has no nodes"),
        ("nodes: 1", "nodes are a list"),
        ("", "the file says nothing"),
    ] {
        let problems = dataflow(text).expect_err(expected);
        let shown = problems.iter().map(ToString::to_string).collect::<String>();
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_launch_file_becomes_programs_with_the_arguments_of_ros() {
    let made = right(launched(ARM, &[("rate", "100")]));
    let plan = &made.plan;
    let names: Vec<&str> = plan.processes.keys().map(String::as_str).collect();
    assert_eq!(names, ["arm_left-driver", "arm_left-parts", "logger", "watcher"]);
    let driver = &plan.processes["arm_left-driver"];
    let expected = "--fast --ros-args -r __node:=driver -r __ns:=/arm_left -p rate:=100 -p joint.count:=6 --params-file arm.yaml -r angles:=/angles";
    assert_eq!(driver.arguments.join(" "), expected);
    assert_eq!(driver.environment["LEVEL"], "2");
    let restart = driver.restart.clone().unwrap();
    assert_eq!((restart.policy, restart.delay), (RestartPolicy::Always, Some(500 * MILLISECOND)));
    assert_eq!(plan.artefacts["arm_driver-driver"].location, ["/opt/ros/x/lib/arm_driver/driver"]);
    let parts: Vec<&str> = plan
        .components
        .iter()
        .filter(|(_, it)| it.process == "arm_left-parts")
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(parts, ["arm_left-filter", "arm_left-watch"]);
    assert_eq!(plan.components["arm_left-watch"].component_type, "arm_parts-arm::Watch");
    let watcher = &plan.processes["watcher"];
    assert_eq!(watcher.arguments, ["--who", "left"]);
    assert_eq!((watcher.environment["COLOUR"].as_str(), watcher.environment["LEVEL"].as_str()), ("no", "2"));
    let told = told(&made);
    for part in [
        "arm.launch.xml:9:5: which topics \"arm_left-driver\" publishes and consumes, and how long it works, is not said",
        "arm.launch.xml:16:7: nothing loads \"arm::Filter\" into its container",
        "arm.launch.xml:17:73: <param> of a node that is loaded has no place in a plan",
        "arm.launch.xml:21:3: \"view\" has no value",
        "arm.launch.xml:21:3: whether <node> counts is known only when it is launched",
        "arm.launch.xml:21:3: \"output\" of <node> has no place in a plan",
        "third.launch.py\" is a program in Python, which is not run",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
}

#[test]
fn what_a_launch_file_lacks_is_told() {
    let args = [("rate", "1"), ("view", "false")];
    each_is_told(
        ARM,
        &[
            ("pkg=\"tools\" exec=\"logger\"", "exec=\"logger\"", "<node> without pkg or exec"),
            (
                "more/second.launch.xml",
                "../second.launch.xml",
                "\"../second.launch.xml\" is outside of the folder",
            ),
            (
                "more/second.launch.xml",
                "more/none.launch.xml",
                "\"more/none.launch.xml\" cannot be read: there is none",
            ),
            ("respawn_delay=\"0.5\"", "respawn_delay=\"soon\"", "respawn_delay is no time"),
            ("args=\"--fast\"", "args=\"'a b'\"", "arguments with quotes"),
            ("to=\"/angles\"", "too=\"/angles\"", "a remap without from or to"),
            (
                "value=\"arm_$(var side)\"",
                "value=\"$(env SIDE)\"",
                "$(env SIDE) is known only when it is launched",
            ),
            ("<let name=\"space\"", "<timer/><let name=\"space\"", "<timer> has no place in a plan"),
        ],
        |text| told(&right(launched(text, &args))),
    );
    let told = told(&right(launched(ARM, &[])));
    assert!(told.contains("arm.launch.xml:4:3: the argument \"rate\" has no value"), "{told}");
    // A value that was not said stays as it stands there.
    let plan = right(launched(ARM, &[("side", "right")])).plan;
    assert!(plan.processes["arm_right-driver"].arguments.contains(&"rate:=$(var rate)".to_owned()));
}

#[test]
fn hostile_launch_files_are_refused_with_their_place() {
    let nodes = format!("<launch>{}</launch>", "<node pkg='a' exec='b'/>".repeat(1_100));
    let remaps: String =
        (0..64).map(|number| format!("<remap from='a{number}' to='{}'/>", "x".repeat(900))).collect();
    let heavy = format!("<launch>{remaps}{}</launch>", "<node pkg='a' exec='b'/>".repeat(1_000));
    for (text, expected) in [
        ("<launch><include file='again.launch.xml'/></launch>", "files that include themselves have no end"),
        (nodes.as_str(), "more than 1024 programs"),
        (&heavy, "bytes of arguments"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><launch>&b;</launch>", "DTD"),
        ("<launching/>", "the root is <launching>, and not <launch>"),
        ("<launch>", "arm.launch.xml:1:"),
        (&"<launch>".repeat(40), "32 elements in each other"),
    ] {
        let problems = launched(text, &[]).expect_err(expected);
        let shown = problems.iter().map(ToString::to_string).collect::<String>();
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
