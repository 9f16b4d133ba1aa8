//! How a participant uses the host: whom it looks for and how, interfaces, buffers, threads.
mod peer;
#[cfg(feature = "serde")]
mod text;

use std::net::{IpAddr, SocketAddr};

use dcps::{Error, ReturnCode};
use rtps::Path;
use wire::Duration;

pub use peer::Peer;

/// Everything about a participant that is not QoS. The default is right for a local network with multicast.
///
/// ```no_run
/// use dds::config::{Config, Interfaces};
/// use dds::prelude::*;
///
/// let mut config = Config::default();
/// config.network.interfaces = Interfaces::Named(vec!["eth1".to_owned()]);
/// config.shared_memory.enabled = false;
/// let participant = Participant::builder(0).config(config).create()?;
/// # Ok::<(), dds::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct Config {
    /// Identity of the participant, discovery of others, and leases.
    pub discovery: DiscoveryConfig,
    /// Which interfaces and addresses it uses.
    pub network: NetworkConfig,
    /// How much its sockets hold.
    pub buffers: BufferConfig,
    /// How its threads run.
    pub threads: ThreadConfig,
    /// How it deals with resource managers.
    pub assurance: AssuranceConfig,
    /// Whether and how it shares memory with other processes of its host.
    pub shared_memory: SharedMemoryConfig,
}

/// How a participant deals with resource managers, if some of its writers and readers have ASSURANCE.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct AssuranceConfig {
    /// How long a verdict is waited for; then the pair counts as refused, until one comes. More than zero; default 3 s.
    pub patience: Duration,
    /// The folder with `authority.pem` and the key and certificate of [`AssuranceConfig::user`], as `punctual grm keys` makes them: requests
    /// are signed, and managers believed that have a certificate of that authority. Default none: nothing is signed, and any manager counts.
    pub keys: Option<String>,
    /// The user in whose name this participant asks; given together with [`AssuranceConfig::keys`]. Default none.
    pub user: Option<String>,
    /// All writers and readers hear from `punctual reserve` what becomes of their sessions over domains, and not only those whose listener
    /// is for SESSION_CHANGED and writers whose QoS has a flow controller of sessions. Default false.
    pub sessions: bool,
    /// The key itself. A program gives it, or the crate `punctual-settings` with its feature `keys`, from the two values above.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub credentials: Option<Given>,
}

/// Credentials that a program has given; two are equal if they are the same ones.
#[derive(Clone, Debug)]
pub struct Given(pub std::sync::Arc<dyn wire::seal::Credentials>);

impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Given {}

/// Whether and how a participant shares memory with participants of other processes of its host. Samples go that way if both allow it,
/// are of one user and of one network namespace, and have endpoints that match; else by UDP, as everything does that is not data of the
/// application. Until there is such a participant nothing of the system is taken; then five descriptors and two threads, and a descriptor
/// for each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct SharedMemoryConfig {
    /// Default true.
    pub enabled: bool,
    /// Bytes of the ring to each process, a power of two from 1 MiB to 64 MiB. Memory is taken as it is used. Default 2 MiB.
    pub ring: u32,
    /// Bytes of memory for samples that are written where other processes copy them out, 64 KiB to 1 GiB: loans, and what is larger than
    /// 16 KiB. Memory is taken as it is used; what finds no room is copied into rings. Default 16 MiB.
    pub loans: u32,
    /// How long a thread looks at the rings before it sleeps, 0 to 1 s: within that time it is not woken, which takes microseconds, but
    /// has its core for itself. An eighth of each ring is taken from the system at once then. Default 0.
    #[cfg_attr(feature = "serde", serde(with = "text::span"))]
    #[cfg_attr(feature = "schema", schemars(with = "Duration"))]
    pub spin: std::time::Duration,
}

