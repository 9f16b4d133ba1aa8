//! The AAA server of a domain, as its manager asks it: each session is granted before anything is reserved for it, and accounted while it lasts.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use aaa::client::{Ask, Permit, Refusal as Denied};
use aaa::node_file::Node;
use aaa::resources::{Wish, resources};
use aaa::run::handle::{Event as AaaEvent, Events, Handle, Kept};
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::qos::QosResources;
use diameter::session::client::EndReason;
use diameter::session::session_id;
use linux_edge::observed::Delivered;
use tokio::sync::mpsc::Sender;
use wan::{
    Action, Asn, BackendAnswer, BackendCommand, Direction, Holding, LegId, OpenLeg, Reason, Refusal,
    SessionId, SessionRequest, Text,
};

use crate::accounts::Account;
use crate::domain_file::DomainFile;
use crate::event::Event;
use crate::permitted::is_all;
use crate::running_manager::Clock;

/// What the client of the AAA server tells the manager.
pub(crate) enum Told {
    /// A session may go on until then, or may not.
    Granted(SessionId, Result<u64, Reason>),
    /// Its first record is stored.
    Accounted(SessionId),
    /// The first record of a session of a caller of another domain is stored, or why it is not.
    Hosted(SessionId, Result<(), String>),
    /// A record in between is wanted.
    InterimDue(SessionId),
    /// Of the client, about a session by its name there.
    Happened(AaaEvent),
}

/// Callees send back all that enters here of such a session.
fn hosted_account(told: Option<Usage>) -> Account {
    let nothing = QosResources { rules: Vec::new(), other: Vec::new() };
    Account::new(vec![Direction::Reverse; usize::from(u8::MAX) + 1], nothing, told)
}

/// The client, and what is accounted. It ends when this is dropped.
pub(crate) struct Authorization {
    handle: Handle,
    host: diameter::value::Identity,
    /// Names of users by their numbers.
    users: BTreeMap<u32, String>,
    accounts: BTreeMap<SessionId, Account>,
    /// Sessions of callers of other domains, of which flows enter the network here.
    hosted: BTreeMap<SessionId, Account>,
    /// Why those of them have ended whose edges are not shut yet.
    hosted_causes: BTreeMap<SessionId, TerminationCause>,
    /// Those of them whose flows edges are letting in or shutting, by the tickets of the commands.
    hosted_commands: BTreeMap<u64, SessionId>,
    /// Why records of the last of them were not begun, if they were not.
    hosted_trouble: Option<String>,
    /// The sessions of accounts by their names at the server.
    names: BTreeMap<String, SessionId>,
    clock: Clock,
    tell: Sender<Event>,
}

/// The client of a domain's file. Sessions of the store go on, as the state machine says at its start; so do the records of those of callers of
/// other domains.
///
/// # Errors
/// What is wrong with its file, or what it cannot open.
pub(crate) fn start(
    node: Node,
    file: &DomainFile,
    clock: Clock,
    tell: Sender<Event>,
    first: &[Action],
    hosted: &[SessionId],
) -> Result<(Authorization, Events), String> {
    let host = node.host.clone();
    let users: BTreeMap<u32, String> = file.users.iter().map(|(name, id)| (*id, name.clone())).collect();
    let (mut names, mut asked) = (BTreeMap::new(), Vec::new());
    let mut kept = Vec::new();
    for action in first {
        let Action::KeepGrant { session, request, until } = action else { continue };
        let remaining = Duration::from_nanos(until.saturating_sub(clock.now()));
        let ask = ask(&users, request);
        let name = name(&host, *session);
        names.insert(name.clone(), *session);
        asked.push((*session, directions(request), ask.resources.clone()));
        kept.push(Kept { session: name, ask, remaining });
    }
    let hosted_names: Vec<String> = hosted.iter().map(|session| hosted_name(&host, *session)).collect();
    let handle = Handle::start_keeping(node, kept, &hosted_names);
    let mut handle = handle.map_err(|error| error.to_string())?;
    let restored = |(session, flows, resources)| {
        (session, Account::new(flows, resources, handle.told(&name(&host, session))))
    };
    let accounts: BTreeMap<SessionId, Account> = asked.into_iter().map(restored).collect();
    let hosted = hosted
        .iter()
        .zip(&hosted_names)
        .filter_map(|(session, name)| Some((*session, hosted_account(Some(handle.told(name)?)))));
    let hosted = hosted.collect();
    // A crash came before their first records.
    let unrecorded = accounts.iter().filter(|(_, account)| !account.is_accounted);
    let unrecorded: Vec<SessionId> = unrecorded.map(|(session, _)| *session).collect();
    let events = handle.take_events();
    let mut authorization = Authorization {
        handle,
        host,
        users,
        accounts,
        hosted,
        hosted_causes: BTreeMap::new(),
        hosted_commands: BTreeMap::new(),
        hosted_trouble: None,
        names,
        clock,
        tell,
    };
    for session in unrecorded {
        authorization.account(session);
    }
    Ok((authorization, events))
}

