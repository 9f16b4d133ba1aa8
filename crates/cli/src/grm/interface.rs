//! The manager's HTTP interface, as commands ask it.
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::{WEB, parse_web};
use crate::exit::{Failure, Outcome};

/// How long the manager may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes of an answer at most.
const LARGEST: u64 = 64 << 20;

/// Where the manager's HTTP interface is.
#[derive(Args, Debug)]
pub(super) struct At {
    /// The address of the manager's page, as its option --web says. One with TLS is asked by another program: docs/web.md shows how.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_web)]
    web: Option<SocketAddr>,
    /// The file with the token of that page.
    #[arg(long, value_name = "FILE")]
    web_token: Option<PathBuf>,
    /// Who does it, for the log. Default: the user's name.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
}

/// Why the manager does not do it.
pub(super) fn bad_news(why: &str) -> Outcome {
    eprintln!("{why}");
    Outcome::BadNews
}

/// Asks the manager; what it answers, or why it does not do it.
pub(super) fn call(at: &At, method: &str, path: &str) -> Result<Result<Value, String>, Failure> {
    let address = at.web.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], WEB)));
    let token = at.web_token.as_deref().map(token).transpose()?;
    let operator = at.operator.clone().or_else(|| std::env::var("USER").ok());
    let operator = operator.unwrap_or_else(|| "punctual grm".to_owned());
    if operator.chars().any(char::is_control) {
        return Err(Failure::Usage("--operator: a name is plain text".to_owned()));
    }
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\nPunctual-Operator: {operator}\r\n{authorization}\r\n"
    );
    let unreachable = |error: std::io::Error| {
        Failure::System(format!(
            "the manager's page at {address} does not answer: {error}; does it run with --web, and without TLS?"
        ))
    };
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(unreachable)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
    stream.write_all(request.as_bytes()).map_err(unreachable)?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer).map_err(unreachable)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let body: Value = serde_json::from_str(body).map_err(|_| {
        Failure::System(format!("{address} does not answer as a manager does; is its page one with TLS?"))
    })?;
    let is_good = head.split(' ').nth(1) == Some("200");
    let words = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
    Ok(if is_good { Ok(body) } else { Err(format!("{}: {}", words("error"), words("action"))) })
}

fn token(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", file.display())))?;
    let token = text.trim().to_owned();
    if token.chars().any(|character| !character.is_ascii_graphic()) {
        return Err(Failure::Usage(format!("{} has no token", file.display())));
    }
    Ok(token)
}

/// As it stands in a URL.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_is_encoded_for_a_url() {
        assert_eq!(super::encoded("new firmware: \u{e4}"), "new%20firmware%3A%20%C3%A4");
    }
}
