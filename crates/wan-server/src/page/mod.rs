//! The page of a domain for its operators, and the same as JSON: what `rm status` and `rm monitor` say.
//!
//! It is one more that asks the manager: with the questions of commands, and on a thread of its own. So it can show nothing else than they do, and who
//! reads it slowly, or asks for it often, keeps the manager from nothing.
mod history;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use page_server::{Connections, Settings, event, keep_alive, lock, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

use self::routes::App;
use crate::command::WebOptions;
use crate::event::Event;
use crate::protocol::{Answer, Ask};
use crate::running_manager;

/// The number of the page among those who ask. Connections of commands count from 1.
const NUMBER: u64 = u64::MAX;
/// Events of the manager that wait at most; further ones are left out, and counted.
const WAITING: usize = 4_096;

/// Where the page is to be served, if it is.
///
/// # Errors
/// What is missing or wrong.
pub(crate) fn settings(options: &WebOptions) -> Result<Option<Settings>, String> {
    let Some(address) = options.web else { return Ok(None) };
    let certificate = options.web_cert.as_deref().zip(options.web_key.as_deref());
    Settings::by_token(address, options.web_token.as_deref(), certificate).map(Some)
}

/// The page. It ends when this is dropped.
pub(crate) struct Page {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Page {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves the page of a manager that is told by `tell` what is asked.
///
/// # Errors
/// The system has no thread or event loop for it.
pub(crate) fn start(settings: Settings, tell: &Sender<Event>, epoch: u32) -> Result<Page, String> {
    let failed = |error: std::io::Error| format!("the page cannot be served: {error}");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    let (stop, stopped) = oneshot::channel();
    let address = settings.access.address;
    let app = Arc::new(App::new(settings.access.clone(), tell.clone(), epoch));
    listen(&app, tell).map_err(failed)?;
    let thread = thread::Builder::new().name("page".to_owned());
    let thread = thread.spawn(move || {
        if let Err(error) = runtime.block_on(run(app, settings, stopped)) {
            running_manager::tell(&unserved(address, &error));
        }
    });
    Ok(Page { stop: Some(stop), thread: Some(thread.map_err(failed)?) })
}

fn unserved(address: SocketAddr, error: &std::io::Error) -> String {
    format!("the page at {address} is not served any more: {error}")
}

async fn run(app: Arc<App>, settings: Settings, stopped: oneshot::Receiver<()>) -> std::io::Result<()> {
    let listener = TcpListener::from_std(settings.listener)?;
    let (accepted, arrivals) = channel(1);
    tokio::select! {
        () = connections::accept(listener, settings.tls, "the page: clients", accepted) => {}
        () = serve(arrivals, Connections::default(), routes::router(&app)) => {}
        () = keep_alive(&app.hub) => {}
        _ = stopped => {}
    }
    Ok(())
}

/// Takes down what the manager tells to those who monitor it.
fn listen(app: &Arc<App>, tell: &Sender<Event>) -> std::io::Result<()> {
    let (lines, told) = sync_channel::<String>(WAITING);
    let (app, tell) = (Arc::clone(app), tell.clone());
    let hear = move || {
        if tell.blocking_send(Event::Asked(NUMBER, Ask::Monitor, lines)).is_err() {
            return;
        }
        drop(tell);
        for line in told {
            let Ok(Answer::Event(happened)) = serde_json::from_str(&line) else { continue };
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            let mut history = lock(&app.history);
            let entry = history.add(now, happened);
            lock(&app.hub).tell(&event("history", Some(entry.number), entry));
        }
    };
    thread::Builder::new().name("page-events".to_owned()).spawn(hear).map(drop)
}
