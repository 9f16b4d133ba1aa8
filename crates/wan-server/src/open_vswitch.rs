//! A back-end of switches of Open vSwitch on this machine: what the manager reserves is set up at them, by the crate `ovs-edge`.
use std::collections::BTreeMap;

use linux_edge::LinuxEdge;
use linux_edge::execute::Fault;
use linux_edge::observed::Delivered;
use ovs_edge::Domain;
use ovs_edge::execute::{Executor, Location, PROGRAMS, Running};
use wan::{BackendAnswer, BackendCommand, Holding, LegId};

use crate::backend::Backend;
use crate::link_watch::Links;
use crate::linux_routers::{Devices, LinuxRouters};

/// The switches of a domain, and where they are on this machine.
#[derive(Clone, Debug)]
pub struct Switches {
    /// The domain.
    pub domain: Domain,
    /// Where each switch is, in the order of the domain.
    pub locations: Vec<Location>,
    /// Nanoseconds from one keep-alive on each link to the next; 0: links are not looked at.
    pub keep_alive: u64,
}

fn shown(Fault { device, what }: &Fault) -> String {
    format!("{device}: {what}")
}

impl Devices for Running {
    fn edge(&self) -> &LinuxEdge {
        self.edge().held()
    }

    /// Flows, meters and queues stay with an interface that is down.
    fn routes_again(&self, _: usize, _: &str) -> Result<(), Fault> {
        Ok(())
    }

    fn handle(&mut self, command: BackendCommand) -> Result<Option<BackendAnswer>, Fault> {
        self.handle(command)
    }

    fn handle_together(&mut self, commands: &[BackendCommand]) -> Vec<Result<Option<BackendAnswer>, Fault>> {
        self.handle_together(commands)
    }

    fn lost(&mut self) -> Vec<(Holding, Fault)> {
        self.lost()
    }

    fn check(&mut self) -> Result<Vec<(Holding, Fault)>, Fault> {
        self.check()
    }

    fn delivered(&self) -> Result<BTreeMap<LegId, Delivered>, Fault> {
        self.delivered()
    }
}

impl Switches {
    /// Their links, as they are looked at.
    pub(crate) fn links(&self) -> Links<'_> {
        let namespaces = self.locations.iter().map(|location| location.namespace.clone()).collect();
        Links { domain: &self.domain.plan, namespaces, keep_alive: self.keep_alive, of_switches: true }
    }

    /// Takes up what the switches hold already, or sets them up. `tell` is told what their operator should know.
    ///
    /// # Errors
    /// Which program is missing, or what one says.
    pub fn start(&self, tell: fn(&str)) -> Result<impl Backend + use<>, String> {
        let checked = system::check_packages("a domain of Open vSwitch", &PROGRAMS, &[]);
        checked.map_err(|error| error.to_string())?;
        let started = Running::start(self.domain.clone(), Executor::new(self.locations.clone()));
        let (running, told) = started.map_err(|fault| shown(&fault))?;
        told.iter().for_each(|what| tell(what));
        Ok(LinuxRouters::of(Box::new(running), tell))
    }

    /// Takes away all that a manager has set up at them; bridges and their ports stay.
    ///
    /// # Errors
    /// The first switch that has its flows still, or cannot be asked.
    pub(crate) fn clear(&self) -> Result<(), String> {
        let cleared = Executor::new(self.locations.clone()).clear(&self.domain);
        cleared.map_err(|Fault { device, what }| format!("{device} is not cleared: {what}"))
    }
}
