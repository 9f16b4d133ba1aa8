//! What a seed of the scenario draws.
use std::fmt;

use wire::qos::{Durability, EndpointQos, Liveliness, LivelinessKind, Reliability};
use wire::{Duration, Instant};

use crate::faults::{Frame, Kind, Mix};
use crate::payload;
use crate::random::Random;

const KINDS: &[Kind] = &[
    Kind::Loss,
    Kind::Bursts,
    Kind::Duplicates,
    Kind::Reordering,
    Kind::Delay,
    Kind::OtherMtu,
    Kind::SmallBuffers,
    Kind::SlowProcesses,
    Kind::OneWayCuts,
    Kind::Partitions,
    Kind::Crashes,
    Kind::Leaves,
    Kind::LateJoins,
    Kind::Stalls,
    Kind::SlowReaders,
    Kind::AddressChanges,
    Kind::ClockJumps,
    Kind::Rematches,
    Kind::Spoofing,
];

/// Which addresses the hosts have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Families {
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
    /// Both.
    Both,
}

/// How long samples are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// At most 200 octets.
    Small,
    /// Mostly small, now and then up to 4,000 octets.
    Medium,
    /// Up to 60,000 octets: most go in fragments.
    Large,
}

/// One writer or reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointPlan {
    /// Writer or reader.
    pub is_writer: bool,
    /// Topic, by number.
    pub topic: u64,
    /// Type, by number.
    pub type_number: u64,
    /// RELIABILITY.
    pub reliable: bool,
    /// DURABILITY: TRANSIENT_LOCAL or VOLATILE.
    pub durable: bool,
    /// DEADLINE in seconds, if finite.
    pub deadline: Option<i64>,
    /// LIVELINESS lease (AUTOMATIC) in milliseconds, if finite.
    pub liveliness: Option<i64>,
    /// PARTITION. Only readers have patterns.
    pub partition: Vec<&'static str>,
    /// When it is made, after its participant has started.
    pub delay: Duration,
    /// Of a writer: how long samples are.
    pub sizes: Sizes,
    /// Of a writer: how many are written.
    pub samples: u32,
    /// Of a writer: longest time between two.
    pub interval: Duration,
    /// Of a writer: the newest changes that are kept; older ones are removed.
    pub depth: Option<usize>,
    /// Its byte limit.
    pub byte_limit: usize,
    /// Of a writer: its batching delay.
    pub batch_delay: Duration,
    /// Of a reader: it announces its receive buffer.
    pub tells_buffer: bool,
}

/// One participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParticipantPlan {
    /// Its host, by number.
    pub host: usize,
    /// Its domain tag; others are not seen.
    pub tag: &'static str,
    /// Its endpoints.
    pub endpoints: Vec<EndpointPlan>,
}

/// Participants on hosts, and the faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// For each host, whether it is attached to the second segment too.
    pub hosts: Vec<bool>,
    /// Addresses.
    pub families: Families,
    /// Discovery by multicast; otherwise every participant is configured with the addresses of all others.
    pub multicast: bool,
    /// Data for several readers go to a group.
    pub multicast_data: bool,
    /// Largest datagram that interfaces send.
    pub max_datagram: u32,
    /// Time between two announcements.
    pub announce_period: Duration,
    /// Time between those at the start.
    pub initial_period: Duration,
    /// The lease of every participant.
    pub lease: Duration,
    /// The participants; they are nodes 0 and up.
    pub participants: Vec<ParticipantPlan>,
    /// The faults.
    pub mix: Mix,
}

