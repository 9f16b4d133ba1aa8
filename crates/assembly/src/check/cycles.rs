//! Cycles of calls: a component that would be called while it calls.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Checker;
use crate::links::Link;
use crate::plan::{End, ServiceKind};

impl Checker<'_> {
    /// A component whose handlers run one at a time, and that something calls which it waits for, waits for itself.
    pub(super) fn cycles(&mut self) {
        let links: Vec<Link<'_>> = self.layout.links().collect();
        let mut onward: BTreeMap<&str, Vec<(&str, &Link<'_>)>> = BTreeMap::new();
        for link in &links {
            // A call waits whatever carries it; an event only where the thread that pushes calls the handler.
            let waits = link.kind == ServiceKind::Direct
                || self.port_type(link.from).is_some_and(|port| port.kind.is_call());
            if let (true, End::Port { component, port }) = (waits, link.from) {
                onward.entry(component).or_default().push((port, link));
            }
        }
        let mut told: BTreeSet<&str> = BTreeSet::new();
        let starts: Vec<&str> = onward.keys().copied().collect();
        for start in starts {
            if told.contains(start) || self.type_of(start).is_some_and(|of_type| of_type.is_parallel) {
                continue;
            }
            let (cycle, steps) = self.cycle(start, &onward);
            if !self.spend(steps) {
                return;
            }
            let Some(cycle) = cycle else { continue };
            told.extend(cycle.iter().filter_map(|link| link.from.component()));
            let way: Vec<String> =
                cycle.iter().flat_map(|link| [link.from.to_string(), link.to.to_string()]).collect();
            let Some(last) = cycle.last() else { continue };
            let path = format!("connection.{}.to.{}", last.name, last.index);
            let what =
                format!("\"{start}\" would be called while it waits for its own call: {}", way.join(" → "));
            let remedy =
                match cycle.iter().find(|link| link.kind == ServiceKind::Direct && !self.is_call(link)) {
                    Some(link) => format!("let the connection \"{}\" say service = \"channel\"", link.name),
                    None => "let one of the components publish an event instead of a call".to_string(),
                };
            self.wrong(&path, what, remedy);
        }
    }

    fn is_call(&self, link: &Link<'_>) -> bool {
        self.port_type(link.from).is_some_and(|port| port.kind.is_call())
    }

    /// The shortest way of calls from a component back to it; and how many were looked at.
    fn cycle<'l>(
        &self,
        start: &str,
        onward: &BTreeMap<&str, Vec<(&str, &'l Link<'l>)>>,
    ) -> (Option<Vec<&'l Link<'l>>>, usize) {
        let Some(first) = onward.get(start) else { return (None, 0) };
        let mut known: BTreeSet<&End> = BTreeSet::new();
        // Each with the step that led to it.
        let mut steps: Vec<(&'l Link<'l>, Option<usize>)> =
            first.iter().map(|(_, link)| (*link, None)).collect();
        let mut next = 0;
        while let Some((link, _)) = steps.get(next).copied() {
            let component = link.to.component().unwrap_or_default();
            if component == start {
                let mut way = Vec::new();
                let mut at = Some(next);
                while let Some((link, before)) = at.and_then(|at| steps.get(at).copied()) {
                    way.push(link);
                    at = before;
                }
                way.reverse();
                return (Some(way), steps.len());
            }
            if known.insert(link.to) {
                for (port, further) in onward.get(component).into_iter().flatten() {
                    if self.triggers(link.to, port) {
                        steps.push((further, Some(next)));
                    }
                }
            }
            next += 1;
        }
        (None, steps.len())
    }
}
