//! What serves samples one after the other on their way: the writer's thread, each hop, the thread that receives.
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::description::{Arrivals, Hop, Stages, Topic};
use crate::distribution::nanoseconds;
use crate::queue::Work;

/// Bytes of a sample in one frame, and what RTPS, UDP, IP and Ethernet put around it, with preamble and gap.
const OF_A_FRAME: u32 = 1_372;
const AROUND: f64 = 166.0;
/// The least bytes of a frame on the wire.
pub(crate) const LEAST_FRAME: f64 = 84.0;

/// Frames of a sample.
pub(crate) fn frames(size: u32) -> u32 {
    size.div_ceil(OF_A_FRAME).max(1)
}

/// Bytes of a sample on the wire.
pub(crate) fn wire_bytes(size: u32) -> f64 {
    (f64::from(size) + AROUND * f64::from(frames(size))).max(LEAST_FRAME)
}

/// Bytes of the largest frame of a sample on the wire.
fn first_frame(size: u32) -> f64 {
    (f64::from(size.min(OF_A_FRAME)) + AROUND).max(LEAST_FRAME)
}

/// Datagrams in which a sample leaves the writer.
pub(crate) fn copies(topic: &Topic) -> u32 {
    if topic.multicast { 1 } else { topic.readers }
}

impl Hop {
    /// Nanoseconds that bytes take at this rate.
    #[expect(clippy::cast_precision_loss, reason = "a rate has no sixteen digits")]
    pub(crate) fn transmission(&self, bytes: f64) -> f64 {
        bytes * 8.0 * 1e9 / self.rate as f64
    }

    pub(crate) fn loss_of_frame(&self) -> f64 {
        f64::from(self.loss) / 1e6
    }

    fn other_load(&self) -> f64 {
        f64::from(self.load) / 1e6
    }
}

/// Mean nanoseconds of a sample at the stages of the hosts.
pub(crate) struct Times {
    pub(crate) serialise: f64,
    pub(crate) write: f64,
    pub(crate) store: f64,
    /// Of one copy.
    pub(crate) send: f64,
    pub(crate) receive: f64,
    pub(crate) deserialise: f64,
    pub(crate) deliver: f64,
    /// After the time without a sample.
    pub(crate) idle: f64,
}

impl Times {
    pub(crate) fn new(stages: &Stages, topic: &Topic) -> Self {
        let size = topic.size;
        Self {
            serialise: stages.serialise.of(size),
            write: stages.write.of(size),
            store: if topic.durability.is_stored() { stages.store.of(size) } else { 0.0 },
            send: stages.send.of(size),
            receive: stages.receive.of(size),
            deserialise: stages.deserialise.of(size),
            deliver: stages.deliver.of(size),
            idle: stages.idle.after(nanoseconds(topic.separation) * f64::from(topic.burst)),
        }
    }

    /// What occupies the writer, up to the first copy.
    pub(crate) fn to_first_copy(&self) -> f64 {
        self.serialise + self.write + self.store + self.send
    }

    /// What occupies the reader.
    pub(crate) fn at_reader(&self) -> f64 {
        self.receive + self.deserialise
    }
}

/// One that serves.
pub(crate) struct Server {
    pub(crate) name: String,
    /// For each topic: what it needs of this server for a sample.
    pub(crate) topics: Vec<Work>,
    /// Traffic that is no topic of this path.
    pub(crate) other: Option<Work>,
}

impl Server {
    /// The part that topics take.
    pub(crate) fn topic_load(&self) -> f64 {
        self.topics.iter().map(|work| work.load()).sum()
    }

    /// The part that is taken.
    pub(crate) fn load(&self) -> f64 {
        self.topic_load() + self.other.map_or(0.0, Work::load)
    }
}

/// All servers of a path, in order.
pub(crate) fn servers(hops: &[Hop], topics: &[Topic], stages: &Stages) -> Vec<Server> {
    let rate = |topic: &Topic| 1.0 / nanoseconds(topic.separation.max(1));
    let host = |name: &str, time: &dyn Fn(&Topic) -> f64| Server {
        name: name.to_string(),
        topics: topics
            .iter()
            .map(|topic| {
                let time = time(topic);
                let varying = time * stages.spread;
                Work { rate: rate(topic), fixed: time - varying, varying }
            })
            .collect(),
        other: None,
    };
    let mut all = Vec::new();
    all.push(host("the writer's host", &|topic| {
        let times = Times::new(stages, topic);
        times.to_first_copy() + times.send * (f64::from(copies(topic)) - 1.0)
    }));
    for (number, hop) in hops.iter().enumerate() {
        let of_topic = |topic: &Topic| {
            let fixed = hop.transmission(wire_bytes(topic.size)) * f64::from(copies(topic));
            Work { rate: rate(topic), fixed, varying: 0.0 }
        };
        let frame = hop.transmission(f64::from(hop.frame));
        all.push(Server {
            name: format!("hop {}", number + 1),
            topics: topics.iter().map(of_topic).collect(),
            other: (hop.load > 0).then(|| Work {
                rate: hop.other_load() / frame,
                fixed: frame,
                varying: 0.0,
            }),
        });
    }
    all.push(host("the reader's host", &|topic| Times::new(stages, topic).at_reader()));
    all
}

/// What a sample needs of the hops without any queue: the first frame is sent at each hop, and the others follow it as fast as the slowest hop lets
/// them. While they arrive at a hop, frames of others come in between.
pub(crate) fn transmission(hops: &[Hop], size: u32) -> f64 {
    let (mut first_frames, mut rest) = (0.0, 0.0_f64);
    for hop in hops {
        let first = hop.transmission(first_frame(size));
        let others = (hop.transmission(wire_bytes(size)) - first).max(0.0);
        first_frames += first;
        rest = rest.max(others + hop.other_load() * rest);
    }
    first_frames + rest
}

/// The kinds of work of the topics at a server that comes at random, from the view of one of them; and the part of the server that is taken by
/// work that does not.
pub(crate) fn seen_by(server: &Server, topics: &[Topic], own: usize, is_slowest: bool) -> (Vec<Work>, f64) {
    let mut random: Vec<Work> = server.other.into_iter().collect();
    let mut regular = 0.0;
    for (index, (work, topic)) in server.topics.iter().zip(topics).enumerate() {
        // What is written at once arrives at once. Seen from others, samples of a topic come at random.
        let burst = f64::from(topic.burst);
        let mut batch =
            Work { rate: work.rate / burst, fixed: work.fixed * burst, varying: work.varying * burst };
        if index == own && topic.arrivals == Arrivals::Periodic {
            regular += work.load();
            continue;
        }
        if !is_slowest {
            // They have waited for each other at the slowest server: what remains is what varies.
            regular += work.rate * work.fixed;
            batch.fixed = 0.0;
        }
        if batch.load() > 0.0 {
            random.push(batch);
        }
    }
    (random, regular)
}
