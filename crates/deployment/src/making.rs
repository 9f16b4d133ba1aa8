//! How a process' part is made of a plan, and what of that nothing carries out.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{
    Catalogue, Component, Container, End, Explained, FullPolicy, Holding, LaneDispatch, Placement, Plan,
    PortKind, Quality, Said, SchedulingClass, ServiceKind, Side, Timing,
};

use crate::deadline::deadline_troubles;
use crate::gateway::gateway;
use crate::joining::branch;
use crate::launchable::{Trouble, deployment_name};
use crate::part::{
    Carrier, ComponentPart, ContainerPart, Delivery, Half, LanePart, LaneWorker, Logical, Part, QueueOrder,
    Sureness,
};

impl Part {
    /// What a process has to do for a plan, and what of that nothing carries out. The types say which ports are timers, and of which types
    /// events are.
    pub fn of(plan: &Plan, process: &str, types: &Catalogue) -> (Self, Vec<Trouble>) {
        let said = plan.processes.get(process).cloned().unwrap_or_default();
        let part = Self {
            deployment: deployment_name(plan),
            process: process.into(),
            cores: said.cores,
            locks_memory: said.locks_memory,
            ..Self::default()
        };
        let mut making = Making { plan, types, part, troubles: Vec::new() };
        let is_here = |component: &Component| component.process == process;
        let here: Vec<(&String, &Component)> = plan.components.iter().filter(|(_, it)| is_here(it)).collect();
        if here.iter().any(|(_, component)| component.container.is_none()) {
            making.part.containers.insert(String::new(), ContainerPart::default());
        }
        for (name, container) in plan.containers.iter().filter(|(_, it)| it.process == process) {
            making.container(name, container);
        }
        for (name, component) in here {
            making.component(name, component);
        }
        for explained in plan.explain(types, None) {
            let ends = [&explained.from, &explained.to];
            if ends.iter().any(|end| end.component().is_some_and(|name| making.is_here(name))) {
                making.link(&explained);
            }
        }
        let (gateway, troubles) = gateway(plan, process, types);
        making.part.gateway = gateway;
        // All is checked, so that what is suspended can be resumed; nothing of it is connected.
        making
            .part
            .connections
            .retain(|name, _| !plan.connections.get(name).is_some_and(|it| it.is_suspended));
        making.troubles.extend(troubles);
        making.part.add_chains(plan, types);
        making.part.add_latencies(plan, types);
        making.part.add_clocks(plan);
        let host = plan.layout().host_of(process).and_then(|host| plan.hosts.get(host));
        making.part.has_probes = host.and_then(|host| host.costs.as_ref()?.probe).is_some();
        (making.part, making.troubles)
    }
}

/// A part in the making.
struct Making<'p> {
    plan: &'p Plan,
    types: &'p Catalogue,
    part: Part,
    troubles: Vec<Trouble>,
}

