//! Components are what their types say.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Checker;
use crate::manifest::{ComponentType, PortKind};
use crate::plan::Component;
use crate::shape::meant;

impl Checker<'_> {
    pub(super) fn components(&mut self) {
        let plan = self.plan;
        for (name, component) in &plan.components {
            let path = format!("component.{name}");
            if let Some(artefact) = &component.artefact {
                self.needs(&format!("{path}.artefact"), "artefact", artefact, &plan.artefacts);
            }
            self.restart(&path, component.restart.as_ref());
            self.lanes(&path, component);
            if self.knows_types() {
                self.component_type(&path, component);
            }
            let host = self.layout.place(component).host;
            self.required_of_host(&format!("{path}.requires"), &component.requires, host);
            self.periods(&path, component);
            self.samples(&path, component);
        }
        for (name, process) in &plan.processes {
            let path = format!("process.{name}.requires");
            self.required_of_host(&path, &process.requires, process.host.as_deref());
        }
    }

    /// Timers have periods that pass, and nothing else has one.
    fn periods(&mut self, path: &str, component: &Component) {
        for (port, said) in &component.ports {
            let Some(period) = said.period else { continue };
            let path = format!("{path}.port.{port}.period");
            if period < 1_000 {
                self.wrong(&path, "this period is shorter than a nanosecond", "write 1 ns or more");
            }
            let of_type = self.types.components.get(&component.component_type);
            let kind = of_type.and_then(|of_type| of_type.ports.get(port)).map(|port| port.kind);
            if let Some(kind) = kind.filter(|kind| *kind != PortKind::Timer) {
                self.wrong(
                    &path,
                    format!("\"{port}\" is a {kind}: only timers have a period"),
                    "take it out",
                );
            }
        }
    }

    /// What a handler samples are consumers beside it, whose handlers leave the last event in the component.
    fn samples(&mut self, path: &str, component: &Component) {
        let of_type = self.types.components.get(&component.component_type);
        for (port, said) in &component.ports {
            let kind = |port: &str| of_type.and_then(|of_type| of_type.ports.get(port)).map(|port| port.kind);
            for (index, sampled) in said.samples.iter().enumerate() {
                let path = format!("{path}.port.{port}.samples.{index}");
                if sampled == port || said.samples.iter().take(index).any(|other| other == sampled) {
                    let what = format!("\"{port}\" samples \"{sampled}\" already, or is it");
                    self.wrong(&path, what, "name each of the other consumers once");
                    continue;
                }
                let Some(of_type) = of_type else { continue };
                let is_handler = |kind| matches!(kind, PortKind::Consumer | PortKind::Timer);
                if kind(sampled) != Some(PortKind::Consumer) || !kind(port).is_some_and(is_handler) {
                    let known = of_type.ports.iter().filter(|(_, port)| port.kind == PortKind::Consumer);
                    let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
                    let what = format!("\"{port}\" cannot sample \"{sampled}\"");
                    let remedy = format!(
                        "a timer or consumer samples consumers of its component: {}",
                        known.join(", ")
                    );
                    self.wrong(&path, what, remedy);
                }
            }
        }
    }

    fn lanes(&mut self, path: &str, component: &Component) {
        let plan = self.plan;
        let container = component.container.as_ref();
        if let Some(name) = container {
            self.needs(&format!("{path}.container"), "container", name, &plan.containers);
            let of_container = plan.containers.get(name).map(|container| container.process.as_str());
            if let Some(process) = of_container.filter(|process| *process != component.process) {
                self.wrong(
                    &format!("{path}.container"),
                    format!("the container \"{name}\" is in the process \"{process}\""),
                    format!("name a container of the process \"{}\", or that process", component.process),
                );
            }
        }
        let of_ports = component
            .ports
            .iter()
            .map(|(port, said)| (format!("{path}.port.{port}.lane"), said.lane.as_ref()));
        let said = core::iter::once((format!("{path}.lane"), component.lane.as_ref())).chain(of_ports);
        for (path, lane) in said {
            let Some(lane) = lane else { continue };
            match container.and_then(|name| Some((name, plan.containers.get(name)?))) {
                Some((name, container)) => self.lane_of(&path, lane, name, &container.lanes),
                None if container.is_none() => self.wrong(
                    &path,
                    "a component without a container has no lanes",
                    "name its container, and give that the lane",
                ),
                None => {}
            }
        }
    }

    fn component_type(&mut self, path: &str, component: &Component) {
        let name = component.component_type.as_str();
        let Some(of_type) = self.types.components.get(name) else {
            let known = self.types.components.keys().map(String::as_str);
            let remedy = meant(name, known, "add the manifest of the program that has it".into());
            self.wrong(
                &format!("{path}.type"),
                format!("no manifest has a component type \"{name}\""),
                remedy,
            );
            return;
        };
        self.settings(path, component, of_type);
        for port in component.ports.keys() {
            if !of_type.ports.contains_key(port) {
                let known = of_type.ports.keys().map(String::as_str);
                let remedy = meant(port, known, format!("the manifest lists the ports of {name}"));
                self.wrong(&format!("{path}.port.{port}"), format!("{name} has no port \"{port}\""), remedy);
            }
        }
        let lanes = component
            .ports
            .iter()
            .filter_map(|(port, said)| Some((format!("{path}.port.{port}.lane"), said.lane.as_ref()?)));
        let lanes = component.lane.iter().map(|lane| (format!("{path}.lane"), lane)).chain(lanes);
        for (path, lane) in lanes {
            if !of_type.lanes.is_empty() && !of_type.lanes.contains(lane) {
                let what = format!("{name} may not be in a lane \"{lane}\"");
                self.wrong(&path, what, format!("it may be in {}", of_type.lanes.join(", ")));
            }
        }
    }

    fn settings(&mut self, path: &str, component: &Component, of_type: &ComponentType) {
        let name = component.component_type.as_str();
        for (setting, value) in &component.settings {
            let path = format!("{path}.settings.{setting}");
            let known = of_type.settings.keys().map(String::as_str);
            match of_type.settings.get(setting) {
                Some(known) => {
                    if let Err(what) = known.takes(value) {
                        self.wrong(&path, what, format!("the manifest says what \"{setting}\" may be"));
                    }
                }
                None => {
                    let remedy = meant(setting, known, format!("the manifest lists the settings of {name}"));
                    self.wrong(&path, format!("{name} has no setting \"{setting}\""), remedy);
                }
            }
        }
        for (setting, known) in &of_type.settings {
            if known.default.is_none() && !component.settings.contains_key(setting) {
                let what = format!("the setting \"{setting}\" has no default and no value");
                self.wrong(path, what, format!("add settings.{setting} = VALUE, of the type {}", known.kind));
            }
        }
    }
}
