//! All sessions of all clients, as a state machine: what clients ask for, what the manager answers and tells, and the clock come in; what is to be
//! stored, stopped and notified goes out.
//!
//! Its owner stores [`Sessions::take_changes`] before it answers a client or asks the manager, and carries [`Sessions::take_acts`] out afterwards.
mod clock;
mod comparison;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wan_server::protocol::{Admitted, Refused, SessionAsked};

use crate::body::{CreateSession, Device};
use crate::flows::{self, SECOND};
use crate::notification::{self, Notice};
use crate::problem::Problem;
use crate::record::{Session, State, Why};
use crate::refusal;
use crate::service_file::{Client, Profile, ProfileStatus};
use crate::uuid::Uuid;

/// Milliseconds that a session which has ended can still be looked at.
const KEPT: u64 = 360_000;
/// Names of the manager's sessions that are remembered; the oldest one goes first.
const MOST_NAMES: usize = 4_096;

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// The manager is to end this session, which it calls so; then [`Sessions::stopped`].
    Stop(Uuid, String),
    /// A client is told.
    Notify(Notice),
}

/// What became of a question to the manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answered {
    /// The session is there.
    Admitted(Admitted),
    /// It is refused.
    Refused(Refused),
    /// The manager makes nothing of the question.
    Wrong,
    /// It was not asked, since it is away.
    NotAsked,
    /// It was asked, and there is no answer: the session may be there or not.
    Lost,
}

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    /// How clients call this server.
    url: String,
    all: BTreeMap<Uuid, Session>,
    /// When each session was admitted, in calls of [`Self::mark`].
    admitted: BTreeMap<Uuid, u64>,
    marks: u64,
    /// What the manager calls sessions that were forgotten here, and when that was: a look that was begun before may still have them.
    forgotten: VecDeque<(u64, String)>,
    /// Ends that were heard of sessions without a name here: the answer to a question under way may name them yet.
    ended_before: VecDeque<(String, Refused)>,
    /// Sessions that the manager was asked to end for their clients, and whether it has ended them by itself meanwhile.
    deleting: BTreeMap<Uuid, Option<Refused>>,
    /// Sessions that the manager was asked to extend.
    extending: BTreeSet<Uuid>,
    changed: BTreeSet<Uuid>,
    acts: Vec<Act>,
}

impl Sessions {
    /// Those that a store has kept. What was under way when it was written is looked for as if its answer had been lost.
    pub fn new(url: String, kept: impl IntoIterator<Item = Session>, now: u64) -> Self {
        let all = kept.into_iter().map(|session| (session.id, session)).collect();
        let mut sessions = Self { url, all, ..Self::default() };
        let open = sessions.all.values().filter(|session| session.state == State::Requested);
        for id in open.map(|session| session.id).collect::<Vec<_>>() {
            let _ = sessions.answered(now, id, Answered::Lost);
        }
        let stopping = sessions.all.values().filter(|session| session.stopping);
        let stops: Vec<Act> =
            stopping.filter_map(|session| Some(Act::Stop(session.id, session.name()?.to_owned()))).collect();
        sessions.acts.extend(stops);
        sessions
    }

