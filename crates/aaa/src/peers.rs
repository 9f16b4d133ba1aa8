//! The connections of a node to its peers: which connection is which peer's, who may be a peer, and what is to be sent. Pure.
use std::collections::{BTreeMap, VecDeque};

use diameter::incoming::Incoming;
use diameter::local::Local;
use diameter::peer::{Config, Event, Peer, SendError, Side, Ticket};
use diameter::value::Identity;

/// The number of a connection, which the owner gives and does not use again.
pub type ConnectionId = u64;

/// How long a new connection may take to say whose it is, in nanoseconds.
const INTRODUCTION: u64 = 10_000_000_000;
/// Connections that may be without a peer at a time.
const MOST_STRANGERS: usize = 64;
/// The longest first message.
const LONGEST_INTRODUCTION: usize = 16_384;

/// A peer that is known.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name.
    pub host: Identity,
    /// Whether connections are opened from here.
    pub connect: bool,
    /// Whether it has to show a certificate with its name.
    pub tls: bool,
}

/// What the owner has to do, or what a peer did.
#[derive(Debug)]
pub enum Output {
    /// Open a connection, then call [`Peers::connected`] or [`Peers::connect_failed`].
    Connect(Identity),
    /// Send these last bytes and close.
    Close {
        /// Which one.
        connection: ConnectionId,
        /// What is left to send.
        last: Vec<u8>,
    },
    /// A peer has done something; it is none of [`Event::Connect`] and [`Event::Close`].
    Peer(Identity, Event),
    /// A connection was refused before it had a peer.
    Refused(String),
}

struct Entry {
    peer: Peer,
    tls: bool,
    initiated: Option<ConnectionId>,
    accepted: Option<ConnectionId>,
}

impl Entry {
    const fn place(&mut self, side: Side) -> &mut Option<ConnectionId> {
        match side {
            Side::Initiated => &mut self.initiated,
            Side::Accepted => &mut self.accepted,
        }
    }
}

struct Stranger {
    incoming: Incoming,
    /// The names in its certificate; `None` without TLS.
    shown: Option<Vec<String>>,
    due: u64,
}

/// All peers of a node.
pub struct Peers {
    local: Local,
    entries: BTreeMap<Identity, Entry>,
    strangers: BTreeMap<ConnectionId, Stranger>,
    owners: BTreeMap<ConnectionId, (Identity, Side)>,
    outputs: VecDeque<Output>,
}

