//! Pictures of plans, read as XML: all of a plan is in it, in its place, and no number that was not proved.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use assembly::{Catalogue, Manifest, Plan};
use diagnostics::Source;
use roxmltree::{Document, Node};

use crate::{ARM, ARM_TYPES, Folder};

/// A plan and the manifest beside it.
struct Example {
    plan: String,
    manifest: &'static str,
    types: &'static str,
}

/// Those that the project ships. The manifest of the heating comes from its program when it is built.
fn examples() -> Vec<Example> {
    let heating = include_str!("../../examples/heating.toml").replace("manifests = [\"heating.json\"]\n", "");
    let example = |plan: &str, manifest, types| Example { plan: plan.to_owned(), manifest, types };
    vec![
        example(
            include_str!("../../examples/tracker.toml"),
            "tracker.json",
            include_str!("../../examples/tracker.json"),
        ),
        example(
            include_str!("../../../assembly/plans/tracker.toml"),
            "tracker.json",
            include_str!("../../../assembly/plans/tracker.json"),
        ),
        example(ARM, "arm.json", ARM_TYPES),
        example(&heating, "heating.json", "{ \"component\": {} }"),
    ]
}

impl Example {
    fn read(&self) -> (Plan, Catalogue) {
        let plan = Plan::read(Source { file: "plan.toml", text: &self.plan }).unwrap().0;
        let types = Manifest::read(Source { file: self.manifest, text: self.types }).unwrap();
        (plan, Catalogue::of([(self.manifest.to_owned(), types)]).unwrap())
    }

    /// The picture.
    fn drawn(&self, folder: &Folder) -> String {
        folder.has("plan.toml", &self.plan);
        folder.has(self.manifest, self.types);
        let (code, out, told) = folder.deploy("graph {plan.toml}");
        assert_eq!((code, told.as_str()), (0, ""));
        out
    }
}

fn has_class(node: Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|classes| classes.split(' ').any(|known| known == class))
}

/// The text of an element with all in it.
fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

/// The titles of elements of a class, or of groups around them.
fn titles(picture: &Document<'_>) -> Vec<String> {
    picture
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")))
        .map(text)
        .collect()
}

/// Texts that are shown.
fn texts(picture: &Document<'_>) -> Vec<String> {
    picture.descendants().filter(|node| node.tag_name().name() == "text").map(text).collect()
}

/// The boxes of a class: left, top, right and bottom.
fn boxes(picture: &Document<'_>, class: &str) -> Vec<[i64; 4]> {
    let rects =
        picture.descendants().filter(|node| node.tag_name().name() == "rect" && has_class(*node, class));
    let number = |node: Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<i64>().unwrap();
    rects
        .map(|rect| {
            let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(rect, name));
            [x, y, x + width, y + height]
        })
        .collect()
}

