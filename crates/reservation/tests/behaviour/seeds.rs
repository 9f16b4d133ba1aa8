//! Matches that come, change and go; a manager that refuses, loses questions and answers, ends sessions, and begins anew.
//!
//! The judge knows which matches there are, and looks at the manager: it shares no code with what it judges.
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use reservation::{
    Action, Answer, Bound, Budget, Direction, Ends, Flow, Kind, Limits, Listed, PairId, Part, Plan, Sessions,
    Share, Ticket, Verdict, Wanted,
};
use testkit::random::Random;
use wan::Class;

use crate::needed::MILLISECOND;

const SEEDS: u64 = 80;
const SECOND: u64 = 1_000 * MILLISECOND;
const TICK: u64 = 100 * MILLISECOND;
const LIMITS: Limits = Limits {
    settle: SECOND,
    spacing: 5 * SECOND,
    hold: 10 * SECOND,
    most_hold: 40 * SECOND,
    retry: SECOND,
    look: 10 * SECOND,
    lasts: 60 * SECOND,
    most_under_way: 3,
};
/// So long nothing fails and nothing changes, then all is as it should be.
const QUIET: u64 = 150 * SECOND;
/// Both directions of an address in one of the two.
const PLACES: u8 = 6;

/// What the manager holds.
#[derive(Clone, Debug)]
struct AtManager {
    ends: Ends,
    port: u16,
    until: u64,
    is_ours: bool,
}

/// A question, or an answer, that is on its way.
struct Letter {
    at: u64,
    ticket: Ticket,
    what: Content,
}

enum Content {
    Question(Action),
    Answer(Answer),
}

struct Run {
    random: Random,
    now: u64,
    sessions: Sessions,
    letters: Vec<Letter>,
    /// Events that are on their way: a session, and why it has ended.
    events: Vec<(u64, String, Option<String>)>,
    held: BTreeMap<String, AtManager>,
    names: u64,
    is_up: bool,
    /// The manager takes so many sessions at most.
    room: usize,
    /// What matches are there: by ends, with a port that changes.
    live: BTreeMap<u8, u16>,
    told: BTreeMap<PairId, Verdict>,
    /// Names that an answer has said.
    admitted: BTreeSet<String>,
    asked: BTreeMap<Ends, Vec<u64>>,
    faults: bool,
}

fn address(side: u8, number: u8) -> IpAddr {
    IpAddr::from([10, side, 0, number])
}

fn ends(place: u8) -> Ends {
    (address(1, place), address(3, place % 3))
}

fn pair(place: u8) -> PairId {
    PairId { writer: [place; 16], reader: [place + 100; 16] }
}

