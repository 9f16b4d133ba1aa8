//! Joins are of consumers, and name the connections that lead to these.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Checker;
use crate::manifest::PortKind;
use crate::plan::{End, Join, JoinKind, KeepPolicy, ServiceKind};
use crate::qos::Side;

/// Parts of a join: a delivery of the channel has no more events.
const MOST_PARTS: usize = 256;

impl Checker<'_> {
    pub(super) fn joins(&mut self) {
        let plan = self.plan;
        for (name, component) in &plan.components {
            for (port, said) in &component.ports {
                let Some(join) = &said.join else { continue };
                let path = format!("component.{name}.port.{port}.join");
                let end = End::port(name.as_str(), port.as_str());
                self.shape(&path, join);
                if let Some(kind) = self.port_type(&end).map(|port| port.kind)
                    && kind != PortKind::Consumer
                {
                    let what = format!("\"{end}\" is a {kind}: events of connections do not call it");
                    self.wrong(&path, what, "joins are of consumers");
                    continue;
                }
                if join.parts.len() <= MOST_PARTS {
                    self.parts(&path, &end, join);
                }
            }
        }
    }

    /// What is said of a join suits its kind.
    fn shape(&mut self, path: &str, join: &Join) {
        if join.parts.len() < 2 {
            self.wrong(
                &format!("{path}.parts"),
                "a join has two parts or more",
                "take the join out, or name more connections",
            );
        }
        let most = usize::from(join.most.unwrap_or(1).max(1));
        let timers = usize::from(join.every.is_some());
        if join.parts.len().saturating_add(timers).saturating_mul(most) > MOST_PARTS {
            let what = format!("a delivery has at most {MOST_PARTS} events");
            self.wrong(path, what, "join fewer connections, or keep fewer events of each");
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
        for (key, time) in [("within", join.within), ("every", join.every), ("silence", join.silence)] {
            if time.is_some_and(|time| time < 1_000) {
                let what = "this time is shorter than a nanosecond";
                self.wrong(&format!("{path}.{key}"), what, "write 1 ns or more");
            }
        }
    }

    /// The parts are the connections to the port, once each, and these leave the queue to the join.
    fn parts(&mut self, path: &str, end: &End, join: &Join) {
        let plan = self.plan;
        for (index, part) in join.parts.iter().enumerate() {
            let path = format!("{path}.parts.{index}");
            if join.parts.iter().take(index).any(|other| other == part) {
                self.wrong(&path, format!("\"{part}\" is a part already"), "name each connection once");
                continue;
            }
            self.needs(&path, "connection", part, &plan.connections);
            if plan.connections.get(part).is_some_and(|connection| !connection.to.contains(end)) {
                self.wrong(
                    &path,
                    format!("\"{part}\" does not lead to \"{end}\""),
                    "name connections that do",
                );
            }
        }
        let links: Vec<_> = self.layout.links().filter(|link| link.to == end).collect();
        for link in links {
            let at = format!("connection.{}", link.name);
            if !join.parts.iter().any(|part| part == link.name) {
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
