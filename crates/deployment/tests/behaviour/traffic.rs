//! Events between the components of simulated processes, and the judge of which plan they are of. It sees what is published and handled, and the
//! plans, and nothing of how changes are made.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use assembly::{Plan, Process};
use deployment::{Branch, Carrier, Half, Position};
use testkit::random::Random;

use crate::executor::{Made, Model};

/// An event, with the plan that its publisher was of.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Each event to each end has a number of its own.
    number: u64,
    connection: String,
    publisher: String,
    epoch: u64,
    plan: Arc<Plan>,
    /// The end in this process by which it came from another one, the writer, and its number there.
    by: Option<(String, u64, i64)>,
}

/// An event on its way to an end of a connection in another process.
#[derive(Debug)]
struct Flight {
    from: u64,
    to: (u64, String),
    writer: u64,
    number: i64,
    event: Event,
    /// It goes by a gateway, and has come to that of the other process.
    has_come: bool,
}

/// What is between processes, and what was seen of all of them.
#[derive(Debug, Default)]
pub(crate) struct Network {
    is_on: bool,
    writers: u64,
    events: u64,
    /// Ends of topics that take: process, end, topic.
    readers: BTreeSet<(u64, String, String)>,
    flights: Vec<Flight>,
    /// The plan of each change, and the last change that was decided.
    plans: BTreeMap<u64, Arc<Plan>>,
    decided: u64,
    pub(crate) handled: u64,
    /// Events that were handled because a change waited for them.
    pub(crate) finished: u64,
    /// The numbers of events that were handled, and of those that conjunctions gave up with changes that were decided.
    once: BTreeSet<u64>,
    pub(crate) given_up: BTreeSet<u64>,
    /// Events that were read at instants, and deliveries of conjunctions.
    pub(crate) read: u64,
    pub(crate) joined: u64,
    /// Events that went by gateways.
    pub(crate) by_gateway: u64,
    /// Events that were dropped with their ends.
    pub(crate) lost: Vec<String>,
    /// Events of one plan that were handled in another one.
    pub(crate) wrong: Vec<String>,
    /// The same in a plan that is not decided yet: nothing comes of it if the change is taken back.
    open: Vec<(u64, String)>,
}

/// What processes have in common.
pub(crate) type Shared = Rc<RefCell<Network>>;

