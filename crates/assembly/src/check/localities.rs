//! Constraints of locality: components and services that have to be together, or apart.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::Checker;
use crate::links::Layout;
use crate::plan::{Locality, LocalityKind, Placement, Plan};
use crate::shape::meant;

/// Members of a constraint.
const MOST_MEMBERS: usize = 256;

/// Where a component or a service is.
struct Spot {
    process: String,
    host: Option<String>,
    /// Empty if it may use all.
    cores: Vec<u16>,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.host.as_deref().unwrap_or("no host"))?;
        if !self.cores.is_empty() {
            let cores: Vec<String> = self.cores.iter().map(ToString::to_string).collect();
            write!(f, ", cores {}", cores.join(" "))?;
        }
        Ok(())
    }
}

impl LocalityKind {
    fn holds(self, left: &Spot, right: &Spot) -> bool {
        let same_host = left.host == right.host;
        let meet = left.cores.iter().any(|core| right.cores.contains(core));
        match self {
            Self::SameProcess => left.process == right.process,
            Self::DifferentProcess => left.process != right.process,
            Self::SameHost => same_host,
            Self::DifferentHost => !same_host,
            Self::SameCore => same_host && !left.cores.is_empty() && left.cores == right.cores,
            // Two threads that may use all cores may use the same one.
            Self::DifferentCore => !same_host || !(left.cores.is_empty() || right.cores.is_empty() || meet),
        }
    }
}

impl Checker<'_> {
    pub(super) fn localities(&mut self) {
        for (name, locality) in &self.plan.localities {
            self.locality(&format!("locality.{name}"), locality);
        }
    }

    fn locality(&mut self, path: &str, locality: &Locality) {
        if locality.members.len() > MOST_MEMBERS {
            let what = format!("more than {MOST_MEMBERS} members");
            return self.wrong(path, what, "each is compared with each: split the constraint");
        }
        let mut known = Vec::new();
        for (index, member) in locality.members.iter().enumerate() {
            match spot(self.plan, &self.layout, member) {
                Some(spot) => known.push((member, spot)),
                None => {
                    let names = self.plan.components.keys().chain(self.plan.services.keys());
                    let remedy = meant(
                        member,
                        names.map(String::as_str),
                        "name a component, or a service that is at something".into(),
                    );
                    let what = format!("there is no component or placed service \"{member}\"");
                    self.wrong(&format!("{path}.members.{index}"), what, remedy);
                }
            }
        }
        for (index, (left, left_spot)) in known.iter().enumerate() {
            for (right, right_spot) in known.iter().skip(index + 1) {
                if !locality.kind.holds(left_spot, right_spot) {
                    let what = format!(
                        "\"{left}\" and \"{right}\" break {}: {left_spot}; {right_spot}",
                        locality.kind
                    );
                    self.wrong(path, what, "move one of both, or take it out of the constraint");
                }
            }
        }
    }
}

fn spot(plan: &Plan, layout: &Layout<'_>, name: &str) -> Option<Spot> {
    if let Some(component) = plan.components.get(name) {
        let container = component.container.as_ref().and_then(|container| plan.containers.get(container));
        let lane = component.lane.as_ref().or_else(|| container?.lane.as_ref());
        let lane = lane.and_then(|lane| container?.lanes.get(lane));
        let cores = lane.map(|lane| lane.cores.clone()).unwrap_or_default();
        return Some(in_process(plan, layout, &component.process, cores));
    }
    let service = plan.services.get(name)?;
    let at = service.at.as_deref()?;
    match service.placement {
        Placement::Component => plan.components.contains_key(at).then(|| spot(plan, layout, at)).flatten(),
        Placement::Container => Some(in_process(plan, layout, &plan.containers.get(at)?.process, Vec::new())),
        Placement::Server => Some(in_process(plan, layout, at, Vec::new())),
    }
}

fn in_process(plan: &Plan, layout: &Layout<'_>, process: &str, cores: Vec<u16>) -> Spot {
    let host = layout.host_of(process).map(ToString::to_string);
    let of_process = plan.processes.get(process).map(|process| process.cores.clone()).unwrap_or_default();
    let mut cores = if cores.is_empty() { of_process } else { cores };
    cores.sort_unstable();
    Spot { process: process.to_string(), host, cores }
}
