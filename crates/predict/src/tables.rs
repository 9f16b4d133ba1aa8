//! Hops and topics as both kinds of files say them: in TOML what is to be predicted, in JSON what was measured.
use alloc::string::ToString as _;

use serde::Deserialize;

use crate::description::{Arrivals, Durability, Hop, Reliability, Topic};
use crate::quantity::{Count, Name, Parts, Rate, Time};

/// The most bytes of a sample, of a frame of other traffic, and of readers and samples at once.
const LARGEST: u32 = 16 << 20;
const LARGEST_FRAME: u32 = 10_000;
const MOST: u32 = 10_000;
/// A full frame of Ethernet with preamble and gap.
const USUAL_FRAME: u32 = 1_538;
/// The heartbeat period of writers of Punctual.
const USUAL_HEARTBEAT: u64 = 20_000_000_000;

/// A hop.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct HopTable {
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    delay: Time,
    #[serde(default)]
    load: Parts,
    frame: Option<Count<LARGEST_FRAME>>,
    #[serde(default)]
    loss: Parts,
}

/// A topic.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TopicTable {
    pub(crate) name: Option<Name>,
    pub(crate) size: Option<Count<LARGEST>>,
    pub(crate) separation: Option<Time>,
    burst: Option<Count<MOST>>,
    #[serde(default)]
    arrivals: Arrivals,
    readers: Option<Count<MOST>>,
    #[serde(default)]
    multicast: bool,
    #[serde(default)]
    reliability: Reliability,
    #[serde(default)]
    durability: Durability,
    heartbeat: Option<Time>,
}

impl HopTable {
    pub(crate) fn hop(&self) -> Hop {
        Hop {
            rate: self.rate.0,
            propagation: self.propagation.0,
            delay: self.delay.0,
            load: self.load.0,
            frame: self.frame.map_or(USUAL_FRAME, |frame| frame.0),
            loss: self.loss.0,
        }
    }
}

impl TopicTable {
    /// The topic, with what is left out as it is usual.
    pub(crate) fn topic(&self, size: u32, separation: u64) -> Topic {
        Topic {
            name: self.name.as_ref().map_or("measured", |name| name.0.as_str()).to_string(),
            size,
            separation,
            burst: self.burst.map_or(1, |burst| burst.0),
            arrivals: self.arrivals,
            readers: self.readers.map_or(1, |readers| readers.0),
            multicast: self.multicast,
            reliability: self.reliability,
            durability: self.durability,
            heartbeat: self.heartbeat.map_or(USUAL_HEARTBEAT, |heartbeat| heartbeat.0),
        }
    }
}
