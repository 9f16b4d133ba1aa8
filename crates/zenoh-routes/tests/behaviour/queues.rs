//! Connections that take long: which topics go on, what is dropped of the others, and that it is told.
use std::collections::{BTreeMap, BTreeSet};

use testkit::random::Random;
use wire::discovery::EndpointData;
use wire::qos::{Durability, EndpointQos, History, Reliability};
use wire::{EntityId, EntityKind, Guid, GuidPrefix, SequenceNumber, Timestamp};
use zenoh_routes::bridge::Limits;
use zenoh_routes::{Action, Attachment, Bridge, BridgeId, Kind, Options};

use crate::world::World;

/// What a writer writes and what its QoS is, as the judge knows it.
struct Topic {
    line: u64,
    guid: Guid,
    qos: EndpointQos,
    /// Instances of what it wrote; the first has number 1.
    written: Vec<u8>,
    /// Numbers that were sent, in order.
    sent: Vec<i64>,
    is_sending: bool,
}

/// A bridge whose connections take what is sent when the judge says so.
struct Slow {
    bridge: Bridge,
    topics: BTreeMap<String, Topic>,
    warnings: Vec<String>,
    now: u64,
}

impl Slow {
    fn new(limits: Limits, topics: &[(&str, Reliability, History)]) -> Self {
        let mut bridge = Bridge::new(BridgeId([1; 16]), Options { limits, ..Options::default() });
        let mut of: BTreeMap<String, Topic> = BTreeMap::new();
        for (number, (name, reliability, history)) in (1_u32..).zip(topics) {
            let guid = Guid::new(GuidPrefix([3; 12]), EntityId::user(number, EntityKind::WriterWithKey));
            let mut qos = EndpointQos::writer();
            (qos.reliability, qos.history) = (*reliability, *history);
            bridge.writer_found(&EndpointData::new(guid, (*name).into(), "T".into(), qos.clone()));
            bridge.settle(0);
            bridge.matching(name, true);
            bridge.settle(0);
            let opened = std::iter::from_fn(|| bridge.next_action()).find_map(|action| match action {
                Action::OpenReader { line, .. } => Some(line),
                _ => None,
            });
            let topic = Topic {
                line: opened.unwrap(),
                guid,
                qos,
                written: Vec::new(),
                sent: Vec::new(),
                is_sending: false,
            };
            of.insert((*name).into(), topic);
        }
        Self { bridge, topics: of, warnings: Vec::new(), now: 0 }
    }

    fn write(&mut self, name: &str, instance: u8) {
        let topic = self.topics.get_mut(name).unwrap();
        topic.written.push(instance);
        let attachment = Attachment {
            kind: Kind::Sample,
            bridge: BridgeId([0; 16]),
            number: 0,
            writer: topic.guid,
            sequence: SequenceNumber(topic.written.len() as i64),
            source: Timestamp::from_nanos(0),
            hash: Some([instance; 16]),
            related: None,
        };
        self.bridge.taken(topic.line, attachment, &[instance; 100]);
        self.act();
    }

    fn act(&mut self) {
        while let Some(action) = self.bridge.next_action() {
            match action {
                Action::Put { key, messages, reliable } => {
                    let topic = self.topics.get_mut(&key).unwrap();
                    assert!(!std::mem::replace(&mut topic.is_sending, true), "{key} is being sent already");
                    assert_eq!(reliable, topic.qos.reliability == Reliability::RELIABLE);
                    topic.sent.extend(messages.iter().map(|message| message.attachment.sequence.0));
                }
                Action::Warn(text) => self.warnings.push(text),
                other => panic!("{other:?}"),
            }
        }
    }

    fn has_room(&self, name: &str) -> bool {
        self.bridge.has_room(self.topics[name].line)
    }

    /// Connections take what was sent of all topics but those.
    fn drain(&mut self, without: &[&str]) {
        let busy = |of: &Self| {
            let mut all = of.topics.iter();
            let found = all.find(|(name, topic)| topic.is_sending && !without.contains(&name.as_str()));
            found.map(|(name, _)| name.clone())
        };
        while let Some(name) = busy(self) {
            self.sent(&name);
        }
    }

