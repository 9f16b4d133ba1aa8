//! Changes that come about between events: those that publish rest first, and what they have published is handled, before anything is taken apart.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use assembly::{Connection, End, Link, Plan, Port, ServiceKind, Timing};

use crate::foreign::is_foreign;
use crate::part::{Carrier, Half, Part};
use crate::protocol::{Order, Phase};
use crate::steps::{Batch, Steps};
use crate::supervisor::Target;

/// What has to rest, and what has to be handled, before a change.
#[derive(Debug)]
struct Quiescence<'t> {
    old: &'t Target,
    /// Processes of one of the plans are on several hosts.
    is_of_hosts: bool,
    /// Components of the former plan, those that publish before those that consume.
    order: Vec<&'t str>,
    /// Components that rest, with those that the change brings to rest in any case.
    rests: BTreeSet<&'t str>,
    /// Components of processes that are handed over, and come to rest by that.
    handed_over: BTreeSet<&'t str>,
    /// Components of processes that are handed over, and rest before as all others do.
    rest_before: BTreeSet<&'t str>,
    /// Direct connections: name, and the components at their ends. A publisher calls its consumer, which rests later than it therefore.
    direct: Vec<(&'t str, &'t str, &'t str)>,
    /// Two connections that meet at a topic, of which the change touches one.
    meeting: Option<(&'t str, &'t str)>,
    /// Connections of which nothing may be on its way, each with the components at its ends.
    affected: BTreeMap<&'t str, (&'t str, Vec<&'t str>)>,
}

/// Whether a change is one between plans that say something else, and not one of modes or of what is suspended.
fn is_wanted(old: &Target, new: &Target) -> bool {
    let plain = |target: &Target| {
        let mut plan = target.plan.clone();
        (plan.start_mode, plan.quiesce) = (None, None);
        plan.connections.values_mut().for_each(|connection| connection.is_suspended = false);
        plan
    };
    new.plan.quiesce.is_some()
        && (plain(old) != plain(new) || old.types != new.types || old.programs != new.programs)
}

impl Steps {
    /// Why a change cannot come about between events although its plan says so. `is_led` is whether others decide, who lead all hosts of the plan.
    pub(crate) fn obstacle(old: &Target, new: &Target, is_led: bool) -> Option<String> {
        if !is_wanted(old, new) {
            return None;
        }
        let why = Quiescence::chosen(old, new, &Self::plain(old, new), is_led).err()?;
        Some(format!(
            "the plan cannot be changed between events: {why}; take out quiesce, or stop the plan and launch the next one"
        ))
    }

    /// Components that publish rest first, and what they have published is handled.
    pub(crate) fn quiesce(&mut self, old: &Target, new: &Target, is_led: bool) {
        if let Ok(Some(needed)) = Quiescence::chosen(old, new, self, is_led) {
            needed.add_to(self, new);
        }
    }
}

/// When components of processes that are handed over come to rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Resting {
    /// When these are handed over: so they rest for the shortest time.
    ByHandOver,
    /// Before, as all others do: so they may be connected with each other, and with others that rest, and all is handled before others decide.
    Before,
}

impl<'t> Quiescence<'t> {
    /// What has to rest, and why it cannot if that is so.
    fn chosen(old: &'t Target, new: &Target, steps: &Steps, is_led: bool) -> Result<Option<Self>, String> {
        let mut first = None;
        // What others decide is decided before anything is handed over.
        let all = if is_led { &[Resting::Before][..] } else { &[Resting::ByHandOver, Resting::Before][..] };
        for resting in all {
            let Some(needed) = Self::of(old, new, steps, *resting) else { return Ok(None) };
            if needed.is_of_hosts && !is_led {
                return Err("it is of several hosts, and no manager leads these: what is on its way between them is not seen".to_string());
            }
            let Some(why) = needed.obstacle() else { return Ok(Some(needed)) };
            first.get_or_insert(why);
        }
        first.map_or(Ok(None), Err)
    }

