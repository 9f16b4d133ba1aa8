//! The other side of the agent: asks, and waits for the answer.
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gate::protocol::{Answer, Request, check_version};
use keys::rustls::{ClientConnection, StreamOwned};
use keys::{Identity, Role};

use system::Error;

/// An answer takes no longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the longest answer that is read.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Plain TCP, or TLS over it.
trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// A connection to the agent of a switch's gates.
pub struct GateClient {
    stream: BufReader<Box<dyn Stream>>,
}

impl std::fmt::Debug for GateClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateClient").finish_non_exhaustive()
    }
}

impl GateClient {
    /// Connects, from the network namespace of the calling thread. With keys by TLS, to the agent of this role.
    ///
    /// # Errors
    /// There is no agent, one of another role, or an agent of another version.
    pub fn connect(address: SocketAddr, keys: Option<(&Identity, Role)>) -> Result<Self, Error> {
        let failed = Error::system(format!("the agent of the gates at {address}"));
        let stream = TcpStream::connect_timeout(&address, PATIENCE).and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        let stream = stream.map_err(failed)?;
        let stream: Box<dyn Stream> = match keys {
            None => Box::new(stream),
            Some((identity, role)) => {
                let (config, name) = identity.client_to(role)?;
                let connection = ClientConnection::new(config, name)
                    .map_err(|error| Error::new(format!("{address}: {error}"), ""))?;
                Box::new(StreamOwned::new(connection, stream))
            }
        };
        let mut client = Self { stream: BufReader::new(stream) };
        let version = client.ask(&Request::Version)?;
        check_version(&version).map_err(|what| Error::new(format!("{address}: {what}"), ""))?;
        Ok(client)
    }

    /// Asks for something.
    ///
    /// # Errors
    /// The agent is gone, takes too long, or says what cannot be understood. That it refuses is an [`Answer`].
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Error> {
        let mut line = serde_json::to_vec(request).map_err(|error| Error::new(error.to_string(), ""))?;
        line.push(b'\n');
        let failed = "the agent of the gates";
        self.stream.get_mut().write_all(&line).map_err(Error::system(failed))?;
        let mut answer = Vec::new();
        let limited = self.stream.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut answer);
        limited.map_err(Error::system(failed))?;
        serde_json::from_slice(&answer).map_err(|error| Error::new(format!("{failed}: {error}"), ""))
    }
}
