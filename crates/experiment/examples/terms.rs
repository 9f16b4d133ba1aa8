//! Measures what the plan of the experiment counts with, term by term, beside the terms: how long the host takes to hand a message over, the
//! host's port, what the gate allows, the switch, and the port to the subscriber. `docs/lab.md` has the table.
//!
//! The flows are those of the experiment's network (`midas`), or of the same with terms that a busy machine keeps (`busy`), sent as plain datagrams
//! of the same frames, with a flood of best effort beside them.
//! Times are the kernel's at each place, but for the gate, which goes by those of the links. Messages that met a stall of a core are left out.
use std::collections::BTreeMap;
use std::net::{SocketAddrV4, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use experiment::stalls::{LATE, Stalls};
use gate::protocol::{Answer, Request};
use gate::{Contract, Key, Kind, class};
use lab::awake::Awake;
use lab::layout::Carrying;
use lab::probe::{Probes, both_clocks, realtime};
use lab::tap::Tap;
use lab::train::Heard;
use lab::{Lab, Options};
use network::{Asked, Network};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::socket::{setsockopt, sockopt};
use plan::{EnforcementReport, FlowReport};

/// The experiment's network, and the same with terms that a busy machine keeps.
const NETWORKS: [(&str, &str); 2] =
    [("midas", include_str!("../networks/midas.toml")), ("busy", include_str!("../networks/busy.toml"))];
/// The flow that is measured; the others are in its way.
const MEASURED: &str = "video";
/// How long.
const SECONDS: Duration = Duration::from_secs(15);
const PORT: u16 = 5_000;
/// Real-time priority of send calls, as in the experiment.
const SENDING: u8 = 65;
/// What our datagrams begin with.
const MARK: &[u8; 8] = b"punctual";
/// Where the payload of an untagged UDP frame without options begins.
const PAYLOAD: usize = 42;
/// Bytes of the payload of a full frame, and what is around it on the wire.
const FULL: usize = 1_472;
const AROUND: usize = 66;
/// What a stall of the machine is, at least, in nanoseconds.
const STOOD_STILL: u64 = 300_000;
const PICOSECONDS: u64 = 1_000;

type Failure = Box<dyn std::error::Error + Send + Sync>;
/// The number of each of our frames (message and place in it), and when it was somewhere, in nanoseconds since 1970.
type Times = BTreeMap<u64, u64>;

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_else(|| NETWORKS[0].0.to_owned());
    let Some((_, text)) = NETWORKS.iter().find(|(name, _)| *name == wanted) else {
        let names = NETWORKS.map(|(name, _)| name).join(" or ");
        eprintln!("terms: there is no network {wanted:?}; say {names}");
        return ExitCode::from(2);
    };
    match measure(&wanted, text) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            println!("\nA term is exceeded.");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("terms: {error}");
            ExitCode::from(3)
        }
    }
}

