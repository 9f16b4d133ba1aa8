//! AAA servers of domains, with their clients: what they have granted, and what they know of records. The judge goes by that alone.
use wan::{Asn, Input, Message, Reason, SessionBody, SessionId, Text};

use super::{Event, World};
use crate::topologies::{MILLISECOND, SECOND};

/// What the server of a domain knows of one session.
#[derive(Clone, Default, Debug)]
pub(crate) struct Account {
    /// It may go on until then; none before it is granted and after it is withdrawn.
    pub(crate) until: Option<u64>,
    /// Its first record is durable.
    is_recorded: bool,
    /// How often its records were begun, and how often it was ended.
    pub(crate) began: u32,
    pub(crate) ends: u32,
    /// It was withdrawn or shortened, and the manager crashed before that was durable: until when the store grants it still.
    excused: u64,
    /// The latest end that was ever granted.
    most: u64,
}

/// What happens at a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Decide,
    Renew,
    Abort,
    Accounted,
}

fn text(what: &str) -> Text {
    Text::fitting(what)
}

impl World {
    fn account(&mut self, at: usize, id: SessionId) -> &mut Account {
        self.domains[at].accounts.entry(id).or_default()
    }

    fn later(&mut self, at: usize, id: SessionId, most: u64, step: Step) {
        let (time, epoch) = (self.after(most), self.domains[at].epoch);
        self.at(time, Event::Aaa(at, epoch, id, step));
    }

    /// Questions and answers on the way are lost, late or doubled.
    fn ask_server(&mut self, at: usize, id: SessionId, step: Step) {
        let is_faulty = self.faults.aaa > 0;
        if is_faulty && self.random.one_in(10) {
            return;
        }
        for _ in 0..if is_faulty && self.random.one_in(5) { 2 } else { 1 } {
            let is_late = is_faulty && self.random.one_in(8);
            self.later(at, id, if is_late { 5 * SECOND } else { 60 * MILLISECOND }, step);
        }
    }

    pub(super) fn ask_grant(&mut self, at: usize, id: SessionId) {
        let asked_before = self.domains[at].accounts.insert(id, Account::default());
        assert!(asked_before.is_none(), "{}: {id:?} is asked for twice", self.context);
        self.ask_server(at, id, Step::Decide);
    }

    /// The client of a manager that starts: what the manager takes up goes on, and it ends the rest.
    pub(super) fn client_starts(&mut self, at: usize, kept: &[(SessionId, u64)]) {
        let context = self.context.clone();
        for (id, account) in &mut self.domains[at].accounts {
            let Some((_, until)) = kept.iter().find(|(kept, _)| kept == id) else {
                account.until = None;
                account.ends = account.ends.max(1);
                continue;
            };
            assert_eq!(account.ends, 0, "{context}: {id:?} is taken up, and was ended");
            // The records of one that has none begin then.
            account.began = account.began.max(1);
            account.is_recorded = true;
            assert!(*until <= account.most, "{context}: {id:?} is taken for granted");
            if account.until.is_none_or(|granted| granted < *until) {
                account.excused = *until;
            }
        }
        for (id, _) in kept {
            assert!(self.domains[at].accounts.contains_key(id), "{context}: {id:?} was never asked for");
            self.ask_server(at, *id, Step::Renew);
        }
    }

    pub(super) fn begin_records(&mut self, at: usize, id: SessionId) {
        let context = self.context.clone();
        let account = self.account(at, id);
        account.began += 1;
        assert!(account.began == 1 && account.ends == 0, "{context}: {id:?}: {account:?}");
        if self.faults.aaa > 0 && self.random.one_in(20) {
            // The disk hangs.
            return;
        }
        self.later(at, id, 10 * MILLISECOND, Step::Accounted);
    }

    pub(super) fn end_grant(&mut self, at: usize, id: SessionId) {
        let is_open = self.domains[at].backend.open.keys().any(|leg| leg.session == id);
        assert!(!is_open, "{}: the records of {id:?} end before its edges are shut", self.context);
        let context = self.context.clone();
        let account = self.account(at, id);
        account.ends += 1;
        account.until = None;
        assert_eq!(account.ends, 1, "{context}: {id:?} is ended more than once");
    }

