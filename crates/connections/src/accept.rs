//! Connections that others make.
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keys::rustls::ServerConfig;
use keys::rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::error;

use crate::Stream;
use crate::trouble::of_arrival;

/// How long both ends may take to authenticate.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Connections that authenticate at a time; further ones wait.
const HANDSHAKES: usize = 64;
/// The wait after a connection could not be accepted.
const AGAIN: Duration = Duration::from_millis(100);

/// A connection that was accepted.
pub struct Arrival {
    /// It.
    pub stream: Stream,
    /// Where it comes from.
    pub peer: SocketAddr,
    /// The certificates that the peer has shown, which the authority has signed; `None` if there is no TLS.
    pub shown: Option<Vec<CertificateDer<'static>>>,
}

/// What becomes of a peer that connects.
pub enum Accepted {
    /// It may go on.
    Arrived(Arrival),
    /// It does not speak TLS, or its certificate is not one of the authority: why, in words.
    Unknown(SocketAddr, String),
}

/// Accepts connections until they are no longer taken; with TLS, those of peers that show what its configuration asks for. `whose` is at the
/// beginning of what is logged if no connection can be accepted.
pub async fn accept(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    whose: &'static str,
    accepted: Sender<Accepted>,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    let mut failed = None;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(arrival) => arrival,
            // Out of file descriptors, or gone before it was taken: neither is cured by trying at once.
            Err(error) => {
                let error = error.to_string();
                if failed.as_ref() != Some(&error) {
                    error!("{whose} cannot connect: {error}");
                }
                failed = Some(error);
                sleep(AGAIN).await;
                continue;
            }
        };
        failed = None;
        let Some(acceptor) = acceptor.clone() else {
            let told = match prepared(&stream) {
                Ok(()) => Accepted::Arrived(Arrival { stream: Box::new(stream), peer, shown: None }),
                Err(error) => Accepted::Unknown(peer, error.to_string()),
            };
            if accepted.send(told).await.is_err() {
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
                    let shown = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec).unwrap_or_default();
                    Accepted::Arrived(Arrival { stream: Box::new(stream), peer, shown: Some(shown) })
                }
                Ok(Err(error)) => Accepted::Unknown(peer, of_arrival(&error)),
                Err(_) => Accepted::Unknown(peer, format!("no TLS handshake in {} s", HANDSHAKE.as_secs())),
            };
            drop(place);
            // The channel is closed when the program ends.
            let _ = accepted.send(told).await;
        });
    }
}

pub(crate) fn prepared(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)
}