/// Reads the file of the client that a domain's file names.
///
/// # Errors
/// What is wrong, with its place.
pub(crate) fn node(domain: &Path, file: &DomainFile) -> Result<Option<Node>, String> {
    let Some(named) = &file.aaa else { return Ok(None) };
    let folder = domain.parent().unwrap_or(Path::new(""));
    aaa::node_file::open(&folder.join(named)).map(Some)
}

/// As the AAA server calls a session: the same after a start of the manager.
fn name(host: &diameter::value::Identity, session: SessionId) -> String {
    let (high, low) = (session.number >> 32, session.number & u64::from(u32::MAX));
    session_id(host, u32::try_from(high).unwrap_or(u32::MAX), u32::try_from(low).unwrap_or(u32::MAX))
}

/// As the records of a session of a caller of another domain are called: its number is unique in that domain.
fn hosted_name(host: &diameter::value::Identity, session: SessionId) -> String {
    format!("{};AS{}", name(host, session), session.origin.0)
}

fn directions(request: &SessionRequest) -> Vec<Direction> {
    request.flows.iter().map(|flow| flow.direction).collect()
}

fn ask(users: &BTreeMap<u32, String>, request: &SessionRequest) -> Ask {
    let wish = |flow: &wan::FlowRequest| Wish {
        from: Some(request.caller),
        to: request.callees.clone(),
        class: flow.class,
        rate: flow.desired.rate,
        bucket: flow.desired.bucket,
        largest_packet: flow.desired.largest_packet,
        forward: flow.direction == Direction::Forward,
    };
    let wishes: Vec<Wish> = request.flows.iter().map(wish).collect();
    let user = users.get(&request.user).cloned().unwrap_or_default();
    Ask { user, secret: None, resources: resources(&wishes) }
}

fn denied(denied: &Denied) -> Reason {
    match denied {
        Denied::Denied { code, reason } if reason.is_empty() => {
            Reason::NotAuthorized(Text::fitting(&code.to_string()))
        }
        Denied::Denied { reason, .. } => Reason::NotAuthorized(Text::fitting(reason)),
        Denied::NoServer => Reason::AaaUnavailable(Text::fitting("no server can be asked now")),
        Denied::NoAnswer(limit) => {
            Reason::AaaUnavailable(Text::fitting(&format!("no answer in {} ms", limit / 1_000_000)))
        }
        Denied::Full(what) => Reason::AaaUnavailable(Text::fitting(&format!("as many {what} as allowed"))),
        Denied::Ended => Reason::Aborted,
    }
}

fn ended(reason: EndReason) -> Option<Reason> {
    match reason {
        EndReason::Refused(code) => Some(Reason::NotAuthorized(Text::fitting(&code.to_string()))),
        EndReason::Unreachable => Some(Reason::AaaUnavailable(Text::fitting("no server can be asked now"))),
        EndReason::Aborted => Some(Reason::Aborted),
        EndReason::Expired | EndReason::SessionTimeout => Some(Reason::GrantOver),
        // The manager itself did that.
        EndReason::Terminated(_) => None,
    }
}

