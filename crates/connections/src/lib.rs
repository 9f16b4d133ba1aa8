//! TCP connections of those who manage a network, plain or by TLS with certificates of roles: accepted, made, and asked over HTTP; and local sockets
//! of programs that commands of the same user ask.
//!
//! [`accept`] and [`connect`] are the two ends, [`HttpClient`] asks over one of them and [`ask`] does so for programs without an event loop.
//! [`why`] says in words what was wrong with a connection, and what to do.
#![forbid(unsafe_code)]

mod accept;
mod connect;
mod http;
pub mod local;
mod trouble;

pub use accept::{Accepted, Arrival, accept};
pub use connect::{Secure, connect};
pub use http::{Failed, HttpClient, Question, ask};
pub use trouble::{speaks_tls, why};

use tokio::io::{AsyncRead, AsyncWrite};

/// A stream in both directions: a socket, or TLS over it.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection, however it is secured.
pub type Stream = Box<dyn Duplex>;

/// The two halves of a connection.
pub type From = tokio::io::ReadHalf<Stream>;
/// See [`From`].
pub type To = tokio::io::WriteHalf<Stream>;
