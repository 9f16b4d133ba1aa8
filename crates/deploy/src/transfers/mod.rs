//! The network's share: transfers of connections between hosts, computed by the admission of `punctual plan` from the network file that a
//! plan names.
//!
//! A flow counts from its source: the least time between two events, and how late they may be, are those of the analysis of the handlers, which
//! counts transfers in turn. So both are computed in turn until events are no later than the flows allow for.
mod allowed;
mod told;
mod wanted;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assembly::Transfer;
use network::{Network, Texts};
use response::Limits;
use schedulability::{Admission, ConnectionVerdict, Deployed, State, Stream, Transfers};

use crate::command::{BAD_NEWS, Failure};
use crate::files::Loaded;
pub(crate) use told::{export, tell};
use wanted::wanted;

/// How often events are made later at most until flows allow for it.
const ROUNDS: usize = 16;
const NANOSECOND: u64 = 1_000;
const MICROSECOND: u64 = 1_000_000;
/// The largest drift of clocks for which flows are computed, in parts of a million; a clock counts a jitter as longer by so much at most.
const DRIFT: u32 = 1_000;

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
    /// Whether that is that policies do not allow it.
    is_forbidden: bool,
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
    let mut all: Vec<(Texts, Vec<Flow>)> = Vec::new();
    let mut sent = Vec::new();
    for (plan, of_plan) in loaded.iter().enumerate() {
        let Some((texts, network)) = of_plan.network()? else {
            sent.extend(wanted(plan, of_plan, None)?);
            continue;
        };
        let flows = wanted(plan, of_plan, Some(&network))?;
        if let Some(host) =
            all.iter().filter(|(known, _)| !known.is_same(&texts)).find_map(|it| shared(&it.1, &flows))
        {
            let what =
                format!("another plan that runs at the same time sends over {host} by another network file");
            let remedy = "give both plans the same network file: flows of one network are admitted together";
            return Err(of_plan.wrong("network", what, remedy));
        }
        // However plans name it, it is one network.
        match all.iter_mut().find(|(known, _)| known.is_same(&texts)) {
            Some((_, known)) => known.extend(flows),
            None => all.push((texts, flows)),
        }
    }
    let mut transfers = carried(loaded.len(), all.iter().flat_map(|(_, flows)| flows).chain(&sent));
    let are_flows = all.iter().any(|(_, flows)| !flows.is_empty());
    for round in (0..=ROUNDS).take_while(|_| are_flows) {
        let deployed = loaded.iter().zip(&transfers);
        let deployed: Vec<Deployed<'_>> = deployed
            .map(|(loaded, transfers)| Deployed { transfers: Some(transfers), ..loaded.deployed() })
            .collect();
        let admission = schedulability::admit(&deployed, Limits::default());
        let mut is_later = round == 0;
        for flow in all.iter_mut().flat_map(|(_, flows)| flows) {
            is_later |= flow.settle(&admission, round == ROUNDS);
        }
        if !is_later {
            break;
        }
        for (texts, flows) in &mut all {
            planned(texts, flows)?;
        }
        transfers = carried(loaded.len(), all.iter().flat_map(|(_, flows)| flows).chain(&sent));
    }
    for (texts, flows) in &mut all {
        allowed::ask(loaded, texts, flows)?;
    }
    let transfers = carried(loaded.len(), all.iter().flat_map(|(_, flows)| flows).chain(&sent));
    for (loaded, transfers) in loaded.iter().zip(transfers) {
        loaded.carry(transfers);
    }
    let shares = all.into_iter().map(|(texts, flows)| Shares { file: texts.file().to_owned(), flows });
    Ok(shares.filter(|shares| !shares.flows.is_empty()).collect())
}

/// Nothing if policies allow all flows of a plan that have a bound otherwise, whether chains need them or not. `plan` is its place among the
/// plans that were computed.
///
/// # Errors
/// What is not allowed, with its place.
pub(crate) fn demand(loaded: &Loaded, plan: usize, shares: &[Shares]) -> Result<(), Failure> {
    let flows = shares.iter().flat_map(|shares| &shares.flows);
    let forbidden = flows.filter(|flow| flow.plan == plan && flow.is_forbidden);
    let problems = forbidden.filter_map(|flow| {
        let (what, remedy) = flow.bound.clone().err()?;
        let at = loaded.places.at(&format!("connection.{}", flow.connection));
        Some(loaded.source().problem(at, what, remedy))
    });
    let problems: Vec<_> = problems.collect();
    if problems.is_empty() {
        return Ok(());
    }
    let told = loaded.show(&problems);
    Err((BAD_NEWS, format!("{told}  nothing was changed; --unproved goes on all the same")))
}

/// A host from or to which flows of both go.
fn shared<'f>(some: &[Flow], others: &'f [Flow]) -> Option<&'f str> {
    let mut hosts = others.iter().flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]);
    hosts.find(|host| some.iter().any(|flow| flow.from == *host || flow.to == *host))
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
        let unknown = admission.connections.iter().filter(is_of).find_map(|verdict| match &verdict.state {
            State::NoBound { what, remedy } => Some((what.clone(), remedy.clone())),
            _ => None,
        });
        if stream.is_none() && unknown.is_some() && self.separation.1 > 0 {
            // Something else has no bound now, and what this leads to has none with it.
            return false;
        }
        self.is_declared = stream.is_none_or(|stream| stream.jitter.is_err());
        let comes = self.comes(stream);
        let comes = match (stream, unknown) {
            (None, Some(why)) => comes.map_err(|_| why),
            _ => comes,
        };
        let (separation, jitter) = match comes {
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
        // What is kept is what the network was asked with.
        if is_later {
            (self.separation.1, self.jitter.1) = (separation, jitter.max(self.jitter.1));
        }
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
            let jitter = jitter
                .saturating_add(jitter.div_ceil(1_000_000 / u64::from(DRIFT)))
                .saturating_mul(NANOSECOND);
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

/// The network with the flows for which it has a bound, or is to have one.
fn with(texts: &Texts, flows: &[Flow]) -> Result<Network, Failure> {
    let mut added = String::new();
    for flow in flows.iter().filter(|flow| flow.bound.is_ok()) {
        flow.write(&mut added);
    }
    texts.with(&added).map_err(|problem| (BAD_NEWS, problem.to_string()))
}

/// Plans the flows together with those of the network file.
fn planned(texts: &Texts, flows: &mut [Flow]) -> Result<(), Failure> {
    if flows.iter().all(|flow| flow.bound.is_err()) {
        return Ok(());
    }
    let network = with(texts, flows)?;
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
