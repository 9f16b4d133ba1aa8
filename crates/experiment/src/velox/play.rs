//! Flows between hosts of the domains, and floods beside them: programs are started, told to begin, measured together with the machine, and heard.
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::probe::{Probes, both_clocks};
use serde_json::Value;

use super::site::Site;
use crate::flood::AROUND;
use crate::member::wall;
use crate::program::{Folder, INTERRUPTED, Program, Stopped, own};
use crate::record::{self, Record};
use crate::stalls::{LATE, Stalls};

/// When floods began and ended, and what each sent and what of it arrived.
type Flooded = ((i64, i64), Vec<(u64, u64)>);

/// What stands still for longer than this, in nanoseconds, is a stall. What is shorter is in what hosts and links of the lab are allowed beyond a
/// bound: [`HOSTS`].
pub(crate) const STOOD_STILL: u64 = 1_000_000;
/// What hosts, the programs and the links of the lab may take beyond the bound from edge to edge, in nanoseconds.
pub(crate) const HOSTS: i64 = 1_000_000;
/// Ports of the participants of domain 0 (RTPS 2.5, 9.6.2.3): the first one's, and how far they are apart.
const DISCOVERY: u16 = 7_410;
const USER: u16 = 7_411;
const APART: u16 = 2;
/// Where floods go, the first of them.
const FLOOD: u16 = 9_000;
/// Bytes of headers of UDP and IP.
const HEADERS: u64 = 28;
/// How long programs may take to find each other, and a writer longer than asked for.
const MEETING: Duration = Duration::from_secs(90);
const SPARE: Duration = Duration::from_secs(60);
/// After the last send call, the time for what is under way: full queues of slow links.
const UNDER_WAY: Duration = Duration::from_millis(1_500);
const LOOK: Duration = Duration::from_millis(20);

/// One topic.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    /// What it is called, for people and for DDS.
    pub(crate) name: String,
    /// The hosts of its writers.
    pub(crate) writers: Vec<String>,
    /// The hosts of its readers.
    pub(crate) readers: Vec<String>,
    /// The host that makes copies for the readers, if one does.
    pub(crate) relay: Option<String>,
    /// Bytes of a sample.
    pub(crate) size: u32,
    /// Nanoseconds from one sample of a writer to the next.
    pub(crate) separation: u64,
    /// Samples that are lost are sent again.
    pub(crate) reliable: bool,
}

impl Topic {
    /// Nanoseconds between two samples that its session lets through: a thirty-second less, so that a writer that was late catches up.
    pub(crate) const fn least_separation(&self) -> u64 {
        self.separation - self.separation / 32
    }
}

/// What is sent besides: datagrams of this many bytes of IP at this rate on the wire, in bits per second.
#[derive(Clone, Debug)]
pub(crate) struct Flood {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) rate: u64,
    pub(crate) size: u64,
}

impl Flood {
    /// Bytes of a datagram on the wire.
    pub(crate) const fn on_wire(&self) -> u64 {
        self.size + AROUND
    }
}

/// How long flows are alone, flooded, and alone again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) alone: Duration,
    pub(crate) flooded: Duration,
    pub(crate) after: Duration,
}

impl Schedule {
    /// So many seconds each.
    pub(crate) const fn seconds(alone: u64, flooded: u64, after: u64) -> Self {
        let of = Duration::from_secs;
        Self { alone: of(alone), flooded: of(flooded), after: of(after) }
    }

    fn whole(&self) -> Duration {
        self.alone + self.flooded + self.after
    }
}

/// What was sent and received of a topic.
#[derive(Debug)]
pub(crate) struct Heard {
    /// By all writers, in the order of time.
    pub(crate) sent: Vec<Record>,
    /// By the host that makes copies.
    pub(crate) relayed: Option<Vec<Record>>,
    /// By each reader.
    pub(crate) received: Vec<Vec<Record>>,
}

/// What was played.
pub(crate) struct Played {
    pub(crate) topics: Vec<Heard>,
    /// When floods began and ended, in nanoseconds since 1970.
    pub(crate) flooded: (i64, i64),
    /// Datagrams that floods sent, and that arrived.
    pub(crate) floods: Vec<(u64, u64)>,
    pub(crate) stalls: Stalls,
    pub(crate) real_time: bool,
}

