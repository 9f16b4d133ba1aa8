//! Descriptors in XML as a plan: OMG deployment plans and domains (Deployment and Configuration 4.0), and the events descriptor of CIAO.
//!
//! Dataflows of dora and launch files of ROS 2 become plans of programs as they are.
//!
//! Every element that has no place in a plan is reported; nothing is left out silently.
mod connect;
mod domain;
mod dora;
mod events;
mod instances;
mod names;
mod ros;
mod values;
mod xml;
mod yaml;

pub use dora::{ImportedPrograms, import_dataflow};
pub use ros::{Included, LaunchFile, import_launch};

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use roxmltree::Document;

use crate::places::Places;
use crate::plan::{Artefact, ArtefactKind, Plan};
use crate::tree::Problems;

/// The descriptors of one plan.
#[derive(Clone, Copy, Debug)]
pub struct Descriptors<'d> {
    /// The deployment plan (.cdp).
    pub plan: Source<'d>,
    /// The domain (.cdd).
    pub domain: Option<Source<'d>>,
    /// Events descriptors (.ced).
    pub events: &'d [Source<'d>],
}

/// A plan that was made of descriptors.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
    /// The plan.
    pub plan: Plan,
    /// Where in the deployment plan its parts are.
    pub places: Places,
    /// Elements that have no place in a plan, or a different one: the place, the element, and the reason. Each should be looked at.
    pub left_out: Vec<Problem>,
}

impl Imported {
    /// Lets all processes execute one program, a component server that has the component types of the plan: it is at this location. The libraries of
    /// the descriptors are in it, so they are no artefacts of the plan any more; each is told.
    #[must_use]
    pub fn with_program(mut self, source: Source<'_>, location: &str) -> Self {
        for (name, library) in core::mem::take(&mut self.plan.artefacts) {
            let users = self.plan.components.values();
            let types: BTreeSet<&str> = users
                .filter(|component| component.artefact.as_ref() == Some(&name))
                .map(|component| component.component_type.as_str())
                .collect();
            let types: Vec<&str> = types.into_iter().collect();
            let file = library.location.first().map_or(name.as_str(), |first| first);
            let at = self.places.at(&format!("artefact.{name}"));
            self.left_out.push(source.problem(
                at,
                format!("the library {file} is not loaded"),
                format!("{location} has to have what it holds: {}", types.join(", ")),
            ));
        }
        let layout = self.plan.layout();
        let hosts = layout.processes().iter().map(|(name, host)| ((*name).into(), host.map(Into::into)));
        let hosts: Vec<(String, Option<String>)> = hosts.collect();
        let program: String = "program".into();
        for (name, host) in hosts {
            let process = self.plan.processes.entry(name).or_default();
            process.host = process.host.take().or(host);
            process.artefact = Some(program.clone());
        }
        self.plan.components.values_mut().for_each(|component| component.artefact = None);
        let executable =
            Artefact { location: [location.into()].into(), digest: None, kind: ArtefactKind::Executable };
        self.plan.artefacts.insert(program, executable);
        self
    }
}

/// A plan of descriptors.
///
/// # Errors
/// The text is no XML or no such descriptor, has a document type, or is too large or deep.
pub fn import(descriptors: &Descriptors<'_>) -> Result<Imported, Vec<Problem>> {
    let mut import = Import::default();
    let result = run(descriptors, &mut import);
    import.left_out.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
    match result {
        Ok(()) => Ok(Imported { plan: import.plan, places: import.places, left_out: import.left_out }),
        Err(problems) => Err(problems),
    }
}

/// The plan, as far as it is known.
#[derive(Default)]
struct Import {
    plan: Plan,
    places: Places,
    left_out: Vec<Problem>,
    names: names::Names,
    services: events::Services,
}

/// How many elements are told of that have no place.
const MOST_LEFT_OUT: usize = 1_000;

/// Services of events descriptors.
const MOST_SERVICES: usize = 256;

impl Import {
    /// Something has no place, or another one.
    fn leave(&mut self, source: Source<'_>, at: usize, what: impl Into<String>, why: &str) {
        if self.left_out.len() < MOST_LEFT_OUT {
            self.left_out.push(source.problem(at, what, why));
        }
    }
}

fn run(descriptors: &Descriptors<'_>, import: &mut Import) -> Result<(), Vec<Problem>> {
    let one = |problem| -> Vec<Problem> { [problem].into() };
    if let Some(source) = descriptors.domain {
        let document = xml::parse(source).map_err(one)?;
        let root = xml::root(source, &document, &["Domain"]).map_err(one)?;
        import.domain(source, root);
    }
    for source in descriptors.events {
        let document = xml::parse(*source).map_err(one)?;
        let root = xml::root(*source, &document, &["CIAOEventsDef", "CIAOEvents"]).map_err(one)?;
        import.events(*source, root);
        if import.services.known.len() > MOST_SERVICES {
            let remedy = "each may be a peer of each: split the plan";
            return Err(one(source.problem(0, format!("more than {MOST_SERVICES} services"), remedy)));
        }
    }
    import.peers();
    let source = descriptors.plan;
    let document: Document<'_> = xml::parse(source).map_err(one)?;
    let root = xml::root(source, &document, &["DeploymentPlan"]).map_err(one)?;
    let mut problems = Problems::new(source);
    import.deployment(source, root, &mut problems);
    if problems.are_none() { Ok(()) } else { Err(problems.into_list()) }
}
