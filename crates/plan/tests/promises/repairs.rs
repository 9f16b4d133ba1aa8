//! Publishers and subscribers of flows with losses, as decision 16 has them: who asks when, and what is repeated. Frames get lost between
//! them as an adversary likes, but no more than may be lost.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::draw::Draw;
use crate::run::{Frame, Hosts, Message};

/// The most incomplete samples that are asked for at once.
const ASKED: usize = 4;
const MILLION: u64 = 1_000_000;

/// What a plan says of a flow with losses. Times in picoseconds of hosts' clocks, but for `reaction`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conduct {
    pub(crate) heartbeat: u64,
    pub(crate) patience: u64,
    pub(crate) again: u64,
    pub(crate) spacing: u64,
    pub(crate) reaction: u64,
    pub(crate) frames: usize,
}

/// What a datagram beside the messages says.
#[derive(Clone, Debug)]
enum Said {
    Heartbeat { sent: usize },
    Repair { sample: usize, fragment: usize },
    Question { base: usize, missing: Vec<(usize, usize)> },
}

/// How a clock goes, and how soon a host does what is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Habits {
    /// Whether the clocks of publishers, and those of subscribers, are slow, right, or fast.
    pub(crate) clocks: [i8; 2],
    /// Always as late as may be, or anyhow.
    pub(crate) late: bool,
    /// Whether samples bring a HEARTBEAT.
    pub(crate) along: bool,
}

/// One subscriber of a flow with losses.
pub(crate) struct Pair {
    pub(crate) conduct: Conduct,
    /// The stream of samples and the hop of it that ends at the subscriber, and the streams of repairs and questions.
    pub(crate) samples: (usize, usize),
    pub(crate) beside: [usize; 2],
    /// Bytes of their frames.
    pub(crate) bytes: [u64; 2],
    /// When the first and the last frame of each sample are handed over, and how many there are.
    handed: Vec<(u64, u64, usize)>,
    clocks: [i8; 2],
    drift: u64,
    late: bool,
    along: bool,
    lost: usize,
    // The writer.
    sent: usize,
    acknowledged: usize,
    heartbeat_at: Option<u64>,
    owes_heartbeat: bool,
    repeats: BTreeSet<(usize, usize)>,
    // The reader.
    come: Vec<BTreeSet<usize>>,
    whole: usize,
    announced: VecDeque<(usize, u64)>,
    told: usize,
    ripe: usize,
    owes_answer: bool,
    asked: Option<(u64, Vec<(usize, usize)>)>,
    /// For both: when the next datagram may leave, and when the host does what is due.
    opens: [u64; 2],
    wakes: [Option<u64>; 2],
    /// The longest time until a sample and all before it were whole.
    pub(crate) latest: u64,
}

impl Pair {
    pub(crate) fn new(
        conduct: Conduct,
        samples: (usize, usize),
        beside: [usize; 2],
        bytes: [u64; 2],
        schedule: &[Message],
        drift: u64,
        habits: Habits,
    ) -> Self {
        let handed: Vec<(u64, u64, usize)> = schedule
            .iter()
            .map(|message| (message.frames[0].0, message.frames.last().unwrap().0, message.frames.len()))
            .collect();
        Self {
            conduct,
            samples,
            beside,
            bytes,
            come: vec![BTreeSet::new(); handed.len()],
            handed,
            clocks: habits.clocks,
            drift,
            late: habits.late,
            along: habits.along,
            lost: 0,
            sent: 0,
            acknowledged: 0,
            heartbeat_at: None,
            owes_heartbeat: false,
            repeats: BTreeSet::new(),
            whole: 0,
            announced: VecDeque::new(),
            told: 0,
            ripe: 0,
            owes_answer: false,
            asked: None,
            opens: [0; 2],
            wakes: [None; 2],
            latest: 0,
        }
    }

