//! How a server hands its place over to one in another process, with all that comes from elsewhere: the former holds what comes, comes to rest,
//! and says how far it has come; the next goes on from there.
use std::time::{Duration, Instant};

use crate::cell::State;
use crate::error::ServerError;
use crate::server::Server;
use crate::service::ServiceError;

/// How long a thread that waits sleeps between two looks.
const NAP: Duration = Duration::from_micros(20);
/// The same where discovery is waited for.
const LONG_NAP: Duration = Duration::from_millis(1);

/// The last event of a publisher elsewhere that an end of a connection has handed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The name of the connection.
    pub connection: String,
    /// The publisher; for topics the GUID of the writer.
    pub source: [u8; 16],
    /// The sequence number of the event.
    pub number: i64,
}

/// Endpoints elsewhere that an end of a connection is matched with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matched {
    /// The name of the connection.
    pub connection: String,
    /// Their GUIDs.
    pub peers: Vec<[u8; 16]>,
}

/// An end of a connection by which events come from, or go to, other processes.
pub trait Elsewhere: Send + Sync {
    /// For each source the number from which on its events come here.
    fn starts(&self) -> Vec<([u8; 16], i64)>;
    /// Has what comes wait from now on, at most so many events that those that another process has not handled are among them. With `all`,
    /// everything is needed from now on.
    fn hold(&self, all: bool);
    /// Waits until no thread hands an event on any more, for so long at most; says whether that came about.
    fn is_held(&self, limit: Duration) -> bool;
    /// The last event of each source that was handed on.
    fn positions(&self) -> Vec<([u8; 16], i64)>;
    /// The last event that was published here, by each writer.
    fn published(&self) -> Vec<([u8; 16], i64)>;
    /// Whether the event of a source was handed on, or was never to come here.
    fn has_come(&self, source: [u8; 16], number: i64) -> bool;
    /// Drops events of a source up to this one if they come later.
    fn skip(&self, source: [u8; 16], number: i64);
    /// Hands on what has waited, of each source after its position, and from then on what comes.
    ///
    /// # Errors
    /// An event that was not handled is not here. Nothing was handed on.
    fn release(&self, positions: &[([u8; 16], i64)]) -> Result<(), ServiceError>;
    /// Endpoints elsewhere that it is matched with.
    fn matched(&self) -> Vec<[u8; 16]>;
    /// Whether these know of it, as far as they say so: then nothing that is published from now on is missed.
    fn is_known(&self) -> bool;
    /// Whether an endpoint is one of the own participant.
    fn is_own(&self, endpoint: [u8; 16]) -> bool;
    /// Waits until what was published has arrived where it is acknowledged, for so long at most.
    fn settle(&self, limit: Duration);
}

impl Server {
    fn elsewhere(&self) -> impl Iterator<Item = (&str, &dyn Elsewhere)> {
        self.connections
            .iter()
            .filter_map(|connection| Some((connection.name.as_str(), connection.end.as_ref()?.elsewhere()?)))
    }

    /// Has what comes from elsewhere wait, at all connections that there are and at those that are made later. Returns when no handler is called
    /// for it any more.
    ///
    /// # Errors
    /// A handler has not ended within the limit.
    pub fn hold(&mut self, limit: Duration) -> Result<(), ServerError> {
        self.is_holding = true;
        self.elsewhere().for_each(|(_, end)| end.hold(true));
        let late = self.elsewhere().find(|(_, end)| !end.is_held(limit)).map(|(name, _)| name.to_owned());
        late.map_or(Ok(()), |name| Err(ServerError::Waiting(name)))
    }

    /// Hands on what has waited, of each source after its position, and from then on what comes.
    ///
    /// # Errors
    /// An event is missing that was not handled.
    pub fn release(&mut self, positions: &[Position]) -> Result<(), ServerError> {
        self.is_holding = false;
        for (name, end) in self.elsewhere() {
            let of_end = positions.iter().filter(|position| position.connection == name);
            let of_end: Vec<([u8; 16], i64)> = of_end.map(|it| (it.source, it.number)).collect();
            let released = end.release(&of_end);
            released.map_err(|error| ServerError::Service { connection: name.to_owned(), error })?;
        }
        Ok(())
    }

    /// How far the connections have come with what came from elsewhere.
    pub fn positions(&self) -> Vec<Position> {
        self.named(|end| end.positions())
    }

    /// Numbers of sources at all ends.
    fn named(&self, of: impl Fn(&dyn Elsewhere) -> Vec<([u8; 16], i64)>) -> Vec<Position> {
        let of_end = |(name, end): (&str, &dyn Elsewhere)| {
            let position = |(source, number)| Position { connection: name.to_owned(), source, number };
            of(end).into_iter().map(position).collect::<Vec<_>>()
        };
        self.elsewhere().flat_map(of_end).collect()
    }

    /// Endpoints elsewhere that the connections are matched with.
    pub fn matched(&self) -> Vec<Matched> {
        let of_end = |(name, end): (&str, &dyn Elsewhere)| Matched {
            connection: name.to_owned(),
            peers: end.matched(),
        };
        self.elsewhere().map(of_end).collect()
    }

