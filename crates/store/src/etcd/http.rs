//! One connection to etcd: its JSON interface (the gRPC gateway, `/v3`) over HTTP/1.1, one question at a time.
use std::fmt;
use std::time::Duration;

use connections::{Failed, HttpClient, Question, Secure};
use keys::Role;
use serde_json::Value;
use tokio::time::timeout;

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

/// A connection, to one member of the cluster after the other.
pub(super) struct Connection {
    address: Address,
    secure: Option<Secure>,
    /// The member that is spoken with.
    member: usize,
    open: Option<HttpClient>,
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
        let mut client = match self.open.take().filter(HttpClient::is_ready) {
            Some(client) => client,
            None => match timeout(CONNECT, self.connect()).await {
                Ok(connected) => connected.map_err(|error| away(&error))?,
                Err(_) => return Err(away(&format!("no connection in {} ms", CONNECT.as_millis()))),
            },
        };
        let headers = vec![("host", named.clone()), ("content-type", "application/json".to_owned())];
        let question = Question {
            method: "POST",
            path: path.to_owned(),
            headers,
            body: question.to_string().into_bytes(),
        };
        let (status, bytes) = client.ask(question, LONGEST_ANSWER).await.map_err(|failed| match failed {
            Failed::TooLong(_) => Trouble::Strange(format!("{named}: {failed}")),
            Failed::Broken(_) | Failed::Late(_) => away(&failed),
        })?;
        self.open = Some(client);
        read(status, &bytes).map_err(|trouble| match trouble {
            Trouble::Strange(what) => Trouble::Strange(format!("{named}: {what}")),
            other => other,
        })
    }

    async fn connect(&self) -> Result<HttpClient, String> {
        let stream = connections::connect(self.end(), self.secure.clone()).await;
        let stream = stream
            .map_err(|error| connections::why(&error, Role::Store).unwrap_or_else(|| error.to_string()))?;
        HttpClient::over(stream).await.map_err(|failed| failed.to_string())
    }
}

/// What an answer says.
pub(super) fn read(status: u16, bytes: &[u8]) -> Result<Value, Trouble> {
    let short = |bytes: &[u8]| -> String {
        let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(LONGEST_WORDS)).unwrap_or_default());
        text.trim().escape_debug().to_string()
    };
    let value = serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    let value = value.ok_or_else(|| Trouble::Strange(format!("HTTP {status}: \"{}\"", short(bytes))))?;
    // Streams have their errors in an answer that is good.
    let failed = if (200..300).contains(&status) {
        value.get("error").filter(|error| error.is_object())
    } else {
        Some(&value)
    };
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
        let ok = 200;
        assert_eq!(read(ok, b"{\"succeeded\":true}").unwrap()["succeeded"], true);
        let space = b"{\"error\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}";
        let trouble = read(429, space).unwrap_err();
        assert!(
            matches!(trouble, Trouble::Refused(8, _)) && trouble.to_string().contains("alarm disarm"),
            "{trouble}"
        );
        let streamed = b"{\"error\":{\"grpc_code\":5,\"http_code\":404,\"message\":\"lease not found\"}}";
        assert_eq!(read(ok, streamed), Err(Trouble::Refused(5, "lease not found".to_owned())));
        for strange in [&b"404 page not found"[..], b"", b"{", b"\xff\xff", b"[]", b"{\"error\":7}"] {
            assert!(matches!(read(404, strange), Err(Trouble::Strange(_))), "{strange:?}");
        }
    }
}
