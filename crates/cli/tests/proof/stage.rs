//! A lab with a manager, pairs of three vendors, hosts that babble, and witnesses at the hosts of readers.
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gate::Key;
use gate::protocol::{Answer, Request};
use lab::layout::Carrying;
use lab::probe::{Probes, both_clocks, realtime};
use lab::{Lab, Options};
use lab_turn::Folder;
use network::Network;
use serde_json::Value;
use testkit::conversation::Conversation;

use crate::account::{Account, Outcome, Witness};
use crate::networks::{MILLISECOND, Own, RATE, Shape};
use crate::peers::{Reader, Vendor, Writer};
use experiment::stalls::{LATE, Stalls};

/// Real-time priority of the manager, below that of switches and programs.
const MANAGING: &str = "20";
/// A core that was late by more than this in all, in nanoseconds, stood still: as in the experiment of MIDAS at links of 10 Mb/s.
const STOOD_STILL: u64 = 3_000_000;
/// Samples that are written behind those that are judged: what is under way arrives.
const UNDER_WAY: usize = 25;
/// A core that was late by more than this while a pair took another way stood still.
const STILL: Duration = Duration::from_millis(10);
/// How long programs have to take what has come, and how often they are asked.
const TAKING: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
/// How often the manager is asked.
const ASKING: Duration = Duration::from_millis(500);
const PROGRAM: &str = env!("CARGO_BIN_EXE_punctual");
/// Longer than any test.
const FOREVER: u32 = 100_000;

/// Whether the user wants an end: what waits ends then, and all that was made is removed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C ends a test as a failure does.
pub(crate) fn interruptible() {
    // It is set once; the second time is an error that means nothing.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
}

/// Asks until there is an answer; what it waited for is told if none comes in two minutes.
pub(crate) fn patiently<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(!INTERRUPTED.load(Ordering::Relaxed), "interrupted");
        assert!(started.elapsed() < Duration::from_secs(120), "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the manager says of a pair. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) topic: String,
    pub(crate) writer: String,
    pub(crate) to: String,
    pub(crate) state: String,
    pub(crate) promised: i64,
    pub(crate) present: i64,
    /// The ports on its way, by name.
    pub(crate) way: Vec<String>,
}

/// All of it; it ends with this.
pub(crate) struct Stage {
    babblers: Vec<Babbler>,
    witnesses: BTreeMap<String, Witness>,
    readers: Vec<(String, Reader)>,
    _writers: Vec<Writer>,
    own: Vec<Conversation>,
    manager: Child,
    folder: Folder,
    pub(crate) lab: Lab,
}

impl Stage {
    /// Builds it, and waits until all pairs are admitted and write.
    pub(crate) fn new(shape: Shape, fast: Vendor) -> Self {
        let folder = Folder::new();
        let file = folder.file("proof.toml", &shape.network());
        let flows = folder.file("flows.toml", &shape.flows());
        let options = Options {
            program: Some(Path::new(PROGRAM).to_owned()),
            carrying: Carrying::Emulated,
            ..Options::default()
        };
        let lab = Lab::up_with(&lab_turn::network(&shape.network()), &lab_turn::name(), &options).unwrap();
        let log = std::fs::File::create(folder.0.join("log")).unwrap();
        let mut command = lab.command("manager", "chrt").unwrap();
        command.args(["--fifo", MANAGING, PROGRAM, "grm"]).arg(file).arg("--flows").arg(flows);
        command.args(["--lab", "--interface", "eth0", "--store", "none"]).stdout(log);
        let manager = command.spawn().unwrap();
        let mut stage = Self {
            babblers: Vec::new(),
            witnesses: BTreeMap::new(),
            readers: Vec::new(),
            _writers: Vec::new(),
            own: Vec::new(),
            manager,
            folder,
            lab,
        };
        stage.know_neighbours(&lab_turn::network(&shape.network()));
        stage.begin(shape, fast);
        stage
    }

