//! Needs that change while a session is held: a pair that needs the same as before keeps what it has, whether there is room for the change or not.
//!
//! The judge is the manager: it knows what it holds, and sees when the flow of the pair that stays is in no session.
use std::collections::BTreeMap;
use std::net::IpAddr;

use reservation::{
    Action, Answer, Bound, Budget, Change, Direction, Ends, Flow, Kind, Limits, Listed, PairId, Part, Plan,
    Sessions, Share, Ticket, Verdict, Wanted,
};
use testkit::random::Random;
use wan::Class;

use crate::needed::MILLISECOND;

const SEEDS: u64 = 150;
const SECOND: u64 = 1_000 * MILLISECOND;
const TICK: u64 = 100 * MILLISECOND;
const LIMITS: Limits = Limits {
    settle: SECOND,
    spacing: 5 * SECOND,
    hold: 5 * SECOND,
    most_hold: 20 * SECOND,
    retry: SECOND,
    look: 10 * SECOND,
    lasts: 60 * SECOND,
    most_under_way: 3,
};
const QUIET: u64 = 60 * SECOND;
/// The pair that stays, and what it needs.
const STAYS: (u8, u16, u64) = (1, 7_411, 1_000);
/// The pair whose need changes.
const VARIES: (u8, u16) = (2, 7_413);

fn ends() -> Ends {
    (IpAddr::from([10, 1, 0, 2]), IpAddr::from([10, 3, 0, 2]))
}

fn pair(number: u8) -> PairId {
    PairId { writer: [number; 16], reader: [number + 100; 16] }
}

fn flow(port: u16, rate: u64) -> Flow {
    Flow {
        kind: Kind::Data,
        direction: Direction::Forward,
        port,
        class: Class::Ef,
        rate,
        bucket: 400,
        largest_packet: 400,
        limit: 10 * MILLISECOND,
    }
}

fn plan(varying: u64) -> Plan {
    let share = Share { time: MILLISECOND, is_announced: true };
    let latency = 12 * MILLISECOND;
    let budget = |flow| Budget { flow, latency, writer: share, reader: share, part: Part::default() };
    let mut wanted =
        Wanted { flows: vec![flow(STAYS.1, STAYS.2)], pairs: BTreeMap::from([(pair(STAYS.0), budget(0))]) };
    if varying > 0 {
        wanted.flows.push(flow(VARIES.1, varying));
        wanted.pairs.insert(pair(VARIES.0), budget(1));
    }
    Plan { sessions: BTreeMap::from([(ends(), wanted)]), reasons: BTreeMap::new() }
}

enum Content {
    Question(Action),
    Answer(Answer),
}

struct Run {
    seed: u64,
    random: Random,
    now: u64,
    sessions: Sessions,
    letters: Vec<(u64, Ticket, Content)>,
    capacity: u64,
    /// What others hold.
    others: u64,
    /// Flows by session.
    held: BTreeMap<String, Vec<Flow>>,
    /// All that ever were.
    known: BTreeMap<String, Vec<Flow>>,
    told: BTreeMap<PairId, Verdict>,
    varying: u64,
    /// The largest answer about room since the last session that was set up.
    free_told: u64,
    /// What was held before the pair that stays lost it, and requests since.
    gap: Option<(Vec<Flow>, u32)>,
    /// Gaps, changes that were refused for want of room, and those that were refused though there had been room.
    counts: [u64; 3],
    asked: Vec<u64>,
}

