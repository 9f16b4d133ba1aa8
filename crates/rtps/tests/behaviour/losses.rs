//! Assured samples of which frames are lost: whichever few datagrams that are, of samples, HEARTBEATs, questions and repairs, a sample is no later
//! than `latency` says, and the datagrams beside the messages keep their spacing and their size. The machines are the real ones; only the network
//! is not: it loses what it is told to.
use std::collections::BTreeMap;
use std::num::NonZeroU16;

use latency::repair::{Conduct as Waits, Ways};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use rtps::{Conduct, Flow, Path, Transmit};
use wire::message::PayloadKind;
use wire::{Duration, Instant, Now, Timestamp};

use crate::pair::{
    Delivered, Payload, Random, ToTheReader, ToTheWriter, WRITER, path_to, reader_guid, writer_guid,
};

const DATAGRAM: u32 = 1_472;
/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000;
/// The least and the most bytes of datagrams beside the messages, as plans take them.
const LEAST: usize = 64;
const QUESTION: usize = 352;
const SAMPLES: usize = 0;
const REPAIRS: usize = 1;
const QUESTIONS: usize = 2;

/// The longest times on the ways, and the spacing, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Longest {
    ways: [u64; 3],
    spacing: u64,
    /// How late hosts may be with what is due.
    reaction: u64,
    /// Whether what goes the same way keeps its order.
    in_order: bool,
}

impl Longest {
    fn ways(&self) -> Ways {
        let [sample, repair, question] = self.ways.map(|time| time * NANOSECOND);
        let (spacing, reaction) = (self.spacing * NANOSECOND, self.reaction * NANOSECOND);
        Ways { sample, repair, question, spacing, reaction, drift: 0 }
    }

    fn waits(&self, losses: u32) -> Waits {
        self.ways().conduct(losses.max(1)).unwrap()
    }

    fn conduct(&self, losses: u32) -> Conduct {
        let Waits { heartbeat, patience, again } = self.waits(losses);
        let time = |time: u64| Duration::from_nanos((time / NANOSECOND) as i64);
        Conduct {
            heartbeat: time(heartbeat),
            patience: time(patience),
            again: time(again),
            spacing: Duration::from_nanos(self.spacing as i64),
            datagram: DATAGRAM,
        }
    }

    /// The bound, in nanoseconds.
    fn latest(&self, losses: u32) -> u64 {
        if losses == 0 {
            return self.ways[SAMPLES];
        }
        self.ways().latest(&self.waits(losses), losses).unwrap().sum().unwrap() / NANOSECOND
    }
}

/// One writer with a contract and a reader that was admitted.
struct Scene {
    now: Now,
    writer: Writer<Payload>,
    reader: Reader,
    delivered: Delivered,
    /// When each sample was handed out, and when it was whole.
    sent: Vec<u64>,
    whole: Vec<u64>,
    flight: BTreeMap<(u64, u64), (bool, Vec<u8>)>,
    /// When the last one came, and the last one left, on each way.
    arrived: [u64; 3],
    left: [Option<u64>; 3],
    launched: u64,
    /// Which datagrams get lost, by their number, unless as many as may be lost in a window are lost already.
    lost: Vec<u64>,
    window: u64,
    most: usize,
    lost_at: Vec<u64>,
    /// When each host does what is due, if something is.
    wakes: [Option<u64>; 2],
    longest: Longest,
    /// Which of them take all the time that they may.
    slow: Random,
    always: bool,
    out: Transmit<Payload>,
}

