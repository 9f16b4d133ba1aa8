//! The prediction for a topic: stages are independent, and their distributions are added up on a grid.
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use crate::description::{Arrivals, Hop, Path, Reliability, Stages, Topic};
use crate::distribution::{Distribution, index_to_f64, nanoseconds, power};
use crate::losses::Losses;
use crate::queue::{Work, wait_of_periodic, wait_of_periodic_beside, wait_of_random};
use crate::servers::{LEAST_FRAME, Server, Times, copies, frames, seen_by, servers, transmission};

/// The percentiles that are predicted, as probabilities.
pub const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Points of the grid for many predictions, which a fit needs.
pub const COARSE: usize = 64;
/// Points of the grid for one prediction.
pub const FINE: usize = 1024;

/// What may be beyond the grid, and beyond a coarse one, which says nothing of p99.9.
const BEYOND: f64 = 2e-4;
const BEYOND_COARSE: f64 = 2e-3;
/// The load above which no queue is predicted.
const FULL: f64 = 0.999;
/// The part of samples above which nothing is predicted: more repetitions than are counted would be lost, too.
pub(crate) const MOST_LOSS: f64 = 0.75;
/// How often the grid may be doubled.
const DOUBLINGS: usize = 60;

/// The mean time of one stage.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// What it is.
    pub name: String,
    /// Nanoseconds.
    pub mean: f64,
}

/// What is predicted for a topic, all readers together.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// From write to read.
    pub stages: Vec<Stage>,
    /// Nanoseconds, at [`PERCENTILES`], of samples that arrive.
    pub percentiles: [f64; 4],
    /// The part of the samples that never arrives.
    pub lost: f64,
    /// The server with the most load, and that.
    pub busiest: (String, f64),
}

/// Why there is no prediction.
#[derive(Clone, PartialEq, Debug)]
pub enum Overload {
    /// A server has more to do than it has time: samples wait ever longer.
    Full {
        /// Which.
        server: String,
        /// Of 1.
        load: f64,
    },
    /// Hardly anything arrives.
    Lossy {
        /// The part that is lost.
        loss: f64,
    },
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { server, load } => write!(
                f,
                "{server} has {:.0} % of the work that it has time for: samples wait longer and longer; write less often, smaller samples or to fewer readers, or use multicast",
                load * 100.0
            ),
            Self::Lossy { loss } => write!(
                f,
                "{:.0} % of the samples are lost on the way: a repetition hardly arrives either; give smaller samples or a path that loses less",
                loss * 100.0
            ),
        }
    }
}

impl core::error::Error for Overload {}

/// Predicts the latency of one topic of a path, with these costs of stages, on a grid of so many points.
///
/// # Errors
/// There is no latency that lasts.
pub fn predict(path: &Path, stages: &Stages, own: usize, points: usize) -> Result<Prediction, Overload> {
    predict_on(&path.hops, &path.topics, stages, own, points)
}

pub(crate) fn predict_on(
    hops: &[Hop],
    topics: &[Topic],
    stages: &Stages,
    own: usize,
    points: usize,
) -> Result<Prediction, Overload> {
    let Some(topic) = topics.get(own) else {
        return Ok(Prediction {
            stages: Vec::new(),
            percentiles: [0.0; 4],
            lost: 0.0,
            busiest: (String::new(), 0.0),
        });
    };
    let servers = servers(hops, topics, stages);
    let busiest = servers.iter().max_by(|one, other| one.load().total_cmp(&other.load()));
    let busiest = busiest.map_or((String::new(), 0.0), |server| (server.name.clone(), server.load()));
    if busiest.1.is_nan() || busiest.1 > FULL {
        return Err(Overload::Full { server: busiest.0, load: busiest.1 });
    }
    let loss = loss(hops, topic.size);
    let is_repeated = topic.reliability == Reliability::Reliable && loss > 0.0;
    if loss > MOST_LOSS {
        return Err(Overload::Lossy { loss });
    }
    let way = Way { hops, topics, topic, own, stages, servers: &servers, loss, is_repeated };
    // The grid grows until nearly everything is on it: a coarse one, which shows how long it has to be, and then the one that was asked for.
    let mut range = way.first_range();
    let mut sum = way.varying(range, points.min(COARSE));
    for points in [points.min(COARSE), points] {
        let beyond = if points < FINE { BEYOND_COARSE } else { BEYOND };
        if sum.all.points() != points {
            sum = way.varying(range, points);
        }
        (range, sum) = way.widened(range, sum, beyond);
    }
    let fixed = way.fixed();
    Ok(Prediction {
        percentiles: PERCENTILES.map(|wanted| fixed + sum.all.quantile(wanted)),
        stages: way.means(&sum),
        lost: if is_repeated { 0.0 } else { loss },
        busiest,
    })
}

