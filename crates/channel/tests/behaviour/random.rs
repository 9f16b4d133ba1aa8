//! Random sequences of all that can happen, to a channel and to the model.
use std::collections::{BTreeSet, HashSet};

use channel::{
    Batch, Channel, ConsumerId, ConsumerSettings, Dispatch, Full, Gather, Header, Interest, Keep, Kept,
    Limits, Multicast, Order, Part, PublisherId, PublisherSettings, Queue, Refused, Run, Share, Signal, Tree,
    Window, Worker,
};
use testkit::random::Random;

use super::model::{Aside, By, Model, No, Piece, Waiting};
use super::{Body, above_three};

const LIMITS: Limits = Limits { depth: 5, nodes: 30, width: 12, kept: 40 };

/// What happened in all cases together, so that a test that tries nothing is seen.
#[derive(Default, Debug)]
struct Seen {
    taken: u64,
    joined: u64,
    timeouts: u64,
    dropped: u64,
    expired: u64,
    late: u64,
    waited: u64,
    full: u64,
    room: u64,
    silent: u64,
    owed: u64,
    /// Runs of several consumers, and those that ended although something waited.
    runs: u64,
    cut: u64,
    given_back: u64,
    /// Events that were set aside, and put back.
    set_aside: u64,
    put_back: u64,
    /// Events that were taken for several consumers at once, and those of them that were given back for some.
    multicasts: u64,
    parted: u64,
}

fn tree(random: &mut Random, depth: usize) -> Tree {
    let some = |random: &mut Random, limit| (!random.one_in(3)).then(|| random.below(limit) as u32);
    let choice = random.below(if depth == 0 { 6 } else { 15 });
    let many = |random: &mut Random| -> Vec<Tree> {
        (0..random.below(3) + 1).map(|_| tree(random, depth - 1)).collect()
    };
    let time = |random: &mut Random| random.range(1, 30);
    let priority = random.below(4) as u8;
    match choice {
        0 | 1 => Tree::Header { kind: some(random, 4), source: some(random, 3) },
        2 => Tree::Bits { kind: random.below(4) as u32, source: random.below(3) as u32 },
        3 => Tree::Masked { kind: (2, 2 * random.below(2) as u32), source: (1, random.below(2) as u32) },
        4 => Tree::Content(above_three()),
        5 => [
            Tree::Everything,
            Tree::After { delay: time(random), priority },
            Tree::Every { period: time(random), priority },
        ][random.below(3)]
        .clone(),
        6 => Tree::Not(Box::new(tree(random, depth - 1))),
        7 => Tree::All(many(random)),
        8 | 9 => Tree::Any(many(random)),
        10 => Tree::Silence { of: Box::new(tree(random, depth - 1)), after: time(random), priority },
        _ => Tree::Join {
            parts: many(random),
            keep: [Keep::First, Keep::Last, Keep::All(random.below(3) as u16 + 1)][random.below(3)],
            within: random.one_in(2).then(|| time(random)),
        },
    }
}

fn settings(random: &mut Random) -> ConsumerSettings {
    let full = [
        Full::Block { limit: random.range(0, 9) },
        Full::Reject,
        Full::DropOldest,
        Full::DropNewest,
        Full::DropLowestPriority,
        Full::DropLatestDeadline,
        Full::Coalesce,
    ][random.below(7)];
    ConsumerSettings {
        dispatch: [
            Dispatch::Publisher,
            Dispatch::Pool,
            Dispatch::Lane(random.below(2) as u8),
            Dispatch::Own,
            Dispatch::Deadline,
        ][random.below(5)],
        queue: Queue {
            depth: random.below(4) as u16 + 1,
            full,
            order: [Order::Fifo, Order::Priority, Order::Deadline][random.below(3)],
        },
        gather: Gather { most: random.below(3) as u16 + 1, wait: [0, 0, 5, 20][random.below(4)] },
        is_parallel: random.one_in(3),
        patience: random.one_in(3).then(|| random.range(1, 40)),
        window: Window {
            start: [0, 0, 3, 12][random.below(4)],
            stop: random.one_in(3).then(|| random.range(0, 30)),
        },
        share: random
            .one_in(3)
            .then(|| Share { number: random.below(2) as u32, most: random.range(1, 7) as u32 }),
    }
}