impl Scene {
    fn new(plan: &Plan) -> Self {
        let mut config = WriterConfig::new(writer_guid(), true);
        config.max_datagram = DATAGRAM;
        config.largest_message = Some(64_000);
        let mut scene = Self {
            now: Now::default(),
            writer: Writer::new(config),
            reader: Reader::new(ReaderConfig::new(reader_guid(0), true)),
            delivered: Delivered::default(),
            sent: Vec::new(),
            whole: Vec::new(),
            flight: BTreeMap::new(),
            arrived: [0; 3],
            left: [None; 3],
            launched: 0,
            lost: Vec::new(),
            window: 2 * plan.longest.latest(plan.losses),
            most: plan.losses as usize,
            lost_at: Vec::new(),
            wakes: [None; 2],
            longest: plan.longest,
            slow: Random::new(plan.seed),
            always: plan.seed == 0,
            out: Transmit::new(),
        };
        let flow = Flow { port: NonZeroU16::new(50_000).unwrap(), class: 46 };
        let direct = path_to(2, DATAGRAM);
        scene.writer.match_reader(
            scene.now,
            MatchedReader {
                guid: reader_guid(0),
                reliable: true,
                wants_history: false,
                paths: vec![Path { flow: Some(flow), ..direct }],
                direct: Some(direct),
                receive_buffer: Some(1 << 20),
            },
        );
        let paths = vec![path_to(1, DATAGRAM)];
        scene.reader.match_writer(scene.now, MatchedWriter { guid: writer_guid(), reliable: true, paths });
        let conduct = Some(plan.longest.conduct(plan.losses));
        assert!(scene.writer.set_conduct(reader_guid(0), conduct));
        assert!(scene.reader.set_conduct(writer_guid(), conduct));
        scene.writer.set_separation(Duration::from_nanos(plan.separation as i64));
        // Both have met, and nothing is under way.
        scene.run(Duration::from_secs(3));
        scene.write(&[0; 100]);
        scene.run(Duration::from_secs(3));
        assert!(scene.writer.is_acknowledged(scene.writer.last()));
        scene.launched = 0;
        scene.sent.clear();
        scene
    }

    fn write(&mut self, bytes: &[u8]) {
        let source_timestamp = Some(Timestamp::from_nanos(0));
        let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp };
        self.writer.write(self.now, &change, Body::Copy(bytes)).unwrap();
    }

    fn run(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        let mut steps = 0;
        loop {
            self.send();
            let arrival =
                self.flight.first_key_value().map_or(Instant::NEVER, |((at, _), _)| Instant::from_nanos(*at));
            let [writer, reader] = self.wakes.map(|at| at.map(Instant::from_nanos));
            let timers = reader.unwrap_or(self.reader.poll_timeout()).min(self.reader.next_expiry());
            let next = arrival.min(writer.unwrap_or(self.writer.poll_timeout())).min(timers);
            if next > end {
                break;
            }
            steps += 1;
            assert!(steps < 100_000, "no end: the machines talk without need");
            self.now.monotonic = self.now.monotonic.max(next);
            self.reader.expire(self.now, &mut self.delivered);
            if arrival <= self.now.monotonic
                && let Some((_, (to_writer, bytes))) = self.flight.pop_first()
            {
                self.arrive(to_writer, &bytes);
            }
        }
        self.now.monotonic = end;
    }

    fn send(&mut self) {
        if self.wakes(0, self.writer.poll_timeout()) {
            while self.writer.poll_transmit(self.now, &mut self.out) {
                self.launch(if self.out.is_message() { SAMPLES } else { REPAIRS });
            }
        }
        if self.wakes(1, self.reader.poll_timeout()) {
            while self.reader.poll_transmit(self.now, &mut self.out) {
                self.launch(QUESTIONS);
            }
        }
    }

    /// Whether a host does now what is due from then on: it may be late.
    fn wakes(&mut self, host: usize, due: Instant) -> bool {
        let now = self.now.monotonic;
        if self.wakes[host].is_none() && due <= now {
            let most = self.longest.reaction;
            let late = if self.always { most } else { self.slow.below_u64(most + 1) };
            self.wakes[host] = Some(now.as_nanos() + late);
        }
        let wakes = self.wakes[host].is_some_and(|at| at <= now.as_nanos());
        if wakes {
            self.wakes[host] = None;
        }
        wakes
    }

    fn loses(&mut self, number: u64) -> bool {
        let now = self.now.monotonic.as_nanos();
        let recently = self.lost_at.iter().filter(|at| **at + self.window >= now).count();
        let loses = self.lost.contains(&number) && recently < self.most;
        if loses {
            self.lost_at.push(now);
        }
        loses
    }

    fn launch(&mut self, way: usize) {
        let datagrams: Vec<Vec<u8>> = self
            .out
            .datagrams()
            .map(|slices| slices.map(<[u8]>::to_vec).collect::<Vec<_>>().concat())
            .collect();
        let now = self.now.monotonic.as_nanos();
        let most = self.longest.ways[way];
        if way == SAMPLES {
            self.sent.push(now);
        } else {
            assert_eq!(datagrams.len(), 1);
            let most = if way == QUESTIONS { QUESTION } else { DATAGRAM as usize };
            assert!((LEAST..=most).contains(&datagrams[0].len()), "{} bytes", datagrams[0].len());
            let before = self.left[way].replace(now);
            assert!(before.is_none_or(|before| now >= before + self.longest.spacing), "too early at {now}");
        }
        for bytes in datagrams {
            let number = self.launched;
            self.launched += 1;
            let takes =
                if self.always || self.slow.chance(60) { most } else { self.slow.below_u64(most + 1) };
            if !self.loses(number) {
                let at = now + takes;
                let at = if self.longest.in_order { at.max(self.arrived[way]) } else { at };
                self.arrived[way] = at;
                self.flight.insert((at, number), (way == QUESTIONS, bytes));
            }
        }
    }

    fn arrive(&mut self, to_writer: bool, bytes: &[u8]) {
        let from = "10.0.0.99:7411".parse().unwrap();
        let now = self.now;
        if to_writer {
            interpret(WRITER, from, bytes, &mut ToTheWriter { now, writer: &mut self.writer }).unwrap();
            return;
        }
        let (reader, delivered) = (&mut self.reader, &mut self.delivered);
        let prefix = reader.guid().prefix;
        interpret(prefix, from, bytes, &mut ToTheReader { now, reader, delivered }).unwrap();
        self.whole.resize(self.delivered.samples.len(), now.monotonic.as_nanos());
    }
}

