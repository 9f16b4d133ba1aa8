//! Does the work of a component server with a container's server.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assembly::{Catalogue, Named};
use container::{
    ByChannel, Chain, ComponentType, Direct, Every, Fault, Hop, Instants, Locality, Report, Server,
    ServerError, State, TakenComponent, TakenContainer,
};
use deployment::{
    Carrier, ChainPart, ChainStatus, ComponentPart, ComponentStatus, ContainerPart, Executor, GatewayPart,
    GatewayStatus, Half, HostWatch, Part, Performed, Work,
};

use crate::describe::{setting_value, value};
use crate::gateway::{self, Running};
use crate::hand_over;
use crate::handler_times::HandlerTimes;
use crate::host;
use crate::lanes::{Lanes, policy};
use crate::recorder::{self, Codec, Recorded};
use crate::replay::setting;
use crate::scores::chain_status;
use crate::topics::{Behind, Carried, Participants, branch, dispatch, served};

/// A container's server with the types that it can make.
pub(crate) struct Runner {
    types: Vec<ComponentType>,
    topics: BTreeMap<&'static str, Carried>,
    catalogue: Catalogue,
    /// There from the first plan on, which says on which cores it is.
    server: Option<Server>,
    participants: Participants,
    gateway: Option<Running>,
    /// How many connections have each end that publishes by the gateway.
    publishing: BTreeMap<String, usize>,
    taken: BTreeMap<String, TakenComponent>,
    taken_containers: BTreeMap<String, TakenContainer>,
    /// Types and containers of what is there, for the status.
    parts: BTreeMap<String, (String, String)>,
    /// Chains that are followed.
    follows: Named<ChainPart>,
    /// What it looks for on its host.
    watches: HostWatch,
    /// How events become bytes, for recordings.
    codecs: Vec<Codec>,
    /// Components that are recorded, and where.
    recorded: BTreeMap<String, PathBuf>,
    /// The times of handlers by component, if they are measured.
    times: Option<BTreeMap<String, Arc<HandlerTimes>>>,
    /// What the system has refused to threads.
    refused: Vec<String>,
    lanes: Lanes,
    /// Until when events of a former plan are waited for.
    finishes_until: Option<Instant>,
}

/// How long a process that is handed over waits for handlers, queues and acknowledgments.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits for events that it alone has; that one is missing would be noticed.
const CATCH_UP: Duration = Duration::from_millis(200);
/// How long one that goes on in its place waits until it has discovered all that the former had.
const DISCOVERY: Duration = Duration::from_secs(5);
/// Refusals of the system that are kept for the status.
const MOST_REFUSED: usize = 32;

/// The environment variable that says which components are recorded: `airframe=/tmp/airframe.mcap`, several with `:` between them.
const RECORD: &str = "PUNCTUAL_RECORD";

/// Components that are recorded, as that variable says, each with its file.
///
/// # Errors
/// A part of it is not `COMPONENT=FILE`.
pub(crate) fn recorded() -> Result<BTreeMap<String, PathBuf>, String> {
    let Some(text) = std::env::var_os(RECORD) else { return Ok(BTreeMap::new()) };
    let text = text.into_string().map_err(|_| format!("{RECORD} is not UTF-8"))?;
    parsed(&text)
}

fn parsed(text: &str) -> Result<BTreeMap<String, PathBuf>, String> {
    let of_one = |one: &str| match one.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(path)))
        }
        _ => Err(format!("{RECORD}={text}: {one:?} is not COMPONENT=FILE")),
    };
    text.split(':').filter(|one| !one.is_empty()).map(of_one).collect()
}

fn text(error: ServerError) -> String {
    error.to_string()
}

/// The settings of a component.
fn settings<'p>(name: &str, part: &'p ComponentPart) -> Result<Vec<(&'p str, container::Value)>, String> {
    let value = |(setting, said): (&'p String, &assembly::Value)| {
        let value = setting_value(said).ok_or_else(|| {
            format!("{name}: {setting} = {}: a setting is a boolean, a number or a text", said.toml())
        })?;
        Ok((setting.as_str(), value))
    };
    part.settings.iter().map(value).collect()
}

