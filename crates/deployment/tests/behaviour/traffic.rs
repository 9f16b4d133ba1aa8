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
}

/// What is between processes, and what was seen of all of them.
#[derive(Debug, Default)]
pub(crate) struct Network {
    is_on: bool,
    writers: u64,
    /// Ends of topics that take: process, end, topic.
    readers: BTreeSet<(u64, String, String)>,
    flights: Vec<Flight>,
    /// The plan of each change, and the last change that was decided.
    plans: BTreeMap<u64, Arc<Plan>>,
    decided: u64,
    pub(crate) handled: u64,
    /// Events that were handled because a change waited for them.
    pub(crate) finished: u64,
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

    fn plan_of(&self, made: &Made) -> Option<(u64, Arc<Plan>)> {
        let epoch = made.epoch.max(self.decided);
        Some((epoch, Arc::clone(self.plans.get(&epoch)?)))
    }

    /// A component handles an event: is it of the plan that holds for both?
    fn judge(&mut self, event: &Event, consumer: &str, made: &Made) {
        self.handled += 1;
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

/// The end whose queue has what comes to this one: a part of a join has that of the join.
pub(crate) fn queue_of(half: &Half) -> String {
    match half.to.as_deref().and_then(|to| to.split_once('#')) {
        Some((port, _)) => format!("join {port}"),
        None => half.name.clone(),
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
        let Carrier::Topic { topic, .. } = &half.carrier else { return };
        let mut network = self.network.borrow_mut();
        if half.to.is_some() {
            network.readers.insert((self.tag, half.name.clone(), topic.clone()));
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

    /// What waits for a component is dropped.
    pub(crate) fn forget(&mut self, component: &str) {
        let of = self.ends_of(component);
        self.queues.retain(|name, _| !of.contains(name));
    }

    pub(crate) fn ends_of(&self, component: &str) -> Vec<String> {
        let leads = |half: &&Half| half.to.as_deref().is_some_and(|to| component_of(to) == component);
        self.halves.values().filter(leads).map(queue_of).collect()
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
            let connection = connection_of(&half.name).to_owned();
            let event = Event {
                connection,
                publisher: component.to_owned(),
                epoch,
                plan: Arc::clone(&plan),
                by: None,
            };
            match (&half.carrier, &half.to) {
                (Carrier::Topic { topic, .. }, None) => {
                    let Some((writer, number)) = self.writers.get_mut(&half.name) else { continue };
                    *number += 1;
                    let mut network = self.network.borrow_mut();
                    let readers = network.readers.iter().filter(|(.., of)| of == topic);
                    let to: Vec<(u64, String)> =
                        readers.map(|(process, end, _)| (*process, end.clone())).collect();
                    let flights = to.into_iter().map(|to| {
                        let (writer, number, event) = (*writer, *number, event.clone());
                        Flight { from: self.tag, to, writer, number, event }
                    });
                    network.flights.extend(flights);
                }
                (Carrier::Direct, Some(to)) if !to.contains('#') => self.take(component_of(to), &event),
                (Carrier::Direct | Carrier::Channel(_), Some(_)) => {
                    self.queues.entry(queue_of(&half)).or_default().push_back(event);
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
        let mut network = self.network.borrow_mut();
        let found = network
            .flights
            .iter()
            .position(|flight| flight.to.0 == self.tag && is_it(&flight.to.1, flight.writer, flight.number));
        let Some(found) = found else { return false };
        let Flight { to: (_, end), writer, number, event, .. } = network.flights.remove(found);
        drop(network);
        if let Some(half) = self.halves.get(&end) {
            let queue = queue_of(half);
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

    /// A component handles what waits in these ends, but for what a conjunction keeps; says whether it has in time.
    pub(crate) fn finish(&mut self, component: &str, ends: &[String]) -> bool {
        for end in ends {
            while let Some(event) = self.next_of(end) {
                self.network.borrow_mut().finished += 1;
                self.take(component, &event);
                if self.is_late {
                    self.is_late = false;
                    return false;
                }
            }
        }
        true
    }

    /// The next event of an end. A conjunction keeps events until there are some of another connection, too.
    fn next_of(&mut self, end: &str) -> Option<Event> {
        let is_kept = matches!(self.halves.get(end), Some(Half { carrier: Carrier::Join { tree, .. }, .. }) if waits(tree));
        let queue = self.queues.get_mut(end)?;
        let connection = &queue.front()?.connection;
        if is_kept && queue.iter().all(|event| event.connection == *connection) {
            return None;
        }
        queue.pop_front()
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
        if let Some(event) = self.next_of(end) {
            self.take(&name, &event);
        }
    }
}
