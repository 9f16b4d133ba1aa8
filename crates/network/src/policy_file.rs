//! Policy files: who may ask a manager for what, as TOML. `docs/grm.md` says what they look like.
use std::net::IpAddr;
use std::path::Path;

use diagnostics::{Problem, Source};
use policy::{Effect, Limits, Policy, Rule, Who};
use serde::Deserialize;
use toml::Spanned;

use crate::quantity::{Rate, Share, Time};

/// Most bytes of a policy file.
const LARGEST: usize = 4 << 20;
/// Most rules of a file: each request is compared with all of them.
const MOST_RULES: usize = 4_096;
/// Most bytes of a pattern, and most patterns of a rule.
const LONGEST_PATTERN: usize = 256;
const MOST_PATTERNS: usize = 1_024;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    /// What no rule is for.
    default: Said,
    #[serde(default, rename = "rule")]
    rules: Vec<Spanned<Stated>>,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "kebab-case")]
enum Said {
    Allow,
    Deny,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Stated {
    #[serde(default)]
    users: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    hosts: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    topics: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default = "allow")]
    effect: Said,
    #[serde(default)]
    most_flows: Option<u32>,
    #[serde(default)]
    most_rate: Option<Rate>,
    #[serde(default)]
    most_share: Option<Share>,
    #[serde(default)]
    most_importance: Option<u8>,
    #[serde(default)]
    least_latency: Option<Time>,
}

const fn allow() -> Said {
    Said::Allow
}

impl From<Said> for Effect {
    fn from(said: Said) -> Self {
        match said {
            Said::Allow => Self::Allow,
            Said::Deny => Self::Deny,
        }
    }
}

/// Reads a policy file, of 4 MiB at most.
///
/// # Errors
/// What is wrong, with its place.
pub fn open_policy(path: &Path) -> Result<Policy, Problem> {
    let name = path.to_string_lossy();
    let text = crate::load(path).map_err(|what| Problem {
        file: name.to_string(),
        place: None,
        what,
        remedy: "name a policy file; docs/grm.md says what they look like".to_owned(),
    })?;
    read_policy(&name, &text)
}

/// A policy from the text of a file.
///
/// # Errors
/// What is wrong, with its place.
pub fn read_policy(name: &str, text: &str) -> Result<Policy, Problem> {
    let source = Source { file: name, text };
    if text.len() > LARGEST {
        return Err(source.problem(0, format!("the file is longer than {LARGEST} bytes"), ""));
    }
    let document: Document = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let what = error.message().trim().replace('\n', "; ");
        source.problem(at, what, "docs/grm.md says what policy files look like")
    })?;
    if document.rules.len() > MOST_RULES {
        return Err(source.problem(0, format!("more than {MOST_RULES} rules"), "use patterns"));
    }
    let rules = document.rules.iter().map(|stated| rule(source, stated)).collect::<Result<_, _>>()?;
    Ok(Policy { otherwise: document.default.into(), rules })
}

fn rule(source: Source<'_>, stated: &Spanned<Stated>) -> Result<Rule, Problem> {
    let (at, rule) = (stated.span().start, stated.get_ref());
    let wrong = |what: &str, remedy: &str| Err(source.problem(at, what, remedy));
    let limits = Limits {
        flows: rule.most_flows,
        rate: rule.most_rate.map(|rate| rate.0),
        share: rule.most_share.map(|share| share.0),
        importance: rule.most_importance,
        // Rounded up: against the asker.
        least_latency: rule.least_latency.map(|time| time.0.div_ceil(1_000)),
    };
    if matches!(rule.effect, Said::Deny) && limits != Limits::default() {
        return wrong("a rule that denies has no limits", "remove the limits, or let it allow");
    }
    let mut who = Vec::new();
    for user in patterns(source, rule.users.as_ref())? {
        who.push(Who::User(user.get_ref().clone()));
    }
    for host in patterns(source, rule.hosts.as_ref())? {
        who.push(self::host(source, host)?);
    }
    let topics = patterns(source, rule.topics.as_ref())?;
    let before = source.text.get(..at).unwrap_or_default();
    let line = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX).saturating_add(1);
    let topics = topics.iter().map(|topic| topic.get_ref().clone()).collect();
    Ok(Rule { line, effect: rule.effect.into(), who, topics, limits })
}

