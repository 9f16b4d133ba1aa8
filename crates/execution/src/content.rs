//! Plans as values: what is in a bundle, and whether the resources of hosts are enough for several of them.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{Catalogue, Manifest, Placed, Places, Plan};
use deployment::deployment_name;
use diagnostics::{Problem, Source};

use crate::messages::Bundle;

/// A plan that was read, with the bundle that it is from.
#[derive(Clone, PartialEq, Debug)]
pub struct Content {
    /// The name of its deployment.
    pub deployment: String,
    /// The bundle.
    pub bundle: Bundle,
    /// The plan.
    pub plan: Plan,
    /// Where everything stands in its text.
    pub places: Places,
    /// Its types.
    pub types: Catalogue,
    /// The hosts of its processes.
    pub hosts: BTreeSet<String>,
}

impl Content {
    /// Reads a bundle.
    ///
    /// # Errors
    /// What is wrong with its texts, or a process is on no host.
    pub fn read(bundle: Bundle) -> Result<Self, String> {
        let source = Source { file: &bundle.file, text: &bundle.plan };
        let (plan, places) = Plan::read(source).map_err(|problems| shown(source, &problems))?;
        let mut manifests = Vec::new();
        for manifest in &bundle.manifests {
            let source = Source { file: &manifest.name, text: &manifest.text };
            let read = Manifest::read(source).map_err(|problems| shown(source, &problems))?;
            manifests.push((manifest.name.clone(), read));
        }
        let types = Catalogue::of(manifests).map_err(|problems| shown(source, &problems))?;
        let mut hosts = BTreeSet::new();
        for (process, host) in plan.layout().processes() {
            let Some(host) = host else {
                return Err(format!(
                    "process {process} is on no host: add host = \"NAME\" to [process.{process}]"
                ));
            };
            hosts.insert((*host).to_owned());
        }
        if hosts.is_empty() {
            return Err("the plan has no processes: there is nothing to launch".to_string());
        }
        Ok(Self { deployment: deployment_name(&plan), bundle, plan, places, types, hosts })
    }

    /// The plan without what another one of the same deployment has, too, and does not have beside it while one follows the other.
    fn without_same(&self, next: &Self) -> Plan {
        let mut plan = self.plan.clone();
        let is_same = |process: &str| {
            let next = next.plan.processes.get(process);
            self.plan.processes.get(process) == next
        };
        for (name, component) in &mut plan.components {
            if next.plan.components.get(name) == Some(component) && is_same(&component.process) {
                component.requires.clear();
            }
        }
        for (name, process) in &mut plan.processes {
            if is_same(name) {
                process.requires.clear();
            }
        }
        plan
    }
}

/// Nothing if what hosts have is enough for a plan, for the one of the same deployment that it follows, as long as both are there, and for all
/// others.
///
/// # Errors
/// A resource that is not enough, with the place where a plan requires it.
pub fn fit_together(next: &Content, before: Option<&Content>, others: &[&Content]) -> Result<(), String> {
    let before = before.map(|before| (before, before.without_same(next)));
    let mut all: Vec<(&Content, &Plan)> = others.iter().map(|content| (*content, &content.plan)).collect();
    all.extend(before.as_ref().map(|(content, plan)| (*content, plan)));
    all.push((next, &next.plan));
    let placed: Vec<Placed<'_>> = all
        .iter()
        .map(|(content, plan)| Placed {
            plan,
            source: Source { file: &content.bundle.file, text: &content.bundle.plan },
            places: &content.places,
        })
        .collect();
    let problems = Plan::check_together(&placed);
    if problems.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for problem in &problems {
        let placed = placed.iter().find(|placed| placed.source.file == problem.file);
        text += &placed.map_or_else(|| problem.to_string(), |placed| placed.source.show(problem));
        text.push('\n');
    }
    Err(text.trim_end().to_owned())
}

fn shown(source: Source<'_>, problems: &[Problem]) -> String {
    let all: Vec<String> = problems.iter().map(|problem| source.show(problem)).collect();
    all.join("\n")
}
