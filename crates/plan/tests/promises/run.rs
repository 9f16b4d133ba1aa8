//! One run of a network, frame by frame: store and forward, strict priority that interrupts nothing, first in first out within a level.
//!
//! Instants are picoseconds, sizes bytes. The order of what happens at one instant is chosen: each choice stands for runs in which it
//! happens in that order a moment apart.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::draw::Draw;
use crate::guards::{Guard, Rule};
use crate::messages::carried;

/// Levels of flows, and that of control above them.
pub(crate) const CONTROL: usize = 8;
const LEVELS: usize = CONTROL + 1;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Host,
    Switch { least: u64, most: u64, keeps_order: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Picoseconds of an byte.
    pub(crate) byte: u64,
    pub(crate) propagation: u64,
    /// Bytes of the largest frame below all levels, or of what of it cannot be interrupted.
    pub(crate) below: u64,
    /// Bytes of the largest frame that the link carries: a switch drops larger ones.
    pub(crate) largest: u64,
    pub(crate) tag: u64,
}

/// A port that a stream leaves by.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) port: usize,
    pub(crate) level: usize,
    pub(crate) after: Option<usize>,
}

/// Frames with one way: a flow, one of a bundle, or control at a port.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) hops: Vec<Hop>,
    /// Which guard it passes at the first switch.
    pub(crate) guard: Option<usize>,
    /// Bytes of the tag that its frames keep from host to host, beside those of links.
    pub(crate) tag: u64,
}

/// Frames that are handed over for one sample, or one frame of somebody who sends no messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    /// Instants, never decreasing, and bytes on the first link.
    pub(crate) frames: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) nodes: Vec<Node>,
    pub(crate) ports: Vec<Port>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ties {
    /// The target is last, and comes just too late for a choice that others come in time for.
    Others,
    /// Everybody comes just too late for a choice.
    Choice,
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Below {
    /// A frame of nobody begins just before each one that comes to an idle port.
    Always,
    Never,
    Sometimes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crossing {
    Slow,
    Fast,
    Any,
    /// Frames are held up until one instant, and then are all there.
    Together,
    /// The target is slow, others are fast.
    TargetSlow,
}

/// Everything that is chosen besides who sends when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) target: usize,
    pub(crate) ties: Ties,
    pub(crate) below: Below,
    pub(crate) crossing: Crossing,
    /// See [`carried`].
    pub(crate) pads_early: bool,
    /// Whether gates refuse whole messages.
    pub(crate) strict: bool,
    pub(crate) seed: u64,
}

/// The worst that was seen.
#[derive(Clone, Default, Debug)]
pub(crate) struct Seen {
    /// For each stream and hop: the longest from the arrival of a frame in the queue to the end of its transmission.
    pub(crate) delay: Vec<Vec<u64>>,
    /// For each stream and hop: the longest from the handing over of a message's first frame to the reception of one of its frames, and
    /// which message that was.
    pub(crate) latency: Vec<Vec<(u64, usize)>>,
    /// For each port, the most bytes that were there, and the most of any level.
    pub(crate) held: Vec<(u64, u64)>,
    /// For each stream, frames that its guard dropped, and frames that came to ends of hops.
    pub(crate) dropped: Vec<u64>,
    pub(crate) carried: u64,
    /// For each hop and message of the target: when its first and its last frame came to the queue.
    pub(crate) came: Vec<Vec<Option<(u64, u64)>>>,
}

/// Hosts that answer what they receive, and what is lost on the way.
pub(crate) trait Hosts {
    /// Whether a frame gets lost at the end of a link: then it is not seen there.
    fn loses(&mut self, now: u64, frame: &Frame) -> bool;
    /// Whether they want to know what comes of a stream.
    fn listen(&self, stream: usize) -> bool;
    /// A frame has come to an end of its way.
    fn receive(&mut self, now: u64, frame: &Frame);
    /// What hosts hand over now, as streams and bytes of a frame.
    fn act(&mut self, now: u64) -> Vec<(usize, u64)>;
    /// When they hand over something next; at once, if that is in the past.
    fn wakes(&self) -> Option<u64>;
}

/// Hosts that hand over nothing.
struct Silent;

impl Hosts for Silent {
    fn loses(&mut self, _: u64, _: &Frame) -> bool {
        false
    }

    fn listen(&self, _: usize) -> bool {
        false
    }

    fn receive(&mut self, _: u64, _: &Frame) {}

    fn act(&mut self, _: u64) -> Vec<(usize, u64)> {
        Vec::new()
    }

    fn wakes(&self) -> Option<u64> {
        None
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) stream: usize,
    pub(crate) hop: usize,
    bytes: u64,
    pub(crate) message: usize,
    /// Its place in the message.
    pub(crate) index: usize,
    pub(crate) handed: u64,
    queued: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Hand(usize),
    Queue(usize),
    Choose(usize),
    Arrive(usize),
    Wake,
}

#[derive(Default)]
struct Output {
    queues: [VecDeque<usize>; LEVELS],
    held: [u64; LEVELS],
    all: u64,
    sends: Option<(usize, u64)>,
    busy: bool,
}

struct Run<'a> {
    network: &'a Network,
    schedule: &'a [Vec<Message>],
    conforms: &'a [bool],
    weather: Weather,
    hosts: &'a mut dyn Hosts,
    /// When they are woken next, and how many messages of each stream they have handed over.
    wakes: Option<u64>,
    answered: Vec<usize>,
    draw: Draw,
    events: BinaryHeap<Reverse<(u64, u8, u64, What)>>,
    count: u64,
    frames: Vec<Frame>,
    free: Vec<usize>,
    outputs: Vec<Output>,
    guards: Vec<Guard>,
    /// For each stream, the message and the frame in it that come next.
    next: Vec<(usize, usize)>,
    /// For each stream and hop, when the frame before was in the queues behind it.
    ready: Vec<Vec<u64>>,
    children: Vec<Vec<Vec<usize>>>,
    seen: Seen,
}