/// Settings with which consumers share events as long as nothing waits for them.
fn plain(random: &mut Random) -> ConsumerSettings {
    let settings = settings(random);
    let lanes = [Dispatch::Publisher, Dispatch::Publisher, Dispatch::Lane(0), Dispatch::Deadline];
    ConsumerSettings {
        dispatch: lanes[random.below(4)],
        queue: Queue { order: Order::Fifo, ..settings.queue },
        gather: Gather { wait: 0, ..settings.gather },
        patience: None,
        window: Window::default(),
        share: None,
        ..settings
    }
}

/// Both channels, and which name of one is which of the other.
struct Pair {
    /// Most consumers are plain and want most events.
    is_plain: bool,
    channel: Channel<Body>,
    model: Model,
    publishers: Vec<PublisherId>,
    consumers: Vec<ConsumerId>,
    batch: Batch<Body>,
    /// What was taken and may be given back: whose it is, and the same for the model.
    held: Vec<(usize, Batch<Body>, Vec<Waiting>)>,
    /// What was set aside: whose it is, the tree, and the same for the model.
    aside: Vec<(usize, Tree, Kept<Body>, Aside)>,
    /// Workers that have been told of work and have not come back in vain.
    awake: HashSet<String>,
}

impl Pair {
    fn new(is_plain: bool) -> Self {
        Self {
            is_plain,
            channel: Channel::new(LIMITS),
            model: Model::default(),
            publishers: vec![],
            consumers: vec![],
            batch: Batch::new(),
            held: vec![],
            aside: vec![],
            awake: HashSet::new(),
        }
    }

    fn by(&self, worker: Worker) -> By {
        match worker {
            Worker::Publisher => By::Publisher,
            Worker::Pool => By::Pool,
            Worker::Lane(lane) => By::Lane(lane),
            Worker::Own(consumer) => By::Own(self.name(consumer)),
            Worker::Deadline => By::Deadline,
        }
    }

    fn name(&self, consumer: ConsumerId) -> usize {
        self.consumers.iter().position(|id| *id == consumer).expect("a consumer of this test")
    }

    fn workers(&self) -> Vec<Worker> {
        let shared = [Worker::Publisher, Worker::Pool, Worker::Lane(0), Worker::Lane(1), Worker::Deadline];
        shared.into_iter().chain(self.consumers.iter().map(|consumer| Worker::Own(*consumer))).collect()
    }

    /// What a consumer is to be from now on.
    fn wanted(&self, random: &mut Random) -> (Tree, ConsumerSettings) {
        if self.is_plain && !random.one_in(5) {
            let tree = match random.below(6) {
                0 | 1 => Tree::Everything,
                2 => Tree::Header { kind: None, source: Some(random.below(2) as u32) },
                3 => Tree::Content(above_three()),
                4 => Tree::All(vec![Tree::Header { kind: None, source: None }, Tree::Content(above_three())]),
                _ => Tree::Header { kind: Some(random.below(2) as u32), source: None },
            };
            return (tree, plain(random));
        }
        let depth = random.below(4);
        (tree(random, depth), settings(random))
    }

