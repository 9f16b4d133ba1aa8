//! The differences between two plans, and the steps from one to the other.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::choices::choice;
use crate::hand_over::{can_go_on, connections, goes_on, in_order};
use crate::manifest::Catalogue;
use crate::plan::{Artefact, Component, End, Named, Placement, Plan, Process, ServiceKind, Topic};
use crate::qos::Qos;
use crate::value::Value;

choice! {
    /// The kind of a part of a plan.
    Kind {
        /// Code.
        Artefact = "artefact",
        /// A host.
        Host = "host",
        /// A process.
        Process = "process",
        /// A container.
        Container = "container",
        /// A service.
        Service = "service",
        /// A component.
        Component = "component",
        /// A topic.
        Topic = "topic",
        /// A connection.
        Connection = "connection",
        /// QoS of events.
        Event = "event",
        /// A chain.
        Chain = "chain",
        /// A constraint.
        Locality = "locality",
        /// A mode.
        Mode = "mode",
    }
}

/// A part of a plan that is different.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The kind of change.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// How it is different.
    pub change: Change,
}

/// How a part of a plan is different.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// It was not there.
    Added,
    /// It is there no more.
    Removed,
    /// It is another one.
    Changed,
    /// A component has other settings, and nothing else: each with the value before and after.
    Settings(Named<(Option<Value>, Option<Value>)>),
    /// A component is of another type or build, or comes from another artefact; `true` if the new one can go on with its state.
    Replaced(bool),
    /// A component is elsewhere.
    Moved,
}

/// Something that is done to get from one plan to another.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A process is started.
    StartProcess(String),
    /// A container is made in its process.
    AddContainer(String),
    /// A service is made.
    AddService(String),
    /// A component gets no more events and calls, and what it is at is finished.
    Passivate(String),
    /// A connection is taken apart.
    Disconnect(String),
    /// A component is removed.
    Remove(String),
    /// A service is removed.
    RemoveService(String),
    /// A container is removed.
    RemoveContainer(String),
    /// A process is stopped.
    StopProcess(String),
    /// A component is installed.
    Install(String),
    /// A component gets a setting; `None` is the default.
    Set(String, String, Option<Value>),
    /// A process is handed over to one of another build: beside the former process the new one is made ready, with all that is in it; then the
    /// components of the former come to rest, and those of the new one go on with their states.
    HandOver(String),
    /// A connection is made.
    Connect(String),
    /// A component has all its settings and connections.
    Configured(String),
    /// A component gets events and calls.
    Activate(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartProcess(name) => write!(f, "start process {name}"),
            Self::AddContainer(name) => write!(f, "add container {name}"),
            Self::AddService(name) => write!(f, "add service {name}"),
            Self::Passivate(name) => write!(f, "passivate {name}"),
            Self::Disconnect(name) => write!(f, "disconnect {name}"),
            Self::Remove(name) => write!(f, "remove {name}"),
            Self::RemoveService(name) => write!(f, "remove service {name}"),
            Self::RemoveContainer(name) => write!(f, "remove container {name}"),
            Self::StopProcess(name) => write!(f, "stop process {name}"),
            Self::Install(name) => write!(f, "install {name}"),
            Self::Set(name, setting, Some(value)) => write!(f, "set {name}.{setting} = {}", value.toml()),
            Self::Set(name, setting, None) => write!(f, "set {name}.{setting} to its default"),
            Self::HandOver(name) => write!(f, "hand process {name} over to its new build"),
            Self::Connect(name) => write!(f, "connect {name}"),
            Self::Configured(name) => write!(f, "{name} is configured"),
            Self::Activate(name) => write!(f, "activate {name}"),
        }
    }
}

/// A version of a plan, old or new, with its component types.
#[derive(Clone, Copy, Debug)]
pub struct Version<'v> {
    /// The plan.
    pub plan: &'v Plan,
    /// Its types.
    pub types: &'v Catalogue,
    /// Digests of the programs of artefacts, by their names, as far as they are known.
    pub programs: Option<&'v Named<String>>,
}

