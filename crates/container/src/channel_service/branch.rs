//! Joins of joins: which of the sources of a connection belong together.
use std::time::Duration;

use channel::Tree;
use filter::Program;

use super::Join;
use crate::context::nanos;
use crate::service::{Route, ServiceError, compile};

/// A part of a join, which may be a join itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Branch {
    /// The events of a source, by its place, that pass all of these filters: each with the values of its parameters.
    Events {
        /// The place of the source, from 0.
        source: usize,
        /// The filters.
        filters: Vec<(String, Vec<String>)>,
    },
    /// Each delivery of any of these. An event is shown to one after the other until one delivers because of it.
    Any(Vec<Self>),
    /// One delivery of all of these, once each has something.
    All(Vec<Self>, Join),
    /// A timeout each so long.
    Every(Duration),
    /// One timeout after so long.
    After(Duration),
    /// The deliveries of this, and a timeout when it has had nothing for so long.
    Silence(Box<Self>, Duration),
}

impl Branch {
    /// It as a subscription. Events have to pass `also`, too.
    pub(super) fn tree(
        &self,
        sources: &[u32],
        also: &[Program],
        route: &Route<'_>,
    ) -> Result<Tree, ServiceError> {
        let all = |parts: &[Self]| {
            parts
                .iter()
                .map(|part| part.tree(sources, also, route))
                .collect::<Result<Vec<Tree>, ServiceError>>()
        };
        Ok(match self {
            Self::Events { source, filters } => {
                let number = sources.get(*source).copied().ok_or_else(|| {
                    ServiceError::Unable(format!("a join of {} parts has no part {source}", sources.len()))
                })?;
                let mut programs = also.to_vec();
                for (filter, parameters) in filters {
                    programs.push(compile(filter, parameters, route.event)?);
                }
                events(number, programs)
            }
            Self::Any(parts) => any(all(parts)?),
            Self::All(parts, join) => {
                let within = join.within.map(nanos);
                Tree::Join { parts: all(parts)?, keep: join.keep, within }
            }
            Self::Every(period) => Tree::Every { period: nanos(*period), priority: 0 },
            Self::After(delay) => Tree::After { delay: nanos(*delay), priority: 0 },
            Self::Silence(of, after) => {
                let of = Box::new(of.tree(sources, also, route)?);
                Tree::Silence { of, after: nanos(*after), priority: 0 }
            }
        })
    }
}

/// The events of a source that pass.
pub(super) fn events(source: u32, programs: Vec<Program>) -> Tree {
    let pattern = Tree::Header { kind: None, source: Some(source) };
    if programs.is_empty() {
        return pattern;
    }
    let mut all = vec![pattern];
    all.extend(programs.into_iter().map(Tree::Content));
    Tree::All(all)
}

/// Any of these; if it is one, that.
pub(super) fn any(mut parts: Vec<Tree>) -> Tree {
    if parts.len() == 1 { parts.remove(0) } else { Tree::Any(parts) }
}
