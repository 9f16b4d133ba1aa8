//! Connections: how many there may be, what their clients have shown, and HTTP/1.1 over them.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use connections::{Accepted, Arrival, Stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use keys::{Identity, Role};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::limits;
use crate::patient::Patient;

/// Where a request comes from: an extension of each request.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The other end of its connection.
    pub address: SocketAddr,
    /// Of the certificate that it has shown, if it has.
    pub role: Option<Role>,
}

/// How many connections there are now.
#[derive(Clone, Default, Debug)]
pub struct Connections(Arc<AtomicUsize>);

impl Connections {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, unless there are as many as may be.
    fn enter(&self) -> bool {
        let may = self.0.fetch_add(1, Ordering::Relaxed) < limits::CONNECTIONS;
        if !may {
            self.leave();
        }
        may
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers the clients that arrive by the routes, each on a task of its own, until none can arrive any more. Each request has its [`Peer`].
pub async fn serve(mut arrivals: Receiver<Accepted>, connections: Connections, router: Router) {
    while let Some(accepted) = arrivals.recv().await {
        // A client that speaks no TLS, or shows a certificate of another authority, is no event.
        let Accepted::Arrived(Arrival { stream, peer, shown }) = accepted else { continue };
        if !connections.enter() {
            turn_away(stream);
            continue;
        }
        let peer = Peer { address: peer, role: shown.and_then(|shown| Identity::shown_by(&shown)) };
        let (connections, router) = (connections.clone(), router.clone());
        tokio::spawn(async move {
            converse(Patient::new(stream), peer, router).await;
            connections.leave();
        });
    }
}

/// There are too many connections.
fn turn_away(mut stream: Stream) {
    const WORDS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 87\r\nConnection: close\r\n\r\n\
        {\"error\":\"too many connections\",\"place\":\"connection\",\"action\":\"ask again in a moment\"}\n";
    tokio::spawn(async move {
        // It fits into the buffer of the socket.
        let said = async {
            stream.write_all(WORDS).await?;
            stream.shutdown().await
        };
        let _ = timeout(limits::FAREWELL, said).await;
    });
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer, router: Router) {
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        routes.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits::HEADING);
    builder.max_buf_size(limits::HEAD).max_headers(limits::HEADERS);
    // A peer that goes, is too slow or says nonsense is no event.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
