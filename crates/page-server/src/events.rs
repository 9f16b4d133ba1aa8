//! Live events (SSE): each listener has a channel of its own, and one that does not keep up is left.
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use axum::body::Bytes;
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::{limits, lock};

/// Those who listen.
#[derive(Default, Debug)]
pub struct Hub {
    listeners: Vec<Sender<Bytes>>,
}

/// The events of one listener.
#[derive(Debug)]
pub struct Listener(Receiver<Bytes>);

impl Hub {
    /// A new listener, which is told this first; none if there are as many as may be.
    pub fn listen(&mut self, first: Bytes) -> Option<Listener> {
        self.listeners.retain(|listener| !listener.is_closed());
        if self.listeners.len() >= limits::LISTENERS {
            return None;
        }
        let (sender, receiver) = channel(limits::BEHIND);
        // The channel is empty.
        let _ = sender.try_send(first);
        self.listeners.push(sender);
        Some(Listener(receiver))
    }

    /// Tells all; those who are too far behind, or gone, hear no more.
    pub fn tell(&mut self, event: &Bytes) {
        self.listeners.retain(|listener| listener.try_send(event.clone()).is_ok());
    }

    /// How many listen.
    pub fn len(&self) -> usize {
        self.listeners.iter().filter(|listener| !listener.is_closed()).count()
    }

    /// Whether there is no listener.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Stream for Listener {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// An event as it is sent. JSON has no line ends of its own.
pub fn event(name: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}

/// What keeps a connection from looking dead.
const ALIVE: Bytes = Bytes::from_static(b": alive\n\n");

/// Tells listeners each so often that the connection is alive.
pub async fn keep_alive(hub: &Mutex<Hub>) {
    let mut interval = tokio::time::interval(limits::ALIVE);
    loop {
        interval.tick().await;
        lock(hub).tell(&ALIVE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_keep_up_is_left_and_the_others_hear_all() {
        let mut hub = Hub::default();
        let (slow, mut quick) = (hub.listen(ALIVE).unwrap(), hub.listen(ALIVE).unwrap());
        let mut heard = 0;
        for _ in 0..10 * limits::BEHIND {
            hub.tell(&ALIVE);
            while quick.0.try_recv().is_ok() {
                heard += 1;
            }
        }
        assert_eq!((hub.len(), heard), (1, 1 + 10 * limits::BEHIND));
        assert_eq!(slow.0.len(), limits::BEHIND);
    }

    #[test]
    fn there_are_so_many_listeners_and_no_more() {
        let mut hub = Hub::default();
        let listeners: Vec<Listener> = (0..limits::LISTENERS).filter_map(|_| hub.listen(ALIVE)).collect();
        assert_eq!(listeners.len(), limits::LISTENERS);
        assert!(hub.listen(ALIVE).is_none());
        drop(listeners);
        assert!(hub.listen(ALIVE).is_some());
    }

    #[test]
    fn an_event_is_one_line_of_data() {
        let text = event("history", Some(7), &"two\nlines");
        assert_eq!(text, "event: history\nid: 7\ndata: \"two\\nlines\"\n\n");
    }
}
