//! Flow files: what an operator knows of programs that do not ask for a latency by themselves, such as those of other vendors.
//!
//! `docs/grm.md` says what files look like.
use std::path::Path;

use diagnostics::{Problem, Source};
use latency::units::NANOSECOND;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use toml::Spanned;

use crate::file::load;
use crate::network::Network;
use crate::quantity::Time;

/// The most tables of topics.
const MOST_TOPICS: usize = 1_000;
/// The most characters of a pattern.
const LONGEST_NAME: usize = 256;
/// The most bytes of a sample.
const LARGEST: u32 = 16 << 20;
/// The least and most bytes of a sample that go in a fragment of RTPS: with what is around it, it has to fit into a datagram.
const FRAGMENTS: std::ops::RangeInclusive<u32> = 64..=65_000;
/// The fragment where none is given: smaller than that of any vendor whose samples go in several.
const USUAL_FRAGMENT: u32 = 1_024;
/// The most samples, or frames, at once.
const MOST_AT_ONCE: u32 = 10_000;

/// A flow file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FlowFile {
    /// Topics; of several that fit the first one counts.
    pub topics: Vec<FileTopic>,
    /// What goes besides samples; what is left out is usual.
    pub overhead: FileOverhead,
}

/// What is known of some topics. Times are in nanoseconds; sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileTopic {
    /// Their names, with `*` for any text and `?` for any character.
    pub name: String,
    /// Hosts of the writers; any if it is empty.
    pub from: Vec<String>,
    /// Hosts of the readers; any if it is empty.
    pub to: Vec<String>,
    /// The largest sample, serialized.
    pub size: u32,
    /// What goes in one fragment of RTPS at least.
    pub fragment: u32,
    /// Least time between samples of a writer; `None` for the period of its DEADLINE.
    pub separation: Option<u64>,
    /// Samples of a writer at once.
    pub burst: u32,
    /// How late a sample is handed to the port.
    pub jitter: u64,
    /// Time from the first frame of a sample handed over to the last.
    pub emission: u64,
    /// Samples repeated in a second.
    pub repairs: u32,
    /// What is asked for.
    pub latency: FileLatency,
    /// Who yields; `None` for TRANSPORT_PRIORITY.
    pub importance: Option<u8>,
}

/// The latency that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileLatency {
    /// None: the topic takes its part of what goes between hosts.
    None,
    /// So many nanoseconds.
    Fixed(u64),
    /// The reader's LATENCY_BUDGET.
    Budget,
}

