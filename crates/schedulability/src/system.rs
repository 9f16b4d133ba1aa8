//! The system of the analysis: hosts about which all is known, with what runs there.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use assembly::{Costs, End, PortKind, SchedulingClass};
use response::{Connection, Host, Lane, Order, Port, Scheduling, Source, SourceKind, Step, System, Target};

use crate::handlers::{Unknown, down, steps, up};
use crate::kept::{self, Joined, Keeper};
use crate::lanes::check_lanes;
use crate::links::Links;
use crate::obstacle::Obstacle;
use crate::parts::Parts;

/// A system with what its elements are in the plans.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) system: System,
    pub(crate) hosts: Vec<String>,
    /// For each lane of the system that of the plans.
    pub(crate) lanes: Vec<usize>,
    /// For each port of the system its handler.
    pub(crate) ports: Vec<usize>,
    pub(crate) components: Vec<(usize, String)>,
    /// For each way that is in the system its connection.
    pub(crate) connection_of: BTreeMap<usize, usize>,
    /// For each source of the system the origin.
    pub(crate) origins: Vec<usize>,
    /// For each handler that is in the system its port.
    pub(crate) port_of: BTreeMap<usize, usize>,
    /// The connections into registers: by the ports that leave a value and that sample it.
    pub(crate) samples: BTreeMap<(usize, usize), usize>,
    /// For each handler that a timer's run calls its register.
    read: BTreeMap<usize, usize>,
    /// Hosts without bounds.
    pub(crate) without: BTreeSet<String>,
}

/// Parts of a thousand million by which a clock is wrong, unless a plan says otherwise.
const DRIFT: u32 = 200_000;
/// The kernel's limit for threads of the class fifo, unless a plan says otherwise: 950 ms in each second.
const THROTTLING: response::Throttling = response::Throttling { runtime: 950_000_000, period: 1_000_000_000 };
/// Nanoseconds of a handler on a lane of the class normal of which nothing is known and that keeps no other one: longer than any window.
const UNKNOWN: u64 = 1 << 50;

impl Built {
    /// The system of plans; adds what stands in the way.
    pub(crate) fn of(parts: &mut Parts<'_>, links: &Links<'_>) -> Self {
        let runs = runs(parts, links);
        let users = users(parts, links, &runs);
        kept::check(parts, links, &runs, &users);
        let shared = shared(parts, &users);
        let mut handlers: BTreeMap<usize, Vec<Step>> = BTreeMap::new();
        let mut outputs: BTreeMap<(usize, String, String), usize> = BTreeMap::new();
        for index in &runs {
            match steps_of(parts, links, *index, &shared, &mut outputs) {
                Ok(steps) => drop(handlers.insert(*index, steps)),
                Err(missing) => {
                    for (index, unknown) in missing {
                        parts.obstacles.extend(of_handler(parts, index, unknown));
                    }
                }
            }
        }
        check_lanes(parts, &runs, links, &shared);
        let costs = costs(parts);
        let without = without(parts, links);
        let mut built = Self { without, ..Self::default() };
        built.add_hosts(&costs);
        built.add_lanes(parts);
        built.add_ports(parts, links, handlers);
        built.add_ways(parts, links, &outputs);
        built.add_samples(parts, outputs.len());
        built.add_origins(links);
        built
    }

