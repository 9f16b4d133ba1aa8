//! The sockets of a participant: which ports they get, and what is said if they get none.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use dcps::{Error, ReturnCode};
use rtps::ports;
use udp::{BindError, Report, SendingPort, Socket, SocketOptions};

use crate::config::{Config, Family, MAX_PARTICIPANT_ID, ParticipantId};
use crate::driver::interfaces::Group;

/// Two sockets of one purpose, one for each family that is used.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) v4: Option<Socket>,
    pub(super) v6: Option<Socket>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Sockets {
    /// The number whose ports it has; `None` for ports that the system chose.
    pub(super) participant_id: Option<u8>,
    pub(super) metatraffic: Pair,
    pub(super) user: Pair,
    /// The ports of sockets that are connected to peers.
    pub(super) sending: Sending,
    /// Receives what the group of discovery is sent; none without multicast.
    pub(super) metatraffic_groups: Pair,
    /// Receives what the group of the endpoints is sent; none unless asked for.
    pub(super) user_groups: Pair,
}

/// Ports that datagrams leave from besides those that are received at; without one there are no connected sockets.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) v4: Option<SendingPort>,
    pub(super) v6: Option<SendingPort>,
}

/// What became of joining groups.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// How many the sockets are in now.
    pub(super) count: usize,
    /// A line about each that could not be joined.
    pub(super) failures: Vec<String>,
}

/// The ports of one participant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ports {
    metatraffic: u16,
    user: u16,
}

impl Pair {
    const NONE: Self = Self { v4: None, v6: None };

    /// The port of the socket of a family.
    pub(super) fn port(&self, v4: bool) -> Option<u16> {
        let socket = if v4 { &self.v4 } else { &self.v6 };
        socket.as_ref().map(|socket| socket.local().port())
    }

    /// Those that there are.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.v4.iter().chain(&self.v6)
    }

    fn bind(family: Family, bind: impl Fn(bool) -> Result<Socket, BindError>) -> Result<Self, BindError> {
        Ok(Self {
            v4: family.v4().then(|| bind(true)).transpose()?,
            v6: family.v6().then(|| bind(false)).transpose()?,
        })
    }
}

impl Sockets {
    /// Binds all.
    pub(super) fn bind(domain_id: u32, config: &Config) -> Result<Self, Error> {
        let (participant_id, metatraffic, user) = unicast(domain_id, config)?;
        let family = config.network.family;
        let group = |port: Option<u16>, wanted: bool| {
            let Some(port) = port.filter(|_| wanted) else { return Ok(Pair::NONE) };
            Pair::bind(family, |v4| Socket::multicast(v4, port, &options(config, false)))
                .map_err(|error| multicast_refused(&error))
        };
        Ok(Self {
            participant_id,
            metatraffic,
            user,
            sending: Sending {
                v4: family.v4().then(|| SendingPort::reserve(true).ok()).flatten(),
                v6: family.v6().then(|| SendingPort::reserve(false).ok()).flatten(),
            },
            metatraffic_groups: group(ports::metatraffic_multicast(domain_id), config.network.multicast)?,
            user_groups: group(ports::default_multicast(domain_id), config.network.multicast_data)?,
        })
    }

    /// The ports that are announced: those of [`Sending`], 0 for none.
    pub(super) fn sending_ports(&self) -> [u16; 2] {
        [&self.sending.v4, &self.sending.v6].map(|port| port.as_ref().map_or(0, SendingPort::port))
    }

    /// Joins the groups on these interfaces. Joining twice does no harm.
    pub(super) fn join(&self, groups: &[Group]) -> Joined {
        let mut joined = Joined::default();
        for group in groups {
            for socket in self.metatraffic_groups.iter().chain(self.user_groups.iter()) {
                let v4 = socket.local().is_ipv4();
                let ip = if v4 { IpAddr::V4(ports::GROUP_V4) } else { IpAddr::V6(ports::GROUP_V6) };
                let wanted = if v4 { group.v4 } else { group.v6 };
                match wanted.then(|| socket.join(ip, group.index)) {
                    None => {}
                    Some(Ok(_)) => joined.count += 1,
                    Some(Err(error)) => {
                        joined.failures.push(format!("interface {}: not joined: {error}", group.name));
                    }
                }
            }
        }
        joined
    }

