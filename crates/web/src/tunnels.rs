//! Tunnels of those who manage more than the network.
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use control::tunnels::TunnelsWanted;
use page_server::{json, lock, wrong};
use tokio::sync::oneshot;

use crate::changes::{ask, body_of_json, unnamed, who};
use crate::model::Command;
use crate::routes::{App, snapshot};

/// Reads what an owner wants.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn wanted(body: &[u8]) -> Result<TunnelsWanted, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

/// An owner says what it wants, and is told how far each is.
pub(crate) async fn hold(
    State(app): State<Arc<App>>,
    Path(owner): Path<String>,
    request: Request,
) -> Response {
    if who(&request).is_none() {
        return unnamed();
    }
    let action = "send an object as the schema TunnelsWanted of /openapi.json says";
    let Some(owner) = owner.parse::<u32>().ok().filter(|owner| *owner > 0) else {
        let place: String = owner.chars().take(80).collect();
        let error = "an owner is a number above 0, such as that of an autonomous system";
        return wrong(StatusCode::BAD_REQUEST, error, &place, "put it behind /api/v1/tunnels/");
    };
    let body = match body_of_json(request).await {
        Ok(body) => body,
        Err(response) => return *response,
    };
    let wanted = match wanted(&body) {
        Ok(wanted) => wanted,
        Err(error) => return wrong(StatusCode::BAD_REQUEST, &error, "body", action),
    };
    if let Err(response) = snapshot(&lock(&app.record)) {
        return *response;
    }
    let (answer, receiver) = oneshot::channel();
    match ask(&app, Command::Tunnels { owner, wanted, answer }, receiver).await {
        Ok(Ok(held)) => json(StatusCode::OK, &held),
        Ok(Err(error)) => wrong(StatusCode::UNPROCESSABLE_ENTITY, &error, "body", action),
        Err(response) => *response,
    }
}
