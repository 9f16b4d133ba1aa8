//! The page of a plan, read as text: what it shows is what the report says.
use std::fs;
use std::path::Path;

use crate::command::{Folder, arguments, example, flow, json, run};
use plan::{ADMITTED, Arguments, REFUSED, WRONG};
use serde_json::Value;

/// The network of the manual: one flow is admitted, one is refused.
const WARD: &str = "name = \"Ward 3\"\n[[host]]\nname = \"sensor\"\n[[host]]\nname = \"camera\"\n[[host]]\nname = \"display\"\n\
    [[switch]]\nname = \"s1\"\nmodel = \"gigabit-8-queues\"\n[[link]]\nends = [\"sensor\", \"s1\"]\n[[link]]\nends = [\"camera\", \"s1\"]\n\
    [[link]]\nends = [\"display\", \"s1\"]\nrate = \"100 Mb/s\"\n\
    [[flow]]\ntopic = \"pulse\"\npublisher = \"sensor\"\nsubscribers = [{ host = \"display\", limit = \"500 us\" }]\nsize = 64\nseparation = \"5 ms\"\n\
    [[flow]]\ntopic = \"image\"\npublisher = \"camera\"\nsubscribers = [{ host = \"display\", limit = \"5 ms\" }]\nsize = 60_000\nseparation = \"40 ms\"\n";

/// The page of a network, and its report.
fn shown(folder: &Folder, arguments: &Arguments) -> (String, Value) {
    let path = folder.path("page.html");
    let (_, report) = json(&Arguments { html: Some(path.clone()), ..arguments.clone() });
    (fs::read_to_string(path).unwrap(), report)
}

/// What is between two texts.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start:?} in {text}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end:?} after {start:?} in {rest}")).0
}

/// The bodies of the table of flows, which has other tables within.
fn bodies(page: &str) -> Vec<&str> {
    let flows = between(page, "<table class=\"sorted flows\"", "<h2>Ports");
    flows.split("<tbody ").skip(1).collect()
}

/// The coordinates in a path or an element.
fn numbers(text: &str) -> Vec<f64> {
    let digits = |c: char| !(c.is_ascii_digit() || c == '.' || c == '-');
    text.split(digits).filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect()
}

#[test]
fn every_flow_has_a_line_for_each_subscriber_and_a_bar_as_long_as_its_bound() {
    let folder = Folder::new();
    let text = WARD.replace(
        "[{ host = \"display\", limit = \"500 us\" }]",
        "[{ host = \"display\", limit = \"500 us\" }, { host = \"camera\", limit = \"700 us\" }]",
    );
    for file in [example("figure-four.toml"), example("table-two.toml"), folder.file("ward.toml", &text)] {
        let (page, report) = shown(&folder, &arguments(&file));
        let (bodies, flows) = (bodies(&page), report["flows"].as_array().unwrap());
        assert_eq!(bodies.len(), flows.len());
        for (body, flow) in bodies.iter().zip(flows) {
            assert!(body.starts_with(&format!("data-0=\"{}\"", flow["name"].as_str().unwrap())), "{body}");
            let rows: Vec<&str> = body.split("<tr class=\"delivery\">").skip(1).collect();
            let subscribers = flow["subscribers"].as_array().unwrap();
            assert_eq!(rows.len(), subscribers.len());
            for (row, subscriber) in rows.iter().zip(subscribers) {
                let limit = subscriber["limit_ps"].as_u64().unwrap() as f64;
                let bound =
                    subscriber["bound_ps"].as_u64().or(flow["offered_latency_ps"].as_u64()).unwrap() as f64;
                let width: f64 = between(row, "<i style=\"width:", "%").parse().unwrap();
                assert!((width - (bound / limit * 100.0).min(100.0)).abs() <= 0.1, "{row}");
                assert_eq!(row.contains("bar over"), subscriber["bound_ps"].is_null(), "{row}");
                assert!(
                    row.contains(&format!("class=\"to\">{}<", subscriber["host"].as_str().unwrap())),
                    "{row}"
                );
            }
        }
    }
}

