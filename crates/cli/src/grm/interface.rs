//! The manager's HTTP interface, as commands ask it.
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use connections::{Failed, Question, Secure};
use keys::{Identity, Role};
use serde_json::Value;

use super::{WEB, parse_web};
use crate::exit::{Failure, Outcome};

/// How long the manager may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes of an answer at most.
const LARGEST: usize = 64 << 20;

/// Where the manager's HTTP interface is.
#[derive(Args, Debug)]
pub(super) struct At {
    /// The address of the manager's page, as its option --web says.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_web)]
    web: Option<SocketAddr>,
    /// The folder with authority.pem, operator-NAME.pem and operator-NAME.key, for a manager with --keys: both ends show certificates, by TLS 1.3.
    #[arg(long, value_name = "FOLDER")]
    keys: Option<PathBuf>,
    /// The file with the token of that page, without keys.
    #[arg(long, value_name = "FILE", conflicts_with = "keys")]
    web_token: Option<PathBuf>,
    /// The name of the operator, for the log. Default: the operator whose key is in the folder, or the user's name.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
}

/// Why the manager does not do it.
pub(super) fn bad_news(why: &str) -> Outcome {
    eprintln!("{why}");
    Outcome::BadNews
}

/// Asks the manager; what it answers, or why it does not do it.
pub(super) fn call(at: &At, method: &'static str, path: &str) -> Result<Result<Value, String>, Failure> {
    let address = at.web.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], WEB)));
    let token = at.web_token.as_deref().map(token).transpose()?;
    let (secure, certified) =
        at.keys.as_deref().map(|folder| identity(folder, at.operator.as_deref())).transpose()?.unzip();
    let operator = certified.or_else(|| at.operator.clone()).or_else(|| std::env::var("USER").ok());
    let operator = operator.unwrap_or_else(|| "punctual grm".to_owned());
    if operator.chars().any(char::is_control) {
        return Err(Failure::Usage("--operator: a name is plain text".to_owned()));
    }
    let mut headers = vec![("host", address.to_string()), ("punctual-operator", operator)];
    headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
    let question = Question { method, path: path.to_owned(), headers, body: Vec::new() };
    let is_secure = secure.is_some();
    let (status, body) = connections::ask(address, secure, question, PATIENCE, LARGEST)
        .map_err(|failed| Failure::System(unreachable(address, is_secure, &failed)))?;
    let body: Value = serde_json::from_slice(&body).map_err(|_| {
        Failure::System(format!(
            "{address} does not answer as a manager does: is that the address of its --web?"
        ))
    })?;
    let words = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
    Ok(if status == 200 { Ok(body) } else { Err(format!("{}: {}", words("error"), words("action"))) })
}

/// Why there is no answer, and what to do.
fn unreachable(address: SocketAddr, is_secure: bool, failed: &Failed) -> String {
    let page = format!("the manager's page at {address}");
    let Failed::Broken(error) = failed else { return format!("{page} does not answer: {failed}") };
    if let Some(why) = connections::why(&**error, Role::Manager) {
        return format!("{page}: {why}");
    }
    if !is_secure && connections::speaks_tls(&**error) {
        return format!("{page} speaks TLS: give --keys FOLDER, with the key of an operator in it");
    }
    format!("{page} does not answer: {error}; does it run, and with --web?")
}

/// The key of an operator in a folder: of that one, or of the only one there is. TLS with it, and the name.
fn identity(folder: &Path, operator: Option<&str>) -> Result<(Secure, String), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Usage(format!("--keys: {error}"));
    let (identity, name) = Identity::of_operator(folder, operator).map_err(|error| wrong(&error))?;
    let secure = identity.client_to(Role::Manager).map_err(|error| wrong(&error))?;
    Ok((secure, name.as_str().to_owned()))
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
