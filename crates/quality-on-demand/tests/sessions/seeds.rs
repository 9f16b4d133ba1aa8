//! Random clients, a manager that is killed, answers and events that are lost, restarts: nothing is kept of what no client has, and no client is told
//! what is not so.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quality_on_demand::{Act, Answered, Client, ServiceFile, Session, Sessions, State, Uuid};
use serde_json::{Value, json};
use testkit::random::Random;
use wan_server::protocol::{SessionAsked, SessionStatus};

use crate::files::file;
use crate::machine::{NOW, admitted, asked, held, refused};

/// Runs of 250 steps.
const SEEDS: u64 = 500;

/// A question to the manager: what it has said to it, which arrives later.
struct Open {
    id: Uuid,
    question: SessionAsked,
    said: Option<Answered>,
}

/// A run: sessions, what is stored of them, and a manager that knows nothing of clients.
struct Run {
    random: Random,
    file: ServiceFile,
    sessions: Sessions,
    stored: BTreeMap<Uuid, Session>,
    now: u64,
    ids: u128,
    /// Questions whose answer has not arrived yet.
    open: Vec<Open>,
    /// Ends that the manager tells of by itself, and that have not arrived yet.
    events: VecDeque<(String, &'static str)>,
    /// A look at all sessions of the manager that is under way: its moment, and what the manager has said to it.
    look: Option<(u64, Option<Vec<SessionStatus>>)>,
    /// Sessions whose names have arrived with an answer, and those whose ends have.
    named: BTreeMap<String, Uuid>,
    heard: BTreeSet<String>,
    manager: Vec<SessionStatus>,
    names: u64,
    is_away: bool,
    /// What clients were told in notifications, in order.
    told: BTreeMap<String, Vec<String>>,
    stops: Vec<(Uuid, String)>,
    available: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut file = file();
        file.clients.push(Client { name: "others".to_owned(), most_sessions: 3, ..file.clients[0].clone() });
        Self {
            random: Random::of_case(43, seed),
            file,
            sessions: Sessions::new(String::new(), [], NOW),
            stored: BTreeMap::new(),
            now: NOW,
            ids: 0,
            open: Vec::new(),
            events: VecDeque::new(),
            look: None,
            named: BTreeMap::new(),
            heard: BTreeSet::new(),
            manager: Vec::new(),
            names: 0,
            is_away: false,
            told: BTreeMap::new(),
            stops: Vec::new(),
            available: 0,
        }
    }

    /// Stores what has changed, and takes what is to be done.
    fn settle(&mut self) {
        for (id, session) in self.sessions.take_changes() {
            match session {
                Some(session) => drop(self.stored.insert(id, session)),
                None => drop(self.stored.remove(&id)),
            }
        }
        for act in self.sessions.take_acts() {
            match act {
                Act::Stop(id, name) => {
                    // What a client was given, or is about to be, is not ended for what another question may have left.
                    let owner = self.named.get(&name);
                    assert!(owner.is_none_or(|owner| *owner == id), "{name} is of another session");
                    for other in self.open.iter().filter(|other| other.id != id) {
                        let admitted =
                            matches!(&other.said, Some(Answered::Admitted(it)) if it.session == name);
                        assert!(!admitted, "{name} is the answer to another question");
                    }
                    self.stops.push((id, name));
                }
                Act::Notify(notice) => {
                    let event: Value = serde_json::from_str(&notice.body).unwrap();
                    let text = |value: &Value| value.as_str().unwrap().to_owned();
                    let of = self.told.entry(text(&event["data"]["sessionId"])).or_default();
                    of.push(text(&event["data"]["qosStatus"]));
                }
            }
        }
    }

    fn client(&mut self) -> Client {
        let clients = self.file.clients.clone();
        self.random.pick(&clients).unwrap().clone()
    }

    fn create(&mut self) {
        self.ids += 1;
        let (id, client) = (Uuid::random(self.ids << 80), self.client());
        let last = self.random.range(1, 6);
        let asked = asked(|body| {
            body["applicationServer"] = json!({"ipv4Address": format!("10.3.1.{last}")});
            body["duration"] = json!(10 + last);
        });
        let profile = self.file.profile("ALARMS").unwrap().clone();
        if let Ok(question) = self.sessions.create(self.now, id, &client, &profile, asked) {
            self.open.push(Open { id, question, said: None });
        }
    }

