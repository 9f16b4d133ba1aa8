//! What is asked of the manager: what would be, and that a flow ends by hand.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use control::operator::ByHand;
use control::what_if::Question;
use keys::Role;
use page_server::{Peer, json, lock, wrong};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use wire::Guid;
use wire::admission::Contract;

use crate::answers::EndedAnswer;
use crate::limits;
use crate::model::{Command, Refused};
use crate::routes::{App, snapshot, unknown_flow};

/// The header that names who does something by hand. No form of a page of another origin can send it.
const OPERATOR: &str = "punctual-operator";

/// A request that is tried and not made.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionBody {
    from: String,
    to: String,
    largest_message: u32,
    smallest_message: Option<u32>,
    #[serde(default = "usual_datagram")]
    datagram: u32,
    minimum_separation: u64,
    #[serde(default)]
    contract_maximum_separation: u64,
    #[serde(default)]
    jitter: u64,
    #[serde(default)]
    emission: u64,
    #[serde(default)]
    slack: u64,
    #[serde(default)]
    importance: u8,
    maximum_latency: u64,
    #[serde(default)]
    maximum_separation: u64,
    /// What would be written, and who would ask, for the policy.
    #[serde(default)]
    topic: String,
    #[serde(default)]
    user: String,
}

/// The UDP payload of the largest Ethernet frame.
const fn usual_datagram() -> u32 {
    1_472
}

/// Reads the body of a question.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn question(body: &[u8]) -> Result<Question, String> {
    let read: QuestionBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    Ok(Question {
        contract: Contract {
            largest_message: read.largest_message,
            smallest_message: read.smallest_message.unwrap_or(read.largest_message),
            datagram: read.datagram,
            minimum_separation: read.minimum_separation,
            maximum_separation: read.contract_maximum_separation,
            jitter: read.jitter,
            emission: read.emission,
            slack: read.slack,
            importance: read.importance,
        },
        topic: read.topic,
        user: read.user,
        from: read.from,
        to: read.to,
        maximum_latency: read.maximum_latency,
        maximum_separation: read.maximum_separation,
    })
}

/// The body of a request that says that it is JSON.
pub(crate) async fn body_of_json(request: Request) -> Result<Bytes, Box<Response>> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    if kind.as_deref() != Some("application/json") {
        let action = "send `Content-Type: application/json`";
        let error = "the body is not said to be JSON";
        return Err(Box::new(wrong(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            error,
            "header Content-Type",
            action,
        )));
    }
    match timeout(limits::SENDING, to_bytes(request.into_body(), limits::BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let error = format!("the body has more than {} bytes, or was cut off", limits::BODY);
            let action = "a question has a few hundred bytes, and so has a tunnel";
            Err(Box::new(wrong(StatusCode::PAYLOAD_TOO_LARGE, &error, "body", action)))
        }
        Err(_) => {
            let error = "the body did not come";
            Err(Box::new(wrong(StatusCode::REQUEST_TIMEOUT, error, "body", "send it at once")))
        }
    }
}

pub(crate) async fn what_if(State(app): State<Arc<App>>, request: Request) -> Response {
    let body = match body_of_json(request).await {
        Ok(body) => body,
        Err(response) => return *response,
    };
    let question = match question(&body) {
        Ok(question) => question,
        Err(error) => {
            let action = "send an object as the schema Question of /openapi.json says";
            return wrong(StatusCode::BAD_REQUEST, &error, "body", action);
        }
    };
    if let Err(response) = snapshot(&lock(&app.record)) {
        return *response;
    }
    let Ok(mut next) = timeout(limits::WAITING, app.next_question.lock()).await else {
        let error = "too many questions at once";
        let mut response =
            wrong(StatusCode::TOO_MANY_REQUESTS, error, "/api/v1/requests", "ask again in a moment");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        return response;
    };
    if let Some(next) = *next {
        tokio::time::sleep_until(next).await;
    }
    app.questions.fetch_add(1, Ordering::Relaxed);
    let (sender, receiver) = oneshot::channel();
    let heard = ask(&app, Command::WhatIf(question, sender), receiver).await;
    *next = Some(Instant::now() + limits::BETWEEN);
    drop(next);
    match heard {
        Ok(Ok(answer)) => json(StatusCode::OK, &answer),
        Ok(Err(error)) => {
            let action = "correct the question; GET /api/v1/network lists the hosts";
            wrong(StatusCode::UNPROCESSABLE_ENTITY, &error, "body", action)
        }
        Err(response) => *response,
    }
}