impl Played {
    /// Why these floods were none, in words: one sent less than 95 % of its rate, none of it was lost though it is more than its way carries, or none
    /// of all came so far as to be in the way.
    pub(crate) fn calm(&self, floods: &[Flood], overload: bool) -> Vec<String> {
        let (from, to) = self.flooded;
        let time = u128::from(to.saturating_sub(from).unsigned_abs());
        let mut calm = Vec::new();
        for (flood, (sent, came)) in floods.iter().zip(&self.floods) {
            let named = format!("the flood from {} to {}", flood.from, flood.to);
            let planned =
                u128::from(flood.rate) * time / 1_000_000_000 / u128::from(flood.on_wire() * 8).max(1);
            if u128::from(*sent) * 100 < planned * 95 {
                calm.push(format!("{named} sent {sent} datagrams of {planned}"));
            } else if overload && came >= sent {
                calm.push(format!("{named} lost none of {sent} datagrams: its way was not full"));
            }
        }
        if !floods.is_empty() && self.floods.iter().all(|(_, came)| *came == 0) {
            calm.push("no datagram of a flood arrived".to_owned());
        }
        calm
    }
}

/// Where topics are played.
pub(crate) struct Stage<'s> {
    pub(crate) site: &'s Site,
    pub(crate) folder: &'s Folder,
    pub(crate) stopped: Stopped<'s>,
}

/// Participants that hosts have, and where each one listens.
#[derive(Default)]
struct Participants(BTreeMap<String, u8>);