    /// The manager decides about a question; its answer is on its way then.
    fn admit(&mut self) {
        let waiting: Vec<usize> = (0..self.open.len()).filter(|at| self.open[*at].said.is_none()).collect();
        let Some(at) = self.random.pick(&waiting).copied() else { return };
        let said = match self.random.below(if self.is_away { 2 } else { 7 }) {
            0 => Answered::NotAsked,
            1 => {
                if self.random.one_in(2) {
                    self.begin(at);
                }
                Answered::Lost
            }
            2 => Answered::Refused(refused(self.random.pick(&["rate", "busy", "foreign-source"]).unwrap())),
            _ => {
                let (name, ends) = self.begin(at);
                Answered::Admitted(admitted(&name, ends))
            }
        };
        self.open[at].said = Some(said);
    }

    /// The manager has a session from now on.
    fn begin(&mut self, at: usize) -> (String, u64) {
        self.names += 1;
        let name = format!("65001-{}", self.names);
        let question = &self.open[at].question;
        let ends = self.now * 1_000_000 + question.lasts;
        self.manager.push(held(&name, question, ends));
        (name, ends)
    }

    /// An answer arrives.
    fn answer(&mut self) {
        let said: Vec<usize> = (0..self.open.len()).filter(|at| self.open[*at].said.is_some()).collect();
        let Some(at) = self.random.pick(&said).copied() else { return };
        let Open { id, said: Some(answer), .. } = self.open.swap_remove(at) else { return };
        if self.random.one_in(3) {
            // It took too long for its client, who may have deleted it since.
            let owner = self.stored[&id].client.clone();
            let owner = self.file.client(&owner).unwrap().clone();
            let _ = self.sessions.told(&owner, id);
        }
        if let Answered::Admitted(admitted) = &answer {
            self.named.insert(admitted.session.clone(), id);
        }
        let _ = self.sessions.answered(self.now, id, answer);
    }

    /// Some session that some client sees.
    fn some(&mut self) -> Option<(Uuid, Client)> {
        let seen: Vec<(Uuid, String)> = self
            .sessions
            .all()
            .filter(|session| !session.hidden)
            .map(|session| (session.id, session.client.clone()))
            .collect();
        let (id, client) = self.random.pick(&seen)?.clone();
        Some((id, self.file.client(&client)?.clone()))
    }

    fn delete(&mut self) {
        let Some((id, client)) = self.some() else { return };
        let Ok(Some(name)) = self.sessions.delete(&client, id) else { return };
        if self.is_away {
            return self.sessions.not_deleted(self.now, id);
        }
        self.end(&name, "stopped");
        self.sessions.deleted(self.now, id);
    }

    fn extend(&mut self) {
        let Some((id, client)) = self.some() else { return };
        let Ok(Some((name, by))) = self.sessions.extend(&client, id, 5) else { return };
        let there = self.manager.iter_mut().find(|other| other.session == name);
        match there.filter(|_| !self.is_away) {
            Some(session) => {
                session.ends += by;
                self.sessions.extended(id, by);
            }
            None => self.sessions.not_extended(id),
        }
    }

    /// A session of the manager ends; that is told, and may be missed.
    fn end(&mut self, name: &str, why: &'static str) {
        let before = self.manager.len();
        self.manager.retain(|other| other.session != name);
        if self.manager.len() < before && !self.random.one_in(3) {
            self.events.push_back((name.to_owned(), why));
        }
    }

    /// An event arrives.
    fn hear(&mut self) {
        let Some((name, why)) = self.events.pop_front() else { return };
        self.sessions.ended(self.now, &name, refused(why));
        self.heard.insert(name);
    }

    fn stop(&mut self) {
        for (id, name) in std::mem::take(&mut self.stops) {
            if !self.is_away {
                self.end(&name, "stopped");
                self.sessions.stopped(id);
            }
        }
    }

    /// The next step of a look at all sessions: it begins, the manager answers, the answer arrives.
    fn look(&mut self) {
        self.look = match self.look.take() {
            None => Some((self.sessions.mark(), None)),
            Some((_, None)) if self.is_away => None,
            Some((mark, None)) => Some((mark, Some(self.manager.clone()))),
            Some((mark, Some(all))) => {
                self.sessions.compare(self.now, mark, &all);
                None
            }
        };
    }

    fn wait(&mut self, milliseconds: u64) {
        self.now += milliseconds;
        let (over, held) = std::mem::take(&mut self.manager)
            .into_iter()
            .partition(|other| other.ends <= self.now * 1_000_000);
        self.manager = held;
        for session in Vec::from_iter::<Vec<SessionStatus>>(over) {
            self.end(&session.session, "time-over");
        }
        self.sessions.tick(self.now);
    }