/// What a match needs; place 0 asks for what is never given.
fn wanted(place: u8, port: u16) -> Wanted {
    let flow = Flow {
        kind: Kind::Data,
        direction: Direction::Forward,
        port,
        class: Class::Ef,
        rate: if place == 0 { 1 << 40 } else { 1_000 },
        bucket: 100,
        largest_packet: 100,
        limit: 10 * MILLISECOND,
    };
    let share = Share { time: MILLISECOND, is_announced: true };
    let budget =
        Budget { flow: 0, latency: 12 * MILLISECOND, writer: share, reader: share, part: Part::default() };
    Wanted { flows: vec![flow], pairs: BTreeMap::from([(pair(place), budget)]) }
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random::of_case(49, seed);
        let room = if random.one_in(3) { 2 } else { 20 };
        // Of sessions that last long, only a look finds that they are gone.
        let lasts = if random.one_in(2) { LIMITS.lasts } else { 1_000 * SECOND };
        Self {
            random,
            now: SECOND,
            sessions: Sessions::new(Limits { lasts, ..LIMITS }),
            letters: Vec::new(),
            events: Vec::new(),
            held: BTreeMap::new(),
            names: 0,
            is_up: false,
            room,
            live: BTreeMap::new(),
            told: BTreeMap::new(),
            admitted: BTreeSet::new(),
            asked: BTreeMap::new(),
            faults: true,
        }
    }

    fn plan(&self) -> Plan {
        let sessions = self.live.iter().map(|(place, port)| (ends(*place), wanted(*place, *port)));
        Plan { sessions: sessions.collect(), reasons: BTreeMap::new() }
    }

    /// What the manager does with a question.
    fn manager(&mut self, action: &Action) -> Answer {
        match action {
            Action::Establish { ends, flows, lasts, .. } => {
                let ours = self.held.values().filter(|held| held.is_ours).count();
                if flows[0].rate > 1_000_000 || ours >= self.room {
                    return Answer::Refused("there is too little".into());
                }
                self.names += 1;
                let name = format!("s{}", self.names);
                let (port, until) = (flows[0].port, self.now + lasts);
                self.held.insert(name.clone(), AtManager { ends: *ends, port, until, is_ours: true });
                self.event(&name, None);
                Answer::Admitted {
                    session: name,
                    bounds: vec![Bound { flow: 0, delay: 7, loss: 0, rate: 1_000 }],
                }
            }
            Action::Stop { session, .. } => match self.held.remove(session) {
                Some(_) => {
                    self.event(session, Some("stopped"));
                    Answer::Done
                }
                None => Answer::Unknown,
            },
            Action::Extend { session, by, .. } => match self.held.get_mut(session) {
                Some(held) => {
                    held.until += by;
                    // A lost answer does not extend it twice.
                    assert!(held.until <= self.now + 2 * by + 10 * SECOND, "{session} outlives its watcher");
                    Answer::Done
                }
                None => Answer::Unknown,
            },
            Action::Look { .. } => {
                let ours = self.held.iter().filter(|(_, held)| held.is_ours);
                let list = ours.map(|(session, held)| Listed {
                    session: session.clone(),
                    caller: held.ends.0,
                    callees: vec![held.ends.1],
                    left: held.until - self.now,
                });
                Answer::Held(list.collect())
            }
            Action::Query { .. } => panic!("these needs have nothing in common"),
            Action::Tell(..) => panic!("nothing for a manager"),
        }
    }

    fn event(&mut self, session: &str, ended: Option<&str>) {
        if self.is_up {
            let late = self.random.range(0, 3) * TICK;
            self.events.push((self.now + late, session.to_owned(), ended.map(str::to_owned)));
        }
    }

    fn delay(&mut self) -> u64 {
        if self.random.one_in(10) { self.random.range(0, 40) * TICK } else { self.random.range(0, 3) * TICK }
    }

    /// Carries out what the sessions want, and judges what they tell.
    fn act(&mut self) {
        for action in self.sessions.take_actions() {
            let ticket = match &action {
                Action::Tell(id, verdict) => {
                    self.heard(*id, verdict.clone());
                    continue;
                }
                Action::Establish { ticket, ends, .. } => {
                    self.asked.entry(*ends).or_default().push(self.now);
                    *ticket
                }
                Action::Stop { ticket, .. }
                | Action::Extend { ticket, .. }
                | Action::Query { ticket, .. }
                | Action::Look { ticket } => *ticket,
            };
            let at = self.now + self.delay();
            self.letters.push(Letter { at, ticket, what: Content::Question(action) });
        }
        let open = self.letters.len();
        assert!(open <= LIMITS.most_under_way, "{open} are under way");
    }

    fn heard(&mut self, id: PairId, verdict: Verdict) {
        if let Verdict::Admitted { session, bound, .. } = &verdict {
            assert!(self.admitted.contains(session), "{session} was never admitted");
            assert_eq!(*bound, 7);
        }
        if verdict == Verdict::Over {
            assert!(self.told.remove(&id).is_some());
        } else {
            self.told.insert(id, verdict);
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.letters).into_iter().partition(|letter| letter.at <= now);
        self.letters = later;
        for letter in due {
            let is_lost = !self.is_up || self.faults && self.random.one_in(8);
            let answer = match letter.what {
                Content::Question(_) if is_lost => Answer::Lost("the connection has ended".into()),
                Content::Question(action) => {
                    let answer = self.manager(&action);
                    let at = self.now + self.delay();
                    self.letters.push(Letter { at, ticket: letter.ticket, what: Content::Answer(answer) });
                    continue;
                }
                // It was done all the same.
                Content::Answer(_) if is_lost => Answer::Lost("the connection has ended".into()),
                Content::Answer(answer) => answer,
            };
            if let Answer::Admitted { session, .. } = &answer {
                self.admitted.insert(session.clone());
            }
            self.sessions.answered(self.now, letter.ticket, answer);
            self.act();
        }
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.events).into_iter().partition(|(at, ..)| *at <= now);
        self.events = later;
        for (_, session, ended) in due {
            match ended {
                Some(why) => self.sessions.has_ended(self.now, &session, &why),
                None => self.sessions.has_begun(self.now, &session),
            }
            self.act();
        }
    }

    fn disturb(&mut self) {
        if self.random.one_in(30) {
            self.is_up = !self.is_up;
            if self.is_up {
                self.sessions.manager_is_here(self.now);
            } else {
                // Events are not kept for who is not there.
                self.events.clear();
                self.sessions.manager_is_away(self.now);
            }
        }
        if self.random.one_in(40)
            && let Some(name) = self.held.keys().nth(self.random.below(self.held.len().max(1))).cloned()
            && self.held[&name].is_ours
        {
            self.held.remove(&name);
            self.event(&name, Some("a link is full"));
        }
    }

    fn matches(&mut self) {
        let place = self.random.below(PLACES.into()) as u8;
        match self.random.below(3) {
            0 => drop(self.live.remove(&place)),
            1 => drop(self.live.insert(place, 7_411)),
            _ => {
                let port = 7_411 + 2 * self.random.below(3) as u16;
                self.live.entry(place).and_modify(|of| *of = port);
            }
        }
    }

    fn tick(&mut self) {
        self.now += TICK;
        let now = self.now;
        let over: Vec<String> =
            self.held.iter().filter(|(_, held)| held.until <= now).map(|(name, _)| name.clone()).collect();
        for name in over {
            self.held.remove(&name);
            self.event(&name, Some("its time is over"));
        }
        self.deliver();
        // Discovery tells what there is again and again.
        let plan = self.plan();
        self.sessions.wants(self.now, plan);
        self.act();
        self.sessions.timeout(self.now);
        self.act();
    }

    fn at_rest(&self, seed: u64) {
        // The manager holds one session for each match that it has room for, as it is now, and none without a match.
        let mut between = BTreeMap::new();
        for (name, held) in self.held.iter().filter(|(_, held)| held.is_ours) {
            let is_live =
                self.live.iter().any(|(place, port)| ends(*place) == held.ends && *port == held.port);
            assert!(is_live, "seed {seed}: {name} has no match: {held:?}");
            let other = between.insert(held.ends, name);
            assert!(other.is_none(), "seed {seed}: {name} and {other:?} are between the same");
        }
        let told: BTreeSet<PairId> = self.told.keys().copied().collect();
        assert_eq!(told, self.live.keys().map(|place| pair(*place)).collect(), "seed {seed}");
        for place in self.live.keys() {
            match (&self.told[&pair(*place)], between.get(&ends(*place))) {
                (Verdict::Admitted { session, .. }, Some(name)) => assert_eq!(session, *name, "seed {seed}"),
                (Verdict::Without(why), None) => {
                    assert_eq!(why, "there is too little", "seed {seed}: {place}")
                }
                // It may be asked for again at this moment.
                (Verdict::Pending, None) if *place == 0 || self.live.len() > self.room => {}
                (told, held) => panic!("seed {seed}: place {place} is told {told:?}, and has {held:?}"),
            }
        }
        let possible = self.live.keys().filter(|place| **place != 0).count().min(self.room);
        assert_eq!(between.len(), possible, "seed {seed}: not all that has room is there");
        let foreign = self.held.values().filter(|held| !held.is_ours).count();
        assert_eq!(foreign, 1, "seed {seed}: a session of another user is left alone");
    }

    fn no_storm(&self, seed: u64) {
        for (ends, times) in &self.asked {
            for two in times.windows(2) {
                assert!(two[1] - two[0] >= LIMITS.spacing, "seed {seed}: {ends:?} at {two:?}");
            }
        }
    }
}