    /// One random thing happens to both.
    fn step(&mut self, random: &mut Random, seen: &mut Seen) {
        let now = self.model.now + if random.one_in(3) { random.range(0, 12) } else { 0 };
        let publisher = random.below(self.publishers.len().max(1));
        let consumer = random.below(self.consumers.len().max(1));
        match random.below(50) {
            0 if self.publishers.len() < 6 => {
                let patience = random.one_in(2).then(|| random.range(1, 60));
                self.model.pass(now);
                self.model.add_publisher(patience);
                self.publishers.push(self.channel.add_publisher(now, PublisherSettings { patience }));
            }
            1 if !self.publishers.is_empty() && random.one_in(4) => {
                self.model.publishers[publisher] = None;
                self.model.room.retain(|name| *name != publisher);
                self.channel.remove_publisher(self.publishers[publisher]);
            }
            2 | 3 if self.consumers.len() < 12 => {
                let (tree, settings) = self.wanted(random);
                if let Ok(id) = self.channel.subscribe(now, &tree, settings) {
                    self.model.pass(now);
                    self.model.subscribe(&tree, settings);
                    self.consumers.push(id);
                }
            }
            4 if !self.consumers.is_empty() && random.one_in(3) => {
                self.model.unsubscribe(consumer);
                self.channel.unsubscribe(self.consumers[consumer]);
            }
            5 if !self.consumers.is_empty() => {
                let tree = match &self.model.consumers[consumer] {
                    Some(there) if random.one_in(4) => there.tree.clone(),
                    _ => self.wanted(random).0,
                };
                if self.channel.change_tree(now, self.consumers[consumer], &tree).is_ok() {
                    self.model.pass(now);
                    let before = self.model.waiting(consumer);
                    self.model.change_tree(consumer, &tree);
                    seen.owed += (self.model.waiting(consumer).saturating_sub(before)) as u64;
                }
            }
            6 if !self.consumers.is_empty() => {
                let (_, settings) = self.wanted(random);
                self.model.pass(now);
                self.model.change_settings(consumer, settings);
                self.channel.change_settings(now, self.consumers[consumer], settings);
            }
            7 if !self.publishers.is_empty() => {
                let is_suspended = random.one_in(3);
                self.model.pass(now);
                self.model.suspend_publisher(publisher, is_suspended);
                self.channel.suspend_publisher(now, self.publishers[publisher], is_suspended);
            }
            8 if !self.consumers.is_empty() => {
                let is_suspended = random.one_in(3);
                self.model.pass(now);
                self.model.suspend_consumer(consumer, is_suspended);
                self.channel.suspend_consumer(now, self.consumers[consumer], is_suspended);
            }
            9 => {
                let far = now + random.range(0, 100);
                self.model.pass(far);
                self.channel.tick(far);
            }
            10..=17 => self.take(random, now, seen),
            18..=23 if !self.consumers.is_empty() => {
                self.model.pass(now);
                self.model.done(consumer);
                self.channel.done(now, self.consumers[consumer]);
            }
            30..=32 if self.is_plain => self.rest(now),
            33..=39 if self.is_plain => self.take_multicast(random, now, seen),
            40..=42 => self.run(random, now, seen),
            43 if !self.held.is_empty() => {
                let held = random.below(self.held.len());
                let (name, mut batch, waiting) = self.held.swap_remove(held);
                self.model.pass(now);
                self.model.give_back(name, waiting);
                self.channel.give_back(now, self.consumers[name], &mut batch);
                assert_eq!(batch.deliveries().count(), 0);
                seen.given_back += 1;
            }
            44 | 45 if !self.consumers.is_empty() => self.set_aside(consumer, now, seen),
            46 if !self.aside.is_empty() => {
                let aside = random.below(self.aside.len());
                self.put_back(aside, now, seen);
            }
            _ if !self.publishers.is_empty() => self.push(random, now, publisher, seen),
            _ => {}
        }
    }

    fn set_aside(&mut self, name: usize, now: u64, seen: &mut Seen) {
        self.model.pass(now);
        let told = self.channel.set_aside(now, self.consumers[name]);
        let expected = self.model.set_aside(name);
        let count = told.as_ref().map(Kept::events);
        assert_eq!(count, expected.as_ref().map(|(_, count)| *count));
        if let (Some(told), Some((expected, count))) = (told, expected) {
            seen.set_aside += count as u64;
            let tree = self.model.consumers[name].as_ref().expect("there").tree.clone();
            self.aside.push((name, tree, told, expected));
        }
    }

