//! Small rules that keep the repository readable: sizes, names, module docs, no promises in code, no real time in tests.
use crate::report::{Outcome, Problem};
use crate::source::{code_only, lines_with, split_tests};
use crate::tree::Tree;

/// Lines a Rust file may have.
const MAX_LINES: usize = 800;
/// Lines a Rust file should have at most.
const GOOD_LINES: usize = 500;
/// Where code may sleep, and tests may read the machine's clock: what is about real sockets, threads or measurements.
const REAL_TIME: [&str; 33] = [
    "crates/gateways/",
    "crates/container/",
    "crates/component-server/",
    "crates/deploy/",
    "crates/threads/",
    "crates/wan-server/",
    "crates/ovs-edge/src/execute.rs",
    "crates/udp/",
    "crates/shm/",
    "crates/dds/",
    "crates/experiment/",
    "crates/gate-agent/",
    "crates/lab/",
    "bench/",
    "crates/cli/",
    "crates/compare/",
    "crates/credentials/tests/",
    "crates/controller/",
    "crates/store/",
    "crates/testkit/src/etcd.rs",
    "crates/testkit/src/namespace.rs",
    "crates/testkit/src/patience.rs",
    "crates/forks/",
    "crates/fuzz/",
    "crates/tiers/",
    "crates/attacks/",
    "crates/interop/",
    "crates/page-server/",
    "crates/quality-on-demand/",
    "crates/shapes/",
    "crates/system/",
    "crates/web/",
    "xtask/",
];
/// Binary files that are allowed: a folder and an ending.
const BINARIES: [(&str, &str); 1] = [("crates/wire/tests/golden/", ".pcap")];
/// File names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["common", "util", "utils", "manager", "helpers", "misc"];
/// Words that hide who or what acts, in public comments and in documents.
const NO_ACTORS: [&str; 4] = ["nobody", "somebody", "whoever", "everybody"];
/// The folders of personal machines, in two parts so that this file may hold them.
const PERSONAL: [(&str, &str); 4] = [("/ho", "me/"), ("/ro", "ot/"), ("/wo", "rk/"), ("/Use", "rs/")];

/// Checks every file.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome { looked_at: format!("{} files", tree.files.len()), ..Outcome::default() };
    for (path, contents) in &tree.files {
        let problems = &mut outcome.problems;
        names(path, problems);
        let Ok(text) = std::str::from_utf8(contents).map_err(|_| ()).and_then(no_nul) else {
            binary(path, problems);
            continue;
        };
        personal_paths(path, text, problems);
        actors(path, text, &mut outcome.warnings);
        if path.ends_with(".rs") {
            size(path, text, &mut outcome);
            rust(path, text, &mut outcome.problems);
            includes(path, text, &mut outcome.problems);
        }
    }
    outcome
}

fn no_nul(text: &str) -> Result<&str, ()> {
    if text.contains('\0') { Err(()) } else { Ok(text) }
}

fn names(path: &str, problems: &mut Vec<Problem>) {
    if !path.ends_with(".rs") {
        return;
    }
    if let Some(name) = path.split('/').find(|part| EMPTY_NAMES.contains(&part.trim_end_matches(".rs"))) {
        problems.push(Problem::new(path, format!("`{name}` says nothing"), "name it after what it holds"));
    }
}

fn binary(path: &str, problems: &mut Vec<Problem>) {
    if !BINARIES.iter().any(|(folder, ending)| path.starts_with(folder) && path.ends_with(ending)) {
        problems.push(Problem::new(
            path,
            "a binary file",
            "generate it where it is needed, or add it to `BINARIES` in xtask/src/tidy.rs with a reason",
        ));
    }
}

fn personal_paths(path: &str, text: &str, problems: &mut Vec<Problem>) {
    for (index, line) in text.lines().enumerate() {
        for (first, second) in PERSONAL {
            let folder = format!("{first}{second}");
            // `x/home/` is somebody's relative path, not the folder of a machine.
            let absolute = line.match_indices(&folder).any(|(at, _)| {
                let before = line.get(..at).and_then(|part| part.chars().next_back());
                !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}'))
            });
            if absolute {
                problems.push(Problem::new(
                    format!("{path}:{}", index + 1),
                    format!("the path of one machine, `{folder}`"),
                    "use a path relative to the repository, or a variable",
                ));
            }
        }
    }
}

