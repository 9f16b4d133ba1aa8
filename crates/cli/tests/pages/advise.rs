//! `punctual advise`: what docs/advise.md shows, and files that other commands read.
use crate::{Folder, block, run};

const PAGE: &str = include_str!("../../../../docs/advise.md");

#[test]
fn the_page_shows_what_is_advised_and_the_files_are_read_by_others() {
    let folder = Folder::new();
    std::fs::write(folder.join("topics.toml"), block(PAGE, "```toml")).unwrap();
    let (code, out, told) = run(&folder, &["advise", "topics.toml", "--group", "ward"]);
    assert_eq!((code, told.as_str()), (0, ""), "{out}");
    assert_eq!(
        out.trim_end(),
        block(PAGE, "$ punctual advise topics.toml --group ward\n"),
        "the page shows something else"
    );
    let (code, out, told) = run(&folder, &["qos", "check", "ward.xml"]);
    assert_eq!(code, 0, "{out}{told}");
    let (code, out, _) = run(&folder, &["qos", "show", "ward.xml", "ward::alarms", "--topic", "ward/stop"]);
    assert!(code == 0 && out.contains("KEEP_ALL"), "{out}");
    let (code, out, _) = run(&folder, &["advise", "topics.toml", "--json"]);
    assert!(code == 0, "{out}");
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(all[0]["class"], "alarms");

    let wrong =
        block(PAGE, "```toml").replace("stand-by = true", "stand-by = true\nslowest-reader = \"5 s\"");
    std::fs::write(folder.join("topics.toml"), wrong).unwrap();
    std::fs::remove_file(folder.join("ward.xml")).unwrap();
    let (code, out, _) = run(&folder, &["advise", "topics.toml", "--group", "ward"]);
    assert!(code == 1 && out.contains("contradiction X4"), "{out}");
    assert!(!folder.join("ward.xml").exists(), "nothing is written");
    let (code, _, told) = run(&folder, &["advise", "missing.toml"]);
    assert!(code == 2 && told.contains("missing.toml"), "{told}");
    let (code, rules, _) = run(&folder, &["advise", "--rules"]);
    std::fs::write(folder.join("rules.toml"), rules.replace("class = \"alarms\"", "class = \"state\""))
        .unwrap();
    let (_, out, _) = run(&folder, &["advise", "topics.toml", "--with", "rules.toml"]);
    assert!(code == 0 && out.starts_with("ward/stop: state"), "{out}");
}