    fn host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host == name)
    }

    fn add_hosts(&mut self, costs: &BTreeMap<String, (Costs, u16)>) {
        for (name, (costs, cores)) in costs {
            if self.without.contains(name) {
                continue;
            }
            let stall =
                |it: &assembly::Stall| response::Stall { length: up(it.length), distance: down(it.distance) };
            let throttling = |it: assembly::Throttling| response::Throttling {
                runtime: down(it.runtime).min(down(it.period)),
                period: down(it.period),
            };
            self.hosts.push(name.clone());
            self.system.hosts.push(Host {
                cores: usize::from(*cores),
                wake: up(costs.wake),
                switch: up(costs.switch),
                dispatch: up(costs.dispatch),
                slack: up(costs.slack),
                drift: costs.drift.unwrap_or(DRIFT).into(),
                error: up(costs.clock_error),
                stalls: costs.stalls.iter().map(stall).collect(),
                throttling: match costs.throttling.map(throttling) {
                    // As much as the period: the limit is off.
                    Some(it) if it.runtime == it.period => None,
                    Some(it) => Some(it),
                    None => Some(THROTTLING),
                },
                measured: costs.is_measured,
            });
        }
    }

    fn add_lanes(&mut self, parts: &Parts<'_>) {
        for (index, lane) in parts.lanes.iter().enumerate() {
            let Some(host) = self.host(lane.host) else { continue };
            let core = lane.cores.first().copied().unwrap_or(0);
            self.lanes.push(index);
            self.system.lanes.push(Lane {
                host,
                threads: vec![usize::from(core); lane.count.max(1)],
                scheduling: match (lane.class, lane.budget) {
                    (SchedulingClass::Fifo, _) => Scheduling::Fifo(lane.priority.unwrap_or(1)),
                    (SchedulingClass::Deadline, Some((runtime, period))) => Scheduling::Deadline {
                        runtime: down(runtime),
                        deadline: down(period),
                        period: down(period),
                    },
                    _ => Scheduling::Other,
                },
                order: Order::Fifo,
            });
        }
    }

    fn add_ports(&mut self, parts: &Parts<'_>, links: &Links<'_>, handlers: BTreeMap<usize, Vec<Step>>) {
        let mut known: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for (index, steps) in handlers {
            let Some(handler) = parts.handlers.get(index) else { continue };
            let Some(host) = self.host(parts.host_of(index)) else { continue };
            let of_type = parts.type_of(handler.plan, handler.component);
            let is_parallel = of_type.is_some_and(|of_type| of_type.is_parallel);
            let component = *known.entry((handler.plan, handler.component)).or_insert_with(|| {
                self.components.push((handler.plan, handler.component.to_string()));
                self.system.components.push(response::Component { host, serialised: !is_parallel });
                self.components.len() - 1
            });
            let room = links.rooms.get(&index);
            let join = match links.kept.get(&index) {
                Some(Keeper::Join(join)) => join.conjunction.as_ref().map(kept::conjunction),
                _ => None,
            };
            // A part of a nanosecond does not make an interval longer than the period.
            let period =
                links.origins.iter().find(|origin| origin.to == index).map_or(u64::MAX, |it| down(it.time));
            let interval = kept::interval(parts, index).map(|interval| up(interval).min(period));
            let reads = kept::reads(parts, links, index);
            let measured = core::iter::once(index).chain(reads.iter().copied());
            let measured = measured.filter_map(|it| execution(parts, it)).any(|it| it.is_measured);
            let lane = self.lanes.iter().position(|lane| *lane == handler.lane);
            self.port_of.insert(index, self.ports.len());
            self.ports.push(index);
            self.system.ports.push(Port {
                component,
                lane: if links.direct.contains(&index) { None } else { lane },
                deadline: None,
                depth: room.map_or(1, |room| room.depth),
                policy: room.map_or(response::Full::DropOldest, |room| room.full),
                parallel: is_parallel,
                join,
                interval,
                steps,
                measured,
            });
            // Its run calls the handlers of what it reads.
            self.port_of.extend(reads.into_iter().map(|read| (read, self.system.ports.len() - 1)));
        }
    }

    fn add_ways(
        &mut self,
        parts: &Parts<'_>,
        links: &Links<'_>,
        outputs: &BTreeMap<(usize, String, String), usize>,
    ) {
        for (index, way) in links.ways.iter().enumerate() {
            let (component, port) = way.from;
            let output = outputs.get(&(way.plan, component.to_string(), port.to_string()));
            let from = parts.place(way.plan, component).and_then(|host| self.host(host));
            let (Some(output), Some(target), Some(_)) = (output, self.port_of.get(&way.to), from) else {
                continue;
            };
            let (output, target) = (*output, *target);
            self.connection_of.insert(index, self.system.connections.len());
            let target = match links.kept.get(&way.to) {
                Some(Keeper::Timer(_)) => Target::Register(self.register(way.to, target)),
                Some(Keeper::Join(Joined { conjunction: Some(join), .. })) => {
                    let part = join.parts.iter().position(|part| *part == way.name).unwrap_or(0);
                    Target::Part { port: target, part }
                }
                _ if way.is_direct => Target::Direct(target),
                _ => Target::Queue(target),
            };
            self.system.connections.push(Connection {
                output,
                target,
                transfer: way.transfer.map(|(least, most, measured)| response::Transfer {
                    least: down(least),
                    most: up(most),
                    measured,
                }),
            });
        }
    }

    /// The register of a handler that a timer's run calls.
    fn register(&mut self, handler: usize, port: usize) -> usize {
        *self.read.entry(handler).or_insert_with(|| {
            self.system.registers.push(response::Register { port });
            self.system.registers.len() - 1
        })
    }

    /// Each handler that samples has a register for each consumer that it samples. The consumer's handler leaves its event there as it ends:
    /// the component is locked until then.
    fn add_samples(&mut self, parts: &Parts<'_>, outputs: usize) {
        let mut output = outputs;
        for (reader, handler) in parts.handlers.iter().enumerate() {
            let said = parts.component(handler.plan, handler.component);
            let said = said.and_then(|component| component.ports.get(handler.port));
            for sampled in said.iter().flat_map(|port| &port.samples) {
                if kept::interval(parts, reader).is_some() {
                    continue;
                }
                let end = End::port(handler.component, sampled.as_str());
                let writer = parts.handler(handler.plan, &end).and_then(|it| self.port_of.get(&it)).copied();
                let (Some(writer), Some(reader)) = (writer, self.port_of.get(&reader).copied()) else {
                    continue;
                };
                let Some(port) = self.system.ports.get_mut(writer) else { continue };
                port.steps.push(Step::Push { output, optional: false });
                self.samples.insert((writer, reader), self.system.connections.len());
                let target = Target::Register(self.system.registers.len());
                self.system.registers.push(response::Register { port: reader });
                self.system.connections.push(Connection { output, target, transfer: None });
                output += 1;
            }
        }
    }

    fn add_origins(&mut self, links: &Links<'_>) {
        for (index, origin) in links.origins.iter().enumerate() {
            let Some(port) = self.port_of.get(&origin.to) else { continue };
            self.origins.push(index);
            let kind = match origin.topic {
                None => SourceKind::Timer { period: down(origin.time), jitter: 0, phase: None },
                Some(_) => SourceKind::Sporadic { separation: down(origin.time) },
            };
            self.system.sources.push(Source { port: *port, kind, measured: false });
        }
    }
}

