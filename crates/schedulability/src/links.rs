//! Links between handlers: connections, calls, timers and topics.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{End, Explained, Holding, KeepPolicy, Link, PortKind, Quality, Said, ServiceKind};

use crate::handlers::Unknown;
use crate::kept::{Joined, Keeper, keepers};
use crate::parts::Parts;

/// A connection from a port that pushes or calls to a handler.
#[derive(Clone, Debug)]
pub(crate) struct Way<'p> {
    pub(crate) plan: usize,
    /// The name of the connection.
    pub(crate) name: &'p str,
    /// The component and the port that it begins at.
    pub(crate) from: (&'p str, &'p str),
    pub(crate) to: usize,
    /// Whether the handler runs on the thread that pushes.
    pub(crate) is_direct: bool,
    /// Picoseconds between processes or hosts: least, most, whether measured.
    pub(crate) transfer: Option<(u64, u64, bool)>,
}

/// A source of events for a handler.
#[derive(Clone, Debug)]
pub(crate) struct Origin<'p> {
    pub(crate) to: usize,
    /// The topic that they come from, with the connection; of a timer none.
    pub(crate) topic: Option<(&'p str, &'p str)>,
    /// Picoseconds: the period of a timer, the least time between two events of a topic.
    pub(crate) time: u64,
}

/// The queue of a handler.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) depth: u64,
    pub(crate) full: response::Full,
    /// Where the plan says the depth, if it does.
    pub(crate) path: Option<String>,
}