/// What is written after the two have met.
#[derive(Clone, Copy, Debug)]
struct Plan {
    len: usize,
    separation: u64,
    samples: u64,
    /// So many are lost at most in any time of twice the bound.
    losses: u32,
    longest: Longest,
    seed: u64,
}

/// A run: how late the latest sample is, and how many datagrams were under way until all were whole.
struct Played {
    late: u64,
    launched: u64,
}

impl Plan {
    fn play(&self, lost: &[u64]) -> Played {
        let mut scene = Scene::new(self);
        scene.lost = lost.to_vec();
        for _ in 0..self.samples {
            scene.write(&vec![7; self.len]);
            // A writer that is late with one sample must not put the next one into the same datagram.
            scene.run(Duration::from_nanos((self.separation + 2 * self.longest.reaction) as i64));
        }
        let mut launched = scene.launched;
        let all = 1 + self.samples as usize;
        for _ in 0..4_000 {
            if scene.delivered.samples.len() == all {
                break;
            }
            scene.run(Duration::from_millis(1));
            launched = scene.launched;
        }
        assert_eq!((scene.delivered.samples.len(), scene.delivered.lost), (all, 0), "lost {lost:?}");
        assert_eq!(scene.sent.len() + 1, all);
        let late = scene.sent.iter().zip(&scene.whole[1..]).map(|(sent, whole)| whole - sent).max();
        Played { late: late.unwrap(), launched }
    }

    /// Loses any datagrams behind those that are lost already; how late the latest sample may be made.
    fn worst(&self, lost: &mut Vec<u64>, more: u32, runs: &mut u64) -> (u64, Vec<u64>) {
        let played = self.play(lost);
        *runs += 1;
        let mut worst = (played.late, lost.clone());
        if more > 0 {
            for next in lost.last().map_or(0, |last| last + 1)..played.launched {
                lost.push(next);
                worst = worst.max(self.worst(lost, more - 1, runs));
                lost.pop();
            }
        }
        worst
    }