/// Handlers that anything leads to. Those that a timer's run calls are parts of that.
fn runs(parts: &Parts<'_>, links: &Links<'_>) -> BTreeSet<usize> {
    let to = links.ways.iter().map(|way| way.to).chain(links.origins.iter().map(|origin| origin.to));
    let to = to.filter(|to| !matches!(links.kept.get(to), Some(Keeper::Timer(_))));
    // A timer without a period has been told; it runs, too.
    let timers = parts.handlers.iter().enumerate().filter(|(_, it)| it.of_type.kind == PortKind::Timer);
    to.chain(timers.map(|(index, _)| index)).collect()
}

/// The time that a handler takes, by the plan or else by the manifest.
fn execution<'p>(parts: &Parts<'p>, index: usize) -> Option<&'p assembly::Execution> {
    let handler = parts.handlers.get(index)?;
    let said = parts.component(handler.plan, handler.component)?.ports.get(handler.port);
    said.and_then(|port| port.execution.as_ref()).or(handler.of_type.execution.as_ref())
}

/// The ports that a handler may push to or call, and that are connected.
fn uses<'p>(parts: &Parts<'p>, links: &Links<'p>, index: usize) -> Vec<&'p str> {
    let Some(handler) = parts.handlers.get(index) else { return Vec::new() };
    let connected: BTreeSet<&str> =
        links.of_component(handler.plan, handler.component).map(|way| way.from.1).collect();
    let Some(of_type) = parts.type_of(handler.plan, handler.component) else { return Vec::new() };
    let sources = of_type.ports.iter().filter(|(_, port)| port.kind.is_source());
    let triggers = handler.of_type.triggers.as_ref();
    let may = |port: &str| triggers.is_none_or(|known| known.iter().any(|known| known == port));
    sources.map(|(name, _)| name.as_str()).filter(|port| may(port) && connected.contains(port)).collect()
}

