//! The connections of a node as tasks: they read, write, accept and connect, and decide nothing.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use connections::{Accepted, Stream, connect};
use diameter::value::Identity;
use keys::{HostIdentity, names_of};
use system::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel, unbounded_channel};
use tokio::time::timeout;
use tracing::warn;

use crate::client::Client;
use crate::node_file::Node;
use crate::peers::ConnectionId;
use crate::server::{Now, Server};

/// How long making a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long the last bytes of a connection may take.
const LAST: Duration = Duration::from_secs(2);
/// Bytes that are read at a time, and pieces that wait.
const PIECE: usize = 16 << 10;
const WAITING: usize = 256;

/// What has happened.
pub(super) enum Happened {
    Accepted(Stream, Option<Vec<String>>),
    Connected(Identity, Stream),
    ConnectFailed(Identity, String),
    Received(ConnectionId, Vec<u8>),
    Written(ConnectionId),
    Closed(ConnectionId),
}

/// What a machine has to do with connections.
pub(super) trait Wired {
    fn accepted(&mut self, now: Now, connection: ConnectionId, shown: Option<Vec<String>>);
    fn connected(&mut self, now: Now, host: &Identity, connection: ConnectionId);
    fn connect_failed(&mut self, now: Now, host: &Identity);
    fn received(&mut self, now: Now, connection: ConnectionId, bytes: &[u8]);
    fn closed(&mut self, now: Now, connection: ConnectionId);
    fn take_unsent(&mut self, connection: ConnectionId) -> Vec<u8>;
}

macro_rules! wired {
    ($($machine:ty),*) => {
        $(impl Wired for $machine {
            fn accepted(&mut self, now: Now, connection: ConnectionId, shown: Option<Vec<String>>) {
                self.accepted(now, connection, shown);
            }
            fn connected(&mut self, now: Now, host: &Identity, connection: ConnectionId) {
                self.connected(now, host, connection);
            }
            fn connect_failed(&mut self, now: Now, host: &Identity) {
                self.connect_failed(now, host);
            }
            fn received(&mut self, now: Now, connection: ConnectionId, bytes: &[u8]) {
                self.received(now, connection, bytes);
            }
            fn closed(&mut self, now: Now, connection: ConnectionId) {
                self.closed(now, connection);
            }
            fn take_unsent(&mut self, connection: ConnectionId) -> Vec<u8> {
                self.take_unsent(connection)
            }
        })*
    };
}
wired!(Server, Client);

enum ToWrite {
    More(Vec<u8>),
    Last(Vec<u8>),
}

struct Writer {
    to: UnboundedSender<ToWrite>,
    is_idle: bool,
}

/// All connections of a node.
pub(super) struct Sockets {
    tell: Sender<Happened>,
    happened: Receiver<Happened>,
    writers: BTreeMap<ConnectionId, Writer>,
    next: ConnectionId,
    identity: Option<HostIdentity>,
    places: BTreeMap<Identity, (SocketAddr, bool)>,
}

impl Sockets {
    /// Listens where the file says.
    pub(super) async fn open(node: &Node) -> Result<Self, Error> {
        let identity =
            node.keys.as_ref().map(|keys| HostIdentity::load(keys, &node.host.as_str().to_ascii_lowercase()));
        let identity = identity.transpose()?;
        let (tell, happened) = channel(WAITING);
        let plain = node.listen.iter().map(|address| (address, None));
        let secure =
            node.listen_tls.iter().map(|address| (address, identity.as_ref().map(HostIdentity::server)));
        for (address, tls) in plain.chain(secure) {
            let listener = TcpListener::bind(address).await.map_err(Error::system(address))?;
            let (accepted, mut arrivals) = channel(WAITING);
            tokio::spawn(connections::accept(listener, tls, "peers", accepted));
            let tell = tell.clone();
            tokio::spawn(async move {
                while let Some(arrival) = arrivals.recv().await {
                    let told = match arrival {
                        Accepted::Arrived(arrival) => {
                            let shown = arrival.shown.as_deref().map(names_of);
                            tell.send(Happened::Accepted(arrival.stream, shown)).await
                        }
                        Accepted::Unknown(peer, why) => {
                            warn!("{peer} may not connect: {why}");
                            continue;
                        }
                    };
                    if told.is_err() {
                        return;
                    }
                }
            });
        }
        let place = |peer: &crate::node_file::PeerPlace| {
            Some((peer.known.host.clone(), (peer.address?, peer.known.tls)))
        };
        let places = node.peers.iter().filter_map(place).collect();
        Ok(Self { tell, happened, writers: BTreeMap::new(), next: 0, identity, places })
    }

