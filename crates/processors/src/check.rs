//! Whether a description is a system of the model.
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::system::{Description, Entry, Keep, MOST_CHAINS, Scheduling, SourceKind, Step, System, Target};

/// Times and periods above this are refused, so that sums of them do not overflow.
const LONGEST: u64 = 1 << 50;

/// A problem of a description; numbers are indices of its lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemError {
    /// A host without cores, with a stall that is not shorter than its distance, a window without time, or a drift of 10^8 or more.
    Host(usize),
    /// A lane without threads, on a core or a host that there is not, or with a scheduling that does not exist.
    Lane(usize),
    /// A component on a host that there is not.
    Component(usize),
    /// A port without depth, with a join of less than two parts, with steps that end before they begin, on a lane of another host, with
    /// an interval that is not served by timers, or that pushes to an output of another component.
    Port(usize),
    /// An output of a component that there is not.
    Output(usize),
    /// A connection that leads nowhere, or in a way that its port does not have.
    Connection(usize),
    /// A source of no period, or for a port without a queue of its own.
    Source(usize),
    /// A chain that is not a path, passes a port twice, or passes a push that is optional.
    Chain(usize),
    /// More chains than [`MOST_CHAINS`].
    Chains,
    /// A circle of connections through this port (S6), or of direct calls through its component (P15).
    Circle(usize),
    /// A lock that a deadline thread shares (P12).
    Lock(usize),
    /// A time above 2^50 ns.
    TooLong,
}

impl fmt::Display for SystemError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(index) => {
                write!(out, "host {index} cannot be: look at cores, stalls, throttling, drift")
            }
            Self::Lane(index) => write!(out, "lane {index} cannot be: look at host, threads, scheduling"),
            Self::Component(index) => write!(out, "component {index} is on a host that there is not"),
            Self::Port(index) => {
                write!(out, "port {index} cannot be: look at lane, depth, join, steps, interval")
            }
            Self::Output(index) => write!(out, "output {index} has no component"),
            Self::Connection(index) => write!(out, "connection {index} does not fit its port"),
            Self::Source(index) => write!(out, "source {index} cannot be: look at its port and period"),
            Self::Chain(index) => write!(out, "chain {index} is not a path of certain pushes"),
            Self::Chains => write!(out, "more than {MOST_CHAINS} chains"),
            Self::Circle(port) => write!(out, "port {port} is on a circle"),
            Self::Lock(component) => {
                write!(
                    out,
                    "component {component} has a lock that a deadline thread shares with another thread"
                )
            }
            Self::TooLong => write!(out, "a time of more than 2^50 ns"),
        }
    }
}

impl core::error::Error for SystemError {}

impl System {
    /// Checks a description.
    ///
    /// # Errors
    /// The first thing that the model does not have.
    pub fn new(parts: Description) -> Result<Self, SystemError> {
        hosts_and_lanes(&parts)?;
        ports(&parts)?;
        connections(&parts)?;
        let mut leads = vec![Vec::new(); parts.outputs.len()];
        for (index, connection) in parts.connections.iter().enumerate() {
            leads[connection.output].push(index);
        }
        circles(&parts, &leads)?;
        locks(&parts, &leads)?;
        if parts.chains.len() > MOST_CHAINS {
            return Err(SystemError::Chains);
        }
        let mut passed = vec![0_u8; parts.connections.len()];
        for (index, chain) in parts.chains.iter().enumerate() {
            check_chain(&parts, index)?;
            for connection in &chain.connections {
                passed[*connection] |= 1 << index;
            }
        }
        Ok(Self { parts, leads, passed })
    }
}