/// The lanes that take the locks of components, by plan and name. Direct calls count.
fn users<'p>(
    parts: &Parts<'p>,
    links: &Links<'p>,
    runs: &BTreeSet<usize>,
) -> BTreeMap<(usize, &'p str), BTreeSet<usize>> {
    let mut users: BTreeMap<(usize, &str), BTreeSet<usize>> = BTreeMap::new();
    for index in runs.iter().filter(|index| !links.direct.contains(index)) {
        let Some(root) = parts.handlers.get(*index) else { continue };
        for reached in reached(parts, links, *index) {
            let Some(it) = parts.handlers.get(reached) else { continue };
            users.entry((it.plan, it.component)).or_default().insert(root.lane);
        }
    }
    users
}

/// Components whose locks are taken by several lanes of which one is of a real-time class.
fn shared<'p>(
    parts: &Parts<'p>,
    users: &BTreeMap<(usize, &'p str), BTreeSet<usize>>,
) -> BTreeSet<(usize, &'p str)> {
    let is_real_time = |lane: &usize| parts.lanes.get(*lane).is_some_and(|lane| lane.is_real_time());
    let is_shared = |lanes: &BTreeSet<usize>| lanes.len() > 1 && lanes.iter().any(is_real_time);
    users.iter().filter(|(_, lanes)| is_shared(lanes)).map(|(component, _)| *component).collect()
}

/// A handler and all that run on its thread within it.
pub(crate) fn reached(parts: &Parts<'_>, links: &Links<'_>, root: usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(index) = open.pop() {
        let Some(handler) = parts.handlers.get(index) else { continue };
        let uses = uses(parts, links, index);
        let direct = links
            .of_component(handler.plan, handler.component)
            .filter(|way| way.is_direct && uses.contains(&way.from.1));
        open.extend(direct.map(|way| way.to).filter(|to| all.insert(*to)));
    }
    all
}