    /// Waits until the connections are matched with these endpoints, and from then on keeps all that comes. Says from which event on of each
    /// source it has all.
    ///
    /// # Errors
    /// A connection that is not matched within the limit.
    pub fn await_matched(&self, all: &[Matched], limit: Duration) -> Result<Vec<Position>, ServerError> {
        let begun = Instant::now();
        for (name, end) in self.elsewhere() {
            let peers = all.iter().filter(|matched| matched.connection == name).flat_map(|it| &it.peers);
            let wanted: Vec<&[u8; 16]> = peers.filter(|peer| !end.is_own(**peer)).collect();
            loop {
                let there = end.matched();
                let is_matched = wanted.iter().all(|peer| there.contains(peer));
                // Participants of some vendors never say that they know of an endpoint.
                let is_late = begun.elapsed() > limit;
                if is_matched && (is_late || end.is_known()) {
                    break;
                }
                if is_late {
                    return Err(ServerError::NotMatched(name.to_owned()));
                }
                std::thread::sleep(LONG_NAP);
            }
        }
        self.elsewhere().for_each(|(_, end)| end.hold(true));
        Ok(self.named(|end| end.starts()))
    }

    /// Waits until the connections have handed on what came before these events, which the next process has; for so long at most.
    pub fn catch_up(&self, starts: &[Position], limit: Duration) {
        let begun = Instant::now();
        let is_there = || {
            let positions = self.positions();
            starts.iter().all(|start| {
                let mut of_it = positions.iter().filter(|position| {
                    position.connection == start.connection && position.source == start.source
                });
                start.number <= 1 || of_it.any(|position| position.number >= start.number - 1)
            })
        };
        while !is_there() && begun.elapsed() < limit {
            std::thread::sleep(NAP);
        }
    }

    /// The last event that was published by each connection to other processes.
    pub fn published(&self) -> Vec<Position> {
        self.named(|end| end.published())
    }

    /// Waits until the connections have handed on what was published elsewhere up to these events. A publisher that the connection is not matched
    /// with is not waited for.
    ///
    /// # Errors
    /// An event has not come within the limit, or is handed on still.
    pub fn await_arrival(&self, published: &[Position], limit: Duration) -> Result<(), ServerError> {
        let begun = Instant::now();
        for Position { connection, source, number } in published {
            let Some((_, end)) = self.elsewhere().find(|(name, _)| name == connection) else { continue };
            while !end.has_come(*source, *number) {
                if begun.elapsed() > limit {
                    return Err(ServerError::Waiting(connection.clone()));
                }
                std::thread::sleep(NAP);
            }
            // The thread that hands the last one on may still do so.
            if !end.is_held(limit.saturating_sub(begun.elapsed())) {
                return Err(ServerError::Waiting(connection.clone()));
            }
        }
        Ok(())
    }

    /// The same for events that may be lost: they are waited for so long at most, and what of them comes later is dropped.
    ///
    /// # Errors
    /// One that has come is still handed on when the limit is over.
    pub fn await_or_skip(
        &self,
        published: &[Position],
        wait: Duration,
        limit: Duration,
    ) -> Result<(), ServerError> {
        let begun = Instant::now();
        // An event that comes is the one after those that were handed on.
        let next = |it: &Position| Position { number: it.number.saturating_add(1), ..it.clone() };
        self.catch_up(&published.iter().map(next).collect::<Vec<_>>(), wait.min(limit));
        for Position { connection, source, number } in published {
            let Some((_, end)) = self.elsewhere().find(|(name, _)| name == connection) else { continue };
            end.skip(*source, *number);
            if !end.is_held(limit.saturating_sub(begun.elapsed())) {
                return Err(ServerError::Waiting(connection.clone()));
            }
        }
        Ok(())
    }

    /// Waits until nothing that came by these connections waits for a component, and no handler works for it.
    ///
    /// # Errors
    /// There is none of this name, or it is not done within the limit.
    pub fn finish(&self, name: &str, connections: &[String], limit: Duration) -> Result<(), ServerError> {
        self.await_rest(name, |connection| connections.iter().any(|of| of == connection), limit)
    }

    /// Waits until nothing waits for a component in the queues of its connections, and no handler of it works for one.
    ///
    /// # Errors
    /// There is none of this name, or it has not come to rest within the limit.
    pub fn drain(&self, name: &str, limit: Duration) -> Result<(), ServerError> {
        self.await_rest(name, |_| true, limit)
    }

    fn await_rest(
        &self,
        name: &str,
        is_it: impl Fn(&str) -> bool,
        limit: Duration,
    ) -> Result<(), ServerError> {
        if self.find(name)?.about().gate.state() != State::Active {
            return Ok(());
        }
        let begun = Instant::now();
        loop {
            let ends = self.connections.iter().filter(|connection| is_it(&connection.name));
            let ends = ends.filter_map(|connection| {
                Some((connection.name.as_str(), connection.end.as_ref()?.unfinished(name)))
            });
            let Some((busy, _)) = ends.into_iter().find(|(_, count)| *count > 0) else { return Ok(()) };
            if begun.elapsed() > limit {
                return Err(ServerError::Waiting(busy.to_owned()));
            }
            std::thread::sleep(NAP);
        }
    }

    /// Waits until what was published has arrived elsewhere, as far as that is acknowledged, for so long at most for each connection.
    pub fn settle(&self, limit: Duration) {
        self.elsewhere().for_each(|(_, end)| end.settle(limit));
    }
}