    /// Hosts know each other's Ethernet addresses for good, as docs/host.md advises: questions for them are best effort, and lost in a flood.
    fn know_neighbours(&self, network: &Network) {
        let ip = |host: &str, arguments: &[&str]| {
            let output = self.lab.command(host, "ip").unwrap().args(arguments).output().unwrap();
            assert!(output.status.success(), "{host}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        for known in network.hosts() {
            let link = ip(&known.name, &["-o", "link", "show", "eth0"]);
            let (_, link) = link.split_once("link/ether ").unwrap();
            let ethernet = link.split(' ').next().unwrap();
            let address = self.lab.host_addresses(&known.name).unwrap()[0].to_string();
            let entry = ["dev", "eth0", "lladdr", ethernet, "nud", "permanent"];
            for other in network.hosts().iter().filter(|other| other.name != known.name) {
                ip(&other.name, &[&["neighbour", "replace", &address], &entry[..]].concat());
            }
        }
    }

    fn begin(&mut self, shape: Shape, fast: Vendor) {
        for host in shape.readers() {
            self.witnesses.insert((*host).to_owned(), Witness::at(&self.lab, host));
        }
        let mut publishers = Vec::new();
        for own in &shape.own() {
            let subscriber =
                self.start_own(own, &own.to, "subscriber", &["--within", &own.limit.to_string()]);
            let contract =
                [("--separation", own.separation), ("--emission", 2 * MILLISECOND), ("--slack", 0)];
            let contract: Vec<String> = contract
                .iter()
                .flat_map(|(option, value)| [(*option).to_owned(), value.to_string()])
                .chain(["--assured".to_owned()])
                .collect();
            let contract: Vec<&str> = contract.iter().map(String::as_str).collect();
            publishers.push(self.start_own(own, &own.from, "publisher", &contract));
            self.own.push(subscriber);
        }
        for (pair, vendor) in shape.foreign().iter().zip([Vendor::Cyclone, fast]) {
            let reader = vendor.reader(&self.lab, &pair.to, &pair.topic);
            self.readers.push((pair.topic.clone(), reader));
            let apart = Duration::from_nanos(pair.separation);
            self._writers.push(vendor.writer(&self.lab, &pair.from, &pair.topic, pair.size, apart));
        }
        let count = shape.own().len() + shape.foreign().len();
        patiently("admission of all pairs", || {
            std::thread::sleep(ASKING);
            let verdicts = self.verdicts();
            let refused = verdicts.iter().find(|verdict| verdict.state == "refused");
            assert!(refused.is_none(), "{}", self.log());
            (verdicts.iter().filter(|verdict| verdict.state == "admitted").count() == count).then_some(())
        });
        for publisher in &mut publishers {
            publisher.hear("ready");
            publisher.tell(&format!("go {FOREVER}"));
        }
        self.own.extend(publishers);
        // A writer of another vendor may find its reader later than the manager does.
        self.come(&self.verdicts(), realtime().cast_signed(), UNDER_WAY);
    }

    /// Waits until so many samples of each pair that were written from then on have come.
    fn come(&self, verdicts: &[Verdict], since: i64, count: usize) {
        patiently("samples of all pairs", || {
            verdicts.iter().all(|verdict| self.account(verdict).since(since) >= count).then_some(())
        });
    }

    /// One of our own programs, which asks.
    fn start_own(&self, own: &Own, host: &str, role: &str, more: &[&str]) -> Conversation {
        let mut command = self.lab.command(host, PROGRAM).unwrap();
        command.args(["midas", role, "--topic", &own.topic, "--size", &own.size.to_string()]);
        command.arg("--records").arg(self.folder.0.join(format!("{}.{role}", own.topic)));
        Conversation::start(&format!("the {role} of {}", own.topic), {
            command.args(more);
            command
        })
    }

    /// Each of these hosts sends to the other one all that its link carries, but for a twentieth.
    pub(crate) fn babble(&mut self, hosts: &[(String, String)]) {
        for (from, to) in hosts {
            self.babblers.push(Babbler::new(&self.lab, from, to));
        }
    }

    /// What the manager has written.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.0.join("log")).unwrap()
    }

