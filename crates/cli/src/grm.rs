//! `punctual grm`: manages a network, and shows what a manager does.
mod discover;
mod drain;
mod interface;
mod keys;
mod policy;
mod reload;
mod status;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::keys::{Identity, Role};
use clap::{Args, Subcommand};
use control::config::Config;
use controller::{Agents, AgentsOf, NetworkFile, Settings};
use store::{Address, EtcdStore, FileStore, MemoryStore, Store};

use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::stop::Stop;
use tracing::Level;
use wire::seal::Credentials;

/// The port that switches connect to, and that of agents of gates.
const OPENFLOW: u16 = 6653;
const GATES: u16 = 6654;
/// How long verdicts hold of managers that share a store: until another one leads, and switches have connected to it.
const SHARED_LEASE: Duration = Duration::from_secs(12);
/// The port of the page.
const WEB: u16 = 8080;

/// Command line of `punctual grm`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
    punctual grm ward.toml --interface eth0 --listen 192.0.2.1 --gates s1=192.0.2.2:6654\n  \
    punctual lab run ward manager -- punctual grm ward.toml --lab --interface eth0\n  \
    punctual grm keys keys --network ward.toml        makes keys for the manager, all switches and their gates\n  \
    punctual grm ward.toml --interface eth0 --store http://192.0.2.7:2379,192.0.2.8:2379,192.0.2.9:2379/ward   one of several\n  \
    punctual grm ward.toml --interface eth0 --web 127.0.0.1:8080      with a page for operators\n  \
    punctual grm status              what is promised, to whom, and what was measured\n\n\
    Switches say who they are by a datapath id: 1 is the first switch of the file, 2 the second. With --keys they have to show it;\n\
    without, any host that reaches the listening address can claim to be one. With --keys requests have to be signed by the key of a user;\n\
    without, any participant of the domain can ask. --policy says who may ask for what."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The network file, as `punctual plan` takes it; `docs/plan.md` tells how to write one.
    #[arg(required = true)]
    network: Option<PathBuf>,
    /// Where switches connect; may be repeated. Default: port 6653 of all addresses of this host.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_listen)]
    listen: Vec<SocketAddr>,
    /// Where the agent of a switch's gates is; may be repeated.
    #[arg(long, value_name = "SWITCH=ADDRESS[:PORT]", value_parser = parse_gates)]
    gates: Vec<(String, SocketAddr)>,
    /// The control network of `punctual lab`: switch n is met at 172.31.n.1, and its gates at 172.31.n.2.
    #[arg(long, conflicts_with_all = ["listen", "gates"])]
    lab: bool,
    /// The file that keeps grants, or `none`. Default: in /var/lib/punctual for root, else in ~/.local/state/punctual. Or etcd, as
    /// http://HOST:PORT[,HOST:PORT...][/NAME] or https://... with --keys: several managers may share it, and one of them leads.
    #[arg(long, value_name = "FILE|URL")]
    store: Option<PathBuf>,
    /// The folder with authority.pem, manager.pem and manager.key: switches, agents of gates and operators connect by TLS 1.3 and show certificates.
    #[arg(long, value_name = "FOLDER")]
    keys: Option<PathBuf>,
    /// What is known of programs that do not ask for a latency, such as those of other vendors: `docs/grm.md` tells how to write such a file.
    #[arg(long, value_name = "FILE")]
    flows: Option<PathBuf>,
    /// Says what is wrong with the files, or that nothing is, and ends.
    #[arg(long)]
    check: bool,
    /// Takes requests that are not signed, and signs no verdicts, also with --keys.
    #[arg(long, requires = "keys")]
    unsigned_requests: bool,
    /// The policy file: who may ask for what. Without one all may be asked for.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Grants bounds with losses, and takes for true that every host that asks for one does what is due of repairs (answers, repeats, asks when a wait is
    /// over) within this time, as in 1ms. Without it none is granted.
    #[arg(long, value_name = "TIME", value_parser = crate::span::parse_finite)]
    reaction: Option<Duration>,
    /// Every port between switches sends LLDP so often, 100ms to 5s; a cable over which three such frames in a row, and all others, do not come carries no flows.
    #[arg(long, value_name = "TIME", value_parser = crate::span::parse_finite, default_value = "1s")]
    lldp_interval: Duration,
    /// Says nothing but what is wrong.
    #[arg(short, long)]
    quiet: bool,
    /// Requests known at a time; beyond it the less important ones yield.
    #[arg(long, value_name = "NUMBER", default_value_t = Config::default().most_requests)]
    most_requests: usize,
    /// Requests of readers on one host.
    #[arg(long, value_name = "NUMBER", default_value_t = Config::default().most_requests_of_host)]
    most_requests_of_host: usize,
    /// Requests of the readers of one participant.
    #[arg(long, value_name = "NUMBER", default_value_t = Config::default().most_requests_of_participant)]
    most_requests_of_participant: usize,
    /// Requests of one user, where requests are signed.
    #[arg(long, value_name = "NUMBER", default_value_t = Config::default().most_requests_of_user)]
    most_requests_of_user: usize,
    #[command(flatten)]
    web: WebOptions,
    #[command(flatten)]
    domain: DomainOptions,
}