    /// What has happened next.
    pub(super) async fn happened(&mut self) -> Happened {
        match self.happened.recv().await {
            Some(happened) => happened,
            // This end holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Tells the machine of it.
    pub(super) fn on(&mut self, now: Now, machine: &mut impl Wired, happened: Happened) {
        match happened {
            Happened::Accepted(stream, shown) => {
                let connection = self.add(stream);
                machine.accepted(now, connection, shown);
            }
            Happened::Connected(host, stream) => {
                let connection = self.add(stream);
                machine.connected(now, &host, connection);
            }
            Happened::ConnectFailed(host, why) => {
                warn!("{host}: {why}");
                machine.connect_failed(now, &host);
            }
            Happened::Received(connection, bytes) => machine.received(now, connection, &bytes),
            Happened::Written(connection) => {
                if let Some(writer) = self.writers.get_mut(&connection) {
                    writer.is_idle = true;
                }
            }
            Happened::Closed(connection) => {
                self.writers.remove(&connection);
                machine.closed(now, connection);
            }
        }
    }

    /// Hands on what machines want to send.
    pub(super) fn flush(&mut self, machine: &mut impl Wired) {
        for (connection, writer) in &mut self.writers {
            if !writer.is_idle {
                continue;
            }
            let bytes = machine.take_unsent(*connection);
            if !bytes.is_empty() {
                writer.is_idle = writer.to.send(ToWrite::More(bytes)).is_err();
            }
        }
    }

    /// Sends the last bytes of a connection and closes it.
    pub(super) fn close(&mut self, connection: ConnectionId, last: Vec<u8>) {
        if let Some(writer) = self.writers.remove(&connection) {
            // It has ended if it does not take them.
            let _ = writer.to.send(ToWrite::Last(last));
        }
    }

    /// Connects to a peer.
    pub(super) fn connect(&self, host: Identity) {
        let place = self.places.get(&host).copied();
        let tell = self.tell.clone();
        let name = host.as_str().to_ascii_lowercase();
        let secure = match place {
            Some((_, true)) => self.identity.as_ref().map(|identity| identity.client_to(&name)),
            _ => None,
        };
        tokio::spawn(async move {
            let connected = async {
                let (address, tls) = place.ok_or_else(|| "it has no address".to_owned())?;
                let secure = secure.transpose().map_err(|error| error.to_string())?;
                if tls && secure.is_none() {
                    return Err("there are no keys".to_owned());
                }
                match timeout(CONNECTING, connect(address, secure)).await {
                    Ok(connected) => connected.map_err(|error| format!("{address}: {error}")),
                    Err(_) => Err(format!("{address}: no connection in {} s", CONNECTING.as_secs())),
                }
            };
            let told = match connected.await {
                Ok(stream) => Happened::Connected(host, stream),
                Err(why) => Happened::ConnectFailed(host, why),
            };
            // The node ends.
            let _ = tell.send(told).await;
        });
    }

    /// Gives a stream a number and two tasks.
    fn add(&mut self, stream: Stream) -> ConnectionId {
        let connection = self.next;
        self.next += 1;
        let (mut from, mut to) = tokio::io::split(stream);
        let (writer, mut pieces) = unbounded_channel();
        let (told, wrote) = (self.tell.clone(), self.tell.clone());
        let reader = tokio::spawn(async move {
            let mut piece = vec![0; PIECE];
            loop {
                let read = from.read(&mut piece).await;
                let bytes = match read {
                    Ok(count) if count > 0 => piece.get(..count).unwrap_or_default().to_vec(),
                    _ => break,
                };
                if told.send(Happened::Received(connection, bytes)).await.is_err() {
                    return;
                }
            }
            let _ = told.send(Happened::Closed(connection)).await;
        });
        tokio::spawn(async move {
            while let Some(piece) = pieces.recv().await {
                let (bytes, is_last) = match piece {
                    ToWrite::More(bytes) => (bytes, false),
                    ToWrite::Last(bytes) => (bytes, true),
                };
                if is_last {
                    let _ = timeout(LAST, async {
                        to.write_all(&bytes).await?;
                        to.shutdown().await
                    })
                    .await;
                    break;
                }
                let written = async {
                    to.write_all(&bytes).await?;
                    to.flush().await
                };
                if written.await.is_err() {
                    // The reader tells of the end.
                    let _ = to.shutdown().await;
                    break;
                }
                if wrote.send(Happened::Written(connection)).await.is_err() {
                    break;
                }
            }
            reader.abort();
        });
        self.writers.insert(connection, Writer { to: writer, is_idle: true });
        connection
    }
}
