//! An executor that keeps what is there, and knows what may not be.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use assembly::{Catalogue, Named, Value};
use deployment::{
    Carrier, ChainPart, ChainStatus, ComponentPart, ComponentStatus, ContainerPart, Executor, GatewayPart,
    GatewayStatus, Half, HostWatch, Part, Performed, Work,
};

use crate::traffic::{Event, Shared};

/// A component that is there.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Made {
    pub(crate) part: ComponentPart,
    pub(crate) is_active: bool,
    /// It is in the error state.
    pub(crate) is_failed: bool,
    /// Each one that is made has another number.
    pub(crate) number: u64,
    /// The number of the first one whose state it has.
    pub(crate) state: u64,
    /// The change in which it was activated last.
    pub(crate) epoch: u64,
}

/// Containers, components and ends of connections of a process.
#[derive(Debug, Default)]
pub(crate) struct Model {
    types: Catalogue,
    pub(crate) containers: BTreeMap<String, ContainerPart>,
    pub(crate) components: BTreeMap<String, Made>,
    pub(crate) halves: BTreeMap<String, Half>,
    /// How many connections have each end that publishes by the gateway.
    publishing: BTreeMap<String, usize>,
    gateway: Option<GatewayPart>,
    pub(crate) taken: BTreeMap<String, Made>,
    taken_containers: BTreeMap<String, ContainerPart>,
    /// The chains that are followed.
    follows: Named<ChainPart>,
    /// What it looks for on its host.
    pub(crate) watches: HostWatch,
    /// For each end of a connection the chains through it that were followed when it was made.
    traced: BTreeMap<String, Named<ChainPart>>,
    made: u64,
    /// What comes from elsewhere waits.
    pub(crate) holds: bool,
    /// Components for which nothing waits while it holds.
    drained: BTreeSet<String>,
    /// Components that were activated after a rest.
    pub(crate) anew: Vec<String>,
    /// How many ends of connections were made.
    pub(crate) connects: u64,
    /// Components of the process in whose place this one goes on.
    pub(crate) took_over: bool,
    /// After so many works one fails.
    pub(crate) fails_in: Option<u32>,
    /// The next wait for events is in vain, when it has had one.
    pub(crate) is_late: bool,
    /// It cannot do its part of any plan.
    pub(crate) refuses: bool,
    /// What must never be asked for was.
    pub(crate) misused: Vec<String>,
    /// The change that is performed; none while one is taken back.
    pub(crate) performs: u64,
    /// What is between processes, and the number of this one there.
    pub(crate) network: Shared,
    pub(crate) tag: u64,
    /// Components whose timers in logical execution time have come to their last interval.
    pub(crate) ended: BTreeSet<String>,
    /// What was set aside of joins, by their ends.
    pub(crate) aside: BTreeMap<String, Vec<Vec<Event>>>,
    /// What waits, by the end of a connection.
    pub(crate) queues: BTreeMap<String, VecDeque<Event>>,
    /// For each writer, by its end, its number and that of its last event.
    pub(crate) writers: BTreeMap<String, (u64, i64)>,
    /// The last event of each writer that has come, by the end.
    pub(crate) arrived: BTreeMap<(String, u64), i64>,
}

impl Model {
    pub(crate) fn new(types: Catalogue, first_number: u64) -> Self {
        Self { types, made: first_number, ..Self::default() }
    }

