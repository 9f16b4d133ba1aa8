//! Level assignment against all assignments, and the orders of Table II.

use crate::random::Random;
use latency::bound::planned_bound;
use latency::framing::{Framing, Ip};
use latency::levels::{Margin, NoLevels, assign, least_margin};
use latency::port::{Arrival, Contender, Ingress, Server};
use latency::units::{MICROSECOND, MILLISECOND, SECOND, rate_of};

const GIGABIT: u64 = 1_000_000_000;
const FRAME: u64 = 12_304;

fn random_port(random: &mut Random) -> (Server, Vec<Contender>, Vec<u64>) {
    let server = Server::new(GIGABIT, random.range(0, 1) * FRAME);
    let count = random.range(1, 5);
    let contenders = (0..count)
        .map(|_| {
            let largest_frame = random.range(672, FRAME);
            let bits = largest_frame * random.range(1, 20);
            let separation = bits * 1_000 * random.range(3, 30) + random.range(0, MICROSECOND);
            let jitter = random.range(0, 1) * random.range(0, separation);
            let arrival = match random.range(0, 3) {
                0 => Arrival::Bucket { burst: bits, rate: GIGABIT / random.range(4, 40) },
                _ => Arrival::Messages { bits, separation, jitter },
            };
            let ingress = (random.range(0, 2) == 0).then(|| Ingress {
                link: random.range(0, 1) as u32,
                rate: GIGABIT,
                variation: 0,
            });
            Contender {
                level: 0,
                arrival,
                smallest_frame: random.range(672, largest_frame),
                largest_frame,
                ingress,
            }
        })
        .collect();
    let limits = (0..count).map(|_| random.range(20, 1_000) * MICROSECOND).collect();
    (server, contenders, limits)
}

/// The fewest levels of any assignment that keeps all limits, by trying all.
fn by_trying_all(server: &Server, contenders: &[Contender], limits: &[u64]) -> Option<usize> {
    let count = contenders.len();
    let mut fewest = None;
    for code in 0..count.pow(count as u32) {
        let levels: Vec<u8> =
            (0..count).map(|place| (code / count.pow(place as u32) % count) as u8).collect();
        let used = (0..count as u8).filter(|level| levels.contains(level)).count();
        // Levels without gaps only: the others are the same assignments.
        if usize::from(*levels.iter().max().unwrap()) + 1 != used || fewest.is_some_and(|least| least <= used)
        {
            continue;
        }
        let mut placed = contenders.to_vec();
        placed.iter_mut().zip(&levels).for_each(|(flow, level)| flow.level = *level);
        if least_margin(server, &placed, limits).is_some() {
            fewest = Some(used);
        }
    }
    fewest
}

/// Whether levels are found if there are any, and the fewest; true if there are any.
fn is_as_by_trying_all(server: &Server, contenders: &[Contender], limits: &[u64], which: &str) -> bool {
    let fewest = by_trying_all(server, contenders, limits);
    let found = assign(server, contenders, limits, fewest.unwrap_or(5) as u8);
    let placed = |levels: &[u8]| {
        let mut placed = contenders.to_vec();
        placed.iter_mut().zip(levels).for_each(|(flow, level)| flow.level = *level);
        least_margin(server, &placed, limits)
    };
    match fewest {
        Some(_) => {
            let levels = found.unwrap_or_else(|error| panic!("{which}: {error:?}"));
            assert!(placed(&levels).is_some(), "{which}");
        }
        None => assert!(matches!(found, Err(NoLevels::Missed { .. })), "{which}: {found:?}"),
    }
    assert_eq!(latency::levels::fewest(server, contenders, limits).ok(), fewest, "{which}");
    if let Some(fewer) = fewest.filter(|fewest| *fewest > 1).map(|fewest| fewest - 1) {
        let refused = assign(server, contenders, limits, fewer as u8);
        assert_eq!(refused, Err(NoLevels::TooFewQueues { needed: fewer + 1 }), "{which}");
    }
    // Spare levels never make the least margin smaller.
    if let (Some(fewest), Ok(spare)) = (fewest, assign(server, contenders, limits, 8)) {
        let few = assign(server, contenders, limits, fewest as u8).unwrap();
        assert!(placed(&spare) >= placed(&few), "{which}");
    }
    fewest.is_some()
}

/// Gap 22: and with the fewest levels, because each is filled to its largest set.
#[test]
fn a_grouping_is_found_whenever_one_exists() {
    let (mut feasible, mut infeasible) = (0, 0);
    for seed in tiers::current().seeds("property.cases") {
        let (server, contenders, limits) = random_port(&mut Random::new(seed));
        let found = is_as_by_trying_all(&server, &contenders, &limits, &format!("seed {seed}"));
        if found { feasible += 1 } else { infeasible += 1 }
    }
    println!("{feasible} ports can keep all limits, {infeasible} cannot: as by trying all assignments");
    assert!(feasible > 20 && infeasible > 20, "{feasible} feasible, {infeasible} not");
}

/// What a flow of a small port may be: so many frames every so many frame times, late by so many, as messages or as a
/// bucket, with a limit in frame times.
#[derive(Clone, Copy, Debug)]
struct Kind {
    frames: u64,
    separation: u64,
    jitter: u64,
    bucket: bool,
    limit: u64,
}

