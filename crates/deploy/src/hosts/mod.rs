//! Deployments on several hosts: the execution manager and node managers as programs, and commands that ask the manager.
mod ask;
mod connection;
mod execution_manager;
mod local;
mod node;
mod state;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use diagnostics::picoseconds;
use execution::{Bundle, ManifestText};
use keys::{Identity, Name, Role};

use crate::command::{BAD_NEWS, FAILED, Failure, WRONG};
use crate::files::{Loaded, PolicyFile};

pub(crate) use ask::{apply, diff, launch, mode, state, status, stop, suspend};
pub(crate) use execution_manager::run as manager;
pub(crate) use node::run as node;
pub(crate) use state::StateFile;

/// The port of execution managers.
const PORT: u16 = 7_410;

/// An execution manager.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy manager --keys keys --store deployments.redb    keys and store of this folder\n\n\
    It ends with Ctrl-C. What runs on the hosts goes on without it, and the next one with the same store leads on.\n\
    See docs/deploy-hosts.md.")]
pub(crate) struct ManagerArguments {
    /// Where node managers and commands connect
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "0.0.0.0", value_parser = parse_address)]
    listen: SocketAddr,
    /// The folder with authority.pem, manager.pem and manager.key
    #[arg(long, value_name = "FOLDER")]
    keys: PathBuf,
    /// The file that keeps what is decided
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
}

/// The node manager of a host.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy node --manager 192.0.2.1 --name east --keys keys --programs /opt/plant\n  \
    punctual deploy node --manager 192.0.2.1 --name east --keys keys --lease '10 s'\n\n\
    Ctrl-C ends all of its processes in reverse order. If it is killed they go on, and the next one adopts them.\n\
    See docs/deploy-hosts.md.")]
pub(crate) struct NodeArguments {
    /// The execution manager
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_name)]
    manager: String,
    /// The host that this is, as plans and its key name it
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The folder with authority.pem, node-NAME.pem and node-NAME.key
    #[arg(long, value_name = "FOLDER")]
    keys: PathBuf,
    /// The folder that locations of artefacts are relative to
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    programs: PathBuf,
    /// Starts only programs that an operator has signed, by `punctual deploy sign`
    #[arg(long)]
    signed: bool,
    /// How long component servers go on if this program is gone and does not come back, as in '10 s'; without it they go on
    #[arg(long, value_name = "TIME", value_parser = parse_lease)]
    lease: Option<Duration>,
}

/// Which execution manager a command asks; without one it is about this host alone.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct At {
    /// Asks the execution manager there: the plan is that of all of its hosts
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_name, requires = "keys")]
    manager: Option<String>,
    /// The folder with authority.pem, operator-NAME.pem and operator-NAME.key
    #[arg(long, value_name = "FOLDER", requires = "manager")]
    keys: Option<PathBuf>,
    /// The operator whose key it is, if the folder has several
    #[arg(long, value_name = "NAME", requires = "manager")]
    operator: Option<String>,
}

impl At {
    /// The manager and the keys; `None` if the command is about this host alone.
    pub(crate) fn manager(&self) -> Option<(&str, &Path, Option<&str>)> {
        Some((self.manager.as_deref()?, self.keys.as_deref()?, self.operator.as_deref()))
    }
}

/// A lease of a millisecond to a day.
fn parse_lease(text: &str) -> Result<Duration, String> {
    const MILLISECOND: u64 = 1_000_000_000;
    let time = picoseconds(text).map(|time| Duration::from_millis(time / MILLISECOND));
    let is_right = |time: &Duration| !time.is_zero() && time.as_secs() <= 86_400;
    time.filter(is_right)
        .ok_or_else(|| format!("\"{text}\" is no time of 1 ms to 24 h: write one such as \"10 s\""))
}

/// The address of an interface, and the port of managers if none is said.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse::<std::net::IpAddr>().map(|address| SocketAddr::new(address, PORT));
    let address = address.or_else(|_| text.parse());
    address.map_err(|_| {
        format!("\"{text}\" is no address: write 192.0.2.1, 192.0.2.1:{PORT} or [2001:db8::1]:{PORT}")
    })
}

/// A host and a port, which is that of managers if none is said.
fn parse_name(text: &str) -> Result<String, String> {
    if let Ok(address) = parse_address(text) {
        return Ok(address.to_string());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().map_err(|_| format!("\"{port}\" is no port"))?),
        None => (text, PORT),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(format!("\"{text}\" is no host: write its name or address, and :{PORT} or another port"));
    }
    Ok(format!("{host}:{port}"))
}

/// The keys of a role.
fn identity(folder: &Path, role: Role) -> Result<Identity, Failure> {
    Identity::load(folder, role).map_err(|error| (WRONG, format!("--keys: {error}")))
}

/// The role of the node manager of a host.
fn node_role(host: &str) -> Result<Role, Failure> {
    let role = Name::new(host).map(Role::Node);
    role.ok_or_else(|| {
        let what = format!(
            "no host that is deployed to is called \"{}\": its key names it, with small letters, digits and hyphens",
            host.escape_default()
        );
        (WRONG, what)
    })
}

/// A plan with its manifests, its network file and its policy files, to be sent.
///
/// # Errors
/// The network file cannot be read or is wrong.
pub(crate) fn bundle(loaded: &Loaded, path: &Path, is_unproved: bool) -> Result<Bundle, Failure> {
    let manifest = |(name, text): &(String, String)| ManifestText { name: name.clone(), text: text.clone() };
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let (plan, manifests) =
        (loaded.source().text.to_owned(), loaded.manifests().iter().map(manifest).collect());
    let network = match loaded.network() {
        // Without a proof it is not needed.
        Err(_) if is_unproved => None,
        network => network?,
    };
    let network = network.map(|(texts, _)| serde_json::to_string(&texts));
    let network = network.transpose().map_err(|error| (FAILED, error.to_string()))?;
    let policy = |file: &PolicyFile| ManifestText { name: file.name.clone(), text: file.text.clone() };
    let policies = loaded.policies().iter().map(policy).collect();
    Ok(Bundle { file, plan, manifests, network, policies, proofs: Vec::new(), is_unproved })
}

/// The plan of a bundle, which makes sense.
pub(crate) fn opened(bundle: &Bundle) -> Result<Loaded, Failure> {
    let named = |name: &str| {
        let found = bundle.manifests.iter().chain(&bundle.policies).find(|file| file.name == name);
        let found =
            found.ok_or_else(|| (FAILED, format!("the file {name}, which the plan names, was not sent")))?;
        Ok((found.name.clone(), found.text.clone()))
    };
    let loaded = Loaded::of_texts(bundle.file.clone(), bundle.plan.clone(), named)?;
    loaded.map_err(|problems| (BAD_NEWS, problems))?.checked()?.with_network(bundle.network.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_by_themselves() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:7410"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("2001:db8::1", "[2001:db8::1]:7410"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
            ("east.example", "east.example:7410"),
            ("east:80", "east:80"),
        ] {
            assert_eq!(parse_name(text).as_deref(), Ok(expected));
        }
        for text in ["", ":80", "east:port", "east:80000", "a b", "http://east"] {
            assert!(parse_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_are_named_as_their_keys() {
        assert_eq!(node_role("east-1").map(|role| role.to_string()), Ok("node-east-1".to_owned()));
        assert!(node_role("East").is_err() && node_role("").is_err());
    }
}
