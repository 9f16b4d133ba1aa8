//! Whether a plan makes sense: names, types, connections, cycles, chains, resources.
mod chains;
mod components;
mod connections;
mod cycles;
mod joins;
mod localities;
mod logical;
mod loops;
mod names;
mod qos;
mod required;
mod suspended;
mod timing;
mod together;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use crate::links::Layout;
use crate::manifest::{Catalogue, ComponentType, PortType};
use crate::places::Places;
use crate::plan::{End, MOST_QUIESCE, Named, Plan};
use crate::shape::meant;
use crate::tree::Problems;

pub(crate) use timing::fits;
pub use together::Placed;

/// A check of a plan, with the known types.
struct Checker<'c> {
    plan: &'c Plan,
    places: &'c Places,
    types: &'c Catalogue,
    layout: Layout<'c>,
    problems: Problems<'c>,
    /// Connections that may still be looked at while ways are searched.
    work: usize,
}

/// Connections that are looked at in the search for cycles and paths: far more than plans of some thousand connections need.
const MOST_WORK: usize = 20_000_000;

impl Plan {
    /// All that does not make sense, in the order of the file, up to 32 problems. Without manifests (an empty catalogue) nothing is said
    /// about types, ports and settings.
    pub fn check(&self, source: Source<'_>, places: &Places, types: &Catalogue) -> Vec<Problem> {
        let mut checker = Checker {
            plan: self,
            places,
            types,
            layout: self.layout(),
            problems: Problems::new(source),
            work: MOST_WORK,
        };
        checker.names();
        checker.policies();
        checker.quiesce();
        checker.components();
        checker.connections();
        checker.qos();
        checker.chains();
        checker.timing();
        checker.joins();
        checker.logical();
        checker.loops();
        // The types of ports say which component calls which, once these types are right.
        if checker.knows_types() && checker.problems.are_none() {
            checker.cycles();
        }
        let mut problems = checker.problems.into_list();
        if problems.is_empty() {
            problems = together::check(&[Placed { plan: self, source, places }]);
        }
        problems
    }

    /// Requirements of two or more plans that the hosts which they share cannot meet at the same time.
    pub fn check_together(plans: &[Placed<'_>]) -> Vec<Problem> {
        together::check(plans)
    }

    /// Parts of the plan that what they are said for does not carry out; these are no mistakes.
    pub fn notes(&self, source: Source<'_>, places: &Places, types: &Catalogue) -> Vec<Problem> {
        qos::notes(self, source, places, types)
    }
}

impl<'c> Checker<'c> {
    /// Something is wrong with what stands at a path.
    fn wrong(&mut self, path: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.add(self.places.at(path), what, remedy);
    }

    /// Tells if there is no such entry.
    fn needs<T>(&mut self, path: &str, kind: &str, name: &str, known: &Named<T>) {
        if !known.contains_key(name) {
            let names = known.keys().map(String::as_str);
            let remedy = meant(name, names, format!("add [{kind}.{name}]"));
            self.wrong(path, format!("there is no {kind} \"{name}\""), remedy);
        }
    }

    /// Takes from what may be looked at; false if it is used up, which is told once.
    fn spend(&mut self, work: usize) -> bool {
        if self.work > 0 && self.work <= work {
            self.wrong(
                "connection",
                "the plan is too large to search all ways of its connections",
                "split it",
            );
        }
        self.work = self.work.saturating_sub(work);
        self.work > 0
    }

    /// Tells if there is no such process, with a table of its own or named by a component.
    fn needs_process(&mut self, path: &str, name: &str) {
        if !self.layout.processes().contains_key(name) {
            let names = self.layout.processes().keys().copied();
            let remedy = meant(name, names, format!("add [process.{name}]"));
            self.wrong(path, format!("there is no process \"{name}\""), remedy);
        }
    }

    /// Policy files say what may be asked of a network.
    fn policies(&mut self) {
        if self.plan.network.is_none() && !self.plan.policies.is_empty() {
            let what = "policies say which flows the manager of a network allows, and no network is named";
            self.wrong("policies", what, "add network = \"FILE\", or take policies out");
        }
    }

    /// What rests for a change rests for less than its supervisor waits for answers.
    fn quiesce(&mut self) {
        if self.plan.quiesce.is_some_and(|limit| limit > MOST_QUIESCE) {
            let most = diagnostics::written(MOST_QUIESCE);
            let what = format!(
                "publishers rest for {most} at most: a process that answers later counts as one that hangs"
            );
            self.wrong("quiesce", what, format!("write {most} or less"));
        }
    }

    /// Whether anything is known of types.
    fn knows_types(&self) -> bool {
        !self.types.components.is_empty()
    }

    fn type_of(&self, component: &str) -> Option<&'c ComponentType> {
        let component = self.plan.components.get(component)?;
        self.types.components.get(&component.component_type)
    }

    fn port_type(&self, end: &End) -> Option<&'c PortType> {
        let End::Port { component, port } = end else { return None };
        self.type_of(component)?.ports.get(port)
    }
}
