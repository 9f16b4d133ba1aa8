//! The paths of the page, and who may ask.
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use page_server::{
    Access, Document, Hub, TOKEN_SCRIPT, answer, denied, event, json, limits, lock, protect, wrong,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::NUMBER;
use super::history::{Entry, History};
use crate::event::Event;
use crate::protocol::Ask;

/// What the manager has said is shown for so long without asking it again: however many ask, it is asked once in this time.
const FRESH: Duration = Duration::from_secs(1);
/// The manager answers within this time, or the answer is that it does not.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the manager has said last, and when; `None` if it did not answer.
type Last = Option<(Instant, Option<Bytes>)>;

/// What routes work with.
pub(crate) struct App {
    access: Access,
    page: Document,
    tell: Sender<Event>,
    /// The start of the manager.
    epoch: u32,
    pub(crate) hub: Mutex<Hub>,
    pub(crate) history: Mutex<History>,
    last: Arc<tokio::sync::Mutex<Last>>,
}

impl App {
    pub(crate) fn new(access: Access, tell: Sender<Event>, epoch: u32) -> Self {
        let (hub, history, last) = (Mutex::default(), Mutex::default(), Arc::default());
        Self { access, page: document(), tell, epoch, hub, history, last }
    }
}

fn document() -> Document {
    let script = [TOKEN_SCRIPT, include_str!("page.js")].concat();
    Document::new(include_str!("page.html"), include_str!("page.css"), &script)
}

/// Every path, with the guard before it.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route("/", get(page))
        .route("/api/v1/domain", get(domain))
        .route("/api/v1/history", get(history))
        .route("/api/v1/events", get(listen))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method);
    router.layer(from_fn_with_state(Arc::clone(app), guard)).with_state(Arc::clone(app))
}

async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_open = request.uri().path() == "/";
    let mut response = match app.access.check(request.method(), request.headers(), None, is_open) {
        Ok(()) => next.run(request).await,
        Err(why) => denied(&app.access, why),
    };
    protect(&mut response);
    response
}

async fn page(State(app): State<Arc<App>>) -> Response {
    app.page.response()
}

/// What `rm status --json` prints, at most [`FRESH`] old.
async fn domain(State(app): State<Arc<App>>) -> Response {
    match fresh(&app).await {
        Some(bytes) => answer(StatusCode::OK, "application/json", bytes),
        None => {
            let action = "try again in a moment";
            wrong(StatusCode::SERVICE_UNAVAILABLE, "the manager does not answer", "the manager", action)
        }
    }
}

/// What the manager says, or `None` if it does not answer. Either holds for [`FRESH`], for all who wait as well.
async fn fresh(app: &Arc<App>) -> Option<Bytes> {
    let mut last = Arc::clone(&app.last).lock_owned().await;
    if let Some((_, said)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
        return said.clone();
    }
    let app = Arc::clone(app);
    // A client that goes away ends its handler, but not a question that was begun: the next one finds the answer.
    let asked = tokio::spawn(async move {
        let said = status(&app).await.map(Bytes::from);
        *last = Some((Instant::now(), said.clone()));
        said
    });
    asked.await.ok().flatten()
}

async fn status(app: &App) -> Option<String> {
    let (lines, told) = sync_channel(1);
    let sent = tokio::time::timeout(PATIENCE, app.tell.send(Event::Asked(NUMBER, Ask::Status, lines)));
    sent.await.ok()?.ok()?;
    tokio::task::spawn_blocking(move || told.recv_timeout(PATIENCE).ok()).await.ok()?
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

#[derive(Serialize)]
struct HistoryAnswer {
    last: u64,
    entries: Vec<Entry>,
}

async fn history(State(app): State<Arc<App>>, query: Result<Query<After>, QueryRejection>) -> Response {
    let Ok(Query(After { after })) = query else {
        let error = "the query cannot be read";
        return wrong(StatusCode::BAD_REQUEST, error, "query", "give ?after=NUMBER, or nothing");
    };
    let history = lock(&app.history);
    let entries = history.after(after).cloned().collect();
    json(StatusCode::OK, &HistoryAnswer { last: history.last(), entries })
}

#[derive(Serialize)]
struct Begins {
    /// Numbers of events are those of one start.
    epoch: u32,
    history: u64,
}

async fn listen(State(app): State<Arc<App>>) -> Response {
    let listener = {
        // In this order everywhere: what happens from now on is told.
        let history = lock(&app.history);
        lock(&app.hub).listen(event("state", None, &Begins { epoch: app.epoch, history: history.last() }))
    };
    match listener {
        Some(listener) => answer(StatusCode::OK, "text/event-stream", Body::from_stream(listener)),
        None => {
            let error = format!("there are {} listeners already", limits::LISTENERS);
            let action = "close a page, or ask again later";
            wrong(StatusCode::SERVICE_UNAVAILABLE, &error, "/api/v1/events", action)
        }
    }
}

/// The path or method of a request, no longer than a line.
fn place(text: &str) -> String {
    text.chars().take(200).collect()
}

async fn unknown(request: Request) -> Response {
    let action = "there are /, /api/v1/domain, /api/v1/history and /api/v1/events";
    wrong(StatusCode::NOT_FOUND, "there is nothing here", &place(request.uri().path()), action)
}

async fn wrong_method(request: Request) -> Response {
    let at = format!("{} {}", request.method(), request.uri().path());
    wrong(StatusCode::METHOD_NOT_ALLOWED, "this page changes nothing", &place(&at), "use GET")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_loads_nothing_and_writes_no_markup() {
        super::document();
    }
}
