//! Verdicts for whole plans.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod assigned;
mod by_hand;
mod connections;
mod judged;
mod kept;
mod modes;
mod written;

use assembly::{Catalogue, Manifest, Plan};
use diagnostics::Source;

/// A plan and its types, with nothing wrong.
pub(crate) fn read(plan: &str, manifest: &str) -> (Plan, Catalogue) {
    let source = Source { file: "plan.toml", text: plan };
    let (read, places) = Plan::read(source).unwrap_or_else(|problems| {
        panic!("{plan}\n{:?}", problems.iter().map(|it| source.show(it)).collect::<Vec<_>>())
    });
    let types = Manifest::read(Source { file: "types.toml", text: manifest });
    let types = types.unwrap_or_else(|problems| panic!("{manifest}\n{problems:#?}"));
    let types = Catalogue::of([("types.toml".to_owned(), types)]).unwrap();
    let problems = read.check(source, &places, &types);
    assert!(
        problems.is_empty(),
        "{plan}\n{:?}",
        problems.iter().map(|it| source.show(it)).collect::<Vec<_>>()
    );
    (read, types)
}
