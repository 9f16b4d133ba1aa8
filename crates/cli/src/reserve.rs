//! `punctual reserve`: sessions over several domains for programs that do not ask for them.
mod ask;
mod described;
mod found;
mod publish;
mod told;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ::keys::Role;
use clap::Args;
use dds::DomainParticipant;
use network::load;
use reservation::{Limits, Overhead, PairId, Plan, Sessions, Share, plan};
use wan_server::DomainFile;

use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::flush;
use crate::stop::Stop;

use ask::{Manager, News};
use described::Described;
use found::Domains;
use publish::Publisher;
use told::Told;

/// How often is looked what discovery has found.
const LOOK: Duration = Duration::from_millis(200);
/// How long a manager has to stop sessions at the end. What it has not stopped by then ends with its time.
const END: Duration = Duration::from_secs(10);
/// What comes from the manager and waits at most.
const WAITING: usize = 1_024;
/// Samples that a reliable writer may repeat in a second for each reader.
const REPAIRS: u32 = 1;
/// Bytes of the largest IP packet: 1,500 less the header of a tunnel.
const PACKET: u32 = 1_460;

/// Command line of `punctual reserve`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual reserve topics.toml --network west.toml --account watch --service alarms --host-share 1ms\n  \
    punctual reserve --network west.toml --account watch --service alarms --peer 10.1.0.2 --peer 10.3.0.2\n\n\
    It watches the DDS domain and asks the manager of its own domain (punctual rm serve) for a session for each host of writers there and host of\n\
    readers elsewhere. The programs are left as they are. Topics are described as for `punctual advise`. See docs/wan.md.")]
pub(crate) struct Arguments {
    /// What topics are for, as `punctual advise` takes it; without it all comes from QoS
    #[arg(value_name = "TOPICS")]
    topics: Option<PathBuf>,
    /// Only topics of the file get sessions: TRANSPORT_PRIORITY and LATENCY_BUDGET of others ask for nothing
    #[arg(long, requires = "topics")]
    described_only: bool,
    /// The file of the manager, which says whose addresses are whose
    #[arg(long, value_name = "FILE")]
    network: PathBuf,
    /// The user of that file in whose name sessions are asked for. It is for this command alone: other sessions of it are stopped
    #[arg(long, value_name = "NAME")]
    account: String,
    /// The session service
    #[arg(long, value_name = "NAME")]
    service: String,
    /// What a host takes of a limit whose participants announce no share, as in 1ms; 0 if limits are from edge to edge
    #[arg(long, value_name = "TIME", value_parser = share)]
    host_share: Option<u64>,
    /// What is reserved for discovery in each direction of a session, as in '20 kbit/s'. Without it nothing is
    #[arg(long, value_name = "RATE", value_parser = network::rate)]
    discovery: Option<u64>,
    /// A folder with keys as `punctual grm keys` makes them: what programs are told of their sessions is signed with the manager's
    #[arg(long, value_name = "FOLDER")]
    keys: Option<PathBuf>,
    /// Prints one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    domain: DomainOptions,
}

fn share(text: &str) -> Result<u64, String> {
    let time = crate::span::parse(text)?;
    let nanoseconds = u64::try_from(time.as_nanos()).ok().filter(|_| !time.is_infinite());
    nanoseconds.ok_or_else(|| format!("{text:?} is no time that ends; give one as 1ms"))
}