/// Identity of a participant, discovery of others, and leases.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct DiscoveryConfig {
    /// Decides the ports that it listens to. Default: the first free one.
    pub participant_id: ParticipantId,
    /// Participants of another tag of the same domain are not seen (RTPS 2.5, 9.6.3.1). At most 255 bytes; default empty.
    pub domain_tag: String,
    /// Name for people, announced: at most 255 bytes; an empty one is none. Default: as `camera (4711 at robot)`, with process id and host.
    pub entity_name: Option<String>,
    /// Participants that may be beyond multicast: announcements go there as well. Default none.
    pub static_peers: Vec<Peer>,
    /// How long others keep us without hearing from us; longer than the announce period, at least three of them are wise.
    /// Default 10 s.
    pub lease_duration: Duration,
    /// Time between two announcements; above zero. Default 3 s.
    pub announce_period: Duration,
    /// What this host takes of a latency over domains, from a write until the packet is on the wire, or from there until the sample can be taken: the
    /// longer of both. It is announced before USER_DATA, and `punctual reserve` takes it off the limit. Zero or more; default: not announced.
    pub host_share: Option<Duration>,
    /// Types of writers and readers are announced, others may ask about them, and matching compares them, not just their names. A
    /// participant of Fast DDS 3 matches only types whose type objects are the very same then. Default true.
    pub types: bool,
}

/// The number of a participant on its host, which decides its ports (RTPS 2.5, 9.6.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ParticipantId {
    /// The lowest one whose ports are free; without one (120 for each host and domain, fewer in the highest domains) ports that the system
    /// chooses. Others then find it by multicast, or because it announces itself to them: no [`Peer`] without a port names it.
    #[default]
    FirstFree,
    /// This one, 0 to 119, or nothing.
    Fixed(u8),
}

/// Which interfaces and addresses a participant uses.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct NetworkConfig {
    /// Default: all of them.
    pub interfaces: Interfaces,
    /// Default: IPv4.
    pub family: Family,
    /// False: nothing is sent to multicast groups nor received from them, and participants are found by
    /// [`DiscoveryConfig::static_peers`] only. Default true.
    pub multicast: bool,
    /// True: this participant's readers get data by the group of the domain too, and its writers use the groups that readers announce.
    /// Radio links send multicast at their lowest rate. Needs [`NetworkConfig::multicast`]. Default false.
    pub multicast_data: bool,
    /// Most bytes of a datagram, 256 to 65,507; it is less where the interface sends less in one piece. Some peers take only small
    /// ones. Default 65,507.
    pub largest_datagram: u32,
    /// True: the reception time of a sample is when the kernel had its last datagram, not when a thread of the participant read it. That
    /// costs about 0.1 us for each datagram. Default false.
    pub kernel_times: bool,
    /// How long the thread that reads the endpoints' socket looks at it before it sleeps, 0 to 1 s: within that time it is not woken,
    /// which takes microseconds, but has its core for itself. Not while there is shared memory that is looked at so
    /// ([`SharedMemoryConfig::spin`]). Default 0.
    #[cfg_attr(feature = "serde", serde(with = "text::span"))]
    #[cfg_attr(feature = "schema", schemars(with = "Duration"))]
    pub spin: std::time::Duration,
}

/// A choice among the host's interfaces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Interfaces {
    /// All that are up, and those that come up later.
    #[default]
    All,
    /// Those of these names, as `eth0`, also if they come up later.
    Named(Vec<String>),
    /// Those that have one of these addresses.
    WithAddress(Vec<IpAddr>),
    /// This host alone.
    Loopback,
}

/// Versions of the Internet Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Family {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
    /// IPv4 and IPv6.
    Both,
}

/// How much the sockets hold. Linux grants at most `net.core.rmem_max` and `net.core.wmem_max`, and more only with CAP_NET_ADMIN; the
/// report says what was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct BufferConfig {
    /// Bytes to ask for as receive buffer of each socket, 4,096 to 2^30. Default 2 MiB.
    pub receive: u32,
    /// Bytes to ask for as send buffer of each socket, 4,096 to 2^30. Default 1 MiB.
    pub send: u32,
}