    /// Whether all samples have come.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole == self.handed.len()
    }

    /// How long a wait by the clock of a side takes.
    fn wait(&self, side: usize, time: u64) -> u64 {
        let slow = MILLION - self.drift;
        match self.clocks[side] {
            1 => (u128::from(time) * u128::from(MILLION)).div_ceil(u128::from(slow)).try_into().unwrap(),
            -1 => (u128::from(time) * u128::from(slow) / u128::from(MILLION)).try_into().unwrap(),
            _ => time,
        }
    }

    /// How late a host is.
    fn lateness(&self, draw: &mut Draw) -> u64 {
        let most = self.conduct.reaction;
        if self.late { most } else { draw.range(0, most) }
    }

    /// Lets time pass for what only waits.
    fn pass(&mut self, now: u64, draw: &mut Draw) {
        while let Some((_, last, _)) = self.handed.get(self.sent).filter(|(_, last, _)| *last <= now) {
            let asks_at = last + self.wait(0, self.conduct.heartbeat) + self.lateness(draw);
            self.sent += 1;
            self.heartbeat_at.get_or_insert(asks_at);
        }
        while let Some(at) = self.heartbeat_at.filter(|at| *at <= now) {
            let waits = self.acknowledged < self.sent;
            self.owes_heartbeat |= waits;
            let next = at + self.wait(0, self.conduct.heartbeat) + self.lateness(draw);
            self.heartbeat_at = waits.then_some(next);
        }
        while let Some((number, _)) = self.announced.front().copied().filter(|(_, at)| *at <= now) {
            self.ripe = self.ripe.max(number);
            self.announced.pop_front();
        }
    }

    /// What the reader misses of what it may ask for, the lowest samples only.
    fn missing(&self) -> Vec<(usize, usize)> {
        let incomplete = (self.whole..self.ripe).filter(|at| self.come[*at].len() < self.handed[*at].2);
        let fragments = |at: usize| {
            let all = (0..self.handed[at].2).filter(move |fragment| !self.come[at].contains(fragment));
            all.map(move |fragment| (at, fragment))
        };
        incomplete.take(ASKED).flat_map(fragments).collect()
    }

    /// When the reader may ask for something: at once, if all that it has asked for has come.
    fn may_ask_at(&self) -> u64 {
        let Some((at, asked)) = &self.asked else { return 0 };
        let all_came = asked.iter().all(|(sample, fragment)| self.come[*sample].contains(fragment));
        if all_came { 0 } else { at + self.wait(1, self.conduct.again) }
    }

    /// When a side has a datagram for the other one.
    fn due(&self, side: usize) -> Option<u64> {
        let at = if side == 0 {
            (self.owes_heartbeat || !self.repeats.is_empty()).then_some(0)
        } else if self.owes_answer {
            Some(0)
        } else {
            (!self.missing().is_empty()).then(|| self.may_ask_at())
        };
        at.map(|at| at.max(self.opens[side]))
    }

    fn next(&self) -> Option<u64> {
        let handed = self.handed.get(self.sent).map(|(_, last, _)| *last);
        let waits = [handed, self.heartbeat_at, self.announced.front().map(|(_, at)| *at)];
        let acts = [0, 1].map(|side| self.wakes[side].or(self.due(side)));
        waits.into_iter().chain(acts).flatten().min()
    }

    /// What a side sends now.
    fn send(&mut self, side: usize, now: u64, draw: &mut Draw) -> Option<Said> {
        if self.wakes[side].is_none() && self.due(side).is_some_and(|at| at <= now) {
            self.wakes[side] = Some(now + self.lateness(draw));
        }
        self.wakes[side].filter(|at| *at <= now)?;
        self.wakes[side] = None;
        self.due(side).filter(|at| *at <= now)?;
        self.opens[side] = now + self.wait(side, self.conduct.spacing);
        if side == 0 {
            if std::mem::take(&mut self.owes_heartbeat) {
                return Some(Said::Heartbeat { sent: self.sent });
            }
            let (sample, fragment) = self.repeats.pop_first()?;
            return Some(Said::Repair { sample, fragment });
        }
        self.owes_answer = false;
        let missing = if self.may_ask_at() <= now { self.missing() } else { Vec::new() };
        if !missing.is_empty() {
            self.asked = Some((now, missing.clone()));
        }
        Some(Said::Question { base: self.whole, missing })
    }

    fn announce(&mut self, now: u64, sent: usize) {
        if sent > self.told {
            self.told = sent;
            self.announced.push_back((sent, now + self.wait(1, self.conduct.patience)));
        }
    }

    fn fragment(&mut self, now: u64, sample: usize, fragment: usize) {
        self.come[sample].insert(fragment);
        while !self.is_whole() && self.come[self.whole].len() == self.handed[self.whole].2 {
            self.latest = self.latest.max(now - self.handed[self.whole].0);
            self.whole += 1;
        }
    }

    fn hear(&mut self, now: u64, said: &Said) {
        match said {
            Said::Heartbeat { sent } => {
                self.announce(now, *sent);
                self.owes_answer = true;
            }
            Said::Repair { sample, fragment } => self.fragment(now, *sample, *fragment),
            Said::Question { base, missing } => {
                self.acknowledged = self.acknowledged.max(*base);
                if missing.is_empty() {
                    self.repeats.retain(|(sample, _)| sample >= base);
                } else {
                    self.repeats = missing.iter().copied().collect();
                }
            }
        }
    }
}

