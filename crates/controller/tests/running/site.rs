//! The namespace, the manager in it, and who asks.
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use controller::{Error, Settings};
use dds::config::{Config, Interfaces};
use dds::qos::{Durability, History, Reliability};
use dds::{
    DataReader, DataWriter, DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind, States,
};
use nix::sched::{CloneFlags, unshare};
use store::Store;
pub(crate) use testkit::patience::patiently;
use wire::admission::{
    Contract, REPORT_TOPIC, REPORT_TYPE, REQUEST_TOPIC, REQUEST_TYPE, Report, Request, Socket, State,
    VERDICT_TOPIC, VERDICT_TYPE, Verdict,
};

/// A network of one switch, three hosts and the manager.
pub(crate) const NETWORK: &str = r#"
host-defaults = { queues = 8, ring = 0 }
[[switch-model]]
name = "m"
ports = 8
queues = 8
rate = "1 Gb/s"
queue-buffer = 4_000_000
cell = 1
energy-efficient = false
pause = "off"
multiplexing = "50 us"
[[switch]]
name = "s1"
model = "m"
[[host]]
name = "camera"
address = "10.1.0.1"
[[host]]
name = "display"
address = "10.1.0.2"
[[host]]
name = "desk"
address = "10.1.0.3"
[[host]]
name = "manager"
[[link]]
ends = ["camera", "s1:1"]
[[link]]
ends = ["display", "s1:2"]
[[link]]
ends = ["desk", "s1:3"]
[[link]]
ends = ["manager", "s1:4"]
"#;

/// Runs a test in a new network namespace with loopback only.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    let ended = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            if let Err(error) = unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS) {
                assert!(std::env::var_os("CI").is_none(), "a network namespace needs root: {error}");
                eprintln!("passed over: a network namespace needs root: {error}");
                return;
            }
            for line in ["link set lo up", "link set lo multicast on", "route add 224.0.0.0/4 dev lo"] {
                assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "ip {line}");
            }
            test();
        });
        inside.join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

pub(crate) fn join() -> DomainParticipant {
    let mut config = Config::default();
    config.network.interfaces = Interfaces::Named(vec!["lo".to_owned()]);
    let factory = DomainParticipantFactory::get_instance();
    factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS).unwrap()
}

pub(crate) fn planned() -> network::Network {
    network::Network::parse("test", NETWORK, |_| Err(String::new())).unwrap()
}

pub(crate) const LISTEN: &str = "127.0.0.1:6653";

/// Runs a manager for as long as `act` takes; what it ended with.
pub(crate) fn managed(
    store: Box<dyn Store>,
    config: control::config::Config,
    act: impl FnOnce(),
) -> Result<(), Error> {
    managed_with(store, config, None, act)
}

/// The same, with keys.
pub(crate) fn managed_with(
    store: Box<dyn Store>,
    config: control::config::Config,
    keys: Option<keys::Identity>,
    act: impl FnOnce(),
) -> Result<(), Error> {
    let settings = Settings {
        network: controller::network(&planned()),
        config,
        listen: vec![LISTEN.parse().unwrap()],
        agents: BTreeMap::new(),
        keys,
        credentials: None,
        store,
        web: None,
        file: None,
    };
    let stop = AtomicBool::new(false);
    // The threads that it starts are in the namespace of this one.
    std::thread::scope(|scope| {
        let manager = scope.spawn(|| {
            let participant = join();
            controller::run(settings, &participant, &|| stop.load(Ordering::Relaxed))
        });
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        let ended_early = manager.is_finished();
        stop.store(true, Ordering::Relaxed);
        let ended = manager.join().unwrap();
        if let Err(panic) = acted {
            eprintln!("the manager ended with {ended:?}");
            std::panic::resume_unwind(panic);
        }
        assert!(!ended_early, "the manager ended by itself: {ended:?}");
        ended
    })
}

/// A participant that asks as those of readers do, for as many readers as it likes.
pub(crate) struct Asker {
    pub(crate) participant: DomainParticipant,
    requests: DataWriter<Request>,
    verdicts: DataReader<Verdict>,
    pub(crate) heard: BTreeMap<u32, Verdict>,
}