    /// What the manager says of all pairs: asked at its own host, since nothing keeps a report from drowning on the way.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let mut command = self.lab.command("manager", PROGRAM).unwrap();
        command.args(["grm", "status", "--json", "--interface", "eth0", "--timeout", "20s"]);
        let output = command.stderr(Stdio::null()).output().unwrap();
        let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else { return Vec::new() };
        let text = |pair: &Value, key: &str| pair[key].as_str().unwrap_or_default().to_owned();
        let time = |pair: &Value, key: &str| pair[key].as_i64().unwrap_or_default();
        let pairs = report["pairs"].as_array().into_iter().flatten();
        pairs
            .map(|pair| Verdict {
                topic: text(pair, "topic"),
                writer: text(pair, "writer").replace(':', ""),
                to: text(pair, "to"),
                state: text(pair, "state"),
                promised: time(pair, "promised"),
                present: time(pair, "present"),
                way: pair["hops"].as_array().into_iter().flatten().map(|hop| text(hop, "port")).collect(),
            })
            .collect()
    }

    /// The samples of a pair at the reader's host.
    pub(crate) fn account(&self, verdict: &Verdict) -> Account {
        self.witnesses[&verdict.to].accounts().remove(&verdict.writer).unwrap_or_default()
    }

    /// Lets all pairs write so many samples each, and judges them: none is lost, and none comes after its time.
    pub(crate) fn measure(&mut self, samples: usize) -> Vec<(Verdict, Outcome)> {
        let verdicts = self.verdicts();
        let probes = Probes::start(Duration::from_nanos(LATE)).unwrap();
        let (monotonic, wall) = both_clocks();
        let ahead = wall.cast_signed().saturating_sub(monotonic.cast_signed());
        self.readers.iter_mut().for_each(|(_, reader)| reader.forget());
        let from = realtime().cast_signed();
        self.come(&verdicts, from, samples);
        let to = realtime().cast_signed();
        self.come(&verdicts, to, UNDER_WAY);
        let stalls = Stalls::of(probes.stop(), ahead, STOOD_STILL);
        let judged: Vec<(Verdict, Outcome)> = verdicts
            .into_iter()
            .map(|verdict| {
                let outcome = self.account(&verdict).judge(from, to, verdict.promised, &stalls);
                (verdict, outcome)
            })
            .collect();
        for (verdict, outcome) in &judged {
            show(verdict, outcome);
            let before = self.account(verdict).between(from);
            if before > 0 {
                println!(
                    "  of {} {before} numbers are missing before the first sample that is judged",
                    verdict.topic
                );
            }
        }
        println!(
            "  discovery beyond its class since the beginning, frames of each host: {}",
            self.discovery()
        );
        let broken = judged.iter().filter(|(_, outcome)| outcome.lost + outcome.late > 0).count();
        assert_eq!(broken, 0, "promises are broken, see above; the manager says:\n{}", self.log());
        self.were_taken(&judged, from, to);
        judged
    }

    /// How many frames of discovery each host has sent, and for how many of them there was no room in the class of discovery.
    fn discovery(&self) -> String {
        let of_switch = |switch: &lab::layout::Switch| {
            let contracts = match self.lab.gate(&switch.name).unwrap().ask(&Request::List).unwrap() {
                Answer::List { contracts, .. } => contracts,
                other => panic!("{other:?}"),
            };
            let discovery = contracts.into_iter().filter(|state| Some(state.key) == Key::metatraffic(0));
            let told = discovery.map(|state| {
                let (frames, excess) = (state.counters.frames, state.counters.excess);
                format!("{}:{} {excess} of {}", switch.name, state.port, frames + excess)
            });
            told.collect::<Vec<String>>()
        };
        self.lab
            .record()
            .switches
            .iter()
            .filter(|switch| switch.gated)
            .flat_map(of_switch)
            .collect::<Vec<String>>()
            .join(", ")
    }

    /// What came whole to the hosts of other vendors' readers was taken by their programs, too.
    fn were_taken(&mut self, judged: &[(Verdict, Outcome)], from: i64, to: i64) {
        for index in 0..self.readers.len() {
            let topic = &self.readers[index].0;
            let (verdict, _) = judged.iter().find(|(verdict, _)| verdict.topic == *topic).unwrap();
            let account = self.account(verdict);
            let came = account.whole(from, to);
            let (topic, reader) = &mut self.readers[index];
            let until = Instant::now() + TAKING;
            while !reader.taken().is_superset(&came) && Instant::now() < until {
                std::thread::sleep(LOOK);
            }
            let missing: Vec<u64> = came.difference(reader.taken()).copied().collect();
            let (matches, before) = (reader.matches(), account.between(from));
            assert!(
                missing.is_empty(),
                "samples {missing:?} of {topic} came, and were not taken ({matches}; {before} numbers before them did not come)"
            );
        }
    }

    /// Takes a link away at both of its ends, such as port 8 of `s1` and port 1 of `s2`, and says what becomes of each pair.
    pub(crate) fn cut(&self, ends: &[(String, u32); 2]) -> Vec<Cut> {
        let before = self.verdicts();
        let probes = Probes::start(STILL).unwrap();
        let at = realtime().cast_signed();
        for (switch, port) in ends {
            let namespace = &self.lab.switch(switch).unwrap().namespace;
            let mut command = Command::new("ip");
            command.args(["-n", namespace, "link", "set", &format!("p{port}"), "down"]);
            assert!(command.status().unwrap().success());
        }
        // A command that asks for a report is found by all participants, and that takes its part of the class of discovery: nothing is asked before samples come.
        patiently("another way of all pairs", || {
            self.come(&before, realtime().cast_signed(), UNDER_WAY);
            let verdicts = self.verdicts();
            verdicts.iter().all(|verdict| verdict.state == "admitted").then_some(())
        });
        // By then contracts and entries are where they have to be, and nothing more is missing.
        self.come(&before, realtime().cast_signed(), UNDER_WAY);
        let stood_still = probes.stop().iter().map(|stall| (stall.to - stall.from).cast_signed()).sum();
        let (log, after) = (self.log(), self.verdicts());
        let of = |verdict: &Verdict| {
            let now = after.iter().find(|now| now.topic == verdict.topic).unwrap();
            assert_ne!(now.way, verdict.way, "the link is on the way of {}", verdict.topic);
            let (outage, missing) = self.account(verdict).outage(at);
            let revoked = format!("revoked: \"{}\"", verdict.topic);
            let line = log.lines().rfind(|line| line.contains(&revoked)).unwrap_or_default();
            let reason = line.rsplit_once("): ").map(|(_, reason)| reason.to_owned()).unwrap_or_default();
            Cut { topic: verdict.topic.clone(), outage, stood_still, missing, reason }
        };
        before.iter().map(of).collect()
    }
}

