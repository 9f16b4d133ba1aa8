//! `punctual advise`: what docs/advise.md shows, and files that other commands read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/advise.md");

fn run(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The block of the page that begins with this line.
fn block(fence: &str) -> &'static str {
    let after = PAGE.split_once(fence).unwrap_or_else(|| panic!("no {fence}")).1;
    after.split_once("\n```").unwrap().0.trim_start_matches('\n')
}

#[test]
fn the_page_shows_what_is_advised_and_the_files_are_read_by_others() {
    let folder = std::env::temp_dir().join(format!("punctual-advise-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("topics.toml"), block("```toml")).unwrap();
    let (code, out, told) = run(&folder, &["advise", "topics.toml", "--group", "ward"]);
    assert_eq!((code, told.as_str()), (0, ""), "{out}");
    assert_eq!(
        out.trim_end(),
        block("$ punctual advise topics.toml --group ward\n"),
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

    let wrong = block("```toml").replace("stand-by = true", "stand-by = true\nslowest-reader = \"5 s\"");
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
    std::fs::remove_dir_all(folder).unwrap();
}