    /// What of a part is not there, or is and should not be.
    pub(crate) fn differs(&self, part: &Part) -> Option<String> {
        // A setting that has its default is as good as one that is not said.
        let plain = |(name, part): (&String, &ComponentPart)| {
            let mut part = part.clone();
            part.settings.retain(|_, value| *value != Value::Integer(0));
            // It changes with the mode.
            part.is_active = false;
            (name.clone(), part)
        };
        let components: BTreeMap<String, ComponentPart> =
            self.components.iter().map(|(name, made)| (name, &made.part)).map(plain).collect();
        let wanted: BTreeMap<String, ComponentPart> = part.components.iter().map(plain).collect();
        if components != wanted {
            return Some(format!("components {components:?}, and not {wanted:?}"));
        }
        let is_wrong = |name: &String, made: &Made| made.is_active != part.components[name].is_active;
        if let Some((name, made)) = self.components.iter().find(|(name, made)| is_wrong(name, made)) {
            return Some(format!("{name} is {}active", if made.is_active { "" } else { "not " }));
        }
        if let Some((name, _)) = self.components.iter().find(|(_, made)| made.is_failed) {
            return Some(format!("{name} has failed"));
        }
        let timers = part.components.values().flat_map(|component| &component.own);
        let halves = part.connections.values().flatten().chain(timers);
        let wanted: BTreeMap<String, Half> = halves.map(|half| (half.name.clone(), half.clone())).collect();
        if self.halves != wanted {
            return Some(format!("ends {:?}, and not {wanted:?}", self.halves));
        }
        let mut publishing: BTreeMap<String, usize> = BTreeMap::new();
        for half in part.connections.values().flatten().filter(|half| is_publishing(half)) {
            *publishing.entry(half.name.clone()).or_default() += 1;
        }
        if self.publishing != publishing {
            return Some(format!("{:?} publish, and not {publishing:?}", self.publishing));
        }
        if self.gateway != part.gateway {
            return Some(format!("{:?}, and not {:?}", self.gateway, part.gateway));
        }
        if self.follows != part.chains {
            return Some(format!("chains {:?}, and not {:?}", self.follows, part.chains));
        }
        let watches =
            if part.chains.is_empty() { (false, None) } else { (part.has_probes, part.clocks.clone()) };
        if (self.watches.probes.is_some(), self.watches.clocks.clone()) != watches {
            return Some(format!("looks for {:?}, and not {watches:?}", self.watches));
        }
        for (name, traced) in &self.traced {
            let wanted = through(&part.chains, name);
            if *traced != wanted {
                return Some(format!("{name} is followed for {traced:?}, and not {wanted:?}"));
            }
        }
        let mut containers = self.containers.clone();
        // That of components without a container may stay.
        if !part.containers.contains_key("") {
            containers.remove("");
        }
        if containers != part.containers {
            return Some(format!("containers {containers:?}, and not {:?}", part.containers));
        }
        if self.holds {
            return Some("what comes from elsewhere waits".to_owned());
        }
        if !self.ended.is_empty() || !self.aside.is_empty() {
            return Some(format!("no intervals of {:?}, aside {:?}", self.ended, self.aside));
        }
        let left: Vec<&String> = self.taken.keys().chain(self.taken_containers.keys()).collect();
        (!left.is_empty()).then(|| format!("{left:?} were taken out and neither returned nor ended"))
    }

    fn no(&mut self, what: String) -> Result<Performed, String> {
        self.misused.push(what.clone());
        Err(what)
    }

    fn is_connected(&self, name: &str) -> bool {
        let is_of =
            |port: &Option<String>| port.as_ref().is_some_and(|port| port.split('.').next() == Some(name));
        self.halves.values().any(|half| is_of(&half.from) || is_of(&half.to))
    }

    fn remove(&mut self, name: &str) -> Result<Made, String> {
        if self.is_connected(name) || self.components.get(name).is_none_or(|made| made.is_active) {
            self.misused.push(format!("{name} is not there, active or connected"));
            return Err("not now".to_owned());
        }
        self.components.remove(name).ok_or_else(|| "gone".to_owned())
    }
}

fn is_by_gateway(half: &Half) -> bool {
    matches!(half.carrier, Carrier::Gateway { .. })
}

/// Whether an end publishes by the gateway, for all connections of its port.
fn is_publishing(half: &Half) -> bool {
    is_by_gateway(half) && half.to.is_none()
}

/// The chains that pass an end of a connection.
fn through(chains: &Named<ChainPart>, name: &str) -> Named<ChainPart> {
    let passes = |chain: &ChainPart| chain.hops.iter().any(|hop| hop.connections.iter().any(|of| of == name));
    chains
        .iter()
        .filter(|(_, chain)| passes(chain))
        .map(|(name, chain)| (name.clone(), chain.clone()))
        .collect()
}

impl Executor for Model {
    fn types(&self) -> &Catalogue {
        &self.types
    }

    fn check(&mut self, _: &Part) -> Result<Vec<String>, String> {
        if self.refuses { Err("cannot do that".to_owned()) } else { Ok(Vec::new()) }
    }