impl Runner {
    pub(crate) fn new(
        types: Vec<ComponentType>,
        topics: BTreeMap<&'static str, Carried>,
        catalogue: Catalogue,
        codecs: Vec<Codec>,
        recorded: BTreeMap<String, PathBuf>,
        is_measured: bool,
    ) -> Self {
        Self {
            types,
            topics,
            catalogue,
            server: None,
            participants: Participants::default(),
            gateway: None,
            publishing: BTreeMap::new(),
            taken: BTreeMap::new(),
            taken_containers: BTreeMap::new(),
            parts: BTreeMap::new(),
            follows: Named::new(),
            watches: HostWatch::default(),
            codecs,
            recorded,
            times: is_measured.then(BTreeMap::new),
            refused: Vec::new(),
            lanes: Lanes::default(),
            finishes_until: None,
        }
    }

    /// For how long events of a former plan are waited for still.
    fn left(&self) -> Duration {
        self.finishes_until.map_or(PATIENCE, |until| until.saturating_duration_since(Instant::now()))
    }

    /// The next fault that was not caused by an instruction.
    pub(crate) fn next_report(&mut self) -> Option<Report> {
        let report = self.server.as_ref()?.next_report(Duration::ZERO)?;
        if matches!(report.fault, Fault::Thread(_)) && self.refused.len() < MOST_REFUSED {
            self.refused.push(report.to_string());
        }
        Some(report)
    }

    /// The next thing of interest that happened to the gateway.
    pub(crate) fn next_notice(&self) -> Option<String> {
        self.gateway.as_ref()?.next_report()
    }

    fn server(&mut self) -> Result<&mut Server, String> {
        self.server.as_mut().ok_or_else(|| "there is no plan yet".to_owned())
    }

    fn add_container(&mut self, name: &str, part: &ContainerPart) -> Result<Performed, String> {
        match self.server()?.container(name, policy(part)) {
            Err(ServerError::Twice(_)) if name.is_empty() => Ok(Performed::Unchanged),
            made => {
                made.map_err(text)?;
                self.lanes.add(name, part);
                Ok(Performed::Done)
            }
        }
    }

    fn install(&mut self, name: &str, part: &ComponentPart) -> Result<(), String> {
        let of_type = self.types.iter().find(|of| of.manifest().component == part.component_type).copied();
        let of_type = of_type.ok_or_else(|| self.unknown(&part.component_type))?;
        let settings = settings(name, part)?;
        self.server()?.install_as(&of_type, &part.container, name, &settings).map_err(text)?;
        if let Some(path) = self.recorded.get(name).cloned() {
            let settings = settings.iter().map(|(name, value)| setting(name, value)).collect();
            let (instance, component_type) = (name.to_owned(), part.component_type.clone());
            let build = self.catalogue.components.get(&component_type).and_then(|of| of.build.clone());
            let recorded = Recorded { instance, component_type, build: build.unwrap_or_default(), settings };
            let watch = recorder::begin(&path, &recorded, self.codecs.clone())?;
            self.server()?.watch(name, Arc::new(watch)).map_err(text)?;
        } else if let Some(times) = &mut self.times {
            // Handlers of one that is recorded take longer than they do otherwise.
            let watch = Arc::new(HandlerTimes::default());
            times.insert(name.to_owned(), Arc::clone(&watch));
            self.server()?.watch(name, watch).map_err(text)?;
        }
        self.parts.insert(name.to_owned(), (part.component_type.clone(), part.container.clone()));
        Ok(())
    }

    fn unknown(&self, component_type: &str) -> String {
        let known: Vec<&str> = self.types.iter().map(|of| of.manifest().component).collect();
        format!("this program has no component type {component_type}: it has {}", known.join(", "))
    }