    /// Each with what it is for.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Socket)> {
        [
            ("discovery", &self.metatraffic),
            ("data", &self.user),
            ("discovery groups", &self.metatraffic_groups),
            ("data groups", &self.user_groups),
        ]
        .into_iter()
        .flat_map(|(name, pair)| pair.iter().map(move |socket| (name, socket)))
    }
}

/// # Errors
///
/// `BAD_PARAMETER` if the domain has no ports.
pub(super) fn check_domain(domain_id: u32) -> Result<(), Error> {
    ports::metatraffic_unicast(domain_id, 0).map(drop).ok_or_else(|| no_such_domain(domain_id))
}

/// A range of ports that the system gives to sockets without a wish, and that the participant's lie in.
pub(super) fn ephemeral_collision(domain_id: u32, ephemeral: RangeInclusive<u16>) -> Option<String> {
    let first = ports::metatraffic_multicast(domain_id)?;
    let last = ports::default_unicast(domain_id, MAX_PARTICIPANT_ID.into()).unwrap_or(u16::MAX);
    let collides = first <= *ephemeral.end() && last >= *ephemeral.start();
    collides.then(|| {
        format!(
            "domain {domain_id} uses ports {first} to {last}, which the system also gives to any program ({} to {}): some may be \
             taken by chance; use a lower domain, or keep them free (sysctl net.ipv4.ip_local_reserved_ports)",
            ephemeral.start(),
            ephemeral.end()
        )
    })
}

/// The system's range of ports for sockets without a wish.
pub(super) fn ephemeral_ports() -> Option<RangeInclusive<u16>> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some(numbers.next()?.ok()?..=numbers.next()?.ok()?)
}

/// Beyond the last number whose ports are free the system chooses ports, which others learn by announcements alone: by multicast, or from the
/// peers that are given.
fn unicast(domain_id: u32, config: &Config) -> Result<(Option<u8>, Pair, Pair), Error> {
    let wanted = config.discovery.participant_id;
    let mut taken = None;
    for (id, ports) in candidates(domain_id, wanted) {
        match unicast_pair(ports, config) {
            Ok((metatraffic, user)) => return Ok((Some(id), metatraffic, user)),
            Err(error @ BindError::Taken(_)) => taken = Some((id, error)),
            Err(error) => return Err(refused(&error)),
        }
    }
    match (taken, wanted) {
        (None, _) => Err(no_such_domain(domain_id)),
        (Some((id, error)), ParticipantId::Fixed(_)) => Err(Error::new(
            ReturnCode::OutOfResources,
            "participant_id",
            format!("participant {id} of domain {domain_id} is there already: {error}"),
            "choose another id, or ParticipantId::FirstFree; the command ss -ulpn says who has the port",
        )),
        (Some(_), ParticipantId::FirstFree) => {
            let any = Ports { metatraffic: 0, user: 0 };
            let (metatraffic, user) = unicast_pair(any, config).map_err(|error| refused(&error))?;
            Ok((None, metatraffic, user))
        }
    }
}

/// The ids to try, lowest first, with their ports; those above 65,535 are left out.
fn candidates(domain_id: u32, wanted: ParticipantId) -> impl Iterator<Item = (u8, Ports)> {
    let ids = match wanted {
        ParticipantId::FirstFree => 0..=MAX_PARTICIPANT_ID,
        ParticipantId::Fixed(id) => id..=id,
    };
    ids.filter_map(move |id| {
        let metatraffic = ports::metatraffic_unicast(domain_id, id.into())?;
        let user = ports::default_unicast(domain_id, id.into())?;
        Some((id, Ports { metatraffic, user }))
    })
}

