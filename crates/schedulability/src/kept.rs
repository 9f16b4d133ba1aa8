//! What keeps the events of connections until handlers run: joins, and timers in logical execution time.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use assembly::{ArtefactKind, End, FlatJoin, JoinKind, JoinTree, KeepPolicy, NotFlat, PortKind, Timing};
use response::Keep;

use crate::handlers::up;
use crate::links::Links;
use crate::parts::Parts;

/// What keeps the events that come to a handler.
#[derive(Clone, Debug)]
pub(crate) enum Keeper<'p> {
    /// A join calls it.
    Join(Joined<'p>),
    /// It is called by this timer's run, which reads what had come at the instant of the timer.
    Timer(usize),
}

/// The join of a handler.
#[derive(Clone, Debug)]
pub(crate) struct Joined<'p> {
    pub(crate) tree: JoinTree<'p>,
    /// As a conjunction of connections, which the analysis has. What is none, and no disjunction of connections, is an obstacle.
    pub(crate) conjunction: Option<FlatJoin<'p>>,
}

/// The keepers of handlers.
pub(crate) fn keepers<'p>(parts: &Parts<'p>) -> BTreeMap<usize, Keeper<'p>> {
    let mut keepers = BTreeMap::new();
    for (index, handler) in parts.handlers.iter().enumerate() {
        let Some((deployed, _)) = parts.plans.get(handler.plan) else { continue };
        let said = deployed.plan.components.get(handler.component);
        let Some(said) = said.and_then(|component| component.ports.get(handler.port)) else { continue };
        if let Some(tree) = said.join_tree() {
            let conjunction = tree.flat().ok().filter(|flat| flat.kind == JoinKind::Conjunction);
            keepers.insert(index, Keeper::Join(Joined { tree, conjunction }));
        }
        if said.timing == Timing::Let && handler.of_type.kind == PortKind::Timer {
            for sampled in &said.samples {
                let read = parts.handler(handler.plan, &End::port(handler.component, sampled.as_str()));
                keepers.extend(read.map(|read| (read, Keeper::Timer(index))));
            }
        }
    }
    keepers
}

/// A conjunction, as the analysis has it.
pub(crate) fn conjunction(join: &FlatJoin<'_>) -> response::Join {
    response::Join {
        parts: join.parts.len(),
        keep: match join.keep {
            KeepPolicy::First => Keep::First,
            KeepPolicy::Last => Keep::Last,
            KeepPolicy::All => Keep::All(join.most.unwrap_or(1).into()),
        },
        within: join.within.map(up),
    }
}

/// Handlers that the run of a timer in logical execution time calls before the timer's own, in this order.
pub(crate) fn reads(parts: &Parts<'_>, links: &Links<'_>, timer: usize) -> alloc::vec::Vec<usize> {
    let Some(handler) = parts.handlers.get(timer) else { return alloc::vec::Vec::new() };
    let said = parts.component(handler.plan, handler.component).and_then(|it| it.ports.get(handler.port));
    let samples = said.into_iter().flat_map(|port| &port.samples);
    let of_port =
        samples.filter_map(|port| parts.handler(handler.plan, &End::port(handler.component, port.as_str())));
    of_port.filter(|read| matches!(links.kept.get(read), Some(Keeper::Timer(by)) if *by == timer)).collect()
}

/// The interval of a timer in logical execution time, in picoseconds.
pub(crate) fn interval(parts: &Parts<'_>, handler: usize) -> Option<u64> {
    let handler = parts.handlers.get(handler).filter(|it| it.of_type.kind == PortKind::Timer)?;
    let said = parts.component(handler.plan, handler.component)?.ports.get(handler.port)?;
    if said.timing == Timing::Let { said.interval.or(said.period) } else { None }
}