    fn connect(&mut self, half: &Half) -> Result<(), String> {
        let (name, from, to) = (half.name.as_str(), half.from.as_deref(), half.to.as_deref());
        let sources: Vec<&str> = from.into_iter().collect();
        let targets: Vec<&str> = to.into_iter().collect();
        let (filter, parameters) = (half.filter.clone(), half.parameters.clone());
        match &half.carrier {
            Carrier::Call => {
                let (Some(from), Some(to)) = (from, to) else {
                    return Err(format!("{name} has one end only"));
                };
                self.server()?.call(name, from, to).map_err(text)
            }
            Carrier::Direct => {
                self.server()?.connect(name, &sources, &targets, &Direct { filter, parameters }).map_err(text)
            }
            Carrier::Channel(delivery) => {
                let by = served(delivery, filter, parameters);
                self.server()?.connect(name, &sources, &targets, &by).map_err(text)
            }
            Carrier::Topic { domain, topic, event, sureness, depth, delivery } => {
                let by = self.topics.get(event.as_str()).ok_or_else(|| self.no_topic(event))?.topic;
                let participant = self.participants.of(*domain)?;
                let behind = match delivery {
                    Some(delivery) => Behind::Queue(Box::new(served(delivery, filter, parameters))),
                    None => Behind::Thread(Direct { filter, parameters }),
                };
                let service = by(&participant, topic, (*sureness, *depth), behind);
                self.server()?.connect(name, &sources, &targets, &*service).map_err(text)
            }
            Carrier::Gateway { event, source, delivery } => {
                let by = self.topics.get(event.as_str()).ok_or_else(|| self.no_topic(event))?.gateway;
                let running = self.gateway.as_ref().ok_or("the process has no gateway")?;
                let served = served(delivery, filter, parameters);
                let service = by(&running.gateway, event, to.map(|_| source.as_str()), served);
                self.server()?.connect(name, &sources, &targets, &*service).map_err(text)
            }
            Carrier::Join { parts, tree, delivery } => {
                let tree = Some(branch(tree));
                let by = ByChannel { tree, ..served(delivery, filter, parameters) };
                self.server()?.join(name, to.unwrap_or_default(), usize::from(*parts), &by).map_err(text)
            }
            Carrier::Timer { period, worker, logical: None } => {
                let period = Duration::from_nanos(*period);
                let every = Every { period, dispatch: dispatch(*worker), patience: None };
                self.server()?.every(name, to.unwrap_or_default(), every).map_err(text)
            }
            Carrier::Timer { period, worker, logical: Some(logical) } => {
                let (period, interval) =
                    (Duration::from_nanos(*period), Duration::from_nanos(logical.interval));
                let instants = Instants { period, interval, dispatch: dispatch(*worker), patience: None };
                let reads: Vec<&str> = logical.reads.iter().map(String::as_str).collect();
                self.server()?.at_instants(name, to.unwrap_or_default(), &reads, instants).map_err(text)
            }
        }
    }

    /// Makes an end, or counts one more connection that has it.
    fn connect_once(&mut self, half: &Half) -> Result<(), String> {
        if !half.is_shared() {
            return self.connect(half);
        }
        if !self.publishing.contains_key(&half.name) {
            self.connect(half)?;
        }
        *self.publishing.entry(half.name.clone()).or_default() += 1;
        Ok(())
    }

