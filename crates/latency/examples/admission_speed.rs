//! How long admissions and removals take on a grid of switches: `admission_speed [FLOWS SWITCHES]`; without numbers a
//! table from 100 to 100,000 flows, each size in a process of its own.
#![allow(clippy::unwrap_used, reason = "a program for the developer")]

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use latency::framing::{Framing, Ip};
use latency::ledger::Ledger;
use latency::network::{Buffer, Flow, Hop, Imperfections, Policing, Port, Subscriber};
use latency::split::Split;
use latency::units::{MICROSECOND, MILLISECOND, NANOSECOND};

/// Flows and switches of the table. In the last row ports of switches are full.
const SIZES: [[usize; 2]; 5] = [[100, 100], [1_000, 100], [10_000, 1_024], [100_000, 10_000], [1_600, 16]];
/// How many of the last admissions count, and are then removed.
const MEASURED: usize = 1_000;
/// Ports of a switch: to its neighbours in the four directions, and to its host; and that host's own port.
const PORTS: usize = 6;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).map(|argument| argument.parse::<usize>()).collect();
    match arguments.as_slice() {
        [] => {
            println!(
                "   flows  switches  refused  all planned   admission p50        p99   refusal p99  removal p50    memory"
            );
            let program = std::env::current_exe().unwrap();
            let all = SIZES.iter().all(|size| {
                Command::new(&program).args(size.map(|number| number.to_string())).status().unwrap().success()
            });
            if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        [Ok(flows), Ok(switches)] => {
            measure(*flows, *switches);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: admission_speed [FLOWS SWITCHES]");
            ExitCode::from(2)
        }
    }
}

fn measure(flows: usize, switches: usize) {
    let side = (1..).take_while(|side| side * side <= switches).last().unwrap_or(1);
    let mut random = Random(testkit::random::Random::new(1));
    let flows: Vec<Flow> = (0..flows).map(|_| flow(side, &mut random)).collect();
    let before = resident();
    let mut ledger = Ledger::new(ports(side), Split::Load);
    let (mut admissions, mut refusals) = (Vec::new(), Vec::new());
    let start = Instant::now();
    for (id, flow) in (0..).zip(&flows) {
        let start = Instant::now();
        let admitted = ledger.admit_as_asked(id, flow).is_ok();
        if admitted { &mut admissions } else { &mut refusals }.push(start.elapsed());
    }
    let total = start.elapsed();
    let memory = resident().saturating_sub(before);
    let refused = refusals.len();
    let mut last = admissions.split_off(admissions.len().saturating_sub(MEASURED));
    let mut removals = Vec::new();
    let admitted: Vec<u64> = (0..flows.len() as u64).filter(|id| ledger.flow(*id).is_some()).collect();
    for id in admitted.iter().rev().take(MEASURED) {
        let start = Instant::now();
        assert!(ledger.remove(*id).is_some());
        removals.push(start.elapsed());
    }
    println!(
        "{:8}  {:8}  {refused:7}  {:8.1} ms  {}  {}  {}  {}  {:4} MiB",
        flows.len(),
        side * side,
        total.as_secs_f64() * 1e3,
        microseconds(&mut last, 500),
        microseconds(&mut last, 990),
        microseconds(&mut refusals, 990),
        microseconds(&mut removals, 500),
        memory.div_ceil(1024)
    );
}

/// The time that so many of a thousand do not exceed.
fn microseconds(times: &mut [Duration], part: usize) -> String {
    times.sort_unstable();
    match times.get((times.len() * part / 1000).min(times.len().saturating_sub(1))) {
        Some(time) => format!("{:8.1} us", time.as_secs_f64() * 1e6),
        None => format!("{:>11}", "-"),
    }
}

/// Kibibytes of memory that the process has; 0 where that cannot be read.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn ports(side: usize) -> Vec<Port> {
    let switch = Port {
        rate: 1_000_000_000,
        propagation: 100 * NANOSECOND,
        least_multiplexing: MICROSECOND,
        most_multiplexing: 3 * MICROSECOND,
        keeps_order: true,
        queues: 8,
        best_effort: 1_538,
        control: None,
        tag: 0,
        largest_frame: 1_538,
        buffer: Buffer::Shared(1_000_000),
        imperfections: Imperfections::default(),
    };
    let host = Port { least_multiplexing: 0, most_multiplexing: 0, ..switch };
    (0..side * side).flat_map(|_| [switch, switch, switch, switch, switch, host]).collect()
}

/// A flow from a random host over up to four links between switches to another host.
fn flow(side: usize, random: &mut Random) -> Flow {
    let (mut x, mut y) = (random.below(side), random.below(side));
    let mut path = vec![(y * side + x) * PORTS + 5];
    let (right, down) = (random.below(2), random.below(2));
    for _ in 0..1 + random.below(4) {
        let across = random.below(2) == 0;
        path.push((y * side + x) * PORTS + if across { right } else { 2 + down });
        let step = |at: usize, forward: usize| (at + if forward == 0 { 1 } else { side - 1 }) % side;
        if across { x = step(x, right) } else { y = step(y, down) }
    }
    path.push((y * side + x) * PORTS + 4);
    path.dedup();
    let bytes = u32::try_from(if random.below(10) == 0 { random.below(20_000) } else { random.below(1_400) })
        .unwrap_or(0);
    let hop = |(index, port): (usize, &usize)| Hop { port: *port, parent: index.checked_sub(1) };
    let limit = (1 + random.below(20) as u64) * MILLISECOND;
    Flow {
        largest_message: bytes,
        smallest_message: bytes,
        framing: Framing::Udp { datagram: 1_472, ip: Ip::V4 },
        tag: 0,
        separation: [2, 5, 10, 20, 50, 100][random.below(6)] * MILLISECOND,
        maximum_separation: None,
        jitter: random.below(100) as u64 * MICROSECOND,
        emission: 0,
        slack: 0,
        policing: Policing::Gate { tick: NANOSECOND },
        tree: path.iter().enumerate().map(hop).collect(),
        subscribers: vec![Subscriber { hop: path.len() - 1, limit, maximum_separation: None }],
        importance: 0,
        bundle: None,
    }
}

/// Random numbers from a seed.
struct Random(testkit::random::Random);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below_u64(limit as u64)).unwrap_or(0)
    }
}
