//! Which test saw each mistake last: it is asked first, and a whole run takes the less time for it.
//!
//! A record decides nothing. Where the test that it names does not fail, all others are asked as if there were none.
use std::collections::BTreeMap;

/// The file, in the repository: a line for each mistake that was seen, in the order of the lists.
pub(crate) const FILE: &str = "xtask/src/mutants/seen.txt";

/// What is on top of the file.
const HEAD: &str = "# Which test saw each mistake last, written by `cargo xtask mutants`: the mistake | the program | the tier | the test\n";

/// A test that has seen a mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The arguments of cargo that run its program.
    pub(crate) program: String,
    /// How much it tries.
    pub(crate) tier: String,
    /// Its name in the program.
    pub(crate) test: String,
}

/// The tests by the names of the mistakes.
#[derive(Default)]
pub(crate) struct Record(BTreeMap<String, Seen>);

impl Record {
    /// Reads a file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut record = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [name, program, tier, test] = parts[..] else {
                return Err(format!("{FILE}: `{line}` has not four parts"));
            };
            let seen = Seen { program: program.into(), tier: tier.into(), test: test.into() };
            record.0.insert(name.into(), seen);
        }
        Ok(record)
    }

    /// The test for a mistake.
    pub(crate) fn of(&self, name: &str) -> Option<&Seen> {
        self.0.get(name)
    }

    /// A mistake has been seen.
    pub(crate) fn note(&mut self, name: &str, seen: Seen) {
        self.0.insert(name.into(), seen);
    }

    /// The file, for the mistakes of these names in their order.
    pub(crate) fn written(&self, names: &[&str]) -> String {
        let mut text = String::from(HEAD);
        for name in names {
            if let Some(Seen { program, tier, test }) = self.of(name) {
                text.push_str(&format!("{name} | {program} | {tier} | {test}\n"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut record = Record::default();
        let seen = |test: &str| Seen { program: "-p a --lib".into(), tier: "ci".into(), test: test.into() };
        record.note("two", seen("b::c"));
        record.note("one", seen("d"));
        record.note("gone", seen("e"));
        let text = record.written(&["one", "never seen", "two"]);
        assert_eq!(text, format!("{HEAD}one | -p a --lib | ci | d\ntwo | -p a --lib | ci | b::c\n"));
        let again = Record::read(&text).unwrap();
        assert_eq!(again.of("two"), Some(&seen("b::c")));
        assert_eq!(again.of("gone"), None);
        assert!(Record::read("one | two\n").is_err());
    }
}
