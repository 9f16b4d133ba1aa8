//! A manager as a program: its file, its keys and its store are opened, its threads and tasks begin, and it works until Ctrl-C.
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel as std_channel;

use connections::accept;
use connections::local::{Listening, NotListening};
use keys::{Identity, Role};
use store::FileStore;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Sender, channel};
use wan::{ResourceManager, SessionId};

use crate::authorization;
use crate::backend::{self, Backend, Done};
use crate::bgp_watch;
use crate::callees::CalleePolicy;
use crate::command::{BAD_NEWS, DONE, FAILED, Failure, WRONG, WebOptions, print};
use crate::control::{self, Client};
use crate::declared::Declared;
use crate::domain_file::{DomainFile, Within};
use crate::durable;
use crate::event::Event;
use crate::held_back::HeldBack;
use crate::incoming::{self, Incoming};
use crate::link_watch;
use crate::linux_routers::LinuxRouters;
use crate::looks::Looks;
use crate::outgoing::{self, Outgoing};
use crate::page;
use crate::running_manager::{self, Clock, OtherManager, Running};
use crate::told_paths::ToldPaths;

/// Events that wait at most; connections wait then.
const WAITING: usize = 1_024;

/// Reads a file, or says what is wrong with it.
pub(crate) fn read(file: &Path) -> Result<DomainFile, Failure> {
    DomainFile::open(file).map_err(|what| (WRONG, what))
}

/// Takes away all that a manager has set up at the routers of a domain.
///
/// # Errors
/// The file, a manager of the domain that runs, a domain without devices, a router that is not cleared, or a LAN whose manager does not answer.
pub(crate) fn clear(path: &Path, out: &mut dyn Write) -> Result<u8, Failure> {
    let file = read(path)?;
    let asn = file.config.asn.0;
    if matches!(file.inside, Within::Declared(_)) {
        return Err((
            WRONG,
            format!("AS {asn} sets no device up: its file has no [linux], no [ovs] and no [lan]"),
        ));
    }
    if Client::open(&control::socket(asn).map_err(failed)?).map_err(failed)?.is_some() {
        return Err((BAD_NEWS, format!("the manager of AS {asn} runs: end it first")));
    }
    let (cleared, what) = match &file.inside {
        Within::Declared(_) => (Ok(()), "devices have no rules"),
        Within::Linux(routers) => (routers.clear(), "routers have no rules"),
        Within::Ovs(switches) => (switches.clear(), "switches have no rules"),
        Within::Lan(plan) => (plan.clear(path), "LAN has no tunnels"),
    };
    cleared.map_err(|what| failed(format!("AS {asn}: {what}")))?;
    print(out, format_args!("AS {asn}: its {what} of a manager\n"))?;
    Ok(DONE)
}

