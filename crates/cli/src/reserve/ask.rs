//! The manager of the domain: questions to it, each on a connection of its own, and what it tells by itself.
use std::io;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reservation::{Action, Answer, Bound, Change, Direction, Ends, Flow, Kind, Listed, Ticket};
use wan::{Class, Config};
use wan_server::protocol::{self, Ask, Event, SessionAsked};
use wan_server::{Client, NoManager};

use crate::exit::Failure;

/// How long a manager may take for an answer. Its own limits are shorter.
const PATIENCE: Duration = Duration::from_secs(120);
/// From one attempt to reach it to the next.
const AGAIN: Duration = Duration::from_millis(500);
/// UDP as a protocol of IP.
const UDP: u8 = 17;

/// What comes from the manager.
pub(super) enum News {
    /// It can be asked.
    Here,
    /// It cannot: why.
    Away(String),
    /// Some session has begun.
    Begun(String),
    /// One has ended, and why.
    Ended(String, String),
    /// A flow of one goes another way, or with another number of copies.
    Changed(String, Change),
    /// What came of a question.
    Answer(Ticket, Answer),
}

pub(super) struct Manager {
    asn: u32,
    /// Whose addresses are whose.
    network: Config,
    user: String,
    service: String,
    tell: SyncSender<News>,
}

impl Manager {
    /// The manager of a domain, whether it runs or not.
    pub(super) fn new(
        network: &Config,
        user: &str,
        service: &str,
        tell: SyncSender<News>,
    ) -> Result<Self, Failure> {
        let asn = network.asn.0;
        let watched = tell.clone();
        spawn("manager", move || watch(asn, &watched))
            .map_err(|error| Failure::System(format!("no thread: {error}")))?;
        Ok(Self { asn, network: network.clone(), user: user.to_owned(), service: service.to_owned(), tell })
    }

    /// Asks; the answer is news.
    pub(super) fn ask(&self, action: &Action) {
        let (ticket, question) = match action {
            Action::Establish { ticket, ends, flows, lasts } => {
                (*ticket, Ask::Establish(self.session(*ends, flows, *lasts)))
            }
            Action::Stop { ticket, session } => (*ticket, Ask::Stop { session: session.clone() }),
            Action::Extend { ticket, session, by } => {
                (*ticket, Ask::Extend { session: session.clone(), by: *by })
            }
            Action::Query { ticket, ends, class } => {
                // An address of no known domain has no way, and the manager says so.
                let asn = self.network.owner(ends.1).map_or(0, |asn| asn.0);
                (*ticket, Ask::Query { asn, class: word(*class).to_owned() })
            }
            Action::Look { ticket } => (*ticket, Ask::Status),
            Action::Tell(..) => return,
        };
        let (asn, user, tell) = (self.asn, self.user.clone(), self.tell.clone());
        let is_extension = matches!(question, Ask::Extend { .. });
        let asked = spawn("question", move || {
            let answer =
                ask(asn, &question).map_or_else(Answer::Lost, |answer| said(answer, is_extension, &user));
            // A command that has ended needs no answer.
            let _ = tell.send(News::Answer(ticket, answer));
        });
        if let Err(error) = asked {
            // There is room: so many questions are never under way.
            let _ = self.tell.try_send(News::Answer(ticket, Answer::Lost(format!("no thread: {error}"))));
        }
    }

    fn session(&self, ends: Ends, flows: &[Flow], lasts: u64) -> SessionAsked {
        SessionAsked {
            user: self.user.clone(),
            service: self.service.clone(),
            caller: ends.0,
            callees: vec![ends.1],
            flows: flows.iter().map(flow).collect(),
            lasts,
        }
    }
}

fn spawn(name: &str, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(act).map(drop)
}

fn word(class: Class) -> &'static str {
    match class {
        Class::Af1 => "af1",
        Class::Af4 => "af4",
        Class::Ef => "ef",
        Class::BestEffort | Class::Control => "",
    }
}

fn flow(flow: &Flow) -> protocol::Flow {
    let kind = match flow.kind {
        Kind::Data => "data",
        Kind::AckNack => "acknack",
        Kind::Discovery => "discovery",
    };
    let direction = match flow.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    };
    protocol::Flow {
        kind: kind.to_owned(),
        direction: direction.to_owned(),
        protocol: UDP,
        source_port: 0,
        destination_port: flow.port,
        class: word(flow.class).to_owned(),
        rate: flow.rate,
        bucket: flow.bucket,
        largest_packet: flow.largest_packet,
        // The program does not adapt: less would not be enough.
        least_rate: flow.rate,
        most_loss: wan::ANY_LOSS,
        limit: flow.limit,
        copies: 1,
        asking: "hop-by-hop".to_owned(),
    }
}

