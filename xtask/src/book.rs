//! The book of documents: its contents, docs/SUMMARY.md, name each document once, and no document leads out of the book.
use std::collections::BTreeMap;

use crate::documents::{links, target_of};
use crate::report::Problem;
use crate::tree::Tree;

const FOLDER: &str = "docs/";
/// The contents, as mdBook reads them.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Checks the contents, and the links of what they name.
pub(crate) fn check(tree: &Tree, problems: &mut Vec<Problem>) {
    let Some(contents) = tree.text(CONTENTS) else {
        problems.push(Problem::new(CONTENTS, "is missing", "list the documents there"));
        return;
    };
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (index, line) in contents.lines().enumerate() {
        for link in links(line) {
            let path = target_of(CONTENTS, link);
            if let Some(earlier) = named.insert(path, index + 1) {
                problems.push(Problem::new(
                    format!("{CONTENTS}:{}", index + 1),
                    format!("`{link}` is in line {earlier} too"),
                    "name it once",
                ));
            }
        }
    }
    for path in tree.files.keys().filter(|path| path.starts_with(FOLDER) && path.ends_with(".md")) {
        if path == CONTENTS {
            continue;
        }
        if !named.contains_key(path) {
            problems.push(Problem::new(
                path,
                format!("is not in {CONTENTS}"),
                "name it there, under its kind: tutorial, how-to, reference, explanation or measurement",
            ));
        }
        for (index, line) in tree.text(path).unwrap_or_default().lines().enumerate() {
            for link in links(line).filter(|link| !target_of(path, link).starts_with(FOLDER)) {
                problems.push(Problem::new(
                    format!("{path}:{}", index + 1),
                    format!("the link `{link}` leads out of the book"),
                    "name the file in backticks, with its path from the root",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Outcome;
    use crate::{documents, sample};

    fn with(path: &str, change: impl FnOnce(&str) -> String) -> Outcome {
        documents::check(&sample::with(path, change))
    }

    #[test]
    fn each_document_is_in_the_contents_once() {
        let line = "- [First](decisions/0001-first.md)\n";
        with(CONTENTS, |text| text.replace(line, ""))
            .assert_one(&["0001-first.md", "not in docs/SUMMARY.md"]);
        with(CONTENTS, |text| format!("{text}{line}")).assert_one(&["docs/SUMMARY.md:5", "line 3"]);
        with("docs/new.md", |_| "# New\n".to_owned()).assert_one(&["docs/new.md"]);
        let mut tree = sample::tree();
        tree.files.remove(CONTENTS);
        documents::check(&tree).assert_one(&[CONTENTS, "missing"]);
    }

    #[test]
    fn links_out_of_the_book_are_caught() {
        with("docs/decisions/0001-first.md", |text| format!("{text}[x](../../ARCHITECTURE.md)\n"))
            .assert_one(&["0001-first.md:11", "out of the book"]);
    }
}
