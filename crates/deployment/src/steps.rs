//! The steps between two plans, as instructions for processes.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{Connection, Plan, Step, Version, steps};

use crate::foreign::is_foreign;
use crate::protocol::{Order, Phase};
use crate::supervisor::Target;

/// Orders for one process that come one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    pub(crate) process: String,
    pub(crate) phase: Phase,
    pub(crate) orders: Vec<Order>,
}

/// Processes to start and to end, and orders in the order of what is to be done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) start: Vec<String>,
    pub(crate) stop: Vec<String>,
    pub(crate) batches: Vec<Batch>,
}

impl Steps {
    /// The steps from one plan to another.
    pub(crate) fn between(old: &Target, new: &Target) -> Self {
        let was = Version { plan: &old.plan, types: &old.types };
        let is = Version { plan: &new.plan, types: &new.types };
        let mut all = Self::default();
        for step in steps(was, is) {
            all.add(&step, &old.plan, &new.plan);
        }
        let is_of_processes = |plan: &Plan| !plan.chains.is_empty() || !plan.gateways().is_empty();
        if is_of_processes(&old.plan) || is_of_processes(&new.plan) {
            all.call_all(&old.plan, &new.plan);
        }
        all
    }

    /// Component servers that have nothing to do get orders without a step: chains may pass them that did not, or not so, and their gateways may
    /// have to be made, or changed.
    fn call_all(&mut self, old: &Plan, new: &Plan) {
        let (was, is) = (old.layout(), new.layout());
        for process in is.processes().keys().filter(|process| !is_foreign(new, process)) {
            let is_new = self.start.iter().any(|name| name == process);
            // What a process that is replaced does before it ends is no matter of the one in its place.
            let is_of_it =
                |batch: &Batch| batch.process == *process && (!is_new || batch.phase != Phase::Passivate);
            if self.batches.iter().any(is_of_it) {
                continue;
            }
            let phase = match (is_new, was.processes().contains_key(process)) {
                (true, _) => Phase::StartLaunch,
                (false, true) => Phase::Passivate,
                (false, false) => continue,
            };
            self.batches.insert(0, Batch { process: process.to_string(), phase, orders: Vec::new() });
        }
    }

    fn add(&mut self, step: &Step, old: &Plan, new: &Plan) {
        let of_component = |plan: &Plan, name: &str| {
            plan.components.get(name).map(|component| component.process.clone()).into_iter().collect()
        };
        let of_container = |plan: &Plan, name: &str| {
            plan.containers.get(name).map(|container| container.process.clone()).into_iter().collect()
        };
        let of_connection = |plan: &Plan, name: &str| {
            plan.connections.get(name).map(|connection| ends(plan, connection)).unwrap_or_default()
        };
        let (phase, order, processes): (Phase, Order, Vec<String>) = match step {
            Step::StartProcess(name) => return self.start.push(name.clone()),
            Step::StopProcess(name) => return self.stop.push(name.clone()),
            // Channels are where consumers are; code is not loaded into processes that run, which is refused before.
            Step::AddService(_) | Step::RemoveService(_) | Step::Swap(_) => return,
            Step::Passivate(name) => {
                (Phase::Passivate, Order::Passivate(name.clone()), of_component(old, name))
            }
            Step::Disconnect(name) => {
                (Phase::Passivate, Order::Disconnect(name.clone()), of_connection(old, name))
            }
            Step::Remove(name) => (Phase::Passivate, Order::Remove(name.clone()), of_component(old, name)),
            Step::RemoveContainer(name) => {
                (Phase::Passivate, Order::RemoveContainer(name.clone()), of_container(old, name))
            }
            Step::AddContainer(name) => {
                (Phase::StartLaunch, Order::AddContainer(name.clone()), of_container(new, name))
            }
            Step::Install(name) => {
                (Phase::StartLaunch, Order::Install(name.clone()), of_component(new, name))
            }
            Step::Set(name, setting, _) => {
                let order = Order::Set(name.clone(), setting.clone());
                (Phase::StartLaunch, order, of_component(new, name))
            }
            Step::Connect(name) => {
                (Phase::FinishLaunch, Order::Connect(name.clone()), of_connection(new, name))
            }
            Step::Configured(name) => {
                (Phase::FinishLaunch, Order::Configured(name.clone()), of_component(new, name))
            }
            Step::Activate(name) => (Phase::Start, Order::Activate(name.clone()), of_component(new, name)),
        };
        for process in processes {
            match self.batches.last_mut() {
                Some(last) if last.process == process && last.phase == phase => {
                    last.orders.push(order.clone())
                }
                _ => self.batches.push(Batch { process, phase, orders: [order.clone()].into() }),
            }
        }
    }
}

/// The processes at the ends of a connection.
fn ends(plan: &Plan, connection: &Connection) -> Vec<String> {
    let mut processes: Vec<String> = Vec::new();
    let ends = core::iter::once(&connection.from).chain(&connection.to);
    for process in ends.filter_map(|end| Some(&plan.components.get(end.component()?)?.process)) {
        if !processes.contains(process) {
            processes.push(process.to_string());
        }
    }
    processes
}
