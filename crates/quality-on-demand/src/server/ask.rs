//! The manager of the domain: questions to it, and what it tells by itself.
use std::sync::Arc;

use wan_server::protocol::{Answer, Ask, Event};
use wan_server::{Client, NoManager};

use super::{App, pause};
use crate::sessions::Answered;
use crate::uuid::Uuid;

/// What became of a question.
pub(super) enum Asked {
    /// The answer.
    Answer(Answer),
    /// It did not get there: what was wrong.
    Not(String),
    /// It may have got there, and there is no answer.
    Lost(String),
}

/// Asks the manager, and waits for the answer.
pub(super) fn ask(asn: u32, question: &Ask) -> Asked {
    let mut client = match Client::connect(Some(asn)) {
        Ok(client) => client,
        Err(NoManager::Unknown(what) | NoManager::Failed(what)) => return Asked::Not(what),
    };
    if let Err(error) = client.ask(question) {
        return Asked::Lost(format!("the manager cannot be asked: {error}"));
    }
    match client.answer() {
        Ok(Some(answer)) => Asked::Answer(answer),
        Ok(None) => Asked::Lost("the manager has ended before it answered".to_owned()),
        Err(error) => Asked::Lost(format!("the manager does not answer: {error}")),
    }
}

/// What a manager says of a session that was asked for.
pub(super) fn established(asked: Asked) -> Answered {
    match asked {
        Asked::Answer(Answer::Admitted(admitted)) => Answered::Admitted(admitted),
        Asked::Answer(Answer::Refused(why)) => Answered::Refused(why),
        Asked::Answer(Answer::Wrong { what }) => Answered::Wrong(what),
        Asked::Answer(Answer::Unavailable { what }) => Answered::NotAsked(what),
        Asked::Answer(_) => Answered::Lost("the manager says something else".to_owned()),
        Asked::Not(what) => Answered::NotAsked(what),
        Asked::Lost(what) => Answered::Lost(what),
    }
}

/// Whether the manager has no such session after it was asked to end it; else what was wrong.
pub(super) fn ends(asked: Asked) -> Result<(), String> {
    match asked {
        Asked::Answer(Answer::Stopped { .. } | Answer::Unknown { .. }) => Ok(()),
        Asked::Answer(Answer::Unavailable { what } | Answer::Wrong { what }) => Err(what),
        Asked::Answer(Answer::Refused(why)) => Err(why.text),
        Asked::Answer(_) => Err("the manager says something else".to_owned()),
        Asked::Not(what) | Asked::Lost(what) => Err(what),
    }
}

/// Has the manager end a session. If it is away, that is done when it is back.
pub(super) fn stop(app: &Arc<App>, id: Uuid, name: &str) {
    let stopped = ends(ask(app.file.asn, &Ask::Stop { session: name.to_owned() }));
    if stopped.is_ok() {
        // What could not be stored is stored with the next change.
        let _ = app.change(|sessions, _| sessions.stopped(id));
    }
}

/// Looks at all sessions of the manager.
fn compare(app: &Arc<App>) {
    let Ok(mark) = app.change(|sessions, _| sessions.mark()) else { return };
    if let Asked::Answer(Answer::Status(status)) = ask(app.file.asn, &Ask::Status) {
        let _ = app.change(|sessions, now| sessions.compare(now, mark, &status.sessions));
    }
}

/// Hears from the manager which sessions end, and looks at all of them whenever something may have been missed.
pub(super) fn watch(app: &Arc<App>) {
    const AGAIN: u64 = 300;
    loop {
        if let Ok(mut client) = Client::connect(Some(app.file.asn))
            && client.ask(&Ask::Monitor).is_ok()
        {
            compare(app);
            while let Ok(Some(Answer::Event(event))) = client.answer::<Answer>() {
                match event {
                    Event::Ended { session, why } => {
                        let _ = app.change(|sessions, now| sessions.ended(now, &session, why));
                    }
                    Event::Missed { .. } => compare(app),
                    Event::Admitted(_) => {
                        if app.change(|sessions, _| sessions.looks_for_sessions()).unwrap_or(true) {
                            compare(app);
                        }
                    }
                }
            }
        }
        pause(AGAIN);
    }
}

/// Tells sessions the time, and looks at those of the manager now and then.
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
            compare(app);
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
            assert_eq!(ends(Asked::Answer(answer.clone())).is_ok(), is_over, "{answer:?}");
        }
        assert!(ends(Asked::Not(String::new())).is_err() && ends(Asked::Lost(String::new())).is_err());
    }

    #[test]
    fn a_manager_that_takes_no_questions_was_not_asked() {
        let unavailable = Answer::Unavailable { what: "512 commands are asked already".to_owned() };
        assert!(matches!(established(Asked::Answer(unavailable)), Answered::NotAsked(_)));
        let wrong = Answer::Wrong { what: "a flow makes no sense".to_owned() };
        assert!(matches!(established(Asked::Answer(wrong)), Answered::Wrong(_)));
    }
}
