//! Assured samples of which frames are lost: whichever few datagrams that are, of samples, HEARTBEATs, questions and repairs, a sample is no later
//! than `latency` says. The machines are the real ones; only the network is not: it loses what it is told to.
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::Arc;

use latency::repair::{Conduct, Ways, latest};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use rtps::{Flow, Path, Transmit};
use wire::message::PayloadKind;
use wire::{Duration, Instant, Now, Timestamp};

use crate::pair::{
    Delivered, Payload, Random, ToTheReader, ToTheWriter, WRITER, path_to, reader_guid, writer_guid,
};

const DATAGRAM: u32 = 1_472;
/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000;
/// The longest times on the ways, in nanoseconds.
#[derive(Clone, Copy)]
struct Longest {
    message: u64,
    answer: u64,
    question: u64,
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
    /// When the last one came: of messages, of what else the writer sends, and of what the reader does.
    arrived: [u64; 3],
    launched: u64,
    /// Which datagrams get lost, by their number.
    lost: Vec<u64>,
    longest: Longest,
    /// Which of them take all the time that they may.
    slow: Random,
    always: bool,
    out: Transmit<Payload>,
}

impl Scene {
    fn new(longest: Longest, seed: u64) -> Self {
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
            launched: 0,
            lost: Vec::new(),
            longest,
            slow: Random::new(seed),
            always: seed == 0,
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
        // Both have met, and nothing is under way.
        scene.run(Duration::from_secs(3));
        scene.write(&[0; 100]);
        scene.run(Duration::from_secs(3));
        assert!(scene.writer.is_acknowledged(scene.writer.last()));
        scene.launched = 0;
        scene
    }

    fn write(&mut self, bytes: &[u8]) {
        let source_timestamp = Some(Timestamp::from_nanos(0));
        let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp };
        self.writer.write(self.now, &change, Body::Copy(bytes)).unwrap();
        self.sent.push(self.now.monotonic.as_nanos());
    }

    fn run(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        loop {
            self.send();
            let arrival =
                self.flight.first_key_value().map_or(Instant::NEVER, |((at, _), _)| Instant::from_nanos(*at));
            let timers = self.reader.poll_timeout().min(self.reader.next_expiry());
            let next = arrival.min(self.writer.poll_timeout()).min(timers);
            if next > end {
                break;
            }
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
        while self.writer.poll_transmit(self.now, &mut self.out) {
            let (way, most) = match self.out.is_message() {
                true => (0, self.longest.message),
                false => (1, self.longest.answer),
            };
            self.launch(way, most);
        }
        while self.reader.poll_transmit(self.now, &mut self.out) {
            self.launch(2, self.longest.question);
        }
    }

    fn launch(&mut self, way: usize, most: u64) {
        let datagrams: Vec<Vec<u8>> = self
            .out
            .datagrams()
            .map(|slices| slices.map(<[u8]>::to_vec).collect::<Vec<_>>().concat())
            .collect();
        for bytes in datagrams {
            let number = self.launched;
            self.launched += 1;
            let takes = if self.always || self.slow.chance(60) { most } else { 1_000 };
            if !self.lost.contains(&number) {
                // What goes the same way keeps its order.
                let at = (self.now.monotonic.as_nanos() + takes).max(self.arrived[way]);
                self.arrived[way] = at;
                self.flight.insert((at, number), (way == 2, bytes));
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
#[derive(Clone, Copy)]
struct Plan {
    len: usize,
    separation: u64,
    samples: u64,
    longest: Longest,
    seed: u64,
}

impl Plan {
    /// How late the latest sample is, and how many datagrams were under way until all were whole.
    fn play(&self, lost: &[u64]) -> (u64, u64) {
        let mut scene = Scene::new(self.longest, self.seed);
        scene.lost = lost.to_vec();
        for _ in 0..self.samples {
            scene.write(&vec![7; self.len]);
            scene.run(Duration::from_nanos(self.separation as i64));
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
        let late = scene.sent.iter().zip(&scene.whole).skip(1).map(|(sent, whole)| whole - sent).max();
        (late.unwrap(), launched)
    }

    /// Loses any datagrams behind those that are lost already; how late the latest sample may be made.
    fn worst(&self, lost: &mut Vec<u64>, more: usize, runs: &mut u64) -> (u64, Vec<u64>) {
        let (late, launched) = self.play(lost);
        *runs += 1;
        let mut worst = (late, lost.clone());
        if more > 0 {
            for next in lost.last().map_or(0, |last| last + 1)..launched {
                lost.push(next);
                worst = worst.max(self.worst(lost, more - 1, runs));
                lost.pop();
            }
        }
        worst
    }
}

#[test]
fn a_sample_is_no_later_than_its_losses_allow() {
    let longest = Longest { message: 900_000, answer: 2_000_000, question: 1_500_000 };
    let mut ratios = Vec::new();
    for (len, samples, most) in [(200, 1, 4), (200, 3, 3), (4_000, 1, 3), (4_000, 3, 2), (30_000, 2, 2)] {
        for separation in [3, 9, 15, 19, 21, 45, 150] {
            for seed in 0..2 {
                for losses in 0..=most {
                    let plan = Plan { len, separation: separation * 1_000_000, samples, longest, seed };
                    let mut runs = 0;
                    let (late, lost) = plan.worst(&mut Vec::new(), losses, &mut runs);
                    let ways = Ways {
                        sample: longest.message * NANOSECOND,
                        heartbeat: longest.answer * NANOSECOND,
                        question: longest.question * NANOSECOND,
                        repair: longest.answer * NANOSECOND,
                    };
                    let bound = latest(&Conduct::PUNCTUAL, &ways, losses as u32).unwrap() / NANOSECOND;
                    println!(
                        "{len} octets, {samples} samples each {separation} ms, seed {seed}, {losses} lost: {late} of {bound} ns in {runs} runs, worst {lost:?}"
                    );
                    assert!(late <= bound, "{late} ns, and the bound is {bound}: lost {lost:?}");
                    ratios.push(bound as f64 / late as f64);
                }
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "bound over worst: median {:.3}, most {:.3}",
        ratios[ratios.len() / 2],
        ratios[ratios.len() - 1]
    );
}
