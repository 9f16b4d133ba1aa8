//! Joins are of consumers, and name the connections that lead to these, and groups of the port.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Checker;
use crate::join_tree::{DEEPEST_JOIN, JoinPart, JoinTree};
use crate::manifest::PortKind;
use crate::plan::{End, Join, JoinKind, KeepPolicy, Port, ServiceKind};
use crate::qos::Side;
use crate::shape::meant;

/// Events and timeouts of one delivery of a channel.
const WIDEST: usize = 256;
/// Events and timeouts that all joins of a port keep together.
const MOST_KEPT: usize = 1_024;
/// Places of connections in the joins of a port.
const MOST_PLACES: usize = 256;

/// Parts of a subscription, of any kind.
const MOST_NODES: usize = 1_000;

/// How much a join comes to: parts of one delivery, what is kept for it, and parts of its subscription.
struct Size {
    width: usize,
    kept: usize,
    nodes: usize,
}

impl Checker<'_> {
    pub(super) fn joins(&mut self) {
        let plan = self.plan;
        for (name, component) in &plan.components {
            for (port, said) in &component.ports {
                let path = format!("component.{name}.port.{port}");
                let Some(join) = &said.join else {
                    if let Some(group) = said.groups.keys().next() {
                        let what = format!("\"{group}\" is a group, and the port has no join");
                        self.wrong(&format!("{path}.group.{group}"), what, "add join = { ... } to the port");
                    }
                    continue;
                };
                let end = End::port(name.as_str(), port.as_str());
                if let Some(kind) = self.port_type(&end).map(|port| port.kind)
                    && kind != PortKind::Consumer
                {
                    let what = format!("\"{end}\" is a {kind}: events of connections do not call it");
                    self.wrong(&format!("{path}.join"), what, "joins are of consumers");
                    continue;
                }
                let joins: Vec<(String, &Join)> = core::iter::once((format!("{path}.join"), join))
                    .chain(said.groups.iter().map(|(name, group)| (format!("{path}.group.{name}"), group)))
                    .collect();
                for (index, (path, join)) in joins.iter().enumerate() {
                    self.shape(path, join, index > 0);
                    let kinds = join.filter.as_ref().map(|filter| (filter, &join.parameters));
                    if let Some((filter, parameters)) = kinds {
                        self.expression(&format!("{path}.filter"), filter, parameters, &end);
                    }
                }
                if joins.iter().map(|(_, join)| join.parts.len()).sum::<usize>() > MOST_PLACES {
                    let what = format!(
                        "a delivery has at most {WIDEST} events, and the joins of a port {MOST_PLACES} parts"
                    );
                    self.wrong(&format!("{path}.join"), what, "join fewer connections");
                    continue;
                }
                self.grouped(&path, said, &joins);
                self.parts(&end, said, &joins);
                if let Some(tree) = said.join_tree() {
                    let size = self.size(&path, &tree, 0);
                    if size.nodes > MOST_NODES {
                        let what = "the joins of the port have too many parts and filters";
                        self.wrong(&format!("{path}.join"), what, "give filters to the connections");
                    }
                    if size.kept > MOST_KEPT {
                        let what = format!(
                            "joins of a port keep at most {MOST_KEPT} events, and these {}",
                            size.kept
                        );
                        self.wrong(&format!("{path}.join"), what, "keep fewer events of each part");
                    }
                }
            }
        }
    }

    /// What is said of a join suits its kind.
    fn shape(&mut self, path: &str, join: &Join, is_group: bool) {
        let timers = usize::from(join.every.is_some()) + usize::from(join.after.is_some());
        let parts = join.parts.len() + timers;
        if parts < 2 && !is_group {
            let remedy = "take the join out, or name more connections";
            self.wrong(&format!("{path}.parts"), "a join has two parts or more", remedy);
        } else if parts == 0 {
            let remedy = "name connections, or take the group out";
            self.wrong(&format!("{path}.parts"), "a group has a part or more", remedy);
        }
        if join.kind == JoinKind::Disjunction && (join.keep != KeepPolicy::First || join.within.is_some()) {
            let what = "a disjunction keeps nothing: each event is a delivery";
            self.wrong(path, what, "take keep and within out, or write kind = \"conjunction\"");
        } else if join.most.is_some() != (join.keep == KeepPolicy::All) {
            let what = if join.most.is_some() {
                "only all keeps several events"
            } else {
                "it is not said how many events a part keeps"
            };
            self.wrong(path, what, "keep = \"all\" comes with most = NUMBER, others without");
        }
        if join.filter.is_none() && !join.parameters.is_empty() {
            let what = "parameters are values of a filter, and there is none";
            self.wrong(&format!("{path}.parameters"), what, "add filter = \"...\", or take them out");
        }
        let times = [
            ("within", join.within),
            ("every", join.every),
            ("after", join.after),
            ("silence", join.silence),
        ];
        for (key, time) in times {
            if time.is_some_and(|time| time < 1_000) {
                let what = "this time is shorter than a nanosecond";
                self.wrong(&format!("{path}.{key}"), what, "write 1 ns or more");
            }
        }
    }

    /// Each group is a part once, of the join or of a group that is one.
    fn grouped(&mut self, path: &str, port: &Port, joins: &[(String, &Join)]) {
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for (path, join) in joins {
            for (index, part) in join.parts.iter().enumerate() {
                if port.groups.contains_key(part) && !named.insert(part) {
                    let what = format!("the group \"{part}\" is a part already");
                    self.wrong(
                        &format!("{path}.parts.{index}"),
                        what,
                        "make another group of the same parts",
                    );
                }
            }
        }
        let mut deep = alloc::vec![("", 1)];
        let mut reached = BTreeSet::new();
        while let Some((name, depth)) = deep.pop() {
            let join = if depth == 1 { port.join.as_ref() } else { port.groups.get(name) };
            let groups = join.into_iter().flat_map(|join| &join.parts);
            let groups: Vec<&str> =
                groups.filter_map(|part| port.groups.get_key_value(part)).map(|(name, _)| &**name).collect();
            for group in groups {
                if reached.insert(group) {
                    if depth >= DEEPEST_JOIN {
                        let what = format!("\"{group}\" is more than {DEEPEST_JOIN} deep in other joins");
                        self.wrong(&format!("{path}.group.{group}"), what, "join less deep");
                        continue;
                    }
                    deep.push((group, depth + 1));
                }
            }
        }
        for group in port.groups.keys() {
            let path = format!("{path}.group.{group}");
            if self.plan.connections.contains_key(group) {
                let what = format!("\"{group}\" is a connection, too");
                self.wrong(&path, what, "give the group another name: parts name both");
            } else if !named.contains(group.as_str()) {
                let what = format!("no join of the port has the part \"{group}\"");
                self.wrong(&path, what, "name it among the parts of one, or take it out");
            } else if !reached.contains(group.as_str()) {
                let what = format!("\"{group}\" is a part of itself, by way of other groups");
                self.wrong(&path, what, "groups are parts of the join, or of groups that are");
            }
        }
    }

    /// How much a join comes to; what is too wide is told.
    fn size(&mut self, path: &str, tree: &JoinTree<'_>, filters: usize) -> Size {
        let join = tree.join;
        let filters = filters + usize::from(join.filter.is_some());
        let timers = usize::from(join.every.is_some()) + usize::from(join.after.is_some());
        let mut nodes = 1 + timers + usize::from(join.silence.is_some());
        let (mut widest, mut sum, mut kept) = (usize::from(timers > 0), timers, 0_usize);
        for part in &tree.parts {
            let size = match part {
                JoinPart::Connection(_) => {
                    // With filters it is a part of one that has these, too.
                    Size { width: 1, kept: 0, nodes: if filters > 0 { filters + 2 } else { 1 } }
                }
                JoinPart::Group(group) => self.size(path, group, filters),
            };
            nodes = nodes.saturating_add(size.nodes);
            widest = widest.max(size.width);
            sum = sum.saturating_add(size.width);
            kept = kept.saturating_add(size.kept);
        }
        if join.kind == JoinKind::Disjunction {
            return Size { width: widest, kept, nodes };
        }
        let width = sum.saturating_mul(usize::from(join.most.unwrap_or(1).max(1)));
        if width > WIDEST {
            let what = format!("a delivery has at most {WIDEST} events");
            let path = match tree.group {
                Some(group) => format!("{path}.group.{group}"),
                None => format!("{path}.join"),
            };
            self.wrong(&path, what, "join fewer connections, or keep fewer events of each");
            return Size { width: 1, kept: 0, nodes };
        }
        Size { width, kept: kept.saturating_add(width), nodes }
    }

    /// The parts that are no groups are the connections to the port, once in each join, and these leave the queue to the join.
    fn parts(&mut self, end: &End, port: &Port, joins: &[(String, &Join)]) {
        let plan = self.plan;
        for (path, join) in joins {
            for (index, part) in
                join.parts.iter().enumerate().filter(|(_, it)| !port.groups.contains_key(*it))
            {
                let path = format!("{path}.parts.{index}");
                if join.parts.iter().take(index).any(|other| other == part) {
                    self.wrong(&path, format!("\"{part}\" is a part already"), "name each connection once");
                    continue;
                }
                match plan.connections.get(part) {
                    None => {
                        let known = plan.connections.keys().chain(port.groups.keys()).map(String::as_str);
                        let remedy = meant(part, known, format!("add [connection.{part}]"));
                        self.wrong(&path, format!("there is no connection \"{part}\""), remedy);
                    }
                    Some(connection) if !connection.to.contains(end) => {
                        let what = format!("\"{part}\" does not lead to \"{end}\"");
                        self.wrong(&path, what, "name connections that do");
                    }
                    Some(_) => {}
                }
            }
        }
        let links: Vec<_> = self.layout.links().filter(|link| link.to == end).collect();
        for link in links {
            let at = format!("connection.{}", link.name);
            if !joins.iter().flat_map(|(_, join)| &join.parts).any(|part| part == link.name) {
                let what = format!("\"{}\" leads to \"{end}\", which is a join without it", link.name);
                self.wrong(&at, what, "name it among the parts of the join");
            }
            let remedy = || String::from("say it at the port: the parts of a join share one queue");
            if link.connection.queue.is_some() {
                self.wrong(
                    &format!("{at}.queue"),
                    format!("\"{end}\" is a join, and has the queue"),
                    remedy(),
                );
            }
            for quality in link.connection.qos.keys().filter(|quality| quality.side() == Side::Consumer) {
                self.wrong(
                    &format!("{at}.qos.{quality}"),
                    format!("\"{end}\" is a join, and decides about it"),
                    remedy(),
                );
            }
            if link.kind == ServiceKind::Direct && link.connection.service.is_some() {
                let what = format!(
                    "\"{end}\" is a join, which has a queue: the thread that pushes does not call it"
                );
                self.wrong(&format!("{at}.service"), what, "write service = \"channel\", or leave it out");
            }
        }
    }
}