impl Participants {
    /// The number of the next one of a host.
    fn next(&mut self, host: &str) -> u8 {
        let count = self.0.entry(host.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

/// The port at which a participant takes user data.
pub(crate) fn user_port(participant: u8) -> u16 {
    USER + APART * u16::from(participant)
}

/// A participant of a topic: where it is, and its number on its host.
struct Member {
    host: String,
    participant: u8,
}

impl Stage<'_> {
    /// Plays topics and floods.
    ///
    /// # Errors
    /// In words: a program does not run, or the user wants an end.
    pub(crate) fn play(
        &self,
        topics: &[Topic],
        floods: &[Flood],
        schedule: Schedule,
    ) -> Result<Played, String> {
        let mut participants = Participants::default();
        let (mut readers, mut writers) = (Vec::new(), Vec::new());
        // Readers first, so that the port of a session is that of the first participant of a host.
        let mut member = |host: &String| Member { host: host.clone(), participant: participants.next(host) };
        let members: Vec<[Vec<Member>; 3]> = {
            let takers: Vec<[Vec<Member>; 2]> = topics
                .iter()
                .map(|topic| {
                    [topic.relay.as_slice(), &topic.readers].map(|of| of.iter().map(&mut member).collect())
                })
                .collect();
            let senders = topics.iter().map(|topic| topic.writers.iter().map(&mut member).collect());
            let senders: Vec<Vec<Member>> = senders.collect();
            takers
                .into_iter()
                .zip(senders)
                .map(|([relays, readers], senders)| [relays, readers, senders])
                .collect()
        };
        for (topic, [relays, takers, senders]) in topics.iter().zip(&members) {
            let copies = format!("{}-copies", topic.name);
            for relay in relays {
                let peers = takers.iter().chain(senders);
                let mut command = self.command("reader", &topic.name, topic, relay, peers, "relay")?;
                command.args(["--writers", &topic.writers.len().to_string(), "--copies", &copies]);
                command.args(["--readers", &topic.readers.len().to_string()]);
                readers.push(Program::start(&format!("relay of {}", topic.name), command, self.folder)?);
            }
            for (at, taker) in takers.iter().enumerate() {
                let (name, peers, count) = match relays.is_empty() {
                    true => (&topic.name, senders, senders.len()),
                    false => (&copies, relays, relays.len()),
                };
                let mut command =
                    self.command("reader", name, topic, taker, peers.iter(), &format!("{at}.received"))?;
                command.args(["--writers", &count.to_string()]);
                let name = format!("reader {at} of {}", topic.name);
                readers.push(Program::start(&name, command, self.folder)?);
            }
            let peers = if relays.is_empty() { takers } else { relays };
            for (at, sender) in senders.iter().enumerate() {
                let mut command =
                    self.command("writer", &topic.name, topic, sender, peers.iter(), &format!("{at}.sent"))?;
                command.args(["--number", &at.to_string(), "--readers", &peers.len().to_string()]);
                command.args(["--separation", &topic.separation.to_string()]);
                command.args(["--least-separation", &topic.least_separation().to_string()]);
                let name = format!("writer {at} of {}", topic.name);
                writers.push(Program::start(&name, command, self.folder)?);
            }
        }
        let mut real_time = true;
        for writer in &writers {
            let said = writer.hear("ready", MEETING, self.stopped)?;
            real_time &= said.get("real_time") == Some(&Value::Bool(true));
        }
        for reader in &readers {
            reader.hear("ready", MEETING, self.stopped)?;
        }
        let probes = Probes::start(Duration::from_nanos(LATE)).map_err(|error| error.to_string())?;
        real_time &= probes.real_time();
        let (now, wall_now) = both_clocks();
        let ahead = wall_now.cast_signed().saturating_sub(now.cast_signed());
        let begun = Instant::now();
        for writer in &mut writers {
            writer.order(&format!("go {}", schedule.whole().as_secs_f64()))?;
        }
        let (flooded, floods) = self.flood(floods, begun + schedule.alone, schedule.flooded)?;
        for writer in &writers {
            writer.hear("done", schedule.whole() + SPARE, self.stopped)?;
        }
        thread::sleep(UNDER_WAY);
        let stalls = Stalls::of(probes.stop(), ahead, STOOD_STILL);
        for reader in &mut readers {
            reader.order("end")?;
        }
        for reader in &readers {
            reader.hear("done", SPARE, self.stopped)?;
        }
        writers.into_iter().chain(readers).for_each(Program::end);
        let heard = topics.iter().map(|topic| self.heard(topic)).collect::<Result<_, _>>()?;
        Ok(Played { topics: heard, flooded, floods, stalls, real_time })
    }

    fn command<'m>(
        &self,
        program: &str,
        name: &str,
        topic: &Topic,
        member: &Member,
        peers: impl Iterator<Item = &'m Member>,
        records: &str,
    ) -> Result<std::process::Command, String> {
        let mut command = self.site.lab().command(&member.host, own()?).map_err(|error| error.to_string())?;
        command.args(["velox", program, "--topic", name, "--size", &topic.size.to_string()]);
        command.args(["--participant", &member.participant.to_string()]);
        command.arg("--records").arg(self.folder.file(&format!("{}.{records}", topic.name)));
        for peer in peers {
            let port = DISCOVERY + APART * u16::from(peer.participant);
            command.args(["--peer", &SocketAddr::from((self.site.address(&peer.host)?, port)).to_string()]);
        }
        if topic.reliable {
            command.arg("--reliable");
        }
        Ok(command)
    }

    fn heard(&self, topic: &Topic) -> Result<Heard, String> {
        let read = |name: String| record::read(&self.folder.file(&format!("{}.{name}", topic.name)));
        let sent: Vec<Vec<Record>> =
            (0..topic.writers.len()).map(|at| read(format!("{at}.sent"))).collect::<Result<_, _>>()?;
        let mut sent: Vec<Record> = sent.into_iter().flatten().collect();
        sent.sort_unstable_by_key(|record| record.at);
        let received = (0..topic.readers.len()).map(|at| read(format!("{at}.received")));
        let relayed = topic.relay.iter().map(|_| read("relay".to_owned())).next().transpose()?;
        Ok(Heard { sent, relayed, received: received.collect::<Result<_, _>>()? })
    }

    /// Sends all floods at the same time, from a moment on for so long; when they began and ended, and what each sent and what of it arrived.
    fn flood(&self, floods: &[Flood], from: Instant, time: Duration) -> Result<Flooded, String> {
        let mut sockets = Vec::new();
        for (at, flood) in (0..).zip(floods) {
            let to = SocketAddr::new(self.site.address(&flood.to)?, FLOOD + at);
            let bind = |host: &str, address: SocketAddr| {
                let bound = self
                    .site
                    .lab()
                    .on(host, || UdpSocket::bind(address))
                    .map_err(|error| error.to_string())?;
                bound.map_err(|error| format!("{host}: {error}"))
            };
            let taker = bind(&flood.to, to)?;
            taker.set_read_timeout(Some(LOOK)).map_err(|error| error.to_string())?;
            let sender = bind(&flood.from, SocketAddr::new(self.site.address(&flood.from)?, 0))?;
            sender.connect(to).map_err(|error| error.to_string())?;
            sockets.push((flood, sender, taker));
        }
        while Instant::now() < from {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(INTERRUPTED.to_owned());
            }
            thread::sleep(LOOK.min(from.saturating_duration_since(Instant::now())));
        }
        let (over, begun) = (AtomicBool::new(false), wall());
        let counts = thread::scope(|scope| {
            let takers: Vec<_> =
                sockets.iter().map(|(_, _, taker)| scope.spawn(|| take(taker, &over))).collect();
            let senders: Vec<_> = sockets
                .iter()
                .map(|(flood, sender, _)| scope.spawn(|| send(sender, flood, time, self.stopped)))
                .collect();
            let sent: Vec<u64> = senders.into_iter().map(|sender| sender.join().unwrap_or(0)).collect();
            let ended = wall();
            thread::sleep(UNDER_WAY);
            over.store(true, Ordering::Relaxed);
            let taken = takers.into_iter().map(|taker| taker.join().unwrap_or(0));
            ((begun, ended), sent.into_iter().zip(taken).collect())
        });
        if self.stopped.load(Ordering::Relaxed) { Err(INTERRUPTED.to_owned()) } else { Ok(counts) }
    }
}