    /// A tree gets back what was taken out of it, however many events came meanwhile.
    fn put_back(&mut self, aside: usize, now: u64, seen: &mut Seen) {
        let (name, tree, kept, expected) = self.aside.swap_remove(aside);
        if self.model.consumers[name].as_ref().is_none_or(|there| there.tree != tree) {
            return;
        }
        self.model.pass(now);
        self.model.put_back(name, expected);
        seen.put_back += kept.events() as u64;
        assert!(self.channel.put_back(now, self.consumers[name], kept));
    }

    fn push(&mut self, random: &mut Random, now: u64, publisher: usize, seen: &mut Seen) {
        let header = Header {
            kind: random.below(4) as u32,
            source: random.below(3) as u32,
            created: now.saturating_sub(random.range(0, 9)),
            priority: random.below(4) as u8,
            deadline: random.one_in(2).then(|| now + random.range(0, 9)),
        };
        let body = Body(random.below(7) as i64);
        self.model.pass(now);
        let before: Vec<_> = (0..self.consumers.len()).map(|name| self.model.waiting(name)).collect();
        let expected = self.model.push(publisher, &header, &body);
        let told = self.channel.push(now, self.publishers[publisher], &header, &body);
        let told = told.map_err(|refused| match refused {
            Refused::Unknown => No::Unknown,
            Refused::Suspended => No::Suspended,
            Refused::Wait { consumer, until } => No::Wait(self.name(consumer), until),
            Refused::Full(consumer) => No::Full(self.name(consumer)),
        });
        assert_eq!(told, expected);
        seen.waited += u64::from(matches!(told, Err(No::Wait(..))));
        seen.full += u64::from(matches!(told, Err(No::Full(_))));
        let is_delivered = before.iter().enumerate().any(|(name, before)| self.model.waiting(name) > *before);
        let is_asked_for = self.channel.interest().iter().any(|pattern| match *pattern {
            Interest::Everything => true,
            Interest::Header { kind, source } => {
                kind.unwrap_or(header.kind) == header.kind && source.unwrap_or(header.source) == header.source
            }
            Interest::Bits { kind, source } => {
                (kind == 0 || kind & header.kind > 0) && (source == 0 || source & header.source > 0)
            }
            Interest::Masked { kind, source } => {
                kind.0 & header.kind == kind.1 && source.0 & header.source == source.1
            }
        });
        assert!(is_asked_for || !is_delivered, "delivered, but not asked for: {header:?}");
    }

    fn take(&mut self, random: &mut Random, now: u64, seen: &mut Seen) {
        let worker = *random.pick(&self.workers()).expect("there are some");
        self.model.pass(now);
        let expected = self.model.take(self.by(worker));
        let told = self.channel.take(now, worker, &mut self.batch).map(|consumer| {
            let deliveries =
                self.batch.deliveries().map(|delivery| delivery.iter().map(piece).collect()).collect();
            (self.name(consumer), deliveries)
        });
        let told: Option<(usize, Vec<Vec<Piece>>)> = told;
        assert_eq!(told, expected, "{worker:?}");
        if let Some((name, _)) = &told
            && random.one_in(4)
        {
            self.held.push((*name, self.batch.clone(), self.model.taken.clone()));
        }
        let Some((_, deliveries)) = told else {
            self.hear(seen);
            self.awake.remove(&format!("{worker:?}"));
            return;
        };
        seen.taken += 1;
        for delivery in deliveries {
            seen.joined += u64::from(delivery.len() > 1);
            seen.timeouts += u64::from(delivery.iter().any(|piece| matches!(piece, Piece::Timeout(..))));
        }
    }

