//! What is learnt of a look at all sessions of the manager: which have ended, and which are there although their admission was lost.
use std::collections::BTreeSet;

use wan_server::protocol::{Admitted, SessionStatus};

use super::{Act, Sessions};
use crate::flows::{self, is_that};
use crate::record::{Session, State};
use crate::uuid::Uuid;

impl Sessions {
    /// Some answer was lost, and its session may be there.
    pub fn looks_for_sessions(&self) -> bool {
        self.all.values().any(|session| session.lost.is_some())
    }

    /// A moment, for [`Self::compare`].
    pub fn mark(&mut self) -> u64 {
        self.marks += 1;
        self.marks
    }

    /// All sessions that a manager had when it was asked after [`Self::mark`].
    pub fn compare(&mut self, now: u64, mark: u64, held: &[SessionStatus]) {
        let names: BTreeSet<&str> = held.iter().map(|session| session.session.as_str()).collect();
        let gone: Vec<(Uuid, bool)> = self
            .all
            .values()
            .filter(|session| session.name().is_some_and(|name| !names.contains(name)))
            .filter(|session| self.admitted.get(&session.id).is_none_or(|admitted| *admitted < mark))
            .map(|session| (session.id, session.stopping))
            .collect();
        for (id, stopping) in gone {
            if stopping {
                self.stopped(id);
            } else if !self.deleting.contains_key(&id) {
                self.end(now, id, None, Some("the manager of the domain does not have the session any more"));
            }
        }
        self.look_for(now, mark, held);
        let stopping = self.all.values().filter(|session| session.stopping);
        let stops = stopping.filter_map(|session| Some(Act::Stop(session.id, session.name()?.to_owned())));
        let waiting = |stop: &Act| self.acts.contains(stop);
        let stops: Vec<Act> = stops.filter(|stop| !waiting(stop)).collect();
        self.acts.extend(stops);
    }

    /// Sessions whose admission was lost are found by what was asked for and when, and ended. What may be the answer to a question that is under way
    /// is left alone until that is answered: a client that asks again for what was lost keeps what it gets.
    fn look_for(&mut self, now: u64, mark: u64, held: &[SessionStatus]) {
        self.forgotten.retain(|(at, _)| *at > mark);
        let known: BTreeSet<&str> = self.all.values().filter_map(Session::name).collect();
        let gone: BTreeSet<&str> = self.forgotten.iter().map(|(_, name)| name.as_str()).collect();
        let open: Vec<&Session> =
            self.all.values().filter(|session| session.state == State::Requested).collect();
        let is_stranger = |other: &&SessionStatus| {
            let name = other.session.as_str();
            !known.contains(name)
                && !gone.contains(name)
                && !open.iter().any(|session| is_that(session, now, other))
        };
        let mut strangers: Vec<&SessionStatus> = held.iter().filter(is_stranger).collect();
        for session in self.all.values_mut() {
            let Some(lost) = session.lost else { continue };
            let Some(at) = strangers.iter().position(|other| is_that(session, lost, other)) else { continue };
            let found = strangers.swap_remove(at);
            session.admitted = Some(Admitted {
                session: found.session.clone(),
                peers: Vec::new(),
                bounds: found.bounds.clone(),
                ends: found.ends,
                caveat: None,
            });
            (session.lost, session.stopping) = (None, true);
            self.changed.insert(session.id);
        }
    }

    /// A session that is under way has to be answered before this one, which was lost, can be told from it.
    pub(super) fn awaits(&self, id: Uuid) -> bool {
        let lost = self.all.get(&id).filter(|session| session.lost.is_some());
        lost.is_some_and(|lost| {
            let mut open = self.all.values().filter(|session| session.state == State::Requested);
            open.any(|session| flows::alike(&session.asked, &lost.asked))
        })
    }
}