/// Documentation names those who act. Records of decisions and measurements stay as they were written.
fn actors(path: &str, text: &str, warnings: &mut Vec<String>) {
    let is_record = path.starts_with("docs/decisions/") || path.starts_with("docs/measurements/");
    let is_document = path.ends_with(".md") && !is_record && path != "CHANGELOG.md";
    let is_source = path.ends_with(".rs") && path.contains("/src/");
    if !is_document && !is_source {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        if is_source && !comment.starts_with("///") && !comment.starts_with("//!") {
            continue;
        }
        let word = |word: &str| NO_ACTORS.iter().find(|known| known.eq_ignore_ascii_case(word)).copied();
        if let Some(word) = line.split(|c: char| !c.is_alphanumeric() && c != '_').find_map(word) {
            let place = format!("{path}:{}", index + 1);
            warnings.push(format!(
                "{place} says `{word}`; say which thread, process, participant or person acts"
            ));
        }
    }
}

fn size(path: &str, text: &str, outcome: &mut Outcome) {
    let lines = text.lines().count();
    if lines > MAX_LINES {
        outcome.problems.push(Problem::new(
            path,
            format!("{lines} lines, more than {MAX_LINES}"),
            "split it where two subjects meet",
        ));
    } else if lines > GOOD_LINES {
        outcome.warnings.push(format!("{path} has {lines} lines; files aim at {GOOD_LINES} at most"));
    }
}

fn rust(path: &str, text: &str, problems: &mut Vec<Problem>) {
    if !text.starts_with("//!") {
        problems.push(Problem::new(
            format!("{path}:1"),
            "the file does not begin with a `//!` line",
            "say in one line what it is for",
        ));
    }
    let code = code_only(text);
    for (index, line) in text.lines().enumerate() {
        if [concat!("FIX", "ME"), concat!("XX", "X:"), concat!("TO", "DO")]
            .iter()
            .any(|mark| lines_with(line, mark).next().is_some())
        {
            problems.push(Problem::new(
                format!("{path}:{}", index + 1),
                "a note about unfinished work",
                "finish it, or take it out",
            ));
        }
    }
    for call in ["todo!", "unimplemented!"] {
        for line in lines_with(&code, call) {
            problems.push(Problem::new(
                format!("{path}:{line}"),
                format!("`{call}` in the code"),
                "write it, or return an error",
            ));
        }
    }
    if REAL_TIME.iter().any(|folder| path.starts_with(folder)) {
        return;
    }
    let sleeps = lines_with(&code, "thread::sleep").map(|line| (line, "thread::sleep"));
    let (_, tests, _) = split_tests(&code);
    let tests = if path.contains("/tests/") { &code } else { &tests };
    let clocks = ["Instant::now", "SystemTime::now"];
    let clocks = clocks.iter().flat_map(|call| lines_with(tests, call).map(move |line| (line, *call)));
    for (line, call) in sleeps.chain(clocks) {
        problems.push(Problem::new(
            format!("{path}:{line}"),
            format!("`{call}` where time is an argument"),
            "let the test decide what time it is; real time belongs to the crates listed in xtask/src/tidy.rs",
        ));
    }
}

