//! The resource manager of a network as a program: the brain is `control`, this is what it has to do with the world.
//!
//! - switches: TCP connections that speak OpenFlow ([`openflow`]); gates: their agents ([`gate`]);
//! - requests and verdicts: topics of DDS (`docs/decisions/0009-admission.md`);
//! - grants: a store that survives ([`store`]); if several managers share it, it says which of them leads.
//!
//! One task owns all of it and does one thing after another; only bytes are read and written by others.
#![forbid(unsafe_code)]

mod acts;
mod cables;
mod connection;
mod daemon;
mod discover;
mod elsewhere;
mod facts;
mod foreign;
mod gates;
mod in_force;
mod journal;
mod kept;
mod lead;
mod operator;
mod presence;
mod proposal;
mod reload;
mod reports;
mod signed;
mod switch_connections;
mod switches;
mod topics;
mod topology;
mod tunnels;
mod verdicts;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{SocketAddr, TcpListener};

use control::config::Config;
use control::network::{Network, NetworkError};
use dds::DomainParticipant;

pub use discover::discover;
pub use foreign::described;
pub use in_force::{Agents, AgentsOf, NetworkFile};
pub use proposal::proposal;
pub use topology::network;

use daemon::{Ended, Managed};
use in_force::InForce;
use operator::Window;
use presence::Presence;
pub use presence::announce_often;
use store::{Standing, Store, StoreError};
use switch_connections::SwitchConnections;

/// The wait before a manager that shares its store begins again after that has failed.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// What a manager manages, and how.
pub struct Settings {
    /// The network.
    pub network: Network,
    /// Leases, limits, classes.
    pub config: Config,
    /// Where switches connect.
    pub listen: Vec<SocketAddr>,
    /// Where the agents of gates are, by datapath id of their switch.
    pub agents: BTreeMap<u64, SocketAddr>,
    /// The manager's key: with it switches and agents connect by TLS, and show who they are. Without it anybody can be one.
    pub keys: Option<keys::Identity>,
    /// The same key for requests and verdicts: with it those who ask have to sign, and verdicts are signed. Without it anybody may ask.
    pub credentials: Option<std::sync::Arc<dyn wire::seal::Credentials>>,
    /// Where grants are kept.
    pub store: Box<dyn Store>,
    /// Where operators have a page, if they have one.
    pub web: Option<web::Settings>,
    /// The file that the network was read from, if there is one: operators may have it read again, and managers that share a store lead with the one that is
    /// kept there. Without it a manager leads with `network`, whatever is kept.
    pub file: Option<NetworkFile>,
}

/// Why a manager cannot work.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Switches cannot connect here.
    Listen(SocketAddr, String),
    /// The network makes no sense.
    Network(NetworkError),
    /// Grants cannot be kept.
    Store(StoreError),
    /// The middleware refused something.
    Dds(dds::Error),
    /// The system refused something.
    System(String),
}