/// The part of the samples of which a frame is lost.
pub(crate) fn loss(hops: &[Hop], size: u32) -> f64 {
    let frames = usize::try_from(frames(size)).unwrap_or(usize::MAX);
    1.0 - hops.iter().map(|hop| power(1.0 - hop.loss_of_frame(), frames)).product::<f64>()
}

/// What a topic passes.
struct Way<'w> {
    hops: &'w [Hop],
    topics: &'w [Topic],
    topic: &'w Topic,
    own: usize,
    stages: &'w Stages,
    servers: &'w [Server],
    loss: f64,
    is_repeated: bool,
}

/// The sum of all that varies, and means of its parts.
struct Sum {
    all: Distribution,
    /// At each server.
    waits: Vec<f64>,
    copies: f64,
    burst: f64,
    repetition: f64,
}

impl Way<'_> {
    fn times(&self) -> Times {
        Times::new(self.stages, self.topic)
    }

    /// Picoseconds become nanoseconds: propagation and processing of all hops.
    fn travel(&self) -> f64 {
        self.hops.iter().map(|hop| nanoseconds(hop.propagation.saturating_add(hop.delay))).sum()
    }

    fn host(&self) -> f64 {
        let times = self.times();
        times.to_first_copy() + times.at_reader() + times.deliver + times.idle
    }

    /// What is always the same.
    fn fixed(&self) -> f64 {
        let spread = self.stages.spread;
        self.host() * (1.0 - spread) + self.travel() + transmission(self.hops, self.topic.size)
    }

    /// Nanoseconds by which copies follow each other.
    fn between_copies(&self) -> f64 {
        let each = |work: f64| work / f64::from(copies(self.topic)).max(1.0);
        let hops = self.servers.iter().skip(1).take(self.hops.len());
        let slowest = hops.filter_map(|server| server.topics.get(self.own)).map(|work| each(work.fixed));
        slowest.fold(self.times().send, f64::max)
    }

    /// Nanoseconds by which samples of a burst follow each other.
    fn between_samples(&self) -> f64 {
        let times = self.servers.iter().filter_map(|server| server.topics.get(self.own));
        times.map(|work| work.fixed + work.varying).fold(0.0, f64::max)
    }

    /// The server that topics occupy most.
    fn slowest(&self) -> usize {
        let loads = self.servers.iter().map(Server::topic_load).enumerate();
        loads.max_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(index, _)| index)
    }

    /// A range of the grid to begin with.
    fn first_range(&self) -> f64 {
        let mut range = self.host() * self.stages.spread * 6.0;
        range += self.between_copies() * f64::from(copies(self.topic) - 1) * 1.1;
        range += self.between_samples() * f64::from(self.topic.burst - 1) * 1.1;
        for server in self.servers {
            let load = server.load();
            let longest = server.topics.iter().copied().chain(server.other);
            let longest = longest.map(|work| work.fixed + work.varying).fold(0.0, f64::max);
            range += longest * load / (1.0 - load) * 3.0;
        }
        range = range.max(1.0);
        if self.is_repeated {
            // The sample itself has to arrive within it: this is known without a grid.
            let losses = self.losses(0.0, self.fixed());
            for _ in 0..DOUBLINGS {
                if losses.by(range * 1.01) >= 1.0 - BEYOND_COARSE {
                    break;
                }
                range *= 2.0;
            }
        }
        range
    }

    /// A range that is doubled until no more than this is beyond it, and what varies on it. How often is looked for by halves, so that the work is
    /// that of a few doublings also where a loss is noticed after hours.
    fn widened(&self, range: f64, sum: Sum, beyond: f64) -> (f64, Sum) {
        let points = sum.all.points();
        let is_enough = |sum: &Sum| sum.all.beyond() <= beyond;
        if is_enough(&sum) {
            return (range, sum);
        }
        let doubled = |times: usize| self.varying(range * power(2.0, times), points);
        let (mut too_few, mut times, mut found) = (0, 1, doubled(1));
        while !is_enough(&found) && times < DOUBLINGS {
            too_few = times;
            times = (times * 2).min(DOUBLINGS);
            found = doubled(times);
        }
        while times - too_few > 1 {
            let middle = too_few + (times - too_few) / 2;
            let sum = doubled(middle);
            if is_enough(&sum) {
                (times, found) = (middle, sum);
            } else {
                too_few = middle;
            }
        }
        (range * power(2.0, times), found)
    }

    /// All that varies.
    fn varying(&self, range: f64, points: usize) -> Sum {
        let step = range / index_to_f64(points.max(2) - 1);
        let evenly = |count: u32, each: f64| {
            let mut sum = Distribution::empty(step, points);
            (0..count).for_each(|number| sum.add(f64::from(number) * each, 1.0 / f64::from(count)));
            sum
        };
        let positions = evenly(copies(self.topic), self.between_copies());
        let of_burst = evenly(self.topic.burst, self.between_samples());
        let mut all = positions.plus(&of_burst);
        let mut waits = Vec::new();
        let slowest = self.slowest();
        for (index, server) in self.servers.iter().enumerate() {
            let (random, regular) = seen_by(server, self.topics, self.own, index == slowest);
            let periodic = server.topics.get(self.own).filter(|_| self.topic.arrivals == Arrivals::Periodic);
            let wait = match periodic {
                None => wait_of_random(step, points, &random, regular),
                Some(work) => self.wait_of_periodic(step, points, *work, &random, regular),
            };
            waits.push(wait.mean());
            all = all.plus(&wait);
        }
        let times = self.times();
        for part in [times.to_first_copy(), times.at_reader(), times.deliver + times.idle] {
            all.add_exponential(part * self.stages.spread);
        }
        let mut repetition = 0.0;
        if self.is_repeated {
            let late = self.losses(step, self.fixed() + all.mean()).late(step, points);
            repetition = late.mean();
            all = all.plus(&late);
        }
        Sum { waits, copies: positions.mean(), burst: of_burst.mean(), repetition, all }
    }

    /// The wait at a server of samples that are written periodically.
    fn wait_of_periodic(
        &self,
        step: f64,
        points: usize,
        work: Work,
        random: &[Work],
        regular: f64,
    ) -> Distribution {
        let burst = f64::from(self.topic.burst);
        let period = nanoseconds(self.topic.separation) * burst;
        let batch =
            Work { rate: work.rate / burst, fixed: work.fixed * burst, varying: work.varying * burst };
        // What is regular besides is taken from the server as a whole.
        let others = (regular - work.load()).max(0.0);
        if random.is_empty() {
            let mut wait = Distribution::zero(step, points);
            let (weight, mean) = wait_of_periodic(period, batch.fixed + others * period, batch.varying);
            wait.add_at_times(0.0, mean, weight);
            wait
        } else if period < step * 2.0 {
            // As fine as this, samples are a stream.
            wait_of_random(step, points, random, regular)
        } else {
            let alone = wait_of_random(step, points, random, others);
            let slower = |work: Work| Work {
                fixed: work.fixed / (1.0 - others),
                varying: work.varying / (1.0 - others),
                ..work
            };
            let random: Vec<Work> = random.iter().copied().map(slower).collect();
            wait_of_periodic_beside(alone, period, slower(batch), &random)
        }
    }

    /// What losses do where the trip of a sample that is not lost takes so long in the mean.
    fn losses(&self, step: f64, trip: f64) -> Losses {
        let back: f64 = self.hops.iter().map(|hop| hop.transmission(LEAST_FRAME)).sum();
        let asked = self.travel() + back + self.stages.receive.base + self.stages.send.base;
        Losses::new(self.topic, self.loss, asked + trip, step)
    }

    /// Stage by stage.
    fn means(&self, sum: &Sum) -> Vec<Stage> {
        let times = self.times();
        let mut stages = Vec::new();
        let mut push = |name: String, mean: f64| {
            if mean > 0.0 {
                stages.push(Stage { name, mean });
            }
        };
        let wait = |index: usize| sum.waits.get(index).copied().unwrap_or(0.0);
        push("wait for the writer's host".to_string(), wait(0));
        push("serialise".to_string(), times.serialise);
        push("write".to_string(), times.write);
        push("store".to_string(), times.store);
        push("send".to_string(), times.send);
        push("copies for other readers".to_string(), sum.copies);
        push("earlier samples of a burst".to_string(), sum.burst);
        let mut sent = 0.0;
        for (index, hop) in self.hops.iter().enumerate() {
            let number = index + 1;
            push(format!("hop {number}: delay"), nanoseconds(hop.delay));
            push(format!("hop {number}: queue"), wait(number));
            // What a hop adds to those before it.
            let so_far = transmission(self.hops.get(..number).unwrap_or_default(), self.topic.size);
            push(format!("hop {number}: transmission"), so_far - sent);
            sent = so_far;
            push(format!("hop {number}: propagation"), nanoseconds(hop.propagation));
        }
        push("wait for the reader's host".to_string(), wait(self.hops.len() + 1));
        push("receive".to_string(), times.receive);
        push("deserialise".to_string(), times.deserialise);
        push("repetition of lost samples".to_string(), sum.repetition);
        push("deliver".to_string(), times.deliver);
        push("wake up after idling".to_string(), times.idle);
        stages
    }
}
