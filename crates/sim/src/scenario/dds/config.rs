//! What a seed of the scenario draws.
use std::fmt;

use dds::qos::LivelinessKind;
use wire::{Duration, Instant};

use super::types::Form;
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
    Kind::FullSockets,
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
    /// At most 200 bytes.
    Small,
    /// Mostly small, now and then up to 4,000 bytes.
    Medium,
    /// Up to 60,000 bytes: most go in fragments.
    Large,
}

/// What the endpoints of a topic have in common, unless they are drawn to differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TopicPlan {
    /// How instances are named.
    pub form: Form,
    /// Number of instances; 1 without keys.
    pub instances: u32,
    /// OWNERSHIP is EXCLUSIVE.
    pub exclusive: bool,
}

/// One writer or reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointPlan {
    /// Writer or reader.
    pub is_writer: bool,
    /// Topic, by number.
    pub topic: usize,
    /// RELIABILITY.
    pub reliable: bool,
    /// DURABILITY: TRANSIENT_LOCAL or VOLATILE.
    pub durable: bool,
    /// HISTORY: KEEP_LAST of this depth, or KEEP_ALL.
    pub depth: Option<u32>,
    /// DEADLINE in milliseconds, if finite.
    pub deadline: Option<i64>,
    /// LIVELINESS kind.
    pub liveliness: LivelinessKind,
    /// LIVELINESS lease in milliseconds, if finite.
    pub lease: Option<i64>,
    /// OWNERSHIP: EXCLUSIVE.
    pub exclusive: bool,
    /// DESTINATION_ORDER: BY_SOURCE_TIMESTAMP.
    pub by_source: bool,
    /// PARTITION. Only readers have patterns.
    pub partition: Vec<&'static str>,
    /// When it is made, after its participant has started.
    pub delay: Duration,
    /// Its byte limit.
    pub byte_limit: usize,
    /// What only writers have.
    pub writes: Writes,
    /// What only readers have.
    pub reads: Reads,
}

/// What only writers have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Writes {
    /// OWNERSHIP_STRENGTH.
    pub strength: i32,
    /// LIFESPAN in milliseconds, if finite.
    pub lifespan: Option<i64>,
    /// LATENCY_BUDGET.
    pub batch_delay: Duration,
    /// WRITER_DATA_LIFECYCLE: unregistering disposes too.
    pub autodispose: bool,
    /// DATA_REPRESENTATION.
    pub xcdr2: bool,
    /// Made without a Rust type: it writes bytes alone.
    pub untyped: bool,
    /// How long samples are.
    pub sizes: Sizes,
    /// How many are written.
    pub samples: u32,
    /// Longest time between two.
    pub interval: Duration,
}

/// What only readers have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reads {
    /// It takes within the callback; otherwise from time to time.
    pub eager: bool,
    /// Of one that is not eager: longest time between two takes.
    pub pause: Duration,
    /// Most samples at a take.
    pub max_take: usize,
    /// RESOURCE_LIMITS max_samples, of KEEP_ALL.
    pub max_samples: Option<u32>,
    /// How many samples it answers from the callback by the first writer of its participant.
    pub echoes: u32,
}

/// One participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParticipantPlan {
    /// Its host, by number.
    pub host: usize,
    /// Its domain tag; others are not seen.
    pub tag: &'static str,
    /// Its topics have another type than those of others.
    pub other_type: bool,
    /// It announces its receive buffer.
    pub tells_buffer: bool,
    /// It leaves by letting go of all handles, not by being deleted.
    pub lets_go: bool,
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
    /// The topics.
    pub topics: Vec<TopicPlan>,
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
        // A datagram on the host itself may have 65,507 bytes; a smaller buffer would never hold it.
        mix.receive_buffer = mix.receive_buffer.max(72 << 10);
        let announce_millis = random.within(100..=500);
        let families = random.pick(&[Families::V4, Families::V4, Families::Both, Families::V6]);
        let writers_share = 240 / count;
        let topics: Vec<TopicPlan> = (0..random.within(1..=3)).map(|_| TopicPlan::draw(random)).collect();
        // Manual liveliness and deadlines in few runs: a participant that is idle would be dead in all others.
        let strict = random.chance(350_000);
        let partitions = random.chance(250_000);
        let participants = (0..count)
            .map(|index| ParticipantPlan {
                host: if (index as usize) < host_count {
                    index as usize
                } else {
                    random.below(host_count as u64) as usize
                },
                tag: if random.chance(40_000) { "other" } else { "" },
                other_type: random.chance(50_000),
                tells_buffer: random.chance(700_000),
                lets_go: random.coin(),
                endpoints: (0..random.within(1..=4))
                    .map(|_| {
                        EndpointPlan::draw(random, &topics, partitions, strict, writers_share, frame.until)
                    })
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
            topics,
            participants,
            mix,
        }
    }
}