    /// A worker takes for several consumers and is done with all of them then; in the model it is done with each before the next.
    fn run(&mut self, random: &mut Random, now: u64, seen: &mut Seen) {
        let worker = *random.pick(&self.workers()).expect("there are some");
        let (most, mut run, mut taken) = (random.below(6) + 1, Run::new(), vec![]);
        self.model.pass(now);
        for _ in 0..most {
            let Some(consumer) = self.channel.take_next(now, worker, &mut run, &mut self.batch) else {
                break;
            };
            let deliveries: Vec<Vec<Piece>> =
                self.batch.deliveries().map(|delivery| delivery.iter().map(piece).collect()).collect();
            let name = self.name(consumer);
            assert_eq!(Some((name, deliveries)), self.model.take(self.by(worker)), "{worker:?}");
            self.model.done(name);
            taken.push(consumer);
        }
        if taken.is_empty() {
            assert_eq!(self.model.turn(self.by(worker)), None, "{worker:?}");
            self.hear(seen);
            self.awake.remove(&format!("{worker:?}"));
        }
        seen.runs += u64::from(taken.len() > 1);
        let is_cut = taken.len() < most && !taken.is_empty() && self.model.turn(self.by(worker)).is_some();
        seen.cut += u64::from(is_cut);
        taken.into_iter().for_each(|consumer| self.channel.done(now, consumer));
    }

    /// All that waits is taken, and all that was taken is done.
    fn rest(&mut self, now: u64) {
        self.model.pass(now);
        self.channel.tick(now);
        for _ in 0..2 {
            for worker in self.workers() {
                while let Some((name, _)) = self.model.take(self.by(worker)) {
                    let told = self.channel.take(now, worker, &mut self.batch);
                    assert_eq!(told.map(|id| self.name(id)), Some(name), "{worker:?}");
                    self.model.done(name);
                    self.channel.done(now, self.consumers[name]);
                }
            }
            for (name, id) in self.consumers.iter().enumerate() {
                self.model.done(name);
                self.channel.done(now, *id);
            }
        }
    }

    /// A worker takes an event for several consumers. It is done with some of them, and gives back what is for the others, at once or later.
    fn take_multicast(&mut self, random: &mut Random, now: u64, seen: &mut Seen) {
        let workers = [Worker::Publisher, Worker::Publisher, Worker::Lane(0), Worker::Deadline];
        let worker = workers[random.below(4)];
        let (most, mut multicast) = (random.below(6) + 1, Multicast::new());
        self.model.pass(now);
        if !self.channel.take_multicast(now, worker, most, &mut multicast) {
            assert_eq!(multicast.consumers().count(), 0);
            assert!(multicast.part().is_none());
            return;
        }
        let part = piece(multicast.part().expect("of the event"));
        let consumers: Vec<ConsumerId> = multicast.consumers().collect();
        assert!(!consumers.is_empty() && consumers.len() <= most);
        let mut kept = vec![];
        // In the model each takes before the next one is done with, and after those before it.
        for (place, id) in consumers.iter().enumerate() {
            let name = self.name(*id);
            let expected = self.model.take(self.by(worker));
            assert_eq!(Some((name, vec![vec![part.clone()]])), expected, "{worker:?}");
            kept.push((place, *id, name, self.model.taken.clone()));
        }
        seen.multicasts += u64::from(consumers.len() > 1);
        for (place, id, name, waiting) in kept {
            match random.below(3) {
                0 => {
                    self.model.done(name);
                    self.channel.done(now, id);
                }
                1 => {
                    multicast.single(place, &mut self.batch);
                    self.held.push((name, self.batch.clone(), waiting.clone()));
                }
                _ => {
                    multicast.single(place, &mut self.batch);
                    self.model.give_back(name, waiting);
                    self.channel.give_back(now, id, &mut self.batch);
                    seen.parted += 1;
                }
            }
        }
    }

