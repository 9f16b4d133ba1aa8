//! The manual says what happens: its commands are run as they are written, and print what its blocks of text say, numbers aside.
use std::path::Path;
use std::process::Command;

use crate::scene::in_network;

/// Numbers and blanks aside.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    for c in line.chars() {
        let c = if c.is_ascii_digit() || (c.is_ascii_hexdigit() && plain.ends_with('0')) { '0' } else { c };
        if !(matches!(c, '0' | ' ') && plain.ends_with(c)) {
            plain.push(c);
        }
    }
    plain.trim_end().to_owned()
}

#[test]
fn the_commands_of_the_manual_do_what_it_says() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/aaa.md");
    let text = std::fs::read_to_string(manual).unwrap();
    let (mut script, mut expected) = ("set -eu\n".to_owned(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match language {
            "" => script.extend(block.iter().map(|line| format!("{line}\n"))),
            "text" => expected.extend(block),
            "toml" => {}
            other => panic!("a block of `{other}` that no test looks at"),
        }
    }
    in_network(|folder| {
        let program = folder.path().join("punctual");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_punctual-aaa"), program).unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let out = folder.path().join("out");
        let output = std::fs::File::create(&out).unwrap();
        let status = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("PATH", path)
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .status()
            .unwrap();
        let printed = std::fs::read_to_string(&out).unwrap();
        assert!(status.success(), "{status}: {printed}");
        let mut rest = printed.lines().map(plain);
        for line in expected {
            assert!(rest.any(|printed| printed == plain(line)), "not printed: {line}\n{printed}");
        }
    });
}
