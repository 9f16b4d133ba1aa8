//! The network's share: transfers of connections between hosts, computed by the admission of `punctual plan` from the network file that a
//! plan names.
//!
//! A flow counts from its source: the least time between two events, and how late they may be, are those of the analysis of the handlers, which
//! counts transfers in turn. So both are computed in turn until events are no later than the flows allow for.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use assembly::{Chain, End, Link, ServiceKind, Transfer};
use diagnostics::Problem;
use network::{Network, Texts};
use response::Limits;
use schedulability::{Admission, ConnectionVerdict, Deployed, Stream, Transfers};

use crate::admit;
use crate::command::{BAD_NEWS, FAILED, Failure, print};
use crate::files::Loaded;

/// How often events are made later at most until flows allow for it.
const ROUNDS: usize = 16;
/// The limit of a flow for which the plan has none, in picoseconds.
const NO_LIMIT: u64 = 1_000_000_000_000;
/// By how many parts of a thousand million a clock drifts if a plan does not say.
const DRIFT: u32 = 200_000;
/// Most bytes that a sample has behind its event if chains pass its connection: the stamps by which they are measured, one for each place of a
/// chain in the component that pushes.
const STAMPS: u32 = 64;
const STAMP: u32 = 512;
const NANOSECOND: u64 = 1_000;
const MICROSECOND: u64 = 1_000_000;
/// The most that clocks of the analysis are off from true time for jitters, as parts of 1000: more than any drift that a plan should have.
const CLOCKS: u64 = 1_000;

/// A flow from a host to a process elsewhere that takes events of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The plan, from 0.
    plan: usize,
    /// The connection.
    pub(crate) connection: String,
    /// What it is called among the flows of the network.
    name: String,
    /// The topics that the connection may go by, of which it has one.
    topics: Vec<String>,
    /// The ends of the connection in the process.
    ends: Vec<(usize, String)>,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Bytes of the largest sample.
    size: u32,
    /// What the plan says of the time between events and of their lateness, in picoseconds.
    separation: (Option<u64>, u64),
    jitter: (Option<u64>, u64),
    /// Whether nothing else is known of these.
    is_declared: bool,
    /// What the hosts take, in picoseconds.
    pub(crate) send: u64,
    pub(crate) receive: u64,
    is_measured: bool,
    /// What the network is asked for.
    limit: u64,
    /// The bound that the network gives, in picoseconds; or why there is none, and what to do.
    pub(crate) bound: Result<u64, (String, String)>,
}

/// The flows of plans over a network.
#[derive(Debug)]
pub(crate) struct Shares {
    /// The network file.
    pub(crate) file: String,
    pub(crate) flows: Vec<Flow>,
}

/// Computes the transfers of plans that run at the same time, and leaves them with each.
///
/// # Errors
/// A network file cannot be read or is wrong, or has no such host.
pub(crate) fn compute(loaded: &[Loaded]) -> Result<Vec<Shares>, Failure> {
    let mut all: BTreeMap<String, (Texts, Vec<Flow>)> = BTreeMap::new();
    let mut sent = Vec::new();
    for (plan, of_plan) in loaded.iter().enumerate() {
        let Some(file) = of_plan.network_file() else {
            sent.extend(wanted(plan, of_plan, None)?);
            continue;
        };
        let (texts, network) = opened(of_plan, &file)?;
        let flows = wanted(plan, of_plan, Some(&network))?;
        all.entry(file.display().to_string()).or_insert_with(|| (texts, Vec::new())).1.extend(flows);
    }
    let mut transfers = carried(loaded.len(), all.values().flat_map(|(_, flows)| flows).chain(&sent));
    for round in 0..=ROUNDS {
        let deployed = loaded.iter().zip(&transfers);
        let deployed: Vec<Deployed<'_>> = deployed
            .map(|(loaded, transfers)| Deployed { transfers: Some(transfers), ..loaded.deployed() })
            .collect();
        let admission = schedulability::admit(&deployed, Limits::default());
        let mut is_later = round == 0;
        for flow in all.values_mut().flat_map(|(_, flows)| flows) {
            is_later |= flow.settle(&admission, round == ROUNDS);
        }
        if !is_later {
            break;
        }
        for (texts, flows) in all.values_mut() {
            planned(texts, flows)?;
        }
        transfers = carried(loaded.len(), all.values().flat_map(|(_, flows)| flows).chain(&sent));
    }
    for (loaded, transfers) in loaded.iter().zip(transfers) {
        loaded.carry(transfers);
    }
    Ok(all.into_iter().map(|(file, (_, flows))| Shares { file, flows }).collect())
}

