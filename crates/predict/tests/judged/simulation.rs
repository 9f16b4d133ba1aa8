//! The judge of predictions: samples of one program, frame by frame over a path, event by event in floating nanoseconds. It shares no code with what it
//! judges: hosts have costs of its own with noise of its own, frames are cut and queued one by one, and random numbers come from a seed.
use testkit::random::Random;

/// What a host really costs, in nanoseconds: for each sample, and for each byte.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) encode: (f64, f64),
    pub(crate) store: (f64, f64),
    pub(crate) copy: (f64, f64),
    pub(crate) decode: (f64, f64),
    pub(crate) wake: f64,
    /// What the wake-up takes more after a long time without samples, and the time constant of that.
    pub(crate) asleep: (f64, f64),
    /// Part of each time that varies.
    pub(crate) noise: f64,
}

/// A port and a link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Nanoseconds of a byte.
    pub(crate) byte: f64,
    /// Nanoseconds from the end of a frame here to its arrival behind.
    pub(crate) travel: f64,
    /// Frames of others: the part of the time that they take, and bytes of each.
    pub(crate) others: f64,
    pub(crate) frame: f64,
    /// The probability that a frame is lost.
    pub(crate) loss: f64,
}

/// What a program writes.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) size: u32,
    /// Nanoseconds.
    pub(crate) separation: f64,
    pub(crate) burst: u32,
    pub(crate) is_random: bool,
    pub(crate) copies: u32,
    pub(crate) is_stored: bool,
}

/// An exponentially distributed number of mean 1.
pub(crate) fn exponential(random: &mut Random) -> f64 {
    -uniform(random).ln()
}

