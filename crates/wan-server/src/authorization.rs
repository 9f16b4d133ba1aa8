//! The AAA server of a domain, as its manager asks it: each session is granted before anything is reserved for it, and accounted while it lasts.
use std::collections::BTreeMap;
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
use wan::{Action, Asn, Direction, LegId, Reason, Refusal, SessionId, SessionRequest, Text};

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
    /// A record in between is wanted.
    InterimDue(SessionId),
    /// Of the client, about a session by its name there.
    Happened(AaaEvent),
}

/// What edges have let in of one session.
#[derive(Debug)]
struct Account {
    /// The direction of each flow.
    flows: Vec<Direction>,
    /// What the server was asked for.
    asked: QosResources,
    /// Its records were begun.
    is_accounted: bool,
    /// What was told before a start, until counters have said whether they begin anew.
    before: Option<Usage>,
    /// What counters of earlier devices, or before a start, had.
    base: Usage,
    /// The last state of each counter, and what it had before it began anew.
    counters: BTreeMap<LegId, (Delivered, Delivered)>,
}

/// The client, and what is accounted. It ends when this is dropped.
pub(crate) struct Authorization {
    handle: Handle,
    host: diameter::value::Identity,
    /// Names of users by their numbers.
    users: BTreeMap<u32, String>,
    accounts: BTreeMap<SessionId, Account>,
    /// The sessions of accounts by their names at the server.
    names: BTreeMap<String, SessionId>,
    clock: Clock,
    tell: Sender<Event>,
}