/// The network file of a plan.
fn opened(loaded: &Loaded, file: &Path) -> Result<(Texts, Network), Failure> {
    match Texts::open(file) {
        Ok(network) => Ok(network),
        Err(Problem { place: None, what, .. }) => {
            let what = format!("the network file {} cannot be read: {what}", file.display());
            Err(wrong(
                loaded,
                "network",
                what,
                "name a network file, relative to the plan; docs/plan.md shows one",
            ))
        }
        Err(problem) => Err((BAD_NEWS, problem.to_string())),
    }
}

fn wrong(loaded: &Loaded, path: &str, what: String, remedy: &str) -> Failure {
    let problem = loaded.source().problem(loaded.places.at(path), what, remedy);
    (BAD_NEWS, loaded.show(&[problem]))
}

/// The flows of a plan that names a network: of connections that go by DDS to other hosts and do not say a transfer themselves. Without the
/// network none has a bound.
fn wanted(plan: usize, loaded: &Loaded, network: Option<&Network>) -> Result<Vec<Flow>, Failure> {
    let Some(file) = &loaded.plan.network else { return Ok(Vec::new()) };
    let layout = loaded.plan.layout();
    let place = |end: &End| end.component().and_then(|component| layout.place_of(component));
    let mut flows: BTreeMap<(String, String), Flow> = BTreeMap::new();
    for link in layout.links() {
        let (Some(from), Some(to)) = (place(link.from), place(link.to)) else { continue };
        let (Some(source), Some(sink)) = (from.host, to.host) else { continue };
        if link.kind != ServiceKind::Dds || link.connection.transfer.is_some() || source == sink {
            continue;
        }
        for (host, network) in [source, sink].into_iter().filter_map(|host| Some((host, network?))) {
            if !network.hosts().iter().any(|known| known.name == host) {
                let known: Vec<&str> = network.hosts().iter().map(|host| host.name.as_str()).collect();
                let what =
                    format!("the network file {file} has no host \"{host}\", where \"{}\" goes", link.name);
                let remedy = format!(
                    "hosts have the same names in both files; those of the network are {}",
                    known.join(", ")
                );
                return Err(wrong(loaded, &format!("host.{host}"), what, &remedy));
            }
        }
        let key = (link.name.to_owned(), to.process.to_owned());
        let end = (link.index, link.to.to_string());
        match flows.get_mut(&key) {
            Some(flow) => flow.ends.push(end),
            None => drop(
                flows.insert(key, flow_of(plan, loaded, network, &link, [source, sink], to.process, end)),
            ),
        }
    }
    Ok(flows.into_values().collect())
}