    pub(super) fn at_server(&mut self, (at, epoch): (usize, u32), id: SessionId, step: Step) {
        let now = self.now;
        if self.domains[at].epoch != epoch || self.domains[at].manager.is_none() {
            return;
        }
        let is_down = now < self.domains[at].aaa_down_until;
        let account = self.account(at, id).clone();
        let said = match step {
            Step::Accounted => {
                self.account(at, id).is_recorded = true;
                return self.input(at, Input::Accounted(id));
            }
            // What comes for a session that is over, the client ends.
            _ if account.ends > 0 => return,
            Step::Abort if account.until.is_none() => return,
            Step::Abort => Err(Reason::Aborted),
            // Once more what was said already.
            Step::Decide if account.most > 0 => match account.until {
                Some(until) if now < until => Ok(until),
                _ => return,
            },
            Step::Renew if account.until.is_some_and(|until| until <= now) => return,
            Step::Decide if is_down && self.random.one_in(2) => return,
            Step::Decide if is_down => Err(Reason::AaaUnavailable(text("no server can be asked now"))),
            Step::Decide if self.random.one_in(12) => Err(Reason::NotAuthorized(text("over the quota"))),
            Step::Renew if is_down => {
                return self.later(at, id, SECOND, Step::Renew);
            }
            Step::Renew if account.until.is_none() => Err(Reason::NotAuthorized(text("it was aborted"))),
            Step::Renew if self.faults.aaa > 0 && self.random.one_in(40) => {
                Err(Reason::NotAuthorized(text("over the quota")))
            }
            Step::Decide | Step::Renew => Ok(now + self.random.range(3_000, 20_000) * MILLISECOND),
        };
        // The client knows it at this instant.
        let account = self.account(at, id);
        account.until = said.as_ref().ok().copied();
        account.most = account.most.max(said.as_ref().ok().copied().unwrap_or(0));
        if said.is_ok() {
            account.excused = 0;
            self.later(at, id, 2 * SECOND, Step::Renew);
            if self.faults.aaa > 0 && self.random.one_in(12) {
                self.later(at, id, 4 * SECOND, Step::Abort);
            }
            self.counts.grants += 1;
        } else {
            self.counts.withdrawn += 1;
        }
        self.input(at, Input::Granted { session: id, said });
    }

    /// Nothing is reserved or asked of others for a session without a grant that is in force.
    pub(super) fn look_at_grants(&self, at: usize) {
        let domain = &self.domains[at];
        let Some(manager) = &domain.manager else { return };
        // A manager that starts can end nothing before it knows what its back-end holds.
        let is_starting = domain.started < self.now && self.now < domain.started + SECOND / 2;
        if !domain.config.needs_grants || is_starting {
            return;
        }
        // What has ended is looked at when it ends, and is never begun again.
        for (id, account) in domain.accounts.iter().filter(|(_, account)| account.ends == 0) {
            if manager.has_legs(*id) {
                assert!(
                    account.is_in_force(self.now),
                    "{}, {}: {id:?} has reservations without a grant: {account:?}",
                    self.context,
                    self.now
                );
            }
        }
        let own = Asn(at as u32 + 1);
        for (id, ..) in manager.sessions() {
            let is_known = id.origin != own || domain.accounts.contains_key(&id);
            assert!(is_known, "{}: {id:?} is up, and no server was asked", self.context);
        }
    }

    /// Edges let nothing in before the first record is durable.
    pub(super) fn is_recorded(&self, at: usize, id: SessionId) {
        let domain = &self.domains[at];
        if domain.config.needs_grants && id.origin.0 == at as u32 + 1 {
            let is_recorded = domain.accounts.get(&id).is_some_and(|account| account.is_recorded);
            assert!(is_recorded, "{}: {id:?} is let in without a record", self.context);
        }
    }

    /// No domain of callees hears of a session without a grant.
    pub(super) fn is_granted(&self, message: &Message) {
        let wan::Body::Session(id, SessionBody::Establish(_) | SessionBody::Commit { .. }) = &message.body
        else {
            return;
        };
        let domain = &self.domains[message.from.0 as usize - 1];
        if domain.config.needs_grants && id.origin == message.from {
            let account = domain.accounts.get(id);
            let is_granted = account.is_some_and(|account| account.is_in_force(self.now));
            assert!(is_granted, "{}, {}: {message:?} without a grant: {account:?}", self.context, self.now);
        }
    }

    /// Every session that was asked for is ended once, and those that are up are not.
    pub(crate) fn accounts_are_closed(&self) {
        for domain in &self.domains {
            let manager = domain.manager.as_ref().unwrap();
            for (id, account) in &domain.accounts {
                let is_up = manager.sessions().any(|(up, ..)| up == *id);
                assert_eq!(account.ends, u32::from(!is_up), "{}: {id:?}: {account:?}", self.context);
                assert!(!is_up || account.began == 1, "{}: {id:?} is not accounted", self.context);
            }
        }
    }
}

impl Account {
    fn is_in_force(&self, now: u64) -> bool {
        self.until.is_some_and(|until| now <= until) || now <= self.excused
    }
}
