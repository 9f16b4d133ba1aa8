//! Verdicts for the chains and connections of plans.
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::Chain;
use response::{Analysis, ChainBounds, Limits, MOST, Verdict, analyse};

use crate::Deployed;
use crate::connections::{self, ConnectionVerdict};
use crate::handlers::{Unknown, down};
use crate::links::Links;
use crate::modes::{self, Situation};
use crate::obstacle::Obstacle;
use crate::parts::{Active, Parts};
use crate::paths;
use crate::system::Built;
use crate::words;

/// The verdicts of plans that run at the same time.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// By plan, and in the order of their names.
    pub chains: Vec<ChainVerdict>,
    /// Connections to components, one for each of their ends: by plan, and in the order of their names.
    pub connections: Vec<ConnectionVerdict>,
    /// Handlers of hosts about which enough is known.
    pub ports: Vec<PortVerdict>,
    /// What stands in the way of bounds. Only the chains that pass its host are without one for it, and those of hosts that get events
    /// from there.
    pub obstacles: Vec<Obstacle>,
    /// What chains and limited connections need besides, once the obstacles are out of the way.
    pub lacking: Vec<Obstacle>,
    /// How much work it was: the steps of the analysis, and some for each part of the plans.
    pub work: u64,
}

/// Work for each handler and connection, which are looked up before the analysis, in its steps.
const WORK_OF_PART: u64 = 50;

/// The verdict of a chain. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainVerdict {
    /// Which of the plans it is in, from 0.
    pub plan: usize,
    /// Its name.
    pub name: String,
    /// Whether it keeps its limits.
    pub state: State,
    /// The most reaction that it may have, and the bound, as far as there are such.
    pub reaction: (Option<u64>, Option<u64>),
    /// The same for the age of data.
    pub age: (Option<u64>, Option<u64>),
    /// The parts of the bound that is nearest to its limit or furthest above it, the largest part first.
    pub shares: Vec<ShareOfTime>,
    /// Whether figures were measured and not declared.
    pub is_conditional: bool,
    /// Further conditions, in words.
    pub only: Vec<String>,
    /// Where the verdict is from, if the plan has modes: the worst of them.
    pub situation: Option<Situation>,
    /// The bounds of reaction and age in each mode and on each way in which it runs, if the plan has modes.
    pub bounds: Vec<(Situation, State, Option<u64>, Option<u64>)>,
}

/// Whether a chain keeps its limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It does, whatever happens that the model allows.
    Admitted,
    /// It may not; so many nanoseconds are missing.
    Refused {
        /// Of reaction or of age, whichever lacks more.
        missing: u64,
    },
    /// Nothing is proved.
    NoBound {
        /// Why.
        what: String,
        /// The advice.
        remedy: String,
    },
}

/// A part of a bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShareOfTime {
    /// The port, as `component.port`.
    pub port: String,
    /// The cause, in words.
    pub cause: &'static str,
    /// Nanoseconds.
    pub time: u64,
}

/// The bounds of a handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortVerdict {
    /// Which of the plans it is in, from 0.
    pub plan: usize,
    /// Its name, as `component.port`.
    pub name: String,
    /// Nanoseconds from the call for a run to its end, if that is bounded.
    pub response: Option<u64>,
    /// Deliveries that wait at most, if that is bounded.
    pub backlog: Option<u64>,
    /// How many there may be, and where the plan says so, if it does.
    pub depth: (u64, Option<String>),
    /// Whether it has a queue.
    pub is_queued: bool,
}

impl Admission {
    /// Whether all chains and connections keep their limits.
    pub fn is_whole(&self) -> bool {
        self.states().all(|state| *state == State::Admitted)
    }

    /// The connections whose latency has a limit.
    pub fn limited(&self) -> impl Iterator<Item = &ConnectionVerdict> {
        self.connections.iter().filter(|connection| connection.is_limited())
    }

    /// What became of each chain, then of each connection with a limit. Changes of what [`crate::changes`] changes leave their order.
    pub(crate) fn states(&self) -> impl Iterator<Item = &State> {
        let chains = self.chains.iter().map(|chain| &chain.state);
        chains.chain(self.limited().map(|connection| &connection.state))
    }
}