/// Runs until Ctrl-C.
///
/// # Errors
/// The file, the keys, the store or an address cannot be used.
pub(crate) fn run(
    path: &Path,
    keys: &Path,
    store: &Path,
    web: &WebOptions,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let file = read(path)?;
    let asn = file.config.asn;
    let identity =
        Identity::load(keys, Role::Domain(asn.0)).map_err(|error| (WRONG, format!("--keys: {error}")))?;
    let socket = control::socket(asn.0).map_err(failed)?;
    let node = authorization::node(path, &file).map_err(|what| (WRONG, what))?;
    let web = page::settings(web).map_err(|what| (WRONG, what))?;
    let (tell, events) = channel(WAITING);
    // Before the store is opened: who finds another manager at work does not touch what is its.
    let listening = listen(&socket, &tell)?;
    let mut store = FileStore::open(store).map_err(|error| failed(error.to_string()))?;
    let (epoch, records) = durable::begin(&mut store).map_err(failed)?;
    let held = records.len();
    let clock = Clock::new();
    let (machine, first) = ResourceManager::new(file.config.clone(), epoch, clock.now(), records);
    let (writes, written) = std_channel();
    let told = tell.clone();
    durable::run(Box::new(store), written, move |news| told.blocking_send(Event::Written(news)).is_ok())
        .map_err(|error| failed(error.to_string()))?;
    let backend: Box<dyn Backend> = match &file.inside {
        Within::Declared(inside) => Box::new(Declared::new(inside.clone())),
        Within::Linux(routers) => {
            Box::new(LinuxRouters::start(routers, running_manager::tell).map_err(failed)?)
        }
        Within::Ovs(switches) => Box::new(switches.start(running_manager::tell).map_err(failed)?),
        Within::Lan(plan) => Box::new(plan.start(path, running_manager::tell).map_err(failed)?),
    };
    let links = match &file.inside {
        Within::Declared(_) | Within::Lan(_) => None,
        Within::Linux(routers) => Some(routers.links()),
        Within::Ovs(switches) => Some(switches.links()),
    };
    if let Some(links) = links {
        let told = tell.clone();
        let tell_link = move |news| told.blocking_send(Event::Link(news)).is_ok();
        link_watch::run(&links, clock, tell_link, running_manager::tell)
            .map_err(|error| failed(error.to_string()))?;
    }
    if let Some(source) = file.bgp.clone() {
        let told = tell.clone();
        let tell_news = move |news| told.blocking_send(Event::Bgp(news)).is_ok();
        bgp_watch::run(source, file.config.clone(), tell_news).map_err(|error| failed(error.to_string()))?;
    }
    let caveat = backend.caveat();
    let (commands, commanded) = std_channel();
    let told = tell.clone();
    let tell_done = move |done| {
        let event = match done {
            Done::Commands(count, answers) => Event::Backend(count, answers),
            Done::Counted(delivered) => Event::Counted(delivered),
        };
        told.blocking_send(event).is_ok()
    };
    backend::run(backend, commanded, node.is_some(), tell_done).map_err(|error| failed(error.to_string()))?;
    interrupted(&tell)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    runtime
        .block_on(async {
            let listener = TcpListener::bind(file.listen).await.map_err(|error| {
                failed(format!("{}: {error}; `listen` of the file is an address of this host", file.listen))
            })?;
            let server = identity.server().map_err(|error| failed(error.to_string()))?;
            let (accepted, arrivals) = channel(1);
            tokio::spawn(accept(listener, Some(server), "managers of other domains", accepted));
            let false_messages = Arc::new(AtomicU64::new(0));
            let incoming = Incoming {
                own: asn,
                known: Arc::new(file.managers.keys().copied().collect()),
                false_messages: Arc::clone(&false_messages),
            };
            tokio::spawn(incoming::run(incoming, arrivals, tell.clone()));
            let mut others = BTreeMap::new();
            for (other, address) in &file.managers {
                let outgoing = Arc::new(Outgoing::default());
                let sends = outgoing::run(
                    other.0,
                    address.clone(),
                    identity.clone(),
                    Arc::clone(&outgoing),
                    tell.clone(),
                );
                tokio::spawn(sends);
                others.insert(*other, OtherManager { address: address.clone(), outgoing });
            }
            let hosted: Vec<SessionId> = machine.hosted().map(|(session, _)| session).collect();
            let authorization = match node {
                Some(node) => {
                    let begun = authorization::start(node, &file, clock, tell.clone(), &first, &hosted);
                    let (authorization, happens) = begun.map_err(failed)?;
                    tokio::spawn(authorization::listen(happens, tell.clone()));
                    Some(authorization)
                }
                None => None,
            };
            let at = web.as_ref().map(|web| format!("; its page is at {}", web.url()));
            // It ends before this task does.
            let _page = web.map(|web| page::start(web, &tell, epoch)).transpose().map_err(failed)?;
            drop(tell);
            let at = at.unwrap_or_default();
            print(out, format_args!("AS {} listens at {}; holds {held} records{at}\n", asn.0, file.listen))?;
            out.flush().map_err(|error| failed(error.to_string()))?;
            let callees = CalleePolicy::new(file.callees.clone(), file.callee_patience);
            let paths = ToldPaths::new(file.paths.clone(), file.bgp.is_some());
            let running = Running {
                machine,
                epoch,
                file,
                paths,
                clock,
                writes,
                commands,
                authorization,
                interims: Vec::new(),
                caveat,
                others,
                callees,
                false_messages,
                under_way: 0,
                next: 0,
                inputs: VecDeque::new(),
                asked: BTreeMap::new(),
                wanted: BTreeMap::new(),
                looks: Looks::default(),
                stopping: BTreeMap::new(),
                monitors: BTreeMap::new(),
                programs: BTreeMap::new(),
                held_back: HeldBack::default(),
                is_store_troubled: false,
            };
            running.work(first, events).await;
            Ok(DONE)
        })
        .inspect(|_| listening.close())
}

fn failed(what: String) -> Failure {
    (FAILED, what)
}

fn listen(socket: &Path, tell: &Sender<Event>) -> Result<Listening, Failure> {
    control::listen(socket, tell).map_err(|why| match why {
        NotListening::Taken(path) => {
            (BAD_NEWS, format!("{} belongs to a manager of this domain that runs", path.display()))
        }
        NotListening::Failed(what) => (FAILED, what),
    })
}

/// Ctrl-C, and what other managers stop processes with, becomes an event.
fn interrupted(tell: &Sender<Event>) -> Result<(), Failure> {
    let tell = tell.clone();
    let handled = ctrlc::set_handler(move || drop(tell.blocking_send(Event::Interrupted)));
    handled.map_err(|error| failed(format!("Ctrl-C cannot be handled: {error}")))
}