/// What a cut meant for a pair.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) topic: String,
    /// From the last sample before what is missing to the first one after it, in nanoseconds by when they were written.
    pub(crate) outage: i64,
    /// How long cores of the machine stood still while it took another way, in nanoseconds.
    pub(crate) stood_still: i64,
    pub(crate) missing: u64,
    /// Why the manager has revoked it; empty if it has not.
    pub(crate) reason: String,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.manager.kill();
        let _ = self.manager.wait();
    }
}

/// A line of the table, times in milliseconds.
fn show(verdict: &Verdict, outcome: &Outcome) {
    let of = |nanoseconds: i64| nanoseconds as f64 / 1_000_000.0;
    println!(
        "  {:<10} promised {:>6.1}, worst case {:>6.1}: {:>5} samples, p50 {:>5.1} p99 {:>5.1} max {:>5.1}, {} lost, {} late; {} disturbed, {} of them lost or late",
        verdict.topic,
        of(verdict.promised),
        of(verdict.present),
        outcome.written,
        of(outcome.permille(500)),
        of(outcome.permille(990)),
        of(outcome.permille(1_000)),
        outcome.lost,
        outcome.late,
        outcome.disturbed,
        outcome.excused,
    );
}

/// A host that sends full frames of best effort, until this is dropped.
struct Babbler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Babbler {
    /// Bytes of payload of a full frame, and of the frame on the wire.
    const PAYLOAD: usize = 1_472;
    const FRAME: u64 = 1_538;

    fn new(lab: &Lab, from: &str, to: &str) -> Self {
        let socket = lab.on(from, || UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        let to = (lab.host_address(to).unwrap(), 9);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let each = Duration::from_nanos(Self::FRAME * 8_000_000_000 * 20 / 19 / RATE);
        let thread = std::thread::spawn(move || {
            let (begun, mut sent) = (Instant::now(), 0);
            while !stopped.load(Ordering::Relaxed) {
                // What it could not send in time it does not make up for at once.
                let due = u32::try_from(begun.elapsed().as_nanos() / each.as_nanos()).unwrap();
                for _ in sent.max(due.saturating_sub(8))..due {
                    // The reader's host has no program there, and says so now and then.
                    let _ = socket.send_to(&[0; Self::PAYLOAD], to);
                }
                sent = due;
                std::thread::sleep(each * 2);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Babbler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