/// The page and HTTP interface for operators.
#[derive(Args, Debug)]
#[command(next_help_heading = "Page for operators")]
struct WebOptions {
    /// Serves a page and an HTTP interface for operators here: flows, loads, alarms, trying requests. `docs/web.md` tells of both. With --keys by TLS 1.3,
    /// for clients with a certificate of an operator. Without, an address that others can reach needs the three options below.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_web)]
    web: Option<SocketAddr>,
    /// A file with the token that clients have to give, with --keys only those without a certificate: 32 characters or more, readable by its owner alone.
    #[arg(long, value_name = "FILE", requires = "web")]
    web_token: Option<PathBuf>,
    /// The certificate for TLS, with those that it rests on, in PEM. With --keys it is for browsers; commands see that of the manager.
    #[arg(long, value_name = "FILE", requires = "web", requires = "web_key")]
    web_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "web_cert")]
    web_key: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Looks which switches, links and hosts there are, and writes a network file as a proposal.
    Discover(discover::Arguments),
    /// Lets flows leave a switch, and admits nothing new over it.
    Drain(drain::Arguments),
    /// Lets flows come back to a switch.
    Undrain(drain::Back),
    /// Makes keys and certificates, and the authority that signs them.
    Keys(keys::Arguments),
    /// Checks a policy file, and answers who may ask for what by it.
    Policy(policy::Arguments),
    /// Lets the manager read its network file again, and go on with it if all that is promised can be kept.
    Reload(reload::Arguments),
    /// Shows the flows with promised and measured latency, refusals with their reasons, and the switches.
    Status(status::Arguments),
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    parse_address(text, OPENFLOW)
}

fn parse_web(text: &str) -> Result<SocketAddr, String> {
    parse_address(text, WEB)
}

fn parse_address(text: &str, port: u16) -> Result<SocketAddr, String> {
    let address = text.parse::<SocketAddr>();
    address
        .or_else(|_| text.parse::<IpAddr>().map(|address| SocketAddr::new(address, port)))
        .map_err(|_| format!("give an address, as 192.0.2.1 or 192.0.2.1:{port}"))
}

fn parse_gates(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, address) = text.split_once('=').ok_or("give SWITCH=ADDRESS, as s1=192.0.2.2")?;
    Ok((name.to_owned(), parse_address(address, GATES)?))
}

