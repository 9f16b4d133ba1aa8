//! The manager of the domain: questions to it, and what it tells by itself.
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use diagnostics::printable;
use page_server::lock;
use tracing::warn;
use wan_server::protocol::{Answer, Ask, Event, Refused};
use wan_server::{Client, NoManager};

use super::{App, pause};
use crate::refusal;
use crate::sessions::Answered;
use crate::uuid::Uuid;

/// How long a manager may take to set a session up. Its own limits are shorter.
const SETTING_UP: Duration = Duration::from_secs(120);
/// How long it may take for anything else.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sessions that wait to be ended.
const MOST_STOPS: usize = 4_096;

/// What became of a question.
pub(super) enum Asked {
    /// The answer.
    Answer(Answer),
    /// It did not get there: what was wrong.
    Not(String),
    /// It may have got there, and there is no answer.
    Lost(String),
}

/// Asks the manager, and waits for the answer. What clients are not told of it is logged.
pub(super) fn ask(asn: u32, question: &Ask) -> Asked {
    let asked = answer(asn, question);
    match &asked {
        Asked::Answer(Answer::Unavailable { what } | Answer::Wrong { what })
        | Asked::Not(what)
        | Asked::Lost(what) => warn!("the manager of AS {asn}: {}", printable(what)),
        Asked::Answer(Answer::Refused(why)) => log(why),
        Asked::Answer(_) => {}
    }
    asked
}

/// Logs a refusal of which clients are told less.
fn log(why: &Refused) {
    if refusal::text(why) != why.text {
        warn!("the network refuses or ends a session: {}", printable(&why.text));
    }
}

fn answer(asn: u32, question: &Ask) -> Asked {
    let mut client = match Client::connect(Some(asn)) {
        Ok(client) => client,
        Err(NoManager::Unknown(what) | NoManager::Failed(what)) => return Asked::Not(what),
    };
    let patience = if matches!(question, Ask::Establish(_)) { SETTING_UP } else { PATIENCE };
    if let Err(error) = limit(&client, Some(patience)) {
        return Asked::Not(format!("it cannot be asked: {error}"));
    }
    if let Err(error) = client.ask(question) {
        return Asked::Lost(format!("it cannot be asked: {error}"));
    }
    match client.answer() {
        Ok(Some(answer)) => Asked::Answer(answer),
        Ok(None) => Asked::Lost("it has ended before it answered".to_owned()),
        Err(error) => Asked::Lost(format!("it does not answer: {error}")),
    }
}

/// A manager that hangs is not waited for. Both ends of the client are the same socket.
fn limit(client: &Client, reading: Option<Duration>) -> io::Result<()> {
    let stream = client.writer()?;
    stream.set_read_timeout(reading)?;
    stream.set_write_timeout(Some(PATIENCE))
}

/// What a manager says of a session that was asked for.
pub(super) fn established(asked: Asked) -> Answered {
    match asked {
        Asked::Answer(Answer::Admitted(admitted)) => Answered::Admitted(admitted),
        Asked::Answer(Answer::Refused(why)) => Answered::Refused(why),
        Asked::Answer(Answer::Wrong { .. }) => Answered::Wrong,
        Asked::Answer(Answer::Unavailable { .. }) | Asked::Not(_) => Answered::NotAsked,
        Asked::Answer(_) | Asked::Lost(_) => Answered::Lost,
    }
}

/// Whether the manager has no such session after it was asked to end it.
pub(super) fn ends(asked: &Asked) -> bool {
    matches!(asked, Asked::Answer(Answer::Stopped { .. } | Answer::Unknown { .. }))
}

/// What is done beside the requests of clients.
pub(super) struct Work {
    looks: SyncSender<()>,
    stops: SyncSender<(Uuid, String)>,
}

impl Work {
    pub(super) fn new() -> (Self, Receiver<()>, Receiver<(Uuid, String)>) {
        let (looks, all_looks) = sync_channel(1);
        let (stops, all_stops) = sync_channel(MOST_STOPS);
        (Self { looks, stops }, all_looks, all_stops)
    }

    /// Has all sessions of the manager looked at. A look that waits already begins later than now.
    fn look(&self) {
        let _ = self.looks.try_send(());
    }

