//! What switches and the agents of gates say.
use std::time::Duration;

use connections::{Accepted, Arrival};
use control::action::{GatesContent, Token};
use control::orders::Next;
use control::session::{News, Session};
use gate::protocol::Answer;
use tracing::{info, warn};

use crate::connection::{Connection, ConnectionId, Heard};
use crate::daemon::Daemon;
use crate::gates::GateHeard;
use crate::switch_connections::CONNECTIONS;

impl Daemon<'_> {
    /// Leads on the connections that came while it stood by.
    pub(crate) fn lead_switches(&mut self) {
        let epoch = self.epoch;
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            self.with_session(id, |session, now, news| session.lead(now, epoch, news));
        }
    }

    pub(crate) fn accepted(&mut self, accepted: Accepted) {
        match accepted {
            Accepted::Arrived(arrival) => self.connected(arrival),
            Accepted::Unknown(peer, why) => {
                let line = format!("{} is turned away: {why}", peer.ip());
                self.journal.trouble(format!("peer {}", peer.ip()), line);
            }
        }
    }

    fn connected(&mut self, arrival: Arrival) {
        let peer = arrival.peer;
        if self.connections.len() >= CONNECTIONS {
            let line = format!(
                "switches are turned away: there are {CONNECTIONS} connections, the last one from {peer}"
            );
            return self.journal.trouble("connections".to_owned(), line);
        }
        let id = self.next_connection;
        self.next_connection += 1;
        let session = Session::new(self.sessions_start.elapsed()).of_master(self.epoch);
        let connection = Connection::new(id, arrival, session, self.told.clone());
        self.connections.insert(id, connection);
    }

    pub(crate) fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Input(id, bytes) => {
                self.with_session(id, |session, now, news| session.input(now, &bytes, news))
            }
            Heard::Closed(id) => self.with_session(id, |session, now, news| session.closed(now, news)),
            // Room was made; what waits leaves when all is settled.
            Heard::Sent => {}
        }
    }

    /// Acts on a session at its own time.
    pub(crate) fn with_session(
        &mut self,
        id: ConnectionId,
        act: impl FnOnce(&mut Session, Duration, &mut Vec<News>),
    ) {
        let mut news = Vec::new();
        let now = self.sessions_start.elapsed();
        if let Some(connection) = self.connections.get_mut(&id) {
            act(&mut connection.session, now, &mut news);
        }
        for news in news {
            self.news(id, news);
        }
    }

    fn news(&mut self, id: ConnectionId, news: News) {
        let now = self.now();
        let Some(connection) = self.connections.get(&id) else { return };
        let (peer, datapath) = (connection.peer, connection.session.datapath());
        match (news, datapath) {
            (News::Up(report), Some(datapath)) => {
                // Before anything is done to a switch of that name which is there.
                if let Err(why) = connection.may_be(datapath) {
                    let line = format!(
                        "{} says that it is switch {datapath:#x} and is turned away: {why}",
                        peer.ip()
                    );
                    self.journal.trouble(format!("peer {}", peer.ip()), line);
                    self.connections.remove(&id);
                    return;
                }
                let former = self
                    .connections
                    .iter()
                    .find(|(other, former)| **other != id && former.session.datapath() == Some(datapath));
                // A switch that comes again has lost its former connection, whether or not we have seen that.
                if let Some(former) = former.map(|(former, _)| *former) {
                    self.close(former, "it has connected again");
                }
                match self.manager.switch_up(now, &report) {
                    Ok(()) => {
                        self.journal.is_well(&format!("switch {datapath:#x}"));
                        let line = format!("{} at {peer} has connected", self.manager.switch_name(datapath));
                        info!("{line}");
                        self.journal.board.pin("switch", "the network", &line, false);
                    }
                    Err(refusal) => {
                        let line = format!("switch {datapath:#x} at {} is refused: {refusal}", peer.ip());
                        self.journal.trouble(format!("switch {datapath:#x}"), line);
                        self.connections.remove(&id);
                    }
                }
            }
            (News::Packet(packet), Some(datapath)) => self.manager.packet_in(now, datapath, &packet),
            (News::Removed(removed), Some(datapath)) => self.manager.flow_removed(datapath, &removed),
            (News::Port(status), Some(datapath)) => self.manager.port_status(now, datapath, &status),
            (News::Installed(token, done), _) => self.manager.installed(now, token, done),
            (News::Read(token, content), _) => self.manager.has_read(now, token, content),
            (News::Odd(what), _) => {
                self.journal.trouble(format!("odd {}", peer.ip()), format!("{}: {what}", peer.ip()))
            }
            (News::Down(why), _) => self.close(id, &why),
            (News::Up(_) | News::Packet(_) | News::Removed(_) | News::Port(_), None) => {}
        }
    }

    pub(crate) fn close(&mut self, id: ConnectionId, why: &str) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let peer = connection.peer;
        match connection.session.datapath() {
            Some(datapath) => {
                let line = format!("{} at {peer} is gone: {why}", self.manager.switch_name(datapath));
                warn!("{line}");
                self.journal.board.pin("switch", "the network", &line, true);
                self.manager.switch_down(self.now(), datapath);
            }
            None => {
                let line = format!("{} is gone and was no switch: {why}", peer.ip());
                self.journal.trouble(format!("peer {}", peer.ip()), line);
            }
        }
    }

    pub(crate) fn heard_of_gates(&mut self, heard: GateHeard) {
        let now = self.now();
        match heard {
            GateHeard::Up { switch } => {
                let name = self.manager.switch_name(switch);
                let room = Some(gate::protocol::MOST_CONTRACTS);
                match self.manager.gates_up(now, switch, room) {
                    Ok(()) => self.journal.is_well(&format!("gates {switch:#x}")),
                    Err(refusal) => {
                        let line = format!("the gates of {name} are refused: {refusal}");
                        self.journal.trouble(format!("gates {switch:#x}"), line);
                    }
                }
            }
            GateHeard::Down { switch, why } => {
                let name = self.manager.switch_name(switch);
                let line = format!(
                    "the gates of {name} cannot be reached: {why}; is their agent running (punctual gate serve)?"
                );
                self.journal.trouble(format!("gates {switch:#x}"), line);
                self.manager.gates_down(now, switch);
            }
            GateHeard::Done { token, answer } if self.readings.remove(&Token(token)).is_some() => {
                let read = match answer {
                    Ok(Answer::List { contracts, ports }) => Ok(GatesContent { contracts, ports }),
                    Ok(other) => Err(format!("they answer something else than what they have: {other:?}")),
                    Err(why) => Err(why),
                };
                self.manager.has_read_gates(now, Token(token), read);
            }
            GateHeard::Done { token, answer } => {
                let token = Token(token);
                let Some((switch, order)) = self.orders.get_mut(&token) else { return };
                match (order.answer(answer), self.agents.get(switch)) {
                    (Next::Ask(request), Some(agent)) => agent.ask(token.0, request),
                    (Next::Ask(_), None) => {}
                    (Next::Done(done), _) => {
                        self.orders.remove(&token);
                        self.manager.installed(now, token, done);
                    }
                }
            }
        }
    }
}