#[test]
fn each_match_has_a_session_or_a_reason_and_no_session_is_without_a_match() {
    let mut seen = [0_u64; 3];
    for seed in 0..SEEDS {
        let mut run = Run::new(seed);
        // Another user has a session between the same addresses, and what this program had before it was killed is there, too.
        let (of, until) = (ends(1), u64::MAX);
        run.held.insert("other".to_owned(), AtManager { ends: of, port: 9, until, is_ours: false });
        run.held.insert("old".to_owned(), AtManager { ends: of, port: 7_411, until, is_ours: true });
        for _ in 0..2 {
            run.faults = true;
            for _ in 0..run.random.range(50, 600) {
                run.disturb();
                run.act();
                if run.random.one_in(15) {
                    run.matches();
                }
                run.tick();
            }
            run.faults = false;
            if !run.is_up {
                run.is_up = true;
                run.sessions.manager_is_here(run.now);
            }
            let end = run.now + QUIET;
            while run.now < end {
                run.tick();
            }
            run.at_rest(seed);
        }
        // It ends: nothing is left.
        run.live.clear();
        let end = run.now + 30 * SECOND;
        while !(run.sessions.is_idle() && run.now > end) && run.now < end + QUIET {
            run.tick();
        }
        run.at_rest(seed);
        run.no_storm(seed);
        seen[0] += run.admitted.len() as u64;
        seen[1] += run.asked.values().map(|times| times.len() as u64).sum::<u64>();
        seen[2] += run.names - run.admitted.len() as u64;
    }
    assert!(seen.iter().all(|count| *count > SEEDS), "{seen:?}");
}
