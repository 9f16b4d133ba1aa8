//! Random federations under faults and changes: each event comes to whom it has to, once, and nowhere else.
use std::collections::{BTreeMap, BTreeSet};

use federation::{GatewayId, Settings, To};
use testkit::random::Random;

use crate::model::{Condition, Said, Wish, distances, told};
use crate::world::{Faults, KINDS, MS, SOURCES, World, interest};

/// Time in which everything comes to rest: dead peers are noticed, restarted ones found, and what is missing repaired.
const QUIET: u64 = 3_500 * MS;

/// An event that a gateway has to get, or may get.
struct Due {
    said: Said,
    body: Vec<u8>,
    origin: usize,
    /// The federation was at rest when it was published: these have to get it.
    expected: BTreeSet<usize>,
    /// Incarnations at that time.
    incarnations: Vec<u64>,
}

fn wish(random: &mut Random) -> Wish {
    let kind = if random.one_in(6) { None } else { random.pick(&KINDS).copied() };
    let source = if random.chance(60) { None } else { random.pick(&SOURCES).copied() };
    let condition = match random.below(4) {
        0 => Some(Condition::AtLeast(random.range(0, 5) as i64)),
        1 => Some(Condition::Is(random.range(0, 5) as i64)),
        _ => None,
    };
    Wish { kind, source, condition }
}

fn edges(random: &mut Random, count: usize) -> BTreeSet<(usize, usize)> {
    let line = (1..count).map(|id| (id - 1, id));
    match random.below(5) {
        0 => line.collect(),
        1 if count > 2 => line.chain([(0, count - 1)]).collect(),
        // A diamond: the first and the last by all others.
        2 if count > 2 => (1..count - 1).flat_map(|id| [(0, id), (id, count - 1)]).collect(),
        3 => (1..count).map(|id| (0, id)).collect(),
        _ => {
            // A tree, and some more.
            let mut edges: BTreeSet<_> = (1..count).map(|id| (random.below(id), id)).collect();
            for _ in 0..random.below(2 * count) {
                let (one, other) = (random.below(count), random.below(count));
                if one != other {
                    edges.insert((one.min(other), one.max(other)));
                }
            }
            edges
        }
    }
}

struct Judge {
    world: World,
    seed: u64,
    ttl: u32,
    due: Vec<Due>,
    /// Nothing has changed since the last rest.
    is_at_rest: bool,
    /// What has changed since the last rest: nodes whose wishes did, and whether ways did.
    touched: BTreeSet<usize>,
    is_disrupted: bool,
    has_restarted: bool,
    /// All wishes of a node since the last rest.
    recent: Vec<Vec<Wish>>,
    suspended: BTreeSet<(usize, usize)>,
    number: u64,
    missed: u64,
}

impl Judge {
    fn new(seed: u64) -> Self {
        let mut random = Random::of_case(0xfed, seed);
        let count = 2 + random.below(6);
        let edges = edges(&mut random, count);
        let ttl = random.range(1, 4);
        let settings = Settings {
            ttl: ttl as u8,
            datagram: *random.pick(&[512, 1_400, 9_000]).unwrap(),
            flight: *random.pick(&[4_000, 128 << 10]).unwrap(),
            ..Settings::default()
        };
        let groups: &[(usize, u32)] = if random.one_in(3) { &[(0, 7), (2, 9)] } else { &[] };
        let world = World::new(random, count, edges, settings, groups);
        let recent = vec![Vec::new(); count];
        let mut judge = Self {
            world,
            seed,
            ttl: ttl as u32,
            due: Vec::new(),
            is_at_rest: false,
            touched: BTreeSet::new(),
            is_disrupted: false,
            has_restarted: false,
            recent,
            suspended: BTreeSet::new(),
            number: 0,
            missed: 0,
        };
        for id in 0..count {
            for _ in 0..judge.world.random.below(4) {
                let wish = wish(&mut judge.world.random);
                judge.subscribe(id, wish);
            }
        }
        judge.rest();
        judge
    }

    fn subscribe(&mut self, id: usize, wish: Wish) {
        self.recent[id].push(wish.clone());
        self.world.subscribe(id, wish);
        self.touched.insert(id);
        self.is_at_rest = false;
    }

    fn wishes(&self, id: usize) -> Vec<Wish> {
        self.world.nodes[id].wishes.iter().map(|(_, wish)| wish.clone()).collect()
    }

    /// Who has to get an event that is published now.
    fn expected(&self, origin: usize, said: &Said) -> BTreeSet<usize> {
        let reached = distances(origin, &self.world.live());
        let is_reached =
            |id: &usize| *id != origin && reached.get(id).is_some_and(|steps| *steps <= self.ttl);
        let wants = |id: &usize| self.wishes(*id).iter().any(|wish| wish.wants(said));
        (0..self.world.nodes.len()).filter(is_reached).filter(wants).collect()
    }