    fn sent(&mut self, name: &str) {
        self.now += 1;
        self.topics.get_mut(name).unwrap().is_sending = false;
        self.bridge.sent(name, self.now);
        self.act();
    }

    /// What was not sent may be missing, by the QoS of the topic; how many messages that are.
    fn judge(&self, seed: u64, name: &str) -> u64 {
        let topic = &self.topics[name];
        assert!(topic.sent.is_sorted_by(|one, next| one < next), "seed {seed}, {name}: {:?}", topic.sent);
        let sent: BTreeSet<i64> = topic.sent.iter().copied().collect();
        let mut missing = 0;
        for (at, instance) in topic.written.iter().enumerate() {
            if sent.contains(&(at as i64 + 1)) {
                continue;
            }
            missing += 1;
            let newer = &topic.written[at + 1..];
            let is_right = match (topic.qos.reliability, topic.qos.history) {
                (Reliability::BEST_EFFORT, _) => newer.len() >= 64,
                (_, History::KeepLast(depth)) => {
                    newer.iter().filter(|other| *other == instance).count() >= depth as usize
                }
                (_, History::KeepAll) => false,
            };
            assert!(is_right, "seed {seed}: {} of {name} was dropped, of {}", at + 1, topic.written.len());
        }
        missing
    }
}

const TOPICS: [(&str, Reliability, History); 6] = [
    ("a", Reliability::RELIABLE, History::KeepAll),
    ("b", Reliability::RELIABLE, History::KeepLast(1)),
    ("c", Reliability::RELIABLE, History::KeepLast(3)),
    ("d", Reliability::BEST_EFFORT, History::KeepLast(1)),
    ("e", Reliability::RELIABLE, History::KeepAll),
    ("f", Reliability::BEST_EFFORT, History::KeepAll),
];

#[test]
fn topics_that_are_stuck_hold_up_no_other_and_drop_what_their_qos_allows() {
    for seed in tiers::current().seeds("zenoh.seeds") {
        let mut random = Random::of_case(seed, 49);
        let mut slow = Slow::new(Limits { sending: 4, ..Limits::default() }, &TOPICS);
        // Up to three are stuck, and one of four turns is always there.
        let stuck: Vec<&str> = (0..random.below(4)).map(|_| TOPICS[random.below(TOPICS.len())].0).collect();
        let mut held = 0;
        for _ in 0..3_000 {
            let (name, ..) = TOPICS[random.below(TOPICS.len())];
            if slow.has_room(name) {
                slow.write(name, random.below(5) as u8);
            } else {
                held += 1;
            }
            let (name, ..) = TOPICS[random.below(TOPICS.len())];
            if slow.topics[name].is_sending && !stuck.contains(&name) {
                slow.sent(name);
            }
        }
        assert!(held == 0 || stuck.iter().any(|name| ["a", "e"].contains(name)), "seed {seed}: {stuck:?}");
        slow.drain(&stuck);
        for (name, ..) in TOPICS.iter().filter(|(name, ..)| !stuck.contains(name)) {
            let topic = &slow.topics[*name];
            assert_eq!(topic.sent.last(), Some(&(topic.written.len() as i64)), "seed {seed}, {name}");
            slow.judge(seed, name);
        }
        // What waits of those that are stuck is what there is place for.
        let most = |(name, reliability, history): &(&str, Reliability, History)| match (reliability, history)
        {
            _ if !stuck.contains(name) => 0,
            (&Reliability::BEST_EFFORT, _) => 64,
            (_, History::KeepLast(depth)) => 5 * *depth as usize,
            (_, History::KeepAll) => usize::MAX / TOPICS.len(),
        };
        assert!(slow.bridge.summary().waiting <= TOPICS.iter().map(most).sum(), "seed {seed}");
        slow.drain(&[]);
        let missing: u64 = TOPICS.iter().map(|(name, ..)| slow.judge(seed, name)).sum();
        let now = slow.bridge.summary();
        assert_eq!((now.replaced + now.dropped, now.lost, now.waiting), (missing, 0, 0), "seed {seed}");
        let written: usize = slow.topics.values().map(|topic| topic.written.len()).sum();
        assert_eq!(now.sent + missing, written as u64, "seed {seed}");
    }
}