impl<'v> Version<'v> {
    /// A plan of whose programs nothing is known.
    pub const fn new(plan: &'v Plan, types: &'v Catalogue) -> Self {
        Self { plan, types, programs: None }
    }

    /// The digest of the program that a process executes.
    fn program(&self, process: &str) -> Option<&'v String> {
        self.programs?.get(self.plan.processes.get(process)?.artefact.as_ref()?)
    }
}

/// The differences, by kind and name.
pub fn difference(old: Version<'_>, new: Version<'_>) -> Vec<Difference> {
    let (was, is) = (old.plan, new.plan);
    let mut all = Vec::new();
    compare(Kind::Artefact, &was.artefacts, &is.artefacts, &mut all);
    compare(Kind::Host, &was.hosts, &is.hosts, &mut all);
    compare(Kind::Process, &was.processes, &is.processes, &mut all);
    compare(Kind::Container, &was.containers, &is.containers, &mut all);
    compare(Kind::Service, &was.services, &is.services, &mut all);
    components(old, new, &mut all);
    compare(Kind::Topic, &was.topics, &is.topics, &mut all);
    compare(Kind::Connection, &was.connections, &is.connections, &mut all);
    compare(Kind::Event, &was.events, &is.events, &mut all);
    compare(Kind::Chain, &was.chains, &is.chains, &mut all);
    compare(Kind::Locality, &was.localities, &is.localities, &mut all);
    compare(Kind::Mode, &was.modes, &is.modes, &mut all);
    all
}

fn compare<T: PartialEq>(kind: Kind, was: &Named<T>, is: &Named<T>, all: &mut Vec<Difference>) {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names {
        let change = match (was.get(name), is.get(name)) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            (was, is) if was != is => Change::Changed,
            _ => continue,
        };
        all.push(Difference { kind, name: name.clone(), change });
    }
}

fn components(old: Version<'_>, new: Version<'_>, all: &mut Vec<Difference>) {
    let (was_at, is_at) = (old.plan.layout(), new.plan.layout());
    let names: BTreeSet<&String> = old.plan.components.keys().chain(new.plan.components.keys()).collect();
    for name in names {
        let change = match (old.plan.components.get(name), new.plan.components.get(name)) {
            (None, _) => Some(Change::Added),
            (_, None) => Some(Change::Removed),
            (Some(_), Some(_)) if was_at.place_of(name) != is_at.place_of(name) => Some(Change::Moved),
            (Some(was), Some(is)) => changed(old, was, new, is),
        };
        all.extend(change.map(|change| Difference { kind: Kind::Component, name: name.clone(), change }));
    }
}

/// The changes of a component that stays where it was.
fn changed(old: Version<'_>, was: &Component, new: Version<'_>, is: &Component) -> Option<Change> {
    let code = |version: Version<'_>, component: &Component| {
        let of_process =
            version.plan.processes.get(&component.process).and_then(|process| process.artefact.clone());
        let name = component.artefact.clone().or(of_process);
        let artefact = name.as_ref().and_then(|name| version.plan.artefacts.get(name)).cloned();
        let build = version.types.components.get(&component.component_type).and_then(|it| it.build.clone());
        (component.component_type.clone(), artefact, build)
    };
    if code(old, was) != code(new, is) {
        return Some(Change::Replaced(can_go_on(old, was, new, is)));
    }
    if was == is {
        return None;
    }
    let without = Component { settings: was.settings.clone(), ..is.clone() };
    if without != *was {
        return Some(Change::Changed);
    }
    let settings: BTreeSet<&String> = was.settings.keys().chain(is.settings.keys()).collect();
    let changed = settings.into_iter().filter_map(|setting| {
        let (before, after) = (was.settings.get(setting), is.settings.get(setting));
        (before != after).then(|| (setting.clone(), (before.cloned(), after.cloned())))
    });
    Some(Change::Settings(changed.collect()))
}

/// The steps from one plan to another: what is there first, and is needed to the last, goes last. What is not named goes on undisturbed.
pub fn steps(old: Version<'_>, new: Version<'_>) -> Vec<Step> {
    let differences = difference(old, new);
    let mut may = None;
    loop {
        let mut work = Work::of(old, new, &differences, may.as_ref());
        work.spread(old, new);
        let kept = work.undisturbed(new);
        if kept.len() == work.hand_over.len() {
            return work.steps(old, new, &differences);
        }
        // What cannot be handed over is replaced, which may disturb others.
        may = Some(kept);
    }
}