/// How the threads of a participant run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct ThreadConfig {
    /// Beginning of their names, as `top -H` shows them; at most 8 bytes, default `dds`.
    pub name_prefix: String,
    /// Real-time priority (SCHED_FIFO) of the threads that receive and keep time, 1 to 99; default none. What is not permitted is
    /// not fatal: the report says so.
    pub priority: Option<u8>,
    /// Cores that they may run on, numbered from 0; empty, the default, is all.
    pub cores: Vec<usize>,
}

/// Participant ids end where the ports of the next domain begin (RTPS 2.5, 9.6.2.3 with the gains 250 and 2).
pub(crate) const MAX_PARTICIPANT_ID: u8 = 119;
const MAX_TEXT: usize = 255;
const MAX_PREFIX: usize = 8;
const BUFFER: std::ops::RangeInclusive<u32> = 4_096..=1 << 30;
/// The largest datagram fits an eighth of the smallest.
const RING: std::ops::RangeInclusive<u32> = 1 << 20..=64 << 20;
const LOANS: std::ops::RangeInclusive<u32> = 64 << 10..=1 << 30;
const MAX_SPIN: std::time::Duration = std::time::Duration::from_secs(1);

impl Default for AssuranceConfig {
    fn default() -> Self {
        Self { patience: Duration::from_secs(3), keys: None, user: None, sessions: false, credentials: None }
    }
}

impl AssuranceConfig {
    /// A participant that is to sign does not go without.
    pub(crate) fn check_keys(&self) -> Result<(), Error> {
        if self.credentials.is_none() && (self.keys.is_some() || self.user.is_some()) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "assurance.keys",
                "keys are named, and the program has not loaded them",
                "use the crate punctual-settings with its feature keys, or give AssuranceConfig::credentials",
            ));
        }
        Ok(())
    }
}

impl Default for SharedMemoryConfig {
    fn default() -> Self {
        Self { enabled: true, ring: 2 << 20, loans: 16 << 20, spin: std::time::Duration::ZERO }
    }
}

impl Default for DiscoveryConfig {
    fn default() -> Self {
        Self {
            participant_id: ParticipantId::FirstFree,
            domain_tag: String::new(),
            entity_name: None,
            static_peers: Vec::new(),
            lease_duration: Duration::from_secs(10),
            announce_period: Duration::from_secs(3),
            host_share: None,
            types: true,
        }
    }
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            interfaces: Interfaces::All,
            family: Family::V4,
            multicast: true,
            multicast_data: false,
            largest_datagram: Path::MAX_DATAGRAM,
            kernel_times: false,
            spin: std::time::Duration::ZERO,
        }
    }
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self { receive: 2 << 20, send: 1 << 20 }
    }
}

impl Default for ThreadConfig {
    fn default() -> Self {
        Self { name_prefix: "dds".to_owned(), priority: None, cores: Vec::new() }
    }
}

impl Config {
    /// Checks the configuration before sockets are opened.
    ///
    /// # Errors
    ///
    /// `BAD_PARAMETER` for a value out of its range, `INCONSISTENT_POLICY` for two that contradict each other.
    pub fn check(&self) -> Result<(), Error> {
        self.discovery.check()?;
        self.network.check()?;
        self.buffers.check()?;
        self.threads.check()?;
        self.shared_memory.check()?;
        if let Some(peer) =
            self.discovery.static_peers.iter().find(|peer| !self.network.family.has(peer.address))
        {
            let advice = "give addresses of the family that is used, or use Family::Both";
            let what = format!("{peer}, with sockets of the other family of addresses only");
            return Err(Error::new(ReturnCode::InconsistentPolicy, "static_peers", what, advice));
        }
        if self.assurance.patience <= Duration::ZERO {
            let what = self.assurance.patience.to_string();
            return bad("patience", what, "give more than zero, or infinite");
        }
        Ok(())
    }