    fn publish(&mut self) {
        let count = self.world.nodes.len();
        let random = &mut self.world.random;
        let origin = random.below(count);
        let said = Said {
            kind: random.pick(&KINDS).unwrap(),
            source: random.pick(&SOURCES).unwrap(),
            n: random.range(0, 5) as i64,
        };
        self.number += 1;
        let mut body = format!("<{:016x}>", self.number).into_bytes();
        let more = if random.one_in(8) { random.below(20_000) } else { random.below(200) };
        body.resize(body.len() + more, 42);
        let incarnations = self.world.nodes.iter().map(|node| node.incarnation).collect();
        let expected = self.expected(origin, &said);
        let is_watched = self.is_at_rest && self.suspended.is_empty() && self.world.random.one_in(2);
        if is_watched {
            return self.watched(origin, &said, &body, &expected);
        }
        let must = if self.is_at_rest { expected } else { BTreeSet::new() };
        self.due.push(Due { said: said.clone(), body: body.clone(), origin, expected: must, incarnations });
        self.world.publish(origin, &said, &body);
    }

    /// On a network without faults, looks at the wire: no process gets an event twice, and none that neither wants it nor lies on the way.
    fn watched(&mut self, origin: usize, said: &Said, body: &[u8], expected: &BTreeSet<usize>) {
        let faults = std::mem::take(&mut self.world.faults);
        self.world.run(200 * MS);
        self.world.wire = Some(Vec::new());
        let published = self.world.publish(origin, said, body);
        self.world.run(200 * MS);
        self.world.faults = faults;
        let seed = self.seed;
        assert_eq!(published.subscribers, expected.len(), "seed {seed}");
        let mark = &body[..18];
        let wire = self.world.wire.take().unwrap();
        let marked = wire.iter().filter(|sent| sent.bytes.windows(mark.len()).any(|bytes| bytes == mark));
        let live = self.world.live();
        let all: Vec<_> = (0..self.world.nodes.len()).map(|id| distances(id, &live)).collect();
        let mut receivers: BTreeMap<usize, u32> = BTreeMap::new();
        for sent in marked {
            match sent.to {
                To::Peer(GatewayId(peer)) => {
                    let to = peer as usize - 1;
                    *receivers.entry(to).or_default() += 1;
                    let lies_on_way = expected.iter().any(|end| {
                        all[origin].get(&to).zip(all[to].get(end)).map(|(one, other)| one + other)
                            == all[origin].get(end).copied()
                    });
                    assert!(lies_on_way, "seed {seed}: {to} gets {said:?} of {origin}, for {expected:?}");
                }
                To::Group(group) => {
                    assert_eq!(sent.from, origin);
                    // It counts for those whose places it names, as docs/federation.md says.
                    let event = &sent.bytes[56..];
                    assert_eq!(event[0], 5);
                    let named = &event[3..3 + usize::from(event[2])];
                    let places =
                        (0..8 * named.len()).filter(|place| named[place / 8] >> (place % 8) & 1 == 1);
                    let mut count = 0;
                    for place in places {
                        let peer = self.world.places[&(origin, group, place)];
                        assert!(expected.contains(&peer) && all[origin][&peer] == 1, "seed {seed}: {peer}");
                        *receivers.entry(peer).or_default() += 1;
                        count += 1;
                    }
                    assert!(count >= 2, "seed {seed}: one transfer to a group for {count}");
                }
            }
        }
        assert!(receivers.values().all(|count| *count == 1), "seed {seed}: twice: {receivers:?}");
        for (id, tally) in self.world.tally().iter().enumerate() {
            let times = tally.get(body).copied().unwrap_or(0);
            assert_eq!(times, u32::from(expected.contains(&id)), "seed {seed}: {said:?} of {origin} at {id}");
        }
    }

