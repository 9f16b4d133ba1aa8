//! Plans with modes: their chains are proved in each mode, on each way from one mode to another, and while several follow each other.
//!
//! On the way from A to B the components of A that B does not have come to rest, and then those of B begin. What the former have pushed may
//! still wait for others then. So everything that is active in A or B counts together: each run of the way is one of this system in which
//! sources end early or begin late. The analysis counts the most that may come, and less than that is within its bounds. The only time for which
//! less is worse is the wait of a join for its other parts: these have to come in both modes from the same components.
//!
//! Nothing keeps a third mode from following before the work of the first has gone. So where there are more than two different modes, all of them
//! count together, too. What rests costs nothing: its timers wake no thread. What is in no mode always rests.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use assembly::{ArtefactKind, Chain, Component, End, MOST_MODES, Plan};
use response::{Limits, Stream};

use crate::Deployed;
use crate::admission::{Admission, ChainVerdict, PortVerdict, State, admit_active, verdict_without};
use crate::connections::ConnectionVerdict;
use crate::parts::Active;

/// What of a plan is active.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Situation {
    /// A mode holds.
    Mode(String),
    /// One of these modes follows on the other.
    Way(String, String),
    /// More than two modes follow each other.
    Any,
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(name) => write!(f, "in mode {name}"),
            Self::Way(one, other) => write!(f, "between modes {one} and {other}"),
            Self::Any => f.write_str("with all modes together"),
        }
    }
}

/// A situation, with the components of the modes that it has.
struct Case {
    situation: Situation,
    modes: Vec<BTreeSet<String>>,
    /// All that may be active.
    active: BTreeSet<String>,
}

impl Case {
    fn of(situation: Situation, modes: Vec<BTreeSet<String>>) -> Self {
        let active = modes.iter().flatten().cloned().collect();
        Self { situation, modes, active }
    }

    /// Whether one of the modes has all of these.
    fn has<'e>(&self, ends: impl Iterator<Item = &'e End> + Clone) -> bool {
        self.modes.iter().any(|mode| has_all(mode, ends.clone()))
    }

    /// Whether a component may be active.
    fn may_have(&self, component: &str) -> bool {
        self.active.contains(component)
    }
}

fn has_all<'e>(mode: &BTreeSet<String>, mut ends: impl Iterator<Item = &'e End>) -> bool {
    ends.all(|end| end.component().is_none_or(|component| mode.contains(component)))
}

/// The modes of a plan, the ways between two of them that differ, and all together if there are more of these than two.
fn cases(plan: &Plan) -> Vec<Case> {
    let of_mode = |name: &str| -> BTreeSet<String> {
        let mode = plan.modes.get(name).into_iter().flat_map(|mode| &mode.components);
        mode.chain(foreign(plan)).cloned().collect()
    };
    let modes: Vec<(&String, BTreeSet<String>)> =
        plan.modes.keys().map(|name| (name, of_mode(name))).collect();
    let single =
        modes.iter().map(|(name, mode)| Case::of(Situation::Mode(name.to_string()), [mode.clone()].into()));
    let mut cases: Vec<Case> = single.collect();
    for (index, (one, of_one)) in modes.iter().enumerate() {
        for (other, of_other) in modes.iter().skip(index + 1) {
            if of_one != of_other {
                let situation = Situation::Way(one.to_string(), other.to_string());
                cases.push(Case::of(situation, [of_one.clone(), of_other.clone()].into()));
            }
        }
    }
    let different: BTreeSet<BTreeSet<String>> = modes.into_iter().map(|(_, mode)| mode).collect();
    if different.len() > 2 {
        cases.push(Case::of(Situation::Any, different.into_iter().collect()));
    }
    cases
}

/// Components of programs that are no component servers: no mode changes what these do.
fn foreign(plan: &Plan) -> impl Iterator<Item = &String> {
    let is_foreign = |component: &Component| {
        let artefact = plan.processes.get(&component.process).and_then(|it| it.artefact.as_ref());
        artefact.and_then(|name| plan.artefacts.get(name)).is_some_and(|it| it.kind == ArtefactKind::Foreign)
    };
    plan.components.iter().filter(move |(_, component)| is_foreign(component)).map(|(name, _)| name)
}

/// What is known of the parts of a plan so far.
#[derive(Default)]
struct Known {
    chains: BTreeMap<String, ChainVerdict>,
    connections: BTreeMap<(String, String), ConnectionVerdict>,
    ports: BTreeMap<String, PortVerdict>,
}