fn measure(name: &str, text: &str) -> Result<bool, Failure> {
    let network = Network::parse(name, text, |_| Err(String::new()))?;
    let report = plan::plan(&network);
    // Nobody manages this network: switches learn, and gates are set from the plan.
    let built = Network::parse(name, &text.replace("\nmanager = true\n", "\n"), |_| Err(String::new()))?;
    let options = Options { carrying: Carrying::Emulated, ..Options::default() };
    let lab = Lab::up_with(&built, "terms", &options)?;
    let stop = Arc::new(AtomicBool::new(false));
    let display = lab.host_address("display")?;
    let sink = lab.on("display", || UdpSocket::bind(("0.0.0.0", PORT)))??;
    let other = lab.on("display", || UdpSocket::bind(("0.0.0.0", PORT + 1)))??;

    let mut senders = Vec::new();
    for (number, flow) in (1..).zip(&report.flows) {
        senders.push(Sender::new(&lab, flow, number, SocketAddrV4::new(display, PORT))?);
        meet(&lab, &flow.publisher, &sink)?;
    }
    meet(&lab, "manager", &other)?;
    // What the link hands to the gate has behind it when it came.
    let places = [
        ("wires", "w1a", false),
        ("wires", "w1b", true),
        ("wires", "w4b", false),
        ("display", "eth0", false),
    ];
    let taps: Vec<JoinHandle<Times>> = places
        .iter()
        .map(|(node, interface, stamped)| {
            let (tap, stop, stamped) =
                (open(&format!("terms-{node}"), interface)?, Arc::clone(&stop), *stamped);
            Ok(thread::spawn(move || listen(&tap, stamped, &stop)))
        })
        .collect::<Result<_, Failure>>()?;
    let flooder = lab.on("manager", || UdpSocket::bind(("0.0.0.0", 0)))??;
    let flood = {
        let (stop, to) = (Arc::clone(&stop), SocketAddrV4::new(display, PORT + 1));
        thread::spawn(move || babble(&flooder, to, &stop))
    };
    println!("measuring {} s", SECONDS.as_secs());
    let _awake = Awake::new();
    let probes = Probes::start(Duration::from_nanos(LATE))?;
    let (now, wall) = both_clocks();
    let ahead = i64::try_from(wall.saturating_sub(now))?;
    let sending: Vec<JoinHandle<Times>> =
        senders.into_iter().map(|sender| thread::spawn(move || sender.send())).collect();
    let sent: Vec<Times> = sending.into_iter().map(|thread| thread.join().unwrap_or_default()).collect();
    thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    let stalls = Stalls::of(probes.stop(), ahead, STOOD_STILL);
    let heard: Vec<Times> = taps.into_iter().map(|tap| tap.join().unwrap_or_default()).collect();
    let flooded = flood.join().unwrap_or(0);
    lab.down()?;

    let at =
        report.flows.iter().position(|flow| flow.name == MEASURED).ok_or("the flow is not in the plan")?;
    let asked =
        network.flows().iter().find(|flow| flow.name == MEASURED).ok_or("the flow is not in the file")?;
    let terms = Terms::of(&report.flows[at], asked, switch(&network)?)?;
    let messages = Messages::of(&sent[at], &heard, at, &stalls);
    println!(
        "{} of {} messages of {MEASURED} were not disturbed and came whole; {flooded} frames of best effort beside them\n",
        messages.whole.len(),
        sent[at].len()
    );
    Ok(messages.show(&terms))
}

/// What the plan counts with, in nanoseconds.
struct Terms {
    emission: u64,
    first_port: u64,
    separation: u64,
    tolerance: u64,
    window: u64,
    switch: u64,
    port: u64,
}

impl Terms {
    fn of(flow: &FlowReport, asked: &Asked, switch: u64) -> Result<Self, Failure> {
        let bounds: Vec<u64> = flow.hops.iter().filter_map(|hop| hop.bound_ps).collect();
        let (
            &[first_port, port],
            Some(EnforcementReport::Gate { separation_ps, tolerance_ps, window_ps, .. }),
        ) = (bounds.as_slice(), &flow.enforcement)
        else {
            return Err("the plan does not admit the flow with a gate over two hops".into());
        };
        // What the gate bears beyond that is no term of the bound.
        let window = window_ps.saturating_sub(asked.flow.slack);
        let [emission, first_port, separation, tolerance, window, switch, port] =
            [asked.flow.emission, first_port, *separation_ps, *tolerance_ps, window, switch, port]
                .map(|ps| ps / PICOSECONDS);
        Ok(Self { emission, first_port, separation, tolerance, window, switch, port })
    }
}

/// The most time from reception to a queue of the switch, in picoseconds.
fn switch(network: &Network) -> Result<u64, Failure> {
    let host_ports = network.ports().iter().map(|port| port.most_multiplexing);
    host_ports.max().ok_or_else(|| "the network has no ports".into())
}

/// Messages that were not disturbed: when it was sent, and when its frames were at each place.
struct Messages {
    whole: Vec<(u64, [Vec<u64>; 4])>,
}

impl Messages {
    fn of(sent: &Times, heard: &[Times], flow: usize, stalls: &Stalls) -> Self {
        let mut whole = Vec::new();
        for (number, at) in sent {
            let first = frame(flow as u64 + 1, *number, 0);
            let frames: Vec<Vec<u64>> = heard
                .iter()
                .map(|times| times.range(first..first + (1 << 16)).map(|(_, time)| *time).collect())
                .collect();
            let Ok(frames) = <[Vec<u64>; 4]>::try_from(frames) else { continue };
            let count = frames[0].len();
            let last = frames[3].last().copied().unwrap_or(0);
            let calm = !stalls.meet(at.cast_signed(), last.cast_signed());
            if count > 0 && frames.iter().all(|frames| frames.len() == count) && calm {
                whole.push((*at, frames));
            }
        }
        Self { whole }
    }