/// The work on each named part of a plan.
#[derive(Default)]
struct Work {
    /// Processes that end, and that begin; one that is changed is in both.
    stop: BTreeSet<String>,
    start: BTreeSet<String>,
    /// Processes that are handed over to another build, in this order. Their parts are in none of the other lists.
    hand_over: Vec<String>,
    /// Components that are removed, installed, or get no events meanwhile.
    remove: BTreeSet<String>,
    install: BTreeSet<String>,
    rest: BTreeSet<String>,
    /// Connections that are taken apart and made.
    disconnect: BTreeSet<String>,
    connect: BTreeSet<String>,
    /// Containers and services that are removed and added.
    remove_containers: BTreeSet<String>,
    add_containers: BTreeSet<String>,
    remove_services: BTreeSet<String>,
    add_services: BTreeSet<String>,
}

impl Work {
    /// The work, of which only these processes may be handed over; `None` is any.
    fn of(
        old: Version<'_>,
        new: Version<'_>,
        differences: &[Difference],
        may: Option<&BTreeSet<String>>,
    ) -> Self {
        let mut work = Self::default();
        let (was, is) = (old.plan.layout(), new.plan.layout());
        for (process, host) in was.processes() {
            // A process that is elsewhere, or executes something else, is another one. When it began is no matter once it runs.
            let said = |plan: &Plan| {
                let process = plan.processes.get(*process).cloned();
                process.map(|process| Process { depends_on: Vec::new(), ..process })
            };
            let is_same = is.processes().get(process) == Some(host)
                && said(old.plan) == said(new.plan)
                && executed(old.plan, process) == executed(new.plan, process)
                && !is_of_another_build(old, new, process);
            if !is_same {
                work.stop.insert(process.to_string());
            }
        }
        for process in is.processes().keys() {
            if !was.processes().contains_key(process) || work.stop.contains(*process) {
                work.start.insert(process.to_string());
            }
        }
        let replaced = work.stop.intersection(&work.start);
        let may =
            |process: &&String| may.is_none_or(|may| may.contains(*process)) && goes_on(old, new, process);
        work.hand_over = in_order(new.plan, replaced.filter(may).cloned().collect());
        work.stop.retain(|process| !work.hand_over.contains(process));
        work.start.retain(|process| !work.hand_over.contains(process));
        let is_handed_over =
            |name: &str| new.plan.components.get(name).is_some_and(|it| work.hand_over.contains(&it.process));
        for Difference { kind, name, change } in differences {
            let is_part = match kind {
                Kind::Component => is_handed_over(name),
                Kind::Container => {
                    let process = new.plan.containers.get(name).map(|container| &container.process);
                    process.is_some_and(|process| work.hand_over.contains(process))
                }
                _ => false,
            };
            if is_part {
                continue;
            }
            let (is_out, is_in) = (*change != Change::Added, *change != Change::Removed);
            let (out, into) = match kind {
                Kind::Container => (&mut work.remove_containers, &mut work.add_containers),
                Kind::Service => (&mut work.remove_services, &mut work.add_services),
                Kind::Connection => (&mut work.disconnect, &mut work.connect),
                Kind::Component => match change {
                    Change::Settings(_) => {
                        work.rest.insert(name.clone());
                        continue;
                    }
                    _ => (&mut work.remove, &mut work.install),
                },
                _ => continue,
            };
            if is_out {
                out.insert(name.clone());
            }
            if is_in {
                into.insert(name.clone());
            }
        }
        work
    }