    /// Has the manager end a session. What finds no place is given again by the next look.
    pub(super) fn stop(&self, id: Uuid, name: String) {
        let _ = self.stops.try_send((id, name));
    }
}

/// Has the manager end sessions, one after the other. What it does not end is given again by the next look.
pub(super) fn stop(app: &Arc<App>, stops: &Receiver<(Uuid, String)>) {
    for (id, session) in stops {
        let is_stopping = lock(&app.kept).sessions.is_stopping(id);
        if is_stopping && ends(&ask(app.file.asn, &Ask::Stop { session })) {
            // What could not be stored is stored with the next change.
            let _ = app.change(|sessions, _| sessions.stopped(id));
        }
    }
}

/// Looks at all sessions of the manager, each time it is asked for.
pub(super) fn look(app: &Arc<App>, looks: &Receiver<()>) {
    for () in looks {
        let Ok(mark) = app.change(|sessions, _| sessions.mark()) else { continue };
        if let Asked::Answer(Answer::Status(status)) = ask(app.file.asn, &Ask::Status) {
            let _ = app.change(|sessions, now| sessions.compare(now, mark, &status.sessions));
        }
    }
}

/// Hears from the manager which sessions end, and has all of them looked at whenever something may have been missed.
pub(super) fn watch(app: &Arc<App>) {
    const AGAIN: u64 = 300;
    loop {
        if let Ok(mut client) = Client::connect(Some(app.file.asn))
            && limit(&client, None).is_ok()
            && client.ask(&Ask::Monitor).is_ok()
        {
            app.work.look();
            while let Ok(Some(Answer::Event(event))) = client.answer::<Answer>() {
                match event {
                    Event::Ended { session, why } => {
                        log(&why);
                        let _ = app.change(|sessions, now| sessions.ended(now, &session, why));
                    }
                    Event::Missed { .. } => app.work.look(),
                    // Who asked for it has the answer.
                    Event::Refused { .. } => {}
                    // What is asked for is kept on the other way, too.
                    Event::Rerouted { .. }
                    | Event::CopyLost { .. }
                    | Event::CopyBack { .. }
                    | Event::Link { .. } => {}
                    Event::Admitted(_) => {
                        if app.change(|sessions, _| sessions.looks_for_sessions()).unwrap_or(true) {
                            app.work.look();
                        }
                    }
                }
            }
        }
        pause(AGAIN);
    }
}

/// Tells sessions the time, and has those of the manager looked at now and then. It waits for the disk alone.
pub(super) fn tick(app: &Arc<App>) {
    const EACH: u64 = 500;
    const COMPARED: u64 = 40;
    for count in 1_u64.. {
        pause(EACH);
        let looks = app.change(|sessions, now| {
            sessions.tick(now);
            sessions.looks_for_sessions()
        });
        if count.is_multiple_of(COMPARED) || (looks.unwrap_or(false) && count.is_multiple_of(4)) {
            app.work.look();
        }
    }
}

#[cfg(test)]
mod tests {
    use wan_server::protocol::Answer;

    use super::{Asked, ends, established};
    use crate::sessions::Answered;

    fn answers() -> [(Answer, bool); 4] {
        let (session, what) = ("65001-7".to_owned(), "what it says".to_owned());
        [
            (Answer::Stopped { session: session.clone() }, true),
            (Answer::Unknown { session, what: what.clone() }, true),
            (Answer::Unavailable { what: what.clone() }, false),
            (Answer::Wrong { what }, false),
        ]
    }

    #[test]
    fn only_a_manager_that_has_no_such_session_has_ended_it() {
        for (answer, is_over) in answers() {
            assert_eq!(ends(&Asked::Answer(answer.clone())), is_over, "{answer:?}");
        }
        assert!(!ends(&Asked::Not(String::new())) && !ends(&Asked::Lost(String::new())));
    }

    #[test]
    fn a_manager_that_takes_no_questions_was_not_asked() {
        let unavailable = Answer::Unavailable { what: "512 commands are asked already".to_owned() };
        assert_eq!(established(Asked::Answer(unavailable)), Answered::NotAsked);
        let wrong = Answer::Wrong { what: "a flow makes no sense".to_owned() };
        assert_eq!(established(Asked::Answer(wrong)), Answered::Wrong);
    }
}
