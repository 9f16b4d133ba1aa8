//! Connections with a limit: verdicts of admit and launch, and what pages show of them.
use crate::{ARM, ARM_TYPES, Folder};

/// The plan of the page, whose chain is taken away, with a limit of its connection.
fn limited(folder: &Folder, latency: &str) {
    let (plan, _) = ARM.split_once("[chain.angle-to-torque]").unwrap();
    // The connection is the last table before.
    folder.has("arm.toml", &format!("{plan}latency = \"{latency}\"\n"));
    folder.has("arm.json", ARM_TYPES);
}

#[test]
fn a_connection_is_admitted_as_the_page_says() {
    let folder = Folder::new();
    limited(&folder, "20 ms");
    let (code, out, told) = folder.deploy("admit {arm.toml}");
    assert_eq!((code, told.as_str()), (0, ""), "{out}");
    let page = include_str!("../../../../docs/components-bounds.md");
    assert!(page.contains(&format!("admit arm.toml\n{out}```")), "{out}");
    folder.deploy("graph {arm.toml} --html {arm.html}");
    let page = std::fs::read_to_string(folder.0.path().join("arm.html")).unwrap();
    assert!(page.contains("All connections with a limit are proved to keep it: 1."), "{page}");
}

/// What is missing, the largest parts of the bound, and changes; a launch is refused with the same.
#[test]
fn a_connection_is_refused() {
    let folder = Folder::new();
    limited(&folder, "1 ms");
    let (code, out, _) = folder.deploy("admit {arm.toml}");
    assert_eq!(code, 1);
    let mut lines = out.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("connection angle to joint.angle: refused: ") && first.ends_with(" are missing"),
        "{out}"
    );
    assert!(lines.next().unwrap().starts_with("  latency: at most "), "{out}");
    assert!(out.contains(" joint.angle: lanes of at least its priority"), "{out}");
    assert!(out.contains("what would admit more:\n  container.arm.lanes."), "{out}");
    let (code, _, told) = folder.deploy("launch {arm.toml}");
    assert!(code == 1 && told.contains(first) && told.contains("nothing was changed"), "{told}");
    folder.deploy("graph {arm.toml} --html {arm.html}");
    let page = std::fs::read_to_string(folder.0.path().join("arm.html")).unwrap();
    assert!(page.contains("Connections: 1 of 1 with a limit are not proved to keep it."), "{page}");
}

/// Without a real-time class there is no bound, and the limit is not kept.
#[test]
fn a_host_without_a_class_has_no_bound() {
    let folder = Folder::new();
    limited(&folder, "1 s");
    let plan = std::fs::read_to_string(folder.0.path().join("arm.toml")).unwrap();
    let (fifo, normal) = (
        "lanes.control = { class = \"fifo\", priority = 40, cores = [1] }",
        "lanes.control = { class = \"normal\", cores = [1] }",
    );
    assert!(plan.contains(fifo));
    folder.has("arm.toml", &plan.replace(fifo, normal));
    let (code, out, _) = folder.deploy("admit {arm.toml}");
    assert!(code == 1 && out.starts_with("connection angle to joint.angle: no bound: host: "), "{out}");
}