impl Network {
    pub(crate) fn begin(&mut self) {
        self.is_on = true;
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// A change to this plan is prepared.
    pub(crate) fn prepares(&mut self, epoch: u64, plan: impl FnOnce() -> Plan) {
        if self.is_on {
            self.plans.entry(epoch).or_insert_with(|| Arc::new(plan()));
        }
    }

    /// The last change that was decided.
    pub(crate) const fn decided(&self) -> u64 {
        self.decided
    }

    /// A change is decided.
    pub(crate) fn decides(&mut self, epoch: u64) {
        if self.plans.contains_key(&epoch) {
            self.decided = self.decided.max(epoch);
            let open = std::mem::take(&mut self.open).into_iter();
            self.wrong.extend(open.filter(|(of, _)| *of == epoch).map(|(_, wrong)| wrong));
        }
    }

    /// A process ends: with it what it had for others, unless it was told to.
    pub(crate) fn ends(&mut self, process: u64, is_in_order: bool) {
        self.readers.retain(|(of, ..)| *of != process);
        self.flights.retain(|flight| flight.to.0 != process && (is_in_order || flight.from != process));
    }

    fn next_event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    fn plan_of(&self, made: &Made) -> Option<(u64, Arc<Plan>)> {
        let epoch = made.epoch.max(self.decided);
        Some((epoch, Arc::clone(self.plans.get(&epoch)?)))
    }

    /// A component handles an event: is it of the plan that holds for both?
    fn judge(&mut self, event: &Event, consumer: &str, made: &Made) {
        self.handled += 1;
        if !self.once.insert(event.number) || self.given_up.contains(&event.number) {
            self.wrong.push(format!("{consumer} handles what was handled or given up before: {event:?}"));
        }
        // What was to come about and did not is no plan that another one follows.
        if event.epoch > self.decided {
            return;
        }
        let held = self.plans.get(&self.decided).map(|plan| (self.decided, Arc::clone(plan)));
        for (now, plan) in self.plan_of(made).into_iter().chain(held) {
            for (what, is_other) in [
                ("publisher", is_other_component(&event.plan, &plan, &event.publisher)),
                ("consumer", is_other_component(&event.plan, &plan, consumer)),
                ("connection", is_other_connection(&event.plan, &plan, &event.connection)),
            ] {
                let Event { connection, publisher, epoch, .. } = event;
                let text = || {
                    format!(
                        "{consumer} handles an event of {publisher} by {connection} of plan {epoch} in plan {now}: another {what}"
                    )
                };
                match (is_other, now > self.decided) {
                    (false, _) => {}
                    (true, false) => self.wrong.push(text()),
                    (true, true) => self.open.push((now, text())),
                }
            }
        }
    }
}

/// Whether a component is another one: itself, its process, its container or its program.
fn is_other_component(was: &Plan, is: &Plan, name: &str) -> bool {
    let all = |plan: &Plan| {
        let component = plan.components.get(name)?.clone();
        let process = plan.processes.get(&component.process)?.clone();
        let artefact = process.artefact.as_ref().and_then(|name| plan.artefacts.get(name)).cloned();
        let container = component.container.as_ref().and_then(|name| plan.containers.get(name)).cloned();
        Some((component, Process { depends_on: Vec::new(), ..process }, artefact, container))
    };
    all(was) != all(is)
}

fn is_other_connection(was: &Plan, is: &Plan, name: &str) -> bool {
    let all = |plan: &Plan| {
        let mut connection = plan.connections.get(name)?.clone();
        connection.is_suspended = false;
        Some(connection)
    };
    all(was) != all(is)
}

/// The connection of an end.
fn connection_of(half: &str) -> &str {
    half.rsplit_once(' ').map_or(half, |(name, _)| name)
}

fn component_of(port: &str) -> &str {
    port.split('.').next().unwrap_or(port)
}

/// Whether a join may keep events until others come.
fn waits(tree: &Branch) -> bool {
    match tree {
        Branch::All(..) => true,
        Branch::Any(parts) => parts.iter().any(waits),
        Branch::Silence(of, _) => waits(of),
        Branch::Events { .. } | Branch::Every(_) | Branch::After(_) => false,
    }
}

/// What a gateway calls the events of a port.
fn by_gateway(event: &str, source: &str) -> String {
    format!("{source} by gateways, {event}")
}

/// The port that a half by a gateway publishes for, or that it takes from.
fn source_of(half: &Half) -> Option<String> {
    match &half.carrier {
        Carrier::Gateway { event, source, .. } => Some(by_gateway(event, source)),
        _ => None,
    }
}

impl Model {
    fn is_on(&self) -> bool {
        self.network.borrow().is_on
    }

    pub(crate) fn connected(&mut self, half: &Half) {
        if !self.is_on() {
            return;
        }
        let topic = match &half.carrier {
            Carrier::Topic { topic, .. } => topic.clone(),
            _ => match source_of(half) {
                Some(source) => source,
                None => return,
            },
        };
        let mut network = self.network.borrow_mut();
        if half.to.is_some() {
            network.readers.insert((self.tag, half.name.clone(), topic));
        } else {
            network.writers += 1;
            self.writers.insert(half.name.clone(), (network.writers, 0));
        }
    }

    pub(crate) fn disconnected(&mut self, half: &Half) {
        let writer = self.writers.remove(&half.name).map(|(writer, _)| writer);
        self.arrived.retain(|(name, _), _| *name != half.name);
        let waiting = self.queues.remove(&half.name).map_or(0, |queue| queue.len());
        let mut network = self.network.borrow_mut();
        network.readers.retain(|(of, name, _)| (*of, name) != (self.tag, &half.name));
        let before = network.flights.len();
        // What a writer has sent does not outlast it.
        network.flights.retain(|flight| {
            (flight.to.0, &flight.to.1) != (self.tag, &half.name) && Some(flight.writer) != writer
        });
        let lost = waiting + before - network.flights.len();
        if lost > 0 {
            network.lost.push(format!("{lost} at {half:?} of process {}", self.tag));
        }
    }