    fn of(old: &'t Target, new: &Target, steps: &Steps, resting: Resting) -> Option<Self> {
        if !is_wanted(old, new) {
            return None;
        }
        let mut joins: BTreeSet<String> = BTreeSet::new();
        let (mut out, mut anew, mut processes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (batch, order) in
            steps.batches.iter().flat_map(|batch| batch.orders.iter().map(move |it| (batch, it)))
        {
            match order {
                Order::Passivate(name) => drop(out.insert(name.clone())),
                Order::Disconnect(name) => drop(anew.insert(name.clone())),
                // What goes on publishes by its new connections from the change on.
                Order::Connect(name) => {
                    let from = new.plan.connections.get(name).and_then(|it| it.from.component());
                    joins.extend(from.map(ToString::to_string));
                }
                Order::HandOver(..) => drop(processes.insert(batch.process.clone())),
                _ => {}
            }
        }
        anew.extend(made_anew(old, new));
        let mut order = old.plan.order(&old.types);
        order.reverse();
        let of_process =
            |name: &&str| old.plan.components.get(*name).is_some_and(|it| processes.contains(&it.process));
        let of_processes: BTreeSet<&str> = order.iter().copied().filter(of_process).collect();
        let (handed_over, rest_before) = match resting {
            Resting::ByHandOver => (of_processes, BTreeSet::new()),
            Resting::Before => (BTreeSet::new(), of_processes),
        };
        out.extend(rest_before.iter().map(ToString::to_string));
        let is_changed = |name: &str| out.contains(name) || handed_over.contains(name);
        let mut affected = BTreeMap::new();
        for (name, connection) in &old.plan.connections {
            let (Some(from), false) = (connection.from.component(), is_call(old, connection)) else {
                continue;
            };
            let to: Vec<&str> = connection.to.iter().filter_map(|to| to.component()).collect();
            let process = |name: &str| old.plan.components.get(name).map(|it| &it.process);
            let is_within = handed_over.contains(from) && to.iter().all(|to| process(to) == process(from));
            let is_it = anew.contains(name) || core::iter::once(&from).chain(&to).any(|end| is_changed(end));
            if is_it && !is_within && !to.is_empty() && !connection.is_suspended {
                affected.insert(name.as_str(), (from, to));
            }
        }
        let publish = affected.values().map(|(from, _)| *from);
        let rests =
            order.iter().copied().filter(|name| out.contains(*name) || joins.contains(*name)).chain(publish);
        let mut rests: BTreeSet<&str> = rests.filter(|name| !handed_over.contains(name)).collect();
        // What calls something at rest would be refused, whether or not the change touches the connection.
        let direct = direct(old);
        while let Some((_, from, _)) =
            direct.iter().find(|(_, from, to)| rests.contains(to) && !rests.contains(from))
        {
            rests.insert(from);
        }
        let is_touched = |name: &str, connection: &Connection| {
            let mut ends = core::iter::once(&connection.from).chain(&connection.to);
            anew.contains(name) || ends.any(|end| end.component().is_some_and(&is_changed))
        };
        let meeting = meeting(old, is_touched);
        (!rests.is_empty() || !affected.is_empty() || meeting.is_some()).then_some(Self {
            direct,
            meeting,
            old,
            is_of_hosts: [old, new].iter().any(|target| is_of_hosts(&target.plan)),
            order,
            rests,
            handed_over,
            rest_before,
            affected,
        })
    }

    fn process(&self, component: &str) -> &'t str {
        self.old
            .plan
            .components
            .get(component)
            .map(|component| component.process.as_str())
            .unwrap_or_default()
    }

    /// Why it cannot be seen that nothing is on its way.
    fn obstacle(&self) -> Option<String> {
        let layout = self.old.plan.layout();
        if let Some((one, other)) = self.meeting {
            return Some(format!(
                "the connections {one} and {other} meet at a topic, and what is on its way from one to the other is not seen"
            ));
        }
        let from_others = |(_, it): &(&String, &Connection)| {
            it.from.component().is_none()
                && it.to.iter().any(|to| to.component().is_some_and(|name| self.rest_before.contains(name)))
        };
        if let Some((name, _)) = self.old.plan.connections.iter().find(from_others) {
            return Some(format!(
                "by the connection {name} a process that is handed over takes what others publish, and that would not be held while the process rests"
            ));
        }
        let place = |name: &str| self.order.iter().position(|of| *of == name);
        for (name, from, to) in &self.direct {
            if self.rests.contains(to) && place(to) <= place(from) {
                return Some(self.late(from, name, to));
            }
        }
        for link in layout.links() {
            let Some((from, _)) = self.affected.get(link.name) else { continue };
            let Some(to) = link.to.component() else { continue };
            let (name, [one, other]) = (link.name, [*from, to].map(|end| self.process(end)));
            if [one, other].iter().any(|process| is_foreign(&self.old.plan, process)) {
                return Some(format!(
                    "the connection {name} leads to or from a program that is no component server"
                ));
            }
            if one != other
                && link.kind == ServiceKind::Federated
                && self.old.plan.gateways().get(one).is_some_and(|gateway| gateway.ttl() > 1)
            {
                return Some(format!(
                    "the connection {name} goes by gateways that pass events on (ttl), and what is on its way behind the first one is not seen"
                ));
            }
            if one != other && self.handed_over.contains(from) && self.handed_over.contains(to) {
                return Some(format!(
                    "the connection {name} leads from one process that is handed over to another one"
                ));
            }
            let rests_late =
                self.rests.contains(to) && (self.handed_over.contains(from) || place(to) <= place(from));
            if rests_late {
                return Some(self.late(from, name, to));
            }
        }
        None
    }

