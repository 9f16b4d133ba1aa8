//! Measures admissions: how long a request takes until it is admitted, and how many there are in a second.
//! `cargo run --release --package punctual-controller --example admissions [etcd] [SWITCHES] [FLOWS ...]`
//!
//! A lab with real switches in a row and their gates, a manager with its store in a file, or in an etcd on its host, and one participant that writes
//! requests as readers' participants do and hears the verdicts. For each number of flows: one request after the other,
//! each when the one before is admitted, and then all at once. A time begins before the request is written, and ends when
//! the verdict has been taken; between the parts all flows are withdrawn, and gone from the switches.
//! Needs `cargo build --release --package punctual-lab` for the gates' agent, and root.
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use controller::Settings;
use dds::config::{Config, Interfaces};
use dds::qos::{Durability, History, Reliability};
use dds::{
    DataReader, DataReaderListener, DataWriter, DomainParticipant, DomainParticipantFactory, NO_STATUS,
    QosKind, States, StatusMask,
};
use lab::{Lab, Options};
use store::{EtcdStore, FileStore, Store};
use testkit::etcd::Etcd;
use wire::GuidPrefix;
use wire::admission::{
    Contract, REQUEST_TOPIC, REQUEST_TYPE, Request, Socket, State, VERDICT_TOPIC, VERDICT_TYPE, Verdict,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Hosts at the first switch, which write. The one that asks reads, at the last switch: a manager believes no participant about other hosts.
const HOSTS: usize = 4;
/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(120);
/// What each flow asks for, in nanoseconds.
const WITHIN: u64 = 500_000_000;
const SEPARATION: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let switches = numbers.next().unwrap_or(1);
    let mut flows: Vec<usize> = numbers.collect();
    if flows.is_empty() {
        flows = vec![1, 10, 100, 1_000];
    }
    let with_etcd = std::env::args().any(|text| text == "etcd");
    match measure(switches, &flows, with_etcd) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn network(switches: usize) -> String {
    let mut text = "host-defaults = { queues = 8, ring = 0 }\n\
                    [[switch-model]]\nname = \"m\"\nports = 16\nqueues = 8\nrate = \"100 Mb/s\"\n\
                    queue-buffer = 4_000_000\ncell = 1\nenergy-efficient = false\npause = \"off\"\nmultiplexing = \"50 us\"\ngates = {}\n"
        .to_owned();
    for switch in 1..=switches {
        text += &format!("[[switch]]\nname = \"s{switch}\"\nmodel = \"m\"\n");
    }
    for switch in 1..switches {
        text += &format!("[[link]]\nends = [\"s{switch}:15\", \"s{}:16\"]\n", switch + 1);
    }
    for host in 1..=HOSTS {
        // Nobody on them says anything from which the manager could learn their addresses.
        text += &format!("[[host]]\nname = \"w{host}\"\naddress = \"10.1.0.{host}\"\n");
        text += &format!("[[link]]\nends = [\"w{host}\", \"s1:{host}\"]\n");
    }
    // Every switch with gates has a host.
    for switch in 2..switches {
        text +=
            &format!("[[host]]\nname = \"m{switch}\"\n[[link]]\nends = [\"m{switch}\", \"s{switch}:1\"]\n");
    }
    text += &format!("[[host]]\nname = \"asker\"\n[[link]]\nends = [\"asker\", \"s{switches}:13\"]\n");
    text += "[[host]]\nname = \"manager\"\nmanager = true\n[[link]]\nends = [\"manager\", \"s1:14\"]\n";
    text
}

fn measure(switches: usize, flows: &[usize], with_etcd: bool) -> Result<(), Failure> {
    let planned = network::Network::parse("admissions", &network(switches), |_| Err(String::new()))?;
    // The example is built a folder below the program.
    let program = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("punctual-lab"));
    let program: Option<PathBuf> = program.filter(|path| path.is_file());
    let name = format!("a{}", std::process::id() % 10_000_000);
    let folder = tempfile::tempdir()?;
    let lab = Lab::up_with(&planned, &name, &Options { program, ..Options::default() })?;
    let mut etcd = with_etcd.then(|| Etcd::prepared(2379, &[]));
    if let Some(etcd) = &mut etcd {
        etcd.run(lab.command("manager", "etcd")?);
    }
    let stop = AtomicBool::new(false);
    let measured = std::thread::scope(|scope| {
        let manager =
            scope.spawn(|| lab.on("manager", || manage(&planned, folder.path(), etcd.as_ref(), &stop)));
        let asked = lab.on("asker", || ask(&lab, switches, flows));
        stop.store(true, Ordering::Relaxed);
        let managed = manager.join().map_err(|_| "the manager panicked")?;
        asked??;
        managed?
    });
    drop(etcd);
    lab.down()?;
    measured
}