/// Runs until nothing is left. `conforms` says which streams keep their contracts.
pub(crate) fn run(network: &Network, schedule: &[Vec<Message>], conforms: &[bool], weather: Weather) -> Seen {
    run_with(network, schedule, conforms, weather, &mut Silent)
}

/// The same with hosts that hand over more than is on the schedule, along streams that have nothing there.
pub(crate) fn run_with(
    network: &Network,
    schedule: &[Vec<Message>],
    conforms: &[bool],
    weather: Weather,
    hosts: &mut dyn Hosts,
) -> Seen {
    let mut draw = Draw::new(weather.seed);
    let phase = draw.bits();
    let per_hop = |stream: &Stream| vec![0; stream.hops.len()];
    let children = |stream: &Stream| {
        let of =
            |hop: usize| (0..stream.hops.len()).filter(move |next| stream.hops[*next].after == Some(hop));
        (0..stream.hops.len()).map(|hop| of(hop).collect()).collect()
    };
    let target = weather.target;
    let seen = Seen {
        delay: network.streams.iter().map(per_hop).collect(),
        latency: network.streams.iter().map(|stream| vec![(0, 0); stream.hops.len()]).collect(),
        held: vec![(0, 0); network.ports.len()],
        dropped: vec![0; network.streams.len()],
        carried: 0,
        came: vec![vec![None; schedule[target].len()]; network.streams[target].hops.len()],
    };
    let mut run = Run {
        network,
        schedule,
        conforms,
        weather,
        hosts,
        wakes: None,
        answered: vec![0; network.streams.len()],
        draw,
        events: BinaryHeap::new(),
        count: 0,
        frames: Vec::new(),
        free: Vec::new(),
        outputs: network.ports.iter().map(|_| Output::default()).collect(),
        guards: network.rules.iter().map(|rule| Guard::new(*rule, weather.strict, phase)).collect(),
        next: vec![(0, 0); network.streams.len()],
        ready: network.streams.iter().map(per_hop).collect(),
        children: network.streams.iter().map(children).collect(),
        seen,
    };
    (0..network.streams.len()).for_each(|stream| run.expect(stream));
    run.expect_hosts(0);
    while let Some(Reverse((now, _, _, what))) = run.events.pop() {
        match what {
            What::Hand(stream) => run.hand(now, stream),
            What::Queue(frame) => run.queue(now, frame),
            What::Choose(port) => run.choose(now, port),
            What::Arrive(place) => {
                let frame = run.frames[place];
                run.free.push(place);
                run.hosts.receive(now, &frame);
            }
            What::Wake => run.wake(now),
        }
        run.expect_hosts(now);
    }
    run.seen
}