/// How everything is connected.
#[derive(Default)]
pub(crate) struct Links<'p> {
    pub(crate) ways: Vec<Way<'p>>,
    pub(crate) origins: Vec<Origin<'p>>,
    /// Queues of handlers that events of connections wait for.
    pub(crate) rooms: BTreeMap<usize, Room>,
    /// Handlers that run on the threads of their publishers or callers.
    pub(crate) direct: BTreeSet<usize>,
    /// The ways that begin at each component.
    from: BTreeMap<(usize, &'p str), Vec<usize>>,
    /// What keeps the events that come to handlers.
    pub(crate) kept: BTreeMap<usize, Keeper<'p>>,
    /// Connections that events may not pass, or not in time, with the reason: by plan and name.
    pub(crate) thinned: BTreeMap<(usize, &'p str), String>,
}

/// Deliveries that a queue without a limit holds in the analysis.
const NO_LIMIT: u64 = 1_000_000;

impl<'p> Links<'p> {
    pub(crate) fn of(parts: &mut Parts<'p>) -> Self {
        let mut links = Self { kept: keepers(parts), ..Self::default() };
        let plans: Vec<_> = parts.plans.iter().map(|(deployed, _)| *deployed).collect();
        for (plan, deployed) in plans.iter().enumerate() {
            let layout = deployed.plan.layout();
            let explained = deployed.plan.explain(deployed.types, None);
            for (link, explained) in layout.links().zip(&explained) {
                if !parts.are_active(plan, [link.from].into_iter()) {
                    continue;
                }
                if !parts.are_active(plan, [link.to].into_iter()) {
                    hindering(parts, plan, &link, explained);
                    continue;
                }
                let Some(to) = parts.handler(plan, link.to) else { continue };
                let path = format!("connection.{}", link.name);
                let host = parts.host_of(to);
                if link.connection.silence.or(link.connection.publisher_silence).is_some() {
                    let what = format!("what silence on \"{}\" lets threads do is not analysed", link.name);
                    let remedy = "take silence and publisher-silence out";
                    parts.obstacle(plan, path.clone(), host, what, remedy);
                }
                match link.from {
                    End::Topic(topic) if links.waits(to) => {
                        let what = format!(
                            "what comes by \"{topic}\" waits for others or for a timer, which is not analysed for topics"
                        );
                        let remedy = "let a component take it and publish it";
                        parts.obstacle(plan, path, host, what, remedy);
                    }
                    End::Topic(topic) => match link.connection.separation.filter(|time| *time > 0) {
                        Some(time) => {
                            links.origins.push(Origin { to, topic: Some((topic, link.name)), time });
                            links.room(parts, plan, to, link.name, explained);
                        }
                        None => {
                            let what = format!("it is not said how often \"{topic}\" has events");
                            let remedy = "add separation = TIME: the least time between two of them";
                            parts.obstacle(plan, path, host, what, remedy);
                        }
                    },
                    End::Port { component, port } => {
                        let is_call = parts
                            .handlers
                            .get(to)
                            .is_some_and(|handler| handler.of_type.kind == PortKind::Facet);
                        let is_direct = is_call || link.kind == ServiceKind::Direct;
                        let is_apart = matches!(link.kind, ServiceKind::Dds | ServiceKind::Federated);
                        if is_call && is_apart {
                            let what = "a call to another process has no bound";
                            let remedy =
                                "put both components into one process, or use events in both directions";
                            let caller = parts.place(plan, component).unwrap_or("");
                            parts.obstacle(plan, path.clone(), caller, what, remedy);
                            continue;
                        }
                        let computed = deployed
                            .transfers
                            .and_then(|transfers| transfers.get(&(link.name.to_string(), link.index)));
                        let transfer = link.connection.transfer.or_else(|| computed?.clone().ok());
                        if is_apart && transfer.is_none() {
                            let (what, remedy) = match computed {
                                Some(Err(why)) => why.clone(),
                                _ => (
                                    format!("it is not said how long an event is on its way by {}", link.kind),
                                    "add transfer = { most = TIME }, such as the bound that the network's manager promises; or network = FILE to the plan".to_string(),
                                ),
                            };
                            parts.obstacle(plan, path, host, what, remedy);
                            continue;
                        }
                        let is_read = matches!(links.kept.get(&to), Some(Keeper::Timer(_)));
                        let is_direct = is_direct && !is_read;
                        if is_direct {
                            links.direct.insert(to);
                        } else if !is_read {
                            links.room(parts, plan, to, link.name, explained);
                        }
                        let transfer =
                            transfer.filter(|_| is_apart).map(|it| (it.least, it.most, it.is_measured));
                        links.from.entry((plan, component)).or_default().push(links.ways.len());
                        links.ways.push(Way {
                            plan,
                            name: link.name,
                            from: (component, port),
                            to,
                            is_direct,
                            transfer,
                        });
                    }
                }
                if let Some(filter) = &link.connection.filter {
                    let text = format!("for events that pass the filter of \"{}\" ({filter})", link.name);
                    links.thinned.insert((plan, link.name), text);
                }
            }
        }
        links.filtered_by_joins(parts);
        links.timers(parts);
        links
    }

    /// Notes the filters of joins, besides those of the connections that lead to them.
    fn filtered_by_joins(&mut self, parts: &Parts<'p>) {
        for (index, keeper) in &self.kept {
            let (Keeper::Join(join), Some(handler)) = (keeper, parts.handlers.get(*index)) else { continue };
            for (connection, filters) in join.tree.filters() {
                let filters: Vec<&str> = filters.into_iter().collect();
                let (filters, end) = (filters.join(") and ("), End::port(handler.component, handler.port));
                let also = format!("for events that pass the filters of the join of \"{end}\" ({filters})");
                let all = self.thinned.entry((handler.plan, connection)).or_default();
                let joint = if all.is_empty() { "" } else { ", and " };
                *all = format!("{all}{joint}{also}");
            }
        }
    }

    /// A connection by which events come to where one of these begins, by whatever ways, or one of these, that not all events pass.
    fn thinned_before(&self, parts: &Parts<'_>, mut open: Vec<usize>) -> Option<&'p str> {
        let mut seen: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(way) = open.pop().and_then(|index| self.ways.get(index)) {
            if self.thinned.contains_key(&(way.plan, way.name)) {
                return Some(way.name);
            }
            let (component, port) = way.from;
            let before = self.ways.iter().enumerate().filter(|(_, before)| {
                parts.handlers.get(before.to).is_some_and(|handler| {
                    let triggers = handler.of_type.triggers.as_ref();
                    handler.plan == way.plan
                        && handler.component == component
                        && triggers.is_none_or(|known| known.iter().any(|known| known == port))
                })
            });
            let new: Vec<usize> =
                before.map(|(index, _)| index).filter(|index| seen.insert(*index)).collect();
            open.extend(new);
        }
        None
    }

    /// Why what is read of what comes to a handler may be older than its last event, in a bound of age.
    pub(crate) fn stales(&self, parts: &Parts<'_>, to: usize) -> Option<Unknown> {
        let ways = self.ways.iter().enumerate().filter(|(_, way)| way.to == to);
        let thinned = self.thinned_before(parts, ways.map(|(index, _)| index).collect())?;
        let what = format!(
            "what is read of \"{}\" gets older while events do not pass \"{thinned}\"",
            parts.name(to)
        );
        Some((
            what,
            "take the filter or the timeout there out, or limit the reaction instead of the age".to_string(),
        ))
    }

    /// Why what comes to a conjunction by a connection may wait there for what does not come: events of the other parts that are filtered, or, if
    /// an event of its own part that came earlier has its place, later ones of that part.
    pub(crate) fn starves(&self, parts: &Parts<'_>, plan: usize, name: &str, to: usize) -> Option<Unknown> {
        let Some(Keeper::Join(Joined { conjunction: Some(join), .. })) = self.kept.get(&to) else {
            return None;
        };
        let parts_of = |is_own: bool| {
            let ways = self.ways.iter().enumerate();
            let of_join =
                ways.filter(|(_, way)| way.plan == plan && way.to == to && (way.name == name) == is_own);
            of_join.map(|(index, _)| index).collect::<Vec<usize>>()
        };
        let end = parts.name(to);
        if let Some(thinned) = self.thinned_before(parts, parts_of(false)) {
            let what = format!(
                "\"{name}\" waits in the join of \"{end}\" for events that may not pass \"{thinned}\""
            );
            let remedy = "take the filter or the timeout there out, or join what is not filtered";
            return Some((what, remedy.to_string()));
        }
        if join.keep == KeepPolicy::Last {
            return None;
        }
        let thinned = self.thinned_before(parts, parts_of(true))?;
        let what = format!(
            "an event of \"{name}\" may come too late for a delivery of the join of \"{end}\", and further ones not pass \"{thinned}\""
        );
        Some((what, "write keep = \"last\" at the join".to_string()))
    }

    /// The ways that begin at a component.
    pub(crate) fn of_component<'s>(
        &'s self,
        plan: usize,
        component: &'s str,
    ) -> impl Iterator<Item = &'s Way<'p>> {
        self.numbered(plan, component).map(|(_, way)| way)
    }

    /// The ways that begin at a component, each with its number.
    pub(crate) fn numbered<'s>(
        &'s self,
        plan: usize,
        component: &'s str,
    ) -> impl Iterator<Item = (usize, &'s Way<'p>)> {
        let ways = self.from.get(&(plan, component)).into_iter().flatten();
        ways.filter_map(|way| Some((*way, self.ways.get(*way)?)))
    }

    /// Whether what comes to a handler waits for something else than its lane.
    fn waits(&self, to: usize) -> bool {
        match self.kept.get(&to) {
            Some(Keeper::Join(join)) => join.tree.waits(),
            Some(Keeper::Timer(_)) => true,
            None => false,
        }
    }

    /// Whether a handler that runs is known to push where a way begins.
    pub(crate) fn is_pushed(&self, parts: &Parts<'_>, runs: &BTreeSet<usize>, way: &Way<'_>) -> bool {
        let (component, port) = way.from;
        parts.handlers.iter().enumerate().any(|(index, handler)| {
            let is_read = matches!(self.kept.get(&index), Some(Keeper::Timer(_)));
            (runs.contains(&index) || is_read)
                && handler.plan == way.plan
                && handler.component == component
                && handler
                    .of_type
                    .triggers
                    .as_ref()
                    .is_none_or(|known| known.iter().any(|known| known == port))
        })
    }

    fn timers(&mut self, parts: &mut Parts<'p>) {
        for index in 0..parts.handlers.len() {
            let Some(handler) = parts.handlers.get(index).cloned() else { continue };
            if handler.of_type.kind != PortKind::Timer {
                continue;
            }
            let component = parts.component(handler.plan, handler.component);
            let said = component.and_then(|component| component.ports.get(handler.port));
            match said.and_then(|port| port.period) {
                Some(time) => {
                    self.origins.push(Origin { to: index, topic: None, time });
                    // A delivery that waits makes the next instant a skipped one.
                    self.rooms.entry(index).or_insert(Room {
                        depth: NO_LIMIT,
                        full: response::Full::DropOldest,
                        path: None,
                    });
                }
                None => {
                    let (component, port) = (handler.component, handler.port);
                    let path = format!("component.{component}");
                    let what = format!("the timer \"{component}.{port}\" has no period");
                    let remedy = format!("add port.{port}.period = TIME to the component");
                    parts.obstacle(handler.plan, path, parts.host_of(index), what, remedy);
                }
            }
        }
    }

    /// Notes the queue that a connection asks for at its consumer.
    fn room(&mut self, parts: &mut Parts<'p>, plan: usize, to: usize, name: &'p str, explained: &Explained) {
        // The queue of a join is that of its first part.
        if let Some(Keeper::Join(join)) = self.kept.get(&to)
            && join.tree.connections().first().is_some_and(|first| *first != name)
        {
            return;
        }
        let value = |quality: Quality| explained.values.iter().find(|holding| holding.quality == quality);
        let number = |quality| match value(quality).map(|holding| &holding.value) {
            Some(Said::Number(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        let word = |quality| word(explained, quality);
        let path = format!("connection.{name}");
        let host = parts.host_of(to);
        if matches!(&*word(Quality::OrderPolicy), "priority" | "deadline") {
            let what = "a queue in the order of priorities or deadlines is not analysed";
            parts.obstacle(
                plan,
                path.clone(),
                host,
                what,
                "order-policy = \"fifo\", and lanes for what is urgent",
            );
        }
        if number(Quality::MaximumBatchSize) > 1 {
            let what = "deliveries in batches are not analysed";
            parts.obstacle(plan, path, host, what, "maximum-batch-size = 1");
        }
        let timeout = value(Quality::Timeout).filter(|holding| holding.path.is_some());
        if let Some(timeout) = timeout {
            let text = format!("for events that do not time out on \"{name}\" (timeout = {})", timeout.value);
            self.thinned.insert((plan, name), text);
        }
        let depth = match number(Quality::MaxEventsPerConsumer) {
            0 => NO_LIMIT,
            depth => depth,
        };
        let full = full(explained);
        let said = value(Quality::MaxEventsPerConsumer).and_then(|holding| holding.path.clone());
        if said.is_none() && parts.is_foreign(to) {
            let process = parts.handlers.get(to).and_then(|it| parts.component(plan, it.component));
            let process = process.map_or("", |component| component.process.as_str());
            let what = format!("it is not said how many events wait for the program \"{process}\"");
            let remedy = "add queue = { depth = NUMBER }: the queue is the program's own";
            parts.obstacle(plan, format!("connection.{name}"), host, what, remedy);
        }
        let known = self.rooms.entry(to).or_insert(Room { depth, full, path: said.clone() });
        // Each connection has a queue of its own at the consumer: that all together fit into the smallest is more than is needed.
        if depth < known.depth {
            *known = Room { depth, full, path: said };
        }
        if full == response::Full::Reject {
            known.full = full;
        }
    }
}

/// A quality of a connection that is a word.
fn word(explained: &Explained, quality: Quality) -> String {
    match explained.values.iter().find(|holding| holding.quality == quality).map(|holding| &holding.value) {
        Some(Said::Word(word)) => word.to_string(),
        _ => String::new(),
    }
}

/// What a full queue does.
fn full(explained: &Explained) -> response::Full {
    let rejects = explained.values.iter().find(|holding| holding.quality == Quality::RejectNewEvents);
    let rejects = rejects.is_some_and(|it| it.value == Said::Flag(true));
    match (&*word(explained, Quality::DiscardPolicy), rejects) {
        (_, true) => response::Full::Reject,
        ("block", _) => response::Full::Block,
        ("coalesce", _) => response::Full::Coalesce,
        ("lifo" | "priority" | "deadline", _) => response::Full::DropNewest,
        _ => response::Full::DropOldest,
    }
}

/// The queue of a component that is not active fills. That is no matter, unless the publisher has to wait then, others do not get the event, or what
/// waits times out.
fn hindering(parts: &mut Parts<'_>, plan: usize, link: &Link<'_>, explained: &Explained) {
    let is_timeout = |holding: &Holding| holding.quality == Quality::Timeout && holding.path.is_some();
    if explained.values.iter().any(is_timeout)
        && let Some(host) = link.to.component().and_then(|to| parts.place(plan, to))
    {
        let what = format!(
            "events that time out while \"{}\" waits in a mode in which its component is not active wake a thread, which is not analysed",
            link.to
        );
        let remedy = "take timeout out, or the same modes for both components";
        parts.obstacle(plan, format!("connection.{}", link.name), host, what, remedy);
    }
    if !matches!(full(explained), response::Full::Block | response::Full::Reject) {
        return;
    }
    let Some(host) = link.from.component().and_then(|from| parts.place(plan, from)) else { return };
    let what = format!(
        "the queue of \"{}\" fills in a mode in which its component is not active, and hinders \"{}\" then",
        link.to, link.from
    );
    let remedy = "full = \"drop-oldest\", or the same modes for both components";
    parts.obstacle(plan, format!("connection.{}", link.name), host, what, remedy);
}
