//! The paths of the page, and who may ask.
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use page_server::{Access, Denied, Document, Hub, answer, event, json, limits, lock, protect, wrong};
use tokio::time::Instant;

use super::watch::{Asked, Seen, current};

/// What routes work with.
#[derive(Debug)]
pub(super) struct App {
    pub(super) asked: Asked,
    access: Access,
    page: Document,
    pub(super) hub: Mutex<Hub>,
    /// What was seen last, and when.
    pub(super) last: tokio::sync::Mutex<Option<(Instant, Arc<Seen>)>>,
}

impl App {
    pub(super) fn new(asked: Asked, access: Access) -> Self {
        let page =
            Document::new(include_str!("page.html"), include_str!("page.css"), include_str!("page.js"));
        Self { asked, access, page, hub: Mutex::default(), last: tokio::sync::Mutex::default() }
    }
}

/// Every path, with the guard before it.
pub(super) fn router(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route("/", get(page))
        .route("/api/v1/deployments", get(deployments))
        .route("/api/v1/events", get(listen))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method);
    router.layer(from_fn_with_state(Arc::clone(app), guard)).with_state(Arc::clone(app))
}

async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_open = request.uri().path() == "/";
    let mut response = match app.access.check(request.method(), request.headers(), None, is_open) {
        Ok(()) => next.run(request).await,
        Err(Denied::Host) => wrong(
            StatusCode::MISDIRECTED_REQUEST,
            "the name by which this page was called is not its own",
            "header Host",
            &format!("call it by its address, {}", app.access.address),
        ),
        // Neither a token nor a certificate is asked for.
        Err(_) => wrong(
            StatusCode::FORBIDDEN,
            "a page of another origin asks",
            "headers Origin and Sec-Fetch-Site",
            "use this page, or a program",
        ),
    };
    protect(&mut response);
    response
}

async fn page(State(app): State<Arc<App>>) -> Response {
    app.page.response()
}

async fn deployments(State(app): State<Arc<App>>) -> Response {
    json(StatusCode::OK, &*current(&app).await)
}

async fn listen(State(app): State<Arc<App>>) -> Response {
    let first = event("state", None, &*current(&app).await);
    let listener = lock(&app.hub).listen(first);
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
    let action = "there are /, /api/v1/deployments and /api/v1/events";
    wrong(StatusCode::NOT_FOUND, "there is nothing here", &place(request.uri().path()), action)
}

async fn wrong_method(request: Request) -> Response {
    let at = format!("{} {}", request.method(), request.uri().path());
    wrong(StatusCode::METHOD_NOT_ALLOWED, "this page changes nothing", &place(&at), "use GET")
}
