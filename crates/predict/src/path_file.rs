//! The file that says what is to be predicted.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use serde::Deserialize;
use toml::Spanned;

use crate::description::{Cost, Idle, Path, Stages};
use crate::distribution::nanoseconds;
use crate::quantity::{Parts, Time};
use crate::tables::{HopTable, TopicTable};

/// The most bytes, topics and hops of a file: work is the product of the last two.
const LONGEST: usize = 1 << 20;
const MOST_TOPICS: usize = 32;
const MOST_HOPS: usize = 16;
const REMEDY: &str = "docs/predict.md lists what a file may say";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    stages: Option<StagesTable>,
    #[serde(default, rename = "hop")]
    hops: Vec<Spanned<HopTable>>,
    #[serde(default, rename = "topic")]
    topics: Vec<Spanned<TopicTable>>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct StagesTable {
    serialise: CostTable,
    write: CostTable,
    store: CostTable,
    send: CostTable,
    receive: CostTable,
    deserialise: CostTable,
    deliver: CostTable,
    idle: IdleTable,
    spread: Parts,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct CostTable {
    sample: Time,
    byte: Time,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct IdleTable {
    most: Time,
    half: Time,
}

impl CostTable {
    fn cost(self) -> Cost {
        Cost { base: nanoseconds(self.sample.0), byte: nanoseconds(self.byte.0) }
    }
}

impl StagesTable {
    fn stages(&self) -> Stages {
        Stages {
            serialise: self.serialise.cost(),
            write: self.write.cost(),
            store: self.store.cost(),
            send: self.send.cost(),
            receive: self.receive.cost(),
            deserialise: self.deserialise.cost(),
            deliver: self.deliver.cost(),
            idle: Idle { most: nanoseconds(self.idle.most.0), half: nanoseconds(self.idle.half.0) },
            spread: f64::from(self.spread.0) / 1e6,
        }
    }
}

/// Reads a file of stages, hops and topics.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn read_path(file: &str, text: &str) -> Result<Path, Problem> {
    let source = Source { file, text };
    if text.len() > LONGEST {
        return Err(source.problem(0, format!("more than {LONGEST} bytes"), "divide it"));
    }
    let document: Document = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.problem(at, error.message().trim().replace('\n', "; "), REMEDY)
    })?;
    if let Some(hop) = document.hops.get(MOST_HOPS) {
        let what = format!("more than {MOST_HOPS} hops");
        return Err(source.problem(hop.span().start, what, "let one hop stand for several that are alike"));
    }
    if let Some(topic) = document.topics.get(MOST_TOPICS) {
        let what = format!("more than {MOST_TOPICS} topics");
        return Err(source.problem(topic.span().start, what, "say small ones as the load of a hop"));
    }
    if document.topics.is_empty() {
        return Err(source.problem(0, "there is no topic", "describe each one in a table [[topic]]"));
    }
    let mut names = BTreeSet::new();
    let mut topics = Vec::new();
    for table in &document.topics {
        let (at, table) = (table.span().start, table.get_ref());
        let needed = |key: &str, example: &str| {
            source.problem(at, format!("the topic says no {key}"), format!("write {key} = {example}"))
        };
        let name = table.name.as_ref().ok_or_else(|| needed("name", "\"ward/pose\""))?;
        let size = table.size.ok_or_else(|| needed("size", "120"))?;
        let separation = table.separation.map(|time| time.0).filter(|time| *time > 0);
        let separation = separation.ok_or_else(|| needed("separation above 0", "\"10 ms\""))?;
        if !names.insert(name.0.as_str()) {
            let what = format!("{} is there twice", name.0);
            return Err(source.problem(at, what, "give each topic a name of its own"));
        }
        topics.push(table.topic(size.0, separation));
    }
    Ok(Path {
        hops: document.hops.iter().map(|hop| hop.get_ref().hop()).collect(),
        stages: document.stages.as_ref().map(StagesTable::stages),
        topics,
    })
}
