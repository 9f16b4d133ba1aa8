//! The tutorials say what happens: each block of commands is run as it is written, and prints what the blocks of text say, numbers aside.
//! Programs are those that the tests were built with, so that `cargo build` has nothing to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod demonstration;
mod lan;
mod latency;
mod terminal;

use std::path::{Path, PathBuf};

use terminal::Terminal;
use testkit::namespace::{alone, bare};

/// What a tutorial has in blocks of code that are no files.
#[derive(PartialEq, Eq, Debug)]
enum Block {
    /// To be typed.
    Commands(String),
    /// What is printed.
    Printed(String),
}

/// The blocks of a tutorial. Those of other languages are files, which `cargo xtask documents` compares.
fn blocks(tutorial: &str) -> Vec<Block> {
    let path = repository().join("docs/tutorial").join(tutorial);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let inside: String =
            lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        match language {
            "" => blocks.push(Block::Commands(inside)),
            "text" => blocks.push(Block::Printed(inside)),
            "rust" | "toml" => {}
            other => panic!("{tutorial}: a block of `{other}` that no test looks at"),
        }
    }
    blocks
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder like the root of the repository after a build: `target/debug` is where the tests were built. `None` if the examples were
/// not, as in tests of this package alone, which is said.
fn root(name: &str) -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap();
    if !built.join("examples/pulse_reader").exists() {
        assert!(std::env::var_os("CI").is_none(), "the examples are not built");
        eprintln!("passed over: cargo build --package punctual-dds --examples");
        return None;
    }
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(root.join("target")).unwrap();
    std::os::unix::fs::symlink(built, root.join("target/debug")).unwrap();
    for folder in ["docs", "crates"] {
        std::os::unix::fs::symlink(repository().join(folder), root.join(folder)).unwrap();
    }
    Some(root)
}

/// Runs all commands of a tutorial in one terminal, and these after them; it has to print all that the tutorial shows.
fn in_one_terminal(tutorial: &str, after: &str) {
    let Some(root) = root(tutorial) else { return };
    let blocks = blocks(tutorial);
    let commands: String = blocks
        .iter()
        .map(|block| if let Block::Commands(text) = block { text.as_str() } else { "" })
        .collect();
    let mut terminal = Terminal::new(&root, &(commands + after));
    for block in &blocks {
        if let Block::Printed(text) = block {
            terminal.shows(text);
        }
    }
    terminal.ends();
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn hello_says_hello() {
    // It makes a network of its own.
    bare(|| in_one_terminal("hello.md", ""));
}

#[test]
fn three_domains_reserve_refuse_and_go_on() {
    // It makes a network of its own.
    bare(|| in_one_terminal("../wan.md", ""));
}

#[test]
fn a_client_over_http_opens_extends_and_ends_a_session() {
    // It makes a network of its own.
    bare(|| in_one_terminal("../quality-on-demand.md", ""));
}

#[test]
fn two_sites_are_joined_by_zenoh() {
    // It makes a network of its own.
    bare(|| in_one_terminal("../zenoh.md", ""));
}

#[test]
fn late_joiners_get_what_was_kept() {
    alone(|| in_one_terminal("qos.md", "kill $!\n"));
}
