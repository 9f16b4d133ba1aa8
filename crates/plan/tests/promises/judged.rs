//! Random networks are planned, and nothing of what the plans promise may be exceeded.
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use plan::{Arguments, WRONG};
use serde_json::Value;

use crate::attack::Attacker;
use crate::claims::planned;
use crate::command::{Folder, arguments, run};
use crate::draw::Draw;
use crate::drawn::Drawn;

/// How many runs an attack has, and how many subscribers of a network are attacked.
const RUNS: u64 = 16;
const TARGETS: usize = 2;

/// What became of some networks.
#[derive(Default)]
struct Tally {
    networks: u64,
    /// Plans that would be more work than is allowed.
    too_much: u64,
    admitted: u64,
    refused: u64,
    runs: u64,
    carried: u64,
    /// Bounds over what was found.
    ratios: Vec<f64>,
    wrong: Vec<(u64, Vec<String>)>,
}

/// Plans a network; `None` if that would be too much work.
pub(crate) fn report(seed: u64, drawn: &Drawn, folder: &Folder, certify: bool) -> Option<Value> {
    let file = folder.file("network.toml", &drawn.text());
    let (code, out, told) = run(&Arguments { json: true, certify, ..arguments(&file) });
    if code == WRONG && told.contains("takes more than") {
        return None;
    }
    assert_ne!(code, WRONG, "{told}\n{}", drawn.text());
    let report: Value = serde_json::from_str(&out).unwrap();
    if certify {
        let wrong = report["certificates"]["wrong"].as_array().unwrap();
        assert!(wrong.is_empty(), "PROMISES_SEED={seed}: {wrong:?}\n{}", drawn.text());
    }
    Some(report)
}

/// Limits as tight as the plan allows, for some flows: those that were admitted have their bounds, others what they were offered.
fn tighten(drawn: &mut Drawn, report: &Value, draw: &mut Draw) {
    for index in 0..drawn.flows.len() {
        let name = drawn.flow_name(index);
        let flow = report["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == *name).unwrap();
        if draw.one_in(3) {
            continue;
        }
        for (host, limit) in &mut drawn.flows[index].subscribers {
            let host = format!("h{host}");
            let mut all = flow["subscribers"].as_array().unwrap().iter();
            let bound = all.find(|subscriber| subscriber["host"] == *host).unwrap()["bound_ps"].as_u64();
            let least = bound.or(flow["offered_latency_ps"].as_u64());
            *limit = least.map_or(*limit, |least| least.max(1));
        }
    }
}

impl Tally {
    fn judge(&mut self, seed: u64, folder: &Folder) {
        let mut drawn = Drawn::of(seed);
        let mut draw = Draw::new(!seed);
        self.networks += 1;
        let Some(mut plan) = report(seed, &drawn, folder, false) else {
            self.too_much += 1;
            return;
        };
        if draw.one_in(2) {
            tighten(&mut drawn, &plan, &mut draw);
            let Some(tight) = report(seed, &drawn, folder, draw.one_in(8)) else {
                self.too_much += 1;
                return;
            };
            plan = tight;
        }
        self.refused += plan["refused"].as_u64().unwrap();
        let planned = planned(&drawn, &plan);
        self.admitted += planned.claims.len() as u64;
        let attacker = Attacker::new(&drawn, &planned, &mut draw);
        let subscribers = planned.claims.iter().enumerate().flat_map(|(stream, claim)| {
            let bounds = claim.bounds.iter().enumerate();
            bounds.filter_map(move |(hop, bound)| bound.map(|bound| (stream, hop, bound)))
        });
        let mut subscribers: Vec<(usize, usize, u64)> = subscribers.collect();
        for _ in 0..TARGETS.min(subscribers.len()) {
            let (stream, hop, bound) = subscribers.swap_remove(draw.place(subscribers.len()));
            let found = attacker.attack(stream, hop, RUNS, &mut draw);
            self.runs += found.runs;
            self.carried += found.carried;
            self.ratios.push(bound as f64 / found.worst.max(1) as f64);
            if !found.wrong.is_empty() {
                println!("PROMISES_SEED={seed}: {:#?}\n{}\n{plan:#}", found.wrong, drawn.text());
                self.wrong.push((seed, found.wrong));
                return;
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.networks += other.networks;
        self.too_much += other.too_much;
        self.admitted += other.admitted;
        self.refused += other.refused;
        self.runs += other.runs;
        self.carried += other.carried;
        self.ratios.extend(other.ratios);
        self.wrong.extend(other.wrong);
    }
}

/// On all cores; tells now and then how far it has come.
fn judge_all(seeds: Range<u64>) -> Tally {
    const STEP: u64 = 10_000;
    let next = AtomicU64::new(seeds.start);
    let part = || {
        let folder = Folder::new();
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return tally;
            }
            let done = seed - seeds.start;
            if done > 0 && done.is_multiple_of(STEP) {
                println!("{done} networks; from here on: PUNCTUAL_SEED={seed}");
            }
            tally.judge(seed, &folder);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        parts.into_iter().for_each(|part| tally.add(part.join().unwrap()));
    });
    tally
}

#[test]
fn nothing_is_worse_than_promised() {
    let one = std::env::var("PROMISES_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let mut tally =
        judge_all(one.map_or_else(|| tiers::current().seeds("plan.promises"), |seed| seed..seed + 1));
    tally.ratios.sort_by(f64::total_cmp);
    let at = |share: f64| tally.ratios[((tally.ratios.len() - 1) as f64 * share) as usize];
    println!(
        "{} networks, {} of them too much work to plan; {} flows admitted, {} refused; {} runs, {} frames at ends of hops; bound / worst: \
         median {:.3}, 95 of 100 {:.2}",
        tally.networks,
        tally.too_much,
        tally.admitted,
        tally.refused,
        tally.runs,
        tally.carried,
        at(0.5),
        at(0.95)
    );
    assert!(
        tally.wrong.is_empty(),
        "{} networks: {:#?}",
        tally.wrong.len(),
        tally.wrong.iter().take(5).collect::<Vec<_>>()
    );
    assert!(tally.admitted > tally.networks && tally.too_much * 10 < tally.networks);
}
