//! The server as a program: its files, its sockets, its clock.
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use system::Error;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, channel};
use tokio::sync::oneshot;
use tokio::time::sleep_until;
use tracing::{info, warn};

use super::clock::{Clock, random};
use super::control::{self, Answer, Question};
use super::sockets::Sockets;
use super::storage::Storage;
use crate::entry::{Record, SessionEntry};
use crate::journal::{self, Journal};
use crate::node_file::Node;
use crate::server::{Kept, Output, Server, Stored, live};
use crate::users_file::open_users;

/// The files of a server in the folder of its store.
const SESSIONS: &str = "sessions";
const RECORDS: &str = "records";
/// Bytes that the file of sessions may have before it is written anew, and how much it may grow over that.
const LEAST_REWRITE: u64 = 4 << 20;

/// Makes the folder of a store, which no other user may enter.
pub(super) fn make_store(folder: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::system(folder.display()))
}

/// The records in the folder of a store, whether its server runs or not.
///
/// # Errors
/// They cannot be read, or are damaged.
pub fn records(folder: &Path) -> Result<Vec<Record>, Error> {
    journal::read(&folder.join(RECORDS)).map(|found| found.entries)
}

/// The two files, and what sessions there are, so that they can be written anew.
struct Files {
    sessions: Journal,
    records: Journal,
    live: BTreeMap<String, SessionEntry>,
    rewrite_at: u64,
}

impl Files {
    fn note(live: &mut BTreeMap<String, SessionEntry>, entry: &SessionEntry) {
        match entry {
            SessionEntry::Granted(granted) => drop(live.insert(granted.session.clone(), entry.clone())),
            SessionEntry::Aborting { session } => {
                if let Some(SessionEntry::Granted(granted)) = live.get_mut(session) {
                    granted.aborting = true;
                }
            }
            SessionEntry::Ended { session } => drop(live.remove(session)),
        }
    }

    /// One commit for each file; what is of one of them is there or is not.
    fn commit(&mut self, batch: Vec<(u64, Stored)>) -> Vec<(u64, bool)> {
        let (mut sessions, mut records) = (Vec::new(), Vec::new());
        let (mut of_sessions, mut of_records) = (Vec::new(), Vec::new());
        for (number, what) in batch {
            match what {
                Stored::Session(entry) => {
                    sessions.push(entry);
                    of_sessions.push(number);
                }
                Stored::Record(record) => {
                    records.push(*record);
                    of_records.push(number);
                }
            }
        }
        let done = |journal: &mut Journal, written: std::io::Result<()>| match written {
            Ok(()) => true,
            Err(error) => {
                warn!("{}: {error}", journal.path().display());
                false
            }
        };
        let sessions_done = sessions.is_empty() || {
            let written = self.sessions.append(&sessions);
            done(&mut self.sessions, written)
        };
        if sessions_done {
            sessions.iter().for_each(|entry| Self::note(&mut self.live, entry));
            self.rewrite();
        }
        let records_done = records.is_empty() || {
            let written = self.records.append(&records);
            done(&mut self.records, written)
        };
        let of_sessions = of_sessions.into_iter().map(|number| (number, sessions_done));
        of_sessions.chain(of_records.into_iter().map(|number| (number, records_done))).collect()
    }

    /// Writes the file of sessions anew when most of it is of the past.
    fn rewrite(&mut self) {
        if self.sessions.len() < self.rewrite_at {
            return;
        }
        let entries: Vec<SessionEntry> = self.live.values().cloned().collect();
        if let Err(error) = self.sessions.rewrite(&entries) {
            warn!("{}: {error}", self.sessions.path().display());
        }
        self.rewrite_at = (2 * self.sessions.len()).max(LEAST_REWRITE);
    }
}

/// What ends a server from outside, and what it tells when it is ready.
pub struct Around {
    /// Ends it when something comes.
    pub stop: UnboundedReceiver<()>,
    /// Called once it accepts connections.
    pub ready: Box<dyn FnOnce() + Send>,
}

