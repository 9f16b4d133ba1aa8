//! The network file that a manager runs with, read again.
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use page_server::{json, lock, wrong};
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::changes::{ask, unnamed, who};
use crate::model::Command;
use crate::routes::{App, snapshot};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reloading {
    /// Nothing is changed.
    #[serde(default)]
    check: bool,
    /// Flows that cannot be kept are revoked.
    #[serde(default)]
    force: bool,
}

/// The manager reads its network file again, and goes on with it if all that is promised can be kept.
pub(crate) async fn reload(
    State(app): State<Arc<App>>,
    query: Result<Query<Reloading>, QueryRejection>,
    request: Request,
) -> Response {
    let Ok(Query(Reloading { check, force })) = query else {
        let action = "give nothing, ?check=true, or ?force=true";
        return wrong(StatusCode::BAD_REQUEST, "the query is not understood", "query", action);
    };
    let Some(who) = who(&request) else { return unnamed() };
    if let Err(response) = snapshot(&lock(&app.record)) {
        return *response;
    }
    let (answer, receiver) = oneshot::channel();
    match ask(&app, Command::Reload { check, force, who, answer }, receiver).await {
        Ok(Ok(reloaded)) => json(StatusCode::OK, &reloaded),
        Ok(Err(why)) => {
            let action = "mend the file, and ask again; nothing has been changed";
            wrong(StatusCode::UNPROCESSABLE_ENTITY, &why, "the network file", action)
        }
        Err(response) => *response,
    }
}