/// The client of a domain's file. Sessions of the store go on, as the state machine says at its start.
///
/// # Errors
/// What is wrong with its file, or what it cannot open.
pub(crate) fn start(
    node: Node,
    file: &DomainFile,
    clock: Clock,
    tell: Sender<Event>,
    first: &[Action],
) -> Result<(Authorization, Events), String> {
    let host = node.host.clone();
    let users: BTreeMap<u32, String> = file.users.iter().map(|(name, id)| (*id, name.clone())).collect();
    let (mut accounts, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut kept = Vec::new();
    for action in first {
        let Action::KeepGrant { session, request, until } = action else { continue };
        let remaining = Duration::from_nanos(until.saturating_sub(clock.now()));
        let ask = ask(&users, request);
        accounts.insert(*session, account(request, ask.resources.clone()));
        let name = name(&host, *session);
        names.insert(name.clone(), *session);
        kept.push(Kept { session: name, ask, remaining });
    }
    let mut handle = Handle::start_keeping(node, kept).map_err(|error| error.to_string())?;
    for (session, account) in &mut accounts {
        account.before = handle.told(&name(&host, *session));
        account.base = account.before.unwrap_or_default();
        account.is_accounted = account.before.is_some();
    }
    // A crash came before their first records.
    let unrecorded = accounts.iter().filter(|(_, account)| !account.is_accounted);
    let unrecorded: Vec<SessionId> = unrecorded.map(|(session, _)| *session).collect();
    let events = handle.take_events();
    let mut authorization = Authorization { handle, host, users, accounts, names, clock, tell };
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

fn account(request: &SessionRequest, asked: QosResources) -> Account {
    Account {
        flows: request.flows.iter().map(|flow| flow.direction).collect(),
        asked,
        is_accounted: false,
        before: None,
        base: Usage::default(),
        counters: BTreeMap::new(),
    }
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

impl Account {
    fn count(&mut self, session: SessionId, delivered: &BTreeMap<LegId, Delivered>) {
        let leg = |flow, peer| LegId { session, flow, peer: Asn(peer) };
        for (leg, now) in delivered.range(leg(u8::MIN, u32::MIN)..=leg(u8::MAX, u32::MAX)) {
            let (last, earlier) = self.counters.entry(*leg).or_default();
            if now.bytes < last.bytes {
                // The device has forgotten it and was told of it again.
                earlier.bytes = earlier.bytes.saturating_add(last.bytes);
                earlier.packets = earlier.packets.saturating_add(last.packets);
            }
            *last = *now;
        }
        // After a start of the manager: counters that have less than was told already begin anew, others go on.
        if let Some(before) = self.before.filter(|_| !self.counters.is_empty()) {
            self.before = None;
            self.base = Usage::default();
            let since = self.usage();
            if since.output_bytes < before.output_bytes || since.input_bytes < before.input_bytes {
                self.base = before;
            }
        }
    }

    /// What was delivered since the session began.
    fn usage(&self) -> Usage {
        let mut usage = self.base;
        for (leg, (last, earlier)) in &self.counters {
            let bytes = last.bytes.saturating_add(earlier.bytes);
            let packets = last.packets.saturating_add(earlier.packets);
            let is_from_user =
                self.flows.get(usize::from(leg.flow)).is_none_or(|way| *way == Direction::Forward);
            let (all_bytes, all_packets) = match is_from_user {
                true => (&mut usage.output_bytes, &mut usage.output_packets),
                false => (&mut usage.input_bytes, &mut usage.input_packets),
            };
            *all_bytes = all_bytes.saturating_add(bytes);
            *all_packets = all_packets.saturating_add(packets);
        }
        usage
    }
}

impl Authorization {
    /// Asks whether a session may be.
    pub(crate) fn ask(&mut self, session: SessionId, request: &SessionRequest) {
        let ask = ask(&self.users, request);
        let asked = ask.resources.clone();
        self.accounts.insert(session, account(request, asked.clone()));
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
        for (session, account) in &mut self.accounts {
            account.count(*session, delivered);
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

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId { origin: Asn(1), number: 7 };

    fn counted(account: &mut Account, bytes: &[(u8, u64)]) -> (u64, u64) {
        let leg = |flow| LegId { session: SESSION, flow, peer: Asn(2) };
        let delivered = |bytes| Delivered { packets: bytes / 10, bytes };
        let all = bytes.iter().map(|(flow, bytes)| (leg(*flow), delivered(*bytes))).collect();
        account.count(SESSION, &all);
        let usage = account.usage();
        assert_eq!(usage.output_packets, usage.output_bytes / 10);
        (usage.output_bytes, usage.input_bytes)
    }

    fn account(told: Option<Usage>) -> Account {
        Account {
            flows: vec![Direction::Forward, Direction::Reverse],
            asked: QosResources { rules: Vec::new(), other: Vec::new() },
            is_accounted: false,
            before: told,
            base: told.unwrap_or_default(),
            counters: BTreeMap::new(),
        }
    }

    #[test]
    fn bytes_are_added_by_direction_and_none_is_lost_when_a_counter_begins_anew() {
        let mut account = account(None);
        assert_eq!(counted(&mut account, &[(0, 100), (1, 30)]), (100, 30));
        assert_eq!(counted(&mut account, &[(0, 250), (1, 30)]), (250, 30));
        assert_eq!(counted(&mut account, &[]), (250, 30), "a router that cannot be asked takes nothing back");
        assert_eq!(counted(&mut account, &[(0, 40), (1, 60)]), (290, 60));
    }

    #[test]
    fn after_a_start_counters_go_on_or_are_added_to_what_was_told() {
        let told = Usage { output_bytes: 500, input_bytes: 20, output_packets: 50, ..Usage::default() };
        for (first, expected) in [([(0, 700), (1, 20)], (700, 20)), ([(0, 100), (1, 0)], (600, 20))] {
            let mut account = account(Some(told));
            assert_eq!(account.usage().output_bytes, 500, "what was told holds until routers are asked");
            assert_eq!(counted(&mut account, &first), expected);
        }
    }

    #[test]
    fn another_session_counts_for_itself() {
        let mut account = account(None);
        let others = [
            SessionId { number: 8, ..SESSION },
            SessionId { number: 6, ..SESSION },
            SessionId { origin: Asn(2), ..SESSION },
        ];
        let ends = [(0, 0), (u8::MAX, u32::MAX)];
        let legs = |session| ends.map(|(flow, peer)| LegId { session, flow, peer: Asn(peer) });
        let delivered = Delivered { packets: 1, bytes: 9 };
        account.count(SESSION, &others.into_iter().flat_map(legs).map(|leg| (leg, delivered)).collect());
        assert_eq!(account.usage(), Usage::default());
        account.count(SESSION, &legs(SESSION).map(|leg| (leg, delivered)).into());
        assert_eq!(account.usage().output_bytes, 18);
    }
}