fn hosts_and_lanes(parts: &Description) -> Result<(), SystemError> {
    for (index, host) in parts.hosts.iter().enumerate() {
        let stalls = host.stalls.iter().all(|stall| stall.length < stall.distance);
        let window =
            host.throttling.is_none_or(|window| window.runtime > 0 && window.runtime <= window.period);
        if host.cores == 0 || !stalls || !window || host.drift >= 100_000_000 {
            return Err(SystemError::Host(index));
        }
        let times = [host.wake, host.switch, host.dispatch, host.slack, host.error];
        let stalls = host.stalls.iter().map(|stall| stall.distance);
        let window = host.throttling.iter().map(|window| window.period);
        if times.into_iter().chain(stalls).chain(window).any(|time| time > LONGEST) {
            return Err(SystemError::TooLong);
        }
    }
    for (index, lane) in parts.lanes.iter().enumerate() {
        let host = parts.hosts.get(lane.host).ok_or(SystemError::Lane(index))?;
        let scheduling = match lane.scheduling {
            Scheduling::Fifo { priority } => (1..=99).contains(&priority),
            Scheduling::Deadline { runtime, deadline, period } => {
                0 < runtime && runtime <= deadline && deadline <= period && period <= LONGEST
            }
            Scheduling::Other => true,
        };
        if !scheduling || lane.threads.is_empty() || lane.threads.iter().any(|core| *core >= host.cores) {
            return Err(SystemError::Lane(index));
        }
    }
    for (index, component) in parts.components.iter().enumerate() {
        if component.host >= parts.hosts.len() {
            return Err(SystemError::Component(index));
        }
    }
    for (index, output) in parts.outputs.iter().enumerate() {
        if output.component >= parts.components.len() {
            return Err(SystemError::Output(index));
        }
    }
    Ok(())
}

fn ports(parts: &Description) -> Result<(), SystemError> {
    for (index, port) in parts.ports.iter().enumerate() {
        let wrong = SystemError::Port(index);
        let component = parts.components.get(port.component).ok_or(wrong)?;
        if let Entry::Queued { lane, depth, join, deadline, .. } = port.entry {
            let lane = parts.lanes.get(lane).ok_or(wrong)?;
            let join_is = join
                .is_none_or(|join| join.parts >= 2 && join.keep != Keep::All(0) && join.within != Some(0));
            if depth == 0 || lane.host != component.host || !join_is {
                return Err(wrong);
            }
            if deadline > LONGEST || join.is_some_and(|join| join.within > Some(LONGEST)) {
                return Err(SystemError::TooLong);
            }
        }
        for step in &port.steps {
            let is_right = match *step {
                Step::Run { most, .. } if most > LONGEST => return Err(SystemError::TooLong),
                Step::Run { least, most } => least <= most,
                Step::Push { output, .. } => {
                    parts.outputs.get(output).is_some_and(|output| output.component == port.component)
                }
            };
            if !is_right {
                return Err(wrong);
            }
        }
        if let Some(interval) = port.interval {
            let served: Vec<_> = parts.sources.iter().filter(|source| source.port == index).collect();
            let by_timers = served.iter().all(|source| match source.kind {
                SourceKind::Timer { period, .. } => period >= interval,
                _ => false,
            });
            let by_others = parts.connections.iter().any(|connection| match connection.target {
                Target::Register(..) => false,
                target => target.port() == index,
            });
            if interval == 0 || served.is_empty() || !by_timers || by_others {
                return Err(wrong);
            }
        }
    }
    for (index, source) in parts.sources.iter().enumerate() {
        let wrong = SystemError::Source(index);
        let port = parts.ports.get(source.port).ok_or(wrong)?;
        let times = match source.kind {
            SourceKind::Timer { period, jitter, phase } => [period, jitter, phase.unwrap_or(0)],
            SourceKind::Periodic { period, jitter, gap } => [period, jitter, gap],
            SourceKind::Sporadic { separation } => [separation, 0, 0],
        };
        let gap_is = !matches!(source.kind, SourceKind::Periodic { period, gap, .. } if gap > period);
        if times[0] == 0 || !gap_is || !matches!(port.entry, Entry::Queued { join: None, .. }) {
            return Err(wrong);
        }
        if times.into_iter().any(|time| time > LONGEST) {
            return Err(SystemError::TooLong);
        }
    }
    Ok(())
}

fn connections(parts: &Description) -> Result<(), SystemError> {
    for (index, connection) in parts.connections.iter().enumerate() {
        let wrong = SystemError::Connection(index);
        let output = parts.outputs.get(connection.output).ok_or(wrong)?;
        let port = parts.ports.get(connection.target.port()).ok_or(wrong)?;
        let fits = match (connection.target, port.entry) {
            (Target::Queue(_), Entry::Queued { join: None, .. }) | (Target::Direct(_), Entry::Direct) => true,
            (Target::Part(_, part), Entry::Queued { join: Some(join), .. }) => part < join.parts,
            (Target::Register(_, register), _) => register < port.registers,
            _ => false,
        };
        let is_elsewhere = parts.components[output.component].host != parts.components[port.component].host;
        let is_direct = matches!(connection.target, Target::Direct(_));
        let transfers = connection.transfer.is_none_or(|(least, most)| least <= most);
        let is_apart = connection.transfer.is_some();
        if !fits || (is_elsewhere && !is_apart) || (is_direct && is_apart) || !transfers {
            return Err(wrong);
        }
        if connection.transfer.is_some_and(|(_, most)| most > LONGEST) {
            return Err(SystemError::TooLong);
        }
        // The events of a handler in logical execution time are not pushed by its thread.
        let pusher = parts.ports.iter().find(|pusher| {
            let pushes =
                |step: &Step| matches!(step, Step::Push { output, .. } if *output == connection.output);
            pusher.interval.is_some() && pusher.steps.iter().any(pushes)
        });
        if is_direct && pusher.is_some() {
            return Err(wrong);
        }
    }
    Ok(())
}