    /// Takes an end apart, unless further connections have it.
    fn disconnect(&mut self, name: &str) -> Result<(), String> {
        match self.publishing.get_mut(name) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.server()?.disconnect(name).map_err(text)?;
                self.publishing.remove(name);
            }
        }
        Ok(())
    }

    /// Has another gateway; the one before ends first, since both may be at one address.
    fn change_gateway(&mut self, next: Option<&GatewayPart>) -> Result<Performed, String> {
        let before = self.gateway.take().map(|running| running.part);
        match next.map(gateway::start).transpose() {
            Ok(running) => self.gateway = running,
            Err(error) => {
                self.gateway = before.and_then(|part| gateway::start(&part).ok());
                return Err(error);
            }
        }
        Ok(Performed::Done)
    }

    fn no_topic(&self, event: &str) -> String {
        let known: Vec<&str> = self.topics.keys().copied().collect();
        format!(
            "events of the type {event} cannot leave this program: list it in serve!(..., topics: [{event}]); it has [{}]",
            known.join(", ")
        )
    }

    /// Follows these chains, and no others. Those that are the same go on with their scores.
    fn follow(&mut self, chains: &Named<ChainPart>) -> Result<Performed, String> {
        let before = std::mem::take(&mut self.follows);
        for (name, part) in before {
            if chains.get(&name) == Some(&part) {
                self.follows.insert(name, part);
            } else {
                self.server()?.unfollow(&name).map_err(text)?;
            }
        }
        for (name, part) in chains {
            if self.follows.contains_key(name) {
                continue;
            }
            let time = |nanos: Option<u64>| nanos.map(Duration::from_nanos);
            let hops = part.hops.iter().map(|hop| {
                let (port, connections) = (hop.port.clone(), hop.connections.clone());
                Hop { port, connections, samples: hop.samples }
            });
            let (reaction, age, period) = (time(part.reaction), time(part.age), time(part.period));
            let hops = hops.collect();
            let connection = part.connection.clone();
            let chain = Chain { name: name.clone(), reaction, age, period, hops, connection };
            self.server()?.follow(chain).map_err(text)?;
            self.follows.insert(name.clone(), part.clone());
        }
        Ok(Performed::Done)
    }

    fn release(&mut self, positions: &[deployment::Position]) -> Result<(), String> {
        let positions = hand_over::read_positions(positions)?;
        self.server()?.release(&positions).map_err(text)
    }

    fn passivate(&mut self, name: &str) -> Result<Performed, String> {
        let server = self.server()?;
        match server.state(name) {
            Some(State::Active | State::Suspended) => {
                server.passivate(name).map(|()| Performed::Done).map_err(text)
            }
            // It does nothing already; one in the error state can be taken out so.
            Some(_) => Ok(Performed::Unchanged),
            None => Err(format!("there is no component {name}")),
        }
    }
}

impl Executor for Runner {
    fn types(&self) -> &Catalogue {
        &self.catalogue
    }