fn unicast_pair(ports: Ports, config: &Config) -> Result<(Pair, Pair), BindError> {
    let at = |port: u16, wakeable: bool| {
        Pair::bind(config.network.family, |v4| {
            // All addresses: some peers put 127.0.0.1 in the place of those that we announce.
            let any = if v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
            let address = SocketAddr::new(any, port);
            match Socket::unicast(address, &options(config, wakeable)) {
                // Wake-ups go over the loopback interface, which may be off.
                Err(BindError::Refused { step: "waker", .. }) => {
                    Socket::unicast(address, &options(config, false))
                }
                bound => bound,
            }
        })
    };
    Ok((at(ports.metatraffic, false)?, at(ports.user, true)?))
}

fn options(config: &Config, wakeable: bool) -> SocketOptions {
    SocketOptions {
        receive_buffer: usize::try_from(config.buffers.receive).ok(),
        send_buffer: usize::try_from(config.buffers.send).ok(),
        wakeable,
        report: Report { time: config.network.kernel_times, ..Report::default() },
        ..SocketOptions::default()
    }
}

fn no_such_domain(domain_id: u32) -> Error {
    Error::new(
        ReturnCode::BadParameter,
        "domain_id",
        format!("domain {domain_id} has no ports for this participant: they would lie above 65535"),
        "use a domain from 0 to 232, and a low participant id in the highest ones",
    )
}

fn refused(error: &BindError) -> Error {
    Error::new(
        ReturnCode::Error,
        "sockets",
        error.to_string(),
        "without IPv6 on this host use Family::V4; for a lack of files or memory see ulimit -n",
    )
}

fn multicast_refused(error: &BindError) -> Error {
    match error {
        BindError::Taken(_) => Error::new(
            ReturnCode::OutOfResources,
            "multicast",
            format!("the port of the group cannot be shared: {error}"),
            "end the program that has it (ss -ulpn says which), use another domain, or multicast = false with static peers",
        ),
        _ => refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(domain_id: u32, wanted: ParticipantId) -> Vec<(u8, u16, u16)> {
        candidates(domain_id, wanted).map(|(id, ports)| (id, ports.metatraffic, ports.user)).collect()
    }

    #[test]
    fn ids_are_tried_lowest_first_and_none_of_the_next_domain() {
        let all = ids(1, ParticipantId::FirstFree);
        assert_eq!(all.len(), 120);
        assert_eq!(all[..2], [(0, 7_660, 7_661), (1, 7_662, 7_663)]);
        assert!(all.iter().all(|(_, _, user)| Some(*user) < ports::metatraffic_multicast(2)));
        assert_eq!(ids(1, ParticipantId::Fixed(7)), [(7, 7_674, 7_675)]);
    }

    #[test]
    fn ids_end_with_the_ports() {
        assert_eq!(ids(232, ParticipantId::FirstFree).last(), Some(&(62, 65_534, 65_535)));
        assert_eq!(ids(232, ParticipantId::Fixed(63)), []);
        assert_eq!(ids(233, ParticipantId::FirstFree), []);
        assert!(check_domain(232).is_ok() && check_domain(233).is_err() && check_domain(u32::MAX).is_err());
    }

    #[test]
    fn ports_that_the_system_gives_away_are_told() {
        // 7400 + 250 * 100 up to the user port of participant 119.
        assert_eq!(ephemeral_collision(100, 32_768..=60_999), None);
        let line = ephemeral_collision(102, 32_768..=60_999).unwrap();
        assert!(line.contains("32900 to 33149") && line.contains("32768 to 60999"), "{line}");
        // The last ports of domain 101 are just inside.
        assert!(ephemeral_collision(101, 32_899..=60_999).is_some());
        assert_eq!(ephemeral_collision(101, 32_900..=60_999), None);
        assert!(ephemeral_collision(0, 1..=7_400).is_some());
        assert_eq!(ephemeral_collision(233, 1..=65_535), None);
    }
}