    /// Where announcements go besides multicast; without duplicates.
    pub fn static_peers(&self, domain_id: u32) -> Vec<SocketAddr> {
        let mut found = Vec::new();
        for peer in &self.discovery.static_peers {
            for address in peer.addresses(domain_id) {
                if !found.contains(&address) {
                    found.push(address);
                }
            }
        }
        found
    }
}

impl DiscoveryConfig {
    /// What is announced before USER_DATA.
    pub(crate) fn announced_share(&self) -> Vec<u8> {
        let share = self.host_share.map(|share| format!("punctual.host-share={}ns;", share.as_nanos()));
        share.unwrap_or_default().into_bytes()
    }

    fn check(&self) -> Result<(), Error> {
        if let ParticipantId::Fixed(id) = self.participant_id
            && id > MAX_PARTICIPANT_ID
        {
            return bad("participant_id", format!("{id}"), "give 0 to 119, or ParticipantId::FirstFree");
        }
        for (place, text) in
            [("domain_tag", Some(&self.domain_tag)), ("entity_name", self.entity_name.as_ref())]
        {
            if let Some(text) = text.filter(|text| text.len() > MAX_TEXT || text.contains('\0')) {
                return bad(place, format!("{text:?}"), "give at most 255 bytes without NUL");
            }
        }
        for peer in &self.static_peers {
            let ip = peer.address;
            if ip.is_unspecified() || ip.is_multicast() || peer.port == Some(0) {
                return bad(
                    "static_peers",
                    format!("{peer}"),
                    "give the address of a host, with a port above 0 or none",
                );
            }
        }
        if let Some(share) = self.host_share.filter(|share| *share < Duration::ZERO || share.is_infinite()) {
            return bad("host_share", share.to_string(), "give a finite time of zero or more");
        }
        let (lease, period) = (self.lease_duration, self.announce_period);
        if period <= Duration::ZERO || period.is_infinite() {
            let what = period.to_string();
            return bad("announce_period", what, "give a finite time above zero");
        }
        if lease <= period {
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                "lease_duration",
                format!("{lease}, with announcements every {period}"),
                "make it longer than announce_period, three times is wise",
            ));
        }
        Ok(())
    }
}