/// Above 0, up to 1.
pub(crate) fn uniform(random: &mut Random) -> f64 {
    ((random.bits() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
}

impl Host {
    /// A time with noise: what varies has the sum of two exponential numbers as its form, and once in 500 times the host is away for the time of three.
    fn noisy(&self, time: f64, random: &mut Random) -> f64 {
        let varying = (exponential(random) + exponential(random)) / 2.0;
        let away = if random.one_in(500) { 3.0 } else { 0.0 };
        time * (1.0 - self.noise + self.noise * varying + self.noise * away)
    }

    /// Nanoseconds of processor time that the writer's thread needs for a sample.
    pub(crate) fn writing(&self, flow: &Flow) -> f64 {
        let of = |cost: (f64, f64)| cost.0 + cost.1 * f64::from(flow.size);
        let store = if flow.is_stored { of(self.store) } else { 0.0 };
        of(self.encode) + store + of(self.copy) * f64::from(flow.copies)
    }

    /// Processors and caches fall asleep between the samples of the first flow.
    fn sleepiness(&self, flows: &[Flow]) -> f64 {
        self.asleep.0 * (1.0 - (-flows[0].separation * f64::from(flows[0].burst) / self.asleep.1).exp())
    }

    pub(crate) fn reading(&self, flow: &Flow) -> f64 {
        self.decode.0 + self.decode.1 * f64::from(flow.size)
    }
}

/// The frames of a sample as bytes on the wire: 1,372 of a sample in each, and headers of 166.
pub(crate) fn frames_of(size: u32) -> Vec<f64> {
    let mut left = size;
    let mut frames = Vec::new();
    while left > 1_372 {
        frames.push(1_538.0);
        left -= 1_372;
    }
    frames.push((f64::from(left) + 166.0).max(84.0));
    frames
}

/// A frame on its way.
struct Frame {
    at: f64,
    bytes: f64,
    /// The flow, the sample and the copy.
    owner: (usize, usize, u32),
}

/// Latencies of the first flow, of all samples and readers, after a start that is left out.
pub(crate) fn latencies(host: &Host, links: &[Link], flows: &[Flow], samples: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    // When samples are written: of the first flow as many as are asked for, of others until then.
    let mut written: Vec<(f64, usize, usize)> = Vec::new();
    let end = flows[0].separation * samples as f64;
    for (number, flow) in flows.iter().enumerate() {
        let batch = flow.separation * f64::from(flow.burst);
        let mut at = batch * uniform(&mut random);
        let mut count = 0;
        while at < end {
            for _ in 0..flow.burst {
                written.push((at, number, count));
                count += 1;
            }
            at += if flow.is_random { batch * exponential(&mut random) } else { batch };
        }
    }
    written.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut moments: Vec<Vec<f64>> = vec![Vec::new(); flows.len()];
    let mut frames = Vec::new();
    let mut free = 0.0_f64;
    for (at, number, sample) in written {
        let flow = &flows[number];
        moments[number].push(at);
        let of = |cost: (f64, f64)| cost.0 + cost.1 * f64::from(flow.size);
        free = free.max(at) + host.noisy(of(host.encode), &mut random);
        if flow.is_stored {
            free += host.noisy(of(host.store), &mut random);
        }
        for copy in 0..flow.copies {
            free += host.noisy(of(host.copy), &mut random);
            for bytes in frames_of(flow.size) {
                frames.push(Frame { at: free, bytes, owner: (number, sample, copy) });
            }
        }
    }
    for link in links {
        frames = through(link, frames, &mut random);
    }
    // The last frame of each copy, then the readers' threads.
    let mut arrived: Vec<Vec<Vec<f64>>> = flows
        .iter()
        .zip(&moments)
        .map(|(flow, all)| vec![vec![0.0; all.len()]; flow.copies as usize])
        .collect();
    for frame in frames {
        let (number, sample, copy) = frame.owner;
        let entry = &mut arrived[number][copy as usize][sample];
        *entry = frame.at.max(*entry);
    }
    let mut latencies = Vec::new();
    let readers = flows.iter().map(|flow| flow.copies).max().unwrap_or(0);
    for reader in 0..readers as usize {
        // A reader's thread takes the samples of all flows.
        let mut all: Vec<(f64, usize, usize)> = Vec::new();
        for (number, copies) in arrived.iter().enumerate() {
            if let Some(times) = copies.get(reader) {
                all.extend(times.iter().enumerate().map(|(sample, at)| (*at, number, sample)));
            }
        }
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free = 0.0_f64;
        for (at, number, sample) in all {
            free = free.max(at) + host.noisy(host.reading(&flows[number]), &mut random);
            if number == 0 && sample * 10 >= moments[0].len() {
                let taken = free + host.noisy(host.wake + host.sleepiness(flows), &mut random);
                latencies.push(taken - moments[0][sample]);
            }
        }
    }
    latencies
}

/// Frames of others before a frame that a queue is followed for at least: longer ago, and it has been empty meanwhile.
const FOLLOWED: f64 = 2_000.0;

/// Frames through one queue, first in first out, together with those of others.
fn through(link: &Link, mut frames: Vec<Frame>, random: &mut Random) -> Vec<Frame> {
    frames.sort_by(|one, other| one.at.total_cmp(&other.at));
    let between = link.frame * link.byte / link.others;
    let mut free = f64::MIN;
    // When the next frame of others comes; without any, never.
    let mut next = if link.others > 0.0 { f64::MIN } else { f64::INFINITY };
    for frame in &mut frames {
        if next < frame.at - FOLLOWED * between {
            next = frame.at - FOLLOWED * between;
        }
        while next < frame.at {
            free = free.max(next) + link.frame * link.byte;
            next += between * exponential(random);
        }
        free = free.max(frame.at) + frame.bytes * link.byte;
        frame.at = free + link.travel;
    }
    frames
}

/// Latencies of periodic samples over a path that loses frames and has no queues: what is lost is asked for when something later arrives, or a heartbeat;
/// samples are delivered in order.
pub(crate) fn latencies_with_losses(
    host: &Host,
    links: &[Link],
    flow: &Flow,
    heartbeat: f64,
    samples: usize,
    seed: u64,
) -> Vec<f64> {
    let mut random = Random::new(seed);
    let frames = frames_of(flow.size);
    let trip = |random: &mut Random| {
        let mut time = host.noisy(host.writing(flow), random) + host.noisy(host.reading(flow), random);
        let mut is_lost = false;
        for link in links {
            time += link.travel + frames.iter().sum::<f64>() * link.byte;
            is_lost |= frames.iter().any(|_| uniform(random) <= link.loss);
        }
        (time + host.noisy(host.wake, random), is_lost)
    };
    let first: Vec<(f64, bool)> = (0..samples).map(|_| trip(&mut random)).collect();
    let back: f64 = links.iter().map(|link| link.travel + 84.0 * link.byte).sum();
    let mut delivered = Vec::new();
    let mut before = 0.0_f64;
    for (number, (time, is_lost)) in first.iter().enumerate() {
        let due = number as f64 * flow.separation;
        let mut at = due + time;
        if *is_lost {
            let later = first.iter().enumerate().skip(number + 1).find(|(_, (_, is_lost))| !is_lost);
            let seen = later.map_or(f64::MAX, |(later, (time, _))| later as f64 * flow.separation + time);
            let mut noticed = seen.min(due + heartbeat + time);
            loop {
                let (again, is_lost) = trip(&mut random);
                at = noticed + back + again;
                if !is_lost {
                    break;
                }
                noticed = at + heartbeat;
            }
        }
        before = before.max(at);
        delivered.push(before - due);
    }
    delivered
}

/// The value that this part of the values is not above.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let index = ((sorted.len() as f64 * part) as usize).min(sorted.len() - 1);
    sorted[index]
}