/// Joins and timers that the analysis does not have. `lanes` are those that take the lock of each component, by plan and name.
pub(crate) fn check(
    parts: &mut Parts<'_>,
    links: &Links<'_>,
    runs: &BTreeSet<usize>,
    lanes: &BTreeMap<(usize, &str), BTreeSet<usize>>,
) {
    foreign(parts, links);
    for (index, keeper) in &links.kept {
        let Keeper::Join(join) = keeper else { continue };
        let Some(handler) = parts.handlers.get(*index).cloned() else { continue };
        let path = format!("component.{}.port.{}.join", handler.component, handler.port);
        let host = parts.host_of(*index);
        if let Err(why) = join.tree.flat() {
            let end = End::port(handler.component, handler.port);
            let (group, what, remedy) = match why {
                NotFlat::Timeouts(group) => (
                    group,
                    format!("what timeouts in the join of \"{end}\" let threads do is not analysed"),
                    "take every, after and silence out",
                ),
                NotFlat::Group(group) => (
                    Some(group),
                    format!("the join of \"{end}\" has {why}: what that keeps is not analysed"),
                    "name the connections in the join itself, or let a component of its own join those of the group",
                ),
                NotFlat::Several(_) => (
                    None,
                    format!("the join of \"{end}\" has {why}: which of them an event is for is not analysed"),
                    "let each part have connections of its own",
                ),
            };
            let path = match group {
                Some(group) => format!("component.{}.port.{}.group.{group}", handler.component, handler.port),
                None => path.clone(),
            };
            parts.obstacle(handler.plan, path, host, what, remedy);
        }
        for part in join.conjunction.iter().flat_map(|join| &join.parts) {
            let mut ways = links.ways.iter().filter(|way| way.to == *index && way.name == *part);
            if !ways.any(|way| links.is_pushed(parts, runs, way)) {
                let what = format!("no handler is known to push to \"{part}\", for which the others wait");
                let remedy =
                    "name it in the steps of one; a topic cannot be a part of a conjunction that has a bound";
                parts.obstacle(handler.plan, path.clone(), host, what, remedy);
            }
        }
    }
    for index in 0..parts.handlers.len() {
        if interval(parts, index).is_none() {
            continue;
        }
        let Some(handler) = parts.handlers.get(index).cloned() else { continue };
        let (plan, component) = (handler.plan, handler.component);
        let path = format!("component.{component}.port.{}", handler.port);
        let host = parts.host_of(index);
        let mut calls = links.of_component(plan, component).filter(|way| way.is_direct);
        if let Some(way) = calls.find(|way| {
            handler.of_type.triggers.as_ref().is_none_or(|it| it.iter().any(|it| it == way.from.1))
        }) {
            let what = format!(
                "calls as by \"{}\" from a handler in logical execution time are not analysed",
                way.name
            );
            let remedy = "take the port out of the triggers of the timer, if it does not call there";
            parts.obstacle(plan, path.clone(), host, what, remedy);
        }
        let is_parallel = parts.type_of(plan, component).is_some_and(|of_type| of_type.is_parallel);
        let of_lane = parts.lanes.get(handler.lane).map_or(1, |lane| lane.count);
        let several = lanes.get(&(plan, component)).is_some_and(|lanes| lanes.len() > 1) || of_lane > 1;
        if several && !is_parallel && !reads(parts, links, index).is_empty() {
            let what = format!(
                "threads besides that of \"{component}.{}\" enter its component between what it reads",
                handler.port
            );
            let remedy = "give all ports of the component one lane of one thread";
            parts.obstacle(plan, path, host, what, remedy);
        }
    }
}

/// Programs that are no component servers neither join nor have logical execution time.
fn foreign(parts: &mut Parts<'_>, links: &Links<'_>) {
    let kept: alloc::vec::Vec<usize> = links.kept.keys().copied().collect();
    for index in kept {
        if !parts.is_foreign(index) {
            continue;
        }
        let Some(handler) = parts.handlers.get(index).cloned() else { continue };
        let path = format!("component.{}.port.{}", handler.component, handler.port);
        let what =
            format!("a program of the kind {} does not keep events for its handlers", ArtefactKind::Foreign);
        parts.obstacle(handler.plan, path, parts.host_of(index), what, "take the join or timing out");
    }
}