/// Runs a server until it is told to end.
///
/// # Errors
/// A file or a key cannot be read, or an address cannot be listened at.
pub fn serve(node: &Node, around: Around) -> Result<(), Error> {
    let users_file = node.users.clone().ok_or_else(|| {
        Error::new("the file names no users", "add users = \"users.toml\": a server has users")
    })?;
    let users = open_users(&users_file).map_err(|text| Error::new(text, ""))?;
    info!("{} users", users.len());
    make_store(&node.store)?;
    let (mut sessions, found) = Journal::open::<SessionEntry>(&node.store.join(SESSIONS))?;
    let (records, kept) = Journal::open::<Record>(&node.store.join(RECORDS))?;
    for (file, torn) in [(SESSIONS, found.torn), (RECORDS, kept.torn)] {
        if torn > 0 {
            warn!("{file}: {torn} bytes of a commit that was not confirmed are cut");
        }
    }
    let entries: Vec<SessionEntry> = live(found.entries).into_iter().map(SessionEntry::Granted).collect();
    sessions.rewrite(&entries).map_err(Error::system(sessions.path().display()))?;
    let clock = Clock::start();
    let mut live = BTreeMap::new();
    entries.iter().for_each(|entry| Files::note(&mut live, entry));
    let records_known = kept.entries.iter().map(Kept::from);
    let server = Server::new(node.server(), users, entries, records_known, clock.now(), random()?);
    let rewrite_at = (2 * sessions.len()).max(LEAST_REWRITE);
    let mut files = Files { sessions, records, live, rewrite_at };
    let storage = Storage::start(move |batch| files.commit(batch));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(Error::system("the event loop"))?;
    runtime.block_on(Running { node, users_file, clock, server, storage }.run(around))
}

struct Running<'n> {
    node: &'n Node,
    users_file: PathBuf,
    clock: Clock,
    server: Server,
    storage: Storage<Stored>,
}

impl Running<'_> {
    async fn run(mut self, mut around: Around) -> Result<(), Error> {
        let mut sockets = Sockets::open(self.node).await?;
        let (asked, mut questions): (_, Receiver<control::Asked>) = channel(16);
        let socket = control::listen(&self.node.store, asked)?;
        let mut commands: BTreeMap<u64, oneshot::Sender<Answer>> = BTreeMap::new();
        let mut next_command = 0_u64;
        self.server.start(self.clock.now());
        (around.ready)();
        let mut ending = None;
        loop {
            while let Some(output) = self.server.poll_output() {
                match output {
                    Output::Connect(host) => sockets.connect(host),
                    Output::Close { connection, last } => sockets.close(connection, last),
                    Output::Store { number, what } => self.storage.store(number, what),
                    Output::Done { command, result } => {
                        if let Some(told) = commands.remove(&command) {
                            let _ = told.send(told_as(result));
                        }
                    }
                    Output::Log(text) => info!("{text}"),
                }
            }
            sockets.flush(&mut self.server);
            let is_quiet = self.server.is_disconnected() && self.server.waiting() == 0;
            if ending.is_some_and(|end| is_quiet || tokio::time::Instant::now() >= end) {
                let _ = std::fs::remove_file(socket);
                return Ok(());
            }
            let due = self.clock.instant(self.server.due());
            tokio::select! {
                happened = sockets.happened() => sockets.on(self.clock.now(), &mut self.server, happened),
                done = self.storage.done() => {
                    let now = self.clock.now();
                    done.into_iter().for_each(|(number, is_stored)| self.server.stored(now, number, is_stored));
                }
                Some((question, told)) = questions.recv() => {
                    next_command += 1;
                    if let Some(answer) = self.on_question(question, next_command) {
                        let _ = told.send(answer);
                    } else {
                        commands.insert(next_command, told);
                    }
                }
                Some(()) = around.stop.recv() => {
                    self.server.stop(self.clock.now());
                    let patience = std::time::Duration::from_secs(2);
                    ending = Some(tokio::time::Instant::now() + patience);
                }
                () = sleep_until(ending.map_or(due, |end| end.min(due))) => self.server.on_timer(self.clock.now()),
            }
        }
    }

    /// The answer, unless it comes later.
    fn on_question(&mut self, question: Question, command: u64) -> Option<Answer> {
        let now = self.clock.now();
        Some(match question {
            Question::Sessions => Answer::Sessions {
                sessions: self.server.sessions().cloned().collect(),
                peers: self.server.peers().map(|(host, open)| (host.to_string(), open)).collect(),
            },
            Question::Abort { session } => {
                self.server.abort(&session, command);
                return None;
            }
            Question::AskAgain { session } => told_as(if self.server.ask_again(now, &session) {
                Ok("its client is told to ask again".to_owned())
            } else {
                Err(format!("there is no session {session}, or its client cannot be reached"))
            }),
            Question::Reload => told_as(match open_users(&self.users_file) {
                Ok(users) => {
                    let count = users.len();
                    let doubtful = self.server.reload(now, users);
                    Ok(format!("{count} users; {doubtful} sessions have to ask again"))
                }
                // What was read before stays.
                Err(text) => Err(text),
            }),
        })
    }
}

fn told_as(result: Result<String, String>) -> Answer {
    match result {
        Ok(text) => Answer::Done { text },
        Err(text) => Answer::Failed { text },
    }
}