fn flow_of(
    plan: usize,
    loaded: &Loaded,
    network: Option<&Network>,
    link: &Link<'_>,
    [from, to]: [&str; 2],
    process: &str,
    end: (usize, String),
) -> Flow {
    let deployment = deployment::deployment_name(&loaded.plan);
    let costs = |host: &str| loaded.plan.hosts.get(host).and_then(|host| host.costs.as_ref());
    let (send, receive) = (costs(from).and_then(|it| it.send), costs(to).and_then(|it| it.receive));
    let lacks = |what: String, remedy: &str| Err((what, remedy.to_owned()));
    // Parts of a million, rounded up.
    let drift = |host: &str| costs(host).and_then(|it| it.drift).unwrap_or(DRIFT).div_ceil(1_000);
    let clocks = network.map_or(u32::MAX, Network::clock_drift);
    let bound = match (link.connection.size, send, receive) {
        _ if network.is_none() => lacks(
            "the network file is not sent with a plan to a manager of several hosts".to_owned(),
            "punctual deploy admit PLAN --write FILE computes the transfers and writes a plan with them",
        ),
        (None, _, _) => lacks(
            format!("it is not said how large events of \"{}\" are", link.name),
            "add size = BYTES: those of the largest event, serialized; or transfer = { most = TIME }",
        ),
        (_, None, _) => lacks(
            format!("it is not said how long {from} takes to send an event"),
            "add send = TIME to its costs: from the push until its port has all frames",
        ),
        (_, _, None) => lacks(
            format!("it is not said how long {to} takes to receive an event"),
            "add receive = TIME to its costs: from the last frame until the event is in the queue",
        ),
        _ if drift(from).max(drift(to)) > clocks => lacks(
            format!("clocks of {from} or {to} drift more than the {clocks} ppm of the network file"),
            "say the same in both files: clock-drift",
        ),
        _ => Ok(0),
    };
    let mut topics = vec![format!("{deployment}/{}", link.name)];
    let is_traced = loaded.plan.chains.values().any(|chain| passes(chain, link));
    if is_traced {
        topics.push(format!("{deployment}/{}/traced", link.name));
    }
    let places = loaded.plan.chains.values().flat_map(|chain| &chain.path);
    let places = places.filter(|end| end.component() == link.from.component()).count();
    let stamps = STAMPS.saturating_add(STAMP.saturating_mul(u32::try_from(places).unwrap_or(u32::MAX)));
    let stamps = if is_traced { stamps } else { 0 };
    Flow {
        plan,
        connection: link.name.to_owned(),
        name: format!("{deployment}/{} to {process}", link.name),
        topics,
        ends: vec![end],
        from: from.to_owned(),
        to: to.to_owned(),
        size: link.connection.size.unwrap_or(0).saturating_add(stamps),
        separation: (link.connection.separation, 0),
        jitter: (link.connection.jitter, 0),
        is_declared: false,
        send: send.unwrap_or(0),
        receive: receive.unwrap_or(0),
        is_measured: [from, to].into_iter().any(|host| costs(host).is_some_and(|costs| costs.is_measured)),
        limit: limit(loaded, link),
        bound,
    }
}

/// What a flow asks the network for: of the least limit of its connection and of chains that pass it, the part that is left to each connection
/// between hosts if the hosts have one part, too.
fn limit(loaded: &Loaded, link: &Link<'_>) -> u64 {
    let layout = loaded.plan.layout();
    let host = |end: &End| layout.place_of(end.component()?)?.host;
    let own = link.connection.latency.map(|limit| limit / 2);
    let of_chains = loaded.plan.chains.values().filter(|chain| passes(chain, link)).filter_map(|chain| {
        let hosts: Vec<&str> = chain.path.iter().filter_map(host).collect();
        let hops = hosts.windows(2).filter(|pair| pair.first() != pair.last()).count();
        let least = chain.reaction.into_iter().chain(chain.age).min()?;
        Some(least / (u64::try_from(hops).unwrap_or(u64::MAX).saturating_add(1)))
    });
    own.into_iter().chain(of_chains).min().unwrap_or(NO_LIMIT).max(NANOSECOND)
}

/// Whether a chain may pass a connection: it has a port of the component that pushes, and then the end.
fn passes(chain: &Chain, link: &Link<'_>) -> bool {
    let at = chain
        .path
        .iter()
        .position(|end| end.component().is_some() && end.component() == link.from.component());
    at.is_some_and(|at| chain.path.iter().skip(at).any(|end| end == link.to))
}

impl Flow {
    /// Takes over when events come by the analysis. Whether they come later or oftener than the flow allowed for; in the `last` round that is
    /// an error.
    fn settle(&mut self, admission: &Admission, last: bool) -> bool {
        if self.bound.is_err() {
            return false;
        }
        let is_of = |verdict: &&ConnectionVerdict| {
            verdict.plan == self.plan
                && verdict.name == self.connection
                && self.ends.iter().any(|(_, to)| *to == verdict.to)
        };
        let stream = admission.connections.iter().filter(is_of).find_map(|verdict| verdict.stream);
        self.is_declared = stream.is_none();
        let (separation, jitter) = match self.comes(stream) {
            Ok(comes) => comes,
            Err(why) => {
                self.bound = Err(why);
                return true;
            }
        };
        let is_later = separation != self.separation.1 || jitter > self.jitter.1;
        if is_later && last {
            let what = format!(
                "events of \"{}\" come later the later others come, without an end that was found",
                self.connection
            );
            self.bound =
                Err((what, "add jitter = TIME to the connection, or transfer = { most = TIME }".to_owned()));
        }
        (self.separation.1, self.jitter.1) = (separation, jitter.max(self.jitter.1));
        is_later
    }

