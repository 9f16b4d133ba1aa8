//! The connections that switches have made, and how a manager that stands by keeps them: as a slave, so that it leads at once on the connections that there are.
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use connections::{Accepted, Arrival};
use control::session::{News, Session};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::{debug, warn};

use crate::connection::{Connection, ConnectionId, Heard};
use crate::{Error, accept_switches};

/// Most connections that may be switches.
pub(crate) const CONNECTIONS: usize = 1_024;
/// Messages that wait for the manager at most; further ones wait in their connection.
const WAITING: usize = 64;

/// Connections, and what comes from them.
pub(crate) struct SwitchConnections {
    /// From when the times of sessions count.
    pub(crate) start: Instant,
    pub(crate) all: BTreeMap<ConnectionId, Connection>,
    pub(crate) next: ConnectionId,
    pub(crate) told: Sender<Heard>,
    pub(crate) heard: Receiver<Heard>,
    pub(crate) arrivals: Receiver<Accepted>,
    accepted: Sender<Accepted>,
}

impl SwitchConnections {
    pub(crate) fn new() -> Self {
        let (told, heard) = channel(WAITING);
        let (accepted, arrivals) = channel(1);
        Self { start: Instant::now(), all: BTreeMap::new(), next: 0, told, heard, arrivals, accepted }
    }

    /// Accepts connections at these sockets, which do not block, until this value and the event loop end; with keys, of those that show a certificate.
    /// To be called in the event loop.
    ///
    /// # Errors
    /// A socket or a key cannot be used.
    pub(crate) fn accept(
        &self,
        sockets: Vec<TcpListener>,
        keys: Option<&keys::Identity>,
    ) -> Result<(), Error> {
        accept_switches(sockets, keys, &self.accepted)
    }

    /// Takes a connection over; `false` if there are too many.
    pub(crate) fn add(&mut self, arrival: Arrival, session: Session) -> bool {
        if self.all.len() >= CONNECTIONS {
            return false;
        }
        self.all.insert(self.next, Connection::new(self.next, arrival, session, self.told.clone()));
        self.next += 1;
        true
    }

    /// For so long, as one that stands by: switches that connect are slaves' switches, and their connections are kept alive.
    pub(crate) async fn stand_by(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let due = self.all.values().filter_map(|connection| connection.session.poll_timeout()).min();
            let until = due.map_or(end, |due| end.min(self.start + due));
            tokio::select! {
                Some(accepted) = self.arrivals.recv() => self.accepted(accepted),
                Some(heard) = self.heard.recv() => self.heard(heard),
                () = tokio::time::sleep_until(until.into()) => self.timeout(),
            }
            for connection in self.all.values_mut() {
                connection.flush();
            }
            if Instant::now() >= end {
                return;
            }
        }
    }

    fn accepted(&mut self, accepted: Accepted) {
        match accepted {
            Accepted::Arrived(arrival) => {
                let peer = arrival.peer;
                let session = Session::new(self.start.elapsed()).of_slave();
                if !self.add(arrival, session) {
                    warn!("{peer} is turned away: there are {CONNECTIONS} connections");
                }
            }
            Accepted::Unknown(peer, why) => warn!("{} is turned away: {why}", peer.ip()),
        }
    }

    fn heard(&mut self, heard: Heard) {
        let now = self.start.elapsed();
        match heard {
            Heard::Input(id, bytes) => self.with(id, |session, news| session.input(now, &bytes, news)),
            Heard::Closed(id) => self.with(id, |session, news| session.closed(now, news)),
            Heard::Sent => {}
        }
    }

    fn timeout(&mut self) {
        let now = self.start.elapsed();
        let ids: Vec<ConnectionId> = self.all.keys().copied().collect();
        for id in ids {
            self.with(id, |session, news| session.timeout(now, news));
        }
    }

    fn with(&mut self, id: ConnectionId, act: impl FnOnce(&mut Session, &mut Vec<News>)) {
        let mut news = Vec::new();
        let Some(connection) = self.all.get_mut(&id) else { return };
        act(&mut connection.session, &mut news);
        let peer = connection.peer;
        for news in news {
            match news {
                News::Down(why) => {
                    self.all.remove(&id);
                    debug!("the connection of {peer} has ended: {why}");
                }
                News::Odd(what) => debug!("{peer}: {what}"),
                // Slaves hear nothing else.
                _ => {}
            }
        }
    }
}
