//! The steps between two plans, as instructions for processes.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{Connection, Plan, Step, steps};

use crate::foreign::is_foreign;
use crate::protocol::{Order, Phase};
use crate::supervisor::Target;

/// Orders for one process that come one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    pub(crate) process: String,
    pub(crate) phase: Phase,
    /// Of the phase quiesce: how many times what was published went from host to host before.
    pub(crate) round: u32,
    pub(crate) orders: Vec<Order>,
}

impl Batch {
    pub(crate) fn new(process: &str, phase: Phase, orders: Vec<Order>) -> Self {
        Self { process: process.to_string(), phase, round: 0, orders }
    }

    /// Whether it is for the process as it was before the change, and not for the one in its place.
    pub(crate) fn is_of_former(&self) -> bool {
        self.phase <= Phase::Passivate || self.orders.first().is_some_and(Order::is_of_former)
    }
}

/// Processes to start and to end, and orders in the order of what is to be done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) start: Vec<String>,
    pub(crate) stop: Vec<String>,
    pub(crate) batches: Vec<Batch>,
}

impl Steps {
    /// How many rounds its phase quiesce has.
    pub(crate) fn rounds(&self) -> u32 {
        let of_phase = self.batches.iter().filter(|batch| batch.phase == Phase::Quiesce);
        of_phase.map(|batch| batch.round.saturating_add(1)).max().unwrap_or(0)
    }

    /// The steps from one plan to another.
    /// `is_led` is whether others decide, who lead all hosts of the plan.
    pub(crate) fn between(old: &Target, new: &Target, is_led: bool) -> Self {
        let mut steps = Self::plain(old, new);
        steps.quiesce(old, new, is_led);
        steps
    }

    /// The same, whatever is on its way.
    pub(crate) fn plain(old: &Target, new: &Target) -> Self {
        let was = old.version();
        let is = new.version();
        let mut all = Self::default();
        for step in steps(was, is) {
            match &step {
                Step::HandOver(process) => all.hand_over(process, old, new),
                step => all.add(step, &old.plan, &new.plan),
            }
        }
        // A process that goes on in the place of another one is made ready beside those that are new.
        all.batches.sort_by_key(|batch| batch.phase);
        let is_of_processes = |plan: &Plan| {
            let is_measured = |connection: &Connection| connection.latency.is_some();
            !plan.chains.is_empty()
                || !plan.gateways().is_empty()
                || plan.connections.values().any(is_measured)
        };
        if is_of_processes(&old.plan) || is_of_processes(&new.plan) {
            all.call_all(&old.plan, &new.plan);
        }
        all
    }

    /// Component servers that have nothing to do get orders without a step: chains may pass them that did not, or not so, what is measured may need
    /// another thing of their hosts, and their gateways may have to be made, or changed.
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
            self.batches.insert(0, Batch::new(process, phase, Vec::new()));
        }
    }

    /// Another build of a process is made ready, with all that is in it, and goes on in the place of the former one.
    fn hand_over(&mut self, process: &str, old: &Target, new: &Target) {
        self.start.push(process.to_string());
        self.stop.push(process.to_string());
        let here = |target: &Target| -> Vec<String> {
            let is_here = |name: &&str| {
                target.plan.components.get(*name).is_some_and(|component| component.process == process)
            };
            let order = target.plan.order(&target.types);
            order.into_iter().filter(is_here).map(ToString::to_string).collect()
        };
        let (mut resting, fresh) = (here(old), here(new));
        // Components that publish and call come to rest first, and begin last.
        resting.reverse();
        let containers = new.plan.containers.iter().filter(|(_, container)| container.process == process);
        let connections = new.plan.connections.iter();
        let touches = |connection: &Connection| ends(&new.plan, connection).iter().any(|of| of == process);
        let connections = connections.filter(|(_, connection)| touches(connection));
        let mut launch = alloc::vec![Order::Hold];
        launch.extend(containers.map(|(name, _)| Order::AddContainer(name.clone())));
        launch.extend(fresh.iter().cloned().map(Order::Install));
        let mut ready: Vec<Order> = connections.map(|(name, _)| Order::Connect(name.clone())).collect();
        ready.extend(fresh.iter().cloned().map(Order::Configured));
        let is_wanted = |name: &&String| new.plan.is_active_at_start(name);
        let mut begin = alloc::vec![Order::TakeOver(Vec::new())];
        begin.extend(fresh.iter().filter(is_wanted).cloned().map(Order::Activate));
        begin.push(Order::Release(Vec::new()));
        for (phase, orders) in [
            (Phase::StartLaunch, launch),
            (Phase::FinishLaunch, ready),
            (Phase::FinishLaunch, [Order::TellMatched].into()),
            (Phase::FinishLaunch, [Order::AwaitMatched(Vec::new())].into()),
            (Phase::HandOver, [Order::HandOver(resting, Vec::new())].into()),
            (Phase::HandOver, begin),
        ] {
            self.batches.push(Batch::new(process, phase, orders));
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
            // Channels are where consumers are; processes are handed over as a whole.
            Step::AddService(_) | Step::RemoveService(_) | Step::HandOver(_) => return,
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
                _ => self.batches.push(Batch::new(&process, phase, [order.clone()].into())),
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
