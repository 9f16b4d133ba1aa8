//! A server, clients, their stores, and a network that breaks, in virtual time.
use std::collections::BTreeMap;

use aaa::client::{self, Ask, Client};
use aaa::entry::{Record, SessionEntry, SpoolEntry};
use aaa::peers::{ConnectionId, Known};
use aaa::resources::{Wish, resources};
use aaa::server::{self, Kept, Now, Server, Stored, live};
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::value::Identity;
use testkit::random::Random;
use wan::Class;

use crate::{DURING, users};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;

pub(crate) fn identity(text: &str) -> Identity {
    Identity::new(text).unwrap()
}

pub(crate) fn server_settings(clients: usize) -> server::Settings {
    let known = |number| Known { host: identity(&format!("rm{number}.x")), connect: false, tls: false };
    server::Settings {
        host: identity("aaa.x"),
        realm: identity("x"),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        peers: (0..clients).map(|number| (known(number), Vec::new())).collect(),
        lifetime: 20,
        grace: 5,
        session_timeout: 3_600,
        interim: 4,
        watchdog: 6 * SECOND,
        most_sessions: 1_000,
        most_accounts: 10_000,
    }
}

pub(crate) fn client_settings(number: usize) -> client::Settings {
    client::Settings {
        host: identity(&format!("rm{number}.x")),
        realm: identity("x"),
        addresses: vec!["192.0.2.2".parse().unwrap()],
        servers: vec![Known { host: identity("aaa.x"), connect: true, tls: false }],
        server_realm: identity("x"),
        limit: 2 * SECOND,
        watchdog: 6 * SECOND,
        most_records: 10_000,
        most_sessions: 100,
    }
}

pub(crate) fn ask(user: &str, secret: Option<&str>, to: &str, class: Class, rate: u64) -> Ask {
    let wish = Wish {
        from: Some("192.0.2.9".parse().unwrap()),
        to: vec![to.parse().unwrap()],
        class,
        rate,
        bucket: 3_000,
        largest_packet: 1_500,
        forward: true,
    };
    let secret = secret.map(|secret| secret.as_bytes().to_vec());
    Ask { user: user.to_owned(), secret, resources: resources(&[wish]) }
}

enum Event {
    ToServer(ConnectionId, Option<Vec<u8>>),
    ToClient(usize, ConnectionId, Option<Vec<u8>>),
    Connect(usize),
    ServerStored(u32, u64, Stored),
    ClientStored(usize, u32, u64, SpoolEntry),
    RestartServer,
    RestartClient(usize),
}

/// A session as its owner sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serving {
    /// What was delivered.
    pub bytes: u64,
    /// What the last record that is stored says.
    pub told: u64,
    /// What each record says.
    pub records: BTreeMap<u32, u64>,
    pub started: bool,
    pub over: bool,
}

pub(crate) struct Manager {
    pub client: Option<Client>,
    pub disk: Vec<SpoolEntry>,
    epoch: u32,
    next: ConnectionId,
    open: Vec<ConnectionId>,
    /// All sessions that were ever granted to it.
    pub sessions: BTreeMap<String, Serving>,
    pub granted: u64,
    pub refused: u64,
}

pub(crate) struct World {
    pub now: u64,
    pub random: Random,
    queue: BTreeMap<(u64, u64), Event>,
    sequence: u64,
    pub server: Option<Server>,
    epoch: u32,
    /// What the server's disk holds.
    pub sessions: Vec<SessionEntry>,
    pub records: Vec<Record>,
    pub managers: Vec<Manager>,
    /// No faults any more.
    pub calm: bool,
    pub latest_to: BTreeMap<ConnectionId, u64>,
}