    /// The end whose queue has what comes to this one: a part of a join has that of the join, and a port that is read at instants that of the timer.
    pub(crate) fn queue_of(&self, half: &Half) -> String {
        let Some(to) = &half.to else { return half.name.clone() };
        if let Some((port, _)) = to.split_once('#') {
            return format!("join {port}");
        }
        let is_reader = |other: &&Half| matches!(&other.carrier, Carrier::Timer { logical: Some(it), .. } if it.reads.contains(to));
        self.halves.values().find(is_reader).unwrap_or(half).name.clone()
    }

    /// The timers of a component in logical execution time.
    fn instants_of(&self, component: &str) -> Vec<String> {
        let is_it = |half: &&Half| {
            let is_of = half.to.as_deref().is_some_and(|to| component_of(to) == component);
            is_of && matches!(half.carrier, Carrier::Timer { logical: Some(_), .. })
        };
        self.halves.values().filter(is_it).map(|half| half.name.clone()).collect()
    }

    /// What waits for a component is dropped.
    pub(crate) fn forget(&mut self, component: &str) {
        let of = self.ends_of(component);
        self.queues.retain(|name, _| !of.contains(name));
    }

    pub(crate) fn ends_of(&self, component: &str) -> Vec<String> {
        let leads = |half: &&Half| half.to.as_deref().is_some_and(|to| component_of(to) == component);
        self.halves.values().filter(leads).map(|half| self.queue_of(half)).collect()
    }

    /// A component publishes at each of its ports.
    fn publish(&mut self, component: &str) {
        let Some((epoch, plan)) =
            self.components.get(component).and_then(|made| self.network.borrow().plan_of(made))
        else {
            return;
        };
        let begins = |half: &&Half| half.from.as_deref().is_some_and(|from| component_of(from) == component);
        for half in self.halves.values().filter(begins).cloned().collect::<Vec<_>>() {
            let event = |network: &mut Network, end: &str| Event {
                number: network.next_event(),
                connection: connection_of(end).to_owned(),
                publisher: component.to_owned(),
                epoch,
                plan: Arc::clone(&plan),
                by: None,
            };
            let topic = match &half.carrier {
                Carrier::Topic { topic, .. } => Some(topic.clone()),
                _ => source_of(&half),
            };
            match (&half.carrier, &half.to, topic) {
                (_, None, Some(topic)) => {
                    let Some((writer, number)) = self.writers.get_mut(&half.name) else { continue };
                    *number += 1;
                    let mut network = self.network.borrow_mut();
                    let readers = network.readers.iter().filter(|(.., of)| *of == topic);
                    let to: Vec<(u64, String)> =
                        readers.map(|(process, end, _)| (*process, end.clone())).collect();
                    for to in to {
                        network.by_gateway += u64::from(matches!(half.carrier, Carrier::Gateway { .. }));
                        let (writer, number, event) = (*writer, *number, event(&mut network, &to.1));
                        network.flights.push(Flight {
                            from: self.tag,
                            to,
                            writer,
                            number,
                            event,
                            has_come: false,
                        });
                    }
                }
                (Carrier::Direct | Carrier::Channel(_), Some(to), _) => {
                    let (queue, event) =
                        (self.queue_of(&half), event(&mut self.network.borrow_mut(), &half.name));
                    match &half.carrier {
                        Carrier::Direct if queue == half.name => self.take(component_of(to), &event),
                        _ => self.queues.entry(queue).or_default().push_back(event),
                    }
                }
                _ => {}
            }
        }
    }

    /// A component handles an event, if it works.
    fn take(&mut self, component: &str, event: &Event) {
        if let Some(made) = self.components.get(component).filter(|made| made.is_active) {
            self.network.borrow_mut().judge(event, component, made);
            if event.epoch.is_multiple_of(2) || self.queues.len().is_multiple_of(2) {
                self.publish(component);
            }
        }
    }

    /// The next flight to this process arrives, or that of this end.
    fn arrive(&mut self, is_it: impl Fn(&str, u64, i64) -> bool) -> bool {
        self.arrive_event(|flight| is_it(&flight.to.1, flight.writer, flight.number))
    }