    fn restart(&mut self) {
        // What was under way has no answer any more; some of it has arrived.
        for at in 0..self.open.len() {
            if self.open[at].said.is_none() && self.random.one_in(2) && !self.is_away {
                self.begin(at);
            }
        }
        self.open.clear();
        self.events.clear();
        self.look = None;
        self.stops.clear();
        self.sessions = Sessions::new(String::new(), self.stored.values().cloned(), self.now);
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..=3 => self.create(),
            4..=6 => self.admit(),
            7..=8 => self.answer(),
            9 => self.delete(),
            10 => self.extend(),
            11 => self.stop(),
            12..=14 => self.look(),
            15..=16 => self.hear(),
            17 => {
                let milliseconds = self.random.range(1, 8_000);
                self.wait(milliseconds);
            }
            18 => {
                let names: Vec<String> = self.manager.iter().map(|other| other.session.clone()).collect();
                if let Some(name) = self.random.pick(&names).cloned() {
                    self.end(&name, "link-down");
                }
            }
            _ => match self.random.below(4) {
                0 => self.restart(),
                _ => self.is_away = !self.is_away,
            },
        }
        self.settle();
        self.judge();
    }

    /// What holds at any time.
    fn judge(&mut self) {
        for client in &self.file.clients {
            let own = self.sessions.all().filter(|session| session.client == client.name).count();
            assert!(own <= client.most_sessions, "{own} sessions of {}", client.name);
        }
        for session in self.sessions.all() {
            assert_eq!(self.stored.get(&session.id), Some(session), "what is so is stored");
            if let State::Available { since, until } = session.state {
                self.available += 1;
                assert!(until <= since + u64::from(session.duration) * 1_000);
                let name = session.name().unwrap();
                assert!(!self.heard.contains(name), "{name} is said to be available, and its end was heard");
                let held = self.manager.iter().find(|other| other.session == name);
                assert!(held.is_none_or(|held| until * 1_000_000 <= held.ends), "{name} ends earlier");
                assert!(session.duration <= session.most_duration);
            }
        }
        assert_eq!(self.stored.len(), self.sessions.all().count());
        // Each is told of its begin at most once, then of its end at most once, and of nothing after that.
        for (id, told) in &self.told {
            let words: Vec<&str> = told.iter().map(String::as_str).collect();
            let is_good = matches!(words[..], ["AVAILABLE"] | ["UNAVAILABLE"] | ["AVAILABLE", "UNAVAILABLE"]);
            assert!(is_good, "{id}: {words:?}");
        }
    }

    /// A look from its beginning to its end, and all events.
    fn look_well(&mut self) {
        for _ in 0..3 {
            self.look();
            self.settle();
        }
        while !self.events.is_empty() {
            self.hear();
            self.settle();
        }
    }

    /// All is well for a while: what no client has is nowhere.
    fn quiet(&mut self) {
        self.is_away = false;
        while !self.open.is_empty() {
            self.admit();
            self.answer();
            self.settle();
        }
        self.look = None;
        for _ in 0..8 {
            self.look_well();
            self.stop();
            self.settle();
            self.wait(1_000);
            self.settle();
        }
        self.look_well();
        let known: BTreeSet<&str> = self
            .sessions
            .all()
            .filter(|session| matches!(session.state, State::Available { .. }))
            .filter_map(Session::name)
            .collect();
        let held: BTreeSet<&str> = self.manager.iter().map(|other| other.session.as_str()).collect();
        let over: Vec<_> = held
            .difference(&known)
            .filter(|name| !self.stops.iter().any(|(_, stop)| stop == *name))
            .collect();
        assert!(over.is_empty(), "the manager has {over:?} of nobody's");
        let missing: Vec<_> = known.difference(&held).collect();
        assert!(missing.is_empty(), "{missing:?} are said to be available");
        // After the longest time all is forgotten.
        for _ in 0..20 {
            self.wait(60_000);
            self.settle();
            self.stop();
            self.settle();
        }
        assert_eq!((self.sessions.all().count(), self.stored.len(), self.manager.len()), (0, 0, 0));
    }
}

#[test]
fn nothing_is_reserved_for_nobody_and_nobody_is_told_what_is_not_so() {
    let (mut available, mut told) = (0, 0);
    for seed in 0..SEEDS {
        let mut run = Run::new(seed);
        for _ in 0..250 {
            run.step();
        }
        run.quiet();
        available += run.available;
        told += run.told.len();
    }
    println!("{SEEDS} seeds: {told} sessions were told of, {available} times one was available after a step");
    assert!(available > 0 && told > 0);
}
