//! Chains that are followed while they run: stamps that travel with events, and a score where the chain ends.
mod begun;
mod clocks;
mod comparison;
mod followed;
mod frames;
mod probe;
mod score;
mod stalls;
mod traced;
mod track;

use std::sync::Arc;

use crate::ServerError;
use crate::event::{AnyLink, Event, EventType};
use crate::server::Server;
use crate::target::AnyInlet;

pub(crate) use self::begun::Begin;
pub(crate) use self::begun::Begun;
pub(crate) use self::clocks::Clocks;
pub(crate) use self::comparison::Comparison;
pub use self::followed::Hops;
pub(crate) use self::followed::{StampedOf, instant, stamped};
pub(crate) use self::frames::{Held, again, captured};
pub(crate) use self::probe::Probes;
pub(crate) use self::score::Stamp;
pub use self::score::{Limit, MOST_HOPS, Quantiles, Times};
pub use self::stalls::Stalled;
pub(crate) use self::stalls::Stalls;
pub(crate) use self::traced::{Base, Traced};
pub use self::track::{Chain, ChainScore, Exceeded, Hop};
pub(crate) use self::track::{Next, Track};

/// A port on chains, which stamps. One of another type stays as it is.
pub(crate) fn follow<T: Event>(inlet: AnyInlet, hops: Hops) -> AnyInlet {
    match followed::Followed::<T>::new(inlet, hops) {
        Ok(followed) => AnyInlet(Arc::new(followed)),
        Err(inlet) => inlet,
    }
}

impl Server {
    /// Follows a chain, by the connections that are made from now on; connections of which no chain is followed take no more time and memory.
    /// Events take their stamps along through [`crate::Direct`], [`crate::ByChannel`], [`crate::Every`] and [`crate::ByDds`]. A chain
    /// that passes a [join](Server::join) names the join, and the connections to its part if they come from another process.
    ///
    /// # Errors
    /// There is a chain of this name, or it has no ports or more than [`MOST_HOPS`].
    pub fn follow(&mut self, chain: Chain) -> Result<(), ServerError> {
        if self.chains.iter().any(|other| other.chain.name == chain.name) {
            return Err(ServerError::Twice(chain.name));
        }
        if chain.hops.is_empty() || chain.hops.len() > MOST_HOPS {
            return Err(ServerError::Chain { name: chain.name, ports: chain.hops.len() });
        }
        let track = Arc::new(Track::new(chain, &self.clock, &self.reports));
        self.reports.follow(&track);
        self.chains.push(track);
        Ok(())
    }

    /// Forgets a chain. Connections that were made before go on to stamp for it, until they are made anew.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn unfollow(&mut self, name: &str) -> Result<(), ServerError> {
        let place = self.chains.iter().position(|track| track.chain.name == name);
        let track = self.chains.remove(place.ok_or_else(|| ServerError::Unknown(name.to_owned()))?);
        self.reports.unfollow(&track);
        Ok(())
    }

    /// The scores of the chains that end here, in the order in which they were followed.
    pub fn chains(&self) -> Vec<ChainScore> {
        let ends = self.chains.iter().filter(|track| {
            let last = track.chain.hops.last();
            last.is_some_and(|hop| self.inlet(&hop.port).is_ok())
        });
        ends.filter_map(|track| track.score()).collect()
    }

    /// Whether chains pass a connection.
    pub(crate) fn is_followed(&self, connection: &str) -> bool {
        let mut hops = self.chains.iter().flat_map(|track| &track.chain.hops);
        hops.any(|hop| hop.connections.iter().any(|name| name == connection))
    }

    /// The link of a connection: one that stamps each push if the latency of the connection is measured.
    pub(crate) fn begun(&self, connection: &str, event: &'static dyn EventType, link: AnyLink) -> AnyLink {
        let mut measured = self.chains.iter().filter(|track| track.is_connection());
        // All ends of a connection have the same stamps.
        let track = measured.find(|track| {
            let mut names = track.chain.hops.iter().flat_map(|hop| &hop.connections);
            names.any(|name| name == connection)
        });
        match track {
            Some(track) => event.begun(link, Begin(Arc::clone(track))),
            None => link,
        }
    }

    /// A port that a connection leads to: one that stamps if chains pass both.
    pub(crate) fn inlet_of(&self, connection: &str, port: &str, inlet: AnyInlet) -> AnyInlet {
        if inlet.0.keeps() {
            return inlet;
        }
        let mut hops = Vec::new();
        for track in &self.chains {
            for (place, hop) in (0..).zip(&track.chain.hops) {
                if hop.port == port && hop.connections.iter().any(|name| name == connection) {
                    hops.push((Arc::clone(track), place));
                }
            }
        }
        // What is queued on a connection that chains pass has stamps at all of its consumers.
        let is_stamped = !hops.is_empty() || self.is_followed(connection);
        if is_stamped { inlet.0.event().followed(inlet, Hops(hops)) } else { inlet }
    }

    /// A component is made, or made anew.
    pub(crate) fn made(&self, instance: &str) {
        self.chains.iter().for_each(|track| track.made(instance));
    }

    /// A component begins to work, or goes on.
    pub(crate) fn renew_chains(&self, instance: &str) {
        for track in &self.chains {
            if track.chain.hops.iter().any(|hop| hop.is_of(instance)) {
                track.renew();
            }
        }
    }
}