/// What records say of an end.
fn cause(reason: &Reason) -> TerminationCause {
    match reason {
        Reason::Stopped => TerminationCause::Logout,
        Reason::Aborted => TerminationCause::Administrative,
        Reason::GrantOver => TerminationCause::AuthExpired,
        Reason::TimeOver => TerminationCause::SessionTimeout,
        _ => TerminationCause::ServiceNotProvided,
    }
}

/// Tells the manager what happens at the client, until that ends.
pub(crate) async fn listen(mut events: Events, tell: Sender<Event>) {
    while let Some(event) = events.next().await {
        if tell.send(Event::Aaa(Told::Happened(event))).await.is_err() {
            return;
        }
    }
}

impl Authorization {
    /// Asks whether a session may be.
    pub(crate) fn ask(&mut self, session: SessionId, request: &SessionRequest) {
        let ask = ask(&self.users, request);
        let asked = ask.resources.clone();
        self.accounts.insert(session, Account::new(directions(request), asked.clone(), None));
        let name = name(&self.host, session);
        let pending = self.handle.authorize_as(&name, ask);
        self.names.insert(name, session);
        let (tell, handle_of, clock) = (self.tell.clone(), self.handle.clocks(), self.clock);
        tokio::spawn(async move {
            let said = match pending.known().await {
                None => Err(Reason::AaaUnavailable(Text::fitting("its client has ended"))),
                Some(Err(why)) => Err(denied(&why)),
                Some(Ok(permit)) => granted(&asked, &permit, handle_of.until(&permit), clock),
            };
            let _ = tell.send(Event::Aaa(Told::Granted(session, said))).await;
        });
    }

    /// Begins the records of a session.
    pub(crate) fn account(&mut self, session: SessionId) {
        if let Some(account) = self.accounts.get_mut(&session) {
            account.is_accounted = true;
        }
        let pending = self.handle.start_accounting(&name(&self.host, session));
        let tell = self.tell.clone();
        tokio::spawn(async move {
            let told = match pending.known().await {
                Some(Ok(())) => Told::Accounted(session),
                Some(Err(what)) => Told::Granted(session, Err(Reason::AaaUnavailable(Text::fitting(&what)))),
                None => return,
            };
            let _ = tell.send(Event::Aaa(told)).await;
        });
    }

    /// Ends a session at the AAA server, with the last record.
    pub(crate) fn end(&mut self, session: SessionId, refusal: &Refusal) {
        let Some(account) = self.accounts.remove(&session) else { return };
        let (name, cause) = (name(&self.host, session), cause(&refusal.reason));
        self.names.remove(&name);
        if account.is_accounted {
            drop(self.handle.stop(&name, account.usage(), cause));
        }
        // Also where its records could not be begun.
        self.handle.end(&name, cause);
    }

    /// Edges say what they have let in.
    pub(crate) fn counted(&mut self, delivered: &BTreeMap<LegId, Delivered>) {
        for (session, account) in self.accounts.iter_mut().chain(&mut self.hosted) {
            account.count(*session, delivered);
        }
    }

    /// Edges are told to let a flow in, or to shut it.
    pub(crate) fn commanded(&mut self, command: &BackendCommand, own: Asn) {
        let (ticket, leg) = match command {
            BackendCommand::Open { ticket, leg, .. }
            | BackendCommand::Release { ticket, holding: Holding::Flow(leg) } => (*ticket, *leg),
            _ => return,
        };
        if leg.session.origin != own {
            self.hosted_commands.insert(ticket, leg.session);
        }
    }

    /// Edges answer: the sessions of callers of other domains that may have begun, or be over, by that.
    pub(crate) fn answered(&mut self, answers: &[BackendAnswer]) -> BTreeSet<SessionId> {
        let of = |answer: &BackendAnswer| match answer {
            BackendAnswer::Done { ticket } | BackendAnswer::Failed { ticket, .. } => {
                self.hosted_commands.remove(ticket)
            }
            _ => None,
        };
        let mut sessions: BTreeSet<SessionId> = answers.iter().filter_map(of).collect();
        sessions.extend(self.hosted_causes.keys());
        sessions
    }

