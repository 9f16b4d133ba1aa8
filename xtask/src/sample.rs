//! A small repository in which every check holds; the tests of the checks break it in one place at a time.
use crate::tree::{Crate, Dependency, Need, ThirdParty, Tree};

const ARCHITECTURE: &str = "\
# Architecture
The words live in `crates/bytes/src/lib.rs`, decisions in [decisions](docs/decisions/0001-first.md).

| crate | kind | may depend on | tests may use | one line |
|---|---|---|---|---|
| `bytes` | pure | nothing | nothing | words |
| `brain` | pure | `bytes` | `support` | behaviour |
| `socket` | leaf-unsafe | nothing | nothing | sockets |
| `support` | test | nothing | nothing | for tests |
";

const CONTENTS: &str = "\
# Contents

- [First](decisions/0001-first.md)
- [Crates](decisions/0002-crates-and-licences.md)
";
const PURE: &str = "//! Pure.\n#![no_std]\n#![forbid(unsafe_code)]\n\nextern crate alloc;\n";
const BRAIN_TESTS: &str = "#[cfg(test)]\nmod tests {\n    extern crate std;\n    use std::vec;\n}\n";
const DECISION: &str = "# 1. First\n\n## Status\nx\n## Context\nx\n## Decision\nx\n## Consequences\nx\n";
const CRATES: &str = "| crate | licence |\n|---|---|\n| `left-pad` | MIT |\n";

/// The repository.
pub(crate) fn tree() -> Tree {
    let files = [
        ("ARCHITECTURE.md", ARCHITECTURE.to_owned()),
        ("docs/decisions/0001-first.md", DECISION.to_owned()),
        ("docs/decisions/0002-crates-and-licences.md", format!("{DECISION}{CRATES}")),
        ("docs/SUMMARY.md", CONTENTS.to_owned()),
        ("LICENSE", "You may.\n".to_owned()),
        ("crates/bytes/LICENSE", "You may.\n".to_owned()),
        ("crates/brain/LICENSE", "You may.\n".to_owned()),
        ("crates/bytes/src/lib.rs", PURE.to_owned()),
        ("crates/brain/src/lib.rs", format!("{PURE}{BRAIN_TESTS}")),
        ("crates/socket/src/lib.rs", "//! Sockets.\npub fn f() { unsafe {} }\n".to_owned()),
        ("crates/support/src/lib.rs", "//! Support.\n".to_owned()),
    ];
    let member = |name: &str, dependencies: Vec<Dependency>| Crate {
        name: name.to_owned(),
        folder: format!("crates/{name}"),
        dependencies,
        published: matches!(name, "bytes" | "brain"),
        untold: Vec::new(),
    };
    let dependency = |name: &str, need: Need, in_workspace: bool| Dependency {
        name: name.to_owned(),
        need,
        in_workspace,
        versioned: need == Need::Build,
    };
    Tree {
        files: files.into_iter().map(|(path, text)| (path.to_owned(), text.into_bytes())).collect(),
        crates: vec![
            member("bytes", vec![dependency("left-pad", Need::Build, false)]),
            member(
                "brain",
                vec![dependency("bytes", Need::Build, true), dependency("support", Need::Tests, true)],
            ),
            member("socket", Vec::new()),
            member("support", Vec::new()),
        ],
        third_party: vec![ThirdParty {
            name: "left-pad".to_owned(),
            licence: "MIT OR Apache-2.0".to_owned(),
        }],
    }
}

/// The repository with one file (made if it is not there) changed by `change`, which must change it.
pub(crate) fn with(path: &str, change: impl FnOnce(&str) -> String) -> Tree {
    let mut tree = tree();
    let before = tree.text(path).unwrap_or_default().to_owned();
    let after = change(&before);
    assert_ne!(before, after, "the change of {path} changes nothing");
    tree.files.insert(path.to_owned(), after.into_bytes());
    tree
}
