//! Deployment plans: artefacts, implementations, instances, and which of these share a process.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::Source;

use super::Import;
use super::names::plain;
use super::values::property;
use super::xml::{Element, at, elements, id, name, named, reference, text, text_of};
use crate::plan::{Artefact, ArtefactKind, Component, Locality, LocalityKind, Named, Process};
use crate::tree::Problems;
use crate::value::Value;

/// The contents of an implementation.
#[derive(Clone, Default)]
struct Implementation {
    component_type: String,
    artefacts: Vec<String>,
    requires: Named<Value>,
    /// A process of its own, not a component.
    is_process: bool,
}

/// Known instances and artefacts, by the ids of the descriptor.
#[derive(Default)]
pub(super) struct Known {
    artefacts: BTreeMap<String, String>,
    implementations: BTreeMap<String, Implementation>,
    /// The component of an instance.
    pub(super) components: BTreeMap<String, String>,
    /// Instances that are processes, and their names.
    processes: BTreeMap<String, String>,
    /// Nodes of instances.
    nodes: BTreeMap<String, String>,
    elements: BTreeMap<String, usize>,
}

/// In values of parameters: this implementation is a process.
const LOCALITY_MANAGER: &str = "LocalityManager";

impl Import {
    pub(super) fn deployment(&mut self, source: Source<'_>, root: Element<'_>, problems: &mut Problems<'_>) {
        let mut known = Known::default();
        for element in named(root, "artifact") {
            self.artefact(source, element, &mut known);
        }
        for element in named(root, "implementation") {
            self.implementation(source, element, &mut known);
        }
        // Processes are called after nodes, unless a constraint makes others.
        for node in named(root, "instance").filter_map(|element| text_of(element, "node")) {
            self.names.reserve("process", &plain(&node));
        }
        for element in named(root, "instance") {
            self.instance(source, element, &mut known, problems);
        }
        let constraints: Vec<Element<'_>> = named(root, "localityConstraint").collect();
        self.localities(source, &constraints, &known);
        self.connections(source, root, &known, problems);
        self.processes_of_services();
        for element in elements(root) {
            match name(element) {
                "label" => self.plan.name = text(element),
                "UUID" => self.plan.id = text(element),
                "realizes" => {
                    let realized = text_of(element, "specificType").or_else(|| text_of(element, "label"));
                    self.plan.realizes = realized.or_else(|| text_of(element, "UUID"));
                }
                "dependsOn" => {
                    let on = text_of(element, "requiredType").or_else(|| text(element));
                    self.plan.depends_on.extend(on);
                }
                "infoProperty" | "externalProperty" => self.extension(source, element),
                "artifact" | "implementation" | "instance" | "connection" | "localityConstraint" => {}
                other => self.leave(
                    source,
                    at(element),
                    format!("<{other}> of a deployment plan has no place in a plan"),
                    "add what is meant by hand",
                ),
            }
        }
    }

    /// A service is in the process that is called after its node, even if constraints have put all instances into others.
    fn processes_of_services(&mut self) {
        let nodes: Vec<String> =
            self.plan.services.values().filter_map(|service| service.at.clone()).collect();
        for node in nodes {
            if !self.plan.layout().processes().contains_key(node.as_str()) {
                self.plan.processes.insert(node.clone(), Process { host: Some(node), ..Process::default() });
            }
        }
    }

    /// Elements without a meaning in plans are kept as extensions.
    fn extension(&mut self, source: Source<'_>, element: Element<'_>) {
        let key = text_of(element, "name").unwrap_or_else(|| name(element).to_string());
        let value = property(element).or_else(|| text_of(element, "value").map(Value::Text));
        let is_short = key.len() <= 128;
        match value.filter(|_| is_short) {
            Some(value) => {
                self.plan.extensions.insert(key.clone(), value);
                let why = "Punctual does not read extensions: say what is meant in keys of the plan";
                self.leave(
                    source,
                    at(element),
                    format!("<{}> \"{key}\" is kept as an extension", name(element)),
                    why,
                );
            }
            None => self.leave(
                source,
                at(element),
                format!("<{}> without a value", name(element)),
                "add it by hand",
            ),
        }
    }

    fn artefact(&mut self, source: Source<'_>, element: Element<'_>, known: &mut Known) {
        let called = text_of(element, "name").or_else(|| id(element)).unwrap_or_default();
        let artefact = self.names.fresh("artefact", &called);
        let location: Vec<String> = named(element, "location").filter_map(text).collect();
        // An artefact of a descriptor is a library that the process loads.
        let location = if location.is_empty() { [called].into() } else { location };
        let said = Artefact { location, digest: None, kind: ArtefactKind::Library };
        self.plan.artefacts.insert(artefact.clone(), said);
        self.places.note(format!("artefact.{artefact}"), at(element));
        known.artefacts.extend(id(element).map(|id| (id, artefact)));
        self.rest(source, element, &["name", "location"]);
    }