    /// The least time between events and how late they may be, in picoseconds: what the plan says, if the analysis does not know otherwise.
    fn comes(&self, stream: Option<Stream>) -> Result<(u64, u64), (String, String)> {
        let name = &self.connection;
        let Some(stream) = stream else {
            let lacks = || {
                let what = format!(
                    "it is not known how often events of \"{name}\" come: no single source makes them all"
                );
                (
                    what,
                    "add separation = TIME to the connection: the least time between two of them; and jitter"
                        .to_owned(),
                )
            };
            return Ok((self.separation.0.ok_or_else(lacks)?, self.jitter.0.unwrap_or(0)));
        };
        let period = stream.period.saturating_mul(NANOSECOND);
        let separation = self.separation.0.unwrap_or(period);
        if separation > period {
            let what = format!("events of \"{name}\" come every {}", diagnostics::written(period));
            return Err((
                what,
                format!("separation = \"{}\", or leave it out", diagnostics::written(period)),
            ));
        }
        let jitter = stream.jitter.map(|jitter| {
            let jitter = jitter.saturating_add(jitter.div_ceil(CLOCKS)).saturating_mul(NANOSECOND);
            jitter.div_ceil(MICROSECOND).saturating_mul(MICROSECOND)
        });
        match (jitter, self.jitter.0) {
            (Ok(jitter), Some(said)) if jitter > said => {
                let jitter = diagnostics::written(jitter);
                Err((
                    format!("events of \"{name}\" may be {jitter} late"),
                    format!("jitter = \"{jitter}\", or leave it out"),
                ))
            }
            (Ok(_) | Err(_), Some(said)) => Ok((separation, said)),
            (Ok(jitter), None) => Ok((separation, jitter)),
            (Err(_), None) => {
                let what = format!(
                    "it is not known how late events of \"{name}\" may be: the handler that pushes them has no bound"
                );
                Err((
                    what,
                    "give it a lane of the class fifo on one core; or add transfer = { most = TIME }"
                        .to_owned(),
                ))
            }
        }
    }

    /// The flow as a network file has it.
    fn write(&self, text: &mut String) {
        let Self { name, connection, from, to, size, send, limit, .. } = self;
        let (separation, jitter) = (self.separation.1, self.jitter.1.saturating_add(*send));
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"{name}\"\ntopic = \"{connection}\"\npublisher = \"{from}\"\nsubscribers = [{{ host = \"{to}\", limit = \"{limit} ps\" }}]\n\
             size = {size}\nseparation = \"{separation} ps\"\njitter = \"{jitter} ps\"\nemission = \"{send} ps\"\n"
        );
    }

    /// The transfer from the push to the queue, if the network has admitted the flow.
    fn transfer(&self) -> Result<Transfer, (String, String)> {
        let on_the_wire = self.bound.clone()?;
        let most = self.send.saturating_add(on_the_wire).saturating_add(self.receive);
        Ok(Transfer { least: 0, most, is_measured: self.is_measured })
    }
}

/// Plans the flows together with those of the network file.
fn planned(texts: &Texts, flows: &mut [Flow]) -> Result<(), Failure> {
    if flows.iter().all(|flow| flow.bound.is_err()) {
        return Ok(());
    }
    let mut added = String::new();
    for flow in flows.iter().filter(|flow| flow.bound.is_ok()) {
        flow.write(&mut added);
    }
    let network = texts.with(&added).map_err(|problem| (BAD_NEWS, problem.to_string()))?;
    let report = plan::plan(&network);
    let known: BTreeMap<&str, &plan::FlowReport> =
        report.flows.iter().map(|flow| (flow.name.as_str(), flow)).collect();
    for flow in flows.iter_mut().filter(|flow| flow.bound.is_ok()) {
        let found = known.get(flow.name.as_str());
        let bound = found.and_then(|found| found.subscribers.first()?.bound_ps);
        flow.bound = match (found, bound) {
            (Some(found), Some(bound)) if found.admitted => Ok(bound),
            (found, _) => {
                let reason = found.and_then(|found| found.reason.as_deref()).unwrap_or("it has no bound");
                let offer = |what: &str, time: Option<u64>| {
                    time.map(|time| format!("it would admit a {what} of {}", diagnostics::written(time)))
                };
                let offers = found.map(|found| {
                    [
                        offer("latency", found.offered_latency_ps),
                        offer("separation", found.offered_separation_ps),
                    ]
                });
                let offers: Vec<String> = offers.into_iter().flatten().flatten().collect();
                let limit = diagnostics::written(flow.limit);
                let remedy = if offers.is_empty() {
                    "take load off the links on its way, or flows out of the network file".to_owned()
                } else {
                    format!(
                        "{}; the limits of the connection and its chains say what it asks for",
                        offers.join(", ")
                    )
                };
                Err((
                    format!("{} refuses \"{}\" within {limit}: {reason}", texts.file(), flow.connection),
                    remedy,
                ))
            }
        };
    }
    Ok(())
}