/// Asks the manager, which has a while for it.
pub(crate) async fn ask<T>(
    app: &App,
    command: Command,
    answer: oneshot::Receiver<T>,
) -> Result<T, Box<Response>> {
    let busy = || {
        let error = "the manager does not answer: it stands by, stops or is busy";
        Box::new(wrong(StatusCode::SERVICE_UNAVAILABLE, error, "the manager", "try again in a moment"))
    };
    app.commands.try_send(command).map_err(|_| busy())?;
    timeout(limits::ANSWER, answer).await.map_err(|_| busy())?.map_err(|_| busy())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ending {
    how: How,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum How {
    Release,
    Revoke,
}

/// Text of a header or a query that goes to the log and to participants: short, and without control characters.
pub(crate) fn is_plain(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control)
}

fn operator(headers: &HeaderMap) -> Option<String> {
    let name = std::str::from_utf8(headers.get(OPERATOR)?.as_bytes()).ok()?;
    is_plain(name, limits::NAME).then(|| name.trim().to_owned())
}

/// The operator of a change, by its certificate or else by its own word, and the address.
pub(crate) fn who(request: &Request) -> Option<String> {
    let name = operator(request.headers())?;
    Some(match request.extensions().get::<Peer>() {
        Some(Peer { address, role: Some(Role::Operator(certified)) }) => {
            format!("{} by certificate at {}", certified.as_str(), address.ip())
        }
        Some(Peer { address, .. }) => format!("{name} at {}", address.ip()),
        None => name,
    })
}

/// It is not said who does something by hand.
pub(crate) fn unnamed() -> Response {
    let action = format!("send `Punctual-Operator: NAME` with up to {} characters", limits::NAME);
    let error = "the name of the operator is missing";
    wrong(StatusCode::FORBIDDEN, error, "header Punctual-Operator", &action)
}

fn guids(id: &str) -> Option<(Guid, Guid)> {
    let guid = |digits: &str| {
        let mut bytes = [0; 16];
        if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Guid::from_bytes(bytes))
    };
    let (writer, reader) = id.split_once('-')?;
    Some((guid(writer)?, guid(reader)?))
}

pub(crate) async fn end_flow(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    query: Result<Query<Ending>, QueryRejection>,
    request: Request,
) -> Response {
    let Some(who) = who(&request) else { return unnamed() };
    let action = format!(
        "give ?how=release or ?how=revoke, and &reason=TEXT with up to {} characters",
        limits::REASON
    );
    let Ok(Query(Ending { how, reason })) = query else {
        let error = "it is not said how the flow ends, and why";
        return wrong(StatusCode::BAD_REQUEST, error, "query", &action);
    };
    if !is_plain(&reason, limits::REASON) {
        return wrong(
            StatusCode::BAD_REQUEST,
            "the reason is empty, too long, or no plain text",
            "query",
            &action,
        );
    }
    let Some(pair) = guids(&id) else { return unknown_flow(&id) };
    if let Err(response) = snapshot(&lock(&app.record)) {
        return *response;
    }
    let how = match how {
        How::Release => ByHand::Release,
        How::Revoke => ByHand::Revoke,
    };
    let (sender, receiver) = oneshot::channel();
    let command = Command::ByHand { pair, how, reason: reason.trim().to_owned(), who, answer: sender };
    match ask(&app, command, receiver).await {
        Ok(Ok(done)) => json(StatusCode::OK, &EndedAnswer { id, done }),
        Ok(Err(Refused::Unknown)) => unknown_flow(&id),
        Ok(Err(Refused::Now(why))) => {
            let action = "look at the flow: GET /api/v1/flows/{id}";
            wrong(StatusCode::CONFLICT, &why, &id, action)
        }
        Err(response) => *response,
    }
}