    /// Parts inside a part that is removed are removed too; their connections are made again.
    fn spread(&mut self, old: Version<'_>, new: Version<'_>) {
        let (was, is) = (carried(old), carried(new));
        let (old, new) = (old.plan, new.plan);
        for (name, container) in &old.containers {
            if self.stop.contains(&container.process) {
                self.remove_containers.insert(name.clone());
            }
        }
        for (name, container) in &new.containers {
            if self.start.contains(&container.process) || self.remove_containers.contains(name) {
                self.add_containers.insert(name.clone());
            }
        }
        let (stop, containers) = (&self.stop, &self.remove_containers);
        let goes = |component: &Component| {
            let in_container = component.container.as_ref().is_some_and(|name| containers.contains(name));
            stop.contains(&component.process) || in_container
        };
        let gone: Vec<String> = old
            .components
            .iter()
            .filter(|(_, component)| goes(component))
            .map(|(name, _)| name.clone())
            .collect();
        self.remove.extend(gone);
        let again = self.remove.iter().filter(|name| new.components.contains_key(*name)).cloned();
        self.install.extend(again.collect::<Vec<_>>());
        self.rest.retain(|name| !self.remove.contains(name));
        for (name, service) in &old.services {
            let at = service.at.as_deref().unwrap_or_default();
            let goes = match service.placement {
                Placement::Server => self.stop.contains(at),
                Placement::Container => self.remove_containers.contains(at),
                Placement::Component => self.remove.contains(at),
            };
            if goes {
                self.remove_services.insert(name.clone());
            }
        }
        let again = self.remove_services.iter().filter(|name| new.services.contains_key(*name)).cloned();
        self.add_services.extend(again.collect::<Vec<_>>());
        for (name, connection) in &old.connections {
            let ends = core::iter::once(&connection.from).chain(&connection.to);
            let touches = ends.filter_map(|end| end.component()).any(|name| self.remove.contains(name));
            let service = connection.service.as_ref().is_some_and(|name| self.remove_services.contains(name));
            if touches || service || was.get(name.as_str()) != is.get(name.as_str()) {
                self.disconnect.insert(name.clone());
            }
        }
        let again = self.disconnect.iter().filter(|name| new.connections.contains_key(*name)).cloned();
        self.connect.extend(again.collect::<Vec<_>>());
        // Nothing is there of what is suspended.
        let is_suspended = |plan: &Plan, name: &str| {
            plan.connections.get(name).is_some_and(|connection| connection.is_suspended)
        };
        self.disconnect.retain(|name| !is_suspended(old, name));
        self.connect.retain(|name| !is_suspended(new, name));
    }

    /// Those of the processes that are handed over that nothing else disturbs: their connections stay, and what they depend on is there before.
    fn undisturbed(&self, new: Version<'_>) -> BTreeSet<String> {
        let is_so = |process: &&String| {
            let is_made_anew = |name: &str| self.disconnect.contains(name) || self.connect.contains(name);
            !connections(new, process).iter().any(|(name, _)| is_made_anew(name))
                && !new.plan.dependencies(process).iter().any(|other| self.start.contains(other))
        };
        self.hand_over.iter().filter(is_so).cloned().collect()
    }