fn rate(flows: &[Flow]) -> u64 {
    flows.iter().map(|flow| flow.rate).sum()
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random::of_case(60, seed);
        let capacity = random.range(2, 12) * 1_000;
        let mut sessions = Sessions::new(LIMITS);
        sessions.manager_is_here(SECOND);
        Self {
            seed,
            random,
            now: SECOND,
            sessions,
            letters: Vec::new(),
            capacity,
            others: 0,
            held: BTreeMap::new(),
            known: BTreeMap::new(),
            told: BTreeMap::new(),
            varying: 0,
            free_told: 0,
            gap: None,
            counts: [0; 3],
            asked: Vec::new(),
        }
    }

    fn free(&self) -> u64 {
        self.capacity - self.others - self.held.values().map(|flows| rate(flows)).sum::<u64>()
    }

    fn has_what_stays(&self) -> bool {
        self.held.values().flatten().any(|flow| flow.port == STAYS.1)
    }

    fn manager(&mut self, action: Action) -> Answer {
        let seed = self.seed;
        match action {
            Action::Establish { flows, .. } => {
                assert!(self.held.is_empty(), "seed {seed}: flows are in two sessions");
                let refused = self.free() < rate(&flows);
                if let Some((before, requests)) = &mut self.gap {
                    *requests += 1;
                    assert!(*requests <= 2, "seed {seed}: a gap lasts");
                    // What was refused is followed by what was held before, and by nothing else.
                    assert!(*requests == 1 || flows == *before, "seed {seed}: {flows:?} for {before:?}");
                    self.counts[2] += u64::from(refused);
                }
                if refused {
                    return Answer::Refused("there is too little".into());
                }
                let name = format!("s{}", self.known.len());
                let bounds =
                    (0..flows.len()).map(|flow| Bound { flow, delay: 7, loss: 0, rate: flows[flow].rate });
                let answer = Answer::Admitted { session: name.clone(), bounds: bounds.collect() };
                self.known.insert(name.clone(), flows.clone());
                self.held.insert(name, flows);
                (self.gap, self.free_told) = (None, 0);
                answer
            }
            Action::Stop { session, .. } => {
                let Some(flows) = self.held.remove(&session) else { return Answer::Unknown };
                self.gap = Some((flows, 0));
                self.counts[0] += 1;
                Answer::Done
            }
            Action::Extend { .. } => Answer::Done,
            Action::Query { ends: between, class, .. } => {
                assert_eq!((between, class), (ends(), Class::Ef));
                self.free_told = self.free_told.max(self.free());
                Answer::Free(self.free())
            }
            Action::Look { .. } => {
                let listed = |session: &String| Listed {
                    session: session.clone(),
                    caller: ends().0,
                    callees: vec![ends().1],
                    left: 30 * SECOND,
                };
                Answer::Held(self.held.keys().map(listed).collect())
            }
            Action::Tell(..) => panic!("nothing for a manager"),
        }
    }

    fn act(&mut self) {
        for action in self.sessions.take_actions() {
            let ticket = match &action {
                Action::Tell(id, verdict) => {
                    self.judge(*id, verdict);
                    self.told.insert(*id, verdict.clone());
                    continue;
                }
                Action::Establish { ticket, .. } => {
                    self.asked.push(self.now);
                    *ticket
                }
                Action::Stop { ticket, session } => {
                    // What serves the pair that stays is given up only for what there seemed to be room for.
                    let seed = self.seed;
                    let more = (STAYS.2 + self.varying).saturating_sub(rate(&self.held[session]));
                    assert!(
                        self.free_told >= more,
                        "seed {seed}: {more} more without a look at what is free"
                    );
                    *ticket
                }
                Action::Extend { ticket, .. } | Action::Query { ticket, .. } | Action::Look { ticket } => {
                    *ticket
                }
            };
            let at = self.now + self.random.range(0, 3) * TICK;
            self.letters.push((at, ticket, Content::Question(action)));
        }
    }

    /// What a pair is told is reserved for it.
    fn judge(&mut self, id: PairId, verdict: &Verdict) {
        let seed = self.seed;
        match verdict {
            Verdict::Admitted { session, bound, .. } => {
                let (port, needed) =
                    if id == pair(STAYS.0) { (STAYS.1, STAYS.2) } else { (VARIES.1, self.varying) };
                let reserved = self.known[session].iter().find(|flow| flow.port == port);
                assert!(reserved.is_some_and(|flow| flow.rate >= needed), "seed {seed}: {port} in {session}");
                assert_eq!(*bound, 7);
            }
            Verdict::Without(why) => {
                self.counts[1] += u64::from(why.contains("is kept for what was there before"));
            }
            Verdict::Pending | Verdict::Over => {}
        }
    }

    fn tick(&mut self, changes: bool) {
        self.now += TICK;
        // Others change what they hold while this program holds something: what is given up for a moment is not what is judged.
        if changes && self.has_what_stays() && self.random.one_in(10) {
            let most = self.free() + self.others;
            self.others = self.random.below_u64(most / 500 + 1) * 500;
        }
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.letters).into_iter().partition(|(at, ..)| *at <= now);
        self.letters = later;
        for (_, ticket, content) in due {
            match content {
                Content::Question(action) => {
                    let answer = self.manager(action);
                    let at = now + self.random.range(0, 3) * TICK;
                    self.letters.push((at, ticket, Content::Answer(answer)));
                }
                Content::Answer(answer) => self.sessions.answered(now, ticket, answer),
            }
            self.act();
        }
        if changes && self.random.one_in(40) {
            self.varying = self.random.below_u64(10) * 1_000;
        }
        self.sessions.wants(now, plan(self.varying));
        self.act();
    }
}