    fn check(&mut self, part: &Part) -> Result<Vec<String>, String> {
        for (name, component) in &part.components {
            let Some(of_type) = self.catalogue.components.get(&component.component_type) else {
                return Err(format!("{name}: {}", self.unknown(&component.component_type)));
            };
            for (setting, value) in &component.settings {
                let known = of_type.settings.get(setting);
                let known = known
                    .ok_or_else(|| format!("{name}: its type has no setting {setting} in this program"))?;
                known.takes(value).map_err(|wrong| format!("{name}: {setting}: {wrong}"))?;
            }
        }
        for half in part.connections.values().flatten() {
            for port in half.from.iter().chain(&half.to) {
                let (name, port) = port.split_once('.').unwrap_or((port, ""));
                // A part of a join is one of its port.
                let port = port.split('#').next().unwrap_or(port);
                let of_type = part.components.get(name).map(|it| &it.component_type);
                let of_type = of_type.and_then(|of_type| self.catalogue.components.get(of_type));
                if of_type.is_some_and(|of_type| !of_type.ports.contains_key(port)) {
                    return Err(format!(
                        "{name}: its type has no port {port} in this program: describe it anew"
                    ));
                }
            }
            if let Carrier::Topic { event, .. } | Carrier::Gateway { event, .. } = &half.carrier
                && !self.topics.contains_key(event.as_str())
            {
                return Err(format!("{}: {}", half.name, self.no_topic(event)));
            }
        }
        part.gateway.as_ref().map_or(Ok(()), gateway::check)?;
        self.lanes.check(part)?;
        let mut warnings = Vec::new();
        if self.server.is_none() {
            if part.locks_memory {
                use nix::sys::mman::{MlockAllFlags, mlockall};
                if let Err(error) = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE) {
                    warnings.push(format!("its memory is not locked: {error}; raise its limit (ulimit -l)"));
                }
            }
            let cores = part.cores.iter().copied().map(usize::from).collect();
            let name = Some(part.process.clone());
            self.server = Some(Server::new(&Locality { name, priority: None, cores }));
        }
        Ok(warnings)
    }

    fn perform(&mut self, work: &Work) -> Result<Performed, String> {
        match work {
            Work::AddContainer(name, part) => return self.add_container(name, part),
            Work::RemoveContainer(name) => {
                drop(self.server()?.take_container(name).map_err(text)?);
                self.lanes.remove(name);
            }
            Work::TakeContainer(name) => {
                let taken = self.server()?.take_container(name).map_err(text)?;
                self.taken_containers.insert(name.clone(), taken);
                self.lanes.take(name);
            }
            Work::ReturnContainer(name) => {
                let taken =
                    self.taken_containers.remove(name).ok_or_else(|| format!("{name} was not taken out"))?;
                self.server()?.give_container_back(taken).map_err(text)?;
                self.lanes.end_taken(name, true);
            }
            Work::EndContainer(name) => {
                drop(self.taken_containers.remove(name));
                self.lanes.end_taken(name, false);
            }
            Work::Install(name, part) => self.install(name, part)?,
            Work::Uninstall(name) => {
                self.parts.remove(name);
                self.times.as_mut().and_then(|times| times.remove(name));
                self.server()?.remove(name).map_err(text)?;
            }
            Work::Take(name) => {
                let taken = self.server()?.take(name).map_err(text)?;
                self.taken.insert(name.clone(), taken);
            }
            Work::Return(name) => {
                let taken = self.taken.remove(name).ok_or_else(|| format!("{name} was not taken out"))?;
                self.server()?.give_back(taken).map_err(text)?;
            }
            Work::End(name) => {
                if let Some(taken) = self.taken.remove(name) {
                    taken.end().map_err(text)?;
                }
            }
            Work::Set(name, setting, said) => {
                let given = said.as_ref().map(|said| setting_value(said).ok_or(said));
                let given = given.transpose().map_err(|said| {
                    format!("{name}: {setting} = {}: a setting is a boolean, a number or a text", said.toml())
                })?;
                let before = self.server()?.set(name, setting, given.as_ref()).map_err(text)?;
                return Ok(Performed::Was(value(&before)));
            }
            Work::Connect(half) => self.connect_once(half)?,
            Work::Disconnect(name) => self.disconnect(name)?,
            Work::Hold => self.server()?.hold(PATIENCE).map_err(text)?,
            Work::Release(positions) => self.release(positions)?,
            Work::Matches => return Ok(Performed::Matched(hand_over::matched(self.server()?))),
            Work::AwaitMatches(all) => {
                let all = hand_over::read_matched(all)?;
                let starts = self.server()?.await_matched(&all, DISCOVERY).map_err(text)?;
                return Ok(Performed::Positions(hand_over::written_positions(starts)));
            }
            Work::CatchUp(starts) => {
                let starts = hand_over::read_positions(starts)?;
                self.server()?.catch_up(&starts, CATCH_UP);
            }
            Work::Drain(name) => self.server()?.drain(name, PATIENCE).map_err(text)?,
            Work::Published => {
                return Ok(Performed::Positions(hand_over::written_positions(self.server()?.published())));
            }
            Work::Within(limit) => {
                self.finishes_until = Instant::now().checked_add(Duration::from_nanos(*limit));
            }
            Work::Arrive(positions) => {
                let (positions, left) = (hand_over::read_positions(positions)?, self.left());
                self.server()?.await_arrival(&positions, left).map_err(text)?;
            }
            Work::ArriveOrSkip(positions) => {
                let (positions, left) = (hand_over::read_positions(positions)?, self.left());
                self.server()?.await_or_skip(&positions, CATCH_UP, left).map_err(text)?;
            }
            Work::Finish(name, ends) => {
                let left = self.left();
                self.server()?.finish(name, ends, left).map_err(text)?;
            }
            Work::HandedOn => {
                let left = self.left();
                let running = self.gateway.as_ref().ok_or("the process has no gateway")?;
                if !running.gateway.await_handed_on(left) {
                    return Err(
                        "what has come to the gateway is still handed on: its consumers are slow".to_owned()
                    );
                }
            }
            Work::Acknowledged => {
                let left = self.left();
                let running = self.gateway.as_ref().ok_or("the process has no gateway")?;
                if !running.gateway.await_acknowledged(left) {
                    return Err("what was published by the gateway has not come to all gateways: one of them is slow, or suspended".to_owned());
                }
            }
            Work::EndInterval(name, is_last) => {
                let left = self.left();
                self.server()?.await_boundary(name, *is_last, left).map_err(text)?;
            }
            Work::GoOn(name) => self.server()?.go_on_at_instants(name),
            Work::SetAside(join) => {
                let events = self.server()?.set_aside(join).map_err(text)?;
                return Ok(Performed::Aside(u64::try_from(events).unwrap_or(u64::MAX)));
            }
            Work::PutBack(join) => self.server()?.put_back(join).map_err(text)?,
            Work::DropAside(join) => self.server()?.drop_aside(join),
            Work::Settle => self.server()?.settle(PATIENCE),
            Work::Freeze(name) => {
                let server = self.server()?;
                if server.state(name) == Some(State::Error) {
                    return Ok(Performed::Unchanged);
                }
                return server.freeze(name).map(Performed::Frozen).map_err(text);
            }
            Work::Thaw(name, state) => self.server()?.thaw(name, state).map_err(text)?,
            Work::Positions => {
                return Ok(Performed::Positions(hand_over::written_positions(self.server()?.positions())));
            }
            Work::Follow(chains) => return self.follow(chains),
            Work::Watch(next) => {
                let server = self.server.as_mut().ok_or("there is no plan yet")?;
                host::watch(&self.watches, next, server, &mut self.participants)?;
                self.watches.clone_from(next);
            }
            Work::Gateway(next) => return self.change_gateway(next.as_ref()),
            Work::Passivate(name) => return self.passivate(name),
            Work::Configured(name) => self.server()?.configured(name).map_err(text)?,
            Work::Activate(name) => self.server()?.activate(name).map_err(text)?,
            Work::ActivateAnew(name) => self.server()?.activate_anew(name).map_err(text)?,
            Work::Renew(name, part) => {
                let settings = settings(name, part)?;
                self.server()?.renew(name, &settings).map_err(text)?;
            }
        }
        Ok(Performed::Done)
    }

    fn status(&mut self) -> Vec<ComponentStatus> {
        let Some(server) = &self.server else { return Vec::new() };
        let there = self.parts.iter().filter_map(|(name, (component_type, container))| {
            let (state, counts) = (server.state(name)?, server.counts(name)?);
            let deliveries = server.deliveries(name);
            Some(ComponentStatus {
                name: name.clone(),
                component_type: component_type.clone(),
                container: container.clone(),
                state: format!("{state:?}").to_lowercase(),
                taken: deliveries.taken,
                dropped: deliveries.dropped,
                missed: counts.missed,
                failed: counts.failed,
                restarts: 0,
                millihertz: 0,
                handlers: self
                    .times
                    .as_ref()
                    .and_then(|all| all.get(name))
                    .map_or_else(Vec::new, |it| it.told()),
            })
        });
        there.collect()
    }

    fn failed(&self) -> Vec<String> {
        let is_failed =
            |name: &&String| self.server.as_ref().and_then(|server| server.state(name)) == Some(State::Error);
        self.parts.keys().filter(is_failed).cloned().collect()
    }

    fn gateway(&mut self) -> Option<GatewayStatus> {
        self.gateway.as_ref().map(Running::status)
    }

    fn refused(&self) -> Vec<String> {
        self.refused.clone()
    }

    fn chains(&mut self) -> Vec<ChainStatus> {
        self.server.iter().flat_map(Server::chains).map(|score| chain_status(&score)).collect()
    }

    fn stop(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Some(mut server) = self.server.take() {
            wrong.extend(server.stop().err().map(text));
        }
        for (_, taken) in std::mem::take(&mut self.taken) {
            wrong.extend(taken.end().err().map(text));
        }
        self.gateway = None;
        wrong.extend(self.participants.leave());
        wrong
    }
}
