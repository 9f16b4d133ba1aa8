//! Switches that are drained, and that flows may come back to.
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use page_server::{json, lock, wrong};
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::changes::{ask, is_plain, unnamed, who};
use crate::limits;
use crate::model::Command;
use crate::routes::{App, snapshot};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draining {
    #[serde(default)]
    force: bool,
    reason: String,
}

/// Flows leave a switch.
pub(crate) async fn drain(
    State(app): State<Arc<App>>,
    Path(switch): Path<String>,
    query: Result<Query<Draining>, QueryRejection>,
    request: Request,
) -> Response {
    let action = format!(
        "give ?reason=TEXT with up to {} characters, and &force=true to cut what cannot leave",
        limits::REASON
    );
    let Ok(Query(Draining { force, reason })) = query else {
        return wrong(StatusCode::BAD_REQUEST, "it is not said why", "query", &action);
    };
    if !is_plain(&reason, limits::REASON) {
        let error = "the reason is empty, too long, or no plain text";
        return wrong(StatusCode::BAD_REQUEST, error, "query", &action);
    }
    change(&app, switch, Some(force), reason.trim(), who(&request)).await
}

/// Flows may come back to a switch.
pub(crate) async fn undrain(
    State(app): State<Arc<App>>,
    Path(switch): Path<String>,
    request: Request,
) -> Response {
    change(&app, switch, None, "", who(&request)).await
}

async fn change(
    app: &App,
    switch: String,
    force: Option<bool>,
    reason: &str,
    who: Option<String>,
) -> Response {
    let Some(who) = who else { return unnamed() };
    if let Err(response) = snapshot(&lock(&app.record)) {
        return *response;
    }
    let (answer, receiver) = oneshot::channel();
    let place: String = switch.chars().take(80).collect();
    let command = Command::Drain { switch, force, reason: reason.to_owned(), who, answer };
    match ask(app, command, receiver).await {
        Ok(Ok(drained)) => json(StatusCode::OK, &drained),
        Ok(Err(why)) => wrong(StatusCode::NOT_FOUND, &why, &place, "GET /api/v1/network lists the switches"),
        Err(response) => *response,
    }
}