    /// Tells of all elements within one but these.
    fn rest(&mut self, source: Source<'_>, element: Element<'_>, but: &[&str]) {
        for inner in elements(element).filter(|inner| !but.contains(&name(*inner))) {
            // An empty <source> says nothing.
            if name(inner) == "source" && text(inner).is_none() {
                continue;
            }
            let what = format!("<{}> of <{}> has no place in a plan", name(inner), name(element));
            let why = match name(inner) {
                "source" => "it says which package something came from",
                "node" => "artefacts are the same everywhere: give each its own digest",
                "execParameter" => "component types are found by their names, not by functions of a library",
                "deployedSharedResource" => "say what is required of a host by requires",
                _ => "add what is meant by hand",
            };
            self.leave(source, at(inner), what, why);
        }
    }

    fn implementation(&mut self, source: Source<'_>, element: Element<'_>, known: &mut Known) {
        let mut said = Implementation {
            component_type: text_of(element, "name").or_else(|| id(element)).unwrap_or_default(),
            ..Implementation::default()
        };
        for inner in named(element, "artifact") {
            let artefact = reference(inner).and_then(|id| known.artefacts.get(&id).cloned());
            match artefact {
                Some(artefact) => said.artefacts.push(artefact),
                None => self.leave(source, at(inner), "there is no such artefact", "add it by hand"),
            }
        }
        for inner in named(element, "execParameter") {
            let parameter = text_of(inner, "name").unwrap_or_default();
            let value = match property(inner) {
                Some(Value::Text(value)) => value,
                _ => String::new(),
            };
            if parameter.to_ascii_lowercase().ends_with("component type") {
                said.component_type = value;
            } else if value.ends_with(LOCALITY_MANAGER) {
                said.is_process = true;
            } else {
                let what =
                    format!("the parameter \"{parameter}\" of an implementation has no place in a plan");
                self.leave(
                    source,
                    at(inner),
                    what,
                    "component types are found by their names, not by functions of a library",
                );
            }
        }
        for inner in named(element, "deployRequirement") {
            let resource = text_of(inner, "resourceType").unwrap_or_default();
            let amount = named(inner, "property").find_map(property).unwrap_or(Value::Boolean(true));
            if resource.is_empty() || resource.len() > 128 {
                self.leave(source, at(inner), "a requirement without a resource", "add it by hand");
            } else {
                said.requires.insert(resource, amount);
            }
        }
        self.rest(source, element, &["name", "artifact", "execParameter", "deployRequirement"]);
        known.implementations.extend(id(element).map(|id| (id, said)));
    }

    fn instance(
        &mut self,
        source: Source<'_>,
        element: Element<'_>,
        known: &mut Known,
        problems: &mut Problems<'_>,
    ) {
        let called = text_of(element, "name").or_else(|| id(element)).unwrap_or_default();
        let key = id(element).unwrap_or_else(|| called.clone());
        if let Some(first) = known.elements.insert(key.clone(), at(element)) {
            let line = source.problem(first, "", "").place.map_or(0, |(line, _)| line);
            let what = format!("two instances are called \"{key}\", the first in line {line}");
            problems.add(
                at(element),
                what,
                "ids of instances are unique: rename one of both, and what refers to it",
            );
            return;
        }
        let implementation = named(element, "implementation").find_map(reference);
        let said = implementation.and_then(|id| known.implementations.get(&id)).cloned();
        if said.is_none() {
            self.leave(
                source,
                at(element),
                format!("the instance \"{called}\" has no implementation"),
                "name its type",
            );
        }
        let said = said.unwrap_or_default();
        let node = plain(&text_of(element, "node").unwrap_or_default());
        known.nodes.insert(key.clone(), node.clone());
        if said.is_process {
            self.process(source, element, &called, node, (key, known));
            return;
        }
        let component = self.names.fresh("component", &called);
        let mut settings = Named::new();
        for inner in named(element, "configProperty") {
            let setting = text_of(inner, "name").filter(|name| name.len() <= 128);
            match setting.zip(property(inner)) {
                Some((setting, value)) => drop(settings.insert(setting, value)),
                None => self.leave(
                    source,
                    at(inner),
                    "a property without a name, or of a type that has no value here",
                    "add it to settings by hand",
                ),
            }
        }
        let mut requires = said.requires;
        for inner in named(element, "deployedResource") {
            let resource = text_of(inner, "requirementName").or_else(|| text_of(inner, "resourceName"));
            let amount = named(inner, "property").find_map(property).or_else(|| property(inner));
            match resource.filter(|name| name.len() <= 128) {
                Some(resource) => drop(requires.insert(resource, amount.unwrap_or(Value::Boolean(true)))),
                None => {
                    self.leave(source, at(inner), "a resource without a name", "add it to requires by hand")
                }
            }
        }
        self.rest(source, element, &["name", "node", "implementation", "configProperty", "deployedResource"]);
        let mut artefacts = said.artefacts.into_iter();
        let artefact = artefacts.next();
        if artefacts.len() > 0 {
            let why = "a component has one artefact: link the others to it";
            self.leave(
                source,
                at(element),
                format!("\"{called}\" has {} more artefacts", artefacts.len()),
                why,
            );
        }
        self.places.note(format!("component.{component}"), at(element));
        known.components.insert(key, component.clone());
        let said = Component {
            component_type: if said.component_type.is_empty() {
                "unknown".to_string()
            } else {
                said.component_type
            },
            // All of a node are in one process, unless a constraint says otherwise.
            process: node.clone(),
            host: Some(node),
            artefact,
            settings,
            requires,
            ..Component::default()
        };
        self.plan.components.insert(component, said);
    }