    /// Loses datagrams at random, and then others in their place, as long as that makes a sample later.
    fn search(&self, draw: &mut Random, runs: u64) -> (u64, Vec<u64>) {
        let launched = self.play(&[]).launched;
        let count = u64::from(self.losses) * (1 + self.samples / 4);
        // Those that follow each other are asked for anew each time.
        let near = |first: u64, draw: &mut Random| first + draw.below_u64(8);
        let mut worst = (0, Vec::new());
        for run in 0..runs {
            let mut lost: Vec<u64> = worst.1.clone();
            if lost.is_empty() || run % 8 == 0 {
                lost = (0..count).map(|_| draw.below_u64(launched + 40)).collect();
            }
            for _ in 0..=draw.below_u64(2) {
                let (one, other) = (draw.below_u64(count) as usize, draw.below_u64(count) as usize);
                lost[one] =
                    if draw.chance(50) { near(lost[other], draw) } else { draw.below_u64(launched + 40) };
            }
            let late = self.play(&lost).late;
            if late >= worst.0 {
                worst = (late, lost);
            }
        }
        worst
    }

    /// The bound over the worst that was found.
    fn judge(&self, found: (u64, Vec<u64>), runs: u64) -> f64 {
        let (late, lost) = found;
        let bound = self.longest.latest(self.losses);
        println!("{self:?}: {late} of {bound} ns in {runs} runs, worst {lost:?}");
        assert!(late <= bound, "{late} ns, and the bound is {bound}: lost {lost:?} of {self:?}");
        bound as f64 / late as f64
    }
}

fn longest(in_order: bool) -> Longest {
    Longest { ways: [900_000, 2_000_000, 1_500_000], spacing: 700_000, reaction: 0, in_order }
}

#[test]
fn a_sample_is_no_later_than_its_losses_allow() {
    let mut ratios = Vec::new();
    for (len, samples, most) in [(200, 1, 3), (200, 3, 3), (4_000, 1, 3), (4_000, 3, 2), (30_000, 2, 1)] {
        for separation in [1, 3, 5, 9, 15, 45] {
            for (seed, in_order) in [(0, true), (1, true), (2, false)] {
                for losses in 0..=most {
                    let separation = separation * 1_000_000;
                    let plan = Plan { len, separation, samples, losses, longest: longest(in_order), seed };
                    let mut runs = 0;
                    let found = plan.worst(&mut Vec::new(), losses, &mut runs);
                    ratios.push(plan.judge(found, runs));
                }
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "bound over worst: median {:.3}, least {:.3}, most {:.3}",
        ratios[ratios.len() / 2],
        ratios[0],
        ratios[ratios.len() - 1]
    );
}

#[test]
fn nor_if_many_are_lost_over_time_and_hosts_are_late() {
    let mut ratios = Vec::new();
    for seed in tiers::current().seeds("rtps.losses") {
        let mut draw = Random::new(seed);
        let mut time = |most: u64| 1_000 * (1 + draw.below_u64(most));
        let ways = [time(3_000), time(2_000), time(2_000)];
        let (spacing, reaction) = (time(1_500), time(500));
        let reaction = if draw.chance(50) { 0 } else { reaction };
        let longest = Longest { ways, spacing, reaction, in_order: draw.chance(50) };
        let len = [100, 1_300, 4_000, 12_000][draw.below_u64(4) as usize];
        // Of seven samples that are under way at once at most.
        let least = ways[SAMPLES] / 7 + 1;
        let separation = (least + draw.below_u64(20_000_000)).max(50_000);
        let (samples, losses) = (1 + draw.below_u64(24), 1 + draw.below_u64(4) as u32);
        let plan = Plan { len, separation, samples, losses, longest, seed };
        let found = plan.search(&mut draw, 60);
        ratios.push(plan.judge(found, 60));
    }
    ratios.sort_by(f64::total_cmp);
    println!("bound over worst: median {:.3}, least {:.3}", ratios[ratios.len() / 2], ratios[0]);
}
