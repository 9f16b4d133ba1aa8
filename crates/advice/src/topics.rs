//! The file that describes topics.
use diagnostics::{Problem, Source};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use toml::Spanned;

/// The most topics of a file, and the most bytes of it.
const MOST_TOPICS: usize = 1_000;
const LONGEST: usize = 1 << 20;
/// The most characters of a name.
const LONGEST_NAME: usize = 256;
/// The most bytes of a sample.
const LARGEST: u32 = 16 << 20;
const REMEDY: &str = "docs/advise.md lists what a topic may say";

/// When samples are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Written {
    /// Again and again, at least `separation` apart.
    Continuously,
    /// When a value has changed.
    OnChange,
    /// When something has happened.
    OnEvent,
}

/// What samples pass.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// A network of one site.
    #[default]
    Lan,
    /// Networks of several operators.
    Wan,
    /// One that loses frames, such as a radio.
    Lossy,
}

/// What is known of a topic. Times are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// Its name, or a pattern with `*` for any text.
    pub name: String,
    /// When samples are written.
    pub written: Written,
    /// Bytes of the largest sample, serialized.
    pub size: u32,
    /// The least time between two samples of a writer.
    pub separation: u64,
    /// Samples of a writer that may come at once.
    pub burst: u32,
    /// From write to the reader at most.
    pub latency: Option<u64>,
    /// Readers need each sample, and not only the last one.
    pub every_sample: bool,
    /// The writer has to know that a sample has arrived.
    pub confirmed: bool,
    /// Readers that join later need what was written before.
    pub late_joiners: bool,
    /// Another writer takes over when one is late or gone.
    pub stand_by: bool,
    /// Readers have to know within this time that a writer is gone.
    pub silence: Option<u64>,
    /// A sample means nothing after this time.
    pub valid_for: Option<u64>,
    /// The slowest reader looks once in this time.
    pub slowest_reader: Option<u64>,
    /// What samples pass.
    pub path: Path,
    /// A message there and back, over a path that loses frames.
    pub round_trip: Option<u64>,
    /// Hosts of writers and readers, for the flow file.
    pub from: Vec<String>,
    /// Hosts of readers.
    pub to: Vec<String>,
}

/// A time in nanoseconds.
#[derive(Clone, Copy)]
struct Time(u64);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = diagnostics::picoseconds(&text).map(|picoseconds| picoseconds / 1_000);
        let time = time.filter(|time| *time > 0);
        time.map(Self).ok_or_else(|| D::Error::custom("expected a time such as \"10 ms\""))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    #[serde(rename = "topic", default)]
    topics: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    name: Spanned<String>,
    written: Written,
    size: Spanned<u32>,
    separation: Time,
    burst: Option<Spanned<u32>>,
    latency: Option<Time>,
    every_sample: Option<bool>,
    confirmed: Option<bool>,
    late_joiners: Option<bool>,
    #[serde(default)]
    stand_by: bool,
    silence: Option<Time>,
    valid_for: Option<Time>,
    slowest_reader: Option<Time>,
    #[serde(default)]
    path: Path,
    round_trip: Option<Time>,
    #[serde(default)]
    from: Vec<Spanned<String>>,
    #[serde(default)]
    to: Vec<Spanned<String>>,
}

/// Reads a file of topics.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn read(file: &str, text: &str) -> Result<Vec<Topic>, Problem> {
    let source = Source { file, text };
    if text.len() > LONGEST {
        return Err(source.problem(0, format!("more than {LONGEST} bytes"), "divide it"));
    }
    let document: Document = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.problem(at, error.message().trim().replace('\n', "; "), REMEDY)
    })?;
    if let Some(topic) = document.topics.get(MOST_TOPICS) {
        let what = format!("more than {MOST_TOPICS} topics");
        return Err(source.problem(topic.span().start, what, "let a pattern with * stand for several"));
    }
    if document.topics.is_empty() {
        return Err(source.problem(0, "there is no topic", "describe each one in a table [[topic]]"));
    }
    document.topics.into_iter().map(|topic| self::topic(source, topic.into_inner())).collect()
}

fn topic(source: Source<'_>, table: Table) -> Result<Topic, Problem> {
    for said in core::iter::once(&table.name).chain(&table.from).chain(&table.to) {
        let name = said.get_ref();
        let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
        if name.is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(is_plain) {
            let remedy = format!("give 1 to {LONGEST_NAME} characters, without quotes and backslashes");
            return Err(source.problem(said.span().start, "this can be no name", remedy));
        }
    }
    let number = |said: &Spanned<u32>, most: u32| match *said.get_ref() {
        0 => Err(source.problem(said.span().start, "it is 0", format!("give 1 to {most}"))),
        number if number > most => Err(source.problem(
            said.span().start,
            format!("{number} is too much"),
            format!("give 1 to {most}"),
        )),
        number => Ok(number),
    };
    let may = |said: Option<Time>| said.map(|time| time.0);
    let names = |said: Vec<Spanned<String>>| said.into_iter().map(Spanned::into_inner).collect();
    let is_event = table.written == Written::OnEvent;
    Ok(Topic {
        written: table.written,
        size: number(&table.size, LARGEST)?,
        separation: table.separation.0,
        burst: table.burst.as_ref().map_or(Ok(1), |burst| number(burst, 10_000))?,
        latency: may(table.latency),
        // What is not said follows from when it is written.
        every_sample: table.every_sample.unwrap_or(is_event),
        confirmed: table.confirmed.unwrap_or(is_event),
        late_joiners: table.late_joiners.unwrap_or(table.written == Written::OnChange),
        stand_by: table.stand_by,
        silence: may(table.silence),
        valid_for: may(table.valid_for),
        slowest_reader: may(table.slowest_reader),
        path: table.path,
        round_trip: may(table.round_trip),
        name: table.name.into_inner(),
        from: names(table.from),
        to: names(table.to),
    })
}
