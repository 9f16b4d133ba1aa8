//! Where the test of MIDAS (its equation 4) does not hold, in figures: `cargo run --package punctual-latency --example midas`.
//!
//! What the paper says is computed as in the paper, with fractions; what holds comes from the crate.
#![allow(clippy::unwrap_used, reason = "a program for the developer")]

use latency::busy::busy_period_delay;
use latency::framing::{Framing, Ip};
use latency::linear::linear_delay;
use latency::port::{Arrival, Contender, Server};
use latency::units::{MILLISECOND, SECOND};

const GIGABIT: u64 = 1_000_000_000;
/// The largest frame on the wire, in bits.
const FRAME: u64 = 12_304;
/// Bytes, separation and limit in milliseconds of T1, T2, T3.
const TABLE_TWO: [(u32, u64, u64); 3] = [(192_192, 3, 2), (96_000, 3, 3), (64_000, 11, 8)];

fn main() {
    table_two();
    one_queue();
    first_message();
    contraction();
    order();
}

/// A flow as equation 4 sees it: milliseconds of a message, and what counts as its share of the link.
#[derive(Clone, Copy)]
struct Simple {
    time: f64,
    share: f64,
}

/// Equation 4 and the transmission: the latency of a message behind those of higher priority.
fn equation_four(own: Simple, higher: &[Simple]) -> f64 {
    let share: f64 = higher.iter().map(|other| other.share).sum();
    let work: f64 = higher.iter().map(|other| other.time * (1.0 - other.share)).sum();
    (own.time + work) / (1.0 - share)
}

fn table_two() {
    println!("Table II, T1 above T2 above T3; limits 2, 3, 8 ms; in ms\n");
    // Bytes per second where a share is meant.
    let printed = TABLE_TWO.map(|(bytes, separation, _)| Simple {
        time: f64::from(bytes) * 8.0 / 1e6,
        share: f64::from(bytes) / (separation as f64 / 1e3),
    });
    let repaired = printed.map(|flow| Simple { share: flow.share * 8.0 / 1e9, ..flow });
    for (what, flows) in [("equation 4 as printed", printed), ("equation 4, units repaired", repaired)] {
        row(what, [0, 1, 2].map(|flow| equation_four(flows[flow], &flows[..flow])));
    }
    let quiet = Server::new(GIGABIT, 0);
    let bits = |flow: usize| u64::from(TABLE_TWO[flow].0) * 8;
    let payload = [0, 1, 2].map(|flow| messages(flow, bits(flow), 0));
    let delays = |server: &Server, flows: &[Contender; 3]| {
        [2, 1, 0].map(|level| milliseconds(busy_period_delay(server, flows, level).unwrap()))
    };
    row("behind meters (token buckets), the same sum", {
        let buckets = payload.map(|flow| Contender {
            arrival: Arrival::Bucket {
                burst: flow.arrival.burst().unwrap(),
                rate: flow.arrival.rate().unwrap(),
            },
            ..flow
        });
        [2, 1, 0].map(|level| milliseconds(linear_delay(&quiet, &buckets, level).unwrap()))
    });
    row("behind gates, exactly", delays(&quiet, &payload));
    let wire = [0, 1, 2].map(|flow| messages(flow, wire_bits(flow), FRAME));
    let busy = Server { best_effort: FRAME, ..quiet };
    // A frame until the switch has it: first in the port of its host.
    let stored = delays(&busy, &wire).map(|delay| delay + FRAME as f64 / 1e6);
    row("and frames, headers, best effort, the first hop", stored);
    println!(
        "\nAs printed the unit is octets per second, and any order of priorities passes: T1 below T2 and T3 gets {:.3} ms,\n\
         less than its transmission takes. Repaired it refuses the paper's own experiment (T2), and behind meters it\n\
         promises less than T2 and T3 may need. Behind gates all three can be admitted.",
        equation_four(printed[0], &printed[1..])
    );
}