    /// What the channel says is what the model found.
    fn hear(&mut self, seen: &mut Seen) {
        let (mut publishers, mut consumers, mut room) = (vec![], vec![], vec![]);
        while let Some(signal) = self.channel.poll_signal() {
            let of =
                |id| self.publishers.iter().position(|publisher| *publisher == id).expect("of this test");
            match signal {
                Signal::Work(worker) => {
                    self.awake.insert(format!("{worker:?}"));
                }
                Signal::Room(id) => room.push(of(id)),
                Signal::SilentPublisher(id) => publishers.push(of(id)),
                Signal::SilentConsumer(id) => consumers.push(self.name(id)),
                Signal::Interest => {}
            }
        }
        let (silent_publishers, silent_consumers) = std::mem::take(&mut self.model.silent);
        let is_publisher = |name: &usize| self.model.publishers[*name].is_some();
        let is_consumer = |name: &usize| self.model.consumers[*name].is_some();
        let sorted = |names: &[usize]| BTreeSet::from_iter(names.iter().copied());
        assert_eq!(sorted(&publishers), silent_publishers.into_iter().filter(is_publisher).collect());
        assert_eq!(sorted(&consumers), silent_consumers.into_iter().filter(is_consumer).collect());
        assert_eq!(sorted(&room), std::mem::take(&mut self.model.room).into_iter().collect());
        seen.silent += (publishers.len() + consumers.len()) as u64;
        seen.room += room.len() as u64;
    }

    fn compare(&mut self) {
        for (name, id) in self.consumers.iter().enumerate() {
            let told = self
                .channel
                .counts(*id)
                .map(|counts| [counts.queued, counts.taken, counts.dropped, counts.expired, counts.late]);
            let model = self.model.consumers[name].as_ref();
            assert_eq!(
                told,
                model.map(|it| [it.queued, it.taken, it.dropped, it.expired, it.late]),
                "consumer {name}"
            );
            assert_eq!(self.channel.waiting(*id), model.map(|_| self.model.waiting(name)));
        }
        if let Some(next) = self.model.next() {
            assert!(self.channel.next_tick().is_some_and(|told| told <= next), "told too late of {next}");
        }
        for worker in self.workers() {
            if self.model.turn(self.by(worker)).is_some() {
                assert!(self.awake.contains(&format!("{worker:?}")), "{worker:?} was not told of work");
            }
        }
    }
}

fn piece(part: &Part<Body>) -> Piece {
    match part {
        Part::Event { number, header, body } => Piece::Event(*number, *header, body.clone()),
        Part::Timeout { timer, at, priority } => Piece::Timeout(*timer, *at, *priority),
    }
}

#[test]
fn any_sequence_goes_as_in_the_model() {
    let tier = tiers::current();
    let mut seen = Seen::default();
    for seed in tier.seeds("channel.sequences") {
        let mut random = Random::new(seed);
        let mut pair = Pair::new(random.one_in(2));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..400 {
                pair.step(&mut random, &mut seen);
                pair.hear(&mut seen);
                pair.compare();
            }
        }));
        assert!(outcome.is_ok(), "seed {seed}: PUNCTUAL_SEED={seed} repeats it first");
        for consumer in pair.model.consumers.iter().flatten() {
            seen.dropped += consumer.dropped;
            seen.expired += consumer.expired;
            seen.late += consumer.late;
        }
    }
    let counts = [
        seen.taken,
        seen.joined,
        seen.timeouts,
        seen.dropped,
        seen.expired,
        seen.late,
        seen.waited,
        seen.full,
        seen.room,
        seen.silent,
        seen.owed,
        seen.runs,
        seen.cut,
        seen.given_back,
        seen.set_aside,
        seen.put_back,
        seen.multicasts,
        seen.parted,
    ];
    assert!(counts.iter().all(|count| *count > 20), "{seen:?}");
}
