//! Bounds of systems that were worked by hand, rules on random systems, and agreement with another analysis.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chains;
mod connections;
mod demands;
mod locks;
mod peer;
mod random;
mod single;

use response::{
    Analysis, Bound, Chain, Component, Connection, Full, Host, Lane, Limits, Order, Port, Reason, Register,
    Scheduling, Source, SourceKind, Step, System, Target, Time, Transfer, analyse,
};

/// Makes systems in few words: each port has a component of its own unless it says otherwise.
#[derive(Clone, Default)]
pub(crate) struct Build {
    pub(crate) system: System,
}

impl Build {
    /// One host with so many cores and no costs.
    pub(crate) fn new(cores: usize) -> Self {
        let mut build = Self::default();
        build.host(cores);
        build
    }

    pub(crate) fn host(&mut self, cores: usize) -> usize {
        self.system.hosts.push(Host { cores, ..Host::default() });
        self.system.hosts.len() - 1
    }

    pub(crate) fn lane_on(&mut self, host: usize, threads: &[usize], scheduling: Scheduling) -> usize {
        self.system.lanes.push(Lane { host, threads: threads.to_vec(), scheduling, order: Order::Fifo });
        self.system.lanes.len() - 1
    }

    /// A fifo lane of one thread on core 0 of host 0.
    pub(crate) fn lane(&mut self, priority: u8) -> usize {
        self.lane_on(0, &[0], Scheduling::Fifo(priority))
    }

    pub(crate) fn component(&mut self, host: usize, serialised: bool) -> usize {
        self.system.components.push(Component { host, serialised });
        self.system.components.len() - 1
    }

    /// A port with a handler that runs for a time in `[least, most]`.
    pub(crate) fn port(&mut self, lane: usize, least: Time, most: Time) -> usize {
        let component = self.component(self.system.lanes[lane].host, false);
        self.port_of(component, Some(lane), &[Step::Run { least, most }])
    }

    pub(crate) fn port_of(&mut self, component: usize, lane: Option<usize>, steps: &[Step]) -> usize {
        self.system.ports.push(Port {
            component,
            lane,
            deadline: None,
            depth: 100,
            policy: Full::DropNewest,
            parallel: false,
            join: None,
            interval: None,
            steps: steps.to_vec(),
            measured: false,
        });
        self.system.ports.len() - 1
    }

    pub(crate) fn source(&mut self, port: usize, kind: SourceKind) -> usize {
        self.system.sources.push(Source { port, kind, measured: false });
        self.system.sources.len() - 1
    }

    pub(crate) fn timer(&mut self, port: usize, period: Time) -> usize {
        self.source(port, SourceKind::Timer { period, jitter: 0, phase: None })
    }

    /// Adds a push at the end of a port's handler, and a connection.
    pub(crate) fn connect(&mut self, from: usize, target: Target) -> usize {
        let output = self.system.connections.len();
        self.system.ports[from].steps.push(Step::Push { output, optional: false });
        self.system.connections.push(Connection { output, target, transfer: None });
        output
    }

    pub(crate) fn transfer(&mut self, connection: usize, least: Time, most: Time) {
        self.system.connections[connection].transfer = Some(Transfer { least, most, measured: false });
    }

    pub(crate) fn register(&mut self, port: usize) -> Target {
        self.system.registers.push(Register { port });
        Target::Register(self.system.registers.len() - 1)
    }

    pub(crate) fn chain(&mut self, source: usize, connections: &[usize]) -> usize {
        let connections = connections.to_vec();
        self.system.chains.push(Chain {
            name: String::new(),
            source,
            connections,
            reaction: None,
            age: None,
        });
        self.system.chains.len() - 1
    }

    pub(crate) fn analysis(&self) -> Analysis {
        analyse(&self.system, Limits::default()).unwrap()
    }

    pub(crate) fn response(&self, port: usize) -> Bound {
        self.analysis().ports[port].response
    }

    pub(crate) fn responses(&self) -> Vec<Result<Time, Reason>> {
        self.analysis().ports.iter().map(|port| port.response).collect()
    }
}
