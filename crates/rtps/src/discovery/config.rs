//! How discovery behaves.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use wire::discovery::SharedMemory;
use wire::{Duration, GuidPrefix, Locator};

use crate::ports;

/// Bounds of what peers can make us keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most validated participants. Default 1,024.
    pub participants: usize,
    /// Most participants that have not been validated; the least recently heard makes room. Default 1,024.
    pub strangers: usize,
    /// Most bytes of announcements of those. Default 2 MiB.
    pub stranger_octets: u64,
    /// Most endpoints of one participant. Default 8,192.
    pub endpoints: usize,
    /// Most bytes of endpoint data of one participant. Default 8 MiB.
    pub endpoint_octets: usize,
    /// Most endpoints of all participants together. Default 65,536.
    pub all_endpoints: usize,
    /// Most bytes of endpoint data of all participants together. Default 64 MiB.
    pub all_endpoint_octets: usize,
    /// Most bytes of discovery data of all participants that are held back because something before is missing.
    /// Default 4 MiB.
    pub held_back_octets: usize,
    /// Most bytes of our own announcements of endpoints. Default 32 MiB for writers and for readers each.
    pub announced_octets: usize,
    /// Events waiting to be taken beyond which no input is taken. Default 16,384.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            participants: 1_024,
            strangers: 1_024,
            stranger_octets: 2 << 20,
            endpoints: 8_192,
            endpoint_octets: 8 << 20,
            all_endpoints: 65_536,
            all_endpoint_octets: 64 << 20,
            held_back_octets: 4 << 20,
            announced_octets: 32 << 20,
            events: 16_384,
        }
    }
}

/// Everything that discovery needs to know of its own participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiscoveryConfig {
    /// Our GUID prefix; random: no two incarnations of a participant may have the same.
    pub prefix: GuidPrefix,
    /// The domain, 0 to 232.
    pub domain_id: u32,
    /// Participants of another tag of the same domain are not seen. At most 255 bytes, default empty.
    pub domain_tag: String,
    /// Name for people, announced. At most 255 bytes.
    pub entity_name: Option<String>,
    /// USER_DATA of the participant, announced. At most 32,768 bytes: an announcement has to fit one datagram.
    pub user_data: Vec<u8>,
    /// Time between two announcements, less up to a tenth at random. Default 3 s.
    pub announce_period: Duration,
    /// Announcements in quick succession at the start. Default 5.
    pub initial_announcements: u8,
    /// Time between those, less up to a tenth at random; the second comes after a fifth of it. Default 100 ms.
    pub initial_period: Duration,
    /// How long others shall keep us without hearing from us; at least three announcement periods are wise. Default 10 s.
    pub lease_duration: Duration,
    /// Where our built-in endpoints listen.
    pub metatraffic_unicast: Vec<Locator>,
    /// The groups that our built-in endpoints listen to, and that announcements go to. Default 239.255.0.1 with the port of
    /// the domain; empty: no multicast.
    pub metatraffic_multicast: Vec<Locator>,
    /// Where our endpoints listen.
    pub default_unicast: Vec<Locator>,
    /// The groups that our endpoints listen to; empty by default.
    pub default_multicast: Vec<Locator>,
    /// Where processes of our host meet us, announced. Default none.
    pub shared_memory: Option<SharedMemory>,
    /// Ports that datagrams leave from besides those of the locators, for IPv4 and for IPv6; 0 for none.
    pub sending_ports: [u16; 2],
    /// Participants that may be beyond multicast: announcements go there as well, and are not limited.
    pub static_peers: Vec<SocketAddr>,
    /// Data for readers that announce a group, and that are on a subnet of ours, go to the group. Default false: radio links
    /// send multicast at their lowest rate, and one reader of a group does not need it.
    pub multicast_data: bool,
    /// The built-in endpoints of the type lookup service are announced: what is asked there is answered by what
    /// [`Discovery::set_types`](super::Discovery::set_types) was given. Default true.
    pub type_lookup: bool,
    /// DSCP of discovery's own datagrams, 0 to 63. Default 0.
    pub class: u8,
    /// Bounds.
    pub limits: Limits,
    /// Of the random part of the announcement period and of the numbers of probes: random, and known to this participant alone.
    pub seed: u64,
}

/// Why a configuration was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The prefix is the unknown one.
    Prefix,
    /// The domain has no ports.
    DomainId(u32),
    /// A text is longer than 255 bytes or contains a NUL.
    Text(String),
    /// The user data are longer than 32,768 bytes.
    UserData(usize),
    /// A duration is not positive, or the lease is not longer than the announcement period.
    Durations,
}

impl DiscoveryConfig {
    /// The defaults named at each field, without any locator of ours but with the multicast group of the domain.
    pub fn new(prefix: GuidPrefix, domain_id: u32, seed: u64) -> Self {
        let group = ports::metatraffic_multicast(domain_id)
            .map(|port| Locator::udp(SocketAddr::new(IpAddr::V4(ports::GROUP_V4), port)));
        Self {
            prefix,
            domain_id,
            domain_tag: String::new(),
            entity_name: None,
            user_data: Vec::new(),
            announce_period: Duration::from_secs(3),
            initial_announcements: 5,
            initial_period: Duration::from_millis(100),
            lease_duration: Duration::from_secs(10),
            metatraffic_unicast: Vec::new(),
            metatraffic_multicast: group.into_iter().collect(),
            default_unicast: Vec::new(),
            default_multicast: Vec::new(),
            shared_memory: None,
            sending_ports: [0; 2],
            static_peers: Vec::new(),
            multicast_data: false,
            type_lookup: true,
            class: 0,
            limits: Limits::default(),
            seed,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        const MAX_TEXT: usize = 255;
        const MAX_USER_DATA: usize = 32_768;
        if self.prefix == GuidPrefix::UNKNOWN {
            return Err(ConfigError::Prefix);
        }
        if ports::metatraffic_multicast(self.domain_id).is_none() {
            return Err(ConfigError::DomainId(self.domain_id));
        }
        for text in [Some(&self.domain_tag), self.entity_name.as_ref()].into_iter().flatten() {
            if text.len() > MAX_TEXT || text.contains('\0') {
                return Err(ConfigError::Text(text.clone()));
            }
        }
        if self.user_data.len() > MAX_USER_DATA {
            return Err(ConfigError::UserData(self.user_data.len()));
        }
        let positive = |duration: Duration| duration > Duration::ZERO;
        if !positive(self.announce_period)
            || !positive(self.initial_period)
            || self.announce_period.is_infinite()
            || self.lease_duration <= self.announce_period
        {
            return Err(ConfigError::Durations);
        }
        Ok(())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix => f.write_str("the GUID prefix is the unknown one: draw a random one"),
            Self::DomainId(id) => write!(f, "domain {id} has no ports: use 0 to 232"),
            Self::Text(text) => {
                write!(f, "{text:?} is longer than 255 octets or contains a NUL: shorten it")
            }
            Self::UserData(len) => {
                write!(f, "{len} octets of user data do not fit an announcement: use at most 32768")
            }
            Self::Durations => f.write_str(
                "announcement periods have to be positive, and the lease longer than the announcement period",
            ),
        }
    }
}

impl core::error::Error for ConfigError {}