    fn perform(&mut self, work: &Work) -> Result<Performed, String> {
        if let Some(left) = &mut self.fails_in {
            if *left == 0 {
                self.fails_in = None;
                return Err(format!("{work:?} fails on purpose"));
            }
            *left -= 1;
        }
        match work {
            Work::AddContainer(name, part) => {
                if self.containers.contains_key(name) {
                    return if name.is_empty() {
                        Ok(Performed::Unchanged)
                    } else {
                        self.no(format!("{name} twice"))
                    };
                }
                self.containers.insert(name.clone(), part.clone());
            }
            Work::RemoveContainer(name) | Work::TakeContainer(name) => {
                if self.components.values().any(|made| made.part.container == *name) {
                    return self.no(format!("{name} is not empty"));
                }
                let Some(part) = self.containers.remove(name) else { return self.no(format!("no {name}")) };
                if matches!(work, Work::TakeContainer(_)) {
                    self.taken_containers.insert(name.clone(), part);
                }
            }
            Work::ReturnContainer(name) => {
                let Some(part) = self.taken_containers.remove(name) else {
                    return self.no(format!("no {name}"));
                };
                self.containers.insert(name.clone(), part);
            }
            Work::EndContainer(name) => drop(self.taken_containers.remove(name)),
            Work::Install(name, part) => {
                if self.components.contains_key(name) || !self.containers.contains_key(&part.container) {
                    return self.no(format!("{name} is there, or its container is not"));
                }
                self.made += 1;
                let (is_active, is_failed, number) = (false, false, self.made);
                let (state, epoch) = (number, 0);
                let made = Made { part: part.clone(), is_active, is_failed, number, state, epoch };
                self.components.insert(name.clone(), made);
            }
            Work::Uninstall(name) => drop(self.remove(name)?),
            Work::Take(name) => {
                let made = self.remove(name)?;
                self.taken.insert(name.clone(), made);
            }
            Work::Return(name) => {
                let Some(made) = self.taken.remove(name) else { return self.no(format!("no {name}")) };
                if self.components.insert(name.clone(), made).is_some() {
                    return self.no(format!("{name} is there still"));
                }
            }
            Work::End(name) => drop(self.taken.remove(name)),
            Work::Set(name, setting, value) => {
                let Some(made) = self.components.get_mut(name).filter(|made| !made.is_active) else {
                    return self.no(format!("{name} does not rest"));
                };
                let before = match value {
                    Some(value) => made.part.settings.insert(setting.clone(), value.clone()),
                    None => made.part.settings.remove(setting),
                };
                return Ok(before.map_or(Performed::Was(Value::Integer(0)), Performed::Was));
            }
            Work::Connect(half) => {
                for port in half.from.iter().chain(&half.to) {
                    let name = port.split('.').next().unwrap();
                    if !self.components.contains_key(name) {
                        return self.no(format!("{name} is not there"));
                    }
                }
                // What leads to a part of a join comes after the join.
                let port = half.to.as_deref().and_then(|to| to.split_once('#')).map(|(port, _)| port);
                let joins = |other: &Half| {
                    matches!(other.carrier, Carrier::Join { .. }) && other.to.as_deref() == port
                };
                if port.is_some() && !self.halves.values().any(joins) {
                    return self.no(format!("{} leads to no join", half.name));
                }
                if is_by_gateway(half) && self.gateway.is_none() {
                    return self.no(format!("{} has no gateway", half.name));
                }
                if is_publishing(half) {
                    let count = self.publishing.entry(half.name.clone()).or_default();
                    *count += 1;
                    if *count > 1 {
                        if self.halves.get(&half.name) != Some(half) {
                            return self.no(format!("{} is another one", half.name));
                        }
                        return Ok(Performed::Done);
                    }
                }
                self.connects += 1;
                self.traced.insert(half.name.clone(), through(&self.follows, &half.name));
                self.connected(half);
                if self.halves.insert(half.name.clone(), half.clone()).is_some() {
                    return self.no(format!("{} twice", half.name));
                }
            }
            Work::Disconnect(name) => {
                if let Some(count) = self.publishing.get_mut(name) {
                    *count -= 1;
                    if *count > 0 {
                        return Ok(Performed::Done);
                    }
                    self.publishing.remove(name);
                }
                self.traced.remove(name);
                let Some(gone) = self.halves.remove(name) else {
                    return self.no(format!("no {name}"));
                };
                self.disconnected(&gone);
                let leads = |half: &Half| {
                    half.to.as_deref().and_then(|to| to.split_once('#')).map(|(port, _)| port)
                        == gone.to.as_deref()
                };
                if matches!(gone.carrier, Carrier::Join { .. }) && self.halves.values().any(leads) {
                    return self.no(format!("{name} is led to"));
                }
            }
            Work::Follow(chains) => self.follows.clone_from(chains),
            Work::Watch(next) => self.watches.clone_from(next),
            Work::Gateway(gateway) => {
                if self.halves.values().any(is_by_gateway) {
                    return self.no("ends by the gateway are there still".to_owned());
                }
                self.gateway.clone_from(gateway);
            }
            Work::Configured(name) => {
                if self.components.get(name).is_none_or(|made| made.is_active) {
                    return self.no(format!("{name} is active"));
                }
            }
            Work::Hold => self.holds = true,
            Work::Release(positions) => {
                self.skip(positions);
                if !self.holds {
                    return self.no("nothing waits".to_owned());
                }
                self.holds = false;
                self.drained.clear();
            }
            Work::Matches => return Ok(Performed::Matched(Vec::new())),
            Work::AwaitMatches(_) | Work::CatchUp(_) | Work::Settle | Work::Within(_) => {}
            Work::Published => return Ok(Performed::Positions(self.published())),
            Work::Arrive(positions) | Work::ArriveOrSkip(positions) => {
                if !self.await_arrival(positions) {
                    return Err("something has not come within the limit".to_owned());
                }
            }
            Work::Finish(name, ends) => {
                if !self.components.contains_key(name) {
                    return self.no(format!("no {name}"));
                }
                if !self.finish(name, ends) {
                    return Err(format!("something waits for {name} beyond the limit"));
                }
            }
            Work::HandedOn => self.handed_on(),
            Work::Acknowledged => {
                if !self.acknowledged() {
                    return Err("something has not come to a gateway within the limit".to_owned());
                }
            }
            Work::EndInterval(name, is_last) => {
                if !self.components.contains_key(name) {
                    return self.no(format!("no {name}"));
                }
                if !self.end_interval(name, *is_last) {
                    return Err(format!("no interval of {name} ends within the limit"));
                }
            }
            Work::GoOn(name) => drop(self.ended.remove(name)),
            Work::SetAside(end) => {
                if !self.halves.contains_key(end) {
                    return self.no(format!("no {end}"));
                }
                return Ok(Performed::Aside(self.set_aside(end)));
            }
            Work::PutBack(end) => {
                if !self.halves.contains_key(end) || !self.put_back(end) {
                    return self.no(format!("no {end}, or nothing aside of it"));
                }
            }
            Work::DropAside(end) => self.drop_aside(end),
            Work::Positions => return Ok(Performed::Positions(self.positions())),
            Work::Drain(name) => {
                if !self.components.get(name).is_some_and(|made| made.is_active && self.holds) {
                    return self.no(format!("{name} rests, or more may come"));
                }
                self.drained.insert(name.clone());
                let ends = self.ends_of(name);
                if !self.finish(name, &ends) {
                    return Err(format!("{name} does not come to rest"));
                }
            }
            Work::Freeze(name) => {
                let Some(made) = self.components.get(name).filter(|made| !made.is_active) else {
                    return self.no(format!("{name} does not rest"));
                };
                return Ok(Performed::Frozen(made.state.to_le_bytes().to_vec()));
            }
            Work::Thaw(name, state) => {
                self.took_over = true;
                let holds = self.holds;
                let Some(made) = self.components.get_mut(name).filter(|made| !made.is_active && holds) else {
                    return self.no(format!("{name} is active, or something may have come"));
                };
                made.state = u64::from_le_bytes(state.as_slice().try_into().unwrap());
            }
            Work::Renew(name, part) => {
                self.made += 1;
                let number = self.made;
                let Some(made) = self.components.get_mut(name).filter(|made| made.is_failed) else {
                    return self.no(format!("{name} has not failed"));
                };
                let (is_active, is_failed, state, epoch) = (false, false, number, 0);
                *made = Made { part: part.clone(), is_active, is_failed, number, state, epoch };
            }
            Work::Passivate(name) | Work::Activate(name) | Work::ActivateAnew(name) => {
                let is_active = !matches!(work, Work::Passivate(_));
                let waits = self.holds && !self.took_over && !self.drained.contains(name);
                if waits && !is_active && self.components.get(name).is_some_and(|made| made.is_active) {
                    return self.no(format!("something may wait for {name}"));
                }
                if matches!(work, Work::ActivateAnew(_)) {
                    self.forget(name);
                }
                let epoch = self.performs;
                let Some(made) = self.components.get_mut(name) else { return self.no(format!("no {name}")) };
                if made.is_failed && is_active {
                    return Err(format!("{name} has failed"));
                }
                if matches!(work, Work::ActivateAnew(_)) {
                    self.anew.push(name.clone());
                }
                if made.is_active == is_active {
                    return Ok(Performed::Unchanged);
                }
                made.is_active = is_active;
                if is_active {
                    made.epoch = epoch;
                }
                self.ended.remove(name);
            }
        }
        Ok(Performed::Done)
    }

    fn failed(&self) -> Vec<String> {
        self.components.iter().filter(|(_, made)| made.is_failed).map(|(name, _)| name.clone()).collect()
    }

    fn chains(&mut self) -> Vec<ChainStatus> {
        Vec::new()
    }

    fn gateway(&mut self) -> Option<GatewayStatus> {
        None
    }

    fn status(&mut self) -> Vec<ComponentStatus> {
        let status = |(name, made): (&String, &Made)| ComponentStatus {
            name: name.clone(),
            component_type: made.part.component_type.clone(),
            taken: made.number,
            state: if made.is_active { "active" } else { "passive" }.to_owned(),
            ..ComponentStatus::default()
        };
        self.components.iter().map(status).collect()
    }

    fn stop(&mut self) -> Vec<String> {
        // What a process had set aside ends with it.
        self.aside.keys().cloned().collect::<Vec<_>>().iter().for_each(|end| self.drop_aside(end));
        self.halves.clear();
        self.components.clear();
        Vec::new()
    }
}