/// A list of patterns; one that is there is not empty: an empty one could be taken for all askers or for none.
fn patterns<'s>(
    source: Source<'_>,
    said: Option<&'s Spanned<Vec<Spanned<String>>>>,
) -> Result<&'s [Spanned<String>], Problem> {
    let Some(list) = said else { return Ok(&[]) };
    let (at, list) = (list.span().start, list.get_ref());
    if list.is_empty() || list.len() > MOST_PATTERNS {
        let remedy = "leave the key out to mean all";
        return Err(source.problem(at, format!("a list has 1 to {MOST_PATTERNS} entries"), remedy));
    }
    let long =
        list.iter().find(|pattern| pattern.get_ref().len() > LONGEST_PATTERN || pattern.get_ref().is_empty());
    match long {
        Some(pattern) => Err(source.problem(
            pattern.span().start,
            format!("a pattern has 1 to {LONGEST_PATTERN} bytes"),
            "* stands for any characters",
        )),
        None => Ok(list),
    }
}

/// How many bits an address has.
const fn all(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// A host by a pattern of names, by its address, or by the first bits of addresses.
fn host(source: Source<'_>, said: &Spanned<String>) -> Result<Who, Problem> {
    let text = said.get_ref().as_str();
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    match (address.parse::<IpAddr>(), bits.map(str::parse::<u8>)) {
        (Ok(address), None) => Ok(Who::Address(address, all(address))),
        (Ok(address), Some(Ok(bits))) if bits <= all(address) => Ok(Who::Address(address, bits)),
        (_, Some(_)) => Err(source.problem(
            said.span().start,
            format!("\"{text}\" is no range of addresses"),
            "write one such as \"192.0.2.0/24\", or the name of a host",
        )),
        (Err(_), None) => Ok(Who::Host(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use policy::{Ask, Subject};
    use testkit::random::Random;

    use super::*;

    const GOOD: &str = r#"
default = "deny"

[[rule]]
users = ["ward-*"]
topics = ["Vitals/*", "Alarms"]
most-flows = 10
most-rate = "10 Mb/s"
most-share = "5 %"
most-importance = 100
least-latency = "1 ms"

[[rule]]
hosts = ["b1", "192.0.2.0/24", "192.0.2.9"]
effect = "deny"

[[rule]]
topics = ["Public/?"]
"#;

    #[test]
    fn a_file_says_who_may_ask_for_what() {
        let policy = read_policy("p.toml", GOOD).unwrap();
        let lines: Vec<u32> = policy.rules.iter().map(|rule| rule.line).collect();
        assert_eq!((policy.otherwise, lines), (Effect::Deny, vec![4, 13, 17]));
        let first = policy.rules.first().unwrap();
        let limits = Limits {
            flows: Some(10),
            rate: Some(10_000_000),
            share: Some(50_000),
            importance: Some(100),
            least_latency: Some(1_000_000),
        };
        assert_eq!((first.limits, first.topics.len()), (limits, 2));
        let who = [
            Who::Host("b1".to_owned()),
            Who::Address([192, 0, 2, 0].into(), 24),
            Who::Address([192, 0, 2, 9].into(), 32),
        ];
        assert_eq!(policy.rules[1].who, who);
        let ask = |topic| Ask {
            subject: Subject::User("x"),
            topic,
            importance: 0,
            maximum_latency: 1,
            rate: None,
            link: None,
        };
        assert!(policy.check(&ask("Public/a")).is_ok() && policy.check(&ask("Public/ab")).is_err());
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        for (text, place, words) in [
            ("", (1, 1), "default"),
            ("default = \"maybe\"", (1, 11), "maybe"),
            ("default = \"deny\"\nusers = []", (2, 1), "unknown field"),
            ("default = \"deny\"\n[[rule]]\nusers = []", (3, 9), "1 to 1024 entries"),
            ("default = \"deny\"\n[[rule]]\ntopics = [\"\"]", (3, 11), "1 to 256 bytes"),
            ("default = \"deny\"\n[[rule]]\nhosts = [\"10.0.0.0/33\"]", (3, 10), "no range of addresses"),
            ("default = \"deny\"\n[[rule]]\nhosts = [\"a/b\"]", (3, 10), "no range of addresses"),
            ("default = \"deny\"\n[[rule]]\nmost-share = \"101 %\"", (3, 14), "share"),
            ("default = \"deny\"\n[[rule]]\nmost-importance = 256", (3, 19), "256"),
            ("default = \"deny\"\n[[rule]]\nmost-flows = -1", (3, 14), "-1"),
            ("default = \"deny\"\n\n[[rule]]\neffect = \"deny\"\nmost-flows = 1", (3, 1), "no limits"),
        ] {
            let problem = read_policy("p.toml", text).unwrap_err();
            assert_eq!(problem.place, Some(place), "{text:?}: {problem}");
            assert!(problem.to_string().contains(words), "{text:?}: {problem}");
        }
    }

    /// Lines that are damaged: the file is refused, or an asker that no line names may ask for nothing. No pattern stands for others, and no rule is for
    /// all, neither before nor after.
    #[test]
    fn no_damaged_line_lets_others_ask() {
        const TEXT: &str = r#"default = "deny"
[[rule]]
users = ["alice"]
topics = ["Vitals/pulse", "Alarms"]
most-flows = 10
[[rule]]
users = ["bob", "carol"]
effect = "deny"
[[rule]]
hosts = ["b1", "192.0.2.9"]
users = ["bob"]
most-rate = "10 Mb/s"
"#;
        const LETTERS: &[u8] = b"abmloryx019 _-./,=[]{}\"'\n\t\\";
        let mut random = Random::of_case(19, 3);
        let (mut refused, mut read) = (0_u64, 0_u64);
        for number in 0..tiers::current().number("policy.unauthorised") {
            let mut text = TEXT.as_bytes().to_vec();
            for _ in 0..=random.below_u64(3) {
                let at = random.below(text.len());
                match random.below_u64(5) {
                    0 => drop(text.remove(at)),
                    1 => text[at] = *random.pick(LETTERS).unwrap(),
                    2 => text.insert(at, *random.pick(LETTERS).unwrap()),
                    3 => {
                        let other = text.len() - 1 - at;
                        text.swap(at, other);
                    }
                    // A line stands twice, but for one that begins a rule: what it would cut off is a rule for all, as it says.
                    _ => {
                        let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                        let (one, to) = (random.below(lines.len()), random.below(lines.len()));
                        if !lines[one].starts_with(b"[[") {
                            lines.insert(to, lines[one]);
                        }
                        text = lines.concat();
                    }
                }
            }
            let text = String::from_utf8(text).unwrap();
            let Ok(policy) = read_policy("p.toml", &text) else {
                refused += 1;
                continue;
            };
            read += 1;
            let addresses = [IpAddr::from([198, 51, 100, 7])];
            for subject in
                [Subject::User("mallory"), Subject::Host { name: "mallory", addresses: &addresses }]
            {
                for topic in ["Vitals/pulse", "Alarms", "Other"] {
                    let (importance, maximum_latency) = (0, 1_000_000_000);
                    let ask = Ask { subject, topic, importance, maximum_latency, rate: None, link: None };
                    assert!(policy.check(&ask).is_err(), "{number}: {subject}, {topic}:\n{text}");
                }
            }
        }
        assert!(refused > 100 && read > 100, "{refused} refused, {read} read");
    }
}