fn join() -> Result<DomainParticipant, dds::Error> {
    let mut config = Config::default();
    config.network.interfaces = Interfaces::Named(vec!["eth0".to_owned()]);
    let factory = DomainParticipantFactory::get_instance();
    factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS)
}

fn manage(
    planned: &network::Network,
    folder: &Path,
    etcd: Option<&Etcd>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let store: Box<dyn Store> = match etcd {
        None => Box::new(FileStore::open(&folder.join("grants"))?),
        Some(etcd) => Box::new(EtcdStore::open(&etcd.url().parse()?, None)?),
    };
    let participant = join()?;
    let address = |switch: usize, end: u8, port: u16| -> Result<SocketAddr, Failure> {
        Ok((Ipv4Addr::new(172, 31, u8::try_from(switch)?, end), port).into())
    };
    let switches = 1..=planned.switches().len();
    let agents = switches.clone().map(|switch| Ok((switch as u64, address(switch, 2, 6_654)?)));
    let settings = Settings {
        network: controller::network(planned),
        config: control::config::Config::default(),
        listen: switches.clone().map(|switch| address(switch, 1, 6_653)).collect::<Result<_, _>>()?,
        agents: agents.collect::<Result<BTreeMap<_, _>, Failure>>()?,
        keys: None,
        credentials: None,
        store,
        web: None,
        file: None,
    };
    let stop = || stop.load(Ordering::Relaxed);
    controller::run(settings, &participant, &stop)?;
    Ok(())
}

/// Tells when each verdict has come.
struct Hear(mpsc::Sender<(Instant, Verdict)>);

impl DataReaderListener<Verdict> for Hear {
    fn on_data_available(&self, reader: &DataReader<Verdict>) {
        while let Ok(samples @ [_, ..]) = reader.take(256, States::ANY).as_deref_mut() {
            let now = Instant::now();
            for verdict in samples.iter_mut().filter_map(|sample| sample.data.take()) {
                let _ = self.0.send((now, verdict));
            }
        }
    }
}

/// The participant that asks.
struct Asker {
    requests: DataWriter<Request>,
    _verdicts: DataReader<Verdict>,
    heard: mpsc::Receiver<(Instant, Verdict)>,
    hosts: Vec<(wire::admission::Address, wire::admission::Address)>,
    /// Of all readers: a manager believes no participant about those of others.
    prefix: GuidPrefix,
    serial: u64,
}

fn ask(lab: &Lab, switches: usize, flows: &[usize]) -> Result<(), Failure> {
    let participant = join()?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let topic = participant.create_topic::<Request>(
        REQUEST_TOPIC,
        REQUEST_TYPE,
        QosKind::Default,
        None,
        NO_STATUS,
    )?;
    let mut qos = publisher.get_default_datawriter_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.history = History::KeepLast(1);
    let requests = publisher.create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS)?;
    let topic = participant.create_topic::<Verdict>(
        VERDICT_TOPIC,
        VERDICT_TYPE,
        QosKind::Default,
        None,
        NO_STATUS,
    )?;
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepLast(1);
    let (hear, heard) = mpsc::channel();
    let listener = std::sync::Arc::new(Hear(hear));
    let mask = StatusMask::DATA_AVAILABLE;
    let verdicts = subscriber.create_datareader(&topic, QosKind::Specific(qos), Some(listener), mask)?;
    let hosts = (1..=HOSTS).map(|host| {
        let address = |name: String| lab.host_address(&name).map(|address| address.octets().into());
        Ok((address(format!("w{host}"))?, address("asker".to_owned())?))
    });
    let hosts = hosts.collect::<Result<_, lab::Error>>()?;
    let mut asker =
        Asker { requests, _verdicts: verdicts, heard, hosts, prefix: participant.prefix(), serial: 0 };
    // The first one waits for the manager, the switches and their gates.
    asker.in_turn(1)?;
    asker.withdraw(lab, switches, 1)?;
    println!("{switches} switches; milliseconds from request to verdict, and requests per second");
    println!("| flows | | p50 | p99 | max | per second |\n|---|---|---|---|---|---|");
    for count in flows.iter().copied() {
        let began = Instant::now();
        let times = asker.in_turn(count)?;
        show(count, "in turn", times, began.elapsed());
        asker.withdraw(lab, switches, count)?;
        let began = Instant::now();
        let times = asker.at_once(count)?;
        show(count, "at once", times, began.elapsed());
        asker.withdraw(lab, switches, count)?;
    }
    let factory = DomainParticipantFactory::get_instance();
    participant.delete_contained_entities()?;
    factory.delete_participant(&participant)?;
    Ok(())
}