#[test]
fn ways_begin_at_the_publisher_and_end_at_the_subscriber() {
    let folder = Folder::new();
    for file in [example("figure-four.toml"), example("table-two.toml"), folder.file("ward.toml", WARD)] {
        let (page, report) = shown(&folder, &arguments(&file));
        let place = |host: &str| {
            let circle =
                page.split("<circle class=\"node\"").find(|part| part.contains(&format!("<title>{host}<")));
            let circle = circle.unwrap_or_else(|| panic!("{host}: {page}"));
            [between(circle, "cx=\"", "\""), between(circle, "cy=\"", "\"")]
                .map(|number| number.parse::<f64>().unwrap())
        };
        for (number, flow) in report["flows"].as_array().unwrap().iter().enumerate() {
            let way = between(&page, &format!("<path id=\"f{number}\""), "</path>");
            assert_eq!(way.contains("way refused"), flow["admitted"] == false, "{way}");
            let points = numbers(between(way, " d=\"", "\""));
            let near = |x: f64, y: f64, [hx, hy]: [f64; 2]| (x - hx).hypot(y - hy) < 25.0;
            let publisher = place(flow["publisher"].as_str().unwrap());
            assert!(near(points[0], points[1], publisher), "{way}");
            for subscriber in flow["subscribers"].as_array().unwrap() {
                let subscriber = place(subscriber["host"].as_str().unwrap());
                assert!(points.chunks_exact(2).any(|point| near(point[0], point[1], subscriber)), "{way}");
            }
        }
    }
}

#[test]
fn a_refused_flow_has_a_mark_at_the_port_with_the_reason() {
    let folder = Folder::new();
    let (page, report) = shown(&folder, &arguments(&folder.file("ward.toml", WARD)));
    let refused = flow(&report, "camera/image");
    let reason = refused["reason"].as_str().unwrap().replace('"', "&quot;");
    let mark = between(&page, "class=\"mark\"", "</g>");
    assert!(mark.contains("1 flow refused here") && mark.contains(&reason), "{mark}");
    // The mark lies between the two ends of the port that the reason names.
    assert!(reason.starts_with("at s1 to display"), "{reason}");
    let [x, y] = [between(mark, "cx=\"", "\""), between(mark, "cy=\"", "\"")]
        .map(|number| number.parse::<f64>().unwrap());
    let end = numbers(between(between(&page, "<path id=\"f1\"", "</path>"), " d=\"", "\""));
    let [.., ex, ey] = end[..] else { panic!("{end:?}") };
    let switch = between(&page, "<rect class=\"node full\"", "</rect>");
    let [sx, sy] = [between(switch, " x=\"", "\""), between(switch, " y=\"", "\"")]
        .map(|number| number.parse::<f64>().unwrap());
    let (sx, sy) = (sx + 15.0, sy + 12.0);
    let length = (ex - sx).hypot(ey - sy);
    assert!((x - sx).hypot(y - sy) + (x - ex).hypot(y - ey) < length * 1.05, "{mark}");
    // Table and summary say it, too, and the table leads to the mark.
    let id = between(&page, "<g id=\"", "\"");
    let body = bodies(&page).into_iter().find(|body| body.contains("camera/image")).unwrap();
    assert!(body.contains(&format!("href=\"#{id}\"")) && body.contains(&reason), "{body}");
    assert!(between(&page, "class=\"verdict bad\"", "</div>").contains(&reason));
}

#[test]
fn the_terms_of_each_bound_are_those_of_explain() {
    let folder = Folder::new();
    for file in ["figure-four.toml", "table-two.toml"] {
        let asked = arguments(&example(file));
        let (page, report) = shown(&folder, &asked);
        for (body, flow) in bodies(&page).iter().zip(report["flows"].as_array().unwrap()) {
            let name = flow["name"].as_str().unwrap();
            let (_, text, _) = run(&Arguments { explain: Some(name.to_owned()), ..asked.clone() });
            let mut terms = 0;
            for line in text.lines() {
                let Some((what, time)) = line.trim().rsplit_once("  ") else { continue };
                let (what, time) = (what.trim(), time.trim());
                // Bounds by concatenation that are no better are left out.
                if what.starts_with("or, ") || what.starts_with("bound: ") {
                    continue;
                }
                let shown = format!("{what}</td><td class=\"n\">{time}</td>");
                assert!(body.contains(&shown), "{name}: {shown} in {body}");
                terms += 1;
            }
            assert!(terms > 6, "{text}");
        }
    }
}

#[test]
fn what_a_change_does_stands_beside_each_flow() {
    let folder = Folder::new();
    let change = folder.file("change.toml", "remove = [\"T1\"]\n");
    let (page, report) =
        shown(&folder, &Arguments { what_if: Some(change), ..arguments(&example("table-two.toml")) });
    let changed = report["what_if"]["changed"].as_array().unwrap();
    assert!(!changed.is_empty());
    for changed in changed {
        let name = changed["name"].as_str().unwrap();
        let body =
            bodies(&page).into_iter().find(|body| body.starts_with(&format!("data-0=\"{name}\""))).unwrap();
        let before = changed["before_ps"].as_u64().unwrap();
        let shown = format!("{}.{:03} ▼", before / 1_000_000, before / 1_000 % 1_000);
        assert!(body.contains(&shown), "{shown}: {body}");
        let limit = flow(&report, name)["subscribers"][0]["limit_ps"].as_u64().unwrap();
        let mark: f64 = between(body, "<u style=\"left:", "%").parse().unwrap();
        assert!((mark - before as f64 / limit as f64 * 100.0).abs() <= 0.1, "{body}");
    }
    let alarm = "[[flow]]\ntopic = \"alarm\"\npublisher = \"sensor\"\nsubscribers = [{ host = \"display\", limit = \"900 us\" }]\nsize = 32\nseparation = \"10 ms\"\n";
    let change = folder.file("more.toml", alarm);
    let (page, _) =
        shown(&folder, &Arguments { what_if: Some(change), ..arguments(&folder.file("ward.toml", WARD)) });
    let body = bodies(&page).into_iter().find(|body| body.starts_with("data-0=\"sensor/alarm\"")).unwrap();
    assert!(body.contains("<b>new</b>"), "{body}");
}

