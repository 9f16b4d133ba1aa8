//! Verdicts for connections: from a push at the publisher's port to the end of the consumer's handler.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{End, Link};
use response::{Analysis, Stream};

use crate::admission::{ShareOfTime, State, shares_of, unhindered};
use crate::handlers::{Unknown, down};
use crate::links::Links;
use crate::modes::Situation;
use crate::parts::Parts;
use crate::system::Built;
use crate::words;

/// The verdict of a connection to one of its ends. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionVerdict {
    /// Which of the plans it is in, from 0.
    pub plan: usize,
    /// Its name.
    pub name: String,
    /// The end, as `component.port`.
    pub to: String,
    /// Whether it keeps its limit; of one without a limit, whether it has a bound.
    pub state: State,
    /// The most latency that it may have, and the bound, as far as there are such.
    pub latency: (Option<u64>, Option<u64>),
    /// The parts of the bound, the largest first.
    pub shares: Vec<ShareOfTime>,
    /// Whether figures were measured and not declared.
    pub is_conditional: bool,
    /// Further conditions, in words.
    pub only: Vec<String>,
    /// Where the verdict is from, if the plan has modes: the worst of them.
    pub situation: Option<Situation>,
    /// When events are pushed, if that is known: those of one source. Nanoseconds.
    pub stream: Option<Stream>,
}

impl ConnectionVerdict {
    /// Whether the plan limits its latency.
    pub const fn is_limited(&self) -> bool {
        self.latency.0.is_some()
    }
}

/// What the analysis says, or the words of why it could not begin.
type Analysed<'a> = Result<&'a Analysis, Unknown>;

/// The verdicts of all connections to components of plans, and of those to topics that have a limit.
pub(crate) fn verdicts(
    parts: &Parts<'_>,
    links: &Links<'_>,
    built: &Built,
    analysis: &Analysed<'_>,
) -> Vec<ConnectionVerdict> {
    let mut verdicts = Vec::new();
    for (plan, (_, layout)) in parts.plans.iter().enumerate() {
        for link in layout.links().filter(|link| parts.are_active(plan, [link.from, link.to].into_iter())) {
            if parts.handler(plan, link.to).is_some() || link.connection.latency.is_some() {
                verdicts.push(verdict(parts, links, built, analysis, plan, &link));
            }
        }
    }
    verdicts
}

fn verdict(
    parts: &Parts<'_>,
    links: &Links<'_>,
    built: &Built,
    analysis: &Analysed<'_>,
    plan: usize,
    link: &Link<'_>,
) -> ConnectionVerdict {
    let limit = link.connection.latency.map(down);
    let mut verdict = ConnectionVerdict {
        plan,
        name: link.name.to_string(),
        to: link.to.to_string(),
        state: State::Admitted,
        latency: (limit, None),
        shares: Vec::new(),
        is_conditional: false,
        only: Vec::new(),
        situation: None,
        stream: None,
    };
    let found = place(parts, links, built, plan, link).and_then(|index| match analysis {
        Ok(analysis) => analysis
            .connections
            .get(index)
            .ok_or_else(|| ("the analysis has no such connection".to_string(), String::new())),
        Err(unknown) => Err(unknown.clone()),
    });
    let bounds = match found {
        Ok(bounds) => bounds,
        Err((what, remedy)) => {
            verdict.state = State::NoBound { what, remedy };
            return verdict;
        }
    };
    if let Some((what, remedy)) =
        parts.handler(plan, link.to).and_then(|to| links.starves(parts, plan, link.name, to))
    {
        verdict.state = State::NoBound { what, remedy };
        return verdict;
    }
    verdict.is_conditional = bounds.conditional;
    verdict.stream = bounds.stream;
    verdict.only.extend(links.thinned.get(&(plan, link.name)).cloned());
    verdict.shares = shares_of(parts, built, bounds.shares.clone());
    match bounds.latency {
        Ok(bound) => {
            verdict.latency.1 = Some(bound);
            let missing = limit.map_or(0, |limit| bound.saturating_sub(limit));
            if missing > 0 {
                verdict.state = State::Refused { missing };
            }
        }
        Err(reason) => {
            let (what, remedy) = words::reason(parts, built, reason);
            verdict.state = State::NoBound { what, remedy };
        }
    }
    verdict
}

/// The number of a connection in the system, or why it has none.
fn place(
    parts: &Parts<'_>,
    links: &Links<'_>,
    built: &Built,
    plan: usize,
    link: &Link<'_>,
) -> Result<usize, Unknown> {
    for (end, does) in [(link.from, "pushes to"), (link.to, "takes what comes by")] {
        if let End::Topic(topic) = end {
            let what = format!("the program that {does} the topic \"{topic}\" is not in the plan");
            let remedy = "limit a chain: one that begins at a topic counts from the arrival, one that ends before a topic up to the push";
            return Err((what, remedy.to_string()));
        }
    }
    let hosts: BTreeSet<&str> = [link.from, link.to]
        .into_iter()
        .filter_map(End::component)
        .map(|component| parts.place(plan, component).unwrap_or(""))
        .collect();
    unhindered(parts, built, &hosts)?;
    let handler = parts.handler(plan, link.to);
    let mut ways = link.from.component().into_iter().flat_map(|from| links.numbered(plan, from));
    let way = ways.find(|(_, way)| way.name == link.name && Some(way.to) == handler);
    way.and_then(|(way, _)| built.connection_of.get(&way).copied()).ok_or_else(|| {
        let what = format!("no handler is known to push to \"{}\"", link.from);
        (what, "name the port in the steps of the handler that pushes to it".to_string())
    })
}
