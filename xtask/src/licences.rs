//! Third-party crates: each has a licence we can pass on, and each one we chose is explained in a decision record.
use std::collections::BTreeSet;

use crate::report::{Outcome, Problem};
use crate::tree::Tree;

/// The end of the name of the record that lists the crates.
const RECORD: &str = "-crates-and-licences.md";
/// Licences (SPDX) that allow us to pass the code on under Apache-2.0.
const GOOD: [&str; 12] = [
    "Apache-2.0",
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unlicense",
    "Unicode-3.0",
    "CC0-1.0",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
];
/// A package with another licence, which a decision record lets in: whose conditions are of its own files, and which one program alone links.
const EXCEPTIONS: [(&str, &str); 1] = [("option-ext", "MPL-2.0")];

/// Checks every package from elsewhere.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let mut problems = Vec::new();
    for package in &tree.third_party {
        let is_exception = EXCEPTIONS.contains(&(package.name.as_str(), package.licence.as_str()));
        if !is_exception && !is_good(&package.licence) {
            problems.push(Problem::new(
                &package.name,
                format!("its licence `{}` is not one we pass on", package.licence),
                "use another crate",
            ));
        }
    }
    let record = tree.files.keys().find(|path| path.starts_with("docs/decisions/") && path.ends_with(RECORD));
    let text = record.and_then(|path| tree.text(path)).unwrap_or_default();
    let chosen: BTreeSet<&str> = tree
        .crates
        .iter()
        .flat_map(|member| &member.dependencies)
        .filter(|dependency| !dependency.in_workspace)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let listed: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for name in chosen.difference(&listed) {
        problems.push(Problem::new(
            *name,
            format!("a crate of the workspace uses it, and no decision record NNNN{RECORD} has a row for it"),
            "add a row with reason, licence and upkeep",
        ));
    }
    for name in listed.difference(&chosen) {
        problems.push(Problem::new(
            record.map_or(RECORD, String::as_str),
            format!("it lists `{name}`, which no crate of the workspace uses"),
            "remove the row",
        ));
    }
    let looked_at =
        format!("{} crates from elsewhere, {} of them chosen", tree.third_party.len(), chosen.len());
    Outcome { looked_at, problems, warnings: Vec::new() }
}

/// True if an SPDX expression can be met with good licences. `WITH` binds closest, then `AND`, then `OR`.
fn is_good(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest).is_some_and(|good| good && rest.is_empty())
}

fn any(words: &mut &[&str]) -> Option<bool> {
    let mut good = all(words)?;
    while let Some(("OR", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        good |= all(words)?;
    }
    Some(good)
}

fn all(words: &mut &[&str]) -> Option<bool> {
    let mut good = one(words)?;
    while let Some(("AND", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        good &= one(words)?;
    }
    Some(good)
}

fn one(words: &mut &[&str]) -> Option<bool> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    if *first == "(" {
        let good = any(words)?;
        let (closing, rest) = words.split_first()?;
        *words = rest;
        return (*closing == ")").then_some(good);
    }
    // An exception only adds permissions.
    if let ["WITH", _, rest @ ..] = *words {
        *words = rest;
    }
    Some(GOOD.contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::tree::{Dependency, Need};

    #[test]
    fn the_sample_holds() {
        assert_eq!(check(&sample::tree()).problems, []);
    }

    #[test]
    fn a_licence_we_cannot_pass_on_is_caught() {
        let mut tree = sample::tree();
        tree.third_party[0].licence = "GPL-3.0-only".to_owned();
        check(&tree).assert_one(&["left-pad", "GPL-3.0-only"]);
    }

    #[test]
    fn expressions_are_understood() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-2.0 OR MIT",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(is_good(good), "{good}");
        }
        for bad in
            ["", "GPL-2.0", "MIT AND GPL-2.0", "(MIT", "MIT MIT", "MIT OR", "(GPL-2.0 OR AGPL-3.0) AND MIT"]
        {
            assert!(!is_good(bad), "{bad}");
        }
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_caught() {
        let mut tree = sample::tree();
        tree.crates[1].dependencies.push(Dependency {
            name: "right-pad".to_owned(),
            need: Need::Tests,
            in_workspace: false,
            versioned: true,
        });
        check(&tree).assert_one(&["right-pad", "no decision record"]);

        let mut tree = sample::tree();
        tree.crates[0].dependencies.clear();
        check(&tree).assert_one(&["crates-and-licences", "`left-pad`"]);
    }
}