    /// Flows of a session of a caller of another domain, which are `legs`, enter the network here: its records begin, if they have not yet.
    pub(crate) fn hosted_enters(&mut self, session: SessionId, legs: &[OpenLeg]) {
        if legs.is_empty() || self.hosted.contains_key(&session) {
            return;
        }
        let wish = |leg: &OpenLeg| Wish {
            from: None,
            to: Vec::new(),
            class: leg.flow.class,
            rate: leg.flow.desired.rate,
            bucket: leg.flow.desired.bucket,
            largest_packet: leg.flow.desired.largest_packet,
            forward: false,
        };
        let wishes: Vec<Wish> = legs.iter().map(wish).collect();
        let (name, user) = (hosted_name(&self.host, session), format!("AS{}", session.origin.0));
        self.hosted.insert(session, hosted_account(None));
        let pending = self.handle.account(&name, &user, resources(&wishes));
        let tell = self.tell.clone();
        tokio::spawn(async move {
            if let Some(said) = pending.known().await {
                let _ = tell.send(Event::Aaa(Told::Hosted(session, said))).await;
            }
        });
    }

    /// Records of such a session were begun, or were not: what the log has to say of it. The same trouble is told once.
    pub(crate) fn hosted_begins(&mut self, session: SessionId, said: Result<(), String>) -> Option<String> {
        let trouble = said.err();
        let is_new = trouble.is_some() && trouble != self.hosted_trouble;
        self.hosted_trouble = trouble;
        let why = self.hosted_trouble.as_ref().filter(|_| is_new)?;
        let origin = session.origin.0;
        Some(format!(
            "no records are kept of session {} of a caller of AS {origin}, nor of others until that changes: {why}",
            session.number
        ))
    }

    /// A session of a caller of another domain has ended; its edges may still be open.
    pub(crate) fn hosted_ends(&mut self, session: SessionId, refusal: &Refusal) {
        self.hosted_causes.insert(session, cause(&refusal.reason));
    }

    /// Writes the last record of a session of a caller of another domain whose edges are shut, which was counted before.
    pub(crate) fn hosted_over(&mut self, session: SessionId) {
        let cause = self.hosted_causes.remove(&session).unwrap_or(TerminationCause::ServiceNotProvided);
        if let Some(account) = self.hosted.remove(&session) {
            drop(self.handle.stop(&hosted_name(&self.host, session), account.usage(), cause));
        }
    }

    /// A record in between, with what was counted last.
    pub(crate) fn interim(&self, session: SessionId) {
        if let Some(account) = self.accounts.get(&session) {
            drop(self.handle.interim(&name(&self.host, session), account.usage()));
        }
    }

    /// What the client says of a session.
    pub(crate) fn happened(&mut self, event: AaaEvent) -> Option<Told> {
        match event {
            AaaEvent::Ended { session, reason } => {
                Some(Told::Granted(self.number(&session)?, Err(ended(reason)?)))
            }
            AaaEvent::Renewed(permit) => {
                let session = self.number(&permit.session)?;
                let account = self.accounts.get(&session)?;
                let until = self.handle.clocks().until(&permit);
                let said = granted(&account.asked, &permit, until, self.clock);
                Some(Told::Granted(session, said))
            }
            AaaEvent::InterimDue(session) => Some(Told::InterimDue(self.number(&session)?)),
        }
    }

    fn number(&self, name_of: &str) -> Option<SessionId> {
        self.names.get(name_of).copied()
    }
}

/// However the manager ends, its sessions go on: the next one goes on with their grants.
impl Drop for Authorization {
    fn drop(&mut self) {
        self.handle.leave();
    }
}

/// Until when a session may go on, as the manager counts.
fn granted(
    asked: &QosResources,
    permit: &Permit,
    until: Option<Instant>,
    clock: Clock,
) -> Result<u64, Reason> {
    if permit.resources.as_ref().is_some_and(|granted| !is_all(asked, granted)) {
        return Err(Reason::NotAuthorized(Text::fitting("the server grants less than is asked for")));
    }
    Ok(until.map_or(u64::MAX, |until| clock.at(until)))
}