impl Making<'_> {
    fn wrong(&mut self, path: String, what: impl Into<String>, remedy: impl Into<String>) {
        self.troubles.push(Trouble::wrong(path, what, remedy));
    }

    fn is_here(&self, component: &str) -> bool {
        self.part.components.contains_key(component)
    }

    fn container(&mut self, name: &str, container: &Container) {
        let mut lanes = Vec::new();
        for (lane_name, lane) in &container.lanes {
            let path = format!("container.{name}.lanes.{lane_name}");
            if lane.class == SchedulingClass::Deadline {
                self.troubles.extend(deadline_troubles(self.plan, &container.process, lane, &path));
            }
            if lanes.len() >= usize::from(u8::MAX) {
                self.wrong(path, "a container has at most 255 lanes", "divide it");
                break;
            }
            lanes.push(LanePart {
                name: lane_name.clone(),
                threads: lane.threads,
                class: lane.class,
                priority: lane.priority,
                runtime: lane.runtime.map_or(0, |time| time / 1_000),
                period: lane.period.map_or(0, |time| time / 1_000),
                dispatch: lane.dispatch,
                spin: lane.spin.map_or(0, nanoseconds),
                cores: lane.cores.clone(),
            });
        }
        self.part.containers.insert(name.into(), ContainerPart { lanes });
    }

    fn component(&mut self, name: &str, component: &Component) {
        let path = format!("component.{name}");
        if component.artefact.is_some() {
            let remedy = "link its type into the executable of its process";
            self.wrong(format!("{path}.artefact"), "code is not loaded into processes that run", remedy);
        }
        let container = component.container.clone().unwrap_or_default();
        let ports = self.types.components.get(&component.component_type).map(|of_type| &of_type.ports);
        let timers = ports.into_iter().flatten().filter(|(_, port)| port.kind == PortKind::Timer);
        let mut halves = self.joins(name, component);
        for (port, _) in timers {
            let said = component.ports.get(port);
            let Some((said, period)) = said.and_then(|said| Some((said, said.period?))) else {
                let remedy = format!("add port.{port}.period = \"10 ms\", or what it is to be");
                self.troubles.push(Trouble::wrong(
                    path.clone(),
                    format!("the timer \"{port}\" has no period"),
                    remedy,
                ));
                continue;
            };
            halves.push(Half {
                name: format!("timer {name}.{port}"),
                from: None,
                to: Some(format!("{name}.{port}")),
                carrier: Carrier::Timer {
                    period: nanoseconds(period),
                    worker: self.worker(&End::port(name, port.as_str())),
                    logical: (said.timing == Timing::Let).then(|| Logical {
                        interval: nanoseconds(said.interval.unwrap_or(period)),
                        reads: said.samples.iter().map(|port| format!("{name}.{port}")).collect(),
                    }),
                },
                filter: None,
                parameters: Vec::new(),
            });
        }
        self.part.components.insert(
            name.into(),
            ComponentPart {
                component_type: component.component_type.clone(),
                container,
                settings: component.settings.clone(),
                is_active: self.plan.is_active_at_start(name),
                restart: component.restart.clone(),
                own: halves,
            },
        );
    }

    /// The joins of a component.
    fn joins(&mut self, name: &str, component: &Component) -> Vec<Half> {
        let mut halves = Vec::new();
        for (port, said) in &component.ports {
            let Some(join) = &said.join else { continue };
            let end = End::port(name, port.as_str());
            let Some(tree) = said.join_tree() else { continue };
            let connections = tree.connections();
            let explained = connections.first().map(|part| self.plan.explain(self.types, Some(part)));
            let Some(link) = explained.into_iter().flatten().find(|link| link.to == end) else { continue };
            let of_events =
                |holding: &Holding| holding.quality.side() == Side::Publisher && holding.path.is_some();
            let said = link.values.iter().filter(|holding| of_events(holding));
            for path in said.filter_map(|holding| holding.path.clone()) {
                let what = format!("qualities of events end where these are joined, at {end}");
                self.troubles.push(Trouble::warning(path, what, "it changes nothing"));
            }
            let silence = join.silence.map(nanoseconds);
            let delivery = Delivery { priority: None, timeout: None, silence, ..self.delivery(&link) };
            let parts = u16::try_from(connections.len()).unwrap_or(u16::MAX);
            let tree = branch(&tree, &connections);
            halves.push(Half {
                name: join_name(&end.to_string()),
                from: None,
                to: Some(end.to_string()),
                carrier: Carrier::Join { parts, tree, delivery },
                filter: None,
                parameters: Vec::new(),
            });
        }
        halves
    }

    /// The part of a join that a connection leads to.
    fn part_of(&self, connection: &str, end: &End) -> Option<usize> {
        let End::Port { component, port } = end else { return None };
        let join = self.plan.components.get(component)?.ports.get(port)?.join_tree()?;
        join.connections().iter().position(|part| *part == connection)
    }

    /// The threads that call the handler of a port.
    fn worker(&self, end: &End) -> LaneWorker {
        let layout = self.plan.layout();
        let named = || {
            let name = layout.lane_of(end)?;
            let container = layout.place_of(end.component()?)?.container?;
            let lanes = &self.plan.containers.get(container)?.lanes;
            let index = lanes.keys().position(|lane| lane == name)?;
            Some((u8::try_from(index + 1).ok()?, lanes.get(name)?.dispatch))
        };
        match named() {
            None => LaneWorker::Pool,
            Some((number, LaneDispatch::Lane)) => LaneWorker::Lane(number),
            Some((_, LaneDispatch::Own)) => LaneWorker::Own,
            Some((_, LaneDispatch::EarliestDeadline)) => LaneWorker::EarliestDeadline,
        }
    }

    fn is_call(&self, end: &End) -> bool {
        self.port(end).is_some_and(|port| port.kind.is_call())
    }

    fn port(&self, end: &End) -> Option<&assembly::PortType> {
        let End::Port { component, port } = end else { return None };
        let component = self.plan.components.get(component)?;
        self.types.components.get(&component.component_type)?.ports.get(port)
    }

    /// The process' ends of a connection to one of its ends.
    fn link(&mut self, link: &Explained) {
        let Some(connection) = self.plan.connections.get(&link.connection) else { return };
        let path = format!("connection.{}", link.connection);
        let index = connection.to.iter().position(|to| *to == link.to).unwrap_or_default();
        let here = |end: &End| end.component().filter(|name| self.is_here(name)).map(|_| end.to_string());
        let (from, to) = (here(&link.from), here(&link.to));
        let mut half = Half {
            name: format!("{} {index}", link.connection),
            from,
            to,
            carrier: Carrier::Direct,
            filter: connection.filter.clone(),
            parameters: connection.parameters.clone(),
        };
        let part = self.part_of(&link.connection, &link.to);
        if let (Some(part), Some(to)) = (part, &mut half.to) {
            *to = format!("{to}#{part}");
        }
        let is_call = self.is_call(&link.from) || self.is_call(&link.to);
        if is_call {
            if half.from.is_none() || half.to.is_none() {
                let remedy = "put both components into one process";
                return self.wrong(path, "calls between processes are not carried out", remedy);
            }
            half.carrier = Carrier::Call;
            return self.add(&link.connection, half);
        }
        if connection.separation.or(connection.jitter).is_some() {
            self.troubles.push(times(path.clone()));
        }
        for holding in link.values.iter().filter(|holding| !holding.is_carried_out) {
            let Some(path) = &holding.path else { continue };
            let what = format!(
                "{} is not carried out for {}, which is {}",
                holding.quality, link.connection, link.kind
            );
            self.troubles.push(Trouble::warning(path.clone(), what, "it changes nothing"));
        }
        let kind = link.kind;
        // What a join or a timer keeps is handed on by the thread that pushes.
        let is_kept = part.is_some() || self.plan.layout().read_at_instants(&link.to).is_some();
        let delivery = match kind {
            ServiceKind::Direct => None,
            _ if is_kept => None,
            _ => Some(self.delivery(link)),
        };
        let silences = [("silence", connection.silence), ("publisher-silence", connection.publisher_silence)];
        if kind != ServiceKind::Channel || delivery.is_none() {
            for (key, _) in silences.iter().filter(|(_, time)| time.is_some()) {
                let what = "only the channel of a process looks for silence, and this goes another way";
                self.wrong(format!("{path}.{key}"), what, "write service = \"channel\", or take it out");
            }
        }
        match (kind, delivery) {
            (ServiceKind::Channel, Some(delivery)) => {
                let [silence, publisher_silence] = silences.map(|(_, time)| time.map(nanoseconds));
                let delivery = Delivery { silence, publisher_silence, ..delivery };
                let service = link.service.as_ref().and_then(|name| self.plan.services.get(name));
                let placement = service.map_or(Placement::Container, |service| service.placement);
                half.carrier = Carrier::Channel(Delivery { placement, ..delivery });
            }
            (ServiceKind::Dds, delivery) => return self.by_topic(link, half, delivery),
            (ServiceKind::Federated, Some(delivery)) => return self.by_gateway(link, half, delivery),
            (ServiceKind::Federated, None) => {
                let what = "events of gateways are neither parts of joins nor read at instants";
                return self.wrong(path, what, "write dds, which reaches other processes and hosts, too");
            }
            _ => {}
        }
        self.add(&link.connection, half);
    }

    fn add(&mut self, connection: &str, half: Half) {
        self.part.connections.entry(connection.into()).or_default().push(half);
    }

    fn by_topic(&mut self, link: &Explained, half: Half, delivery: Option<Delivery>) {
        let path = format!("connection.{}", link.connection);
        if delivery.as_ref().is_some_and(|delivery| delivery.full == FullPolicy::Block) {
            let what = "a topic's queue cannot block: the publisher is elsewhere";
            return self.wrong(path, what, "let the oldest or the newest give way");
        }
        let topic_of = |end: &End| match end {
            End::Topic(name) => self.plan.topics.get_key_value(name),
            End::Port { .. } => None,
        };
        let said = topic_of(&link.from).or_else(|| topic_of(&link.to));
        let own = || format!("{}/{}", self.part.deployment, link.connection);
        let topic =
            said.map_or_else(own, |(name, topic)| topic.topic.clone().unwrap_or_else(|| name.clone()));
        let service = link.service.as_ref().and_then(|name| self.plan.services.get(name));
        let domain =
            said.and_then(|(_, topic)| topic.domain).or(service.and_then(|it| it.domain)).unwrap_or(0);
        let event = self.event(link).or_else(|| said.map(|(_, topic)| topic.topic_type.clone()));
        let Some(event) = event else { return self.unknown_event(path) };
        let (of_writer, of_reader) = self.sureness(link);
        let depth = delivery.as_ref().map_or(Delivery::plain().depth, |delivery| delivery.depth);
        let carrier = |sureness| Carrier::Topic {
            domain,
            topic: topic.clone(),
            event: event.clone(),
            sureness,
            depth,
            delivery: delivery.clone(),
        };
        if half.from.is_some() {
            // One writer serves all that are elsewhere.
            let name = format!("{} out", link.connection);
            let known = self.part.connections.get(&link.connection);
            if !known.is_some_and(|halves| halves.iter().any(|half| half.name == name)) {
                let from = half.from.clone();
                let out = Half {
                    name,
                    from,
                    to: None,
                    carrier: carrier(of_writer),
                    filter: None,
                    parameters: Vec::new(),
                };
                self.add(&link.connection, out);
            }
        }
        if half.to.is_some() {
            self.add(&link.connection, Half { from: None, carrier: carrier(of_reader), ..half });
        }
    }

    /// How sure it is that events come by a topic, as its writer and the reader see it. Without a word they do: what is lost is sent again.
    fn sureness(&mut self, link: &Explained) -> (Sureness, Sureness) {
        let said = |quality| {
            let holding =
                link.values.iter().find(|holding| holding.quality == quality && holding.path.is_some());
            match holding.map(|holding| &holding.value) {
                Some(Said::Word(word)) => Some(word == "persistent"),
                _ => None,
            }
        };
        let of_reader = said(Quality::ConnectionReliability);
        match said(Quality::EventReliability) {
            Some(false) => {
                if of_reader == Some(true) {
                    let what = "a persistent connection of events that are sent with best effort";
                    let remedy = "let both say the same: a reliable reader takes nothing from such a writer";
                    self.wrong(format!("connection.{}", link.connection), what, remedy);
                }
                (Sureness::BestEffort, Sureness::BestEffort)
            }
            of_writer => {
                let of_writer = if of_writer == Some(true) { Sureness::Kept } else { Sureness::Reliable };
                (of_writer, if of_reader == Some(false) { Sureness::BestEffort } else { of_writer })
            }
        }
    }

    /// By gateways to other processes, and by a channel within this one.
    fn by_gateway(&mut self, link: &Explained, half: Half, delivery: Delivery) {
        let path = format!("connection.{}", link.connection);
        if half.from.is_some() && half.to.is_some() {
            return self.add(&link.connection, Half { carrier: Carrier::Channel(delivery), ..half });
        }
        if delivery.full == FullPolicy::Block {
            let what = "a queue behind a gateway cannot block: the publisher is elsewhere";
            return self.wrong(path, what, "let the oldest or the newest give way");
        }
        let Some(event) = self.event(link) else { return self.unknown_event(path) };
        let source = link.from.to_string();
        let Some(from) = half.from else {
            return self.add(
                &link.connection,
                Half { carrier: Carrier::Gateway { event, source, delivery }, ..half },
            );
        };
        // One end serves all that are elsewhere, also those of other connections.
        let name = format!("{from} federated");
        let known = self.part.connections.get(&link.connection);
        if !known.is_some_and(|halves| halves.iter().any(|half| half.name == name)) {
            let carrier = Carrier::Gateway { event, source, delivery: Delivery::plain() };
            let (filter, parameters) = (None, Vec::new());
            let out = Half { name, from: Some(from), to: None, carrier, filter, parameters };
            self.add(&link.connection, out);
        }
    }

    /// The type of a link's events, as its ports say.
    fn event(&self, link: &Explained) -> Option<String> {
        [&link.from, &link.to].into_iter().find_map(|end| self.port(end)?.port_type.clone())
    }

    fn unknown_event(&mut self, path: String) {
        let remedy = "name the manifests of its components: punctual deploy describe ARTEFACT writes them";
        self.wrong(path, "the type of its events is not known", remedy);
    }

    fn delivery(&mut self, link: &Explained) -> Delivery {
        let said = |quality| link.values.iter().find(|holding: &&Holding| holding.quality == quality);
        let number = |quality| match said(quality) {
            Some(Holding { value: Said::Number(number), .. }) => *number,
            _ => 0,
        };
        let time = |quality| match said(quality) {
            Some(Holding { value: Said::Time(time), path: Some(_), .. }) => Some(nanoseconds(*time)),
            _ => None,
        };
        let word = |quality| match said(quality) {
            Some(Holding { value: Said::Word(word), .. }) => word.as_str(),
            _ => "",
        };
        let rejects = matches!(said(Quality::RejectNewEvents), Some(Holding { value: Said::Flag(true), .. }));
        let full = match word(Quality::DiscardPolicy) {
            _ if rejects => FullPolicy::Reject,
            "lifo" => FullPolicy::DropNewest,
            "priority" => FullPolicy::DropLowestPriority,
            "deadline" => FullPolicy::DropLatestDeadline,
            other => FullPolicy::named(other).unwrap_or(FullPolicy::DropOldest),
        };
        let order = match word(Quality::OrderPolicy) {
            "priority" => QueueOrder::Priority,
            "deadline" => QueueOrder::Deadline,
            _ => QueueOrder::Fifo,
        };
        let is_said = |quality| said(quality).is_some_and(|holding| holding.path.is_some());
        let path = format!("connection.{}", link.connection);
        let mut troubles = Vec::new();
        let priority = is_said(Quality::Priority).then(|| {
            let number = number(Quality::Priority);
            u8::try_from(number).unwrap_or_else(|_| {
                let what = format!("the priority {number} cannot be had");
                troubles.push(Trouble::wrong(path.clone(), what, "queues know priorities from 0 to 255"));
                0
            })
        });
        let mut within = |quality| {
            let number = number(quality);
            // Nothing waits without a limit: 0, which says so, is the most that there can be.
            let wanted = if number == 0 { i64::from(u16::MAX) } else { number };
            u16::try_from(wanted).unwrap_or_else(|_| {
                let what = format!("{quality} = {number} cannot be had");
                troubles.push(Trouble::wrong(path.clone(), what, "queues have at most 65535 entries"));
                u16::MAX
            })
        };
        let (depth, batch) = (within(Quality::MaxEventsPerConsumer), within(Quality::MaximumBatchSize));
        self.troubles.append(&mut troubles);
        let room = match said(Quality::MaxQueueLength) {
            Some(Holding { value: Said::Number(most), path: Some(path), .. }) if *most > 0 => {
                Some((path.clone(), u32::try_from(*most).unwrap_or(u32::MAX)))
            }
            _ => None,
        };
        let End::Port { component, port } = &link.to else {
            return Delivery { priority, ..Delivery::plain() };
        };
        let of_port = self.plan.components.get(component).and_then(|it| it.ports.get(port));
        let queue = of_port.and_then(|port| port.queue.as_ref());
        let queue = queue.or(self.plan.connections.get(&link.connection).and_then(|it| it.queue.as_ref()));
        Delivery {
            worker: self.worker(&link.to),
            placement: Placement::Container,
            depth,
            full,
            wait: queue.and_then(|queue| queue.wait).map_or(0, nanoseconds),
            order,
            batch,
            pacing: time(Quality::PacingInterval).unwrap_or_default(),
            priority,
            timeout: time(Quality::Timeout),
            start: time(Quality::StartTime).unwrap_or_default(),
            stop: time(Quality::StopTime),
            room,
            silence: None,
            publisher_silence: None,
        }
    }
}

/// The name of the connection that is the join of a port.
pub(crate) fn join_name(port: &str) -> String {
    format!("join {port}")
}

fn times(path: String) -> Trouble {
    let remedy = "bounds count with it: see that the component keeps it";
    Trouble::warning(path, "nothing holds a component to separation and jitter", remedy)
}

/// Nanoseconds of picoseconds, rounded up: what is to take some time takes some.
pub(crate) const fn nanoseconds(picoseconds: u64) -> u64 {
    picoseconds.div_ceil(1_000)
}