#[test]
fn reliable_writers_are_held_up_and_go_on() {
    let mut slow = Slow::new(Limits::default(), &TOPICS[..1]);
    let mut written = 0;
    while slow.has_room("a") {
        slow.write("a", 1);
        written += 1;
        assert!(written < 2_000, "it is never held up");
    }
    assert!(written > 100, "it is held up after {written}");
    slow.sent("a");
    slow.sent("a");
    assert!(slow.has_room("a"));
    slow.drain(&[]);
    assert_eq!(slow.judge(0, "a"), 0);
}

#[test]
fn what_has_no_room_is_told_as_lost_and_is_still_there_for_those_who_ask() {
    let limits = Limits { waiting: 20_000, ..Limits::default() };
    let mut slow = Slow::new(limits, &[TOPICS[0], TOPICS[4]]);
    slow.write("e", 1);
    for _ in 0..300 {
        slow.write("a", 1);
    }
    slow.write("e", 2);
    slow.drain(&[]);
    let now = slow.bridge.summary();
    let sent = slow.topics["a"].sent.clone();
    assert!(now.lost > 100 && sent.len() as u64 + now.lost == 300, "{now:?}");
    assert_eq!((slow.topics["e"].sent.as_slice(), sent.last()), (&[1, 2][..], Some(&300)));
    assert!(
        slow.warnings.len() == 1 && slow.warnings[0].contains("under the key \"a\""),
        "{:?}",
        slow.warnings
    );
    let kept: Vec<i64> =
        slow.bridge.asked("a", 1).iter().map(|message| message.attachment.sequence.0).collect();
    // The last tells the end.
    assert!(kept[..300].iter().copied().eq(1..=300), "{kept:?}");
}

#[test]
fn an_answer_tells_what_was_sent_and_the_rest_comes_by_itself() {
    let mut slow = Slow::new(Limits::default(), &TOPICS[..2]);
    for _ in 0..10 {
        slow.write("a", 1);
        slow.write("b", 1);
    }
    let numbers = |slow: &Slow, key: &str| -> Vec<u64> {
        slow.bridge.asked(key, 1).iter().map(|message| message.attachment.number).collect()
    };
    assert_eq!((numbers(&slow, "a"), numbers(&slow, "b")), (vec![1, 1], vec![1, 9]));
    slow.drain(&[]);
    // What newer samples of the instance have replaced is not told any more.
    assert_eq!((numbers(&slow, "a").len(), numbers(&slow, "b")), (11, vec![1, 10, 10]));
}

#[test]
fn of_writers_that_keep_the_last_samples_all_sites_have_the_last_ones() {
    for seed in tiers::current().seeds("zenoh.seeds") {
        let mut world = World::new(seed, 2, 1, Options::default());
        for (topic, durability) in [("state", Durability::TransientLocal), ("alarm", Durability::Volatile)] {
            world.add_writer(0, topic, |qos| {
                qos.durability = durability;
                qos.history = History::KeepLast(1);
            });
            world.add_reader(1, topic, durability);
        }
        world.quiet();
        for _ in 0..300 {
            let site = world.random.below(2);
            match world.random.below(40) {
                0 => world.cut(site, 0),
                1..4 => world.link(site, 0),
                4..30 => {
                    let (at, instance) = (world.random.below(2), world.random.below(3) as u8);
                    world.write(0, at, Kind::Sample, instance);
                    world.look();
                }
                _ => drop(world.arrive()),
            }
        }
        world.quiet();
        for (writer, reader) in world.sites[0].writers.iter().zip(&world.sites[1].readers) {
            let got: Vec<i64> = reader.log.iter().map(|(_, event)| event.sequence).collect();
            assert!(got.is_sorted_by(|one, next| one < next), "seed {seed}: {got:?}");
            for instance in 0..3 {
                let said = writer.history.iter().rfind(|event| event.instance == instance);
                let heard = reader.log.iter().rfind(|(_, event)| event.instance == instance);
                assert_eq!(heard.map(|(_, event)| event), said, "seed {seed}, {}", reader.data.topic_name);
            }
        }
    }
}
