//! A survey as a program: switches connect, are asked and told, and what was found is handed over.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use connections::Accepted;
use control::session::{News, Session};
use control::survey::{Found, Survey};
use tokio::sync::mpsc::channel;
use tracing::{info, warn};

use crate::connection::{Connection, ConnectionId, Heard};
use crate::switch_connections::CONNECTIONS;
use crate::{Error, accept_switches, bind, cables};

/// Messages that wait at most; who has more to say waits.
const WAITING: usize = 64;
/// How often is looked whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long switches have to take the survey's entries away.
const END: Duration = Duration::from_secs(2);

/// Lets switches connect at these addresses for so long, or until `stop` says so, and looks what there is. With keys, switches show who they are.
///
/// # Errors
/// [`Error`]: nothing was looked at.
pub fn discover(
    listen: &[SocketAddr],
    keys: Option<keys::Identity>,
    time: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<Found, Error> {
    let sockets = bind(listen)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| Error::System(format!("no event loop: {error}")))?;
    runtime.block_on(async {
        let (accepted, mut arrivals) = channel(1);
        accept_switches(sockets, keys.as_ref(), &accepted)?;
        let (told, mut heard) = channel(WAITING);
        let mut looking = Looking {
            survey: Survey::new(cables::secret()?, cables::digest),
            start: Instant::now(),
            connections: BTreeMap::new(),
        };
        let mut next: ConnectionId = 0;
        let mut look = tokio::time::interval(LOOK);
        while looking.start.elapsed() < time && !stop() {
            tokio::select! {
                Some(arrived) = arrivals.recv() => match arrived {
                    Accepted::Arrived(arrival) if looking.connections.len() < CONNECTIONS => {
                        let session = Session::new(looking.now());
                        let connection = Connection::new(next, arrival, session, told.clone());
                        looking.connections.insert(next, connection);
                        next += 1;
                    }
                    Accepted::Arrived(arrival) => warn!("{} is turned away: there are too many connections", arrival.peer),
                    Accepted::Unknown(peer, why) => warn!("{peer} is turned away: {why}"),
                },
                Some(said) = heard.recv() => looking.heard(said),
                _ = look.tick() => looking.time_passes(),
            }
            looking.flush();
        }
        looking.end();
        let until = Instant::now() + END;
        while Instant::now() < until && looking.has_to_send() {
            tokio::select! {
                Some(said) = heard.recv() => looking.heard(said),
                _ = look.tick() => {}
            }
            looking.flush();
        }
        let found = looking.survey.found();
        // The tasks that write have what is to be sent; they get a moment to do so.
        tokio::time::sleep(LOOK).await;
        Ok(found)
    })
}

struct Looking {
    survey: Survey,
    start: Instant,
    connections: BTreeMap<ConnectionId, Connection>,
}

impl Looking {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn heard(&mut self, heard: Heard) {
        let now = self.now();
        match heard {
            Heard::Input(id, bytes) => self.with(id, |session, news| session.input(now, &bytes, news)),
            Heard::Closed(id) => self.with(id, |session, news| session.closed(now, news)),
            Heard::Sent => {}
        }
    }

    fn with(&mut self, id: ConnectionId, act: impl FnOnce(&mut Session, &mut Vec<News>)) {
        let mut news = Vec::new();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        act(&mut connection.session, &mut news);
        for news in news {
            self.news(id, news);
        }
    }

    fn news(&mut self, id: ConnectionId, news: News) {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let datapath = connection.session.datapath();
        match (news, datapath) {
            (News::Up(report), Some(datapath)) => {
                if let Err(why) = connection.may_be(datapath) {
                    warn!(
                        "{} says that it is switch {datapath:#x} and is turned away: {why}",
                        connection.peer
                    );
                    self.connections.remove(&id);
                    return;
                }
                info!(
                    "switch {datapath:#x} at {} has connected, with {} ports",
                    connection.peer,
                    report.ports.len()
                );
                let messages = self.survey.switch_up(now, &report);
                let mut trouble = Vec::new();
                connection.session.send(now, &messages, &mut trouble);
            }
            (News::Packet(packet), Some(datapath)) => self.survey.packet_in(now, datapath, &packet),
            (News::Port(status), Some(datapath)) => self.survey.port_status(datapath, &status),
            (News::Odd(what), _) => warn!("{}: {what}", connection.peer),
            (News::Down(why), _) => {
                warn!("{} is gone: {why}", connection.peer);
                self.connections.remove(&id);
            }
            _ => {}
        }
    }

    fn time_passes(&mut self) {
        let now = self.now();
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            self.with(id, |session, news| session.timeout(now, news));
        }
        for (datapath, messages) in self.survey.tell(now) {
            self.say(datapath, &messages);
        }
    }

    fn say(&mut self, datapath: u64, messages: &[openflow::Message]) {
        let now = self.now();
        let mut trouble = Vec::new();
        for connection in self.connections.values_mut() {
            if connection.session.datapath() == Some(datapath) {
                connection.session.send(now, messages, &mut trouble);
            }
        }
    }

    /// Switches are as they were before.
    fn end(&mut self) {
        let datapaths: Vec<u64> =
            self.connections.values().filter_map(|connection| connection.session.datapath()).collect();
        for datapath in datapaths {
            self.say(datapath, &Survey::end());
        }
        self.flush();
    }

    fn has_to_send(&self) -> bool {
        self.connections.values().any(|connection| !connection.session.output().is_empty())
    }

    fn flush(&mut self) {
        self.connections.values_mut().for_each(Connection::flush);
    }
}
