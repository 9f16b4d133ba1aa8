//! Lanes that no bound counts with: of a class, with a dispatch, or awake in a way that is not analysed.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{LaneDispatch, SchedulingClass};

use crate::kept;
use crate::links::Links;
use crate::parts::{Parts, Threads};
use crate::system::reached;

/// Lanes whose threads may go from core to core, or that are of a class without an analysis.
pub(crate) fn check_lanes(
    parts: &mut Parts<'_>,
    runs: &BTreeSet<usize>,
    links: &Links<'_>,
    shared: &BTreeSet<(usize, &str)>,
) {
    let is_shared = |parts: &Parts<'_>, index: usize| {
        let mut served = runs.iter().filter(|it| !links.direct.contains(it));
        served.any(|it| {
            let is_in = parts.handlers.get(*it).is_some_and(|handler| handler.lane == index);
            is_in
                && reached(parts, links, *it)
                    .iter()
                    .filter_map(|it| parts.handlers.get(*it))
                    .any(|handler| shared.contains(&(handler.plan, handler.component)))
        })
    };
    let is_shared: Vec<bool> = (0..parts.lanes.len()).map(|index| is_shared(parts, index)).collect();
    let is_shared = |index: usize| is_shared.get(index).copied().unwrap_or(false);
    for index in 0..parts.lanes.len() {
        let Some(lane) = parts.lanes.get(index).cloned() else { continue };
        let counts = |it: usize| parts.lanes.get(it).is_some_and(|lane| lane.is_real_time()) || is_shared(it);
        let disturbed =
            (lane.spins && lane.is_real_time()).then(|| disturbed(parts, index, counts)).flatten();
        let is_shared = is_shared(index);
        let path = || lane.path.clone().unwrap_or_else(|| "container".to_string());
        if lane.class == SchedulingClass::RoundRobin {
            let what = format!("lane {}: the class round-robin is not analysed", lane.name);
            parts.obstacle(lane.plan, path(), lane.host, what, "class = \"fifo\"");
        }
        if lane.dispatch != LaneDispatch::Lane && (lane.is_real_time() || is_shared) {
            let what = format!("lane {}: the dispatch {} is not analysed", lane.name, lane.dispatch);
            parts.obstacle(lane.plan, path(), lane.host, what, "dispatch = \"lane\"");
        }
        if let Some(disturbed) = disturbed {
            let what = format!(
                "lane {}: a thread that stays awake without work takes time of {disturbed}",
                lane.name
            );
            let remedy = "spin = \"0 s\", or one thread of the class fifo with a core for itself on a host without throttling";
            parts.obstacle(lane.plan, path(), lane.host, what, remedy);
        }
        if (lane.is_real_time() || is_shared) && lane.cores.len() != 1 {
            let what = match lane.cores.len() {
                0 => format!("lane {}: its threads may run on every core", lane.name),
                many => format!("lane {}: its threads may run on {many} cores", lane.name),
            };
            let why = if lane.is_real_time() { "" } else { "; it shares a component with a real-time lane" };
            parts.obstacle(lane.plan, path(), lane.host, format!("{what}{why}"), "cores = [ONE]");
        } else if lane.class == SchedulingClass::Deadline && !lane.keeps_deadline {
            let what = format!(
                "lane {}: the kernel keeps no thread of the class deadline on one core of several",
                lane.name
            );
            let remedy = "add cgroup = \"PATH\" to its process, of a control group that is a cpuset partition of this core";
            parts.obstacle(lane.plan, path(), lane.host, what, remedy);
        }
        if lane.class == SchedulingClass::Deadline && publishes_at_instants(parts, lane.host) {
            let what = format!(
                "lane {}: the thread that publishes what is in logical execution time does not run before the class deadline",
                lane.name
            );
            parts.obstacle(lane.plan, path(), lane.host, what, "class = \"fifo\"");
        }
    }
}

/// What a real-time lane disturbs whose threads stay awake without work, of the lanes that count, and of itself.
fn disturbed(parts: &Parts<'_>, index: usize, counts: impl Fn(usize) -> bool) -> Option<String> {
    let lane = parts.lanes.get(index)?;
    if lane.class != SchedulingClass::Fifo {
        return Some(format!("its own: the class {} gives it to others", lane.class));
    }
    if lane.count > 1 {
        return Some("the other threads of the lane".to_string());
    }
    let meets = |other: &Threads<'_>| {
        let is_everywhere = other.cores.is_empty() || lane.cores.is_empty();
        other.host == lane.host && (is_everywhere || other.cores.iter().any(|core| lane.cores.contains(core)))
    };
    let other =
        parts.lanes.iter().enumerate().find(|(it, other)| *it != index && counts(*it) && meets(other));
    if let Some((_, other)) = other {
        return Some(format!("lane {}", other.name));
    }
    if publishes_at_instants(parts, lane.host) {
        return Some("the thread that publishes what is in logical execution time".to_string());
    }
    let mut hosts =
        parts.plans.iter().filter_map(|(deployed, _)| deployed.plan.hosts.get(lane.host)?.costs.as_ref());
    let is_throttled = hosts.any(|costs| costs.throttling.is_none_or(|it| it.runtime < it.period));
    is_throttled.then(|| "all threads of the class fifo on its core, which are throttled for it".to_string())
}

/// Whether a port of a host is in logical execution time.
fn publishes_at_instants(parts: &Parts<'_>, host: &str) -> bool {
    (0..parts.handlers.len()).any(|it| parts.host_of(it) == host && kept::interval(parts, it).is_some())
}
