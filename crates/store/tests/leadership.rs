//! The leadership under pauses, lost answers, slow and fast clocks, and a store that goes away: from seeds, on virtual time.
//!
//! The store is a model of what etcd does with leases, keys and transactions that compare; it shares no code with what is tested.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use store::leadership::{Answer, Ask, Leadership, Standing};
use testkit::random::Random;

const MILLISECOND: u64 = 1_000_000;
/// The length of a lease that the store gives, in nanoseconds, and what it may be late with ending one.
const LEASE: u64 = 2_000 * MILLISECOND;
const LATE: u64 = 500 * MILLISECOND;

/// The store: its leases, the key, and what was written.
#[derive(Default)]
struct Model {
    revision: i64,
    /// Lease, and when it ends.
    leases: Vec<(i64, u64)>,
    /// Lease and revision of the key.
    key: Option<(i64, i64)>,
    /// The revision of the key of who wrote last.
    written: i64,
}

impl Model {
    fn expire(&mut self, now: u64) {
        let ended: Vec<i64> =
            self.leases.iter().filter(|(_, until)| *until <= now).map(|(lease, _)| *lease).collect();
        self.leases.retain(|(lease, _)| !ended.contains(lease));
        if self.key.is_some_and(|(lease, _)| ended.contains(&lease)) {
            self.key = None;
        }
    }

    fn ask(&mut self, now: u64, random: &mut Random, ask: Ask) -> Answer {
        self.expire(now);
        self.revision += 1;
        let holder =
            |key: Option<(i64, i64)>| Answer::Holder(key.map(|(_, revision)| (revision, "x".to_owned())));
        let length = Duration::from_nanos(LEASE);
        let until = now + LEASE + random.below_u64(LATE);
        match ask {
            Ask::Look => holder(self.key),
            Ask::Grant => {
                self.leases.push((self.revision, until));
                Answer::Granted(self.revision, length)
            }
            Ask::Campaign(lease)
                if self.key.is_none() && self.leases.iter().any(|(known, _)| *known == lease) =>
            {
                self.key = Some((lease, self.revision));
                Answer::Won(self.revision)
            }
            // As a transaction that puts something under a lease that is not there: refused.
            Ask::Campaign(_) if self.key.is_none() => Answer::Unknown,
            Ask::Campaign(_) => holder(self.key),
            Ask::Renew(lease) => match self.leases.iter_mut().find(|(known, _)| *known == lease) {
                Some(found) => {
                    found.1 = until;
                    Answer::Renewed(Some(length))
                }
                None => Answer::Renewed(None),
            },
            Ask::Revoke(lease) => {
                self.leases.retain(|(known, _)| *known != lease);
                if self.key.is_some_and(|(of, _)| of == lease) {
                    self.key = None;
                }
                Answer::Revoked
            }
        }
    }

    /// A write that compares the key: whether it counts.
    fn write(&mut self, now: u64, of: i64) -> bool {
        self.expire(now);
        let counts = self.key.is_some_and(|(_, revision)| revision == of);
        if counts {
            assert!(of >= self.written, "one that led before has written after the next one");
            self.written = of;
        }
        counts
    }
}

/// A process, with a clock of its own.
struct Process {
    machine: Leadership,
    /// Its clock runs at so many thousandths of the store's.
    rate: u64,
    /// It does nothing until then.
    paused: u64,
    /// What it was asked for: when it arrives at the store; and an answer: when it arrives here.
    asked: Option<(u64, Ask)>,
    answer: Option<(u64, Answer)>,
    /// As which leader it acts.
    acts: Option<i64>,
    /// A write on its way: when it arrives, and of which leader.
    writes: Option<(u64, i64)>,
}

impl Process {
    fn now(&self, now: u64) -> Duration {
        Duration::from_nanos(now / 1_000 * self.rate)
    }
}

struct Seen {
    terms: u64,
    counted: u64,
    fenced: u64,
    longest_gap: u64,
}

