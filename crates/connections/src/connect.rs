//! Connections to others.
use std::io;
use std::sync::Arc;

use keys::rustls::ClientConfig;
use keys::rustls::pki_types::ServerName;
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio_rustls::TlsConnector;

use crate::Stream;
use crate::accept::prepared;

/// TLS to another end: the configuration, and the name that the other end has to show, as [`keys::Identity::client_to`] gives them.
pub type Secure = (Arc<ClientConfig>, ServerName<'static>);

/// Connects; with TLS the other end has to show its name.
///
/// # Errors
/// There is no connection, or the other end is not trusted.
pub async fn connect(address: impl ToSocketAddrs, secure: Option<Secure>) -> io::Result<Stream> {
    let stream = TcpStream::connect(address).await?;
    prepared(&stream)?;
    let Some((config, name)) = secure else { return Ok(Box::new(stream)) };
    Ok(Box::new(TlsConnector::from(config).connect(name, stream).await?))
}
