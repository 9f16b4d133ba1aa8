//! docs/plan.md: its examples do what it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::command::{Folder, arguments, example, json, run};
use network::check_models;
use plan::{ADMITTED, Arguments, REFUSED};

/// The blocks of code of the document in a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md");
    let text = fs::read_to_string(path).unwrap();
    let parts = text.split("```").skip(1).step_by(2);
    parts.filter_map(|part| part.strip_prefix(&format!("{language}\n")).map(str::to_owned)).collect()
}

#[test]
fn the_example_gives_what_is_shown() {
    let folder = Folder::new();
    let (files, shown) = (blocks("toml"), blocks("text"));
    let net = arguments(&folder.file("net.toml", &files[0]));
    assert_eq!(run(&net), (REFUSED, shown[0].clone(), String::new()));
    let explain = Arguments { explain: Some("sensor/pulse".to_owned()), ..net.clone() };
    assert_eq!(run(&explain).1, shown[1]);
    let (code, out, told) = run(&Arguments { what_if: Some(folder.file("if.toml", &files[1])), ..net });
    assert_eq!(code, REFUSED, "{told}");
    assert!(out.contains("removed sensor/pulse") && out.contains("added sensor/alarm"), "{out}");
    assert_eq!((files.len(), shown.len()), (2, 2));
}

#[test]
fn the_model_in_xml_is_read() {
    check_models("docs/plan.md", &blocks("xml")[0]).unwrap();
}

/// Those that show a refusal are named, the others are admitted.
#[test]
fn shipped_networks_are_admitted() {
    let refused = ["figure-one.toml", "table-two-meters.toml"].map(example);
    for entry in fs::read_dir(example("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let expected = if refused.contains(&path) { REFUSED } else { ADMITTED };
            assert_eq!(run(&arguments(&path)).0, expected, "{path:?}");
        }
    }
}

/// The table of assumptions has all that reports name.
#[test]
fn assumptions_are_in_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path.join("../../docs/plan.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let known: Vec<&str> =
        rows.flat_map(|names| names.split(',')).map(|name| name.trim().trim_matches('`')).collect();
    let mut named = BTreeSet::new();
    for folder in [example(""), path.join("tests/networks")] {
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "toml") {
                let (_, report) = json(&arguments(&file));
                for entry in report["assumptions"].as_array().unwrap() {
                    let id = entry["id"].as_str().unwrap().to_owned();
                    assert!(known.contains(&id.as_str()), "{id} of {file:?}");
                    named.insert(id);
                }
            }
        }
    }
    assert!(named.len() >= 16, "{named:?}");
}