/// The transfers of flows, by plan.
fn carried<'f>(plans: usize, flows: impl Iterator<Item = &'f Flow>) -> Vec<Transfers> {
    let mut all = vec![Transfers::new(); plans];
    for flow in flows {
        let Some(transfers) = all.get_mut(flow.plan) else { continue };
        for (index, _) in &flow.ends {
            transfers.insert((flow.connection.clone(), *index), flow.transfer());
        }
    }
    all
}

/// Says what the network gives each connection, and which transfers are no more than declared.
///
/// # Errors
/// Nothing can be written.
pub(crate) fn tell(loaded: &[Loaded], shares: &[Shares], out: &mut dyn Write) -> Result<(), Failure> {
    for (flow, file) in shares.iter().flat_map(|shares| shares.flows.iter().map(|flow| (flow, &shares.file)))
    {
        let Flow { connection, from, to, send, receive, .. } = flow;
        let Ok(bound) = flow.bound else { continue };
        let [bound, send, receive] =
            [bound, *send, *receive].map(|time| admit::time(time.div_ceil(NANOSECOND)));
        let (separation, jitter) =
            (diagnostics::written(flow.separation.1), diagnostics::written(flow.jitter.1));
        let kind = if flow.is_declared { "declared" } else { "of the analysis" };
        print(
            out,
            format_args!(
                "transfer of {connection} from {from} to {to}: at most {bound} in the network by {file}, {send} to send, {receive} to receive\n  \
                 for an event every {separation}, at most {jitter} late, {kind}\n"
            ),
        )?;
    }
    for loaded in loaded.iter().filter(|loaded| loaded.plan.network.is_some()) {
        for (name, transfer) in
            loaded.plan.connections.iter().filter_map(|(name, it)| Some((name, it.transfer?)))
        {
            let most = admit::time(transfer.most.div_ceil(NANOSECOND));
            let how = if transfer.is_measured { "measured" } else { "declared" };
            print(out, format_args!("transfer of {name}: at most {most}, {how}, not computed\n"))?;
        }
    }
    Ok(())
}

/// Writes the flows that were admitted as a flow file of `punctual grm`, which asks the network for what the proof counts with.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn export(shares: &[Shares], file: &Path) -> Result<usize, Failure> {
    let mut text = "# Flows of deployment plans, for: punctual grm --flows; see docs/grm.md\n".to_owned();
    let (mut known, mut count) = (BTreeSet::new(), 0);
    for flow in shares.iter().flat_map(|shares| &shares.flows) {
        let Ok(bound) = flow.bound else { continue };
        if !known.insert((&flow.topics, &flow.from, &flow.to)) {
            continue;
        }
        count += 1;
        let nanoseconds = |time: u64| time.div_ceil(NANOSECOND);
        for topic in &flow.topics {
            let _ = write!(
                text,
                "\n[[topic]]\nname = \"{topic}\"\nfrom = [\"{}\"]\nto = [\"{}\"]\nsize = {}\nseparation = \"{} ns\"\njitter = \"{} ns\"\n\
                 emission = \"{} ns\"\nlatency = \"{} ns\"\n",
                flow.from,
                flow.to,
                flow.size,
                flow.separation.1 / NANOSECOND,
                nanoseconds(flow.jitter.1.saturating_add(flow.send)),
                nanoseconds(flow.send),
                nanoseconds(bound),
            );
        }
    }
    std::fs::write(file, text).map_err(|error| (FAILED, format!("{}: {error}", file.display())))?;
    Ok(count)
}