    /// Shows each term with what was measured; whether none was exceeded.
    fn show(&self, terms: &Terms) -> bool {
        let over = |from: usize, to: usize| -> Vec<u64> {
            let frames = self.whole.iter().flat_map(|(_, at)| at[from].iter().zip(&at[to]));
            frames.map(|(from, to)| to.saturating_sub(*from)).collect()
        };
        let (mut early, mut next) = (Vec::new(), 0);
        for (_, at) in &self.whole {
            let first = at[1].first().copied().unwrap_or(0);
            // A message that is missing in between leaves more room.
            early.push(next.max(first) - first);
            next = next.max(first) + terms.separation;
        }
        let last = |at: &Vec<u64>| at.last().copied().unwrap_or(0);
        println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "microseconds", "term", "p50", "p99", "max");
        [
            ("host: send call to last frame", terms.emission, self.each(|sent, at| last(&at[0]) - sent)),
            (
                "host's port: from there to gate",
                terms.first_port,
                self.each(|_, at| last(&at[1]).saturating_sub(last(&at[0]))),
            ),
            ("gate: first frame to last", terms.window, self.each(|_, at| last(&at[1]) - at[1][0])),
            ("gate: earlier than a separation", terms.tolerance, early),
            (
                "switch and port: gate to host, last frame",
                terms.switch + terms.port,
                self.each(|_, at| last(&at[3]).saturating_sub(last(&at[1]))),
            ),
            ("switch and port: gate to host, each frame", terms.switch + terms.port, over(1, 3)),
            ("of that, the switch's process", terms.switch, over(1, 2)),
            ("of that, the port: a link makes up for it", terms.port, over(2, 3)),
        ]
        .into_iter()
        .fold(true, |good, (name, term, spans)| show(name, term, spans) && good)
    }

    fn each(&self, span: impl Fn(u64, &[Vec<u64>; 4]) -> u64) -> Vec<u64> {
        self.whole.iter().map(|(sent, at)| span(*sent, at)).collect()
    }
}

/// A line of the table; whether nothing is above the term.
fn show(name: &str, term: u64, mut spans: Vec<u64>) -> bool {
    spans.sort_unstable();
    let at =
        |permille: usize| spans.get(spans.len().saturating_sub(1) * permille / 1_000).copied().unwrap_or(0);
    let good = !spans.is_empty() && at(1_000) <= term;
    let text = [term, at(500), at(990), at(1_000)].map(|span| format!("{:>9.1}", span as f64 / 1_000.0));
    println!("{name:<44} {}{}", text.join(" "), if good { "" } else { "  EXCEEDED" });
    good
}

/// The number of a frame.
const fn frame(flow: u64, message: u64, place: u64) -> u64 {
    flow << 48 | message << 16 | place
}

/// What sends the messages of a flow.
struct Sender {
    socket: UdpSocket,
    to: SocketAddrV4,
    flow: u64,
    payload: usize,
    separation: Duration,
}

impl Sender {
    /// With a contract at the gate as planned.
    fn new(lab: &Lab, flow: &FlowReport, number: u16, to: SocketAddrV4) -> Result<Self, Failure> {
        let Some(EnforcementReport::Gate { octets, separation_ps, tolerance_ps, window_ps }) =
            flow.enforcement
        else {
            return Err(format!("{}: the plan has no gate for it", flow.name).into());
        };
        let levels: Vec<u8> = flow.hops.iter().map(|hop| class::of_level(hop.level).unwrap_or(0)).collect();
        let (Some(own), Some(dscp)) = (levels.first(), levels.get(1)) else {
            return Err("two hops are expected".into());
        };
        let source_port = 6_000 + number;
        let socket = lab.on(&flow.publisher, || UdpSocket::bind(("0.0.0.0", source_port)))??;
        socket2::SockRef::from(&socket).set_tos_v4(u32::from(*own) << 2)?;
        setsockopt(&socket, sockopt::UdpGsoSegment, &i32::try_from(FULL)?)?;
        let key = Key {
            source: lab.host_address(&flow.publisher)?.into(),
            source_port,
            destination: (*to.ip()).into(),
            destination_port: to.port(),
        };
        let separation = separation_ps / PICOSECONDS;
        let contract = Contract {
            kind: Kind::Messages,
            octets: u32::try_from(octets)?,
            separation,
            tolerance: tolerance_ps / PICOSECONDS,
            window: window_ps / PICOSECONDS,
            dscp: *dscp,
        };
        let answer = lab.gate("s1")?.ask(&Request::Set { port: u32::from(number), key, contract })?;
        if !matches!(answer, Answer::Set { .. }) {
            return Err(format!("the gate: {answer:?}").into());
        }
        let (full, rest) =
            (usize::try_from(octets)? / (FULL + AROUND), usize::try_from(octets)? % (FULL + AROUND));
        let payload = full * FULL + rest.saturating_sub(AROUND);
        Ok(Self {
            socket,
            to,
            flow: u64::from(number),
            payload,
            separation: Duration::from_nanos(separation),
        })
    }