    /// Sessions that have changed, each with what is to be kept of it; nothing, if it is to be forgotten. They are taken.
    pub fn take_changes(&mut self) -> Vec<(Uuid, Option<Session>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|id| (id, self.all.get(&id).cloned())).collect()
    }

    /// These changes were not stored: they are given again.
    pub fn untake(&mut self, changes: &[(Uuid, Option<Session>)]) {
        self.changed.extend(changes.iter().map(|(id, _)| *id));
    }

    /// What is to be done; it is taken.
    pub fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// Every session, those included that their clients do not see.
    pub fn all(&self) -> impl Iterator<Item = &Session> {
        self.all.values()
    }

    /// A client asks for a session: what the manager is to be asked for.
    ///
    /// # Errors
    /// The error of CAMARA; nothing has changed.
    pub fn create(
        &mut self,
        now: u64,
        id: Uuid,
        client: &Client,
        profile: &Profile,
        asked: CreateSession,
    ) -> Result<SessionAsked, Problem> {
        let (address, device) = client.device_of(asked.device.as_ref())?;
        if profile.status != ProfileStatus::Active {
            return Err(Problem::profile(format!("qosProfile: {} cannot be asked for now", profile.name)));
        }
        if !(profile.least_duration..=profile.most_duration).contains(&asked.duration) {
            let (least, most) = (profile.least_duration, profile.most_duration);
            let what = format!("duration: {} takes {least} to {most} seconds", profile.name);
            return Err(Problem::new(400, "QUALITY_ON_DEMAND.DURATION_OUT_OF_RANGE", what));
        }
        let question = flows::session(client, profile, address, &asked)?;
        let own = self.all.values().filter(|session| session.client == client.name);
        if own.clone().count() >= client.most_sessions {
            let what = format!(
                "{} sessions are there: delete one; one that has ended counts for {} s",
                client.most_sessions,
                KEPT / 1_000
            );
            return Err(Problem::new(429, "QUOTA_EXCEEDED", what));
        }
        let is_open = |session: &&Session| {
            let over =
                matches!(session.state, State::Unavailable { why, .. } if why != Why::NetworkTerminated);
            !session.hidden && !over
        };
        if let Some(other) = own.filter(is_open).find(|other| flows::conflict(&other.asked, &question)) {
            let what = format!(
                "session {} is for the same device and flow: extend it, or delete it first",
                other.id
            );
            return Err(Problem::new(409, "CONFLICT", what));
        }
        let session = Session {
            id,
            client: client.name.clone(),
            device,
            application_server: asked.application_server,
            device_ports: asked.device_ports,
            application_server_ports: asked.application_server_ports,
            qos_profile: asked.qos_profile,
            sink: asked.sink,
            token: asked.token,
            duration: asked.duration,
            most_duration: profile.most_duration,
            state: State::Requested,
            asked: question.clone(),
            asked_at: now,
            admitted: None,
            refused: None,
            note: None,
            told: false,
            hidden: false,
            stopping: false,
            lost: None,
            events: 0,
        };
        self.all.insert(id, session);
        self.changed.insert(id);
        Ok(question)
    }

    /// A session is forgotten of which the manager was not asked.
    pub fn take_back(&mut self, id: Uuid) {
        self.forget(id);
    }

    /// The client has waited for long enough, and is told how its session is.
    ///
    /// # Errors
    /// There is no session any more.
    pub fn told(&mut self, client: &Client, id: Uuid) -> Result<&Session, Problem> {
        self.change(client, id)?.told = true;
        self.changed.insert(id);
        self.get(client, id)
    }

    /// The client could not be told of the session: for it there is none, and what the manager has of it is ended.
    pub fn not_told(&mut self, now: u64, id: Uuid) {
        let Some(session) = self.all.get_mut(&id) else { return };
        session.hidden = true;
        self.changed.insert(id);
        match session.state {
            State::Available { since, .. } => {
                session.state =
                    State::Unavailable { why: Why::NetworkTerminated, since: Some(since), at: now };
                session.stopping = true;
                let stop = session.name().map(|name| Act::Stop(id, name.to_owned()));
                let notice = notification::of(session, now, &self.url).map(Act::Notify);
                self.acts.extend(stop.into_iter().chain(notice));
            }
            State::Unavailable { .. } if !session.stopping && session.lost.is_none() => self.forget(id),
            State::Requested | State::Unavailable { .. } => {}
        }
    }

    /// What [`Self::answered`] has changed could not be stored: a client that was not told of the session yet is answered the error, and there is none.
    pub fn not_answered(&mut self, now: u64, id: Uuid) {
        if self.all.get(&id).is_some_and(|session| !session.told) {
            self.not_told(now, id);
        }
    }

    /// The manager has answered.
    ///
    /// # Errors
    /// What the client is answered in place of a session, if it was not told of one yet.
    pub fn answered(&mut self, now: u64, id: Uuid, answered: Answered) -> Result<(), Problem> {
        let name = match &answered {
            Answered::Admitted(admitted) => Some(admitted.session.clone()),
            _ => None,
        };
        let said = self.answer(now, id, answered);
        let at = self.ended_before.iter().position(|(ended, _)| Some(ended) == name.as_ref());
        if let Some((_, why)) = at.and_then(|at| self.ended_before.remove(at)) {
            self.end(now, id, Some(why), None);
        }
        if !self.is_under_way() {
            self.ended_before.clear();
        }
        said
    }

    fn is_under_way(&self) -> bool {
        self.all.values().any(|session| session.state == State::Requested)
    }

    fn answer(&mut self, now: u64, id: Uuid, answered: Answered) -> Result<(), Problem> {
        let Some(session) = self.all.get_mut(&id) else { return Ok(()) };
        self.changed.insert(id);
        let (problem, refused) = match answered {
            Answered::Admitted(admitted) => {
                self.marks += 1;
                self.admitted.insert(id, self.marks);
                let name = admitted.session.clone();
                session.admitted = Some(admitted);
                if session.hidden {
                    session.stopping = true;
                    self.acts.push(Act::Stop(id, name));
                    return Ok(());
                }
                // The answer may have taken its time, and the manager's clock may be behind.
                let ends = session.admitted.as_ref().map_or(u64::MAX, |admitted| admitted.ends / 1_000_000);
                let until = (now + u64::from(session.duration) * 1_000).min(ends);
                session.state = State::Available { since: now, until };
                self.acts.extend(notification::of(session, now, &self.url).map(Act::Notify));
                return Ok(());
            }
            Answered::Refused(why) => (refusal::problem(&why), Some(why)),
            Answered::Wrong => {
                let what =
                    "the manager of the domain makes nothing of this profile: its operator has to mend it";
                (Some(Problem::profile(what)), None)
            }
            Answered::NotAsked => (Some(Problem::manager()), None),
            Answered::Lost => {
                session.lost = Some(now);
                session.hidden |= !session.told;
                (Some(Problem::manager()), None)
            }
        };
        // A client that was not told of the session is answered the error, and there is none.
        if let Some(problem) = problem.clone().filter(|_| !session.told)
            && session.lost.is_none()
        {
            self.forget(id);
            return Err(problem);
        }
        session.state = State::Unavailable { why: Why::NetworkTerminated, since: None, at: now };
        session.note = problem.as_ref().map(|problem| problem.message.clone());
        session.refused = refused;
        if session.hidden && session.lost.is_none() {
            self.forget(id);
        } else if session.told && !session.hidden {
            self.acts.extend(notification::of(session, now, &self.url).map(Act::Notify));
        }
        match problem {
            Some(problem) if self.all.get(&id).is_some_and(|session| !session.told) => Err(problem),
            _ => Ok(()),
        }
    }

    /// The session of a name.
    ///
    /// # Errors
    /// There is none, or it is another client's.
    pub fn get(&self, client: &Client, id: Uuid) -> Result<&Session, Problem> {
        let session = self.all.get(&id).filter(|session| !session.hidden);
        let session = session.ok_or_else(|| Problem::unknown(format!("there is no session {id}")))?;
        if session.client != client.name {
            return Err(Problem::new(403, "PERMISSION_DENIED", "this session is another client's"));
        }
        Ok(session)
    }

    fn change(&mut self, client: &Client, id: Uuid) -> Result<&mut Session, Problem> {
        self.get(client, id)?;
        self.all.get_mut(&id).ok_or_else(|| Problem::unknown(format!("there is no session {id}")))
    }

    /// All sessions of a client's device.
    ///
    /// # Errors
    /// The device is not said, or not by its address.
    pub fn of_device(&self, client: &Client, device: Option<&Device>) -> Result<Vec<&Session>, Problem> {
        let (address, _) = client.device_of(device)?;
        let own = self.all.values().filter(|session| session.client == client.name && !session.hidden);
        Ok(own.filter(|session| session.asked.caller == address).collect())
    }

    /// A client deletes a session: what the manager is to be asked to end, then [`Self::deleted`] or [`Self::not_deleted`]; otherwise it is done.
    ///
    /// # Errors
    /// There is none, or the manager is ending it already.
    pub fn delete(&mut self, client: &Client, id: Uuid) -> Result<Option<String>, Problem> {
        let busy = self.deleting.contains_key(&id) || self.extending.contains(&id);
        let session = self.change(client, id)?;
        if busy {
            return Err(Problem::new(409, "CONFLICT", "the session is being deleted or extended: ask again"));
        }
        match session.state {
            State::Available { .. } => {
                let name = session.name().unwrap_or_default().to_owned();
                self.deleting.insert(id, None);
                Ok(Some(name))
            }
            State::Unavailable { .. } if !session.stopping && session.lost.is_none() => {
                self.forget(id);
                Ok(None)
            }
            State::Requested | State::Unavailable { .. } => {
                session.hidden = true;
                self.changed.insert(id);
                Ok(None)
            }
        }
    }

    /// The manager has ended what was to be deleted.
    pub fn deleted(&mut self, now: u64, id: Uuid) {
        self.deleting.remove(&id);
        let Some(session) = self.all.get_mut(&id) else { return };
        let State::Available { since, .. } = session.state else { return };
        session.state = State::Unavailable { why: Why::DeleteRequested, since: Some(since), at: now };
        self.acts.extend(notification::of(session, now, &self.url).map(Act::Notify));
        self.forget(id);
    }

    /// The manager could not be asked to end it: it is as before.
    pub fn not_deleted(&mut self, now: u64, id: Uuid) {
        if let Some(Some(why)) = self.deleting.remove(&id) {
            self.end(now, id, Some(why), None);
        }
    }

    /// A client wants a session to last longer: what the manager is to be asked for, by how many nanoseconds, then [`Self::extended`] or
    /// [`Self::not_extended`]; nothing if it lasts as long as it may.
    ///
    /// # Errors
    /// There is no such session, or it is not available.
    pub fn extend(&mut self, client: &Client, id: Uuid, more: u32) -> Result<Option<(String, u64)>, Problem> {
        let busy = self.deleting.contains_key(&id) || self.extending.contains(&id);
        let session = self.get(client, id)?;
        let not_now = |what: &str| Problem::new(409, "QUALITY_ON_DEMAND.SESSION_EXTENSION_NOT_ALLOWED", what);
        if !matches!(session.state, State::Available { .. }) {
            return Err(not_now("the session is not AVAILABLE: ask for a new one"));
        }
        if busy {
            return Err(not_now("the session is being deleted or extended: ask again"));
        }
        let by = more.min(session.most_duration.saturating_sub(session.duration));
        let name = session.name().unwrap_or_default().to_owned();
        if by == 0 {
            return Ok(None);
        }
        self.extending.insert(id);
        Ok(Some((name, u64::from(by) * SECOND)))
    }

    /// The manager keeps the session so many nanoseconds longer.
    pub fn extended(&mut self, id: Uuid, by: u64) {
        self.extending.remove(&id);
        let Some(session) = self.all.get_mut(&id) else { return };
        if let State::Available { until, .. } = &mut session.state {
            *until += by / 1_000_000;
            session.duration = session.duration.saturating_add(u32::try_from(by / SECOND).unwrap_or(0));
            if let Some(admitted) = &mut session.admitted {
                admitted.ends = admitted.ends.saturating_add(by);
            }
            self.changed.insert(id);
        }
    }

    /// It does not.
    pub fn not_extended(&mut self, id: Uuid) {
        self.extending.remove(&id);
    }

    /// The manager tells that a session has ended, which it calls so.
    pub fn ended(&mut self, now: u64, name: &str, why: Refused) {
        let Some(id) =
            self.all.values().find(|session| session.name() == Some(name)).map(|session| session.id)
        else {
            if self.is_under_way() {
                self.ended_before.push_back((name.to_owned(), why));
                if self.ended_before.len() > MOST_NAMES {
                    self.ended_before.pop_front();
                }
            }
            return;
        };
        match self.deleting.get_mut(&id) {
            // The answer to the question tells how it went.
            Some(over) => *over = Some(why),
            None => self.end(now, id, Some(why), None),
        }
    }

    /// The manager has ended what it was asked to end, or does not know it any more.
    pub fn stopped(&mut self, id: Uuid) {
        let Some(session) = self.all.get_mut(&id).filter(|session| session.stopping) else { return };
        session.stopping = false;
        self.changed.insert(id);
        if session.hidden {
            self.forget(id);
        }
    }

    /// The manager is to end it yet.
    pub fn is_stopping(&self, id: Uuid) -> bool {
        self.all.get(&id).is_some_and(|session| session.stopping)
    }

    /// The network has ended a session.
    fn end(&mut self, now: u64, id: Uuid, refused: Option<Refused>, note: Option<&str>) {
        let Some(session) = self.all.get_mut(&id) else { return };
        let State::Available { since, .. } = session.state else {
            return self.stopped(id);
        };
        self.extending.remove(&id);
        let is_over = refused.as_ref().is_some_and(|why| why.reason == "time-over");
        let why = if is_over { Why::DurationExpired } else { Why::NetworkTerminated };
        session.state = State::Unavailable { why, since: Some(since), at: now };
        session.refused = refused;
        session.note = note.map(str::to_owned);
        self.acts.extend(notification::of(session, now, &self.url).map(Act::Notify));
        self.changed.insert(id);
    }

    fn forget(&mut self, id: Uuid) {
        let name = self.all.remove(&id).and_then(|session| session.name().map(str::to_owned));
        if let Some(name) = name {
            let mark = self.mark();
            self.forgotten.push_back((mark, name));
            if self.forgotten.len() > MOST_NAMES {
                self.forgotten.pop_front();
            }
        }
        self.admitted.remove(&id);
        self.changed.insert(id);
    }
}
