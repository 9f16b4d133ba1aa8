//! What comes from peers: answers, requests of the server, and requests that have no answer.
use diameter::message::Message;
use diameter::peer::{Event, Ticket};
use diameter::result_code::ResultCode;
use diameter::value::Identity;

use super::{Client, Output, Purpose};
use crate::peers;
use crate::server::Now;

impl Client {
    /// Takes what peers have done.
    pub(super) fn after(&mut self, now: Now) {
        while let Some(output) = self.peers.poll_output() {
            match output {
                peers::Output::Connect(host) => self.outputs.push_back(Output::Connect(host)),
                peers::Output::Close { connection, last } => {
                    self.outputs.push_back(Output::Close { connection, last });
                }
                peers::Output::Refused(why) => {
                    self.outputs.push_back(Output::Log(format!("a connection is refused: {why}")));
                }
                peers::Output::Peer(host, event) => self.on_event(now, &host, event),
            }
        }
    }

    fn on_event(&mut self, now: Now, host: &Identity, event: Event) {
        match event {
            Event::Down(reason) => self.outputs.push_back(Output::Log(format!("{host}: {reason}"))),
            Event::Available => {
                self.outputs.push_back(Output::Log(format!("{host}: takes requests")));
                self.spool.on_available(now.monotonic);
                self.terminations.iter_mut().for_each(|(at, ..)| *at = now.monotonic);
                self.after_spool(now);
            }
            Event::Request { ticket, message } => self.on_request(now, host, ticket, &message),
            Event::Answer { token, message } => {
                if let Some(purpose) = self.purposes.remove(&token) {
                    self.on_answer(now, purpose, &message);
                }
            }
            Event::Unanswered { token, message, .. } => {
                if let Some(purpose) = self.purposes.remove(&token) {
                    self.on_unanswered(now, host, purpose, &message);
                }
            }
            Event::Open { .. } | Event::Suspended | Event::Connect | Event::Close { .. } => {}
        }
    }

    fn on_answer(&mut self, now: Now, purpose: Purpose, bytes: &[u8]) {
        let read = Message::decode(bytes);
        match purpose {
            Purpose::Authorize(id) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.open_requests = session.open_requests.saturating_sub(1);
                    match read {
                        Ok((_, Message::AaAnswer(answer))) => {
                            session.reason = answer.error_message.clone().unwrap_or_default();
                            session.machine.on_answer(now.monotonic, &answer);
                        }
                        Ok((_, Message::Error(error))) => {
                            session.reason = error.error_message.unwrap_or_default();
                            session.machine.on_error(now.monotonic, error.result_code);
                        }
                        Ok(_) => session.machine.on_error(now.monotonic, ResultCode::UNABLE_TO_COMPLY),
                        Err(error) => session.machine.on_error(now.monotonic, error.result_code()),
                    }
                }
                self.step(now, &id, None);
            }
            Purpose::Terminate { session, message, times } => match read {
                Ok((_, Message::SessionTerminationAnswer(_))) => self.terminated(&session),
                // An agent had no way to the server.
                Ok((_, Message::Error(error))) if error.result_code.0 / 1000 == 3 => {
                    self.terminate_later(now, session, message, times);
                }
                _ => self.terminated(&session),
            },
            Purpose::Record(key) => {
                match read {
                    Ok((_, Message::AccountingAnswer(answer))) => {
                        self.spool.on_answer(now.monotonic, key, &answer);
                    }
                    Ok((_, Message::Error(error))) => {
                        self.spool.on_error(now.monotonic, key, error.result_code);
                    }
                    Ok(_) => self.spool.on_error(now.monotonic, key, ResultCode::UNABLE_TO_DELIVER),
                    Err(error) => self.spool.on_error(now.monotonic, key, error.result_code()),
                }
                self.after_spool(now);
            }
        }
    }

    fn on_unanswered(&mut self, now: Now, by: &Identity, purpose: Purpose, message: &[u8]) {
        match purpose {
            Purpose::Authorize(id) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.open_requests = session.open_requests.saturating_sub(1);
                }
                let other = self.peers.first_available().is_some_and(|other| other != *by);
                if !(other && self.send(now, &id, message).is_some())
                    && let Some(session) = self.sessions.get_mut(&id)
                {
                    session.machine.on_unanswered(now.monotonic);
                }
                self.step(now, &id, None);
            }
            Purpose::Terminate { session, times, .. } => {
                self.terminate_later(now, session, message.to_vec(), times);
            }
            Purpose::Record(key) => {
                self.spool.on_unanswered(now.monotonic, key);
                self.after_spool(now);
            }
        }
    }

    fn on_request(&mut self, now: Now, peer: &Identity, ticket: Ticket, bytes: &[u8]) {
        let (header, message) = match Message::decode(bytes) {
            Ok(read) => read,
            Err(error) => {
                let answer = self.local.refuse_unreadable(bytes, &error);
                self.peers.send_answer(now.monotonic, peer, ticket, &answer);
                return;
            }
        };
        let id = match &message {
            Message::AbortSessionRequest(request) => request.session_id.clone(),
            Message::ReAuthRequest(request) => request.session_id.clone(),
            _ => {
                let answer = self.local.refuse(bytes, ResultCode::COMMAND_UNSUPPORTED, "");
                self.peers.send_answer(now.monotonic, peer, ticket, &answer);
                return;
            }
        };
        let Some(session) = self.sessions.get_mut(&id) else {
            let unknown = |proxy_info| {
                self.local.session_answer(id.clone(), proxy_info, ResultCode::UNKNOWN_SESSION_ID)
            };
            let answer = match message {
                Message::AbortSessionRequest(request) => {
                    Message::AbortSessionAnswer(unknown(request.proxy_info))
                }
                Message::ReAuthRequest(request) => Message::ReAuthAnswer(unknown(request.proxy_info)),
                _ => return,
            };
            self.answer(now, peer, ticket, &header, &answer);
            return;
        };
        match &message {
            Message::AbortSessionRequest(request) => session.machine.on_abort(request),
            Message::ReAuthRequest(request) => session.machine.on_re_auth(now.monotonic, request),
            _ => {}
        }
        self.step(now, &id, Some((peer, ticket, header)));
    }
}
