//! Connections by TLS that carry lines of JSON.
use std::io;
use std::time::Duration;

use connections::{From, Stream, To, why};
use deployment::{LONGEST_LINE, Lines, line, read};
use keys::{Identity, Role};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// How long making a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Connects to an execution manager, which has to show that it is one.
///
/// # Errors
/// There is no connection, or the other end is not trusted: why, and what to do.
pub(super) async fn to_manager(address: &str, identity: &Identity) -> Result<Stream, String> {
    let secure = identity.client_to(Role::Manager).map_err(|error| error.to_string())?;
    match timeout(CONNECTING, connections::connect(address, Some(secure))).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            let said = why(&error, Role::Manager).unwrap_or_else(|| error.to_string());
            Err(format!("{address}: {said}"))
        }
        Err(_) => Err(format!("{address}: no connection in {} s", CONNECTING.as_secs())),
    }
}

/// The half of a connection that lines come from.
pub(super) struct Reader {
    from: From,
    lines: Lines,
    piece: Vec<u8>,
}

impl Reader {
    pub(super) fn new(from: From) -> Self {
        Self { from, lines: Lines::new(LONGEST_LINE), piece: vec![0; PIECE] }
    }

    /// The next message; `None` if there are no more. What was read of the next line stays if this is dropped before it returns.
    ///
    /// # Errors
    /// A line that is no message, or an error of the connection.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        loop {
            if let Some(text) = self.lines.next_line().map_err(|error| error.to_string())? {
                return read(&text).map(Some).map_err(|error| error.to_string());
            }
            match self.from.read(&mut self.piece).await {
                Ok(0) => return Ok(None),
                Ok(count) => self.lines.feed(self.piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(why(&error, Role::Manager).unwrap_or_else(|| error.to_string())),
            }
        }
    }
}

/// Sends a message.
///
/// # Errors
/// The connection has ended.
pub(super) async fn send(to: &mut To, message: &impl Serialize) -> Result<(), String> {
    let text = line(message).map_err(|error| error.to_string())?;
    let sent = async {
        to.write_all(text.as_bytes()).await?;
        to.flush().await
    };
    sent.await.map_err(|error| error.to_string())
}