impl Kind {
    fn contender(self) -> Contender {
        let bits = self.frames * FRAME;
        let separation = self.separation * FRAME * 1_000;
        let arrival = if self.bucket {
            Arrival::Bucket { burst: bits, rate: rate_of(bits, separation).unwrap() }
        } else {
            Arrival::Messages { bits, separation, jitter: self.jitter * FRAME * 1_000 }
        };
        Contender { level: 0, arrival, smallest_frame: FRAME, largest_frame: FRAME, ingress: None }
    }
}

/// Calls `with` for every choice of `count` of the kinds, repeated ones among them, in whichever order.
fn choices(kinds: &[Kind], count: usize, chosen: &mut Vec<Kind>, with: &mut impl FnMut(&[Kind])) {
    if count == 0 {
        return with(chosen);
    }
    for (index, kind) in kinds.iter().enumerate() {
        chosen.push(*kind);
        choices(&kinds[index..], count - 1, chosen, with);
        chosen.pop();
    }
}

/// All ports of up to three flows of 36 kinds, of four flows of 12 kinds, and of five flows of 4 kinds.
#[test]
fn every_small_port_is_grouped_as_by_trying_all() {
    let mut kinds = Vec::new();
    for limit in [4, 9, 20] {
        for (frames, separation) in [(1, 6), (2, 7), (3, 20)] {
            for (jitter, bucket) in [(0, false), (0, true), (3, false), (separation + 1, false)] {
                kinds.push(Kind { frames, separation, jitter, bucket, limit });
            }
        }
    }
    let (mut feasible, mut infeasible) = (0, 0);
    let server = Server::new(GIGABIT, FRAME);
    for (kinds, counts) in [
        (kinds.clone(), 1..=3),
        (kinds.iter().copied().step_by(3).collect(), 4..=4),
        (kinds.iter().copied().step_by(9).collect(), 5..=5),
    ] {
        for count in counts {
            choices(&kinds, count, &mut Vec::new(), &mut |chosen| {
                let contenders: Vec<Contender> = chosen.iter().map(|kind| kind.contender()).collect();
                let limits: Vec<u64> = chosen.iter().map(|kind| kind.limit * FRAME * 1_000).collect();
                let found = is_as_by_trying_all(&server, &contenders, &limits, &format!("{chosen:?}"));
                if found { feasible += 1 } else { infeasible += 1 }
            });
        }
    }
    println!("{feasible} small ports can keep all limits, {infeasible} cannot: as by trying all assignments");
    assert!(feasible > 1_000 && infeasible > 1_000, "{feasible} feasible, {infeasible} not");
}

fn table_two() -> (Server, Vec<Contender>, Vec<u64>) {
    let server = Server::new(GIGABIT, FRAME);
    let contenders = [(192_192, 3), (96_000, 3), (64_000, 11)]
        .map(|(bytes, separation)| Contender {
            level: 0,
            arrival: Arrival::Messages {
                bits: Framing::Udp { datagram: 1_472, ip: Ip::V4 }.frames(bytes, 0).unwrap().bits,
                separation: separation * MILLISECOND,
                jitter: 0,
            },
            smallest_frame: FRAME,
            largest_frame: FRAME,
            ingress: None,
        })
        .to_vec();
    (server, contenders, [2, 3, 8].map(|limit| limit * MILLISECOND).to_vec())
}

#[test]
fn table_two_needs_two_levels_and_spare_ones_give_three() {
    let (server, contenders, limits) = table_two();
    assert_eq!(assign(&server, &contenders, &limits, 2), Ok(vec![1, 0, 0]));
    assert_eq!(assign(&server, &contenders, &limits, 8), Ok(vec![2, 1, 0]));
    assert_eq!(assign(&server, &contenders, &limits, 1), Err(NoLevels::TooFewQueues { needed: 2 }));
}

/// Gap 2 once more: with token buckets alone no order of levels will do.
#[test]
fn table_two_by_token_buckets_is_refused_for_the_second_flow() {
    let (server, mut contenders, limits) = table_two();
    for flow in &mut contenders {
        flow.arrival =
            Arrival::Bucket { burst: flow.arrival.burst().unwrap(), rate: flow.arrival.rate().unwrap() };
    }
    let refused = assign(&server, &contenders, &limits, 8).unwrap_err();
    let NoLevels::Missed { level: 0, by: Some(by), .. } = refused else { panic!("{refused:?}") };
    assert!(by > 0);
}

#[test]
fn margins_compare_as_fractions() {
    assert!(Margin { left: 1, of: 3 } > Margin { left: 100, of: 400 });
    assert_eq!(least_margin(&table_two().0, &[], &[]), None);
    let (server, contenders, limits) = table_two();
    assert_eq!(assign(&server, &contenders, &limits[1..], 8), Err(NoLevels::Input));
    assert_eq!(assign(&server, &[], &[], 0), Ok(vec![]));
    let alone = planned_bound(&server, &contenders[..1], 0).unwrap();
    assert_eq!(alone.delay, 1_619_008_000);
    assert!(SECOND > alone.delay);
}