/// The ports that a run of a port's handler leads to, by the connections that count.
fn next(parts: &Description, leads: &[Vec<usize>], port: usize, counts: fn(Target) -> bool) -> Vec<usize> {
    let outputs = parts.ports[port].steps.iter().filter_map(|step| match step {
        Step::Push { output, .. } => Some(*output),
        Step::Run { .. } => None,
    });
    let all = outputs.flat_map(|output| leads[output].iter());
    let targets = all.map(|connection| parts.connections[*connection].target);
    targets.filter(|target| counts(*target)).map(Target::port).collect()
}

fn circles(parts: &Description, leads: &[Vec<usize>]) -> Result<(), SystemError> {
    let triggers = |target: Target| !matches!(target, Target::Register(..));
    let ports = (0..parts.ports.len()).map(|port| next(parts, leads, port, triggers)).collect();
    if let Some(port) = on_circle(ports) {
        return Err(SystemError::Circle(port));
    }
    let direct = |target: Target| matches!(target, Target::Direct(_));
    let mut components = vec![Vec::new(); parts.components.len()];
    for (index, port) in parts.ports.iter().enumerate() {
        let called = next(parts, leads, index, direct);
        components[port.component].extend(called.into_iter().map(|port| parts.ports[port].component));
    }
    match on_circle(components) {
        Some(component) => {
            let port = parts.ports.iter().position(|port| port.component == component);
            Err(SystemError::Circle(port.unwrap_or(0)))
        }
        None => Ok(()),
    }
}

/// A node that is on a circle, or leads to one only by nodes that do.
fn on_circle(leads: Vec<Vec<usize>>) -> Option<usize> {
    let mut open: Vec<bool> = vec![true; leads.len()];
    loop {
        let closed = (0..leads.len()).find(|node| open[*node] && leads[*node].iter().all(|to| !open[*to]));
        match closed {
            Some(node) => open[node] = false,
            None => return open.iter().position(|open| *open),
        }
    }
}

fn locks(parts: &Description, leads: &[Vec<usize>]) -> Result<(), SystemError> {
    // Which lanes run handlers of a component.
    let mut users = vec![vec![false; parts.lanes.len()]; parts.components.len()];
    for port in 0..parts.ports.len() {
        let Entry::Queued { lane, .. } = parts.ports[port].entry else { continue };
        let mut open = vec![port];
        while let Some(port) = open.pop() {
            users[parts.ports[port].component][lane] = true;
            open.extend(next(parts, leads, port, |target| matches!(target, Target::Direct(_))));
        }
    }
    for (index, component) in parts.components.iter().enumerate() {
        let lanes = || parts.lanes.iter().zip(&users[index]).filter(|(_, uses)| **uses).map(|(lane, _)| lane);
        let by_deadline = lanes().any(|lane| matches!(lane.scheduling, Scheduling::Deadline { .. }));
        let threads: usize = lanes().map(|lane| lane.threads.len()).sum();
        if component.serialised && by_deadline && threads > 1 {
            return Err(SystemError::Lock(index));
        }
    }
    Ok(())
}

fn check_chain(parts: &Description, index: usize) -> Result<(), SystemError> {
    let wrong = SystemError::Chain(index);
    let chain = &parts.chains[index];
    let mut port = parts.sources.get(chain.source).ok_or(wrong)?.port;
    let mut ports = vec![port];
    for connection in &chain.connections {
        let connection = parts.connections.get(*connection).ok_or(wrong)?;
        let is_pushed = parts.ports[port].steps.iter().any(
            |step| matches!(step, Step::Push { output, optional: false } if *output == connection.output),
        );
        port = connection.target.port();
        if !is_pushed || ports.contains(&port) {
            return Err(wrong);
        }
        ports.push(port);
    }
    Ok(())
}
