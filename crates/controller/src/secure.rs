//! Connections as they are accepted and made: plain TCP, or TLS with certificates at both ends.
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keys::rustls::pki_types::CertificateDer;
use keys::{Identity, Role};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tracing::error;

/// What is read from, and what is written to.
pub(crate) type From = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type To = Box<dyn AsyncWrite + Send + Unpin>;

/// How long both ends may take to show who they are.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Connections that do so at a time; who comes then waits.
const HANDSHAKES: usize = 64;
/// The wait after a connection could not be accepted.
const AGAIN: Duration = Duration::from_millis(100);

/// A connection that was accepted.
pub(crate) struct Arrival {
    pub(crate) from: From,
    pub(crate) to: To,
    pub(crate) peer: SocketAddr,
    /// The certificates that the peer has shown, which the authority has signed; `None` if there are no keys.
    pub(crate) shown: Option<Vec<CertificateDer<'static>>>,
}

impl Arrival {
    /// A connection without keys.
    fn plain(stream: TcpStream, peer: SocketAddr) -> Self {
        let (from, to) = stream.into_split();
        Self { from: Box::new(from), to: Box::new(to), peer, shown: None }
    }

    /// Whether it is the connection of this switch, as far as anybody knows.
    pub(crate) fn check(shown: Option<&[CertificateDer<'_>]>, datapath: u64) -> Result<(), String> {
        shown.map_or(Ok(()), |shown| Identity::check(Some(shown), Role::Switch(datapath)))
    }
}

/// What becomes of who connects.
pub(crate) enum Accepted {
    /// It may go on.
    Arrived(Arrival),
    /// It has not shown a certificate of the authority: why, in words.
    Unknown(SocketAddr, String),
}

/// Accepts connections for ever; with keys, those of peers that show a certificate.
pub(crate) async fn accept(listener: TcpListener, keys: Option<Identity>, accepted: Sender<Accepted>) {
    let acceptor = keys.and_then(|keys| keys.server().ok()).map(TlsAcceptor::from);
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    let mut failed = None;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(arrival) => arrival,
            // Out of file descriptors, or gone before it was taken: neither is cured by trying at once.
            Err(error) => {
                let error = error.to_string();
                if failed.as_ref() != Some(&error) {
                    error!("no switch can connect: {error}");
                }
                failed = Some(error);
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        failed = None;
        let Some(acceptor) = acceptor.clone() else {
            let told = prepared(&stream).map(|()| Accepted::Arrived(Arrival::plain(stream, peer)));
            if accepted.send(told.unwrap_or_else(|error| unknown(peer, &error))).await.is_err() {
                return;
            }
            continue;
        };
        // Never closed.
        let Ok(place) = Arc::clone(&handshakes).acquire_owned().await else { return };
        let accepted = accepted.clone();
        tokio::spawn(async move {
            let shaken = timeout(HANDSHAKE, async {
                prepared(&stream)?;
                acceptor.accept(stream).await
            });
            let told = match shaken.await {
                Ok(Ok(stream)) => {
                    let shown = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec);
                    let (from, to) = tokio::io::split(stream);
                    let shown = Some(shown.unwrap_or_default());
                    Accepted::Arrived(Arrival { from: Box::new(from), to: Box::new(to), peer, shown })
                }
                Ok(Err(error)) => unknown(peer, &error),
                Err(_) => unknown(peer, &format!("no TLS handshake in {} s", HANDSHAKE.as_secs())),
            };
            drop(place);
            // The channel is closed when the manager ends.
            let _ = accepted.send(told).await;
        });
    }
}

fn unknown(peer: SocketAddr, why: &dyn std::fmt::Display) -> Accepted {
    Accepted::Unknown(peer, why.to_string())
}

fn prepared(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)
}

/// Connects to the agent of a switch's gates; with keys, the agent has to show that it is that.
///
/// # Errors
/// There is no connection, or the other end is not trusted.
pub(crate) async fn connect(
    address: SocketAddr,
    keys: Option<&Identity>,
    role: Role,
) -> io::Result<(From, To)> {
    let stream = TcpStream::connect(address).await?;
    prepared(&stream)?;
    let Some(keys) = keys else {
        let (from, to) = stream.into_split();
        return Ok((Box::new(from), Box::new(to)));
    };
    let (config, name) = keys.client_to(role).map_err(io::Error::other)?;
    let (from, to) = tokio::io::split(TlsConnector::from(config).connect(name, stream).await?);
    Ok((Box::new(from), Box::new(to)))
}