/// Manages a network until Ctrl-C, or shows what a manager does.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    match (&arguments.command, &arguments.network) {
        (Some(Command::Discover(discover)), _) => discover::run(discover, stop),
        (Some(Command::Drain(drain)), _) => drain::drain(drain),
        (Some(Command::Undrain(back)), _) => drain::undrain(back),
        (Some(Command::Keys(keys)), _) => keys::run(keys),
        (Some(Command::Policy(policy)), _) => policy::run(policy),
        (Some(Command::Reload(reload)), _) => reload::run(reload),
        (Some(Command::Status(status)), _) => status::run(status, stop),
        (None, Some(network)) => manage(arguments, network, stop),
        (None, None) => Err(Failure::Usage("name a network file, or say `punctual grm status`".to_owned())),
    }
}

fn manage(arguments: &Arguments, file: &Path, stop: &Stop) -> Result<Outcome, Failure> {
    let wrong = |problem: network::Problem| Failure::Usage(problem.to_string());
    let (texts, planned) = network::Texts::open(file).map_err(wrong)?;
    let flows = arguments.flows.as_deref().map(|flows| network::FlowFile::open(flows, &planned));
    let flows = flows.transpose().map_err(wrong)?.unwrap_or_default();
    if arguments.check {
        println!(
            "{} hosts, {} topics of programs that do not ask",
            planned.hosts().len(),
            flows.topics.len()
        );
        return Ok(Outcome::Done);
    }
    crate::log::to_stdout(if arguments.quiet { Level::WARN } else { Level::INFO });
    let agents = agents_of(arguments);
    let file = NetworkFile { path: file.to_owned(), texts, agents };
    let mut settings = settings(arguments, file, &planned)?;
    settings.config.described = controller::described(&flows);
    let participant = arguments.domain.join_with("punctual grm", controller::announce_often)?;
    let listen: Vec<String> = settings.listen.iter().map(SocketAddr::to_string).collect();
    tracing::info!(
        "managing {} switches and {} hosts; switches connect at {}",
        planned.switches().len(),
        planned.hosts().len(),
        listen.join(", ")
    );
    controller::run(settings, &participant, &|| stop.requested())
        .map_err(|error| Failure::System(error.to_string()))?;
    Ok(Outcome::Done)
}

fn settings(
    arguments: &Arguments,
    file: NetworkFile,
    planned: &network::Network,
) -> Result<Settings, Failure> {
    let mut listen = arguments.listen.clone();
    if arguments.lab {
        for switch in planned.switches() {
            listen.push((in_lab(switch.datapath, 1).map_err(Failure::Usage)?, OPENFLOW).into());
        }
    }
    let agents = (file.agents)(planned).and_then(Agents::all).map_err(Failure::Usage)?;
    if listen.is_empty() {
        listen.push((Ipv4Addr::UNSPECIFIED, OPENFLOW).into());
    }
    let keys = load_keys(arguments.keys.as_deref())?;
    let web = web(&arguments.web, keys.as_ref())?;
    let is_shared = arguments.store.as_deref().and_then(Path::to_str).is_some_and(Address::is_meant);
    let domains = u16::try_from(arguments.domain.domain).into_iter().collect();
    Ok(Settings {
        network: controller::network(planned),
        config: Config {
            lease: if is_shared { SHARED_LEASE } else { Config::default().lease },
            domains,
            most_requests: arguments.most_requests,
            most_requests_of_host: arguments.most_requests_of_host,
            most_requests_of_participant: arguments.most_requests_of_participant,
            most_requests_of_user: arguments.most_requests_of_user,
            policy: load_policy(arguments.policy.as_deref())?,
            losses: arguments.reaction,
            rounds: arguments.lldp_interval,
            ..Config::default()
        },
        listen,
        agents,
        store: store(arguments.store.as_deref(), keys.as_ref())?,
        keys,
        credentials: load_credentials(arguments)?,
        web,
        file: Some(file),
    })
}

