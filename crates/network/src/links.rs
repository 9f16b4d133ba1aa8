//! Links of a file as ports of the model, and the numbers of the ports of switches.
use std::collections::{BTreeMap, BTreeSet};

use diagnostics::{Problem, Source};
use latency::framing::{ETHERNET_HEADER, FRAME_AROUND};
use latency::network::{Buffer, Imperfections, Port};
use latency::port::Control;
use latency::switch::{Others, SwitchModel};
use toml::Spanned;

use crate::description::{End, Link, VLAN_TAG};
use crate::document::{self, Document, Full};
use crate::models::said;
use crate::network::{HOST_BUFFER, MOST, Network};

/// Turns the links of a file into ports.
pub(crate) struct Links<'n> {
    pub(crate) network: &'n mut Network,
    pub(crate) document: &'n Document,
    /// Models of the switches, in the order of their nodes, which come after the hosts.
    pub(crate) kinds: &'n [&'n SwitchModel],
    /// For each node, the numbers of the ports in use.
    pub(crate) used: BTreeMap<usize, BTreeSet<u32>>,
    /// How many links each node has.
    pub(crate) linked: BTreeMap<usize, u32>,
}

impl Links<'_> {
    pub(crate) fn add(&mut self, source: Source<'_>) -> Result<(), Problem> {
        for end in self.document.links.iter().flat_map(|link| link.ends.get_ref()) {
            let name = end.get_ref().split(':').next().unwrap_or_default();
            if let Some(node) = self.network.names.get(name) {
                *self.linked.entry(*node).or_default() += 1;
            }
        }
        for link in &self.document.links {
            let at = link.ends.span().start;
            if self.network.links.len() >= 2 * MOST {
                return Err(source.problem(
                    at,
                    format!("more than {MOST} links"),
                    "plan parts of the network",
                ));
            }
            let [one, other] = link.ends.get_ref().as_slice() else {
                return Err(source.problem(at, "a link has two ends", "write [\"host\", \"switch:1\"]"));
            };
            let [first, second] = [self.end(source, one)?, self.end(source, other)?];
            if first.node == second.node {
                return Err(source.problem(at, "a link from a node to itself", "name two nodes"));
            }
            let loss = self.loss(source, link)?;
            for (from, to) in [(first.node, second.node), (second.node, first.node)] {
                let port = self.port(source, link, from, to)?;
                self.network.ports.push(port);
                self.network.links.push((from, to));
            }
            self.declare_full(source, link, [first.node, second.node])?;
            let rate = self.network.ports.last().map_or(0, |port| port.rate);
            let delay = link.delay.map_or(0, |time| time.0);
            self.network.cables.push(Link { ends: [first, second], rate, delay, loss });
        }
        self.number_ports();
        Ok(())
    }

    /// Which of the two ports that were added last take no further flows.
    fn declare_full(
        &mut self,
        source: Source<'_>,
        link: &document::Link,
        ends: [usize; 2],
    ) -> Result<(), Problem> {
        let Some(full) = &link.full else { return Ok(()) };
        let first = self.network.ports.len().saturating_sub(ends.len());
        match full.get_ref() {
            Full::Both(both) => self.network.full.extend((first..self.network.ports.len()).filter(|_| *both)),
            Full::Of(name) => {
                let node = self.network.names.get(name);
                let at = ends.iter().position(|end| Some(end) == node).ok_or_else(|| {
                    let what = format!("\"{name}\" is no end of this link");
                    source.problem(full.span().start, what, "name the end whose port takes no further flows")
                })?;
                self.network.full.insert(first + at);
            }
        }
        Ok(())
    }

    /// What the link loses: frames of flows are promised, so that a file with flows has no such link.
    fn loss(&self, source: Source<'_>, link: &document::Link) -> Result<u32, Problem> {
        let Some(loss) = &link.loss else { return Ok(0) };
        let lost = loss.get_ref().0;
        if lost > 0 && !self.document.flows.is_empty() {
            let what = "a link that loses frames, in a file with flows";
            let remedy = "no bound holds for a frame that is lost: leave out the loss, or the flows";
            return Err(source.problem(loss.span().start, what, remedy));
        }
        Ok(lost)
    }

    /// Gives ports without a number the least that is free; a port of a host is always the first.
    fn number_ports(&mut self) {
        let mut taken: BTreeSet<(usize, u32)> =
            self.network.cables.iter().flat_map(|link| link.ends).map(|end| (end.node, end.port)).collect();
        let mut free: BTreeMap<usize, u32> = BTreeMap::new();
        for end in self.network.cables.iter_mut().flat_map(|link| &mut link.ends) {
            if end.port == 0 {
                let from = free.entry(end.node).or_insert(1);
                end.port = (*from..).find(|port| !taken.contains(&(end.node, *port))).unwrap_or(1);
                *from = end.port;
                taken.insert((end.node, end.port));
            }
        }
    }

    /// The node, of which one more port is used, and the number of that port, 0 if it has none yet.
    fn end(&mut self, source: Source<'_>, text: &Spanned<String>) -> Result<End, Problem> {
        let at = text.span().start;
        let (name, number) = match text.get_ref().split_once(':') {
            None => (text.get_ref().as_str(), None),
            Some((name, number)) => {
                let number = number.parse::<u32>().ok().filter(|number| *number > 0);
                let wrong = || source.problem(at, "the number of a port is 1 or more", "write \"switch:3\"");
                (name, Some(number.ok_or_else(wrong)?))
            }
        };
        let node = *self.network.names.get(name).ok_or_else(|| {
            source.problem(at, format!("there is no node \"{name}\""), "name a [[host]] or a [[switch]]")
        })?;
        let most = node
            .checked_sub(self.document.hosts.len())
            .and_then(|switch| self.kinds.get(switch))
            .map_or(1, |kind| kind.ports);
        let used = self.used.entry(node).or_default();
        if used.len() as u64 >= u64::from(most) || number.is_some_and(|number| number > most) {
            let (what, remedy) = if self.kind(node).is_none() {
                (format!("the host \"{name}\" has one link, from its port 1"), "connect hosts by a switch")
            } else {
                (
                    format!("\"{name}\" has {most} ports"),
                    "ports are counted from 1; choose another one, or another model",
                )
            };
            return Err(source.problem(at, what, remedy));
        }
        if let Some(number) = number {
            if !used.insert(number) {
                return Err(source.problem(
                    at,
                    format!("port {number} of \"{name}\" is taken"),
                    "choose another port",
                ));
            }
        } else {
            // Ports without a number are counted from the other end of 32 bits, where no switch has any.
            used.insert(u32::MAX - u32::try_from(used.len()).unwrap_or(0));
        }
        Ok(End { node, port: number.unwrap_or(0) })
    }

    fn kind(&self, node: usize) -> Option<&SwitchModel> {
        node.checked_sub(self.document.hosts.len()).and_then(|switch| self.kinds.get(switch)).copied()
    }

    fn port(
        &self,
        source: Source<'_>,
        link: &document::Link,
        from: usize,
        to: usize,
    ) -> Result<Port, Problem> {
        let (here, there) = (self.kind(from), self.kind(to));
        let fastest = here.into_iter().chain(there).map(|kind| kind.rate).min();
        let rate = link.rate.as_ref().map(|rate| rate.get_ref().0).or(fastest).unwrap_or(1_000_000_000);
        let at = link.rate.as_ref().map_or(link.ends.span().start, |rate| rate.span().start);
        if fastest.is_some_and(|fastest| rate > fastest) {
            let what = "the link is faster than a switch at its ends";
            return Err(source.problem(at, what, "lower the rate, or take another model"));
        }
        let time = |time: Option<crate::quantity::Time>| time.map_or(0, |time| time.0);
        let propagation = time(link.propagation) + time(link.delay);
        let kinds = || here.into_iter().chain(there);
        let tag = kinds().map(|kind| kind.overhead).max().unwrap_or(0);
        let mtu = kinds().map(|kind| kind.mtu).min().unwrap_or(1_500);
        let around = u32::try_from(ETHERNET_HEADER + FRAME_AROUND).unwrap_or(u32::MAX);
        // Anything that the link carries may be tagged where there are VLANs.
        let vlan = if self.network.has_vlans() { VLAN_TAG } else { 0 };
        let largest_frame = mtu.saturating_add(around).saturating_add(tag).saturating_add(vlan);
        let control = self
            .document
            .control
            .as_ref()
            .map(|control| Control { burst: u64::from(control.burst) * 8, rate: control.rate.0 });
        if let Some(control) = control.filter(|control| here.is_some() && control.rate >= rate) {
            let what = format!("control has {} b/s of this link, which has {rate}", control.rate);
            return Err(source.problem(at, what, "lower the rate of control, or take a faster link"));
        }
        let agreed = self.network.interface(from).with(self.network.interface(to), rate);
        let with = |real: Imperfections| Imperfections {
            wake: agreed.wake,
            pauses: agreed.pause == Some(true),
            ..real
        };
        if let Some(kind) = here {
            let others = Others { best_effort: self.document.best_effort, control };
            let port = kind
                .port(rate, propagation, others)
                .map_err(|error| source.problem(at, said(error), "take another model, or another link"))?;
            // The largest frame of the link and not of the model: the switch at the other end may have longer tags, or a smaller MTU.
            let best_effort = match port.best_effort {
                0 => 0,
                _ if kind.preemption => port.best_effort.saturating_add(vlan),
                _ => largest_frame,
            };
            let buffer = kind.memory(self.linked.get(&from).copied().unwrap_or(1));
            let imperfections = with(port.imperfections);
            return Ok(Port { tag, largest_frame, best_effort, buffer, imperfections, ..port });
        }
        let Some(host) = self.network.hosts.get(from) else {
            return Err(source.problem(at, "a link without a node", "name a host or a switch"));
        };
        let real = host.imperfections(rate, largest_frame);
        if let Some(beside) = real.beside.filter(|beside| beside.rate >= rate) {
            let what = format!(
                "the host \"{}\" sends {} b/s besides its flows, and its link has {rate}",
                host.name, beside.rate
            );
            return Err(source.problem(at, what, "lower the rate of other, or take a faster link"));
        }
        Ok(Port {
            rate,
            propagation,
            least_multiplexing: 0,
            most_multiplexing: 0,
            keeps_order: true,
            queues: host.queues.saturating_sub(u8::from(host.best_effort)),
            best_effort: if host.best_effort { largest_frame } else { 0 },
            control: None,
            tag,
            largest_frame,
            buffer: Buffer::Shared(HOST_BUFFER),
            imperfections: Imperfections { drift: self.network.clock_drift, ..with(real) },
        })
    }
}
