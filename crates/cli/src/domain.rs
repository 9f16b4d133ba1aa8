//! The options that every command has that joins a domain, and joining it.
use std::net::{IpAddr, ToSocketAddrs as _};
use std::time::Duration;

use clap::Args;
use dds::config::{Config, Family, Interfaces, ParticipantId, Peer};
use dds::{DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};

use crate::exit::Failure;
use crate::span;

/// Which domain, and by which way.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
#[command(next_help_heading = "Domain and network")]
pub struct DomainOptions {
    /// Domain id, 0 to 232.
    #[arg(short, long, default_value_t = 0, value_name = "ID", value_parser = clap::value_parser!(u32).range(0..=232))]
    pub domain: u32,
    /// Domain tag: participants of another tag are not seen.
    #[arg(long, default_value = "", value_name = "TEXT", hide_default_value = true)]
    pub domain_tag: String,
    /// Interface to use, by name or address; may be repeated. Default: all that are up.
    #[arg(short, long = "interface", value_name = "NAME|ADDRESS", conflicts_with = "loopback")]
    pub interfaces: Vec<String>,
    /// This host alone.
    #[arg(long)]
    pub loopback: bool,
    /// Host to look for without multicast, as 192.0.2.7, robot.local or 192.0.2.7:7410; may be repeated.
    #[arg(short, long = "peer", value_name = "HOST[:PORT]")]
    pub peers: Vec<String>,
    /// Neither sends to multicast groups nor joins them: only --peer finds others.
    #[arg(long)]
    pub no_multicast: bool,
    /// IPv6 instead of IPv4; given with --ipv4: both.
    #[arg(long)]
    pub ipv6: bool,
    /// IPv4 (the default).
    #[arg(long)]
    pub ipv4: bool,
    /// Number of the participant on this host, 0 to 119, which decides its ports. Default: the first free one.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(0..=119))]
    pub participant_id: Option<u8>,
    /// Whether samples of other processes of this host that have it on too travel by shared memory; off: by UDP.
    #[arg(long, value_name = "on|off", default_value = "on", action = clap::ArgAction::Set, value_parser = parse_switch)]
    pub shared_memory: bool,
    /// How long a thread that waits looks at the socket, or at the shared memory if there is some, before it sleeps, as 50us; at most 1s. It
    /// has its core for itself then.
    #[arg(long, value_name = "TIME", value_parser = parse_spin)]
    pub spin: Option<Duration>,
    /// The user in whose name assured flows are asked for; needs --user-keys.
    #[arg(long, value_name = "NAME", requires = "user_keys")]
    pub user: Option<String>,
    /// The folder with authority.pem and the key and certificate of the user, as `punctual grm keys` makes them: requests are signed.
    #[arg(long, value_name = "FOLDER", requires = "user")]
    pub user_keys: Option<std::path::PathBuf>,
}

fn parse_switch(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("give on or off"),
    }
}

fn parse_spin(text: &str) -> Result<Duration, String> {
    let time = span::parse_finite(text)?;
    if time > Duration::from_secs(1) {
        return Err("give at most 1s, as 50us".to_owned());
    }
    Ok(time)
}

/// The addresses of the given family that a host has, by address or by name.
fn peers(text: &str, family: Family) -> Result<Vec<Peer>, Failure> {
    if let Ok(peer) = text.parse() {
        return Ok(vec![peer]);
    }
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::Usage(format!(
            "--peer {text}: {what}; give an address or the name of a host, as 192.0.2.7, 192.0.2.7:7410, [2001:db8::7]:7410 or robot.local"
        ))
    };
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => match port.parse::<u16>() {
            Ok(port @ 1..) => (host, Some(port)),
            _ => return Err(wrong(&format_args!("{port:?} is no port"))),
        },
        None => (text, None),
    };
    let found = (host, 0).to_socket_addrs().map_err(|error| wrong(&error))?;
    let usable = |address: &IpAddr| match family {
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
        Family::Both => true,
    };
    let mut addresses: Vec<IpAddr> = found.map(|found| found.ip()).filter(usable).collect();
    addresses.sort_unstable();
    addresses.dedup();
    if addresses.is_empty() {
        return Err(wrong(&"the host has no address of the family that is used"));
    }
    Ok(addresses.into_iter().map(|address| Peer { address, port }).collect())
}

impl DomainOptions {
    /// What these options say, over the defaults.
    ///
    /// # Errors
    /// [`Failure::Usage`] if some contradict each other.
    pub fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::default();
        config.discovery.domain_tag.clone_from(&self.domain_tag);
        if let Some(id) = self.participant_id {
            config.discovery.participant_id = ParticipantId::Fixed(id);
        }
        config.network.family = match (self.ipv4, self.ipv6) {
            (true, true) => Family::Both,
            (false, true) => Family::V6,
            (_, false) => Family::V4,
        };
        for peer in &self.peers {
            config.discovery.static_peers.extend(peers(peer, config.network.family)?);
        }
        config.network.multicast = !self.no_multicast;
        config.network.interfaces = self.interfaces()?;
        config.shared_memory.enabled = self.shared_memory;
        let spin = self.spin.unwrap_or_default();
        (config.shared_memory.spin, config.network.spin) = (spin, spin);
        if let (Some(user), Some(folder)) = (&self.user, &self.user_keys) {
            let keys = credentials::KeyFolder::load(folder, &format!("user-{user}"));
            let keys = keys.map_err(|problem| Failure::Usage(format!("--user-keys: {problem}")))?;
            config.assurance.credentials = Some(dds::config::Given(std::sync::Arc::new(keys)));
        }
        config.check().map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(config)
    }

    /// Addresses or names, as the configuration has them.
    fn interfaces(&self) -> Result<Interfaces, Failure> {
        if self.loopback {
            return Ok(Interfaces::Loopback);
        }
        if self.interfaces.is_empty() {
            return Ok(Interfaces::All);
        }
        let addresses: Vec<IpAddr> = self.interfaces.iter().filter_map(|text| text.parse().ok()).collect();
        if addresses.is_empty() {
            return Ok(Interfaces::Named(self.interfaces.clone()));
        }
        if addresses.len() == self.interfaces.len() {
            return Ok(Interfaces::WithAddress(addresses));
        }
        Err(Failure::Usage(format!(
            "--interface: {} mix names and addresses; give names alone, or addresses alone",
            self.interfaces.join(", ")
        )))
    }

    /// Joins the domain. `name` is announced, for people.
    ///
    /// # Errors
    /// As [`DomainOptions::config`]; [`Failure::Dds`] if there is no port or interface to use, with what to do.
    pub fn join(&self, name: &str) -> Result<DomainParticipant, Failure> {
        self.join_with(name, |_| ())
    }

    /// Joins the domain as [`DomainOptions::join`] does, with what `adjust` changes.
    ///
    /// # Errors
    /// As [`DomainOptions::join`].
    pub fn join_with(
        &self,
        name: &str,
        adjust: impl FnOnce(&mut Config),
    ) -> Result<DomainParticipant, Failure> {
        let mut config = self.config()?;
        adjust(&mut config);
        config.discovery.entity_name = Some(name.to_owned());
        let factory = DomainParticipantFactory::get_instance();
        Ok(factory.create_participant_with(self.domain, QosKind::Default, &config, None, NO_STATUS)?)
    }
}