fn show(count: usize, how: &str, mut times: Vec<Duration>, total: Duration) {
    times.sort_unstable();
    let at = |share: usize| {
        let index = (times.len() * share).div_ceil(100).saturating_sub(1);
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    let rate = count as f64 / total.as_secs_f64();
    println!("| {count} | {how} | {:.2} | {:.2} | {:.2} | {rate:.0} |", at(50), at(99), at(100));
}

impl Asker {
    fn request(&self, number: usize) -> Result<Request, Failure> {
        let (writer, reader) = self.hosts.get(number % HOSTS).copied().ok_or("no such host")?;
        let guid = |prefix: GuidPrefix, kind: u8| {
            let [high, low] = u16::try_from(number).unwrap_or(u16::MAX).to_be_bytes();
            let mut guid = [0; 16];
            guid[..12].copy_from_slice(&prefix.0);
            guid[12..].copy_from_slice(&[high, low, 0, kind]);
            guid
        };
        let port = 20_000 + u16::try_from(number)?;
        Ok(Request {
            writer: guid(GuidPrefix([0xad; 12]), 2),
            reader: guid(self.prefix, 7),
            serial: self.serial,
            topic: format!("topic {number}"),
            contract: Contract {
                largest_message: 200,
                smallest_message: 200,
                datagram: 1_472,
                minimum_separation: SEPARATION,
                ..Contract::default()
            },
            maximum_latency: WITHIN,
            source: Socket { address: writer, port },
            destination: Socket { address: reader, port: 7_411 },
            ..Request::default()
        })
    }

    /// Waits for an admission; an error for anything else.
    fn admission(&self) -> Result<(Instant, usize), Failure> {
        loop {
            let (at, verdict) = self.heard.recv_timeout(PATIENCE).map_err(|_| "no verdict came")?;
            let number = usize::from(verdict.source.port.saturating_sub(20_000));
            match verdict.state {
                State::Admitted if verdict.serial == self.serial => return Ok((at, number)),
                State::Refused | State::Revoked if verdict.serial == self.serial => {
                    return Err(format!("flow {number}: {:?}: {}", verdict.state, verdict.reason).into());
                }
                _ => {}
            }
        }
    }

    /// One request when the one before is admitted.
    fn in_turn(&mut self, count: usize) -> Result<Vec<Duration>, Failure> {
        self.serial += 1;
        let mut times = Vec::new();
        for number in 0..count {
            let began = Instant::now();
            self.requests.write(&self.request(number)?)?;
            // What was admitted before is said again now and then.
            times.push(loop {
                let (at, heard) = self.admission()?;
                if heard == number {
                    break at.duration_since(began);
                }
            });
        }
        Ok(times)
    }

    fn at_once(&mut self, count: usize) -> Result<Vec<Duration>, Failure> {
        self.serial += 1;
        let mut began = Vec::new();
        for number in 0..count {
            began.push(Instant::now());
            self.requests.write(&self.request(number)?)?;
        }
        let mut times: BTreeMap<usize, Duration> = BTreeMap::new();
        while times.len() < count {
            let (at, number) = self.admission()?;
            let began = began.get(number).ok_or("a verdict for nobody")?;
            times.entry(number).or_insert_with(|| at.duration_since(*began));
        }
        Ok(times.into_values().collect())
    }

    /// Wants none of it any more, and waits until the switches have forgotten it.
    fn withdraw(&mut self, lab: &Lab, switches: usize, count: usize) -> Result<(), Failure> {
        let began = Instant::now();
        for number in 0..count {
            let request = self.request(number)?;
            self.requests.dispose(&request)?;
            self.requests.unregister_instance(&request)?;
        }
        for switch in 1..=switches {
            let management = lab.management(&format!("s{switch}"))?;
            while entries(&management)? > 0 {
                if began.elapsed() > PATIENCE {
                    return Err("the flows do not go".into());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        eprintln!("{count} flows gone after {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
        // What is queued has its time to leave before a place is free.
        std::thread::sleep(Duration::from_nanos(2 * WITHIN));
        Ok(())
    }
}

/// Entries of admitted flows in a switch, by their priority.
fn entries(management: &str) -> Result<usize, Failure> {
    let output = Command::new("ovs-ofctl").args(["-O", "OpenFlow13", "dump-flows", management]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains("priority=60000")).count())
}