fn steps_of(
    parts: &Parts<'_>,
    links: &Links<'_>,
    index: usize,
    shared: &BTreeSet<(usize, &str)>,
    outputs: &mut BTreeMap<(usize, String, String), usize>,
) -> Result<Vec<Step>, Vec<(usize, Unknown)>> {
    let Some(handler) = parts.handlers.get(index) else { return Ok(Vec::new()) };
    let uses = uses(parts, links, index);
    let lane = parts.lanes.get(handler.lane);
    let is_apart = lane.is_some_and(|lane| !lane.is_real_time())
        && !links.direct.contains(&index)
        && !shared.contains(&(handler.plan, handler.component))
        && uses.is_empty();
    let execution = execution(parts, index);
    if execution.is_none() && is_apart {
        return Ok(vec![Step::Run { least: 0, most: UNKNOWN }]);
    }
    let (mut all, mut missing) = (Vec::new(), Vec::new());
    for read in kept::reads(parts, links, index) {
        match steps_of(parts, links, read, shared, outputs) {
            // It is called only if what it is called with is new.
            Ok(of_read) => all.extend(of_read.into_iter().map(|step| match step {
                Step::Run { most, .. } => Step::Run { least: 0, most },
                Step::Push { output, .. } => Step::Push { output, optional: true },
            })),
            Err(of_read) => missing.extend(of_read),
        }
    }
    let next = |outputs: &BTreeMap<_, usize>| outputs.len();
    let own = execution.ok_or_else(|| untimed(handler.port, &uses)).and_then(|execution| {
        steps(execution, &uses, |port| {
            let key = (handler.plan, handler.component.to_string(), port.to_string());
            let number = next(outputs);
            *outputs.entry(key).or_insert(number)
        })
    });
    match own {
        Ok(own) => all.extend(own),
        Err(unknown) => missing.push((index, unknown)),
    }
    if missing.is_empty() { Ok(all) } else { Err(missing) }
}

/// Why a handler has no steps of which no time is said, and what to write: all of it at once.
fn untimed(port: &str, uses: &[&str]) -> Unknown {
    let uses: String = uses.iter().map(|port| format!(", \"{port}\"")).collect();
    let steps = if uses.is_empty() { uses } else { format!(", steps = [\"TIME\"{uses}]") };
    let remedy = format!(
        "add port.{port}.execution = {{ worst = TIME{steps} }} to the component, or execution to the manifest"
    );
    ("it is not said how long its handler takes".to_string(), remedy)
}

/// What is not known of a handler, as an obstacle.
fn of_handler(parts: &Parts<'_>, index: usize, (what, remedy): Unknown) -> Option<Obstacle> {
    let handler = parts.handlers.get(index)?;
    Some(Obstacle {
        plan: handler.plan,
        path: format!("component.{}", handler.component),
        host: parts.host_of(index).to_string(),
        what: format!("\"{}.{}\": {what}", handler.component, handler.port),
        remedy,
    })
}

/// What chains and limited connections need besides, once what stands in the way of bounds is out of it: lanes with a class that has bounds, and
/// the times of all that runs on these.
pub(crate) fn lacking(parts: &Parts<'_>, links: &Links<'_>) -> BTreeSet<Obstacle> {
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    for (index, (deployed, _)) in parts.plans.iter().enumerate() {
        let of_chains = deployed.plan.chains.values().flat_map(|chain| &chain.path);
        let limited = deployed.plan.connections.values().filter(|it| it.latency.is_some());
        let ends = of_chains.chain(limited.flat_map(|it| &it.to));
        needed.extend(ends.filter_map(|end| parts.handler(index, end)));
    }
    let runs = runs(parts, links);
    let on_lanes = needed.iter().filter(|index| runs.contains(index) && !links.direct.contains(index));
    let mut lanes: BTreeMap<usize, usize> = BTreeMap::new();
    for index in on_lanes {
        let Some(handler) = parts.handlers.get(*index) else { continue };
        if parts.lanes.get(handler.lane).is_some_and(|lane| !lane.is_real_time()) && !parts.is_foreign(*index)
        {
            lanes.entry(handler.lane).or_insert(*index);
        }
    }
    let mut lacking = BTreeSet::new();
    for (number, first) in lanes {
        let (Some(lane), Some(handler)) = (parts.lanes.get(number), parts.handlers.get(first)) else {
            continue;
        };
        let cores = if lane.cores.len() == 1 { "" } else { ", and cores = [ONE]" };
        let remedy = match &lane.path {
            Some(_) => format!("class = \"fifo\" with priority = NUMBER{cores}"),
            None => format!(
                "give its ports a lane of a container: class = \"fifo\" with priority = NUMBER{cores}"
            ),
        };
        let path = lane.path.clone().unwrap_or_else(|| format!("component.{}", handler.component));
        let what = format!("lane {}: threads of the class normal have no bound", lane.name);
        lacking.insert(Obstacle { plan: lane.plan, path, host: lane.host.to_string(), what, remedy });
        for index in runs.iter().filter(|it| parts.handlers.get(**it).is_some_and(|it| it.lane == number)) {
            let is_untimed = execution(parts, *index).is_none() && !links.direct.contains(index);
            let port = parts.handlers.get(*index).map_or("", |handler| handler.port);
            let unknown = is_untimed.then(|| untimed(port, &uses(parts, links, *index)));
            lacking.extend(unknown.and_then(|unknown| of_handler(parts, *index, unknown)));
        }
    }
    lacking.retain(|it| !parts.obstacles.contains(it));
    lacking
}

