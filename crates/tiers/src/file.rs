//! The file: sections, and keys with a number, or with a word for the seeds. This is a small part of TOML.
use std::collections::BTreeMap;
use std::fmt;

use crate::{SeedPolicy, Tier};

/// Why a file is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong in it.
    pub reason: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tiers.toml:{}: {}", self.line, self.reason)
    }
}

impl std::error::Error for FileError {}

/// Reads tiers by name. Anything that is not understood is an error with its line.
pub fn parse(text: &str) -> Result<BTreeMap<String, Tier>, FileError> {
    let mut tiers: BTreeMap<String, Tier> = BTreeMap::new();
    let mut current: Option<(usize, Tier, bool)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let error = |reason: String| FileError { line: number, reason };
        let line = line.split('#').next().unwrap_or(line).trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            finish(&mut tiers, current.take())?;
            let tier = Tier { name: name.to_owned(), policy: SeedPolicy::Fixed, numbers: BTreeMap::new() };
            current = Some((number, tier, false));
            continue;
        }
        let (key, value) =
            line.split_once('=').ok_or_else(|| error("neither a tier nor a key".to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        let (_, tier, has_policy) =
            current.as_mut().ok_or_else(|| error("a key before the first tier".to_owned()))?;
        let doubled = if key == "seeds" {
            tier.policy = match value {
                "\"fixed\"" => SeedPolicy::Fixed,
                "\"rotating\"" => SeedPolicy::Rotating,
                other => return Err(error(format!("seeds are \"fixed\" or \"rotating\", not {other}"))),
            };
            std::mem::replace(has_policy, true)
        } else {
            let parsed =
                value.replace('_', "").parse().map_err(|_| error(format!("{value} is not a number")))?;
            tier.numbers.insert(key.to_owned(), parsed).is_some()
        };
        if doubled {
            return Err(error(format!("`{key}` stands twice")));
        }
    }
    finish(&mut tiers, current)?;
    Ok(tiers)
}

fn finish(tiers: &mut BTreeMap<String, Tier>, tier: Option<(usize, Tier, bool)>) -> Result<(), FileError> {
    let Some((line, tier, has_policy)) = tier else { return Ok(()) };
    let name = tier.name.clone();
    if !has_policy {
        return Err(FileError {
            line,
            reason: format!("tier `{name}` does not say where its seeds come from"),
        });
    }
    if tiers.insert(name.clone(), tier).is_some() {
        return Err(FileError { line, reason: format!("tier `{name}` stands twice") });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keys_and_comments() {
        let tiers = parse("# a\n[one]\nseeds = \"rotating\" # b\n\na.b = 1_000\nc=2\n").unwrap();
        let one = &tiers["one"];
        assert_eq!((one.name(), one.policy()), ("one", SeedPolicy::Rotating));
        assert_eq!((one.number("a.b"), one.number("c")), (1000, 2));
    }

    #[test]
    fn wrong_files_are_refused_with_their_line() {
        for (text, line, word) in [
            ("a = 1", 1, "before the first tier"),
            ("[one]\nseeds = \"fixed\"\nword", 3, "neither"),
            ("[one]\nseeds = \"fixed\"\na = many", 3, "many"),
            ("[one]\nseeds = \"fixed\"\na = -1", 3, "-1"),
            ("[one]\nseeds = \"now\"", 2, "now"),
            ("\n[one]\na = 1", 2, "seeds"),
            ("[one]\nseeds = \"fixed\"\na = 1\na = 1", 4, "twice"),
            ("[one]\nseeds = \"fixed\"\n[one]\nseeds = \"fixed\"", 3, "twice"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.reason.contains(word), "{text}: {error}");
        }
    }
}
