//! Each entity, condition and listener of the public API has an example in its documentation, which `cargo test` compiles.
use crate::report::{Outcome, Problem};
use crate::tree::Tree;

/// Where the public API is.
const FOLDER: &str = "crates/dds/src/";
/// What programs make, wait for, implement or are given, by the ends of the names.
const KINDS: [&str; 8] =
    ["Participant", "Topic", "Publisher", "Subscriber", "Writer", "Reader", "Condition", "Listener"];
/// Shown where they come from or by what they are part of.
const SHOWN_ELSEWHERE: [&str; 6] = [
    "AnyDataReaderListener",
    "AnyDataWriterListener",
    "Condition",
    "DiscoveredParticipant",
    "IgnoredTopic",
    "PublisherListener",
];

/// Checks the public API.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let mut count = 0;
    for (path, text) in tree.rust_files().filter(|(path, _)| path.starts_with(FOLDER)) {
        let mut example = false;
        for (index, line) in text.lines().enumerate() {
            if line.starts_with("///") {
                example |= line.starts_with("/// ```");
                continue;
            }
            if let Some(name) = public(line).filter(|name| KINDS.iter().any(|kind| name.ends_with(kind))) {
                count += 1;
                if !example && !SHOWN_ELSEWHERE.contains(&name) {
                    outcome.problems.push(Problem::new(
                        format!("{path}:{}", index + 1),
                        format!("`{name}` has no example"),
                        "show in its documentation how a program uses it",
                    ));
                }
            }
            // Attributes stand between the documentation and what it is of.
            example &= line.starts_with("#[");
        }
    }
    outcome.looked_at = format!("{count} entities, conditions and listeners");
    outcome
}

/// The name of what a line of code makes public.
fn public(line: &str) -> Option<&str> {
    let rest =
        ["pub struct ", "pub enum ", "pub trait "].iter().find_map(|begin| line.strip_prefix(begin))?;
    rest.split(|c: char| !c.is_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn with(text: &str) -> Outcome {
        check(&sample::with("crates/dds/src/group.rs", |_| format!("//! Groups.\n{text}")))
    }

    #[test]
    fn an_entity_without_an_example_is_caught() {
        with("/// A group.\n#[derive(Debug)]\npub struct Publisher {\n")
            .assert_one(&["group.rs:4", "`Publisher`"]);
        let example = "/// A group.\n/// ```\n/// use it;\n/// ```\n#[derive(Debug)]\n";
        assert_eq!(with(&format!("{example}pub struct Publisher<T> {{\n")).problems, []);
        // That of another one is none of its own.
        with(&format!("{example}pub struct Loan;\n/// B.\npub trait TopicListener {{\n"))
            .assert_one(&["group.rs:9"]);
        assert_eq!(with("pub(crate) struct Publisher;\npub struct AnyDataReaderListener;\n").problems, []);
    }
}
