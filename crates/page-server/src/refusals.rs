//! What those are answered who may not ask.
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::access::{Access, Denied};
use crate::answers::wrong;

/// The answer to a request that [`Access::check`] refuses, of a manager.
pub fn denied(access: &Access, denied: Denied) -> Response {
    match denied {
        Denied::Host => wrong(
            StatusCode::MISDIRECTED_REQUEST,
            "the name by which this interface was called is not its own",
            "header Host",
            &format!("call it by its address, {}", access.address),
        ),
        Denied::Origin => wrong(
            StatusCode::FORBIDDEN,
            "a page of another origin asks",
            "headers Origin and Sec-Fetch-Site",
            "use the page of this manager, or a program",
        ),
        Denied::Token => {
            let mut response = wrong(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong",
                "header Authorization",
                "send `Authorization: Bearer TOKEN` with the content of the manager's --web-token file",
            );
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
        Denied::Nameless => {
            let token = if access.token.is_some() { ", or send `Authorization: Bearer TOKEN`" } else { "" };
            let action = format!(
                "show a certificate of an operator (`punctual grm keys FOLDER operator-NAME`){token}"
            );
            let error = "the client has shown neither a certificate nor the token";
            let mut response = wrong(StatusCode::UNAUTHORIZED, error, "TLS", &action);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
        Denied::Role(role) => {
            let error = format!("the certificate is that of {role}, which is no operator");
            let action = "show one that `punctual grm keys FOLDER operator-NAME` makes";
            wrong(StatusCode::FORBIDDEN, &error, "TLS", action)
        }
    }
}