fn connect(asn: u32, patience: Option<Duration>) -> Result<Client, String> {
    let client = Client::connect(Some(asn)).map_err(|why| match why {
        NoManager::Unknown(what) | NoManager::Failed(what) => what,
    })?;
    // Both ends of the client are the same socket.
    let limited = client.writer().and_then(|stream| {
        stream.set_read_timeout(patience)?;
        stream.set_write_timeout(Some(PATIENCE))
    });
    limited.map_err(|error| format!("it cannot be asked: {error}"))?;
    Ok(client)
}

/// Asks, and waits.
///
/// # Errors
/// There is no answer, and why.
fn ask(asn: u32, question: &Ask) -> Result<protocol::Answer, String> {
    let mut client = connect(asn, Some(PATIENCE))?;
    client.ask(question).map_err(|error| format!("the manager cannot be asked: {error}"))?;
    match client.answer() {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err("the manager has ended before it answered".to_owned()),
        Err(error) => Err(format!("the manager does not answer: {error}")),
    }
}

/// An answer in the words of sessions.
fn said(answer: protocol::Answer, is_extension: bool, user: &str) -> Answer {
    match answer {
        protocol::Answer::Admitted(admitted) => Answer::Admitted {
            session: admitted.session,
            bounds: admitted
                .bounds
                .iter()
                .map(|bound| Bound {
                    flow: bound.flow.into(),
                    delay: bound.delay,
                    loss: bound.loss,
                    rate: bound.rate,
                })
                .collect(),
        },
        protocol::Answer::Refused(why) if is_extension && why.reason == "unknown-session" => Answer::Unknown,
        protocol::Answer::Refused(why) => Answer::Refused(why.text),
        protocol::Answer::Stopped { .. } | protocol::Answer::Extended { .. } => Answer::Done,
        protocol::Answer::Unknown { .. } => Answer::Unknown,
        protocol::Answer::Wrong { what } => Answer::Refused(what),
        protocol::Answer::Unavailable { what } => Answer::Lost(what),
        protocol::Answer::Status(status) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            let now = u64::try_from(now).unwrap_or(u64::MAX);
            let own = status.sessions.into_iter().filter(|session| session.user == user);
            let listed = |of: protocol::SessionStatus| Listed {
                session: of.session,
                caller: of.caller,
                callees: of.callees,
                left: of.ends.saturating_sub(now),
            };
            Answer::Held(own.map(listed).collect())
        }
        protocol::Answer::Free { rate, .. } => Answer::Free(rate),
        protocol::Answer::Noted { .. } | protocol::Answer::Paths(_) | protocol::Answer::Event(_) => {
            Answer::Lost("the manager has answered something else".to_owned())
        }
    }
}

/// What becomes of a flow of a session that goes on; none of other events: who asked has the answer.
fn changed(event: Event) -> Option<(String, Change)> {
    let of = |flow: u8| Change {
        flow: flow.into(),
        is_detour: false,
        has_one_copy_left: None,
        delay: None,
        loss: None,
    };
    match event {
        Event::Rerouted { session, flow, delay, loss, .. } => {
            Some((session, Change { is_detour: true, delay: Some(delay), loss: Some(loss), ..of(flow) }))
        }
        Event::CopyLost { session, flow, .. } => {
            Some((session, Change { has_one_copy_left: Some(true), ..of(flow) }))
        }
        Event::CopyBack { session, flow, delay, .. } => {
            Some((session, Change { has_one_copy_left: Some(false), delay: Some(delay), ..of(flow) }))
        }
        Event::Admitted(_)
        | Event::Refused { .. }
        | Event::Ended { .. }
        | Event::Link { .. }
        | Event::Missed { .. } => None,
    }
}

/// Hears which sessions begin and end, for as long as the command listens.
fn watch(asn: u32, tell: &SyncSender<News>) {
    loop {
        let why = match connect(asn, None) {
            Err(why) => why,
            Ok(mut client) => match client.ask(&Ask::Monitor) {
                Err(error) => format!("the manager cannot be asked: {error}"),
                Ok(()) => {
                    if tell.send(News::Here).is_err() {
                        return;
                    }
                    while let Ok(Some(protocol::Answer::Event(event))) = client.answer() {
                        let news = match event {
                            Event::Admitted(admitted) => News::Begun(admitted.session),
                            Event::Ended { session, why } => News::Ended(session, why.text),
                            // All are looked at, as after a start.
                            Event::Missed { .. } => News::Here,
                            other => match changed(other) {
                                Some((session, change)) => News::Changed(session, change),
                                None => continue,
                            },
                        };
                        if tell.send(news).is_err() {
                            return;
                        }
                    }
                    "the manager has ended".to_owned()
                }
            },
        };
        if tell.send(News::Away(why)).is_err() {
            return;
        }
        thread::sleep(AGAIN);
    }
}