impl NetworkConfig {
    fn check(&self) -> Result<(), Error> {
        if !(Path::MIN_DATAGRAM..=Path::MAX_DATAGRAM).contains(&self.largest_datagram) {
            return bad("largest_datagram", format!("{}", self.largest_datagram), "give 256 to 65507 bytes");
        }
        check_spin("network.spin", self.spin)?;
        if self.multicast_data && !self.multicast {
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                "multicast_data",
                "true without multicast",
                "switch multicast on too, or both off",
            ));
        }
        match &self.interfaces {
            Interfaces::Named(names) if names.is_empty() => {
                bad("interfaces", "no name".to_owned(), "name at least one, or use Interfaces::All")
            }
            Interfaces::WithAddress(addresses) => match addresses.iter().find(|ip| !self.family.has(**ip)) {
                Some(ip) => bad("interfaces", format!("{ip}"), "give addresses of the family that is used"),
                None if addresses.is_empty() => {
                    bad("interfaces", "no address".to_owned(), "give at least one, or use Interfaces::All")
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl BufferConfig {
    fn check(&self) -> Result<(), Error> {
        for (place, bytes) in [("buffers.receive", self.receive), ("buffers.send", self.send)] {
            if !BUFFER.contains(&bytes) {
                return bad(place, format!("{bytes}"), "give 4096 to 2^30 bytes");
            }
        }
        Ok(())
    }
}

fn check_spin(place: &'static str, spin: std::time::Duration) -> Result<(), Error> {
    if spin > MAX_SPIN {
        return bad(place, format!("{spin:?}"), "give at most a second");
    }
    Ok(())
}

impl SharedMemoryConfig {
    fn check(&self) -> Result<(), Error> {
        if !self.ring.is_power_of_two() || !RING.contains(&self.ring) {
            let advice = "give a power of two from 1048576 to 67108864 bytes";
            return bad("shared_memory.ring", format!("{}", self.ring), advice);
        }
        if !LOANS.contains(&self.loans) {
            return bad("shared_memory.loans", format!("{}", self.loans), "give 65536 to 2^30 bytes");
        }
        check_spin("shared_memory.spin", self.spin)
    }
}

impl ThreadConfig {
    fn check(&self) -> Result<(), Error> {
        let prefix = &self.name_prefix;
        if prefix.len() > MAX_PREFIX || prefix.contains('\0') {
            return bad("name_prefix", format!("{prefix:?}"), "give at most 8 bytes without NUL");
        }
        match self.priority {
            Some(priority) if !(1..=99).contains(&priority) => {
                bad("priority", format!("{priority}"), "give 1 to 99, or none")
            }
            _ => Ok(()),
        }
    }
}

impl Family {
    /// True if addresses of this kind are used.
    pub const fn has(self, address: IpAddr) -> bool {
        if address.is_ipv4() { self.v4() } else { self.v6() }
    }

    /// True if IPv4 is used.
    pub const fn v4(self) -> bool {
        matches!(self, Self::V4 | Self::Both)
    }

    /// True if IPv6 is used.
    pub const fn v6(self) -> bool {
        matches!(self, Self::V6 | Self::Both)
    }
}

fn bad<T>(place: &'static str, what: String, advice: &'static str) -> Result<T, Error> {
    Err(Error::new(ReturnCode::BadParameter, place, what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn the_default_is_accepted() {
        assert_eq!(Config::default().check(), Ok(()));
    }

    #[test]
    fn values_out_of_range_are_named() {
        type Case = (&'static str, fn(&mut Config));
        let cases: [Case; 16] = [
            ("participant_id: 120", |config| config.discovery.participant_id = ParticipantId::Fixed(120)),
            ("domain_tag", |config| config.discovery.domain_tag = "x".repeat(256)),
            ("entity_name", |config| config.discovery.entity_name = Some("a\0".to_owned())),
            ("static_peers: 239.0.0.1", |config| {
                config.discovery.static_peers = vec!["239.0.0.1".parse().unwrap()];
            }),
            ("announce_period: 0 s", |config| config.discovery.announce_period = Duration::ZERO),
            ("lease_duration", |config| config.discovery.lease_duration = Duration::from_secs(3)),
            ("largest_datagram: 255", |config| config.network.largest_datagram = 255),
            ("multicast_data", |config| {
                config.network.multicast = false;
                config.network.multicast_data = true;
            }),
            ("interfaces: ::1", |config| {
                config.network.interfaces = Interfaces::WithAddress(vec!["::1".parse().unwrap()]);
            }),
            ("buffers.send: 0", |config| config.buffers.send = 0),
            ("name_prefix", |config| config.threads.name_prefix = "123456789".to_owned()),
            ("priority: 100", |config| config.threads.priority = Some(100)),
            ("shared_memory.ring: 3", |config| config.shared_memory.ring = 3),
            ("network.spin: 2s", |config| config.network.spin = std::time::Duration::from_secs(2)),
            ("shared_memory.loans: 9", |config| config.shared_memory.loans = 9),
            ("shared_memory.spin: 2s", |config| {
                config.shared_memory.spin = std::time::Duration::from_secs(2);
            }),
        ];
        for (expected, change) in cases {
            let said = refused(change);
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    #[test]
    fn peers_of_a_family_that_is_not_used_are_refused() {
        let mut config = Config::default();
        config.discovery.static_peers =
            ["[::1]:5", "10.0.0.1:5", "10.0.0.1:5"].iter().map(|text| text.parse().unwrap()).collect();
        let said = config.check().unwrap_err().to_string();
        assert!(said.contains("[::1]:5") && said.contains("Family::Both"), "{said}");
        config.network.family = Family::Both;
        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.static_peers(0).len(), 2);
    }
}