    /// Components that would have to rest in the wrong order.
    fn late(&self, from: &str, name: &str, to: &str) -> String {
        let why = if self.handed_over.contains(from) {
            format!("the process of {from} is handed over")
        } else {
            "they are in a circle of connections, or of connections and depends-on of processes".to_string()
        };
        format!("{to} would have to rest before {from}, from which the connection {name} leads to it: {why}")
    }

    /// For each component how many times what it has to handle goes from host to host at most: so many times hosts wait for each other before.
    fn rounds(&self) -> BTreeMap<&'t str, u32> {
        let layout = self.old.plan.layout();
        let host = |name: &str| layout.processes().get(self.process(name)).copied().flatten();
        let mut rounds: BTreeMap<&str, u32> = BTreeMap::new();
        // What goes on waits for what rests, and may be before it in the order.
        let (rest, go_on): (Vec<&str>, Vec<&str>) =
            self.order.iter().copied().partition(|name| self.rests.contains(name));
        for name in rest.into_iter().chain(go_on) {
            let affected = self.affected.values().filter(|(_, to)| to.contains(&name)).map(|(from, _)| *from);
            let calls = self.direct.iter().filter(|(.., to)| *to == name).map(|(_, from, _)| *from);
            let round = |from: &str| {
                let before = rounds.get(from).copied().unwrap_or_default();
                before.saturating_add(u32::from(host(from) != host(name)))
            };
            let from = affected.chain(calls).filter(|from| self.rests.contains(from));
            let most = from.map(round).max().unwrap_or_default();
            rounds.insert(name, most);
        }
        rounds
    }

    /// The affected connections that lead to a component from one of these.
    fn to(&self, component: &str, is_it: &dyn Fn(&str) -> bool) -> Vec<String> {
        let leads = |(_, (from, to)): &(&&str, &(&str, Vec<&str>))| to.contains(&component) && is_it(from);
        self.affected.iter().filter(leads).map(|(name, _)| name.to_string()).collect()
    }

    /// The affected connections of a component that go by topics: what is on its way is in no queue.
    fn from(&self, component: &str) -> Vec<String> {
        let layout = self.old.plan.layout();
        let topics = layout.links().filter(|link| link.kind == ServiceKind::Dds).map(|link| link.name);
        let topics: BTreeSet<&str> = topics.collect();
        let leads =
            |(name, (from, _)): &(&&str, &(&str, Vec<&str>))| *from == component && topics.contains(**name);
        self.affected.iter().filter(leads).map(|(name, _)| name.to_string()).collect()
    }

    /// Orders by which a component handles what was published for it by these.
    fn handles(&self, component: &str, is_it: &dyn Fn(&str) -> bool, limit: u64) -> Vec<Order> {
        let connections = self.to(component, is_it);
        if connections.is_empty() {
            return Vec::new();
        }
        let ports = self.old.plan.components.get(component).map(|it| &it.ports);
        let ports = ports.into_iter().flatten();
        let leads = |name: &&str| connections.iter().any(|of| of == name);
        let waits = |port: &Port| {
            let tree = port.join_tree().filter(assembly::JoinTree::waits);
            tree.is_some_and(|tree| tree.connections().iter().any(leads))
        };
        let keep: Vec<String> =
            ports.filter(|(_, port)| waits(port)).map(|(port, _)| format!("{component}.{port}")).collect();
        let layout = self.old.plan.layout();
        let is_read =
            |end: &End| end.component() == Some(component) && layout.read_at_instants(end).is_some();
        let of_it = connections.iter().filter_map(|name| self.old.plan.connections.get(name));
        let reads = of_it.flat_map(|connection| &connection.to).any(is_read);
        let component = component.to_string();
        // The end of the last interval follows anyway.
        let reads = reads && !self.rests.contains(component.as_str());
        let mut orders = vec![Order::Finish { connections, published: Vec::new(), limit }];
        orders.extend(reads.then_some(Order::EndInterval { component, is_last: false, limit }));
        orders.extend((!keep.is_empty()).then_some(Order::SetAside(keep)));
        orders
    }

    /// Orders by which a component comes to rest once it has handled all.
    fn rest(&self, component: &str, limit: u64) -> Vec<Order> {
        let mut orders = self.handles(component, &|from| !self.handed_over.contains(from), limit);
        let ports = self.old.plan.components.get(component).map(|it| &it.ports);
        let has_instants = ports.into_iter().flatten().any(|(_, port)| port.timing == Timing::Let);
        if has_instants {
            // What it has read last goes out, and nothing of a part of an interval. What conjunctions keep is that of the end.
            let at = orders.iter().position(|it| matches!(it, Order::SetAside(_))).unwrap_or(orders.len());
            let component = component.to_string();
            orders.insert(at, Order::EndInterval { component, is_last: true, limit });
        }
        orders.push(Order::Passivate(component.to_string()));
        let from = self.from(component);
        orders.extend((!from.is_empty()).then_some(Order::TellPublished(from)));
        orders.extend(self.is_by_gateway(component).then_some(Order::Acknowledge { limit }));
        orders
    }

    /// Whether one of the affected connections of a component goes by gateways.
    fn is_by_gateway(&self, component: &str) -> bool {
        let layout = self.old.plan.layout();
        layout.links().any(|link| {
            let is_far =
                |end: &End| end.component().is_some_and(|to| self.process(to) != self.process(component));
            let is_it = self.affected.get(link.name).is_some_and(|(from, _)| *from == component);
            is_it && link.kind == ServiceKind::Federated && is_far(link.to)
        })
    }

    fn add_to(&self, steps: &mut Steps, new: &Target) {
        let limit = new.plan.quiesce.unwrap_or_default();
        let mut parts: Vec<(&str, Vec<Order>)> = Vec::new();
        for name in self.order.iter().filter(|name| self.rests.contains(*name)) {
            parts.push((name, self.rest(name, limit)));
        }
        for name in self.order.iter().filter(|name| !self.rests.contains(*name)) {
            let orders = self.handles(name, &|from| !self.handed_over.contains(from), limit);
            parts.push((name, orders));
        }
        // Within a round the order stays: what comes later on a host has what it waits for.
        let rounds = self.rounds();
        let round = |name: &str| rounds.get(name).copied().unwrap_or_default();
        parts.sort_by_key(|(name, _)| round(name));
        let mut batches: Vec<Batch> = Vec::new();
        for (name, orders) in parts {
            add(&mut batches, (self.process(name), round(name)), Phase::Quiesce, orders);
        }
        let rest = steps
            .batches
            .iter_mut()
            .filter(|batch| batch.orders.iter().any(|it| matches!(it, Order::HandOver(..))));
        for batch in rest {
            let of_it = self.handed_over.iter().filter(|name| self.process(name) == batch.process);
            let from: Vec<String> = of_it.flat_map(|name| self.from(name)).collect();
            batch.orders.extend((!from.is_empty()).then_some(Order::TellPublished(from)));
        }
        let is_last = |batch: &Batch| batch.orders.iter().any(|order| matches!(order, Order::HandOver(..)));
        let mut all = batches;
        for batch in core::mem::take(&mut steps.batches) {
            let own = if is_last(&batch) { self.of_handed_over(&batch.process, limit) } else { Vec::new() };
            all.push(batch);
            all.extend(own);
        }
        steps.batches = all;
        self.begin_again(steps, new);
    }

    /// A process that is handed over has published all when it rests. What of it comes to others they handle before the next one begins.
    fn of_handed_over(&self, process: &str, limit: u64) -> Vec<Batch> {
        let is_from = |from: &str| self.handed_over.contains(from) && self.process(from) == process;
        let mut batches: Vec<Batch> = Vec::new();
        for name in &self.order {
            let orders = self.handles(name, &is_from, limit);
            add(&mut batches, (self.process(name), 0), Phase::HandOver, orders);
        }
        batches
    }

    /// What has rested although it goes on begins again, with what begins anyway, in the order of the next plan.
    fn begin_again(&self, steps: &mut Steps, new: &Target) {
        let is_start = |batch: &Batch| batch.phase == Phase::Start;
        let begins = steps.batches.iter().filter(|batch| is_start(batch)).flat_map(|batch| &batch.orders);
        let mut begin: BTreeSet<String> = begins
            .filter_map(|order| match order {
                Order::Activate(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let goes_on = |name: &&&str| {
            // What is handed over begins with that.
            !self.rest_before.contains(**name)
                && self.old.plan.is_active_at_start(name)
                && new.plan.components.contains_key(**name)
                && new.plan.is_active_at_start(name)
        };
        let again: BTreeSet<&str> = self.rests.iter().filter(goes_on).copied().collect();
        steps.batches.retain(|batch| !is_start(batch));
        for name in new.plan.order(&new.types) {
            let Some(component) = new.plan.components.get(name) else { continue };
            let order = match (begin.take(name), again.contains(name)) {
                (Some(name), _) => Order::Activate(name),
                (None, true) => Order::Resume(name.to_string()),
                (None, false) => continue,
            };
            add(&mut steps.batches, (&component.process, 0), Phase::Start, vec![order]);
        }
    }
}

fn is_of_hosts(plan: &Plan) -> bool {
    let layout = plan.layout();
    let hosts: BTreeSet<&str> = layout.processes().values().copied().flatten().collect();
    hosts.len() > 1
}

/// More orders for a process in a round, in its last batch if that is the last one.
fn add(batches: &mut Vec<Batch>, (process, round): (&str, u32), phase: Phase, orders: Vec<Order>) {
    if orders.is_empty() {
        return;
    }
    match batches.last_mut() {
        Some(last) if last.process == process && last.phase == phase && last.round == round => {
            last.orders.extend(orders);
        }
        _ => batches.push(Batch { round, ..Batch::new(process, phase, orders) }),
    }
}

/// Connections whose ends are made anew since other chains pass them, or since they go by a gateway that is another one.
fn made_anew(old: &Target, new: &Target) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (was, is) = (old.plan.layout(), new.plan.layout());
    for process in was.processes().keys().filter(|process| is.processes().contains_key(*process)) {
        let (before, _) = Part::of(&old.plan, process, &old.types);
        let (after, _) = Part::of(&new.plan, process, &new.types);
        let retraced = before.retraced(&after);
        let is_other_gateway = before.gateway != after.gateway;
        let is_of_gateway = |half: &Half| is_other_gateway && matches!(half.carrier, Carrier::Gateway { .. });
        let is_it = |name: &&String| {
            let halves = before.connections.get(*name).into_iter().flatten();
            halves.into_iter().any(|half| retraced.contains(half.name.as_str()) || is_of_gateway(half))
        };
        names.extend(before.connections.keys().filter(is_it).cloned());
    }
    names
}

/// Direct connections of a plan that call the handler of a consumer.
fn direct(target: &Target) -> Vec<(&str, &str, &str)> {
    let layout = target.plan.layout();
    let calls = |link: &Link<'_>| {
        let port = port_of(&target.plan, link.to);
        let is_kept =
            port.is_some_and(|port| port.join.is_some()) || layout.read_at_instants(link.to).is_some();
        let is_direct = link.kind == ServiceKind::Direct && !is_kept;
        is_direct && !link.connection.is_suspended && !is_call(target, link.connection)
    };
    let links = layout.links().filter(calls);
    links.filter_map(|link| Some((link.name, link.from.component()?, link.to.component()?))).collect()
}