/// All of them, and the adversary.
pub(crate) struct Losing {
    pub(crate) pairs: Vec<Pair>,
    draw: Draw,
    /// For each stream and number of a datagram beside the messages, what it says.
    said: BTreeMap<(usize, usize), Said>,
    handed: BTreeMap<usize, usize>,
    /// Which chances to lose a frame are taken, by their number.
    taken: BTreeSet<u64>,
    pub(crate) chances: u64,
}

impl Losing {
    pub(crate) fn new(pairs: Vec<Pair>, taken: BTreeSet<u64>, draw: Draw) -> Self {
        Self { pairs, draw, said: BTreeMap::new(), handed: BTreeMap::new(), taken, chances: 0 }
    }
}

impl Hosts for Losing {
    fn loses(&mut self, _: u64, frame: &Frame) -> bool {
        let Frame { stream, hop, .. } = *frame;
        // On the first link, which is everybody's, or on the last one.
        let concerns = |pair: &Pair| {
            pair.beside.contains(&stream) || (pair.samples.0 == stream && (hop == 0 || pair.samples.1 == hop))
        };
        if !self.pairs.iter().any(concerns) {
            return false;
        }
        self.chances += 1;
        let may = |pair: &Pair| pair.lost < pair.conduct.frames;
        let loses = self.taken.contains(&(self.chances - 1))
            && self.pairs.iter().filter(|pair| concerns(pair)).all(may);
        if loses {
            self.pairs.iter_mut().filter(|pair| concerns(pair)).for_each(|pair| pair.lost += 1);
        }
        loses
    }

    fn listen(&self, stream: usize) -> bool {
        self.pairs.iter().any(|pair| pair.samples.0 == stream || pair.beside.contains(&stream))
    }

    fn receive(&mut self, now: u64, frame: &Frame) {
        let Frame { stream, hop, message, index, .. } = *frame;
        for pair in &mut self.pairs {
            if pair.samples == (stream, hop) {
                pair.fragment(now, message, index);
                if pair.along && index + 1 == pair.handed[message].2 {
                    pair.announce(now, message + 1);
                }
            }
            if pair.beside.contains(&stream) {
                pair.hear(now, &self.said[&(stream, message)]);
            }
            pair.pass(now, &mut self.draw);
        }
    }

    fn act(&mut self, now: u64) -> Vec<(usize, u64)> {
        let mut frames = Vec::new();
        for pair in &mut self.pairs {
            pair.pass(now, &mut self.draw);
            for side in [0, 1] {
                if let Some(said) = pair.send(side, now, &mut self.draw) {
                    let stream = pair.beside[side];
                    let number = self.handed.entry(stream).or_default();
                    self.said.insert((stream, *number), said);
                    *number += 1;
                    frames.push((stream, pair.bytes[side]));
                }
            }
        }
        frames
    }

    fn wakes(&self) -> Option<u64> {
        self.pairs.iter().filter_map(Pair::next).min()
    }
}