#[test]
fn a_pair_keeps_its_session_while_the_need_of_another_one_grows_and_shrinks() {
    let mut counts = [0; 3];
    for seed in 0..SEEDS {
        let mut run = Run::new(seed);
        let until = run.now + 10 * SECOND;
        while run.now < until {
            run.tick(false);
        }
        assert!(run.has_what_stays(), "seed {seed}: the first session");
        for _ in 0..3 {
            for _ in 0..run.random.range(100, 600) {
                run.tick(true);
            }
            let until = run.now + QUIET;
            while run.now < until {
                run.tick(false);
            }
            // All is as it can be.
            let needed = STAYS.2 + run.varying;
            let fits = needed <= run.capacity - run.others;
            let stays = &run.told[&pair(STAYS.0)];
            assert!(matches!(stays, Verdict::Admitted { .. }), "seed {seed}: {stays:?}");
            assert!(run.has_what_stays(), "seed {seed}");
            if fits {
                assert_eq!(rate(run.held.values().next().unwrap()), needed, "seed {seed}");
            }
            if run.varying > 0 && fits {
                let told = &run.told[&pair(VARIES.0)];
                assert!(matches!(told, Verdict::Admitted { .. }), "seed {seed}: {told:?}");
            }
            if run.varying > 0 && !fits {
                let told = &run.told[&pair(VARIES.0)];
                let has_all =
                    run.held.values().flatten().any(|of| of.port == VARIES.1 && of.rate >= run.varying);
                assert!(has_all || matches!(told, Verdict::Without(_)), "seed {seed}: {told:?}");
            }
        }
        // A change that is refused and what takes its place are one request.
        for three in run.asked.windows(3) {
            assert!(three[2] - three[0] >= LIMITS.spacing, "seed {seed}: {three:?}");
        }
        counts = [0, 1, 2].map(|of| counts[of] + run.counts[of]);
    }
    assert!(counts.iter().all(|count| *count > SEEDS / 10), "{counts:?}");
}

#[test]
fn a_flow_that_goes_another_way_has_the_bound_of_that() {
    let mut run = Run::new(0);
    let until = run.now + 10 * SECOND;
    while run.now < until {
        run.tick(false);
    }
    let session = run.held.keys().next().unwrap().clone();
    let mut told = |change: Change| {
        run.sessions.has_changed(run.now, &session, change);
        let told = run.sessions.take_actions().into_iter().find_map(|action| match action {
            Action::Tell(_, verdict) => Some(verdict),
            _ => None,
        });
        match told.expect("it is told") {
            Verdict::Admitted { bound, way, .. } => (bound, way.detours, way.has_one_copy_left),
            other => panic!("{other:?}"),
        }
    };
    let change = Change { flow: 0, is_detour: false, has_one_copy_left: None, delay: None, loss: None };
    assert_eq!(told(Change { is_detour: true, delay: Some(9), ..change }), (9, 1, false));
    assert_eq!(told(Change { has_one_copy_left: Some(true), ..change }), (9, 1, true));
    // The other copy may be the slower one still.
    assert_eq!(told(Change { has_one_copy_left: Some(false), delay: Some(8), ..change }), (9, 1, false));
    assert_eq!(told(Change { is_detour: true, delay: Some(6), ..change }), (6, 2, false));
    // Of a way beyond the limit there is no bound to tell.
    run.sessions.has_changed(run.now, &session, Change { is_detour: true, delay: Some(SECOND), ..change });
    let actions = run.sessions.take_actions();
    assert!(
        actions.iter().any(|action| matches!(action, Action::Tell(_, Verdict::Without(_)))),
        "{actions:?}"
    );
}