/// Sends datagrams at the rate of a flood; how many.
fn send(socket: &UdpSocket, flood: &Flood, time: Duration, stopped: &AtomicBool) -> u64 {
    let payload = vec![0; usize::try_from(flood.size.saturating_sub(HEADERS)).unwrap_or(0)];
    let separation = Duration::from_nanos(flood.on_wire() * 8_000_000_000 / flood.rate.max(1));
    let start = Instant::now();
    let (mut sent, mut due) = (0, start);
    // One that comes behind sends less; it does not send for longer.
    while start.elapsed() < time && !stopped.load(Ordering::Relaxed) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // A link that is full says so to who sends.
        sent += u64::from(socket.send(&payload).is_ok());
        due += separation;
    }
    sent
}

/// Takes what comes until all is over; how many datagrams that was.
fn take(socket: &UdpSocket, over: &AtomicBool) -> u64 {
    let (mut taken, mut datagram) = (0, [0; 2_048]);
    while !over.load(Ordering::Relaxed) {
        taken += u64::from(socket.recv(&mut datagram).is_ok());
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_that_sent_too_little_or_lost_nothing_or_went_nowhere_is_told() {
        let flood =
            |from: &str| Flood { from: from.to_owned(), to: "c".to_owned(), rate: 8_000_000, size: 962 };
        let floods = [flood("a"), flood("b")];
        // 8 Mbit/s are a thousand datagrams of 1,000 bytes on the wire in a second.
        let told = |counts: [(u64, u64); 2], overload: bool| {
            let played = Played {
                topics: Vec::new(),
                flooded: (5, 2_000_000_005),
                floods: counts.to_vec(),
                stalls: Stalls::default(),
                real_time: true,
            };
            played.calm(&floods, overload).len()
        };
        assert_eq!(told([(2_000, 1_500), (1_900, 1)], true), 0);
        assert_eq!(told([(1_899, 1_500), (2_000, 1_500)], true), 1);
        assert_eq!(told([(2_000, 2_000), (2_000, 1_500)], true), 1);
        assert_eq!(told([(2_000, 2_000), (2_000, 1_500)], false), 0);
        assert_eq!(told([(2_000, 0), (2_000, 0)], true), 1);
        // A wrong port: the other end refuses, and the system tells the sender instead of sending.
        assert_eq!(told([(1_000, 0), (1_000, 0)], true), 3);
        assert_eq!(told([(0, 0), (0, 0)], false), 3);
    }
}
