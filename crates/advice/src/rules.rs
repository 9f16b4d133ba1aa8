//! Rules, which are data.
use std::collections::BTreeMap;

use diagnostics::{Problem, Source};
use serde::Deserialize;
use toml::Spanned;

use crate::facts;
use crate::topics::Topic;

/// A class of traffic, as the Velox paper's Table 3 has them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Values that are written again and again.
    Continuous,
    /// Values that hold until they change.
    State,
    /// Events that have to be known.
    Alarms,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Continuous, Self::State, Self::Alarms];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continuous => "continuous",
            Self::State => "state",
            Self::Alarms => "alarms",
        }
    }

    /// The mark of its packets: AF12, AF41, EF.
    pub const fn dscp(self) -> u8 {
        match self {
            Self::Continuous => 12,
            Self::State => 34,
            Self::Alarms => 46,
        }
    }
}

/// One word, yes or no, or any of several words.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
enum Wanted {
    Flag(bool),
    Word(String),
    Any(Vec<String>),
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The id by which advice cites it.
    pub id: String,
    when: BTreeMap<String, Wanted>,
    /// It does not apply if this time is given.
    unless: Option<String>,
    /// The class that it gives.
    pub class: Option<Class>,
    /// Policies, with their values or the names of times.
    #[serde(default)]
    pub policy: BTreeMap<String, String>,
    /// Why.
    #[serde(default)]
    pub why: String,
    /// A contradiction: requirements that cannot be had together.
    pub contradiction: Option<String>,
    /// The remedy.
    pub remedy: Option<String>,
    /// A note.
    pub note: Option<String>,
}

impl Rule {
    /// Whether it applies; none if it asks for a fact that there is not.
    pub(crate) fn applies(&self, topic: &Topic) -> Option<bool> {
        let mut applies = true;
        for (fact, wanted) in &self.when {
            applies &= match wanted {
                Wanted::Flag(is) => facts::is_so(topic, fact, if *is { "true" } else { "false" })?,
                Wanted::Word(word) => facts::is_so(topic, fact, word)?,
                Wanted::Any(words) => {
                    let mut any = false;
                    for word in words {
                        any |= facts::is_so(topic, fact, word)?;
                    }
                    any
                }
            };
        }
        if let Some(unless) = &self.unless {
            applies &= facts::time(topic, unless)?.is_none();
        }
        Some(applies)
    }
}

/// A table of rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules {
    /// In the order in which they count.
    pub rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "rule", default)]
    rules: Vec<Spanned<Rule>>,
}

const REMEDY: &str =
    "punctual advise --rules prints rules that can be changed; docs/advise.md lists the facts";
/// The most bytes of a file.
const LONGEST: usize = 1 << 20;

impl Rules {
    /// The text of the rules that are built in.
    pub const TEXT: &str = include_str!("../rules.toml");

    /// The rules that are built in.
    ///
    /// # Errors
    /// As [`Rules::read`]; none, as a test sees to.
    pub fn built_in() -> Result<Self, Problem> {
        Self::read("rules.toml", Self::TEXT)
    }

    /// Reads a file of rules.
    ///
    /// # Errors
    /// The first thing that is wrong, and where; a rule that asks for what no topic says is such a thing.
    pub fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let source = Source { file, text };
        if text.len() > LONGEST {
            return Err(source.problem(0, format!("more than {LONGEST} bytes"), "divide it"));
        }
        let document: Document = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.problem(at, error.message().trim().replace('\n', "; "), REMEDY)
        })?;
        let mut rules = Vec::new();
        for rule in document.rules {
            let at = rule.span().start;
            let rule = rule.into_inner();
            if rule.applies(&facts::ANY).is_none() {
                let what = format!("{} asks for a fact that no topic has", rule.id);
                return Err(source.problem(at, what, REMEDY));
            }
            rules.push(rule);
        }
        Ok(Self { rules })
    }
}
