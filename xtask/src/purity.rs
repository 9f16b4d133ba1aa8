//! The purity line: pure crates are `no_std` without `unsafe`, and only leaf crates say `unsafe` at all.
use crate::arrows::{self, Kind};
use crate::report::{Outcome, Problem};
use crate::source::{code_only, lines_with, split_tests};
use crate::tree::{Crate, Tree};

/// Checks every crate of the tree.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let mut problems = Vec::new();
    let mut pure = 0;
    for member in &tree.crates {
        // A crate without a kind is reported by the arrows; here it gets the rules of most crates.
        let kind = arrows::kind_of(tree, &member.name);
        if kind != Some(Kind::LeafUnsafe) {
            says_no_unsafe(tree, member, &mut problems);
        }
        if kind == Some(Kind::Pure) {
            pure += 1;
            is_pure(tree, member, &mut problems);
        }
    }
    Outcome {
        looked_at: format!("{pure} pure crates of {}", tree.crates.len()),
        problems,
        warnings: Vec::new(),
    }
}

fn says_no_unsafe(tree: &Tree, member: &Crate, problems: &mut Vec<Problem>) {
    for (path, text) in files_of(tree, member) {
        for line in lines_with(&code_only(text), "unsafe") {
            problems.push(Problem::new(
                format!("{path}:{line}"),
                "`unsafe` outside a crate of kind leaf-unsafe",
                "use a safe way, or move it into a leaf crate that hides it behind a safe function",
            ));
        }
    }
}

fn is_pure(tree: &Tree, member: &Crate, problems: &mut Vec<Problem>) {
    let root = format!("{}/src/lib.rs", member.folder);
    let code = code_only(tree.text(&root).unwrap_or_default());
    for attribute in ["#![no_std]", "#![forbid(unsafe_code)]"] {
        if !code.lines().any(|line| line.trim() == attribute) {
            problems.push(Problem::new(
                &root,
                format!("a pure crate without `{attribute}`"),
                "write it below the documentation of the crate",
            ));
        }
    }
    let sources = format!("{}/src/", member.folder);
    let files: Vec<_> = files_of(tree, member)
        .filter(|(path, _)| path.starts_with(&sources))
        .map(|(path, text)| (path, split_tests(&code_only(text))))
        .collect();
    let test_modules: Vec<String> =
        files.iter().flat_map(|(path, parts)| module_paths(path, &parts.2)).collect();
    for (path, (built, _, _)) in &files {
        let stem = path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        if test_modules.iter().any(|module| stem == module || stem.starts_with(&format!("{module}/"))) {
            continue;
        }
        for words in ["extern crate std", "std::"] {
            for line in lines_with(built, words) {
                problems.push(Problem::new(
                    format!("{path}:{line}"),
                    format!("`{words}` in a pure crate"),
                    "use core or alloc; time, randomness and bytes come in as arguments",
                ));
            }
        }
    }
}

/// Where the modules that a file declares have their files, without `.rs`.
fn module_paths(path: &str, names: &[String]) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let base = match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", file.trim_end_matches(".rs")),
    };
    names.iter().map(|name| format!("{base}/{name}")).collect()
}

fn files_of<'a>(tree: &'a Tree, member: &'a Crate) -> impl Iterator<Item = (&'a str, &'a str)> {
    tree.rust_files().filter(|(path, _)| tree.crate_of(path).is_some_and(|owner| owner.name == member.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const LIB: &str = "crates/bytes/src/lib.rs";

    #[test]
    fn the_sample_holds() {
        assert_eq!(check(&sample::tree()).problems, []);
    }

    #[test]
    fn a_missing_attribute_is_caught_also_if_a_comment_names_it() {
        check(&sample::with(LIB, |text| text.replace("#![no_std]", "// #![no_std]")))
            .assert_one(&[LIB, "`#![no_std]`"]);
        check(&sample::with(LIB, |text| text.replace("#![forbid(unsafe_code)]", "#![deny(unsafe_code)]")))
            .assert_one(&[LIB, "forbid"]);
    }

    #[test]
    fn std_in_a_pure_crate_is_caught() {
        check(&sample::with(LIB, |text| format!("{text}extern crate std;\n")))
            .assert_one(&["lib.rs:6", "extern crate std"]);
        check(&sample::with("crates/bytes/src/clock.rs", |_| {
            "//! Clock.\nfn now() { std::time::Instant::now(); }\n".to_owned()
        }))
        .assert_one(&["clock.rs:2", "std::"]);
    }

    #[test]
    fn std_in_test_modules_is_allowed_also_in_files_of_their_own() {
        let mut tree = sample::with(LIB, |text| format!("{text}#[cfg(test)]\nmod far;\n"));
        tree.files.insert("crates/bytes/src/far.rs".to_owned(), b"//! Tests.\nuse std::vec;\n".to_vec());
        assert_eq!(check(&tree).problems, []);
    }

    #[test]
    fn unsafe_is_caught_in_every_kind_but_one() {
        check(&sample::with("crates/support/tests/x.rs", |_| "//! X.\nunsafe fn f() {}\n".to_owned()))
            .assert_one(&["crates/support/tests/x.rs:2", "unsafe"]);
    }
}