impl Config {
    /// Draws one.
    pub fn draw(random: &mut Random) -> Self {
        let count = random.pick(&[2, 2, 3, 3, 4, 5, 6, 8]).unwrap_or(2);
        let host_count = random.within(1.max(count / 2)..=count) as usize;
        let multicast = random.chance(850_000);
        // Participants that are configured with addresses cannot find each other at others.
        let allowed: Vec<Kind> =
            KINDS.iter().copied().filter(|kind| multicast || *kind != Kind::AddressChanges).collect();
        let frame = Frame {
            allowed: &allowed,
            nodes: count as usize,
            until: Instant::from_nanos(random.within(300_000_000..=3_000_000_000)),
            longest_cut: Duration::from_millis(2_500),
            permanent: 0,
        };
        let mut mix = Mix::draw(random, &frame);
        // A datagram on the host itself may have 65,507 octets; a smaller buffer would never hold it.
        mix.receive_buffer = mix.receive_buffer.max(72 << 10);
        let announce_millis = random.within(100..=500);
        let families = random.pick(&[Families::V4, Families::V4, Families::Both, Families::V6]);
        let writers_share = 240 / count;
        let topics = random.within(1..=3);
        let partitions = random.chance(250_000);
        let participants = (0..count)
            .map(|index| ParticipantPlan {
                host: if (index as usize) < host_count {
                    index as usize
                } else {
                    random.below(host_count as u64) as usize
                },
                tag: if random.chance(40_000) { "other" } else { "" },
                endpoints: (0..random.within(1..=4))
                    .map(|_| EndpointPlan::draw(random, topics, partitions, writers_share, frame.until))
                    .collect(),
            })
            .collect();
        let mtu = mix.profile.mtu - 28;
        Self {
            hosts: (0..host_count).map(|_| random.chance(200_000)).collect(),
            families: families.unwrap_or(Families::V4),
            multicast,
            multicast_data: multicast && random.chance(300_000),
            max_datagram: if mix.profile.fragments && random.chance(250_000) { 65_507 } else { mtu },
            announce_period: Duration::from_millis(announce_millis as i64),
            initial_period: Duration::from_millis(random.within(10..=100) as i64),
            lease: Duration::from_millis((announce_millis * random.within(3..=5)) as i64),
            participants,
            mix,
        }
    }
}

impl EndpointPlan {
    fn draw(random: &mut Random, topics: u64, partitions: bool, samples: u64, until: Instant) -> Self {
        let is_writer = random.coin();
        let sizes =
            random.pick(&[Sizes::Small, Sizes::Small, Sizes::Medium, Sizes::Large]).unwrap_or(Sizes::Small);
        let samples = match sizes {
            Sizes::Small => random.within(1..=samples),
            Sizes::Medium => random.within(1..=samples / 2),
            Sizes::Large => random.within(1..=8),
        };
        let byte_limit = match sizes {
            Sizes::Large => random.pick(&[256 << 10, 1 << 20]),
            _ => random.pick(&[48 << 10, 128 << 10, 1 << 20]),
        };
        let partition = match (partitions, is_writer) {
            (false, _) => None,
            (true, true) => random.pick(&[&["a"] as &[_], &["b"], &["a", "b"], &["ab"]]),
            (true, false) => random.pick(&[&["a"] as &[_], &["b"], &["*"], &["a*"], &["b", "c"]]),
        };
        Self {
            is_writer,
            topic: random.below(topics),
            type_number: u64::from(random.chance(50_000)),
            reliable: random.chance(if is_writer { 900_000 } else { 750_000 }),
            durable: random.chance(if is_writer { 500_000 } else { 300_000 }),
            deadline: random.chance(100_000).then(|| random.within(1..=2) as i64),
            liveliness: random.chance(250_000).then(|| random.within(200..=1_500) as i64),
            partition: partition.unwrap_or_default().to_vec(),
            delay: match random.chance(300_000) {
                true => Duration::from_nanos(random.below(until.as_nanos()) as i64),
                false => Duration::ZERO,
            },
            sizes,
            samples: samples as u32,
            interval: Duration::from_nanos((2 * until.as_nanos() / samples.max(1)) as i64),
            depth: random.chance(400_000).then(|| random.within(1..=30) as usize),
            byte_limit: match is_writer {
                true => byte_limit.unwrap_or(1 << 20),
                false => random.pick(&[160 << 10, 1 << 20]).unwrap_or(1 << 20),
            },
            batch_delay: match random.chance(250_000) {
                true => Duration::from_micros(random.within(50..=10_000) as i64),
                false => Duration::ZERO,
            },
            tells_buffer: random.chance(700_000),
        }
    }