impl TopicPlan {
    fn draw(random: &mut Random) -> Self {
        let forms = [Form::Numbered, Form::Numbered, Form::Named, Form::Keyless];
        let form = random.pick(&forms).unwrap_or(Form::Numbered);
        let instances = if form == Form::Keyless { 1 } else { random.within(1..=6) as u32 };
        Self { form, instances, exclusive: random.chance(300_000) }
    }
}

impl EndpointPlan {
    fn draw(
        random: &mut Random,
        topics: &[TopicPlan],
        partitions: bool,
        strict: bool,
        samples: u64,
        until: Instant,
    ) -> Self {
        let is_writer = random.coin();
        let topic = random.below(topics.len() as u64) as usize;
        let exclusive = topics.get(topic).is_some_and(|topic| topic.exclusive) != random.chance(30_000);
        let writes = Writes::draw(random, samples, until);
        let partition = match (partitions, is_writer) {
            (false, _) => None,
            (true, true) => random.pick(&[&["a"] as &[_], &["b"], &["a", "b"], &["ab"]]),
            (true, false) => random.pick(&[&["a"] as &[_], &["b"], &["*"], &["a*"], &["b", "c"]]),
        };
        let byte_limit = match (is_writer, writes.sizes) {
            (false, _) => random.pick(&[1 << 20, 32 << 20]),
            (true, Sizes::Large) => random.pick(&[256 << 10, 1 << 20]),
            (true, _) => random.pick(&[48 << 10, 128 << 10, 1 << 20]),
        };
        let kinds: &[_] = match (strict, is_writer) {
            (true, true) => &[
                LivelinessKind::Automatic,
                LivelinessKind::ManualByParticipant,
                LivelinessKind::ManualByTopic,
            ],
            (true, false) => {
                &[LivelinessKind::Automatic, LivelinessKind::Automatic, LivelinessKind::ManualByParticipant]
            }
            (false, _) => &[LivelinessKind::Automatic],
        };
        let depth = random.coin().then(|| random.within(1..=8) as u32);
        let eager = random.chance(600_000);
        Self {
            is_writer,
            topic,
            reliable: random.chance(if is_writer { 900_000 } else { 800_000 }),
            durable: random.chance(if is_writer { 500_000 } else { 350_000 }),
            depth,
            deadline: (strict && random.coin())
                .then(|| if is_writer { random.within(60..=600) } else { random.within(300..=2_000) } as i64),
            liveliness: random.pick(kinds).unwrap_or_default(),
            lease: random.chance(250_000).then(|| random.within(200..=1_500) as i64),
            exclusive,
            by_source: random.chance(if is_writer { 500_000 } else { 200_000 }),
            partition: partition.unwrap_or_default().to_vec(),
            delay: match random.chance(300_000) {
                true => Duration::from_nanos(random.below(until.as_nanos()) as i64),
                false => Duration::ZERO,
            },
            byte_limit: byte_limit.unwrap_or(1 << 20),
            writes,
            reads: Reads {
                eager,
                pause: Duration::from_millis(random.within(1..=300) as i64),
                max_take: random.pick(&[1, 3, 1_000, 1_000]).unwrap_or(1_000),
                max_samples: (depth.is_none() && random.chance(400_000))
                    .then(|| random.within(1..=20) as u32),
                echoes: if eager && random.chance(300_000) { 10 } else { 0 },
            },
        }
    }