impl Peers {
    /// Without connections. `random` is different at each start; `config` sets times and limits for a peer.
    pub fn new(
        local: &Local,
        known: Vec<Known>,
        now: u64,
        random: u64,
        config: impl Fn(Config) -> Config,
    ) -> Self {
        let mut entries = BTreeMap::new();
        for (number, one) in (0_u64..).zip(known) {
            let config = config(Config::new(local.clone(), one.host.clone(), one.connect));
            let peer =
                Peer::new(config, now, random.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            entries.insert(one.host, Entry { peer, tls: one.tls, initiated: None, accepted: None });
        }
        Self {
            local: local.clone(),
            entries,
            strangers: BTreeMap::new(),
            owners: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Connects to all that connections are opened to.
    pub fn start(&mut self, now: u64) {
        self.each(|peer| peer.start(now));
    }

    /// Says good-bye to all.
    pub fn stop(&mut self, now: u64) {
        self.each(|peer| peer.stop(now, diameter::command::DisconnectCause::Rebooting));
    }

    fn each(&mut self, mut act: impl FnMut(&mut Peer)) {
        let hosts: Vec<Identity> = self.entries.keys().cloned().collect();
        for host in hosts {
            if let Some(entry) = self.entries.get_mut(&host) {
                act(&mut entry.peer);
            }
            self.take_events(&host);
        }
    }

    /// True if there is such a peer and it takes requests.
    pub fn is_available(&self, host: &Identity) -> bool {
        self.entries.get(host).is_some_and(|entry| entry.peer.is_available())
    }

    /// True if there is such a peer.
    pub fn is_known(&self, host: &Identity) -> bool {
        self.entries.contains_key(host)
    }

    /// The first peer that takes requests.
    pub fn first_available(&self) -> Option<Identity> {
        self.entries.iter().find(|(_, entry)| entry.peer.is_available()).map(|(host, _)| host.clone())
    }

    /// All peers, and whether they talk.
    pub fn states(&self) -> impl Iterator<Item = (&Identity, bool)> {
        self.entries.iter().map(|(host, entry)| (host, entry.peer.is_open()))
    }

    /// True if there is no connection to any peer, and none that is being closed.
    pub fn is_disconnected(&self) -> bool {
        self.owners.is_empty()
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn due(&self) -> u64 {
        let peers = self.entries.values().map(|entry| entry.peer.due());
        peers.chain(self.strangers.values().map(|stranger| stranger.due)).min().unwrap_or(u64::MAX)
    }

    /// Something of [`Self::due`] has come.
    pub fn on_timer(&mut self, now: u64) {
        let slow: Vec<ConnectionId> =
            self.strangers.iter().filter(|(_, one)| one.due <= now).map(|(id, _)| *id).collect();
        for connection in slow {
            self.strangers.remove(&connection);
            self.refuse(connection, Vec::new(), "a connection did not say in time whose it is".to_owned());
        }
        self.each(|peer| {
            if peer.due() <= now {
                peer.on_timer(now);
            }
        });
    }

    /// A peer has connected; `shown` are the names in its certificate, `None` without TLS.
    pub fn accepted(&mut self, now: u64, connection: ConnectionId, shown: Option<Vec<String>>) {
        if self.strangers.len() >= MOST_STRANGERS {
            self.refuse(connection, Vec::new(), "too many connections do not say whose they are".to_owned());
            return;
        }
        let due = now.saturating_add(INTRODUCTION);
        let incoming = Incoming::new(LONGEST_INTRODUCTION);
        self.strangers.insert(connection, Stranger { incoming, shown, due });
    }

    /// The connection that [`Output::Connect`] asked for is there.
    pub fn connected(&mut self, now: u64, host: &Identity, connection: ConnectionId) {
        let wanted = self.entries.get_mut(host).is_some_and(|entry| {
            let wanted = entry.peer.connected(now);
            if wanted {
                entry.initiated = Some(connection);
            }
            wanted
        });
        if wanted {
            self.owners.insert(connection, (host.clone(), Side::Initiated));
            self.take_events(host);
        } else {
            self.outputs.push_back(Output::Close { connection, last: Vec::new() });
        }
    }

    /// The connection that [`Output::Connect`] asked for could not be opened.
    pub fn connect_failed(&mut self, now: u64, host: &Identity) {
        if let Some(entry) = self.entries.get_mut(host) {
            entry.peer.connect_failed(now);
        }
        self.take_events(host);
    }

    /// Bytes have come.
    pub fn received(&mut self, now: u64, connection: ConnectionId, bytes: &[u8]) {
        if let Some((host, side)) = self.owners.get(&connection).cloned() {
            if let Some(entry) = self.entries.get_mut(&host) {
                entry.peer.received(now, side, bytes);
            }
            self.take_events(&host);
            return;
        }
        let Some(stranger) = self.strangers.get_mut(&connection) else { return };
        let read = stranger.incoming.received(&self.local, bytes);
        match read {
            Ok(None) => {}
            Ok(Some(introduction)) => {
                let Some(stranger) = self.strangers.remove(&connection) else { return };
                let host = introduction.request.origin_host.clone();
                self.introduced(now, connection, &host, stranger.shown.as_deref(), introduction);
            }
            Err(refused) => {
                self.strangers.remove(&connection);
                self.refuse(connection, refused.answer, format!("a first message: {}", refused.error));
            }
        }
    }

    fn introduced(
        &mut self,
        now: u64,
        connection: ConnectionId,
        host: &Identity,
        shown: Option<&[String]>,
        introduction: diameter::incoming::Introduction,
    ) {
        let Some(entry) = self.entries.get_mut(host) else {
            self.refuse(connection, Vec::new(), format!("{host} is none of the peers"));
            return;
        };
        let has_shown = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(host.as_str()));
        let wrong = match shown {
            Some(names) if !has_shown(names) => Some("its certificate has another name"),
            None if entry.tls => Some("it has to connect by TLS"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.refuse(connection, Vec::new(), format!("{host}: {wrong}"));
            return;
        }
        let before = entry.accepted.replace(connection);
        match entry.peer.accept(now, introduction) {
            Ok(()) => {
                self.owners.insert(connection, (host.clone(), Side::Accepted));
            }
            Err(answer) => {
                entry.accepted = before;
                self.refuse(
                    connection,
                    answer,
                    format!("{host} may not connect now, or has nothing in common"),
                );
            }
        }
        self.take_events(host);
    }

    fn refuse(&mut self, connection: ConnectionId, last: Vec<u8>, why: String) {
        self.outputs.push_back(Output::Close { connection, last });
        self.outputs.push_back(Output::Refused(why));
    }

    /// A connection was closed by the other end, or is broken.
    pub fn closed(&mut self, now: u64, connection: ConnectionId) {
        self.strangers.remove(&connection);
        let Some((host, side)) = self.owners.remove(&connection) else { return };
        if let Some(entry) = self.entries.get_mut(&host)
            && *entry.place(side) == Some(connection)
        {
            *entry.place(side) = None;
            entry.peer.closed(now, side);
        }
        self.take_events(&host);
    }

    /// Takes the bytes that are to be sent by a connection.
    pub fn take_unsent(&mut self, connection: ConnectionId) -> Vec<u8> {
        let Some((host, side)) = self.owners.get(&connection) else { return Vec::new() };
        let Some(entry) = self.entries.get_mut(host) else { return Vec::new() };
        let bytes = entry.peer.unsent(*side).to_vec();
        entry.peer.sent(*side, bytes.len());
        bytes
    }

    /// As [`Peer::send_request`].
    ///
    /// # Errors
    /// As there; [`SendError::Unavailable`] if there is no such peer.
    pub fn send_request(
        &mut self,
        now: u64,
        to: &Identity,
        token: u64,
        request: &[u8],
    ) -> Result<(), SendError> {
        let Some(entry) = self.entries.get_mut(to) else { return Err(SendError::Unavailable) };
        let sent = entry.peer.send_request(now, token, request);
        self.take_events(to);
        sent
    }

    /// As [`Peer::send_answer`]; what cannot be sent any more is forgotten.
    pub fn send_answer(&mut self, now: u64, to: &Identity, ticket: Ticket, answer: &[u8]) {
        if let Some(entry) = self.entries.get_mut(to)
            && entry.peer.send_answer(now, ticket, answer).is_err()
        {
            entry.peer.drop_request(ticket);
        }
        self.take_events(to);
    }

    /// As [`Peer::drop_request`].
    pub fn drop_request(&mut self, from: &Identity, ticket: Ticket) {
        if let Some(entry) = self.entries.get_mut(from) {
            entry.peer.drop_request(ticket);
        }
    }

    fn take_events(&mut self, host: &Identity) {
        let Some(entry) = self.entries.get_mut(host) else { return };
        while let Some(event) = entry.peer.poll_event() {
            match event {
                Event::Connect => self.outputs.push_back(Output::Connect(host.clone())),
                Event::Close { side, last } => {
                    if let Some(connection) = entry.place(side).take() {
                        self.owners.remove(&connection);
                        self.outputs.push_back(Output::Close { connection, last });
                    }
                }
                event => self.outputs.push_back(Output::Peer(host.clone(), event)),
            }
        }
    }
}