/// Verdicts for the chains and connections of plans that run at the same time on the hosts that they share, in each of their modes and on each
/// way from one mode to another. Times are rounded against the plans.
pub fn admit(plans: &[Deployed<'_>], limits: Limits) -> Admission {
    if plans.iter().all(|deployed| deployed.plan.modes.is_empty()) {
        return admit_active(plans, &[], limits);
    }
    modes::admit(plans, limits)
}

/// Verdicts for chains and connections between these components, which are active all the time.
pub(crate) fn admit_active(plans: &[Deployed<'_>], active: &[Active<'_>], limits: Limits) -> Admission {
    let mut parts = Parts::of(plans, active);
    let links = Links::of(&mut parts);
    if parts.handlers.len().max(links.ways.len()).max(links.origins.len()) > MOST {
        return too_large(plans, &parts);
    }
    let mut built = Built::of(&mut parts, &links);
    let mut chains = Vec::new();
    for (index, deployed) in plans.iter().enumerate() {
        for (name, chain) in &deployed.plan.chains {
            if !parts.are_active(index, chain.path.iter()) {
                continue;
            }
            let found: Result<(usize, Vec<String>, Option<Unknown>), Unknown> =
                unhindered(&parts, &built, &paths::hosts(&parts, index, chain)).and_then(|()| {
                    let path = paths::path(&parts, &links, &built, index, chain)?;
                    built.system.chains.push(response::Chain {
                        name: name.clone(),
                        source: path.source,
                        connections: path.connections,
                        reaction: chain.reaction.map(down),
                        age: chain.age.map(down).filter(|_| path.stale.is_none()),
                    });
                    Ok((built.system.chains.len() - 1, path.only, path.stale))
                });
            chains.push((index, name, chain, found));
        }
    }
    let analysis = analyse(&built.system, limits);
    let looked_up = u64::try_from(parts.handlers.len() + links.ways.len()).unwrap_or(u64::MAX);
    let steps = analysis.as_ref().map_or(0, |analysis| analysis.steps);
    let analysed = analysis.as_ref().map_err(|problems| {
        problems.first().map_or_else(
            || ("the analysis says no more".to_string(), String::new()),
            |problem| words::problem(&parts, &built, *problem),
        )
    });
    let verdicts = chains.into_iter().map(|(plan, name, chain, found)| {
        let bounds = found.and_then(|(index, only, stale)| match &analysed {
            Ok(analysis) => Ok((analysis.chains.get(index), only, stale)),
            Err(unknown) => Err(unknown.clone()),
        });
        verdict(&parts, &built, plan, name, chain, bounds)
    });
    Admission {
        chains: verdicts.collect(),
        connections: connections::verdicts(&parts, &links, &built, &analysed),
        ports: analysis.as_ref().map(|analysis| ports(&parts, &links, &built, analysis)).unwrap_or_default(),
        obstacles: parts.obstacles.iter().cloned().collect(),
        lacking: crate::system::lacking(&parts, &links).into_iter().collect(),
        work: steps.saturating_add(looked_up.saturating_mul(WORK_OF_PART)),
    }
}

/// The verdict of plans with more parts than the analysis takes.
fn too_large(plans: &[Deployed<'_>], parts: &Parts<'_>) -> Admission {
    let what = alloc::format!("more than {MOST} handlers or connections are not analysed");
    let of_plan = |(index, deployed): (usize, &Deployed<'_>)| {
        let chains: Vec<(String, Chain)> =
            deployed.plan.chains.iter().map(|(name, chain)| (name.clone(), chain.clone())).collect();
        chains.into_iter().map(move |chain| (index, chain))
    };
    let chains = plans.iter().enumerate().flat_map(of_plan).map(|(plan, (name, chain))| {
        let unknown =
            (what.clone(), "split the plan by hosts that have no event from each other".to_string());
        verdict(parts, &Built::default(), plan, &name, &chain, Err(unknown))
    });
    let built = Built::default();
    let unknown = (what.clone(), "split the plan by hosts that have no event from each other".to_string());
    let connections = connections::verdicts(parts, &Links::default(), &built, &Err(unknown));
    // So much that nothing else is tried.
    Admission { chains: chains.collect(), connections, work: u64::MAX, ..Admission::default() }
}

/// Whether nothing stands in the way of bounds on these hosts; or the first thing that does.
pub(crate) fn unhindered(parts: &Parts<'_>, built: &Built, hosts: &BTreeSet<&str>) -> Result<(), Unknown> {
    let Some(host) = hosts.iter().find(|host| built.without.contains(**host)) else { return Ok(()) };
    let of_host = parts.obstacles.iter().find(|obstacle| obstacle.host == **host);
    Err(match of_host {
        Some(obstacle) => (obstacle.what.clone(), obstacle.remedy.clone()),
        None => (
            alloc::format!("{host} gets events from a host without bounds"),
            "see what is said of the other host".to_string(),
        ),
    })
}

/// A chain of which nothing is said yet.
fn unjudged(plan: usize, name: &str, chain: &Chain) -> ChainVerdict {
    ChainVerdict {
        plan,
        name: name.to_string(),
        state: State::Admitted,
        reaction: (chain.reaction.map(down), None),
        age: (chain.age.map(down), None),
        shares: Vec::new(),
        is_conditional: false,
        only: Vec::new(),
        situation: None,
        bounds: Vec::new(),
    }
}

/// The verdict of a chain that has no bound, for this reason and with this advice.
pub(crate) fn verdict_without(
    plan: usize,
    name: &str,
    chain: &Chain,
    (what, remedy): Unknown,
) -> ChainVerdict {
    ChainVerdict { state: State::NoBound { what, remedy }, ..unjudged(plan, name, chain) }
}

/// The bounds of a chain that the analysis has, their conditions, and why that of its age does not hold.
type Bounded<'b> = (Option<&'b ChainBounds>, Vec<String>, Option<Unknown>);

fn verdict(
    parts: &Parts<'_>,
    built: &Built,
    plan: usize,
    name: &str,
    chain: &Chain,
    bounds: Result<Bounded<'_>, Unknown>,
) -> ChainVerdict {
    let mut verdict = unjudged(plan, name, chain);
    match bounds {
        Err(unknown) => return verdict_without(plan, name, chain, unknown),
        Ok((None, ..)) => {
            let what = "the analysis has no such chain".to_string();
            verdict.state = State::NoBound { what, remedy: String::new() };
        }
        Ok((Some(_), _, Some(stale))) if chain.age.is_some() => {
            return verdict_without(plan, name, chain, stale);
        }
        Ok((Some(bounds), only, stale)) => {
            verdict.only = only;
            verdict.is_conditional = bounds.conditional;
            verdict.reaction.1 = bounds.reaction.ok();
            verdict.age.1 = bounds.age.ok().filter(|_| stale.is_none());
            verdict.state = match bounds.verdict {
                Verdict::Admitted => State::Admitted,
                Verdict::Refused { reaction, age } => State::Refused { missing: reaction.max(age) },
                Verdict::NoBound(reason) => {
                    let (what, remedy) = words::reason(parts, built, reason);
                    State::NoBound { what, remedy }
                }
            };
            verdict.shares = shares_of(parts, built, bounds.largest());
        }
    }
    verdict
}

/// The parts of a bound in the words of plans, the largest first.
pub(crate) fn shares_of(
    parts: &Parts<'_>,
    built: &Built,
    mut shares: Vec<response::Share>,
) -> Vec<ShareOfTime> {
    shares.sort_by_key(|share| core::cmp::Reverse(share.time));
    let share = |share: response::Share| ShareOfTime {
        port: built.ports.get(share.port).map_or_else(String::new, |handler| parts.name(*handler)),
        cause: words::cause(share.cause),
        time: share.time,
    };
    shares.into_iter().filter(|share| share.time > 0).map(share).collect()
}

fn ports(parts: &Parts<'_>, links: &Links<'_>, built: &Built, analysis: &Analysis) -> Vec<PortVerdict> {
    let of_port = |(index, handler): (usize, &usize)| {
        let bounds = analysis.ports.get(index)?;
        let room = links.rooms.get(handler);
        Some(PortVerdict {
            plan: parts.handlers.get(*handler)?.plan,
            name: parts.name(*handler),
            response: bounds.response.ok(),
            backlog: bounds.backlog.ok(),
            depth: room.map_or((0, None), |room| (room.depth, room.path.clone())),
            is_queued: built.system.ports.get(index)?.lane.is_some(),
        })
    };
    built.ports.iter().enumerate().filter_map(of_port).collect()
}
