//! What is predicted: paths, topics, costs of stages; and what was measured.
use alloc::string::String;
use alloc::vec::Vec;

/// When samples are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Always the same time apart.
    #[default]
    Periodic,
    /// At random times that do not depend on each other: a Poisson process.
    Random,
}

/// RELIABILITY.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// Lost samples are not repeated.
    #[default]
    BestEffort,
    /// Lost samples are repeated, and later ones wait for them.
    Reliable,
}

/// DURABILITY.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing is kept.
    #[default]
    Volatile,
    /// The writer keeps samples in memory, where they are anyway: this costs nothing more.
    TransientLocal,
    /// A service keeps samples: write stores them before it sends them.
    Transient,
    /// As transient, in permanent storage.
    Persistent,
}

impl Durability {
    /// Samples are stored before they are sent.
    pub(crate) fn is_stored(self) -> bool {
        matches!(self, Self::Transient | Self::Persistent)
    }
}

/// A part of the network that has one queue: a port and the link behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Bits each second.
    pub rate: u64,
    /// Picoseconds that a signal takes along the link.
    pub propagation: u64,
    /// Picoseconds that every frame is held on top of that.
    pub delay: u64,
    /// The part of the rate that other traffic of the same queue has, in parts of a million.
    pub load: u32,
    /// Bytes of a frame of other traffic, with what is around it on the wire.
    pub frame: u32,
    /// Frames that are lost of a million.
    pub loss: u32,
}

/// A topic with its writer and its readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Bytes of a sample, serialized.
    pub size: u32,
    /// Picoseconds between two samples, in the long run.
    pub separation: u64,
    /// Samples that are written at once.
    pub burst: u32,
    /// When they are written.
    pub arrivals: Arrivals,
    /// How many readers get a sample.
    pub readers: u32,
    /// All readers are reached by one datagram.
    pub multicast: bool,
    /// Whether lost samples are repeated.
    pub reliability: Reliability,
    /// Whether samples are stored.
    pub durability: Durability,
    /// Picoseconds between heartbeats of a writer that nothing new comes from.
    pub heartbeat: u64,
}

/// What a stage costs, in nanoseconds: for each sample, and for each byte of it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    /// For each sample.
    pub base: f64,
    /// For each byte.
    pub byte: f64,
}

impl Cost {
    pub(crate) fn of(self, size: u32) -> f64 {
        self.base + self.byte * f64::from(size)
    }
}

/// What it costs that hosts had nothing to do before a sample came: processors sleep, and caches have lost what they had.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Idle {
    /// Nanoseconds after a long time.
    pub most: f64,
    /// The nanoseconds between samples at which it is half of that.
    pub half: f64,
}

impl Idle {
    pub(crate) fn after(self, time: f64) -> f64 {
        if time > 0.0 { self.most * time / (time + self.half) } else { 0.0 }
    }
}

/// What the stages of both hosts cost.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Stages {
    /// Bytes are made of a sample. This and the next three occupy the writer's thread, one sample at a time.
    pub serialise: Cost,
    /// Write, up to what is sent.
    pub write: Cost,
    /// A sample is stored, where DURABILITY says so.
    pub store: Cost,
    /// A copy is handed to the network, once for each reader that has a datagram of its own.
    pub send: Cost,
    /// Bytes are received. This and the next one occupy the thread that receives.
    pub receive: Cost,
    /// A sample is made of bytes.
    pub deserialise: Cost,
    /// The application is woken and takes the sample. This occupies no server.
    pub deliver: Cost,
    /// What comes on top where hosts were idle. This occupies no server.
    pub idle: Idle,
    /// The part of a stage that varies, from 0 to 1: its mean is as above, and this part of it is exponentially distributed.
    pub spread: f64,
}

/// A path from a host that writes to one that reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// In the order in which samples pass them; none within a host.
    pub hops: Vec<Hop>,
    /// What stages cost, if that is known.
    pub stages: Option<Stages>,
    /// What goes along it.
    pub topics: Vec<Topic>,
}

/// A measurement: the percentiles that one topic had.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What it passed.
    pub hops: Vec<Hop>,
    /// The topic, which was alone.
    pub topic: Topic,
    /// Latencies in nanoseconds at [`crate::PERCENTILES`]; `None` where that was not measured.
    pub percentiles: [Option<f64>; 4],
}