    /// Whether a writer of this plan and a reader of that one are to match as far as their QoS goes, PARTITION apart, worked out here
    /// on its own.
    pub fn suits(&self, reader: &Self) -> bool {
        let millis = |finite: Option<i64>| finite.unwrap_or(i64::MAX);
        self.is_writer
            && !reader.is_writer
            && self.topic == reader.topic
            && (self.reliable || !reader.reliable)
            && (self.durable || !reader.durable)
            && (self.by_source || !reader.by_source)
            && self.exclusive == reader.exclusive
            && millis(self.deadline) <= millis(reader.deadline)
            && self.liveliness as u8 >= reader.liveliness as u8
            && millis(self.lease) <= millis(reader.lease)
    }
}

impl Writes {
    fn draw(random: &mut Random, samples: u64, until: Instant) -> Self {
        let sizes =
            random.pick(&[Sizes::Small, Sizes::Small, Sizes::Medium, Sizes::Large]).unwrap_or(Sizes::Small);
        let samples = match sizes {
            Sizes::Small => random.within(1..=samples),
            Sizes::Medium => random.within(1..=samples / 2),
            Sizes::Large => random.within(1..=8),
        };
        Self {
            strength: random.below(4) as i32 - 1,
            lifespan: random.chance(150_000).then(|| random.within(20..=3_000) as i64),
            batch_delay: match random.chance(250_000) {
                true => Duration::from_micros(random.within(50..=10_000) as i64),
                false => Duration::ZERO,
            },
            autodispose: random.coin(),
            xcdr2: random.chance(400_000),
            untyped: random.chance(250_000),
            sizes,
            samples: samples as u32,
            interval: Duration::from_nanos((2 * until.as_nanos() / samples.max(1)) as i64),
        }
    }

    /// The length of what the next sample carries.
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

/// Whether the partitions of a writer and those that a reader wants have one in common.
pub(super) fn meet(writer: &[&str], reader: &[&str]) -> bool {
    match (writer.is_empty(), reader.is_empty()) {
        (true, true) => true,
        (false, false) => writer.iter().any(|name| reader.iter().any(|wanted| includes(wanted, name))),
        _ => false,
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
        for (index, topic) in self.topics.iter().enumerate() {
            writeln!(f, "topic{index} {topic:?}")?;
        }
        for (index, participant) in self.participants.iter().enumerate() {
            let ParticipantPlan { host, tag, other_type, lets_go, .. } = participant;
            writeln!(f, "n{index} on host {host}, tag {tag:?}, other type {other_type}, lets go {lets_go}")?;
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
        let topics = [TopicPlan { form: Form::Keyless, instances: 1, exclusive: false }];
        let mut draw = |is_writer| {
            let until = Instant::from_nanos(1_000);
            let plan = EndpointPlan::draw(&mut random, &topics, false, false, 10, until);
            let (durable, exclusive, by_source) = (false, false, false);
            EndpointPlan {
                is_writer,
                reliable: true,
                durable,
                exclusive,
                by_source,
                deadline: None,
                lease: None,
                ..plan
            }
        };
        let (writer, reader) = (draw(true), draw(false));
        assert!(writer.suits(&reader) && !reader.suits(&writer));
        let suits = |writer: &EndpointPlan, reader: &EndpointPlan| writer.suits(reader);
        assert!(!suits(&EndpointPlan { reliable: false, ..writer.clone() }, &reader));
        assert!(!suits(&EndpointPlan { exclusive: true, ..writer.clone() }, &reader));
        assert!(!suits(&writer, &EndpointPlan { durable: true, ..reader.clone() }));
        assert!(!suits(&writer, &EndpointPlan { by_source: true, ..reader.clone() }));
        assert!(!suits(&writer, &EndpointPlan { deadline: Some(1), ..reader.clone() }));
        assert!(!suits(
            &writer,
            &EndpointPlan { liveliness: LivelinessKind::ManualByTopic, ..reader.clone() }
        ));
        assert!(!suits(&writer, &EndpointPlan { topic: 9, ..reader.clone() }));
        assert!(suits(&EndpointPlan { deadline: Some(1), ..writer }, &reader));
    }

    #[test]
    fn partitions_meet_by_one_name() {
        assert!(meet(&[], &[]) && meet(&["a", "b"], &["c", "b"]) && meet(&["ab"], &["a*"]));
        assert!(!meet(&["a"], &[]) && !meet(&[], &["a"]) && !meet(&["ab"], &["a", "b"]));
    }
}
