//! docs/plan.md: its examples do what it says.

use std::fs;
use std::path::Path;

use crate::command::{Folder, arguments, example, run};
use plan::{ADMITTED, Arguments, REFUSED, check_models};

/// The blocks of code of the document in a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md");
    let text = fs::read_to_string(path).unwrap();
    let parts = text.split("```").skip(1).step_by(2);
    parts.filter_map(|part| part.strip_prefix(&format!("{language}\n")).map(str::to_owned)).collect()
}

#[test]
fn the_example_gives_what_is_shown() {
    let folder = Folder::new("document");
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
