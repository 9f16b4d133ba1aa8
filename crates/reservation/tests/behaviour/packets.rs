//! What is reserved for a flow lets all packets of its pairs through, as late and early as programs are: a bucket that shares no code with the plan.
use std::collections::BTreeMap;

use reservation::{Direction, Pair, Traffic, plan};
use testkit::random::Random;

use crate::needed::{MILLISECOND, OVERHEAD, WEST, end, pair};

const HEADERS: u64 = 20 + 8;
const SECOND: u64 = 1_000_000_000;

/// Bits and time in one number, so that nothing is rounded: a token is a bit in a nanosecond.
struct Bucket {
    tokens: i128,
    most: i128,
    rate: i128,
    at: u64,
}

impl Bucket {
    fn take(&mut self, at: u64, bytes: u64) -> bool {
        self.tokens = self.most.min(self.tokens + self.rate * i128::from(at - self.at));
        self.at = at;
        self.tokens -= i128::from(bytes) * 8 * i128::from(SECOND);
        self.tokens >= 0
    }
}

/// When a part sends: bursts as early as may be, then at its pace, each packet later than its turn by less than a separation of the part.
fn times(random: &mut Random, begin: u64, separation: u64, burst: u64, until: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut turn = begin;
    for number in 0.. {
        let at = if number < burst { begin } else { turn + random.below_u64(separation) };
        if number >= burst {
            turn += separation;
        }
        if at > until {
            break;
        }
        times.push(at);
    }
    times
}

#[test]
fn no_packet_of_a_pair_exceeds_what_is_reserved() {
    for seed in 0..400 {
        let mut random = Random::of_case(71, seed);
        let hosts = ["10.1.0.2", "10.1.0.3"];
        let pairs: Vec<Pair> = (0..random.range(1, 6) as u8)
            .map(|number| {
                let (from, to) = (random.below(2), 7_411 + 2 * random.below(2) as u16);
                let mut pair = pair(number, hosts[from], "10.3.0.2");
                if random.one_in(3) {
                    pair.from = end("10.3.0.2", 7_411);
                    pair.to = end(hosts[from], 7_411);
                } else {
                    pair.to.port = to;
                }
                pair.is_reliable = random.one_in(2);
                let traffic = Traffic {
                    size: random.range(1, 1_300) as u32,
                    separation: random.range(1, 200) * MILLISECOND / 2,
                    burst: random.range(1, 4) as u32,
                };
                pair.traffic = Ok(traffic);
                pair
            })
            .collect();
        let plan = plan(WEST, &pairs, &OVERHEAD);
        // All packets by from, to and port.
        let mut packets: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
        let until = 3 * SECOND;
        for pair in &pairs {
            let Traffic { size, separation, burst } = *pair.traffic.as_ref().unwrap();
            let forth = (pair.from.address, pair.to.address, pair.to.port);
            let back = (pair.to.address, pair.from.address, pair.from.port);
            let begin = random.below_u64(SECOND);
            let mut send = |way, bytes: u64, separation, burst: u64| {
                let of = times(&mut random, begin, separation, burst, until);
                packets.entry(way).or_default().extend(of.into_iter().map(|at| (at, bytes + HEADERS)));
            };
            send(forth, u64::from(size) + 152, separation, burst.into());
            if pair.is_reliable {
                send(forth, 108, separation, burst.into());
                send(forth, 108, 100 * MILLISECOND, 1);
                send(forth, u64::from(size) + 152, SECOND, 1);
                send(back, 108, separation, burst.into());
                send(back, 108, 100 * MILLISECOND, 1);
            }
        }
        for ((from, to), session) in &plan.sessions {
            for flow in &session.flows {
                let way = match flow.direction {
                    Direction::Forward => (*from, *to, flow.port),
                    Direction::Reverse => (*to, *from, flow.port),
                };
                let mut all =
                    packets.remove(&way).unwrap_or_else(|| panic!("seed {seed}: nothing goes {way:?}"));
                all.sort_unstable();
                let most = i128::from(flow.bucket) * 8 * i128::from(SECOND);
                let mut bucket = Bucket { tokens: most, most, rate: flow.rate.into(), at: 0 };
                for (at, bytes) in all {
                    assert!(bytes <= flow.largest_packet.into(), "seed {seed}: {bytes} in {flow:?}");
                    assert!(bucket.take(at, bytes), "seed {seed}: at {at} of {flow:?}");
                }
            }
        }
        for session in plan.sessions.values() {
            for (number, flow) in session.flows.iter().enumerate() {
                let parts: Vec<_> =
                    session.pairs.values().filter(|of| of.flow == number).map(|of| of.part).collect();
                // All writers together keep to the flow, and each has enough for its own samples.
                assert!(parts.iter().map(|part| part.rate).sum::<u64>() <= flow.rate, "seed {seed}");
                assert!(parts.iter().map(|part| part.bucket).sum::<u64>() <= flow.bucket, "seed {seed}");
                assert!(parts.iter().all(|part| part.largest_packet <= flow.largest_packet), "seed {seed}");
            }
            for (id, budget) in &session.pairs {
                let pair = pairs.iter().find(|pair| pair.id == *id).unwrap();
                let Traffic { size, separation, .. } = *pair.traffic.as_ref().unwrap();
                let least = (u64::from(size) + 152 + HEADERS) * 8 * SECOND / separation;
                assert!(budget.part.rate >= least, "seed {seed}: {budget:?}");
                assert!(u64::from(budget.part.largest_packet) >= u64::from(size) + 152 + HEADERS);
            }
        }
        // What is left goes the other way, or acknowledges that: the other domain reserves for it.
        for way in packets.into_keys() {
            let is_data = pairs.iter().any(|pair| (pair.from.address, pair.to.address, pair.to.port) == way);
            assert!(
                !is_data || way.0 == end("10.3.0.2", 0).address,
                "seed {seed}: nothing is reserved for {way:?}"
            );
        }
    }
}
