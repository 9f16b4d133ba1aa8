//! One connection to a controller: TCP, or TLS with keys at both ends, made again whenever it ends.
use std::net::SocketAddr;
use std::time::Duration;

use connections::{From, To};
use keys::{Identity, Role};
use openflow::channel::{Config, Event};
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::{Channel, Message, Xid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

use crate::switch::Connection;

/// How long making a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// The wait before a connection is made again.
const AGAIN: Duration = Duration::from_secs(1);
/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// Batches of messages that wait to be heard; a controller that says more waits.
const WAITING: usize = 64;

/// What happens at connections.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A controller is there, and is told by this.
    Up(Connection, UnboundedSender<(Xid, Message)>),
    /// It says something.
    Said(Connection, Vec<(Xid, Message)>),
    /// It has gone.
    Down(Connection, String),
}

/// Where all connections tell what happens.
pub(crate) fn ears() -> (Sender<Heard>, Receiver<Heard>) {
    channel(WAITING)
}

/// A controller, and who we are to it.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) address: SocketAddr,
    pub(crate) keys: Option<Identity>,
}

/// Keeps up a connection for ever. Each time it is made it has another number.
pub(crate) async fn keep(controller: Controller, first: Connection, step: Connection, told: Sender<Heard>) {
    let mut connection = first;
    let mut before = String::new();
    loop {
        let why = match connect(&controller).await {
            Ok((from, to)) => {
                before.clear();
                run(connection, from, to, &told).await
            }
            Err(error) => format!("{}: {error}", controller.address),
        };
        // What goes on is told once.
        if why != before && told.send(Heard::Down(connection, why.clone())).await.is_err() {
            return;
        }
        before = why;
        connection = connection.saturating_add(step);
        sleep(AGAIN).await;
    }
}

/// Connects to a controller; with keys it has to show that it is a manager.
async fn connect(controller: &Controller) -> std::io::Result<(From, To)> {
    let secure = controller.keys.as_ref().map(|keys| keys.client_to(Role::Manager));
    let secure = secure.transpose().map_err(std::io::Error::other)?;
    let connected = timeout(CONNECTING, connections::connect(controller.address, secure)).await;
    let connected = connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
    let connected = connected
        .map_err(|error| connections::why(&error, Role::Manager).map_or(error, std::io::Error::other));
    Ok(tokio::io::split(connected?))
}

/// Runs a connection to its end; why it ended.
async fn run(connection: Connection, mut from: From, mut to: To, told: &Sender<Heard>) -> String {
    let began = Instant::now();
    let now = || began.elapsed();
    let mut channel = Channel::new(Config::switch(), now());
    let (say, mut said): (_, UnboundedReceiver<(Xid, Message)>) = unbounded_channel();
    let mut piece = vec![0; PIECE];
    loop {
        let wait = channel.poll_timeout().map_or(AGAIN, |at| at.saturating_sub(now()));
        tokio::select! {
            read = from.read(&mut piece) => match read {
                Ok(0) | Err(_) => channel.handle_closed(),
                Ok(length) => channel.handle_input(now(), piece.get(..length).unwrap_or_default()),
            },
            sent = to.write(channel.output()), if !channel.output().is_empty() => match sent {
                Ok(length) => channel.sent(length),
                Err(_) => channel.handle_closed(),
            },
            Some((xid, message)) = said.recv() => {
                // A controller that takes no answers is left; one that went meanwhile hears nothing.
                if let Err(error) = channel.reply(xid, &message) {
                    return error.to_string();
                }
            },
            () = sleep(wait) => channel.handle_timeout(now()),
        }
        // TLS holds back what is not flushed.
        if channel.output().is_empty() && to.flush().await.is_err() {
            channel.handle_closed();
        }
        let mut batch = Vec::new();
        let (mut refused, mut ended) = (Vec::new(), None);
        while let Some(event) = channel.poll_event() {
            match event {
                Event::Up { .. } => {
                    if told.send(Heard::Up(connection, say.clone())).await.is_err() {
                        return String::new();
                    }
                }
                Event::Message { xid, message } => batch.push((xid, message)),
                // What it was cannot be known, and the next message is another matter.
                Event::Unreadable { header, .. } => refused.push(header.xid),
                Event::Down(reason) => ended = Some(reason.to_string()),
                _ => {}
            }
        }
        for xid in refused {
            let error = ErrorMessage::Code { code: ErrorCode::RequestBadType, data: Vec::new() };
            if let Err(error) = channel.reply(xid, &Message::Error(error)) {
                return error.to_string();
            }
        }
        if !batch.is_empty() && told.send(Heard::Said(connection, batch)).await.is_err() {
            return String::new();
        }
        if let Some(why) = ended {
            return why;
        }
    }
}
