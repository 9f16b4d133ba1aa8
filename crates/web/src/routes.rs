//! The routes: what is asked, and what is answered.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post, put};
use page_server::{Access, Connections, Document, Hub, Peer, answer, event, json, lock, protect, wrong};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use crate::OPENAPI;
use crate::answers::{self, AlarmsAnswer, HistoryAnswer, Node};
use crate::changes::{end_flow, what_if};
use crate::drains::{drain, undrain};
use crate::metrics::{self, Own};
use crate::model::{Command, Snapshot};
use crate::record::{Record, Standing};
use crate::reload::reload;
use crate::tunnels::hold;

/// What routes work with.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) access: Access,
    pub(crate) record: Mutex<Record>,
    pub(crate) hub: Mutex<Hub>,
    pub(crate) commands: Sender<Command>,
    pub(crate) page: Document,
    pub(crate) connections: Connections,
    pub(crate) denied: AtomicU64,
    pub(crate) questions: AtomicU64,
    /// When the next question may be asked.
    pub(crate) next_question: tokio::sync::Mutex<Option<Instant>>,
    /// Where nodes are drawn: a network does not change.
    pub(crate) nodes: OnceLock<Vec<Node>>,
    /// The list of flows of a snapshot, for who asks next.
    pub(crate) flows: Mutex<(u64, Bytes)>,
}

/// The page.
pub(crate) fn document() -> Document {
    let script = [page_server::TOKEN_SCRIPT, include_str!("picture.js"), include_str!("page.js")].concat();
    Document::new(include_str!("page.html"), include_str!("page.css"), &script)
}

/// Every path with what answers it.
fn routes() -> Vec<(&'static str, MethodRouter<Arc<App>>)> {
    vec![
        ("/", get(page)),
        ("/openapi.json", get(openapi)),
        ("/metrics", get(read_metrics)),
        ("/api/v1/network", get(network)),
        ("/api/v1/flows", get(flows)),
        ("/api/v1/flows/{id}", get(flow).delete(end_flow)),
        ("/api/v1/switches/{name}/drain", put(drain).delete(undrain)),
        ("/api/v1/network/reload", post(reload)),
        ("/api/v1/requests", post(what_if)),
        ("/api/v1/tunnels/{owner}", put(hold)),
        ("/api/v1/history", get(history)),
        ("/api/v1/alarms", get(alarms)),
        ("/api/v1/events", get(listen)),
    ]
}

/// Everything, with its guard before it.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let router =
        routes().into_iter().fold(Router::new(), |router, (path, method)| router.route(path, method));
    let router = router.fallback(unknown).method_not_allowed_fallback(wrong_method);
    router.layer(from_fn_with_state(Arc::clone(app), guard)).with_state(Arc::clone(app))
}

async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_open = matches!(request.uri().path(), "/" | "/openapi.json");
    let role = request.extensions().get::<Peer>().and_then(|peer| peer.role);
    let checked = app.access.check(request.method(), request.headers(), role, is_open);
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(denied) => {
            app.denied.fetch_add(1, Ordering::Relaxed);
            page_server::denied(&app.access, denied)
        }
    };
    protect(&mut response);
    response
}

async fn unknown(request: Request) -> Response {
    let path: String = request.uri().path().chars().take(200).collect();
    wrong(StatusCode::NOT_FOUND, "there is nothing here", &path, "GET /openapi.json lists all paths")
}

async fn wrong_method(request: Request) -> Response {
    let place: String = format!("{} {}", request.method(), request.uri().path()).chars().take(200).collect();
    let error = "this path does not take the method";
    wrong(StatusCode::METHOD_NOT_ALLOWED, error, &place, "GET /openapi.json lists the methods of all paths")
}

async fn page(State(app): State<Arc<App>>) -> Response {
    app.page.response()
}

async fn openapi() -> Response {
    answer(StatusCode::OK, "application/json", OPENAPI)
}

async fn read_metrics(State(app): State<Arc<App>>) -> Response {
    let own = Own {
        connections: app.connections.count(),
        listeners: lock(&app.hub).len(),
        questions: app.questions.load(Ordering::Relaxed),
        denied: app.denied.load(Ordering::Relaxed),
    };
    answer(StatusCode::OK, metrics::TYPE, metrics::metrics(&mut lock(&app.record), own))
}

