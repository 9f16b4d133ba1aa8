//! What the documents say about the repository is true: paths exist, decision records are complete.
use std::collections::BTreeSet;

use crate::anchors;
use crate::book;
use crate::quotes;
use crate::report::{Outcome, Problem};
use crate::stops;
use crate::tree::Tree;

const DECISIONS: &str = "docs/decisions/";
const HEADINGS: [&str; 4] = ["Status", "Context", "Decision", "Consequences"];
/// Folders that the build makes, named in documents but not kept.
const MADE: [&str; 4] = ["target/", "fuzz/target/", "fuzz/corpus/", "fuzz/artifacts/"];

/// Checks every Markdown file.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let mut problems = Vec::new();
    let mut count = 0;
    for path in tree.files.keys().filter(|path| path.ends_with(".md")) {
        let Some(text) = tree.text(path) else { continue };
        count += 1;
        for (index, line) in text.lines().enumerate() {
            let missing = code_spans(line)
                .filter(|span| names_missing_path(tree, span))
                .chain(links(line).filter(|target| !link_holds(tree, path, target)));
            for name in missing {
                problems.push(Problem::new(
                    format!("{path}:{}", index + 1),
                    format!("`{name}` is not in the repository"),
                    "name what exists, or write the plan without a path",
                ));
            }
        }
    }
    decisions(tree, &mut problems);
    anchors::check(tree, &mut problems);
    book::check(tree, &mut problems);
    quotes::check(tree, &mut problems);
    stops::check(tree, &mut problems);
    Outcome { looked_at: format!("{count} documents"), problems, warnings: Vec::new() }
}

/// The parts of a line in single backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of links to files of the repository, `[text](target)`, places in the same document included.
pub(crate) fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

fn link_holds(tree: &Tree, document: &str, target: &str) -> bool {
    exists(tree, &target_of(document, target))
}

/// The path that a link in a document leads to.
pub(crate) fn target_of(document: &str, target: &str) -> String {
    let target = target.split('#').next().unwrap_or(target);
    if target.is_empty() {
        return document.to_owned();
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// True for a span that has the form of a path of this repository and does not exist in it.
fn names_missing_path(tree: &Tree, span: &str) -> bool {
    let path = span.split([':', '#']).next().unwrap_or(span).trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    if path.is_empty() || !path.chars().all(plain) || path.contains("..") || path.contains("NNNN") {
        return false;
    }
    if MADE.iter().any(|made| path.starts_with(made.trim_end_matches('/'))) {
        return false;
    }
    let tops: BTreeSet<&str> =
        tree.files.keys().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect();
    let looks_like_path = match path.split_once('/') {
        Some((top, _)) => tops.contains(top),
        None => path.ends_with(".md"),
    };
    looks_like_path && !exists(tree, path)
}

fn exists(tree: &Tree, path: &str) -> bool {
    path.is_empty()
        || tree.files.contains_key(path)
        || tree.files.keys().any(|file| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

fn decisions(tree: &Tree, problems: &mut Vec<Problem>) {
    let records = tree.files.keys().filter_map(|path| Some((path, path.strip_prefix(DECISIONS)?)));
    let mut expected = 1_u32;
    for (path, name) in records {
        let number = name
            .split('-')
            .next()
            .filter(|digits| digits.len() == 4)
            .and_then(|digits| digits.parse::<u32>().ok());
        let Some(number) = number.filter(|_| name.ends_with(".md")) else {
            problems.push(Problem::new(path, "not named like a decision record", "name it NNNN-subject.md"));
            continue;
        };
        if number != expected {
            problems.push(Problem::new(
                path,
                format!("decision {expected:04} is expected here"),
                "number the records without holes and without doubles",
            ));
        }
        expected = number + 1;
        let text = tree.text(path).unwrap_or_default();
        for heading in HEADINGS {
            let found = text
                .lines()
                .any(|line| line.starts_with('#') && line.trim_start_matches('#').trim() == heading);
            if !found {
                problems.push(Problem::new(
                    path,
                    format!("the heading `{heading}` is missing"),
                    "write that part",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn with_line(line: &str) -> Outcome {
        check(&sample::with("ARCHITECTURE.md", |text| format!("{text}{line}\n")))
    }

    #[test]
    fn the_sample_holds() {
        assert_eq!(check(&sample::tree()).problems, []);
    }

    #[test]
    fn paths_that_do_not_exist_are_caught() {
        with_line("It lives in `crates/bytes/src/gone.rs`.").assert_one(&["ARCHITECTURE.md:10", "gone.rs"]);
        with_line("See `docs/gone/`.").assert_one(&["docs/gone/"]);
        with_line("See `GONE.md`.").assert_one(&["GONE.md"]);
        with_line("See [it](docs/gone.md).").assert_one(&["docs/gone.md"]);
    }

    #[test]
    fn other_spans_are_not_paths() {
        for line in
            ["`target/debug/x`", "`and/or`", "`cargo test`", "`crates/*`", "`crates/bytes/src/lib.rs:3`"]
        {
            assert_eq!(with_line(line).problems, [], "{line}");
        }
        assert_eq!(with_line("[a](https://example.org/x) [b](#architecture) [c](docs/)").problems, []);
    }

    #[test]
    fn links_are_relative_to_their_document() {
        let path = "docs/decisions/0001-first.md";
        let good = sample::with(path, |text| format!("{text}[a](0002-crates-and-licences.md#status)\n"));
        assert_eq!(check(&good).problems, []);
        let bad = sample::with(path, |text| format!("{text}[a](../0002-crates-and-licences.md)\n"));
        check(&bad).assert_one(&[path, "../0002-crates-and-licences.md"]);
    }

    #[test]
    fn holes_and_missing_parts_of_decisions_are_caught() {
        let with = |name: &str, text: &str| {
            let mut tree = sample::with("docs/SUMMARY.md", |text| format!("{text}- [x](decisions/{name})\n"));
            tree.files.insert(format!("docs/decisions/{name}"), text.as_bytes().to_vec());
            check(&tree)
        };
        let complete = "## Status\n## Context\n## Decision\n## Consequences\n";
        with("0004-late.md", complete).assert_one(&["0004", "0003 is expected"]);
        with("0003-x.md", &complete.replace("## Decision\n", "")).assert_one(&["0003", "`Decision`"]);
        with("notes.md", complete).assert_one(&["NNNN"]);
    }
}