/// Reserves until it is asked to end.
///
/// # Errors
/// What is wrong with a file, with its place; a file that cannot be read; a domain that cannot be joined.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let usage = |problem: diagnostics::Problem| Failure::Usage(problem.to_string());
    let text = load(&arguments.network).map_err(Failure::Usage)?;
    let network = DomainFile::read(&arguments.network.to_string_lossy(), &text).map_err(usage)?;
    let mut described = match &arguments.topics {
        None => Described::default(),
        Some(path) => Described::read(path)?,
    };
    described.is_all = arguments.described_only;
    let overhead = Overhead {
        around: control::foreign::aggregate::AROUND,
        control: control::foreign::aggregate::CONTROL,
        heartbeat: control::foreign::Overhead::default().heartbeat,
        repairs: REPAIRS,
        packet: PACKET,
        discovery: arguments.discovery.unwrap_or(0),
    };
    let own = network.config.asn;
    let domains = Domains {
        network: &network,
        share: arguments.host_share.map(|time| Share { time, is_announced: false }),
    };
    let credentials: Option<Arc<dyn wire::seal::Credentials>> = match &arguments.keys {
        None => None,
        Some(folder) => {
            let keys = credentials::KeyFolder::load(folder, &Role::Manager.to_string());
            Some(Arc::new(keys.map_err(|problem| Failure::Usage(problem.to_string()))?) as _)
        }
    };
    let participant = arguments.domain.join("punctual reserve")?;
    let (tell, news) = sync_channel(WAITING);
    let manager = Manager::new(&network.config, &arguments.account, &arguments.service, tell)?;
    let mut reserving = Reserving {
        sessions: Sessions::new(Limits::default()),
        told: Told::new(arguments.json),
        publisher: Publisher::new(&participant, own, credentials)?,
        manager,
        start: Instant::now(),
    };
    let mut looked: Option<Instant> = None;
    let mut matched = BTreeSet::new();
    let mut is_ending = None;
    loop {
        match news.recv_timeout(LOOK / 2) {
            Ok(news) => reserving.hear(news),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::System("the manager is not watched any more".to_owned()));
            }
        }
        if stop.requested() && is_ending.is_none() {
            is_ending = Some(Instant::now());
            reserving.wants(Plan::default());
        }
        match is_ending {
            Some(since) if reserving.sessions.is_idle() || since.elapsed() >= END => {
                return Ok(Outcome::Done);
            }
            Some(_) => {}
            None if looked.is_none_or(|at| at.elapsed() >= LOOK) => {
                looked = Some(Instant::now());
                let plan = needed(
                    &participant,
                    &domains,
                    &described,
                    own,
                    &overhead,
                    (&mut reserving.told, &mut reserving.publisher),
                    &mut matched,
                );
                reserving.wants(plan);
            }
            None => {}
        }
        reserving.sessions.timeout(reserving.now());
        reserving.act();
        reserving.publisher.again();
    }
}

/// What discovery says is needed.
fn needed(
    participant: &DomainParticipant,
    domains: &Domains<'_>,
    described: &Described,
    own: wan::Asn,
    overhead: &Overhead,
    (told, publisher): (&mut Told, &mut Publisher),
    matched: &mut BTreeSet<PairId>,
) -> Plan {
    let found = found::pairs(participant, domains, described, matched);
    let mut plan = plan(own, &found.pairs, overhead);
    // What is ambiguous is of no session, and its reason is the better one.
    plan.reasons.extend(found.ambiguous);
    told.know(&found.pairs);
    told.know(&found.unproved);
    publisher.know(found.pairs.iter().chain(&found.unproved));
    told.cut(found.is_cut);
    *matched = found.matched;
    plan
}

struct Reserving {
    sessions: Sessions,
    told: Told,
    publisher: Publisher,
    manager: Manager,
    start: Instant,
}

impl Reserving {
    /// Nanoseconds since the beginning.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wants(&mut self, plan: Plan) {
        self.sessions.wants(self.now(), plan);
        self.act();
    }

    fn hear(&mut self, news: News) {
        let now = self.now();
        match news {
            News::Here => self.sessions.manager_is_here(now),
            News::Away(why) => {
                self.told.away(&why);
                self.sessions.manager_is_away(now);
            }
            News::Begun(session) => self.sessions.has_begun(now, &session),
            News::Changed(session, change) => self.sessions.has_changed(now, &session, change),
            News::Ended(session, why) => self.sessions.has_ended(now, &session, &why),
            News::Answer(ticket, answer) => self.sessions.answered(now, ticket, answer),
        }
    }

    fn act(&mut self) {
        for action in self.sessions.take_actions() {
            match action {
                reservation::Action::Tell(id, verdict) => {
                    self.told.tell(id, &verdict);
                    self.publisher.tell(id, &verdict);
                }
                other => self.manager.ask(&other),
            }
        }
        flush();
    }
}
