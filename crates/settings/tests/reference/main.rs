//! The reference page and the schema are those of the types. With `PUNCTUAL_WRITE=1` the test writes both anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

/// Sections before the tables.
const HEAD: &str = "# What files and variables can say

Generated from the types: `PUNCTUAL_WRITE=1 cargo test --package punctual-settings --features schema --test reference` writes it anew. How it is used: [docs/config.md](config.md). The same for editors and
programs: [docs/config.schema.json](config.schema.json).

";

fn document(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

/// The type that a reference means, or the schema itself.
fn resolved<'s>(schema: &'s Value, of: &'s Value) -> &'s Value {
    let named = of.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    named.map_or(of, |name| &schema["$defs"][name])
}

/// What kind of value it is, in words.
fn kind(schema: &Value, of: &Value) -> String {
    let found = resolved(schema, of);
    if let Some(choices) = found.get("anyOf").or_else(|| found.get("oneOf")).and_then(Value::as_array) {
        let choices: Vec<String> =
            choices.iter().map(|choice| kind(schema, choice)).filter(|kind| kind != "nothing").collect();
        return choices.join(" or ");
    }
    if let Some(choices) = found.get("enum").and_then(Value::as_array) {
        return choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(only) = found.get("const") {
        return format!("`{only}`");
    }
    let ty = match found.get("type") {
        Some(Value::Array(types)) => {
            types.iter().filter_map(Value::as_str).find(|ty| *ty != "null").unwrap_or("any")
        }
        Some(Value::String(ty)) => ty,
        _ => "any",
    };
    match ty {
        "array" => format!("list of {}", kind(schema, &found["items"])),
        "object" => {
            let keys = found["properties"].as_object().into_iter().flatten();
            let keys: Vec<String> = keys.map(|(key, of)| format!("{key} = {}", kind(schema, of))).collect();
            format!("table: {}", keys.join("; "))
        }
        "integer" => "whole number".to_owned(),
        "string" if of.get("$ref").is_some_and(|path| path.as_str().unwrap().ends_with("/Duration")) => {
            "time".to_owned()
        }
        "string" => "text".to_owned(),
        "boolean" => "`true`, `false`".to_owned(),
        "null" => "nothing".to_owned(),
        other => other.to_owned(),
    }
}

/// A table of keys: the description of each, what it can be, its default, its variable.
fn table(schema: &Value, title: &str, path: &str, of: &Value, page: &mut String) {
    let found = resolved(schema, of);
    let variables = settings::variables();
    let description = found["description"].as_str().unwrap_or_default().replace('\n', " ");
    write!(page, "## {title}\n\n{description}\n\n| key | value | default | variable | meaning |\n|---|---|---|---|---|\n").unwrap();
    for (key, of) in found["properties"].as_object().unwrap() {
        let whole = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let inner = resolved(schema, of);
        if path.is_empty() && matches!(key.as_str(), "participant" | "topics") {
            continue;
        }
        let default = of
            .get("default")
            .filter(|default| !default.is_null())
            .map(|default| format!("`{default}`"))
            .unwrap_or_default();
        let variable = variables
            .iter()
            .find(|(_, path)| *path == whole)
            .map(|(name, _)| format!("`{name}`"))
            .unwrap_or_default();
        let meaning =
            of["description"].as_str().or_else(|| inner["description"].as_str()).unwrap_or_default();
        // Names of Rust have no meaning in a file.
        let meaning = meaning.replace('\n', " ").replace('|', "\\|").replace("[`", "`").replace("`]", "`");
        writeln!(
            page,
            "| `{key}` | {} | {default} | {variable} | {meaning} |",
            kind(schema, of).replace('|', "\\|")
        )
        .unwrap();
    }
    page.push('\n');
}

fn page(schema: &Value) -> String {
    let mut page = HEAD.to_owned();
    table(schema, "At the top", "", schema, &mut page);
    let participant = resolved(schema, &schema["properties"]["participant"]);
    for (section, of) in participant["properties"].as_object().unwrap() {
        let path = format!("participant.{section}");
        table(schema, &format!("`[participant.{section}]`"), &path, of, &mut page);
    }
    let rule = &schema["properties"]["topics"]["items"];
    table(schema, "`[[topics]]`", "topics", rule, &mut page);
    let qos = resolved(schema, rule)["properties"]["qos"].clone();
    table(schema, "`[topics.qos]`, `[topics.writer]`, `[topics.reader]`", "topics.qos", &qos, &mut page);
    page.trim_end().to_owned() + "\n"
}

#[test]
fn documents_are_those_of_the_types() {
    let schema = settings::schema();
    let written = [
        ("config.schema.json", serde_json::to_string_pretty(&schema).unwrap() + "\n"),
        ("config-reference.md", page(&schema)),
    ];
    for (name, text) in written {
        if std::env::var_os("PUNCTUAL_WRITE").is_some() {
            std::fs::write(document(name), &text).unwrap();
        }
        let here = std::fs::read_to_string(document(name)).unwrap_or_default();
        let differs = here.lines().zip(text.lines()).find(|(here, text)| here != text);
        assert!(
            here == text,
            "docs/{name} is not that of the types; PUNCTUAL_WRITE=1 writes it anew: {differs:?}"
        );
    }
}

/// All that has a variable is described.
#[test]
fn every_key_is_described() {
    let schema = settings::schema();
    let page = page(&schema);
    for (name, path) in settings::variables() {
        assert!(page.contains(&format!("`{name}`")), "{path}");
    }
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        assert!(!line.ends_with("|  |"), "a key without a description: {line}");
    }
}
