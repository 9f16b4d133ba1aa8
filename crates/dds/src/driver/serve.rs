//! What the driver does for its engine: sending, waiting, closing.
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use rtps::{Path, Transmit};
use udp::{SendFailure, Stopper};
use wire::discovery::ParticipantData;
use wire::{GuidPrefix, Instant, Now};

use crate::bytes::Bytes;
use crate::driver::inside::{self, Duty};
use crate::driver::{Driver, RETRY, clock, lead, reach, read, report};
use crate::host::{Channel, Copied, FlowSocket, Host, Sent};
use crate::lock::lock;
use crate::thread::this_thread;

impl Host for Driver {
    fn now(&self) -> Now {
        clock::now()
    }

    fn monotonic(&self) -> Instant {
        clock::monotonic()
    }

    fn open_flow(&self) -> Option<FlowSocket> {
        let state = self.state();
        self.flows.open(&state.as_ref()?.addresses, self.config.buffers.send)
    }

    fn close_flow(&self, port: NonZeroU16) {
        self.flows.close(port);
    }

    fn stamp_arrivals(&self) {
        let open = self.state();
        let sockets = open.iter().map(|open| &open.sockets);
        for socket in sockets.flat_map(|sockets| sockets.user.iter().chain(sockets.user_groups.iter())) {
            // Refused, latencies are measured by our own clock.
            let _ = socket.receiver().report_time();
        }
    }

    fn send(&self, channel: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent {
        // After closing there are neither links nor flows.
        if let Some(flow) = path.flow {
            return match self.flows.send(flow, path, datagram) {
                Some(SendFailure::WouldBlock | SendFailure::NoBuffer) => {
                    self.timer.wish(clock::monotonic().after(RETRY));
                    Sent::Full
                }
                _ => Sent::Done,
            };
        }
        if let Some(link) = path.link
            && let Some(sent) = self.send_shared(link, datagram)
        {
            return sent;
        }
        let state = self.state();
        let Some(open) = state.as_ref() else { return Sent::Done };
        let senders = match channel {
            Channel::Metatraffic => &open.metatraffic,
            Channel::User => &open.user,
        };
        let sender = if path.destination.is_ipv4() { &senders.v4 } else { &senders.v6 };
        // Paths have the families of our interfaces, so that there is a socket.
        let Some(sender) = sender else { return Sent::Done };
        let to = reach::destination(path, datagram.class(), self.ambiguous.load(Relaxed));
        let has_peers = channel == Channel::User && to.interface == 0 && to.source.is_none();
        let peer = if has_peers { open.peers.get(to.address) } else { Ok(None) };
        if let Ok(Some(connected)) = peer
            && let Some(sent) = self.sent_along(connected.send_parts(datagram.slices(), &to), true)
        {
            return sent;
        }
        let result = sender.send_parts(datagram.slices(), &to);
        if !matches!(peer, Ok(None)) {
            // Nothing was tried with it yet, or it has failed.
            let sender = peer.is_err().then(|| sender.clone());
            drop(state);
            self.meet(to.address, sender.as_ref());
        }
        self.sent_along(result, false).unwrap_or(Sent::Done)
    }

    fn copy(&self, link: NonZeroU32, datagram: &[u8]) -> Copied {
        self.links.as_ref().map_or(Copied::No, |links| links.copy(link, datagram))
    }

    fn ring(&self, link: NonZeroU32) {
        if let Some(links) = &self.links {
            links.ring(link);
        }
    }

    fn tells_of_rest(&self) -> bool {
        true
    }

    fn lend(&self, len: usize) -> Option<shm::ChunkMut> {
        self.links.as_ref()?.lend(len)
    }

    fn wake_at(&self, at: Instant) {
        self.timer.wish(at);
    }

    fn receive(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        if self.is_closing() {
            return false;
        }
        match inside::duty(self.id) {
            None if self.links.as_ref().is_some_and(|links| links.is_used()) => self.lead_rings(until, done),
            None => self.lead(until, done),
            Some((_, depth)) if depth > read::MAX_DEPTH => false,
            Some((Duty::Reader, _)) => self.read_inside(until, done),
            Some((Duty::Rings, _)) => self.read_rings_inside(until, done),
            Some((Duty::Timer, _)) => self.keep_time_inside(until, done),
            Some((Duty::Other, _)) => false,
        }
    }

    fn interrupt(&self) {
        let wake_reader: &dyn Fn() = &|| {
            self.wake_reader();
        };
        let rings = self.links.as_ref();
        let wake_rings: &dyn Fn() = &|| rings.iter().for_each(|links| links.wake());
        let rings = rings.map(|_| (&self.ring_seat, wake_rings));
        lead::interrupt(this_thread(), [(&self.seat, wake_reader)].into_iter().chain(rings));
        if self.timer_pumps.load(SeqCst) {
            self.timer.ring();
        }
    }

    fn keep_own_thread(&self, keep: bool) {
        self.seat.keep(keep);
        self.ring_seat.keep(keep);
    }

    fn is_inside(&self) -> bool {
        inside::duty(self.id).is_some()
    }

    fn is_of_parent_process(&self) -> bool {
        !self.process.is_current()
    }

    fn close(&self) {
        if self.is_of_parent_process() || self.closing.swap(true, SeqCst) {
            return;
        }
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        let stoppers: Vec<Stopper> =
            open.iter().flat_map(|open| open.sockets.all()).map(|(_, socket)| socket.stopper()).collect();
        stoppers.iter().for_each(Stopper::stop);
        drop(stoppers);
        if let Some(open) = &open {
            open.watch_caller.stop();
        }
        self.timer.close();
        self.seat.close();
        if let Some(links) = &self.links {
            links.close();
        }
        self.ring_seat.close();
        self.flows.close_all();
        // The thread that started it holds the engine too, so that its end is not here.
        drop(open);
        self.spare().clear();
        if self.is_inside() {
            // They end by themselves. Waiting for one whose callback waits for this one would be for ever.
            lock(&self.threads).clear();
            return;
        }
        // One of them may just have started others.
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                break;
            }
            for thread in threads {
                // A panic there has been told already.
                let _ = thread.join();
            }
        }
        self.seat.wait_until_left(this_thread());
        self.ring_seat.wait_until_left(this_thread());
    }

    fn matched(&self, participant: &ParticipantData) {
        if let Some(links) = &self.links {
            links.matched(participant);
        }
    }

    fn lost(&self, participant: GuidPrefix) {
        self.forget_peers();
        if let Some(links) = &self.links {
            links.lost(participant);
        }
    }

    fn report(&self) -> Vec<String> {
        let mut lines = self.lines().all();
        let state = self.state();
        lines.extend(state.iter().flat_map(|open| report::losses(&open.sockets)));
        lines.extend(
            self.flows.locals().iter().map(|local| format!("socket for a flow: {local}, which sends only")),
        );
        lines.extend(self.links.iter().flat_map(|links| links.report()));
        lines.extend(self.counts.lines(self.timer.failures()));
        lines
    }
}