fn one_queue() {
    let mut flows = [0, 1, 2].map(|flow| messages(flow, wire_bits(flow), FRAME));
    flows[1].level = flows[0].level;
    let server = Server::new(GIGABIT, FRAME);
    let together = busy_period_delay(&server, &flows, flows[0].level).unwrap() + FRAME * 1_000;
    println!(
        "\nT1 and T2 in one queue: equation 4 looks at higher priorities only and leaves T1 1.538 ms; it may need {:.3} of 2 ms.",
        milliseconds(together)
    );
}

/// The counter-example of Davis, Burns, Bril and Lukkien (2007).
fn first_message() {
    let server = Server::new(1_000, 0);
    let message = |level, halves: u64| Contender {
        level,
        arrival: Arrival::Messages { bits: 1_000, separation: halves * SECOND / 2, jitter: 0 },
        smallest_frame: 1_000,
        largest_frame: 1_000,
        ingress: None,
    };
    let flows = [message(2, 5), message(1, 7), message(0, 7)];
    let [first, second, third] =
        [2, 1, 0].map(|level| busy_period_delay(&server, &flows, level).unwrap() as f64 / SECOND as f64);
    println!(
        "\nFrames of 1, every 2.5, 3.5 and 3.5: delays {first}, {second}, {third}. The first message of the third flow waits\n\
         3.0 only; its second one waits longest."
    );
}

fn contraction() {
    // T1 with a limit of 12 ms over two switches: half of it is taken off the separation of 3 ms behind the first one.
    let [t1, _, t3] =
        TABLE_TWO.map(|(bytes, separation, _)| (f64::from(bytes) * 8.0 / 1e6, separation as f64));
    let share = 6.0;
    let contracted = t1.1 - share;
    let higher = Simple { time: t1.0, share: t1.0 / contracted };
    let claimed = equation_four(Simple { time: t3.0, share: 0.0 }, &[higher]);
    let unchanged =
        equation_four(Simple { time: t3.0, share: 0.0 }, &[Simple { share: t1.0 / t1.1, ..higher }]);
    let mut late = messages(0, u64::from(TABLE_TWO[0].0) * 8, 0);
    late.arrival = Arrival::Messages {
        bits: u64::from(TABLE_TWO[0].0) * 8,
        separation: 3 * MILLISECOND,
        jitter: 6 * MILLISECOND,
    };
    let below = messages(2, u64::from(TABLE_TWO[2].0) * 8, 0);
    let server = Server::new(GIGABIT, 0);
    let holds = busy_period_delay(&server, &[late, below], below.level).unwrap();
    println!(
        "\nT1 with a limit of 12 ms over two switches: its separation, contracted by 6 ms, is {contracted} ms at the second\n\
         one. Equation 4 then gives T3 below it {claimed:.3} ms, where it gives {unchanged:.3} ms without contraction; with 6 ms of\n\
         jitter T3 may need {:.3} ms.",
        milliseconds(holds)
    );
}

fn order() {
    println!(
        "\nA flow at level 3 goes to 5 and one at level 1 goes to 4. Lowest new level first puts the second at 4, above the\n\
         first at 3, which was above it and will be. How often: cargo test --package punctual-latency \\\n\
         every_state_between_is_safe -- --nocapture"
    );
}

fn messages(flow: usize, bits: u64, frame: u64) -> Contender {
    Contender {
        level: 2 - flow as u8,
        arrival: Arrival::Messages { bits, separation: TABLE_TWO[flow].1 * MILLISECOND, jitter: 0 },
        smallest_frame: frame,
        largest_frame: frame,
        ingress: None,
    }
}

fn wire_bits(flow: usize) -> u64 {
    Framing::Udp { datagram: 1_472, ip: Ip::V4 }.frames(TABLE_TWO[flow].0, 0).unwrap().bits
}

fn milliseconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / MILLISECOND as f64
}

fn row(what: &str, latencies: [f64; 3]) {
    let verdicts = latencies.iter().zip(TABLE_TWO).map(|(latency, (.., limit))| {
        format!("{latency:7.3}{}", if *latency <= limit as f64 { "    " } else { " > L" })
    });
    println!("  {what:<50}{}", verdicts.collect::<String>());
}
