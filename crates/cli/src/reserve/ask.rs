//! The manager of the domain: questions to it, each on a connection of its own, and what it tells by itself.
use std::io;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reservation::{Action, Answer, Bound, Direction, Ends, Flow, Kind, Listed, Ticket};
use wan::Class;
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
    /// What came of a question.
    Answer(Ticket, Answer),
}

pub(super) struct Manager {
    asn: u32,
    user: String,
    service: String,
    tell: SyncSender<News>,
}

impl Manager {
    /// The manager of a domain, whether it runs or not.
    pub(super) fn new(asn: u32, user: &str, service: &str, tell: SyncSender<News>) -> Result<Self, Failure> {
        let watched = tell.clone();
        spawn("manager", move || watch(asn, &watched))
            .map_err(|error| Failure::System(format!("no thread: {error}")))?;
        Ok(Self { asn, user: user.to_owned(), service: service.to_owned(), tell })
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
    let class = match flow.class {
        Class::Af1 => "af1",
        Class::Af4 => "af4",
        Class::Ef => "ef",
        Class::BestEffort | Class::Control => "",
    };
    protocol::Flow {
        kind: kind.to_owned(),
        direction: direction.to_owned(),
        protocol: UDP,
        source_port: 0,
        destination_port: flow.port,
        class: class.to_owned(),
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
        protocol::Answer::Free { .. }
        | protocol::Answer::Noted { .. }
        | protocol::Answer::Paths(_)
        | protocol::Answer::Event(_) => Answer::Lost("the manager has answered something else".to_owned()),
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
                            // Who asked has the answer; a session that goes another way keeps its limit.
                            Event::Refused { .. }
                            | Event::Rerouted { .. }
                            | Event::CopyLost { .. }
                            | Event::CopyBack { .. }
                            | Event::Link { .. } => continue,
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