    /// An instance that is a process.
    fn process(
        &mut self,
        source: Source<'_>,
        element: Element<'_>,
        called: &str,
        node: String,
        known: (String, &mut Known),
    ) {
        let process = self.names.fresh("process", called);
        let mut said = Process { host: Some(node), ..Process::default() };
        for inner in named(element, "configProperty") {
            let setting = text_of(inner, "name").unwrap_or_default();
            let value = property(inner);
            let cores = match value {
                Some(Value::Text(text)) if setting.to_ascii_lowercase().ends_with("cpuaffinity") => {
                    let cores = text
                        .split(',')
                        .map(|core| core.trim().parse::<u16>().ok().filter(|core| *core < 1_024));
                    cores.collect::<Option<Vec<u16>>>()
                }
                _ => None,
            };
            match cores {
                Some(cores) => said.cores = cores,
                None => self.leave(
                    source,
                    at(inner),
                    format!("the property \"{setting}\" of a process has no place in a plan"),
                    "priorities are said by lanes of its containers",
                ),
            }
        }
        self.rest(source, element, &["name", "node", "implementation", "configProperty"]);
        self.places.note(format!("process.{process}"), at(element));
        self.plan.processes.insert(process.clone(), said);
        known.1.processes.insert(known.0, process);
    }

    /// Keeps the constraints, which say which instances share a process, so that the plan can be checked against them.
    fn localities(&mut self, source: Source<'_>, constraints: &[Element<'_>], known: &Known) {
        for element in constraints {
            let kind = text_of(*element, "constraint").unwrap_or_default();
            let ids: Vec<String> = elements(*element)
                .filter(|inner| name(*inner).starts_with("constrainedInstance"))
                .filter_map(reference)
                .collect();
            let kind = match kind.as_str() {
                "SameProcess" => LocalityKind::SameProcess,
                "DifferentProcess" => LocalityKind::DifferentProcess,
                "NoConstraint" | "PlanNoConstraint" => continue,
                other => {
                    self.leave(
                        source,
                        at(*element),
                        format!("no constraint is called \"{other}\""),
                        "add it by hand",
                    );
                    continue;
                }
            };
            let members: Vec<String> =
                ids.iter().filter_map(|id| known.components.get(id).cloned()).collect();
            let unknown = ids
                .iter()
                .filter(|id| !known.components.contains_key(*id) && !known.processes.contains_key(*id));
            for id in unknown {
                self.leave(
                    source,
                    at(*element),
                    format!("there is no instance \"{id}\""),
                    "look for its name",
                );
            }
            self.assign(source, at(*element), kind, &ids, known);
            if members.len() > 1 {
                let locality = self.names.fresh("locality", kind.name());
                self.places.note(format!("locality.{locality}"), at(*element));
                self.plan.localities.insert(locality, Locality { kind, members });
            }
        }
    }

    /// Puts instances into processes so that the constraint holds.
    fn assign(
        &mut self,
        source: Source<'_>,
        place: usize,
        kind: LocalityKind,
        ids: &[String],
        known: &Known,
    ) {
        let owner = ids.iter().find_map(|id| known.processes.get(id)).cloned();
        let nodes: BTreeSet<&String> = ids.iter().filter_map(|id| known.nodes.get(id)).collect();
        if kind == LocalityKind::SameProcess && nodes.len() > 1 {
            self.leave(
                source,
                place,
                "instances of different nodes cannot share a process",
                "move one of them",
            );
            return;
        }
        let shared = match (kind, owner) {
            (LocalityKind::SameProcess, Some(owner)) => Some(owner),
            (LocalityKind::SameProcess, None) => {
                let first = ids.iter().find_map(|id| known.components.get(id)).cloned().unwrap_or_default();
                Some(self.names.fresh("process", &format!("with-{first}")))
            }
            _ => None,
        };
        for id in ids {
            let Some(name) = known.components.get(id) else { continue };
            let process = match &shared {
                Some(shared) => shared.clone(),
                None => {
                    let node = known.nodes.get(id).cloned().unwrap_or_default();
                    // One that shares a process already stays there.
                    let is_shared =
                        self.plan.components.get(name).is_some_and(|component| component.process != node);
                    if is_shared {
                        continue;
                    }
                    self.names.fresh("process", name)
                }
            };
            if let Some(component) = self.plan.components.get_mut(name) {
                component.process = process;
            }
        }
    }
}
