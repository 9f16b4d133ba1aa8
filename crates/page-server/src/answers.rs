//! Answers: their bodies, and the headers that all of them have.
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

/// An answer that says what is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Wrong {
    /// What is wrong.
    pub error: String,
    /// With what.
    pub place: String,
    /// What to do.
    pub action: String,
}

/// An answer with a body of this media type.
pub fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A value as JSON; what cannot be written is an internal error.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => answer(status, "application/json", bytes),
        Err(error) => {
            let error = format!("the answer cannot be written: {error}");
            wrong(StatusCode::INTERNAL_SERVER_ERROR, &error, "the server", "report this")
        }
    }
}

/// An answer that says what is wrong, with what, and what to do.
pub fn wrong(status: StatusCode, error: &str, place: &str, action: &str) -> Response {
    let wrong = Wrong { error: error.to_owned(), place: place.to_owned(), action: action.to_owned() };
    let body = serde_json::to_vec(&wrong).unwrap_or_default();
    answer(status, "application/json", body)
}

/// Adds what keeps other pages from using an answer: nothing is guessed, stored, referred to, framed, or shared with other origins.
pub fn protect(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
}
