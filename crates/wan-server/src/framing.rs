//! Messages on a connection: two bytes with the length, then the message. No bytes keep the connection alive.
use std::io;
use std::time::Duration;

use connections::From;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use wan::MOST_BYTES;

/// Each end says something so often.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// An end that says nothing for so long is gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);

/// What keeps a connection alive.
pub(crate) const ALIVE: [u8; 2] = [0, 0];

/// Adds a message.
pub(crate) fn put(message: &[u8], to: &mut Vec<u8>) {
    // No message is longer.
    let length = u16::try_from(message.len()).unwrap_or(0);
    to.extend(length.to_be_bytes());
    to.extend(message.iter().take(usize::from(length)));
}

/// The next message; an empty one keeps the connection alive. It must not be dropped before it returns.
///
/// # Errors
/// The connection has ended, is silent, or a message is longer than any.
pub(crate) async fn next(from: &mut From) -> io::Result<Vec<u8>> {
    let read = async {
        let mut length = [0; 2];
        from.read_exact(&mut length).await?;
        let length = usize::from(u16::from_be_bytes(length));
        if length > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than any"));
        }
        let mut message = vec![0; length];
        from.read_exact(&mut message).await?;
        Ok(message)
    };
    match timeout(SILENCE, read).await {
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(io::Error::new(error.kind(), "the other end has closed it"))
        }
        Ok(read) => read,
        Err(_) => {
            let what = format!("the other end is silent for {} s", SILENCE.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, what))
        }
    }
}
