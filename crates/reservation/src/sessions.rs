//! The life of sessions at a manager: what is asked for, what lasts, what is stopped, and what pairs are told.
//!
//! The manager is asked for few things at a time. Each answer may be lost, and the manager may begin anew at any moment: what it holds for this program is
//! read again then, what is held without a match is stopped, and what it does not hold any more has ended. The user of these sessions is
//! this program's alone, so that it can tell them from others.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::changes::Weighed;
use crate::entry::{Entry, Held, Kept, State};
use crate::pair::PairId;
use crate::plan::{Ends, Plan, Wanted};
use crate::words::{Action, Answer, Change, Limits, Listed, Ticket, Verdict};

/// Sessions that have ended before their admission was heard; more are left to the next look.
const MOST_EARLY: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Stopping {
    pub(crate) is_asked: bool,
    pub(crate) at: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Question {
    Establish(Ends, u64),
    Stop(String),
    Extend(Ends, String),
    Look(u64),
    /// Whether there is room for a change.
    Query(Ends, Weighed),
}

/// All sessions of this program.
#[derive(Clone, Debug)]
pub struct Sessions {
    pub(crate) limits: Limits,
    is_here: bool,
    next: Ticket,
    asked: BTreeMap<Ticket, Question>,
    pub(crate) entries: BTreeMap<Ends, Entry>,
    pub(crate) stopping: BTreeMap<String, Stopping>,
    /// Sessions that ended while a request was under way.
    early: BTreeMap<String, String>,
    is_looking: bool,
    look_at: u64,
    reasons: BTreeMap<PairId, String>,
    told: BTreeMap<PairId, Verdict>,
    pub(crate) actions: Vec<Action>,
}

impl Sessions {
    /// None, and a manager that is not there yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            is_here: false,
            next: 0,
            asked: BTreeMap::new(),
            entries: BTreeMap::new(),
            stopping: BTreeMap::new(),
            early: BTreeMap::new(),
            is_looking: false,
            look_at: 0,
            reasons: BTreeMap::new(),
            told: BTreeMap::new(),
            actions: Vec::new(),
        }
    }

    /// What is to be done now, in this order.
    pub fn take_actions(&mut self) -> Vec<Action> {
        core::mem::take(&mut self.actions)
    }

    /// Nothing is held, and nothing is under way or in doubt.
    pub fn is_idle(&self) -> bool {
        let is_absent = |entry: &Entry| matches!(entry.state, State::Absent);
        let asks_alone = |question: &Question| matches!(question, Question::Look(_) | Question::Query(..));
        self.asked.values().all(asks_alone)
            && self.stopping.is_empty()
            && self.entries.values().all(is_absent)
    }

    /// This is needed from now on.
    pub fn wants(&mut self, now: u64, plan: Plan) {
        let Plan { mut sessions, reasons } = plan;
        self.reasons = reasons;
        for (ends, entry) in &mut self.entries {
            entry.want(now, sessions.remove(ends), &self.limits);
        }
        for (ends, wanted) in sessions {
            self.entries.insert(ends, Entry::new(now, wanted, &self.limits));
        }
        self.step(now);
    }

    /// The manager can be asked, and events of it are heard.
    pub fn manager_is_here(&mut self, now: u64) {
        self.is_here = true;
        self.look_at = now;
        self.step(now);
    }

    /// It cannot be asked.
    pub fn manager_is_away(&mut self, now: u64) {
        self.is_here = false;
        self.step(now);
    }

    /// The manager has told that some session is admitted.
    pub fn has_begun(&mut self, now: u64, session: &str) {
        let is_known = self.entries.values().any(|entry| entry.is_called(session));
        if !is_known {
            // It may be one whose answer was lost.
            self.look_at = self.look_at.min(now.saturating_add(self.limits.retry));
        }
        self.step(now);
    }

    /// The manager has told that a session has ended.
    pub fn has_ended(&mut self, now: u64, session: &str, why: &str) {
        let is_under_way = self.asked.values().any(|question| matches!(question, Question::Establish(..)));
        let known = self.entries.iter().find(|(_, entry)| entry.is_called(session)).map(|(ends, _)| *ends);
        match known {
            Some(ends) => self.over(now, ends, session, why),
            None if is_under_way && self.early.len() < MOST_EARLY => {
                self.early.insert(session.to_string(), why.to_string());
            }
            None => {}
        }
        self.step(now);
    }

    /// The manager has told that a flow of a session goes another way, or with another number of copies.
    pub fn has_changed(&mut self, now: u64, session: &str, change: Change) {
        let held = self.entries.values_mut().find_map(|entry| entry.held_as(session));
        if let Some(held) = held {
            held.changed(change);
        }
        self.step(now);
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: u64) {
        self.step(now);
    }

    /// What came of a question. An answer that was given already, or whose question is not known, changes nothing.
    pub fn answered(&mut self, now: u64, ticket: Ticket, answer: Answer) {
        match self.asked.remove(&ticket) {
            None => return,
            Some(Question::Establish(ends, at)) => self.established(now, ends, at, answer),
            Some(Question::Stop(session)) => self.stopped(now, &session, &answer),
            Some(Question::Extend(ends, session)) => self.extended(now, ends, &session, answer),
            Some(Question::Query(ends, weighed)) => self.weighed(now, ends, weighed, answer),
            Some(Question::Look(asked_at)) => {
                self.is_looking = false;
                match answer {
                    Answer::Held(list) => {
                        self.look_at = now.saturating_add(self.limits.look);
                        self.compare(now, asked_at, ticket, &list);
                    }
                    _ => self.look_at = now.saturating_add(self.limits.retry),
                }
            }
        }
        if !self.asked.values().any(|question| matches!(question, Question::Establish(..))) {
            self.early.clear();
        }
        self.step(now);
    }

    fn established(&mut self, now: u64, ends: Ends, asked_at: u64, answer: Answer) {
        let (next, limits) = (self.next, self.limits);
        let Some(entry) = self.entries.get_mut(&ends) else { return };
        let State::Asking(wanted) = core::mem::replace(&mut entry.state, State::Absent) else { return };
        match answer {
            Answer::Admitted { session, bounds } => match self.early.remove(&session) {
                Some(why) => entry.refused(now, why, &limits),
                None => {
                    entry.admitted(now, wanted.flows == entry.flows(), &limits);
                    entry.state = State::Held(Held {
                        session,
                        wanted,
                        bounds,
                        ways: BTreeMap::new(),
                        until: asked_at.saturating_add(limits.lasts),
                        extend_at: asked_at.saturating_add(limits.lasts / 2),
                        is_extending: false,
                        is_weighed: false,
                        in_doubt: None,
                        from: next,
                    });
                }
            },
            Answer::Refused(why) => entry.refused(now, why, &limits),
            Answer::Lost(why) => {
                entry.why = Some(why);
                entry.state = State::Doubtful(next);
                self.look_at = now;
            }
            Answer::Done | Answer::Unknown | Answer::Held(_) | Answer::Free(_) => {
                entry.refused(now, "the manager has answered something else".to_string(), &limits);
            }
        }
    }

    fn stopped(&mut self, now: u64, session: &str, answer: &Answer) {
        if !matches!(answer, Answer::Done | Answer::Unknown) {
            if let Some(stopping) = self.stopping.get_mut(session) {
                *stopping = Stopping { is_asked: false, at: now.saturating_add(self.limits.retry) };
            }
            return;
        }
        self.gone(session);
    }

    /// A session that was to be stopped is not there.
    fn gone(&mut self, session: &str) {
        self.stopping.remove(session);
        let left = |entry: &&mut Entry| matches!(&entry.state, State::Leaving(of) if of == session);
        for entry in self.entries.values_mut().filter(left) {
            entry.state = State::Absent;
        }
    }

    fn extended(&mut self, now: u64, ends: Ends, session: &str, answer: Answer) {
        let (next, retry, half) = (self.next, self.limits.retry, self.limits.lasts / 2);
        if answer == Answer::Unknown {
            return self.over(now, ends, session, "the manager does not have it any more");
        }
        let Some(entry) = self.entries.get_mut(&ends) else { return };
        let State::Held(held) = &mut entry.state else { return };
        if held.session != session {
            return;
        }
        match answer {
            Answer::Done => {
                held.is_extending = false;
                held.until = held.until.saturating_add(half);
                held.extend_at = held.extend_at.saturating_add(half);
            }
            // Asked again, it would be extended twice: a look says first whether it was.
            Answer::Lost(_) => {
                held.in_doubt = Some(next);
                self.look_at = now;
            }
            // It ends when its time is over, or the next answer is another one.
            _ => {
                held.is_extending = false;
                held.extend_at = now.saturating_add(retry);
            }
        }
    }

    /// A session has ended by itself.
    fn over(&mut self, now: u64, ends: Ends, session: &str, why: &str) {
        let limits = self.limits;
        let Some(entry) = self.entries.get_mut(&ends) else { return };
        match &entry.state {
            State::Held(held) if held.session == session => {
                entry.state = State::Absent;
                entry.refused(now, why.to_string(), &limits);
            }
            State::Leaving(of) if of == session => self.gone(session),
            _ => {}
        }
    }

    /// Compares what the manager held when it was asked with what is known here.
    fn compare(&mut self, now: u64, asked_at: u64, ticket: Ticket, list: &[Listed]) {
        let is_listed = |session: &str| list.iter().any(|listed| listed.session == session);
        let lost: Vec<(Ends, String)> = self
            .entries
            .iter()
            .filter_map(|(ends, entry)| match &entry.state {
                State::Held(held) if held.from <= ticket && !is_listed(&held.session) => {
                    Some((*ends, held.session.clone()))
                }
                _ => None,
            })
            .collect();
        for (ends, session) in lost {
            self.over(now, ends, &session, "the manager does not have it any more");
        }
        let half = self.limits.lasts / 2;
        for entry in self.entries.values_mut() {
            let State::Held(held) = &mut entry.state else { continue };
            let Some(listed) = list.iter().find(|listed| listed.session == held.session) else { continue };
            if held.in_doubt.take_if(|from| *from <= ticket).is_some() {
                held.is_extending = false;
                let ends = asked_at.saturating_add(listed.left);
                if ends > held.until.saturating_add(half / 2) {
                    held.until = held.until.saturating_add(half).min(ends);
                    held.extend_at = held.until.saturating_sub(half);
                }
            }
        }
        for Listed { session, caller, callees, .. } in list {
            let is_known = self.stopping.contains_key(session)
                || self.entries.values().any(|entry| entry.is_called(session));
            if is_known {
                continue;
            }
            let between: Vec<Ends> = callees.iter().map(|callee| (*caller, *callee)).collect();
            let of = between.iter().find(|ends| self.entries.contains_key(ends));
            let entry = of.and_then(|ends| self.entries.get_mut(ends));
            match entry.map(|entry| &mut entry.state) {
                // It may be the one that is asked for.
                Some(State::Asking(_)) => continue,
                Some(state @ (State::Absent | State::Doubtful(_))) => {
                    *state = State::Leaving(session.clone());
                }
                _ => {}
            }
            self.stopping.insert(session.clone(), Stopping { is_asked: false, at: now });
        }
        for entry in self.entries.values_mut() {
            if matches!(entry.state, State::Doubtful(from) if from <= ticket) {
                entry.state = State::Absent;
            }
        }
    }

    pub(crate) fn question(&mut self, question: Question) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.asked.insert(ticket, question);
        ticket
    }

    pub(crate) fn has_room(&self) -> bool {
        self.asked.len() < self.limits.most_under_way
    }

    fn step(&mut self, now: u64) {
        self.end_what_is_over(now);
        if self.is_here {
            self.weigh(now);
            self.stop(now);
            self.look(now);
            self.extend(now);
            self.establish(now);
        }
        self.forget(now);
        self.tell();
    }

    fn end_what_is_over(&mut self, now: u64) {
        let settle = self.limits.settle;
        let mut over = Vec::new();
        for (ends, entry) in &mut self.entries {
            let State::Held(held) = &entry.state else { continue };
            let is_useless = match &entry.wanted {
                None => true,
                // What serves some pair is changed in another way.
                Some(wanted) => {
                    wanted.flows != held.wanted.flows
                        && !held.serves_any(wanted)
                        && now >= entry.since.saturating_add(settle)
                }
            };
            if is_useless {
                let session = held.session.clone();
                self.stopping.insert(session.clone(), Stopping { is_asked: false, at: now });
                entry.state = State::Leaving(session);
            } else if now >= held.until {
                over.push((*ends, held.session.clone()));
            }
        }
        for (ends, session) in over {
            // Should the manager have it nevertheless, the next look finds it.
            self.over(now, ends, &session, "its time is over, and the manager has not extended it");
            self.look_at = now;
        }
    }

    fn stop(&mut self, now: u64) {
        let due: Vec<String> = self
            .stopping
            .iter()
            .filter(|(_, stopping)| !stopping.is_asked && now >= stopping.at)
            .map(|(session, _)| session.clone())
            .collect();
        for session in due {
            if !self.has_room() {
                return;
            }
            if let Some(stopping) = self.stopping.get_mut(&session) {
                stopping.is_asked = true;
            }
            let ticket = self.question(Question::Stop(session.clone()));
            self.actions.push(Action::Stop { ticket, session });
        }
    }

    fn look(&mut self, now: u64) {
        if !self.is_looking && now >= self.look_at && self.has_room() {
            self.is_looking = true;
            let ticket = self.question(Question::Look(now));
            self.actions.push(Action::Look { ticket });
        }
    }

    fn extend(&mut self, now: u64) {
        let by = self.limits.lasts / 2;
        let due: Vec<(Ends, String)> = self
            .entries
            .iter()
            .filter_map(|(ends, entry)| match &entry.state {
                State::Held(held) if !held.is_extending && now >= held.extend_at => {
                    Some((*ends, held.session.clone()))
                }
                _ => None,
            })
            .collect();
        for (ends, session) in due {
            if !self.has_room() {
                return;
            }
            if let Some(State::Held(held)) = self.entries.get_mut(&ends).map(|entry| &mut entry.state) {
                held.is_extending = true;
            }
            let ticket = self.question(Question::Extend(ends, session.clone()));
            self.actions.push(Action::Extend { ticket, session, by });
        }
    }

    fn establish(&mut self, now: u64) {
        let Limits { settle, spacing, lasts, .. } = self.limits;
        let due: Vec<(Ends, Wanted)> = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry.state, State::Absent))
            .filter_map(|(ends, entry)| {
                let wanted = entry.wanted.as_ref()?;
                if let Some(Kept::Again(before)) = &entry.kept {
                    return Some((*ends, before.clone()));
                }
                let after = entry.asked_at.map_or(0, |at| at.saturating_add(spacing));
                let is_due = now >= entry.since.saturating_add(settle) && now >= after.max(entry.not_before);
                is_due.then(|| (*ends, wanted.clone()))
            })
            .collect();
        for (ends, wanted) in due {
            if !self.has_room() {
                return;
            }
            let flows = wanted.flows.clone();
            if let Some(entry) = self.entries.get_mut(&ends) {
                if matches!(entry.kept, Some(Kept::Again(_))) {
                    // It is a part of the request that was refused.
                    entry.kept = None;
                } else {
                    entry.asked_at = Some(now);
                }
                entry.state = State::Asking(wanted);
            }
            let ticket = self.question(Question::Establish(ends, now));
            self.actions.push(Action::Establish { ticket, ends, flows, lasts });
        }
    }

    /// What is not needed is remembered for as long as it keeps requests apart.
    fn forget(&mut self, now: u64) {
        let spacing = self.limits.spacing;
        self.entries.retain(|_, entry| {
            let is_recent = entry.asked_at.is_some_and(|at| now < at.saturating_add(spacing));
            entry.wanted.is_some() || is_recent || !matches!(entry.state, State::Absent)
        });
    }

    fn tell(&mut self) {
        let mut verdicts: BTreeMap<PairId, Verdict> =
            self.reasons.iter().map(|(id, why)| (*id, Verdict::Without(why.clone()))).collect();
        for entry in self.entries.values() {
            let Some(wanted) = &entry.wanted else { continue };
            for (id, budget) in &wanted.pairs {
                verdicts.insert(*id, entry.verdict(wanted, budget, self.is_here));
            }
        }
        for (id, verdict) in &verdicts {
            if self.told.get(id) != Some(verdict) {
                self.actions.push(Action::Tell(*id, verdict.clone()));
            }
        }
        for id in self.told.keys().filter(|id| !verdicts.contains_key(id)) {
            self.actions.push(Action::Tell(*id, Verdict::Over));
        }
        self.told = verdicts;
    }
}
