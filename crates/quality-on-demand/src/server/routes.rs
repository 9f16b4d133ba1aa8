//! Paths, and who may ask.
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use page_server::{Denied, answer, json, protect};

use super::App;
use super::handlers;
use crate::problem::Problem;

/// The versions of CAMARA's interfaces that are answered: what was released, and what is being written.
const VERSIONS: [&str; 2] = ["v1", "vwip"];
/// The header by which a client recognises what belongs together.
const CORRELATOR: &str = "x-correlator";

/// Every path, with the guard before it.
pub(super) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new().route("/openapi.json", get(openapi));
    for version in VERSIONS {
        let at = |path: &str| format!("/quality-on-demand/{version}{path}");
        router = router
            .route(&at("/sessions"), post(handlers::create))
            .route(&at("/sessions/{id}"), get(handlers::show).delete(handlers::delete))
            .route(&at("/sessions/{id}/extend"), post(handlers::extend))
            .route(&at("/sessions/{id}/bound"), get(handlers::bound))
            .route(&at("/retrieve-sessions"), post(handlers::retrieve));
        let at = |path: &str| format!("/qos-profiles/{version}{path}");
        router = router
            .route(&at("/qos-profiles"), get(handlers::profiles))
            .route(&at("/qos-profiles/{name}"), get(handlers::profile))
            .route(&at("/retrieve-qos-profiles"), post(handlers::retrieve_profiles));
    }
    let router = router.fallback(unknown).method_not_allowed_fallback(wrong_method);
    router.layer(from_fn_with_state(Arc::clone(app), guard)).with_state(Arc::clone(app))
}

/// An error as an answer.
pub(super) fn wrong(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, problem);
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The correlator of a request.
fn correlator(headers: &HeaderMap) -> Result<Option<HeaderValue>, Problem> {
    let Some(value) = headers.get(CORRELATOR) else { return Ok(None) };
    let is_good = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:;./<>{}".contains(byte);
    if value.len() > 256 || !value.as_bytes().iter().all(is_good) {
        let what = "header x-correlator: it has at most 256 letters, digits and characters of -_:;./<>{}";
        return Err(Problem::argument(what));
    }
    Ok(Some(value.clone()))
}

/// Finds out who asks, and puts that to the request.
fn admit(app: &App, request: &mut Request) -> Result<(), Problem> {
    // Tokens are looked at below: each client has its own.
    app.access.check(request.method(), request.headers(), None, true).map_err(|denied| match denied {
        Denied::Host => Problem::new(403, "PERMISSION_DENIED", "header Host: it does not name this server"),
        _ => Problem::new(403, "PERMISSION_DENIED", "a page of another origin asks"),
    })?;
    if request.uri().path() == "/openapi.json" {
        return Ok(());
    }
    let said = request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    let token = match said.map(|said| said.split_once(' ')) {
        None => None,
        Some(Some((scheme, token))) if scheme.eq_ignore_ascii_case("bearer") => Some(token.trim()),
        Some(_) => Some(""),
    };
    let client = app.file.client_of(token).ok_or_else(|| {
        let what =
            "header Authorization: it is `Bearer` and the token that the operator has given to this client";
        Problem::new(401, "UNAUTHENTICATED", what)
    })?;
    request.extensions_mut().insert(client.clone());
    Ok(())
}

async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let correlator = correlator(request.headers());
    let admitted = match &correlator {
        Ok(_) => admit(&app, &mut request),
        Err(problem) => Err(problem.clone()),
    };
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(problem) => wrong(&problem),
    };
    if let Ok(Some(correlator)) = correlator {
        response.headers_mut().insert(CORRELATOR, correlator);
    }
    protect(&mut response);
    response
}

async fn openapi() -> Response {
    answer(StatusCode::OK, "application/json", crate::OPENAPI)
}

async fn unknown() -> Response {
    wrong(&Problem::unknown("there is nothing here: GET /openapi.json lists all paths"))
}

async fn wrong_method() -> Response {
    let what = "this path does not do that: GET /openapi.json lists the methods of all paths";
    wrong(&Problem::new(405, "METHOD_NOT_ALLOWED", what))
}