impl World {
    pub(crate) fn new(seed: u64, managers: usize) -> Self {
        let mut world = Self {
            now: 0,
            random: Random::of_case(26, seed),
            queue: BTreeMap::new(),
            sequence: 0,
            server: None,
            epoch: 0,
            sessions: Vec::new(),
            records: Vec::new(),
            managers: Vec::new(),
            calm: false,
            latest_to: BTreeMap::new(),
        };
        for number in 0..managers {
            world.managers.push(Manager {
                client: None,
                disk: Vec::new(),
                epoch: 0,
                next: number as u64 * 1_000_000,
                open: Vec::new(),
                sessions: BTreeMap::new(),
                granted: 0,
                refused: 0,
            });
        }
        world.start_server();
        (0..managers).for_each(|number| world.start_client(number));
        world
    }

    pub(crate) fn time(&self) -> Now {
        Now { monotonic: self.now, unix: DURING + self.now / SECOND }
    }

    fn push(&mut self, after: u64, event: Event) {
        self.sequence += 1;
        self.queue.insert((self.now + after, self.sequence), event);
    }

    fn start_server(&mut self) {
        let records = self.records.iter().map(Kept::from);
        let random = self.random.bits();
        let settings = server_settings(self.managers.len().max(2));
        let server = Server::new(settings, users(), self.sessions.clone(), records, self.time(), random);
        self.server = Some(server);
    }

    fn start_client(&mut self, number: usize) {
        let (now, random) = (self.time(), self.random.bits());
        let manager = &mut self.managers[number];
        let mut client = Client::new(client_settings(number), manager.disk.clone(), now, random);
        manager.disk = client.snapshot();
        client.end_restored(now);
        client.start(now);
        manager.client = Some(client);
    }

    /// A crash: what was being stored is there as far as the disk has come.
    pub(crate) fn crash_server(&mut self) {
        if self.server.take().is_none() {
            return;
        }
        self.epoch += 1;
        let mut durable = self.random.chance(50);
        let keys: Vec<_> = self.queue.keys().copied().collect();
        for key in keys {
            if matches!(self.queue.get(&key), Some(Event::ServerStored(..)))
                && let Some(Event::ServerStored(_, _, what)) = self.queue.remove(&key)
            {
                durable &= self.random.chance(80);
                if durable {
                    self.write(what);
                }
            }
        }
        for number in 0..self.managers.len() {
            self.cut(number);
        }
        let pause = self.random.range(1, 8 * SECOND);
        self.push(pause, Event::RestartServer);
    }

    pub(crate) fn crash_client(&mut self, number: usize) {
        if self.managers[number].client.take().is_none() {
            return;
        }
        self.cut(number);
        let keys: Vec<_> = self.queue.keys().copied().collect();
        let mut durable = self.random.chance(50);
        for key in keys {
            let ours = matches!(self.queue.get(&key), Some(Event::ClientStored(of, ..)) if *of == number);
            if ours && let Some(Event::ClientStored(_, _, _, entry)) = self.queue.remove(&key) {
                durable &= self.random.chance(80);
                if durable {
                    self.keep(number, entry);
                }
            }
        }
        let manager = &mut self.managers[number];
        manager.epoch += 1;
        manager.sessions.values_mut().for_each(|session| session.over = true);
        let pause = self.random.range(1, 5 * SECOND);
        self.push(pause, Event::RestartClient(number));
    }

    /// Both ends see that their connections are gone.
    pub(crate) fn cut(&mut self, number: usize) {
        for connection in std::mem::take(&mut self.managers[number].open) {
            let after = self.random.range(1, 50 * MILLISECOND);
            self.push(after, Event::ToServer(connection, None));
            self.push(after, Event::ToClient(number, connection, None));
        }
    }

    fn write(&mut self, what: Stored) {
        match what {
            Stored::Session(entry) => self.sessions.push(entry),
            Stored::Record(record) => self.records.push(*record),
        }
    }

    fn keep(&mut self, number: usize, entry: SpoolEntry) {
        if let SpoolEntry::Added { message, .. } = &entry
            && let Ok((_, diameter::Message::AccountingRequest(request))) =
                diameter::Message::decode(&message.0)
        {
            let session = self.managers[number].sessions.entry(request.session_id.clone()).or_default();
            let bytes = request.accounting_output_octets.unwrap();
            let before = session.records.insert(request.accounting_record_number, bytes);
            assert!(before.is_none_or(|before| before == bytes), "one number, two records");
            session.told = session.records.values().next_back().copied().unwrap_or(0);
        }
        self.managers[number].disk.push(entry);
    }

