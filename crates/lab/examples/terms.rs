//! Measures the parts of a way one by one: the host's port, the wire with the gate, the switch, a port that is quiet and one
//! that is flooded, and the host that receives. `cargo run --release --package punctual-lab --example terms [RATE_MBIT]`
//!
//! Datagrams of 64 octets each 2 ms in an assured flow; the flood is best effort from another host, 1.5 times the rate of the
//! port. Times are the kernel's at each place. Datagrams that meet a stall of a core are counted apart.
use std::collections::BTreeMap;
use std::net::{SocketAddrV4, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gate::protocol::{Answer, Request};
use gate::{Contract, Key, class};
use lab::probe::{Probes, monotonic};
use lab::tap::Tap;
use lab::{Lab, Options};
use nix::sys::socket::{setsockopt, sockopt};
use plan::Network;

/// Datagrams of a run.
const COUNT: u64 = 3_000;
const PERIOD: Duration = Duration::from_millis(2);
const PORT: u16 = 5_000;
/// Messages of many frames, and the frames of each.
const TRAINS: u64 = 600;
const TRAIN: u16 = 33;
/// What our datagrams begin with.
const MARK: &[u8; 8] = b"punctual";
/// Where the payload of an untagged UDP frame without options begins.
const PAYLOAD: usize = 42;
/// The parts, in the order of the places where times are taken.
const PARTS: [&str; 5] =
    ["send call to host port", "wire and gate", "switch and port", "wire to host", "all of it"];

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let rate = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    match measure(rate) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rate: u64) -> Result<(), Failure> {
    let model = "[[switch-model]]\nname = \"m\"\nports = 8\nqueues = 4\nrate = \"200 Mb/s\"\n\
                 queue-buffer = 38_450\ngates = {}\n[[switch]]\nname = \"s1\"\nmodel = \"m\"\n";
    let mut text = model.to_owned();
    for (number, host) in (1..).zip(["a", "b", "c"]) {
        text += &format!("[[host]]\nname = \"{host}\"\n");
        text += &format!("[[link]]\nends = [\"{host}\", \"s1:{number}\"]\nrate = \"{rate} Mb/s\"\n");
    }
    let network = Network::parse("terms", &text, |_| Err(String::new()))?;
    // The example is built a folder below the program.
    let program = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("punctual-lab"));
    let program: Option<PathBuf> = program.filter(|path| path.is_file());
    let lab = Lab::up_with(&network, "terms", &Options { program, ..Options::default() })?;
    println!("{rate} Mb/s ports, {COUNT} datagrams of 64 octets, one each 2 ms; microseconds");
    let frame = 1_538 * 8 / rate;
    println!("a full frame takes {frame} us, one of the flow {} us", 130 * 8 / rate);
    run(&lab, None)?;
    run(&lab, Some(rate * 1_500_000))?;
    trains(&lab, rate)?;
    lab.down()?;
    Ok(())
}

/// Numbers of datagrams and when they were somewhere.
type Times = BTreeMap<u64, u64>;

