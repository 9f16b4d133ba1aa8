//! What the crate does with whole files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod checking;
mod derived;
mod documented;
mod importing;
mod keeping;
mod layered;
mod programs;
mod properties;
mod random;
mod reading;
mod required;
mod suspending;

use assembly::{Catalogue, Manifest, Places, Plan};
use diagnostics::Source;

/// A plan that is right.
pub(crate) const TRACKER: &str = include_str!("../../plans/tracker.toml");
/// The types of its components.
pub(crate) const TYPES: &str = include_str!("../../plans/tracker.json");

/// The plan of a text, and its places.
pub(crate) fn plan(text: &str) -> (Plan, Places) {
    Plan::read(Source { file: "plan.toml", text }).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// What is wrong with a text, as people see it.
pub(crate) fn told(text: &str) -> String {
    let source = Source { file: "plan.toml", text };
    let problems = Plan::read(source).err().unwrap_or_default();
    problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
}

/// The types of a manifest.
pub(crate) fn catalogue(text: &str) -> Catalogue {
    let manifest = Manifest::read(Source { file: "types.json", text });
    Catalogue::of([("types.json".to_owned(), manifest.unwrap_or_else(|problems| panic!("{problems:#?}")))])
        .unwrap()
}
