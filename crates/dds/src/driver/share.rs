//! What the driver does with shared memory: meeting other processes, and sending through it.
use std::io::{self, Read, Write};
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rtps::Transmit;
use shm::{Meeting, ready};
use udp::WatchCaller;

use crate::bytes::Bytes;
use crate::config::SharedMemoryConfig;
use crate::driver::inside::{Duty, Inside};
use crate::driver::threads::Starter;
use crate::driver::{Driver, RETRY, clock};
use crate::host::{Engine, Sent};
use crate::links::{self, Encounters, Links, Way, own_identity};
use crate::lock::lock;

/// When it is tried again to wait after the system refused.
const READY_AGAIN: Duration = Duration::from_millis(20);
/// When it is tried again to begin after the system refused.
const BEGIN_AGAIN: Duration = Duration::from_secs(10);

/// What the thread that meets others needs.
struct Place {
    meeting: Meeting,
    /// Where calls are heard.
    called: UnixStream,
}

/// Links of a participant that can be met in this network namespace. `watch` is called when [`Driver::begin_sharing`] is needed.
pub(super) fn links(config: &SharedMemoryConfig, watch: WatchCaller) -> io::Result<Arc<Links>> {
    Ok(Links::new(own_identity()?, config, Box::new(move || watch.call())))
}

impl Driver {
    /// If there is a process that can be met, begins with shared memory: on a thread of normal priority in the network namespace of the sockets.
    /// Gives the time after which it is to be tried again.
    pub(super) fn begin_sharing(self: &Arc<Self>, engine: &Arc<dyn Engine>) -> Option<Duration> {
        let links = self.links.as_ref().filter(|links| links.is_to_begin())?;
        match take_place(links) {
            Ok(place) => {
                let refused = self.start_sharing(links, place, engine).err();
                if refused.is_some() {
                    links.close();
                }
                links.set_trouble(refused.map(|error| format!("a thread was refused: {error}")));
                None
            }
            Err(why) => {
                links.set_trouble(Some(why));
                Some(BEGIN_AGAIN)
            }
        }
    }

    /// Starts the threads.
    fn start_sharing(
        self: &Arc<Self>,
        links: &Arc<Links>,
        place: Place,
        engine: &Arc<dyn Engine>,
    ) -> io::Result<()> {
        let mut starter = Starter::new(&self.config.threads);
        let (driver, own, rings) = (Arc::clone(self), Arc::clone(engine), Arc::clone(links));
        let started =
            starter.start("rings", true, Box::new(move || driver.read_rings(rings, own))).and_then(|()| {
                let (driver, own, links) = (Arc::clone(self), Arc::clone(engine), Arc::clone(links));
                starter.start("links", false, Box::new(move || driver.meet_others(links, &place, &*own)))
            });
        let (threads, lines) = starter.finish();
        self.lines().threads.extend(lines);
        lock(&self.threads).extend(threads);
        started
    }

    /// The thread that meets other processes.
    fn meet_others(&self, links: Arc<Links>, place: &Place, engine: &dyn Engine) {
        let tell = |participant, link| {
            if !self.is_closing() {
                let _inside = Inside::enter(self.id, Duty::Other);
                engine.on_link(participant, link);
            }
        };
        let mut encounters = Encounters::new(Arc::clone(&links));
        while !links.is_closed() {
            let now = clock::monotonic();
            let limit = encounters.next().and_then(clock::until);
            let accepts = encounters.accepts(now).then(|| place.meeting.as_fd());
            let talks = encounters.connections().map(AsFd::as_fd);
            let sockets: Vec<_> = [place.called.as_fd()].into_iter().chain(talks).chain(accepts).collect();
            let Ok(readiness) = ready(&sockets, limit) else {
                // The system has no memory for it.
                std::thread::sleep(READY_AGAIN);
                continue;
            };
            // Whatever lies there: what is asked for is in a list.
            let _ = (&place.called).read(&mut [0; 64]);
            let is_ready = |place: usize| readiness.get(place + 1) == Some(&true);
            encounters.step(clock::monotonic(), &place.meeting, is_ready, &tell);
        }
    }

    /// Sends along a link; `None` if it cannot go there.
    pub(super) fn send_shared(&self, link: NonZeroU32, datagram: &Transmit<Bytes>) -> Option<Sent> {
        match self.links.as_ref()?.send(link, datagram, clock::monotonic) {
            Way::Taken | Way::Lost => Some(Sent::Done),
            Way::Full => {
                self.timer.wish(clock::monotonic().after(RETRY));
                Some(Sent::Full)
            }
            Way::Unfit | Way::Closed | Way::Nonsense(_) => None,
        }
    }
}

/// Where others can meet the participant of these links.
fn take_place(links: &Links) -> Result<Place, String> {
    let sockets = |error| format!("local sockets: {error} (see ulimit -n)");
    let meeting = Meeting::new(&links::name(links.announced().nonce)).map_err(sockets)?;
    let (near, called) = UnixStream::pair().map_err(sockets)?;
    near.set_nonblocking(true).and_then(|()| called.set_nonblocking(true)).map_err(sockets)?;
    // Full, it is heard anyway; dropped, it is heard that all is over.
    links.begin(Box::new(move || drop((&near).write(&[1]))))?;
    Ok(Place { meeting, called })
}
