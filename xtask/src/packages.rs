//! Crates that programs depend on can be published: described, with the licence, on published crates only, and whole.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::report::{Outcome, Problem};
use crate::tree::{Crate, Need, Tree};

const INCLUDES: [&str; 2] = ["include_str!(\"", "include_bytes!(\""];

/// Checks every crate that says `publish = true`.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let mut problems = Vec::new();
    let published: Vec<&Crate> = tree.crates.iter().filter(|member| member.published).collect();
    for member in &published {
        for key in &member.untold {
            problems.push(Problem::new(
                format!("{}/Cargo.toml", member.folder),
                format!("a published crate without `{key}`"),
                format!("write it, or `{key}.workspace = true`"),
            ));
        }
        let licence = format!("{}/LICENSE", member.folder);
        if tree.files.get("LICENSE").is_none_or(|text| tree.files.get(&licence) != Some(text)) {
            problems.push(Problem::new(
                licence,
                "is not the licence of the repository, which has to come with each published crate",
                "ln -s ../../LICENSE",
            ));
        }
        dependencies(tree, member, &mut problems);
    }
    for (path, text) in tree.rust_files() {
        if let Some(member) = tree.crate_of(path).filter(|member| member.published) {
            includes(member, path, text, &mut problems);
        }
    }
    Outcome { looked_at: format!("{} published crates", published.len()), problems, warnings: Vec::new() }
}

/// What a published crate needs of the workspace is published before it.
fn dependencies(tree: &Tree, member: &Crate, problems: &mut Vec<Problem>) {
    for dependency in member.dependencies.iter().filter(|dependency| dependency.in_workspace) {
        let Some(other) = tree.crates.iter().find(|other| other.name == dependency.name) else { continue };
        let mut wrong = |what: &str, remedy: &str| {
            let place = format!("{}/Cargo.toml", member.folder);
            problems.push(Problem::new(place, format!("`{}` {what}", other.name), remedy));
        };
        match dependency.need {
            Need::Build if !other.published => {
                wrong("is not published, but this crate is", "publish both, or none of them");
            }
            Need::Build if !dependency.versioned => {
                wrong("is asked for without a version", "write its version beside its path in Cargo.toml");
            }
            Need::Tests if dependency.versioned && !other.published => {
                wrong("is not published, and tests ask for a version of it", "name its path alone");
            }
            Need::Tests if dependency.versioned && builds_on(tree, other, &member.name) => {
                wrong(
                    "is published after this crate, and tests ask for a version of it",
                    "name its path alone",
                );
            }
            Need::Build | Need::Tests => {}
        }
    }
}

/// Whether `from` is built with the crate `name`, at whatever distance.
fn builds_on(tree: &Tree, from: &Crate, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut rest = vec![from];
    while let Some(member) = rest.pop() {
        for dependency in member.dependencies.iter().filter(|dependency| dependency.need == Need::Build) {
            if dependency.name == name {
                return true;
            }
            if seen.insert(&dependency.name) {
                rest.extend(tree.crates.iter().find(|other| other.name == dependency.name));
            }
        }
    }
    false
}

/// A package holds the files of its folder alone.
fn includes(member: &Crate, path: &str, text: &str, problems: &mut Vec<Problem>) {
    let depth = path.trim_start_matches(member.folder.as_str()).matches('/').count();
    for (index, line) in text.lines().enumerate() {
        let included = INCLUDES.iter().filter_map(|begin| line.split_once(begin)?.1.split('"').next());
        for file in included.filter(|file| file.matches("../").count() >= depth) {
            problems.push(Problem::new(
                format!("{path}:{}", index + 1),
                format!("`{file}` is outside of the crate, which is published without it"),
                "move the file into the crate",
            ));
        }
    }
}

