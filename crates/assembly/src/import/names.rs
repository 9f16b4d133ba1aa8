//! Names of descriptors as names of plans: other characters become `-`, and equal names get numbers.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};

/// Names that were made, by kind.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeMap<&'static str, BTreeSet<String>>,
}

/// The longest name that is made, so that a number fits behind it.
const LONGEST: usize = 48;

/// A name of the characters of a text; the same for the same text.
pub(super) fn plain(text: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name: String =
        text.trim().chars().take(LONGEST).map(|c| if is_of_name(c) { c } else { '-' }).collect();
    if name.is_empty() { "unnamed".to_string() } else { name }
}

impl Names {
    /// Nothing gets this name any more.
    pub(super) fn reserve(&mut self, kind: &'static str, name: &str) {
        self.taken.entry(kind).or_default().insert(name.to_string());
    }

    /// A name that nothing of its kind has yet.
    pub(super) fn fresh(&mut self, kind: &'static str, text: &str) -> String {
        let taken = self.taken.entry(kind).or_default();
        let name = plain(text);
        let mut candidate = name.clone();
        let mut number = taken.len();
        // One of so many numbers is free, and equal names are rare.
        while !taken.insert(candidate.clone()) {
            number += 1;
            candidate = format!("{name}-{number}");
        }
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_different() {
        let mut names = Names::default();
        let made = ["a b", "a.b", "a-b", "", "é"].map(|text| names.fresh("x", text));
        assert_eq!(made, ["a-b", "a-b-2", "a-b-3", "unnamed", "-"]);
        assert_eq!(names.fresh("y", "a b"), "a-b");
        assert!(
            made.iter().chain([&names.fresh("x", &"z".repeat(999))]).all(|name| crate::shape::is_name(name))
        );
    }
}