/// Costs and cores of each host, where they are known and plans agree.
fn costs(parts: &mut Parts<'_>) -> BTreeMap<String, (Costs, u16)> {
    let mut all: BTreeMap<String, (Costs, u16)> = BTreeMap::new();
    let used: BTreeSet<&str> = parts.lanes.iter().map(|lane| lane.host).collect();
    let plans: Vec<_> = parts.plans.iter().map(|(deployed, _)| *deployed).collect();
    for (plan, deployed) in plans.iter().enumerate() {
        for (name, host) in &deployed.plan.hosts {
            let Some(mut costs) = host.costs.clone().filter(|_| used.contains(name.as_str())) else {
                continue;
            };
            if let Some(length) = costs.probe {
                // Each process has its own probe on a core, by the host's clock, which may be fast.
                let drift = u64::from(costs.drift.unwrap_or(DRIFT));
                let fast = assembly::PROBE_PERIOD.saturating_mul(drift).div_ceil(1_000_000_000);
                let distance = assembly::PROBE_PERIOD.saturating_sub(fast).max(1);
                let processes = probed(&plans, name);
                costs.stalls.extend((0..processes).map(|_| assembly::Stall { length, distance }));
            }
            // Cores are only numbers here: where the plan counts none, as many as lanes name.
            let named = parts.lanes.iter().filter(|lane| lane.host == name).flat_map(|lane| &lane.cores);
            let cores = host.cores.unwrap_or_else(|| named.max().map_or(1, |core| core.saturating_add(1)));
            let new = (costs, cores);
            if all.get(name).is_some_and(|known| known.0 != new.0) {
                let what = format!("another plan says other costs of {name}");
                parts.obstacle(plan, format!("host.{name}.costs"), name, what, "say the same in both plans");
            }
            let known = all.entry(name.clone()).or_insert(new);
            known.1 = known.1.max(cores);
        }
    }
    for host in used {
        if !all.contains_key(host) {
            let what = format!("it is not said what the processors of {host} take");
            let remedy = format!(
                "add costs to [host.{host}]: wake, switch, dispatch and slack; docs/components-bounds.md says how they are had"
            );
            parts.obstacle(0, format!("host.{host}"), host, what, remedy);
        }
    }
    all
}

/// How many processes of plans may have probes on a host.
fn probed(plans: &[crate::Deployed<'_>], host: &str) -> usize {
    let of_plan = |deployed: &crate::Deployed<'_>| {
        let layout = deployed.plan.layout();
        layout.processes().values().filter(|at| **at == Some(host)).count()
    };
    plans.iter().map(of_plan).sum()
}

/// Hosts with an obstacle, and those that get events from them.
fn without(parts: &Parts<'_>, links: &Links<'_>) -> BTreeSet<String> {
    let mut without: BTreeSet<String> = parts.obstacles.iter().map(|it| it.host.clone()).collect();
    loop {
        let before = without.len();
        for way in &links.ways {
            let from = parts.place(way.plan, way.from.0).unwrap_or("");
            if without.contains(from) {
                without.insert(parts.host_of(way.to).to_string());
            }
        }
        if without.len() == before {
            return without;
        }
    }
}