/// The verdicts of plans of which some have modes. Each plan is looked at in each of its situations, while all that others have is active.
pub(crate) fn admit(plans: &[Deployed<'_>], limits: Limits) -> Admission {
    let all: Vec<Active<'_>> = plans.iter().map(|_| None).collect();
    let mut merged = Admission::default();
    let (mut obstacles, mut lacking) = (BTreeSet::new(), BTreeSet::new());
    let mut spent = Spent { limits, work: 0 };
    let mut together: Option<Admission> = None;
    for (index, deployed) in plans.iter().enumerate() {
        let plan = deployed.plan;
        let mut known = Known::default();
        if plan.modes.is_empty() {
            let admission = together.get_or_insert_with(|| spent.admit(plans, &all));
            known.take(admission, index, None);
            obstacles.extend(admission.obstacles.iter().cloned());
            lacking.extend(admission.lacking.iter().cloned());
        } else if plan.modes.len() <= MOST_MODES {
            let (joins, cases) = (leading_to_joins(plan), cases(plan));
            let looked_at: usize = joins.values().map(BTreeSet::len).sum();
            let cases = if looked_at.saturating_mul(cases.len()) > MOST_LEADING { Vec::new() } else { cases };
            // Modes that have what others have together need no analysis of their own.
            let mut done: BTreeMap<BTreeSet<String>, Admission> = BTreeMap::new();
            for case in cases {
                let admission = done.entry(case.active.clone()).or_insert_with_key(|active| {
                    let mut of_plans = all.clone();
                    if let Some(of_plan) = of_plans.get_mut(index) {
                        *of_plan = Some(active);
                    }
                    spent.admit(plans, &of_plans)
                });
                known.take(admission, index, Some((plan, &case, &joins)));
                obstacles.extend(admission.obstacles.iter().cloned());
                lacking.extend(admission.lacking.iter().cloned());
            }
        }
        // In the order of names, as without modes.
        let chains = plan.chains.iter().map(|(name, chain)| {
            known.chains.remove(name).unwrap_or_else(|| without_mode(index, plan, name, chain))
        });
        merged.chains.extend(chains);
        for link in plan.layout().links() {
            let verdict = known.connections.remove(&(link.name.to_string(), link.to.to_string()));
            merged.connections.extend(verdict);
        }
        merged.ports.extend(known.ports.into_values());
    }
    lacking.retain(|it| !obstacles.contains(it));
    merged.obstacles = obstacles.into_iter().collect();
    merged.lacking = lacking.into_iter().collect();
    merged.work = spent.work;
    merged
}

/// Most components that lead to joins, counted for each join and each situation: more are not looked at.
const MOST_LEADING: usize = 1_000_000;

/// The limits of all analyses together.
struct Spent {
    limits: Limits,
    work: u64,
}

impl Spent {
    fn admit(&mut self, plans: &[Deployed<'_>], active: &[Active<'_>]) -> Admission {
        let steps = self.limits.steps.saturating_sub(self.work);
        let admission = admit_active(plans, active, Limits { steps, ..self.limits });
        self.work = self.work.saturating_add(admission.work);
        admission
    }
}

/// A chain that never runs as a whole, or of a plan with too many modes.
fn without_mode(index: usize, plan: &Plan, name: &str, chain: &Chain) -> ChainVerdict {
    let (what, remedy) = if plan.modes.len() > MOST_MODES {
        let what = format!("{} modes are not analysed, and {MOST_MODES} are the most", plan.modes.len());
        (what, "make several plans, or fewer modes")
    } else if plan
        .modes
        .values()
        .any(|mode| has_all(&mode.components.iter().cloned().collect(), chain.path.iter()))
    {
        ("the plan has too many joins for its modes".to_string(), "make several plans, or fewer modes")
    } else {
        ("no mode has all of its components".to_string(), "add them to a mode, or take the chain out")
    };
    verdict_without(index, name, chain, (what, remedy.to_string()))
}

impl Known {
    /// Takes over the verdicts on a plan in a situation.
    fn take(&mut self, admission: &Admission, index: usize, case: Option<(&Plan, &Case, &Joins<'_>)>) {
        for verdict in admission.chains.iter().filter(|verdict| verdict.plan == index) {
            let mut verdict = verdict.clone();
            if let Some((plan, case, joins)) = case {
                let Some(chain) = plan.chains.get(&verdict.name).filter(|it| case.has(it.path.iter())) else {
                    continue;
                };
                if let Some((what, remedy)) = awaited(plan, case, joins, &chain.path) {
                    verdict.state = State::NoBound { what, remedy };
                    (verdict.reaction.1, verdict.age.1) = (None, None);
                }
                let (state, situation) = (verdict.state.clone(), case.situation.clone());
                verdict.bounds.push((situation.clone(), state, verdict.reaction.1, verdict.age.1));
                verdict.situation = Some(situation);
            }
            match self.chains.remove(&verdict.name) {
                None => drop(self.chains.insert(verdict.name.clone(), verdict)),
                Some(before) => drop(self.chains.insert(verdict.name.clone(), worse_chain(before, verdict))),
            }
        }
        for verdict in admission.connections.iter().filter(|verdict| verdict.plan == index) {
            let mut verdict = verdict.clone();
            if let Some((plan, case, joins)) = case {
                let ends = plan.connections.get(&verdict.name);
                let to = ends.and_then(|it| it.to.iter().find(|to| to.to_string() == verdict.to));
                let Some((from, to)) = ends.map(|it| &it.from).zip(to) else { continue };
                let ends = [from.clone(), to.clone()];
                if !case.has(ends.iter()) {
                    continue;
                }
                if let Some((what, remedy)) = awaited(plan, case, joins, &ends) {
                    verdict.state = State::NoBound { what, remedy };
                    verdict.latency.1 = None;
                }
                verdict.situation = Some(case.situation.clone());
            }
            let key = (verdict.name.clone(), verdict.to.clone());
            let worse = match self.connections.remove(&key) {
                None => verdict,
                Some(before) => worse_connection(before, verdict),
            };
            self.connections.insert(key, worse);
        }
        for port in admission.ports.iter().filter(|port| port.plan == index) {
            match self.ports.get_mut(&port.name) {
                None => drop(self.ports.insert(port.name.clone(), port.clone())),
                Some(known) => {
                    known.response = both(known.response, port.response);
                    known.backlog = both(known.backlog, port.backlog);
                }
            }
        }
    }
}

/// Which of two states says less, and by how much.
fn rank(state: &State) -> (u8, u64) {
    match state {
        State::Admitted => (0, 0),
        State::Refused { missing } => (1, *missing),
        State::NoBound { .. } => (2, 0),
    }
}

/// A bound that holds in both; none if there is none in one of them.
fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.max(other?))
}