/// `#[path]` stays in its crate: what crates share is a crate, and an arrow of the table.
fn includes(path: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    for (index, line) in text.lines().enumerate() {
        let Some((included, _)) =
            line.trim_start().strip_prefix("#[path = \"").and_then(|rest| rest.split_once('"'))
        else {
            continue;
        };
        // Two of them are those of the crate.
        let up = included.split('/').take_while(|part| *part == "..").count();
        if folders.len() < up + 2 {
            problems.push(Problem::new(
                format!("{path}:{}", index + 1),
                format!("`{included}` is outside of the crate"),
                "put what tests of several crates need into crates/testkit",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const LIB: &str = "crates/bytes/src/lib.rs";

    fn append(line: &str) -> Tree {
        sample::with(LIB, |text| format!("{text}{line}\n"))
    }

    #[test]
    fn the_sample_holds() {
        let outcome = check(&sample::tree());
        assert_eq!((outcome.problems, outcome.warnings), (Vec::new(), Vec::new()));
    }

    #[test]
    fn words_without_an_actor_are_warned_about() {
        let warned = |tree: &Tree| check(tree).warnings;
        let warnings = warned(&append("/// Nobody reads it."));
        assert!(warnings.len() == 1 && warnings[0].contains("lib.rs:6 says `nobody`"), "{warnings:?}");
        assert_eq!(warned(&append("const BODY: &str = \"nobody\";")), Vec::<String>::new());
        let document = |path: &str| sample::with(path, |_| "# Title\n\nWhoever reads it.\n".to_owned());
        assert_eq!(warned(&document("docs/new.md")).len(), 1);
        assert_eq!(warned(&document("docs/decisions/0001-new.md")), Vec::<String>::new());
    }

    #[test]
    fn long_files_are_warned_about_and_then_caught() {
        let lines = |count: usize| sample::with(LIB, |text| text.to_owned() + &"\n".repeat(count));
        assert_eq!(check(&lines(GOOD_LINES)).warnings.len(), 1);
        assert_eq!(check(&lines(GOOD_LINES)).problems, []);
        check(&lines(MAX_LINES)).assert_one(&[LIB, "800"]);
    }

    #[test]
    fn missing_module_docs_are_caught() {
        check(&sample::with("crates/bytes/src/new.rs", |_| "pub struct New;\n".to_owned()))
            .assert_one(&["new.rs:1", "`//!`"]);
    }

    #[test]
    fn unfinished_work_is_caught_in_code_and_in_comments() {
        check(&append("fn f() { todo!() }")).assert_one(&["lib.rs:6", "`todo!`"]);
        check(&append("fn f() { unimplemented!() }")).assert_one(&["`unimplemented!`"]);
        check(&append(concat!("// FIX", "ME later"))).assert_one(&["lib.rs:6", "unfinished"]);
        assert_eq!(check(&append("const WORD: &str = \"todo!\";")).problems, []);
    }

    #[test]
    fn real_time_is_caught_in_tests_and_allowed_where_it_belongs() {
        let test = "#[cfg(test)]\nmod tests { fn f() { std::time::Instant::now(); } }";
        check(&append(test)).assert_one(&["lib.rs:7", "Instant::now"]);
        check(&append("fn f() { std::thread::sleep(x) }")).assert_one(&["thread::sleep"]);
        let tree =
            sample::with("crates/bytes/tests/t.rs", |_| "//! T.\nfn f() { SystemTime::now() }\n".to_owned());
        check(&tree).assert_one(&["t.rs:2", "SystemTime::now"]);
        let text = "//! T.\nfn f() { Instant::now(); thread::sleep(x) }\n";
        assert_eq!(check(&sample::with("crates/udp/tests/t.rs", |_| text.to_owned())).problems, []);
    }

    #[test]
    fn paths_of_one_machine_are_caught() {
        check(&append(concat!("// see /ho", "me/me/notes"))).assert_one(&["lib.rs:6", "one machine"]);
        assert_eq!(check(&append(concat!("// see ours/ho", "me/notes"))).problems, []);
    }

    #[test]
    fn files_of_other_crates_are_not_included() {
        let tree = |included: &str| {
            let text = format!("//! T.\n#[path = \"{included}\"]\nmod other;\n");
            sample::with("crates/bytes/tests/parts/t.rs", |_| text)
        };
        assert_eq!(check(&tree("../other/mod.rs")).problems, []);
        assert_eq!(check(&tree("../../src/other.rs")).problems, []);
        check(&tree("../../../brain/tests/other.rs")).assert_one(&["t.rs:2", "outside of the crate"]);
    }

    #[test]
    fn binaries_are_caught_apart_from_captures() {
        let mut tree = sample::tree();
        tree.files.insert("crates/wire/tests/golden/a.pcap".to_owned(), vec![0xd4, 0xc3, 0]);
        assert_eq!(check(&tree).problems, []);
        tree.files.insert("docs/a.png".to_owned(), vec![0x89, 0]);
        check(&tree).assert_one(&["docs/a.png", "binary"]);
    }

    #[test]
    fn names_that_say_nothing_are_caught() {
        check(&sample::with("crates/bytes/src/util/mod.rs", |_| "//! X.\n".to_owned()))
            .assert_one(&["`util`"]);
        check(&sample::with("crates/bytes/tests/common.rs", |_| "//! X.\n".to_owned()))
            .assert_one(&["`common.rs`"]);
    }
}