    /// Lets so much time pass.
    pub(crate) fn run(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            self.drain();
            let timer = self.server.as_ref().map_or(u64::MAX, Server::due);
            let clients = self.managers.iter().filter_map(|manager| manager.client.as_ref().map(Client::due));
            let timer = clients.fold(timer, u64::min).max(self.now);
            let event = self.queue.keys().next().map_or(u64::MAX, |(at, _)| *at);
            if timer.min(event) > end {
                self.now = end;
                return;
            }
            if event <= timer {
                let ((at, _), event) = self.queue.pop_first().unwrap();
                self.now = at.max(self.now);
                self.happen(event);
            } else {
                self.now = timer.max(self.now);
                let now = self.time();
                if let Some(server) = self.server.as_mut().filter(|server| server.due() <= now.monotonic) {
                    server.on_timer(now);
                }
                for manager in &mut self.managers {
                    let client = manager.client.as_mut();
                    if let Some(client) = client.filter(|client| client.due() <= now.monotonic) {
                        client.on_timer(now);
                    }
                }
            }
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.time();
        match event {
            Event::ToServer(connection, bytes) => {
                let Some(server) = &mut self.server else { return };
                match bytes {
                    Some(bytes) => server.received(now, connection, &bytes),
                    None => server.closed(now, connection),
                }
            }
            Event::ToClient(number, connection, bytes) => {
                let Some(client) = &mut self.managers[number].client else { return };
                match bytes {
                    Some(bytes) => client.received(now, connection, &bytes),
                    None => client.closed(now, connection),
                }
            }
            Event::Connect(number) => {
                let manager = &mut self.managers[number];
                let Some(client) = &mut manager.client else { return };
                let Some(server) = &mut self.server else {
                    client.connect_failed(now, &identity("aaa.x"));
                    return;
                };
                manager.next += 1;
                let connection = manager.next;
                manager.open.push(connection);
                server.accepted(now, connection, None);
                client.connected(now, &identity("aaa.x"), connection);
            }
            Event::ServerStored(epoch, number, what) => {
                if epoch != self.epoch {
                    return;
                }
                let is_stored = self.calm || !self.random.chance(3);
                if is_stored {
                    self.write(what);
                }
                if let Some(server) = &mut self.server {
                    server.stored(now, number, is_stored);
                }
            }
            Event::ClientStored(manager, epoch, number, entry) => {
                if epoch != self.managers[manager].epoch {
                    return;
                }
                let is_stored = self.calm || !self.random.chance(3);
                if is_stored {
                    self.keep(manager, entry);
                }
                if let Some(client) = &mut self.managers[manager].client {
                    client.stored(now, number, is_stored);
                }
            }
            Event::RestartServer => self.start_server(),
            Event::RestartClient(number) => self.start_client(number),
        }
    }

