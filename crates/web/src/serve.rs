//! The thread of the interface: connections, TLS, and what the manager says.
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use axum::body::Bytes;
use page_server::{Connections, Hub, Settings, event, keep_alive, lock, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tracing::error;

use crate::limits;
use crate::model::{Command, Said, Snapshot};
use crate::record::Record;
use crate::routes::{self, App};

/// What the manager says.
#[derive(Debug)]
enum Fact {
    Snapshot(Box<Snapshot>),
    Said(Box<Said>),
    StandsBy,
}

/// The manager's side: it says what there is and never waits. What the interface has no room for is left out, which is said.
#[derive(Debug)]
pub struct Publisher {
    facts: Sender<Fact>,
    left_out: u64,
}

impl Publisher {
    /// What there is now.
    pub fn show(&mut self, snapshot: Snapshot) {
        if self.left_out > 0 {
            let text = format!(
                "{} events were more than the page could take, and are not in the history",
                self.left_out
            );
            let said = Said {
                time: snapshot.time,
                who: "the manager".to_owned(),
                what: "left out",
                text,
                warning: true,
                flow: None,
                frames: None,
            };
            if self.facts.try_send(Fact::Said(Box::new(said))).is_ok() {
                self.left_out = 0;
            }
        }
        // The next one says the same, and what has changed since.
        let _ = self.facts.try_send(Fact::Snapshot(Box::new(snapshot)));
    }

    /// Something has happened.
    pub fn say(&mut self, said: Said) {
        if self.facts.try_send(Fact::Said(Box::new(said))).is_err() {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// Another manager goes before this one.
    pub fn stand_by(&mut self) {
        let _ = self.facts.try_send(Fact::StandsBy);
    }
}

/// The interface; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the interface on a thread of its own.
///
/// # Errors
/// The system has no thread or event loop for it.
pub fn start(settings: Settings) -> Result<(Publisher, Receiver<Command>, Running), String> {
    let (facts, heard) = channel(limits::AHEAD);
    let (commands, asked) = channel(page_server::limits::LISTENERS);
    let (stop, stopped) = oneshot::channel();
    let address = settings.access.address;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| format!("there is no event loop for the page: {error}"))?;
    let thread = std::thread::Builder::new().name("punctual-web".to_owned()).spawn(move || {
        if let Err(error) = runtime.block_on(run(settings, commands, heard, stopped)) {
            error!("the page is not served any more: {error}");
        }
    });
    let thread = thread.map_err(|error| format!("there is no thread for the page: {error}"))?;
    let publisher = Publisher { facts, left_out: 0 };
    Ok((publisher, asked, Running { address, stop: Some(stop), thread: Some(thread) }))
}

async fn run(
    settings: Settings,
    commands: Sender<Command>,
    heard: Receiver<Fact>,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(settings.listener)?;
    let connections = Connections::default();
    let app = Arc::new(App {
        access: settings.access,
        record: Mutex::new(Record::default()),
        hub: Mutex::new(Hub::default()),
        commands,
        page: routes::document(),
        connections: connections.clone(),
        denied: 0.into(),
        questions: 0.into(),
        next_question: tokio::sync::Mutex::new(None),
        nodes: OnceLock::new(),
        flows: Mutex::new((0, Bytes::new())),
    });
    let router = routes::router(&app);
    tokio::spawn(hear(Arc::clone(&app), heard));
    let (accepted, arrivals) = channel(1);
    tokio::select! {
        () = connections::accept(listener, settings.tls, "the page: clients", accepted) => {}
        () = serve(arrivals, connections, router) => {}
        () = keep_alive(&app.hub) => {}
        _ = stopped => {}
    }
    Ok(())
}

/// Takes down what the manager says, and tells those who listen.
async fn hear(app: Arc<App>, mut heard: Receiver<Fact>) {
    while let Some(fact) = heard.recv().await {
        let events = take_down(&mut lock(&app.record), fact);
        events.iter().for_each(|event| lock(&app.hub).tell(event));
        // Connections have their turn: one that keeps up must not fall behind because many things happen at once.
        tokio::task::yield_now().await;
    }
}

fn take_down(record: &mut Record, fact: Fact) -> Vec<Bytes> {
    match fact {
        Fact::Snapshot(snapshot) => {
            record.show(*snapshot);
            vec![event("state", None, &routes::state(record))]
        }
        Fact::StandsBy => {
            record.stand_by();
            vec![event("state", None, &routes::state(record))]
        }
        Fact::Said(said) => {
            let before = record.last;
            record.say(*said);
            record.history(before).map(|entry| event("history", Some(entry.number), entry)).collect()
        }
    }
}
