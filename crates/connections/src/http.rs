//! Questions over HTTP/1.1, one at a time.
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use crate::{Secure, Stream, connect};

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// As `GET`.
    pub method: &'static str,
    /// With its query.
    pub path: String,
    /// Name and value of each header, `Host` among them.
    pub headers: Vec<(&'static str, String)>,
    /// The body, which is sent with its length.
    pub body: Vec<u8>,
}

/// Why a question has no answer.
#[derive(Debug)]
pub enum Failed {
    /// No connection, a broken one, or one whose other end speaks something else.
    Broken(Box<dyn std::error::Error + Send + Sync>),
    /// No answer in so long.
    Late(Duration),
    /// The answer has more bytes than were wanted.
    TooLong(usize),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(error) => error.fmt(f),
            Self::Late(patience) => write!(f, "no answer in {} ms", patience.as_millis()),
            Self::TooLong(most) => write!(f, "an answer of more than {most} bytes"),
        }
    }
}

/// A connection to a server of HTTP/1.1.
#[derive(Debug)]
pub struct HttpClient {
    sender: SendRequest<Full<Bytes>>,
}

impl HttpClient {
    /// Speaks HTTP over a connection, with a task of its own that ends with this value.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn over(stream: Stream) -> Result<Self, Failed> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    /// Whether the next question can be asked.
    pub fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Asks; the status and the body of the answer, which may have so many bytes. What is dropped before its answer has come leaves the connection
    /// unusable.
    ///
    /// # Errors
    /// [`Failed`]; the connection is not usable any more.
    pub async fn ask(&mut self, question: Question, most: usize) -> Result<(u16, Vec<u8>), Failed> {
        let Question { method, path, headers, body } = question;
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(broken)?;
        let answer = self.sender.send_request(request).await.map_err(broken)?;
        let status = answer.status().as_u16();
        let mut body = answer.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(broken)?;
            let Some(piece) = frame.data_ref() else { continue };
            if bytes.len().saturating_add(piece.len()) > most {
                return Err(Failed::TooLong(most));
            }
            bytes.extend_from_slice(piece);
        }
        Ok((status, bytes))
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Failed {
    Failed::Broken(Box::new(error))
}

/// Connects, asks and waits for the answer, all within so long: for programs without an event loop. The status and the body, which may have so many
/// bytes.
///
/// # Errors
/// [`Failed`]; [`crate::why`] says what to do about a broken one.
pub fn ask(
    address: SocketAddr,
    secure: Option<Secure>,
    question: Question,
    patience: Duration,
    most: usize,
) -> Result<(u16, Vec<u8>), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    runtime.map_err(broken)?.block_on(async {
        let asked = async {
            let stream = connect(address, secure).await.map_err(broken)?;
            HttpClient::over(stream).await?.ask(question, most).await
        };
        timeout(patience, asked).await.unwrap_or(Err(Failed::Late(patience)))
    })
}