#[test]
fn the_page_says_what_was_asked_beside_the_plan() {
    let folder = Folder::new();
    let page = folder.file("plan.html", "");
    let change = folder.file("change.toml", "remove = [\"T1\"]\n");
    let (_, text, told) = run(&Arguments {
        html: Some(page.clone()),
        what_if: Some(change),
        certify: true,
        simulate: Some(1),
        ..arguments(&example("table-two.toml"))
    });
    let page = fs::read_to_string(page).unwrap_or_else(|error| panic!("{error}: {text} {told}"));
    for title in
        ["What if (times in microseconds)", "Certificates: the evidence for 2 flows holds", "Simulation: "]
    {
        assert!(page.contains(&format!("<h2>{title}")) && text.contains(title), "{title}: {text}");
    }
    assert!(page.contains("<li>removed T1</li>"), "{page}");
}

#[test]
fn names_are_text_and_nothing_is_loaded() {
    let folder = Folder::new();
    let hostile = "</script><script>alert(1)</script>'\\\" onclick=alert(2) ";
    let text = fs::read_to_string(example("table-two.toml"))
        .unwrap()
        .replace("display", hostile)
        .replace("T1", hostile);
    let net = folder.file("net.toml", &text);
    let (page, report) = shown(&folder, &arguments(&net));
    assert_eq!(report["refused"], 0);
    assert!(page.contains("<svg") && page.contains("1631.312") && page.contains("85.2 %"));
    assert!(page.contains("&lt;script&gt;alert(1)"));
    // Our script, and no element or attribute of theirs.
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert!(!page.contains("\" onclick"), "{page}");
    assert_eq!(page.matches("href=").count(), page.matches("href=\"#").count());
    for forbidden in ["http:", "https:", "src=", "url(", "@import", "NaN", "inf%"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let unwritable = Arguments { html: Some(folder.path("no/page.html")), ..arguments(&net) };
    assert_eq!(run(&unwritable).0, WRONG);
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_plan() {
    let (code, text, told) =
        run(&Arguments { html: Some("/nowhere/p.html".into()), ..arguments(Path::new("/no-network.toml")) });
    assert_eq!((code, text.as_str()), (WRONG, ""));
    assert!(told.starts_with("--html /nowhere/p.html: No such file"), "{told}");
}

/// A network too large for a picture has all of its flows on the page all the same, and nothing there leads to a picture.
#[test]
fn a_large_network_has_a_table_and_no_picture() {
    let folder = Folder::new();
    let mut text = "[[switch-model]]\nname = \"m\"\nports = 400\nqueues = 8\nrate = \"1 Gb/s\"\ngates = {}\n[[switch]]\nname = \"s\"\nmodel = \"m\"\n".to_owned();
    for host in 0..250 {
        text += &format!("[[host]]\nname = \"h{host}\"\n[[link]]\nends = [\"h{host}\", \"s\"]\n");
    }
    for flow in 0..120 {
        text += &format!(
            "[[flow]]\ntopic = \"t{flow}\"\npublisher = \"h{flow}\"\nsize = 100\nseparation = \"20 ms\"\n\
             subscribers = [{{ host = \"h{}\", limit = \"{}\" }}]\n",
            flow + 120,
            if flow % 10 == 0 { "1 us" } else { "5 ms" }
        );
    }
    let net = arguments(&folder.file("net.toml", &text));
    let (page, report) = shown(&folder, &net);
    assert_eq!((run(&net).0, report["refused"].as_u64()), (REFUSED, Some(12)));
    assert_eq!(bodies(&page).len(), 120);
    assert!(
        page.contains("251 nodes are too many for a picture")
            && !page.contains("<svg")
            && !page.contains("href=")
    );
    assert!(page.contains("and 6 more: search"), "{page}");
    assert_eq!(run(&arguments(&example("table-two.toml"))).0, ADMITTED);
}
