//! Logical execution time is of timers that read what consumers beside them got, and publish by queues.
use alloc::format;
use alloc::vec::Vec;

use super::Checker;
use crate::manifest::PortKind;
use crate::plan::{End, Port, ServiceKind, Timing};

impl Checker<'_> {
    pub(super) fn logical(&mut self) {
        let plan = self.plan;
        for (name, component) in &plan.components {
            for (port, said) in &component.ports {
                let path = format!("component.{name}.port.{port}");
                let end = End::port(name.as_str(), port.as_str());
                if said.timing == Timing::Let {
                    self.let_port(&path, &end, said);
                } else if said.interval.is_some() {
                    let what = "only logical execution time has an interval";
                    self.wrong(&format!("{path}.interval"), what, "write timing = \"let\", or take it out");
                }
            }
        }
    }

    fn let_port(&mut self, path: &str, end: &End, said: &Port) {
        let kind = self.port_type(end).map(|port| port.kind);
        if let Some(kind) = kind.filter(|kind| *kind != PortKind::Timer) {
            let what = format!("\"{end}\" is a {kind}: only timers have logical execution time");
            self.wrong(&format!("{path}.timing"), what, "take it out");
        }
        if let (Some(interval), Some(period)) = (said.interval, said.period)
            && (interval > period || interval < 1_000)
        {
            let what = "an interval is at least 1 ns, and not longer than the period";
            self.wrong(
                &format!("{path}.interval"),
                what,
                "make it shorter, or leave it out: then it is the period",
            );
        }
        let Some(component) = end.component() else { return };
        let plan = self.plan;
        let direct: Vec<_> = self
            .layout
            .links()
            .filter(|link| link.from.component() == Some(component) && link.kind == ServiceKind::Direct)
            .collect();
        for link in direct {
            let End::Port { port, .. } = link.from else { continue };
            let is_event = self.port_type(link.from).is_some_and(|port| !port.kind.is_call());
            if is_event && self.triggers(end, port) && !self.layout.is_read_at_instants(link.to) {
                let name = link.name;
                let what =
                    format!("\"{end}\" has logical execution time, and publishes by \"{name}\" directly");
                let remedy = "write service = \"channel\": no handler is called at the end of an interval";
                self.wrong(&format!("connection.{name}"), what, remedy);
            }
        }
        let others = plan.components.get(component).into_iter().flat_map(|component| &component.ports);
        for (other, of_other) in others {
            let End::Port { port, .. } = end else { return };
            if other == port {
                continue;
            }
            if let Some(index) = of_other.samples.iter().position(|sampled| said.samples.contains(sampled)) {
                let what = format!("\"{port}\" has logical execution time, and samples it, too");
                self.wrong(
                    &format!("component.{component}.port.{other}.samples.{index}"),
                    what,
                    "leave it to one of both",
                );
            }
        }
        for sampled in &said.samples {
            let of_sampled =
                plan.components.get(component).and_then(|component| component.ports.get(sampled));
            if of_sampled.is_some_and(|it| {
                it.queue.is_some() || it.lane.is_some() || it.join.is_some() || !it.qos.is_empty()
            }) {
                let what = format!(
                    "\"{sampled}\" is read at the instants of \"{end}\": it has neither queue, lane nor join"
                );
                self.wrong(&format!("component.{component}.port.{sampled}"), what, "take them out");
            }
            let of_port = End::port(component, sampled.as_str());
            for (name, connection) in plan.connections.iter().filter(|(_, it)| it.to.contains(&of_port)) {
                if connection.queue.is_some() {
                    let what = format!("\"{of_port}\" is read at the instants of \"{end}\": it has no queue");
                    self.wrong(&format!("connection.{name}.queue"), what, "take it out");
                }
            }
        }
    }
}
