//! The gate under whatever managers, readers and discovery say, in any order: rules that hold all the same.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use dcps::assurance::{Action, Gate, Way};
use rtps::Path;
use wire::admission::{
    Contract, OfferedAssurance, Request, RequestedAssurance, Socket, Stage, State, Verdict,
};
use wire::discovery::EndpointData;
use wire::qos::EndpointQos;
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant};

const OWN: GuidPrefix = GuidPrefix([1; 12]);
const OTHER: GuidPrefix = GuidPrefix([2; 12]);
const MANAGERS: [GuidPrefix; 2] = [GuidPrefix([7; 12]), GuidPrefix([8; 12])];
const SEPARATION: u64 = 5_000_000;
const ASKED: u64 = 3_000_000;

/// xorshift64.
struct Random(testkit::random::Random);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below_u64(end)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

fn source(prefix: GuidPrefix) -> Socket {
    Socket { address: [10, 0, 0, prefix.0[0]].into(), port: 50_000 }
}

fn receives(prefix: GuidPrefix) -> Socket {
    Socket { address: [10, 0, 0, prefix.0[0]].into(), port: 7_411 }
}

fn writer(prefix: GuidPrefix, key: u32, is_assured: bool) -> EndpointData {
    let guid = Guid::new(prefix, EntityId::user(key, EntityKind::WriterNoKey));
    let contract = Contract {
        largest_message: 4_000,
        datagram: 1_472,
        minimum_separation: SEPARATION,
        ..Contract::default()
    };
    EndpointData {
        offered_assurance: is_assured.then(|| OfferedAssurance {
            contract,
            source: source(prefix),
            repairs: None,
        }),
        ..EndpointData::new(guid, "T".into(), "T".into(), EndpointQos::writer())
    }
}

fn reader(prefix: GuidPrefix, key: u32, is_required: bool) -> EndpointData {
    let guid = Guid::new(prefix, EntityId::user(key, EntityKind::ReaderNoKey));
    let wanted = RequestedAssurance { maximum_latency: ASKED, is_required, ..RequestedAssurance::default() };
    EndpointData {
        requested_assurance: Some(wanted),
        ..EndpointData::new(guid, "T".into(), "T".into(), EndpointQos::reader())
    }
}

fn way() -> Way {
    Way { paths: vec![Path::routed("10.0.0.2:7411".parse().unwrap(), 1_472)], direct: None }
}

/// What the gate has said so far, and whether it may say so.
#[derive(Default)]
struct Told {
    matched: BTreeMap<(EntityId, Guid), Option<SocketAddr>>,
    asked: BTreeMap<(Guid, Guid), (u64, Stage)>,
    largest_serial: u64,
}

impl Told {
    fn see(&mut self, gate: &mut Gate) {
        while let Some(action) = gate.poll_action() {
            match action {
                Action::Match { local, remote, way, .. } => {
                    let [path] = way.paths[..] else { panic!("one path") };
                    if let Some(flow) = path.flow {
                        assert!(local.is_writer() && flow.class < 64 && flow.port.get() == 50_000);
                        let SocketAddr::V4(to) = path.destination else { panic!("IPv4") };
                        let [first, second, ..] = to.ip().octets();
                        let is_group = first == 239 && (192..=195).contains(&second);
                        assert!(path.destination == receives(OTHER).addr().unwrap() || is_group, "{to}");
                        assert_eq!(way.direct, self::way().paths.first().copied());
                    }
                    self.matched.insert((local, remote.guid), path.flow.map(|_| path.destination));
                }
                Action::Unmatch { local, remote } => {
                    assert!(self.matched.remove(&(local, remote)).is_some(), "unmatched once");
                }
                Action::Separate { separation, .. } => {
                    assert!(separation <= Duration::from_nanos(SEPARATION.cast_signed()));
                }
                Action::Promise { bound: Some(bound), .. } => {
                    assert!((1..=ASKED.cast_signed()).contains(&bound.latency.as_nanos()));
                }
                Action::Ask(request) => {
                    let (serial, stage) = (request.serial, request.stage);
                    let before = self.asked.insert(request.pair(), (serial, stage));
                    if before.is_none_or(|(before, _)| before != serial) {
                        assert!(serial > self.largest_serial, "no serial is used twice");
                        self.largest_serial = serial;
                    }
                    // The reader takes part before it says so.
                    let (writer, reader) = request.pair();
                    let is_matched = self.matched.contains_key(&(reader.entity_id, writer));
                    assert_eq!(is_matched, stage != Stage::Waiting, "{stage:?}");
                }
                Action::Withdraw(request) => {
                    assert!(self.asked.remove(&request.pair()).is_some());
                }
                Action::Promise { bound: None, .. } | Action::Changed { .. } => {}
            }
        }
    }
}