/// The first two connections of components that meet at a topic, of which one is touched.
fn meeting<'t>(
    target: &'t Target,
    is_touched: impl Fn(&str, &Connection) -> bool,
) -> Option<(&'t str, &'t str)> {
    let plan = &target.plan;
    let topic = |end: &'t End| match end {
        End::Topic(name) => Some(plan.topics.get(name).and_then(|it| it.topic.as_deref()).unwrap_or(name)),
        End::Port { .. } => None,
    };
    let open = || plan.connections.iter().filter(|(_, connection)| !connection.is_suspended);
    let publishing = open().filter(|(_, connection)| connection.from.component().is_some());
    for (one, from) in publishing {
        let topics: BTreeSet<&str> = from.to.iter().filter_map(topic).collect();
        let meets =
            |(_, to): &(&String, &'t Connection)| topic(&to.from).is_some_and(|of| topics.contains(of));
        let mut others = open().filter(|_| !topics.is_empty()).filter(meets);
        if let Some((other, _)) = others.find(|(other, to)| is_touched(one, from) || is_touched(other, to)) {
            return Some((one, other));
        }
    }
    None
}

fn port_of<'t>(plan: &'t Plan, end: &End) -> Option<&'t Port> {
    let End::Port { component, port } = end else { return None };
    plan.components.get(component)?.ports.get(port)
}

fn is_call(target: &Target, connection: &Connection) -> bool {
    let ends = core::iter::once(&connection.from).chain(&connection.to);
    ends.into_iter().any(|end| {
        let End::Port { component, port } = end else { return false };
        let of_type = target.plan.components.get(component).map(|it| &it.component_type);
        let port = of_type.and_then(|of_type| target.types.components.get(of_type)?.ports.get(port));
        port.is_some_and(|port| port.kind.is_call())
    })
}
