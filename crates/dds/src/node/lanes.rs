//! The short way of a datagram that is like the last one of its writer, to the only reader that it is for.
//!
//! It leads where interpreting the datagram leads ([`Router`](super::router::Router)), for as long as the routes stay what they are.
use std::net::SocketAddr;
use std::sync::Arc;

use rtps::familiar::{Familiar, Single};
use wire::{Guid, GuidPrefix};

use super::Node;
use super::reader::ReaderCell;
use super::router::Arrival;
use super::routes::{Lease, Route, Routes};
use super::work::Work;
use crate::host::BY_LINK;

/// How many writers are remembered.
const LANES: usize = 8;

/// The last bytes of the sender's prefix, and of the key of the writer's entity id, where they stand in a datagram that is for a lane: they
/// differ between participants of a host and writers of a participant.
const PREFIX_END: usize = 19;
const KEY_END: usize = 46;

/// By the writer, so that those that take turns do not displace each other.
#[derive(Default)]
pub(super) struct Lanes([Lane; LANES]);

#[derive(Default)]
struct Lane {
    known: Option<(Familiar, SocketAddr, Exit)>,
    /// The writer that was here last: a second time it is remembered.
    seen: Option<Guid>,
}

/// Where a lane leads.
#[derive(Clone)]
pub(super) struct Exit {
    cell: Arc<ReaderCell>,
    /// Signs of life of the writer, if its LIVELINESS has a lease.
    lease: Option<Arc<Lease>>,
}

impl Lanes {
    /// Where a datagram goes, if it is like one that is remembered.
    #[inline]
    pub(super) fn find<'a>(&self, from: SocketAddr, datagram: &'a [u8]) -> Option<(Single<'a>, Exit)> {
        let (familiar, source, exit) = self.0.get(index(datagram))?.known.as_ref()?;
        // From elsewhere it may be anybody's.
        let single = if *source == from { familiar.read(datagram)? } else { return None };
        Some((single, exit.clone()))
    }

    /// Remembers what [`lane`] said of a datagram, once its writer has sent two of them with none of the same lane in between.
    pub(super) fn remember(&mut self, from: SocketAddr, datagram: &[u8], familiar: Familiar, exit: Exit) {
        let Some(lane) = self.0.get_mut(index(datagram)) else { return };
        let writer = familiar.writer();
        if lane.seen.replace(writer) == Some(writer) {
            lane.known = Some((familiar, from, exit));
        }
    }
}

/// What to remember of a datagram that these routes of the participant `own` lead to one reader alone; `None` of any other, and of one
/// that does not count.
pub(super) fn lane(
    own: GuidPrefix,
    routes: &Routes,
    from: SocketAddr,
    datagram: &[u8],
) -> Option<(Familiar, Exit)> {
    let familiar = Familiar::of(datagram)?;
    let writer = familiar.writer();
    if from != BY_LINK && !routes.speakers.get(&writer.prefix)?.is_at(from) {
        return None;
    }
    let Route { readers, lease } = routes.matched.get(&writer)?;
    let [cell] = readers.as_slice() else { return None };
    // What is said in our own name is not interpreted.
    let leads = writer.prefix != own && familiar.is_for(cell.guid.entity_id);
    leads.then(|| (familiar, Exit { cell: Arc::clone(cell), lease: lease.clone() }))
}

fn index(datagram: &[u8]) -> usize {
    let octet = |at: usize| datagram.get(at).map_or(0, |octet| usize::from(*octet));
    (octet(PREFIX_END) ^ octet(KEY_END)) % LANES
}

impl Node {
    /// Takes in a datagram along its lane: its reader is locked once, until it is known what it has to answer and to tell.
    pub(super) fn take_single(
        &self,
        single: &Single<'_>,
        from: SocketAddr,
        exit: Exit,
        arrival: &Arrival<'_>,
        work: &mut Work,
    ) {
        let Exit { cell, lease } = exit;
        if let Some(lease) = lease
            && lease.hear(arrival.now.monotonic)
        {
            work.heard_again.push(Guid::new(single.source.prefix, single.data.writer_id));
            work.discovery = true;
        }
        let mut state = cell.lock();
        state.receive_single(arrival, from, single);
        if work.discovery {
            drop(state);
            // That comes first.
            return work.touch_reader(&cell);
        }
        let looked = state.look(work.now(self.host()), &mut work.transmit);
        drop(state);
        self.answer(&cell, looked, work);
    }
}
