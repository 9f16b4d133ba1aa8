//! The verbs that build networks: what is wrong with a command line or a file is said before anything is done.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Exit code and everything that was said.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

/// A file that is gone when this is dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("punctual-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn wrong_files_names_and_arguments() {
    let linked = |host: &str| {
        format!(
            "[[switch-model]]\nname = \"plain\"\nports = 8\nqueues = 4\nrate = \"100 Mb/s\"\nqueue-buffer = 400_000\n[[host]]\nname = \"{host}\"\n[[switch]]\nname = \"s\"\n\
             model = \"plain\"\n[[link]]\nends = [\"{host}\", \"s:1\"]\n"
        )
    };
    let network = File::new("good", &linked("a"));
    let slashes = File::new("slashes", &linked("a/b"));
    let wrong = File::new("wrong", "[[host]]\nname = 3\n");
    let good = network.path();
    for (arguments, said) in [
        (&["lab", "up", "/nowhere.toml"][..], "/nowhere.toml: No such file"),
        (&["lab", "up", wrong.path()], ":2:8: invalid type: integer"),
        (&["lab", "up", slashes.path(), "--name", "x"], "the node \"a/b\" cannot be built with that name"),
        (&["lab", "up", good, "--name", "X y"], "\"X y\" is no name for a lab"),
        (&["lab", "down"], "required arguments were not provided"),
        (&["lab", "down", "x", "--all"], "cannot be used with"),
        (&["lab", "run", "x"], "required arguments were not provided"),
        (&["lab", "away"], "unrecognized subcommand 'away'"),
        (&["gate", "serve", "--listen", "127.0.0.1", "--port", "1=p1"], "invalid socket address"),
        (
            &["gate", "serve", "--listen", "127.0.0.1:1", "--port", "p1"],
            "give its number and its interface, as 3=p3",
        ),
        (&["gate", "serve", "--listen", "127.0.0.1:1"], "required arguments were not provided"),
    ] {
        let (code, all) = run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {all}");
        assert!(all.contains(said), "{arguments:?}: {all}");
    }
}

#[test]
fn what_is_not_there() {
    // Without root nothing is looked for.
    let (code, all) = run(&["lab", "down", "no-such-lab"]);
    let expected = match code {
        Some(1) => "there is no lab \"no-such-lab\"",
        _ => "a lab needs root",
    };
    assert!(all.contains(expected), "{all}");
    let (code, all) = run(&["lab", "run", "no-such-lab", "a", "--", "true"]);
    assert_eq!(code, Some(3), "{all}");
}