impl Asker {
    pub(crate) fn new() -> Self {
        let participant = join();
        let topic = participant.create_topic::<Request>(
            REQUEST_TOPIC,
            REQUEST_TYPE,
            QosKind::Default,
            None,
            NO_STATUS,
        );
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = publisher.get_default_datawriter_qos();
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
        qos.endpoint.history = History::KeepLast(1);
        qos.byte_limit = 32 << 20;
        let requests =
            publisher.create_datawriter(&topic.unwrap(), QosKind::Specific(qos), None, NO_STATUS).unwrap();
        let verdicts = reader(&participant, VERDICT_TOPIC, VERDICT_TYPE, Durability::TransientLocal);
        let asker = Self { participant, requests, verdicts, heard: BTreeMap::new() };
        patiently("the manager", || {
            let both = !asker.requests.get_matched_subscriptions().is_empty()
                && !asker.verdicts.get_matched_publications().is_empty();
            both.then_some(())
        });
        asker
    }

    /// Asks for a flow to a reader of this number, of the host `display`.
    pub(crate) fn ask(&self, number: u32, importance: u8) {
        self.requests.write(&self.request(number, importance)).unwrap();
    }

    fn request(&self, number: u32, importance: u8) -> Request {
        let entity = |kind: u8| {
            let [_, a, b, c] = number.to_be_bytes();
            let mut guid = [0; 16];
            guid[..12].copy_from_slice(&self.participant.prefix().0);
            guid[12..].copy_from_slice(&[a, b, c, kind]);
            guid
        };
        let mut writer = entity(2);
        // The writer is elsewhere.
        writer[..12].copy_from_slice(&[7; 12]);
        let ports = u16::try_from(20_000 + number % 40_000).unwrap();
        Request {
            writer,
            reader: entity(7),
            serial: 1,
            topic: format!("topic {number}"),
            contract: Contract {
                largest_message: 100,
                smallest_message: 100,
                datagram: 1_472,
                minimum_separation: 1_000_000_000,
                maximum_separation: 0,
                jitter: 0,
                emission: 0,
                slack: 0,
                importance,
            },
            maximum_latency: 500_000_000,
            maximum_separation: 0,
            source: Socket { address: [10, 1, 0, 1].into(), port: ports },
            destination: Socket { address: [10, 1, 0, 2].into(), port: 7_411 },
            ..Request::default()
        }
    }

    /// Takes what has been said of its pairs.
    pub(crate) fn hear(&mut self) {
        while let samples @ [_, ..] = &mut *self.verdicts.take(256, States::ANY).unwrap() {
            for verdict in samples.iter_mut().filter_map(|sample| sample.data.take()) {
                let [.., a, b, c, _] = verdict.reader;
                self.heard.insert(u32::from_be_bytes([0, a, b, c]), verdict);
            }
        }
    }

    pub(crate) fn count(&self, state: State) -> usize {
        self.heard.values().filter(|verdict| verdict.state == state).count()
    }

    /// Everybody who asks is gone but those.
    pub(crate) fn withdraw_but(&self, kept: &BTreeSet<u32>) {
        for number in self.heard.keys().filter(|number| !kept.contains(number)) {
            let request = self.request(*number, 0);
            self.requests.dispose(&request).unwrap();
            self.requests.unregister_instance(&request).unwrap();
        }
    }
}

pub(crate) fn reader<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    name: &str,
    kind: &str,
    durability: Durability,
) -> DataReader<T> {
    let topic = participant.create_topic::<T>(name, kind, QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.durability = durability;
    qos.endpoint.history = History::KeepLast(1);
    qos.byte_limit = 64 << 20;
    subscriber.create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

/// What a manager says of itself to somebody who asks now: the first report that comes, and how long that took.
pub(crate) fn report() -> (serde_json::Value, Duration) {
    let participant = join();
    let began = Instant::now();
    let reader = reader::<Report>(&participant, REPORT_TOPIC, REPORT_TYPE, Durability::Volatile);
    let report = patiently("a report", || reader.take_next_sample().unwrap().and_then(|sample| sample.data));
    (serde_json::from_str(&report.json).unwrap(), began.elapsed())
}
