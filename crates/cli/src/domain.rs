//! The options that every command has that joins a domain, and joining it.
use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use dds::config::{Config, Family, Interfaces, ParticipantId, Peer};
use dds::{DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};

use crate::exit::Failure;

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
    /// Somebody to look for without multicast, as 192.0.2.7 or 192.0.2.7:7410; may be repeated.
    #[arg(short, long = "peer", value_name = "ADDRESS[:PORT]", value_parser = parse_peer)]
    pub peers: Vec<Peer>,
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
    /// Share memory with participants of other processes of this host that do so too.
    #[arg(long)]
    pub shared_memory: bool,
    /// Microseconds for which a thread that waits looks at the socket, or with --shared-memory at the memory, before it sleeps; at most
    /// a second. It has its core for itself then.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0, hide_default_value = true)]
    pub spin: u32,
}

fn parse_peer(text: &str) -> Result<Peer, String> {
    text.parse().map_err(|_| "give an address, as 192.0.2.7, 192.0.2.7:7410 or [2001:db8::7]:7410".to_owned())
}

impl DomainOptions {
    /// What these options say, over the defaults.
    ///
    /// # Errors
    /// [`Failure::Usage`] if some contradict each other.
    pub fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::default();
        config.discovery.domain_tag.clone_from(&self.domain_tag);
        config.discovery.static_peers.clone_from(&self.peers);
        if let Some(id) = self.participant_id {
            config.discovery.participant_id = ParticipantId::Fixed(id);
        }
        config.network.family = match (self.ipv4, self.ipv6) {
            (true, true) => Family::Both,
            (false, true) => Family::V6,
            (_, false) => Family::V4,
        };
        config.network.multicast = !self.no_multicast;
        config.network.interfaces = self.interfaces()?;
        config.shared_memory.enabled = self.shared_memory;
        let spin = Duration::from_micros(self.spin.into());
        *if self.shared_memory { &mut config.shared_memory.spin } else { &mut config.network.spin } = spin;
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
        let mut config = self.config()?;
        config.discovery.entity_name = Some(name.to_owned());
        let factory = DomainParticipantFactory::get_instance();
        Ok(factory.create_participant_with(self.domain, QosKind::Default, &config, None, NO_STATUS)?)
    }
}
