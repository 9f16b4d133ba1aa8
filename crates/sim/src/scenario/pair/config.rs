//! What a seed of the scenario draws.
use std::fmt;

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
];

/// How long samples are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// At most 200 bytes.
    Small,
    /// At most 4,000 bytes.
    Medium,
    /// Up to 120,000 bytes: most go in fragments.
    Large,
    /// Mostly small, some large.
    Mixed,
}

/// One reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReaderPlan {
    /// It acknowledges.
    pub reliable: bool,
    /// It wants history.
    pub wants_history: bool,
    /// It runs on the writer's host.
    pub with_writer: bool,
    /// It is reached over IPv6.
    pub ipv6: bool,
    /// Its byte limit.
    pub byte_limit: usize,
}

/// One writer, some readers, what is written, and the faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The readers; they are nodes 1 and up.
    pub readers: Vec<ReaderPlan>,
    /// The writer repeats what is lost.
    pub reliable: bool,
    /// The writer keeps history for late readers.
    pub retain: bool,
    /// The newest changes that are kept; older ones are removed.
    pub depth: Option<usize>,
    /// Fresh samples go to a group.
    pub multicast: bool,
    /// How long samples are.
    pub sizes: Sizes,
    /// How many are written.
    pub samples: u32,
    /// Longest time between two.
    pub interval: Duration,
    /// The writer's batching delay.
    pub batch_delay: Duration,
    /// The writer's byte limit.
    pub byte_limit: usize,
    /// The writer's window.
    pub window: u32,
    /// The writer is told the readers' receive buffers.
    pub tells_buffer: bool,
    /// Largest datagram that paths off the host carry.
    pub max_datagram: u32,
    /// Time after which a vanished endpoint is unmatched.
    pub lease: Duration,
    /// The faults.
    pub mix: Mix,
}

impl Config {
    /// Draws one.
    pub fn draw(random: &mut Random) -> Self {
        let readers: Vec<ReaderPlan> = (0..random.within(1..=5))
            .map(|_| ReaderPlan {
                reliable: random.chance(800_000),
                wants_history: random.coin(),
                with_writer: random.chance(150_000),
                ipv6: random.chance(300_000),
                byte_limit: random.pick(&[160 << 10, 256 << 10, 1 << 20]).unwrap_or(1 << 20),
            })
            .collect();
        let frame = Frame {
            allowed: KINDS,
            nodes: readers.len() + 1,
            until: Instant::from_nanos(random.within(300_000_000..=2_500_000_000)),
            longest_cut: Duration::from_millis(900),
            permanent: 0,
        };
        let mix = Mix::draw(random, &frame);
        let sizes = random.pick(&[Sizes::Small, Sizes::Small, Sizes::Medium, Sizes::Mixed, Sizes::Large]);
        let sizes = sizes.unwrap_or(Sizes::Small);
        let samples = match sizes {
            Sizes::Small => random.within(20..=400),
            Sizes::Medium => random.within(20..=200),
            Sizes::Mixed => random.within(20..=80),
            Sizes::Large => random.within(3..=20),
        } as u32;
        let retain = random.chance(400_000);
        let until = mix.timeline.last().map_or(1, |(at, _)| at.as_nanos());
        let mtu = mix.profile.mtu - 48;
        let largest = if mix.profile.fragments && random.chance(250_000) { 65_507 } else { mtu };
        Self {
            reliable: random.chance(900_000),
            retain,
            depth: random.chance(400_000).then(|| random.within(1..=50) as usize),
            multicast: random.chance(300_000),
            sizes,
            samples,
            interval: Duration::from_nanos((2 * until / u64::from(samples)) as i64),
            batch_delay: match random.chance(300_000) {
                true => Duration::from_micros(random.within(50..=20_000) as i64),
                false => Duration::ZERO,
            },
            byte_limit: match sizes {
                Sizes::Small | Sizes::Medium => random.pick(&[32 << 10, 64 << 10, 1 << 20]),
                Sizes::Mixed | Sizes::Large => random.pick(&[400 << 10, 1 << 20, 4 << 20]),
            }
            .unwrap_or(1 << 20),
            window: random.pick(&[16 << 10, 160 << 10]).unwrap_or(160 << 10),
            tells_buffer: random.chance(750_000),
            // A datagram that no receive buffer can hold never arrives.
            max_datagram: largest.min(mix.receive_buffer as u32 / 2),
            lease: Duration::from_millis(random.within(50..=600) as i64),
            readers,
            mix,
        }
    }

    /// The length of the next sample.
    pub fn sample_len(&self, random: &mut Random) -> usize {
        let small = random.within(payload::MIN_LEN as u64..=200);
        let len = match self.sizes {
            Sizes::Small => small,
            Sizes::Medium => random.within(payload::MIN_LEN as u64..=4_000),
            Sizes::Mixed if !random.chance(100_000) => small,
            Sizes::Mixed => random.within(1_000..=60_000),
            Sizes::Large => random.within(1_000..=120_000),
        };
        len as usize
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reliable, retain, depth, multicast, sizes, samples, byte_limit, window, .. } = self;
        writeln!(
            f,
            "writer: reliable {reliable}, retain {retain}, depth {depth:?}, multicast {multicast}, \
             {samples} samples of {sizes:?} size, at most {} us apart",
            self.interval.as_nanos() / 1_000
        )?;
        writeln!(
            f,
            "  byte limit {byte_limit}, window {window}, batch delay {} us, datagrams up to {}, lease {} ms",
            self.batch_delay.as_nanos() / 1_000,
            self.max_datagram,
            self.lease.as_nanos() / 1_000_000
        )?;
        for (index, reader) in self.readers.iter().enumerate() {
            writeln!(f, "n{}: {reader:?}", index + 1)?;
        }
        write!(f, "{}", self.mix)
    }
}