    /// Its QoS.
    pub fn qos(&self) -> EndpointQos {
        let base = if self.is_writer { EndpointQos::writer() } else { EndpointQos::reader() };
        EndpointQos {
            reliability: if self.reliable { Reliability::RELIABLE } else { Reliability::BEST_EFFORT },
            durability: if self.durable { Durability::TransientLocal } else { Durability::Volatile },
            deadline: self.deadline.map_or(Duration::INFINITE, Duration::from_secs),
            liveliness: Liveliness {
                kind: LivelinessKind::Automatic,
                lease_duration: self.liveliness.map_or(Duration::INFINITE, Duration::from_millis),
            },
            partition: self.partition.iter().map(|name| (*name).to_owned()).collect(),
            ..base
        }
    }

    /// Whether a writer of this plan and a reader of that one are to match, worked out here on its own.
    pub fn suits(&self, reader: &Self) -> bool {
        let partition = match (self.partition.is_empty(), reader.partition.is_empty()) {
            (true, true) => true,
            (false, false) => {
                self.partition.iter().any(|name| reader.partition.iter().any(|wanted| includes(wanted, name)))
            }
            _ => false,
        };
        self.is_writer
            && !reader.is_writer
            && (self.topic, self.type_number) == (reader.topic, reader.type_number)
            && (self.reliable || !reader.reliable)
            && (self.durable || !reader.durable)
            && self.deadline.unwrap_or(i64::MAX) <= reader.deadline.unwrap_or(i64::MAX)
            && self.liveliness.unwrap_or(i64::MAX) <= reader.liveliness.unwrap_or(i64::MAX)
            && partition
    }

    /// The length of the next sample.
    pub fn sample_len(&self, random: &mut Random) -> usize {
        let least = payload::MIN_LEN as u64;
        let len = match self.sizes {
            Sizes::Small => random.within(least..=200),
            Sizes::Medium if random.chance(200_000) => random.within(least..=4_000),
            Sizes::Medium => random.within(least..=200),
            Sizes::Large => random.within(1_000..=60_000),
        };
        len as usize
    }
}

/// Whether the partition that a reader wants, possibly with an asterisk at its end, includes a writer's.
fn includes(wanted: &str, name: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == name, |beginning| name.starts_with(beginning))
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |duration: Duration| duration.as_nanos() / 1_000_000;
        writeln!(
            f,
            "hosts (true: on both segments): {:?}, addresses {:?}, multicast {}, data by multicast {}, datagrams up to {}",
            self.hosts, self.families, self.multicast, self.multicast_data, self.max_datagram
        )?;
        writeln!(
            f,
            "announcements every {} ms, at first {} ms, lease {} ms",
            millis(self.announce_period),
            millis(self.initial_period),
            millis(self.lease)
        )?;
        for (index, participant) in self.participants.iter().enumerate() {
            writeln!(f, "n{index} on host {}, tag {:?}", participant.host, participant.tag)?;
            for (number, endpoint) in participant.endpoints.iter().enumerate() {
                writeln!(f, "  n{index}.{number} {endpoint:?}")?;
            }
        }
        write!(f, "{}", self.mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_include_names_by_equality_and_prefix() {
        assert!(includes("a", "a") && includes("*", "a") && includes("a*", "ab") && includes("a*", "a"));
        assert!(!includes("a", "ab") && !includes("b*", "ab"));
    }

    #[test]
    fn endpoints_suit_each_other_by_topic_and_qos() {
        let mut random = Random::new(1);
        let mut draw = |is_writer| {
            let plan = EndpointPlan::draw(&mut random, 1, false, 10, Instant::from_nanos(1_000));
            EndpointPlan {
                is_writer,
                reliable: true,
                durable: false,
                deadline: None,
                liveliness: None,
                type_number: 0,
                ..plan
            }
        };
        let (writer, reader) = (draw(true), draw(false));
        assert!(writer.suits(&reader) && !reader.suits(&writer));
        let suits = |writer: &EndpointPlan, reader: &EndpointPlan| writer.suits(reader);
        assert!(!suits(&EndpointPlan { reliable: false, ..writer.clone() }, &reader));
        assert!(!suits(&writer, &EndpointPlan { durable: true, ..reader.clone() }));
        assert!(!suits(&writer, &EndpointPlan { deadline: Some(1), ..reader.clone() }));
        assert!(!suits(&writer, &EndpointPlan { topic: 9, ..reader.clone() }));
        assert!(suits(&EndpointPlan { deadline: Some(1), ..writer.clone() }, &reader));
        assert!(!suits(&EndpointPlan { partition: vec!["a"], ..writer }, &reader));
    }
}
