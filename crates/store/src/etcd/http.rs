//! One connection to etcd: its JSON interface (the gRPC gateway, `/v3`) over HTTP/1.1, one question at a time.
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use keys::rustls::ClientConfig;
use keys::rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::Address;

/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_millis(300);
/// Bytes of the longest answer that is read.
pub(super) const LONGEST_ANSWER: usize = 16 << 20;
/// Characters of what etcd says of itself that are repeated.
const LONGEST_WORDS: usize = 300;

/// Why a question has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    /// Whether it has arrived is not known.
    Away(String),
    /// It has refused: the code of gRPC, and its words.
    Refused(i64, String),
    /// It has answered what no etcd answers.
    Strange(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) => {
                write!(f, "etcd cannot be reached: {why}; start it, or mend the network; it is tried again")
            }
            Self::Refused(_, words) if words.contains("database space exceeded") => write!(
                f,
                "etcd has no space left (alarm NOSPACE): compact and defragment it or raise --quota-backend-bytes, then `etcdctl alarm disarm`"
            ),
            Self::Refused(0.., words) => write!(f, "etcd refuses: {words}"),
            // Not in etcd's words.
            Self::Refused(_, words) => f.write_str(words),
            Self::Strange(what) => write!(
                f,
                "what answers is no etcd 3.4 or later with its JSON interface (--enable-grpc-gateway): {what}"
            ),
        }
    }
}

/// TLS to etcd: the configuration, and the name that it has to show.
pub(super) type Secure = (Arc<ClientConfig>, ServerName<'static>);

/// A connection, to one member of the cluster after the other.
pub(super) struct Connection {
    address: Address,
    secure: Option<Secure>,
    /// The member that is spoken with.
    member: usize,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    pub(super) const fn new(address: Address, secure: Option<Secure>) -> Self {
        Self { address, secure, member: 0, open: None }
    }

    /// Asks, and waits no longer than that for the answer. After an error the next question goes to the next member.
    pub(super) async fn ask(
        &mut self,
        path: &str,
        question: &Value,
        patience: Duration,
    ) -> Result<Value, Trouble> {
        let asked = timeout(patience, self.exchange(path, question)).await;
        let late = || Trouble::Away(format!("{}: no answer in {} ms", self.named(), patience.as_millis()));
        let answer = asked.unwrap_or_else(|_| Err(late()));
        // One that refuses may be cut off from the others.
        if answer.is_err() {
            self.open = None;
            self.member = self.member.wrapping_add(1);
        }
        answer
    }

    fn end(&self) -> (&str, u16) {
        let hosts = self.address.hosts();
        let index = self.member.checked_rem(hosts.len()).unwrap_or(0);
        hosts.get(index).map_or(("", 0), |(host, port)| (host, *port))
    }

    fn named(&self) -> String {
        let (host, port) = self.end();
        format!("{host}:{port}")
    }

    async fn exchange(&mut self, path: &str, question: &Value) -> Result<Value, Trouble> {
        let named = self.named();
        let away = |error: &dyn fmt::Display| Trouble::Away(format!("{named}: {error}"));
        let mut sender = match self.open.take().filter(SendRequest::is_ready) {
            Some(sender) => sender,
            None => match timeout(CONNECT, self.connect()).await {
                Ok(connected) => connected.map_err(|error| away(&error))?,
                Err(_) => return Err(away(&format!("no connection in {} ms", CONNECT.as_millis()))),
            },
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, named.as_str())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(question.to_string())))
            .map_err(|error| away(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| away(&error))?;
        let status = answer.status();
        let mut body = answer.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| away(&error))?;
            let Some(piece) = frame.data_ref() else { continue };
            if bytes.len().saturating_add(piece.len()) > LONGEST_ANSWER {
                return Err(Trouble::Strange(format!(
                    "{named}: an answer of more than {} MiB",
                    LONGEST_ANSWER >> 20
                )));
            }
            bytes.extend_from_slice(piece);
        }
        self.open = Some(sender);
        read(status, &bytes).map_err(|trouble| match trouble {
            Trouble::Strange(what) => Trouble::Strange(format!("{named}: {what}")),
            other => other,
        })
    }

    async fn connect(&self) -> std::io::Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(self.end()).await?;
        stream.set_nodelay(true)?;
        let Some((config, name)) = self.secure.clone() else { return greet(TokioIo::new(stream)).await };
        greet(TokioIo::new(TlsConnector::from(config).connect(name, stream).await?)).await
    }
}

async fn greet<S>(stream: TokioIo<S>) -> std::io::Result<SendRequest<Full<Bytes>>>
where
    TokioIo<S>: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(stream).await.map_err(std::io::Error::other)?;
    // It ends when the sender is dropped.
    tokio::spawn(connection);
    Ok(sender)
}

/// What an answer says.
fn read(status: StatusCode, bytes: &[u8]) -> Result<Value, Trouble> {
    let short = |bytes: &[u8]| -> String {
        let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(LONGEST_WORDS)).unwrap_or_default());
        text.trim().escape_debug().to_string()
    };
    let value = serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    let value = value.ok_or_else(|| Trouble::Strange(format!("HTTP {status}: \"{}\"", short(bytes))))?;
    // Streams have their errors in an answer that is good.
    let failed =
        if status.is_success() { value.get("error").filter(|error| error.is_object()) } else { Some(&value) };
    let Some(failed) = failed else { return Ok(value) };
    let words = ["message", "error"].iter().find_map(|key| failed.get(key).and_then(Value::as_str));
    let code = ["code", "grpc_code"]
        .iter()
        .find_map(|key| failed.get(key).and_then(Value::as_i64))
        .map_or(2, |code| code.max(0));
    match words {
        Some(words) => Err(Trouble::Refused(code, short(words.as_bytes()))),
        None => Err(Trouble::Strange(format!("HTTP {status}: \"{}\"", short(bytes)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_errors_are_told_apart() {
        let ok = StatusCode::OK;
        assert_eq!(read(ok, b"{\"succeeded\":true}").unwrap()["succeeded"], true);
        let space = b"{\"error\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}";
        let trouble = read(StatusCode::TOO_MANY_REQUESTS, space).unwrap_err();
        assert!(
            matches!(trouble, Trouble::Refused(8, _)) && trouble.to_string().contains("alarm disarm"),
            "{trouble}"
        );
        let streamed = b"{\"error\":{\"grpc_code\":5,\"http_code\":404,\"message\":\"lease not found\"}}";
        assert_eq!(read(ok, streamed), Err(Trouble::Refused(5, "lease not found".to_owned())));
        for strange in [&b"404 page not found"[..], b"", b"{", b"\xff\xff", b"[]", b"{\"error\":7}"] {
            assert!(matches!(read(StatusCode::NOT_FOUND, strange), Err(Trouble::Strange(_))), "{strange:?}");
        }
    }
}
