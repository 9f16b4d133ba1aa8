//! The keys of files as tables for the documentation, from the same data that reads them.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::format::{MANIFEST, PLAN};
use crate::shape::{Key, Shape};

/// A table that is still to be written: its keys, and how it is called.
type Open = (&'static [Key], String);

/// All keys of plans and manifests, as Markdown.
pub fn reference() -> String {
    let mut out = String::new();
    for (title, keys) in [("Keys of a plan", PLAN), ("Keys of a manifest", MANIFEST)] {
        out.push_str(&format!("## {title}\n\n"));
        let mut written: Vec<Open> = [(keys, "the file".to_string())].into();
        let mut next = 0;
        while let Some((keys, path)) = written.get(next).cloned() {
            next += 1;
            let heading = if path == "the file" { path.clone() } else { format!("`[{path}]`") };
            out.push_str(&format!("### {heading}\n\n| key | value | |\n|---|---|---|\n"));
            for key in keys {
                let value = words(key.shape, &path, key.name, &mut written);
                let about =
                    if key.is_required { format!("required: {}", key.about) } else { key.about.to_string() };
                out.push_str(&format!("| `{}` | {value} | {about} |\n", key.name));
            }
            out.push('\n');
        }
    }
    out.trim_end().to_string() + "\n"
}

/// The kind of a value, in words; notes a table that was not met yet.
fn words(shape: Shape, path: &str, name: &str, written: &mut Vec<Open>) -> String {
    match shape {
        Shape::Text => "text".to_string(),
        Shape::Name => "name".to_string(),
        Shape::Boolean => "`true`, `false`".to_string(),
        Shape::Integer(low, high) => format!("whole number, {low} to {high}"),
        Shape::Number => "number".to_string(),
        Shape::Time => "time".to_string(),
        Shape::Step => "step".to_string(),
        Shape::Choice(choices) => {
            let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            choices.join(", ")
        }
        Shape::List(of) => format!("list: {}", words(*of, path, name, written)),
        Shape::Names(of) | Shape::Texts(of) => {
            format!("for each name: {}", words(*of, path, &format!("{name}.NAME"), written))
        }
        Shape::Any => "anything".to_string(),
        Shape::Table(keys) => {
            // One table may be at several places; it is written once.
            let known = written.iter().find(|(known, _)| core::ptr::eq(known.as_ptr(), keys.as_ptr()));
            let path = known.map(|(_, path)| path.clone()).unwrap_or_else(|| {
                let path = if path == "the file" { name.to_string() } else { format!("{path}.{name}") };
                written.push((keys, path.clone()));
                path
            });
            format!("table, see `[{path}]`")
        }
    }
}