/// One history. Clocks of processes run from `slowest` to 1,250 thousandths of the store's.
fn run(seed: u64, slowest: u64, disturbed: bool) -> Seen {
    let mut random = Random::of_case(seed, slowest);
    let mut model = Model::default();
    let mut processes: Vec<Process> = (0..random.range(2, 4))
        .map(|_| Process {
            machine: Leadership::new(Duration::ZERO),
            rate: random.range(slowest, 1_250),
            paused: 0,
            asked: None,
            answer: None,
            acts: None,
            writes: None,
        })
        .collect();
    let mut away_until = 0;
    let mut seen = Seen { terms: 0, counted: 0, fenced: 0, longest_gap: 0 };
    let mut led_last = 0;
    let step = 5 * MILLISECOND;
    for now in (0..120_000 * MILLISECOND).step_by(usize::try_from(step).unwrap()) {
        let calm = now > 100_000 * MILLISECOND || !disturbed;
        if !calm && random.one_in(2_000) {
            away_until = now + random.below_u64(8_000) * MILLISECOND;
        }
        for process in &mut processes {
            if !calm && random.one_in(1_500) {
                process.paused = now + random.below_u64(5_000) * MILLISECOND;
            }
            // What is on the way arrives whether its sender is paused or not.
            if let Some((_, ask)) = process.asked.take_if(|(at, _)| *at <= now) {
                let lost = away_until > now || !calm && random.one_in(20);
                // A question that is lost, or an answer.
                let answer = match lost && random.one_in(2) || away_until > now {
                    true => Answer::Unknown,
                    false => model.ask(now, &mut random, ask),
                };
                let answer = if lost { Answer::Unknown } else { answer };
                let delay = if lost { 400 } else { random.range(1, 60) };
                process.answer = Some((now + delay * MILLISECOND, answer));
            }
            if let Some((_, of)) = process.writes.take_if(|(at, _)| *at <= now) {
                match model.write(now, of) {
                    true => seen.counted += 1,
                    false => {
                        seen.fenced += 1;
                        let own = process.now(now);
                        process.machine.is_fenced(own, of);
                    }
                }
            }
            if process.paused > now {
                continue;
            }
            let own = process.now(now);
            if let Some((_, answer)) = process.answer.take_if(|(at, _)| *at <= now) {
                process.machine.answered(own, answer);
            }
            match process.machine.standing(own) {
                Standing::Leads(revision) => {
                    if process.acts != Some(revision) {
                        seen.terms += 1;
                    }
                    process.acts = Some(revision);
                    if process.writes.is_none() {
                        // Some take long: they arrive when it may lead no longer.
                        let delay = if random.one_in(50) { random.below_u64(4_000) } else { 10 };
                        process.writes = Some((now + delay * MILLISECOND, revision));
                    }
                }
                Standing::Unsure(_) => process.acts = None,
                Standing::Idle => {
                    process.acts = None;
                    process.machine.stand_by(own);
                }
                Standing::StandsBy => process.acts = None,
            }
            if process.asked.is_none()
                && process.answer.is_none()
                && let Some(ask) = process.machine.poll_ask(own)
            {
                process.asked = Some((now + random.range(0, 40) * MILLISECOND, ask));
            }
        }
        // Two that act at the same time: one that is paused does not act, and finds that it may not when it wakes.
        let acting = processes.iter().filter(|process| {
            process.paused <= now
                && process.acts.is_some()
                && matches!(process.machine.standing(process.now(now)), Standing::Leads(_))
        });
        let acting: Vec<i64> = acting.filter_map(|process| process.acts).collect();
        if slowest >= 800 {
            assert!(acting.len() <= 1, "seed {seed}: two lead at {} ms: {acting:?}", now / MILLISECOND);
        }
        if !acting.is_empty() || now < 100_000 * MILLISECOND {
            led_last = now;
        }
        seen.longest_gap = seen.longest_gap.max(now - led_last);
    }
    seen
}

#[test]
fn two_never_lead_at_once_and_some_one_leads_soon_when_all_is_well() {
    let (mut terms, mut counted, mut fenced) = (0, 0, 0);
    for seed in tiers::current().seeds("control.lead_seeds") {
        let seen = run(seed, 800, true);
        assert!(seen.terms > 0 && seen.counted > 0, "seed {seed}: none leads");
        // The rest of a lease, what the store is late with, and pauses that had begun.
        assert!(
            seen.longest_gap < 10_000 * MILLISECOND,
            "seed {seed}: none leads for {} ms",
            seen.longest_gap / MILLISECOND
        );
        (terms, counted, fenced) = (terms + seen.terms, counted + seen.counted, fenced + seen.fenced);
    }
    // It happens what is to be judged.
    println!("{terms} terms, {counted} writes that count, {fenced} that do not");
    assert!(terms > 300 && fenced > 100, "{terms} {fenced}");
}

#[test]
fn writes_of_a_leader_whose_clock_is_far_too_slow_count_for_nothing_once_another_one_leads() {
    let mut fenced = 0;
    for seed in tiers::current().seeds("control.lead_seeds").take(100) {
        // The model asserts that writes that count are of leaders in their order.
        fenced += run(seed, 100, true).fenced;
    }
    assert!(fenced > 100, "{fenced}");
}

#[test]
fn who_leads_stays_when_nothing_is_wrong() {
    for seed in tiers::current().seeds("control.lead_seeds").take(100) {
        let seen = run(seed, 800, false);
        assert_eq!((seen.terms, seen.longest_gap), (1, 0), "seed {seed}");
    }
}

#[test]
fn who_resigns_gives_its_lease_back_and_the_next_one_need_not_wait() {
    let mut model = Model::default();
    let mut random = Random::of_case(1, 1);
    let mut machine = Leadership::new(Duration::ZERO);
    let mut now = 0;
    let mut turn = |machine: &mut Leadership, now: &mut u64| {
        *now += MILLISECOND;
        let own = Duration::from_nanos(*now);
        if let Some(ask) = machine.poll_ask(own) {
            let answer = model.ask(*now, &mut random, ask);
            machine.answered(own, answer);
        }
    };
    while !matches!(machine.standing(Duration::from_nanos(now)), Standing::Leads(_)) {
        turn(&mut machine, &mut now);
    }
    machine.resign(Duration::from_nanos(now));
    assert_eq!(machine.standing(Duration::from_nanos(now)), Standing::Idle);
    while machine.holds_lease() {
        turn(&mut machine, &mut now);
    }
    let mut other = Leadership::new(Duration::from_nanos(now));
    let began = now;
    while !matches!(other.standing(Duration::from_nanos(now)), Standing::Leads(_)) {
        turn(&mut other, &mut now);
    }
    assert!(now - began < 10 * MILLISECOND);
}
