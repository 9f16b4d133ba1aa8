//! The server: sessions with their store, the manager that is asked, clients over HTTP, and notifications.
mod ask;
mod deliver;
mod handlers;
mod places;
mod routes;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener as Bound};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keys::rustls::ServerConfig;
use page_server::{Access, Connections, lock, serve};
use store::{Change, FileStore, Key, Store};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinError;
use tracing::error;

use self::ask::Work;
use self::places::Places;
use crate::notification::Notice;
use crate::problem::Problem;
use crate::record::Session;
use crate::service_file::ServiceFile;
use crate::sessions::{Act, Sessions};
use crate::uuid::Uuid;

/// Notifications of a client that wait.
const MOST_WAITING: usize = 100;
/// How keys in the store begin.
const KEYS: &str = "session/";

/// What all work with.
pub(crate) struct App {
    file: ServiceFile,
    access: Access,
    kept: Mutex<Kept>,
    places: Places,
    work: Work,
    notices: BTreeMap<String, Sender<Notice>>,
    runtime: Handle,
}

struct Kept {
    sessions: Sessions,
    store: FileStore,
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// As the store keeps it.
fn kept(changes: &[(Uuid, Option<Session>)]) -> Result<Vec<Change>, String> {
    let change = |(id, session): &(Uuid, Option<Session>)| {
        let value =
            session.as_ref().map(serde_json::to_vec).transpose().map_err(|error| error.to_string())?;
        Ok((Key::Interdomain(format!("{KEYS}{id}")), value))
    };
    changes.iter().map(change).collect()
}

impl Kept {
    /// What could not be stored is stored with the next change.
    fn store_changes(&mut self) -> Result<(), String> {
        let changes = self.sessions.take_changes();
        let stored = match kept(&changes) {
            Ok(all) if all.is_empty() => Ok(()),
            Ok(all) => self.store.change(&all).map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        if stored.is_err() {
            self.sessions.untake(&changes);
        }
        stored
    }
}

/// A part of this program has failed.
fn internal(error: &JoinError) -> Problem {
    error!("a task failed: {error}");
    Problem::new(500, "INTERNAL", "the server has failed here: ask its operator")
}

impl App {
    /// Changes sessions, stores what has changed, and has done what follows from it. It waits for the disk.
    ///
    /// # Errors
    /// It could not be stored; it is tried again with the next change, and nothing follows from it until then.
    fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut Sessions, u64) -> T) -> Result<T, Problem> {
        self.change_or(change, |_, _, _| ())
    }

    /// The same; `otherwise` changes sessions further if it could not be stored, before anything else does.
    ///
    /// # Errors
    /// See above.
    fn change_or<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Sessions, u64) -> T,
        otherwise: impl FnOnce(&mut Sessions, u64, T),
    ) -> Result<T, Problem> {
        let mut kept = lock(&self.kept);
        let done = change(&mut kept.sessions, now());
        if let Err(what) = kept.store_changes() {
            otherwise(&mut kept.sessions, now(), done);
            drop(kept);
            error!("sessions cannot be stored: {what}");
            return Err(Problem::away("sessions cannot be stored now: ask again later"));
        }
        let acts = kept.sessions.take_acts();
        drop(kept);
        acts.into_iter().for_each(|act| self.act(act));
        Ok(done)
    }

    /// [`Self::change`], for tasks.
    ///
    /// # Errors
    /// See above.
    async fn changed<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Sessions, u64) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.changed_or(change, |_, _, _| ()).await
    }

    /// [`Self::change_or`], for tasks.
    ///
    /// # Errors
    /// See above.
    async fn changed_or<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Sessions, u64) -> T + Send + 'static,
        otherwise: impl FnOnce(&mut Sessions, u64, T) + Send + 'static,
    ) -> Result<T, Problem> {
        let app = Arc::clone(self);
        let done = self.runtime.spawn_blocking(move || app.change_or(change, otherwise)).await;
        done.unwrap_or_else(|error| Err(internal(&error)))
    }

    /// Looks at sessions, for tasks: who changes them holds them for as long as the disk takes.
    ///
    /// # Errors
    /// What `look` says.
    async fn seen<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Sessions) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let app = Arc::clone(self);
        let seen = self.runtime.spawn_blocking(move || look(&lock(&app.kept).sessions)).await;
        seen.unwrap_or_else(|error| Err(internal(&error)))
    }

    fn act(self: &Arc<Self>, act: Act) {
        match act {
            Act::Notify(notice) => {
                let queue = self.notices.get(&notice.client);
                if let Some(queue) = queue
                    && queue.try_send(notice).is_err()
                {
                    error!("a notification is left out: {MOST_WAITING} of its client wait already");
                }
            }
            Act::Stop(id, name) => self.work.stop(id, name),
        }
    }
}