    fn steps(&self, old: Version<'_>, new: Version<'_>, differences: &[Difference]) -> Vec<Step> {
        let mut steps = Vec::new();
        let (was, is) = (old.plan.order(old.types), new.plan.order(new.types));
        let each = |names: &BTreeSet<String>, step: fn(String) -> Step| {
            names.iter().cloned().map(step).collect::<Vec<_>>()
        };
        let is_handed_over =
            |name: &str| new.plan.components.get(name).is_some_and(|it| self.hand_over.contains(&it.process));
        // What the next mode does not have comes to rest, too.
        let leaves = |name: &str| {
            let stays = new.plan.components.contains_key(name) && !is_handed_over(name);
            stays && old.plan.is_active_at_start(name) && !new.plan.is_active_at_start(name)
        };
        // Components that publish and call come to rest first.
        let resting: Vec<&str> = was
            .iter()
            .rev()
            .copied()
            .filter(|name| self.remove.contains(*name) || self.rest.contains(*name) || leaves(name))
            .collect();
        steps.extend(resting.iter().map(|name| Step::Passivate(name.to_string())));
        steps.extend(each(&self.disconnect, Step::Disconnect));
        let gone = was.iter().rev().filter(|name| self.remove.contains(**name));
        steps.extend(gone.map(|name| Step::Remove(name.to_string())));
        steps.extend(each(&self.remove_services, Step::RemoveService));
        steps.extend(each(&self.remove_containers, Step::RemoveContainer));
        steps.extend(each(&self.stop, Step::StopProcess));
        steps.extend(each(&self.start, Step::StartProcess));
        steps.extend(each(&self.add_containers, Step::AddContainer));
        // A service that is at a component needs it first.
        let at_component = |name: &&String| {
            let service = new.plan.services.get(*name);
            service.is_some_and(|service| service.placement == Placement::Component)
        };
        let first = self.add_services.iter().filter(|name| !at_component(name));
        steps.extend(first.cloned().map(Step::AddService));
        let fresh: Vec<&str> = is.iter().copied().filter(|name| self.install.contains(*name)).collect();
        for name in &fresh {
            steps.push(Step::Install(name.to_string()));
            let settings = new.plan.components.get(*name).map(|component| &component.settings);
            for (setting, value) in settings.into_iter().flatten() {
                steps.push(Step::Set(name.to_string(), setting.clone(), Some(value.clone())));
            }
        }
        let later = self.add_services.iter().filter(at_component);
        steps.extend(later.cloned().map(Step::AddService));
        for Difference { name, change, .. } in differences {
            if let (Change::Settings(settings), true) = (change, self.rest.contains(name)) {
                let set = settings
                    .iter()
                    .map(|(setting, (_, after))| Step::Set(name.clone(), setting.clone(), after.clone()));
                steps.extend(set);
            }
        }
        steps.extend(each(&self.connect, Step::Connect));
        steps.extend(fresh.iter().map(|name| Step::Configured(name.to_string())));
        steps.extend(self.hand_over.iter().cloned().map(Step::HandOver));
        // Components that are called and consume begin first.
        let begins = |name: &&&str| {
            let is_new = self.install.contains(**name)
                || self.rest.contains(**name)
                || !old.plan.is_active_at_start(name);
            is_new && new.plan.is_active_at_start(name) && !is_handed_over(name)
        };
        steps.extend(is.iter().filter(begins).map(|name| Step::Activate(name.to_string())));
        steps
    }
}

/// The artefact that a process executes.
fn executed<'p>(plan: &'p Plan, process: &str) -> Option<&'p Artefact> {
    plan.artefacts.get(plan.processes.get(process)?.artefact.as_ref()?)
}

/// Whether the program of a process is another one, wherever it is: its content is, or a component that stays in it is of another build.
fn is_of_another_build(old: Version<'_>, new: Version<'_>, process: &str) -> bool {
    if let (Some(was), Some(is)) = (old.program(process), new.program(process))
        && was != is
    {
        return true;
    }
    let build = |version: Version<'_>, component: &Component| {
        version.types.components.get(&component.component_type).and_then(|it| it.build.clone())
    };
    let in_process = |plan: &Plan, name: &String| {
        plan.components.get(name).filter(|component| component.process == process).cloned()
    };
    old.plan.components.keys().any(|name| match (in_process(old.plan, name), in_process(new.plan, name)) {
        (Some(was), Some(is)) => {
            was.component_type == is.component_type && build(old, &was) != build(new, &is)
        }
        _ => false,
    })
}

/// The service that carries a connection to one of its ends.
pub(crate) type Carried<'v> = (ServiceKind, Option<&'v str>, [Option<&'v Topic>; 2], Option<&'v Qos>);

/// What carries each connection to each of its ends, with the topics there, and the quality of its events: these may be others although the
/// connection says the same.
pub(crate) fn carried(version: Version<'_>) -> BTreeMap<&str, Vec<Carried<'_>>> {
    let plan = version.plan;
    let topic = |end: &End| match end {
        End::Topic(name) => plan.topics.get(name),
        End::Port { .. } => None,
    };
    let mut carried: BTreeMap<&str, Vec<Carried<'_>>> = BTreeMap::new();
    for link in plan.layout().links() {
        let of_events =
            crate::explain::event_type(plan, &link, version.types).and_then(|name| plan.events.get(name));
        let by = (link.kind, link.service, [topic(link.from), topic(link.to)], of_events);
        carried.entry(link.name).or_default().push(by);
    }
    carried
}
