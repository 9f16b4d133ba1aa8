//! How operations go on: what a task comes to in switches, gates and the store, and what an answer means.
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use wire::admission::State;

use crate::action::{Action, Done, GateChange, GatesContent, StoreChange, SwitchContent, Token};
use crate::fabric::Site;
use crate::operations::{Answer, Expired, Found, Kind, Next, Purpose, Step, Task};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    pub(crate) fn start(&mut self, now: Duration, kind: Kind, steps: Vec<Step>) {
        let number = self.operations.start(kind, steps);
        self.advance(now, number);
    }

    /// Goes on as far as nothing has to be waited for.
    fn advance(&mut self, now: Duration, number: u64) {
        loop {
            match self.operations.next(number, |site| self.fabric.site_name(site)) {
                Next::Wait => return,
                Next::Begin(tasks) => tasks.into_iter().for_each(|task| self.begin(now, number, task)),
                Next::Read(site, purpose, found) => {
                    let steps = self.after_reading(now, site, purpose, &found);
                    self.operations.go_on(number, steps);
                }
                Next::Ended(ended) => return self.ended(now, ended),
            }
        }
    }

    /// Steps that could not be known before: what a site that has been read needs.
    fn after_reading(&mut self, now: Duration, site: Site, purpose: Purpose, found: &Found) -> Vec<Step> {
        match (site, found) {
            (Site::Switch(switch), Found::Content(content)) if purpose == Purpose::Prepare => {
                self.limit_packets(switch, content);
                self.fabric.repair(switch, content)
            }
            (Site::Switch(switch), Found::Content(content)) => {
                self.compare(now, switch, content).into_iter().collect()
            }
            (Site::Gates(switch), Found::Gates(content)) => {
                self.compare_gates(now, switch, content).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, now: Duration, number: u64, mut task: Task) {
        match &mut task {
            Task::Store { change: StoreChange::Put(grant), .. } => self.renew_pairs(grant),
            Task::Store { change: StoreChange::PutAll(grants), .. } => {
                grants.iter_mut().for_each(|grant| self.renew_pairs(grant));
            }
            Task::Store { change: change @ (StoreChange::Drain(_) | StoreChange::Undrain(_)), .. } => {
                self.renew_drain(change);
            }
            _ => {}
        }
        // A gate holds a flow to its contract for as long as its switch may have the flow: what has missed something has to come back, and then it
        // is tried again.
        if let Task::Gate { switch, change: GateChange::Remove(_), .. } = &task
            && self.operations.has_missed(number, Site::Switch(*switch))
        {
            return;
        }
        let purpose = self.operations.purpose(number);
        if purpose != Purpose::Inspect {
            self.fabric.touch(&task);
        }
        if purpose != Purpose::Prepare {
            self.fabric.foresee(&task);
        }
        let prepares = purpose == Purpose::Prepare;
        let away = task.site().filter(|site| !self.fabric.is_reachable(*site, prepares));
        if let Some(site) = away {
            let reason = alloc::format!("{} is away", self.fabric.site_name(site));
            self.failed(now, number, &task, &reason, false);
            return;
        }
        let token = self.operations.next_token();
        if let Some(action) = self.action(&task, token, purpose) {
            self.operations.act(action);
        }
        if let Task::Store { change, .. } = &task {
            self.operations.forget_unstored(change);
        }
        let wait = match &task {
            Task::Announce(_) => self.config.lease,
            Task::Hold(time) => *time,
            _ => self.config.answer,
        };
        self.operations.wait(now.saturating_add(wait), token, number, task);
    }

    /// What is to be done for a task; its answer has this token.
    fn action(&self, task: &Task, token: Token, purpose: Purpose) -> Option<Action> {
        let switch = |index: &usize| self.fabric.datapath(*index);
        Some(match task {
            Task::Install { switch: at, messages, .. } => {
                Action::Install { token, switch: switch(at), messages: messages.clone() }
            }
            Task::Gate { switch: at, change, .. } => {
                Action::Gate { token, switch: switch(at), change: change.clone() }
            }
            Task::Store { change, .. } => Action::Store { token, change: change.clone() },
            Task::Announce(verdict) => {
                // Who has been told since that it is over is not told otherwise; its lease has to end, though.
                let over = verdict.state == State::Admitted
                    && !self.requests.get(verdict.pair()).is_some_and(|asked| {
                        asked.verdict.state == State::Admitted && asked.verdict.serial == verdict.serial
                    });
                if over {
                    return None;
                }
                Action::Publish { token: Some(token), verdict: verdict.clone() }
            }
            Task::Hold(_) => return None,
            Task::Read(at) => {
                // Preparing, no operation asks what meters have counted.
                let counters = purpose == Purpose::Inspect && self.fabric.has_meters(*at);
                Action::Read { token, switch: switch(at), counters }
            }
            Task::ReadGates(at) => Action::ReadGates { token, switch: switch(at) },
        })
    }

    /// The answer to what was asked for; one that no operation waits for is passed over.
    pub(crate) fn answered(&mut self, now: Duration, token: Token, done: Done) {
        let Some(Answer { number, task, purpose }) = self.operations.answer(token, &done) else { return };
        if let Task::Store { change, .. } = &task
            && let Some(note) = self.operations.store_answered(now, change, &done)
        {
            self.note(note);
        }
        match done {
            // What was put right is what was to be there already.
            Done::Confirmed if purpose == Purpose::Inspect => {}
            Done::Confirmed => {
                self.fabric.confirmed(&task);
                if let Task::Store { change, .. } = &task {
                    self.operations.forget_unstored(change);
                }
            }
            Done::Failed(reason) | Done::Full(_, reason) => self.failed(now, number, &task, &reason, true),
        }
        self.advance(now, number);
    }

    pub(crate) fn content_read(&mut self, now: Duration, token: Token, read: Result<SwitchContent, String>) {
        self.read(now, token, read.map(Found::Content));
    }

    pub(crate) fn gates_read(&mut self, now: Duration, token: Token, read: Result<GatesContent, String>) {
        self.read(now, token, read.map(Found::Gates));
    }

    fn read(&mut self, now: Duration, token: Token, read: Result<Found, String>) {
        match read {
            Ok(found) => {
                self.operations.found(token, found);
                self.answered(now, token, Done::Confirmed);
            }
            Err(reason) => self.answered(now, token, Done::Failed(reason)),
        }
    }

    /// A task has failed; if it was begun and was sure, it is not known what its site has.
    fn failed(&mut self, now: Duration, number: u64, task: &Task, reason: &str, begun: bool) {
        let site = task.site();
        let name = site.map_or_else(|| "the store".into(), |site| self.fabric.site_name(site));
        let again = now.saturating_add(self.config.grace);
        let is_unknown = self.operations.failed(number, task, (&name, reason), again);
        if let Some(site) = site.filter(|_| begun && is_unknown) {
            self.disconnect(now, site);
        }
    }

    /// What was asked of a site that is gone is not answered any more.
    pub(crate) fn abandon(&mut self, now: Duration, site: Site) {
        for token in self.operations.asked_of(site) {
            self.answered(now, token, Done::Failed("the connection ended".into()));
        }
    }

    /// The time of a token has come.
    pub(crate) fn token_expired(&mut self, now: Duration, token: Token) {
        match self.operations.expired(token) {
            Some(Expired::Passed) => self.answered(now, token, Done::Confirmed),
            Some(Expired::Unanswered(site)) => {
                self.answered(now, token, Done::Failed("no answer in time".into()));
                // It may still happen.
                if let Some(site) = site {
                    self.disconnect(now, site);
                }
            }
            None => {}
        }
    }

    /// Pairs may have come and gone since it was planned what is to be stored of their grant.
    fn renew_pairs(&self, stored: &mut crate::grant::Grant) {
        if let Some(grant) = self.reservations.get(stored.number) {
            stored.pairs = self.to_store(grant).pairs;
        }
    }

    /// What could not be stored is tried again.
    pub(crate) fn store_again(&mut self, now: Duration) {
        let tasks = self.operations.take_unstored();
        if !tasks.is_empty() {
            self.start(now, Kind::Store, alloc::vec![Step::of(tasks)]);
        }
    }
}
