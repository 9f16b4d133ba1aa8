//! Times are consistent: steps belong to the handlers that take them, stalls leave time.
use alloc::format;
use alloc::string::String;

use super::Checker;
use crate::manifest::ComponentType;
use crate::plan::Component;
use crate::shape::meant;
use crate::timing::{Execution, ExecutionStep, PROBE_PERIOD};

impl Checker<'_> {
    pub(super) fn timing(&mut self) {
        let plan = self.plan;
        let layout = plan.layout();
        for (name, host) in &plan.hosts {
            let Some(costs) = &host.costs else { continue };
            let path = format!("host.{name}.costs");
            for (index, stall) in costs.stalls.iter().enumerate() {
                if stall.distance <= stall.length {
                    let what = "a stall that is as long as the time to the next one leaves no time";
                    let path = format!("{path}.stalls.{index}");
                    self.wrong(&path, what, "make the distance longer: it is from one begin to the next");
                }
            }
            if costs.probe.is_some_and(|probe| probe == 0 || probe >= PROBE_PERIOD) {
                let what =
                    "a probe wakes each 500 us, so that its wakes take more than nothing and less than that";
                self.wrong(&format!("{path}.probe"), what, "say what one takes, such as \"20 us\"");
            }
            for (container, said) in &plan.containers {
                let is_here = layout.host_of(&said.process) == Some(name.as_str()) && costs.probe.is_some();
                for (lane, _) in said.lanes.iter().filter(|(_, lane)| is_here && lane.priority == Some(99)) {
                    let path = format!("container.{container}.lanes.{lane}.priority");
                    let what =
                        format!("the probes of {name} have to be above all lanes, and 99 is the highest");
                    self.wrong(&path, what, "make it at most 98, or take probe out of the costs");
                }
            }
            if costs.throttling.is_some_and(|it| it.period == 0 || it.runtime > it.period) {
                let remedy = "make the period more than 0, and the runtime at most as long";
                self.wrong(&format!("{path}.throttling"), "a runtime that does not fit the period", remedy);
            }
        }
        for (name, connection) in &plan.connections {
            if connection.transfer.is_some_and(|transfer| transfer.least > transfer.most) {
                let path = format!("connection.{name}.transfer");
                self.wrong(&path, "the least time is more than the most", "exchange them");
            }
        }
        for (name, component) in &plan.components {
            self.timing_of(name, component);
        }
    }

    fn timing_of(&mut self, name: &str, component: &Component) {
        let of_type = self.type_of(name);
        for (port, said) in &component.ports {
            let path = format!("component.{name}.port.{port}");
            if let Some(execution) = &said.execution {
                self.execution(&format!("{path}.execution"), execution, of_type);
            }
        }
    }

    fn execution(&mut self, path: &str, execution: &Execution, of_type: Option<&ComponentType>) {
        if let Err((what, remedy)) = fits(execution, of_type) {
            self.wrong(path, what, remedy);
        }
    }
}

/// Whether a handler can take these steps; or what is wrong, and what to do.
pub(crate) fn fits(execution: &Execution, of_type: Option<&ComponentType>) -> Result<(), (String, String)> {
    let mut sum = 0_u64;
    for step in &execution.steps {
        match step {
            ExecutionStep::Run { most, .. } => sum = sum.saturating_add(*most),
            ExecutionStep::Use { port, .. } => {
                let Some(of_type) = of_type else { continue };
                if !of_type.ports.get(port).is_some_and(|port| port.kind.is_source()) {
                    let sources = of_type.ports.iter().filter(|(_, port)| port.kind.is_source());
                    let known = sources.map(|(name, _)| name.as_str());
                    let otherwise = "name a publisher, an emitter or a receptacle of the component".into();
                    let what = format!("the step \"{step}\" uses no port that pushes or calls");
                    return Err((what, meant(port, known, otherwise)));
                }
            }
        }
    }
    if sum > execution.worst {
        let [sum, worst] = [sum, execution.worst].map(diagnostics::written);
        let what = format!("the steps take {sum}, which is more than the worst time, {worst}");
        return Err((what, format!("worst = \"{sum}\"")));
    }
    Ok(())
}