/// An address in the control network of a lab.
fn in_lab(datapath: u64, end: u8) -> Result<Ipv4Addr, String> {
    let third = u8::try_from(datapath)
        .map_err(|_| "a lab has 255 switches at most: give --listen and --gates".to_owned())?;
    Ok(Ipv4Addr::new(172, 31, third, end))
}

/// Where the agents of gates are in a network, by these arguments.
fn agents_of(arguments: &Arguments) -> AgentsOf {
    let (lab, gates) = (arguments.lab, arguments.gates.clone());
    Box::new(move |planned| {
        let mut agents = Agents::default();
        for switch in planned.switches().iter().filter(|_| lab) {
            agents.known.insert(switch.datapath, (in_lab(switch.datapath, 2)?, GATES).into());
        }
        for (name, address) in &gates {
            match planned.switches().iter().find(|switch| switch.name == *name) {
                Some(found) => _ = agents.known.insert(found.datapath, *address),
                None => agents.unknown.push(name.clone()),
            }
        }
        Ok(agents)
    })
}

fn load_policy(file: Option<&Path>) -> Result<Option<::policy::Policy>, Failure> {
    let policy = file.map(network::open_policy).transpose();
    policy.map_err(|problem| Failure::Usage(problem.to_string()))
}

fn load_credentials(arguments: &Arguments) -> Result<Option<Arc<dyn Credentials>>, Failure> {
    let Some(folder) = arguments.keys.as_deref().filter(|_| !arguments.unsigned_requests) else {
        return Ok(None);
    };
    let keys = credentials::KeyFolder::load(folder, &Role::Manager.to_string());
    keys.map(|keys| Some(Arc::new(keys) as _)).map_err(|problem| Failure::Usage(problem.to_string()))
}

fn load_keys(folder: Option<&Path>) -> Result<Option<Identity>, Failure> {
    let keys = folder.map(|folder| Identity::load(folder, Role::Manager)).transpose();
    keys.map_err(|error| Failure::Usage(error.to_string()))
}

fn web(options: &WebOptions, keys: Option<&Identity>) -> Result<Option<web::Settings>, Failure> {
    let Some(address) = options.web else { return Ok(None) };
    let certificate = options.web_cert.as_deref().zip(options.web_key.as_deref());
    let settings = web::Settings::new(address, keys, options.web_token.as_deref(), certificate);
    let settings = settings.map_err(Failure::Usage)?;
    tracing::info!("the page for operators is at {}", settings.url());
    Ok(Some(settings))
}

fn store(file: Option<&Path>, keys: Option<&Identity>) -> Result<Box<dyn Store>, Failure> {
    if let Some(text) = file.and_then(Path::to_str).filter(|text| Address::is_meant(text)) {
        let address: Address = text.parse().map_err(Failure::Usage)?;
        if keys.is_some() && !address.is_secure() {
            tracing::warn!(
                "grants go to {address} without TLS, though there are keys: an address with https has it"
            );
        }
        let store = EtcdStore::open(&address, keys).map_err(|error| Failure::System(error.to_string()))?;
        return Ok(Box::new(store));
    }
    if file.is_some_and(|file| file == Path::new("none")) {
        return Ok(Box::new(MemoryStore::default()));
    }
    let file = match file {
        Some(file) => file.to_owned(),
        None => {
            let folder = usual_folder()?;
            std::fs::create_dir_all(&folder).map_err(|error| {
                let folder = folder.display();
                Failure::System(format!("{folder} cannot be made: {error}; name a file with --store"))
            })?;
            folder.join("grm.redb")
        }
    };
    let store = FileStore::open(&file).map_err(|error| Failure::System(error.to_string()))?;
    Ok(Box::new(store))
}

fn usual_folder() -> Result<PathBuf, Failure> {
    if nix::unistd::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/punctual"));
    }
    let home = std::env::var_os("HOME");
    home.map(|home| Path::new(&home).join(".local/state/punctual"))
        .ok_or_else(|| Failure::Usage("there is no home directory: name a file with --store".to_owned()))
}