    /// Takes what the machines want, and brings it on its way. Bytes of a connection stay in order.
    fn drain(&mut self) {
        let now = self.time();
        while let Some(output) = self.server.as_mut().and_then(Server::poll_output) {
            match output {
                server::Output::Close { connection, last } => {
                    let number = (connection / 1_000_000) as usize;
                    self.managers[number].open.retain(|open| *open != connection);
                    let after = self.delay(connection * 2);
                    self.push(after, Event::ToClient(number, connection, Some(last)));
                    self.push(after, Event::ToClient(number, connection, None));
                }
                server::Output::Store { number, what } => {
                    let after = self.stores(u64::MAX);
                    self.push(after, Event::ServerStored(self.epoch, number, what));
                }
                server::Output::Connect(_) | server::Output::Done { .. } | server::Output::Log(_) => {}
            }
        }
        for number in 0..self.managers.len() {
            self.drain_client(number, now);
            for connection in self.managers[number].open.clone() {
                let bytes = self.server.as_mut().map(|server| server.take_unsent(connection));
                if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
                    let after = self.delay(connection * 2);
                    self.push(after, Event::ToClient(number, connection, Some(bytes)));
                }
                let bytes =
                    self.managers[number].client.as_mut().map(|client| client.take_unsent(connection));
                if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
                    let after = self.delay(connection * 2 + 1);
                    self.push(after, Event::ToServer(connection, Some(bytes)));
                }
            }
        }
    }

    fn drain_client(&mut self, number: usize, now: Now) {
        while let Some(output) = self.managers[number].client.as_mut().and_then(Client::poll_output) {
            let manager = &mut self.managers[number];
            match output {
                client::Output::Connect(_) => {
                    let after = self.random.range(1, 20 * MILLISECOND);
                    self.push(after, Event::Connect(number));
                }
                client::Output::Close { connection, last } => {
                    manager.open.retain(|open| *open != connection);
                    let after = self.delay(connection * 2 + 1);
                    self.push(after, Event::ToServer(connection, Some(last)));
                    self.push(after, Event::ToServer(connection, None));
                }
                client::Output::Store { number: store, entry } => {
                    let epoch = manager.epoch;
                    let after = self.stores(number as u64);
                    self.push(after, Event::ClientStored(number, epoch, store, entry));
                }
                client::Output::Decided { session, result } => match result {
                    Ok(_) => {
                        manager.granted += 1;
                        let serving = manager.sessions.entry(session.clone()).or_default();
                        serving.started = true;
                        if let Some(client) = &mut manager.client {
                            client.start_accounting(now, &session).unwrap();
                        }
                    }
                    Err(_) => manager.refused += 1,
                },
                client::Output::Ended { session, .. } => self.stop_session(number, &session),
                client::Output::InterimDue(session) => {
                    let bytes = manager.sessions[&session].bytes;
                    let usage = Usage { output_bytes: bytes, ..Usage::default() };
                    if let Some(client) = &mut manager.client {
                        client.interim(now, &session, usage).unwrap();
                    }
                }
                client::Output::Accounted { .. } | client::Output::Renewed(_) | client::Output::Log(_) => {}
            }
        }
    }

    pub(crate) fn stop_session(&mut self, number: usize, session: &str) {
        let now = self.time();
        let manager = &mut self.managers[number];
        let Some(serving) = manager.sessions.get_mut(session).filter(|serving| !serving.over) else { return };
        serving.over = true;
        let usage = Usage { output_bytes: serving.bytes, ..Usage::default() };
        if let Some(client) = &mut manager.client {
            client.stop_accounting(now, session, usage, TerminationCause::Logout).unwrap();
        }
    }

    /// How long bytes take: not shorter than those before on the same way.
    fn delay(&mut self, way: u64) -> u64 {
        let most = if self.random.one_in(50) { SECOND } else { 5 * MILLISECOND };
        let at = self.now + self.random.range(1, most);
        let latest = self.latest_to.entry(way).or_default();
        *latest = (*latest).max(at);
        *latest - self.now
    }

    /// How long a commit takes; commits of one disk are in order.
    fn stores(&mut self, disk: u64) -> u64 {
        let most = if self.random.one_in(40) { 3 * SECOND } else { 10 * MILLISECOND };
        let at = self.now + self.random.range(1, most);
        let latest = self.latest_to.entry(u64::MAX - 1 - disk.min(1_000_000)).or_default();
        *latest = (*latest).max(at);
        *latest - self.now
    }

    /// The sessions that managers serve now, as user and rate.
    pub(crate) fn served(&self) -> Vec<&str> {
        let mut served = Vec::new();
        for manager in &self.managers {
            let Some(client) = &manager.client else { continue };
            served.extend(
                manager.sessions.keys().filter(|session| client.may_serve(session)).map(String::as_str),
            );
        }
        served
    }

    /// The sessions on the server's disk.
    pub(crate) fn live(&self) -> usize {
        live(self.sessions.clone()).len()
    }
}
