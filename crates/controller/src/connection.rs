//! One TCP connection to a switch: a task that reads, a task that writes, and the session between them, which its owner drives.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use connections::{Arrival, From, To};
use control::session::Session;
use keys::rustls::pki_types::CertificateDer;
use keys::{Identity, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Names a connection as long as the daemon runs.
pub(crate) type ConnectionId = u64;

/// Bytes that are read at a time: [`Session::input`] wants no more at once.
const PIECE: usize = 16 * 1024;
/// Bytes that wait in the writing task at most; the rest stays in the session, which has a limit of its own.
const QUEUED: usize = 1 << 20;

/// What the tasks tell.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Bytes came in.
    Input(ConnectionId, Vec<u8>),
    /// Bytes have left, and there is room for more: what waits in channels may be handed over.
    Sent,
    /// The connection has ended.
    Closed(ConnectionId),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) session: Session,
    /// Where the switch is.
    pub(crate) peer: SocketAddr,
    shown: Option<Vec<CertificateDer<'static>>>,
    to_write: UnboundedSender<Vec<u8>>,
    queued: Arc<AtomicUsize>,
    reading: tokio::task::JoinHandle<()>,
}

impl Connection {
    /// Takes a connection over. `told` hears what comes in; as it is bounded, a switch that floods waits.
    pub(crate) fn new(id: ConnectionId, arrival: Arrival, session: Session, told: Sender<Heard>) -> Self {
        let Arrival { stream, peer, shown } = arrival;
        let (from, to) = tokio::io::split(stream);
        let queued = Arc::new(AtomicUsize::new(0));
        let (to_write, written) = unbounded_channel();
        tokio::spawn(write_all(id, to, written, Arc::clone(&queued), told.clone()));
        let reading = tokio::spawn(read_all(id, from, told));
        Self { session, peer, shown, to_write, queued, reading }
    }

    /// Whether the peer may be this switch, by the certificate that it has shown, if there are keys.
    pub(crate) fn may_be(&self, datapath: u64) -> Result<(), String> {
        let shown = self.shown.as_deref();
        shown.map_or(Ok(()), |shown| Identity::check(Some(shown), Role::Switch(datapath)))
    }

    /// Hands over what the session wants to send, as far as there is room.
    pub(crate) fn flush(&mut self) {
        let room = QUEUED.saturating_sub(self.queued.load(Ordering::Acquire));
        let output = self.session.output();
        let bytes = output.get(..output.len().min(room)).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        let piece = bytes.to_vec();
        let len = piece.len();
        self.queued.fetch_add(len, Ordering::AcqRel);
        // A writing task that has ended was the end of the connection, which is told as such.
        let _ = self.to_write.send(piece);
        self.session.sent(len);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The writing task ends when its queue is closed and what is in it has left.
        self.reading.abort();
    }
}

async fn read_all(id: ConnectionId, mut from: From, told: Sender<Heard>) {
    let mut piece = vec![0; PIECE];
    while let Ok(len @ 1..) = from.read(&mut piece).await {
        let input = piece.get(..len).unwrap_or_default().to_vec();
        if told.send(Heard::Input(id, input)).await.is_err() {
            return;
        }
    }
    let _ = told.send(Heard::Closed(id)).await;
}

async fn write_all(
    id: ConnectionId,
    mut to: To,
    mut pieces: UnboundedReceiver<Vec<u8>>,
    queued: Arc<AtomicUsize>,
    told: Sender<Heard>,
) {
    while let Some(piece) = pieces.recv().await {
        let done = to.write_all(&piece).await;
        let before = queued.fetch_sub(piece.len(), Ordering::AcqRel);
        let heard = match done {
            Ok(()) if before >= QUEUED => Heard::Sent,
            Ok(()) => continue,
            Err(_) => Heard::Closed(id),
        };
        let ended = matches!(heard, Heard::Closed(_));
        if told.send(heard).await.is_err() || ended {
            return;
        }
    }
}