impl Run<'_> {
    fn push(&mut self, at: u64, class: u8, what: What) {
        self.count += 1;
        self.events.push(Reverse((at, class, self.count, what)));
    }

    /// The place of a frame that comes among all that happens at the instant; frames of one stream and instant have one.
    fn class(&self, at: u64, stream: usize) -> u8 {
        let target = stream == self.weather.target;
        match self.weather.ties {
            Ties::Others | Ties::Choice if target => 3,
            Ties::Others => 0,
            Ties::Choice => 2,
            Ties::Any => {
                let mixed = (at ^ self.weather.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream as u64;
                u8::try_from(mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 62).unwrap()
            }
        }
    }

    fn expect(&mut self, stream: usize) {
        let (message, frame) = self.next[stream];
        let Some(message) = self.schedule[stream].get(message) else { return };
        let (at, _) = message.frames[frame];
        self.push(at, self.class(at, stream), What::Hand(stream));
    }

    fn expect_hosts(&mut self, now: u64) {
        let next = self.hosts.wakes().map(|at| at.max(now));
        let Some(at) = next.filter(|at| self.wakes.is_none_or(|before| *at < before)) else { return };
        self.wakes = Some(at);
        self.push(at, 0, What::Wake);
    }

    fn wake(&mut self, now: u64) {
        if self.wakes.is_some_and(|at| at <= now) {
            self.wakes = None;
        }
        for (stream, bytes) in self.hosts.act(now) {
            assert!(self.schedule[stream].is_empty());
            let message = self.answered[stream];
            self.answered[stream] += 1;
            let frame = Frame { stream, hop: 0, bytes, message, index: 0, handed: now, queued: now };
            let frame = self.keep(frame);
            self.queue(now, frame);
        }
    }

    fn hand(&mut self, now: u64, stream: usize) {
        // All that comes at once needs one event.
        loop {
            let (message, index) = self.next[stream];
            let frames = &self.schedule[stream][message].frames;
            let (bytes, handed) = (frames[index].1, frames[0].0);
            let frame = Frame { stream, hop: 0, bytes, message, index, handed, queued: now };
            self.next[stream] =
                if index + 1 < frames.len() { (message, index + 1) } else { (message + 1, 0) };
            let frame = self.keep(frame);
            self.queue(now, frame);
            let (message, index) = self.next[stream];
            let next = self.schedule[stream].get(message).map(|message| message.frames[index].0);
            if next != Some(now) {
                return self.expect(stream);
            }
        }
    }

    fn keep(&mut self, frame: Frame) -> usize {
        if let Some(place) = self.free.pop() {
            self.frames[place] = frame;
            return place;
        }
        self.frames.push(frame);
        self.frames.len() - 1
    }

    fn queue(&mut self, now: u64, place: usize) {
        let frame = &mut self.frames[place];
        frame.queued = now;
        let Frame { stream, hop, bytes, message, .. } = *frame;
        let Hop { port: index, level, .. } = self.network.streams[stream].hops[hop];
        let output = &mut self.outputs[index];
        output.queues[level].push_back(place);
        output.held[level] += bytes;
        output.all += bytes;
        let held = &mut self.seen.held[index];
        let of_level = if level < CONTROL { output.held[level] } else { 0 };
        *held = (held.0.max(output.all), held.1.max(of_level));
        if stream == self.weather.target {
            let came = &mut self.seen.came[hop][message];
            *came = Some((came.map_or(now, |(first, _)| first), now));
        }
        if self.outputs[index].busy {
            return;
        }
        self.outputs[index].busy = true;
        let port = &self.network.ports[index];
        let below = match self.weather.below {
            Below::Always => port.below,
            Below::Never => 0,
            Below::Sometimes if self.draw.one_in(2) => self.draw.range(0, port.below),
            Below::Sometimes => port.below,
        };
        self.push_choice(now + below * port.byte, index);
    }

    fn push_choice(&mut self, at: u64, port: usize) {
        let class = match self.weather.ties {
            Ties::Others => 1,
            Ties::Choice => 1,
            Ties::Any => self.class(at, usize::MAX - port),
        };
        // Where everybody comes too late, others have a higher class than this.
        self.push(at, class, What::Choose(port));
    }

    fn choose(&mut self, now: u64, index: usize) {
        let output = &mut self.outputs[index];
        output.busy = false;
        if let Some((level, bytes)) = output.sends.take() {
            output.held[level] -= bytes;
            output.all -= bytes;
        }
        let Some(level) = (0..LEVELS).rev().find(|level| !output.queues[*level].is_empty()) else { return };
        let place = output.queues[level].pop_front().unwrap();
        let frame = self.frames[place];
        self.free.push(place);
        let port = &self.network.ports[index];
        let end = now + frame.bytes * port.byte;
        output.busy = true;
        output.sends = Some((level, frame.bytes));
        let delay = &mut self.seen.delay[frame.stream][frame.hop];
        *delay = (*delay).max(end - frame.queued);
        self.push_choice(end, index);
        self.receive(end + port.propagation, frame);
    }

    fn receive(&mut self, now: u64, frame: Frame) {
        let Frame { stream, hop, bytes, message, handed, .. } = frame;
        if self.hosts.loses(now, &frame) {
            return;
        }
        self.seen.carried += 1;
        let latency = &mut self.seen.latency[stream][hop];
        *latency = (*latency).max((now - handed, message));
        let way = &self.network.streams[stream];
        let port = &self.network.ports[way.hops[hop].port];
        let Node::Switch { least, most, keeps_order } = self.network.nodes[port.to] else {
            if self.hosts.listen(stream) {
                let place = self.keep(frame);
                self.push(now, 0, What::Arrive(place));
            }
            return;
        };
        if self.children[stream][hop].is_empty() {
            return;
        }
        if let (0, Some(guard)) = (hop, way.guard)
            && !self.guards[guard].passes(now, bytes, self.conforms[stream])
        {
            self.seen.dropped[stream] += 1;
            return;
        }
        let target = stream == self.weather.target;
        let takes = match self.weather.crossing {
            Crossing::Slow => most,
            Crossing::Fast => least,
            Crossing::Any => self.draw.range(least, most),
            Crossing::TargetSlow => {
                if target {
                    most
                } else {
                    least
                }
            }
            Crossing::Together if most == least => least,
            Crossing::Together => {
                // The instant is the same for all that comes in a time as long as what a frame may be held up for.
                let window = most - least;
                let since = (now + self.weather.seed % window) % window;
                most - since
            }
        };
        let before = &mut self.ready[stream][hop];
        let at = if keeps_order { (now + takes).max(*before) } else { now + takes };
        *before = at;
        let class = self.class(at, stream);
        for index in 0..self.children[stream][hop].len() {
            let next = self.children[stream][hop][index];
            let out = &self.network.ports[way.hops[next].port];
            let bytes = carried(bytes, port.tag + way.tag, out.tag + way.tag, self.weather.pads_early);
            if bytes > out.largest {
                continue;
            }
            let place = self.keep(Frame { hop: next, bytes, ..frame });
            self.push(at, class, What::Queue(place));
        }
    }
}