/// Why it cannot be served.
pub(crate) type Failed = String;

/// Serves until the process is ended. `ready` hears where, once clients can connect.
///
/// # Errors
/// The address, the store, the certificate or the authorities cannot be used.
pub(crate) fn run(
    file: ServiceFile,
    store: &Path,
    ready: impl FnOnce(&str) -> io::Result<()>,
) -> Result<(), Failed> {
    let tls = file.tls.as_ref().map(|(certificate, key)| {
        page_server::open_tls(page_server::certified(certificate, key)?).map(Arc::new)
    });
    let tls = tls.transpose()?;
    let trusted = file.sinks.as_ref().map(|sinks| deliver::trust(&sinks.authorities)).transpose()?;
    let mut store = FileStore::open(store).map_err(|error| error.to_string())?;
    store.next_epoch().map_err(|error| error.to_string())?;
    let sessions = restored(&store)?;
    let address = file.listen;
    let failed =
        |error: io::Error| format!("{address}: {error}; give an address of this host that is free as listen");
    let listener = Bound::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = file.url.clone().unwrap_or_else(|| format!("{scheme}://{address}"));
    ready(&url).map_err(|error| error.to_string())?;
    let sessions = Sessions::new(url, sessions, now());
    runtime
        .block_on(look_after(file, address, listener, tls, trusted, Kept { sessions, store }))
        .map_err(failed)
}

fn restored(store: &FileStore) -> Result<Vec<Session>, Failed> {
    let mut sessions = Vec::new();
    for (key, value) in store.kept().map_err(|error| error.to_string())? {
        let Key::Interdomain(name) = &key else { continue };
        if !name.starts_with(KEYS) {
            return Err(store
                .unreadable(&key, "it is no session of clients: is this the store of a manager?")
                .to_string());
        }
        let session =
            serde_json::from_slice(&value).map_err(|error| store.unreadable(&key, &error.to_string()));
        sessions.push(session.map_err(|error| error.to_string())?);
    }
    Ok(sessions)
}

async fn look_after(
    file: ServiceFile,
    address: SocketAddr,
    listener: Bound,
    tls: Option<Arc<ServerConfig>>,
    trusted: Option<Arc<keys::rustls::ClientConfig>>,
    kept: Kept,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    // A page of another site has no token. Where none is needed, it may not even call this server by another name.
    let access = Access { address, token: None, tls: tls.is_some(), keys: file.is_closed() };
    let mut notices = BTreeMap::new();
    if let (Some(sinks), Some(trusted)) = (&file.sinks, trusted) {
        for client in &file.clients {
            let (queue, waiting) = channel(MOST_WAITING);
            notices.insert(client.name.clone(), queue);
            tokio::spawn(deliver::deliver(waiting, sinks.allow.clone(), Arc::clone(&trusted)));
        }
    }
    let (work, looks, stops) = Work::new();
    let places = Places::new(file.clients.iter().map(|client| client.name.as_str()));
    let app = Arc::new(App {
        file,
        access,
        kept: Mutex::new(kept),
        places,
        work,
        notices,
        runtime: Handle::current(),
    });
    let watching = Arc::clone(&app);
    std::thread::Builder::new().name("manager".to_owned()).spawn(move || ask::watch(&watching))?;
    let looking = Arc::clone(&app);
    std::thread::Builder::new().name("look".to_owned()).spawn(move || ask::look(&looking, &looks))?;
    let stopping = Arc::clone(&app);
    std::thread::Builder::new().name("stop".to_owned()).spawn(move || ask::stop(&stopping, &stops))?;
    let ticking = Arc::clone(&app);
    std::thread::Builder::new().name("clock".to_owned()).spawn(move || ask::tick(&ticking))?;
    let (accepted, arrivals) = channel(1);
    tokio::select! {
        () = connections::accept(listener, tls, "quality on demand: clients", accepted) => {}
        () = serve(arrivals, Connections::default(), routes::router(&app)) => {}
    }
    Ok(())
}

/// A wait of a thread.
fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