/// The snapshot, or the answer that there is none.
pub(crate) fn snapshot(record: &Record) -> Result<Arc<Snapshot>, Box<Response>> {
    record.snapshot.clone().ok_or_else(|| {
        let error = match record.standing {
            Standing::StandsBy => "this manager stands by for another one, which manages the network",
            Standing::Begins | Standing::Manages => "this manager has not begun",
        };
        let action = "ask the manager that manages (punctual grm status shows it), or try again in a moment";
        Box::new(wrong(StatusCode::SERVICE_UNAVAILABLE, error, "the manager", action))
    })
}

async fn network(State(app): State<Arc<App>>) -> Response {
    let record = lock(&app.record);
    match snapshot(&record) {
        Ok(snapshot) => {
            let nodes = app.nodes.get_or_init(|| answers::nodes(&snapshot)).clone();
            json(StatusCode::OK, &answers::network(&record, &snapshot, nodes))
        }
        Err(response) => *response,
    }
}

async fn flows(State(app): State<Arc<App>>) -> Response {
    let record = lock(&app.record);
    let snapshot = match snapshot(&record) {
        Ok(snapshot) => snapshot,
        Err(response) => return *response,
    };
    let mut cached = lock(&app.flows);
    if cached.0 != record.number {
        match serde_json::to_vec(&answers::flows(&record, &snapshot)) {
            Ok(bytes) => *cached = (record.number, Bytes::from(bytes)),
            Err(_) => return json(StatusCode::OK, &answers::flows(&record, &snapshot)),
        }
    }
    answer(StatusCode::OK, "application/json", cached.1.clone())
}

pub(crate) fn unknown_flow(id: &str) -> Response {
    let id: String = id.chars().take(80).collect();
    let error = "there is no such flow: no reader asks for it any more, or never did";
    wrong(StatusCode::NOT_FOUND, error, &id, "GET /api/v1/flows lists all flows with their ids")
}

async fn flow(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    let record = lock(&app.record);
    match snapshot(&record) {
        Ok(snapshot) => match answers::one_flow(&record, &snapshot, &id) {
            Some(flow) => json(StatusCode::OK, &flow),
            None => unknown_flow(&id),
        },
        Err(response) => *response,
    }
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

async fn history(
    State(app): State<Arc<App>>,
    query: Result<Query<After>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(After { after })) = query else {
        let error = "the query cannot be read";
        return wrong(StatusCode::BAD_REQUEST, error, "query", "give ?after=NUMBER, or nothing");
    };
    let record = lock(&app.record);
    json(StatusCode::OK, &HistoryAnswer { last: record.last, entries: record.history(after).collect() })
}

async fn alarms(State(app): State<Arc<App>>) -> Response {
    let mut record = lock(&app.record);
    match snapshot(&record) {
        Ok(snapshot) => json(StatusCode::OK, &AlarmsAnswer { time: snapshot.time, alarms: record.alarms() }),
        Err(response) => *response,
    }
}

async fn listen(State(app): State<Arc<App>>) -> Response {
    let first = event("state", None, &state(&mut lock(&app.record)));
    let listener = lock(&app.hub).listen(first);
    match listener {
        Some(listener) => answer(StatusCode::OK, "text/event-stream", Body::from_stream(listener)),
        None => {
            let error = format!("there are {} listeners already", page_server::limits::LISTENERS);
            let action = "close a page, or ask again later";
            wrong(StatusCode::SERVICE_UNAVAILABLE, &error, "/api/v1/events", action)
        }
    }
}

/// What an event says of a snapshot: enough to know whether to ask for more.
#[derive(Serialize)]
pub(crate) struct StateEvent {
    number: u64,
    standing: &'static str,
    time: u64,
    requests: usize,
    admitted: usize,
    alarms: usize,
    history: u64,
}

pub(crate) fn state(record: &mut Record) -> StateEvent {
    let alarms = record.alarms().len();
    let report = record.snapshot.as_ref().map(|snapshot| &snapshot.report);
    StateEvent {
        number: record.number,
        standing: match record.standing {
            Standing::Begins => "begins",
            Standing::Manages => "manages",
            Standing::StandsBy => "stands by",
        },
        time: record.snapshot.as_ref().map_or(0, |snapshot| snapshot.time),
        requests: report.map_or(0, |report| report.requests),
        admitted: report.map_or(0, |report| report.admitted),
        alarms,
        history: record.last,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_loads_nothing_and_writes_no_markup() {
        document();
    }

    #[test]
    fn every_path_is_documented_and_no_other() {
        let document: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
        let documented: BTreeSet<&str> =
            document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        let routed: BTreeSet<&str> = routes().into_iter().map(|(path, _)| path).collect();
        assert_eq!(routed, documented);
    }
}