    fn arrive_event(&mut self, is_it: impl Fn(&Flight) -> bool) -> bool {
        let mut network = self.network.borrow_mut();
        let found = network.flights.iter().position(|flight| flight.to.0 == self.tag && is_it(flight));
        let Some(found) = found else { return false };
        let Flight { to: (_, end), writer, number, event, .. } = network.flights.remove(found);
        drop(network);
        if let Some(half) = self.halves.get(&end) {
            let queue = self.queue_of(half);
            self.arrived.insert((end.clone(), writer), number);
            let event = Event { by: Some((end, writer, number)), ..event };
            self.queues.entry(queue).or_default().push_back(event);
        }
        true
    }

    /// How far writers have come.
    pub(crate) fn published(&self) -> Vec<Position> {
        let of = |(end, (writer, number)): (&String, &(u64, i64))| Position {
            end: end.clone(),
            source: writer.to_string(),
            sequence: *number,
        };
        self.writers.iter().map(of).collect()
    }

    /// How far ends have come.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let of = |((end, writer), number): (&(String, u64), &i64)| Position {
            end: end.clone(),
            source: writer.to_string(),
            sequence: *number,
        };
        self.arrived.iter().map(of).collect()
    }

    /// What a former process has handled comes to nothing here.
    pub(crate) fn skip(&mut self, positions: &[Position]) {
        let is_handled = |end: &str, writer: u64, number: i64| {
            let mut of_it = positions.iter().filter(|it| it.end == end && it.source == writer.to_string());
            of_it.any(|position| number <= position.sequence)
        };
        for queue in self.queues.values_mut() {
            queue.retain(|event| {
                !event.by.as_ref().is_some_and(|(end, writer, number)| is_handled(end, *writer, *number))
            });
        }
        let tag = self.tag;
        self.network
            .borrow_mut()
            .flights
            .retain(|flight| flight.to.0 != tag || !is_handled(&flight.to.1, flight.writer, flight.number));
    }

    /// Waits until what was published up to these positions is here; says whether that came about in time.
    pub(crate) fn await_arrival(&mut self, positions: &[Position]) -> bool {
        for position in positions {
            let writer: u64 = position.source.parse().unwrap();
            if !self.halves.contains_key(&position.end) {
                self.misused.push(format!("no end {}", position.end));
            }
            while self
                .arrive(|end, of, number| end == position.end && of == writer && number <= position.sequence)
            {
                if self.is_late {
                    self.is_late = false;
                    return false;
                }
            }
        }
        true
    }

    /// Waits until the gateways of others have what was published by this one; says whether that came about in time.
    pub(crate) fn acknowledged(&mut self) -> bool {
        let (tag, mut network) = (self.tag, self.network.borrow_mut());
        let network = &mut *network;
        let is_gateway = |half: &&Half| matches!(half.carrier, Carrier::Gateway { .. }) && half.to.is_none();
        let ends = self.halves.values().filter(is_gateway).map(|half| &half.name);
        let writers: BTreeSet<u64> = ends.filter_map(|end| Some(self.writers.get(end)?.0)).collect();
        let mine = network.flights.iter_mut().filter(|it| it.from == tag && writers.contains(&it.writer));
        for flight in mine.filter(|flight| !flight.has_come) {
            flight.has_come = true;
            if std::mem::take(&mut self.is_late) {
                return false;
            }
        }
        true
    }

    /// What has come to the gateway of this process was handed on.
    pub(crate) fn handed_on(&mut self) {
        let tag = self.tag;
        while self.arrive_event(|flight| flight.has_come && flight.to.0 == tag) {}
    }

    /// A component handles what waits in these ends, but for what a conjunction keeps; says whether it has in time.
    pub(crate) fn finish(&mut self, component: &str, ends: &[String]) -> bool {
        for end in ends {
            while let Some(events) = self.next_of(end) {
                self.network.borrow_mut().finished += 1;
                self.take_all(component, &events);
                if std::mem::take(&mut self.is_late) {
                    return false;
                }
            }
        }
        true
    }

    /// The timers of a component come to an end of an interval; says whether they have in time.
    pub(crate) fn end_interval(&mut self, component: &str, is_last: bool) -> bool {
        if self.components.get(component).is_none_or(|made| !made.is_active) {
            // What has come for one that does not work waits for nothing.
            for end in self.instants_of(component) {
                self.queues.remove(&end);
            }
            return true;
        }
        if is_last {
            self.ended.insert(component.to_owned());
        }
        if std::mem::take(&mut self.is_late) {
            return false;
        }
        for end in self.instants_of(component) {
            let read: Vec<Event> = self.queues.remove(&end).unwrap_or_default().into();
            self.network.borrow_mut().read += read.len() as u64;
            self.take_all(component, &read);
        }
        true
    }

    /// What a join keeps is set aside. Says how many events it is.
    pub(crate) fn set_aside(&mut self, end: &str) -> u64 {
        let kept: Vec<Event> = self.queues.remove(end).unwrap_or_default().into();
        let count = kept.len() as u64;
        self.aside.entry(end.to_owned()).or_default().push(kept);
        count
    }

    /// It comes back.
    pub(crate) fn put_back(&mut self, end: &str) -> bool {
        let Some(kept) = self.aside.get_mut(end).and_then(Vec::pop) else { return false };
        self.aside.retain(|_, all| !all.is_empty());
        let queue = self.queues.entry(end.to_owned()).or_default();
        kept.into_iter().rev().for_each(|event| queue.push_front(event));
        true
    }

    /// It is gone for good.
    pub(crate) fn drop_aside(&mut self, end: &str) {
        let all = self.aside.remove(end).unwrap_or_default();
        let numbers = all.into_iter().flatten().map(|event| event.number);
        self.network.borrow_mut().given_up.extend(numbers);
    }

    /// The connections whose events a conjunction needs for a delivery; none of other ends.
    fn parts_of(&self, end: &str) -> Option<BTreeSet<String>> {
        match self.halves.get(end) {
            Some(Half { carrier: Carrier::Join { tree, .. }, to: Some(port), .. }) if waits(tree) => {
                let leads = |half: &&Half| {
                    half.to.as_deref().and_then(|to| to.split_once('#')).is_some_and(|(of, _)| of == port)
                };
                Some(
                    self.halves
                        .values()
                        .filter(leads)
                        .map(|half| connection_of(&half.name).to_owned())
                        .collect(),
                )
            }
            _ => None,
        }
    }

    /// The next delivery of an end: of a conjunction one event of each part, once there are some. What is read at instants waits for these.
    fn next_of(&mut self, end: &str) -> Option<Vec<Event>> {
        if matches!(self.halves.get(end), Some(Half { carrier: Carrier::Timer { .. }, .. })) {
            return None;
        }
        let parts = self.parts_of(end);
        let queue = self.queues.get_mut(end)?;
        let Some(parts) = parts else { return queue.pop_front().map(|event| vec![event]) };
        let place = |part: &String| queue.iter().position(|event| event.connection == *part);
        let mut places: Vec<usize> = parts.iter().map(place).collect::<Option<_>>()?;
        places.sort_unstable();
        let all = places.into_iter().rev().filter_map(|place| queue.remove(place)).collect();
        self.network.borrow_mut().joined += 1;
        Some(all)
    }

    /// A component handles a delivery, if it works.
    fn take_all(&mut self, component: &str, events: &[Event]) {
        events.iter().for_each(|event| self.take(component, event));
    }

    /// Something of what goes on all the time happens.
    pub(crate) fn go_on(&mut self, random: &mut Random) {
        if random.chance(30) {
            self.arrive(|_, _, _| true);
            return;
        }
        let active: Vec<String> =
            self.components.iter().filter(|(_, made)| made.is_active).map(|(name, _)| name.clone()).collect();
        let Some(name) = random.pick(&active).cloned() else { return };
        if random.chance(50) {
            return self.publish(&name);
        }
        let ends = self.ends_of(&name);
        let Some(end) = random.pick(&ends) else { return };
        if self.instants_of(&name).contains(end) {
            if !self.ended.contains(&name) {
                self.end_interval(&name, false);
            }
        } else if let Some(events) = self.next_of(end) {
            self.take_all(&name, &events);
        }
    }
}