/// Has cargo put the published crates into packages. In continuous integration each is built from what is in its package, as
/// `cargo publish --workspace --dry-run` does; elsewhere that would take longer than all other checks.
pub(crate) fn pack(root: &Path) -> Outcome {
    let crates = match Tree::load(root) {
        Ok(tree) => tree.crates,
        Err(error) => {
            let problem = Problem::new("the workspace", error, "see what it says");
            return Outcome { problems: vec![problem], ..Outcome::default() };
        }
    };
    let mut args = vec!["package", "--allow-dirty", "--offline", "--locked", "--quiet"];
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), PathBuf::from)
        .join("packing");
    let into = format!("--target-dir={}", target.display());
    args.push(&into);
    if std::env::var_os("CI").is_some() {
        forget_earlier(&target);
    } else {
        args.push("--no-verify");
    }
    let names: Vec<String> = crates
        .iter()
        .filter(|member| member.published)
        .map(|member| format!("--package=punctual-{}", member.name))
        .collect();
    args.extend(names.iter().map(String::as_str));
    crate::cargo::run(root, &args, &[], "mend what cargo names above")
}

/// Removes what an earlier run unpacked and built. Cargo takes a package that it has unpacked once, and what it has built of it,
/// for unchanged as long as the version is the same; the crates here change without a new version.
fn forget_earlier(built: &Path) {
    // What is not there need not be removed, and what cannot be removed shows when cargo builds.
    let _ = std::fs::remove_dir_all(built);
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))) else { return };
    for kept in ["cache", "src"] {
        let registries = std::fs::read_dir(home.join("registry").join(kept));
        for registry in registries.into_iter().flatten().flatten() {
            // The registry that cargo makes for packages that are not published yet has no host, so its name begins so.
            if registry.file_name().to_string_lossy().starts_with('-') {
                let _ = std::fs::remove_dir_all(registry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::tree::Dependency;

    const LIB: &str = "crates/bytes/src/lib.rs";

    fn broken(change: impl FnOnce(&mut Tree)) -> Outcome {
        let mut tree = sample::tree();
        change(&mut tree);
        check(&tree)
    }

    #[test]
    fn the_sample_holds() {
        assert_eq!(check(&sample::tree()).problems, []);
    }

    #[test]
    fn a_crate_that_says_too_little_is_caught() {
        broken(|tree| tree.crates[0].untold.push("readme")).assert_one(&["bytes", "`readme`"]);
        broken(|tree| {
            tree.files.remove("crates/bytes/LICENSE");
        })
        .assert_one(&["crates/bytes/LICENSE"]);
        broken(|tree| {
            tree.files.insert("crates/brain/LICENSE".to_owned(), b"You may not.\n".to_vec());
        })
        .assert_one(&["crates/brain/LICENSE"]);
    }

    #[test]
    fn a_dependency_that_is_not_published_is_caught() {
        broken(|tree| tree.crates[0].published = false).assert_one(&["brain", "`bytes` is not published"]);
        broken(|tree| tree.crates[1].dependencies[0].versioned = false)
            .assert_one(&["brain", "without a version"]);
        broken(|tree| tree.crates[1].dependencies[1].versioned = true).assert_one(&[
            "brain",
            "`support`",
            "tests",
        ]);
    }

    #[test]
    fn tests_that_need_what_is_published_later_are_caught() {
        let back = |versioned| Dependency {
            name: "brain".to_owned(),
            need: Need::Tests,
            in_workspace: true,
            versioned,
        };
        broken(|tree| tree.crates[0].dependencies.push(back(true)))
            .assert_one(&["bytes", "after this crate"]);
        assert_eq!(broken(|tree| tree.crates[0].dependencies.push(back(false))).problems, []);
    }

    #[test]
    fn files_of_elsewhere_are_caught() {
        let with = |path: &str| {
            check(&sample::with(LIB, |text| format!("{text}const T: &str = include_str!(\"{path}\");\n")))
        };
        with("../../brain/x.txt").assert_one(&["lib.rs:6", "outside of the crate"]);
        assert_eq!(with("../x.txt").problems, []);
        assert_eq!(with("x.txt").problems, []);
    }
}