/// What goes besides samples; what is `None` is usual.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FileOverhead {
    /// Nanoseconds between HEARTBEATs.
    pub heartbeat: Option<u64>,
    /// Full frames of anything else at once.
    pub burst: Option<u32>,
    /// Nanoseconds between these in the long run.
    pub separation: Option<u64>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    #[serde(default)]
    overhead: Option<Overhead>,
    #[serde(default, rename = "topic")]
    topics: Vec<Spanned<Topic>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Overhead {
    #[serde(default)]
    heartbeat: Option<Spanned<Time>>,
    #[serde(default)]
    burst: Option<Spanned<u32>>,
    #[serde(default)]
    separation: Option<Spanned<Time>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Topic {
    name: Spanned<String>,
    #[serde(default)]
    from: Vec<Spanned<String>>,
    #[serde(default)]
    to: Vec<Spanned<String>>,
    size: Spanned<u32>,
    #[serde(default)]
    fragment: Option<Spanned<u32>>,
    separation: Spanned<TimeOr>,
    #[serde(default)]
    burst: Option<Spanned<u32>>,
    #[serde(default)]
    jitter: Option<Time>,
    #[serde(default)]
    emission: Option<Time>,
    #[serde(default)]
    repairs: Option<Spanned<u32>>,
    #[serde(default)]
    latency: Option<Spanned<TimeOr>>,
    #[serde(default)]
    importance: Option<Spanned<Importance>>,
}

/// A time, or the name of a policy that says it.
#[derive(Clone, Debug)]
enum TimeOr {
    Time(Time),
    Policy(String),
}

/// A number, or the name of a policy that says it.
#[derive(Clone, Debug)]
enum Importance {
    Number(u8),
    Policy(String),
}

impl<'de> Deserialize<'de> for TimeOr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_policy = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic());
        if is_policy {
            return Ok(Self::Policy(text));
        }
        Time::parse(&text).map(Self::Time).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Importance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Importance;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number from 0 to 255, or \"priority\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Importance, E> {
                let wrong = || E::custom("expected a whole number from 0 to 255, or \"priority\"");
                u8::try_from(number).map(Importance::Number).map_err(|_| wrong())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Importance, E> {
                Ok(Importance::Policy(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl FlowFile {
    /// Reads a flow file for a network, whose hosts it may name; `-` is standard input.
    ///
    /// # Errors
    /// The first thing that is wrong, and where.
    pub fn open(path: &Path, network: &Network) -> Result<Self, Problem> {
        let name = path.to_string_lossy();
        let text = load(path).map_err(|what| Problem {
            file: name.to_string(),
            place: None,
            what,
            remedy: "name a flow file that can be read".to_owned(),
        })?;
        let hosts: Vec<&str> = network.hosts().iter().map(|host| host.name.as_str()).collect();
        Self::parse(&name, &text, &hosts)
    }

    /// The file of this text, which may name these hosts.
    ///
    /// # Errors
    /// The first thing that is wrong, and where.
    pub fn parse(file: &str, text: &str, hosts: &[&str]) -> Result<Self, Problem> {
        let source = Source { file, text };
        let document: Document = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().trim().replace('\n', "; ");
            let single = text.lines().any(|line| line.trim() == "[topic]");
            let remedy = match single {
                true => "there may be several topics: with two brackets, [[topic]]",
                false => "docs/grm.md lists what a flow file may say",
            };
            source.problem(at, in_words(&what), remedy)
        })?;
        if let Some(topic) = document.topics.get(MOST_TOPICS) {
            let what = format!("more than {MOST_TOPICS} tables of topics");
            return Err(source.problem(topic.span().start, what, "let a pattern with * stand for several"));
        }
        let topics = document.topics.into_iter().map(|topic| Self::topic(source, topic.into_inner(), hosts));
        let topics = topics.collect::<Result<_, _>>()?;
        let overhead = document.overhead.map(|overhead| Self::overhead(source, &overhead)).transpose()?;
        Ok(Self { topics, overhead: overhead.unwrap_or_default() })
    }

    fn topic(source: Source<'_>, topic: Topic, hosts: &[&str]) -> Result<FileTopic, Problem> {
        let name = topic.name.get_ref();
        if name.is_empty() || name.chars().count() > LONGEST_NAME {
            let remedy = format!("give a name of 1 to {LONGEST_NAME} characters; * stands for any text");
            return Err(source.problem(topic.name.span().start, "no such topic can be", remedy));
        }
        for host in topic.from.iter().chain(&topic.to) {
            if !hosts.contains(&host.get_ref().as_str()) {
                let what = format!("the network has no host \"{}\"", host.get_ref());
                return Err(source.problem(host.span().start, what, "name hosts of the network file"));
            }
        }
        let names = |hosts: Vec<Spanned<String>>| hosts.into_iter().map(Spanned::into_inner).collect();
        let size = ranged(source, &topic.size, 1..=LARGEST)?;
        let separation = match topic.separation.get_ref() {
            TimeOr::Policy(policy) if policy == "deadline" => None,
            TimeOr::Time(time) if time.0 >= NANOSECOND => Some(time.0 / NANOSECOND),
            _ => {
                let remedy = "give the least time between two samples, such as \"10 ms\", or \"deadline\" if the writer keeps its DEADLINE and \
                              writes no oftener";
                return Err(source.problem(topic.separation.span().start, "this is no separation", remedy));
            }
        };
        let latency = match &topic.latency {
            None => FileLatency::None,
            Some(latency) => match latency.get_ref() {
                TimeOr::Policy(policy) if policy == "budget" => FileLatency::Budget,
                TimeOr::Time(time) if time.0 >= NANOSECOND => FileLatency::Fixed(time.0 / NANOSECOND),
                _ => {
                    let remedy = "give a time such as \"5 ms\", or \"budget\" for the reader's LATENCY_BUDGET; leave it out for topics that need \
                                  no bound";
                    return Err(source.problem(latency.span().start, "this is no latency", remedy));
                }
            },
        };
        let importance = match &topic.importance {
            None => Some(0),
            Some(importance) => match importance.get_ref() {
                Importance::Number(number) => Some(*number),
                Importance::Policy(policy) if policy == "priority" => None,
                Importance::Policy(_) => {
                    let remedy =
                        "give a number from 0 to 255, or \"priority\" for the writer's TRANSPORT_PRIORITY";
                    return Err(source.problem(importance.span().start, "this is no importance", remedy));
                }
            },
        };
        let some = |number: &Option<Spanned<u32>>, range: std::ops::RangeInclusive<u32>, usual: u32| {
            number.as_ref().map_or(Ok(usual), |number| ranged(source, number, range))
        };
        let time = |time: Option<Time>, usual: u64| time.map_or(usual, |time| time.0.div_ceil(NANOSECOND));
        Ok(FileTopic {
            fragment: some(&topic.fragment, FRAGMENTS, USUAL_FRAGMENT)?,
            burst: some(&topic.burst, 1..=MOST_AT_ONCE, 1)?,
            repairs: some(&topic.repairs, 0..=MOST_AT_ONCE, 1)?,
            jitter: time(topic.jitter, 1_000_000),
            emission: time(topic.emission, 500_000),
            name: topic.name.into_inner(),
            from: names(topic.from),
            to: names(topic.to),
            size,
            separation,
            latency,
            importance,
        })
    }

    fn overhead(source: Source<'_>, overhead: &Overhead) -> Result<FileOverhead, Problem> {
        let time = |time: &Option<Spanned<Time>>| match time {
            Some(time) if time.get_ref().0 < NANOSECOND => Err(source.problem(
                time.span().start,
                "this is no time between frames",
                "give a time above 0",
            )),
            time => Ok(time.as_ref().map(|time| time.get_ref().0 / NANOSECOND)),
        };
        let burst = overhead.burst.as_ref().map(|burst| ranged(source, burst, 0..=MOST_AT_ONCE));
        Ok(FileOverhead {
            heartbeat: time(&overhead.heartbeat)?,
            burst: burst.transpose()?,
            separation: time(&overhead.separation)?,
        })
    }
}

/// A message of the parser without names of Rust.
fn in_words(what: &str) -> String {
    [
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected a string", "expected text in quotes"),
        ("expected struct ", "expected a table, "),
    ]
    .iter()
    .fold(what.to_owned(), |what, (from, to)| what.replace(from, to))
}

/// A number in its range.
fn ranged(
    source: Source<'_>,
    number: &Spanned<u32>,
    range: std::ops::RangeInclusive<u32>,
) -> Result<u32, Problem> {
    let value = *number.get_ref();
    if range.contains(&value) {
        return Ok(value);
    }
    let remedy = format!("give a whole number from {} to {}", range.start(), range.end());
    Err(source.problem(number.span().start, format!("{value} is out of range"), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FlowFile, String> {
        FlowFile::parse("flows.toml", text, &["camera", "display"]).map_err(|problem| problem.to_string())
    }

    #[test]
    fn what_is_left_out_is_usual() {
        let least = "[[topic]]\nname = \"rt/*\"\nsize = 4000\nseparation = \"10 ms\"\n";
        let file = parse(least).unwrap();
        let expected = FileTopic {
            name: "rt/*".into(),
            from: Vec::new(),
            to: Vec::new(),
            size: 4_000,
            fragment: 1_024,
            separation: Some(10_000_000),
            burst: 1,
            jitter: 1_000_000,
            emission: 500_000,
            repairs: 1,
            latency: FileLatency::None,
            importance: Some(0),
        };
        assert_eq!(file, FlowFile { topics: vec![expected.clone()], overhead: FileOverhead::default() });
        let all = "[overhead]\nheartbeat = \"1 s\"\nburst = 0\nseparation = \"7 ms\"\n[[topic]]\nname = \"a\"\nfrom = [\"camera\"]\n\
                   to = [\"display\"]\nsize = 1\nfragment = 65000\nseparation = \"deadline\"\nburst = 3\njitter = \"0 ms\"\nemission = \"1 us\"\n\
                   repairs = 0\nlatency = \"budget\"\nimportance = \"priority\"\n";
        let file = parse(all).unwrap();
        let overhead =
            FileOverhead { heartbeat: Some(1_000_000_000), burst: Some(0), separation: Some(7_000_000) };
        let topic = FileTopic {
            name: "a".into(),
            from: vec!["camera".into()],
            to: vec!["display".into()],
            size: 1,
            fragment: 65_000,
            separation: None,
            burst: 3,
            jitter: 0,
            emission: 1_000,
            repairs: 0,
            latency: FileLatency::Budget,
            importance: None,
        };
        assert_eq!(file, FlowFile { topics: vec![topic], overhead });
        let more = format!("{least}latency = \"5 ms\"\nimportance = 255\n");
        let file = parse(&more).unwrap();
        let topic = FileTopic { latency: FileLatency::Fixed(5_000_000), importance: Some(255), ..expected };
        assert_eq!(file.topics, [topic]);
        assert_eq!(parse(""), Ok(FlowFile::default()));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let with = |line: &str| format!("[[topic]]\nname = \"a\"\nsize = 1\nseparation = \"1 ms\"\n{line}\n");
        for (text, told) in [
            (with("latency = \"soon\""), "flows.toml:5:11: this is no latency"),
            (with("latency = \"0 ms\""), "flows.toml:5:11: this is no latency"),
            (with("latency = 5"), "flows.toml:5:11: "),
            (with("importance = \"much\""), "flows.toml:5:14: this is no importance"),
            (with("importance = 256"), "flows.toml:5:14: "),
            (
                with("from = [\"camera\", \"nowhere\"]"),
                "flows.toml:5:19: the network has no host \"nowhere\"",
            ),
            (with("to = [\"\"]"), "flows.toml:5:7: the network has no host"),
            (with("fragment = 65001"), "flows.toml:5:12: 65001 is out of range"),
            (with("burst = 0"), "flows.toml:5:9: 0 is out of range"),
            (with("repairs = 10001"), "flows.toml:5:11: 10001 is out of range"),
            (with("colour = 1"), "flows.toml:5:1: unknown field `colour`"),
            (with("size = 2"), "flows.toml:5:1: duplicate key"),
            (
                "[[topic]]\nname = \"\"\nsize = 1\nseparation = \"1 ms\"".into(),
                "flows.toml:2:8: no such topic",
            ),
            (
                "[[topic]]\nname = \"a\"\nsize = 0\nseparation = \"1 ms\"".into(),
                "flows.toml:3:8: 0 is out of range",
            ),
            (
                "[[topic]]\nname = \"a\"\nsize = 1\nseparation = \"0 ms\"".into(),
                "flows.toml:4:14: this is no separation",
            ),
            (
                "[[topic]]\nname = \"a\"\nsize = 1\nseparation = \"budget\"".into(),
                "flows.toml:4:14: this is no separation",
            ),
            ("[[topic]]\nname = \"a\"\nsize = 1".into(), "flows.toml:1:1: missing field `separation`"),
            ("[overhead]\nheartbeat = \"0 s\"".into(), "flows.toml:2:13: this is no time"),
            ("[overhead]\nburst = 10001".into(), "flows.toml:2:9: 10001 is out of range"),
            ("[topic]\nname = \"a\"".into(), "with two brackets, [[topic]]"),
        ] {
            let problem = parse(&text).unwrap_err();
            assert!(problem.contains(told), "{text}\n{problem}");
        }
        let many = with("").repeat(1_001);
        assert!(parse(&many).unwrap_err().starts_with("flows.toml:5001:1: more than 1000"), "too many");
    }
}