    fn act(&mut self) {
        let count = self.world.nodes.len();
        let edges: Vec<_> = self.world.edges.iter().copied().collect();
        let random = &mut self.world.random;
        let id = random.below(count);
        let edge = *random.pick(&edges).unwrap();
        match random.below(20) {
            0..=8 => (0..1 + self.world.random.below(6)).for_each(|_| self.publish()),
            9 | 10 => {
                let wish = wish(random);
                self.subscribe(id, wish);
            }
            11 if !self.world.nodes[id].wishes.is_empty() => {
                let index = self.world.random.below(self.world.nodes[id].wishes.len());
                self.world.unsubscribe(id, index);
                self.touched.insert(id);
                self.is_at_rest = false;
            }
            12 => {
                self.world.faults = Faults {
                    loss: random.range(0, 20),
                    doubled: random.range(0, 20),
                    late: random.range(0, 30),
                };
            }
            13 => {
                let (one, other) = if random.one_in(2) { edge } else { (edge.1, edge.0) };
                let is_suspended = self.suspended.insert((one, other));
                if !is_suspended {
                    self.suspended.remove(&(one, other));
                }
                self.world.suspend(one, other, is_suspended);
            }
            14 if random.one_in(2) => {
                self.world.restart(id);
                // What was under way for the start before may come to this one, if type and source fit: its consumers have filters of their own.
                self.suspended.retain(|(one, _)| *one != id);
                for _ in 0..self.world.random.below(4) {
                    let wish = wish(&mut self.world.random);
                    self.subscribe(id, wish);
                }
                self.world.send(id);
                (self.is_disrupted, self.has_restarted, self.is_at_rest) = (true, true, false);
            }
            15 => {
                if !self.world.cut.remove(&edge) {
                    self.world.cut.insert(edge);
                }
                (self.is_disrupted, self.is_at_rest) = (true, false);
            }
            16 => self.rest(),
            _ => {
                let time = random.range(0, 60 * MS);
                self.world.run(time);
            }
        }
    }

    /// Lets everything come to rest, and judges.
    fn rest(&mut self) {
        self.world.run(self.world.random.clone().range(0, 1_000 * MS));
        let faults = std::mem::take(&mut self.world.faults);
        self.world.run(QUIET);
        self.world.faults = faults;
        let seed = self.seed;
        let downs = std::mem::take(&mut self.world.downs);
        let is_disrupted = self.is_disrupted || downs > 0;
        let tally = self.world.tally();
        let mut waiting = Vec::new();
        for due in std::mem::take(&mut self.due) {
            for (id, tally) in tally.iter().enumerate() {
                let times = tally.get(&due.body).copied().unwrap_or(0);
                assert!(
                    times < 2,
                    "seed {seed}: {:?} of {} came to {id} {times} times",
                    due.said,
                    due.origin
                );
                let could = self.recent[id].iter().any(|wish| wish.wants(&due.said)) && id != due.origin;
                assert!(times == 0 || could, "seed {seed}: {id} got {:?}, which it never wanted", due.said);
                let is_same = due.incarnations[id] == self.world.nodes[id].incarnation;
                if due.expected.contains(&id) && is_same && times == 0 {
                    self.missed += 1;
                    let may_miss = is_disrupted || self.touched.contains(&id) || !self.suspended.is_empty();
                    assert!(may_miss, "seed {seed}: {id} did not get {:?} of {}", due.said, due.origin);
                }
            }
            if !self.suspended.is_empty() {
                waiting.push(due);
            }
        }
        if self.suspended.is_empty() {
            // What was missed was given up, and that was counted; or a gateway was restarted, or does not want it any more.
            let given_up = self.world.given_up();
            let unwanted: u64 = self.world.nodes.iter().map(|node| node.gateway.counts().unwanted).sum();
            assert!(
                self.has_restarted || self.missed <= given_up + unwanted,
                "seed {seed}: {} missed, {given_up} given up, {unwanted} unwanted",
                self.missed
            );
            self.touched.clear();
            self.is_disrupted = false;
            for id in 0..self.world.nodes.len() {
                self.recent[id] = self.wishes(id);
            }
        } else {
            // It is counted again at the next rest.
            self.missed = 0;
            self.has_restarted = true;
            self.is_disrupted = is_disrupted;
        }
        self.due = waiting;
        self.is_at_rest = true;
        self.unions();
    }

    /// Everybody knows the unions of those that it can reach, and no others.
    fn unions(&self) {
        let live = self.world.live();
        for (id, node) in self.world.nodes.iter().enumerate() {
            let reached = distances(id, &live);
            for other in (0..self.world.nodes.len()).filter(|other| *other != id) {
                let known: BTreeSet<_> =
                    node.gateway.interests_of(GatewayId(other as u64 + 1)).iter().collect();
                let wishes =
                    if reached.contains_key(&other) { told(&self.wishes(other)) } else { BTreeSet::new() };
                let wanted: Vec<_> = wishes.iter().map(interest).collect();
                let (seed, wanted) = (self.seed, wanted.iter().collect::<BTreeSet<_>>());
                assert_eq!(known, wanted, "seed {seed}: what {id} knows of {other}");
            }
        }
    }
}

#[test]
fn each_event_comes_once_to_all_who_want_it() {
    for seed in tiers::current().seeds("federation.seeds") {
        let mut judge = Judge::new(seed);
        for _ in 0..40 {
            judge.act();
        }
        for (one, other) in std::mem::take(&mut judge.suspended) {
            judge.world.suspend(one, other, false);
        }
        judge.rest();
    }
}