    /// Sends for as long as is measured; when each message was handed over.
    fn send(self) -> Times {
        let _ = udp::thread::set_real_time(SENDING);
        let _ = mlockall(MlockAllFlags::all());
        let (mut times, mut bytes) = (Times::new(), vec![0; self.payload]);
        let begun = Instant::now();
        for message in 0.. {
            if begun.elapsed() > SECONDS {
                break;
            }
            for (place, datagram) in bytes.chunks_mut(FULL).enumerate() {
                datagram[..8].copy_from_slice(MARK);
                datagram[8..16].copy_from_slice(&frame(self.flow, message, place as u64).to_ne_bytes());
            }
            times.insert(message, realtime());
            let _ = self.socket.send_to(&bytes, self.to);
            thread::sleep(self.separation);
        }
        times
    }
}

/// Until switches know who is where, and hosts whose address is whose.
fn meet(lab: &Lab, host: &str, display: &UdpSocket) -> Result<(), Failure> {
    let own = lab.on(host, || UdpSocket::bind(("0.0.0.0", 0)))??;
    let (to, back) = (display.local_addr()?.port(), own.local_addr()?.port());
    for _ in 0..10 {
        own.send_to(b"hello", SocketAddrV4::new(lab.host_address("display")?, to))?;
        display.send_to(b"hello", SocketAddrV4::new(lab.host_address(host)?, back))?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
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

/// When each of our frames was at the tap, or, if they are stamped, came by the clock of the links.
fn listen(tap: &Tap, stamped: bool, stop: &AtomicBool) -> Times {
    let (mut times, mut heard, mut frame) = (Times::new(), Heard::default(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let Ok(Some(time)) = tap.next(&mut heard, Duration::from_millis(50)) else { continue };
        while heard.next(&mut frame) {
            let time = if stamped { link_time(&frame).unwrap_or(time) } else { time };
            let payload = frame.get(PAYLOAD..).unwrap_or_default();
            if let Some((mark, rest)) = payload.split_first_chunk::<8>()
                && mark == MARK
                && let Some(number) = rest.first_chunk()
            {
                times.entry(u64::from_ne_bytes(*number)).or_insert(time);
            }
        }
    }
    times
}

/// When a frame came by the stamp behind it, which is the lower half of the monotonic clock.
fn link_time(frame: &[u8]) -> Option<u64> {
    let (now, wall) = both_clocks();
    let stamp = u32::from_ne_bytes(*frame.last_chunk()?);
    // It may be a little ahead: links hand frames over before their time.
    let behind = u32::try_from(now & u64::from(u32::MAX)).ok()?.wrapping_sub(stamp).cast_signed();
    Some(wall.saturating_add_signed(-i64::from(behind)))
}

/// Sends full frames of best effort at half the rate of the link, until told to stop; how many.
fn babble(socket: &UdpSocket, to: SocketAddrV4, stop: &AtomicBool) -> u64 {
    let (begun, bytes, mut sent) = (Instant::now(), [0; FULL], 0);
    while !stop.load(Ordering::Relaxed) {
        let due = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX) / 246;
        while sent < due {
            let _ = socket.send_to(&bytes, to);
            sent += 1;
        }
        thread::sleep(Duration::from_micros(500));
    }
    sent
}