impl From<NetworkError> for Error {
    fn from(error: NetworkError) -> Self {
        Self::Network(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<dds::Error> for Error {
    fn from(error: dds::Error) -> Self {
        Self::Dds(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, why) => {
                write!(
                    f,
                    "switches cannot connect at {address}: {why}; give an address of this host with --listen"
                )
            }
            Self::Network(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Dds(error) => error.fmt(f),
            Self::System(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Runs a manager until `stop` says so, which is asked ten times a second. What an operator should know goes to `tracing`.
///
/// While another manager of the network is there that goes before it ([`control::others`]), or leads if they share a store, it stands by: it touches no
/// switch and answers no request, and says so. What is granted stays in the switches and in the store; a manager that starts with the same store takes it over. Until then leases
/// run out.
///
/// # Errors
/// [`Error`]: nothing was set up. Once it runs, nothing but `stop` ends it.
pub fn run(
    settings: Settings,
    participant: &DomainParticipant,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let Settings { network, mut config, listen, agents, keys, credentials, mut store, web, mut file } =
        settings;
    config.signed = credentials.is_some();
    if keys.is_none() {
        tracing::info!(
            "without keys: any host that reaches the listening address can claim to be a switch; `punctual grm keys` makes them"
        );
    }
    let mut web = web.map(web::start).transpose().map_err(Error::System)?;
    let mut presence = Presence::new(participant, &network);
    let mut in_force = InForce { network, agents, other_file: String::new() };
    // It manages already, and goes on with another network.
    let mut goes_on = false;
    loop {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| Error::System(format!("no event loop: {error}")))?;
        let mut switches = SwitchConnections::new();
        let is_shared = store.standing() != Standing::Alone;
        // Switches that are there already need not try again. Managers that share a store may share a host, and its addresses: the others listen
        // once the first of them is gone.
        let mut sockets = match bind(&listen) {
            Err(Error::Listen(..)) if is_shared && !goes_on => Vec::new(),
            bound => bound?,
        };
        let is_slave = is_shared && !goes_on && !sockets.is_empty();
        if is_slave {
            let _in_the_event_loop = runtime.enter();
            switches.accept(std::mem::take(&mut sockets), keys.as_ref())?;
        }
        let mut stands_by = || {
            sockets.clear();
            if let Some((publisher, ..)) = &mut web {
                publisher.stand_by();
            }
        };
        let turn = match is_shared {
            _ if goes_on => true,
            true => {
                let leads = presence.wait_to_lead(&mut *store, &mut switches, stop, &mut stands_by);
                runtime.block_on(leads)?
            }
            false => presence.wait_for_turn(stop, &mut stands_by)?,
        };
        if !turn {
            return Ok(());
        }
        let epoch = match in_force.begin(&mut *store, file.as_ref()) {
            Err(Error::Store(error)) if is_shared && error.passes() => {
                stands_by_after(&error);
                goes_on = false;
                participant.delete_contained_entities()?;
                continue;
            }
            begun => begun?,
        };
        if is_shared || goes_on {
            presence.manages(&in_force.network)?;
        }
        if !is_slave {
            if sockets.is_empty() {
                sockets = bind(&listen)?;
            }
            let _in_the_event_loop = runtime.enter();
            switches.accept(sockets, keys.as_ref())?;
        }
        let (window, commands) = match &mut web {
            Some((publisher, commands, _)) => (Some(Window::new(publisher)), Some(commands)),
            None => (None, None),
        };
        let managed = Managed {
            in_force: &in_force,
            epoch,
            config: config.clone(),
            switches,
            keys: keys.clone(),
            credentials: credentials.clone(),
            store: &mut *store,
            window,
            file: file.as_ref(),
        };
        let daemon = daemon::run(managed, participant, &mut presence, commands, stop);
        let ended = match runtime.block_on(daemon) {
            // Another one may lead by now, or this one may begin again.
            Err(Error::Store(error)) if is_shared && error.passes() => {
                stands_by_after(&error);
                Ended::StandsBack
            }
            ended => ended?,
        };
        goes_on = false;
        match ended {
            Ended::Stopped => return Ok(()),
            // As a manager that starts again: switches and participants notice as little.
            Ended::Changed(texts) => {
                if let Some(file) = &mut file {
                    file.texts = texts;
                }
                participant.delete_contained_entities()?;
                goes_on = true;
            }
            // Its connections end with the event loop. Without its verdicts participants ask the other manager.
            Ended::StandsBack => participant.delete_contained_entities()?,
        }
    }
}

/// The store did not work when this manager was to lead; another one may lead by now, or this one in a moment.
fn stands_by_after(error: &StoreError) {
    tracing::warn!("{error}; stands by");
    std::thread::sleep(PAUSE);
}

/// Accepts connections of switches at these sockets from now on; with keys, of those that show a certificate.
fn accept_switches(
    sockets: Vec<TcpListener>,
    keys: Option<&keys::Identity>,
    accepted: &tokio::sync::mpsc::Sender<connections::Accepted>,
) -> Result<(), Error> {
    let tls =
        keys.map(keys::Identity::server).transpose().map_err(|error| Error::System(error.to_string()))?;
    for socket in sockets {
        let listener = tokio::net::TcpListener::from_std(socket);
        let unusable = |error| Error::System(format!("a socket for switches cannot be used: {error}"));
        let (listener, accepted) = (listener.map_err(unusable)?, accepted.clone());
        tokio::spawn(connections::accept(listener, tls.clone(), "switches", accepted));
    }
    Ok(())
}

/// The sockets that switches connect to.
fn bind(listen: &[SocketAddr]) -> Result<Vec<TcpListener>, Error> {
    let bound = listen.iter().map(|address| {
        let socket = TcpListener::bind(address).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        socket.map_err(|error| Error::Listen(*address, error.to_string()))
    });
    bound.collect()
}