fn run(lab: &Lab, flood: Option<u64>) -> Result<(), Failure> {
    let to = SocketAddrV4::new(lab.host_address("c")?, PORT);
    let key = Key {
        source: lab.host_address("a")?,
        source_port: 6_000,
        destination: *to.ip(),
        destination_port: PORT,
    };
    let contract = Contract {
        octets: 130,
        separation: 1_900_000,
        tolerance: 300_000,
        window: 0,
        dscp: class::of_level(2).unwrap_or(0),
    };
    let set = lab.gate("s1")?.ask(&Request::Set { port: 1, key, contract })?;
    if !matches!(set, Answer::Set { .. }) {
        println!("the gate: {set:?}");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let switch = lab.switch("s1")?.namespace.clone();
    let mut taps = Vec::new();
    for (namespace, interface) in [
        (lab.record().hosts[0].namespace.clone(), "eth0"),
        (switch.clone(), "p1"),
        (switch, "p3"),
        (lab.record().hosts[2].namespace.clone(), "eth0"),
    ] {
        let tap = open(&namespace, interface)?;
        let stop = Arc::clone(&stop);
        taps.push(thread::spawn(move || listen(&tap, &stop)));
    }
    let receiver = lab.on("c", || UdpSocket::bind(("0.0.0.0", PORT)))??;
    let sink = lab.on("c", || UdpSocket::bind(("0.0.0.0", PORT + 1)))??;
    let sender = lab.on("a", || UdpSocket::bind(("0.0.0.0", 6_000)))??;
    let other = lab.on("b", || UdpSocket::bind(("0.0.0.0", 6_001)))??;
    // So that everybody knows who is where.
    for _ in 0..20 {
        let _ = sender.send_to(&[0; 64], to);
        let _ = other.send_to(&[0; 64], SocketAddrV4::new(*to.ip(), PORT + 1));
        let _ = receiver.send_to(&[0; 64], SocketAddrV4::new(lab.host_address("a")?, 6_000));
        let _ = sink.send_to(&[0; 64], SocketAddrV4::new(lab.host_address("b")?, 6_001));
        thread::sleep(Duration::from_millis(20));
    }
    let flooding = flood.map(|rate| {
        let stop = Arc::clone(&stop);
        let to = SocketAddrV4::new(*to.ip(), PORT + 1);
        thread::spawn(move || babble(&other, to, rate, &stop))
    });
    let probes = Probes::start(Duration::from_millis(1))?;
    let offset = realtime().saturating_sub(monotonic());
    // Before everything but switches and probes; without the right it is later now and then.
    let sent = thread::spawn(move || {
        let _ = udp::thread::set_real_time(50);
        send(&sender, to)
    });
    let sent = sent.join().unwrap_or_default();
    thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    let stalls = probes.stop();
    let heard: Vec<Times> = taps.into_iter().map(|tap| tap.join().unwrap_or_default()).collect();
    if let Some(flooding) = flooding {
        let _ = flooding.join();
    }
    let places: Vec<&Times> = std::iter::once(&sent).chain(&heard).collect();
    let whole: Vec<Vec<u64>> = sent
        .keys()
        .filter_map(|number| {
            places.iter().map(|place| place.get(number).copied()).collect::<Option<Vec<u64>>>()
        })
        .collect();
    let calm: Vec<&Vec<u64>> = whole
        .iter()
        .filter(|times| {
            let (from, to) = (times[0] - offset, times[times.len() - 1] - offset);
            !stalls.iter().any(|stall| stall.meets(from, to))
        })
        .collect();
    println!(
        "\n{}: {} of {} came; {} met none of {} stalls above 1 ms",
        if flood.is_some() { "flooded" } else { "quiet" },
        whole.len(),
        sent.len(),
        calm.len(),
        stalls.len()
    );
    println!("{:<24} {:>8} {:>8} {:>8} {:>8}", "", "p50", "p99", "p99.9", "max");
    for (part, name) in PARTS.iter().enumerate() {
        let (from, to) = if part == 4 { (0, 4) } else { (part, part + 1) };
        show(name, calm.iter().map(|times| times[to].saturating_sub(times[from])).collect());
    }
    Ok(())
}

/// What a gate sees of messages of many frames, each sent in one call: how long they take, and how early they come.
fn trains(lab: &Lab, rate: u64) -> Result<(), Failure> {
    // A message takes half of its separation on the wire.
    let separation = u64::from(TRAIN) * 1_522 * 8 * 1_000 / rate * 2;
    let to = SocketAddrV4::new(lab.host_address("c")?, PORT + 2);
    let sender = lab.on("a", || UdpSocket::bind(("0.0.0.0", 6_002)))??;
    setsockopt(&sender, sockopt::UdpGsoSegment, &1_456)?;
    let stop = Arc::new(AtomicBool::new(false));
    let tap = open(&lab.switch("s1")?.namespace, "p1")?;
    let stopped = Arc::clone(&stop);
    let listening = thread::spawn(move || listen(&tap, &stopped));
    let probes = Probes::start(Duration::from_millis(1))?;
    let offset = realtime().saturating_sub(monotonic());
    let sending = thread::spawn(move || {
        let _ = udp::thread::set_real_time(50);
        let mut octets = vec![0; usize::from(TRAIN) * 1_456];
        for message in 0..TRAINS {
            for frame in 0..TRAIN {
                let at = usize::from(frame) * 1_456;
                octets[at..at + 8].copy_from_slice(MARK);
                octets[at + 8..at + 16].copy_from_slice(&(message << 16 | u64::from(frame)).to_ne_bytes());
            }
            let _ = sender.send_to(&octets, to);
            thread::sleep(Duration::from_nanos(separation));
        }
    });
    let _ = sending.join();
    thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    let stalls = probes.stop();
    let times = listening.join().unwrap_or_default();
    let (mut spans, mut early, mut next, mut whole) = (Vec::new(), Vec::new(), 0, 0);
    for message in 0..TRAINS {
        let frames: Vec<u64> =
            times.range(message << 16..(message + 1) << 16).map(|(_, time)| *time).collect();
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { continue };
        whole += u64::from(frames.len() == usize::from(TRAIN));
        let calm = !stalls.iter().any(|stall| stall.meets(first - offset, last - offset));
        if calm {
            spans.push(last - first);
            early.push(next.max(*first) - first);
        }
        next = next.max(*first) + separation;
    }
    let ideal = (u64::from(TRAIN) - 1) * 1_522 * 8 / rate;
    println!("\n{whole} of {TRAINS} messages of {TRAIN} frames came whole, {} met no stall", spans.len());
    println!("{:<24} {:>8} {:>8} {:>8} {:>8}", "at the gate", "p50", "p99", "p99.9", "max");
    show(&format!("first to last ({ideal})"), spans);
    show("earlier than allowed", early);
    Ok(())
}

/// A line of the table.
fn show(name: &str, mut spans: Vec<u64>) {
    spans.sort_unstable();
    let at =
        |permille: usize| spans.get((spans.len().saturating_sub(1)) * permille / 1_000).copied().unwrap_or(0);
    let text = [at(500), at(990), at(999), at(1_000)].map(|span| format!("{:>8.1}", span as f64 / 1_000.0));
    println!("{name:<24} {}", text.join(" "));
}

/// A tap in a namespace.
fn open(namespace: &str, interface: &str) -> Result<Tap, Failure> {
    let file = std::fs::File::open(format!("/run/netns/{namespace}"))?;
    let opened = thread::scope(|scope| {
        let opening = scope.spawn(|| {
            nix::sched::setns(&file, nix::sched::CloneFlags::CLONE_NEWNET)?;
            Ok(Tap::open(interface)?)
        });
        opening.join()
    });
    opened.unwrap_or_else(|_| Err("a tap".into()))
}

/// When each of our datagrams was at the tap.
fn listen(tap: &Tap, stop: &AtomicBool) -> Times {
    let (mut times, mut buffer) = (Times::new(), [0; 2_048]);
    while !stop.load(Ordering::Relaxed) {
        let Ok(Some((length, time))) = tap.next(&mut buffer, Duration::from_millis(50)) else { continue };
        let payload = buffer.get(PAYLOAD..length).unwrap_or_default();
        if let Some((mark, rest)) = payload.split_first_chunk::<8>()
            && mark == MARK
            && let Some(number) = rest.first_chunk()
        {
            times.insert(u64::from_ne_bytes(*number), time);
        }
    }
    times
}

fn realtime() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Sends the datagrams; when each was handed over.
fn send(socket: &UdpSocket, to: SocketAddrV4) -> Times {
    let (mut times, mut octets) = (Times::new(), [0; 64]);
    octets[..8].copy_from_slice(MARK);
    for number in 0..COUNT {
        octets[8..16].copy_from_slice(&number.to_ne_bytes());
        times.insert(number, realtime());
        let _ = socket.send_to(&octets, to);
        thread::sleep(PERIOD);
    }
    times
}

/// Sends datagrams of 1200 octets at a rate, until told to stop.
fn babble(socket: &UdpSocket, to: SocketAddrV4, rate: u64, stop: &AtomicBool) {
    let (begun, octets, mut sent) = (Instant::now(), [0; 1_200], 0);
    while !stop.load(Ordering::Relaxed) {
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let due = micros * (rate / 1_000_000) / 9_600;
        while sent < due {
            let _ = socket.send_to(&octets, to);
            sent += 1;
        }
        thread::sleep(Duration::from_micros(300));
    }
}