fn verdict(random: &mut Random, pair: (Guid, Guid), serial: u64) -> Verdict {
    let to = [
        receives(pair.1.prefix),
        receives(GuidPrefix([9; 12])),
        Socket { address: [239, 192, 0, 1].into(), port: 5_000 },
        Socket { address: [239, 255, 0, 1].into(), port: 7_400 },
        Socket { address: [255; 4].into(), port: 7_411 },
        Socket { address: [0; 4].into(), port: 7_411 },
        Socket { address: Ipv4Addr::LOCALHOST.octets().into(), port: 1 },
    ];
    let is_honest = random.below(2) == 0;
    Verdict {
        writer: pair.0.to_bytes(),
        reader: pair.1.to_bytes(),
        serial: random.one_of(&[serial, serial, serial, serial.wrapping_sub(1), serial + 1, 0, u64::MAX]),
        epoch: random.one_of(&[1, 1, 1, 2, 0]),
        state: random.one_of(&[
            State::Pending,
            State::Admitted,
            State::Admitted,
            State::Refused,
            State::Revoked,
        ]),
        bound: random.one_of(&[1, ASKED, ASKED + 1, 0, u64::MAX]),
        lease: random.one_of(&[0, 1_000_000, 1_000_000_000, u64::MAX]),
        source: if is_honest { source(pair.0.prefix) } else { receives(pair.0.prefix) },
        destination: if is_honest { receives(pair.1.prefix) } else { random.one_of(&to) },
        dscp: random.one_of(&[0, 46, 63, 64, 255]),
        separation: random.one_of(&[0, 1, SEPARATION, SEPARATION + 1, u64::MAX]),
        reason: "ä".repeat(usize::try_from(random.below(700)).unwrap()),
        ..Verdict::default()
    }
}

#[test]
fn whatever_is_said_the_rules_hold() {
    for seed in 1..=300 {
        let mut random = Random(testkit::random::Random::new(seed));
        let mut gate = Gate::new(OWN, Duration::from_millis(100));
        let mut told = Told::default();
        let mut now = 0;
        let announced: Vec<SocketAddr> = receives(OTHER).addr().into_iter().collect();
        for _ in 0..400 {
            now += random.below(30_000_000);
            let at = Instant::from_nanos(now);
            let key = u32::try_from(random.below(2)).unwrap() + 1;
            let (fails, promises) = (random.below(2) == 0, random.below(8) > 0);
            // Half of the pairs have their reader here, the others their writer.
            let is_reader = random.below(2) == 0;
            let (of_writer, of_reader) = if is_reader { (OTHER, OWN) } else { (OWN, OTHER) };
            let (writes, reads) = (writer(of_writer, key, promises), reader(of_reader, key, fails));
            let pair = (writes.guid, reads.guid);
            let serial = told.asked.get(&pair).map_or(random.below(9), |(serial, _)| *serial);
            let manager = Guid::new(random.one_of(&MANAGERS), EntityId::user(1, EntityKind::WriterWithKey));
            match random.below(30) {
                0..3 => gate.manager_found(at, manager),
                3 => gate.manager_lost(at, manager),
                _ => {}
            }
            match random.below(9) {
                0 | 1 if is_reader => {
                    gate.writer_found(at, &reads, &Arc::new(writes), way(), receives(OWN));
                }
                0 | 1 if Gate::is_for(&writes, &reads) => {
                    gate.reader_found(at, &writes, &Arc::new(reads), way(), announced.clone());
                }
                2 => {
                    let (local, remote) =
                        if is_reader { (pair.1.entity_id, pair.0) } else { (pair.0.entity_id, pair.1) };
                    gate.lost(local, remote);
                }
                3 => gate.verdict_withdrawn(random.one_of(&MANAGERS), pair.0, pair.1),
                4 => {
                    let stage = random.one_of(&[Stage::Waiting, Stage::Unassured, Stage::Assured]);
                    gate.request_heard(at, request(&mut random, pair, serial, stage));
                }
                5 if random.below(4) == 0 => gate.request_withdrawn(pair.0, pair.1),
                _ => {
                    let verdict = verdict(&mut random, pair, serial);
                    gate.verdict_heard(at, random.one_of(&MANAGERS), verdict);
                }
            }
            if gate.poll_timeout() <= at {
                gate.on_timeout(at);
                assert!(gate.poll_timeout() > at, "seed {seed}: a timeout that is never over");
            }
            told.see(&mut gate);
            for pair in [pair.0.entity_id, pair.1.entity_id].iter().flat_map(|id| gate.pairs_of(*id)) {
                let key = if pair.reader.prefix == OWN {
                    (pair.reader.entity_id, pair.writer)
                } else {
                    (pair.writer.entity_id, pair.reader)
                };
                let matched = told.matched.get(&key);
                assert_eq!(pair.stage == Stage::Waiting, matched.is_none(), "seed {seed}: {pair:?}");
                assert!(pair.stage != Stage::Assured || pair.bound.is_some(), "seed {seed}: {pair:?}");
                assert!(pair.reason.len() <= 1_024);
            }
        }
        for key in told.matched.keys().copied().collect::<Vec<_>>() {
            assert!(gate.lost(key.0, key.1), "seed {seed}");
        }
        told.see(&mut gate);
        assert!(told.matched.is_empty(), "seed {seed}");
    }
}

fn request(random: &mut Random, pair: (Guid, Guid), serial: u64, stage: Stage) -> Request {
    let manager = random.one_of(&[GuidPrefix::UNKNOWN, MANAGERS[0], MANAGERS[1]]);
    let manager = Guid::new(manager, EntityId::UNKNOWN).to_bytes();
    Request {
        writer: pair.0.to_bytes(),
        reader: pair.1.to_bytes(),
        serial,
        stage,
        manager,
        ..Request::default()
    }
}