fn overlap(a: [i64; 4], b: [i64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn are_apart(picture: &Document<'_>) {
    for class in ["host", "process", "container", "box"] {
        let boxes = boxes(picture, class);
        for (index, a) in boxes.iter().enumerate() {
            let other = boxes[index + 1..].iter().find(|b| overlap(*a, **b));
            assert_eq!(other, None, "{class} {a:?}");
        }
    }
}

#[test]
fn all_of_each_example_is_in_the_picture() {
    let folder = Folder::new();
    for example in examples() {
        let (plan, types) = example.read();
        let svg = example.drawn(&folder);
        let picture = Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        let (titles, texts) = (titles(&picture), texts(&picture));
        // What is missing at something stands behind its name.
        let is_shown = |name: &str| texts.iter().any(|text| text.split(" ?").next() == Some(name));
        let is_titled = |begin: &str| titles.iter().any(|title| title.starts_with(begin));
        for (name, component) in &plan.components {
            assert!(is_shown(name), "no component {name}");
            assert!(is_titled(&format!("{name}: {}", component.component_type)), "{name}: {titles:?}");
            let of_type = types.components.get(&component.component_type);
            for port in of_type.into_iter().flat_map(|of_type| of_type.ports.keys()) {
                assert!(is_titled(&format!("{name}.{port}: ")), "no port {name}.{port}: {titles:?}");
            }
            for port in component.ports.keys() {
                assert!(is_titled(&format!("{name}.{port}: ")), "no port {name}.{port}: {titles:?}");
            }
        }
        let wires: Vec<_> = picture.descendants().filter(|node| has_class(*node, "wire")).collect();
        for (name, connection) in &plan.connections {
            assert!(is_shown(name), "no connection {name}");
            let title = format!("{name}: {} → ", connection.from);
            let of_connection = wires.iter().filter(|wire| text(**wire).starts_with(&title)).count();
            assert_eq!(of_connection, connection.to.len(), "{title}");
        }
        for (number, name) in (1..).zip(plan.chains.keys()) {
            let id = format!("chain-{number}");
            let chain = picture.descendants().find(|node| node.attribute("id") == Some(&id)).unwrap();
            assert!(text(chain).starts_with(&format!("{number}: {name}: ")), "{}", text(chain));
            // It goes along at least one connection.
            assert!(chain.children().any(|path| path.attribute("d").is_some()));
        }
        for name in plan.hosts.keys() {
            assert!(texts.iter().any(|text| text.starts_with(&format!("host {name}"))), "{texts:?}");
        }
        for (name, container) in &plan.containers {
            assert!(is_shown(&format!("container {name}")), "{texts:?}");
            for (lane, said) in &container.lanes {
                let line = texts.iter().find(|text| text.starts_with(&format!("{lane}: {}", said.class)));
                let line = line.unwrap_or_else(|| panic!("no lane {lane}: {texts:?}"));
                let shown = said.cores.iter().all(|core| line.ends_with(&format!(" {core}")));
                assert!(shown && said.priority.is_none_or(|it| line.contains(&format!(" {it}"))), "{line}");
            }
        }
        are_apart(&picture);
        assert_eq!(example.drawn(&folder), svg, "another picture of the same plan");
    }
}

#[test]
fn a_refused_chain_is_shown_with_the_time_that_is_missing() {
    let folder = Folder::new();
    folder.has("arm.toml", ARM);
    folder.has("arm.json", ARM_TYPES);
    // What the analysis says is what the command for it says.
    let (_, admitted, _) = folder.deploy("admit {arm.toml}");
    let verdict = admitted.lines().next().unwrap();
    assert!(
        verdict.starts_with("angle-to-torque: refused: ") && verdict.ends_with(" are missing"),
        "{verdict}"
    );
    let times = admitted.lines().nth(1).unwrap().trim();
    let (_, svg, _) = folder.deploy("graph {arm.toml}");
    let picture = Document::parse(&svg).unwrap();
    let told = picture.descendants().find(|node| has_class(*node, "bad")).map(text);
    assert_eq!(told.as_deref(), Some(verdict));
    assert!(texts(&picture).iter().any(|text| text == times), "{times}");
    assert!(!texts(&picture).iter().any(|text| text.starts_with("Missing for bounds")));
    // With the changes that the command finds, it is proved.
    assert_eq!(folder.deploy("admit {arm.toml} --write {new.toml}").0, 0);
    let (_, svg, _) = folder.deploy("graph {new.toml}");
    let picture = Document::parse(&svg).unwrap();
    let told = picture.descendants().find(|node| has_class(*node, "good")).map(text).unwrap();
    assert!(told.starts_with("angle-to-torque: admitted, as far as the measured times hold"), "{told}");
    assert!(picture.descendants().all(|node| !has_class(node, "bad") && !has_class(node, "odd")));
}

/// The documents show the picture of the plan that they explain bounds by. `PUNCTUAL_WRITE=1` writes it.
#[test]
fn the_picture_of_the_documents_is_up_to_date() {
    let folder = Folder::new();
    folder.has("arm.toml", ARM);
    folder.has("arm.json", ARM_TYPES);
    let (code, svg, _) = folder.deploy("graph {arm.toml}");
    assert_eq!(code, 0);
    if std::env::var_os("PUNCTUAL_WRITE").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/arm.svg"), &svg).unwrap();
    } else {
        let kept = include_str!("../../../../docs/arm.svg");
        assert!(kept == svg, "docs/arm.svg is made by this test: run it with PUNCTUAL_WRITE=1");
    }
}

#[test]
fn what_is_not_proved_has_no_number_and_tells_what_is_missing() {
    let folder = Folder::new();
    folder.has("arm.json", ARM_TYPES);
    let costs = ARM.lines().find(|line| line.starts_with("costs")).unwrap();
    for (taken, element, told) in [
        (costs, "host n1", "costs"),
        ("port.tick.period = \"2 ms\"\n", "encoder", "port.tick.period = TIME"),
        (", cores = [1] }\nlanes.vision", "container arm", "cores = [ONE]"),
    ] {
        let instead = if taken.starts_with(',') { " }\nlanes.vision" } else { "" };
        folder.has("arm.toml", &ARM.replace(taken, instead));
        for option in ["--svg {picture}", "--html {picture}"] {
            let (code, ..) = folder.deploy(&format!("graph {{arm.toml}} {option}"));
            assert_eq!(code, 0);
            let shown = std::fs::read_to_string(folder.0.path().join("picture")).unwrap();
            assert!(!shown.contains("response proved"), "{taken}");
            assert!(
                shown.contains("angle-to-torque: no bound: ")
                    && shown.contains("reaction: no bound, limit 3 ms")
            );
            assert!(shown.contains(told), "{told}");
            // No bound, nor a time that would be one: only times that the plan says.
            let is_said = |at: usize| shown[..at].ends_with("its handler takes ");
            let bounds = shown.match_indices("at most ").filter(|(at, _)| !is_said(*at));
            assert_eq!(bounds.count(), 0, "{taken}");
        }
        let svg = folder.deploy("graph {arm.toml}").1;
        let picture = Document::parse(&svg).unwrap();
        let marked =
            picture.descendants().filter(|node| node.tag_name().name() == "tspan" && has_class(*node, "odd"));
        let marked: Vec<String> = marked.filter_map(|mark| mark.parent_element()).map(text).collect();
        let expected = format!("{element} ?1");
        assert!(
            marked.iter().any(|text| text.replace(", 4 cores", "") == expected),
            "{expected}: {marked:?}"
        );
        assert!(texts(&picture).iter().any(|text| text.starts_with("?1 ")));
    }
}

#[test]
fn names_are_text() {
    let folder = Folder::new();
    let hostile = "\\\"><script>alert(1)</script>&\\u0001\\u202e' onload=x";
    let plan = format!(
        "name = \"{hostile}\"\n[component.a]\ntype = \"{hostile}\"\nhost = \"h\"\nprocess = \"p\"\nsettings.{0} = \"{hostile}\"\n\
         [component.b]\ntype = \"T\"\nprocess = \"p\"\n[topic.t]\ntopic = \"{hostile}\"\ntype = \"{hostile}\"\n\
         [connection.c]\nfrom = \"a.out\"\nto = [\"b.in\", \"topic:t\"]\n[chain.k]\npath = [\"a.out\", \"b.in\"]\nreaction = \"1 ms\"\n",
        "gain"
    );
    folder.has("plan.toml", &plan);
    let (code, svg, told) = folder.deploy("graph {plan.toml}");
    assert_eq!((code, told.as_str()), (0, ""));
    let picture = Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let elements: BTreeSet<&str> = picture.descendants().map(|node| node.tag_name().name()).collect();
    let known = ["", "circle", "desc", "g", "path", "rect", "style", "svg", "text", "title", "tspan"];
    assert!(elements.iter().all(|element| known.contains(element)), "{elements:?}");
    assert!(picture.descendants().all(|node| node.attribute("onload").is_none()));
    assert!(
        titles(&picture)
            .iter()
            .any(|title| title.contains("\"><script>alert(1)</script>&\u{fffd}\u{fffd}' onload=x"))
    );
    assert_eq!(folder.deploy("graph {plan.toml} --html {page.html}").0, 0);
    let page = std::fs::read_to_string(folder.0.path().join("page.html")).unwrap();
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert!(
        page.contains("&lt;script&gt;alert(1)") && !page.contains("\" onload") && !page.contains('\u{202e}')
    );
    assert_eq!(page.matches("href=").count(), page.matches("href=\"#").count());
    for forbidden in ["https:", "src=", "url(", "@import"] {
        assert!(!page.contains(forbidden) && !svg.contains(forbidden), "{forbidden}");
    }
}

/// Fifty components on three hosts, connected by all that carries events, some in circles.
fn fifty() -> String {
    let mut plan = "name = \"Fifty\"\n".to_owned();
    for process in 0..7 {
        writeln!(plan, "[process.p{process}]\nhost = \"h{}\"", process % 3).unwrap();
        writeln!(plan, "[container.c{process}]\nprocess = \"p{process}\"\nlanes.fast = {{ class = \"fifo\", priority = 9, cores = [1] }}").unwrap();
    }
    for component in 0..50 {
        let process = component / 8;
        let container =
            if component % 3 == 0 { String::new() } else { format!("container = \"c{process}\"\n") };
        writeln!(
            plan,
            "[component.unit-{component}]\ntype = \"Unit\"\nprocess = \"p{process}\"\n{container}"
        )
        .unwrap();
    }
    for connection in 0..70 {
        let (from, to) = ((connection * 7) % 50, (connection * 11 + 3 + connection / 50) % 50);
        writeln!(plan, "[connection.l{connection}]\nfrom = \"unit-{from}.out\"\nto = [\"unit-{to}.in\"]")
            .unwrap();
    }
    plan
}

#[test]
fn fifty_components_do_not_overlap() {
    let folder = Folder::new();
    folder.has("plan.toml", &fifty());
    let (code, svg, told) = folder.deploy("graph {plan.toml}");
    assert_eq!((code, told.as_str()), (0, ""));
    let picture = Document::parse(&svg).unwrap();
    assert_eq!(boxes(&picture, "box").len(), 50);
    assert_eq!((boxes(&picture, "host").len(), boxes(&picture, "container").len()), (3, 7));
    are_apart(&picture);
}

/// A type of many ports that many components are of does not multiply what is drawn.
#[test]
fn the_size_of_a_picture_is_in_proportion_to_the_plan() {
    let folder = Folder::new();
    let mut plan = "manifests = [\"wide.json\"]\n".to_owned();
    for component in 0..300 {
        writeln!(plan, "[component.c{component}]\ntype = \"Wide\"\nhost = \"h\"\nprocess = \"p\"").unwrap();
    }
    let ports: Vec<String> = (0..300)
        .map(|port| {
            format!("\"p{port}\": {{ \"kind\": \"consumer\", \"type\": \"E\", \"required\": false }}")
        })
        .collect();
    folder.has(
        "wide.json",
        &format!("{{ \"component\": {{ \"Wide\": {{ \"port\": {{ {} }} }} }} }}", ports.join(", ")),
    );
    folder.has("plan.toml", &plan);
    let (code, svg, told) = folder.deploy("graph {plan.toml}");
    assert_eq!((code, told.as_str()), (0, ""));
    assert!(
        svg.contains("and 288 ports more") && svg.len() < 200 * plan.len(),
        "{} for {}",
        svg.len(),
        plan.len()
    );
}

#[test]
fn several_plans_share_their_hosts() {
    let folder = Folder::new();
    folder.has("arm.json", ARM_TYPES);
    folder.has("one.toml", &ARM.replace("name = \"Arm\"", "name = \"Left\""));
    // On another core, so that neither keeps the other.
    let right = ARM.replace("cores = [1]", "cores = [2]");
    folder.has("two.toml", &right.replace("name = \"Arm\"", "name = \"Right\""));
    let (code, svg, _) = folder.deploy("graph {one.toml} {two.toml}");
    assert_eq!(code, 0);
    let picture = Document::parse(&svg).unwrap();
    let counts = ["host", "process", "container", "box"].map(|class| boxes(&picture, class).len());
    assert_eq!(counts, [1, 2, 2, 6]);
    are_apart(&picture);
    let shown = texts(&picture);
    for side in ["Left", "Right"] {
        assert!(shown.contains(&format!("process arm of {side}")), "{shown:?}");
        assert!(
            shown.iter().any(|text| text.starts_with(&format!("{side}: angle-to-torque: refused: "))),
            "{shown:?}"
        );
    }
}

/// The way of a chain in a picture: what it has along wires, and inside of boxes.
fn way(picture: &Document<'_>, number: usize) -> [String; 2] {
    let id = format!("chain-{number}");
    let chain = picture.descendants().find(|node| node.attribute("id") == Some(&id)).unwrap();
    let mut paths = chain.children().filter_map(|path| path.attribute("d")).map(str::to_owned);
    [paths.next().unwrap(), paths.next().unwrap()]
}

#[test]
fn a_chain_goes_through_services_and_beside_others() {
    let folder = Folder::new();
    let tracker = include_str!("../../../assembly/plans/tracker.toml");
    folder.has("tracker.json", include_str!("../../../assembly/plans/tracker.json"));
    let service = "[service.bus]\nkind = \"channel\"\nat = \"flight\"\nplacement = \"container\"\n[chain.again]\npath = [\"gps.timer\", \"airframe.fix\"]\nage = \"9 ms\"\n";
    folder
        .has("plan.toml", &[tracker, service].concat().replace("service = \"channel\"", "service = \"bus\""));
    let (code, svg, told) = folder.deploy("graph {plan.toml}");
    assert_eq!((code, told.as_str()), (0, ""));
    let picture = Document::parse(&svg).unwrap();
    // By names: the second one is from sensor to screen. gps to bus, bus to airframe, airframe to display; and inside of the first three.
    let [again, sensor] = [way(&picture, 1), way(&picture, 2)];
    let begins = |path: &str| {
        path.split('M')
            .skip(1)
            .map(|part| part.split(['L', 'C']).next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(sensor.each_ref().map(|path| begins(path).len()), [3, 3]);
    assert_eq!(again.each_ref().map(|path| begins(path).len()), [2, 2]);
    // Both pass the same wires, side by side.
    assert!(
        begins(&again[0]).iter().all(|begin| !begins(&sensor[0]).contains(begin)),
        "{again:?} {sensor:?}"
    );
}

/// What a port waits for stands beside it, with all groups.
#[test]
fn joins_are_in_the_picture() {
    let folder = Folder::new();
    let mut plan =
        String::from("id = \"joins\"\nmanifests = [\"t.json\"]\n[host.n1]\n[process.p]\nhost = \"n1\"\n");
    for name in ["a", "b", "c", "d"] {
        let _ = write!(plan, "[component.{name}]\ntype = \"Node\"\nprocess = \"p\"\n");
    }
    plan += "[component.d.port.in]\njoin = { kind = \"conjunction\", parts = [\"ad\", \"other\"], keep = \"last\", within = \"5 ms\" }\n\
             group.other = { kind = \"disjunction\", parts = [\"bd\", \"cd\"], every = \"9 ms\" }\n";
    for name in ["a", "b", "c"] {
        let _ = write!(plan, "[connection.{name}d]\nfrom = \"{name}.out\"\nto = [\"d.in\"]\n");
    }
    folder.has("plan.toml", &plan);
    folder.has(
        "t.json",
        "{ \"component\": { \"Node\": { \"port\": { \"in\": { \"kind\": \"consumer\", \"type\": \"E\" }, \"out\": { \"kind\": \"publisher\", \"type\": \"E\" } } } } }",
    );
    let (code, svg, told) = folder.deploy("graph {plan.toml}");
    assert_eq!((code, told.as_str()), (0, ""));
    let picture = Document::parse(&svg).unwrap();
    let label = "in: ad and (bd or cd or every 9 ms)";
    assert!(texts(&picture).iter().any(|text| text == label), "{:?}", texts(&picture));
    let about = "conjunction: ad and (bd or cd or every 9 ms), a part keeps last, for 5 ms at most; \
                 group other, a disjunction: bd or cd or every 9 ms";
    assert!(titles(&picture).iter().any(|title| title.contains(about)), "{:?}", titles(&picture));
    are_apart(&picture);
}

#[test]
fn the_page_has_tables_of_all_of_the_plan() {
    let folder = Folder::new();
    for example in examples() {
        let (plan, types) = example.read();
        let svg = example.drawn(&folder);
        let (code, out, told) = folder.deploy("graph {plan.toml} --html {page.html}");
        assert_eq!((code, out.as_str(), told.as_str()), (0, "", ""));
        let page = std::fs::read_to_string(folder.0.path().join("page.html")).unwrap();
        // The same picture.
        let drawn = |text: &str| {
            text.split_once("<g class=\"dg\">").unwrap().1.split_once("</svg>").unwrap().0.to_owned()
        };
        assert_eq!(drawn(&page), drawn(&svg));
        assert!(page.contains("role=\"img\" aria-label=\"Deployment of "));
        let table = |title: &str| {
            let rest = page
                .split_once(&format!("aria-label=\"{title}\""))
                .unwrap_or_else(|| panic!("no table {title}"))
                .1;
            rest.split_once("</table>").unwrap().0.to_owned()
        };
        let (connections, components) = (table("Connections"), table("Components"));
        let links: usize = plan.connections.values().map(|connection| connection.to.len()).sum();
        assert_eq!(connections.matches("<tbody").count(), links);
        assert_eq!(components.matches("<tbody").count(), plan.components.len());
        for (name, component) in &plan.components {
            assert!(components.contains(&format!("data-0=\"{name}\"")), "{name}");
            for (setting, value) in &component.settings {
                let shown = format!("{setting} = {}", value.toml().replace('"', "&quot;"));
                assert!(components.contains(&shown), "{shown}");
            }
            let of_type = types.components.get(&component.component_type);
            for port in of_type.into_iter().flat_map(|of_type| of_type.ports.keys()) {
                assert!(components.contains(&format!("{name}.{port}: ")), "{name}.{port}");
            }
        }
        if !plan.chains.is_empty() {
            let chains = table("Chains");
            for (number, name) in (1..).zip(plan.chains.keys()) {
                assert!(chains.contains(&format!("<a href=\"#chain-{number}\">{name}</a>")), "{chains}");
            }
        }
    }
}

#[test]
fn files_and_options_that_do_not_fit_are_told() {
    let folder = Folder::new();
    let (code, _, told) = folder.deploy("graph {tracker.toml} --svg {no/picture.svg}");
    assert!(code == 3 && told.starts_with("punctual: --svg no/picture.svg: "), "{told}");
    folder.has("wrong.toml", &crate::PLAN.replace("\"display.position\"", "\"display.positon\""));
    let (code, out, told) = folder.deploy("graph {wrong.toml}");
    assert!(code == 1 && out.is_empty() && told.contains("wrong.toml:28:7: "), "{told}");
    assert!(Folder::refuses("graph a.toml --svg b.svg --html b.html"));
}