fn worse_chain(one: ChainVerdict, other: ChainVerdict) -> ChainVerdict {
    let key = |it: &ChainVerdict| (rank(&it.state), it.reaction.1, it.age.1);
    let (mut worse, better) = if key(&one) >= key(&other) { (one, other) } else { (other, one) };
    worse.reaction.1 = both(worse.reaction.1, better.reaction.1);
    worse.age.1 = both(worse.age.1, better.age.1);
    worse.is_conditional |= better.is_conditional;
    for only in better.only {
        if !worse.only.contains(&only) {
            worse.only.push(only);
        }
    }
    worse.bounds.extend(better.bounds);
    worse.bounds.sort_by(|one, other| one.0.cmp(&other.0));
    worse
}

fn worse_connection(one: ConnectionVerdict, other: ConnectionVerdict) -> ConnectionVerdict {
    let key = |it: &ConnectionVerdict| (rank(&it.state), it.latency.1);
    let (mut worse, better) = if key(&one) >= key(&other) { (one, other) } else { (other, one) };
    worse.latency.1 = both(worse.latency.1, better.latency.1);
    worse.is_conditional |= better.is_conditional;
    // Where different sources make the events, no single one makes them all.
    worse.stream = worse.stream.zip(better.stream).and_then(|(one, other)| {
        let jitter = match (one.jitter, other.jitter) {
            (Ok(one), Ok(other)) => Ok(one.max(other)),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        (one.period == other.period).then_some(Stream { jitter, ..one })
    });
    for only in better.only {
        if !worse.only.contains(&only) {
            worse.only.push(only);
        }
    }
    worse
}

/// Why what passes these ports may wait for parts of a join that do not come while modes change, and what to do. Components that lead to the
/// join, by whatever ways, have to be active in each mode that has all of the ports.
fn awaited(plan: &Plan, case: &Case, joins: &Joins<'_>, path: &[End]) -> Option<(String, String)> {
    if case.modes.len() < 2 {
        return None;
    }
    let mut modes = case.modes.iter().filter(|mode| has_all(mode, path.iter())).peekable();
    modes.peek()?;
    let modes: Vec<&BTreeSet<String>> = modes.collect();
    for end in path {
        let End::Port { component, port } = end else { continue };
        if !is_conjunction(plan, component, port) {
            continue;
        }
        let leading = joins.get(component.as_str()).into_iter().flatten().filter(|name| case.may_have(name));
        let lacks = |mode: &&BTreeSet<String>| leading.clone().find(|name| !mode.contains(**name)).copied();
        if let Some(missing) = modes.iter().find_map(lacks) {
            let what = format!(
                "what comes to the join \"{end}\" begins or ends with \"{missing}\", for which others wait meanwhile"
            );
            let remedy = "let all components that lead to the join be in each of the modes";
            return Some((what, remedy.to_string()));
        }
    }
    None
}

fn is_conjunction(plan: &Plan, component: &str, port: &str) -> bool {
    let join = plan.components.get(component).and_then(|it| it.ports.get(port)?.join_tree());
    join.is_some_and(|join| join.waits())
}

/// For each component with a conjunction that one, and all from which events come to it, by whatever ways.
type Joins<'p> = BTreeMap<&'p str, BTreeSet<&'p str>>;

fn leading_to_joins(plan: &Plan) -> Joins<'_> {
    let mut before: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for connection in plan.connections.values() {
        for to in connection.to.iter().filter_map(End::component) {
            before.entry(to).or_default().extend(connection.from.component());
        }
    }
    let has_join = |(name, component): (&'_ String, &Component)| {
        component.ports.keys().any(|port| is_conjunction(plan, name, port))
    };
    let with_joins = plan.components.iter().filter(|it| has_join(*it)).map(|(name, _)| name.as_str());
    let leading = |name| {
        let (mut all, mut open) = (BTreeSet::from([name]), Vec::from([name]));
        while let Some(component) = open.pop() {
            let new = before.get(component).into_iter().flatten().filter(|from| all.insert(**from));
            open.extend(new.copied());
        }
        (name, all)
    };
    with_joins.map(leading).collect()
}
